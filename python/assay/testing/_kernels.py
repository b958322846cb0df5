"""A kernel on the probe plan of its operation: what it gives, what it writes, and which fault of the bank it has."""
from __future__ import annotations

import collections
import dataclasses
import functools
import inspect
import re
import warnings
from typing import Any, Callable, Iterable, Mapping, Sequence, Union

import numpy as np

from assay._core import arguments, places
from assay._core.arrays import Bits, UnsupportedArray, bits_of
from assay._core.audits import Check, announce, judge, review
from assay._core.gate_reports import VACUOUS, Case, Finding, Report, counted
from assay._core.shapes import INTEGERS
from assay._core.vocabulary import ALIASES, DEFAULTS, ROWS
from assay.errors import UsageError, wrong
from ._changed import changed_reference
from ._contracts import ContractViolation, Declined, NotDecided, spelled
from ._isolated import IsolatedKernel, KernelStopped, SharedArrays
from ._kernel_json import ORDINARY, call_of, json_of, plain_of
from ._memory import Buffer, Change, Library, NumPy, Output, Placed, Torch, carrier_of, is_poison, outside_of, place_in_words, plain
from ._orders import other_orders
from ._plans import MADE, NORMS, REGIONS, Probe, has_attributes, planned, require_type, row_named, type_named
from ._references import on_plan, probes_of
from ._remedies import remedy
from ._sizes import ONLY_GIVEN
from ._sizes_that_fail import by_size
from ._symptoms import symptom

# What the probes themselves find, in words.
RULES = {"probe.unwritten": "leaves elements of its result unwritten", "probe.operand": "writes into its operands",
         "probe.guard": "writes outside of its result", "probe.outside": "reads outside of its operands",
         "probe.unsteady": "gives another result from the same operands", "probe.overwritten": "changes a result that it gave before",
         "probe.shape": "gives a result of another type or shape"}
# The share of elements of a kind of ordinary probes that may be vacuous. The other kinds, and layouts, which repeat values, do not count: kinks,
# cancellation and the ends of the range are where contracts say little whatever a kernel does.
_MOST_VACUOUS = 0.25
_OUTSIDE = "gives values outside of its contract"
_NAN_ALONE = "gives nothing but NaN, of which many faults are the cause"
_UNTOLD = "gives values outside of its contract, which this fault does not explain"
_UNTRIED = "gives values outside of its contract, where this fault was not tried"
_IN_PLACE = ". If it is meant to, say which operands: writes=(0,)"
_AS_DENSE = "reads operands as if they were dense in memory"
_WIDE = ("the contract admits too much there, because of long sums in any order: if the kernel adds by blocks or by a tree, declare the height that is true "
         "for its longest sum, such as model=\"any-order accumulator=tree tree_height=1281\" for blocks of 256 to 1024 (the page on sums says which are true)")
# What to do where the kernel is meant to compute what the fault computes.
_CONVENTION = "computes the reference with the other convention for rows with nothing open"
_REORDERED = "pointwise sums and products are in another order than the reference has"
_REMEDIES = {_CONVENTION: "If it is meant to, say which convention it keeps: attributes={'empty_is_zero': True} for 0 in rows with nothing open, False for NaN"}
_EPSILON = "The epsilon, 1e-5, is added under the root. If the kernel has another one there, say which: attributes={'epsilon': 1e-6}"
_OUTSIDE_ROOT = "If it is added to the root, write the formula as the reference, with xp.normalise(x, axes=[-1], epsilon=1e-5, form='deviation') and like='layer norm'"
_ORDER = "Most of them are off by few float32 steps. If the kernel computes an equal formula in another order, write its own formula as the reference, step by step"
_ONLY_MADE = "All of them have shapes that were made from the given ones. If the kernel is not meant for other shapes than the given ones, say so: blocks=False"
_FEW_STEPS = 4  # floats by which right kernels of another form usually differ
_RAISED = "probe.raised"
_NONE = ". Return the result; for a kernel that writes into an array that it is given, say out=True, and it is called with out=array"
_KEPT = 16  # probes after which a result is read again; the ring of buffers of a kernel is shorter
_PART, _ENOUGH = 100, 60  # probes that are judged at once; failing ones after which no further part is judged
# As the program explains a failure by a fault of its bank.
_EXPLANATION = re.compile(r"the result (?:equals the reference (.*?)(?:, bit for bit)?|is what the reference (.*) may give)")


class KernelWarning(UserWarning):
    """A kernel was tried in the given shapes alone."""


REFUSALS = (Declined, NotImplementedError)  # exceptions by which every kernel may decline a probe
_Kinds = Union[type[Exception], tuple[type[Exception], ...]]  # what `declines` may be


@dataclasses.dataclass(repr=False)
class KernelReport(Report):
    """The report of a kernel on its plan.

    Attributes:
        faults: Words for the faults, each with its number of probes. Faults beside computing come first (such as elements that are not
            written), then the fault of the bank that explains most failing probes.
        probes: The number of probes that ran.
        left: Probes that were not judged, since enough others fail. Waived failures do not count for that.
        raised: Of the declined probes those that ended in an exception that is no refusal. With one, the report has not passed.
        tried: For a function with given shapes, the sizes that were tried.
        remedy: The execution model or the formula under which failing probes lie in their contract, in words.
        is_reordered: Whether the kernel was judged by an equal formula, with its pointwise sums and products in another order than the reference.
        asked: The arguments of `audit_kernel` that say what was judged, as `json` has them.
    """

    faults: list[tuple[str, int]] = dataclasses.field(default_factory=list)
    probes: int = 0
    left: int = 0  # probes that were not judged because enough others fail
    kinds: dict[str, str] = dataclasses.field(default_factory=dict, repr=False)  # of each fault: "14 range, 3 special values"
    raised: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    tried: str = ""
    remedy: str = ""
    is_reordered: bool = False
    asked: dict[str, Any] = dataclasses.field(default_factory=dict, repr=False)  # the arguments that say what was judged

    @functools.cached_property
    def vacuous_shares(self) -> dict[str, float]:
        """Of each kind of probe the share of elements whose sets say nothing; of operands that are dense in memory."""
        sums: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0])
        for case in self.cases:
            if case.kind:
                sums[case.kind][0] += case.vacuous
                sums[case.kind][1] += case.judged
        return {kind: vacuous / judged for kind, (vacuous, judged) in sums.items() if judged}

    @property
    def verdict(self) -> str:  # type: ignore[override]
        """As that of any report. Probes that were not judged pass nothing, and neither does a kernel that no probe has judged, whatever waivers cover."""
        verdict, shown = super().verdict, any(case.model and (case.passed or case.failed or case.vacuous) for case in self.cases)  # those without a model have no values
        return "undecided" if verdict.startswith("passed") and (self.left or not shown) else verdict

    def is_vacuous(self) -> bool:
        """Whether the contract says too little on ordinary probes; on all, where a plan has no ordinary ones."""
        shares = {kind: share for kind, share in self.vacuous_shares.items() if kind in ORDINARY}
        return any(share > self.most_undecided for share in shares.values()) if shares else super().is_vacuous()

    def summary(self) -> str:
        """The verdict with its counts: of probes, then of the elements of the judged ones."""
        more = [*([self.refusals] if self.declined else []), *([f"{self.left} not judged, since enough others fail"] if self.left else []), *([self.tried] if self.tried else []),
                *([_REORDERED] if self.is_reordered else [])]
        return f"{self.verdict}: {counted(self.probes, 'probe')}; {self.elements}" + "".join(f"; {one}" for one in more)

    @property
    def failing(self) -> str:
        """How many of the judged probes fail; empty where none does."""
        count, judged = sum(_fails(case) for case in self.cases), self.probes - len(self.declined) - self.left
        return f"{count} of {counted(judged, 'judged probe')} {'fails' if judged == 1 else 'fail'}" if count else ""

    @property
    def headline(self) -> str:
        """The failing probes, and the first fault by name."""
        return f"{self.failing}: it {self.faults[0][0]}" if self.failures and self.failing and self.faults else ""

    @property
    def json(self) -> dict[str, Any]:
        """The report for programs, in the schema assay.kernel/1 (docs/reference/kernel-reports.md)."""
        count, judged = sum(map(_fails, self.cases)), self.probes - len(self.declined) - self.left
        counts = {"all": self.probes, "judged": judged, "failed": count, "declined": len(self.declined), "raised": len(self.raised), "not_judged": self.left}
        return json_of(self, counts, [{"fault": words, "probes": found} for words, found in self.faults], self.raised, self.vacuous_shares, self.tried, self.remedy,
                       {**self.asked, "is_reordered": self.is_reordered})

    @property
    def refusals(self) -> str:
        """How many probes the kernel declined, and the first exception, in one line; empty where it took all of them."""
        if not self.declined:
            return ""
        name, why = [*self.raised, *self.declined][0]
        by = f" ({len(self.raised)} by an exception that is no refusal)" if self.raised else ""
        return f"{len(self.declined)} declined{by}, such as '{name}': {why.partition(chr(10))[0]}"


def audit_kernel(op: str | Callable[..., Any], kernel: Callable[..., Any], *, attributes: Mapping[str, Any] | None = None, model: str | None = None,
                 like: str | Sequence[Sequence[int]] | None = None, plan: Sequence[Probe] | None = None, out: bool = False,
                 arrays: str | Callable[[Any], Any] = "numpy", device: str = "cpu", dtype: Any = "float32", seed: int = 1, blocks: bool = True,
                 strided: bool = True, repeats: int = 2, raises: bool = True, declines: _Kinds = (), writes: Sequence[int] = (),
                 strict: bool = False) -> KernelReport:
    """Runs a kernel through the probe plan of an operation and judges all its results by the contract of the operation.

    The kernel is called as `kernel(*operands, **attributes)` and returns its result. Operands lie between guard zones. A kernel that raises
    `Declined` or NotImplementedError declines the probe. After any other exception the report is undecided, unless `declines` names it.

    Args:
        op: The name of an operation, of a composite region ("attention", "layer norm backward"), or a function in the words of `assay.ops`.
        kernel: The kernel under test: a function, or an `IsolatedKernel`, which runs in a process of its own.
        attributes: Attributes that are pinned, such as {"axis": -1} for a kernel over the last axis. They are handed over only if the kernel
            has parameters of their names. An attribute with a default in ONNX and PyTorch (`alpha` of elu) is pinned to it where the kernel
            has no such parameter.
        model: The promise of the kernel, as for `assert_within_contract`.
        like: For a function: the operation whose probes it borrows, or the shapes of its operands. With shapes, the plan also has shapes that are
            made from them (see `blocks`). Equal sizes stay equal in these, and sizes of 1 stay 1.
        plan: A plan made by `probes`, or a selection from it. For a function: its operands. Options that say how a plan is made go to `probes` then.
        out: Whether the kernel is called with `out=array` besides. The array is poisoned and lies between guard zones.
        arrays: "numpy", "torch", or a function that makes an array of a NumPy one (`jax.numpy.asarray`).
        device: The device of arrays of torch.
        dtype: The element type; results in "float16" or "bfloat16" are judged as stored in it.
        seed: The seed of the draws.
        blocks: Whether the plan has lines of 8,193 elements and more, and shapes that are larger than a tile along several axes. With given shapes:
            whether others are made from them, as far as the function takes them. The report says which sizes were tried.
        strided: Whether operands come in several layouts of memory.
        repeats: How often each probe runs, at least twice, on memory that is poisoned differently.
        raises: Whether a verdict other than passed raises; otherwise only the report says so.
        declines: Further exceptions by which the kernel declines a probe, such as ValueError for shapes outside of its domain: one, or a tuple.
        writes: Positions of operands that the kernel writes into on purpose, such as (0,) for one that works in place. Memory beside them,
            and between their elements, has to stay as it was.
        strict: Whether a function is judged as it is written. Otherwise the kernel may compute an equal formula in place of it, one for all probes: pointwise
            sums and products in another order, and quotients as products with a reciprocal.

    Returns:
        The report.

    Raises:
        ContractViolation: The kernel is wrong; the text has the faults by name.
        NotDecided: Every probe was declined, a probe ended in an exception that is no refusal, or more than a quarter of the elements of a kind of ordinary probes are vacuous.
    """
    __tracebackhide__ = True
    arguments.function("kernel", kernel), arguments.whole("repeats", repeats, 2, 1000)
    for name, flag in (("out", out), ("blocks", blocks), ("strided", strided), ("raises", raises), ("strict", strict)):
        arguments.flag(name, flag)
    library = _library(arrays, device, out, kernel)
    _require_use(op, attributes, like, plan, dtype, seed, blocks, strided)
    if strict and not callable(op):
        raise UsageError("strict= has no effect", where="strict", why=f"{op!r} is an operation, whose contract is judged as it is", advice="leave strict= out")
    may_reorder = callable(op) and not strict and "left_to_right" not in (model or "")
    dtype, refusals, own, tried, reference = type_named(dtype), _refusals(declines), _positions(writes), "", ""
    call = _Call(kernel, frozenset(attributes or ()), out)
    if callable(op):
        wanted, tried = on_plan(op, plan, attributes) if plan is not None else probes_of(op, like, attributes, dtype, seed, blocks, strided, call.named)
        reference = ":".join(map(str, places.place_of(op)))
        op = str(getattr(op, "__name__", "expression"))
    else:
        op = row_named(arguments.text("op", op))
        wanted = _of_plan(op, plan, attributes) if plan is not None else planned(op, attributes, call.silent(op, attributes), dtype, seed, blocks, strided)
    call.constant = _constant(wanted) if plan is not None else frozenset()
    require_type(wanted, op, dtype)
    if own and max(own) >= (most := max((len(probe.operands) for probe in wanted), default=0)):
        raise wrong("writes", f"positions below {most}, the number of operands", writes)

    def run(probe: Probe) -> _Outcome:
        with np.errstate(all="ignore"):  # probes overflow on purpose
            return _run(probe, call, library, model, repeats, refusals, own)

    outcomes, kept = [], collections.deque[_Outcome]()
    for probe in wanted:
        outcomes.append(run(probe))
        kept.append(outcomes[-1])
        if len(kept) > _KEPT:
            _look_again(kept.popleft())
    for one in kept:
        _look_again(one)
    place = kernel.place if isinstance(kernel, IsolatedKernel) else places.place_of(kernel)
    report = _judged(outcomes, op, run, tried, (*place, reference), model, may_reorder)
    report.asked = {"op": op, "attributes": {key: plain_of(value) for key, value in (attributes or {}).items()}, "model": model or "any-order", "dtype": dtype,
                    "seed": None if plan is not None else seed, "blocks": blocks, "strided": strided, "repeats": repeats, "strict": strict, "writes": sorted(own), "out": out,
                    "like": like if like is None or isinstance(like, str) else [list(one) for one in like], "isolated": isinstance(kernel, IsolatedKernel)}
    if blocks and tried == ONLY_GIVEN:
        warnings.warn(f"{op}: {tried}, since the reference takes no others. A fault that shows only on longer axes passes; give like= further shapes", KernelWarning, stacklevel=2)
    announce([one.check for one in outcomes if one.check is not None], report)
    if raises and not report.passed:
        raise (ContractViolation if report.failed else NotDecided)(report.text, report)
    return report


def _library(arrays: Any, device: Any, out: bool, kernel: Any) -> Library:
    """How operands are made."""
    if isinstance(kernel, IsolatedKernel):
        if arrays != "numpy" or device != "cpu":
            raise UsageError("arrays= has no effect", where="arrays", why="an isolated kernel gets the arrays that it was made with", advice="give arrays= and device= to IsolatedKernel")
        return SharedArrays(kernel)
    if arrays not in ("numpy", "torch") and not callable(arrays):
        raise wrong("arrays", "'numpy', 'torch', or a function that makes an array of one of NumPy, such as jax.numpy.asarray", arrays)
    if arrays != "torch" and device != "cpu":
        raise UsageError("device= has no effect", where="device", why="it is the device of tensors of PyTorch, which arrays= does not ask for", advice="give arrays='torch', or leave device= out")
    if out and callable(arrays):
        raise UsageError("out=True needs arrays that share memory; use arrays='numpy' or arrays='torch'")
    return Torch(str(device)) if arrays == "torch" else NumPy(arrays if callable(arrays) else None)


def _require_use(op: Any, attributes: Any, like: Any, plan: Any, dtype: Any, seed: int, blocks: bool, strided: bool) -> None:
    """Refuses options that would have no effect."""
    if attributes is not None and not isinstance(attributes, Mapping):
        raise wrong("attributes", "a mapping from names to values", attributes)
    if callable(op) and plan is None and like is None:
        raise UsageError("missing argument", where="like", why="a reference function has no probes of its own", advice="give like='softmax', or a list of shapes, one for each operand")
    if like is not None and not callable(op):
        raise UsageError("like= has no effect", where="like", why=f"{op!r} is an operation that has probes of its own", advice="leave like= out, or give a function in the words of assay.ops in place of the name")
    if plan is None:
        return
    if not isinstance(plan, Sequence) or not plan or not all(isinstance(one, Probe) for one in plan):
        raise wrong("plan", "a list of at least one of the probes that assay.testing.probes makes", plan)
    given = (("like", like is None), ("seed", seed == 1), ("blocks", blocks), ("strided", strided))
    if found := [name for name, is_unset in given if not is_unset]:
        raise UsageError(f"{found[0]}= has no effect", where=found[0], why="plan= already has the probes", advice=f"give {found[0]}= to assay.testing.probes, which makes the plan, or leave plan= out")
    kinds = {one.dtype for probe in plan for one in probe.operands}
    if (kind := type_named(dtype)) != "float32" and kind not in kinds:
        raise UsageError(f"dtype='{kind}' has no effect", where="dtype", why=f"plan= already has the probes, on {', '.join(sorted(kinds))}", advice=f"make the plan with assay.testing.probes(..., dtype='{kind}')")


def _of_plan(op: str, plan: Sequence[Probe], attributes: Mapping[str, Any] | None) -> list[Probe]:
    """The probes of a plan for an operation."""
    advice = f"make the plan with assay.testing.probes({op!r}{f', attributes={dict(attributes)!r}' if attributes else ''})"
    if others := sorted({one.op for one in plan} - {op}):
        raise UsageError("wrong argument", where="plan", why=f"its probes are of {others[0]}, and not of {op}", advice=advice, code="python.argument")
    for probe in plan if attributes else ():
        if not has_attributes(probe, attributes or {}):
            raise UsageError("attributes= differs from plan=", where="attributes", why=f"the attributes of a probe are {probe.arguments()}", advice=advice, code="python.argument")
    return list(plan)


def _refusals(declines: _Kinds) -> tuple[type[BaseException], ...]:
    """The exceptions by which a kernel declines a probe."""
    more = declines if isinstance(declines, tuple) else (declines,)
    if not all(isinstance(one, type) and issubclass(one, Exception) for one in more):
        raise wrong("declines", "an exception such as ValueError, or a tuple of these", declines)
    return (*REFUSALS, *more)


def _positions(writes: Any) -> frozenset[int]:
    if not isinstance(writes, (list, tuple)) or not all(isinstance(one, int) and not isinstance(one, bool) and one >= 0 for one in writes):
        raise wrong("writes", "the positions of operands from 0, such as (0,)", writes)
    return frozenset(writes)


def _constant(plan: Sequence[Probe]) -> frozenset[str]:
    """Attributes that have one value in the whole plan: it was selected for a kernel that has this value."""
    every: dict[str, set[str]] = collections.defaultdict(set)
    for probe in plan:
        for key, value in probe.arguments().items():
            every[key].add(repr(value))
    return frozenset(key for key, values in every.items() if len(values) == 1)


class _Call:
    """The kernel with the attributes that it takes."""

    def __init__(self, kernel: Callable[..., Any], pinned: frozenset[str], out: bool) -> None:
        self.kernel, self.pinned, self.out = kernel, pinned, out
        self.constant: frozenset[str] = frozenset()
        try:
            self.signature: inspect.Signature | None = inspect.signature(kernel)
        except (TypeError, ValueError):
            self.signature = None
        parameters = self.signature.parameters.values() if self.signature else ()
        self.names = {one.name for one in parameters if one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD)}
        self.takes_any = any(one.kind is one.VAR_KEYWORD for one in parameters)
        self.named = None if self.takes_any or self.signature is None else frozenset(self.names)  # attributes that it takes; None: that is not known

    def silent(self, op: str, attributes: Mapping[str, Any] | None) -> frozenset[str]:
        """Attributes with a default, which the kernel does not take and nobody pins."""
        if op not in ROWS or self.signature is None or self.takes_any:
            return frozenset()
        return frozenset(key for key in DEFAULTS.get(op, {}) if key not in self.names and key not in (attributes or {}))

    def __call__(self, probe: Probe, operands: Sequence[Any], output: Any) -> Any:
        given: dict[str, Any] = {"out": output} if self.out else {}
        pinned = self.pinned | probe.pinned | self.constant
        for key, value in probe.arguments().items():
            if key not in self.names and DEFAULTS.get(probe.op, {}).get(key) is ... and not self.takes_any:
                continue  # it means nothing here
            names = [key, *(name for name, word in ALIASES.items() if word == key)]
            taken = next((name for name in names if name in self.names and (name in ("eps", "keepdims") or pinned.intersection(names))), None)
            if self.takes_any or key in self.names:
                given[key] = value
            elif taken is not None:
                given[taken] = value[0] if taken == "axis" and isinstance(value, tuple) and len(value) == 1 else value
            elif self.signature is not None and not pinned.intersection(names):
                raise UsageError(f"the kernel has no parameter '{key}' of {probe.op}: give it one, or pin the attribute with attributes={{'{key}': ...}}")
        if self.signature is not None:
            try:
                self.signature.bind(*operands, **given)
            except TypeError as why:
                raise Declined(f"the kernel cannot be called with {counted(len(operands), 'operand')}, in order {probe.operands_in_words()}"
                               + (f", and {', '.join(given)}" if given else "") + f": {why}") from None
        return self.kernel(*operands, **given)


@dataclasses.dataclass
class _Outcome:
    """The result of one probe."""

    probe: Probe
    check: Check | None = None
    findings: list[Finding] = dataclasses.field(default_factory=list)
    declined: str = ""
    is_refused: bool = True  # by an exception that says so
    again: Callable[[], list[Buffer]] | None = None  # reads the judged result once more
    before: Sequence[Buffer] = ()  # what it was


def _run(probe: Probe, call: _Call, library: Library, model: str | None, repeats: int, refusals: tuple[type[BaseException], ...],
         writes: frozenset[int] = frozenset()) -> _Outcome:
    """The calls of one probe. In each, operands and what lies round the result are watched: what hides behind the poison of one shows in the next."""
    rounds: list[list[Buffer]] = []
    outcome, written, overruns = _Outcome(probe), dict[int, Change](), 0
    for round_ in range(repeats):
        operands = [Placed(library, bits, probe.layout_of(i), round_) for i, bits in enumerate(probe.operands)]
        outputs = [Output(library, dtype, shape, round_) for dtype, shape in probe.results]
        for dtype, shape in probe.results:
            library.spoil(shape, dtype, round_)
        try:
            handed = [one.array for one in outputs]
            returned = call(probe, [one.array for one in operands], handed[0] if len(handed) == 1 else handed)
            results = _read(outputs) if call.out else _results(probe, returned)
        except UsageError:
            raise
        except _Misshapen as why:
            outcome.findings.append(_finding(probe, "probe.shape", str(why)))
            return outcome
        except (Exception, SystemExit) as why:  # whatever a kernel raises, it gives no result; an exit would end the caller without a verdict
            said = str(why) or f"no reason given; {probe.arguments_in_words()}"
            words = said if isinstance(why, Declined) else f"{type(why).__name__}: {said}"
            return _Outcome(probe, declined=words, is_refused=isinstance(why, refusals) and not isinstance(why, KernelStopped))
        for i, one in enumerate(operands):
            if i not in written and (change := one.change(i in writes)):
                written[i] = change
        overruns = max(overruns, sum(one.overruns() for one in outputs))
        if not rounds:
            outcome.again = functools.partial(_read, outputs) if call.out else functools.partial(_results, probe, returned)
            outcome.before = results
        rounds.append(results)
    if written:
        places = [f"operand {i} was written: {change.words}" for i, change in sorted(written.items())]
        outcome.findings.append(_finding(probe, "probe.operand", "; ".join(places) + _IN_PLACE, sum(change.elements for change in written.values())))
        outcome.findings[-1].first = next(iter(written.values())).to_json()
    if overruns:
        outcome.findings.append(_finding(probe, "probe.guard", f"{counted(overruns, 'element')} beside the result {'was' if overruns == 1 else 'were'} written", overruns))
    outcome.findings += _compared(probe, rounds)
    if any(one.rule == "probe.unsteady" for one in outcome.findings) and (place := _read_outside(probe, call, library)):
        outcome.findings = [one for one in outcome.findings if one.rule != "probe.unsteady"]
        outcome.findings.append(_finding(probe, "probe.outside", f"{place}. What lies there decides the result"))
    bits = [Bits(dtype, shape, (array.view("u1") != 0 if dtype == "bool" else array).tobytes()) for (dtype, shape), array in zip(probe.results, rounds[0])]
    everything = [*probe.operands, *probe.captured]
    outcome.check = Check(probe.name, probe.nodes, everything, bits, spelled(model, everything), probe.outputs)
    return outcome


def _read(outputs: Sequence[Output]) -> list[Buffer]:
    return [one.result() for one in outputs]


def _look_again(outcome: _Outcome) -> None:
    """Whether later calls have changed the result, as those of a kernel that returns one static buffer do."""
    if outcome.again is None or outcome.check is None:
        return
    try:
        changed = sum(int((plain(now) != plain(before)).sum()) for now, before in zip(outcome.again(), outcome.before))
        what = f"{counted(changed, 'element')} of this result {'is' if changed == 1 else 'are'} no longer what the kernel gave, since later calls wrote there"
    except Exception as why:  # a result that has another shape now, or was given back
        changed, what = 1, f"this result cannot be read any more after later calls: {why}"
    outcome.again, outcome.before = None, ()
    if changed:
        outcome.findings.append(_finding(outcome.probe, "probe.overwritten", what, changed))


def _read_outside(probe: Probe, call: _Call, library: Library) -> str:
    """Which memory beside an operand changes the result, where nothing else differs between two calls; empty where none does."""
    def result(operand: int = -1, places: Sequence[int] = ()) -> list[bytes]:
        try:
            return called(operand, places)
        except (Exception, SystemExit) as why:  # what it raises may depend on what it read
            return [type(why).__name__.encode()]

    def called(operand: int, places: Sequence[int]) -> list[bytes]:
        operands = [Placed(library, bits, probe.layout_of(i), 0, places if i == operand else ()) for i, bits in enumerate(probe.operands)]
        outputs = [Output(library, dtype, shape, 0) for dtype, shape in probe.results]
        for dtype, shape in probe.results:
            library.spoil(shape, dtype, 0)
        handed = [one.array for one in outputs]
        returned = call(probe, [one.array for one in operands], handed[0] if len(handed) == 1 else handed)
        return [plain(one).tobytes() for one in (_read(outputs) if call.out else _results(probe, returned))]

    first = result()
    if any(result() != first for _ in range(2)):
        return ""  # it differs by itself
    for i, bits in enumerate(probe.operands):
        free = outside_of(bits, probe.layout_of(i))
        if result(i, free) == first:
            continue
        same, other = 0, len(free)  # with so many of the places changed the result is the same, and is another
        while other - same > 1:
            middle = (same + other) // 2
            same, other = (middle, other) if result(i, free[:middle]) == first else (same, middle)
        return f"{place_in_words(bits, probe.layout_of(i), free[other - 1])} of operand {i}, whose shape is {list(bits.shape)}"
    return ""


class _Misshapen(Exception):
    """A result of another type or shape."""


def _results(probe: Probe, returned: Any) -> list[Buffer]:
    several = list(returned) if isinstance(returned, (tuple, list)) and len(probe.results) > 1 else [returned]
    if len(several) != len(probe.results):
        raise _Misshapen(f"{counted(len(several), 'result')} instead of {len(probe.results)}{_NONE if returned is None else ''}")
    arrays = []
    for (dtype, shape), one in zip(probe.results, several):
        try:
            bits = bits_of(one, "the result")
        except UnsupportedArray as why:
            raise _Misshapen(f"the kernel returned None{_NONE}" if one is None else str(why)) from None
        array = bits.carrier()
        if bits.shape != shape or (bits.dtype != dtype and not {bits.dtype, dtype} <= set(INTEGERS)):
            raise _Misshapen(f"{bits.dtype} {list(bits.shape)} instead of {dtype} {list(shape)}")
        converted = array.astype(carrier_of(dtype))
        if not np.array_equal(converted, array, equal_nan=dtype.startswith("float")):
            raise _Misshapen(f"{bits.dtype} with numbers that are no {dtype}")
        arrays.append(converted)
    return arrays


def _compared(probe: Probe, rounds: list[list[Buffer]]) -> list[Finding]:
    """Elements that kept the poison of every round were not written; others have to be the same in all."""
    unwritten = unsteady = untrue = 0
    for position in range(len(probe.results)):
        arrays = [results[position] for results in rounds]
        kept = np.logical_and.reduce([is_poison(one, i) for i, one in enumerate(arrays)])
        bits = [plain(one) for one in arrays]
        differs = np.logical_or.reduce([one != bits[0] for one in bits[1:]]) & ~kept
        unwritten, unsteady = unwritten + int(kept.sum()), unsteady + int(differs.sum())
        if arrays[0].dtype == bool:
            untrue += int(((bits[0] > 1) & ~kept).sum())
    found = []
    if untrue:
        found.append(_finding(probe, "probe.shape", f"{counted(untrue, 'truth value')} {'is' if untrue == 1 else 'are'} neither 0 nor 1", untrue))
    if unwritten:
        found.append(_finding(probe, "probe.unwritten", f"{counted(unwritten, 'element')} {'was left as it was' if unwritten == 1 else 'were left as they were'}", unwritten))
    if unsteady:
        found.append(_finding(probe, "probe.unsteady", f"{counted(unsteady, 'element')} {'differs' if unsteady == 1 else 'differ'} between {len(rounds)} calls on the same operands", unsteady))
    return found


def _finding(probe: Probe, rule: str, message: str, elements: int = 1) -> Finding:
    return Finding("fail", rule, probe.name, f"the kernel {RULES[rule]}: {message}", [], elements)


def _cases_of(ran: Sequence[_Outcome], op: str, place: tuple[str, int, str]) -> list[Case]:
    """Part by part, until enough probes fail that no waiver covers: each failure is tried against the whole bank."""
    every: list[Case] = []
    for start in range(0, len(ran), _PART):
        part = ran[start:start + _PART]
        checks = [one.check for one in part if one.check is not None]
        cases = iter(judge(checks).cases if checks else [])
        for one in part:
            case = next(cases) if one.check is not None else Case(one.probe.name, op, failed=1)
            case.kind = one.probe.kind if one.probe.layout == "dense" and not one.probe.made else ""
            case.group, case.dtype, case.call = one.probe.group, one.probe.results[0][0], call_of(one.probe)
            case.findings = [*one.findings, *(_by_name(found, case.op, op) for found in case.findings if found.rule != VACUOUS)]
            case.op = op
            case.file, case.line, case.reference = place
            every.append(case)
        review(Report(every[start:]))
        if sum(map(_fails_unwaived, every)) >= _ENOUGH:
            break
    return every


def _reordered(ran: Sequence[_Outcome], every: list[Case], op: str, place: tuple[str, int, str]) -> tuple[list[_Outcome], list[Case]] | None:
    """The probes with an equal formula as the reference, and their cases, where that formula admits every result; nothing where none does."""
    if any(one.findings or one.check is None for one in ran):
        return None  # it fails in any order
    failed = [(one.probe, one.check) for one, case in zip(ran, every) if one.check is not None and case.failed]
    for other in other_orders(failed) if failed else ():
        checks = [other(one.probe, one.check) for one in ran if one.check is not None]
        changed = [dataclasses.replace(one, check=check) for one, check in zip(ran, checks) if check is not None]
        if len(changed) == len(ran) and not any(map(_fails, cases := _cases_of(changed, op, place))):
            return changed, cases
    return None


def _judged(outcomes: list[_Outcome], op: str, run: Callable[[Probe], _Outcome], tried: str, place: tuple[str, int, str], model: str | None,
            may_reorder: bool) -> KernelReport:
    """The report of all probes: by the reference as it is written, or else by an equal formula."""
    ran = [one for one in outcomes if not one.declined]
    every, is_reordered = _cases_of(ran, op, place), False
    if may_reorder and (found := _reordered(ran, every, op, place)):
        (ran, every), is_reordered = found, True
    failed = [one for one, case in zip(ran, every) if _fails(case)]
    report = KernelReport(every, title=f"assay kernel {op}", most_undecided=_MOST_VACUOUS, probes=len(outcomes), left=len(ran) - len(every),
                          declined=[(one.probe.name, one.declined) for one in outcomes if one.declined],
                          raised=[(one.probe.name, one.declined) for one in outcomes if not one.is_refused], tried=tried, is_reordered=is_reordered)
    faults = _faults(every, {i for i, one in enumerate(ran[:len(every)]) if one.check is not None and _is_nan_alone(one.check)})
    report.faults = [(words, len(indices)) for words, indices in faults]
    report.kinds = {words: _kinds(every[index] for index in sorted(indices)) for words, indices in faults}
    if failed and all(one.probe.layout != "dense" for one in failed) and _are_right_when_dense(failed[:8], run):
        report.faults.insert(0, (_AS_DENSE, len(failed)))
    if report.faults and {words for words, _ in report.faults} & {_OUTSIDE, _UNTOLD, _NAN_ALONE} and all(words not in RULES.values() for words, _ in report.faults):
        _name_otherwise(report, ran[:len(every)], every)
    if report.faults and all(words == _OUTSIDE for words, _ in report.faults):
        report.remedy = remedy([(one.probe, one.check) for one in failed if one.check is not None], model)
        if not report.remedy and (words := by_size(every)):
            report.faults, report.kinds = [(words, len(failed))], {}
    if report.raised:
        report.cases.append(dataclasses.replace(_raised(report, op), file=place[0], line=place[1]))
    report.text = _text(report, op)
    return report


def _name_otherwise(report: KernelReport, ran: list[_Outcome], cases: list[Case]) -> None:
    """The fault of a kernel that computes the reference with one step changed, which the bank of single operations need not know; or what its results show."""
    judged = [(one.probe, one.check, case) for one, case in zip(ran, cases) if one.check is not None]
    failed = [(probe, check) for probe, check, case in judged if _fails(case)]
    words, told = changed_reference(failed, [(probe, check) for probe, check, case in judged if not _fails(case)]) if failed else ("", [])
    if words:
        rest = len(failed) - len(told)
        report.faults, report.kinds = [(f"computes the reference {words}", len(told)), *([(_UNTRIED, rest)] if rest else [])], {}
    elif all(words in (_OUTSIDE, _NAN_ALONE) for words, _ in report.faults) and (words := symptom([(check, case) for _, check, case in judged])):
        report.faults, report.kinds = [(words, len(failed))], {}


def _raised(report: KernelReport, op: str) -> Case:
    """Probes in which the kernel raised what is no refusal: it may be out of the kernel's domain, or a crash, and nothing tells which."""
    name, why = report.raised[0]
    message = f"the kernel raised an exception that is no refusal on {len(report.raised)} of {counted(report.probes, 'probe')}, such as '{name}': {why.rstrip('.')}. "
    if not why.startswith(f"{KernelStopped.__name__}:"):
        message += (f"If it is not made for these operands, raise NotImplementedError there, or allow the exception: declines={why.partition(':')[0]}"
                    + (". To try the given shapes alone, say blocks=False" if report.tried and report.tried != ONLY_GIVEN else ""))
    return Case("exceptions", op, findings=[Finding("undecided", _RAISED, op, message, [], len(report.raised))])


def _by_name(finding: Finding, ops: str, op: str) -> Finding:
    """A region of several operations is known by its name, not by their list."""
    if finding.rule == f"contract.{ops}":
        finding.rule = f"contract.{op}"
    return finding


def _are_right_when_dense(failed: Sequence[_Outcome], run: Callable[[Probe], _Outcome]) -> bool:
    """Whether it is the strides: the same values, some of them repeated, pass where they are dense in memory."""
    again = [run(dataclasses.replace(one.probe, layout="dense")) for one in failed]
    if any(one.findings or one.check is None for one in again):
        return False
    return not any(_fails(case) for case in judge([one.check for one in again if one.check is not None]).cases)


def _is_nan_alone(check: Check) -> bool:
    """Whether every element of the results is NaN, of which many faults are the cause."""
    arrays = [one.numpy() for one in check.results]
    return all(one.size and one.dtype.kind == "f" and bool(np.isnan(one).all()) for one in arrays)


def _fails(case: Case) -> bool:
    return any(one.kind == "fail" for one in case.findings)


def _fails_unwaived(case: Case) -> bool:
    return any(one.kind == "fail" and not one.waiver for one in case.findings)


def _hints(finding: Finding) -> dict[str, str]:
    """The lines by which the bank explains a finding, each with the words for its fault."""
    found = {line: _EXPLANATION.fullmatch(line.strip()) for line in finding.details}
    return {line: f"computes the reference {one[1] or one[2]}" for line, one in found.items() if one}


def _kinds(cases: Iterable[Case]) -> str:
    """How many of the cases are of which kind of probe, in words."""
    counts = collections.Counter(case.group.rpartition(" ")[0] if case.kind else case.group.rpartition(", ")[2] for case in cases)
    return ", ".join(f"{count} {kind}" for kind, count in counts.most_common())


def _faults(cases: list[Case], nan_alone: set[int]) -> list[tuple[str, set[int]]]:
    """List the faults that the findings show, each with its cases: rules of the probes, then faults of the bank, the most frequent first.

    A fault of the bank is listed where it explains most of the cases that give wrong values, and some that no rule explains. Another fault may have the
    numbers of a few cases by accident, and leaves their findings. NaN alone tells no fault. Cases without an explanation come last.
    """
    rules: dict[str, set[int]] = collections.defaultdict(set)
    explained: dict[str, set[int]] = collections.defaultdict(set)
    wrong = {i for i, case in enumerate(cases) if any(one.kind == "fail" and one.rule not in RULES for one in case.findings)}
    for index, case in enumerate(cases):
        for finding in case.findings:
            if finding.rule in RULES:
                rules[RULES[finding.rule]].add(index)
    faults = sorted(rules.items(), key=lambda item: -len(item[1]))
    # An operand that is written, or a result that changes later, does not explain a wrong result.
    covered = set[int]().union(*(indices for words, indices in faults if words not in (RULES["probe.operand"], RULES["probe.overwritten"])))
    telling, left, told = wrong - nan_alone, wrong - covered, set[str]()
    for index in left:
        for finding in cases[index].findings:
            for words in _hints(finding).values():
                explained[words].add(index)
    for words, indices in sorted(explained.items(), key=lambda item: -len(item[1])):
        if 2 * len(indices) >= len(wrong if indices <= nan_alone else telling):
            told.add(words)
            if indices & left:
                faults.append((words, indices))
                left, telling = left - indices, telling - indices
    for finding in (one for case in cases for one in case.findings):
        accidents = {line for line, words in _hints(finding).items() if words not in told}
        finding.details = [line for line in finding.details if line not in accidents]
    rest = [(_NAN_ALONE, left & nan_alone), (_UNTOLD, left - nan_alone)] if told else [(_OUTSIDE, left)]
    return [(words, indices) for words, indices in [*faults, *rest] if indices]


def _different(failing: list[Case], most: int = 2) -> list[Case]:
    """The first cases that fail by different rules; without any, the first ones whose values differ from their contract."""
    by_rules: dict[tuple[str, ...], Case] = {}
    for case in failing:
        by_rules.setdefault(tuple(one.rule for one in case.findings if one.kind == "fail"), case)
    every = list(by_rules.values()) + [case for case in failing if case.failed and case not in by_rules.values()]
    return every[:most]


def _text(report: KernelReport, op: str) -> str:
    failing = [case for case in report.cases if _fails(case)]
    lines = [f"kernel of {op}: {report.failing}"] if failing else []
    several = len(report.faults) > 1
    lines += [f"  {count} of them{f' ({report.kinds[words]})' if several and report.kinds.get(words) else ''}: it {words}" for words, count in report.faults[:5]]
    lines += [_REMEDIES[words] for words, _ in report.faults if words in _REMEDIES]
    if failing and op in NORMS and any(words == _OUTSIDE or "epsilon" in words for words, _ in report.faults):
        lines += [_EPSILON, *([_OUTSIDE_ROOT] if op == "layer norm" else [])]
    if failing and all(case.group.endswith(MADE) for case in failing):
        lines.append(_ONLY_MADE)
    steps = [float(one.worst["steps"]) for case in failing for one in case.findings if one.kind == "fail" and one.worst and "steps" in one.worst]
    if report.remedy:
        lines.append(report.remedy)
    if steps and 0 < max(steps) <= _FEW_STEPS and (op in ROWS or op in REGIONS) and any(words == _OUTSIDE for words, _ in report.faults):
        lines.append(f"All are off by at most {counted(int(max(steps)), 'float32 step')}: if the kernel has another formula than the operation, test it against a function with its own "
                     f"formula, like='{op}'")
    elif 2 * sum(0 < one <= _FEW_STEPS for one in steps) > max(len(steps), 1) and op not in ROWS and op not in REGIONS:
        lines.append(_ORDER)
    if report.verdict == "vacuous":
        lines.append("vacuous elements, by kind of probe: " + ", ".join(f"{kind} {100 * share:.3g} %" for kind, share in report.vacuous_shares.items() if share))
        lines.append(_WIDE)
    lines += list(dict.fromkeys(f"  {one.text}" for case in report.cases for one in case.findings if one.kind == "unsupported"))[:2]
    for case in _different(failing):
        lines += [f"{case.name}", *("  " + line for one in case.findings for line in one.text.splitlines())]
    lines += [one.text for case in report.cases for one in case.findings if one.rule == _RAISED]
    return "\n".join([*lines, report.summary()])
