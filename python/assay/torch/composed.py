"""Numbers that a program computes of others by sums and powers, whichever of them it uses first: (c + 1)^2 means c^2 + 2 c + 1.

A number that is read so is changed by less than what rounding its own formula may do: relative to its value by at most CANCELLED times a few roundings.
"""
from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from typing import Any, Union

import numpy
import torch

from .numbers import EXACT, IRRATIONAL, UNIT, Computed, Known, digits_of, half_a_digit, is_near, meant, product_of, rounded_alike, total_of

MOST_PAIRED, MOST_WHOLE, CANCELLED, ROUNDINGS = 10, 16, 8, 8
MOST_FRACTION = 64  # denominators of numbers that are no typed products
DIVISORS = (1, 2, 3, 4, 6)


@dataclass(frozen=True)
class Polynomial:
    """The sum of coefficients times powers of `of`, over `below`, a product of powers of them, and over a `divisor`; or 1 over that."""

    of: tuple[float, ...]
    terms: tuple[tuple[int, tuple[int, ...]], ...]  # a coefficient, and a power of each number
    below: tuple[int, ...]
    divisor: int = 1
    is_inverse: bool = False

    def value(self, of: Any, one: Any) -> Any:
        """In the arithmetic of these numbers."""
        def power(powers: tuple[int, ...]) -> Any:
            return math.prod([x for x, n in zip(of, powers) for _ in range(n)], start=one)
        found = sum((one * k * power(powers) for k, powers in self.terms), start=one * 0) / (power(self.below) * (one * self.divisor))
        return one / found if self.is_inverse else found


ANGLES = {"sin": math.sin, "cos": math.cos}
Formula = Union[Computed, Polynomial]
ONE = numpy.array(list(product(range(-4, 5), repeat=3)))  # coefficients of c, c^2, c^3
ONE_POWERS = [(1,), (2,), (3,)]
TWO = numpy.array(list(product(range(-2, 3), repeat=5)))
TWO_POWERS = [(1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]


def fitting(target: numpy.ndarray[Any, Any], terms: numpy.ndarray[Any, Any], most_whole: int) -> numpy.ndarray[Any, Any]:
    """Where an integer that is added to the terms gives the target."""
    rest = target[:, None] - terms.sum(-1)
    whole = numpy.rint(rest)
    size = numpy.abs(terms).sum(-1) + numpy.abs(whole)
    is_sum = (numpy.count_nonzero(terms, -1) + (whole != 0) > 1) & numpy.any(terms, -1)
    hit = (numpy.abs(rest - whole) <= ROUNDINGS * UNIT * size) & (size <= CANCELLED * numpy.abs(target[:, None])) & (numpy.abs(whole) <= most_whole)
    found: numpy.ndarray[Any, Any] = numpy.argwhere(hit & is_sum)
    return found


@lru_cache(maxsize=1024)
def polynomial(value: float, known: tuple[float, ...]) -> Polynomial | None:
    """The shortest one."""
    found = [one for c in known for one in polynomials(value, (c,))]
    if not found:
        found = [one for pair in combinations(known[:MOST_PAIRED], 2) for one in polynomials(value, pair)]
    return min(found, key=lambda one: (sum(abs(k) for k, _ in one.terms) + one.divisor + sum(one.below) + one.is_inverse, one.of), default=None)


def polynomials(value: float, of: tuple[float, ...]) -> list[Polynomial]:
    coefficients, powers, divisors, most = (ONE, ONE_POWERS, DIVISORS, MOST_WHOLE) if len(of) == 1 else (TWO, TWO_POWERS, (1, 2), 4)
    units = numpy.array([math.prod(x**n for x, n in zip(of, one)) for one in powers])
    ways = [(divisor, below, is_inverse) for divisor in divisors for below in product((0, 1), repeat=len(of)) for is_inverse in (False, True)]
    with numpy.errstate(all="ignore"):
        targets = [(1 / value if inverse else value) * divisor * math.prod(x**n for x, n in zip(of, below)) for divisor, below, inverse in ways]
        if not all(map(math.isfinite, [*targets, *units])):
            return []
        hits = fitting(numpy.array(targets), coefficients * units, most)
    found = []
    for way, at in hits[:64]:
        divisor, below, is_inverse = ways[way]
        ks = [int(k) for k in coefficients[at]]
        whole = round(targets[way] - float((coefficients[at] * units).sum()))
        terms = [(k, one) for k, one in zip([*ks, whole], [*powers, (0,) * len(of)]) if k]
        one = Polynomial(of, tuple(terms), below, divisor, is_inverse)
        if all(any(powers[i] for _, powers in terms) for i in range(len(of))) and is_meant(one, value):
            found.append(one)
    return found


def is_meant(one: Polynomial, value: float) -> bool:
    """Whether the value is the polynomial's, but for roundings."""
    exact = one.value([EXACT.get(x, Fraction(x)) for x in one.of], Fraction(1))
    return bool(abs(exact - Fraction(value)) <= CANCELLED * ROUNDINGS * Fraction(UNIT) * abs(Fraction(value)))


class Composed:
    """The formula by which each number of a whole run was computed. No number is computed of another one that was computed of it."""

    def __init__(self, known: Known) -> None:
        self.met = list(known.met)
        self.formulas: dict[float, Formula] = {}
        for way in (self.of_earlier, self.of_any, self.of_function, self.of_typed):
            for value in self.met:
                if value not in EXACT and value not in self.formulas and digits_of(value) > 24 and not self.is_meant_itself(value) and (found := way(value)) is not None:
                    self.formulas[value] = found

    @staticmethod
    def is_meant_itself(value: float) -> bool:
        """Whether a number is read without others: then others may be computed of it."""
        found = meant(value, torch.float32)
        return found is not None and not found.is_drawn

    def of(self, value: float) -> Formula | None:
        return self.formulas.get(value)

    def of_earlier(self, value: float) -> Formula | None:
        return self.of_product(value, self.met[:self.met.index(value)])

    def of_any(self, value: float) -> Formula | None:
        others = self.others(value)
        return self.of_product(value, others) or total_of(value, tuple(dict.fromkeys([*others, *EXACT]))) or polynomial(value, tuple(others))

    def of_function(self, value: float) -> Formula | None:
        for a in self.others(value):
            if 0 < value < 2**500 and is_near(a, value * value, 2):
                return Computed((a,), "sqrt")
            if a > 0 and is_near(math.log(a), value, 2):
                return Computed((a,), "log")
        for a in (*self.others(value), 1.0, 2.0):
            for op, f in ANGLES.items():
                if abs(a) < 2**10 and is_near(f(a), value, 2):
                    return Computed((a,), op)
        return None

    def of_typed(self, value: float) -> Formula | None:
        """A product of numbers that was typed in with fewer digits than a double has, but enough of them for a float32."""
        off = half_a_digit(value)
        if abs(Fraction(value).limit_denominator(MOST_FRACTION) - Fraction(value)) <= 2 * off:
            return None  # 0.999999999 is as near to 1 as to a product that is 1
        for reads in (float, irrational) if off else ():
            others = {reads(one): one for one in self.others(value)}
            found = product_of(value, tuple(others), off) if others else None
            if found is None or not rounded_alike(math.prod([one**power for one, power in zip(found.of, found.powers)], start=float(found.ratio)), value, torch.float32):
                continue
            if all(power > 0 for power in found.powers):  # c / c is 1, beside which 0.999999999 is another number
                return Computed(tuple(others[one] for one in found.of), "", found.ratio, found.powers)
        return None

    @staticmethod
    def of_product(value: float, others: list[float]) -> Formula | None:
        same = next((one for one in others if is_near(one, value)), None)
        return product_of(value, tuple(dict.fromkeys([*others, *EXACT]))) if same is None else Computed((same,), powers=(1,))

    def others(self, value: float) -> list[float]:
        return [one for one in self.met if one != value and not self.depends(one, value)]

    def depends(self, one: float, on: float) -> bool:
        made = self.formulas.get(one)
        return one == on or made is not None and any(self.depends(a, on) for a in made.of)


def irrational(value: float) -> float:
    """Find the multiple of an irrational number that a number means, or the number itself."""
    made = meant(value, torch.float32)
    if made is None or made.name not in IRRATIONAL or made.is_log:
        return value
    unit = IRRATIONAL[made.name]
    return float(made.ratio * (1 / unit if made.is_over else unit) - made.less)


def slack_of(made: Formula, value: float, dtype: torch.dtype) -> int:
    """By how many roundings the type's number for the value may lie beside what the formula gives of the type's numbers."""
    kind: Any = numpy.float64 if dtype == torch.float64 else numpy.float32
    of = [kind(one) for one in made.of]
    with numpy.errstate(all="ignore"):
        if isinstance(made, Polynomial):
            found = made.value(of, kind(1))
        elif made.op:
            found = {"sqrt": numpy.sqrt, "log": numpy.log, "add": numpy.add, "sub": numpy.subtract, "sin": numpy.sin, "cos": numpy.cos}[made.op](*of)
        else:
            found = math.prod([one**power for one, power in zip(of, made.powers)], start=kind(1)) * kind(float(made.ratio))
        unit = UNIT if dtype == torch.float64 else 2.0**-24
        away = abs(float(found) - float(kind(value))) / (unit * abs(value))
    return 4 + math.ceil(away) if away < 64 else 4
