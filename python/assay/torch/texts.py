"""Reports as text: findings come first, then counts and facts, and the verdict is the last line."""
from __future__ import annotations

import os
import re
from typing import Iterator, Sequence

from assay._core.gate_reports import Case, Finding

MOST_DETAILED = 8  # findings whose details are printed; JSON has those of all
MOST_NAMES = 20  # that a line lists
_WORDS = re.compile(r"(fail|undecided|vacuous|unsupported|waived)  ")
_DIGEST = re.compile(r"\+\.\.\.\+([^(]*)\((\d+):[0-9a-f]{6}\)")  # tells operations apart that read alike
_VERDICT = re.compile(r"^(passed with waivers|passed|failed|undecided)(?=: )")


def listed(what: str, names: Sequence[str]) -> str:
    """A line of names, cut short after many."""
    more = f"; and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"{what}: {'; '.join(names[:MOST_NAMES])}{more}"


def without_digest(op: str) -> str:
    """The operations of a case as the program prints them: "sub ... reduce_mean (9 operations)"."""
    return _DIGEST.sub(r" ... \1 (\2 operations)", op)


def finding_lines(case: Case, finding: Finding, in_full: bool) -> list[str]:
    """A finding as the program prints it."""
    op = without_digest(case.op)
    head = [f"{'waived' if finding.waiver else finding.kind}  {case.name}{f', {op}' if case.op != finding.rule else ''}", f"  {finding.rule}: {finding.headline}"]
    below = finding.below
    return head + (["  " + line for line in below] if in_full else ["  (details: report.json)"] if below else [])


def findings_of(cases: Sequence[Case], but: Finding | None = None) -> Iterator[str]:
    """The lines of all findings, apart from one that was printed before."""
    shown = 0
    for case in cases:
        if statement := case.source.get("statement"):
            yield from [case.name, *(f"  {line}" for line in statement)]
        for finding in case.findings:
            if finding is not but:
                yield from finding_lines(case, finding, shown < MOST_DETAILED or bool(finding.waiver))
                shown += len(finding.details) > 1


class Parts:
    """The lines of the program's text that are no findings: facts of the run, statements without details, counts, and the verdict."""

    def __init__(self, text: str, facts: int) -> None:
        lines = text.rstrip("\n").split("\n")
        self.facts, rest = lines[:facts], lines[facts:]
        rest = [line.replace("(--most-undecided)", "(most_undecided= of gradcheck, --most-undecided of judge and step)") for line in rest]
        self.statements = [line for line, after in zip(rest, [*rest[1:], ""]) if _WORDS.match(line) and not after.startswith("  ")]
        plain = [line for line in rest if line and not line.startswith("  ") and not _WORDS.match(line)]
        self.counts, self.last = plain[:-1], plain[-1] if plain else ""

    def verdict(self, word: str) -> str:
        """The last line, with the word of the report."""
        return _VERDICT.sub(word, self.last)


def shown_path(path: str) -> str:
    """A file as it is named from the working directory; outside of it, its name."""
    near = os.path.relpath(path)
    return os.path.basename(path) if near.startswith("..") else near
