"""What the architecture tests share: where the tree is, what a source file includes, how a failure is reported."""
import argparse
import importlib.machinery
import importlib.util
import pathlib
import re
import subprocess
import sys

LAYERS = ["semantics", "kernel", "policy", "frontends", "formats", "certificates", "runtime", "gpu", "training", "probes", "search", "api", "app", "explain", "cli", "python"]
TRUSTED = ["semantics", "kernel"]
SUFFIXES = {".h", ".cpp", ".cu", ".cuh"}


def arguments():
    """--root, --build and --cxx as CTest passes them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--cxx", default="c++")
    return parser.parse_args()


def load_tool(root, name):
    """A program of tools/ as a module."""
    loader = importlib.machinery.SourceFileLoader(name, str(root / "tools" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def load_count_lines(root):
    """tools/count_lines, which also knows how to strip comments."""
    return load_tool(root, "count_lines")


def sources(root, folders, suffixes=SUFFIXES):
    """-> sorted paths relative to root."""
    found = [p for folder in folders for p in (root / folder).rglob("*") if p.suffix in suffixes and p.is_file()]
    return sorted(p.relative_to(root) for p in found)


INCLUDE = re.compile(r"^[ \t]*(?:#|%:|\?\?=)[ \t]*(?:include|include_next|import)\b[ \t]*(.*)$", re.M)


def includes(text):
    """-> [(line number, operand of the directive)], comments and line splices removed by the caller."""
    return [(text.count("\n", 0, m.start()) + 1, m[1].strip()) for m in INCLUDE.finditer(text)]


def compile_text(cxx, root, text, *flags):
    """Compiles `text` as C++20 with the tree as include root; nothing is written. -> CompletedProcess"""
    command = [cxx, "-std=c++20", "-fsyntax-only", "-ffp-contract=off", f"-I{root}", f"-I{root}/api", *flags, "-x", "c++", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True)


def report(name, problems, summary):
    """Prints every problem; the exit status of the test."""
    for problem in problems:
        print(f"FAILED {name}: {problem}")
    print(summary if not problems else f"{len(problems)} problem(s)")
    sys.exit(1 if problems else 0)
