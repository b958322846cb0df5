"""A kernel on the probe plan of its operation: what it gives, what it writes, and which fault of the bank it has."""
from __future__ import annotations

import collections
import dataclasses
import inspect
import re
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from assay import _arguments
from assay._arrays import Bits, UnsupportedArray, bits_of
from assay._checks import Check, announce, judge
from assay._reports import VACUOUS, Case, Finding, Report
from assay._shapes import INTEGERS
from assay.errors import UsageError
from assay.testing._contracts import ContractViolation, NotDecided, spelled
from assay.testing._memory import Buffer, Library, NumPy, Output, Placed, Torch, is_poison
from assay.testing._plans import Probe, probes

# What the probes themselves find, in words.
RULES = {"probe.unwritten": "leaves elements of its result unwritten", "probe.operand": "writes into its operands",
         "probe.guard": "writes outside of its result", "probe.unsteady": "gives another result from the same operands",
         "probe.shape": "gives a result of another type or shape"}
_MOST_VACUOUS = 0.05  # probes go where contracts say little
_PART, _ENOUGH = 100, 60  # probes that are judged at once; failing ones after which no further part is judged
# As the program explains a failure by a fault of its bank.
_EXPLANATION = re.compile(r"the result (?:equals the reference (.*?)(?:, bit for bit)?|is what the reference (.*) may give)")


class Declined(Exception):
    """Raised by a kernel that does not take what a probe asks for; the probe does not count."""


@dataclasses.dataclass
class KernelReport(Report):
    """What came of a plan; `faults` are the words for it, the most frequent first, with the number of probes."""

    faults: list[tuple[str, int]] = dataclasses.field(default_factory=list)
    probes: int = 0
    left: int = 0  # probes that were not judged because enough others fail

    def summary(self) -> str:
        """The verdict with its counts."""
        more = (f", {len(self.declined)} declined" if self.declined else "") + (f", {self.left} not judged: enough fail" if self.left else "")
        return f"{super().summary()}; {self.probes} probes{more}"


def audit_kernel(op: str, kernel: Callable[..., Any], *, attributes: Mapping[str, Any] | None = None, model: str | None = None,
                 plan: Sequence[Probe] | None = None, out: bool = False, arrays: str | Callable[[Any], Any] = "numpy", device: str = "cpu",
                 dtype: str = "float32", seed: int = 1, blocks: bool = True, strided: bool = True, repeats: int = 2,
                 raises: bool = True) -> KernelReport:
    """Runs a kernel through the probe plan of an operation and judges all it gives by the operation's contract.

    The kernel is called as `kernel(*operands, **attributes)` and returns its result, or, with `out=True`, as `kernel(*operands, out=array, **attributes)`:
    the output is then poisoned and lies between guard zones. `attributes` pins attributes (a kernel that softmaxes over the last axis:
    `attributes={"axis": -1}`); pinned ones are handed over only if the kernel has parameters of their names. Operands lie between guard zones, in several
    layouts unless `strided=False`; each probe runs `repeats` times, on memory that is poisoned differently. `arrays` is "numpy", "torch" (on
    `device`) or a function that makes an array of a NumPy one (`jax.numpy.asarray`). A kernel that raises declines the probe.

    Raises ContractViolation with the faults by name, NotDecided where every probe was declined or more than 5 % of the elements are vacuous;
    with `raises=False` only the report says so.
    """
    __tracebackhide__ = True
    _arguments.text("op", op), _arguments.function("kernel", kernel), _arguments.whole("repeats", repeats, 1, 1000)
    wanted = list(plan) if plan is not None else probes(op, attributes=attributes, dtype=dtype, seed=seed, blocks=blocks, strided=strided)
    library: Library = Torch(device) if arrays == "torch" else NumPy(arrays if callable(arrays) else None)
    if out and callable(arrays):
        raise UsageError("out=True needs arrays that share memory: numpy or torch")
    call = _Call(kernel, frozenset(attributes or ()), out)
    with np.errstate(all="ignore"):  # probes overflow on purpose
        outcomes = [_run(probe, call, library, model, max(repeats, 2)) for probe in wanted]
    report = _judged(outcomes, op)
    failing = {case.name for case in report.cases if _fails(case)}
    announce([one.check for one in outcomes if one.check is not None and one.probe.name in failing], report)
    if raises and not report.passed:
        raise (ContractViolation if report.verdict == "failed" else NotDecided)(report.text, report)
    return report


class _Call:
    """The kernel with the attributes that it takes."""

    def __init__(self, kernel: Callable[..., Any], pinned: frozenset[str], out: bool) -> None:
        self.kernel, self.pinned, self.out = kernel, pinned, out
        try:
            self.signature: inspect.Signature | None = inspect.signature(kernel)
        except (TypeError, ValueError):
            self.signature = None
        parameters = self.signature.parameters.values() if self.signature else ()
        self.names = {one.name for one in parameters if one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD)}
        self.takes_any = any(one.kind is one.VAR_KEYWORD for one in parameters)

    def __call__(self, probe: Probe, operands: Sequence[Any], output: Any) -> Any:
        given: dict[str, Any] = {"out": output} if self.out else {}
        for key, value in probe.arguments().items():
            asked = next((name for name in self.pinned if name == key or {name, key} <= {"axis", "axes"} or {name, key} <= {"keepdims", "keep_dims"}), None)
            if self.takes_any or key in self.names:
                given[key] = value
            elif asked in self.names:
                given[str(asked)] = value[0] if asked == "axis" and isinstance(value, tuple) and len(value) == 1 else value
            elif asked is None and self.signature is not None:
                raise UsageError(f"the kernel has no parameter '{key}' of {probe.op}: give it one, or pin the attribute with attributes={{'{key}': ...}}")
        if self.signature is not None:
            try:
                self.signature.bind(*operands, **given)
            except TypeError as why:
                raise Declined(f"{len(operands)} operands: {why}") from None
        return self.kernel(*operands, **given)


@dataclasses.dataclass
class _Outcome:
    """What one probe gave."""

    probe: Probe
    check: Check | None = None
    findings: list[Finding] = dataclasses.field(default_factory=list)
    declined: str = ""


def _run(probe: Probe, call: _Call, library: Library, model: str | None, repeats: int) -> _Outcome:
    rounds: list[list[Buffer]] = []
    outcome = _Outcome(probe)
    for round_ in range(repeats):
        operands = [Placed(library, bits, probe.layout, round_) for bits in probe.operands]
        outputs = [Output(library, dtype, shape, round_) for dtype, shape in probe.results]
        for dtype, shape in probe.results:
            library.spoil(shape, dtype, round_)
        try:
            handed = [one.array for one in outputs]
            returned = call(probe, [one.array for one in operands], handed[0] if len(handed) == 1 else handed)
            results = [one.result() for one in outputs] if call.out else _results(probe, returned)
        except UsageError:
            raise
        except _Misshapen as why:
            outcome.findings.append(_finding(probe, "probe.shape", str(why)))
            return outcome
        except Exception as why:  # whatever a kernel raises, it declines
            return _Outcome(probe, declined=str(why) if isinstance(why, Declined) else f"{type(why).__name__}: {why}")
        if round_ == 0:
            written = [i for i, one in enumerate(operands) if not one.is_untouched]
            if written:
                outcome.findings.append(_finding(probe, "probe.operand", f"operand {', '.join(map(str, written))} was written"))
            overruns = sum(one.overruns() for one in outputs)
            if overruns:
                outcome.findings.append(_finding(probe, "probe.guard", f"{overruns} elements beside the result were written"))
        rounds.append(results)
    outcome.findings += _compared(probe, rounds)
    bits = [Bits(dtype, shape, array.tobytes()) for (dtype, shape), array in zip(probe.results, rounds[0])]
    outcome.check = Check(probe.name, probe.nodes, probe.operands, bits, spelled(model, probe.operands), probe.outputs)
    return outcome


class _Misshapen(Exception):
    """A result of another type or shape."""


def _results(probe: Probe, returned: Any) -> list[Buffer]:
    several = list(returned) if isinstance(returned, (tuple, list)) and len(probe.results) > 1 else [returned]
    if len(several) != len(probe.results):
        raise _Misshapen(f"{len(several)} results instead of {len(probe.results)}")
    arrays = []
    for (dtype, shape), one in zip(probe.results, several):
        try:
            bits = bits_of(one, "the result")
        except UnsupportedArray as why:
            raise _Misshapen(str(why)) from None
        array = bits.numpy()
        if bits.shape != shape or (bits.dtype != dtype and not {bits.dtype, dtype} <= set(INTEGERS)):
            raise _Misshapen(f"{bits.dtype} {list(bits.shape)} instead of {dtype} {list(shape)}")
        converted = array.astype(dtype)
        if not np.array_equal(converted, array, equal_nan=dtype.startswith("float")):
            raise _Misshapen(f"{bits.dtype} with numbers that are no {dtype}")
        arrays.append(converted)
    return arrays


def _compared(probe: Probe, rounds: list[list[Buffer]]) -> list[Finding]:
    """Elements that kept the poison of every round were not written; others have to be the same in all."""
    unwritten = unsteady = 0
    for position in range(len(probe.results)):
        arrays = [results[position] for results in rounds]
        kept = np.logical_and.reduce([is_poison(one, i) for i, one in enumerate(arrays)])
        plain = [np.ascontiguousarray(one).view(f"u{one.itemsize}" if one.dtype != bool else "u1").reshape(one.shape) for one in arrays]
        differs = np.logical_or.reduce([one != plain[0] for one in plain[1:]]) & ~kept
        unwritten, unsteady = unwritten + int(kept.sum()), unsteady + int(differs.sum())
    found = []
    if unwritten:
        found.append(_finding(probe, "probe.unwritten", f"{unwritten} elements were left as they were", unwritten))
    if unsteady:
        found.append(_finding(probe, "probe.unsteady", f"{unsteady} elements differ between {len(rounds)} calls on the same operands", unsteady))
    return found


def _finding(probe: Probe, rule: str, message: str, elements: int = 1) -> Finding:
    return Finding("fail", rule, probe.name, f"'{probe.name}': the kernel {RULES[rule]}: {message}", [], elements)


def _judged(outcomes: list[_Outcome], op: str) -> KernelReport:
    """Part by part, until enough probes fail: each failure is tried against the whole bank."""
    ran = [one for one in outcomes if not one.declined]
    every: list[Case] = []
    layouts: list[str] = []
    for start in range(0, len(ran), _PART):
        part = ran[start:start + _PART]
        checks = [one.check for one in part if one.check is not None]
        cases = iter(judge(checks).cases if checks else [])
        for one in part:
            case = next(cases) if one.check is not None else Case(one.probe.name, op, failed=1)
            case.findings = [*one.findings, *(found for found in case.findings if found.rule != VACUOUS)]
            every.append(case)
            if _fails(case):
                layouts.append(one.probe.layout)
        if len(layouts) >= _ENOUGH:
            break
    report = KernelReport(every, title=f"assay kernel {op}", most_undecided=_MOST_VACUOUS, probes=len(outcomes), left=len(ran) - len(every),
                          declined=[(one.probe.name, one.declined) for one in outcomes if one.declined])
    report.faults = _faults(every)
    if layouts and "dense" not in layouts:
        report.faults.insert(0, ("reads operands as if they were dense in memory", len(layouts)))
    report.text = _text(report, op)
    return report


def _fails(case: Case) -> bool:
    return any(one.kind == "fail" for one in case.findings)


def _faults(cases: list[Case]) -> list[tuple[str, int]]:
    """What the findings come to: rules of the probes, and explanations by the bank. The words that explain most probes come first; of the
    others only those that explain a probe which no earlier ones do."""
    explained: dict[str, set[int]] = collections.defaultdict(set)
    for index, case in enumerate(cases):
        for finding in case.findings:
            if finding.rule in RULES:
                explained[RULES[finding.rule]].add(index)
            for line in finding.details:
                if found := _EXPLANATION.fullmatch(line):
                    explained[f"computes the reference {found[1] or found[2]}"].add(index)
    faults, covered = list[tuple[str, int]](), set[int]()
    for words, indices in sorted(explained.items(), key=lambda item: -len(item[1])):
        if words in RULES.values() or indices - covered:
            faults.append((words, len(indices)))
            covered |= indices
    return faults


def _text(report: KernelReport, op: str) -> str:
    failing = [case for case in report.cases if _fails(case)]
    lines = [f"kernel of {op}: {len(failing)} of {len(report.cases)} probes fail"] if failing else []
    lines += [f"  {count} of them: it {words}" for words, count in report.faults[:5]]
    for case in failing[:2]:
        lines += [f"{case.name}", *("  " + line for one in case.findings for line in one.text.splitlines())]
    if report.declined:
        lines.append(f"declined, e.g. '{report.declined[0][0]}': {report.declined[0][1]}")
    return "\n".join([*lines, report.summary()])
