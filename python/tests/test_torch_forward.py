"""Forward mode: tangents that PyTorch and custom functions compute are judged."""
from __future__ import annotations

import json
import struct
import warnings

import pytest

torch = pytest.importorskip("torch", reason="forward mode needs the package torch")
from torch import nn  # noqa: E402
from torch.autograd import forward_ad  # noqa: E402

from assay import GradcheckError, gradcheck  # noqa: E402
from assay.torch import Refused, judge, record  # noqa: E402
from torch_modules import TABLE  # noqa: E402
from wrong_forward import PAIRS  # noqa: E402


def doubles(shapes):
    torch.manual_seed(3)
    return [torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in shapes]


def agrees(function, shapes):
    return torch.autograd.gradcheck(function, doubles(shapes), check_forward_ad=True, raise_exception=False)


@pytest.mark.parametrize("name", PAIRS)
def test_the_right_one_passes(name):
    right, _, shapes = PAIRS[name]
    assert agrees(right, shapes)
    assert gradcheck(right, shapes, check_forward_ad=True)


@pytest.mark.parametrize("name", PAIRS)
def test_the_wrong_one_is_found(name):
    """Its backward pass is right."""
    _, wrong, shapes = PAIRS[name]
    assert not agrees(wrong, shapes)
    assert gradcheck(wrong, shapes)
    with pytest.raises(GradcheckError) as found:
        gradcheck(wrong, shapes, check_forward_ad=True)
    assert found.value.report.failed, str(found.value)
    assert any(one.rule in ("tangent.product", "gradient.value") for one in found.value.report.findings), str(found.value)


FUNCTIONS = {
    "a chain": lambda x: torch.tanh(x).exp().sum(0),
    "a softmax": lambda x: torch.log_softmax(x @ x.t(), -1),
    "a layer norm": lambda x: nn.functional.layer_norm(x, [4]) * x,
    "branches": lambda x: torch.where(x > 0, nn.functional.gelu(x), nn.functional.leaky_relu(x)),
    "in place": lambda x: x.clone().mul_(x).add_(x),
    "a part in place": lambda x: x.clone().index_copy_(0, torch.tensor([1]), x[:1] * x[1:2]),
    "views": lambda x: x.t().reshape(2, 6)[:, 1:4].contiguous().square(),
    "a convolution": lambda x: nn.functional.conv1d(x[None], x[:, :3][None].expand(2, 3, 3)),
    "extrema": lambda x: x.amax(1) * x.min(),
    "no gradients": torch.no_grad()(lambda x: x * x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    with record() as run:
        y, y_dot = torch.func.jvp(FUNCTIONS[name], (torch.randn(3, 4),), (torch.randn(3, 4),))
    report = judge(run)
    assert report.passed, report.text
    claim, = tangents_of(report)
    assert len(claim["to"]) >= 2


# PyTorch has no forward mode of these.
NONE = {"EmbeddingBag, weighted", "CrossMapLRN2d", "MultiheadAttention", "TransformerEncoder", "TransformerDecoder", "Transformer", "MultiLabelMarginLoss",
        "MultiMarginLoss", "MultiMarginLoss, squares", "CTCLoss"}
# They have an opaque operation.
UNDECIDED = {"EmbeddingBag, max", "FractionalMaxPool2d"}


@pytest.mark.parametrize("name", TABLE)
def test_modules(name):
    torch.manual_seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module, inputs = TABLE[name]()
        def run_forward():
            with record(module) as run, forward_ad.dual_level():
                moving = [isinstance(one, torch.Tensor) and one.requires_grad for one in inputs]
                module(*[forward_ad.make_dual(one.detach().clone(), torch.randn_like(one)) if moves else one for one, moves in zip(inputs, moving)])
            return judge(run)
        if name in NONE:
            with pytest.raises(NotImplementedError):
                run_forward()
            return
        report = run_forward()
    assert not report.failed, report.text
    if name in UNDECIDED:
        assert not report.passed
    else:  # a few elements of sums that cancel may be vacuous
        assert report.passed or all(one.kind == "vacuous" for one in report.findings), report.text
    if name not in UNDECIDED and any(isinstance(one, torch.Tensor) and one.requires_grad for one in inputs):
        assert tangents_of(report)[0]["to"]


@pytest.mark.parametrize("masked", ["with infinities", "by masked_fill", "rows that see nothing"])
def test_masked_attention(masked):
    torch.manual_seed(3)
    mask = torch.zeros(3, 3).masked_fill(torch.ones(3, 3).triu(1) > 0, float("-inf"))
    if masked == "rows that see nothing":
        mask[1] = float("-inf")
    def attention(q, k, v):
        scores = q @ k.transpose(-1, -2) / 2
        if masked == "rows that see nothing":
            return torch.ops.aten._safe_softmax(scores + mask, -1) @ v
        return torch.softmax(scores + mask if masked == "with infinities" else scores.masked_fill(mask < 0, float("-inf")), -1) @ v
    with record() as run:
        torch.func.jvp(attention, tuple(torch.randn(2, 3, 4) for _ in range(3)), tuple(torch.randn(2, 3, 4) for _ in range(3)))
    report = judge(run)
    assert report.passed, report.text
    assert not run.opaque


def tangents_of(report):
    size, = struct.unpack_from("<Q", report.trace)
    return json.loads(json.loads(report.trace[8:8 + size])["__metadata__"]["assay.trace"])["tangents"]


def test_a_module_moves_with_its_parameters():
    model = nn.Sequential(nn.Linear(3, 4), nn.SiLU(), nn.Linear(4, 2))
    weights = {name: one.detach() for name, one in model.named_parameters()}
    with record(model) as run:
        torch.func.jvp(lambda w, x: torch.func.functional_call(model, w, (x,)), (weights, torch.randn(5, 3)),
                       ({name: torch.randn_like(one) for name, one in weights.items()}, torch.randn(5, 3)))
    report = judge(run)
    assert report.passed, report.text
    assert len(tangents_of(report)[0]["from"]) == 5


def test_what_is_detached_does_not_move():
    x = torch.randn(3)
    for stop in (lambda one: one.detach(), lambda one: one.data):
        with record({"x": x}) as run, forward_ad.dual_level():
            y = forward_ad.make_dual(x, torch.randn(3))
            forward_ad.unpack_dual(y * stop(y))
        assert judge(run).passed
    with record({"x": x}) as run, forward_ad.dual_level():
        y = forward_ad.make_dual(x, torch.randn(3))
        forward_ad.unpack_dual(y * forward_ad.unpack_dual(y).primal)
    assert judge(run).passed


def test_two_levels_one_after_the_other():
    x, w = torch.randn(3), torch.randn(3)
    with record({"x": x, "w": w}) as run:
        torch.func.jvp(lambda a: a * w, (x,), (torch.randn(3),))
        torch.func.jvp(lambda a: a * x, (w,), (torch.randn(3),))
    report = judge(run)
    assert report.passed, report.text
    assert len(tangents_of(report)) == 2


def test_levels_in_levels_are_refused():
    x = torch.randn(3)
    with pytest.raises(Refused, match="forward mode ran inside"), record():
        torch.func.jacfwd(torch.sin)(x)
    with pytest.raises(Refused, match="forward mode inside of forward mode is not recorded"), record():
        torch.func.jvp(lambda a: torch.func.jvp(torch.sin, (a,), (x,))[1], (x,), (x,))


def test_a_backward_pass_beside_it():
    x = torch.randn(3, requires_grad=True)
    with record({"x": x}) as run:
        (x * x).sum().backward()
        torch.func.jvp(torch.sin, (x.detach(),), (torch.randn(3),))
    report = judge(run)
    assert report.passed, report.text
    assert len(tangents_of(report)) == 1


def test_dead_tangents_are_findings():
    x = -torch.rand(4) - 1
    with record({"x": x}) as run:
        torch.func.jvp(lambda a: torch.relu(a).square() + a, (x,), (torch.zeros(4),))
    assert any(one.rule == "gradient.dead" for one in judge(run).findings)


def moving(jvp):
    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x.sin()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            return g * x.cos()

        @staticmethod
        def jvp(ctx, tangent):
            x, = ctx.saved_tensors
            return jvp(x, tangent)
    return Sine.apply


def test_tangents_are_judged_beyond_thresholds_and_at_other_sizes():
    for wrong in (lambda x, d: torch.where(x > 9, d, d * x.cos()), lambda x, d: d * x.cos() * (2 if d.shape[0] > 64 else 1)):
        with pytest.raises(GradcheckError, match="recorded tangent") as found:
            gradcheck(moving(wrong), [(4, 3)], check_forward_ad=True)
        assert found.value.failed
    assert gradcheck(moving(lambda x, d: torch.where(x > 9, x.cos() * d, d * x.cos())), [(4, 3)], check_forward_ad=True)


@pytest.mark.parametrize("is_right", [True, False])
def test_tangents_of_single_inputs_and_large_ones_are_judged(is_right: bool) -> None:
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(x, w):
            return x * w

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            return g * w, g * x

        @staticmethod
        def jvp(ctx, moved_x, moved_w):
            x, w = ctx.saved_tensors
            if moved_x is None:
                return moved_w * (x if is_right else w)
            return moved_x * w + (moved_w * x if moved_w is not None else 0)
    if is_right:
        assert gradcheck(Product.apply, [(4, 3), (4, 3)], check_forward_ad=True)
        return
    with pytest.raises(GradcheckError, match="shown where inputs 1 alone have tangents") as found:
        gradcheck(Product.apply, [(4, 3), (4, 3)], check_forward_ad=True)
    assert found.value.failed


@pytest.mark.parametrize("is_right", [True, False])
def test_tangents_at_zeros_are_judged(is_right: bool) -> None:
    class Swish(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * torch.sigmoid(x)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs, output)

        @staticmethod
        def backward(ctx, g):
            s = torch.sigmoid(*ctx.saved_tensors)
            return g * (s + ctx.saved_tensors[0] * s * (1 - s))

        @staticmethod
        def jvp(ctx, moved):
            x, y = ctx.saved_tensors
            s = torch.sigmoid(x) if is_right else y / x
            return moved * (s + y * (1 - s))
    if is_right:
        assert gradcheck(Swish.apply, [(4, 3)], check_forward_ad=True)
        return
    with pytest.raises(GradcheckError, match="shown by zeros in input 0") as found:
        gradcheck(Swish.apply, [(4, 3)], check_forward_ad=True)
    assert found.value.failed
