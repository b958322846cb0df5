"""Whether a backward of the program's own gives the same gradients again, right ones at other inputs, and the same where nothing is recorded.

A backward that keeps numbers between calls, or looks at who calls it, is right in the one run that is recorded and wrong in use.
"""
from __future__ import annotations

from typing import Any, Sequence

import torch

from assay.errors import UsageError
from assay.torch import Refused, Report
from assay.torch.gates import judged
from ._cotangents import Cotangents, differs
from ._draws import States, is_shape, listed, moved

SHARE, LEAST = 2.0**-1, 2.0**-6  # by which drawn inputs are moved, and those that are given
RULE = "gradient.repeated"


class Repeats:
    """Further runs of a function whose first report passed."""

    def __init__(self, trials: Any, inputs: Any, report: Report) -> None:
        self.trials, self.report, self.last = trials, report, trials.last
        self.shapes = [is_shape(one) for one in listed(inputs)]
        self.given, self.start, self.first = trials.first

    def checked(self) -> Report:
        """The first report that does not pass, else the one that was given."""
        if not self.last.own:
            return self.report
        before = States()
        try:
            _ = self.again() and self.elsewhere() and self.unrecorded()
        finally:
            before.restore()
        return self.report

    def run(self, point: Sequence[Any]) -> Any:
        """A recorded run; nothing, where the function does not take it."""
        self.start.restore()
        try:
            return self.trials.recorded(point, {})
        except Exception:  # of the function's own, or refused
            return None

    def is_right(self, run: Any, shown: str, is_sure: bool = True) -> bool:
        """Judges a run; one that is wrong decides, if that is sure."""
        try:
            found = judged(run, "gradcheck", *dict.fromkeys([*self.trials.options, "--allow-dead"]))
        except (UsageError, Refused):
            return False
        wrong = [one for one in found.findings if one.rule == "gradient.product" and one.kind in ("fail", "undecided")]
        if found.failed and is_sure:
            found.remark(f"shown by {shown}: the first run was right")
            self.report, self.trials.last = found, run
        elif wrong and is_sure:
            self.report.add(RULE, shown, f"gradients were right in a first run, and cannot be told in one at {shown}; the backward may keep numbers of earlier runs: "
                            f"{wrong[0].message}")
        elif wrong:
            self.report.add(RULE, "other inputs", f"gradients are wrong at {shown}, and right at those that were given: either the backward keeps numbers of "
                            "earlier runs, or the function is meant for such inputs alone. Give shapes, which are drawn")
        return bool(found.passed)

    def again(self) -> bool:
        """The same run once more: equal gradients are as right as the first ones."""
        run = self.run(self.given)
        if run is None or not is_other(self.first, self.trials.found):
            return True
        if not self.is_right(run, "a second run at the same inputs") and self.report.passed:
            self.report.add(RULE, "a second run", "two equal runs give other gradients, and nothing tells whether those of the second are right")
        return bool(self.report.passed)

    def elsewhere(self) -> bool:
        """A run at inputs that are moved. Given ones keep their signs, order and symmetry."""
        is_drawn = any(self.shapes)
        point = [one if not isinstance(one, torch.Tensor) or not one.requires_grad else
                 (moved(one, SHARE) if drawn else one.detach() * (1 - LEAST)).requires_grad_() for one, drawn in zip(self.given, self.shapes)]
        run = self.run(point)
        if run is not None:
            self.is_right(run, "inputs that are moved a little", is_drawn)
        return bool(self.report.passed)

    def unrecorded(self) -> bool:
        """The gradients as PyTorch gives them; those of a function that is another one each time are not compared."""
        found = []
        for _ in range(2):
            self.start.restore()
            try:
                found.append(self.trials.unrecorded(self.given, Cotangents()))
            except Exception:  # of the function's own
                return True
            if not is_other(self.first, found[0]):
                return True
        if not is_other(*found):
            self.report.add("gradient.unrecorded", "runs that are not recorded", "gradients are others where nothing is recorded, and the recorded ones alone "
                            "were judged: the backward must not look at modes of dispatch or at its callers")
        return bool(self.report.passed)


def is_other(a: tuple[list[Any], list[Any]], b: tuple[list[Any], list[Any]]) -> bool:
    """Whether two runs gave other gradients, bit by bit."""
    first, second = a[0] + a[1], b[0] + b[1]
    return len(first) != len(second) or differs(first, second, [1.0] * len(first))


__all__ = ["Repeats"]
