"""Functions that write to the elements which a mask selects: right ones pass, wrong ones fail."""
from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="gradcheck needs the package torch")
from assay import GradcheckError, gradcheck  # noqa: E402
from test_torch_masks import own  # noqa: E402

S = (4, 3)


def halved(x):
    return torch.where(x < 0, 0.5 * x, x), (x,)


def pieces(x):
    return torch.where(x < 0, 0.5 * x, torch.where(x < 1, x, 2 * x - 1)), (x,)


def cubes(x):
    return torch.where(x > 0, x**3, x), (x,)


def in_parts(x):
    found = x.clone()
    found[x > 0] = x[x > 0] ** 3
    return found, (x,)


def written(g, x, *parts):
    """A copy of the cotangent, with each part written by a function of what was selected."""
    found = g.clone()
    for mask, change in parts:
        found[mask(x)] = change(found[mask(x)], x[mask(x)])
    return found


def in_place(g, x):
    found = g.clone()
    found[x < 0] *= 0.5
    return found


def zeroed(g, x):
    found = g.clone()
    found[x < 0] = 0
    return found


def of_rows(g, x):
    found = g.clone()
    found[x.sum(1) < 0] = 0
    return found


def scattered(g, x):
    return g.masked_scatter(x < 0, 0.5 * g.masked_select(x < 0))


def by_places(factor):
    def backward(g, x):
        found = g.clone()
        found[(x < 0).nonzero(as_tuple=True)] *= factor
        return found
    return backward


RIGHT = {
    "zeros": own(lambda x: (x.relu(), (x,)), zeroed), "zeros of rows": own(lambda x: (torch.where(x.sum(1, keepdim=True) < 0, torch.zeros_like(x), x), (x,)), of_rows),
    "half": own(halved, lambda g, x: written(g, x, (lambda x: x < 0, lambda g, _: 0.5 * g))), "in place": own(halved, in_place), "scattered": own(halved, scattered),
    "three pieces": own(pieces, lambda g, x: written(g, x, (lambda x: x < 0, lambda g, _: 0.5 * g), (lambda x: x >= 1, lambda g, _: 2 * g))),
    "by what was selected of x": own(cubes, lambda g, x: written(g, x, (lambda x: x > 0, lambda g, x: 3 * x * x * g))), "in the forward pass": own(
        in_parts, lambda g, x: g * torch.where(x > 0, 3 * x * x, torch.ones_like(x))), "in both passes": own(in_parts, lambda g, x: written(g, x, (lambda x: x > 0, lambda g, x: 3 * x * x * g)))}
WRONG = {
    "half of what is positive": own(halved, lambda g, x: written(g, x, (lambda x: x > 0, lambda g, _: 0.5 * g))), "two thirds": own(
        halved, lambda g, x: written(g, x, (lambda x: x < 0, lambda g, _: g / 1.5))), "beyond another number": own(cubes, lambda g, x: written(g, x, (lambda x: x > 0.25, lambda g, x: 3 * x * x * g))),
    "zeros far away": own(lambda x: (x.relu(), (x,)), lambda g, x: written(zeroed(g, x), x, (lambda x: x > 50, lambda g, _: 0 * g)))}


@pytest.mark.parametrize("name", RIGHT)
def test_right_ones_pass(name: str) -> None:
    assert gradcheck(RIGHT[name], [S])
    assert gradcheck(RIGHT[name], torch.tensor([[-1.5, 0.5, 2.0], [1.25, -0.25, -3.0], [0.75, 0.125, -2.0]], requires_grad=True))
    assert gradcheck(RIGHT[name], torch.tensor([[-1.5, 0.5, -2.0], [-1.25, 0.25, 3.0]], requires_grad=True))  # of one element beyond 1


@pytest.mark.parametrize("name", WRONG)
def test_wrong_ones_fail(name: str) -> None:
    with pytest.raises(GradcheckError) as found:
        gradcheck(WRONG[name], [S])
    assert found.value.failed, str(found.value)


def test_places_that_inputs_decide_are_no_fault() -> None:
    """A formula that takes them as given holds at the recorded point alone."""
    with pytest.raises(GradcheckError, match="places that inputs decide .test_torch_selections.py:") as found:
        gradcheck(own(halved, by_places(0.5)), [S])
    assert found.value.undecided and "Use where" in str(found.value)
    with pytest.raises(GradcheckError) as found:
        gradcheck(own(halved, by_places(0.25)), [S])
    assert found.value.failed
