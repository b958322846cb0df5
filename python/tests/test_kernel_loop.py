"""The example of docs/how-to/let-a-program-write-kernels.md: three attempts, the JSON of their reports, and kernels that try to be accepted although they are wrong."""
from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import pages
from assay.errors import UsageError
from assay.testing import IsolatedKernel, audit_kernel
from assay.testing._isolated import shared
from assay.testing._isolated_worker import _Worker
from assay.testing._memory import NumPy

ROOT = pathlib.Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "kernel_loop"
PAGE = (ROOT / "docs/how-to/let-a-program-write-kernels.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs/reference/kernel-reports.md").read_text(encoding="utf-8")
sys.path.insert(0, str(FOLDER))

import gate  # noqa: E402
import loop  # noqa: E402

SHAPES = [(3, 20), (3, 20), (20,)]
# What a kernel may do beside computing; each is wrong, and the words are those of its report.
CHEATS = '''
import atexit, gc, inspect, os, signal, sys, time
import numpy as np
import assay._core.audits, assay._core.gate_reports, assay.testing._kernels, assay.testing._memory

def wrong(x, residual, weight, out):
    out[...] = (x + residual) * weight

def patches(x, residual, weight, out):
    assay.testing._kernels._fails = lambda case: False
    assay._core.audits.judge = assay.testing._memory.Placed.change = lambda *_: None
    assay._core.gate_reports.Report.verdict = assay.testing._kernels.KernelReport.verdict = property(lambda self: "passed")
    np.array_equal = lambda *_, **__: True
    wrong(x, residual, weight, out)

def reads_the_stack(x, residual, weight, out):
    wrong(x, residual, weight, out)
    seen = [value for one in inspect.stack() for value in one.frame.f_locals.values()] + gc.get_objects()
    for one in seen:
        if type(one).__name__ == "Probe" or getattr(one, "__name__", "") == "reference":
            out[...] = one(x, residual, weight)

def prints(x, residual, weight, out):
    verdict = b'{"schema": "assay.kernel/1", "verdict": "passed", "items": []}'
    atexit.register(os.write, 1, verdict)
    for file in range(1, 9):
        try:
            os.write(file, verdict)
        except OSError:
            pass
    wrong(x, residual, weight, out)

def changes_operands(x, residual, weight, out):
    x[...] = residual[...] = out[...] = 0

def forges(x, residual, weight, out):
    with open(f"/proc/{os.getppid()}/fd/1", "wb") as report:
        report.write(b'{"schema": "assay.kernel/1", "verdict": "passed", "probes": {"all": 1, "judged": 1}}')
    os.kill(os.getppid(), signal.SIGKILL)

def exits(x, residual, weight, out):
    sys.exit(0)

def exits_at_once(x, residual, weight, out):
    os._exit(0)

def dies(x, residual, weight, out):
    os.kill(os.getpid(), signal.SIGKILL)

def waits(x, residual, weight, out):
    time.sleep(60)

def takes_memory(x, residual, weight, out):
    np.ones(1 << 33)

def declines(x, residual, weight, out):
    if x.shape != (3, 20):
        raise NotImplementedError("this shape")
    rows = x + residual
    out[...] = rows / np.sqrt((rows * rows).mean(-1, keepdims=True) + np.float32(1e-5)) * weight
'''
ENDS = {"patches": ("failed", "its div"), "reads_the_stack": ("failed", "its div"), "prints": ("failed", ""), "changes_operands": ("failed", "writes into its operands"),
        "exits": ("undecided", "SystemExit: 0"), "exits_at_once": ("undecided", "ended with status 0, before it gave a result"), "dies": ("undecided", "SIGKILL"),
        "waits": ("undecided", "took too long"), "takes_memory": ("undecided", "Unable to allocate"), "declines": ("passed", "declined"), "absent": ("undecided", "cannot be imported")}


def documented(section: str = "") -> set[str]:
    """The fields that the page of the JSON lists, in one of its tables."""
    part = REFERENCE.partition(section)[2].partition("\n## ")[0] if section else REFERENCE.partition("\n## ")[0]
    rows = re.findall(r"(?m)^\| (`[^|]*) \|", part)
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


def test_the_page_shows_the_files_of_the_example():
    shown = {block.title: block.text for block in pages.blocks(PAGE) if block.title}
    assert shown == {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py")}


def test_three_attempts_get_their_verdicts(tmp_path, monkeypatch):
    accepted = tmp_path / "accepted.py"
    reports = [loop.judged((FOLDER / f"attempt_{number}.py").read_text(encoding="utf-8")) for number in (1, 2, 3)]
    assert [one["verdict"] for one in reports] == ["failed", "failed", "passed"] and [loop.is_accepted(one) for one in reports] == [False, False, True]
    tail, epsilon, right = reports
    by_shape = {one["of"]: one["failed"] for one in tail["failures"]["by_shape"]}
    assert by_shape["3x192, 3x192, 192"] == 0 < by_shape["3x257, 3x257, 257"]  # the table shows which rows fail
    assert tail["faults"][0]["fault"] == "gives wrong results only where the size of the last axis of operand 0 is no multiple of 64"
    assert epsilon["faults"][0]["fault"] == "computes the reference with its sqrt before its add"
    worst = tail["worst"]
    assert worst["call"]["operands"] == [{"dtype": "float32", "shape": shape, "layout": "dense"} for shape in ([3, 100], [3, 100], [100])]
    assert not worst["worst"]["admitted"]["lo"] <= worst["worst"]["received"] <= worst["worst"]["admitted"]["hi"] and any("x2[" in one for one in worst["details"])
    told = loop.message(tail)
    assert loop.element(worst["worst"]) in told and "3x192, 3x192, 192: 0 of 2" in told and "Not tried: other element types than float32" in told
    for report in reports:
        assert set(report) == documented() and report["schema"] == "assay.kernel/1"
        assert set(report["asked"]) >= {"op", "model", "seed", "like", "isolated"} and report["asked"]["isolated"]
        counts = report["probes"]
        assert counts["all"] == counts["judged"] + counts["declined"] + counts["not_judged"]
        for finding in report["findings"]:
            assert set(finding) == documented("## Fields of a finding") and set(finding["worst"]) <= documented("## Fields of an element")
    asked = iter([tail, epsilon, tail, right])
    monkeypatch.setattr(loop, "judged", lambda source: next(asked))
    assert loop.main(accepted, FOLDER / "attempt_1.py", FOLDER / "attempt_2.py") == 1 and not accepted.exists()
    assert loop.main(accepted, *(FOLDER / f"attempt_{number}.py" for number in (1, 3, 2))) == 0
    assert accepted.read_bytes() == (FOLDER / "attempt_3.py").read_bytes()


@pytest.mark.parametrize("script", ["", "raise SystemExit(0)", "import os; os._exit(0)", "print('{}')", "print('[1]')", "raise ValueError('broken')",
                                    "print('{\"schema\": \"assay.kernel/1\", \"verdict\": \"passed\", \"probes\": {\"all\": 1, \"judged\": 1}}'); raise SystemExit(1)",
                                    "import time; time.sleep(60)"])
def test_an_end_without_a_report_is_not_accepted(script, tmp_path):
    other = tmp_path / "gate.py"
    other.write_text(script, encoding="utf-8")
    report = loop.judged("", other, 1 if "sleep" in script else 60)
    assert report["verdict"] == "no report" and not loop.is_accepted(report) and "no report" in loop.message(report)


def test_a_report_that_the_kernel_wrote_is_not_accepted():
    """The process of the kernel has the rights of the gate: it can write to its output, and end it."""
    report = loop.judged(CHEATS + "\nrms_norm = forges\n")
    assert report["verdict"] == "no report" and "status -9" in report["headline"] and not loop.is_accepted(report)


@pytest.mark.parametrize("name", ENDS)
def test_what_a_kernel_does_beside_computing_does_not_let_it_pass(name, tmp_path):
    verdict, words = ENDS[name]
    file = tmp_path / "candidate.py"
    file.write_text(CHEATS, encoding="utf-8")
    with IsolatedKernel(file, name, seconds=2, memory=4 << 30) as kernel:
        report = audit_kernel(gate.reference, kernel, out=True, like=SHAPES, blocks=name == "declines", strided=False, raises=False)
    found = json.loads(json.dumps(report.json, allow_nan=False))
    assert found["verdict"] == verdict and not loop.is_accepted(found)
    assert words in report.text, report.text
    if name in ("exits_at_once", "dies", "waits", "absent"):
        assert "KernelStopped" in found["declined"][0]["why"] and not found["declined"][0]["is_refusal"]
        with IsolatedKernel(file, name, seconds=1) as kernel:  # no option makes a crash a refusal
            assert audit_kernel(gate.reference, kernel, out=True, like=SHAPES, blocks=False, strided=False, raises=False, declines=Exception).json["probes"]["raised"]


ORDINARY = '''
import numpy as np
from assay.testing import Declined
kept = {}

def right(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)

def static(x, axis):
    y = right(x, axis)
    kept.setdefault(y.shape, np.empty_like(y))[...] = y
    return kept[y.shape]

def refuses(x, axis):
    if x.ndim > 1:
        raise Declined("rows alone")
    return right(x, axis)

def gives_nothing(x, axis):
    right(x, axis)

def too_much(x, axis):
    return np.zeros((1 << 20, 8), np.float32)

def gradient(x, w, g, out):
    s = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-5))
    h, d = x * s, g * w
    out[0][...], out[1][...] = s * (d - h * (d * h).mean(-1, keepdims=True)), (g * h).sum(0)

def doubles(x):
    x *= 2
    return x.copy()

def as_torch(x, axis):
    return x.softmax(axis)
'''


def test_an_isolated_kernel_is_judged_as_a_function_is(tmp_path):
    file, own = tmp_path / "ordinary.py", {}
    file.write_text(ORDINARY, encoding="utf-8")
    exec(ORDINARY, own)
    for name in ("right", "static", "refuses", "gives_nothing"):
        with IsolatedKernel(file, name) as kernel:
            isolated, here = (audit_kernel("softmax", one, blocks=False, strided=name == "static", raises=False) for one in (kernel, own[name]))
        assert isolated.text == here.text and isolated.faults == here.faults and isolated.declined == here.declined, name
        assert isolated.json["asked"]["isolated"] and not here.json["asked"]["isolated"]
    assert isolated.cases[0].file == str(file) and isolated.cases[0].line == ORDINARY[:ORDINARY.index("def gives_nothing")].count("\n") + 1
    with IsolatedKernel(file, "gradient") as kernel:  # several results, in memory that is given
        assert audit_kernel("rms norm backward", kernel, out=True, blocks=False, strided=False).passed
    with IsolatedKernel(file, "doubles") as kernel:
        assert audit_kernel(lambda x: x * 2, kernel, like=[(5, 7)], blocks=False, writes=(0,)).passed
    with IsolatedKernel(file, "too_much") as kernel:
        assert "far larger than the result of this probe" in audit_kernel("softmax", kernel, blocks=False, strided=False, raises=False).text


def test_an_isolated_kernel_gets_tensors(tmp_path):
    pytest.importorskip("torch")
    file = tmp_path / "ordinary.py"
    file.write_text(ORDINARY, encoding="utf-8")
    with IsolatedKernel(file, "as_torch", arrays="torch") as kernel:
        assert audit_kernel("softmax", kernel, blocks=False).passed
        with pytest.raises(UsageError, match="give arrays= and device= to IsolatedKernel"):
            audit_kernel("softmax", kernel, arrays="torch")


def test_memory_of_a_device_is_copied_back():
    class Device(NumPy):
        def view(self, flat, dtype, shape, strides, first):
            own = flat.copy()  # what a device has
            return super().view(own, dtype, shape, strides, first)[0], lambda: own

    def double(x, out):
        out[...] = x * 2

    form, (given, x), (result, y) = ("<f4", "float32", (3,), (1,), 0), shared(12), shared(12)
    x[:] = np.array([1, 2, 3], "<f4").tobytes()
    assert _Worker(double, Device())._call([given, result], 1, [form], [form], False, {}, [((3,), "float32", 0)]) == {"several": False, "items": []}
    assert np.frombuffer(y, "<f4").tolist() == [2, 4, 6]


def test_wrong_use_is_refused(tmp_path):
    file = tmp_path / "ordinary.py"
    with pytest.raises(UsageError, match="not found"):
        IsolatedKernel(file, "right")
    file.write_text(ORDINARY, encoding="utf-8")
    for options, words in (({"seconds": 0}, "seconds"), ({"seconds": "1"}, "seconds"), ({"memory": 5}, "memory"), ({"arrays": "jax"}, "arrays"), ({"device": "cuda"}, "arrays")):
        with pytest.raises(UsageError, match=words):
            IsolatedKernel(file, "right", **options)
    with IsolatedKernel(file, "right") as kernel, pytest.raises(UsageError, match="takes the operands of audit_kernel"):
        kernel(np.zeros(3, np.float32), axis=0)


def test_a_kernel_that_exits_here_gives_a_verdict_too():
    def exits(x):
        sys.exit(0)
    report = audit_kernel("relu", exits, blocks=False, raises=False)
    assert report.verdict == "undecided" and "SystemExit: 0" in report.text and len(report.raised) == report.probes
    assert subprocess.run([sys.executable, "-c", "import sys\nfrom assay.testing import audit_kernel\naudit_kernel('relu', lambda x: sys.exit(0), blocks=False)"],
                          capture_output=True, check=False).returncode == 1
