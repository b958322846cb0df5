"""Functions that are at their limits at all inputs, as `sigmoid(50 * (x - 6))` is: floats show nothing of their derivatives there.

The gate then takes the limit for the function. So inputs are looked for at which it changes.
"""
from __future__ import annotations

import contextlib
import math
import time
from typing import Any, Callable, Iterator, Sequence

import torch

from assay.errors import UsageError
from assay.torch import Recorder, Refused, Report
from ._draws import States, is_shape, listed

Key = tuple[str, int]  # an instruction, and how often it ran before
AT_LIMIT, CHANGING = {torch.float32: 100.0, torch.float64: 700.0}, 8.0  # from which on the gate may take the limit; where a derivative shows
FACTORS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0, 4096.0)
STEPS, MOST_ELEMENTS, MOST_KEYS, SECONDS = 24, 2**16, 4, 20.0
STAYS = 0.1  # a share by which what a constant decides does not change


def depths(run: Recorder) -> dict[Key, torch.Tensor]:
    """How far operands of functions lie from where these change most."""
    found, times = dict[Key, torch.Tensor](), dict[str, int]()
    for spot, _, one in run.saturating:
        times[spot] = times.get(spot, -1) + 1
        if one.numel():
            found[spot, times[spot]] = one
    return found


def note_limits(trials: Any, run: Recorder, report: Report, inputs: Sequence[Any]) -> None:
    """Keeps which functions change in a right run, and which are at their limits in one that is right with limits alone."""
    far = AT_LIMIT[torch.float64 if any(isinstance(one, torch.Tensor) and one.dtype == torch.float64 for one in inputs) else torch.float32]
    trials.saturating |= dict(zip(depths(run), (words for _, words, one in run.saturating if one.numel())))
    for key, depth in depths(run).items():
        if bool((depth.abs() < far).any()):
            trials.changing.add(key)
        elif report.written.get("limited"):
            trials.limited.setdefault(key, list(inputs))


class Saturated:
    """Looks for inputs at which such functions change, and has their gradients judged. What none reached is undecided, unless constants put it there."""

    def __init__(self, trials: Any, inputs: Any) -> None:
        self.trials, self.inputs, self.end = trials, listed(inputs), time.monotonic() + SECONDS

    def checked(self, report: Report, is_allowed: bool) -> Report:
        """The first report that fails, else the one that was given."""
        last, before, left = self.trials.last, States(), list[str]()
        try:
            while keys := [one for one in self.trials.limited if one not in self.trials.changing][:MOST_KEYS]:
                key, given = keys[0], self.trials.limited.pop(keys[0])
                found = self.judged(key, given)
                if found is not None and found.failed:
                    found.remark("shown by inputs at which a function changes that was at its limit")
                    return found
                if key not in self.trials.changing:
                    left.append(self.trials.saturating[key])
            self.trials.last = last
        finally:
            before.restore()
        names = list(dict.fromkeys(left))
        report.tell("unreached", [f"{one}, where it is not at its limit" for one in names])
        for one in [] if is_allowed else names:
            report.add("gradient.unreached", one, f"{one} is at its limit at all inputs, as sigmoid(50 * (x - 6)) is for small x, so that its derivative was not judged; give {'inputs' if self.is_drawn() else 'shapes, which are drawn at several scales, or inputs'} at which it changes; allow_unreached=True accepts it")
        return report

    def is_drawn(self) -> bool:
        return any(is_shape(one) for one in self.inputs)

    def judged(self, key: Key, given: Sequence[Any]) -> Report | None:
        """The report of inputs at which a function changes; nothing, where none were found."""
        seen, found = list[torch.Tensor](), None
        for along in (scaled_by, shifted_by) if sum(one.numel() for one in given if isinstance(one, torch.Tensor)) <= MOST_ELEMENTS else ():
            path = Path(self, key, lambda t, along=along: [along(one, t) if self.is_moved(i, one) else one for i, one in enumerate(given)])  # type: ignore[misc]
            for point in path.points():
                with contextlib.suppress(UsageError, Refused):
                    found = self.trials.judged(point) if self.is_drawn() else None
                    if found is not None and (found.failed or key in self.trials.changing):
                        return found  # type: ignore[no-any-return]
            seen += path.seen.values()
        if len(seen) > 1 and all(one.shape == seen[0].shape and bool(((one - seen[0]).abs() <= STAYS * seen[0].abs()).all()) for one in seen):
            self.trials.changing.add(key)  # constants decide that it is at its limit, as those of a mask do
        return found

    def is_moved(self, i: int, one: Any) -> bool:
        return isinstance(one, torch.Tensor) and one.requires_grad and (not self.is_drawn() or i < len(self.inputs) and is_shape(self.inputs[i]))


class Path:
    """Inputs that depend on one number, along which the operand of a function is followed."""

    def __init__(self, search: Saturated, key: Key, point: Callable[[float], list[Any]]) -> None:
        self.search, self.key, self.point, self.seen = search, key, point, dict[float, torch.Tensor]()

    def at(self, t: float) -> torch.Tensor | None:
        if t not in self.seen and time.monotonic() < self.search.end:
            with contextlib.suppress(Exception):  # of the function's own: it may not take such inputs
                depth = depths(self.search.trials.alone(self.point(t))).get(self.key)
                if depth is not None and bool(torch.isfinite(depth).all()):
                    self.seen[t] = depth.flatten()
        return self.seen.get(t)

    def points(self) -> Iterator[list[Any]]:
        """Yield inputs at which some element of the operand lies near 0: those of a grid, or between two of them."""
        grid = sorted({sign * t for t in FACTORS for sign in (1, -1)})
        known = [(t, one) for t in sorted(grid, key=abs) if (one := self.at(t)) is not None]
        shape = known[0][1].shape if known else None
        known = sorted((pair for pair in known if pair[1].shape == shape), key=lambda pair: pair[0])
        if not known:
            return
        near = [t for t, one in known if bool((one.abs() < CHANGING).any())]
        yield from (self.point(t) for t in sorted(near, key=abs)[:2] if t)
        for (low, a), (high, b) in sorted(zip(known, known[1:]), key=lambda pair: abs(pair[0][0])):
            if crossing := (a.sign() * b.sign() < 0).nonzero().flatten().tolist():
                if (t := self.between(low, high, crossing[0])) is not None:
                    yield self.point(t)
                    return
        best = max(known, key=lambda pair: float((-pair[1].abs()).max()))[0]
        at = [t for t, _ in known].index(best)
        if (t := self.nearest(known[max(at - 1, 0)][0], known[min(at + 1, len(known) - 1)][0])) is not None:
            yield self.point(t)

    def between(self, low: float, high: float, element: int) -> float | None:
        """Halve until the element that has another sign at each end is near 0."""
        for _ in range(STEPS):
            middle = (low + high) / 2
            one, first = self.at(middle), self.at(low)
            if one is None or first is None:
                return None
            if abs(float(one[element])) < CHANGING / 2:
                return middle
            low, high = (middle, high) if float(one[element]) * float(first[element]) > 0 else (low, middle)
        return None

    def nearest(self, low: float, high: float) -> float | None:
        """Search by golden sections for where the element that is nearest to 0 is nearest."""
        share = (math.sqrt(5) - 1) / 2
        for _ in range(STEPS):
            a, b = high - share * (high - low), low + share * (high - low)
            first, second = self.at(a), self.at(b)
            if first is None or second is None:
                return None
            if float(min(first.abs().min(), second.abs().min())) < CHANGING / 2:
                return a if float(first.abs().min()) <= float(second.abs().min()) else b
            low, high = (low, b) if float(first.abs().min()) <= float(second.abs().min()) else (a, high)
        return None


def scaled_by(one: torch.Tensor, t: float) -> torch.Tensor:
    return (one.detach() * t).requires_grad_()


def shifted_by(one: torch.Tensor, t: float) -> torch.Tensor:
    return (one.detach() + t).requires_grad_()


__all__ = ["Saturated", "note_limits"]
