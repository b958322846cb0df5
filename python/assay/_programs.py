"""Runs the program `assay` that the package carries."""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
from typing import Any


def program(name: str = "assay") -> str:
    """The path of a program: $ASSAY_PROGRAMS/NAME, the package's own, or the one on the PATH.

    A script on the PATH is the package's command of the same name, which would start itself.
    """
    folders = [os.environ.get("ASSAY_PROGRAMS"), pathlib.Path(__file__).parent / "bin"]
    for folder in folders:
        if folder and os.access(path := os.path.join(folder, name), os.X_OK):
            return path
    for folder in os.get_exec_path():
        if (found := shutil.which(name, path=folder)) and not is_script(found):
            return found
    raise FileNotFoundError(f"the program '{name}' is not there: it comes with the wheel; of a build, set ASSAY_PROGRAMS to its folder bin")


def is_script(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(2) == b"#!"


def gate(verb: str, trace: bytes, *options: str) -> tuple[int, dict[str, Any], str]:
    """`assay audit` or `assay gradcheck` of a trace: exit code, report as in its JSON schema, and the text that the program prints."""
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        path, report = os.path.join(folder, "run.safetensors"), os.path.join(folder, "report.json")
        with open(path, "wb") as out:
            out.write(trace)
        done = subprocess.run([program(), verb, path, f"--json={report}", *options], capture_output=True, text=True, check=False)
        found: dict[str, Any] = {}
        if os.path.exists(report):
            with open(report, encoding="utf-8") as text:
                found = json.load(text)
        return done.returncode, found, done.stdout + done.stderr
