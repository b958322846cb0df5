"""Whether the program's own part of a backward pass is linear in its cotangents: run again at cotangents of other sizes, signs and layouts.

Runs that are not recorded are compared bit by bit, since a power of two commutes with rounding. What differs, and what lies where a decision by a
cotangent had no element, is recorded and judged as every run is: the gate says what is wrong, not the comparison.
"""
from __future__ import annotations

import contextlib
import itertools
import time
from dataclasses import replace
from typing import Any, Sequence

import torch

from assay.errors import UsageError
from assay.torch import Recorder, Refused, Report
from assay.torch.branches import Branch
from assay.torch.gates import judged
from assay.torch.limits import apart
from ._cotangents import Cotangents, Probe, differs, families, reaching, scaled, times
from ._draws import States
from ._elsewhere import FAR, WIDER, converted, converted_params, same_numbers

MOST_JUDGED, MOST_ALIKE, MOST_POINTS, MOST_ENDS, MOST_SUBSETS = 48, 3, 3, 8, 256
LARGE = 2.0**-6  # a difference that is no rounding
SECONDS = 60.0  # after which no more cotangents are tried
MANY, ENOUGH, FEW = 2**20, 2**12, 3  # elements of inputs from which on they are tried at fewer rows, down to which, and how many rows


class Ended(Exception):
    """There is no more time, or a gradient is wrong."""


class Linearity:
    """The trials of one function, whose first report passed, at other cotangents."""

    def __init__(self, trials: Any, report: Report) -> None:
        self.trials, self.report = trials, report
        self.count, self.end, self.is_late = 0, time.monotonic() + SECONDS, False
        self.points: Sequence[Sequence[Any]] = []
        self.tried: dict[Any, int] = {}  # how often a run lay on these sides

    def checked(self) -> Report:
        """The first report that fails, else the one that was given."""
        before = States()
        with contextlib.suppress(Ended):
            last, points = self.trials.last, self.smaller(self.trials.points[:MOST_POINTS])
            self.points = points
            self.compare_accumulated(points[0])
            is_bent = bool(self.trials.decisions or self.trials.bent)
            for point in points if last.own or is_bent else []:
                for is_inner in (False, True) if last.own and is_bent else (False,):
                    self.compare(point, is_inner)
            if last.own:
                self.compare_passes(points[0])
                self.compare_subsets(points[0])
                self.each_end(points[0])
            for point in points:
                for is_inner in (False, True) if last.own else (False,):
                    self.drive(point, is_inner)
        before.restore()
        if self.is_late:
            self.report.tell("untried", [f"other cotangents, after {SECONDS:g} s"])
        return self.report

    def smaller(self, points: Sequence[Sequence[Any]]) -> Sequence[Sequence[Any]]:
        """Of many elements the first few along each axis, where the function runs the same operations there and is right."""
        cuts = [list(points[0])]
        for extent in sorted({n for one in cuts[0] if isinstance(one, torch.Tensor) for n in one.shape if n > FEW}, reverse=True):
            if size_of(cuts[0]) < MANY or size_of(cuts[-1]) < ENOUGH:
                break
            cut = [shortened(one, extent) if isinstance(one, torch.Tensor) else one for one in cuts[-1]]
            cuts += [cut] if self.judged_alike(cut, False) else []
        while len(cuts) > 1 and not self.judged_alike(cuts[-1]):
            cuts.pop()
        return points if len(cuts) == 1 else cuts[-1:]

    def judged_alike(self, point: Sequence[Any], is_judged: bool = True) -> bool:
        """Whether the function runs the same operations there, and is right if that is judged."""
        before, last = States(), self.trials.last
        try:
            run = self.trials.recorded(point, {})
            return [one.op for one in run.entries] == [one.op for one in last.entries] and (not is_judged or judged(run, "gradcheck", *self.trials.options).passed)
        except Exception:  # of the function's own, or refused: it may not take such inputs
            return False
        finally:
            before.restore()

    def open(self) -> list[Branch]:
        return open_decisions(self.trials)

    # Runs that are not recorded.

    def compare(self, point: Sequence[Any], is_inner: bool) -> None:
        """Gradients at cotangents that are larger or smaller, negated, 0, or in another layout: what differs is judged."""
        start, kinds = States(), self.trials.kinds
        alike: dict[str, int] = {}
        plain: Any = None
        for base, others in families(kinds, self.trials.second, is_inner, point is self.points[0]):
            known, again = self.answers(point, base, start), self.answers(point, base, start)
            if known is None or again is None:
                continue  # it takes no such cotangents
            plain = known if plain is None else plain
            if self.differs(known, again, Probe(base)):
                self.judge_changing(point, base, start)
                continue
            for probe in others:
                if alike.get(probe.kind, 0) == MOST_ALIKE:
                    continue
                found = self.answers(point, probe.cotangents, start)
                if found is not None and self.differs(known, found, probe):
                    if base.given is not None and not self.is_finite(point, base):
                        continue  # equal numbers may cancel: the function does not take them
                    if probe.is_layout and alike.get("layout", 0) and not self.differs(known, found, probe, LARGE):
                        continue  # of sums that are rounded in another order, one is judged
                    alike["layout"] = alike.get("layout", 0) + probe.is_layout
                    alike[probe.kind] = alike.get(probe.kind, 0) + (probe.kind != "")
                    is_right = self.judge(point, probe.cotangents, start)
                    if (probe.kind or not is_right) and (is_far(known, found, plain) if probe.is_layout else self.differs(known, found, probe, LARGE)):
                        more = [self.answers(point, base, start) for _ in range(MOST_ALIKE)]
                        if any(one is None or self.differs(known, one, Probe(base)) for one in more):  # the first two were alike by chance
                            self.judge_changing(point, base, start)
                            break
                        if base.given is not None and self.is_rounded(point, base, start):
                            self.report.tell("unreached", [f"{base.what.removeprefix('at ')}, where rounding is as large as the gradient: nearly equal numbers are subtracted"])
                        else:
                            self.trials.no_multiple.append(f"gradients at cotangents {probe.cotangents.what} are no multiple of others")

    def is_finite(self, point: Sequence[Any], how: Cotangents) -> bool:
        """Whether the results are, at the inputs that are made of these."""
        given = [how.given(one) if how.given and isinstance(one, torch.Tensor) and one.requires_grad else one for one in point]
        with torch.no_grad(), contextlib.suppress(Exception):  # of the function's own
            found = self.trials.function(*given)
            return all(bool(torch.isfinite(one).all()) for one in (found if isinstance(found, (tuple, list)) else [found]) if isinstance(one, torch.Tensor))
        return True

    def is_rounded(self, point: Sequence[Any], how: Cotangents, start: States) -> bool:
        """Whether rounding decides the gradients at these inputs: those in float64 are others."""
        narrow = self.answers(point, replace(how, change=same_numbers()), start)
        with converted_params(self.trials.params, WIDER):
            wide = self.answers([converted(one, WIDER) for one in point], replace(how, change=same_numbers()), start)
        return narrow is not None and wide is not None and any(apart(a, b) > FAR for a, b in zip(narrow[0], wide[0]))

    def judge_changing(self, point: Sequence[Any], base: Cotangents, start: States) -> None:
        """Equal runs give other gradients: it is another function each time, and several are judged."""
        if not all(self.judge(point, base, start) for _ in range(MOST_ALIKE)):
            self.trials.no_multiple.append(f"two equal runs give other gradients at cotangents {base.what or 'that are random'}")

    def compare_accumulated(self, point: Sequence[Any]) -> None:
        """Gradients that a backward() accumulates: hooks run there that torch.autograd.grad leaves out. Those of a node cannot be listed."""
        start = States()
        is_hooked = any(getattr(one, "_post_accumulate_grad_hooks", None) for one in self.trials.asking(point))
        for k in () if self.trials.second else (0, 30, -30, 100, -100):
            how = Cotangents(times(k), scaled(k), accumulates=True)
            base, found = self.answers(point, replace(how, accumulates=False), start), self.answers(point, how, start)
            if base is not None and found is not None and (differs(base[0], found[0], [1.0] * len(base[0])) or is_hooked and k == 0):
                self.judge(point, how, start)

    def compare_passes(self, point: Sequence[Any]) -> None:
        """Gradients of further passes over one graph, and of one that makes a graph of its own, in which gradients are enabled."""
        start = States()
        self.compare_graphs(point, start)
        one, again, other = self.passes(point, start, (1.0, 1.0, 2.0)), self.passes(point, start, (1.0,)), self.passes(point, start, (1.0,), True)
        if not one or not again or differs(one[0], again[0], [1.0] * len(one[0])):
            return  # it is another function each time
        if any(differs(one[0], found, [factor] * len(found), LARGE) for found, factor in zip(one[1:], (1.0, 2.0))):
            self.report.add("gradient.repeated", "a second backward pass", "a second backward pass over one graph (retain_graph=True) gives other gradients than the "
                            "first, which are right: the backward writes to what it saved, or keeps numbers in ctx", "fail")
            raise Ended
        if other and differs(one[0], other[0], [1.0] * len(one[0]), LARGE) and self.are_alike([one[0], *[(self.passes(point, start, (1.0,)) or [[]])[0] for _ in range(MOST_ALIKE)]]):
            self.report.add("gradient.repeated", "a backward pass with create_graph=True", "gradients are others in a backward pass that can be differentiated "
                            "(create_graph=True), and those of one that cannot were judged: the backward must not look at whether gradients are enabled, or required")

    def compare_graphs(self, point: Sequence[Any], start: States) -> None:
        """The gradient of one graph, where the function ran for another one in between: numbers kept outside of ctx are those of the other one.
        Also where one backward pass is of both: memory that a Function gave as a gradient may then be written before it is read."""
        for run, why in ((self.trials.beside, "gradients or results are others where the function runs at other inputs between a forward pass and its backward pass: the backward "
                          "reads what the last forward pass kept, or that pass wrote into an earlier result. Keep it in ctx, and return new memory"),
                         (self.trials.joined, "gradients are others where the function ran at other inputs first and one backward pass is of both graphs: the backward gives memory that it writes "
                          "again, or takes what the passes kept in another order. Return new memory, and keep numbers in ctx")):
            answers: list[Any] = []
            with contextlib.suppress(Exception):  # of the function's own
                for is_other in (False, True, *[False] * MOST_ALIKE):
                    if len(answers) < 2 or differs(answers[0], answers[1], [1.0] * len(answers[0]), LARGE):
                        start.restore()
                        answers.append(run(point, is_other))
            if len(answers) > 2 and self.are_alike([answers[0], *answers[2:]]):
                self.report.add("gradient.repeated", "two graphs", why, "fail")
                raise Ended

    @staticmethod
    def are_alike(runs: Sequence[list[Any]]) -> bool:
        """Whether plain runs gave the same gradients: else it is another function each time, some of whose runs may be alike by chance."""
        return len(runs) > MOST_ALIKE and not any(differs(runs[0], one, [1.0] * len(one)) for one in runs[1:])

    def passes(self, point: Sequence[Any], start: States, factors: Sequence[float], creates: bool = False) -> list[list[Any]]:
        start.restore()
        try:
            found: list[list[Any]] = self.trials.passes(point, factors, creates)
            return found
        except Exception:  # of the function's own
            return []

    def compare_subsets(self, point: Sequence[Any]) -> None:
        """Gradients where some of the tensors alone ask for one."""
        start, every = States(), range(len(self.trials.asking(point)))
        base = self.answers(point, Cotangents(), start)
        if base is None or len(every) < 2:
            return
        for some in subsets_of(len(every)):
            left = set(every) - set(some)
            how = Cotangents(f"asked for by {some_of(some)} alone" if len(some) <= len(left) else f"asked for by all but {some_of(left)}", wanted=some)
            found = self.answers(point, how, start)
            if found is not None and differs([base[0][i] for i in some], found[0], [1.0] * len(some)):
                self.judge(point, how, start)

    def end_in_time(self) -> None:
        if time.monotonic() > self.end:
            self.is_late = True
            raise Ended

    def answers(self, point: Sequence[Any], how: Cotangents, start: States) -> tuple[list[Any], list[Any]] | None:
        """The gradients, and those of the second pass; nothing, where the function does not take it."""
        self.end_in_time()
        start.restore()
        try:
            with self.trials.only(point, how.wanted) as given:
                found: tuple[list[Any], list[Any]] = self.trials.unrecorded(given, how)
                return found
        except Exception:  # of the function's own
            return None

    def differs(self, base: tuple[list[Any], list[Any]], found: tuple[list[Any], list[Any]], probe: Probe, by: float = 0.0) -> bool:
        return differs(base[0] + base[1], found[0] + found[1], self.shares(base, probe), by)

    def shares(self, base: tuple[list[Any], list[Any]], probe: Probe) -> list[float]:
        known = len(base[0])
        return [probe.factor] * known + [probe.factor * probe.of_second if i < known else probe.of_second for i in range(len(base[1]))]

    # Recorded runs.

    def recorded(self, point: Sequence[Any], how: Cotangents) -> Recorder | None:
        """Nothing, where the function does not take it."""
        self.end_in_time()
        if self.count >= MOST_JUDGED:
            raise Ended
        try:
            with self.trials.only(point, how.wanted) as given:
                found: Recorder = self.trials.recorded(given, {}, how)
                return found
        except Exception:  # of the function's own, or refused
            return None

    def is_limit(self, point: Sequence[Any], how: Cotangents) -> bool:
        """Whether a branch that is taken at 0 alone gives what the others come to near 0: the gate compares formulas, which are others there."""
        start = States()
        pair = []
        for one in (how, how.nearly()):
            start.restore()
            run = self.recorded(point, one)
            pair.append(gradients_of(run) if run is not None else [])
        return bool(pair[0]) and len(pair[0]) == len(pair[1]) and all(is_near(a, b) for a, b in zip(*pair))

    def judge(self, point: Sequence[Any], how: Cotangents, start: States | None = None, run: Recorder | None = None) -> bool:
        """Judges a run at these cotangents. Whether it is right; what the gate cannot tell is not."""
        if start is not None:
            start.restore()
        run = self.recorded(point, how) if run is None else run
        if run is None or not all(bool(torch.isfinite(run.memory.values[v].tensor).all()) for v in run.own_bars):
            return False
        self.count += 1
        try:
            found = judged(run, "gradcheck", *dict.fromkeys([*self.trials.options, *(["--allow-dead"] if how.has_zeros else [])]))
        except (UsageError, Refused):
            return False
        if found.failed and how.given is not None and all(one.rule.startswith("contract.") for one in found.findings if one.kind == "fail"):
            return False  # an operation of PyTorch's that is wrong in this layout alone, as median is of expanded tensors
        is_right = how.has_zeros and not found.passed and is_of_other_points(found) and self.is_limit(point, how)
        self.trials.note(run, None if found.failed and not is_right else found, is_right)
        if found.failed and not is_right:
            places = list(dict.fromkeys([f"{one.name}, {one.place}" for one in run.branches if one.is_of_cotangent] + run.bent))
            decides = f"; it decides by its cotangent ({'; '.join(places[:2])})" if places else ""
            found.remark(f"shown by cotangents {how.what}{' of results of Functions' if how.is_inner else ''}{' of a backward() that accumulates' if how.accumulates else ''}{decides}")
            self.report, self.trials.last = found, run
            raise Ended
        return found.passed or is_right

    def each_end(self, point: Sequence[Any]) -> None:
        """One result alone has a cotangent: of the function's, and of each torch.autograd.Function's that has several."""
        for i in range(self.trials.results if 1 < self.trials.results <= MOST_ENDS else 0):
            self.judge(point, Cotangents(f"of result {i} alone", ends=(i,)))
        run = self.recorded(point, Cotangents("of all", is_inner=True))
        groups: dict[int, list[int]] = {}
        for i, one in enumerate(run.own_results() if run is not None else []):
            groups.setdefault(Recorder.history(one), []).append(i)
        alone = [i for found in groups.values() if len(found) > 1 for i in found]
        for i in alone[:MOST_ENDS]:
            self.judge(point, Cotangents("of one alone", ends=(i,), is_inner=True))

    def drive(self, point: Sequence[Any], is_inner: bool) -> None:
        """Cotangents on the sides of decisions on which none lay, until there is none."""
        if not self.open():
            return
        for how in reaching(self.open, self.trials.kinds, self.trials.second):
            how = replace(how, is_inner=is_inner)
            run = self.recorded(point, how)
            fresh = self.trials.note(run, None) if run is not None else frozenset()
            if fresh and self.tried.get(fresh, 0) < (MOST_ALIKE if not how.has_zeros else 2 * MOST_ALIKE):
                self.tried[fresh] = self.tried.get(fresh, 0) + 1
                self.judge(point, how, run=run)
                if not self.open():
                    return


def size_of(point: Sequence[Any]) -> int:
    return sum(one.numel() for one in point if isinstance(one, torch.Tensor))


def shortened(tensor: torch.Tensor, extent: int) -> torch.Tensor:
    """The first few of the axes that are so long."""
    part = tensor.detach()[tuple(slice(FEW if n == extent else n) for n in tensor.shape)]
    return part.clone().requires_grad_(tensor.requires_grad)


def is_of_other_points(report: Report) -> bool:
    """Whether all that is wrong is the formula: the numbers are right."""
    return all("points of the recorded ranges" in one.headline for one in report.findings if one.kind == "fail")


def gradients_of(run: Recorder) -> list[torch.Tensor]:
    return [run.memory.values[bar].tensor for claim in run.claims for bar in claim.of.values()]


def is_near(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Equal, but for what cotangents of the least size amount to."""
    least = torch.finfo(a.dtype).tiny * 2.0**60
    return a.shape == b.shape and bool(((a == b) | (a.abs() <= least) & (b.abs() <= least)).all())


def open_decisions(trials: Any) -> list[Branch]:
    """Decisions by a cotangent, one side of which was not right in any run."""
    return [replace(one, sides=trials.seen.get(key, set())) for key, one in trials.decisions.items() if not set(one.wanted) <= trials.seen.get(key, set())]


def is_far(base: tuple[list[Any], list[Any]], found: tuple[list[Any], list[Any]], plain: tuple[list[Any], list[Any]]) -> bool:
    """Whether gradients of two layouts differ by more than rounding: by a share of the largest, here or at random inputs, as of equal ones all may cancel."""
    for one, other, like in zip(base[0], found[0], plain[0]):
        if one is not None and other is not None and one.numel():
            most = max(float(one.detach().abs().max()), 0.0 if like is None else float(like.detach().abs().max()))
            if not float((one.detach() - other.detach()).abs().max()) <= LARGE * most:
                return True
        elif (one is None) != (other is None):
            return True
    return False


def subsets_of(count: int) -> list[tuple[int, ...]]:
    """Which of so many tensors ask for a gradient: all subsets of up to four; else one, all but one, two, all but two."""
    sizes = range(1, count) if count <= 4 else (1, count - 1, 2, count - 2)
    return list(itertools.islice(dict.fromkeys(some for size in sizes for some in itertools.combinations(range(count), size)), MOST_SUBSETS))


def some_of(numbers: Any) -> str:
    return ", ".join(f"tensor {i}" for i in sorted(numbers))


def unjudged(trials: Any) -> list[str]:
    """Why backwards are not known to be linear in cotangents: sides of decisions that none reached, each line by its thresholds if there are some,
    what has no sides that are known, and gradients that the gate says nothing of."""
    left = open_decisions(trials)
    known = {one.place for one in left if one.threshold is not None}
    sides = [f"{one.at(side)}, where none lay" for one in left if one.threshold is not None or one.place not in known for side in one.missing]
    return [*sides, *(f"{one} reads it" for one in trials.bent), *trials.no_multiple[:1]]


__all__ = ["Linearity", "unjudged"]
