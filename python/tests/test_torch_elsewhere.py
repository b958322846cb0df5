"""Functions that are right at the shapes and in the type that were asked for alone are undecided; right ones pass."""
from __future__ import annotations

import warnings

import pytest

torch = pytest.importorskip("torch", reason="gradcheck needs the package torch")
from assay import GradcheckError, GradcheckWarning, gradcheck  # noqa: E402
from test_torch_masks import own  # noqa: E402
from wrong_cotangents import of_square  # noqa: E402

S = (4, 3)
SIZES = {
    "shape": lambda x: x.shape[0] > 64, "size": lambda x: x.size(1) == 32, "numel": lambda x: x.numel() > 1000, "len": lambda x: len(x) > 64, "rest": lambda x: x.shape[0] % 32 == 0,
    "blocks": lambda x: x.shape[0] // 16 > 2, "odd": lambda x: x.shape[1] % 2 == 0, "one row": lambda x: x.shape[0] == 1, "rank": lambda x: x.dim() == 3, "ndim": lambda x: x.ndim > 2,
    "a name": lambda x: (lambda n, m: n * m >= 300)(*x.shape), "a square": lambda x: x.shape[0] == x.shape[1] + 1 and x.shape[0] > 4,
    "a stride": lambda x: x.stride()[0] == 9, "a stride ": lambda x: x.stride(0) > 64, "a rest of all": lambda x: x.numel() % 7 == 0}
TYPES = {"float64": lambda x: x.dtype == torch.float64, "not float32": lambda x: x.dtype != torch.float32, "bytes": lambda x: x.element_size() == 8, "type": lambda x: "Double" in x.type()}


@pytest.mark.parametrize("name", SIZES)
def test_what_is_wrong_for_other_sizes_is_undecided(name: str) -> None:
    with pytest.raises(GradcheckError, match="gradients are right for inputs of the shapes .4, 3., and wrong for") as found:
        gradcheck(of_square(lambda g, x: (3 if SIZES[name](x) else 2) * x * g), [S])
    assert found.value.undecided and "gradient.elsewhere" in str(found.value)
    assert gradcheck(of_square(lambda g, x: (3 if SIZES[name](x) else 2) * x * g), [S], allow_unreached=True)


@pytest.mark.parametrize("name", SIZES)
def test_another_formula_for_other_sizes_passes(name: str) -> None:
    assert gradcheck(of_square(lambda g, x: 2 * x * g if SIZES[name](x) else x * g * 2), [S])


@pytest.mark.parametrize("name", TYPES)
def test_what_is_wrong_for_another_type_is_undecided(name: str) -> None:
    for inputs in ([S], torch.randn(S, requires_grad=True)):
        with pytest.raises(GradcheckError, match="gradients in float64 are others than in float32") as found:
            gradcheck(of_square(lambda g, x: (3 if TYPES[name](x) else 2) * x * g), inputs)
        assert found.value.undecided and "gradient.elsewhere" in str(found.value)


def test_rounding_that_is_as_large_as_the_gradient_is_undecided() -> None:
    for factor in (lambda x: 1 + 1e8 * torch.clamp((x + 1e10) - 1e10 - x, 0, 1e-8), lambda x: ((x + 1e7) - 1e7) / x, lambda x: ((1 + 1e-6 * x.tanh()) - 1) * 1e6 / x.tanh()):
        with pytest.raises(GradcheckError, match="gradients in float64 are others than in float32") as found:
            gradcheck(of_square(lambda g, x: 2 * x * g * factor(x)), [S])
        assert found.value.undecided


def test_rounding_that_is_as_large_in_float64_is_undecided() -> None:
    for factor in (lambda x: 1 + ((x + 1e30) - 1e30 - x), lambda x: 1 + ((x + 1e25) - 1e25 - x) * 0.5):
        with pytest.raises(GradcheckError, match="differ from PyTorch's gradient of the same forward pass|in float64 are others") as found:
            gradcheck(of_square(lambda g, x: 2 * x * g * factor(x)), [S])
        assert found.value.undecided and "gradient.elsewhere" in str(found.value)


def test_comparisons_that_no_size_decides_are_named() -> None:
    x = torch.randn(S, requires_grad=True)
    with pytest.warns(GradcheckWarning, match="size > 64 at test_torch_elsewhere.py:.*false for the sizes of the inputs"):
        assert gradcheck(of_square(lambda g, x: (3 if x.shape[0] > 64 else 2) * x * g), x)
    for decides in (lambda x: x.is_cuda, lambda x: x.device.type == "cuda", lambda x: x.device == torch.device("meta")):
        with pytest.warns(GradcheckWarning, match="test_torch_elsewhere.py:.* with another one"):
            assert gradcheck(of_square(lambda g, x: (3 if decides(x) else 2) * x * g), [S])


def reduced(g, like):
    """The usual sum over axes that were broadcast."""
    while g.dim() > like.dim():
        g = g.sum(0)
    for axis in range(like.dim()):
        if like.shape[axis] == 1 and g.shape[axis] != 1:
            g = g.sum(axis, keepdim=True)
    return g


def guarded(g, x):
    assert x.shape[1] <= 4096 and x.dtype == g.dtype and x.device == g.device
    if x.shape[-1] > 1 << 20:
        raise ValueError("too long")
    return 2 * x * g


RIGHT = {
    "broadcast": (own(lambda a, b: (a + b, (a, b)), lambda g, a, b: (reduced(g, a), reduced(g, b))), [S, (3,)]), "broadcast rows": (
        own(lambda a, b: (a * b, (a, b)), lambda g, a, b: (reduced(g * b, a), reduced(g * a, b))), [S, (4, 1)]),
    "its own sizes alone": (own(lambda x: (x.mean(), (x,)), lambda g, x: g.expand(4, 3) / 12), [S]), "the count of its elements": (own(lambda x: (x.mean(), (x,)), lambda g, x: g.expand(x.shape) / x.numel()), [S]),
    "a square matrix": (own(lambda x: (x @ x, (x,)), lambda g, x: g @ x.t() + x.t() @ g), [(3, 3)]),
    "an axis": (own(lambda x: (x.cumsum(1), (x,)), lambda g, x: g.flip(1).cumsum(1).flip(1)), [S]), "a difference that rounds": (own(lambda x: (x.cos() - 1, (x,)), lambda g, x: -g * x.sin()), [S]),
    "numbers that are drawn": (own(lambda x: (lambda m: (x * m, (m,)))((torch.rand(x.shape) > 0.4).to(x.dtype)), lambda g, m: g * m), [S])}


@pytest.mark.parametrize("name", RIGHT)
def test_right_ones_pass(name: str) -> None:
    function, inputs = RIGHT[name]
    assert gradcheck(function, inputs)


def test_guards_are_no_decisions() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", GradcheckWarning)
        assert gradcheck(of_square(guarded), [S])
        assert gradcheck(of_square(guarded), torch.randn(S, requires_grad=True))


def test_parameters_keep_their_type() -> None:
    layer = torch.nn.Linear(3, 2)
    square = of_square(lambda g, x: 2 * x * g)
    assert gradcheck(lambda x: square(layer(x)), [S], params=layer.parameters())
    assert all(one.dtype == torch.float32 for one in layer.parameters())


def test_runs_without_time_are_named(monkeypatch):
    from assay.testing import _elsewhere, _linearity

    square = of_square(lambda g, x: 2 * x * g)
    assert gradcheck(square, [(4, 3)])
    monkeypatch.setattr(_linearity, "SECONDS", -1.0)
    monkeypatch.setattr(_elsewhere, "SECONDS", -1.0)
    with pytest.warns(GradcheckWarning, match="there was no time for: other cotangents, after -1 s; other shapes, types and ways to call, after -1 s"):
        assert gradcheck(square, [(4, 3)])


@pytest.mark.parametrize("other", [lambda x: x.element_size() >> 1 == 1, lambda x: x.itemsize >> 1 == 1, lambda x: {torch.float32: 0, torch.float64: 0}.get(x.dtype, 1),
                                   lambda x: {torch.float32: 0, torch.float64: 0, torch.bfloat16: 1}[x.dtype]])
def test_a_type_that_is_asked_for_without_a_comparison_is_named(other) -> None:
    with pytest.warns(GradcheckWarning, match="(element size|comparison of the type) of a tensor at test_torch_elsewhere.py"):
        assert gradcheck(of_square(lambda g, x: (2 + 0 * other(x)) * x * g), [S])
    with pytest.raises(GradcheckError, match="a Function compares types, and gradients in b?float16 are others") as found:
        gradcheck(of_square(lambda g, x: (2 + other(x)) * x * g), [S])
    assert found.value.undecided


def test_a_type_that_is_handed_on_is_not_named() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", GradcheckWarning)
        assert gradcheck(of_square(lambda g, x: 2 * x * g * torch.ones((), dtype=x.dtype)), [S])


class Centred(torch.autograd.Function):
    """Rows less their mean over all of them, plus a bias: the backward divides by `count` of the input."""

    @staticmethod
    def forward(ctx, x, b, count):
        ctx.save_for_backward(x)
        ctx.count = count
        return x.flatten(0, -2).mean(0) + b

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return (g / ctx.count(x)).expand_as(x), g, None


class Layer(torch.autograd.Function):
    """A linear layer whose weights' gradient is that of the rows that `rows` takes of a batch."""

    @staticmethod
    def forward(ctx, x, w, rows):
        ctx.save_for_backward(x, w)
        ctx.rows = rows
        return x @ w.t()

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        g_rows, x_rows = (ctx.rows(one) if one.dim() > 2 else one for one in (g, x))
        return g @ w, g_rows.t() @ x_rows, None


def test_what_is_wrong_for_a_batch_of_batches_is_undecided() -> None:
    """One input has an axis more, and the weights have none."""
    for function, shapes in ((lambda x, b: Centred.apply(x, b, len), [S, (3,)]), (lambda x, w: Layer.apply(x, w, lambda one: one[0]), [S, (5, 3)])):
        with pytest.raises(GradcheckError, match=r"and wrong for \(2, 4, 3\), \((5, )?3,?\)") as found:
            gradcheck(function, shapes)
        assert found.value.undecided and "gradient.elsewhere" in str(found.value)
    assert gradcheck(lambda x, b: Centred.apply(x, b, lambda x: x.numel() // x.shape[-1]), [S, (3,)])
    assert gradcheck(lambda x, w: Layer.apply(x, w, lambda one: one.flatten(0, -2)), [S, (5, 3)])


def test_what_is_wrong_in_float32_alone_is_undecided_where_float64_was_given() -> None:
    given = torch.randn(S, dtype=torch.float64, requires_grad=True)
    with pytest.raises(GradcheckError, match="gradients in float32 are others than in float64") as found:
        gradcheck(of_square(lambda g, x: (2 if x.dtype == torch.float64 else 3) * x * g), given)
    assert found.value.undecided and "gradient.elsewhere" in str(found.value)
    assert gradcheck(of_square(lambda g, x: 2 * x * g if x.dtype == torch.float64 else x * g * 2), given)
