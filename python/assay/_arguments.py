"""Arguments of any type to plain values: numbers exactly, arrays as lists, or a UsageError that says what was wanted."""
from __future__ import annotations

import decimal
import fractions
import math
import os
from typing import Any, Callable, Iterable, Mapping

from .errors import wrong

MOST_DEPTH = 32  # nested lists


def text(where: str, value: object) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise wrong(where, "a text without NUL", value)
    return value


def path(where: str, value: object) -> str:
    try:
        found = os.fspath(value)  # type: ignore[call-overload]
        found = os.fsdecode(found)
        found.encode()
    except Exception:  # whatever a stranger's __fspath__ raises
        raise wrong(where, "a path", value) from None
    return text(where, found)


def arrays(where: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise wrong(where, "arrays by name: a mapping", value)
    return value


def function(where: str, value: object) -> Callable[..., Any]:
    if not callable(value):
        raise wrong(where, "a function", value)
    return value


def flag(where: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise wrong(where, "True or False", value)
    return value


def whole(where: str, value: object, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise wrong(where, f"a whole number from {least} to {most}", value)
    return value


def seconds(where: str, value: object) -> float:
    """None is 0: no limit."""
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        raise wrong(where, "seconds above 0, or None", value)
    return float(value)


def exact(where: str, value: object) -> fractions.Fraction:
    """The number itself: floats are the binary numbers that they are, texts the decimals that they spell."""
    try:
        if isinstance(value, (bool, int, float, decimal.Decimal, fractions.Fraction)):
            return fractions.Fraction(value)
        if isinstance(value, str) and len(value) <= 1200:
            spelled = decimal.Decimal(value)
            if spelled.is_finite() and abs(spelled.adjusted()) <= 400:
                return fractions.Fraction(spelled)
    except (ValueError, OverflowError, ArithmeticError):  # infinities, NaN, texts without a number
        pass
    raise wrong(where, "a finite number", value)


def flat(where: str, value: object) -> tuple[list[fractions.Fraction], tuple[int, ...]]:
    """The elements of an array, row-major, and its shape: NumPy and torch arrays, nested lists, numbers."""
    try:
        if hasattr(value, "detach"):
            value = value.detach()
        if hasattr(value, "tolist") and not isinstance(value, (str, bytes)):
            value = value.tolist()
    except Exception as error:  # whatever a stranger's array raises
        raise wrong(where, f"an array ({error})", value) from None
    return _flat(where, value, MOST_DEPTH)


def _flat(where: str, value: object, depth: int) -> tuple[list[fractions.Fraction], tuple[int, ...]]:
    if not isinstance(value, (list, tuple)):
        return [exact(where, value)], ()
    if depth == 0:
        raise wrong(where, f"at most {MOST_DEPTH} nested lists", "more")
    elements: list[fractions.Fraction] = []
    inner: set[tuple[int, ...]] = set()
    for one in value:
        more, shape = _flat(where, one, depth - 1)
        elements += more
        inner.add(shape)
    if len(inner) > 1:
        raise wrong(where, "lists of equal lengths", value)
    return elements, (len(value), *(inner.pop() if inner else ()))


def decimal_of(where: str, value: fractions.Fraction) -> str:
    """Its decimal digits, all of them."""
    twos = fives = 0
    rest = value.denominator
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        raise wrong(where, "a number with a finite decimal expansion", value)
    places = max(twos, fives)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    number = digits if places == 0 else f"{digits[:-places]}.{digits[-places:]}"
    return ("-" if value < 0 else "") + number


def outward(lo: fractions.Fraction, hi: fractions.Fraction) -> tuple[float, float]:
    """The tightest floats around two numbers."""
    return -_float_above(-lo), _float_above(hi)


def _float_above(value: fractions.Fraction) -> float:
    try:
        near = float(value)
    except OverflowError:
        return math.inf if value > 0 else -1.7976931348623157e308
    return near if fractions.Fraction(near) >= value else math.nextafter(near, math.inf)


def fits(where: str, shape: tuple[int, ...], wanted: Iterable[int]) -> None:
    """Whether an array has the model's shape; extents of 1 may be left out, as may the shape."""
    wanted = tuple(wanted)
    if [n for n in shape if n != 1] not in ([n for n in wanted if n != 1], [math.prod(wanted)]):
        raise wrong(where, f"an array of shape {list(wanted)}", f"shape {list(shape)}")


def describe(value: Any) -> str:
    return f"an object of type {type(value).__name__}"
