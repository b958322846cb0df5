"""Numbers that a Function's backward reads from its inputs: what it compares them with is a branch, as a comparison of tensors is."""
from __future__ import annotations

from typing import Any, Callable

Compared = Callable[[str, "ReadNumber", Any], None]
MOST_READ = 2**16  # numbers of one tensor that are followed


class ReadNumber(float):
    """A number of an input's. `compared` hears of each comparison; what is computed of the number is followed, too."""

    compared: Compared | None = None

    @classmethod
    def of(cls, number: float, compared: Compared | None) -> "ReadNumber":
        found = cls(number)
        found.compared = compared
        return found


def comparison(name: str) -> Callable[[ReadNumber, Any], Any]:
    def compare(a: ReadNumber, b: Any) -> Any:
        if a.compared is not None and isinstance(b, (int, float)):
            a.compared(name, a, b)
        return getattr(float, name)(a, b)
    return compare


def computation(name: str) -> Callable[..., Any]:
    def compute(a: ReadNumber, *others: Any) -> Any:
        found = getattr(float, name)(a, *others)
        return ReadNumber.of(found, a.compared) if type(found) is float else found
    return compute


for _name in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"):
    setattr(ReadNumber, _name, comparison(_name))
for _name in ("__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__", "__rtruediv__", "__neg__", "__abs__"):
    setattr(ReadNumber, _name, computation(_name))
ReadNumber.__hash__ = float.__hash__  # type: ignore[method-assign, assignment]


def followed(found: Any, compared: Compared) -> Any:
    """What `item()` or `tolist()` gave."""
    if isinstance(found, list):
        return [followed(one, compared) for one in found]
    return ReadNumber.of(found, compared) if type(found) is float else found


__all__ = ["MOST_READ", "ReadNumber", "followed"]
