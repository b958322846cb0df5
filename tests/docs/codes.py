"""Collects the codes of all rejections and findings from the sources, C++ and Python.

A code is a literal such as "conclude.S3", or a family and a name that one function joins: `HELPERS` lists
those functions. Run as a program it prints every code with the places where it stands.
"""
from __future__ import annotations

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("api", "app", "certificates", "cli", "explain", "formats", "frontends", "gpu", "kernel", "policy", "probes", "python/assay",
           "python/bindings", "runtime", "search", "semantics", "training")

SUFFIXES = {".cpp", ".cu", ".def", ".h", ".py"}
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
CODE = re.compile(r"[a-z][a-z_0-9]*\.(?:[a-z][a-z_0-9]*|S[0-9]+)")
PART = re.compile(r"[a-z][a-z_0-9]*")
# A family whose rest another expression gives: `"vnnlib." + code`, `std::string("audit.") + code`.
PREFIX = re.compile(r'"([a-z][a-z_0-9]*)\."\)?(?: \+|,)')

# Literals of the same shape that are names of files, modules, selectors of pages or words of other projects.
ENDINGS = {"assay", "cfg", "cpp", "csv", "h", "heat", "html", "json", "jsonl", "md", "node", "npy", "onnx", "pack", "py", "safetensors", "sh",
           "vnnlib"}
OTHERS = {"_verify.answers", "ai.onnx", "assay.errors", "assay.testing", "assay.trace", "button.every", "com.microsoft", "figure.graph", "join.log",
          "testing._gradcheck", "torch.backends"}
# Codes that look like names of files.
LIKE_FILES = {"baseline.json", "store.pack", "values.json", "waivers.json"}

# Family, file (or a folder that ends in "/"), and the functions of it whose first literal names the rest.
HELPERS = [
    ("audit", "kernel/audit/continuity.cpp", ("broken",)),
    ("checkpoint", "training/checkpoint.cpp", ("no_checkpoint",)),
    ("contract", "kernel/contracts/", ("unsupported", "malformed")),
    ("dataset", "formats/datasets/", ("malformed_data", "unsupported_data", "malformed", "unsupported")),
    ("execution_model", "semantics/graph/execution_model.cpp", ("problem",)),
    ("gradient", "kernel/audit/gradients.cpp", ("failed",)),
    ("model", "kernel/audit/model_run.cpp", ("declined",)),
    ("robust", "app/runs/balls.cpp", ("wrong_option",)),
    ("run", "app/runs/claim.cpp", ("wrong",)),
    ("run", "app/runs/questions.cpp", ("no_such_file",)),
    ("runtime", "runtime/kernels/", ("failure",)),
    ("safetensors", "formats/safetensors.cpp", ("malformed",)),
    ("session", "runtime/", ("misuse",)),
    ("trace", "formats/", ("trace_malformed",)),
    ("training", "training/atomic_file.cpp", ("failed",)),
    ("vnnlib", "frontends/vnnlib/", ("malformed", "unsupported", "malformed_file", "unsupported_file", "too_large", "keep")),
]

# Codes that other expressions join: the code of the page, and the expression.
JOINED = {
    "contract.OP": ("api/reports/regions.cpp", '"contract." + one.op'),
    "OP.S1": ("semantics/graph/infer.cpp", 'name + ".S" + std::to_string(condition)'),
    "OP.domain": ("semantics/ops/evaluate.cpp", 'name + ".domain"'),
    "hull.S1": ("kernel/logic/refutation.cpp", 'rule + ".S1"'),
    "hull.S2": ("kernel/logic/refutation.cpp", 'rule + ".S2"'),
    "hull.S3": ("kernel/logic/refutation.cpp", 'rule + ".S3"'),
    "join.S1": ("kernel/logic/refutation.cpp", 'rule + ".S1"'),
    "join.S2": ("kernel/logic/refutation.cpp", 'rule + ".S2"'),
    "join.S3": ("kernel/logic/refutation.cpp", 'rule + ".S3"'),
    "statement.input_dtype": ("semantics/statement/statement.cpp", '"statement." + role + "_dtype"'),
    "statement.output_dtype": ("semantics/statement/statement.cpp", '"statement." + role + "_dtype"'),
}


def text_of(path: pathlib.Path) -> str:
    """The file without the comments that have a line, or the end of one, for themselves."""
    return re.sub(r"(?m)(^|  )#.*$" if path.suffix == ".py" else r"(?m)(?<!:)//.*$", "",
                  path.read_text(encoding="utf-8"))


def sources() -> list[pathlib.Path]:
    return sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES and path.is_file())


def first_literal(text: str, start: int, shape: re.Pattern[str]) -> str:
    """The first literal of `shape` among the first two arguments of the call that opens at `start`."""
    depth, commas = 0, 0
    end = start
    while end < len(text) and commas < 3:
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(text[end], 0)
        commas += text[end] == "," and depth == 1
        end += 1
        if depth == 0:
            break
    found = [one for one in LITERAL.findall(text[start:end]) if shape.fullmatch(one)]
    return found[0] if found else ""


def codes() -> dict[str, set[str]]:
    """Every code, with the files in which it stands."""
    found: dict[str, set[str]] = collections.defaultdict(set)
    for path in sources():
        name, text = str(path.relative_to(ROOT)), text_of(path)
        for literal in LITERAL.findall(text):
            if CODE.fullmatch(literal) and literal not in OTHERS and (
                    literal in LIKE_FILES or literal.rsplit(".", 1)[1] not in ENDINGS):
                found[literal].add(name)
        for family, place, functions in HELPERS:
            if not name.startswith(place):
                continue
            for call in re.finditer(r"\b(?:" + "|".join(functions) + r")\(", text):
                rest = first_literal(text, call.end() - 1, PART)
                if rest:
                    found[f"{family}.{rest}"].add(name)
    for code, (name, _) in JOINED.items():
        found[code].add(name)
    return found


def unknown_families() -> list[str]:
    """Families that a function joins with a name and that `HELPERS` does not list."""
    known = {family for family, _, _ in HELPERS} | {"assay", "statement", "torch"}
    unknown = [f"{name}: no {text}" for name, text in JOINED.values() if text not in (ROOT / name).read_text(encoding="utf-8")]
    for path in sources():
        for match in PREFIX.finditer(path.read_text(encoding="utf-8")):
            if match.group(1) not in known:
                unknown.append(f"{path.relative_to(ROOT)}: \"{match.group(1)}.\"")
    return unknown


if __name__ == "__main__":
    for code, places in sorted(codes().items()):
        print(code, *sorted(places))
    print(*unknown_families(), sep="\n", file=sys.stderr)
