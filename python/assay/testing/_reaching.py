"""Draws for the sides of branches on which no element lay, and words about those that none reached."""
from __future__ import annotations

import contextlib
import itertools
import time
from typing import Any, Iterator, Sequence

from assay.errors import UsageError
from assay.torch import Refused, Report
from assay.torch.branches import Branch
from ._draws import at_thresholds, mixed, reaching, shares, special, wide
from ._linearity import unjudged

MOST_JUDGED = 16  # draws whose gradients are judged beside the first, to reach branches
MOST_TRIED, SECONDS, MANY = 256, 60.0, 8  # runs, and time, to find them; branches from which on wide draws come first
MOST_TOLD = 20  # sides that have a finding of their own
Key = tuple[int, str]


def explored(trials: Any, inputs: Any, given: Sequence[Any], report: Report) -> Report:
    """Draws again for each side of a branch that was not reached: the first report that fails, else one that passes. It ends after so many runs
    and so much time: what is left is told."""
    base = trials.last
    draws = Fresh(trials, inputs, given)
    for tried, fresh in enumerate(draws):
        with contextlib.suppress(UsageError, Refused):
            found = trials.judged(fresh)
            if found.failed:
                return found  # type: ignore[no-any-return]
            if found.passed and not report.passed:
                report, base = found, trials.last
        trials.last = base
        if tried + 1 >= MOST_JUDGED + draws.more:
            break
    return report


class Fresh:
    """Inputs that lie on sides of branches on which none lay. Each is judged before the next one is looked for."""

    def __init__(self, trials: Any, inputs: Any, given: Sequence[Any]) -> None:
        self.trials, self.inputs, self.given = trials, inputs, given
        self.left, self.end, self.more = MOST_TRIED, time.monotonic() + SECONDS, 0

    def sides(self, one: Sequence[Any], whole: bool) -> dict[Key, Branch]:
        self.left -= 1
        if self.left < 0 or time.monotonic() > self.end:
            return {}
        try:
            return dict(self.trials.keyed(self.trials.recorded(one, {}) if whole else self.trials.alone(one)))
        except Exception:  # of the function's own: it may not take such inputs
            return {}

    def open_branches(self) -> list[tuple[Key, Branch]]:
        """Return those that draws may reach; where numbers overflow, the gate cannot tell."""
        return [pair for pair in self.trials.open_branches() if not pair[1].is_of_finite]

    def is_new(self, key: Key, branch: Branch, at: Branch | None) -> bool:
        """Whether a run lies on a side that is missing."""
        return at is not None and bool((at.sides & set(branch.wanted)) - self.trials.seen.get(key, set()))

    def __iter__(self) -> Iterator[list[Any]]:
        known, last = self.open_branches(), self.trials.last
        yield from at_thresholds(self.inputs, self.given, [one for one in last.branches if one.threshold is not None and last.in_own(one)])
        for one in self.counted(last) if self.trials.counts_to else []:
            self.more += 1
            yield one
        for one in wide(self.inputs, self.given) if len(known) > MANY else []:  # first what reaches many at once
            at = self.sides(one, any(branch.is_backward for _, branch in known))
            if any(self.is_new(key, branch, at.get(key)) for key, branch in known):
                yield one
        looked: set[Key] = set()
        while left := [pair for pair in self.open_branches() if pair[0] not in looked]:  # a draw may show branches that no run took before
            looked.add(left[0][0])
            yield from self.towards(*left[0])

    def counted(self, last: Any) -> Iterator[list[Any]]:
        """Yield inputs with other counts of elements above the thresholds of loops."""
        at = dict.fromkeys(one.threshold for one in last.branches if one.threshold is not None and one.is_own and abs(one.threshold) < 2.0**60)
        return shares(self.inputs, self.given, list(at), self.trials.counts_to)

    def towards(self, key: Key, branch: Branch) -> Iterator[list[Any]]:
        """On one side of a branch."""
        def is_at(one: Sequence[Any]) -> Branch | None:
            return self.sides(one, branch.is_backward).get(key)
        start = self.trials.known.get(key, (None, self.given))[1]  # where the branch is met
        is_special = branch.threshold is None or branch.place != ""
        at = {one.threshold for one, _ in self.trials.known.values() if one.threshold is not None and abs(one.threshold) < 2.0**60}
        mixes = mixed(self.inputs, lambda: (self.trials.points or [start])[-1], sorted(at))
        hits = (one for one in itertools.chain(special(self.inputs, start, branch), mixes) if self.is_new(key, branch, is_at(one)))
        ways = [hits, reaching(self.inputs, start, branch, is_at)]
        for one in itertools.chain(*(ways if is_special else ways[::-1] if branch.spot else ways[1:])):
            yield one
            if set(branch.wanted) <= self.trials.seen.get(key, set()):
                break


def tell_unreached(trials: Any, report: Report, is_drawn: bool, is_allowed: bool) -> None:
    """Which sides, and which equalities, no input reached. Of a Function's own nothing tells what its backward does there: that is undecided,
    unless it is allowed."""
    left = [(one, side) for key, one in trials.open_branches() for side in one.wanted if side not in trials.seen.get(key, set())]
    unsure = [one.at(side) for one, side in left if trials.last.in_own(one) and not one.is_mild]
    report.tell("unreached", list(dict.fromkeys(one.at(side) for one, side in left if is_drawn or one.is_mild or trials.last.in_own(one))))
    for names, words in (
            (unjudged(trials), "the check cannot tell whether the backward is linear in its cotangent: {}. A backward needs no decision by it"),
            (trials.unfollowed, "a Function reads numbers of its inputs by {}, and the check cannot follow what it decides by them. Compare tensors, or compare what "
             "item() or tolist() give"),
            ([one for one in trials.asked if one not in trials.drawn], "a Function asks for {}, and the check cannot tell what it does after another answer: a gradient should depend on operands alone"),
            (trials.counts, "a Function reads a number that it keeps, and that is another one in each call ({}): the check cannot tell what it does in later calls. A "
             "gradient should depend on operands alone")):
        report.tell("unreached", names)
        for what in [] if is_allowed else shortened(names):
            report.add("gradient.unreached", what, words.format(what) + "; allow_unreached=True accepts it")
    for what in [] if is_allowed else shortened(list(dict.fromkeys(unsure))):
        report.add("gradient.unreached", what, f"no input lay where the Function takes another branch ({what}), so its backward was not judged there; "
                   f"give {'shapes of more elements' if is_drawn else 'shapes, which are drawn on both sides'}, or inputs that lie there; allow_unreached=True accepts it")


def shortened(names: list[str]) -> list[str]:
    return names if len(names) <= MOST_TOLD else [*names[:MOST_TOLD], f"and {len(names) - MOST_TOLD} more"]


__all__ = ["explored", "tell_unreached"]
