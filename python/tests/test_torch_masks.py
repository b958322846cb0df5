"""Conditions of Functions that hold at once: wrong values behind all of them are found or named, right ones pass."""
from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="gradcheck needs the package torch")
from assay import GradcheckError, gradcheck  # noqa: E402
from wrong_cotangents import of_square  # noqa: E402

S = (4, 3)


def conditions(x):
    """Each holds often; all of them at once seldom."""
    return [x > 1, x.roll(1) < -1, x.roll(2) > 2, x.roll(3) < -2, x.roll(5) > 1.5, x.roll(7) < -1.5]


def folded(combine, x, convert=lambda one: one):
    first, *others = (convert(one) for one in conditions(x))
    for one in others:
        first = combine(first, one)
    return first


def inside(g, x):
    found = g
    for one in conditions(x):
        found = torch.where(one, found, torch.zeros_like(g))
    return found


def of_written_parts(g, x):
    found = torch.zeros_like(g)
    found[x > 1] = 1.0
    for one in conditions(x)[1:]:
        found = found.masked_fill(~one, 0.0)
    return found * g


# What is added to the right gradient where all hold.
JOINT = {
    "and": lambda g, x: g * folded(torch.bitwise_and, x), "logical and": lambda g, x: g * folded(torch.logical_and, x), "product of masks": lambda g, x: g * folded(torch.mul, x),
    "product of numbers": lambda g, x: g * folded(torch.mul, x, lambda one: one.float()), "factors": lambda g, x: folded(torch.mul, x, lambda one: one.to(g.dtype)) * g,
    "no or": lambda g, x: g * ~folded(torch.bitwise_or, x, torch.logical_not), "all": lambda g, x: g * torch.stack(conditions(x)).all(0), "prod": lambda g, x: g * torch.stack(conditions(x)).float().prod(0),
    "amin": lambda g, x: g * torch.stack(conditions(x)).float().amin(0), "minimum": lambda g, x: g * folded(torch.minimum, x, lambda one: one.float()), "where inside of where": inside,
    "masked_fill": of_written_parts, "of all elements": lambda g, x: torch.where((x > 2).all(), g, 0 * g), "of a row": lambda g, x: g * (x > 2).all(1, keepdim=True),
    "relus": lambda g, x: g * (x - 1).relu() * (-x.roll(1) - 1).relu() * (x.roll(2) - 3).relu() * (-x.roll(3) - 2).relu(),
    "an order of all": lambda g, x: g * (x.flatten().topk(3).indices == torch.tensor([7, 3, 1])).all(), "of a set": lambda g, x: g * torch.isin(x, torch.tensor([5.25, 77.5])),
    "small beside large": lambda g, x: g * ((x.abs() < 0.01) & (x.roll(1).abs() > 100) & (x.roll(2).abs() < 0.01) & (x.roll(3).abs() > 100))}
PYTHON = {
    "numbers": lambda a: a[0] > 1 and a[1] < -1 and a[2] > 3 and a[3] < -2 and a[4] > 1, "nested": lambda a: (a[2] > 3 if a[1] < -1 else False) if a[0] > 1 else False,
    "later lines": lambda a: later_lines(a)}


def later_lines(a):
    if a[0] < 2:
        return False
    if a[1] > -2:
        return False
    return a[2] > 3


@pytest.mark.parametrize("name", JOINT)
def test_conditions_that_hold_at_once_are_reached_or_named(name: str) -> None:
    with pytest.raises(GradcheckError) as found:
        gradcheck(of_square(lambda g, x: 2 * x * g + JOINT[name](g, x)), [S])
    assert found.value.failed or "gradient.unreached" in str(found.value)


@pytest.mark.parametrize("name", JOINT)
def test_conditions_that_no_given_input_meets_are_named(name: str) -> None:
    torch.manual_seed(0)
    with pytest.raises(GradcheckError) as found:
        gradcheck(of_square(lambda g, x: 2 * x * g + JOINT[name](g, x)), torch.randn(S, requires_grad=True))
    assert found.value.undecided and "gradient.unreached" in str(found.value) or found.value.failed


def test_a_condition_of_all_says_what_held_nowhere() -> None:
    x = torch.linspace(-3, 3, 12).reshape(S).requires_grad_()
    with pytest.raises(GradcheckError, match="another branch .backward of Square: bitwise_and, where it is true at test_torch_masks.py:"):
        gradcheck(of_square(lambda g, x: 2 * x * g + g * ((x > 2) & (x.roll(1) < -2) & (x.roll(2) > 2))), x)


@pytest.mark.parametrize("name", PYTHON)
def test_conditions_of_python_that_hold_at_once_are_reached_or_named(name: str) -> None:
    for read in (lambda x: x.flatten().tolist(), lambda x: [one.item() for one in x.flatten()], lambda x: x.flatten()):
        with pytest.raises(GradcheckError) as found:
            gradcheck(of_square(lambda g, x: (3 if PYTHON[name](read(x)) else 2) * x * g), [S])
        assert found.value.failed or "gradient.unreached" in str(found.value)


def test_a_branch_behind_a_branch_is_reached() -> None:
    """The first run takes neither."""
    def backward(g, x):
        return torch.where(x.roll(1) < -20, 3, 2) * x * g if x.max() > 9 else 2 * x * g
    with pytest.raises(GradcheckError) as found:
        gradcheck(of_square(backward), [S])
    assert found.value.failed or "gradient.unreached" in str(found.value)


def own(forward, backward):
    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *given):
            found, kept = forward(*given)
            ctx.save_for_backward(*kept)
            return found

        @staticmethod
        def backward(ctx, g):
            return backward(g, *ctx.saved_tensors)
    return Own.apply


def pieces(x):
    return torch.where(x < 0, 0.5 * x, torch.where(x < 1, x, 2 * x - 1)), (x,)


def clipped(x):
    return x.clamp(-1, 1), (x,)


RIGHT = {
    "inside of an interval": own(clipped, lambda g, x: g * ((x > -1) & (x < 1))), "outside of it": own(clipped, lambda g, x: torch.where((x <= -1) | (x >= 1), 0.0, g)),
    "two factors": own(clipped, lambda g, x: g * (x > -1).float() * (x < 1).float()), "a mask of the forward pass": own(lambda x: (x.clamp(0, 6), ((x > 0) & (x < 6),)), lambda g, m: g * m),
    "pieces": own(pieces, lambda g, x: g * torch.where(x < 0, 0.5, torch.where(x < 1, 1.0, 2.0))), "pieces, from the other end": own(
        pieces, lambda g, x: g * torch.where(x < 1, torch.where(x < 0, 0.5, 1.0), 2.0)),
    "pieces and nothing else": own(pieces, lambda g, x: g * torch.where(x < 0, 0.5, torch.where((x >= 0) & (x < 1), 1.0, torch.where(x >= 1, 2.0, 0.0)))),
    "pieces that are added": own(pieces, lambda g, x: g * (0.5 * (x < 0) + 1.0 * ((x >= 0) & (x < 1)) + 2.0 * (x >= 1))),
    "one condition asked twice": own(lambda x: (torch.where(x > 0, torch.where(x > 0, x, 1.0).sqrt(), 0.0), (x,)),
                                     lambda g, x: torch.where(x > 0, g * 0.5 / torch.where(x > 0, x, torch.ones_like(x)).sqrt(), 0.0)),
    "finite and positive": own(lambda x: (x.relu(), (x,)), lambda g, x: g * ((x > 0) & torch.isfinite(x))), "rows without any": own(
        lambda x: (x.relu(), (x,)), lambda g, x: g * (x > 0) * (x > 0).any(-1, keepdim=True)),
    "an equality beside": own(lambda x: (x.relu(), (x,)), lambda g, x: torch.where((x > 0) | (x == 0), g, 0.0) * (x != 0))}


@pytest.mark.parametrize("name", RIGHT)
def test_right_ones_pass(name: str) -> None:
    assert gradcheck(RIGHT[name], [S])


def test_right_ones_of_several_inputs_pass() -> None:
    of_max = own(lambda a, b, c: (torch.maximum(torch.maximum(a, b), c), (a, b, c)), lambda g, a, b, c: (g * ((a > b) & (a > c)), g * ((b >= a) & (b > c)), g * ((c >= a) & (c >= b))))
    assert gradcheck(of_max, [S, S, S])
    gated = own(lambda x, w: (x.relu() * w.relu(), (x, w)), lambda g, x, w: (g * (x > 0) * w.relu(), g * (w > 0) * x.relu()))
    assert gradcheck(gated, [S, S])
