"""ruff over all Python of the tree, with the rules of pyproject.toml; it runs in the environment of the Python tests, which has ruff."""
import subprocess
import sys

import house

if __name__ == "__main__":
    options = house.arguments()
    root = options.root.resolve()
    if subprocess.run([sys.executable, "-m", "ruff", "--version"], capture_output=True).returncode != 0:
        print("skipped: the environment has no ruff (pip install ruff)")
        sys.exit()
    check = [sys.executable, "-m", "ruff", "check", "--no-cache", "--config", root / "pyproject.toml", "--output-format", "concise"]
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True).stdout.split()
    names = listed or [str(p.relative_to(root)) for folder in ("python", "tests", "tools", "benchmarks", "examples") for p in (root / folder).rglob("*") if p.is_file()]
    programs = [name for name in names if name.endswith(".py") or "." not in name and (root / name).read_bytes()[:64].startswith(b"#!/usr/bin/env python")]
    problems = subprocess.run([*check, *programs], cwd=root, capture_output=True, text=True)
    control = subprocess.run([*check, "-"], cwd=root, capture_output=True, text=True, input="import os\nprint(undefined)\n")
    found = [line for line in problems.stdout.splitlines() if ": " in line] + ([problems.stderr] if problems.returncode > 1 else [])
    if "F401" not in control.stdout or "F821" not in control.stdout:
        found.append("the control, an unused import and an undefined name, is not caught")
    house.report("python", found, f"{len(programs)} files of Python, nothing found")
