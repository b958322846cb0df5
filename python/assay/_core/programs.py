"""Runs the program `assay` that the package carries."""
from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
from typing import Any, Callable, Iterator, Sequence

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
    raise FileNotFoundError(f"the program '{name}' was not found; install the wheel, or set ASSAY_PROGRAMS to the folder bin of a build")


def is_script(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(2) == b"#!"


@contextlib.contextmanager
def handed_over(parts: Sequence[bytes | memoryview], folder: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    """A path under which a program finds the bytes, and what it has to inherit for that: they stay in memory where the system has such files."""
    in_memory = hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd")
    path = os.path.join(folder, "run.safetensors")
    with open(os.memfd_create("assay-run") if in_memory else path, "w+b", buffering=0) as out:
        for one in parts:
            rest = memoryview(one)
            while rest:
                rest = rest[out.write(rest):]
        yield (f"/proc/self/fd/{out.fileno()}", (out.fileno(),)) if in_memory else (path, ())


Found = tuple[int, dict[str, Any], str]  # exit code, report as in its JSON schema, and the text that the program prints


@contextlib.contextmanager
def started(verb: str, parts: Sequence[bytes | memoryview], *options: str) -> Iterator[Callable[[], Found]]:
    """`assay audit` or `assay gradcheck` of a trace, in parts, beside the caller: what waits for it. Where nobody waited it is ended."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="assay-"))
        path, files = stack.enter_context(handed_over(parts, folder))
        report = os.path.join(folder, "report.json")
        said, errors = (stack.enter_context(open(os.path.join(folder, name), "w+", encoding="utf-8", errors="replace")) for name in ("said", "errors"))
        process = subprocess.Popen([program(), verb, path, f"--json={report}", *options], stdout=said, stderr=errors, pass_fds=files)

        def wait() -> Found:
            status, found = process.wait(), dict[str, Any]()
            if os.path.exists(report):
                with open(report, encoding="utf-8") as text:
                    found = json.loads(text.read().replace(path, RUN))
            for one in (said, errors):
                one.seek(0)
            return status, found, (said.read() + errors.read()).replace(path, RUN)
        try:
            yield wait
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()


def gate(verb: str, trace: bytes, *options: str) -> Found:
    """The same, waited for."""
    with started(verb, [trace], *options) as wait:
        return wait()


def verdict(verb: str, done: Found) -> Found:
    """Return the result of a gate, where it is a verdict: 0, 1 or 3. Anything else raises an exception with the reason."""
    status, found, text = done
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
