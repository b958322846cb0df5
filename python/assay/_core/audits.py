"""One check: what ran as one, with its operands and results; and the audit of checks, by the program.

The one place that runs the audit: what judges in another way replaces `judge`.
"""
from __future__ import annotations

import dataclasses
import re
from typing import Any, Callable, Sequence

from assay.errors import MalformedInput
from . import programs
from .arrays import Bits
from .gate_reports import Case, Report, case_of
from .trace_writer import Trace

Node = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Check:
    """A region of a trace with tensors of its own. Values are numbered: operands first, then one per node."""

    name: str
    nodes: Sequence[Node]
    operands: Sequence[Bits]
    results: Sequence[Bits]
    model: str
    outputs: Sequence[int] | None = None  # value numbers; without them the last nodes are the results

    @property
    def op(self) -> str:
        """The operations, as the program names regions."""
        return "+".join(node["op"] for node in self.nodes if node["op"] != "constant") or "none"


def trace_of(checks: Sequence[Check], writer: str = "assay.testing") -> bytes:
    """The checks as one trace, a region each."""
    trace = Trace(writer)
    for index, check in enumerate(checks):
        mark = "" if len(checks) == 1 else f"{index} "
        operands = [trace.given(f"{mark}x{i}", one.dtype, one.shape, one.data) for i, one in enumerate(check.operands)]
        names = [f"{mark}y" if len(check.results) == 1 else f"{mark}y{i}" for i in range(len(check.results))]
        results = [trace.add(name, one.dtype, one.shape, one.data) for name, one in zip(names, check.results)]
        trace.region(check.name, check.model, operands, results, list(check.nodes), None if check.outputs is None else list(check.outputs))
        trace.outputs += results
    return trace.to_bytes()


class Refused(MalformedInput):
    """A request that the program refused: a model's spelling, an attribute, operands without a result."""


# Called with the checks that were judged, and what came of them; the pytest plugin listens.
Listener = Callable[[Sequence[Check], Report], None]
listeners: list[Listener] = []
# Called with a report, perhaps before all of it is judged: waives findings.
reviewers: list[Callable[[Report], None]] = []


def judge(checks: Sequence[Check], *options: str) -> Report:
    """Return the audit's report on the checks, a case each. They come from the caller's process, so the budget against foreign traces does not apply."""
    status, found, text = programs.gate("audit", trace_of(checks), "--budget=1e300", *options)
    if "cases" not in found:
        for index, check in enumerate(checks):  # nothing was recorded: the caller knows the checks by their names
            text = text.replace(f"{programs.RUN}, region {index} ({check.name})", check.name)
        raise Refused(text.strip() or f"assay audit ended with status {status}")
    cases: list[Case] = [case_of(one) for one in found["cases"]]
    for index, (case, check) in enumerate(zip(cases, checks)):
        if case.op == "trace":  # the finding about a trace that is no run has no region
            continue
        case.name, case.dtype = check.name, check.results[0].dtype if check.results else ""
        if len(checks) > 1:
            _without_mark(case, re.compile(rf"(?<![\w.]){index} (?=[xy]\d*\b)"))
    return Report(cases, text=text, troubles=list(found.get("troubles", [])))


def _without_mark(case: Case, mark: re.Pattern[str]) -> None:
    """Tensors under the names that they have in a trace of this check alone."""
    for one in case.findings:
        one.subject, one.message, one.details = mark.sub("", one.subject), mark.sub("", one.message), [mark.sub("", line) for line in one.details]


def announce(checks: Sequence[Check], report: Report) -> None:
    """Tells the listeners."""
    for listener in list(listeners):
        listener(checks, report)


def review(report: Report) -> None:
    """Asks the reviewers."""
    for reviewer in list(reviewers):
        reviewer(report)


def note_raised(report: Report, why: Exception) -> None:
    """The report was raised as an exception. Where somebody listens, it is kept: it tells whether the test has caught it."""
    report.is_raised = True
    if listeners:
        report.exception = why
