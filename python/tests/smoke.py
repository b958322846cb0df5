"""What an installed package does at least: smoke.py FOLDER_OF_THE_DIGITS [FOLDER_OF_NOTEBOOKS]. Prints a line per thing that works.

The code of each notebook runs in an interpreter of its own, in the notebooks' folder; one that needs what is not installed is left out.
"""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import time

start = time.process_time()
import assay  # noqa: E402

assay.verify  # the native half too
seconds = time.process_time() - start
print(f"imported in {seconds:.3f} s of the processor, without {', '.join(sorted({'numpy', 'torch'} - set(sys.modules)))}")
assert seconds < 0.3

digits = pathlib.Path(sys.argv[1])
model = digits / "digits.onnx"
holds = assay.verify(model, digits / "digits_holds.vnnlib", timeout=60)
assert holds.answer == "unsat" and holds.check(exact=True), holds
print(f"certified: {holds!r}")
fails = assay.verify(model.read_bytes(), (digits / "digits_fails.vnnlib").read_text(), timeout=60)
assert fails.answer == "sat" and fails.check() and fails.witness["image"].shape == (1, 64), fails
print(f"refuted: {fails!r}")
box = assay.Box(fails.witness["image"], 0.001)
bounds = assay.bounds(model, [box, assay.Robust(3)]).outputs["scores"]
point = assay.evaluate(model, box, gradients={"scores": [1] + 9 * [0]})
assert (bounds.lo <= bounds.hi).all() and point.gradients["image"].lo.shape == (1, 64)
print("bounded:", bounds)
assert assay.lint(model) == [] and assay.inspect(model)["kind"] == "model"
try:
    assay.verify("/nope.onnx", digits / "digits_holds.vnnlib")
except assay.MalformedInput as error:
    print("refused:", error)

import numpy  # noqa: E402

import assay.testing  # noqa: E402

x, w = numpy.random.default_rng(0).standard_normal((2, 8, 8), dtype=numpy.float32)
judged = assay.testing.within_contract("matmul", [x, w], x @ w)
assert judged.passed and judged.count("passed") == 64, judged.text
print("judged:", judged.summary())
program = pathlib.Path(assay.__file__).parent / "bin" / "assay"
done = subprocess.run([program, "probe", "--op", "conv", "--small", "--forward-only"], capture_output=True, text=True)
assert done.returncode == 0, done.stdout + done.stderr  # oneDNN and OpenMP
print("ran: assay probe --op conv")

for path in sorted(pathlib.Path(sys.argv[2]).glob("*.ipynb")) if len(sys.argv) > 2 else []:
    code = "\n".join("".join(cell["source"]) for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code")
    needed = {"matplotlib": "import plots" in code, "torch": "import torch" in code}
    missing = [name for name, is_needed in needed.items() if is_needed and importlib.util.find_spec(name) is None]
    if missing:
        print(f"left out: {path.stem}, without {', '.join(missing)}")
        continue
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], cwd=path.parent, env={**os.environ, "MPLBACKEND": "agg"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    print(f"ran: {path.stem} in {time.perf_counter() - start:.1f} s; it says", repr(done.stdout.splitlines()[0]))
