"""Functions that are at their limits at all drawn inputs, as sigmoid(50 * (x - 6)): a backward that forgets their derivatives is found where they change."""
from __future__ import annotations

from typing import Any, Callable

import pytest

torch = pytest.importorskip("torch", reason="gradcheck needs the package torch")

from assay import GradcheckError, gradcheck  # noqa: E402
from wrong_cotangents import own  # noqa: E402

Make = Callable[..., Any]


def times(switch: Make, slope: Make) -> Any:
    """x * switch(x), of which a wrong backward takes the switch for a constant."""
    class Switched(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, is_right: bool) -> Any:
            ctx.save_for_backward(x)
            ctx.is_right = is_right
            return x * switch(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, = ctx.saved_tensors
            return g * (switch(x) + x * slope(x) if ctx.is_right else switch(x)), None
    return Switched.apply


def of_sigmoid(k: float, c: float) -> tuple[Make, Make]:
    return lambda x: torch.sigmoid(k * (x - c)), lambda x: k * torch.sigmoid(k * (x - c)) * (1 - torch.sigmoid(k * (x - c)))


SWITCHES = {
    "a sigmoid": of_sigmoid(500, 60), "on both sides": of_sigmoid(1e4, 0.3), "tanh": (lambda x: torch.tanh(100 * (x - 8)), lambda x: 100 * (1 - torch.tanh(100 * (x - 8)) ** 2)),
    "erf": (lambda x: torch.erf(20 * (x - 7)), lambda x: 40 / torch.pi**0.5 * torch.exp(-(20 * (x - 7)) ** 2)),
    "a bump": (lambda x: 1 + torch.exp(-(x - 300) ** 2), lambda x: -2 * (x - 300) * torch.exp(-(x - 300) ** 2))}


@pytest.mark.parametrize("name", SWITCHES)
def test_a_derivative_that_is_0_at_all_drawn_inputs_is_judged_where_it_is_not(name: str) -> None:
    function = times(*SWITCHES[name])
    with pytest.raises(GradcheckError, match="shown by inputs at which a function changes that was at its limit"):
        gradcheck(lambda x: function(x, False), [(4, 3)])
    if name in ("tanh", "on both sides"):
        assert gradcheck(lambda x: function(x, True), [(4, 3)])


def test_given_inputs_at_which_a_function_is_at_its_limit_are_undecided() -> None:
    function, given = times(*SWITCHES["tanh"]), torch.tensor([0.5, -1.0, 2.0, 0.25], requires_grad=True)
    assert gradcheck(lambda x: function(x, True), given)
    with pytest.raises(GradcheckError, match="tanh at test_torch_saturated.py:[0-9]+ is at its limit at all inputs") as found:
        gradcheck(lambda x: function(x, False), given)
    assert found.value.undecided
    with pytest.warns(match="where it is not at its limit"):
        assert gradcheck(lambda x: function(x, False), given, allow_unreached=True)


def test_what_a_mask_holds_at_its_limit_is_right() -> None:
    class Masked(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, s: Any, mask: Any) -> Any:
            ctx.save_for_backward(e := torch.exp(s + mask))
            return e

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 0, None  # what the mask leaves is 0
    assert gradcheck(Masked.apply, [(2, 3), torch.full((2, 3), -1e9)], allow_dead=True)


def piecewise(forward: Make, slope: Make) -> Any:
    """A Function by its forward pass and its derivative, which asks nothing where it is wrong."""
    return own(forward, lambda g, x: g * slope(x))


ONE = torch.ones_like
# Forward passes that take another piece far away, without a comparison of floats; the derivative, and one that is right near 0 alone.
FAR: dict[str, tuple[Make, Make | None, Make]] = {
    "abs": (lambda x: (x - 20).abs(), lambda x: (x - 20).sign(), lambda x: -ONE(x)), "sign": (lambda x: x * (x - 20).sign(), lambda x: (x - 20).sign(), lambda x: -ONE(x)),
    "a norm": (lambda x: (x - 200).norm(p=1, dim=-1, keepdim=True), None, lambda x: -ONE(x)), "trunc": (lambda x: x + x * (x / 40).trunc(), None, ONE),
    "a cast": (lambda x: x + x * (x / 40).int(), None, ONE), "a rounded quotient": (lambda x: x + x * torch.div(x, 40.0, rounding_mode="trunc"), None, ONE),
    "a remainder": (lambda x: torch.remainder(x.abs(), 50.0) * x, None, lambda x: 2 * x.abs()), "whole numbers": (lambda x: torch.where(x.long() == 7, 2 * x, x), None, ONE),
    "an index": (lambda x: torch.where(x.argmax() == 5, 2 * x, x), None, ONE),
    "a greatest row": (lambda x: torch.stack([x, 2 * x - 20]).amax(0), lambda x: torch.where(x > 20, 2.0, 1.0), ONE), "renorm": (lambda x: x.renorm(2, 0, 100.0), None, ONE)}


@pytest.mark.parametrize("name", FAR)
def test_a_piece_of_the_forward_pass_that_lies_far_away_is_judged(name: str) -> None:
    forward, right, near = FAR[name]
    with pytest.raises(GradcheckError) as found:
        gradcheck(piecewise(forward, near), [(4, 3)])
    assert found.value.failed
    assert right is None or gradcheck(piecewise(forward, right), [(4, 3)])


def test_products_that_underflow_are_no_multiples_of_those_that_do_not() -> None:
    """Of a softmax in base 2 whose least weights have lost digits, gradients at large cotangents have more digits than others."""
    def softmax(x: Any) -> Any:
        y = torch.exp2((x - x.amax(-1, keepdim=True)) * 1.4426950408889634)
        return y / y.sum(-1, keepdim=True)

    class Saturated(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = softmax(x)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            y, = ctx.saved_tensors
            return y * (g - (g * y).sum(-1, keepdim=True))

    assert gradcheck(Saturated.apply, [torch.tensor([[0.0, -739.0, -10.0, 3.0], [5.0, -300.0, -20.0, 1.0]], dtype=torch.float64, requires_grad=True)])
