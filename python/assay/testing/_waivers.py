"""Waivers: findings that are accepted for a while (docs/reference/gates.md). They cover what a finding prints, as those of the program do."""
from __future__ import annotations

import dataclasses
import datetime
import json
from typing import Any, Iterable, Sequence

from assay._core.gate_reports import Case, Finding, Report
from assay.errors import MalformedInput

_TEXTS = ("id", "rule", "reason", "owner", "expires", "op", "tensor")


@dataclasses.dataclass(frozen=True)
class Waiver:
    """One entry of the file."""

    id: str
    rule: str
    reason: str
    owner: str
    expires: str
    op: str = ""
    tensor: str = ""
    most_elements: int | None = None

    @property
    def is_expired(self) -> bool:
        """Its last day is over."""
        return self.expires < datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")

    def covers(self, case: Case, finding: Finding) -> bool:
        """By rule, by the operations or the name of what ran, by the tensor, each as it is printed."""
        return not self.differences(case, finding)

    def differences(self, case: Case, finding: Finding) -> list[str]:
        """The fields by which it does not cover a finding, with what the finding has there."""
        is_op = self.op in ("", case.op, case.name) or f"({self.op})" in case.name
        is_tensor = self.tensor in ("", finding.subject) or f"'{self.tensor}'" in finding.headline
        # Findings about gradients as functions do not count their elements: no number is known to be large enough.
        is_counted = finding.rule == "gradient.dead" or not finding.rule.startswith(("gradient.", "tangent."))
        is_few = self.most_elements is None or is_counted and finding.elements <= self.most_elements
        counted = str(finding.elements) if is_counted else "elements that nobody counts"
        fields = (("rule", self.rule == finding.rule, finding.rule), ("op", is_op, case.op), ("tensor", is_tensor, finding.subject), ("most_elements", is_few, counted))
        return [f'"{name}": it has {found}' for name, fits, found in fields if not fits]

    def nearest(self, reports: Iterable[Report]) -> str:
        """Of one that covers nothing: the finding from which it differs in one field alone."""
        for case, finding in ((case, finding) for report in reports for case in report.cases for finding in case.findings if not finding.waiver):
            differs = self.differences(case, finding)
            if len(differs) == 1:
                return f": of the finding at {case.name} ({finding.rule}) it differs in {differs[0]}; mend that field, or remove it"
        return ": remove it"

    @property
    def words(self) -> str:
        """As the program writes them below a finding."""
        return f"waived by {self.id} ({self.owner}, until {self.expires}): {self.reason}"


def read(path: str) -> list[Waiver]:
    """The waivers of a file; MalformedInput says what is wrong with it."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError) as why:
        reason = why.strerror if isinstance(why, OSError) else f"it is no JSON, {why}"
        raise MalformedInput("waivers cannot be read", where=path, why=str(reason), advice="check the path and the text of the file",
                             code="waivers.json") from None
    entries = found.get("waivers") if isinstance(found, dict) else None
    if not isinstance(entries, list):
        raise MalformedInput("waivers cannot be read", where=path, why='expected a list "waivers", got none', code="waivers.json")
    return [_waiver(one, path) for one in entries]


def _waiver(entry: Any, path: str) -> Waiver:
    fields = entry if isinstance(entry, dict) else {}
    texts = {key: value for key, value in fields.items() if key in _TEXTS and isinstance(value, str)}
    most = fields.get("most_elements")
    is_count = most is None or isinstance(most, int) and not isinstance(most, bool) and most >= 0
    complete = all(texts.get(key) for key in _TEXTS[:5]) and is_count and set(fields) == set(texts) | ({"most_elements"} & set(fields))
    try:
        datetime.date.fromisoformat(texts.get("expires", ""))
    except ValueError:
        complete = False
    if not complete:
        raise MalformedInput(
            "a waiver is incomplete", where=path, code="waivers.field",
            why=f"expected id, rule, reason, owner, expires as YYYY-MM-DD, and perhaps op, tensor, most_elements, got {json.dumps(entry)}")
    return Waiver(**texts, most_elements=most)


def apply(report: Report, waivers: Sequence[Waiver]) -> None:
    """Marks the findings that they cover."""
    for case in report.cases:
        for finding in case.findings:
            waiver = next((one for one in waivers if not one.is_expired and one.covers(case, finding)), None)
            if waiver is not None and not finding.waiver:
                finding.waiver = waiver.id
                finding.details.append(waiver.words)


def troubles(waivers: Sequence[Waiver], reports: Sequence[Report]) -> list[str]:
    """Name the waivers that have expired, and those that cover nothing: each fails the session."""
    used = {finding.waiver for report in reports for finding in report.findings}
    return [f"waiver {one.id} expired on {one.expires}: mend what it covers, or ask {one.owner}" if one.is_expired
            else f"waiver {one.id} covers nothing{one.nearest(reports)}" for one in waivers if one.is_expired or one.id not in used]
