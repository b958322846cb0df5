"""Results of checks: cases with findings, as text, JUnit XML and SARIF 2.1.0 (docs/reference/gates.md)."""
from __future__ import annotations

import collections
import dataclasses
import json
import os
from typing import Any, Iterable, Mapping, Sequence
from xml.etree import ElementTree

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
# The rule of findings about elements whose sets are too wide to mean anything.
VACUOUS = "contract.vacuous"
UNDECIDED_KIND = "undecided elements"  # the case that stands for a kind of operation
# The rule of findings about operations that have no meaning here: their elements are unsupported.
OPAQUE = "audit.opaque"
_ALLOWED = {"\t", "\n"}


def counted(count: int, word: str) -> str:
    """A number with its word, in the plural where it needs one."""
    return f"{count} {word}{'' if count == 1 else 's'}"


@dataclasses.dataclass
class Finding:
    """One thing that is wrong, or that could not be decided."""

    kind: str  # "fail", "undecided", "vacuous", "unsupported", or "error": the check came to no verdict
    rule: str  # stable: "contract.softmax", "probe.unwritten"
    subject: str
    message: str
    details: list[str] = dataclasses.field(default_factory=list)
    elements: int = 1
    waiver: str = ""
    first: Mapping[str, Any] | None = None  # the first element that is outside, and the worst
    worst: Mapping[str, Any] | None = None
    failed_at: Sequence[int] = ()  # the failed elements, row-major, or the first 65,536 of them
    opening: str = ""  # what the message says, in a reader's words
    case: str = ""  # the name of its case, in the list of a report's findings
    source: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)  # as the program wrote it

    def __getitem__(self, field: str) -> Any:
        """By the name of a field, as in the JSON of a report."""
        if field not in self.__dict__:
            raise KeyError(field)
        return self.__dict__[field]

    def to_json(self) -> dict[str, Any]:
        """As in the JSON of a report: what was found here after the program wrote it is in there, too."""
        own = {"kind": self.kind, "rule": self.rule, "subject": self.subject, "message": self.message}
        written = self.source or {**own, "details": self.details, "elements": self.elements}
        return {**written, **own, "waiver": self.waiver, **({"opening": self.opening} if self.opening else {})}

    @property
    def headline(self) -> str:
        """Name the fault in one line."""
        return self.opening or self.message

    @property
    def below(self) -> list[str]:
        """The lines below the headline: the other details, and the message where it is not the headline itself."""
        if not self.opening:
            return self.details[:]
        written, said = self.source.get("opening", self.opening), list[str]()
        for i, line in enumerate(self.details[:2]):
            said.append(line.strip())
            if "; ".join(said) == written:
                return [*self.details[i + 1:], self.message]
        return [*self.details, self.message]

    @property
    def text(self) -> str:
        """As the program prints it."""
        return "\n".join([f"{self.rule}: {self.headline}", *(f"  {line}" for line in self.below)])


@dataclasses.dataclass
class Case:
    """One region, or one probe."""

    name: str
    op: str
    model: str = ""
    passed: int = 0
    failed: int = 0
    vacuous: int = 0
    unsupported: int = 0
    unsampled: int = 0  # not looked at, as asked for or because thousands had failed
    head_room_used: float = 0.0
    findings: list[Finding] = dataclasses.field(default_factory=list)
    file: str = ""  # where the kernel or the Function stands; else where the check does
    line: int = 1
    owner: str = ""  # the test that it is of
    dtype: str = ""  # of the first result
    reference: str = ""  # where the function in the words of assay.ops stands that says what is right
    kind: str = ""  # of a probe on operands that are dense in memory: "integers", "special values", ...
    group: str = ""  # cases of one group, of one kernel, are one test case of JUnit
    call: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)  # of a probe: the shapes, layouts and attributes that the kernel got
    source: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)  # as the program wrote it

    @property
    def judged(self) -> int:
        """Elements, undecided ones counted."""
        return self.passed + self.failed + self.vacuous + self.unsupported

    def to_json(self) -> dict[str, Any]:
        """As in the JSON of a report."""
        written = self.source or {"name": self.name, "op": self.op, "model": self.model, "head_room_used": self.head_room_used,
                                  **{word: getattr(self, word) for word in WORDS}}
        return {**written, "findings": [one.to_json() for one in self.findings]}


def case_of(found: Mapping[str, Any]) -> Case:
    """From the program's JSON."""
    findings = [Finding(one["kind"], one["rule"], one["subject"], one["message"], list(one["details"]), one["elements"], one["waiver"],
                        one.get("first"), one.get("worst"), one.get("failed_at", ()), one.get("opening", ""), source=one) for one in found["findings"]]
    return Case(found["name"], found["op"], found["model"], found["passed"], found["failed"], found["vacuous"], found["unsupported"],
                found.get("unsampled", 0), found["head_room_used"], findings, source=found)


WORDS = ("passed", "failed", "vacuous", "unsupported")


class Judged:
    """The common part of the reports of `assay.testing` and `assay.torch`: cases, their findings and counts, and the words for both."""

    cases: list[Case]
    verdict: str

    @property
    def findings(self) -> list[Finding]:
        """Of all cases."""
        for case in self.cases:
            for finding in case.findings:
                finding.case = case.name
        return [finding for case in self.cases for finding in case.findings]

    @property
    def counts(self) -> dict[str, int]:
        """Elements of all cases that passed, failed, are vacuous (their sets are too wide to say anything), or unsupported."""
        return {word: sum(int(getattr(case, word)) for case in self.cases) for word in WORDS}

    def count(self, what: str) -> int:
        """Elements of all cases: "passed", "failed", "vacuous", "unsupported"."""
        return self.counts[what]

    @property
    def passed(self) -> bool:
        """Every element was judged and is within its contract; waived findings apart."""
        return self.verdict.startswith("passed")

    @property
    def failed(self) -> bool:
        """Something is wrong. What could not be decided has not failed."""
        return self.verdict == "failed"

    @property
    def undecided(self) -> bool:
        """Neither passed nor failed: too much is vacuous, or something has no contract."""
        return not self.passed and not self.failed

    def summary(self) -> str:
        """The last line of a gate."""
        return f"{self.verdict}: {counted(len(self.cases), 'case')}; {self.elements}"

    @property
    def elements(self) -> str:
        """The counts of elements in words."""
        return f"{counted(sum(self.counts.values()), 'element')}: " + ", ".join(f"{self.counts[word]} {word}" for word in WORDS)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.summary()}>"


@dataclasses.dataclass(repr=False)
class Report(Judged):
    """Cases, and the word that they come to."""

    cases: list[Case]
    text: str = ""
    title: str = "assay"
    troubles: list[str] = dataclasses.field(default_factory=list)
    most_undecided: float = 0.01  # share of elements that may be vacuous
    declined: list[tuple[str, str]] = dataclasses.field(default_factory=list)  # probes that the kernel would not run, and why
    is_raised: bool = False  # as an exception, which a test may expect
    exception: BaseException | None = None  # that exception, while a session of pytest runs

    @property
    def headline(self) -> str:
        """The report in one line, if it has one that says more than its first finding."""
        return ""

    @property
    def failures(self) -> list[Finding]:
        """Return the failures that no waiver covers."""
        return [finding for finding in self.findings if finding.kind == "fail" and not finding.waiver]

    @property
    def verdict(self) -> str:  # type: ignore[override]
        """"failed", "undecided" (unsupported, or nothing was judged), "vacuous", "passed with waivers" or "passed"."""
        if self.failures or self.troubles:
            return "failed"
        open_kinds = {finding.kind for finding in self.findings if not finding.waiver}
        waived = sum(one.elements for one in self.findings if one.waiver and (one.kind == "unsupported" or one.rule == OPAQUE))
        if open_kinds & {"unsupported", "error"} or not self.cases or self.count("unsupported") > waived:
            return "undecided"
        undecided = {finding.rule for finding in self.findings if finding.kind == "undecided" and not finding.waiver}
        if undecided - {VACUOUS}:
            return "undecided"
        if undecided or self.is_vacuous():
            return "vacuous"
        return "passed with waivers" if any(finding.waiver for finding in self.findings) else "passed"

    def is_vacuous(self) -> bool:
        """Whether the share of vacuous elements is too large; those of waived findings do not count."""
        waived = sum(finding.elements for finding in self.findings if finding.waiver and finding.rule == VACUOUS)
        return self.count("vacuous") - waived > self.most_undecided * max(sum(case.judged for case in self.cases), 1)

    def settle(self, kinds: Iterable[str]) -> list[str]:
        """Of kinds of operations with too many undecided elements those that stay: the others' cases go, since waivers cover all of their elements."""
        left = []
        for kind in kinds:
            cases = [case for case in self.cases if case.op == kind and case.name != UNDECIDED_KIND]
            covered = sum(one.elements for case in cases for one in case.findings if one.waiver and (one.kind in ("vacuous", "unsupported") or one.rule in (VACUOUS, OPAQUE)))
            if not cases or covered < sum(case.vacuous + case.unsupported for case in cases):
                left.append(kind)
        self.cases = [case for case in self.cases if case.name != UNDECIDED_KIND or case.op in left]
        return left

    @property
    def head_room_used(self) -> float:
        """The largest share of its allowance that an element used."""
        return max((case.head_room_used for case in self.cases), default=0.0)

    def junit(self, root: str = "", prefix: str = "assay.") -> str:
        """JUnit XML, one test case per case, or per group of cases; files are named from the folder `root`, classes by a prefix and the operation. A waived finding is told in `system-out`. Of cases that fail by one cause the first one is a failure, with their number; the others are skipped."""
        every = _grouped(self.cases)
        causes: dict[Any, list[Case]] = {}
        for case in every:
            causes.setdefault(_cause(case), []).append(case)
        later = {id(case) for key, cases in causes.items() if key is not None for case in cases[1:]}
        first = [case for case in every if id(case) not in later]
        open_, broken = ([case for case in first if any((one.kind == "error") is is_error for one in _open(case))] for is_error in (False, True))
        counts = {"tests": str(len(every)), "failures": str(len(open_)), "errors": str(len(broken)), "skipped": str(len(later))}
        suites = ElementTree.Element("testsuites", counts)
        suite = ElementTree.SubElement(suites, "testsuite", {"name": self.title, **counts})
        if undecided := sum(any(one.kind == "undecided" for one in _open(case)) for case in open_):  # JUnit counts them among its failures
            ElementTree.SubElement(ElementTree.SubElement(suite, "properties"), "property", {"name": "undecided", "value": str(undecided)})
        names: collections.Counter[tuple[str, str]] = collections.Counter()
        for case in every:
            names[case.op, case.name] += 1
            draw = f", draw {names[case.op, case.name]}" if names[case.op, case.name] > 1 else ""
            place = {"file": _named_from(root, case.file), "line": str(case.line)} if case.file else {}
            one = ElementTree.SubElement(suite, "testcase", {"classname": _printable(prefix + case.op), "name": _printable(case.name + draw), **place})
            same = causes[_cause(case)] if _cause(case) is not None else []
            if id(case) in later:
                ElementTree.SubElement(one, "skipped", {"message": _printable(f"fails by the same cause as {same[0].name}, {_open(case)[0].rule}")})
                ElementTree.SubElement(one, "system-out").text = _printable("\n".join(finding.text for finding in _open(case)))
                continue
            more = f" ({len(same)} test cases fail by this rule and operation; the others are skipped)" if len(same) > 1 else ""
            for finding in _open(case):
                inside = ElementTree.SubElement(one, "error" if finding.kind == "error" else "failure", {"message": _printable(finding.headline + more), "type": finding.rule})
                inside.text = _printable(finding.text)
            if waived := [finding.text for finding in case.findings if finding.waiver]:
                ElementTree.SubElement(one, "system-out").text = _printable("\n".join(waived))
        ElementTree.indent(suites)
        return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"

    def sarif(self, root: str = "") -> str:
        """SARIF 2.1.0; files are named from the folder `root`."""
        found = [(case, finding) for case in self.cases for finding in case.findings if finding.kind != "vacuous"]
        rules = sorted({finding.rule for _, finding in found})
        run = {"tool": {"driver": {"name": "Assay", "rules": [{"id": rule} for rule in rules]}},
               "results": [_result(case, finding, root) for case, finding in found]}
        return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def undecided_whole(report: Report, name: str) -> Case | None:
    """Return a case for a report that did not pass although none of its cases says so: too many of its elements are vacuous, or nothing was judged."""
    if report.verdict.startswith("passed") or report.troubles or any(_open(case) for case in report.cases):
        return None
    like = report.cases[0] if report.cases else Case(name, "check")
    lines = report.text.splitlines() or [report.summary()]
    return Case(name, like.op, like.model, file=like.file, line=like.line, owner=name,
                findings=[Finding("undecided", VACUOUS if report.cases else "gate.nothing", name, lines[0], lines[1:])])


def whole_check(report: Report, test: str, name: str, explanation: str) -> Case:
    """Return one case for a whole check of a test, whose id is `test`: a finding of the verdict with the explanation, and those that are waived."""
    module, _, own = test.replace(".py::", "::", 1).rpartition("::")
    opened = [(case, one) for case in report.cases for one in _open(case)]
    of = next((case for case, _ in opened), next(iter(report.cases), Case(name, "")))
    findings = _waived(report)
    if opened or not report.passed:
        kind, rule, first = next(((one.kind, one.rule, one.headline) for _, one in opened), ("fail", "gate.upkeep", report.summary()))
        word = {"fail": "failed", "error": "error"}.get(kind, "undecided")
        more = f" ({counted(len(opened) - 1, 'further finding')})" if len(opened) > 1 else ""
        first, more = (report.headline, "") if report.headline else (first, more)
        lines = explanation.splitlines()
        findings = [Finding(kind, rule, name, f"{word}: {first}{more}", lines[1:] if lines and lines[0].endswith(first) else lines), *findings]
    return Case(own + name, module.replace("/", ".").replace("::", "."), file=of.file, line=of.line, owner=test, findings=findings)


def _waived(report: Report) -> list[Finding]:
    """Of each rule that a waiver covers the first finding, with the number of all: a kernel may have hundreds."""
    found: dict[tuple[str, str], list[Finding]] = {}
    for one in (one for case in report.cases for one in case.findings if one.waiver):
        found.setdefault((one.waiver, one.rule), []).append(one)
    return [each[0] if len(each) == 1 else dataclasses.replace(each[0], opening="", message=f"{len(each)} findings, the first: {each[0].headline}", details=each[0].below)
            for each in found.values()]


def merged(reports: Iterable[Report], title: str) -> Report:
    """All cases as one report."""
    every = list(reports)
    return Report([case for one in every for case in one.cases], "\n".join(one.text for one in every), title,
                  [trouble for one in every for trouble in one.troubles])


def _named_from(root: str, file: str) -> str:
    return (os.path.relpath(file, root) if file and root else file).replace(os.sep, "/")


def _grouped(cases: Sequence[Case]) -> list[Case]:
    """One case for the cases of each group of one kernel in one test: their counts, and their findings, each with the name of its case."""
    groups: dict[Any, list[Case]] = {}
    for index, case in enumerate(cases):
        groups.setdefault((case.owner, case.file, case.line, case.op, case.model, case.group) if case.group else index, []).append(case)
    return [_whole(each) if each[0].group else each[0] for each in groups.values()]


def _whole(cases: Sequence[Case]) -> Case:
    first = cases[0]
    found: dict[Any, list[tuple[int, Finding]]] = {}
    names = [case.name.removeprefix(f"{case.owner}: ") for case in cases]
    for index, case in enumerate(cases):
        for one in case.findings:
            found.setdefault((one.kind, one.rule, one.waiver), []).append((index, one))
    findings = [dataclasses.replace(each[0][1], opening="", message=f"{len({index for index, _ in each})} of {counted(len(cases), 'probe')} of this kind, first: {each[0][1].headline}",
                                    details=[line for index, one in each for line in (names[index], f"  {one.headline}", *(f"    {below}" for below in one.below))])
                for each in found.values()]
    name = f"{f'{first.owner}: ' if first.owner else ''}{first.op}: {first.group}, {counted(len(cases), 'probe')}"
    counts: dict[str, Any] = {word: sum(int(getattr(case, word)) for case in cases) for word in WORDS}
    return dataclasses.replace(first, name=name, head_room_used=max(case.head_room_used for case in cases), findings=findings, **counts)


def _cause(case: Case) -> Any:
    """Return the common cause of regions that fail by one rule in one operation, where an execution model tells it; None for other cases."""
    found = _open(case)
    return (case.owner, case.file, case.line, case.op, case.model, found[0].rule) if found and case.model and found[0].kind != "error" else None


def _open(case: Case) -> list[Finding]:
    return [one for one in case.findings if one.kind in ("fail", "undecided", "unsupported", "error") and not one.waiver]


def _result(case: Case, finding: Finding, root: str) -> dict[str, Any]:
    uri = _named_from(root, case.file) or "unknown"
    result: dict[str, Any] = {
        "ruleId": finding.rule, "level": "error" if finding.kind in ("fail", "error") and not finding.waiver else "warning",
        "message": {"text": "\n".join([("undecided: " if finding.kind == "undecided" else "") + finding.headline, *finding.below])},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": case.line}},
                       "logicalLocations": [{"name": finding.subject, "fullyQualifiedName": f"{case.name} / {finding.subject}"}]}],
        "partialFingerprints": {"assay/v1": f"{finding.rule}/{case.op}/{case.model}"}}
    if finding.waiver:
        result["suppressions"] = [{"kind": "external", "justification": f"waiver {finding.waiver}"}]
    return result


def _printable(text: str) -> str:
    """Without the control characters that XML has not."""
    return "".join(one if one.isprintable() or one in _ALLOWED else "?" for one in text)
