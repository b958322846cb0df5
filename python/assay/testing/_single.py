"""Inputs and arguments at which a mistake hides: zeros, ones and large numbers, where a quotient in a backward may have no value, and numbers such as 1 that a function is always given."""
from __future__ import annotations

import contextlib
import inspect
from typing import Any, Iterator, Sequence

import torch

from assay.errors import UsageError
from assay.torch import Refused, Report
from assay.torch.gates import judged
from assay.torch.surrogates import noting
from ._cotangents import Cotangents
from ._differences import Differences
from ._draws import States, is_shape, listed

RULES = ("gradient.finite", "gradient.value", "gradient.product")
MOST_ELEMENTS, MOST_INPUTS = 2**18, 8
LARGE = (100, 1000)  # exp(x) is infinite from 89 on in float32, and exp(x / 10) from 890
SIZES = (-3.0, 12.0)  # powers of two, between which inputs of all sizes lie: another operand is then the greatest one, and other pieces are met


class Zeros:
    """Runs of a function with a Function, whose report passed, at inputs that have zeros or large numbers. A gradient that is not finite there fails where the derivative is bounded."""

    def __init__(self, trials: Any, inputs: Any) -> None:
        self.trials = trials
        self.drawn = [i for i, one in enumerate(listed(inputs)) if is_shape(one)][:MOST_INPUTS]

    def checked(self, report: Report, is_allowed: bool) -> Report:
        """The first report that fails, else the one that was given, which names the inputs without a finite gradient."""
        points = self.trials.points
        if self.trials.last.own and points:
            report.tell("unreached", [f"another number than 1.0 for the argument '{name}' of {owner}, which hides a lost factor" for owner, name in self.trials.hiding])
        if not self.trials.last.own or not points or sum(one.numel() for one in points[0] if isinstance(one, torch.Tensor)) > MOST_ELEMENTS:
            return report
        before, left = States(), list[str]()
        is_bent = self.trials.last.bends and (is_allowed or not self.trials.open_branches())  # sides that nothing reached leave it undecided anyway
        try:
            for what, point, is_judged in (*((*one, False) for one in self.tried(points[0])), *((*one, True) for one in self.sizes(points[0]) if is_bent)):
                if not (Differences(self.trials, point).contradict(self.drawn) if is_judged else self.is_lost(point)):
                    continue
                found = self.judged(point)
                if found is not None and any(one.kind == "fail" and one.rule in RULES for one in found.findings):
                    found.remark(f"shown by {what}")
                    return found
                left += [] if is_judged else [f"{what}, for which gradients are not finite"]
        finally:
            before.restore()
        report.tell("unreached", left)
        return report

    def tried(self, point: Sequence[Any]) -> Iterator[tuple[str, list[Any]]]:
        """A right point with zeros, and with numbers of which exp leaves the range of floats."""
        for i in self.drawn:
            yield f"zeros in input {i}", with_zeros(point, i)
            yield f"ones in input {i}", with_zeros(point, i, 1.0)
            yield from ((f"numbers of size {size} in input {i}", with_large(point, i, size)) for size in LARGE)
        for i, one in enumerate(point):  # the forward pass may guard a count of 0, and the backward pass may not
            if isinstance(one, torch.Tensor) and one.dtype == torch.bool and one.dim() and one.numel() and bool(one.any(-1).all()):
                first = (torch.arange(one.numel()) < one.shape[-1]).reshape(one.shape)
                yield f"a line of input {i} without a true value", [*point[:i], one & ~first, *point[i + 1:]]

    def sizes(self, point: Sequence[Any]) -> Iterator[tuple[str, list[Any]]]:
        """A right point whose drawn elements are of all sizes, and the same with other signs."""
        drawn = {i: of_sizes(point[i]) for i in self.drawn}
        for sign in (1, -1):
            if drawn:
                yield "numbers of many sizes", [(sign * drawn[i]).requires_grad_(one.requires_grad) if i in drawn else one for i, one in enumerate(point)]

    def is_lost(self, point: Sequence[Any]) -> bool:
        """Whether the results are finite, and some gradient or second derivative is not."""
        with contextlib.suppress(Exception):  # of the function's own: it may not take zeros
            slopes, again = self.trials.unrecorded(point, Cotangents())
            if not all(bool(torch.isfinite(one).all()) for one in (*slopes, *again) if one is not None):
                return all(bool(torch.isfinite(one).all()) for one in self.trials.ends(self.trials.leaves(point), None, Cotangents()))
        return False

    def judged(self, point: Sequence[Any]) -> Report | None:
        try:
            run = self.trials.recorded(point, {})
            found = judged(run, "gradcheck", *dict.fromkeys([*self.trials.options, "--allow-dead"]))
        except (UsageError, Refused):
            return None
        if found.failed:
            self.trials.last = run
        return found


def with_zeros(point: Sequence[Any], i: int, put: float = 0.0) -> list[Any]:
    """Every second element of an input is 0, the first one too; or another number, and minus that, in turn."""
    flat = point[i].detach().flatten().clone()
    flat[::4], flat[2::4] = put, -put if put else put
    return [*point[:i], flat.reshape(point[i].shape).requires_grad_(point[i].requires_grad), *point[i + 1:]]


def with_large(point: Sequence[Any], i: int, size: float) -> list[Any]:
    """The elements of an input are as they are, large and positive, and large and negative, in turn."""
    flat = point[i].detach().flatten().clone()
    flat[int(len(flat) > 1)::3], flat[2::3] = size, -size
    return [*point[:i], flat.reshape(point[i].shape).requires_grad_(point[i].requires_grad), *point[i + 1:]]


def of_sizes(one: torch.Tensor) -> torch.Tensor:
    """Numbers of both signs, as many of one power of two as of another."""
    power = SIZES[0] + (SIZES[1] - SIZES[0]) * torch.rand(one.shape)
    return (torch.where(torch.rand(one.shape) < 0.5, 1.0, -1.0) * 2.0**power).to(one.dtype)


@contextlib.contextmanager
def noted(owners: Any, seen: dict[tuple[str, str], None]) -> Iterator[None]:
    """Notes arguments of Functions that are 1.0, for a while: a lost factor does not show there."""
    def note(owner: Any, _: Any, given: Sequence[Any]) -> None:
        names = list(inspect.signature(owner.forward).parameters)
        names = names[len(names) - len(given):]
        seen.update({(owner.__name__, name): None for name, one in zip(names, given) if type(one) is float and one == 1})
    with noting(owners, note):
        yield


__all__ = ["Zeros", "noted"]
