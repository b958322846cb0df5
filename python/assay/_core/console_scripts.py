"""The commands `assay`, `assay-check` and `assay-replay-witness`: the programs of the package, in place of this process."""
from __future__ import annotations

import os
import sys

from . import programs


def _run(name: str) -> None:
    try:
        path = programs.program(name)
    except FileNotFoundError as error:
        sys.exit(f"{name}: {error}")
    sys.stdout.flush()
    if programs.is_script(path):  # in Python: for the interpreter that has the package's neighbours
        os.execv(sys.executable, [sys.executable, path, *sys.argv[1:]])
    os.execv(path, [name, *sys.argv[1:]])


def assay() -> None:
    _run("assay")


def assay_check() -> None:
    _run("assay-check")


def assay_replay_witness() -> None:
    _run("assay-replay-witness")
