"""Whether a backward of the program's own gives the same gradients again, right ones at other inputs, and the same where nothing is recorded.

A backward that keeps numbers between calls, or looks at who calls it, is right in the one run that is recorded and wrong in use.
"""
from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterable, Iterator, Sequence

import torch

from assay.errors import UsageError
from assay.torch import Refused, Report
from assay.torch.gates import judged, judging
from ._cotangents import Cotangents, differs
from ._surroundings import Asked
from ._draws import States, is_shape, listed, moved

SHARE, LEAST = 2.0**-1, 2.0**-6  # by which drawn inputs are moved, and those that are given
RULE = "gradient.repeated"
MOST_RUNS = 3  # that are not recorded: in the first one, what is kept may be of other inputs
ROUNDINGS = 64  # how many roundings of their largest element gradients of runs that are not recorded may be away
MANY = 2**20  # recorded numbers from which on two gates run at a time


class Repeats:
    """Further runs of a function whose first report passed. Of many numbers, they are judged while the first ones are."""

    report: Report
    last: Any = None

    def __init__(self, trials: Any, inputs: Any) -> None:
        self.trials = trials
        self.shapes = [is_shape(one) for one in listed(inputs)]
        self.gates = contextlib.ExitStack()  # the one that runs, which ends with this

    def __enter__(self) -> "Repeats":
        return self

    def __exit__(self, *error: Any) -> None:
        self.gates.close()

    def look(self) -> None:
        """At the last judged run."""
        self.last = self.trials.last
        self.given, self.start, self.first = self.trials.first
        self.gates.close()
        self.second: list[Any] = []  # the same run once more, where it gave other gradients, or None
        self.moved: list[Any] = []  # one at other inputs, or None, and what waits for its report

    def begin(self) -> None:
        """Runs the function again, and begins to judge that, before the report of the last run is there: so two programs run at a time."""
        self.look()
        if not self.last.own or sum(one.tensor.numel() for one in self.last.memory.values) < MANY:
            return
        before = States()
        try:
            if self.other() is None:
                run = self.elsewhere_run()
                with contextlib.suppress(UsageError, Refused):
                    self.moved += [] if run is None else [self.gates.enter_context(judging(run, "gradcheck", *self.options()))]
        finally:
            before.restore()

    def checked(self, report: Report) -> Report:
        """The first report that does not pass, else the one that was given."""
        self.report = report
        if self.trials.last is not self.last:
            self.look()
        if not self.last.own:
            return self.report
        before = States()
        try:
            _ = self.again() and (bool(self.moved[1:]) or self.elsewhere()) and self.unrecorded()
        finally:
            before.restore()
        return self.report

    def ended(self, report: Report) -> Report:
        """The same, of a gate that still runs beside the caller."""
        self.report = report
        if self.moved[1:]:
            self.elsewhere()
        return self.report

    def run(self, point: Sequence[Any]) -> Any:
        """A recorded run; nothing, where the function does not take it."""
        self.start.restore()
        try:
            return self.trials.recorded(point, {})
        except Exception:  # of the function's own, or refused
            return None

    def options(self) -> list[str]:
        return list(dict.fromkeys([*self.trials.options, "--allow-dead"]))

    def is_right(self, run: Any, shown: str, is_sure: bool = True, wait: Callable[[], Report] | None = None) -> bool:
        """Judges a run; one that is wrong decides, if that is sure. `wait`: its gate, which runs already."""
        try:
            found = judged(run, "gradcheck", *self.options()) if wait is None else wait()
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

    def other(self) -> Any:
        """The same run once more, if it gives other gradients: equal ones are as right as the first."""
        if not self.second:
            run = self.run(self.given)
            self.second.append(run if run is not None and is_other(self.first, self.trials.found) else None)
        return self.second[0]

    def again(self) -> bool:
        run = self.other()
        if run is not None and not self.is_right(run, "a second run at the same inputs") and self.report.passed:
            self.report.add(RULE, "a second run", "two equal runs give other gradients, and nothing tells whether those of the second are right")
        return bool(self.report.passed)

    def elsewhere_run(self) -> Any:
        """A run at inputs and parameters that are moved. Given ones keep their signs, order and symmetry."""
        if not self.moved:
            self.moved.append(self.moved_run(self.trials.params.values()))
        return self.moved[0]

    def moved_run(self, params: Iterable[torch.Tensor]) -> Any:
        """Tensors are written in place, as optimisers do: what a Function keeps for a tensor is then of other numbers."""
        with contextlib.ExitStack() as stack:
            for one in (one for one in params if one.requires_grad):
                stack.enter_context(written(one, one.detach() * (1 - LEAST)))
            return self.run([stack.enter_context(written(one, moved(one, SHARE) if drawn else one.detach() * (1 - LEAST)))
                             if isinstance(one, torch.Tensor) and one.requires_grad else one for one, drawn in zip(self.given, self.shapes)])

    def elsewhere(self) -> bool:
        run, what, is_drawn = self.elsewhere_run(), "inputs that are moved a little", any(self.shapes)
        if run is None or not self.trials.params:
            _ = run is None or self.is_right(run, what, is_drawn, *self.moved[1:])
        elif not self.is_right(run, "inputs and parameters that are moved a little", False, *self.moved[1:]) and is_drawn and (run := self.moved_run([])) is not None:
            self.is_right(run, what)
        return bool(self.report.passed)

    def unrecorded(self) -> bool:
        """The gradients as PyTorch gives them; those of a function that is another one each time are not compared."""
        found, kept = list[Any](), list[dict[str, Any]]()
        while len(found) < 2 or len(found) < MOST_RUNS and grown(kept):
            self.start.restore()
            try:
                with Asked() as asked:
                    found.append(self.trials.unrecorded(self.given, Cotangents()))
            except Exception:  # of the function's own
                return True
            self.trials.note_asked(asked.found)
            self.trials.codes.update(asked.codes)
            kept.append(asked.kept)
        self.trials.counts = grown(kept)
        if is_other(self.first, found[0]) and not is_rounded(self.first, found[0]) and not is_other(*found[:2]):
            self.report.add("gradient.unrecorded", "runs that are not recorded", "gradients are others where nothing is recorded, and the recorded ones alone "
                            "were judged: the backward must not look at modes of dispatch or at its callers")
        return bool(self.report.passed)


@contextlib.contextmanager
def written(one: torch.Tensor, other: torch.Tensor) -> Iterator[torch.Tensor]:
    """The same tensor with other numbers for a while; another tensor, where its elements share memory or autograd computed it."""
    before = one.detach().clone()
    if not one.is_leaf or torch._debug_has_internal_overlap(one) != 0:
        yield other.requires_grad_(one.requires_grad)
        return
    one.data.copy_(other)
    try:
        yield one
    finally:
        one.data.copy_(before)


def grown(kept: list[dict[str, Any]]) -> list[str]:
    """The kept numbers that are others in the last of equal runs than in the one before."""
    return [name for name, one in kept[-2].items() if name in kept[-1] and kept[-1][name] != one]


def is_other(a: tuple[list[Any], list[Any]], b: tuple[list[Any], list[Any]]) -> bool:
    """Whether two runs gave other gradients, bit by bit."""
    first, second = a[0] + a[1], b[0] + b[1]
    return len(first) != len(second) or differs(first, second, [1.0] * len(first))


def is_rounded(a: tuple[list[Any], list[Any]], b: tuple[list[Any], list[Any]]) -> bool:
    """Whether gradients differ by some roundings of their largest elements: PyTorch chooses another kernel where operands lie elsewhere in memory."""
    pairs = list(zip(a[0] + a[1], b[0] + b[1]))
    if len(a[0] + a[1]) != len(b[0] + b[1]) or any((x is None) != (y is None) for x, y in pairs):
        return False
    return all(torch.equal(x, y) or bool((x - y).abs().max() <= ROUNDINGS * torch.finfo(y.dtype).eps * y.abs().max()) for x, y in pairs if x is not None)


__all__ = ["Repeats"]
