"""Width of lines: code and its comments have at most 140 columns, which .clang-format sets; it breaks code, but no comment and no literal.

140 and not 120: about 7,900 lines lie between, and wrapping them all would hide the history of most functions for no reader's gain.
Not counted: lines of raw literals (pages of HTML, shaders), which have a form of their own.
"""
import re

import house

MOST = 140
RAW = re.compile(r'R"(\w*)\(')


def wide(text):
    """-> [(line number, columns)] of the lines outside raw literals that are too wide."""
    found, end = [], None
    for number, line in enumerate(text.split("\n"), 1):
        begun = RAW.search(line) if end is None else None
        inside = end is not None or begun is not None
        if begun:
            end = f"){begun[1]}\""
        if end is not None and end in line[begun.end() if begun else 0:]:
            end = None
        if not inside and len(line) > MOST:
            found.append((number, len(line)))
    return found


def main():
    root = house.arguments().root.resolve()
    problems = []
    control = "// " + "x" * 140 + "\nconst char* page = R\"(\n" + "y" * 150 + "\n)\";\n"
    if wide(control) != [(1, 143)]:
        problems.append("the search does not find a wide line, or reads a raw literal as code")
    files = house.sources(root, house.LAYERS + ["tests", "benchmarks", "examples"])
    for path in files:
        for number, columns in wide((root / path).read_text(encoding="utf-8")):
            problems.append(f"{path}:{number}: {columns} columns; wrap it at {MOST}")
    house.report("width", problems, f"{len(files)} files have lines of at most {MOST} columns")


if __name__ == "__main__":
    main()
