"""A second witness against gradients far from the inputs that were drawn: differences of the function's own values, in float64 where it takes that.

Nothing is judged by them. The gate compares formulas, and may take a right one for another where numbers overflow, or where limits decide. So a gradient
at such inputs counts as wrong only if differences contradict it, too.
"""
from __future__ import annotations

import contextlib
from typing import Any, Sequence

import torch

from ._cotangents import Cotangents
from ._draws import States
from ._elsewhere import WIDER, converted, converted_params, same_numbers

STEP = {torch.float64: 2.0**-18, torch.float32: 2.0**-7}  # a share of each number, by which it is moved
MOST_ELEMENTS, MOST_GROUPS = 2**12, 12  # of elements, which are moved together
NEAR, FAR = 2.0**-4, 2.0**-2  # a share in which differences on all sides agree, and one by which a gradient contradicts them
ROUNDINGS = 2.0**6  # of a sum of the results


class Differences:
    """The values and gradients of one function at one point."""

    def __init__(self, trials: Any, point: Sequence[Any]) -> None:
        self.trials, self.point, self.start = trials, point, States()
        self.params = dict[Any, Any]()

    def contradict(self, moved: Sequence[int]) -> bool:
        """Whether some gradient of these inputs is no derivative, by differences that agree on both sides and at two steps."""
        if sum(one.numel() for one in self.point if isinstance(one, torch.Tensor)) > MOST_ELEMENTS:
            return False
        try:
            for self.params in (WIDER, {}):
                self.given = [converted(one, self.params) for one in self.point]
                if (slopes := self.slopes()) is not None:
                    return any(self.is_wrong(i, slopes[i]) for i in moved if slopes.get(i) is not None)
        finally:
            self.start.restore()
        return False

    def slopes(self) -> dict[int, Any] | None:
        """The gradients by the numbers of their inputs; nothing, where the function does not take them."""
        with contextlib.suppress(Exception), converted_params(self.trials.params, self.params):  # of the function's own
            self.start.restore()
            found = self.trials.unrecorded(self.given, Cotangents(change=same_numbers()))[0]
            asked = [i for i, one in enumerate(self.given) if isinstance(one, torch.Tensor) and one.requires_grad]
            return dict(zip(asked, found))
        return None

    def value(self, given: Sequence[Any]) -> tuple[float, float] | None:
        """The sum of the results times the same cotangents, and that of absolute values, in float64."""
        with contextlib.suppress(Exception), converted_params(self.trials.params, self.params):
            self.start.restore()
            draw = same_numbers()
            ends = [torch.view_as_real(y) if y.is_complex() else y for y in self.trials.ends(self.trials.leaves(given), None, Cotangents())]
            terms = torch.cat([(draw(y) * y.detach()).double().flatten() for y in ends])
            if bool(torch.isfinite(terms).all()):
                return float(terms.sum()), float(terms.abs().sum())
        return None

    def is_wrong(self, i: int, slope: torch.Tensor) -> bool:
        one, here = self.given[i].detach(), self.value(self.given)
        if here is None or one.dtype not in STEP or slope.shape != one.shape or not bool(torch.isfinite(slope).all()):
            return False
        generator = torch.Generator().manual_seed(0)
        places = torch.randperm(one.numel(), generator=generator).reshape(one.shape) % MOST_GROUPS
        side = torch.where(torch.rand(one.shape, generator=generator) < 0.5, 1.0, -1.0).to(one.dtype) * one.abs()
        step, room = STEP[one.dtype], ROUNDINGS * torch.finfo(one.dtype).eps * here[1] / STEP[one.dtype]
        for k in range(min(MOST_GROUPS, one.numel())):
            along = torch.where(places == k, side, 0.0)
            own, seen = float((slope.detach().double() * along.double()).sum()), list[float]()
            for by in (step, -step, step / 2, -step / 2):
                there = self.value([*self.given[:i], (one + by * along).requires_grad_(), *self.given[i + 1:]])
                if there is None:
                    break
                seen.append((there[0] - here[0]) / by)
                if abs(seen[-1] - own) <= FAR * max(abs(seen[-1]), abs(own)) + room:
                    break  # it agrees
            else:
                if max(seen) - min(seen) <= NEAR * max(map(abs, seen)) + room:
                    return True
        return False


__all__ = ["Differences"]
