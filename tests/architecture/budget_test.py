"""Budgets: code lines per trusted part (tools/count_lines), physical lines per file; the table in TRUST.md follows.

TRUST.md may lag behind by a tenth of a count, so that a fix of three lines needs no second edit.
"""
import re

import house

LIMITS = {"semantics": 400, "kernel": 400, "policy": 400, "gpu": 400, "frontends": 500, "formats": 500, "certificates": 500, "runtime": 500, "cli": 500, "explain": 500,
          "probes": 500, "tests": 500}

# Text and the code lines it has: the counter itself is tried.
CONTROLS = [
    ("", 0),
    ("int a;\n\n  // words\nint b;  // more\n", 2),
    ("/* one\n   two */\nint a; /* x */ int b;\n", 1),
    ('const char* s = "// no comment";\nconst char* t = "/*";\nint a;\n', 3),
    ('const char* s = R"(\n// text\n)";\n', 3),
    ("char c = '\"'; // comment\nchar d = '/';\nint n = 1'000'000; // x\n", 3),
    ("/* open\n", 1),  # not a comment until it closes: the compiler refuses it, the counter counts it
]


def stale(rows, page):
    """-> parts whose count on the page is off by more than a tenth."""
    shown = {m[1]: int(m[2].replace(",", "")) for m in re.finditer(r"^\| ([\w-]+) \| ([\d,]+) \|", page, re.M)}
    return [f"TRUST.md shows {shown.get(name, 'nothing')} for {name}, now {total}: run tools/count_lines --update"
            for name, _, total, _, _ in rows if name not in shown or 10 * abs(shown[name] - total) > total]


if __name__ == "__main__":
    options = house.arguments()
    counter = house.load_count_lines(options.root)
    rows = counter.count(options.root)
    print(counter.table(rows))
    problems = [f"{name}: {total} code lines, budget {budget}" for name, budget, total, _, _ in rows if budget and total > budget]
    problems += [f"{text!r} counts {counter.code_lines(text)}, not {lines}" for text, lines in CONTROLS
                 if counter.code_lines(text) != lines]
    for path in house.sources(options.root, LIMITS):
        lines = len((options.root / path).read_text(encoding="utf-8").splitlines())
        if lines > LIMITS[path.parts[0]]:
            problems.append(f"{path}: {lines} lines, stop at {LIMITS[path.parts[0]]}")
    problems += stale(rows, (options.root / "TRUST.md").read_text(encoding="utf-8"))
    house.report("budget", problems, "all within budget")
