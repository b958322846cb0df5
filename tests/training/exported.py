#!/usr/bin/env python3
"""A trained network in ONNX Runtime: what it computes lies in the bounds that hold for every execution of that model.

    python3 tests/training/exported.py BIN

Trains examples/training/digits_cnn for some steps and exports it. For images of the data set, `assay bounds` gives proved bounds of the
scores over all executions float32:onnxruntime at that point; those of ONNX Runtime lie in them, and are checked to be a run of this network
and no other (the bounds are narrower than WIDTH). Prints "skipped" without the packages onnxruntime and numpy.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples" / "training"))
import certify_digits  # noqa: E402

try:
    import numpy
    import onnxruntime
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(0)

IMAGES = 12
WIDTH = 0.05  # of scores between about -20 and 20


def main():
    binary = pathlib.Path(sys.argv[1])
    onnxruntime.set_default_logger_severity(4)
    with tempfile.TemporaryDirectory() as folder:
        model, query = pathlib.Path(folder) / "cnn.onnx", pathlib.Path(folder) / "point.vnnlib"
        subprocess.run([binary / "digits_cnn", "--steps", "200", "--onnx", model], cwd=ROOT, check=True, capture_output=True)
        session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
        assert [i.name for i in session.get_inputs()] == ["X"] and [o.name for o in session.get_outputs()] == ["Y"]
        faults = 0
        for pixels, label in certify_digits.held_out()[:IMAGES]:
            image = (numpy.array(pixels, dtype=numpy.float32) / numpy.float32(16)).reshape(1, 1, 8, 8)  # exact: sixteenths
            (scores,) = session.run(["Y"], {"X": image})
            query.write_text(certify_digits.vnnlib(pixels, label, 0))
            said = subprocess.run([binary / "assay", "bounds", model, query, "--nodes", "outputs", "--semantics", "float32:onnxruntime", "--json"],
                                  capture_output=True, text=True, check=True)
            (node,) = [n for n in json.loads(said.stdout)["groups"][0]["nodes"] if n["output"]]
            lo, hi = ([float.fromhex(x["hex"]) for x in node[side]] for side in ("lo", "hi"))
            for k, score in enumerate(scores[0].tolist()):
                if not (lo[k] <= score <= hi[k] and hi[k] - lo[k] <= WIDTH):
                    print(f"FAILED score {k} of a {label}: {score} in [{lo[k]}, {hi[k]}]")
                    faults += 1
        print(f"{IMAGES} images, {10 * IMAGES} scores, {faults} outside of their bounds")
        sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
