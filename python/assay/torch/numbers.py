"""Which real number a program means by a double.

PyTorch rounds one number in several ways: a forward kernel reads 0.7 as a float32, its backward kernel computes 0.7 - 1 in double, and log(10) is
typed in with as many digits as its author knew. All of them mean one number, and a product is the derivative of an operation for that one.
"""
from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy
import torch

DIGITS, PI = Context(prec=40), Decimal("3.141592653589793238462643383279502884197")
IRRATIONAL = {name: Fraction(one) for name, one in {
    "half_turn": PI, "root_of_2": DIGITS.sqrt(Decimal(2)), "root_of_pi": DIGITS.sqrt(PI), "root_of_2_pi": DIGITS.sqrt(DIGITS.add(PI, PI)),
    "base_of_log": DIGITS.exp(Decimal(1)), "log_of_2": DIGITS.ln(Decimal(2)), "log_of_10": DIGITS.ln(Decimal(10))}.items()}
TYPED = 10**5  # denominators of fractions that may be an irrational number, typed with the digits of a float32
NOISE = 4  # units in the last place of a double: a few steps


@dataclass(frozen=True)
class Meant:
    """`ratio`; times or over an irrational number, or its root, if there is a `name`, and `less` an integer; its logarithm, if it `is_log`."""

    ratio: Fraction
    name: str = ""
    is_over: bool = False
    is_log: bool = False
    less: int = 0

    @property
    def is_drawn(self) -> bool:
        """Whether nothing is known but its places on the grid."""
        return not self.name and not self.is_log and self.ratio.denominator >= 2**24


def is_near(found: float, value: float, noise: int = NOISE) -> bool:
    return abs(found - value) <= noise * math.ulp(value)


def rounded_alike(a: float, b: float, dtype: torch.dtype) -> bool:
    """Whether the type has one number for both."""
    return bool(torch.tensor(a, dtype=dtype) == torch.tensor(b, dtype=dtype))


def small(ratio: Fraction, most: int) -> bool:
    return 0 < abs(ratio.numerator) < most and ratio.denominator < most


@lru_cache(maxsize=4096)
def multiple(value: float, dtype: torch.dtype, is_typed: bool = False) -> Meant | None:
    """The multiple of an irrational number that is next to the double; one of few, if it `is_typed`, with the digits of a float32.

    Fractions are bounded: with enough of them there is a multiple next to any number."""
    if not abs(value) < 2**24:
        return None
    given, noise = Fraction(value), (NOISE if dtype == torch.float32 else 1) * Fraction(math.ulp(value))
    for name, one in IRRATIONAL.items():
        for is_over in (False, True):
            unit = 1 / one if is_over else one
            ratio = (given / unit).limit_denominator(8 if is_typed else 64)
            if not 0 < abs(ratio.numerator) * ratio.denominator < (2**5 if is_typed else 2**20):
                continue
            if rounded_alike(float(ratio * unit), value, torch.float32) if is_typed else abs(ratio * unit - given) < noise:
                return Meant(ratio, name, is_over)
    return None


def root(value: float, dtype: torch.dtype) -> Meant | None:
    """The square root of a small fraction that is next to the double."""
    ratio = Fraction(value * value).limit_denominator(1000) if 2.0**-20 < value < 2**20 else Fraction(0)
    if not small(ratio, 1000) or math.isqrt(ratio.numerator) ** 2 == ratio.numerator and math.isqrt(ratio.denominator) ** 2 == ratio.denominator:
        return None
    return Meant(ratio, "root") if is_near(math.sqrt(ratio), value, NOISE if dtype == torch.float32 else 1) else None


def meant(value: float, dtype: torch.dtype) -> Meant | None:
    """None: the double itself."""
    if not math.isfinite(value):
        return None
    for less in (0, 1, 2) if abs(value) >= 0.125 else (0,):  # less in derivatives of x^pi; what is smaller has lost too many digits
        found = multiple(value + less, dtype) or root(value + less, dtype) if value + less - less == value else None
        if found is not None:
            return replace(found, less=less)
    ratio = Fraction(value).limit_denominator(10**6)
    if dtype == torch.float32 and ratio.denominator > TYPED and (found := multiple(value, dtype, True)) is not None:
        return found  # as 0.6931472 of log 2
    if not is_near(float(ratio), value):
        for less in (1, 2):  # less in derivatives of x^1.01
            whole = Fraction(value + less).limit_denominator(10**6)
            if float(whole) - less == value and small(whole, 2**24) and (dtype == torch.float64 or rounded_alike(float(whole - less), value, dtype)):
                return Meant(whole, less=less) if dtype == torch.float64 else Meant(whole - less)
        found = multiple(value, dtype, True) if dtype == torch.float32 else None
        if found is not None:
            return found
        ratio = Fraction(str(round(value, 10)))
    if is_near(float(ratio), value) and small(ratio, 2**24) and (dtype == torch.float64 or rounded_alike(float(ratio), value, dtype)):
        return None if ratio == value else Meant(ratio)
    if abs(value) < 8:
        ratio = Fraction(math.exp(value)).limit_denominator(1000)
        if small(ratio, 1000) and ratio != 1 and is_near(math.log(ratio), value):
            return Meant(ratio, is_log=True)
    return Meant(on_grid(value)) if dtype == torch.float32 and not rounded_exactly(value) and is_on_grid(value) else None


# Other numbers, as drawn ones: x - 1 in double has lost the last digits of x. Those beyond the 40th binary place count for no float32.

def on_grid(value: float) -> Fraction:
    return Fraction(round(value * 2.0**40), 2**40)


def is_on_grid(value: float) -> bool:
    return 2.0**-4 <= abs(value) < 128 and rounded_alike(float(on_grid(value)), value, torch.float32)


def rounded_exactly(value: float) -> bool:
    return float(torch.tensor(value, dtype=torch.float32)) == value


# Numbers that a program computes of others: c * c, 3 / c and c + d mean what is done with c and d.

MOST_KNOWN, MOST_RATIO = 64, 16  # numbers of one run; of a small fraction
UNIT = 2.0**-53
EXACT = {float(one): one for one in IRRATIONAL.values()}  # what every run knows
POWERS = [(i, j) for i in (1, -1, 2, -2, 3, -3) for j in (0, 1, -1)]


@dataclass(frozen=True)
class Computed:
    """`ratio` times the first of `of` to the first of `powers`, times the second to the second; or an op of them."""

    of: tuple[float, ...]
    op: str = ""
    ratio: Fraction = Fraction(1)
    powers: tuple[int, ...] = ()

    @property
    def roundings(self) -> int:
        return sum(abs(one) for one in self.powers) + (self.ratio != 1)


def digits_of(value: float) -> int:
    return abs(Fraction(value).numerator).bit_length()


class Known:
    """The doubles that a run has met, and of which others each was computed."""

    def __init__(self) -> None:
        self.computed: dict[float, Computed | None] = dict.fromkeys(EXACT)
        self.met: dict[float, None] = {}  # in this order, those of sums, too

    def meets(self, value: float) -> bool:
        """Keeps a number of which others may be computed. Whether it may mean another one: numbers of few digits are as they are."""
        if digits_of(value) > 8 and len(self.met) < MOST_KNOWN:
            self.met[value] = None
        return value in self.met and digits_of(value) > 24

    def of(self, value: float) -> Computed | None:
        """None: of no other one. Numbers of few digits are as they are."""
        if value not in self.computed and digits_of(value) > 24 and len(self.computed) < MOST_KNOWN:
            self.computed[value] = computed(value, tuple(self.computed))
        return self.computed.get(value)


@lru_cache(maxsize=4096)
def computed(value: float, known: tuple[float, ...]) -> Computed | None:
    """How a double was computed of known ones."""
    for a in known:
        if 0 < value < 2**500 and is_near(a, value * value, 2):
            return Computed((a,), "sqrt")
        if a > 0 and is_near(math.log(a), value, 2):
            return Computed((a,), "log")
    return product_of(value, known) or total_of(value, known)


def half_a_digit(value: float) -> Fraction:
    """Find half the unit of the last decimal digit of a number that was typed in with a few more digits than a float32 has; 0 of others."""
    _, digits, exponent = Decimal(repr(value)).as_tuple()
    return Fraction(10) ** int(exponent) / 2 if 8 <= len(digits) <= 12 else Fraction(0)


def product_of(value: float, known: tuple[float, ...], off: Fraction = Fraction(0)) -> Computed | None:
    """A small fraction times powers of two numbers, but for as many roundings as that takes, and for what the value is `off`."""
    numbers, away = numpy.array(known), 16 * UNIT + float(off) / abs(value)
    for i, j in POWERS:
        with numpy.errstate(all="ignore"):
            rest = value / (numbers[:, None]**i * (numbers[None, :] if j else numpy.ones((1, 1)))**j)
            below = numpy.arange(1, MOST_RATIO + 1)[:, None, None]
            above = numpy.rint(rest * below)
            hits = (numpy.abs(rest * below - above) < away * numpy.abs(above)) & (numpy.abs(above) <= MOST_RATIO)
        for at in map(tuple, numpy.argwhere(hits)):
            found = Computed((known[at[1]], known[at[2]])[:1 + abs(j)], "", Fraction(int(above[at]), int(at[0]) + 1), (i, j)[:1 + abs(j)])
            exact = found.ratio * math.prod(EXACT.get(one, Fraction(one))**power for one, power in zip(found.of, found.powers))
            if abs(exact - Fraction(value)) <= off + min(found.roundings, 3) * 4 / Fraction(3) * Fraction(UNIT) * abs(exact):
                return found
    return None


def total_of(value: float, known: tuple[float, ...]) -> Computed | None:
    """A sum or difference of two numbers; of what cancels nothing is left to see."""
    for a in known:
        for b in (*known, 1.0, 2.0):
            for op, one in (("add", (a, b)), ("sub", (a, b)), ("sub", (b, a))):
                if value == (one[0] + one[1] if op == "add" else one[0] - one[1]) and abs(value) >= max(abs(a), abs(b)) / 2:
                    return Computed(one, op)
    return None
