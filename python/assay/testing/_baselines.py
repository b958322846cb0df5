"""Baselines: the largest share of its allowance that each operation uses, by the name that findings give it (docs/reference/gates.md).

The program compares one recording with a file (app/gates/waivers.cpp). A session of tests makes many, so the comparison stands here once more.
"""
from __future__ import annotations

import json
from typing import Iterable

from assay._core.gate_reports import Report
from assay.errors import MalformedInput

RATCHET, LEAST = 1.25, 0.05  # growth of a share that a baseline admits; shares below LEAST are not compared


def used(reports: Iterable[Report]) -> dict[str, float]:
    """The shares of operations of which an element passed."""
    found: dict[str, float] = {}
    for case in (case for report in reports for case in report.cases if case.passed):
        found[case.op] = max(found.get(case.op, 0.0), case.head_room_used)
    return found


def write(path: str, reports: Iterable[Report]) -> None:
    """The file."""
    with open(path, "w", encoding="utf-8") as out:
        out.write(json.dumps({"schema": "assay.baseline/1", "head_room": dict(sorted(used(reports).items()))}, indent=2) + "\n")


def read(path: str) -> dict[str, float]:
    """The shares in a file; MalformedInput says what is wrong with it."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError) as why:
        reason = why.strerror if isinstance(why, OSError) else f"it is no JSON, {why}"
        raise MalformedInput("the baseline cannot be read", where=path, why=str(reason), advice="write it with --assay-write-baseline", code="baseline.json") from None
    shares = found.get("head_room") if isinstance(found, dict) else None
    if not isinstance(shares, dict) or not all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in shares.values()):
        raise MalformedInput("the baseline cannot be used", where=path, why='expected an object "head_room" with a number for each operation', advice="write it with --assay-write-baseline",
                             code="baseline.json")
    return shares


def compare(path: str, reports: Iterable[Report]) -> tuple[list[str], list[str]]:
    """Name the operations that use over a quarter more than the file says, and those that it does not have."""
    before, now = read(path), used(reports)
    more = [f"{op} uses {100 * share:.3g} % of its allowance; the baseline allows "
            + (f"{100 * before[op]:.3g} % and a quarter more" if RATCHET * before[op] > LEAST else f"{100 * LEAST:.3g} %") + ": find out why, or write a new baseline"
            for op, share in sorted(now.items()) if op in before and not share <= max(LEAST, RATCHET * before[op])]
    return more, [f"{op} is not in the baseline {path}, so it was not compared: write a new baseline" for op in sorted(now) if op not in before]
