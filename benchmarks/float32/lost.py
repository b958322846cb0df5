#!/usr/bin/env python3
"""Why instances that kept.py lists as lost cannot be kept: a point at which some admitted execution may violate, although the exact values do not.

    benchmarks/float32/lost.py [--bin DIR] [--semantics float32] FILE.jsonl

Of every instance of FILE that was proved over the reals and not in the float semantics, ONNX Runtime looks for the point with the least margin: the greatest
amount by which a row of a case fails, least over the cases. The instance is then asked at that point alone, where nothing is left to search, with the bounds of
its rows moved until the float semantics does not prove it: that says what executions may lose there. Where that is more than the margin, no search keeps the
instance; where it is nearly as much, splitting takes long. Models with one input.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

from assay_boxes import decimal_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROUNDS, POINTS, KEPT = 14, 2000, 40


def claims_of(assay, files, folder):
    report = pathlib.Path(folder) / "report.json"
    subprocess.run([assay, "verify", *files, "--timeout", "0.1", f"--json={report}"], capture_output=True, check=False)
    return json.loads(report.read_text())["statement"]["claims"]


def margins(case, inputs, outputs):
    """By point: the greatest amount by which a row fails; above 0 the case is not reached."""
    rows = []
    for row in case["rows"]:
        values = sum(float(term["coefficient"]) * (inputs if term["side"] == "input" else outputs)[:, term["element"]] for term in row["terms"])
        rows.append(values - float(row["bound"]))
    return np.max(rows, axis=0)


def least(run, box, cases, rng):
    """-> (margin, point, case): random points, then around the best ones ever closer."""
    low, high = (np.array([float(one[end]) for one in box]) for end in ("lo", "hi"))
    best, points = (np.inf, None, None), rng.uniform(low, high, (POINTS, len(box)))
    for k in range(ROUNDS):
        points = np.clip(points.astype(np.float32).astype(np.float64), low, high)
        outputs = run(points)
        found = np.array([margins(case, points, outputs) for case in cases])
        at = found.min(axis=0)
        chosen = np.argsort(at)[:KEPT]
        if at[chosen[0]] < best[0]:
            best = (at[chosen[0]], points[chosen[0]], cases[int(found[:, chosen[0]].argmin())])
        spread = 0.3 * 0.6**k * (high - low)
        points = np.repeat(points[chosen], POINTS // KEPT, 0) + rng.normal(0, 1, (POINTS, len(box))) * spread
    return best


def property_at(point, case, outputs, further):
    """The case at one point, its rows' bounds greater by `further`."""
    text = "".join(f"(declare-const X_{i} Real)\n(assert (= X_{i} {decimal_of(np.float32(x))}))\n" for i, x in enumerate(point))
    text += "".join(f"(declare-const Y_{i} Real)\n" for i in range(outputs))
    for row in case["rows"]:
        terms = [f"(* {term['coefficient']} {'X' if term['side'] == 'input' else 'Y'}_{term['element']})" for term in row["terms"]]
        text += f"(assert ({row['relation']} (+ {' '.join(terms)} 0.0) {decimal_of(float(row['bound']) + further)}))\n"
    return text


class Asked:
    """assay, at one point."""

    def __init__(self, assay, model, folder, point, case, outputs):
        self.command, self.path = [assay, "verify", str(model)], pathlib.Path(folder) / "point.vnnlib"
        self.point, self.case, self.outputs = point, case, outputs

    def answer(self, semantics, further=0.0):
        self.path.write_text(property_at(self.point, self.case, self.outputs, further))
        done = subprocess.run([*self.command, str(self.path), "--semantics", semantics, "--timeout", "20"], capture_output=True, text=True, check=False)
        return done.stdout.strip() or (done.stderr.strip().splitlines() or ["nothing"])[0]

    def float_error(self, semantics, margin):
        """What the margin may be less in some execution: bisection of what the rows' bounds may be moved by."""
        low, high = -8 * margin, margin
        if self.answer(semantics, low) != "unsat":
            return None
        for _ in range(12):
            middle = (low + high) / 2
            low, high = (middle, high) if self.answer(semantics, middle) == "unsat" else (low, middle)
        return margin - low


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=str(ROOT / "build/release/bin"))
    parser.add_argument("--semantics", default="float32")
    parser.add_argument("file")
    options = parser.parse_args()
    data = pathlib.Path(os.environ.get("ASSAY_DATA", ROOT.parent / "shared/data")) / "vnn"
    assay = f"{options.bin}/assay"
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    for line in pathlib.Path(options.file).read_text().splitlines():
        one = json.loads(line)
        if one["real"]["answer"] != "unsat" or one["float"]["answer"] == "unsat":
            continue
        model, query = data / one["category"] / one["model"], data / one["category"] / one["property"]
        session = onnxruntime.InferenceSession(str(model), settings)
        name, shape = session.get_inputs()[0].name, [size if isinstance(size, int) else 1 for size in session.get_inputs()[0].shape]
        run = lambda points: np.stack([np.concatenate([y.ravel() for y in session.run(None, {name: x.astype(np.float32).reshape(shape)})]) for x in points]).astype(float)
        with tempfile.TemporaryDirectory() as folder:
            claims = claims_of(assay, [str(model), str(query)], folder)
            rng = np.random.default_rng(1)
            found = [least(run, box, [case for case in claims["cases"] if case["box"] == index], rng) for index, box in enumerate(claims["boxes"])]
            margin, point, case = min(found, key=lambda each: each[0])
            asked = Asked(assay, model, folder, point, case, len(run(point[None])[0]))
            answers, error = [asked.answer(semantics) for semantics in ("real", options.semantics)], asked.float_error(options.semantics, margin)
        lost = "more than 8 times that" if error is None else f"{error:.3g}"
        print(f"{one['category']} {one['model']} {one['property']}: margin {margin:.3g}, executions may lose {lost} there; at the point alone real {answers[0]}, "
              f"{options.semantics} {answers[1]}; of the whole: {one['float']['answer'] or 'refused'}, {one['float']['reason'][:150]}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
