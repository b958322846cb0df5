"""Several runtimes on one model: which leaves its contract first, and where."""
from __future__ import annotations

import dataclasses
from typing import Any, Sequence

from assay._core import arguments
from assay._core.arrays import bits_of
from assay._core.gate_reports import Case, Report
from assay._core.trace_reader import read_trace
from assay.errors import wrong
from ._onnx_runs import AnyRunner, Arrays, OnnxRuntime, Recording, Reference, random_inputs, recorded, runner_of


@dataclasses.dataclass
class Entry:
    """One runner."""

    runner: str
    contract: str
    recording: Recording | None
    report: Report | None
    error: str = ""

    @property
    def verdict(self) -> str:
        """The report's, or "error"."""
        return self.report.verdict if self.report else "error"

    @property
    def first(self) -> Case | None:
        """The first region in the model's order that is outside of its contract."""
        return next((case for case in self.report.cases if any(one.kind == "fail" for one in case.findings)), None) if self.report else None

    @property
    def value(self) -> str:
        """The model's name of that value."""
        return self.first.findings[0].subject if self.first else ""


@dataclasses.dataclass
class Comparison:
    """All runners, in the order in which they were named."""

    entries: Sequence[Entry]
    order: Sequence[str]  # the model's values, in order

    @property
    def first(self) -> Entry | None:
        """The runner that leaves its contract at the earliest value."""
        wrong = [entry for entry in self.entries if entry.first is not None]
        return min(wrong, key=lambda entry: self.order.index(entry.value) if entry.value in self.order else len(self.order), default=None)

    @property
    def passed(self) -> bool:
        """All runners keep their contracts, everywhere."""
        return all(entry.verdict == "passed" for entry in self.entries)

    def __str__(self) -> str:
        lines = []
        for entry in self.entries:
            words = f"error: {entry.error}" if entry.report is None else f"{entry.report.summary()}; at most {100 * entry.report.head_room_used:.3g} % of the allowance"
            lines.append(f"{entry.runner} ({entry.contract}): {words}")
        if found := self.first:
            case = found.first
            assert case is not None
            lines += [f"first outside: {found.runner}, value '{found.value}' ({case.op})", *("  " + line for line in case.findings[0].text.splitlines())]
        return "\n".join(lines)


def compare(model: Any, inputs: Arrays | None = None, runners: Sequence[AnyRunner] = ()) -> Comparison:
    """Runs the model by every runner, and says which leaves its contract first, and where. Without inputs they are random.

    Each runner is recorded and audited by its own contract; one that cannot run the model is an entry with its error.
    """
    given = arguments.arrays("inputs", random_inputs(model) if inputs is None else inputs)
    arrays = {name: bits_of(value, f"input '{name}'").numpy() for name, value in given.items()}
    if not isinstance(runners, (list, tuple)):
        raise wrong("runners", "a list of runners", runners)
    entries, order = [], list[str]()
    for runner in [runner_of(one) for one in runners or [OnnxRuntime("disabled"), OnnxRuntime("all"), Reference()]]:
        try:
            one = recorded(runner, model, arrays)
        except Exception as why:  # a runtime may raise whatever it likes
            entries.append(Entry(runner.name, runner.contract, None, None, f"{type(why).__name__}: {why}".splitlines()[0]))
            continue
        if len(one.recorded) > len(order):
            order = [region["name"] for region in _regions(one)]
        entries.append(Entry(runner.name, runner.contract, one, one.audit()))
    return Comparison(entries, order)


def _regions(recording: Recording) -> list[dict[str, Any]]:
    return list(read_trace(recording.trace)[0]["regions"])
