"""What the tests share: the repository's examples, small networks written byte by byte, and Ctrl-C."""
import os
import pathlib
import signal
import struct
import subprocess
import sys
import time
from random import Random

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))

DIGITS = ROOT / "examples" / "digits"
GLIBC = "binary32 math=glibc-2.36"


def interrupt(code, within=1, **environment):
    """Sends Ctrl-C to a program in the midst of its work, which it begins with "ready"; soon it has to say "interrupted" and when, and
    to end well. -> the programs `assay` that it had started"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})
    assert process.stdout.readline() == "ready\n"
    time.sleep(1)
    started = [program for parent in [process.pid, *children(process.pid, "python")] for program in children(parent)]
    asked = time.time()
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    words = said.split()
    assert words[0] == "interrupted" and process.returncode == 0, said
    assert float(words[1]) - asked < within, said
    return started


def children(parent, program="assay"):
    """The programs of a name that a process started."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            name, _, rest = (entry / "stat").read_text().partition(") ") if entry.name.isdigit() else ("", "", "")
        except OSError:
            continue
        if name.partition("(")[2].startswith(program) and int(rest.split()[1]) == parent:
            found.append(int(entry.name))
    return found


@pytest.fixture(scope="session")
def digits():
    return DIGITS / "digits.onnx"


@pytest.fixture(scope="session")
def eight():
    """The image whose class the example's properties are about."""
    text = (DIGITS / "digits_fails.vnnlib").read_text()
    ends = {}
    for line in text.splitlines():
        words = line.replace("(", " ").replace(")", " ").split()
        if words[:1] == ["assert"] and words[1] in ("<=", ">=") and words[2].startswith("X_"):
            ends.setdefault(int(words[2][2:]), {})[words[1]] = float(words[3])
    return [(ends[i][">="], ends[i]["<="]) for i in range(64)]


def network(widths, seed=1):
    """A random ReLU network as the bytes of an ONNX file."""
    import onnx_files as files

    draw = Random(seed)
    nodes, tensors, name = [], [], "x"
    for layer, (before, after) in enumerate(zip(widths, widths[1:])):
        count = before * after
        some = [struct.unpack("f", struct.pack("f", draw.gauss(0, before**-0.5)))[0] for _ in range(min(count, 40_009))]
        w = (some * (count // len(some) + 1))[:count]
        tensors.append(files.tensor(f"w{layer}", [before, after], w))
        last = layer == len(widths) - 2
        nodes.append(files.node("MatMul", [name, f"w{layer}"], ["y" if last else f"z{layer}"], f"m{layer}"))
        if not last:
            nodes.append(files.node("Relu", [f"z{layer}"], [f"h{layer}"], f"r{layer}"))
            name = f"h{layer}"
    return files.model(nodes, [files.value_info("x", [1, widths[0]])], [files.value_info("y", [1, widths[-1]])], tensors)


@pytest.fixture(scope="session")
def hard():
    """A question that a search does not answer in minutes: model bytes and property."""
    import assay

    model = network([40, 150, 150, 150, 2], seed=3)
    box = assay.Box(lo=[-1] * 40, hi=[1] * 40)
    top = float(assay.bounds(model, [box, assay.Robust(0)], method="crown", outputs_only=True).outputs["y"].hi[0, 0])
    return model, [box, assay.Linear([1, 0], at_most=0.45 * top)]
