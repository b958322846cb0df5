"""Gradients that the gate tells from the derivative though no number shows it: a forward pass that iterates, with the derivative of its limit.

The gate compares functions in exact arithmetic, and an iteration that stops is not its limit. What is left of it may be far below a rounding. Wrong code
looks like that, too, if its mistake is as small: so nothing passes by it, and the gradient is undecided in place of wrong. Where no operations repeat
until their results settle, a difference that small is a wrong constant, and the gradient is wrong.
"""
from __future__ import annotations

from typing import Any, Sequence

import torch

from assay.torch import Recorder, Report
from ._cotangents import Cotangents, scaled
from ._draws import States, moved
from ._elsewhere import apart, widened, widened_params
from ._operations import Operations

AT_THE_POINT = "which is also the derivative at the recorded point"
FACTORS = (0, 30, -30)  # powers of two by which cotangents are multiplied, too
SHARE, SEED = 0.25, 23  # by which inputs are moved to both sides, so that nothing is as it was
NEAR, COARSE = 2.0**-20, 2.0**-12  # a few roundings of float32, for numbers in float64; a bound for numbers as the function runs
DOUBLE = 2.0**-46  # of float64, for numbers that are rounded to it themselves
LONGEST, ROUNDS = 2000, 3  # how many operations are searched for rounds, and how many rounds an iteration has at least
LEAST = 0.5  # the share of elements of a tensor that other inputs have to change
CAUSE = "At other inputs the two differ by less than a rounding: an iteration that stops early has such a derivative"


def settled(trials: Any, report: Report) -> Report:
    """The report of a run that failed: undecided, where no number shows a difference between the product and the derivative."""
    if trials.bent or trials.decisions or any(trials.last.in_own(one) for one in trials.last.branches):
        return report  # what it decides elsewhere is in no run here
    failed = [(case, one) for case in report.cases for one in case.findings if one.kind == "fail"]
    if not failed or not all(one.rule == "gradient.product" and AT_THE_POINT in one.headline for _, one in failed):
        return report
    before, kinks, found = States(), trials.kinks, trials.found
    try:
        is_near = near(trials, trials.first[0]) and iterates(trials, trials.first[0])
    except Exception:  # of the function's own: it may not take other inputs, or other types
        is_near = False
    finally:
        trials.kinks, trials.found = kinks, found
        before.restore()
    if is_near:
        for case, one in failed:
            one.kind, one.opening = "undecided", f"{one.headline}. {CAUSE}"
        report.exit_code, report.written["verdict"] = 3, "undecided"
    return report


def near(trials: Any, point: Sequence[Any]) -> bool:
    """Whether products agree with PyTorch's derivatives of the forward passes at two other points, of which nothing is the same."""
    is_double = any(isinstance(one, torch.Tensor) and one.dtype == torch.float64 for one in [*point, *trials.params.values()])
    leaves = list[list[torch.Tensor]]()
    for i, share in enumerate((SHARE, -SHARE)):
        other = [moved(one, share).requires_grad_(one.requires_grad) if isinstance(one, torch.Tensor) and one.is_floating_point() else one for one in point]
        for widens in (False, True):
            States.begin(SEED + i)
            given = [widened(one) if widens else one for one in other]
            with trials.moved_params(share), widened_params(trials.params if widens else {}):
                trials.kinks = "pytorch"
                far = max(farthest(trials.recorded(given, {}, Cotangents(change=scaled(k)))) for k in FACTORS)
                if far > (DOUBLE if is_double else NEAR if widens else COARSE):
                    return False
        trials.kinks = "any"
        with trials.moved_params(share):
            leaves.append(leaves_of(trials.recorded(other, {})))
    return len(leaves[0]) == len(leaves[1]) and all(is_other(a, b) for a, b in zip(*leaves))


def iterates(trials: Any, point: Sequence[Any]) -> bool:
    """Whether some operations repeat in the forward pass, round by round, until a result of a round is nearly that of the round before."""
    States.begin(SEED)
    with Operations() as run, torch.no_grad():
        trials.function(*point)
    names, found = run.names[-LONGEST:], run.found[-LONGEST:]
    for length in range(1, len(names) // ROUNDS + 1):
        same = 0  # how many operations in a row are those of a round before
        for i in range(length, len(names)):
            same = same + 1 if names[i] == names[i - length] else 0
            if same >= (ROUNDS - 1) * length and is_settled(found[i - 2 * length], found[i - length], found[i]):
                return True
    return False


def is_settled(first: Any, second: Any, third: Any) -> bool:
    """Whether a result changed from one round to the next, and then by a small share of it at most."""
    if any(one is None or one.shape != third.shape for one in (first, second)):
        return False
    return bool((first != second).any()) and apart(second, third) <= COARSE


def leaves_of(run: Recorder) -> list[torch.Tensor]:
    """Numbers that no operation gave, tensors of the program's own among them: a mistake shows if none of these is special, such as 0."""
    given = {v for region in run.regions for v in region.results}
    return [one.tensor for v, one in enumerate(run.memory.values) if v not in given and one.tensor.is_floating_point() and one.tensor.numel()]


def is_other(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.shape == b.shape and float((a != b).double().mean()) >= LEAST


def farthest(run: Recorder) -> float:
    """By which share cotangents differ most from PyTorch's derivatives of the same forward passes; infinite where one cannot be compared."""
    far, values, count = 0.0, run.memory.values, 0
    for one in (one for one in run.products if one.of.name and not one.is_own):
        if one.convention is None or not isinstance(one.cotangent, int) or not bool((values[one.cotangent].tensor != 0).all()):
            return float("inf")
        for k, v in one.convention.items():
            if not isinstance(given := one.cotangents.get(k), int):
                return float("inf")
            pair = values[given].tensor, values[v].tensor
            if not all(bool(torch.isfinite(side).all()) for side in pair) or not bool(pair[1].any()):
                return float("inf")
            far, count = max(far, apart(*pair)), count + 1
    return far if count else float("inf")


__all__ = ["settled"]
