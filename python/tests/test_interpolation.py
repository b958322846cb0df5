"""Modules that interpolate mean what PyTorch computes: its own scale, its own integer length."""
import warnings

import pytest

import assay
from assay._verify import questions

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")

MODES = [("nearest", None), ("nearest-exact", None), ("bilinear", False), ("bilinear", True), ("bicubic", False), ("bicubic", True)]
SCALES = [1 / 3, 0.6, 0.7, 1.3, 1.5, 2, (0.6, 1.7), 7, (11, 5)]


class Resized(torch.nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.options = options

    def forward(self, x):
        return torch.nn.functional.interpolate(x, **self.options)


def exported(module, x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return questions.model_file(module, (x,))


@pytest.mark.parametrize("mode, corners", MODES)
@pytest.mark.parametrize("antialias", [False, True])
def test_what_is_exported_is_what_interpolate_gives(mode, corners, antialias):
    if antialias and mode not in ("bilinear", "bicubic"):
        pytest.skip("PyTorch has no such mode")
    torch.manual_seed(0)
    for length, scale in [(length, scale) for length in (5, 9, 30) for scale in SCALES]:
        size = scale if isinstance(scale, int) and scale > 3 or isinstance(scale, tuple) and scale[0] > 3 else None
        module = Resized(size=size, scale_factor=None if size else scale, mode=mode, align_corners=corners, antialias=antialias)
        x = torch.randn(1, 1, length, length)
        y = module(x).numpy()
        (found,) = assay.evaluate(module, x.numpy(), example_inputs=(x,)).outputs.values()
        assert found.lo.shape == y.shape, (mode, corners, length, scale)
        assert max(numpy.max(y - found.hi), numpy.max(found.lo - y)) < 1e-5, (mode, corners, length, scale)


@pytest.mark.parametrize("module, length", [(torch.nn.Upsample(scale_factor=1.5, mode="bilinear", align_corners=True), 5),
                                            (torch.nn.Upsample(scale_factor=1 / 3, mode="nearest"), 9)])
def test_nothing_is_proved_that_the_module_refutes(module, length):
    net = torch.nn.Sequential(module, torch.nn.Flatten())
    x = torch.arange(float(length * length)).reshape(1, 1, length, length)
    y = net(x).numpy().ravel()
    row = [0.0] * y.size
    row[1] = 1.0
    for above, answer in ((-0.01, "sat"), (0.01, "unsat")):
        result = assay.verify(net, [assay.Box(x.numpy(), 0), assay.Linear([row], at_most=float(y[1]) + above)], example_inputs=(x,), timeout=60)
        assert result.answer == answer


def test_what_cannot_be_asked_is_refused():
    x = torch.zeros(1, 1, 4, 4)
    with pytest.raises(assay.Unsupported, match="scripted"):
        exported(torch.jit.script(torch.nn.Upsample(scale_factor=1.5)), x)

    class Direct(torch.nn.Module):
        def forward(self, x):
            return torch._C._nn.upsample_nearest2d(x, [6, 6])

    with pytest.raises(assay.Unsupported, match="interpolate"):
        exported(Direct(), x)
