"""Length of functions: trusted ones have at most 50 lines, others at most 80, so that a reader sees a whole one at once. Files of verbs have at
most 150: arguments and printing. What a verb does beside these has a place in app/, where other programs can use it.

Not counted: functions that are one exhaustive switch or one table, whose length is the number of operations. LONGER holds the functions
that were longer when the test was written; their lengths may fall, and a line goes when its function is short enough.
"""
import re

import house
from lint_test import ANYWHERE, plain

MOST, MOST_TRUSTED = 80, 50
MOST_VERB = 150
MOST_CASES = 10  # a function with that many cases or rows is a switch or a table
# (file, head of the function as the test prints it): lines
LONGER = {
    ("kernel/floats/theorems/execution.cpp", "Network::State::rounding_as_written"): 104,
}
TYPE = re.compile(r"\b(?:class|struct|union|enum|namespace)\b[^;{}()]*$")
BODY = re.compile(r"\)\s*(?:const\b|noexcept\b|override\b|final\b|->[\w:<>,\s&*]+|:\s.*|\s)*$", re.S)
NAME = re.compile(r"([\w~:]+)\s*\(")
LETTER = re.compile(r"(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])'")
CONTROL = "namespace n {\nint f(int x) {\n" + "  x += 1;\n" * 100 + "}\n}\n"


def functions(text):
    """-> [(name, first line, number of lines, body)] of the functions at namespace or class level; comments are gone from the text."""
    found, open_, head, line = [], [], 0, 1
    text = LETTER.sub("' '", text)
    for at, letter in enumerate(text):
        if letter == "\n":
            line += 1
        elif letter == "{":
            before = text[head:at]
            in_body = bool(open_) and open_[-1][0] != "level"
            kind = "inside" if in_body else "level" if TYPE.search(before) else "body" if BODY.search(before) else "inside"
            open_.append((kind, line, before, at))
            head = at + 1
        elif letter == "}":
            if open_:
                kind, first, before, begin = open_.pop()
                if kind == "body":
                    name = NAME.search(before)
                    found.append((name[1] if name else "", first, line - first + 1, text[begin:at]))
            head = at + 1
        elif letter == ";":
            head = at + 1
    return found


def is_dispatch(body):
    """Whether the body is a switch or a table: many cases, or rows of braces."""
    rows = len(re.findall(r"^\s*\{.*\},?$|^\s*(?:row|visit|add|c\.add)\(.*\);$", body, re.M))
    return len(re.findall(r"\bcase\b", body)) >= MOST_CASES or rows >= MOST_CASES


def most(path):
    return MOST_TRUSTED if path.parts[0] in house.TRUSTED else MOST


def verb_faults(verbs):
    """-> complaints about files of verbs, by their numbers of lines."""
    return [f"cli/assay/{name}: {lines} lines, and {MOST_VERB} are the most: what is neither argument nor output goes to app/"
            for name, lines in verbs.items() if lines > MOST_VERB]


if __name__ == "__main__":
    options = house.arguments()
    root = options.root.resolve()
    strip = house.load_count_lines(root).without_comments
    problems = [] if [n for _, _, n, _ in functions(CONTROL)] == [102] else ["the control, a function of 102 lines, is not measured"]
    count = 0
    seen = set()
    for path in house.sources(root, [one for one in ANYWHERE if one != "tests"]):
        for name, first, lines, body in functions(plain(strip, (root / path).read_text(encoding="utf-8"))):
            count += 1
            limit = LONGER.get((path.as_posix(), name), most(path))
            seen.add((path.as_posix(), name))
            if lines > limit and not is_dispatch(body):
                problems.append(f"{path}:{first}: {name} has {lines} lines, and {limit} are the most: name its parts")
            elif (path.as_posix(), name) in LONGER and lines < limit:
                problems.append(f"{path}:{first}: {name} has {lines} lines now: put that into LONGER, or remove it")
    problems += [f"{path}: there is no {name}: remove it from LONGER" for path, name in LONGER if (path, name) not in seen]
    verbs = {p.name: len(p.read_text(encoding="utf-8").splitlines()) for p in sorted((root / "cli/assay").glob("*.*"))}
    problems += verb_faults(verbs)
    if not verb_faults({"control.cpp": MOST_VERB + 1, **verbs}):
        problems.append(f"the control, a verb of {MOST_VERB + 1} lines, is not measured")
    house.report("length", problems, f"{count} functions, none longer than it may be")
