"""Opaque functions, whose operations no recorder sees, such as kernels in NumPy, Triton or C: judged by PyTorch code that computes the same."""
from __future__ import annotations

import contextlib
import math
import time
import warnings
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator, Mapping, Sequence

import torch

from assay._core import execution_models, programs
from assay.errors import UsageError
from assay.torch import Report, record
from assay.torch.joined import Joined
from assay.torch.limits import apart
from ._cotangents import Change
from ._draws import States, is_shape, listed, moved, replaced, scaled, tensors_of
from ._elsewhere import WIDER, converted, converted_params
from ._reference_ways import (LAYOUTS, LARGE, NOTHING, OF_LOSS, OF_SUM, ONE, PLAIN, RANDOM, REUSED, SMALL, WHOLE, Way, empty_batch,
                              other_integers, other_shapes)
from ._roundings import spread

NEAR_STEPS, NEAR_UNITS = 4, 2.0  # by which another formula of the same function may miss the contract of this one
MOST_POINTS, MOST_ELEMENTS, SECONDS = 8, 2**18, 30.0  # draws that decide; elements of a draw that is made in other ways, too; seconds for that
MOST_NAMED = 100  # calls that a finding names
MOST, DRAWS, SCALES = "--most-undecided", 4, (2.0**7, 2.0**-7, 2.0**13)
NEAR, UNSEEN = 2.0**-6, 2.0**-40  # how near gradients are beside a point; a difference that is no jump
BESIDE, BESIDE_ZERO = 2.0**-16, 2.0**-60  # a step beside a number, and beside 0, where an epsilon smooths a root
SCALE = 2.0**-21  # a factor that roundings do not give to all numbers at once
DIFFERS, ELSEWHERE = "gradient.reference", "gradient.elsewhere"
ALLOWED = "if it is never called so, allow_unreached=True accepts it"
FORMULA = ("The error is small: the function may compute the same by another formula, which rounds in another way. Write the reference "
           "as the function computes; for a gradient, write it as a torch.autograd.Function with the same backward")


@dataclass
class Answer:
    """Results of one call of a function: the tensors that it returned, the gradients, and those of the second pass."""

    results: list[Any]
    slopes: list[Any]
    again: list[Any] = field(default_factory=list)

    def parts(self) -> Iterator[tuple[tuple[str, int], Any]]:
        for kind, found in (("result", self.results), ("gradient", self.slopes), ("second", self.again)):
            yield from (((kind, i), one) for i, one in enumerate(found))


@dataclass(frozen=True)
class Call:
    """A tensor that the function gave, the reference's, and how the reference is called to give it again."""

    key: tuple[str, int]
    found: torch.Tensor
    like: torch.Tensor
    point: Sequence[Any]
    seeds: tuple[Mapping[int, Any], Mapping[int, Any]]
    is_exact: bool


def name_of(function: Any) -> str:
    """The name of the Function whose `apply` was given, or of the function."""
    own = getattr(function, "__self__", None)
    return str(own.__name__ if isinstance(own, type) else getattr(function, "__name__", type(function).__name__))


class ByReference:
    """Runs of an opaque function at the points at which the gradients of its reference are right."""

    def __init__(self, function: Callable[..., Any], trials: Any, inputs: Any, model: str | None, report: Report) -> None:
        self.function, self.trials, self.inputs, self.model, self.report, self.name = function, trials, listed(inputs), model, report, name_of(function)
        self.is_drawn, self.end, self.faults = any(is_shape(one) for one in self.inputs), math.inf, list[tuple[str, str, str]]()
        self.scales = dict[tuple[str, int], list[float]]()  # of numbers of the function, beside the exact ones
        self.calls = dict[str, Call]()  # by the subject of their findings
        self.refused, self.is_random = list[str](), False  # calls that raised, and whether the reference draws random numbers

    def checked(self, is_allowed: bool) -> Report:
        """The report of the function. `is_allowed`: other shapes, layouts and ways to call are not tried."""
        before = States()
        try:
            found = self.judged((point, kind, (PLAIN,)) for point in self.points() for kind in (RANDOM, ONE))
            if found.failed and self.is_random:
                self.soften(found, "The reference draws random numbers, and the function need not draw the same. Give the random numbers to both as an input")
            elif found.failed and not self.is_drawn and self.judged((self.moved(self.trials.points[0]), RANDOM, (PLAIN,)) for _ in range(2)).passed:
                self.soften(found, "It is right at inputs that are moved a little, so the given ones may lie at a kink, where several gradients are right. Give shapes, or other inputs")
            elif found.failed and all(is_near(one) for one in found.findings if one.kind == "fail"):
                self.soften(found, FORMULA)
            if found.passed:
                self.look_at_scales(found)
            if found.passed and not (is_allowed or self.is_random) and size_of(self.trials.points[0]) <= MOST_ELEMENTS:
                self.look_elsewhere(found)
        finally:
            before.restore()
        for what in ("unreached", "detached", "untried"):
            found.tell(what, getattr(self.report, what))
        return found

    @staticmethod
    def soften(found: Report, why: str) -> None:
        """A run that failed is undecided."""
        for one in (one for case in found.cases for one in case.findings if one.kind == "fail"):
            one.kind, one.opening = "undecided", f"{one.headline}. {why}"
        found.exit_code, found.written["verdict"] = 3, "undecided"

    def look_at_scales(self, found: Report) -> None:
        """Numbers that are all too large, or too small, by a factor that may lie within the contract of each."""
        for (kind, i), scales in self.scales.items():
            mean = sum(scales) / len(scales)
            if abs(mean) > SCALE:
                subject = self.subjects()(kind, i)
                found.add(DIFFERS, subject, f"the {subject} is {1 + mean:.8g} times the exact one, on average over {len(scales)} runs: each number lies in its contract, but rounding errors "
                          "seldom have one direction. Mend the factor, or give float64 tensors, in which roundings are smaller")

    # Where it runs.

    def points(self) -> list[list[Any]]:
        """Right draws of the reference; those that were searched for on one side of a threshold do not lie on it."""
        first, *others = self.trials.points
        if not self.is_drawn:
            return [first]
        return [first, *(self.moved(one) for one in others[-MOST_POINTS + DRAWS:]), *(tensors_of(self.inputs, draw) for draw in range(1, DRAWS))]

    def moved(self, point: Sequence[Any]) -> list[Any]:
        return [moved(one, float(torch.rand(())) * 2.0**-8).requires_grad_() if isinstance(one, torch.Tensor) and one.requires_grad else one for one in point]

    def look_elsewhere(self, found: Report) -> None:
        """Other ways to call the function: what is wrong there alone is undecided."""
        self.end = time.monotonic() + SECONDS
        wrong = [(one, is_small) for one in self.judged(self.elsewhere(), is_elsewhere=True).findings if one.kind == "fail"
                 for call, is_small in [self.beside_roundings(one)] if not (is_small and call is not None and call.is_exact)]
        if wrong:
            one, is_small = wrong[0]
            also = [f"likewise: {other.subject}" for other, _ in wrong[1:MOST_NAMED]]
            found.add(ELSEWHERE, one.subject, f"{self.name} is right as it was called, and wrong in another call: {one.headline}. "
                      f"{FORMULA if is_small else 'Mend it'}; {ALLOWED}", details=[*one.details, *also])
            return
        if (why := self.wrong_without_elements()):
            found.add(ELSEWHERE, "empty inputs", f"{self.name} is right as it was called, and wrong in another call: "
                      f"{why}. Mend it; {ALLOWED}")
        found.tell("unreached", self.refused[:MOST_POINTS])
        if time.monotonic() > self.end:
            found.tell("untried", [f"other shapes and ways to call, after {SECONDS:g} s"])

    def beside_roundings(self, finding: Any) -> tuple[Call | None, bool]:
        """The call that a finding is about, and whether rounding errors of another formula may explain it."""
        call = self.calls.get(str(finding.subject))
        return call, is_near(finding) or call is not None and self.is_of_roundings(call)

    def elsewhere(self) -> Iterator[Any]:
        """Points, cotangents and ways to call that decide nothing if the reference does not take them."""
        point = self.trials.points[0]
        alone = [Way(f"a gradient of one tensor alone (tensor {i})", only=i) for i, _ in enumerate(self.trials.asking(point)) if not self.trials.second]
        again = [Way("a second backward pass over the same graph", is_twice=True)]
        between = Way("another call between the passes", is_between=True)
        yield point, RANDOM, [REUSED, *LAYOUTS, between, *alone, *([] if self.trials.second else again)]
        for how in (OF_SUM, OF_LOSS, NOTHING, LARGE, SMALL):
            yield point, how, (PLAIN,)
        results = self.cotangents(point, RANDOM[1])[0]
        for i in results if len(results) > 1 else ():
            yield point, (f"a cotangent of result {i} alone", RANDOM[1], i), (PLAIN,)
        yield self.moved(point), RANDOM, (Way("other numbers in the same shapes"),)
        for what, changed in other_integers(point, self.trials.function):
            if self.is_smooth(changed):
                yield changed, RANDOM, (Way(what),)
        for factor in SCALES if self.is_drawn else ():
            yield scaled(self.inputs, point, factor, False, False, False), RANDOM, (Way(f"{factor:g} times the inputs"),)
        for what, change in WHOLE if self.is_drawn else ():
            if self.is_smooth(whole := replaced(self.inputs, point, change)):
                yield whole, RANDOM, (Way(what, is_exact=True),)
        for shapes in other_shapes(self.inputs, self.given()):
            rest = iter(shapes)
            made = tensors_of([next(rest) if is_shape(one) else one for one in self.inputs], 0)
            yield made, RANDOM, (Way(f"inputs of shapes {shapes_of(made)}", is_exact=any(1 in one for one in shapes)),)

    def wrong_without_elements(self) -> str:
        """Where the function differs from the reference for an empty batch, in words: in shapes, or in numbers, which are sums of nothing."""
        shapes = empty_batch(self.inputs, self.given())
        try:
            inputs = tensors_of([shapes.pop(0) if is_shape(one) else one for one in self.inputs], 0) if shapes else []
            results = listed_results(self.trials.function(*inputs)) if inputs else []
            bars = {i: torch.ones_like(y) for i, y in enumerate(results) if y.requires_grad}
            wanted = self.passes(self.trials.function, inputs, bars, {}) if bars else Answer([], [])
        except Exception:  # of the reference's own
            return ""
        if not bars or any(one is not None and not bool(torch.isfinite(one).all()) for _, one in wanted.parts()):
            return ""
        where = f"inputs of shapes {shapes_of(inputs)}"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of NumPy, about means of nothing
                found = self.passes(self.function, inputs, bars, {})
        except Exception as why:
            self.refused.append(f"a call of {self.name} ({where}), which raised {type(why).__name__}")
            return ""
        if is_other_form(found.results, wanted.results):
            return f"with {where} it returned {forms(found.results)}, and the reference returned {forms(wanted.results)}"
        names, own = self.subjects(), dict(found.parts())
        for key, like in wanted.parts():
            one = own.get(key)
            if like is None or one is None:
                is_same = all(other is None or not bool(other.any()) for other in (like, one))
            else:
                is_same = one.shape == like.shape and bool(torch.isfinite(one).all()) and apart(one, like) <= NEAR
            if not is_same:
                return f"with {where} its {names(*key)} is another than that of the reference"
        return ""

    def given(self) -> list[torch.Tensor]:
        return [one for one in [*self.inputs, *self.trials.params.values()] if isinstance(one, torch.Tensor)]

    def is_of_roundings(self, call: Call) -> bool:
        """Whether rounding errors in the reference's operations move its numbers as far as the function's are from them."""
        start = States()
        try:
            def run(point: Sequence[Any]) -> Any:
                return dict(self.passes(self.trials.function, point, *call.seeds).parts()).get(call.key)
            return bool(((call.found.double() - call.like.detach().double()).abs() <= spread(run, call.point, call.like)).all())
        finally:
            start.restore()

    def is_smooth(self, point: Sequence[Any]) -> bool:
        """Whether the reference's gradients are finite at a point, and nearly the same on both sides of it: at a kink, several are right."""
        def beside(one: Any, step: Any, sign: int) -> Any:
            if step is None or not one.requires_grad:
                return one
            return (one.detach().double() + sign * step * torch.where(one == 0, BESIDE_ZERO, BESIDE)).requires_grad_()
        start = States()
        try:
            cotangents = self.cotangents(point, RANDOM[1])
            steps = [torch.rand(one.shape) + 0.5 if isinstance(one, torch.Tensor) else None for one in point]
            places = [[beside(one, step, sign) for one, step in zip(point, steps)] for sign in (0, 1, -1)]
            at, *others = ([one for _, one in found.parts()] if (found := self.exact(where, *cotangents)) else [] for where in places)
        except Exception:  # of the reference's own
            return False
        finally:
            start.restore()
        if not at or any(one is not None and not bool(torch.isfinite(one).all()) for some in (at, *others) for one in some):
            return False
        def are_near(a: Any, b: Any) -> bool:
            return apart(a, b) <= NEAR or float((a - b).abs().max()) <= UNSEEN
        return all(len(some) == len(at) and all(map(are_near, some, at)) for some in others)

    # Runs, and what has to come out of them.

    def judged(self, runs: Any, is_elsewhere: bool = False) -> Report:
        """One audit of all these runs."""
        joined, self.faults = Joined(), []
        for n, (point, (words, change, *alone), ways) in enumerate(runs):
            if time.monotonic() > self.end or size_of(point) > MOST_ELEMENTS and is_elsewhere:
                break
            start = States()
            try:
                bars, again = self.cotangents(point, change)
                bars = {i: one for i, one in bars.items() if i in (alone or bars)}
                start.restore()
                wanted = self.recorded(joined, point, bars, again)
                self.is_random = self.is_random or not torch.equal(start.of_torch, torch.random.get_rng_state())
            except Exception:
                if not is_elsewhere:
                    raise
                continue  # the reference does not take it, or it cannot be recorded
            exact = None if is_elsewhere else self.exact(point, bars, again)
            for way in ways if not joined.unknown else ():
                start.restore()
                shown = way.what or (f"draw {n // 2}" if n > 1 and not is_elsewhere else "")
                self.claim(joined, point, wanted, (bars, again), way, f" ({', '.join(filter(None, [words, shown]))})", is_elsewhere, exact)
        known = self.trials.options
        options = known[known.index(MOST):][:2] if MOST in known and not is_elsewhere else []
        parts = joined.trace.parts()
        with programs.started("audit", parts, *options) as wait:
            found = Report(*programs.verdict("audit", wait()), parts)
        if not joined.trace.regions:
            found.cases.clear()  # which say that nothing was judged
        for rule, subject, message in {one[:2]: one for one in reversed(self.faults)}.values():  # each once
            found.add(rule, subject, message, "fail")
        for what in joined.unknown:
            found.add("audit.opaque", self.name, f"the reference computes {what}, which has no definition here. Write the reference with other operations")
        return found

    def cotangents(self, point: Sequence[Any], change: Change) -> tuple[dict[int, Any], dict[int, Any]]:
        """Random ones of each result of the reference, and of each gradient for the second pass."""
        inputs = self.trials.leaves(point)
        results = listed_results(self.trials.function(*inputs))
        bars = {i: change(torch.randn(y.shape, dtype=y.dtype)) for i, y in enumerate(results) if y.requires_grad and y.numel()}
        known = self.trials.asking(inputs)
        return bars, {i: torch.randn(one.shape, dtype=one.dtype) for i, one in enumerate(known)} if self.trials.second else {}

    def recorded(self, joined: Joined, point: Sequence[Any], bars: Mapping[int, Any], again: Mapping[int, Any]) -> tuple[Answer, Answer]:
        """The reference's own numbers, and the values that they are in its recording."""
        inputs = self.trials.leaves(point)
        with record(self.trials.names(inputs)) as run:
            self.trials.labels.give(run)
            held = {i: one.clone(memory_format=torch.contiguous_format).requires_grad_(self.trials.second) for i, one in bars.items()}
            for what, tensors in (("cotangent", held), ("second cotangent", again)):
                for i, one in tensors.items():
                    run.input(f"{what} {i}", one)
            found = self.passes(self.trials.function, inputs, held, again)
            with run.aside():
                values = [[None if one is None or not one.numel() else run.value(one) for one in some] for some in (found.results, found.slopes, found.again)]
        joined.read(run)
        return found, Answer(*values)

    def passes(self, function: Callable[..., Any], inputs: Sequence[Any], bars: Mapping[int, Any], again: Mapping[int, Any], way: Way = PLAIN) -> Answer:
        """Calls the function, and differentiates it from these cotangents; its gradients again, if second derivatives are judged."""
        known, results = self.trials.asking(inputs), listed_results(function(*inputs))
        ends = [i for i in bars if i < len(results) and results[i].requires_grad and results[i].shape == bars[i].shape]
        if not ends:
            return Answer(results, [None] * len(known), [None] * (len(known) + len(bars)) if again else [])
        if way.is_between:
            listed_results(function(*self.moved(inputs)))
        if way.is_twice:
            torch.autograd.grad([results[i] for i in ends], known, [torch.randn_like(bars[i]) for i in ends], allow_unused=True, retain_graph=True)
        if not again:
            slopes = torch.autograd.grad([results[i] for i in ends], known, [bars[i] for i in ends], allow_unused=True)
            return Answer(results, list(slopes))
        total = torch.stack([(results[i] * bars[i]).sum() for i in ends]).sum()
        slopes = torch.autograd.grad(total, known, allow_unused=True, create_graph=True)
        live = [(g * again[i]).sum() for i, g in enumerate(slopes) if g is not None and g.requires_grad]
        wanted = [*known, *bars.values()]
        return Answer(results, list(slopes), list(torch.autograd.grad(torch.stack(live).sum(), wanted, allow_unused=True)) if live else [None] * len(wanted))

    def claim(self, joined: Joined, point: Sequence[Any], wanted: tuple[Answer, Answer], seeds: tuple[Mapping[int, Any], Mapping[int, Any]], way: Way, where: str,
              is_elsewhere: bool, exact: Answer | None) -> None:
        """Runs the function, and says what its numbers have to be. `where`: of which run, in words."""
        bars = {i: one.detach() if way.seed is None else way.seed(one) for i, one in seeds[0].items()}
        kept = [one.clone() for one in bars.values()]
        with self.trials.only(point, None if way.only is None else [way.only]) as given:
            inputs = [way.given(one.detach()).detach().requires_grad_(one.requires_grad) if way.given is not None and isinstance(one, torch.Tensor) else one for one in given]
            inputs = self.trials.leaves(self.used_before(inputs) if way.is_reused else inputs)
            before = [one.detach().clone() if isinstance(one, torch.Tensor) else None for one in inputs]
            try:
                found = self.passes(self.function, inputs, {i: one.requires_grad_() for i, one in bars.items()} if seeds[1] else bars, seeds[1], way)
            except Exception as why:
                if not is_elsewhere:
                    raise
                self.refused.append(f"a call of {self.name}{where}, which raised {type(why).__name__}")
                return
        if any(old is not None and not torch.equal(old, one.detach()) for old, one in zip(before, inputs)):
            self.faults.append((DIFFERS, self.name, f"{self.name} writes to an input{where}"))
        if any(not torch.equal(old, one) for old, one in zip(kept, bars.values())):
            self.faults.append(("gradient.cotangent", self.name, f"the backward of {self.name} writes to its cotangent{where}"))
        if found.results and is_other_form(found.results, wanted[0].results):
            self.faults.append((DIFFERS, self.name, f"{self.name} returned {forms(found.results)}{where}, and the reference returned {forms(wanted[0].results)}"))
            return
        if exact is not None:
            self.note_scales(found, exact)
        self.compare(joined, found, wanted, way, where, point, seeds)

    def used_before(self, inputs: Sequence[Any]) -> list[Any]:
        """Copies of the tensors, which held other numbers in an earlier call. If a function keeps results by places in memory, they are wrong."""
        copies = [one.detach().clone().requires_grad_(one.requires_grad) if isinstance(one, torch.Tensor) else one for one in inputs]
        with torch.no_grad():
            for one in (one for one in copies if isinstance(one, torch.Tensor) and one.is_floating_point()):
                one.mul_(0.5)
            with contextlib.suppress(Exception):  # of the function, which this call does not judge
                self.function(*copies)
            for one, right in zip(copies, inputs):
                if isinstance(one, torch.Tensor):
                    one.copy_(right)
        return copies

    def exact(self, point: Sequence[Any], bars: Mapping[int, Any], again: Mapping[int, Any]) -> Answer | None:
        """The reference in float64 at the same numbers; nothing, if it does not take them."""
        wide, wide_again = ({i: one.double().requires_grad_(self.trials.second and some is bars) for i, one in some.items()} for some in (bars, again))
        try:
            with converted_params(self.trials.params, WIDER):
                return self.passes(self.trials.function, self.trials.leaves([converted(one, WIDER) for one in point]), wide, wide_again)
        except Exception:  # of the reference's own
            return None

    def note_scales(self, found: Answer, exact: Answer) -> None:
        of = dict(exact.parts())
        for key, one in found.parts():
            like = of.get(key)
            if one is None or like is None or one.dtype != torch.float32 or like.dtype != torch.float64 or one.shape != like.shape:
                continue
            most, error = float(like.detach().square().sum()), one.detach().double() - like.detach()
            if most > 0 and math.isfinite(most) and bool(torch.isfinite(error).all()):
                self.scales.setdefault(key, []).append(float((error * like.detach()).sum()) / most)

    def compare(self, joined: Joined, found: Answer, wanted: tuple[Answer, Answer], way: Way, where: str, point: Sequence[Any],
                seeds: tuple[Mapping[int, Any], Mapping[int, Any]]) -> None:
        names = self.subjects()
        own = dict(found.parts())
        for key, like in wanted[0].parts():
            kind, i = key
            if way.only is not None and kind != "result":
                if i != way.only:
                    continue
                key = kind, 0
            one, value = own.get(key), dict(wanted[1].parts())[kind, i]
            subject = names(kind, i)
            is_nothing = like is None or not bool(like.any())
            if one is None and not is_nothing:
                self.faults.append(("gradient.missing", subject, f"{self.name} gives no {subject}{where}; the reference's is not 0"))
            elif one is not None and like is None and bool(one.detach().any()):
                self.faults.append((DIFFERS, subject, f"{self.name} gives a {subject}{where}, on which no result of the reference depends"))
            elif one is not None and value is not None and (one.shape, one.dtype) != (like.shape, like.dtype):
                self.faults.append((DIFFERS, subject, f"the {subject} has the form {forms([one])}{where}, in place of {forms([like])}"))
            elif one is not None and value is not None:
                name = self.name if kind == "result" else f"backward of {self.name}"
                subject, model = f"{subject}{where}", execution_models.spelling(self.model, wide=one.dtype == torch.float64)
                self.calls[subject] = Call((kind, i), one.detach(), like, point, seeds, way.is_exact)
                joined.claim(name, subject, model, value, one.detach(), kind != "result")

    def subjects(self) -> Callable[[str, int], str]:
        point = self.trials.points[0]
        names = {id(one): name for name, one in self.trials.names(point).items()}
        known = [names.get(id(one), f"tensor {i}") for i, one in enumerate(self.trials.asking(point))]
        def of(kind: str, i: int) -> str:
            named = known[i] if i < len(known) else f"cotangent {i - len(known)}"
            return f"result {i}" if kind == "result" else f"gradient of {named}" if kind == "gradient" else f"second derivative by {named}"
        return of


def listed_results(found: Any) -> list[torch.Tensor]:
    """The tensors that a function returned."""
    results = [one for one in (found if isinstance(found, (tuple, list)) else [found]) if isinstance(one, torch.Tensor)]
    if not results or any(one.is_complex() for one in results):
        raise UsageError("the function returned complex numbers" if results else "the function returned no tensor", where="reference",
                         advice="return tensors of real numbers that were computed from the inputs")
    return results


def forms(tensors: Sequence[torch.Tensor]) -> str:
    return ", ".join(f"{str(one.dtype).removeprefix('torch.')} {list(one.shape)}" for one in tensors)


def is_other_form(found: Sequence[torch.Tensor], wanted: Sequence[torch.Tensor]) -> bool:
    return [(one.shape, one.dtype) for one in found] != [(one.shape, one.dtype) for one in wanted]


def shapes_of(point: Sequence[Any]) -> str:
    return ", ".join(str(tuple(one.shape)) for one in point if isinstance(one, torch.Tensor))


def size_of(point: Sequence[Any]) -> int:
    return sum(one.numel() for one in point if isinstance(one, torch.Tensor))


def is_near(finding: Any) -> bool:
    """Whether its worst element is outside of the contract by so little that another formula may do it."""
    worst = finding.worst or {}
    steps, units = worst.get("steps"), worst.get("allowance_units")
    return any(isinstance(one, (int, float)) and one <= most for one, most in ((steps, NEAR_STEPS), (units, NEAR_UNITS)))


__all__ = ["ByReference"]
