"""Waivers: findings that are accepted for a while (docs/reference/gates.md). They cover what a finding prints, as those of the program do.

The program (app/gates/waivers.cpp) matches waivers, too, since it runs without Python. It cannot serve here: probes, programs without a recording and
`gradcheck` make findings of their own after the program has ended. A test holds both to the same files.
"""
from __future__ import annotations

import dataclasses
import datetime
import json
from typing import Any, Iterable, Iterator, Sequence

from assay._core.gate_reports import Case, Finding, Report, counted
from assay.errors import MalformedInput

_TEXTS = ("id", "rule", "reason", "owner", "expires", "op", "tensor", "test", "file", "dtype")
_MOST_TESTS = 8  # that a line names
# Rules beside those of contracts whose findings count their elements. Of others, such as gradients as functions, no number is known to be large enough.
_NOTHING = ("gate.nothing", "gradient.nothing")  # rules that nothing passes
_COUNTED = ("gradient.dead", "probe.unwritten", "probe.operand", "probe.guard", "probe.unsteady", "probe.overwritten")


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
    test: str = ""  # the id of a test, or its last part, with or without parameters
    file: str = ""  # that the finding names, or of the test
    dtype: str = ""  # of the first result

    today: str = ""  # empty: that of the clock

    @property
    def is_expired(self) -> bool:
        """Its last day is over."""
        return self.expires < (self.today or datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"))

    def covers(self, case: Case, finding: Finding) -> bool:
        """By rule, by the operations or the name of what ran, by the tensor, each as it is printed."""
        return not self.differences(case, finding)

    def differences(self, case: Case, finding: Finding) -> list[str]:
        """The fields by which it does not cover a finding, with what the finding has there."""
        own, op = _own_name(case.name), _spaced(self.op)
        name, last = _spaced(case.name), _spaced(own)
        is_op = op in ("", _spaced(case.op), name, last) or last.endswith(f".{op}") or f"({op})" in name  # a Function in whichever module it ran
        tensor = _tensor_of(case, finding)
        others = [name for name in _more_tensors(finding) if self.tensor and name != self.tensor]
        is_tensor = not others and (self.tensor in ("", tensor) or f"'{self.tensor}'" in finding.headline)
        tensor = " and ".join(dict.fromkeys([tensor, *others])) if tensor else ""
        is_counted = finding.rule in _COUNTED or finding.rule.startswith("contract.")
        unseen = case.unsampled if finding.rule.startswith("contract.") else 0  # elements that may be wrong, too
        is_few = self.most_elements is None or is_counted and finding.elements + unseen <= self.most_elements
        counted = str(finding.elements + unseen) if is_counted else "no number of elements, as those of this rule are not counted"
        counted += f", with {unseen} that were not looked at" if is_counted and unseen else ""
        ops = f"{case.op} or {own}" if own and own != case.op else case.op
        is_test = self.test == "" or any(_ends_with(one, self.test, "::/") for one in (case.owner, _without_parameters(case.owner)))
        is_file = self.file == "" or any(_ends_with(one, self.file, "/") for one in (case.file.replace("\\", "/"), _file_of(case.owner)))
        fields = (("rule", _spaced(self.rule) == _spaced(finding.rule), finding.rule), ("op", is_op, ops), ("tensor", is_tensor, tensor or "none"), ("most_elements", is_few, counted),
                  ("test", is_test, case.owner or "none"), ("file", is_file, case.file or "none"), ("dtype", self.dtype in ("", case.dtype), case.dtype or "none"))
        return [f'"{name}": it has {found}' for name, fits, found in fields if not fits]

    def nearest(self, reports: Iterable[Report]) -> str:
        """Of one that covers nothing: the finding from which it differs in one field alone; empty if there is none."""
        for case, finding, differs in self.misses(reports):
            return f": of the finding at {case.name} ({finding.rule}) it differs in {differs}; mend that field, or remove it"
        return ""

    def misses(self, reports: Iterable[Report]) -> Iterator[tuple[Case, Finding, str]]:
        """The findings without a waiver from which it differs in one field alone, and that field."""
        for case, finding in ((case, finding) for report in reports for case in report.cases for finding in case.findings if not finding.waiver):
            differs = self.differences(case, finding)
            if len(differs) == 1:
                yield case, finding, differs[0]

    @property
    def words(self) -> str:
        """As the program writes them below a finding."""
        return f"waived by {self.id} ({self.owner}, until {self.expires}): {self.reason}"


def _spaced(name: str) -> str:
    """A name with spaces between its words: "rms_norm" and "rms-norm" are other spellings of "rms norm"."""
    return name.replace("_", " ").replace("-", " ")


def _ends_with(name: str, end: str, marks: str) -> bool:
    """Whether a name is the end, or ends with it behind one of the marks."""
    return name == end or name.endswith(end) and name[-len(end) - 1] in marks


def _without_parameters(test: str) -> str:
    """The id of a test without what pytest writes in brackets for its parameters."""
    return test.partition("[")[0]


def _file_of(test: str) -> str:
    return test.partition("::")[0]


def _own_name(name: str) -> str:
    """The name of a Function or kernel in the name of a case: "Own" of "region 2 (Own)" and of "region 7 (backward of Own: mul)"."""
    own = name.partition("(")[2][:-1] if name.endswith(")") else ""
    return own.removeprefix("backward of ").partition(": ")[0] if own.startswith("backward of ") else own


def _tensor_of(case: Case, finding: Finding) -> str:
    """The tensor that the first line names in quotes; else the subject, if that is no region."""
    parts = finding.headline.split("'")
    return parts[1] if len(parts) > 2 else "" if finding.subject.startswith(case.name) else finding.subject


def _more_tensors(finding: Finding) -> list[str]:
    """The tensors that lines below the first one are about: a wrong product may give several wrong cotangents."""
    return [line.split("'")[1] for line in (one.strip() for one in finding.below) if line.startswith("the cotangent of '") and line.count("'") > 1]


def day(text: str) -> str:
    """A day as YYYY-MM-DD; ValueError for anything else."""
    if len(text) != 10 or datetime.date.fromisoformat(text).isoformat() != text:
        raise ValueError(text)
    return text


def json_of(path: str, what: str, advice: str, code: str) -> Any:
    """The value of a JSON file whose objects name each field once; MalformedInput says why a file cannot be read."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file, object_pairs_hook=each_once)
    except (OSError, ValueError, RecursionError) as why:
        kinds = {RecursionError: "it is nested too deeply", json.JSONDecodeError: f"it is no JSON, {why}"}
        reason = why.strerror if isinstance(why, OSError) else kinds.get(type(why), str(why))
        raise MalformedInput(f"{what} cannot be read", where=path, why=str(reason), advice=advice, code=code) from None


def read(path: str, today: str = "") -> list[Waiver]:
    """The waivers of a file; MalformedInput says what is wrong with it."""
    found = json_of(path, "waivers", "check the path and the text of the file", "waivers.json")
    entries = found.get("waivers") if isinstance(found, dict) else None
    if not isinstance(entries, list):
        raise MalformedInput("waivers cannot be read", where=path, why='expected a list "waivers", got none', code="waivers.json")
    waivers = [_waiver(one, path, today) for one in entries]
    ids = [one.id for one in waivers]
    if twice := [one for one in ids if ids.count(one) > 1]:
        raise MalformedInput("waivers cannot be read", where=path, why=f'expected an "id" of its own for each waiver, got waiver {twice[0]} twice', code="waivers.field")
    return waivers


def each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; ValueError where a name stands twice, of which one value would be lost."""
    names = [name for name, _ in pairs]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f'"{twice[0]}" stands twice')
    return dict(pairs)


def _waiver(entry: Any, path: str, today: str) -> Waiver:
    fields = entry if isinstance(entry, dict) else {}
    whose = f'waiver {fields["id"]}' if isinstance(fields.get("id"), str) and fields["id"] else "a waiver"
    most = fields.get("most_elements")

    def refused(required: str, found: Any) -> MalformedInput:
        return MalformedInput("a waiver cannot be used", where=path, why=f"expected {required} of {whose}, got {found}", code="waivers.field")
    if fields is not entry:
        raise MalformedInput("a waiver cannot be used", where=path, why=f"expected an object for each waiver, got {json.dumps(entry)}", code="waivers.field")
    if unknown := sorted(set(fields) - {*_TEXTS, "most_elements"}):
        raise refused(f"the fields {', '.join(_TEXTS)}, most_elements", f'"{unknown[0]}"')
    for name in _TEXTS:
        value = fields.get(name)
        if (name in fields or name in _TEXTS[:5]) and (not isinstance(value, str) or not value):  # an empty "op" would cover every operation
            raise refused(f'text as "{name}"', json.dumps(value) if name in fields else "none")
    if fields["rule"] in _NOTHING:
        raise refused('a "rule" by which something was judged', f'{fields["rule"]}, where there is nothing to accept')
    try:
        day(fields["expires"])
    except ValueError:
        raise refused('a day as YYYY-MM-DD as "expires"', json.dumps(fields["expires"])) from None
    if most is not None and (not isinstance(most, int) or isinstance(most, bool) or most < 0):
        raise refused('a number of elements as "most_elements"', json.dumps(most))
    return Waiver(**fields, today=today)


def apply(report: Report, waivers: Sequence[Waiver]) -> None:
    """Marks the findings that they cover."""
    for case in report.cases:
        for finding in case.findings:
            waiver = next((one for one in waivers if not one.is_expired and one.covers(case, finding)), None)
            if waiver is not None and not finding.waiver:
                finding.waiver = waiver.id
                finding.details.append(waiver.words)


def unused(waivers: Sequence[Waiver], reports: Sequence[Report]) -> list[Waiver]:
    """Return the waivers that have not expired, and cover nothing."""
    used = {finding.waiver for report in reports for finding in report.findings}
    return [one for one in waivers if not one.is_expired and one.id not in used]


def troubles(waivers: Sequence[Waiver], reports: Sequence[Report], is_subset: bool = False) -> list[str]:
    """Name the waivers that have expired, and, where every test ran, those that cover nothing: each fails the session."""
    expired = [f"waiver {one.id} expired on {one.expires}: mend what it covers, or ask {one.owner}" for one in waivers if one.is_expired]
    return expired + [f"waiver {one.id} covers nothing{one.nearest(reports) or ': remove it'}" for one in ([] if is_subset else unused(waivers, reports))]


def notes(waivers: Sequence[Waiver], reports: Sequence[Report], is_subset: bool = False) -> list[str]:
    """Name the waivers that narrowly miss findings, where no trouble says so: it fails no session."""
    found = [f"waiver {one.id} covers nothing in these tests{near}" for one in (unused(waivers, reports) if is_subset else []) if (near := one.nearest(reports))]
    idle = unused(waivers, reports)
    for one in (one for one in waivers if not one.is_expired and not one.test):
        tests = list(dict.fromkeys(_without_parameters(case.owner) for report in reports for case in report.cases if any(finding.waiver == one.id for finding in case.findings)))
        if len(tests) > 1:
            found.append(f'waiver {one.id} covers findings of {len(tests)} tests: {", ".join(tests[:_MOST_TESTS])}{" and others" if len(tests) > _MOST_TESTS else ""}. '
                         f'If it is meant for one of them, name it in the waiver: "test": "{tests[0].rpartition("::")[2]}"')
    for one in (one for one in waivers if not one.is_expired and one not in idle):
        sizes = [finding.elements for _, finding, differs in one.misses(reports) if differs.startswith('"most_elements"')]
        if sizes:
            found.append(f'waiver {one.id} leaves {counted(len(sizes), "finding")} that {"has" if len(sizes) == 1 else "have"} more elements than its "most_elements", '
                         f"{one.most_elements}: the largest has {max(sizes)}")
    return found
