"""The report of a kernel for programs: the JSON of the schema assay.kernel/1 (docs/reference/kernel-reports.md)."""
from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Mapping, Sequence

import numpy as np

from assay._core.gate_reports import Case, Finding, Report, counted
from ._plans import DTYPES, Probe

_MOST_FINDINGS, _MOST_REASONS = 20, 20
ORDINARY = ("integers", "dense", "sparse", "one hot")  # kinds of values that are neither at kinks nor at the ends of the range
_KINDS = ("fail", "undecided", "vacuous", "unsupported", "error")


def plain_of(value: Any) -> Any:
    """A value in the words of JSON, which has neither infinities nor NaN nor fractions: these become text."""
    if isinstance(value, Mapping):
        return {str(key): plain_of(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_of(one) for one in value]
    if isinstance(value, np.generic):
        return plain_of(value.item())
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return int(value) if isinstance(value, Fraction) and value.denominator == 1 else str(value)


def call_of(probe: Probe) -> dict[str, Any]:
    """How a kernel was called on a probe: types, shapes and layouts of its operands, the shapes of its results, the attributes."""
    operands = [{"dtype": one.dtype, "shape": list(one.shape), "layout": probe.layout_of(i)} for i, one in enumerate(probe.operands)]
    return {"operands": operands, "results": [{"dtype": dtype, "shape": list(shape)} for dtype, shape in probe.results], "attributes": plain_of(probe.arguments())}


def json_of(report: Report, probes: Mapping[str, int], faults: Sequence[Mapping[str, Any]], raised: Sequence[tuple[str, str]], vacuous_shares: Mapping[str, float],
            tried: str, remedy: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """All that a program needs to act on a verdict."""
    found = [(case, one) for case in report.cases for one in case.findings if one.kind in _KINDS]
    open_ = [pair for pair in found if pair[1].kind == "fail"] or [pair for pair in found if pair[1].kind != "vacuous"]
    first = next((case for case in report.cases), None)
    headline = report.headline or next((one.headline for _, one in open_), "") or report.summary()
    whole: dict[str, Any] = plain_of({
        "schema": "assay.kernel/1", "verdict": report.verdict, "headline": headline,
        "kernel": {"file": first.file, "line": first.line} if first else None, "asked": asked, "faults": faults, "remedy": remedy or None,
        "probes": probes, "elements": report.counts, "head_room_used": report.head_room_used, "vacuous_shares": vacuous_shares,
        "worst": _finding(*max(open_, key=_size)) if open_ else None,
        "findings": [_finding(*one) for one in open_[:_MOST_FINDINGS]], "findings_left_out": max(len(open_) - _MOST_FINDINGS, 0),
        "failures": {"by_shape": _rows(report.cases, _shapes), "by_values": _rows(report.cases, lambda case: case.group.partition(",")[0]),
                     "by_layout": _rows(report.cases, lambda case: case.call["operands"] and " and ".join(dict.fromkeys(one["layout"] for one in case.call["operands"])) or "none")},
        "declined": _reasons(report.declined, raised),
        "not_tried": _not_tried(probes, asked, tried, vacuous_shares), "text": report.text})
    return whole


def _reasons(declined: Sequence[tuple[str, str]], raised: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """Why probes were declined: each reason once, with the first of its probes and their number."""
    of_raised, found = set(raised), dict[tuple[str, bool], list[str]]()
    for name, why in declined:
        found.setdefault((why, (name, why) not in of_raised), []).append(name)
    return [{"why": why, "is_refusal": is_refusal, "probes": len(names), "first": names[0]} for (why, is_refusal), names in list(found.items())[:_MOST_REASONS]]


def _finding(case: Case, one: Finding) -> dict[str, Any]:
    return {"probe": case.name, "call": dict(case.call) or None, "kind": one.kind, "rule": one.rule, "subject": one.subject, "message": one.headline, "elements": one.elements,
            "first": one.first, "worst": one.worst, "details": one.below}


def _size(pair: tuple[Case, Finding]) -> tuple[bool, float, int]:
    """Ordinary numbers in dense memory before others, since a reader can follow them; then the error, then the number of elements."""
    steps = (pair[1].worst or {}).get("steps", -1)
    return pair[0].kind in ORDINARY, (float(steps) if isinstance(steps, (int, float)) or steps == "inf" else -1.0), pair[1].elements


def _shapes(case: Case) -> str:
    return ", ".join("x".join(map(str, one["shape"])) or "scalar" for one in case.call["operands"])


def _rows(cases: Sequence[Case], name: Any) -> list[dict[str, Any]]:
    """How many probes of each kind were judged, and how many of them fail."""
    counts: dict[str, list[int]] = {}
    for case in cases:
        if case.call:
            row = counts.setdefault(name(case), [0, 0])
            row[0] += 1
            row[1] += any(one.kind == "fail" for one in case.findings)
    return [{"of": of, "judged": judged, "failed": failed} for of, (judged, failed) in counts.items()]


def _not_tried(probes: Mapping[str, int], asked: Mapping[str, Any], tried: str, vacuous_shares: Mapping[str, float]) -> list[str]:
    """List in words, for whoever mends the kernel, the inputs that the verdict does not cover."""
    said = []
    if probes["declined"]:
        said.append(f"{counted(probes['declined'], 'probe')} that the kernel declined or on which it raised an exception")
    if probes["not_judged"]:
        said.append(f"{counted(probes['not_judged'], 'probe')} that ran and were not judged, since enough others fail")
    if not asked.get("blocks", True):
        said.append("shapes larger than a tile, and shapes made from given ones (blocks=False)")
    if not asked.get("strided", True):
        said.append("operands that are not dense in memory (strided=False)")
    if wide := [f"{100 * share:.3g} % of the elements of the kind {kind}" for kind, share in vacuous_shares.items() if share]:
        said.append("elements whose contract admits nearly anything: " + ", ".join(wide))
    if asked.get("dtype") in DTYPES:
        said.append(f"other element types than {asked['dtype']}")
    said.append("other sizes than those " + tried.removeprefix("sizes ") if tried.startswith("sizes tried") else tried or "other shapes than those of failures.by_shape")
    return [*said, "races that show only on a device, and the time that the kernel takes"]


__all__ = ["call_of", "json_of", "plain_of"]
