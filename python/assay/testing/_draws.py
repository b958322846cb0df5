"""Inputs of a function that is to be differentiated: drawn, moved a little, and drawn again so that they reach both sides of its branches."""
from __future__ import annotations

import itertools
import math
import random
from typing import Any, Callable, Collection, Iterator, Sequence

import numpy
import torch

from assay.torch.branches import ABOVE, BELOW, EQUAL, Branch
from assay.torch.limits import moved

DRAWS = 24  # of inputs that are given as shapes
MOVES = (2.0**-10, 2.0**-16)  # by which shares inputs are moved, to see which constants depend on them
MIXES = 6  # rounds of draws that are to meet several conditions at once
MOST_SHARES = 9  # counts of elements above a threshold
TRIES = 6  # of inputs that are to reach one side of a branch


def is_shape(one: Any) -> bool:
    return isinstance(one, torch.Size) or isinstance(one, (tuple, list)) and all(isinstance(n, int) and not isinstance(n, bool) for n in one)


def listed(inputs: Any) -> list[Any]:
    return list(inputs) if isinstance(inputs, (tuple, list)) and not is_shape(inputs) else [inputs]


def tensors_of(inputs: Any, draw: int) -> list[Any]:
    """The inputs; what is a shape is drawn, each time at another scale."""
    scale = 2.0 ** ((draw + 1) // 2 * (-1) ** draw / 2)
    return [(torch.randn(tuple(one)) * scale).requires_grad_() if is_shape(one) else one for one in listed(inputs)]


class States:
    """Where the generators of random numbers of PyTorch, NumPy and Python are."""

    def __init__(self) -> None:
        self.of_torch, self.of_numpy, self.of_python = torch.random.get_rng_state(), numpy.random.get_state(), random.getstate()

    @staticmethod
    def begin(seed: int) -> None:
        torch.manual_seed(seed)
        numpy.random.seed(seed % 2**32)
        random.seed(seed)

    def restore(self) -> None:
        torch.random.set_rng_state(self.of_torch)
        numpy.random.set_state(self.of_numpy)
        random.setstate(self.of_python)


def factors(branch: Branch) -> list[float]:
    """By what inputs are multiplied so that an operand may come to the side of its threshold that is missing."""
    if branch.threshold is None or branch.threshold == 0 or branch.missing == [EQUAL]:
        return [4.0, 0.25, -1.0]
    t, least, most = branch.threshold, branch.lowest, branch.highest
    end = most if ABOVE in branch.missing else least
    grows = (ABOVE in branch.missing) == (t > 0)
    ratio = abs(t / end) if end else 4.0
    return [1.5 * ratio, 3 * ratio, -1.5 * ratio] if grows else [0.7 * ratio, 0.25 * ratio, -0.5 * ratio]


def reaching(inputs: Any, given: Sequence[Any], branch: Branch, is_at: Callable[[Sequence[Any]], Branch | None]) -> Iterator[list[Any]]:
    """Inputs that lie on a side of a branch on which no element lay: `is_at` runs the function and says where its operand lies now.

    Who takes no more of them is content. Else the next ones are nearer to those that did not reach it.
    """
    ties = branch.missing == [EQUAL]
    for is_half, by_rows in ((True, False), (True, True), (False, False)) if ties and branch.threshold is not None else ():
        fresh = scaled(inputs, given, 1.0, is_half, by_rows, False, branch.threshold)
        found = is_at(fresh)
        if found is not None and EQUAL in found.sides:
            yield fresh
    for parts in (1, 2):  # all elements; half of them
        now, total, short = branch, 1.0, 1.0
        for attempt in range(TRIES):
            total = max(-2.0**60, min(2.0**60, total * factors(now)[attempt % 3 if parts == 2 else 0]))
            fresh = scaled(inputs, given, 1.0 if ties else total, parts == 2, attempt % 2 == 1, ties)
            found = is_at(fresh)
            if found is None:
                break
            if set(branch.missing) <= set(found.missing):
                now, short = found, total
                continue
            yield fresh
            for _ in range(2):
                total = math.copysign(math.sqrt(abs(short * total)), total)
                fresh = scaled(inputs, given, total, parts == 2, attempt % 2 == 1, ties)
                found = is_at(fresh)
                if found is not None and not set(branch.missing) <= set(found.missing):
                    yield fresh
                else:
                    short, total = total, total * total / short
            break


def wide(inputs: Any, given: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield the drawn inputs at other scales, all of them or a half: each scale reaches many thresholds at once."""
    for k in (2, 4, -3, 7, -6, 10, -10, 14, 20, -20):
        for is_half, sign in ((False, 1), (False, -1), (True, 1)):
            yield scaled(inputs, given, sign * 2.0**k, is_half, False, False)


def special(inputs: Any, given: Sequence[Any], branch: Branch) -> Iterator[list[Any]]:
    """Yield the drawn inputs, changed so that truth values of all elements, and orders of them, become others."""
    at = branch.threshold
    changes: list[Callable[[torch.Tensor], torch.Tensor]] = [
        torch.abs, lambda x: -x.abs(), lambda x: torch.full_like(x, float(x.flatten()[0]) if x.numel() else 0.0), lambda x: x.flatten().sort()[0].reshape(x.shape),
        lambda x: x.flatten().sort(descending=True)[0].reshape(x.shape), torch.zeros_like, lambda x: 64 * x.abs(), lambda x: -64 * x.abs(), lambda x: (4 * x).round()]
    changes += [lambda x: torch.full_like(x, at), lambda x: torch.where(torch.rand(x.shape) < 0.5, torch.full_like(x, at), x)] if at is not None else []
    changes += [lambda x: torch.randn_like(x)] * TRIES * 2
    for change in changes:
        yield replaced(inputs, given, change)


def mixed(inputs: Any, newest: Callable[[], Sequence[Any]], thresholds: Sequence[float]) -> Iterator[list[Any]]:
    """The newest of the draws that were right, a few of whose elements lie on either side of thresholds now: so one condition after another is met at once."""
    places = [one for t in thresholds for one in (t, t + 1, t - 1, 1.25 * t + 0.125, 0.75 * t - 0.125, 2 * t, -t)]
    pool = torch.tensor([*places, 4.0, -4.0, 0.25, -0.25], dtype=torch.float64)
    for share in (0.5, 0.25, 0.1, 1.0) * MIXES:
        yield replaced(inputs, newest(), lambda x: torch.where(torch.rand(x.shape) < share, pool[torch.randint(len(pool), x.shape)].to(x.dtype), x))


def at_thresholds(inputs: Any, given: Sequence[Any], branches: Sequence[Branch]) -> Iterator[list[Any]]:
    """Elements between thresholds, and at those of equality, as what lies on one side of each alone may be in no draw."""
    known = sorted({one.threshold for one in branches if one.threshold is not None and abs(one.threshold) < 2.0**60})
    equal = {one.threshold for one in branches if one.wanted == (EQUAL,)} & set(known) - {0.0}
    if equal or len(known) > 1:
        places = torch.tensor([*equal, *((a + b) / 2 for a, b in zip(known, known[1:]))], dtype=torch.float64)
        is_whole = any(one is not None and one == math.floor(one) for one in equal)  # a cast may have given what is compared: beside the number it is no jump
        for share, room in ((0.5, 0.0), (1.0, 0.0), (0.5, 0.5))[:3 if is_whole else 2]:
            yield replaced(inputs, given, lambda x: torch.where(torch.rand(x.shape) < share, places[torch.randint(len(places), x.shape)].to(x.dtype) + room * (torch.rand(x.shape) - 0.5).to(x.dtype), x))


def shares(inputs: Any, given: Sequence[Any], thresholds: Sequence[float], wanted: Collection[int]) -> Iterator[list[Any]]:
    """Yield inputs with some count of elements above a threshold, as a loop may count them: first the counts that stand in its code, and those beside."""
    count = max((one.numel() for what, one in zip(listed(inputs), given) if is_shape(what)), default=0)
    near = [k + by for by in (0, 1, -1) for k in sorted(wanted)]
    counts = [k for k in dict.fromkeys([*near, 1, count - 1, count // 2, count // 4, count - count // 4]) if 0 < k < count][:MOST_SHARES]
    for t, k in itertools.product(thresholds[:2] or [0.0], counts):
        yield replaced(inputs, given, lambda x: t + (0.125 + torch.rand(x.shape)) * torch.where(torch.randperm(x.numel()).reshape(x.shape) < k, 1.0, -1.0) * max(abs(t), 1.0))


def put_at(inputs: Any, given: Sequence[Any], places: Sequence[float], share: float) -> list[Any]:
    """The drawn inputs, a share of whose elements lies at some numbers, each of which comes first where there is room for it."""
    pool = torch.tensor(places, dtype=torch.float64)

    def change(x: torch.Tensor) -> torch.Tensor:
        turn = torch.randperm(x.numel()).reshape(x.shape)
        return torch.where(turn < max(1, int(share * x.numel())), pool[turn % len(pool)].to(x.dtype), x)
    return replaced(inputs, given, change)


def tied(inputs: Any, given: Sequence[Any], is_between: bool, is_folded: bool) -> list[Any]:
    """The drawn inputs, with elements that are equal, or negative, in several tensors, and with halves along each axis that are equal."""
    fresh = list(given)
    drawn = sorted((i for i, what in enumerate(listed(inputs)) if is_shape(what)), key=lambda i: given[i].numel())
    for n, i in enumerate(drawn):
        one = given[i].detach()
        one = torch.where(torch.rand(one.shape) < 0.5, one.round(), one)
        for other in (fresh[j].detach() for j in drawn[:n] if is_between and is_broadcast(given[j].shape, one.shape)):
            one = torch.where(torch.rand(one.shape) < 0.5, other * torch.where(torch.rand(one.shape) < 0.75, 1.0, -1.0), one)
        for axis in range(one.dim()) if is_folded else ():
            half = one.shape[axis] // 2
            one.narrow(axis, one.shape[axis] - half, half).copy_(one.narrow(axis, 0, half))
        fresh[i] = one.requires_grad_()
    return fresh


def is_broadcast(shape: Sequence[int], other: Sequence[int]) -> bool:
    return len(shape) <= len(other) and all(n in (1, m) for n, m in zip(reversed(shape), reversed(other)))


def replaced(inputs: Any, given: Sequence[Any], change: Callable[[torch.Tensor], torch.Tensor]) -> list[Any]:
    """Other numbers in place of those that were drawn."""
    return [change(one.detach()).clone().requires_grad_() if is_shape(what) else one for what, one in zip(listed(inputs), given)]


def scaled(inputs: Any, given: Sequence[Any], factor: float, is_half: bool, by_rows: bool, is_rounded: bool, put: float | None = None) -> list[Any]:
    """Multiply the drawn inputs, a random half of their elements, or half of their rows by a factor; or put a number in their place."""
    fresh = list(given)
    for i, what in enumerate(listed(inputs)):
        if is_shape(what):
            one = given[i].detach()
            one = (one * 2).round() / 2 if is_rounded else one
            shape = one.shape[:1] + (1,) * (one.dim() - 1) if by_rows else one.shape
            chosen = torch.rand(shape) < 0.5 if is_half else torch.ones(shape, dtype=torch.bool)
            fresh[i] = torch.where(chosen, one * factor if put is None else torch.full_like(one, put), one).requires_grad_()
    return fresh


__all__ = ["ABOVE", "BELOW", "DRAWS", "MOVES", "States", "factors", "at_thresholds", "is_shape", "listed", "mixed", "moved", "put_at", "reaching", "scaled", "shares", "special",
           "tensors_of", "tied", "wide"]
