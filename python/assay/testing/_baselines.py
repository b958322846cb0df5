"""Baselines: the largest share of its allowance that each operation uses, by the name that findings give it (docs/reference/gates.md).

The program compares one recording with a file (app/gates/waivers.cpp). A session of tests makes many, so the comparison stands here once more.
"""
from __future__ import annotations

import json
import math
from typing import Any, Iterable, Sequence

from assay._core.gate_reports import Case, Report
from assay.errors import MalformedInput
from ._waivers import json_of

SCHEMA = "assay.baseline/1"
RATCHET, LEAST = 1.25, 0.05  # growth of a share that a baseline admits; shares below LEAST are not compared
NAMELESS = ("<lambda>", "expression")  # functions in the words of assay.ops that have no name of their own
_ADVICE = "write it with --assay-write-baseline"


def used(reports: Iterable[Report]) -> dict[str, float]:
    """The shares of operations of which an element passed. Reports that failed say nothing of a right kernel: a test may expect them."""
    found: dict[str, float] = {}
    for case in (case for report in reports if not report.failed for case in report.cases if case.passed):
        share = case.head_room_used if math.isfinite(case.head_room_used) else math.inf  # a share that is no number keeps within no baseline
        found[_name_of(case)] = max(found.get(_name_of(case), 0.0), share)
    return found


def _name_of(case: Case) -> str:
    """The operation; of a function without a name its test, too."""
    return f"{case.op} of {case.owner}" if case.op in NAMELESS else case.op


def shared(reports: Iterable[Report]) -> list[str]:
    """Name the entries that several functions would have."""
    places: dict[str, dict[str, None]] = {}
    for case in (case for report in reports for case in report.cases if case.passed and case.reference):
        places.setdefault(_name_of(case), {})[case.reference] = None
    return [f"{len(every)} functions would have one entry of the baseline, {name}: {', '.join(every)}. Give each a name of its own, with def"
            for name, every in sorted(places.items()) if len(every) > 1]


def write(path: str, reports: Sequence[Report]) -> None:
    """The file; MalformedInput if functions would have one entry, or a share is no number."""
    shares = used(reports)
    if wrong := [*shared(reports), *(f"the share of {op} is no number" for op, share in sorted(shares.items()) if not math.isfinite(share))]:
        raise MalformedInput("the baseline cannot be written", where=path, why=wrong[0], code="baseline.json")
    with open(path, "w", encoding="utf-8") as out:
        out.write(json.dumps({"schema": SCHEMA, "head_room": dict(sorted(shares.items()))}, indent=2) + "\n")


def read(path: str) -> dict[str, float]:
    """The shares in a file; MalformedInput says what is wrong with it."""
    found = json_of(path, "the baseline", _ADVICE, "baseline.json")

    def refused(why: str) -> MalformedInput:
        return MalformedInput("the baseline cannot be used", where=path, why=why, advice=_ADVICE, code="baseline.json")
    shares = found.get("head_room") if isinstance(found, dict) else None
    if not isinstance(shares, dict):
        raise refused('expected an object "head_room" with a number for each operation')
    if unknown := sorted(set(found) - {"schema", "head_room"}):
        raise refused(f'expected the fields "schema" and "head_room", got "{unknown[0]}"')
    if (schema := found.get("schema", SCHEMA)) != SCHEMA:
        raise refused(f'expected "{SCHEMA}" as "schema", got {json.dumps(schema)}')
    for op, share in shares.items():
        if not _is_share(share):
            raise refused(f"expected a share from 0 to 1 for {op}, got {json.dumps(share)}")
    return shares


def _is_share(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1  # NaN is none


def compare(path: str, reports: Sequence[Report], is_part: bool = False) -> list[str]:
    """Name the operations that use over a quarter more than the file says, and those that only one of both has. The reports of a part of the tests need not
    have every operation of the file."""
    before, now = read(path), used(reports)
    more = shared(reports)
    for op, share in sorted(now.items()):
        limit = max(LEAST, RATCHET * before.get(op, 0.0))
        if op not in before and not share <= limit:
            more.append(f"{op} uses {100 * share:.3g} % of its allowance, and is not in the baseline {path}, so nothing holds it to what it was: write a new baseline")
        elif not share <= limit:
            was = f"{100 * before[op]:.3g} % and a quarter more" if limit > LEAST else f"{100 * LEAST:.3g} %"
            more.append(f"{op} uses {100 * share:.3g} % of its allowance; the baseline allows {was}: find out why, or write a new baseline")
    failed = {_name_of(case) for report in reports if report.failed for case in report.cases}
    gone = [] if is_part else [op for op in sorted(before) if op not in now and op not in failed]
    return more + [f"the baseline {path} has {op}, but no check measured it: correct the name, or write a new baseline" for op in gone]
