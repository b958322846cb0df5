"""Runs the program `assay` that the package carries."""
from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
from typing import Any, Iterator

RUN = "the recorded run"  # what messages call the file that a trace is handed over in


def program(name: str = "assay") -> str:
    """The path of a program: $ASSAY_PROGRAMS/NAME, the package's own, or the one on the PATH.

    A script on the PATH is the package's command of the same name, which would start itself.
    """
    folders = [os.environ.get("ASSAY_PROGRAMS"), pathlib.Path(__file__).parents[1] / "bin"]
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


@contextlib.contextmanager
def handed_over(data: bytes, folder: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    """A path under which a program finds the bytes, and what it has to inherit for that: they stay in memory where the system has such files."""
    in_memory = hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd")
    path = os.path.join(folder, "run.safetensors")
    with open(os.memfd_create("assay-run") if in_memory else path, "w+b", buffering=0) as out:
        rest = memoryview(data)
        while rest:
            rest = rest[out.write(rest):]
        yield (f"/proc/self/fd/{out.fileno()}", (out.fileno(),)) if in_memory else (path, ())


def gate(verb: str, trace: bytes, *options: str) -> tuple[int, dict[str, Any], str]:
    """`assay audit` or `assay gradcheck` of a trace: exit code, report as in its JSON schema, and the text that the program prints."""
    with tempfile.TemporaryDirectory(prefix="assay-") as folder, handed_over(trace, folder) as (path, files):
        report = os.path.join(folder, "report.json")
        done = subprocess.run([program(), verb, path, f"--json={report}", *options], capture_output=True, text=True, check=False, pass_fds=files)
        found: dict[str, Any] = {}
        if os.path.exists(report):
            with open(report, encoding="utf-8") as text:
                found = json.loads(text.read().replace(path, RUN))
        return done.returncode, found, (done.stdout + done.stderr).replace(path, RUN)


def judgement(verb: str, trace: bytes, *options: str) -> tuple[int, dict[str, Any], str]:
    """The same, where it is a verdict: 0, 1 or 3. Anything else raises an exception with the reason."""
    status, found, text = gate(verb, trace, *options)
    if status in (0, 1, 3) and ("cases" in found or status == 3):
        return status, found, text
    from assay.errors import InternalError, UsageError, from_rejection

    if "rejection" in found:
        raise from_rejection({"kind": "malformed", "code": "", "place": "", "required": "", "found": "", "advice": "", **found["rejection"]})
    last = text.strip().splitlines()[-1:] or ["it said nothing"]
    if status == 2:
        raise UsageError("wrong option", where=f"assay {verb}", why=last[0], code="python.option")
    if status == -2 or status == 130:
        raise KeyboardInterrupt
    raise InternalError(f"the program ended without a verdict, with status {status}", where=f"assay {verb}", why=last[0],
                        advice="report it with this recording: assay.torch.trace_of(run).to_bytes()", code="python.program")
