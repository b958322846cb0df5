"""Functions whose gradients are right in float32 and at the shapes that were asked for, in float64 and at other shapes: what is wrong there alone is undecided.

The gate judges what ran. A backward may decide by sizes and types, or be right but for rounding that is as large as the gradient: neither shows in it.
"""
from __future__ import annotations

import contextlib
import itertools
import math
import time
from typing import Any, Iterator, Mapping, Sequence

import torch

from assay.errors import UsageError
from assay.torch import Refused, Report
from assay.torch.branches import KINKED
from assay.torch.gates import judged, locate
from assay.torch.limits import apart
from ._cotangents import Change, Cotangents, differs
from ._draws import States, is_shape, listed, scaled, tensors_of
from ._variants import Variants, constants_of, value_at

FAR_OUT = (3, 6, 8, 20, 48, 62, 80, 110)  # by which powers of two inputs are larger, so that numbers overflow
WIDER = {torch.float32: torch.float64, torch.complex64: torch.complex128}
SHORTER = {wide: kind for kind, wide in WIDER.items()}
FAR = 2.0**-6  # a difference that is no rounding of a gradient, as a share of it
FAR_IN_HALVES = 2.0**-2  # the same of a gradient in 16 bits, as a share of its largest number
OF_TYPES = ("a comparison of the type", "element size")
MOST_ELEMENTS, MOST_SHAPES, MOST_SIZE, SMALL, SECONDS, SEED = 2**18, 8, 2**12, 2**8, 20.0, 11
MOST_APART, MOST_LONGER = 24, 2  # shapes in which sizes differ that were equal, and in which one input has an axis more
RANKS = {"dim", "ndim", "sum_to_size"}  # what code reads that takes operands of several ranks
ELSEWHERE = "gradient.elsewhere"


class Elsewhere:
    """The trials of one function with a torch.autograd.Function, whose report passed."""

    def __init__(self, trials: Any, inputs: Any, report: Report) -> None:
        self.trials, self.inputs, self.report = trials, listed(inputs), report
        self.end, self.is_refused, self.is_late = time.monotonic() + SECONDS, False, False

    def checked(self, is_allowed: bool) -> Report:
        before, last = States(), self.trials.last
        if last.own and not is_allowed:
            try:
                _ = self.precision() and self.ways() and self.shapes()
            finally:
                self.trials.last = last
                before.restore()
            if self.is_late:
                self.report.tell("untried", [f"other shapes, types and ways to call, after {SECONDS:g} s"])
        return self.report

    # Types.

    def precision(self) -> bool:
        """Gradients in float64 at the same numbers. Those of random functions, and of functions that do not take it, are not compared."""
        for point in self.trials.points[:2]:
            if sum(one.numel() for one in point if isinstance(one, torch.Tensor)) > MOST_ELEMENTS or not any(kind_of(one) in WIDER for one in point):
                continue
            found = self.gradients(point, {}, 1), self.gradients(point, {}, 2), self.gradients(point, WIDER, 1)
            if None in found or differs(found[0], found[1], [1.0] * len(found[0] or [])):  # type: ignore[arg-type]
                continue
            far = next((share for a, b in zip(found[0] or [], found[2] or []) if (share := apart(a, b)) > FAR), 0.0)
            if far:
                self.report.add(ELSEWHERE, "float64", f"gradients in float64 are others than in float32, by {far:.2g} of their size, and those in float32 were judged: either "
                                "rounding is as large as the gradient, as where nearly equal numbers are subtracted (the mean of squares minus the square of the mean), or the "
                                "backward does something else for another type. Subtract the mean first, or give inputs nearer to 0; allow_unreached=True accepts it")
                return False
            if (far := self.from_autograd(point)) > FAR:
                self.report.add(ELSEWHERE, "rounding", f"a backward gives numbers that differ from PyTorch's gradient of the same forward pass by {far:.2g} of their size, though "
                                "its formula is right: rounding is as large as the gradient, as where nearly equal numbers are subtracted. Compute in another order, or give "
                                "other inputs; allow_unreached=True accepts it")
                return False
        return self.halves() and self.overflow()

    def halves(self) -> bool:
        """Gradients in 16 bits, and in float32 if float64 was given, if a Function compares types: roundings differ, and nothing else should."""
        point = self.trials.points[0] if self.trials.points and any(one.startswith(OF_TYPES) for one in self.trials.kinds_compared) else []
        if not point or sum(one.numel() for one in point if isinstance(one, torch.Tensor)) > MOST_ELEMENTS:
            return True
        first, again = self.gradients(point, {}, 1), self.gradients(point, {}, 2)
        is_wide = any(kind_of(one) in SHORTER for one in point) and not any(kind_of(one) in WIDER for one in point)
        for kind in (*([torch.float32] if is_wide else []), torch.float16, torch.bfloat16):
            short = self.gradients(point, SHORTER if kind == torch.float32 else {torch.float32: kind}, 1)
            if first is None or again is None or short is None or differs(first, again, [1.0] * len(first)):
                continue
            if (far := max((share_of(a, b) for a, b in zip(short, first)), default=0.0)) > FAR_IN_HALVES:
                name = str(kind).removeprefix("torch.")
                wide = "float64" if is_wide else "float32"
                self.report.add(ELSEWHERE, name, f"a Function compares types, and gradients in {name} are others than in {wide}, by {far:.2g} of the largest; those in {wide} were judged. "
                                f"Mend the backward pass, or give tensors in {name} in a test of their own; allow_unreached=True accepts it")
                return False
        return True

    def overflow(self) -> bool:
        """Gradients of drawn inputs so large that numbers leave their type, if a Function asks whether what it computed is finite. There the gate cannot tell."""
        if self.trials.points and any(one.is_of_finite for _, one in self.trials.open_branches()):
            for k in FAR_OUT:
                point = scaled(self.inputs, self.trials.points[0], 2.0**k, False, False, False)
                if (far := self.from_autograd(point)) > FAR:
                    self.report.add(ELSEWHERE, "inputs that overflow", f"at inputs {2.0**k:.3g} times as large, a backward that asks whether numbers are finite differs from PyTorch's gradient "
                                    f"of the same forward pass by {far:.2g} of its size; allow_unreached=True accepts it")
                    return False
        return True

    def from_autograd(self, point: Sequence[Any]) -> float:
        """How far what Functions give is from what PyTorch gives for their forward passes; of smooth ones, as there are several gradients at a kink."""
        kinks, self.trials.kinks = self.trials.kinks, "pytorch"
        try:
            run = self.trials.recorded(point, {})
        except Exception:  # of the function's own, or refused
            return 0.0
        finally:
            self.trials.kinks = kinks
        far = 0.0
        for one in run.products:
            is_smooth = one.convention is not None and one.surrogate is None and not any(ran.op in KINKED for ran in one.of.ran)
            for k, v in (one.convention or {}).items() if is_smooth else ():
                if isinstance(given := one.cotangents.get(k), int):
                    far = max(far, apart(run.memory.values[given].tensor, run.memory.values[v].tensor))
        return far

    def gradients(self, point: Sequence[Any], kinds: Mapping[Any, Any], seed: int) -> list[Any] | None:
        """From cotangents that are the same numbers in each type; tensors of some types have others."""
        given = [converted(one, kinds) for one in point]
        States.begin(seed)
        try:
            with converted_params(self.trials.params, kinds):
                first, second = self.trials.unrecorded(given, Cotangents(change=same_numbers(), second=same_numbers()))
                return [*first, *second]
        except Exception:  # of the function's own
            return None

    # Other ways to call it.

    def ways(self) -> bool:
        """One tensor given twice, Parameters, other settings of PyTorch and of the program."""
        point = self.trials.points[0] if self.trials.points else []
        if not point or sum(one.numel() for one in point if isinstance(one, torch.Tensor)) > MOST_ELEMENTS:
            return True
        if (found := Variants(self.trials, self.wrong_at).wrong(point)) is not None:
            self.report.add(ELSEWHERE, found[0], f"gradients are right as the function was called, and wrong {found[0]}: {found[1]}. Mend the backward pass; if the function is never "
                            "called so, allow_unreached=True accepts it")
        return found is None

    # Shapes.

    def shapes(self) -> bool:
        """Gradients at other shapes, if shapes are drawn: beyond comparisons of sizes, and one size larger."""
        drawn = [tuple(one) for one in self.inputs if is_shape(one)]
        if drawn:
            fixed = self.fixed_shapes()
            for changed in itertools.chain(self.other_shapes(drawn), self.apart(drawn, fixed)):
                if any(is_widened(after, by) and not is_widened(before, by) for before, after in zip(drawn, changed) for by in fixed):
                    continue
                shapes = iter(changed)
                point = tensors_of([next(shapes) if is_shape(one) else one for one in self.inputs], 0)
                if (wrong := self.wrong_at(point)) != "":
                    self.report.add(ELSEWHERE, f"inputs of shapes {named(changed)}", f"gradients are right for inputs of the shapes {named(drawn)}, and wrong for {named(changed)}: "
                                    f"{wrong}. Mend the backward pass; if the function is meant for the given shapes alone, allow_unreached=True accepts it")
                    return False
        left = [f"a {what}, which was {'true' if True in one.outcomes else 'false'} for the sizes of the inputs" for what, one in self.trials.sizes.items() if len(one.outcomes) == 1]
        self.report.tell("unreached", left + [f"{one}, with another one" for one in self.trials.kinds_compared])
        return True

    def wrong_at(self, point: Sequence[Any]) -> str:
        """Name the fault at a point; empty where there is none, or where the function does not take the point."""
        self.is_late = self.is_late or time.monotonic() > self.end
        if self.is_late or sum(one.numel() for one in point if isinstance(one, torch.Tensor)) > MOST_ELEMENTS:
            return ""
        try:
            run = self.trials.recorded(point, {})
            found = judged(run, "gradcheck", *dict.fromkeys([*self.trials.options, "--allow-dead"]))
        except (UsageError, Refused, Exception):  # of the function's own: it may not take such inputs
            self.is_refused = True
            return ""
        if found.passed:
            self.trials.note(run, None)
        locate(found, run)
        return next((one.headline for one in found.findings if one.kind == "fail" and one.rule.startswith("gradient.")), "")

    def other_shapes(self, drawn: Sequence[tuple[int, ...]]) -> Iterator[list[tuple[int, ...]]]:
        """Equal sizes stay equal. Those of tensors that are given stay as they are."""
        fixed = {n for one in [*self.inputs, *self.trials.params.values()] if isinstance(one, torch.Tensor) for n in one.shape}
        free = sorted({n for one in drawn for n in one} - fixed, reverse=True)
        seen = [{n: n for n in free}]
        if free:
            seen.append({n: n + 1 for n in free})
            yield changed_by(drawn, seen[-1])
        tried: set[str] = set()
        while len(seen) < MOST_SHAPES and (left := [(what, one) for what, one in self.trials.sizes.items() if len(one.outcomes) == 1 and what not in tried and free]):
            what, one = left[0]
            tried.add(what)
            for number in sorted(one.numbers | {math.prod(n + 1 for n in one.numbers), math.prod(one.numbers)}, reverse=True):
                for size in (number, number + 1, number - 1):
                    for other in ([{one.size: size}] if one.size in free else [{free[0]: -(-size * free[0] // max(one.size, 1))}, {free[0]: size}]):
                        change = {n: n for n in free} | other
                        if all(0 < n <= MOST_SIZE for n in change.values()) and change not in seen and len(one.outcomes) == 1 and len(seen) < MOST_SHAPES:
                            seen.append(change)
                            yield changed_by(drawn, change)
        for number in self.written(free):
            change = {n: number + 1 + i for i, n in enumerate(free)}
            self.is_refused = False
            if math.prod(max(changed_by(drawn, change), key=math.prod)) <= MOST_ELEMENTS:
                yield changed_by(drawn, change)
            else:
                self.is_refused = True
            if self.is_refused and len(free) > 1:
                yield from (changed_by(drawn, {n: n for n in free} | {one: number + 1}) for one in free[-2:])
        if len(tried) == 0 or free:
            yield [(2, *one) for one in drawn]
            if all(drawn):
                yield [one[1:] for one in drawn]
                yield [()] * len(drawn)

    def fixed_shapes(self) -> list[tuple[int, ...]]:
        """Find the shapes of tensors that Functions read and no input decides, such as targets: an input that fits them is not meant to be repeated along them."""
        last = self.trials.last
        return list({tuple(last.memory.values[v].tensor.shape) for one in last.own for v in one.operands if v not in last.decided | last.rolled})

    def apart(self, drawn: Sequence[tuple[int, ...]], fixed: Sequence[tuple[int, ...]]) -> Iterator[list[tuple[int, ...]]]:
        """Shapes in which sizes that were equal are not: one alone is larger; or is 1, if a Function compares sizes as those do that take operands which are repeated.
        An input of the most axes has one more: a batch of rows becomes several, for weights that stay as they are."""
        every = [n for one in [*drawn, *fixed] for n in one]
        repeats = self.trials.last.compares_sizes or any(1 in one.numbers for one in self.trials.sizes.values()) or any(not RANKS.isdisjoint(code.co_names) for code in self.trials.codes)
        places = [(i, axis) for i, one in enumerate(drawn) for axis, n in enumerate(one) if n > 1 and every.count(n) > 1]
        for size, (i, axis) in itertools.islice(itertools.product((0, 1) if repeats else (0,), places), MOST_APART):
            one = drawn[i]
            yield [*drawn[:i], (*one[:axis], size or one[axis] + 1, *one[axis + 1:]), *drawn[i + 1:]]
        widest = max(drawn, key=len)
        for i, one in enumerate(drawn) if repeats else ():
            if 0 < len(one) < len(widest):
                yield [*drawn[:i], (*widest[:-1], 1), *drawn[i + 1:]]
        at = [i for i, one in enumerate(drawn) if len(one) == len(widest)]
        count = next(n for n in itertools.count(2) if n not in every)  # a size that fits no other
        for i in at[:MOST_LONGER] if len(drawn) > 1 and len(widest) > 1 and (repeats or len(at) == 1) else ():
            if len(set(drawn[i])) < len(drawn[i]):
                continue  # an axis that is meant for another one would fit unnoticed
            yield [*drawn[:i], (count, *drawn[i]), *drawn[i + 1:]]

    def written(self, free: Sequence[int]) -> list[int]:
        """Whole numbers of the code of passes, which may end a slice: of small ones and of all the largest, if sizes are not beyond it."""
        found = {one for code in self.trials.codes for one in (*constants_of(code), *value_at(code, self.trials.codes[code])) if type(one) is int and min(free, default=MOST_SIZE) <= one < MOST_SIZE}
        return sorted({max(some) for most in (SMALL, MOST_SIZE) if (some := [one for one in found if one <= most])})


def changed_by(shapes: Sequence[tuple[int, ...]], change: dict[int, int]) -> list[tuple[int, ...]]:
    return [tuple(change.get(n, n) for n in one) for one in shapes]


def named(shapes: Sequence[tuple[int, ...]]) -> str:
    return ", ".join(str(one) for one in shapes)


def is_widened(shape: Sequence[int], by: Sequence[int]) -> bool:
    """Whether elements of the first shape are repeated, where both are operands of one operation."""
    with contextlib.suppress(RuntimeError):
        return tuple(torch.broadcast_shapes(shape, by)) != tuple(shape)  # type: ignore[no-untyped-call]
    return False


def kind_of(one: Any) -> Any:
    return one.dtype if isinstance(one, torch.Tensor) and one.requires_grad else None


def share_of(a: Any, b: Any) -> float:
    """By how much gradients differ, as a share of the largest number; 0 where that says nothing."""
    if a is None or b is None or a.shape != b.shape or not b.numel() or a.is_complex():
        return 0.0
    a, b = a.detach().double(), b.detach().double()
    found = float((a - b).abs().max() / b.abs().max().clamp(min=2.0**-14))
    return found if math.isfinite(found) else 0.0


def converted(one: Any, kinds: Mapping[Any, Any]) -> Any:
    if not isinstance(one, torch.Tensor) or one.dtype not in kinds:
        return one
    return one.detach().to(kinds[one.dtype]).requires_grad_(one.requires_grad)


@contextlib.contextmanager
def converted_params(params: Any, kinds: Mapping[Any, Any]) -> Iterator[None]:
    """Parameters hold the same numbers in other types for a while."""
    known = {name: one.data for name, one in params.items() if one.dtype in kinds}
    try:
        for name, data in known.items():
            params[name].data = data.to(kinds[data.dtype])
        yield
    finally:
        for name, data in known.items():
            params[name].data = data


def same_numbers() -> Change:
    generator = torch.Generator().manual_seed(SEED)
    return lambda g: torch.randn(g.shape, generator=generator).to(g.dtype)


__all__ = ["Elsewhere"]
