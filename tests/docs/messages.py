"""Lists the messages of the product as one text, for review: refusals, findings, notes and errors in C++ and Python.

    python3 tests/docs/messages.py [python|c++] > messages.md

A row has the place, the code if there is one, and the words. An expression inside of a message is shown as {...}.
"""
from __future__ import annotations

import ast
import re
import sys

import codes

CLASSES = {"Error", "UsageError", "MalformedInput", "Unsupported", "Undecided", "Rejected", "InternalError", "Refused", "Finding"}
FUNCTIONS = {"wrong", "add", "tell", "remark", "refuse", "warn", "declined", "Declined", "fail", "skip", "error"}
BUILTIN = {"ValueError", "TypeError", "RuntimeError", "NotImplementedError", "AssertionError", "KeyError", "OSError", "ImportError", "SystemExit"}


def words_of(node: ast.expr) -> str:
    """A literal, with {...} for what it computes; empty where it has no words."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(one.value if isinstance(one, ast.Constant) else "{" + ast.unparse(one.value)[:40] + "}" for one in node.values
                       if isinstance(one, (ast.Constant, ast.FormattedValue)))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = words_of(node.left), words_of(node.right)
        return (left or "{...}") + (right or "{...}") if left or right else ""
    if isinstance(node, ast.IfExp):
        return " / ".join(filter(None, (words_of(node.body), words_of(node.orelse))))
    return ""


def python_messages() -> list[tuple[str, str, str]]:
    """(place, code, words) of every call that makes an exception, a finding or a note."""
    found = []
    for path in codes.sources():
        if path.suffix != ".py":
            continue
        name = str(path.relative_to(codes.ROOT))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
            if called not in CLASSES | FUNCTIONS | BUILTIN:
                continue
            parts = [words_of(one) for one in node.args]
            given = {one.arg: words_of(one.value) for one in node.keywords if one.arg}
            code = given.pop("code", "") or next((one for one in parts if codes.CODE.fullmatch(one)), "")
            text = " | ".join([one for one in parts if one and one != code] + [f"{key}: {one}" for key, one in given.items() if one])
            if " " in text:
                found.append((f"{name}:{node.lineno}", code, text))
    return found


def cpp_messages() -> list[tuple[str, str, str]]:
    """(place, code, words) of every statement of C++ that holds a code: its literals in their order."""
    found = []
    for path in codes.sources():
        if path.suffix == ".py":
            continue
        name, text = str(path.relative_to(codes.ROOT)), path.read_text(encoding="utf-8")
        helpers = [(family, functions) for family, place, functions in codes.HELPERS if name.startswith(place)]
        starts = {match.start(): match.group(1) for match in codes.LITERAL.finditer(text)
                  if codes.CODE.fullmatch(match.group(1)) and match.group(1) not in codes.OTHERS}
        for family, functions in helpers:
            for call in re.finditer(r"\b(?:" + "|".join(functions) + r")\(", text):
                rest = codes.first_literal(text, call.end() - 1, codes.PART)
                if rest:
                    starts[call.end()] = f"{family}.{rest}"
        for start, code in sorted(starts.items()):
            statement = text[start:text.find(";\n", start)][:900]
            literals = [one for one in codes.LITERAL.findall(statement) if one not in (code, code.split(".", 1)[1])]
            if text.rfind("//", text.rfind("\n", 0, start) + 1, start) < 0 and literals:
                found.append((f"{name}:{text.count(chr(10), 0, start) + 1}", code, " | ".join(literals)))
    return found


def documents() -> dict[str, list[str]]:
    """Document or header of this repository that a text of the sources names -> the files that name it."""
    found: dict[str, list[str]] = {}
    name = re.compile(r"(?<![./\w-])(?:[a-z_-]+/)+[A-Za-z0-9_-]+\.md\b")
    for path in codes.sources():
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".py":
            literals = [one.value for one in ast.walk(ast.parse(text)) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        else:
            literals = codes.LITERAL.findall(re.sub(r"(?m)^\s*(?://|#).*", "", text))
        for literal in literals:
            for one in name.findall(literal):
                found.setdefault(one, []).append(str(path.relative_to(codes.ROOT)))
    return found


def is_installed(document: str) -> bool:
    """Whether packages and wheels hold the document: python/CMakeLists.txt and tools/cmake/AssayInstall.cmake install these."""
    return document == "certificates/FORMAT.md" or document.startswith("docs/") and not document.startswith("docs/decisions/")


def main(which: list[str]) -> None:
    for language, messages in (("python", python_messages), ("c++", cpp_messages)):
        if not which or language in which:
            rows = messages()
            print(f"# {language}: {len(rows)} messages\n")
            for place, code, text in rows:
                print(f"- {place} {code}\n  {text}")


if __name__ == "__main__":
    main(sys.argv[1:])
