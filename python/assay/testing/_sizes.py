"""Shapes made from given ones: with odd tails and with long axes, where kernels that go block by block break.

A size of the given shapes is one dimension wherever it stands, so equal sizes stay equal: those of a product, or of operands of one shape. Sizes of 1 and 0 stay.
"""
from __future__ import annotations

import dataclasses
import math
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence

from assay import ops
from assay._core.arrays import UnsupportedArray
from assay._core.shapes import Misfit

Shapes = Sequence[tuple[int, ...]]
# What a reference raises on shapes that it does not take.
MISFITS = (Misfit, UnsupportedArray, IndexError, TypeError)
# Beside a tile or block of 32, 64, 128, 256 and 1,024 elements; and whole tiles, an odd number of 32 or 64 and at least two of 1,024 or less, an element less and one more.
_TAILS, _WHOLE, _ALONE, _SINGLE = (33, 31, 129, 65), (64, 128), (96, 192, 257, 1025, 2048), (2047, 2049)
# Beyond blocks of the longest lines, and beyond a grid's 65,535: of the last axis. Of the other axes, the first alone.
_LONG = (8193, 16385, 65537)
_MOST_BESIDE = 2  # the largest size of other axes beside a long one
# Elements that the steps of the reference compute, with those that they add up: larger calls would take seconds each.
_MOST_WORK = 1 << 20
ONLY_GIVEN = "shapes tried: only the given ones"


@dataclasses.dataclass
class Made:
    """Shapes made from given ones that a reference takes, and for each given size those that took its place."""

    shapes: list[Shapes]
    sizes: dict[int, list[int]]

    @property
    def text(self) -> str:
        """Which sizes were tried, of each dimension."""
        tried = [f"in place of {own} {', '.join(map(str, sorted(set(others))))}" for own, others in self.sizes.items() if others]
        kept = [str(own) for own, others in self.sizes.items() if not others]
        return f"sizes tried: {'; '.join(tried)}" + (f"; {' and '.join(kept)} only as given" if kept else "") if tried else ONLY_GIVEN


def around(given: Shapes, takes: Callable[[Shapes], bool]) -> Made:
    """The shapes that a reference takes, each once."""
    own = list(dict.fromkeys(size for shape in given for size in reversed(shape) if size > 1))
    made = Made([], {size: [] for size in own})
    def add(every: Iterable[dict[int, int]]) -> None:
        for sizes in every:
            shapes = [tuple(sizes.get(size, size) for size in shape) for shape in given]
            if shapes in (given, *made.shapes) or not takes(shapes):
                continue
            made.shapes.append(shapes)
            for size, other in sizes.items():
                if other != size and other > _MOST_BESIDE:
                    made.sizes[size].append(other)
    add(_assignments(own))
    for size in own:  # where all axes at once are too much work, as in attention
        if not {*_TAILS} & {*made.sizes[size]}:
            add({size: other} for other in (*_TAILS, *_WHOLE))
    return made


def _assignments(own: Sequence[int]) -> Iterator[dict[int, int]]:
    """The sizes that take the places of given ones: tails or whole tiles along all axes at once, then along each axis, then long axes."""
    for start, sizes in ((0, _TAILS), (1, _TAILS), (0, _WHOLE)):
        yield {size: sizes[(start + i) % len(sizes)] for i, size in enumerate(own)}
    for i, size in enumerate(own):
        for other in _ALONE:
            yield {**{one: one for one in own}, size: other}
        for other in _SINGLE:
            yield {**dict.fromkeys(own, 1), size: other}
        for other in _LONG if i == 0 else _LONG[:1]:
            yield {**dict.fromkeys(own, _MOST_BESIDE if other == _LONG[0] else 1), size: other}


def is_long(shapes: Shapes) -> bool:
    """Whether an axis is one of the longest."""
    return max(size for shape in shapes for size in shape) >= _LONG[0]


def takes(reference: Callable[..., Any], dtype: str, words: Mapping[str, Any]) -> Callable[[Shapes], bool]:
    """Whether a reference takes operands of given shapes, and computes few enough elements on them."""
    def on(shapes: Shapes) -> bool:
        if sum(map(math.prod, shapes)) > _MOST_WORK:
            return False
        try:
            expression, _ = ops.traced(lambda *operands: reference(*operands, **words), [(dtype, shape) for shape in shapes])
        except MISFITS:
            return False
        return bool(expression.nodes) and expression.work <= _MOST_WORK

    return on


__all__ = ["MISFITS", "ONLY_GIVEN", "Made", "around", "is_long", "takes"]
