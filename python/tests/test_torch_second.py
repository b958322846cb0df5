"""Second derivatives of the modules of torch.nn: judged, refused by name, or found where PyTorch's are wrong."""
from __future__ import annotations

import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="gradcheck needs the package torch")
from assay import GradcheckError, gradcheck  # noqa: E402
from assay.torch import Refused, judge, record  # noqa: E402
from torch_modules import TABLE  # noqa: E402

# PyTorch has none.
NONE = {"EmbeddingBag", "EmbeddingBag, mean", "EmbeddingBag, weighted", "CrossMapLRN2d", "Hardsigmoid", "MultiheadAttention", "TransformerEncoder",
        "MultiMarginLoss", "MultiMarginLoss, squares", "TransformerDecoder", "Transformer"}
REFUSED = {one: "whose backward formula is not known here" for one in ("EmbeddingBag, max", "FractionalMaxPool2d", "MultiLabelMarginLoss", "CTCLoss")}
UNDECIDED = {"GELU", "GELU, tanh"}  # no point at which all functions have a residue
WRONG = {"weight_norm", "BCELoss"}  # the first also by finite differences; the second by 1e-12 in a denominator, which these do not see


def second(name: str) -> bool:
    torch.manual_seed(3)
    module, inputs = TABLE[name]()
    def results(*given: Any) -> Any:
        found = torch.utils._pytree.tree_leaves(module(*given))
        return tuple(y for y in found if isinstance(y, torch.Tensor) and y.is_floating_point() and y.requires_grad)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gradcheck(results, inputs, params=dict(module.named_parameters()), check_grad_grad=True)


@pytest.mark.parametrize("name", TABLE)
def test_module(name: str) -> None:
    if name in NONE:
        with pytest.raises((RuntimeError, NotImplementedError)):
            second(name)
    elif name in REFUSED:
        with pytest.raises(Refused, match=REFUSED[name]):
            second(name)
    elif name in UNDECIDED | WRONG:
        with pytest.raises(GradcheckError) as found:
            second(name)
        assert found.value.report.failed == (name in WRONG), str(found.value)
    else:
        assert second(name)


def test_a_wrong_second_derivative_of_torch() -> None:
    """What is said of `weight_norm` is what finite differences say."""
    v, g = torch.randn(3, 4, dtype=torch.double, requires_grad=True), torch.randn(3, 1, dtype=torch.double, requires_grad=True)
    assert not torch.autograd.gradgradcheck(lambda v, g: torch.ops.aten._weight_norm_interface(v, g, 0)[0], (v, g), raise_exception=False)


def spread(x: Any) -> Any:
    """The first two of three parts."""
    a, b, _ = x.unbind()
    return a * b


def squared(x: Any) -> Any:
    """One of three parts; a second derivative flows through it alone."""
    return x.unbind()[1] ** 2


def moments(x: Any) -> Any:
    v, m = torch.var_mean(x, 1)
    return v * m


SEVERAL = {"some parts": spread, "one part": squared, "two moments": moments, "a variance": lambda x: torch.var_mean(x, 1)[0], "a mean": lambda x: torch.var_mean(x, 1)[1] ** 2,
           "two splits": lambda x: torch.stack([p.tanh() * q for p, q in zip(x.split(1), x.split(1)[::-1])]),
           "extrema": lambda x: torch.mul(*torch.aminmax(x, dim=1)), "a group norm twice": lambda x: torch.group_norm(torch.group_norm(x, 1).tanh(), 1)}


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("name", SEVERAL)
def test_operations_of_several_results(name: str, second: bool) -> None:
    """Some, or others than in the first pass, have cotangents."""
    assert gradcheck(SEVERAL[name], [(3, 4)], check_grad_grad=second)


def test_passes_from_different_results() -> None:
    x = torch.randn(3, 4, requires_grad=True)
    with record({"x": x}) as run:
        v, m = torch.var_mean(x, 1)
        v.sum().backward(retain_graph=True)
        (v * m).sum().backward()
    report = judge(run)
    assert report.passed, report.text
    with record({"x": x}) as run:
        v, m = torch.var_mean(x, 1)
        (v * m).sum().backward(retain_graph=True)
        with pytest.raises(Refused, match="other results"):
            v.sum().backward()


class Turn(torch.autograd.Function):
    """A Function that keeps both of its results."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        s, c = x.sin(), x.cos()
        ctx.save_for_backward(s, c)
        return s, c

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        s, c = ctx.saved_tensors
        return g * c - h * s


def test_a_function_that_keeps_its_results_is_not_called_wrong() -> None:
    assert gradcheck(lambda x: torch.mul(*Turn.apply(x)), [(3, 4)], check_grad_grad=True)
    with pytest.raises(Refused, match="other results"):
        gradcheck(lambda x: Turn.apply(x)[0], [(3, 4)], check_grad_grad=True)


def cube(backward: Any, kept: Any = None) -> Any:
    """x^3, whose gradient is a Function of g and x; `backward` gives its gradients from gg, g and x."""
    class Slope(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, g: Any, x: Any) -> Any:
            ctx.save_for_backward(g, x)
            return g * 3 * x * x

        @staticmethod
        def backward(ctx: Any, gg: Any) -> Any:
            return backward(gg, *ctx.saved_tensors)

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            if kept is not None:
                kept[0] = x.detach()
            return x ** 3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return Slope.apply(g, *ctx.saved_tensors)
    return Cube.apply


KEPT: list[Any] = [None]
WRONG_SECONDS = {
    "NaN at zeros": cube(lambda gg, g, x: (gg * 3 * x * x, gg * g * 6 * x * x / x)),
    "another layout of inputs": cube(lambda gg, g, x: (gg * 3 * x * x, gg * g * 6 * x * (1 if x.is_contiguous() else 2))),
    "another layout of the second cotangent": cube(lambda gg, g, x: (gg * 3 * x * x, gg * g * 6 * x * (1 if gg.is_contiguous() else 2))),
    "the last forward pass": cube(lambda gg, g, x: (gg * 3 * x * x, gg * g * 6 * KEPT[0]), KEPT)}


def test_second_derivatives_that_are_wrong_elsewhere_do_not_pass() -> None:
    for name, function in WRONG_SECONDS.items():
        with pytest.raises(GradcheckError) as found:
            gradcheck(function, [(4, 3)], check_grad_grad=True)
        assert found.value.failed, f"{name}: {found.value}"
    assert gradcheck(cube(lambda gg, g, x: (gg * 3 * x * x, gg * g * 6 * x)), [(4, 3)], check_grad_grad=True)


class Half(torch.autograd.Function):
    """A product of which one gradient is computed without a graph."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any, is_wrong: bool) -> Any:
        ctx.save_for_backward(x, y)
        ctx.is_wrong = is_wrong
        return x * y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        with torch.set_grad_enabled(torch.is_grad_enabled() and not ctx.is_wrong):
            of_y = (g * x).sum(0)
        return g * y, of_y, None


def test_a_gradient_without_a_graph_is_undecided() -> None:
    with pytest.raises(GradcheckError, match="the gradient of 'input 1' has no second derivative") as found:
        gradcheck(lambda x, y: Half.apply(x, y, True), [(4, 3), (3,)], check_grad_grad=True)
    assert found.value.undecided and "gradient.detached" in str(found.value)
    assert gradcheck(lambda x, y: Half.apply(x, y, False), [(4, 3), (3,)], check_grad_grad=True)
