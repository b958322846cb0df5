"""Sizes of tensors that a Function reads: they stay integers, and tell what Python compares them with. A gate is asked at one shape, and tries others by that."""
from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any, Callable

import torch


OF_SIZES = "sizes, with each other"


@dataclass
class Compared:
    """A comparison of a size with a number of the program's: how large the size was, which numbers went into it, and what came out."""

    size: int
    numbers: set[int]
    outcomes: set[bool] = field(default_factory=set)


class Size(int):
    """A size of a tensor's, or what is computed of it. `root`: the size; `numbers`: what it was divided by; `hears` is told of comparisons."""

    root = 0
    numbers: frozenset[int] = frozenset()
    hears: Any = None

    @classmethod
    def of(cls, value: int, hears: Any, root: int | None = None, numbers: frozenset[int] = frozenset()) -> "Size":
        found = cls(value)
        found.hears, found.root, found.numbers = hears, value if root is None else root, numbers
        return found

    __hash__ = int.__hash__

    def __bool__(self) -> bool:
        found = int(self) != 0
        self.hears("size != 0", self.root, self.numbers, found)
        return found

    def __reduce__(self) -> Any:
        return int, (int(self),)


def compared(name: str, sign: str) -> Callable[[Size, Any], Any]:
    plain = getattr(operator, name)

    def compare(a: Size, b: Any) -> Any:
        found = plain(int(a), b)
        if isinstance(b, int) and not isinstance(b, (Size, bool)):
            a.hears(f"size {sign} {b}", a.root, a.numbers | {b}, found)
        elif isinstance(b, Size):
            a.hears(OF_SIZES, a.root, a.numbers, found)
        return found
    return compare


def computed(name: str, reverses: bool = False) -> Callable[[Size, Any], Any]:
    plain = getattr(operator, name)

    def compute(a: Size, b: Any) -> Any:
        found = plain(b, int(a)) if reverses else plain(int(a), b)
        is_number = isinstance(b, int) and not isinstance(b, (Size, bool))
        return Size.of(found, a.hears, a.root, a.numbers | ({b} if is_number and name in ("mod", "floordiv") else frozenset())) if type(found) is int else found
    return compute


for _name, _sign in {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}.items():
    setattr(Size, f"__{_name}__", compared(_name, _sign))
for _name in ("add", "sub", "mul", "floordiv", "mod"):
    setattr(Size, f"__{_name}__", computed(_name))
    setattr(Size, f"__r{_name}__", computed(_name, True))


def sized(found: Any, hears: Any) -> Any:
    """Wrap the size that a tensor gave, so that the size tells what it is compared with."""
    if isinstance(found, torch.Size):
        return torch.Size([Size.of(one, hears) for one in found])
    if type(found) is tuple:
        return tuple(Size.of(one, hears) for one in found)
    return Size.of(found, hears) if type(found) is int else found


__all__ = ["OF_SIZES", "Compared", "Size", "sized"]
