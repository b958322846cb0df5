"""Pages quote measured figures as links to result files whose text is a value there, and docs/results.md is what the files say.

A measured figure is what PATTERNS find outside of code: times with a fraction or of a processor, counts out of counts, and ratios of speed.
"""
import json
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import results  # noqa: E402

OUTSIDE = ["README.md", "TRUST.md", "CONTRIBUTING.md", "benchmarks/README.md", "python/README.md"]
# Made of the files, made by programs, tables of the functions of the C library, or history that is not edited.
LEFT_OUT = ("docs/results.md", "docs/ops/", "docs/decisions/", "docs/reference/command-line.md", "docs/reference/bugs-found.md")
PATTERNS = [r"\b\d[\d.,]* ?(?:ms|us|µs|milliseconds|microseconds)\b", r"\b\d+\.\d+ (?:s|seconds|minutes)\b", r"\b\d[\d,]* (?:s|seconds|minutes) of (?:a )?(?:processor|CPU|busy)",
            r"\b\d[\d.,]* (?:processor|CPU) seconds\b", r"\b\d[\d,]*\d of (?:the )?\d[\d,]*\d\b", r"\b\d[\d.]* times (?:as (?:fast|long)|faster|slower|less)\b",
            r"\b\d[\d.]* % (?:faster|slower|less time)\b"]
MEASURED = re.compile("|".join(PATTERNS))
LINK = re.compile(r"\[((?:[^\]\[]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
# Figures in words that are limits, settings or examples, and no measurements: page -> what it says.
NO_MEASUREMENTS = {"docs/how-to/scale.md": ["0.1 s / n"]}


def prose(text):
    """The text with code blanked out; nothing moves."""
    blank = lambda match: re.sub(r"[^\n]", " ", match[0])
    text = re.sub(r"(?ms)^ *(```|~~~).*?^ *\1[^\n]*$", blank, text)
    text = re.sub(r"(?m)(?<=\n\n)(?:    [^\n]*\n|\n(?=    ))+", blank, text)
    return re.sub(r"``.+?``|`[^`\n]*`", blank, text)


def values_of(result):
    cells = {cell for table in result.get("tables", []) for row in table["rows"] for cell in row}
    return cells | {figure["value"] for figure in result["figures"].values()}


def problems_of(page, text, files, allowed=()):
    """What a page quotes that no result file says."""
    def quoted(match):
        target = os.path.normpath(os.path.join(os.path.dirname(page), match[2]))
        name = os.path.relpath(target, results.FILES)
        if not target.startswith(results.FILES + "/") or not target.endswith(".json"):
            return match[1]
        if name not in files:
            found.append((match.start(), f"links the result file {name}, which does not exist"))
        elif " ".join(match[1].split()) not in values_of(files[name]):
            found.append((match.start(), f"quotes {match[1]!r}, which is no value in {name}"))
        return " " * len(match[1])

    found = []
    rest = LINK.sub(lambda match: quoted(match).ljust(len(match[0])), prose(text))
    for words in allowed:
        if words not in rest:
            found.append((0, f"no longer says {words!r}; take it off NO_MEASUREMENTS"))
        rest = rest.replace(words, " " * len(words))
    found += [(match.start(), f"states {match[0]!r} without a link to a result file that has it (benchmarks/results/README.md)") for match in MEASURED.finditer(rest)]
    return [f"{page}:{text.count(chr(10), 0, at) + 1}: {what}" for at, what in sorted(found)]


def controls():
    files = {"2026-01-01-a.json": {"figures": {"solved": {"value": "63 of 65", "what": ""}}, "tables": [{"rows": [["b", "1.25"]]}]}}
    link = "[{}](../benchmarks/results/2026-01-01-a.json)"
    for right in ("It solves " + link.format("63 of 65") + " of them, in " + link.format("1.25") + " s.", "Use `--timeout 0.5 s` or 60 s.", "```\n0.36 ms each\n```\n", "After 30 s it stops."):
        assert problems_of("docs/a.md", right, files) == [], right
    for wrong, words in {"It solves 63 of 65.": "without a link", "A check takes 0.36 ms.": "without a link", "It takes 6.3 s.": "without a link", "It is 3 times as fast.": "without a link",
                         "It takes 18 s of a busy machine.": "without a link", "It solves " + link.format("64 of 65") + ".": "no value", link.format("63 of 65").replace("-a", "-b"): "does not exist"}.items():
        found = problems_of("docs/a.md", "Line one.\n" + wrong, files)
        assert len(found) == 1 and words in found[0] and found[0].startswith("docs/a.md:2:"), (wrong, found)
    right = json.loads((ROOT / results.FILES / "2026-11-28-development-set.json").read_text())
    assert list(results.problems_of("2026-11-28-development-set.json", right)) == []
    for field in results.FIELDS:
        assert list(results.problems_of("2026-11-28-development-set.json", {**right, field: None})), field
    assert list(results.problems_of("2026-11-28-development-set.json", {**right, "date": "2026-11-29"}))


def main():
    controls()
    files = results.load()
    pages = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))]
    pages = [*OUTSIDE, *(page for page in pages if not page.startswith(LEFT_OUT))]
    problems = [one for page in pages for one in problems_of(page, (ROOT / page).read_text(encoding="utf-8"), files, NO_MEASUREMENTS.get(page, ()))]
    print("\n".join(problems) or f"{len(pages)} pages quote no figure that {len(files)} result files lack")
    return results.main(["--check"]) or bool(problems)


if __name__ == "__main__":
    sys.exit(main())
