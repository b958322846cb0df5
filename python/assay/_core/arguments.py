"""Arguments of any type to plain values: numbers exactly, arrays as lists, or a UsageError that says what was wanted."""
from __future__ import annotations

import decimal
import fractions
import math
import operator
import os
from typing import Any, Callable, Iterable, Mapping

from assay.errors import UsageError, wrong

MOST_DEPTH = 32  # nested lists


def text(where: str, value: object) -> str:
    if not isinstance(value, str) or "\0" in value or any("\ud800" <= one <= "\udfff" for one in value):
        raise wrong(where, "a text without NUL characters or unpaired surrogates", value)
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
        raise wrong(where, "a mapping from names to arrays", value)
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
    try:  # integers of NumPy, too
        number = least - 1 if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except Exception:  # whatever a stranger's __index__ raises
        number = least - 1
    if not least <= number <= most:
        is_open = most >= 2**62 and number < least  # the greatest number is no part of what a reader has to know
        raise wrong(where, f"a whole number of at least {least}" if is_open else f"a whole number from {least} to {most}", value)
    return int(number)


def seconds(where: str, value: object) -> float:
    """None is 0: no limit."""
    if value is None:
        return 0.0
    try:
        number = 0.0 if isinstance(value, (bool, str)) else float(exact(where, value))
    except (UsageError, OverflowError):
        number = 0.0
    if number > 0:
        return number
    raise wrong(where, "seconds above 0, or None", value)


def exact(where: str, value: object) -> fractions.Fraction:
    """The number itself: floats are the binary numbers that they are, texts the decimals or quotients ("2/255") that they spell."""
    value = plain(where, value)
    try:
        if isinstance(value, (bool, int, float, decimal.Decimal, fractions.Fraction)):
            return fractions.Fraction(value)
        if isinstance(value, str) and len(value) <= 1200:
            above, slash, below = value.partition("/")
            return _spelled(above) / _spelled(below) if slash else _spelled(above)
    except (ValueError, OverflowError, ArithmeticError):  # infinities, NaN, texts without a number, quotients by zero
        pass
    raise wrong(where, "a finite number", value)


def _spelled(text: str) -> fractions.Fraction:
    number = decimal.Decimal(text)
    if not number.is_finite() or abs(number.adjusted()) > 400:
        raise ValueError(text)
    return fractions.Fraction(number)


def plain(where: str, value: object) -> object:
    """Arrays and numbers of NumPy, torch and others as lists and numbers of Python; anything else as it is."""
    if isinstance(value, (int, float, str, bytes, list, tuple)):
        return value.item() if type(value).__module__ == "numpy" else value  # type: ignore[union-attr]
    try:
        if hasattr(value, "detach"):
            value = value.detach()
        return value.tolist() if hasattr(value, "tolist") else value
    except Exception as error:  # whatever a stranger's array raises
        raise wrong(where, f"an array ({error})", value) from None


def flat(where: str, value: object) -> tuple[list[fractions.Fraction], tuple[int, ...]]:
    """The elements of an array, row-major, and its shape: NumPy and torch arrays, numbers, and nested lists of any of these."""
    return _flat(where, value, MOST_DEPTH)


def _flat(where: str, value: object, depth: int) -> tuple[list[fractions.Fraction], tuple[int, ...]]:
    value = plain(where, value)
    if not isinstance(value, (list, tuple)):
        return [exact(where, value)], ()
    if depth == 0:
        raise wrong(where, f"at most {MOST_DEPTH} nested lists", "lists that are nested deeper")
    elements: list[fractions.Fraction] = []
    inner: set[tuple[int, ...]] = set()
    for one in value:
        more, shape = _flat(where, one, depth - 1)
        elements += more
        inner.add(shape)
    if len(inner) > 1:
        raise wrong(where, "lists of equal lengths", value)
    return elements, (len(value), *(inner.pop() if inner else ()))


def undecimal(value: fractions.Fraction) -> int:
    """The least factor that makes it a number with a finite decimal expansion."""
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest


def decimal_of(value: fractions.Fraction) -> str:
    """The decimal digits of a number that has finitely many, all of them."""
    twos = fives = 0
    rest = value.denominator
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
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
