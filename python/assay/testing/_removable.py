"""Gradients of Functions where an equality holds, as `x == 0` in `where(x == 0, 1, expm1(x) / x)`: the branch that is taken there says nothing of the derivative.

Where the function is continuous, and the gradients beside the point come to one number, the gradient at the point has to be near to it.
"""
from __future__ import annotations

import contextlib
from typing import Any, Iterator, Sequence

import torch

from assay.torch import Report
from assay.torch.branches import EQUAL, TIES
from ._cotangents import Cotangents
from ._draws import States, is_shape, listed, put_at, tied
from ._singular import ELSEWHERE, FAR, MOST_ELEMENTS, MOST_POINTS, STEP
from ._single import with_zeros

SMALLER = STEP / 8  # a second step: a gradient that grows without end is another one there


class Removable:
    """Runs of a function with a Function, whose report passed, at inputs that meet equalities, and beside them."""

    def __init__(self, trials: Any, inputs: Any) -> None:
        self.trials, self.inputs = trials, inputs
        self.compared = list[bool]()  # of each comparison, whether the gradients beside decide at all elements

    @property
    def is_compared(self) -> bool:
        return all(self.compared) and self.compared != []

    def checked(self, report: Report) -> Report:
        """Add a finding to the report where a gradient is far from those beside it."""
        ties = [one for one in self.trials.last.branches if self.trials.last.in_own(one) and one.wanted == (EQUAL,) and not one.is_backward]
        if not ties or TIES[0] not in self.trials.last.bends and TIES[1] not in self.trials.last.bends:
            return report
        before = States()
        try:
            for what, point in self.points([one.threshold for one in ties if one.threshold is not None and abs(one.threshold) < 2.0**60]):
                if (wrong := self.wrong_at(point)) is not None:
                    name, given, near = wrong
                    report.add(ELSEWHERE, what, f"the gradient of '{name}' is {given:.6g} where an equality holds ({ties[0].at(EQUAL)}), and {near:.6g} beside it, on all sides, where the function "
                               "has nearly the same value. The branch of the equality holds at one point, so it does not decide the derivative. Mend the backward pass; "
                               "allow_unreached=True accepts it")
                    return report
        finally:
            before.restore()
        return report

    def points(self, at: list[float]) -> Iterator[tuple[str, Sequence[Any]]]:
        """Inputs that were judged, where they are given; drawn ones with elements on thresholds, and with equal elements."""
        points = [one for one in self.trials.points if sum(x.numel() for x in one if isinstance(x, torch.Tensor)) <= MOST_ELEMENTS]
        drawn = [i for i, one in enumerate(listed(self.inputs)) if is_shape(one)]
        if not drawn:
            yield from (("the given inputs", one) for one in points[:1])
        elif points:
            yield "inputs on thresholds", put_at(self.inputs, points[0], list(dict.fromkeys([*at, 0.0])), 0.75)
            yield "inputs with equal elements", tied(self.inputs, points[0], True, False)
            yield from ((f"zeros in input {i}", with_zeros(points[0], i)) for i in drawn[:MOST_POINTS])

    def wrong_at(self, point: Sequence[Any]) -> tuple[str, float, float] | None:
        """The tensor, an element of its gradient that is unlike all beside it, and the nearest of these."""
        start = States()
        if (here := self.run(point, start)) is None:
            return None
        asked = [i for i, one in enumerate(point) if isinstance(one, torch.Tensor) and one.requires_grad]
        known = {id(one): name for name, one in self.trials.names(point).items()}
        for i in asked:
            steps = (STEP, -STEP, SMALLER, -SMALLER)
            beside = [self.run([by(one, step) if k == i else one for k, one in enumerate(point)], start) for step in steps]
            if any(one is None for one in beside):
                self.compared.append(False)
                continue
            values = torch.stack([one[0] for one in beside if one is not None])
            if values.shape[1:] != point[i].shape or not bool(torch.isfinite(values).all()):
                continue  # not element by element
            slopes = [torch.stack([one[1][k] for one in beside if one is not None]) for k in range(len(here[1]))]
            own = slopes[asked.index(i)]
            room = SMALLER * (1 + point[i].detach().abs()) * 4 * (1 + own.abs().amax(0))
            is_smooth = ((values[2:] - here[0]).abs() <= room).all(0)  # here and in the tensors of the same shape
            for k, (given, near) in enumerate(zip(here[1], slopes)):
                if given.shape != point[i].shape:
                    continue
                size = torch.maximum(near.abs().amax(0), given.abs()).clamp(min=1)
                is_one = (near.amax(0) - near.amin(0)) <= FAR * size
                wrong = (is_smooth & is_one & ((near - given).abs() > FAR * size).all(0)).nonzero()
                self.compared.append(bool((is_smooth & is_one).all()))
                if len(wrong):
                    at = tuple(wrong[0].tolist())
                    nearest = near[(slice(None), *at)]
                    return known.get(id(self.trials.asking(point)[k]), str(k)), float(given[at]), float(nearest[(nearest - given[at]).abs().argmin()])
        return None

    def run(self, point: Sequence[Any], start: States) -> tuple[torch.Tensor, list[torch.Tensor]] | None:
        """The function's only result, and the gradients, each for cotangents of 1."""
        with contextlib.suppress(Exception):  # of the function's own: it may not take such inputs
            start.restore()
            value, = self.trials.ends(self.trials.leaves(point), None, Cotangents())
            start.restore()
            slopes = self.trials.unrecorded(point, Cotangents(change=torch.ones_like))[0]
            if all(one is not None and bool(torch.isfinite(one).all()) for one in slopes):
                return value.detach(), slopes
        return None


def by(one: torch.Tensor, step: float) -> torch.Tensor:
    """A tensor that is moved to one side."""
    return (one + step * one.abs().clamp(min=1)).detach().requires_grad_()


__all__ = ["Removable"]
