"""Places of an op: how many source files name a unary op, which is what adding one takes.

Tests, documents and files that tools/op_tables makes of semantics/graph/ops.def are not counted; comments are.
"""
import re

import house

MOST = 9
OPS = ["softsign", "selu"]  # one without attributes, one with two numbers and an operator of ONNX for each
FOLDERS = house.LAYERS + ["tools"]
SUFFIXES = house.SUFFIXES | {".def", ".py", ""}
MADE = {"python/assay/_core/operations.py"}


def places(root, op):
    """-> the source files that name the op, in any spelling, as part of a word too"""
    found = []
    for path in house.sources(root, FOLDERS, SUFFIXES):
        if path.as_posix() in MADE or path.parts[:2] == ("python", "tests") or "__pycache__" in path.parts:
            continue
        if re.search(op, (root / path).read_text(encoding="utf-8", errors="replace"), re.I):
            found.append(path.as_posix())
    return found


if __name__ == "__main__":
    options = house.arguments()
    root = options.root.resolve()
    problems, counts = [], []
    table = house.load_tool(root, "op_tables").records((root / "semantics/graph/ops.def").read_text(encoding="utf-8"))
    for op in OPS:
        found = places(root, op)
        counts.append(f"{op} stands in {len(found)}")
        if op not in table:
            problems.append(f"{op} is no entry of semantics/graph/ops.def")
        if len(found) > MOST:
            problems.append(f"{op} stands in {len(found)} source files, and {MOST} are the most: {', '.join(found)}")
    house.report("op places", problems, f"{'; '.join(counts)} source files, {MOST} are the most")
