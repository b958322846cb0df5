"""Inputs and arguments at which a mistake hides: zeros, a factor of 1, equal numbers, and gradients that nobody asked for."""
from __future__ import annotations

import inspect
import warnings
from typing import Any, Callable

import pytest

torch = pytest.importorskip("torch", reason="gradcheck needs the package torch")

import assay.torch  # noqa: E402
from assay import GradcheckError, GradcheckWarning, gradcheck  # noqa: E402
from wrong_cotangents import own  # noqa: E402


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, is_quotient: bool) -> Any:
        y = x * torch.sigmoid(x)
        ctx.save_for_backward(x, y)
        ctx.is_quotient = is_quotient
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        s = y / x if ctx.is_quotient else torch.sigmoid(x)  # 0 / 0 at 0, where the derivative is 1 / 2
        return g * (y + s * (1 - y)), None


class Root(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x, y := x.abs().sqrt())
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        return g * torch.sign(x) / (2 * y)


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, factor: float) -> Any:
        ctx.save_for_backward(x)
        return factor * torch.sin(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * torch.cos(ctx.saved_tensors[0]), None  # without the factor


class OnePassNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, w: Any) -> Any:
        mean = x.mean(-1, keepdim=True)
        inverse = ((x * x).mean(-1, keepdim=True) - mean * mean + 1e-5).rsqrt()
        ctx.save_for_backward(h := (x - mean) * inverse, inverse, w)
        return h * w

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        h, inverse, w = ctx.saved_tensors
        gw = g * w
        return inverse * (gw - gw.mean(-1, keepdim=True) - h * (gw * h).mean(-1, keepdim=True)), (g * h).sum(0)


class Masked(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, s: Any, mask: Any) -> Any:
        e = torch.exp((s := s.masked_fill(~mask, -1e9)) - s.amax(-1, keepdim=True))
        ctx.save_for_backward(p := e / e.sum(-1, keepdim=True))
        return p

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        p, = ctx.saved_tensors
        return p * (g - (g * p).sum(-1, keepdim=True)), None


class Mean(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.shape = x.shape
        return x.mean()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g.expand(ctx.shape) / 12  # right for 12 elements


def warned(check: Callable[[], bool]) -> str:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        assert check()
    return "; ".join(str(one.message) for one in found if issubclass(one.category, GradcheckWarning))


def test_zeros_are_tried() -> None:
    with pytest.raises(GradcheckError, match="recorded -?nan, .*shown by zeros in input 0"):
        gradcheck(lambda x: Swish.apply(x, True), [(4, 3)])
    assert warned(lambda: gradcheck(lambda x: Swish.apply(x, False), [(4, 3)])) == ""
    assert "zeros in input 0, for which gradients are not finite" in warned(lambda: gradcheck(Root.apply, [(4, 3)]))


def of_choice(forward: Callable[..., Any], backward: Callable[..., Any]) -> Any:
    """A Function whose backward gives `at_0` times the cotangent at 0."""
    class Chosen(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, at_0: float) -> Any:
            ctx.save_for_backward(x)
            ctx.at_0 = at_0
            return forward(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, = ctx.saved_tensors
            return torch.where(x == 0, ctx.at_0 * g, backward(g, x)), None
    return Chosen.apply


# A branch that is not taken has no derivative at 0: the passes, the derivative there, and whether 0 lies on the border of the condition.
CHOSEN = {
    "a logarithm": (lambda x: torch.where(x > 1, x.log(), 0.0), lambda g, x: torch.where(x > 1, g / x, 0.0), 0.0, False),
    "a reciprocal root": (lambda x: torch.where(x > 0.5, x.rsqrt(), x), lambda g, x: torch.where(x > 0.5, -0.5 * g * x.rsqrt() / x, g), 1.0, False),
    "a mask": (lambda x: (1 / x).masked_fill(x.abs() < 0.5, 0.0), lambda g, x: torch.where(x.abs() < 0.5, 0.0, -g / (x * x)), 0.0, False),
    "a border": (lambda x: torch.where(x > 0, x * x.log(), 0.0), lambda g, x: torch.where(x > 0, g * (x.log() + 1), 0.0), 0.0, True),
    "a limit": (lambda x: torch.where(x == 0, 1.0, torch.expm1(x) / x), lambda g, x: g * (x * x.exp() - torch.expm1(x)) / (x * x), 0.5, True),
    "0 over 0": (lambda x: torch.nan_to_num(x / x), lambda g, x: 0 * g, 0.0, True)}


@pytest.mark.parametrize("name", CHOSEN)
def test_a_branch_that_has_no_derivative_admits_no_other_number(name: str) -> None:
    forward, backward, right, is_border = CHOSEN[name]
    function = of_choice(forward, backward)
    given = torch.tensor([0.0, 2.0, -1.0, 0.0, 0.75], requires_grad=True)
    for inputs in ([(4, 3)], given):
        if right != 0.5 or inputs is not given:  # of a limit the gate cannot tell at the given 0
            assert gradcheck(lambda x: function(x, right), inputs)
        with pytest.raises(GradcheckError) as found:
            gradcheck(lambda x: function(x, 5.0), inputs)
        assert found.value.undecided if is_border else found.value.failed and "the branch that is taken gives" in str(found.value)


class Quotient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, at_0: float) -> Any:
        ctx.save_for_backward(x)
        ctx.at_0 = at_0
        return torch.where(x == 0, 1.0, torch.expm1(x) / torch.where(x == 0, 1.0, x))

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, = ctx.saved_tensors
        safe = torch.where(x == 0, 1.0, x)
        return g * torch.where(x == 0, ctx.at_0, (torch.exp(x) * safe - torch.expm1(x)) / (safe * safe)), None


class Difference(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any, b: Any, share: float) -> Any:
        ctx.save_for_backward(a, b)
        ctx.share = share
        return torch.where(a == b, torch.exp(a), (torch.exp(a) - torch.exp(b)) / torch.where(a == b, 1.0, a - b))

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        a, b = ctx.saved_tensors
        step, e, f = torch.where(a == b, 1.0, a - b), torch.exp(a), torch.exp(b)
        by_a, by_b = (e * step - e + f) / step**2, (e - f - f * step) / step**2
        return g * torch.where(a == b, ctx.share * e, by_a), g * torch.where(a == b, (1 - ctx.share) * e, by_b), None


def test_a_branch_that_holds_at_one_point_does_not_decide_the_derivative() -> None:
    """PyTorch gives the derivative of the branch that is taken, which is 0 at 0 in the first function, and e**a by a in the second."""
    assert gradcheck(lambda x: Quotient.apply(x, 0.5), [(4, 3)])
    assert gradcheck(lambda a, b: Difference.apply(a, b, 0.5), [(4,), (4,)])
    for wrong, inputs in ((lambda x: Quotient.apply(x, 0.0), [(4, 3)]), (lambda x: Quotient.apply(x, 3.0), [(4, 3)]), (lambda a, b: Difference.apply(a, b, 1.0), [(4,), (4,)])):
        with pytest.raises(GradcheckError) as found:
            gradcheck(wrong, inputs)
        assert found.value.undecided
    x = torch.tensor([0.0, 1.0, -2.0], requires_grad=True)
    report = assay.torch.step({"x": x}, lambda: Quotient.apply(x, 0.5).square().sum())
    assert report.undecided and [one.rule for one in report.findings] == ["gradient.border"]


def test_ones_are_tried() -> None:
    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x / 2 + x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, = ctx.saved_tensors
            return g * (x * x - 1) / (x - 1)  # 0 / 0 at 1
    with pytest.raises(GradcheckError, match="it is NaN in .* shown by ones in input 0"):
        gradcheck(Half.apply, [(4, 3)])


def test_the_gradient_of_an_input_that_asks_for_none_is_judged() -> None:
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any, sign: Any, factor: float | None) -> Any:
            ctx.save_for_backward(a, b, sign)
            ctx.factor = factor
            return a * b * sign

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            a, b, sign = ctx.saved_tensors
            return g * b * sign, None if ctx.factor is None else ctx.factor * g * a * sign, None, None  # nobody differentiates by a sign
    given, sign = torch.randn(3), torch.randn(3).sign()
    for factor in (1.0, None):
        assert gradcheck(lambda a, b, s: Product.apply(a, b, s, factor), [(3,), given, sign])
    with pytest.raises(GradcheckError, match="wrong where input 1 asks for a gradient: the cotangent of 'input 1'") as found:
        gradcheck(lambda a, b, s: Product.apply(a, b, s, 3.0), [(3,), given, sign])
    assert found.value.undecided


def quick_exp(x: Any) -> Any:
    return torch.exp(x - x.amax(-1, keepdim=True))


HIDDEN = torch.tensor([[False, False, True], [False, True, True], [False, False, False], [True, False, False]])
FAR_APART: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {  # forward passes, and the numerators of their weights in another way
    "base 2": (lambda x: torch.softmax(x, -1), lambda x: torch.exp2((x - x.amax(-1, keepdim=True)) * 1.4426950408889634)), "a mask": (lambda x: torch.softmax(x.masked_fill(HIDDEN, -1e9), -1), lambda x: quick_exp(x.masked_fill(HIDDEN, -1e9))),
    "added": (lambda x: torch.softmax(x + HIDDEN * -1e9, -1), lambda x: quick_exp(x + HIDDEN * -1e9))}


@pytest.mark.parametrize("name", FAR_APART)
def test_numbers_of_all_sizes_accuse_no_right_function(name: str) -> None:
    """The gate alone calls these wrong where numbers are large; differences do not."""
    forward, numerators = FAR_APART[name]

    def backward(g: Any, x: Any) -> Any:
        p = (e := numerators(x)) / e.sum(-1, keepdim=True)
        return p * (g - (g * p).sum(-1, keepdim=True))
    assert gradcheck(own(forward, backward), [(4, 3)])


def test_a_factor_of_one_is_named() -> None:
    assert "for the argument 'factor' of Scaled, which hides a lost factor" in warned(lambda: gradcheck(lambda x: Scaled.apply(x, 1.0), [(4, 3)]))
    with pytest.raises(GradcheckError):
        gradcheck(lambda x: Scaled.apply(x, 0.5), [(4, 3)])


def test_a_norm_in_one_pass_is_decided_where_equal_numbers_cancel() -> None:
    torch.manual_seed(0)
    assert gradcheck(OnePassNorm.apply, [(torch.randn(4, 8) + 100).requires_grad_(), torch.randn(8, requires_grad=True)])
    with pytest.raises(GradcheckError, match="nearly equal numbers are subtracted.*Subtract the mean first"):
        gradcheck(OnePassNorm.apply, [(torch.randn(4, 8) + 1000).requires_grad_(), torch.randn(8, requires_grad=True)])


def test_a_finding_at_another_shape_names_the_backward() -> None:
    line = inspect.getsourcelines(Mean.backward)[1] + 1  # beneath the decorator
    with pytest.raises(GradcheckError, match=rf"wrong for \(5, 4\).*the backward of Mean stands at .*test_torch_single.py:{line}. Mend the backward pass"):
        gradcheck(Mean.apply, [(4, 3)])


def test_a_gradient_that_was_not_asked_for_is_named() -> None:
    w, x = torch.nn.Parameter(torch.ones(4)), torch.randn(3, 4)
    report = assay.torch.step({"w": w}, lambda: OnePassNorm.apply(x, w).square().sum())
    assert report.passed and report.unreached == ["the gradient of OnePassNorm by 'x', which the run did not ask for"]


def test_other_masks_leave_something_of_each_line() -> None:
    mask = torch.tensor([[True, True, True, True], [True, True, False, False]])  # padding: no line is masked as a whole
    assert gradcheck(Masked.apply, [(2, 4), mask])


class MaskedMean(torch.autograd.Function):
    """The forward pass guards a count of 0, and the backward pass only if it is right."""

    @staticmethod
    def forward(ctx: Any, x: Any, mask: Any, is_right: bool) -> Any:
        count = mask.sum(-1, keepdim=True)
        ctx.save_for_backward(mask, count.clamp(min=1) if is_right else count)
        return (x * mask).sum(-1, keepdim=True) / count.clamp(min=1)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        mask, count = ctx.saved_tensors
        return g * mask / count, None, None


def test_lines_of_which_a_mask_leaves_nothing() -> None:
    mask = torch.tensor([[True, True, False]] * 4)
    assert gradcheck(lambda x, m: MaskedMean.apply(x, m, True), [(4, 3), mask])
    with pytest.raises(GradcheckError, match="a line of input 1 without a true value") as found:
        gradcheck(lambda x, m: MaskedMean.apply(x, m, False), [(4, 3), mask])
    assert found.value.failed
