"""Gradients of Functions at points where PyTorch's own gradient of the forward pass is NaN, as in `where(x > 0, x * x.log(), 0)` at 0.

A branch that is not taken has no derivative there, and the gate has no value to judge by. So what a Function gives there is compared with what it gives beside.
"""
from __future__ import annotations

from typing import Any, Iterator, Sequence

import torch

from assay.torch import Recorder, Report
from ._draws import States, is_shape, listed, put_at
from ._single import with_zeros

# What has a pole or an infinite slope, and what leaves it out.
SINGULAR = {"div", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "pow", "reciprocal", "linalg_vector_norm", "norm", "logit", "xlogy", "atanh", "acosh", "acos", "asin", "tan", "digamma"}
CHOOSING = {"where", "masked_fill", "nan_to_num", "index_put", "masked_scatter"}
MOST_ELEMENTS, MOST_POINTS = 2**14, 4
STEP, FAR = 2.0**-6, 2.0**-4  # by which inputs are moved; a difference that no smooth gradient has over it, as a share
ELSEWHERE = "gradient.elsewhere"


class Singular:
    """Runs of a function with a Function, whose report passed. A gradient that is neither 0 nor near to those beside it is undecided."""

    def __init__(self, trials: Any, inputs: Any) -> None:
        self.trials, self.inputs, self.is_compared = trials, inputs, False

    def checked(self, report: Report) -> Report:
        last, found, kinks, before = self.trials.last, self.trials.found, self.trials.kinks, States()
        names = {one.op for region in last.own for one in region.ran}
        if not self.trials.has_borders and (SINGULAR.isdisjoint(names) or CHOOSING.isdisjoint(names)):
            return report
        self.trials.kinks = "pytorch"
        try:
            for what, point in self.points():
                if (wrong := self.wrong_at(point)) is not None:
                    name, given, near = wrong
                    report.add(ELSEWHERE, what, f"PyTorch's own gradient of {name} is NaN at {what}, since a branch that is not taken has no derivative there, and the gradient that its "
                               f"backward gives there, {given:.6g}, is neither 0 nor near to that beside it, {near:.6g}. Mend the backward pass; allow_unreached=True accepts it")
                    return report
        finally:
            self.trials.last, self.trials.found, self.trials.kinks = last, found, kinks
            before.restore()
        if self.trials.has_borders and not self.is_compared:
            report.add(ELSEWHERE, "borders", "a branch that is not taken has no derivative at the border of its condition, and the check cannot tell what a Function's gradient should be "
                       "there; allow_unreached=True accepts it")
        return report

    def points(self) -> Iterator[tuple[str, Sequence[Any]]]:
        """Inputs that were judged, where they are given; drawn ones with zeros, and with elements on thresholds."""
        points = [one for one in self.trials.points if sum(x.numel() for x in one if isinstance(x, torch.Tensor)) <= MOST_ELEMENTS]
        drawn = [i for i, one in enumerate(listed(self.inputs)) if is_shape(one)]
        if not drawn:
            yield from (("the given inputs", one) for one in points[:1])
        elif points:
            at = [one.threshold for one in self.trials.last.branches if one.threshold and self.trials.last.in_own(one) and abs(one.threshold) < 2.0**60]
            yield "inputs on thresholds", put_at(self.inputs, points[0], list(dict.fromkeys([0.0, *at, *(-t for t in at), 1.0, -1.0])), 0.75)
            yield from ((f"zeros in input {i}", with_zeros(points[0], i)) for i in drawn[:MOST_POINTS])

    def wrong_at(self, point: Sequence[Any]) -> tuple[str, float, float] | None:
        """The Function, an element of its gradient that is unlike those beside it, and the nearest of these."""
        start = States()
        if (run := self.recorded(point, start)) is None:
            return None
        places = [(i, k, open_) for i, one in enumerate(run.products) for k in one.convention or {} if bool((open_ := self.is_open(run, i, k)).any())]
        tried = [self.recorded([shifted(one, side) for one in point], start) for side in ((1, -1, None) if places else ())]
        beside = [one for one in tried if one is not None and len(one.products) == len(run.products)]
        for i, k, open_ in places:
            given, bar = values(run, i, k)[open_], run.memory.values[run.products[i].cotangent].tensor.abs().max()  # type: ignore[index]
            near = [values(one, i, k)[open_] for one in beside if values(one, i, k).shape == open_.shape]
            if not near:
                continue
            others, self.is_compared = torch.stack(near), True
            far = (others - given).abs() > FAR * torch.maximum(torch.maximum(others.abs(), given.abs()), bar)
            wrong = (far.all(0) & (given != 0)).nonzero().flatten()
            if len(wrong):
                at = int(wrong[0])
                nearest = others[:, at][(others[:, at] - given[at]).abs().argmin()]
                return run.products[i].of.name, float(given[at]), float(nearest)
        return None

    def recorded(self, point: Sequence[Any], start: States) -> Recorder | None:
        start.restore()
        try:
            return self.trials.recorded(point, {})  # type: ignore[no-any-return]
        except Exception:  # of the function's own, or refused
            return None

    @staticmethod
    def is_open(run: Recorder, i: int, k: int) -> torch.Tensor:
        """Where a Function's gradient is finite, and PyTorch's is not."""
        one = run.products[i]
        if not isinstance(one.cotangents.get(k), int) or not isinstance(one.cotangent, int):
            return torch.zeros(1, dtype=torch.bool)
        return torch.isfinite(values(run, i, k)) & ~torch.isfinite(run.memory.values[(one.convention or {})[k]].tensor)


def at_border_alone(report: Report) -> bool:
    """Whether the gate cannot tell of elements on borders of conditions, and of nothing else."""
    rules = {one.rule for one in report.findings if one.kind == "undecided"}
    return not report.failed and rules == {"gradient.border"} and not report.written.get("undecided_ops")


def values(run: Recorder, i: int, k: int) -> torch.Tensor:
    return run.memory.values[run.products[i].cotangents[k]].tensor  # type: ignore[index]


def shifted(one: Any, side: int | None) -> Any:
    """A tensor that is moved to one side, or each element to a side of its own."""
    if not isinstance(one, torch.Tensor) or not one.requires_grad:
        return one
    sides = torch.full_like(one, side) if side else torch.where(torch.rand(one.shape) < 0.5, 1.0, -1.0)
    return (one + STEP * sides.to(one.dtype) * one.abs().clamp(min=1)).detach().requires_grad_()


__all__ = ["Singular", "at_border_alone"]
