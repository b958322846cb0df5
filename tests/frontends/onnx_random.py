#!/usr/bin/env python3
"""Random models of one operator each against ONNX Runtime.

    python3 tests/frontends/onnx_random.py BIN_DIRECTORY [--models 300] [--float 60] [--seed 1] [--only OP,...] [--json FILE]

Over the reals: what ONNX Runtime computes is near the enclosures of `assay eval`, element by element, within TOLERANCE.
Under float32:onnxruntime: it lies in the boxes of `assay bounds`, and `assay verify` proves nothing that a point of the
box refutes: the property asks for the largest and the least value that ONNX Runtime reached there. No tolerance is in that part.
Each model follows from the seed and its number. A difference that docs/reference/divergences.md explains stands in KNOWN.
Prints "skipped" without the packages onnx, onnxruntime and numpy.
"""
import collections
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile
from decimal import Decimal

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(0)

import onnx_random_control  # noqa: F401
import onnx_random_microsoft  # noqa: F401
import onnx_random_ml  # noqa: F401
from onnx_random_more import GENERATORS, Draw

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks"))
import results  # noqa: E402

TOLERANCE = 5e-5  # of 1 + the largest output: float32 rounding of one operator
FRACTIONAL = ("Resize", "Upsample", "GridSample")  # more of these: coordinates are where programs differ
DECLINED, UNSUPPORTED = 3, 4
ort.set_default_logger_severity(4)


def attributes_of(case):
    node = case.model.graph.node[0]
    given = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in given.items()}


def is_left_as_it_is(case, given, theirs):
    """Resize where ONNX Runtime leaves an axis, or all of them, as they are."""
    if case.op not in ("Resize", "Upsample"):
        return False
    before = next(iter(case.inputs.values())).shape
    stays = any(a == b for a, b in zip(before[-2:], theirs.shape[-2:]))
    crops = given.get("coordinate_transformation_mode") == "tf_crop_and_resize"
    return before == theirs.shape or stays and (crops or given.get("antialias"))


def is_without_threshold(case, given, theirs):
    return "ThresholdedRelu" in [text.decode() for text in given.get("activations", [])] and "activation_alpha" not in given


def is_padded_otherwise(case, given, theirs):
    same = given.get("auto_pad", "").startswith("SAME") and case.op.endswith("Pool")
    return same and (any(one != 1 for one in given.get("dilations", [])) or case.op == "LpPool")


# The lines of docs/reference/divergences.md that explain differences.
KNOWN = [("Resize leaves axes as they are", is_left_as_it_is), ("ThresholdedRelu without a threshold", is_without_threshold),
         ("pools with auto_pad SAME", is_padded_otherwise)]


def known(case, theirs):
    return next((words for words, holds in KNOWN if holds(case, attributes_of(case), theirs)), "")


def run_runtime(model, inputs):
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, inputs)


def number(value):
    return format(Decimal(float(value)), "f")


class Harness:
    def __init__(self, programs, folder, seed):
        self.programs, self.folder, self.seed = pathlib.Path(programs), pathlib.Path(folder), seed

    def case(self, op, i):
        return GENERATORS[op](Draw([self.seed, i]), op)

    def assay(self, *arguments):
        done = subprocess.run([str(self.programs / "assay"), *map(str, arguments)], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def real(self, op, i):
        """(kind, words): agree, refused, unrunnable or differ."""
        case = self.case(op, i)
        try:
            expected = run_runtime(case.model.SerializeToString(), case.inputs)
        except Exception as error:  # versions or modes that ONNX Runtime does not implement, and models that are none
            return "unrunnable", f"{case.words}: {' '.join(str(error).split())[-140:]}"
        model, values = self.folder / f"{i}.onnx", self.folder / f"{i}.json"
        model.write_bytes(case.model.SerializeToString())
        values.write_text(json.dumps({"inputs": {name: array.reshape(-1).tolist() for name, array in case.inputs.items()}}))
        code, out, error = self.assay("eval", model, values, "--json")
        model.unlink(), values.unlink()
        if code in (DECLINED, UNSUPPORTED):
            return "refused", f"{case.words}: {error.split(chr(10))[0][-150:]}"
        if code != 0:
            return "differ", f"{case.words}: exit {code}: {error[-200:]}"
        sets = json.loads(out)["outputs"]
        for name, theirs in zip((value.name for value in case.model.graph.output), expected):
            difference = differs(sets[name], np.asarray(theirs))
            if difference:
                why = known(case, np.asarray(theirs))
                return ("known" if why else "differ"), f"{case.words}: {name}: {difference}{why and '; ' + why}"
        return "agree", ""

    def floating(self, op, i):
        case = self.case(op, i)
        if not case.inputs or any(array.dtype != np.float32 or array.size == 0 for array in case.inputs.values()):
            return "not float", ""
        del case.model.graph.output[1:]
        model = case.model.SerializeToString()
        draw = np.random.default_rng([self.seed, i, 1])
        radius = float(draw.choice([0, 0, 2.0**-10, 2.0**-4]))
        points = [case.inputs]
        boxes = {name: (np.asarray(a - np.float32(radius)), np.asarray(a + np.float32(radius))) for name, a in case.inputs.items()}
        for _ in range(4 if radius else 0):
            points.append({name: np.asarray(np.clip(np.asarray(draw.uniform(lo, hi), np.float32), lo, hi)) for name, (lo, hi) in boxes.items()})
        try:
            reached = np.stack([np.asarray(run_runtime(model, point)[0]).reshape(-1) for point in points])
        except Exception as error:
            return "unrunnable", f"{case.words}: {' '.join(str(error).split())[-140:]}"
        if reached.dtype != np.float32 or reached.shape[1] == 0:
            return "not float", ""
        return self.judged(case, i, boxes, reached, draw)

    def judged(self, case, i, boxes, reached, draw):
        lo, hi = (np.concatenate([box[end].reshape(-1) for box in boxes.values()]) for end in (0, 1))
        k = int(draw.integers(reached.shape[1]))
        head = "".join(f"(declare-const X_{j} Real)\n" for j in range(len(lo))) + "".join(f"(declare-const Y_{j} Real)\n" for j in range(reached.shape[1]))
        head += "".join(f"(assert (>= X_{j} {number(a)}))\n(assert (<= X_{j} {number(b)}))\n" for j, (a, b) in enumerate(zip(lo, hi)))
        finite = np.isfinite(reached).all()
        rows = [f"(>= Y_{k} {number(reached[:, k].max())})", f"(<= Y_{k} {number(reached[:, k].min())})"] if finite else [f"(>= Y_{k} 0)", f"(<= Y_{k} 0)"]
        model, query = self.folder / f"{i}f.onnx", self.folder / f"{i}f.vnnlib"
        model.write_bytes(case.model.SerializeToString())
        options = ("--semantics", "float32:onnxruntime")
        answers = []
        for row in rows:
            query.write_text(f"{head}(assert {row})\n")
            code, out, error = self.assay("verify", model, query, *options, "--timeout", 2)
            answers.append(out.split("\n")[0])
            if code in (DECLINED, UNSUPPORTED) and not answers[-1]:
                return "refused", f"{case.words}: {error.split(chr(10))[0][-150:]}"
            if code < 0:
                return "crash", f"{case.words}: signal {-code}"
            if answers[-1] == "unsat" or code not in (0, DECLINED):
                return "differ", f"{case.words}: element {k}: {row} is {answers[-1] or error[-200:]}, where ONNX Runtime reaches {reached[:, k].tolist()}"
        code, out, error = self.assay("bounds", model, query, *options, "--json")
        outputs = [node for group in json.loads(out)["groups"] for node in group["nodes"] if node["output"]] if code == 0 else []
        if not outputs:
            return "undecided", f"{case.words}: no bounds: {error[-150:]}"
        below, above = (np.array([float.fromhex(one["hex"]) for one in outputs[-1][end]]) for end in ("lo", "hi"))
        if not ((below <= reached) & (reached <= above)).all():
            worst = int(np.argmax(np.maximum(below - reached, reached - above).max(axis=0)))
            return "differ", f"{case.words}: element {worst}: [{below[worst]!r}, {above[worst]!r}] without {reached[:, worst].tolist()}"
        return "agree", ""


def differs(found, theirs):
    """What is wrong with an enclosure; "" where nothing is."""
    if list(theirs.shape) != found["shape"]:
        return f"shape {found['shape']}, ONNX Runtime {list(theirs.shape)}"
    numbers = {"inf": np.inf, "-inf": -np.inf, None: np.nan}
    lo, hi = (np.array([numbers[x] if x is None or isinstance(x, str) else x for x in found[end]], np.float64) for end in ("lo", "hi"))
    theirs = theirs.reshape(-1).astype(np.float64)
    judged = np.isfinite(theirs) & ~np.isnan(lo)  # an undefined value is claimed by nobody
    room = TOLERANCE * (1 + np.abs(theirs[judged]).max(initial=0))
    far = np.maximum(lo[judged] - theirs[judged], theirs[judged] - hi[judged])
    if not (far > room).any():
        return ""
    worst = np.flatnonzero(judged)[int(np.argmax(far))]
    return f"element {worst}: [{lo[worst]:.9g}, {hi[worst]:.9g}], ONNX Runtime {theirs[worst]:.9g}"


def numbered(models, only):
    """(operator, number) of each model: all operators in turn, and a fiftieth of all for those with fractional scales besides."""
    ops, more = sorted(only or GENERATORS), [op for op in FRACTIONAL if not only or op in only]
    for i in range(models):
        yield (more[i // 50 % len(more)] if more and i % 50 == 0 else ops[i % len(ops)]), i


def option(name, otherwise):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else otherwise


def main():
    seed, only = int(option("--seed", 1)), option("--only", "")
    only = [op for op in only.split(",") if op]
    report = {"seed": seed, "onnxruntime": ort.__version__, "onnx": onnx.__version__}
    failed = False
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(int(option("--threads", 2))) as pool:
        harness = Harness(sys.argv[1], folder, seed)
        for part, work, models in (("real", harness.real, int(option("--models", 300))), ("float32:onnxruntime", harness.floating, int(option("--float", 60)))):
            counts, by_op = collections.Counter(), collections.defaultdict(collections.Counter)
            shown = []
            for (op, i), (kind, words) in zip(numbered(models, only), pool.map(lambda one: work(*one), numbered(models, only))):
                counts[kind] += 1
                by_op[op][kind] += 1
                if kind in ("differ", "known", "crash") or "--verbose" in sys.argv and kind != "agree":
                    shown.append(f"{kind}: {i}: {words}")
            print("\n".join(shown))
            print(f"{part}, seed {seed}: {dict(counts)}", flush=True)
            report[part] = {"models": models, "counts": dict(counts), "differences": shown, "operators": {op: dict(by_op[op]) for op in sorted(by_op)}}
            failed = failed or counts["differ"] + counts["crash"] > 0 or counts["agree"] == 0 and models > 0
    if option("--json", ""):
        words = {"agree": "agree", "known": "differ as the page of divergences says", "differ": "differ", "refused": "are refused", "unrunnable": "ONNX Runtime does not run"}
        counts = report["real"]["counts"]
        results.write(option("--json", ""), results.begin(
            "Random models in ONNX Runtime", "ONNX", f"One operator each, with random attributes, versions, sizes and values; ONNX Runtime {ort.__version__}.",
            {kind: (f"{counts.get(kind, 0):,} of {report['real']['models']:,}", f"models over the reals that {said}") for kind, said in words.items()}, details=report))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
