"""Right Functions whose two passes compute numbers of one another in different ways: they pass, and ones with a number that is another one do not."""
from __future__ import annotations

import math
from typing import Any, Callable

import pytest

torch = pytest.importorskip("torch", reason="gradcheck needs the package torch")
from assay import GradcheckError, gradcheck  # noqa: E402
from assay.torch.composed import Composed, polynomial  # noqa: E402
from assay.torch.numbers import Computed, Known  # noqa: E402
from wrong_cotangents import own  # noqa: E402


# Of c and d: the forward, and the backward with a factor k that is 1.
PROGRAMS: dict[str, Callable[[float, float], tuple[Any, Any]]] = {
    "a sum first": lambda c, d: (lambda x: x * (c + d), lambda g, x, k: g * c + g * (d * k)),
    "a difference first": lambda c, d: (lambda x: x * (c - d), lambda g, x, k: g * c - g * (d * k)),
    "a sum later": lambda c, d: (lambda x: x * c + x * d, lambda g, x, k: g * ((c + d) * k)),
    "a square first": lambda c, d: (lambda x: x * (c * c), lambda g, x, k: g * c * (c * k)),
    "a square of a sum": lambda c, d: (lambda x: x * (c + 1) ** 2, lambda g, x, k: g * c * c + 2 * c * k * g + g),
    "two spellings": lambda c, d: (lambda x: x * (c * c + 2 * c + 1), lambda g, x, k: g * ((c + 1) ** 2 * k)),
    "one less a square": lambda c, d: (lambda x: x * (1 - c * c), lambda g, x, k: g - g * c * (c * k)),
    "a cube": lambda c, d: (lambda x: x * (c ** 3 - c), lambda g, x, k: g * c * ((c * c - 1) * k)),
    "of two": lambda c, d: (lambda x: x * (c + d) * (c - d), lambda g, x, k: g * ((c * c - d * d) * k)),
    "a square of two": lambda c, d: (lambda x: x * (c + d) ** 2, lambda g, x, k: g * c * c + 2 * c * (d * k) * g + g * d * d),
    "a quotient": lambda c, d: (lambda x: x * (c / d + 1), lambda g, x, k: g * ((c + d) * k) / d),
    "a share": lambda c, d: (lambda x: x * (c / (c + d)), lambda g, x, k: g / (1 + d / c * k)),
    "a series": lambda c, d: (lambda x: x * (1 + c + c * c / 2), lambda g, x, k: g + g * c + g * c * c * (k / 2)),
    "a number added": lambda c, d: (lambda x: (x + c) ** 2, lambda g, x, k: g * 2 * x + 2 * c * k * g),
    "half a number added": lambda c, d: (lambda x: x * x + 2 * c * x, lambda g, x, k: 2 * g * (x + c * k)),
    "a sum added": lambda c, d: (lambda x: (x + (c + d)) ** 2, lambda g, x, k: 2 * g * (x + c + d * k)),
    "a tensor of a number": lambda c, d: (lambda x: x * torch.tensor(c, dtype=x.dtype), lambda g, x, k: g * (c * k)),
    "a tensor twice": lambda c, d: (lambda x: x * torch.tensor([c, d, 0.5], dtype=x.dtype), lambda g, x, k: g * torch.tensor([c, d * k, 0.5], dtype=x.dtype)),
    "a tensor added": lambda c, d: (lambda x: (x + torch.tensor(c, dtype=x.dtype)) ** 2, lambda g, x, k: 2 * g * (x + c * k))}
NUMBERS = [(0.3, 0.7), (math.sqrt(2), math.pi), (0.123456789123, 1.7123456789), (1.5409960746765137, -0.293428897857666)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_that_are_computed_in_two_ways(name: str, dtype: Any) -> None:
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(0)).to(dtype).requires_grad_()
    for c, d in NUMBERS:
        forward, backward = PROGRAMS[name](c, d)
        assert gradcheck(own(forward, lambda g, x: backward(g, x, 1.0)), [x]), (c, d)
    for off in (1e-3, 1e-6) if dtype == torch.float32 else (1e-6, 2.0**-42):
        with pytest.raises(GradcheckError):
            gradcheck(own(forward, lambda g, x: backward(g, x, 1 + off)), [x])


@pytest.mark.parametrize("forward, backward", [
    (lambda x: x * torch.tensor(2.0), lambda g, x: g), (lambda x: x * torch.tensor(0.5), lambda g, x: g * 0.25),
    (lambda x: x * (0.3 + 0.4), lambda g, x: g * 0.3), (lambda x: (x + 0.1) ** 2, lambda g, x: 2 * g * x),
    (lambda x: x * torch.tensor(x.detach().mean().item()), lambda g, x: g * torch.tensor(x.detach().mean().item()))])
def test_another_number_still_fails(forward: Any, backward: Any) -> None:
    with pytest.raises(GradcheckError):
        gradcheck(own(forward, backward), [(4, 3)])


@pytest.mark.parametrize("width", [0.1, 0.3, 1.1])
def test_a_bend_at_a_number_that_is_added(width: float) -> None:
    """The type's number decides at the bend, not the one that is meant."""
    assert gradcheck(own(lambda x: torch.relu(x - width) * 0.7, lambda g, x: g * (x > width) * 0.7), [(40,)])
    with pytest.raises(GradcheckError) as failed:
        gradcheck(own(lambda x: torch.relu(x - width) * 0.7, lambda g, x: g * (x > width + 0.2) * 0.7), [(40,)])
    assert failed.value.failed


def tanh_gelu(slope: float) -> Any:
    """BLOOM's, with numbers that were typed in: its backward has 3 * 0.044715 * 0.79788456 to ten digits."""
    def inner(x: Any) -> Any:
        return torch.tanh(0.79788456 * x * (1 + 0.044715 * x * x))
    def backward(g: Any, x: Any) -> Any:
        t = inner(x)
        return g * (0.5 * x * ((1 - t * t) * (0.79788456 + slope * x * x)) + 0.5 * (1 + t))
    return own(lambda x: x * 0.5 * (1.0 + inner(x)), backward)


def test_a_product_that_was_typed_in() -> None:
    for slope in (0.1070322243, 0.10703222430, 0.1070322244):
        assert gradcheck(tanh_gelu(slope), [(4, 3)])
    for slope in (0.1070322343, 0.1070322, 0.107032):
        with pytest.raises(GradcheckError):
            gradcheck(tanh_gelu(slope), [(4, 3)])
    assert not composed(0.79788456, 0.044715, 0.107032).formulas
    for off in (1e-9, -1e-9, 1e-10):  # one digit off is another number
        assert not composed(0.79788456, 1 + off).formulas and not composed(1 + off).formulas
        with pytest.raises(GradcheckError):
            gradcheck(own(torch.exp, lambda g, x: g * torch.exp(x) * (1 + off)), [(4, 3)])


def composed(*values: float) -> Composed:
    known = Known()
    for one in values:
        known.meets(one)
    return Composed(known)


def test_none_is_computed_of_what_was_computed_of_it() -> None:
    c, d = 0.83746523874, 0.61803398876
    found = composed(c + d, c, d, c * d, (c + d) ** 2)
    assert found.of(c * d) == Computed((c, d), powers=(1, 1)) and found.of(c + d) == Computed((c, d), "add") and found.of((c + d) ** 2) is not None
    assert found.of(c) is None and found.of(d) is None
    made = composed((c + 1) ** 2, c).of((c + 1) ** 2)
    assert made is not None and made.of == (c,) and not composed((c + 1) ** 2 * (1 + 2.0**-44), c).formulas


def test_drawn_numbers_are_computed_of_no_others() -> None:
    generator = torch.Generator().manual_seed(1)
    assert not composed(*torch.randn(60, dtype=torch.float64, generator=generator).tolist()).formulas
    assert polynomial(0.83746523874, (0.61803398876, 1.7123456789)) is None
