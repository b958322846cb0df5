#!/usr/bin/env python3
"""`assay inspect`: what it says of numbers, tensors, runs, bounds, data and logs is computed here once more. Usage: inspect_test.py BIN_DIRECTORY"""
import json
import math
import random
import struct
from fractions import Fraction

import onnx_files
import runs
from pages_test import safetensors
from runs import BIN, Case, DATA, DIGITS, IMAGES, LABELS, MODEL, assay

HOLDS = str(DIGITS / "digits_holds.vnnlib")


def floats(values):
    return [struct.unpack("<f", struct.pack("<f", value))[0] for value in values]


class Inspect(Case):
    def sheet(self, *words, code=0):
        done = assay("inspect", *words, "--json")
        self.assertEqual(done.returncode, code, (done.stdout + done.stderr)[:300])
        return json.loads(done.stdout)

    def refused(self, text, *words):
        done = assay("inspect", *words)
        self.assertEqual((done.returncode, done.stdout), (4, ""), done.stderr[:300])
        self.assertIn(text, done.stderr)

    # tensor statistics

    def test_statistics(self):
        """Against sums in fractions, with what is not finite counted apart."""
        values = floats([0.1, -2.5, 0.0, 1e-3, 7.0, 1e4])
        path = self.write("x.safetensors", safetensors({"a": ([2, 3], values), "b": ([2], [float("inf"), float("nan")]), "none": ([0], [])}, {}))
        sheet = self.sheet(path)
        self.assertEqual((sheet["kind"], [one["name"] for one in sheet["tensor_list"]], sheet["part"]), ("arrays", ["a", "b", "none"], ["arrays: 8 elements"]))
        a, b, none = sheet["tensor_list"]
        exact = [Fraction(value) for value in values]
        mean = sum(exact) / 6
        for key, wanted in (("least", min(values)), ("greatest", max(values)), ("mean", float(mean)), ("norm", math.sqrt(sum(x * x for x in exact))),
                            ("deviation", math.sqrt(sum((x - mean) ** 2 for x in exact) / 6))):
            self.assertAlmostEqual(a[key], wanted, delta=1e-12 * abs(wanted), msg=key)
        self.assertEqual((a["elements"], a["zeros"], a["not finite"], b["not finite"], b["norm"], none["elements"]), (6, 1, 0, 2, 0, 0))

    def test_a_large_mean_does_not_swallow_the_deviation(self):
        path = self.write("x.safetensors", safetensors({"x": ([4], [16777216, 16777218, 16777216, 16777218])}, {}))
        self.assertEqual(self.sheet(path)["tensor_list"][0]["deviation"], 1)

    # bits and rounding of float32

    def test_elements_with_their_bits(self):
        values = floats([0.1, -0.0, 3.4e38, 1e-45])
        path = self.write("x.safetensors", safetensors({"x": ([2, 2], values)}, {}))
        table = self.sheet(path, "--tensor", "x")["elements"]
        self.assertEqual([one["index"] for one in table], ["[0, 0]", "[0, 1]", "[1, 0]", "[1, 1]"])
        for one, value in zip(table, values):
            bits = struct.unpack("<I", struct.pack("<f", value))[0]
            self.assertEqual((one["value"], one["bits"], one["sign"] + one["exponent"] + one["fraction"]), (value, f"0x{bits:08x}", f"{bits:032b}"))
        self.assertEqual(table[3]["spacing"], 2.0**-149)
        self.assertEqual(len(self.sheet(path, "--tensor", "x", "--elements", 3)["elements"]), 3)
        self.refused("none of that name", path, "--tensor", "y")

    def test_numbers(self):
        """Nearest, ties to even: 16777217 and 16777219 lie half way; and steps between floats that follow."""
        texts = ["0.1", "1/3", "16777217", "16777219", "-1e-46", "1e-45", "1e39"]
        rows = self.sheet("--number", ",".join(texts))["numbers"]
        for text, row in zip(texts, rows):
            exact = Fraction(text)
            rounded = struct.unpack("<f", struct.pack("<f", float(exact)))[0] if exact < 1e38 else float("inf")
            self.assertEqual(row["value"], rounded if rounded < 1e38 else "inf", text)
            if rounded < 1e38:
                self.assertEqual(Fraction(row["exactly"]), Fraction(rounded))
                self.assertAlmostEqual(row["error"], float(Fraction(rounded) - exact), delta=1e-15 * abs(row["error"]))
        self.assertEqual([row["value"] for row in rows[2:4]], [16777216, 16777220])
        self.assertEqual((rows[2]["error in spacings"], rows[3]["steps from the last"], rows[5]["steps from the last"]), (-0.5, 2, 1))
        self.assertEqual(assay("inspect", "--number", "x").returncode, 4)
        self.assertEqual(assay("inspect").returncode, 2)
        self.assertEqual(assay("inspect", MODEL, "--number", "1").returncode, 2)

    # runs of models, traces

    def test_a_run_of_a_model(self):
        """Forward and backward on given values, by hand: y = relu(x W), and the gradients of its sum."""
        w = [1, -1, 0.5, 2]
        model = self.write("m.onnx", onnx_files.model([onnx_files.node("MatMul", ["x", "w"], ["h"], "a"), onnx_files.node("Relu", ["h"], ["y"], "b")],
                                                      [onnx_files.value_info("x", [1, 2])], [onnx_files.value_info("y", [1, 2])], [onnx_files.tensor("w", [2, 2], w)]))
        values = self.write("v.json", b'{"inputs": {"x": [3, 1]}}')
        sheet = self.sheet(model, "--values", values)
        self.assertEqual((sheet["kind"], [one["ops"] for one in sheet["region_list"]][:3]), ("run", ["matmul", "relu", "reduce_sum"]))
        self.assertEqual([one["largest |value|"] for one in sheet["region_list"]][:3], [3.5, 3.5, 3.5])
        self.assertEqual([one["ops"] for one in sheet["reverse"]], ["reduce_sum", "relu", "matmul"])
        self.assertEqual([one["largest |in|"] for one in sheet["reverse"]], [1, 1, 1])
        gradients = {one["of"]: one for one in sheet["gradient_list"]}
        self.assertEqual((gradients["w"]["greatest"], gradients["w"]["zeros"]), (3, 2))  # [[3, 0], [1, 0]]
        self.assertEqual((gradients["x"]["greatest"], gradients["x"]["least"]), (1, 0.5))
        parameter = sheet["parameters"][0]
        self.assertEqual((parameter["name"], parameter["elements"], parameter["largest |value|"], parameter["largest |gradient|"]), ("w", 4, 2, 3))
        self.assertIn("relu", {one["op"] for one in sheet["region_nodes"]})
        self.assertEqual({one["origin"] for one in sheet["tensor_list"]}, {"input", "parameter", "result"})

    def test_tables_are_shown_by_name(self):
        trace = self.folder / "t"
        self.assertEqual(assay("record", MODEL, trace).returncode, 0)
        text = assay("inspect", trace).stdout
        self.assertRegex(text, r"(?m)^further tables, by --show: reverse \(6\), parameters \(6\)")
        text = assay("inspect", trace, "--show", "reverse").stdout
        self.assertRegex(text, r"(?m)^0 +5 +reduce_sum +seed ")
        self.assertRegex(text, r"further tables, by --show: region_list")
        self.refused("a table of this file", trace, "--show", "revers")
        steps = self.sheet(trace)["reverse"]
        self.assertEqual([one["step"] for one in steps], list(range(6)))
        self.assertEqual([one["region"] for one in steps], sorted((one["region"] for one in steps), reverse=True))

    def test_notes_are_in_json(self):
        proof = self.folder / "c"
        self.assertEqual(assay("verify", MODEL, HOLDS, "--proof", proof, "-q").returncode, 0)
        other = self.write("other.vnnlib", (DIGITS / "digits_holds.vnnlib").read_bytes() + b"(assert (>= Y_0 -1e9))\n")
        note = "the certificate proves another statement than these files make"
        self.assertIn(f"note: {note}\n", assay("inspect", proof, "--network", MODEL, "--property", other).stdout)
        self.assertEqual(self.sheet(proof, "--network", MODEL, "--property", other)["note"], [note])
        self.assertNotIn("note", self.sheet(proof, "--network", MODEL, "--property", HOLDS))
        self.assertTrue(any(one.startswith("Elements of y: The first 5 of 360 elements") for one in self.sheet(DATA, "--tensor", "y", "--elements", 5)["note"]))

    def test_a_fused_run(self):
        trace = self.folder / "t"
        self.assertEqual(assay("record", MODEL, trace, "--backend", "compiled").returncode, 0)
        sheet = self.sheet(trace)
        self.assertTrue(any("+" in one["ops"] for one in sheet["region_list"]))
        self.assertGreater(len(sheet["region_nodes"]), len(sheet["region_list"]))
        self.assertEqual(len(sheet["parameters"]), 6)

    # bounds

    def test_bounds(self):
        """Those of `assay bounds`, tighter than intervals, around every sampled value."""
        sheet = self.sheet(MODEL, "--property", HOLDS, "--samples", 40)
        for method, column in (("crown", "mean width"), ("ibp", "interval width")):
            done = assay("bounds", MODEL, HOLDS, "--method", method, "--json")
            for node in json.loads(done.stdout)["groups"][0]["nodes"]:
                widths = [hi["value"] - lo["value"] for lo, hi in zip(node["lo"], node["hi"])]
                self.assertAlmostEqual(sheet["nodes"][node["node"]][column], sum(widths) / len(widths), delta=1e-9 * max(widths), msg=(node["node"], method))
        for node in sheet["nodes"]:
            if node["lo"] is None:
                continue
            self.assertLessEqual(node["mean width"], node["interval width"] * (1 + 1e-12))
            self.assertTrue(node["lo"] <= node["sampled lo"] + 1e-9 and node["sampled hi"] <= node["hi"] + 1e-9)
        self.assertLess(sheet["nodes"][11]["mean width"], sheet["nodes"][11]["interval width"] / 2)
        by_interval = self.sheet(MODEL, "--property", HOLDS, "--method", "ibp")
        self.assertEqual(by_interval["nodes"][11]["mean width"], sheet["nodes"][11]["interval width"])
        again = self.sheet(HOLDS, "--network", MODEL, "--bounds")
        self.assertEqual(again["nodes"][11]["lo"], sheet["nodes"][11]["lo"])
        self.assertEqual(len(again["case_list"]), 9)
        self.assertRegex(again["case_list"][0]["relation"], r"scores\[\d\].*<= ")
        statement = self.folder / "s"
        self.assertEqual(assay("statement", MODEL, HOLDS, "--out", statement).returncode, 0)
        self.assertEqual(self.sheet(statement, "--bounds")["nodes"][11]["lo"], sheet["nodes"][11]["lo"])

    def test_a_box(self):
        """relu(x W) on [-1, 1]^2, by hand."""
        model = self.write("m.onnx", onnx_files.model([onnx_files.node("MatMul", ["x", "w"], ["h"], "a"), onnx_files.node("Relu", ["h"], ["y"], "b")],
                                                      [onnx_files.value_info("x", [1, 2])], [onnx_files.value_info("y", [1, 2])], [onnx_files.tensor("w", [2, 2], [1, -1, 0.5, 2])]))
        nodes = {one["name"]: one for one in self.sheet(model, "--box", -1, 1)["nodes"]}
        for name, wanted in (("h", (-3, 3, 4.5)), ("y", (0, 3, 2.25))):
            for column, number in zip(("lo", "hi", "mean width"), wanted):
                self.assertTrue(0 <= abs(nodes[name][column]) - abs(number) < 1e-12, (name, column))  # outward
        self.assertTrue(-3 <= nodes["h"]["sampled lo"] <= -1.5)  # a corner is among the points
        self.assertEqual(nodes["h"]["parameters"], 4)
        self.assertEqual(assay("inspect", model, "--box", 1, -1).returncode, 2)

    # data, logs, checkpoints

    def test_bent_files_are_read_or_refused(self):
        draw = random.Random(11)
        trace, page = self.folder / "t", self.folder / "p.html"
        self.assertEqual(assay("record", MODEL, trace).returncode, 0)
        proof = self.folder / "c"
        self.assertEqual(assay("verify", MODEL, HOLDS, "--proof", proof).returncode, 0)
        files = {"x.safetensors": safetensors({"model/a": ([2, 2], [1, 2, 3, 4])}, {"format": "assay checkpoint 1"}), "t.safetensors": trace.read_bytes(), "c.assay": proof.read_bytes(),
                 "l.csv": b"step,loss\n0,1\n1,0.5\n", "x.npy": runs.npy(struct.pack("<4f", 1, 2, 3, 4), "<f4", (2, 2))}
        for name, content in files.items():
            for turn in range(25):
                bent = bytearray(content)
                for _ in range(draw.randrange(1, 4)):
                    bent[draw.randrange(min(len(bent), 400))] = draw.randrange(256)
                if turn % 5 == 4:
                    del bent[draw.randrange(len(bent)):]
                for words in (("inspect",), ("report",))[:1 if name in ("l.csv", "x.npy") else 2]:
                    done = assay(*words, self.write(name, bytes(bent)), "-o", page)
                    self.assertIn(done.returncode, (0, 3, 4), (name, turn, words, done.stderr[:300]))

    def test_confusions(self):
        sheet = self.sheet(MODEL, "--data", DATA, "--items", 100)
        counts = [[row[str(k)] for k in range(10)] for row in sheet["confusions"]]
        self.assertEqual([sum(row) for row in counts], [LABELS[:100].count(k) for k in range(10)])
        scores = json.loads(assay("robust", MODEL, DATA, "--eps", "0.000001", "--first", 100, "--json", "-q").stdout)
        self.assertEqual(len(IMAGES), 360)
        right = sum(counts[k][k] for k in range(10))
        self.assertRegex(sheet["data"], r"%d of 100 items are classified as labelled" % right)
        self.assertEqual(right, scores["correct"])
        bare = self.write("x.npy", runs.npy(struct.pack("<64f", *IMAGES[0]), "<f4", (1, 64)))
        self.refused("inspect.labels", MODEL, "--data", bare)
        labelled = self.sheet(MODEL, "--data", bare, "--labels", "7")["confusions"]
        self.assertEqual(sum(row["items"] for row in labelled), 1)

    def test_a_log(self):
        path = self.write("l.csv", b"step,loss,rate\n0,2.5,1e-3\n1,nan,1e-3\n2,0.5,1e-3\n")
        sheet = self.sheet(path)
        self.assertEqual((sheet["kind"], sheet["lines"], len(sheet["log"])), ("log", "3", 3))
        self.assertEqual(([one["loss"] for one in sheet["log"]], sheet["column"][0]), ([2.5, "nan", 0.5], "loss from 2.5 to 0.5"))
        self.assertEqual(assay("inspect", path, "-o", self.folder / "p.html").returncode, 0)
        self.assertEqual((self.folder / "p.html").read_text().count('class="curve"'), 2)
        self.refused("csv.columns", self.write("bad.csv", b"a,b\n1\n"))

    def test_a_checkpoint_of_a_training_run(self):
        folder = self.folder
        program = BIN / "digits_cnn"
        if not program.exists():
            self.skipTest("the examples are not built")
        words = [str(program), "--data", str(DIGITS / "digits.csv.gz"), "--steps", "3", "--checkpoint", str(folder / "c.safetensors"), "--log", str(folder / "l.csv"),
                 "--record", str(folder / "t.safetensors")]
        done = runs.subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(done.returncode, 0, (done.stdout + done.stderr)[:300])
        sheet = self.sheet(folder / "c.safetensors")
        self.assertEqual((sheet["kind"], {one["part"] for one in sheet["tensor_list"]}), ("checkpoint", {"model", "optimiser"}))
        self.assertIn("steps: 3", sheet["metadata"])
        self.assertIn("optimiser: adam", sheet["metadata"])
        model = sum(one["elements"] for one in sheet["tensor_list"] if one["part"] == "model")
        self.assertEqual(sheet["part"], [f"model: {model} elements", f"optimiser: {2 * model} elements"])
        self.assertEqual(self.sheet(folder / "l.csv")["lines"], "3")
        step = self.sheet(folder / "t.safetensors")
        self.assertEqual({one["name"] for one in step["parameters"]}, {one["name"].removeprefix("model/") for one in sheet["tensor_list"] if one["part"] == "model"})
        self.assertTrue(all(one["largest |gradient|"] > 0 for one in step["parameters"]))


if __name__ == "__main__":
    runs.main()
