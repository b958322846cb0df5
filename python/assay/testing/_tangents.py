"""Tangents of forward mode at other inputs than those of the first draw: at other scales, on the sides of the jvp's own thresholds, at other shapes."""
from __future__ import annotations

import time
from typing import Any, Collection, Iterator, Sequence

import torch
from torch.autograd import forward_ad

from assay.errors import UsageError
from assay.torch import Recorder, Refused, Report
from assay.torch.gates import judged
from ._draws import at_thresholds, factors, is_shape, listed, scaled, tensors_of
from ._single import with_zeros

SCALES = (4.0, 16.0, 64.0, 0.125, -1.0)
SHAPES = (1, 129)  # by how many elements axes are longer: a few, and beyond most blocks
LARGE, MOST_WAYS = 64.0, 5
MOST_ELEMENTS, SECONDS = 2**16, 20.0


class Tangents:
    """Further runs of a function whose gradients and first tangents are right."""

    def __init__(self, trials: Any, inputs: Any) -> None:
        self.trials, self.inputs, self.end = trials, listed(inputs), time.monotonic() + SECONDS

    def checked(self, report: Report) -> Report:
        """The first report of tangents that are wrong, else the one that was given."""
        point = self.trials.points[-1]
        if (found := self.apart(point)) is not None:
            return found
        seen: dict[str, set[str]] = {}
        drawn = [one for one in self.inputs if is_shape(one)]
        for other in self.points(point) if drawn else ():
            if time.monotonic() > self.end:
                report.tell("untried", [f"tangents at other inputs, after {SECONDS:g} s"])
                break
            if (run := self.run(other)) is not None:
                found = self.judged(run)
                if found is not None and found.failed:
                    return found
                if found is not None and found.passed:
                    self.note(run, seen)
        if (found := self.at_zeros(point, report)) is not None:
            return found
        wanted = {} if (run := self.run(point)) is None else {one.name: one for one in run.branches if one.threshold is not None}
        if run is not None:
            self.note(run, seen)
        left = [f"tangents: {one.at(side)}" for name, one in wanted.items() for side in one.wanted if side not in seen.get(name, set())]
        report.tell("unreached", left)
        return report

    def apart(self, point: Sequence[Any]) -> Report | None:
        """The report of a wrong tangent where one input alone has a tangent, or all have large ones."""
        asking = [i for i, one in enumerate(point) if isinstance(one, torch.Tensor) and one.requires_grad]
        ways = [(asking, LARGE)] + [([i], 1.0) for i in asking if len(asking) > 1]
        for moving, factor in ways[:MOST_WAYS]:
            run = self.run(point, moving, factor)
            found = None if run is None else self.judged(run)
            if found is not None and found.failed:
                found.remark("shown where inputs " + ", ".join(map(str, moving)) + (" alone have tangents" if factor == 1 else f" have tangents {factor:g} times as large"))
                return found
        return None

    def at_zeros(self, point: Sequence[Any], report: Report) -> Report | None:
        """The report of tangents that are not finite at zeros, where the results are, and the derivative is bounded; other such zeros are named."""
        for i in [i for i, one in enumerate(self.inputs) if is_shape(one)][:MOST_WAYS] if self.trials.last.own else []:
            if (run := self.run(other := with_zeros(point, i))) is None or not self.is_lost(other):
                continue
            found = self.judged(run)
            if found is not None and found.failed:
                found.remark(f"shown by zeros in input {i}")
                return found
            report.tell("unreached", [f"zeros in input {i}, for which tangents are not finite"])
        return None

    def is_lost(self, point: Sequence[Any]) -> bool:
        """Whether the results are finite, and some tangent is not."""
        with forward_ad.dual_level():
            dual: Any = forward_ad
            found = self.trials.function(*[dual.make_dual(one.detach(), torch.ones_like(one)) if isinstance(one, torch.Tensor) and one.requires_grad else one for one in point])
            pairs = [dual.unpack_dual(y) for y in (found if isinstance(found, (tuple, list)) else [found]) if isinstance(y, torch.Tensor)]
            return all(bool(torch.isfinite(one.primal).all()) for one in pairs) and not all(bool(torch.isfinite(one.tangent).all()) for one in pairs if one.tangent is not None)

    def points(self, point: Sequence[Any]) -> Iterator[list[Any]]:
        run = self.run(point)
        own = [] if run is None else [one for one in run.branches if one.threshold is not None]
        for factor in dict.fromkeys([*(factor for one in own for factor in factors(one)), *SCALES]):
            yield scaled(self.inputs, point, factor, False, False, False)
        yield from at_thresholds(self.inputs, point, own)
        for more in SHAPES:
            shapes = [tuple(n + more for n in one) if is_shape(one) else one for one in self.inputs]
            yield tensors_of(shapes, 0)
            yield tensors_of([(one[0] + more, *one[1:]) if is_shape(one) and len(one) else one for one in self.inputs], 0)

    def run(self, point: Sequence[Any], moving: Collection[int] | None = None, factor: float = 1.0) -> Recorder | None:
        if sum(one.numel() for one in point if isinstance(one, torch.Tensor)) > MOST_ELEMENTS:
            return None
        try:
            return self.trials.recorded_forward(point, moving, factor)  # type: ignore[no-any-return]
        except Exception:  # of the function's own: it may not take such inputs
            return None

    def judged(self, run: Recorder) -> Report | None:
        try:
            return judged(run, "gradcheck", *dict.fromkeys([*self.trials.options, "--allow-dead"]))
        except (UsageError, Refused):
            return None

    @staticmethod
    def note(run: Recorder, seen: dict[str, set[str]]) -> None:
        for one in run.branches:
            seen.setdefault(one.name, set()).update(one.sides)


__all__ = ["Tangents"]
