"""Ways to call an opaque function and its reference: layouts, cotangents, and numbers at which code often decides."""
from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Iterator, Sequence

import torch

from ._cotangents import Change, channels_last, single
from ._draws import is_shape
from ._operations import Operations
from ._variants import PLACING, integers_beside

TILES = (31, 33, 65, 129)  # sizes beside those of blocks
LONG, MOST_LONG = 1025, 2**13  # a size beyond a large block, and elements of such a draw


@dataclass(frozen=True)
class Way:
    """How a function is called with the same numbers: where they lie in memory, which tensor alone asks for a gradient, and whether it runs at
    other inputs between the passes, a backward pass from other cotangents runs first, or the memory of the inputs held other numbers before."""

    what: str = ""
    given: Change | None = field(default=None, compare=False)
    seed: Change | None = field(default=None, compare=False)
    only: int | None = None
    is_twice: bool = False
    is_between: bool = False
    is_reused: bool = False
    is_exact: bool = False  # sums of whole numbers, or of one number, have no rounding errors here, and may have some by another formula


def power(one: torch.Tensor, k: int) -> float:
    """A power of two by which numbers of this type may be multiplied."""
    return 2.0 ** (k if torch.finfo(one.dtype).bits > 16 else k // 9)


def in_other_order(one: torch.Tensor) -> torch.Tensor:
    """The axes in another order in memory."""
    axes = list(reversed(range(one.dim())))
    return one.detach().permute(axes).contiguous().permute(axes)


def with_gaps(one: torch.Tensor) -> torch.Tensor:
    """Every second element of a larger tensor."""
    beside = torch.full_like(one, math.nan) if one.is_floating_point() else torch.zeros_like(one)
    return torch.stack([one.detach(), beside], -1)[..., 0]


def behind_one(one: torch.Tensor) -> torch.Tensor:
    """From the second element of its memory on."""
    return torch.cat([one.detach().flatten()[:1], one.detach().flatten()])[1:].reshape(one.shape)


def of_sum(g: torch.Tensor) -> torch.Tensor:
    """One number in memory, as the cotangent of a sum is."""
    return torch.full((), 1.25, dtype=g.dtype).expand(g.shape)


def first_row_zero(x: torch.Tensor) -> torch.Tensor:
    return torch.cat((0 * x[:1], x[1:])) if x.dim() else x


PLAIN, REUSED = Way(), Way("inputs whose memory held other numbers in an earlier call", is_reused=True)
LAYOUTS = [
    Way("inputs whose axes lie in another order in memory", given=in_other_order), Way("inputs with gaps in memory", given=with_gaps),
    Way("inputs that begin in the middle of their memory", given=behind_one), Way("inputs in channels_last", given=channels_last),
    Way("cotangents whose axes lie in another order in memory", seed=in_other_order), Way("cotangents with gaps in memory", seed=with_gaps)]
# Cotangents, in words, and how they lie in memory.
RANDOM, ONE, OF_SUM = ("random cotangents", lambda g: g), ("one cotangent", single), ("the cotangent of a sum", of_sum)
LARGE, SMALL = (("large cotangents", lambda g: g * power(g, 18)), ("small cotangents", lambda g: g * power(g, -36)))
OF_LOSS, NOTHING = ("the cotangent of a sum that is subtracted", lambda g: -of_sum(g)), ("cotangents of 0", torch.zeros_like)
# Numbers at which code often decides, and equal ones: whole numbers, and odd ones, since 0 is a kink of many functions.
WHOLE: tuple[tuple[str, Change], ...] = (
    ("whole numbers", lambda x: (2 * x).round()), ("odd numbers", lambda x: 2 * x.floor() + 1), ("equal numbers", lambda x: torch.full_like(x, 0.75)),
    ("equal numbers below 0", lambda x: torch.full_like(x, -0.75)), ("zeros", torch.zeros_like), ("a row of zeros", first_row_zero))


def other_shapes(inputs: Sequence[Any], given: Sequence[torch.Tensor]) -> Iterator[list[tuple[int, ...]]]:
    """Drawn shapes with one size larger, of one element, or beside the size of a block; equal sizes stay equal. Sizes of given tensors stay."""
    drawn = [tuple(one) for one in inputs if is_shape(one)]
    fixed = {n for one in given for n in one.shape}
    free = sorted({n for one in drawn for n in one} - fixed)
    if free:
        yield [tuple(n + (n in free) for n in one) for one in drawn]
    for n, size in ((n, size) for n in free for size in (1, *TILES, LONG)):
        other = [tuple(size if m == n else m for m in one) for one in drawn]
        if size != LONG or sum(math.prod(one) for one in other) <= MOST_LONG:
            yield other


def empty_batch(inputs: Sequence[Any], given: Sequence[torch.Tensor]) -> list[tuple[int, ...]]:
    """Drawn shapes with 0 in place of the first size, wherever it stands; none, if given tensors have that size."""
    drawn = [tuple(one) for one in inputs if is_shape(one)]
    first = next((one[0] for one in drawn if len(one) > 1), None)
    if first is None or any(first in one.shape for one in given):
        return []
    return [tuple(0 if n == first else n for n in one) for one in drawn]


def other_integers(point: Sequence[Any], function: Any) -> Iterator[tuple[str, list[Any]]]:
    """Other truth values than those given, and whole numbers that are repeated. Not repeated are numbers of a permutation, which a function may
    invert, and places to which the reference writes."""
    with Operations() as run:
        function(*point)
    for i, one in enumerate(point):
        if isinstance(one, torch.Tensor) and one.dtype in (torch.int32, torch.int64, torch.bool) and 1 < one.numel() <= MOST_LONG:
            is_order = one.dtype != torch.bool and torch.equal(one.flatten().long().sort()[0], torch.arange(one.numel()))
            for what, other in integers_beside(one, not is_order and PLACING.isdisjoint(run.names)):
                yield f"input {i} has {what}", [*point[:i], other, *point[i + 1:]]


__all__ = ["LAYOUTS", "LARGE", "NOTHING", "OF_LOSS", "OF_SUM", "ONE", "PLAIN", "RANDOM", "REUSED", "SMALL", "WHOLE",
           "Way", "empty_batch", "other_integers", "other_shapes"]
