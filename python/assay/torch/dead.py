"""Products of zeros, such as that of the last step of a recurrence, whose state nobody reads: other products of the run show the same operation."""
from __future__ import annotations

import re
from typing import Any

from .backward import Recorder
from .values import Region

LAYOUT = {"slice", "reshape", "gather", "permute", "concat", "pad", "expand", "constant"}  # of kernels that move elements, whatever the graph is
_OF = re.compile(r"^region (\d+) \(")


def shown_elsewhere(run: Recorder, report: Any) -> None:
    """Take back findings of dead products, where the same operation has a product in the run that is not dead, and no gradient is 0 as a whole.

    The backward of a Function may decide what it computes, so that another call of it shows nothing."""
    own, found = {id(one) for one in run.own}, dead_products(run, report)
    dead = {id(run.regions[number]) for number, _, _ in found}
    if not dead or not all(is_live(run, bar) for claim in run.claims for bar in claim.of.values()):
        return
    live = {kind_of(one.of) for one in run.products if id(one.of) not in dead | own and is_live(run, one.cotangent)}
    shown = [(case, one) for number, case, one in found
             if id(region := run.regions[number]) not in own and (kind_of(region) in live or is_partly_read(run, region))]
    if shown:
        take_back(report, shown, f"of {len(shown)}, the same operation has another product, which is not dead")


def dead_products(run: Recorder, report: Any) -> list[tuple[int, Any, Any]]:
    """Findings of dead products, each with the number of the region and its case."""
    return [(number, case, one) for case in report.cases for one in case.findings
            if one.rule == "gradient.dead" and one.kind == "undecided" and (number := number_of(case.name, run)) is not None]


def take_back(report: Any, found: list[tuple[Any, Any]], why: str) -> None:
    """Remove findings from a report, which passes if nothing else is open."""
    for case, one in found:
        case.findings.remove(one)
    report.cases = [case for case in report.cases if case.findings or not case.name.startswith("region ") or case.judged]
    if before := report.written.get("facts", {}).get("dead cotangents"):
        report.fact("dead cotangents", f"{before}; {why}")
    is_open = any(one.kind in ("fail", "undecided", "unsupported", "error") and not one.waiver for one in report.findings)
    if report.exit_code == 3 and not is_open and not any(report.written.get(word) for word in ("undecided_ops", "troubles", "rejection")):
        report.exit_code, report.written["verdict"] = 0, "passed"


def number_of(name: str, run: Recorder) -> int | None:
    """Find the recorded region that a case is about."""
    told = _OF.match(name)
    number = int(told[1]) if told else -1
    return number if 0 <= number < len(run.regions) and name == f"region {number} ({run.regions[number].name})" else None


def is_partly_read(run: Recorder, region: Region) -> bool:
    """Whether elements are moved alone, and a part of the cotangent of what they became is not 0: other parts of a stack are read by nobody."""
    read = [one for one in run.products if one.of is region and is_live(run, one.cotangent)]
    return kind_of(region)[-1] == () and any(is_live(run, bar) for one in read for bar in one.cotangents.values())


def is_live(run: Recorder, bar: Any) -> bool:
    """Whether a cotangent is a recorded value with an element that is not 0."""
    return isinstance(bar, int) and bool(run.memory.values[bar].tensor.any())


def kind_of(region: Region) -> tuple[Any, ...]:
    """Name what a kernel computes, whatever the shapes are."""
    ops = tuple(node["op"] for node in region.nodes)
    return region.name.rpartition(".")[2].partition("#")[0], region.is_double, region.storing, () if LAYOUT.issuperset(ops) else ops
