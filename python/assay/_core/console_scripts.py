"""The commands `assay` and `assay-check`: the programs of the package, in place of this process."""
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
    os.execv(path, [name, *sys.argv[1:]])


def assay() -> None:
    _run("assay")


def assay_check() -> None:
    _run("assay-check")
