"""Recordings as traces, and what the gates say about them."""
from __future__ import annotations

import os
import re
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Collection, Iterator, Mapping, Sequence

import torch

from assay._core import audits, gate_reports, places, programs
from assay._core.trace_writer import Trace
from assay.errors import Rejected, UsageError, wrong
from .backward import Recorder
from .branches import Branch
from .composed import Composed
from .dead import shown_elsewhere
from .equations import opaque_of
from .limits import IDENTITY, settled
from .memory import Refused, Value, plain
from .nodes import HALVES, constant_of, read_again
from .naming import Names, modules_of
from .outside import cut_off, cuts_of, downstream, given_up, is_of_none, marked_of, why_cut
from .surrogates import Intended, numbered, require_met
from .texts import Parts, finding_lines, findings_of, listed, shown_path, without_digest
from .unheld import drop_unheld
from .values import Region
from .zero_gains import Start, shown_at_other_numbers

_TAKEN = re.compile(r"'([^']+)' by (\w+)\(\) at ([^,]+)$")  # a number that left the graph: the last of several
MANY_BYTES, MOST_JOBS = 2**23, 4  # from this length of a trace on, its regions are judged on several cores
MOST_HEADER = 100_000_000  # bytes, as safetensors files have it
FLOATS = "accumulator=any_order moments=one_or_two_pass"
FLUSHES = "flush_operands=yes flush_results=yes"
# What PyTorch's CPU kernels are declared to do (docs/contracts/execution-models.md); its attention keeps running maxima; doubles with SLEEF's functions.
MODELS = {"cpu": f"binary32 {FLOATS} math=pytorch-cpu", "cpu, online": f"binary32 {FLOATS} softmax=online math=pytorch-cpu",
          "cpu, bfloat16": f"binary32 {FLOATS} {FLUSHES} math=pytorch-cpu",
          "cpu, bfloat16 steps": f"binary32 {FLOATS} {FLUSHES} storage=bfloat16 math=pytorch-cpu",
          "cpu, bfloat16 attention": f"binary32 {FLOATS} {FLUSHES} storage=bfloat16 softmax=online math=pytorch-cpu-attention",
          "cpu, float16": f"binary32 {FLOATS} math=pytorch-cpu",
          "cpu, float16 steps": f"binary32 {FLOATS} storage=binary16 math=pytorch-cpu",
          "cpu, float16 attention": f"binary32 {FLOATS} {FLUSHES} storage=binary16 softmax=online math=pytorch-cpu-attention",
          "cpu, erf": f"binary32 {FLOATS} math=sleef-u10",  # torch.erf is SLEEF's; GELU has one of its own
          "cpu, float64": f"binary64 {FLOATS} math=sleef-u10"}


def model_of(region: Region, values: list[Value]) -> str:
    kinds = {values[v].kind for v in region.operands + region.results}
    half = next((one for one in HALVES if one in kinds), None)
    if half is None:
        return "cpu, float64" if region.is_double else "cpu, erf" if [one["op"] for one in region.nodes] == ["erf"] else "cpu"
    return " ".join(["cpu,", str(half).removeprefix("torch."), region.storing]).strip()


def stored(value: Value) -> memoryview:
    """The bytes that the program keeps."""
    found = plain(value.tensor.to(value.kind).view(torch.int16) if value.kind in HALVES else value.tensor)
    return memoryview(found.view("u1"))


def trace_of(run: Recorder, known: Composed | None = None) -> Trace:
    """The recording as a trace. `known` says of which other numbers its constants were computed; then they are read as those computations."""
    trace = Trace(f"assay.torch, PyTorch {torch.__version__}", MODELS)
    drop_unheld(run)
    values = run.memory.values
    touched = downstream(run)
    used = {v for one in run.regions for v in one.operands + one.results} | set(run.inputs) | set(run.parameters)
    for i, value in enumerate(values):
        if i in used:
            trace.add(value.name, str(value.kind).removeprefix("torch."), list(value.tensor.shape), stored(value))
    def name(v: int | str) -> str:
        return v if isinstance(v, str) else values[v].name
    trace.inputs, trace.parameters = [name(v) for v in dict.fromkeys(run.inputs)], [name(v) for v in dict.fromkeys(run.parameters)]
    number = {}
    for v in sorted(run.constants & used):
        if known is None:
            break
        if not bool(torch.isfinite(values[v].tensor).all()):  # no sum or power of other numbers
            continue
        trace.inputs.remove(name(v))
        trace.region("constant", "cpu, float64" if values[v].tensor.dtype == torch.float64 else "cpu", [], [name(v)], *constant_of(values[v].tensor, known))
    for one in run.regions:
        nodes, outputs = (one.nodes, one.outputs) if known is None else read_again(one.nodes, one.outputs, len(one.operands), known)
        number[id(one)] = trace.region(one.name, model_of(one, values), [name(v) for v in one.operands], [name(v) for v in one.results],
                                       [{key: what for key, what in node.items() if key not in ("reads", "ends")} for node in nodes], outputs)
    trace.vjps = [{"of": number[id(one.of)], "result": one.result, "cotangent": name(one.cotangent),
                   "cotangents": {str(k): name(v) for k, v in one.cotangents.items()}} for one in run.products]
    for said, product in zip(trace.vjps, run.products):
        if (own := product.cotangents if product.is_own else product.convention) is not None:
            said["convention"] = {str(k): name(v) for k, v in own.items()}
        if product.surrogate is not None:
            said["surrogate"] = numbered(product)
    trace.gradients = [{"output": name(c.output), "seed": name(c.seed), "of": {name(k): name(v) for k, v in c.of.items()}} for c in run.claims]
    trace.tangents = [{"from": {name(k): name(v) for k, v in one.start.items()}, "to": {name(k): name(v) for k, v in one.found.items()},
                       "detached": [name(v) for v in one.detached]} for one in run.moves if one.found]
    trace.outputs = sorted({n for c in trace.gradients for n in c["of"].values()} | {n for c in trace.tangents for n in c["to"].values()})
    trace.detached = [name(v) for v in sorted((run.cut - set(run.edges.values())) | run.cut_for_good) if v in used and v in touched] + [name(v) for v in sorted(run.stopped)]
    trace.opaque = [{"name": what, "results": [name(v) for v in found]} for what, found in opaque_of(run) if found]
    return trace


@dataclass(repr=False)
class Report(gate_reports.Judged):
    """The findings of a gate in a recorded run.

    Attributes:
        exit_code: 0 passed, 1 failed, 3 undecided.
        left: Tensors whose numbers the program asked for, how and where.
        detached: Values on the way to an output that `detach`, `data` or `no_grad` of the program cut off.
        unreached: Sides of thresholds on which no element lay; of a recorded run, those inside of Functions.
        untried: Further runs of `gradcheck` for which there was no time.
    """

    exit_code: int
    written: dict[str, Any]  # by the program, in the schema of its JSON; `json` has what was found here, too
    printed: str  # by the program
    parts: Sequence[bytes | memoryview]
    left: list[str] = field(default_factory=list)
    detached: list[str] = field(default_factory=list)
    unreached: list[str] = field(default_factory=list)
    untried: list[str] = field(default_factory=list)
    cases: list[gate_reports.Case] = field(init=False)
    told: gate_reports.Report | None = field(default=None, init=False)  # to the pytest plugin

    def __post_init__(self) -> None:
        self.cases = [gate_reports.case_of(one) for one in self.written.get("cases", [])]

    @property
    def text(self) -> str:
        """Findings first, then counts of each kind of operation, facts of the run, and the verdict."""
        if "cases" not in self.written:
            return self.printed
        parts = Parts(self.printed, len(self.written.get("facts", {})))
        return "\n".join([*findings_of(self.cases), *parts.statements, *parts.counts, *parts.facts, *self._told(), parts.verdict(self.verdict)]) + "\n"

    @property
    def explanation(self) -> str:
        """The finding that decides, the others, and the verdict: what an exception says."""
        found = self._first("fail" if self.failed else "undecided")
        if "cases" not in self.written:
            return f"{self.headline}\n{self.printed}".rstrip()
        parts = Parts(self.printed, len(self.written.get("facts", {})))
        details = [] if found is None else finding_lines(*found, True)[2:]
        return "\n".join([self.headline, *details, *findings_of(self.cases, found[1] if found else None), *parts.statements, *self._told(), parts.verdict(self.verdict)])

    def _told(self) -> list[str]:
        return [listed(what, names) for what in ("left", "detached", "unreached", "untried") if (names := getattr(self, what))]

    @property
    def json(self) -> dict[str, Any]:
        """The report in the schema of the program's JSON."""
        return self.written | ({"cases": [one.to_json() for one in self.cases]} if "cases" in self.written else {})

    @property
    def trace(self) -> bytes:
        """Return the trace that was judged (docs/reference/trace-format.md)."""
        return b"".join(self.parts)

    def add(self, rule: str, case: str, message: str, kind: str = "undecided", details: Sequence[str] = ()) -> None:
        """One more finding, by which the run is undecided, or fails."""
        self.exit_code = 1 if kind == "fail" else self.exit_code or 3
        self.written["verdict"] = {1: "failed", 3: "undecided"}.get(self.exit_code, self.written.get("verdict"))
        self.written.setdefault("cases", [])
        self.cases.append(gate_reports.Case(case, rule, findings=[gate_reports.Finding(kind, rule, case, message, list(details))]))

    def tell(self, what: str, names: list[str]) -> None:
        """Add names to the report that tell of the run, and are no findings."""
        if names:
            self.written[what] = getattr(self, what)[:] + names
            getattr(self, what).extend(names)

    def fact(self, name: str, words: str) -> None:
        """Replaces a fact of the run."""
        before = self.written.get("facts", {}).get(name)
        if before is not None:
            self.written["facts"][name] = words
            self.printed = self.printed.replace(f"\n{name}: {before}\n", f"\n{name}: {words}\n")

    def remark(self, words: str) -> None:
        """Adds to the finding by which the run fails, or else is undecided."""
        if found := self._first("fail" if self.failed else "undecided"):
            one = found[1]
            one.opening = one.headline if words in one.headline else f"{one.headline}; {words}"

    def _first(self, kind: str) -> tuple[gate_reports.Case, gate_reports.Finding] | None:
        """The first finding of a kind that no waiver covers."""
        return next(((case, one) for case in self.cases for one in case.findings if one.kind == kind and not one.waiver), None)

    @property
    def verdict(self) -> str:  # type: ignore[override]
        """"passed", "passed with waivers", "failed" or "undecided"."""
        return str(self.written.get("verdict", {0: "passed", 1: "failed"}.get(self.exit_code, "undecided")))

    @property
    def headline(self) -> str:
        """The finding that decides, in one line: what is wrong, at which element, and in which Function or operation."""
        if found := self._first("fail" if self.failed else "undecided"):
            case, one = found
            return f"{'failed' if self.failed else 'undecided'}: {one.headline} ({case.name}, {without_digest(case.op)}) [{one.rule}]"
        refused = self.written.get("rejection")
        reasons = [*self.written.get("troubles", []), *([f"{refused['code']} at {refused['place']}: required {refused['required']}, found {refused['found']}"] if refused else []),
                   *(f"too many elements of {op} are vacuous or unsupported [{gate_reports.VACUOUS}]" for op in self.written.get("undecided_ops", [])),
                   *(f"{one.message} ({one.case})" for one in self.findings if one.kind == "unsupported")]
        return f"{self.verdict}: {reasons[0]}" if reasons else self.verdict

    def as_cases(self) -> gate_reports.Report:
        """The same as a report of `assay.testing`: for JUnit XML and SARIF."""
        cases = [replace(case, findings=[replace(one, details=one.details[:]) for one in case.findings]) for case in self.cases]
        for op in self.written.get("undecided_ops", []):
            why = gate_reports.Finding("undecided", gate_reports.VACUOUS, op, f"too many elements of {op} are vacuous or unsupported")
            cases.append(gate_reports.Case(gate_reports.UNDECIDED_KIND, op, findings=[why]))
        return gate_reports.Report(cases, self.text, "assay gradcheck", list(self.written.get("troubles", [])))

    @property
    def findings(self) -> list[gate_reports.Finding]:
        """All findings, worst first."""
        order = {"fail": 0, "undecided": 1}
        return sorted(super().findings, key=lambda one: order.get(one.kind, 2))

    @property
    def undecided_share(self) -> float:
        """The share of elements that are vacuous, unsupported, or of products that could not be compared."""
        counts = self.counts
        undecided = sum(one.elements for one in self.findings if one.kind == "undecided"
                        and one.rule not in ("audit.opaque", "contract.vacuous", "gradient.dead"))
        total = sum(counts.values()) + undecided
        return (counts["vacuous"] + counts["unsupported"] + undecided) / total if total else 1.0


def announce(report: Report, function: Any = None) -> None:
    """Tells the pytest plugin, with the place of the `torch.autograd.Function` that a finding names, or else of the function that was checked. What its
    waivers cover is waived in the report."""
    if not audits.listeners:
        return
    found = report.told = report.as_cases()
    for case in found.cases:
        case.file, case.line = _place_of_case(case, function)
    audits.announce([], found)
    if any(one.waiver for one in found.findings):
        report.written["undecided_ops"] = found.settle(report.written.get("undecided_ops", []))
        for case, told in zip(report.cases, found.cases):
            for finding, one in zip(case.findings, told.findings):
                finding.waiver = one.waiver
        if found.passed:
            report.exit_code, report.written["verdict"] = 0, found.verdict


_BACKWARD = re.compile(r"the backward of (\w+)|\(backward of (\w+)|^backward of (\w+)")
_LINE = re.compile(r"([\w.-]+\.py):(\d+)")
_TORCH = os.path.dirname(torch.__file__) + os.sep


def _place_of_case(case: gate_reports.Case, function: Any) -> places.Place:
    """The line of the backward that a finding is about, of the forward of a Function, or of the function that was checked: never a line of PyTorch."""
    told = _BACKWARD.search(" ".join([case.name, *(one.headline for one in case.findings)]))
    own = _function_named(next(name for name in told.groups() if name) if told else case.name.partition("(")[2].rpartition(")")[0].rpartition(".")[2])
    is_backward = told is not None or case.op.startswith(("vjp of ", "kinks of ", "surrogate ")) or any(one.rule.startswith("gradient.") for one in case.findings)
    named = function if own is None else own.backward if is_backward else own.forward
    found = places.place_of(named)
    return _place_told(case, found[0]) or (places.NOWHERE if found[0].startswith(_TORCH) else found)


def _place_told(case: gate_reports.Case, near: str) -> places.Place | None:
    """The line that the first finding names, such as fns.py:8: in the file of the function that was checked, or in a module of that name."""
    told = _LINE.search(case.findings[0].headline) if case.findings else None
    if told is None:
        return None
    known = {str(getattr(one, "__file__", None) or "") for one in list(sys.modules.values())}
    files = {near} if os.path.basename(near) == told[1] else {one for one in known if os.path.basename(one) == told[1]}
    return (files.pop(), int(told[2])) if len(files) == 1 else None


def _function_named(name: str) -> Any:
    """The Function of that name; None where no Function, or more than one, has it."""
    classes, every = [torch.autograd.Function], list[Any]()
    while classes:
        classes = [below for one in classes for below in one.__subclasses__()]
        every += [one for one in classes if one.__name__ == name]
    return every[0] if len(every) == 1 else None


def locate(report: Report, run: Recorder | None) -> None:
    """Say in a finding where the backward of the Function stands that it names."""
    found = report._first("fail")
    named = re.search(r"\(([^()]*)\)", found[0].name) if found is not None else None
    name = named[1].rpartition(".")[2] if named else ""
    if run is not None and name in run.places and run.places[name][0] and not run.places[name][0].startswith(_TORCH):
        path, line = run.places[name]
        report.remark(f"the backward of {name} stands at {shown_path(path)}:{line}")


class GradcheckError(Rejected, AssertionError):
    """A gradient is wrong (`failed`), or could not be decided (`undecided`). The text opens with the finding; `report` is what the gate found."""

    __module__ = "assay"  # as users write it, and as tracebacks then name it

    def __init__(self, message: str, report: Report) -> None:
        super().__init__(message)
        self.report = report
        if report.told is not None:
            audits.note_raised(report.told, self)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.what, replace(self.report, parts=[bytes(one) for one in self.report.parts]))

    @property
    def failed(self) -> bool:
        return self.report.failed

    @property
    def undecided(self) -> bool:
        return self.report.undecided


def judge(run: Recorder, verb: str = "gradcheck", *options: str, detached: bool | Collection[str] = ()) -> Report:
    """Runs a gate on a recording: `gradcheck`, or `audit` where nothing was differentiated.

    Args:
        run: The recording.
        verb: "gradcheck" or "audit".
        *options: Options of the program, such as "--kinks", "pytorch".
        detached: Names of tensors that may have no gradient, since `detach` or `no_grad` cuts all their ways to the output; True for all.
            Other tensors without a gradient make the report undecided.

    Returns:
        The report.

    Raises:
        assay.Error: The program cannot read the trace, or made a mistake. This is no verdict.
    """
    return told(run, explained(run, judged(run, verb, *options, detached=detached)))


def explained(run: Recorder, report: Report) -> Report:
    """Take back findings that other numbers of the run explain."""
    settled(run, report)
    shown_elsewhere(run, report)
    return report


def told(run: Recorder, report: Report) -> Report:
    """Add facts of the run, and tell the pytest plugin."""
    require_met(run.surrogates, run.met)
    report.tell("unreached", unreached_of(run))
    locate(report, run)
    announce(report)
    locate(report, run)  # the finding that decides is another one where waivers cover some
    return report


def unreached_of(run: Recorder) -> list[str]:
    """Sides of the thresholds inside of Functions on which no element of the whole run lay. Steps on given data may miss one, so that they stay judged."""
    left: dict[tuple[str, str], tuple[Branch, set[str]]] = {}
    for one in run.branches:
        if run.in_own(one):
            where = "" if one.is_backward else next((own.name for own in run.own if one.result in own.results), "")
            key = where, one.name + one.place + one.line
            told = set(one.missing)
            left[key] = one, left[key][1] & told if key in left else told
    named = [f"{one.at(side)}{f' ({where})' if where else ''}" for (where, _), (one, sides) in left.items() for side in one.wanted if side in sides]
    return named + not_asked(run) + [f"{one} reads a cotangent" for one in run.bent] + [f"{one} reads an input (gradcheck of the Function alone draws other inputs)" for one in run.unfollowed]


def not_asked(run: Recorder) -> list[str]:
    """Floating-point tensors among the operands of Functions' whose gradients nobody asked for: what the backward gives there was not judged."""
    asked = {v for claim in run.claims for v in claim.of}
    left = []
    for region in run.own:
        known = {v for one in run.products if one.of is region for k, v in enumerate(region.operands) if k in one.cotangents}
        for v in region.operands:
            value = run.memory.values[v]
            is_given = v in run.inputs and v not in asked and value.tensor.is_floating_point() and value.tensor.numel() > 1
            if known and is_given and v not in known:
                left.append(f"the gradient of {region.name} by '{value.name}', which the run did not ask for")
    return list(dict.fromkeys(left))


def parts_of(run: Recorder, known: Composed | None = None) -> Sequence[bytes | memoryview]:
    """The bytes of a trace that the program can read."""
    parts = trace_of(run, known).parts()
    if len(parts[1]) > MOST_HEADER:
        raise Refused("the recording is too long to be judged", where="run", why=f"its header has {len(parts[1]):,} bytes, of at most {MOST_HEADER:,}: an operation moves "
                      "many elements one by one, and each place is written down", advice="give smaller shapes, or move whole rows, columns or blocks")
    return parts


def is_of_products(report: Report) -> bool:
    """Whether it has findings that another reading of the program's numbers may not have."""
    return any(one.rule in ("gradient.product", "gradient.value") for one in report.findings)


def is_of_identities(report: Report) -> bool:
    """Whether formulas differ alone, and no numbers do."""
    return all(IDENTITY in one.message for one in report.findings if one.rule in ("gradient.product", "gradient.value"))


@contextmanager
def judging(run: Recorder, verb: str = "gradcheck", *options: str, detached: bool | Collection[str] = ()) -> Iterator[Callable[[], Report]]:
    """A gate that runs beside the caller, who waits for its report, or leaves and so ends it."""
    if not isinstance(run, Recorder):
        raise wrong("run", "what assay.torch.record gave", run)
    if verb not in ("gradcheck", "audit") or not all(isinstance(one, str) for one in options):
        raise wrong("verb", "'gradcheck' or 'audit', and options of the program as texts", (verb, *options))
    if not isinstance(detached, bool) and (isinstance(detached, str) or not all(isinstance(one, str) for one in detached)):
        raise wrong("detached", "True, or names of tensors", detached)
    if not run.regions and not run.opaque:
        raise UsageError("nothing to judge", where="run", why="no operation was recorded", advice="run the model inside of `with assay.torch.record(...)`")
    parts = parts_of(run)
    cut, marked = ([name for name in names if detached is False or detached is not True and name not in detached]
                   for names in (cut_off(run), [run.memory.values[v].name for v in marked_of(run)]))
    if sum(len(one) for one in parts) > MANY_BYTES and "--jobs" not in options:
        options = (*options, "--jobs", str(min(MOST_JOBS, len(os.sched_getaffinity(0)))))
    verb = "audit" if verb == "gradcheck" and not run.claims and not any(one.found for one in run.moves) else verb
    def found(read: Sequence[bytes | memoryview], wait: Callable[[], Any]) -> Report:
        report = report_of(run, Report(*programs.verdict(verb, wait()), read), cut, marked)
        return report if report.passed or read is not parts else second(report)

    def second(first: Report) -> Report:
        """Judge the same run again, with its numbers read a second time."""
        if not (run.doubles.met or run.constants) or not is_of_products(first):
            return first
        read = parts_of(run, Composed(run.doubles))
        with programs.started(verb, read, *options) as wait:
            report = found(read, wait)
        return report if report.passed or not report.failed and (not is_of_products(report) or is_of_identities(report)) else first
    with programs.started(verb, parts, *options) as wait:
        yield lambda: found(parts, wait)


def judged(run: Recorder, verb: str = "gradcheck", *options: str, detached: bool | Collection[str] = ()) -> Report:
    """Judge as `judge` does, and tell nobody."""
    with judging(run, verb, *options, detached=detached) as wait:
        return wait()


def left_words(case: str, suspect: str) -> str:
    """Why a product could not be judged that reads a number which left the graph, and what to write instead. The number may come back inside of a Function."""
    own, taken = re.search(r"\(backward of ([^)]*)\)", case), _TAKEN.search(suspect)
    tensor, by, where = (f"'{taken[1]}'", taken[2], f"{taken[3]}: {taken[2]}() took '{taken[1]}' out of the graph") if taken else ("the tensor", "item", f"a number left the graph ({suspect})")
    if own is None:
        return (f"{where} and the number came back as a constant, so its gradient is missing. Leave {by}() out and compute with {tensor}; if no gradient is meant to flow "
                f"through it, write detach() in place of {by}()")
    return (f"{where}, and {own[1]} used the number in Python. So the derivative by {tensor} is unknown, and the backward of {own[1]} was not judged. Let {own[1]} compute with {tensor} "
            f"itself, and its backward include that part; if no gradient is meant to flow through it, compute it outside of {own[1]} from x.detach(), and pass it as a tensor. If the "
            f"number only decides a branch, compare the tensor in its place")


def report_of(run: Recorder, found: Report, cut: list[str], marked: list[str]) -> Report:
    """Add the recorder's own knowledge to the program's findings. `cut`: tensors without a gradient; `marked`: results that lead to the output, and are
    marked as not differentiable."""
    opaque = [case for case in found.cases if case.op == "opaque"]
    for case, values in zip(opaque, [values for _, values in opaque_of(run) if values]):
        for one in case.findings if values[0] in run.suspected else []:
            one.message = left_words(case.name, run.suspected[values[0]])
    wrong = [(case, one) for case in found.cases for one in case.findings if one.kind == "fail"]
    if run.frames.others and not found.passed:
        found.remark(f"a checkpoint computed other operations or numbers in the backward pass than in its forward pass: {', '.join(list(run.frames.others)[:3])}")
    for lines, sign, how in ((run.placed, "points of the recorded ranges", "Elements are taken or written at places that inputs decide ({}), and places are taken as given: nothing tells "
                              "what holds for others. Use where, or a mask as the index"),
                             (sorted(run.solvers), "which is also the derivative at the recorded point", "A backward pass differentiates another function ({}), as that of an adjoint "
                              "equation does. It may be the derivative up to the error of a solver, which is no rounding. Differentiate the steps of the solver, or accept it by a waiver"),
                             (run.looped, "which is also the derivative", "A loop decides by one number after the other ({}), and its decisions are taken as given: nothing tells what "
                              "holds for others. Compare tensors, and use where")):
        if lines and wrong and all(sign in one.headline for _, one in wrong):
            for case, one in wrong:
                one.kind, one.opening = "undecided", f"{one.headline}. {how.format(', '.join(dict.fromkeys(lines)))}"
            found.exit_code, found.written["verdict"], wrong = 3, "undecided", []
    found.tell("left", [str(one) for one in run.left])
    found.tell("detached", [run.memory.values[v].name for v in [*cuts_of(run), *given_up(run)]])
    for name, place in run.changed.items():
        found.add("gradient.hook", f"gradient of '{name}'", f"a hook changed the gradient of '{name}' after it was accumulated{f' at {place}' if place else ''}", "fail")
    for name in marked:
        found.add("gradient.detached", f"'{name}'", f"a Function marked its result '{name}' as not differentiable, its operands move it, and the output is computed from it")
    for name in sorted(run.written):
        found.add("gradient.cotangent", f"backward of {name}", f"the backward of {name} writes to its cotangent, which the engine may hand to other nodes, too: "
                  "what they compute is wrong then. Write to a copy")
    if is_of_none(run) and not cut:
        found.add("gradient.nothing", "gradients", "no named tensor has a gradient: what was differentiated depends on none of them, or only on numbers that left the graph, as in "
                  "torch.tensor(loss.item()). Differentiate what is computed from them")
    for name in cut:
        found.add("gradient.detached", f"gradient of '{name}'", f"'{name}' has no gradient: {why_cut(run, name)}")
    return found


def loss_of(loss: Callable[[], torch.Tensor]) -> torch.Tensor:
    """Call a loss, and return its tensor if a backward pass can begin there."""
    found = loss()
    is_tensor = isinstance(found, torch.Tensor)
    if is_tensor and found.numel() == 1 and found.requires_grad:
        return found
    given = f"a tensor of shape {list(found.shape)}" if is_tensor and found.numel() != 1 else "a tensor that depends on no parameter" if is_tensor else "None" if found is None else f"a {type(found).__name__}"
    raise UsageError(f"the loss returned {given}", where="loss", advice="return a tensor of one element that was computed from parameters")


def step(model: torch.nn.Module | Mapping[str, torch.Tensor], loss: Callable[[], torch.Tensor], optimizer: torch.optim.Optimizer | None = None,
         *options: str, detached: bool | Collection[str] = (), surrogate: Intended | None = None) -> Report:
    """Record one training step, `loss().backward()` and the step of the optimizer, and judge it. A wrong step does not raise: look at `report.passed`,
    or call `check_step`.

    Args:
        model: The module that is trained, or its parameters by name: findings call them so.
        loss: Computes the loss, a tensor of one element, from the module. It is called once; and a second time, at other numbers for parameters that are
            0 as a whole, if gradients are 0 for that reason.
        optimizer: Makes its step after the backward pass, which is judged, too. None: no step.
        *options: Options of the program, such as "--allow-dead".
        detached: Names of parameters and inputs that may have no gradient, such as `first.weight`; True for all. Only needed where the program detaches
            them on purpose.
        surrogate: Functions of which another gradient is meant, each with the function whose gradient that is: `{ClampSTE: lambda x: x}`.

    Returns:
        The report.
    """
    modules = modules_of(loss)
    names, start = Names(modules, loss), Start(model, modules)

    def recorded(updates: torch.optim.Optimizer | None) -> Recorder:
        with Recorder(model, surrogate=surrogate) as run:
            names.give(run)
            loss_of(loss).backward()
            if updates is not None:
                updates.step()
        return run
    run = recorded(optimizer)
    other = start.elsewhere(run, lambda: recorded(None))
    with judging(run, "gradcheck", *options, detached=detached) as wait, ExitStack() as stack:
        second = None if other is None else stack.enter_context(judging(other, "gradcheck", *options, detached=detached))  # beside the first
        report = explained(run, wait())
        if other is not None and second is not None and report.undecided:
            shown_at_other_numbers(run, report, start.zeros, other, explained(other, second()))
    return told(run, report)


def check_step(model: torch.nn.Module | Mapping[str, torch.Tensor], loss: Callable[[], torch.Tensor], optimizer: torch.optim.Optimizer | None = None,
               *options: str, detached: bool | Collection[str] = (), surrogate: Intended | None = None) -> Report:
    """Judge one training step as `step` does, and raise if it did not pass.

    Raises:
        assay.GradcheckError: The step is wrong or undecided; the text opens with the finding, and says where the backward stands.
    """
    __tracebackhide__ = True
    report = step(model, loss, optimizer, *options, detached=detached, surrogate=surrogate)
    if not report.passed:
        raise GradcheckError(report.explanation, report)
    return report
