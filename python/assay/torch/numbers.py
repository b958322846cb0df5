"""Which real number a program means by a double.

PyTorch rounds one number in several ways: a forward kernel reads 0.7 as a float32, its backward kernel computes 0.7 - 1 in double, and log(10) is
typed in with as many digits as its author knew. All of them mean one number, and a product is the derivative of an operation for that one.
"""
from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import torch

IRRATIONAL = {"half_turn": math.pi, "root_of_pi": 2 / math.sqrt(math.pi), "log_of_2": math.log(2), "log_of_10": math.log(10)}
NOISE = 4  # units in the last place of a double: a few steps


@dataclass(frozen=True)
class Meant:
    """`ratio`; times or over an irrational number, if there is a `name`; its logarithm, if it `is_log`."""

    ratio: Fraction
    name: str = ""
    is_over: bool = False
    is_log: bool = False


def is_near(found: float, value: float, noise: int = NOISE) -> bool:
    return abs(found - value) <= noise * math.ulp(value)


def rounded_alike(a: float, b: float, dtype: torch.dtype) -> bool:
    """Whether the type has one number for both."""
    return bool(torch.tensor(a, dtype=dtype) == torch.tensor(b, dtype=dtype))


def small(ratio: Fraction, most: int) -> bool:
    return 0 < abs(ratio.numerator) < most and ratio.denominator < most


def meant(value: float, dtype: torch.dtype) -> Meant | None:
    """None: the double itself."""
    for name, one in IRRATIONAL.items() if abs(value) < 2**24 else ():  # a great one is near to some multiple of anything
        for is_over in (False, True) if name != "root_of_pi" else (False,):
            ratio = Fraction(value * one if is_over else value / one).limit_denominator(64)
            found = float(ratio) / one if is_over else float(ratio) * one
            if small(ratio, 2**24) and is_near(found, value, NOISE if dtype == torch.float32 else 1):
                return Meant(ratio, name, is_over)
    ratio = Fraction(value).limit_denominator(10**6)
    if not is_near(float(ratio), value):
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
