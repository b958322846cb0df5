"""Decides whether gradients of PyTorch functions are right, in float32 as they run, without finite differences."""
from __future__ import annotations

import collections
import contextlib
import re
import warnings
from dataclasses import dataclass, field
from typing import Any, Callable, Collection, Iterable, Iterator, Mapping, Sequence, Union

import torch
from torch.autograd import forward_ad

from assay._core import arguments, execution_models
from assay.errors import Error, UsageError, wrong
from assay.torch import Recorder, Refused, Report, record
from assay.torch.branches import Branch
from assay.torch.gates import GradcheckError, announce, judged, judging, locate
from assay.torch.limits import settled
from assay.torch.naming import Names, modules_of
from assay.torch.outside import moved_between
from assay.torch.sizes import Compared
from assay.torch.surrogates import Intended, checked, require_met
from assay.torch.values import Results
from assay.torch.zero_gains import Start, listed_names, told_of
from ._by_reference import ByReference
from ._cotangents import Cotangents
from ._draws import DRAWS, MOVES, States, is_shape, listed, moved, tensors_of
from ._elsewhere import Elsewhere
from ._kinks import Kinks
from ._linearity import Linearity
from ._reaching import explored, tell_unreached
from ._removable import Removable
from ._repeats import Repeats
from ._single import Zeros, noted
from ._singular import Singular, at_border_alone
from ._saturated import Saturated, note_limits
from ._surroundings import Seen
from ._tangents import Tangents


class GradcheckWarning(UserWarning):
    """A gradient is right, but not of all that the function does: a value was detached, or no input lay on one side of a threshold."""

    __module__ = "assay"


__tracebackhide__ = True  # pytest shows the caller's line
# What torch.autograd.gradcheck and gradgradcheck take for their differences; it means nothing here.
OF_DIFFERENCES = {"eps", "atol", "rtol", "nondet_tol", "check_undefined_grad", "check_grad_dtypes", "check_batched_grad", "check_batched_forward_grad",
                  "check_backward_ad", "fast_mode", "masked", "gen_non_contig_grad_outputs", "check_fwd_over_rev", "check_rev_over_rev"}


UNTRIED = ("check_batched_grad", "check_batched_forward_grad", "check_fwd_over_rev")  # what asks for runs that are not made here

_INTEGERS = re.compile(r"\b(Long|Int|Byte|integers?|integral|indices|indexes)\b", re.IGNORECASE)  # in what PyTorch says of a tensor of floats


def real_of(y: torch.Tensor) -> torch.Tensor:
    """The parts of complex numbers."""
    return torch.view_as_real(y) if y.is_complex() else y


def total_of(sums: list[torch.Tensor]) -> torch.Tensor:
    """Their sum, in the widest of their types."""
    kinds = {one.dtype for one in sums}
    return torch.stack(sums if len(kinds) == 1 else [one.double() for one in sums]).sum()


def ends_of(found: Any) -> list[torch.Tensor]:
    return [y for y in (found if isinstance(found, (tuple, list)) else [found]) if isinstance(y, torch.Tensor)]


@dataclass
class Trials:
    """Runs of one function with one set of parameters, recorded and judged."""

    function: Callable[..., Any]
    params: Mapping[str, torch.Tensor]
    second: bool
    forward: bool
    options: Sequence[str]
    kinks: str = "any"
    surrogate: Any = None  # of Functions: the functions whose gradients are meant
    met: set[Any] = field(default_factory=set)  # such Functions that ran
    labels: Names = field(default_factory=Names)  # of tensors and modules that the function reads besides
    seen: dict[tuple[int, str], set[str]] = field(default_factory=dict)  # sides of branches, in draws whose gradients are right
    last: Recorder | None = None
    known: dict[tuple[int, str], tuple[Branch, list[Any]]] = field(default_factory=dict)  # branches of Functions, of all draws that are right, and the first of these
    points: list[list[Any]] = field(default_factory=list)  # the draws whose gradients are right
    decisions: dict[tuple[int, str], Branch] = field(default_factory=dict)  # by cotangents, of all runs
    bent: list[str] = field(default_factory=list)  # such without a threshold that is known
    no_multiple: list[str] = field(default_factory=list)  # gradients that are no multiple of others, and of which the gate says nothing
    unfollowed: list[str] = field(default_factory=list)  # uses of numbers of inputs of which nothing tells what depends on them
    asked: list[str] = field(default_factory=list)  # what Functions ask of their surroundings
    limited: dict[tuple[str, int], list[Any]] = field(default_factory=dict)  # functions all of whose operands are at limits in right draws, and the first of these
    saturating: dict[tuple[str, int], str] = field(default_factory=dict)  # functions with limits, in words
    changing: set[tuple[str, int]] = field(default_factory=set)  # functions with an operand that is at no limit, in right draws
    has_borders: bool = False  # some right draw has elements on borders of conditions, of which the gate cannot tell
    hiding: dict[tuple[str, str], None] = field(default_factory=dict)  # arguments of Functions that were 1.0, by the Function's name and theirs
    codes: Seen = field(default_factory=dict)  # the program's code in passes of Functions
    drawn: set[str] = field(default_factory=set)  # random numbers of Python's that were followed
    kinds_compared: list[str] = field(default_factory=list)  # comparisons of types and devices of tensors by Functions
    sizes: dict[str, Compared] = field(default_factory=dict)  # comparisons of sizes by Functions
    wholes: set[int] = field(default_factory=set)  # numbers with which Functions compare tensors of integers
    counts_to: set[int] = field(default_factory=set)  # whole numbers with which a count of a loop may be compared
    counts: list[str] = field(default_factory=list)  # numbers that Functions read, and that grow from call to call
    making: Recorder | None = None  # the run that is being recorded
    kinds: set[torch.dtype] = field(default_factory=set)  # of cotangents
    results: int = 0  # how many of the function's results have one
    ended: list[int] = field(default_factory=list)  # the tensors whose gradients in the last run cannot be differentiated again, and are not 0
    found: tuple[list[Any], list[Any]] = ([], [])  # the gradients of the last recorded run
    first: Any = None  # the inputs of the last judged run, where the generators were before it, and its gradients

    def names(self, inputs: Sequence[Any]) -> dict[str, torch.Tensor]:
        return dict(self.params) | {f"input {i}": one for i, one in enumerate(inputs) if isinstance(one, torch.Tensor) and one.is_leaf}

    def judged(self, inputs: Sequence[Any], meanwhile: Callable[[], None] = lambda: None) -> Report:
        """The report of one draw: its constants are looked at, too, whether they depend on the inputs. `meanwhile` is called while the gate runs."""
        start = States()
        run = self.recorded(inputs, {})
        end = States()
        influences = self.influences(run, inputs, start)
        if influences is None or influences:
            start.restore()
            run = self.recorded(inputs, influences)
        end.restore()
        self.last, self.first = run, (list(inputs), start, self.found)
        with judging(run, "gradcheck", *self.options) as wait:
            meanwhile()
            report = wait()
        for i in self.ended if report.passed else ():
            names = {id(one): name for name, one in self.names(inputs).items()}
            report.add("gradient.detached", "second derivatives", f"the gradient of '{names.get(id(self.asking(inputs)[i]), i)}' has no second derivative, although it depends on a cotangent: "
                       "the backward pass computed it under no_grad or from detached tensors. Compute it from its operands and cotangents with gradients enabled")
        if self.forward and report.passed:
            report = judged(self.recorded_forward(inputs), "gradcheck", *self.options)
        self.note(run, report)
        if report.passed:
            note_limits(self, run, report, inputs)
            self.points.append(list(inputs))
            for key, one in self.keyed(run):
                if one.spot and not one.is_of_cotangent:
                    self.known.setdefault(key, (one, list(inputs)))
        return report

    def note(self, run: Recorder, report: Report | None, is_right: bool = False) -> frozenset[Any]:
        """Keeps which decisions by cotangents there are, and which sides were right; the sides of a run on which none lay."""
        fresh: set[Any] = set()
        is_border = report is not None and at_border_alone(report)
        self.has_borders = self.has_borders or is_border
        for key, one in self.keyed(run):
            if one.is_of_cotangent:
                self.decisions.setdefault(key, one)
                fresh.update((key, side) for side in (one.sides & set(one.wanted)) - self.seen.get(key, set()))
            if is_right or report is not None and (report.passed or is_border):
                self.seen.setdefault(key, set()).update(one.sides)
        self.bent += [one for one in run.bent if one not in self.bent]
        self.unfollowed += [one for one in run.unfollowed if one not in self.unfollowed]
        self.note_asked(run.surroundings)
        self.drawn |= run.drawn
        self.counts_to |= run.counts_to
        self.wholes |= run.wholes
        self.kinds_compared += [one for one in run.kinds_compared if one not in self.kinds_compared]
        for what, size in run.sizes.items():
            self.sizes.setdefault(what, size).outcomes.update(size.outcomes)
        return frozenset(fresh)

    def note_asked(self, found: list[str]) -> None:
        self.asked += [one for one in found if one not in self.asked]

    def asking(self, inputs: Sequence[Any]) -> list[torch.Tensor]:
        """The tensors whose gradients are asked for."""
        found = [one for one in [*inputs, *self.params.values()] if isinstance(one, torch.Tensor) and one.requires_grad]
        if not found:
            raise UsageError("nothing to check", where="inputs", why="no input and no parameter requires a gradient", advice="call requires_grad_() on the tensors whose gradients are asked for")
        return found

    @contextlib.contextmanager
    def only(self, inputs: Sequence[Any], some: Sequence[int] | None) -> Iterator[list[Any]]:
        """Some of the tensors ask for gradients, and no other, for a while. The inputs."""
        known = self.asking(inputs)
        without = [] if some is None else [one for i, one in enumerate(known) if i not in some]
        params = [one for one in without if any(one is p for p in self.params.values())]
        try:
            for one in params:
                one.requires_grad_(False)
            yield [one.detach() if any(one is w for w in without) else one for one in inputs]
        finally:
            for one in params:
                one.requires_grad_()

    def ends(self, inputs: Sequence[Any], run: Recorder | Results | None, how: Cotangents) -> list[torch.Tensor]:
        """The function's results that have a cotangent, or those of Functions in it."""
        if (found := self.function(*inputs)) is None:
            raise UsageError("the function returned None", where="func", advice="return a tensor that was computed from the inputs")
        results = ends_of(found)
        if isinstance(run, Recorder):
            run.note_returned([y for y in results if not y.requires_grad])
        ends = [y for y in results if y.requires_grad and y.numel()]
        if not ends:
            raise UsageError("nothing to check", where="func", why="no result of the function depends on what requires a gradient",
                             advice="return a tensor that was computed from the inputs, neither under no_grad nor through detach")
        self.results = len(ends)
        ends = run.own_results() if run is not None and how.is_inner else ends
        self.kinds.update(real_of(y).dtype for y in ends)
        return [ends[i] for i in how.ends if i < len(ends)] if how.ends is not None else ends

    def differentiated(self, inputs: Sequence[Any], run: Recorder | Results | None, how: Cotangents) -> tuple[list[Any], list[Any]]:
        """One backward pass from random cotangents of all results; if second, one more from random cotangents of the gradients. The gradients of each."""
        if how.given is not None:
            inputs = [how.given(one) if isinstance(one, torch.Tensor) and one.requires_grad else one for one in inputs]
        known = self.asking(inputs)
        ends = self.ends(inputs, run, how)
        end, seed = how.end or (lambda y: y), how.seed
        drawn = [how.change(torch.randn(real_of(y).shape, dtype=real_of(y).dtype)).requires_grad_(self.second) for y in ends]
        ends, laid = [end(real_of(y)) for y in ends], [seed(one) for one in drawn]
        if how.accumulates:
            torch.autograd.backward(ends, laid, inputs=known)  # type: ignore[arg-type]
            return [one.grad for one in known], []
        wanted = list(known)
        if self.second:
            wanted += [run.input(f"cotangent {i}", one) if isinstance(run, Recorder) else one for i, one in enumerate(drawn)]
        # Cotangents that are differentiated, too, have no type in common, or are of what no operation gave, go through a sum.
        if self.second or len({y.dtype for y in ends}) > 1 or any(y.is_leaf for y in ends):
            total = total_of([(y * one).sum() for y, one in zip(ends, laid)])
            found = torch.autograd.grad(total, known, allow_unused=True, create_graph=self.second)
        else:  # no sum of all elements, of which a contract says little where there are many
            found = torch.autograd.grad(ends, known, laid, allow_unused=True)
        if not how.what and all(g is None or not g.numel() for g in found):
            raise UsageError("nothing to check", where="func", why="no result of the function depends on an input or a parameter that was given",
                             advice="give what it depends on as an input, or by params=")
        if not self.second:
            return list(found), []
        slopes = [g for g in found if g is not None and g.requires_grad]
        self.ended = [i for i, g in enumerate(found) if g is not None and not g.requires_grad and bool(g.any())]
        if not slopes:
            raise UsageError("nothing to check", where="check_grad_grad", why="the backward pass of the function cannot be differentiated", advice="leave check_grad_grad out")
        again = total_of([(end(real_of(g)) * seed(how.second(torch.randn(real_of(g).shape, dtype=real_of(g).dtype)))).sum() for g in slopes])
        return list(found), list(torch.autograd.grad(again, wanted, allow_unused=True))

    def passes(self, given: Sequence[Any], factors: Sequence[float], creates: bool = False) -> list[list[Any]]:
        """The gradients of several backward passes over one graph, from multiples of the same random cotangents; fewer, where one raises."""
        inputs, found = self.leaves(given), list[list[Any]]()
        known, ends = self.asking(inputs), [real_of(y) for y in self.ends(inputs, None, Cotangents())]
        drawn = [torch.randn(y.shape, dtype=y.dtype).requires_grad_(creates) for y in ends]
        with contextlib.suppress(Exception):  # of the function's own: it may have freed what it saved
            for factor in factors:
                slopes = torch.autograd.grad(ends, known, [g * factor for g in drawn], allow_unused=True, retain_graph=True, create_graph=creates)
                found.append([None if one is None else one.detach().clone() for one in slopes])  # a later pass may write to what this one gave
        return found

    def beside(self, given: Sequence[Any], between: bool) -> list[Any]:
        """The gradients and results, where the function runs at moved inputs between the passes, or does not."""
        inputs = self.leaves(given)
        known, ends = self.asking(inputs), [real_of(y) for y in self.ends(inputs, None, Cotangents())]
        drawn = [torch.randn(y.shape, dtype=y.dtype).requires_grad_(self.second) for y in ends]
        if between:
            self.slopes_elsewhere(given)
        found = list(torch.autograd.grad(ends, known, drawn, allow_unused=True, create_graph=self.second))
        if self.second and (slopes := [g for g in found if g is not None and g.requires_grad]):
            again = [torch.randn(real_of(g).shape, dtype=real_of(g).dtype) for g in slopes]
            if between:
                self.slopes_elsewhere(given)
            found += torch.autograd.grad([real_of(g) for g in slopes], [*known, *drawn], again, allow_unused=True)
        return [None if one is None else one.detach().clone() for one in (*found, *ends)]

    def slopes_elsewhere(self, given: Sequence[Any]) -> None:
        """The function runs at moved inputs, with a backward pass that makes a graph if second derivatives are asked for. Generators are left as they were."""
        before = States()
        inputs = [moved(one, 0.5).requires_grad_() if isinstance(one, torch.Tensor) and one.requires_grad else one for one in given]
        found = self.function(*inputs)
        if self.second:
            ends = [real_of(y) for y in ends_of(found) if y.requires_grad]
            torch.autograd.grad(ends, self.asking(inputs), [torch.ones_like(y) for y in ends], allow_unused=True, create_graph=True)
        before.restore()

    def joined(self, given: Sequence[Any], is_joined: bool) -> list[Any]:
        """The gradients by inputs, where the function ran at moved inputs first and one backward pass is of both graphs, or of one alone."""
        start, inputs = States(), self.leaves(given)
        asks = [isinstance(one, torch.Tensor) and one.requires_grad for one in inputs]
        others = [moved(one, 0.5).requires_grad_() if one_asks else one for one, one_asks in zip(inputs, asks)]
        known = [one for one, one_asks in zip([*inputs, *others], [*asks, *asks]) if one_asks]
        first, then = ([one * 1 if one_asks else one for one, one_asks in zip(some, asks)] for some in (inputs, others))  # nodes that wait for their cotangents
        ends = self.ends(then, None, Cotangents()) if is_joined else []
        start.restore()
        ends = [real_of(y) for y in (*self.ends(first, None, Cotangents()), *ends)]
        generator = torch.Generator().manual_seed(0)
        drawn = [torch.randn(y.shape, dtype=y.dtype, generator=generator) for y in ends]
        found = torch.autograd.grad(ends, known, drawn, allow_unused=True)
        return [None if one is None else one.clone() for one in found[:sum(asks)]]

    @staticmethod
    def leaves(given: Sequence[Any]) -> list[Any]:
        return [one if not isinstance(one, torch.Tensor) or one.is_leaf else one.detach().requires_grad_(one.requires_grad) for one in given]

    @contextlib.contextmanager
    def kept_gradients(self, inputs: Sequence[Any], how: Cotangents) -> Iterator[None]:
        """Tensors and their gradients are left as they were, whatever a backward pass and its hooks do."""
        known = [(one, one.detach().clone(), one.grad) for one in self.asking(inputs) if one.is_leaf] if how.accumulates else []
        for one, _, _ in known:
            one.grad = None
        try:
            yield
        finally:
            for one, before, grad in known:
                one.grad = grad
                if not torch.equal(one, before):
                    one.data.copy_(before)

    def unrecorded(self, given: Sequence[Any], how: Cotangents) -> tuple[list[Any], list[Any]]:
        """The gradients, and those of the second pass, as PyTorch gives them."""
        with Results() if how.is_inner else contextlib.nullcontext() as results, self.kept_gradients(given, how):
            return self.differentiated(self.leaves(given), results, how)

    def recorded(self, given: Sequence[Any], moved: dict[int, str] | None, how: Cotangents = Cotangents()) -> Recorder:
        """The same, recorded."""
        return self.following(lambda follows: self.recorded_once(given, moved, how, follows))

    def following(self, make: Callable[[bool], Recorder]) -> Recorder:
        """A run in which numbers are followed that Functions read; one without that, where the program does not take what follows them."""
        start, self.making = States(), None
        try:
            return make(True)
        except Exception:
            if self.making is None or not self.making.hands_out:
                raise
        start.restore()
        return make(False)

    def recorded_once(self, given: Sequence[Any], moved: dict[int, str] | None, how: Cotangents, follows: bool) -> Recorder:
        inputs = self.leaves(given)
        self.asking(inputs)
        with self.kept_gradients(given, how), record(self.names(inputs), kinks=self.kinks, surrogate=self.surrogate) as run:
            self.labels.give(run)
            run.moved, run.keeps_ends, run.follows, self.making = moved, how.is_inner, follows, run
            self.found = self.differentiated(inputs, run, how)
        self.met |= run.met
        run.memory.blocks.clear()  # what the program itself held, of which the values are copies
        if self.second:  # what a Function saved of its own is not meant to stop a second derivative
            run.cut -= run.inside
        return run

    def recorded_forward(self, inputs: Sequence[Any], only: Collection[int] | None = None, factor: float = 1.0) -> Recorder:
        """One forward pass, along random tangents of all inputs that require a gradient, or only of some."""
        plain = [one.detach().clone() if isinstance(one, torch.Tensor) else one for one in inputs]
        with record(self.names(plain)) as run, forward_ad.dual_level():
            self.labels.give(run)
            moving = [isinstance(one, torch.Tensor) and one.requires_grad and (only is None or i in only) for i, one in enumerate(inputs)]
            duals = [forward_ad.make_dual(one, factor * torch.randn_like(one)) if moves else one for one, moves in zip(plain, moving)]
            for y in ends_of(self.function(*duals)):
                forward_ad.unpack_dual(y)
        return run

    def alone(self, inputs: Sequence[Any]) -> Recorder:
        """The function by itself."""
        return self.following(lambda follows: self.alone_once(inputs, follows))

    def alone_once(self, inputs: Sequence[Any], follows: bool) -> Recorder:
        with record(self.names(inputs)) as run:
            self.labels.give(run)
            run.moved, run.follows, self.making = {}, follows, run
            self.function(*inputs)
        return run

    def influences(self, run: Recorder, inputs: Sequence[Any], start: States) -> dict[int, str] | None:
        """Operations whose constants depend on the inputs: they are others where the inputs are. None: that could not be told."""
        differs = [isinstance(one, torch.Tensor) and one.requires_grad for one in inputs]
        for share in MOVES:
            start.restore()
            try:
                with self.moved_params(share), noted(run.owners, self.hiding):
                    other = self.alone([moved(one, share).requires_grad_() if moves else one for one, moves in zip(inputs, differs)])
                count = min(len(run.entries), len(other.entries))
                if not all(one.constants == then.constants for one, then in zip(run.entries, other.entries)):
                    start.restore()
                    again = self.alone(inputs)
                    if found := moved_between(run, other, again):
                        return found
            except Exception:  # of the function's own: it may not take other inputs
                continue
            if [one.op for one in run.entries[:count]] == [one.op for one in other.entries[:count]]:
                return {}
        return None if run.left else {}

    @contextlib.contextmanager
    def moved_params(self, share: float) -> Iterator[None]:
        """Parameters hold other numbers for a while."""
        known = {name: one.data for name, one in self.params.items() if one.requires_grad}
        try:
            for name, data in known.items():
                self.params[name].data = moved(data, share)
            yield
        finally:
            for name, data in known.items():
                self.params[name].data = data

    @staticmethod
    def keyed(run: Recorder) -> Iterator[tuple[tuple[int, str], Branch]]:
        """Branches by what they are in all runs: those of Functions by the instruction that decides, and how often it ran before, others by their order."""
        number, times = 0, collections.Counter[str]()
        for one in run.branches:
            if one.is_of_cotangent:
                yield (-1, f"{one.name} {one.place}"), one
            elif one.spot:
                key = f"{one.name} {one.spot}"
                yield (-2 - times[key], key), one
                times[key] += 1
            else:
                yield (number, one.name), one
                number += 1

    def open_branches(self) -> list[tuple[tuple[int, str], Branch]]:
        """Branches of the last run, and of Functions in any right run, one side of which was not reached by a draw that passed."""
        if self.last is None:
            return []
        every = {key: one for key, one in self.keyed(self.last) if not one.is_of_cotangent} | {key: one for key, (one, _) in self.known.items()}
        return [(key, one) for key, one in every.items() if not set(one.wanted) <= self.seen.get(key, set())]


@contextlib.contextmanager
def seeded(seed: int | None) -> Iterator[None]:
    """The generators of PyTorch, NumPy and Python begin at a seed for a while."""
    before = States()
    if seed is not None:
        before.begin(seed)
    try:
        yield
    finally:
        if seed is not None:
            before.restore()


Params = Union[torch.nn.Module, Mapping[str, torch.Tensor], Iterable[torch.Tensor], Iterable[tuple[str, torch.Tensor]]]


def named_params(params: Params | None, labels: Names) -> Mapping[str, torch.Tensor]:
    """The tensors by name: their own, those of the modules that the function reads, or their numbers."""
    if isinstance(params, torch.nn.Module):
        return dict(params.named_parameters())
    if params is not None and (not isinstance(params, Iterable) or isinstance(params, torch.Tensor)):
        raise wrong("params", "a module, tensors, or tensors by name", params)
    pairs: list[Any] = [] if params is None else list(params.items() if isinstance(params, Mapping) else params)
    if all(isinstance(one, torch.Tensor) for one in pairs) and not isinstance(params, Mapping):
        pairs = [(labels.of(one) or f"parameter {i}", one) for i, one in enumerate(pairs)]
    if not all(isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str) and isinstance(one[1], torch.Tensor) for one in pairs):
        raise wrong("params", "a module, tensors, or tensors by name", params)
    return dict(pairs)


def is_dead_alone(report: Report) -> bool:
    """Whether nothing but dead products is undecided."""
    return all(one.rule == "gradient.dead" or one.kind not in ("fail", "undecided", "unsupported", "error") for one in report.findings) and not report.written.get("undecided_ops")


def is_dead(report: Report) -> bool:
    return any(one.rule == "gradient.dead" for one in report.findings)


def gradcheck(func: Callable[..., Any], inputs: Any, *, params: Params | None = None,
              raise_exception: bool = True, seed: int | None = 0, check_grad_grad: bool = False, check_forward_ad: bool = False, kinks: str = "any",
              allow_dead: bool = False, allow_unreached: bool = False, most_undecided: float | None = None, surrogate: Intended | None = None,
              reference: Callable[..., Any] | None = None, model: str | None = None, **differences: Any) -> bool:
    """Decides whether the gradients of a function are its derivatives, in float32 as it runs, without finite differences.

    It is called like `torch.autograd.gradcheck`. The function runs several times: at inputs that are moved a little, too, which shows
    numbers that leave the graph and come back.

    Args:
        func: The function.
        inputs: Tensors, taken as they are, or shapes, which are drawn: at several scales, until no cotangent is 0 everywhere, and on both
            sides of the thresholds that the function compares them with. A GradcheckWarning names each side without elements.
        params: Tensors that the function reads besides, whose gradients are judged, too: a module, `named_parameters()`, `parameters()`, or a dict.
        raise_exception: Whether a gradient that is wrong or undecided raises GradcheckError.
        seed: The seed of the draws.
        check_grad_grad: Whether the gradients are differentiated once more, and both passes are judged.
        check_forward_ad: Whether the tangents of forward mode are judged, along random tangents of the inputs.
        kinks: "any", or "pytorch" for the number that PyTorch gives at kinks.
        allow_dead: Whether cotangents that are 0 everywhere may pass.
        allow_unreached: Whether sides without elements in a custom Function may pass; the warning stays.
        most_undecided: The share of elements that may be vacuous.
        surrogate: Functions of which another gradient is meant, such as a straight-through estimator, each with the function whose gradient that
            is: `{ClampSTE: lambda x: x}`. It takes the arguments of the Function, and its backward has to be the gradient of that function.
        reference: PyTorch code that computes the same as a function whose operations are opaque, such as a kernel in NumPy, Triton or C. The gradients of
            the reference are judged, and every result and gradient of the function has to lie in the contract of the reference's.
        model: With `reference`, the execution model that the function keeps, such as "any-order moments=welford" (docs/contracts/execution-models.md).
        **differences: Arguments of `torch.autograd.gradcheck` for its differences, such as `eps` and `atol`. They mean nothing here.

    Returns:
        True if every gradient is right. An undecided gradient is not right.
    """
    arguments.function("func", func)
    if unknown := sorted(set(differences) - OF_DIFFERENCES):
        raise UsageError(f"unknown option '{unknown[0]}'", where="gradcheck", advice="see help(assay.gradcheck)")
    if kinks not in ("any", "pytorch"):
        raise wrong("kinks", "'any' or 'pytorch'", kinks)
    if params is None and not any(isinstance(one, torch.Tensor) or is_shape(one) for one in listed(inputs)):
        raise wrong("inputs", "a tensor, a shape such as (4, 3), or a list of these", inputs)
    modules = modules_of(func)
    named = named_params(params, Names(modules))
    if most_undecided is not None and (isinstance(most_undecided, bool) or not isinstance(most_undecided, (int, float)) or not 0 <= most_undecided <= 1):
        raise wrong("most_undecided", "a share from 0 to 1", most_undecided)
    options = ["--kinks", kinks, *(["--allow-dead"] if arguments.flag("allow_dead", allow_dead) else []),
               *([] if most_undecided is None else ["--most-undecided", str(most_undecided)])]
    if reference is not None and (check_forward_ad or kinks != "any"):
        raise UsageError("`reference` is judged without forward mode and conventions at kinks", where="gradcheck", advice="leave out check_forward_ad and kinks, or leave out reference")
    if model is not None and reference is None:
        raise UsageError("`model` says how a function rounds that is judged by a reference", where="model", advice="give reference=, or leave model out")
    execution_models.spelling(model)
    judged_one = func if reference is None else arguments.function("reference", reference)
    def begun() -> Trials:
        return Trials(judged_one, named, check_grad_grad, check_forward_ad, options, kinks, checked(surrogate), labels=Names(modules, func))
    trials, is_allowed = begun(), arguments.flag("allow_unreached", allow_unreached)
    with seeded(seed):
        start = Start(named, modules)
        try:
            def judged_report(trials: Trials) -> Report:
                report = tried(trials, inputs, allow_dead, is_allowed)
                return report if reference is None else by_reference(func, trials, inputs, model, report, is_allowed)
            report = judged_report(trials)
            if start.zeros and report.undecided and is_dead_alone(report):
                with start.again():
                    second = judged_report(other := begun())
                told_of(report, second, start.zeros)
                if second.passed:
                    trials, report = other, second
                    report.fact("dead cotangents", f"judged with other numbers for {listed_names(start.zeros)}, which are 0")
        except (RuntimeError, IndexError, TypeError) as why:
            if any(is_shape(one) for one in listed(inputs)) and not isinstance(why, Error) and _INTEGERS.search(str(why)):
                raise UsageError("the function wants integers in place of an input that was drawn", where="inputs", why=str(why).split("\n")[0],
                                 advice="a shape is drawn as float32 numbers; give class indices, and other inputs of integers, as a tensor in place of their shape") from why
            raise
    for name in UNTRIED:
        if differences.get(name):
            warnings.warn(f"assay.gradcheck does not check what {name} asks for", GradcheckWarning, stacklevel=2)
    require_met(trials.surrogate, trials.met)
    announce(report, func)
    locate(report, trials.last)  # another finding may decide where waivers cover some
    if report.passed:
        for names, what in ((report.unreached, "no input lay here, where nothing is said of the gradient"), (report.detached, "cut off by detach, data or no_grad"),
                            (report.untried, "there was no time for")):
            if names:
                warnings.warn(f"{what}: {'; '.join(names)}", GradcheckWarning, stacklevel=2)
        return True
    if raise_exception:
        raise GradcheckError(report.explanation, report)
    return False


def by_reference(func: Callable[..., Any], trials: Trials, inputs: Any, model: str | None, report: Report, allow_unreached: bool) -> Report:
    """The report of an opaque function, where that of its reference passed."""
    if report.passed and trials.points:
        return ByReference(func, trials, inputs, model, report).checked(allow_unreached)
    report.remark("this is a finding about the reference")
    return report


def tried(trials: Trials, inputs: Any, allow_dead: bool, allow_unreached: bool) -> Report:
    """The report of the draws: of the first one that fails, else of the first one without dead cotangents."""
    is_drawn = any(is_shape(one) for one in listed(inputs))
    with Repeats(trials, inputs) as repeats:
        for draw in range(DRAWS if is_drawn else 1):
            given = tensors_of(inputs, draw)
            report = trials.judged(given, repeats.begin)
            if report.failed or allow_dead or not is_dead(report):
                break
        is_plain = report.failed  # at random cotangents, before any search for what a Function decides
        if is_first := report.passed:
            report = repeats.checked(report)
        if is_drawn and (report.passed or not report.failed and is_dead(report)):
            report = explored(trials, inputs, given, report)
        if report.passed and not is_first:
            report = Repeats(trials, inputs).checked(report)
        if report.passed and trials.points:
            report = Linearity(trials, report).checked()
        if report.passed and trials.forward and trials.points:
            report = Tangents(trials, inputs).checked(report)
        if report.passed:
            report = Kinks(trials, inputs).checked(report)
        if report.passed and trials.limited:
            report = Saturated(trials, inputs).checked(report, allow_unreached)
        if report.passed:
            report = Elsewhere(trials, inputs, report).checked(allow_unreached)
        if report.passed:
            report = Zeros(trials, inputs).checked(report, allow_unreached)
        if report.passed and not allow_unreached:
            removable, singular = Removable(trials, inputs), Singular(trials, inputs)
            report = removable.checked(report)
            singular.is_compared = removable.is_compared
            report = singular.checked(report) if report.passed else report
        if not report.failed:
            report = repeats.ended(report)
    if report.failed and is_plain:
        settled(trials.last, report)
    if report.failed:
        locate(report, trials.last)
    if report.passed:
        tell_unreached(trials, report, is_drawn, allow_unreached)
    return report


__all__ = ["GradcheckError", "Refused", "GradcheckWarning", "gradcheck"]
