"""tools/replay_witness: what it says of reports, and, where ONNX Runtime is installed, of real counterexamples.

    replay_test.py --root ROOT --build BUILD              refusals, without ONNX Runtime
    replay_test.py --root ROOT --build BUILD --runtime    replays; exit 77 (skipped) without onnxruntime
"""
import argparse
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77
# below $ASSAY_DATA/vnn: small, refuted in well under a second, of several importers
INSTANCES = [("rl_benchmarks/onnx/lunarlander.onnx", "rl_benchmarks/vnnlib/lunarlander_case_unsafe_35.vnnlib"),
             ("cersyve/onnx/lane_keep_pretrain_con.onnx", "cersyve/vnnlib/prop_lane_keep.vnnlib"),
             ("collins_rul_cnn/onnx/NN_rul_small_window_20.onnx", "collins_rul_cnn/vnnlib/robustness_4perturbations_delta5_epsilon10_w20.vnnlib")]


class Bench:
    def __init__(self, root, build, folder):
        self.root, self.build, self.folder = root, build, pathlib.Path(folder)
        self.digits = [str(root / "examples/digits/digits.onnx"), str(root / "examples/digits/digits_fails.vnnlib")]

    def assay(self, *words):
        return subprocess.run([self.build / "bin/assay", *words], capture_output=True, text=True, timeout=120).stdout

    def report(self, files):
        return json.loads(self.assay("verify", *files, "--json", "-q", "--timeout", "60"))

    def replay(self, report, *words, environment=None):
        """-> (exit status, stdout, stderr)"""
        path = self.folder / "report.json"
        path.write_text(report if isinstance(report, str) else json.dumps(report))
        done = subprocess.run([sys.executable, self.root / "tools/replay_witness", path, *words], capture_output=True, text=True, timeout=120,
                              env=environment)
        return done.returncode, done.stdout, done.stderr


def refusals(bench):
    good = bench.report(bench.digits)
    if good["answer"] != "sat" or not good["float32"]["violates"]:
        yield f"the shipped example: answer {good['answer']}, float32 {good.get('float32')}"
    (bench.folder / "onnxruntime.py").write_text("raise ImportError('hidden by the test')\n")
    hidden = dict(os.environ, PYTHONPATH=str(bench.folder))
    other = bench.folder / "other.onnx"
    other.write_bytes(b"not the model")
    holds = bench.report([bench.digits[0], bench.digits[1].replace("fails", "holds")])
    cut = json.loads(json.dumps(good))
    del cut["theorem"]["witness"]["cases"]
    chosen = json.loads(json.dumps(good))
    chosen["statement"]["sources"].append({"role": "model options", "name": "--set sr=16000", "sha256": ""})
    for what, report, words, status, said in [
            ("no ONNX Runtime", good, (), 3, "pip install onnxruntime"), ("an unsat report", holds, (), 4, "has no witness"),
            ("no JSON", "{", (), 4, "not a JSON report"), ("a JSON list", [], (), 4, "not a report of"),
            ("another program's JSON", {"schema": "x"}, (), 4, "not a report of"), ("another model", good, ("--model", str(other)), 4, "SHA-256 differs"),
            ("a model with a constant input", chosen, (), 4, "the model with --set sr=16000"),
            ("no model", good, ("--model", str(other) + "x"), 4, "cannot read the model")]:
        found = bench.replay(report, *words, environment=hidden)
        if found[0] != status or found[1] or said not in found[2] or "Traceback" in found[2]:
            yield f"{what}: exit {found[0]}, expected {status} and {said!r}: {found[1:]}"


def middle(report):
    """The report with the middle of the box as its point."""
    bent = json.loads(json.dumps(report))
    for point in bent["theorem"]["witness"]["inputs"]:
        point["exact"] = repr((float(point["lo"]) + float(point["hi"])) / 2)
    return bent


def expect(bench, what, report, status, word):
    found = bench.replay(report)
    if found[0] != status or found[1].split("\n")[0] != word:
        yield f"{what}: exit {found[0]}, expected {status} and {word!r}: {found[1:]}"


def without_an_answer(bench, report):
    """A property with products, and reports that are bent: exit status 1 would say that the model does not violate the property."""
    squares = bench.folder / "squares.vnnlib"
    squares.write_text(pathlib.Path(bench.digits[1]).read_text() + "(assert (<= (* Y_0 Y_0) 1e9))\n")
    yield from expect(bench, "a property with products", bench.report([bench.digits[0], str(squares)]), 4, "")
    for path, value in ((("inputs", 0, "exact"), "x"), (("cases", 0, "rows", 0, "terms", 0, "element"), 99), (("input_tensors",), []), (("case",), 77)):
        bent = json.loads(json.dumps(report))
        inner = bent["theorem"]["witness"]
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = value
        yield from expect(bench, f"{path}: {value}", bent, 4, "")


def outside_of_the_model(bench):
    """Weights beside the model, which have a digest of their own."""
    try:
        import numpy
        import onnx
    except ImportError as missing:
        print(f"SKIPPED external data: {missing}")
        return
    folder = bench.folder / "beside"
    folder.mkdir()
    model = onnx.load(bench.digits[0])
    onnx.save(model, folder / "digits.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    report = bench.report([str(folder / "digits.onnx"), bench.digits[1]])
    yield from expect(bench, "external data", report, 0, "violates")
    weights = folder / "weights.bin"
    weights.write_bytes(numpy.zeros(weights.stat().st_size // 4, numpy.float32).tobytes())
    yield from expect(bench, "other external data", report, 4, "")


def replays(bench):
    proof = str(bench.folder / "proof")
    verified = json.loads(bench.assay("verify", *bench.digits, "--json", "-q", "--proof", proof))
    checked = json.loads(bench.assay("check", *bench.digits, proof, "--json"))
    yield from expect(bench, "the shipped example", verified, 0, "violates")
    yield from expect(bench, "its certificate", checked, 0, "violates")
    yield from expect(bench, "the middle of its box", middle(verified), 1, "does-not-violate")
    strict = json.loads(json.dumps(verified))
    for case in strict["theorem"]["witness"]["cases"]:
        case["rows"].append({"terms": [], "relation": "<", "bound": "0"})
    yield from expect(bench, "a case with the row 0 < 0", strict, 1, "does-not-violate")
    yield from without_an_answer(bench, verified)
    yield from outside_of_the_model(bench)
    data = pathlib.Path(os.environ.get("ASSAY_DATA", bench.root.parent / "shared/data")) / "vnn"
    for files in INSTANCES:
        paths = [str(data / name) for name in files]
        if all(map(os.path.exists, paths)):
            yield from expect(bench, files[1], bench.report(paths), 0, "violates")
        else:
            print(f"SKIPPED {files[1]}: not below {data} (set ASSAY_DATA)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--runtime", action="store_true")
    options = parser.parse_args()
    if options.runtime and not importlib.util.find_spec("onnxruntime"):
        print(f"SKIPPED: no onnxruntime in {sys.executable}; pip install onnxruntime, or configure with -DPython3_EXECUTABLE=...")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(options.root, options.build, scratch)
        problems = list((replays if options.runtime else refusals)(bench))
    print("\n".join(f"FAILED {p}" for p in problems) or "as agreed")
    sys.exit(1 if problems else 0)
