"""Inputs on thresholds and ties: a backward is often wrong at kinks alone, and no random number lies there."""
from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator, Sequence

import torch

from assay.errors import UsageError
from assay.torch import Recorder, Refused, Report
from assay.torch.branches import EQUAL, FALSE, TIED, TRUE, Branch
from assay.torch.gates import judged
from ._draws import States, is_shape, listed, put_at, tied
from ._singular import at_border_alone
from ._variants import constants_of, value_at

PLACES = (1.0, -1.0, 0.5, -0.5, 2.0)  # where kinks may be, beside 0 and known thresholds
RULES = ("gradient.kink", "gradient.value", "gradient.convention", "gradient.product")
SHOWN = "shown by inputs on thresholds and ties"
BETWEEN = {"gt", "lt", "ge", "le", "eq", "ne", "maximum", "minimum", "fmax", "fmin", "where", "masked_fill"}  # of tensors, or noted with the number
MOST_ELEMENTS = 2**18  # of inputs, each run of which takes long
SHARE, MOST_POINTS, MOST_WRITTEN = 0.75, 4, 6  # of elements at such numbers; of runs that look for a threshold; of numbers of the program's code


class Kinks:
    """Runs of a function with a Function, whose report passed, at inputs on kinks. A gradient that is wrong there fails, and nothing there is undecided."""

    def __init__(self, trials: Any, inputs: Any) -> None:
        self.trials, self.inputs = trials, inputs
        self.given = [] if not any(is_shape(one) for one in listed(inputs)) or not trials.points else trials.points[0]
        self.met: dict[Any, bool] = {}  # by branch, whether some element lay on it
        self.count, self.number = 0, 0  # of cotangents that the gate judged at kinks; of runs

    def checked(self, report: Report) -> Report:
        """The first report that fails, else the one that was given, which says how many cotangents were judged at kinks."""
        last, found, before = self.trials.last, self.trials.found, States()
        if not last.own or not last.bends:
            return report
        if self.given and sum(one.numel() for one in self.given if isinstance(one, torch.Tensor)) > MOST_ELEMENTS:
            report.tell("untried", [f"inputs on thresholds and ties, for which inputs of more than {MOST_ELEMENTS:,} elements are too large: give smaller shapes"])
            self.given = []
        self.is_new(last)
        is_met, self.met = any(self.met.values()), {}
        try:
            for run in self.runs() if self.given else ():
                one = self.judged(run)
                if one is not None and self.is_wrong(run, one):
                    last = run
                    one.remark(SHOWN)
                    return one
                self.count += 0 if one is None else at_kinks(one)
                self.number += 1
        finally:
            self.trials.last, self.trials.found = last, found
            before.restore()
        first = at_kinks(report)
        if self.number:
            report.fact("kinks", f"{first + self.count} recorded cotangents at kinks: {first} at the inputs that were drawn first, {self.count} in "
                        f"{self.number} further run{'s' if self.number > 1 else ''} with inputs on thresholds and ties")
            report.written["kinks"] = first + self.count
        is_open = bool(self.met) or not self.number
        if self.trials.kinks == "pytorch" and is_open and not (is_met or any(self.met.values()) or first + self.count):
            report.tell("unreached", ["the kinks at which PyTorch's numbers are asked for"])
        return report

    @staticmethod
    def is_wrong(run: Recorder, report: Report) -> bool:
        """Whether a Function's product is wrong: other products are PyTorch's own, and right by its conventions."""
        names = [f"({one.name})" for one in run.own]
        return any(one.kind == "fail" and one.rule in RULES and any(name in case.name for name in names) for case in report.cases for one in case.findings)

    def judged(self, run: Recorder) -> Report | None:
        try:
            found = judged(run, "gradcheck", *dict.fromkeys([*self.trials.options, "--allow-dead"]))
        except (UsageError, Refused):
            return None
        if found.passed or at_border_alone(found):
            self.trials.note(run, found)
        return found

    def runs(self) -> Iterator[Recorder]:
        """Runs with elements at thresholds, and with equal elements; further ones where no element met a threshold."""
        room = max(1, int(SHARE * max(one.numel() for one, what in zip(self.given, listed(self.inputs)) if is_shape(what))))
        known = self.thresholds()
        other = [one for one in PLACES if one not in known]
        last = self.trials.last
        is_tied = bool(last.bends & TIED) or any(one.threshold is None for _, one in self.comparisons(last))
        is_at_numbers = bool(last.bends - TIED - BETWEEN) or any(one.threshold is not None for _, one in self.comparisons(last))
        first = None if not is_at_numbers else self.run(lambda k: put_at(self.inputs, self.given, ([0.0, *known, *other], [*known, *other], known or other)[k], SHARE))
        if first is not None and self.is_new(first):
            yield first
        for is_folded in (True, False) if is_tied else ():
            if is_folded or any(one.threshold is None and not self.met.get(key) for key, one in self.comparisons(last)):
                run = self.run(lambda k: tied(self.inputs, self.given, k != 1, is_folded and k != 2))
                if run is not None and (self.is_new(run) or is_folded):
                    self.met["ties"] = True
                    yield run
        written = self.written([0.0, *known, *other])
        for places, share in [([0.0, 1.0, -1.0, *known], 1.0), ([0.0, 1.0, -1.0], 1.0), *((written[k:k + room], SHARE) for k in range(0, len(written), room))][:MOST_POINTS]:
            if not is_at_numbers or all(self.met.values()):
                break
            run = self.run(lambda _: put_at(self.inputs, self.given, places, share))
            if run is not None and self.is_new(run):
                yield run

    def is_new(self, run: Recorder) -> bool:
        """Whether elements lie on a threshold on which none lay before; of a first run that is not asked."""
        is_first, found = not self.met, False
        for key, one in self.comparisons(run):
            found = found or EQUAL in one.sides and not self.met.get(key)
            self.met[key] = self.met.get(key, False) or EQUAL in one.sides
        return found or is_first

    def comparisons(self, run: Recorder) -> list[tuple[Any, Branch]]:
        """Return the comparisons of Functions with thresholds and with other tensors."""
        return [(key, one) for key, one in self.trials.keyed(run) if run.in_own(one) and one.spot and not one.is_of_cotangent and {TRUE, FALSE}.isdisjoint(one.wanted)]

    def thresholds(self) -> list[float]:
        branches = [one for one, _ in self.trials.known.values()] + [one for one in self.trials.last.branches if self.trials.last.in_own(one)]
        return list(dict.fromkeys(sign * one.threshold for one in branches if one.threshold and abs(one.threshold) < 2.0**60 for sign in (1, -1)))

    def written(self, known: Sequence[float]) -> list[float]:
        """Numbers of the passes' code, and what is made of two of them and a threshold, as in `(2 * x - 3).relu()`."""
        found = dict.fromkeys(float(one) for code, seen in self.trials.codes.items() for one in (*constants_of(code), *value_at(code, seen))
                              if type(one) in (int, float) and one and abs(one) < 2.0**60)
        numbers = list(found)[:MOST_WRITTEN]
        more = [sign * (a + t) / b for b in (1.0, *numbers) for t in (0.0, *self.thresholds()) for a in numbers for sign in (1, -1)]
        return [one for one in dict.fromkeys(more) if one not in known]

    def run(self, point: Callable[[int], Sequence[Any]]) -> Recorder | None:
        """A recorded run at the first of some points at which gradients are finite; nothing, where the function takes none."""
        for k in range(3):
            with contextlib.suppress(Exception):  # of the function's own, or refused
                run = self.trials.recorded(point(k), {})
                if all(bool(torch.isfinite(one).all()) for some in self.trials.found for one in some if one is not None):
                    return run  # type: ignore[no-any-return]
        return None


def at_kinks(report: Report) -> int:
    """How many cotangents the gate judged at kinks."""
    return int(report.written.get("kinks", 0))


__all__ = ["Kinks"]
