#!/usr/bin/env python3
"""Integer and boolean inputs and outputs, and places that the network computes, from file to certificate: each query is answered
`unsat` and `sat`, and assay-check accepts both in exact mode. Usage: values_test.py BIN_DIRECTORY"""
import json
import os
import random
import struct
import sys
import tempfile
import unittest
from fractions import Fraction

import cli_test
from cli_test import Run
from onnx_files import BOOL, FLOAT, INT32, INT64, UINT8, model, node, tensor, value_info


def bounds(*intervals):
    return "".join(f"(assert (>= X_{i} {lo})) (assert (<= X_{i} {hi}))\n" for i, (lo, hi) in enumerate(intervals))


def query(intervals, outputs, *assertions):
    names = [f"X_{i}" for i in range(len(intervals))] + [f"Y_{i}" for i in range(outputs)]
    return "".join(f"(declare-const {name} Real)\n" for name in names) + bounds(*intervals) + "".join(f"(assert {one})\n" for one in assertions)


def equal_labels():
    """x [2,3] -> how many rows have their greatest score at place 0, as int64."""
    return model([node("ArgMax", ["x"], ["label"], "label", axis=1, keepdims=0), node("Equal", ["label", "wanted"], ["hit"], "hit"),
                  node("Cast", ["hit"], ["one"], "one", to=INT64), node("ReduceSum", ["one"], ["y"], "count", keepdims=0)],
                 [value_info("x", [2, 3])], [value_info("y", [], INT64)], [tensor("wanted", [2], [0, 0], INT64)])


def token_sum():
    """Two token ids -> the first coordinates of their embeddings, added: table 0, 3, -2, 5, 1."""
    return model([node("Gather", ["table", "x"], ["e"], "embedding", axis=0), node("ReduceSum", ["e"], ["y"], "sum", keepdims=0)],
                 [value_info("x", [2], INT64)], [value_info("y", [])], [tensor("table", [5], [0, 3, -2, 5, 1])])


def parabola(element_type):
    """(x - 1/2)^2 for an integer x: 1/4 or more."""
    return model([node("Cast", ["x"], ["r"], "real", to=FLOAT), node("Sub", ["r", "half"], ["d"], "shift"), node("Mul", ["d", "d"], ["y"], "square")],
                 [value_info("x", [1], element_type)], [value_info("y", [1])], [tensor("half", [1], [0.5])])


def gate():
    """A truth value chooses between two numbers."""
    return model([node("Where", ["x", "a", "b"], ["y"], "choice")], [value_info("x", [1], BOOL)], [value_info("y", [1])],
                 [tensor("a", [1], [2]), tensor("b", [1], [-1])])


def beyond_doubles():
    """The lesser of x and 2^53 + 1, which no double is."""
    return model([node("Min", ["x", "big"], ["m"], "least"), node("Cast", ["m"], ["y"], "real", to=FLOAT)], [value_info("x", [1], INT64)],
                 [value_info("y", [1])], [tensor("big", [1], [2**53 + 1], INT64)])


def deep(layers, width):
    """Dense layers with ReLU, of whose value at a point intervals in doubles say nothing -> the model, its weights."""
    numbers = random.Random(1)
    weights = [[[numbers.choice((-3, -2, -1, 1, 2, 3)) / 8 for _ in range(width)] for _ in range(width)] for _ in range(layers)]
    nodes, last = [], "x"
    for i in range(layers):
        nodes += [node("MatMul", [last, f"w{i}"], [f"m{i}"], f"product{i}"), node("Relu", [f"m{i}"], ["y" if i == layers - 1 else f"r{i}"], f"relu{i}")]
        last = f"r{i}"
    stored = [tensor(f"w{i}", [width, width], sum(weights[i], [])) for i in range(layers)]
    return model(nodes, [value_info("x", [1, width])], [value_info("y", [1, width])], stored), weights


def placed_patch(element_type):
    """A window of 2 by 2 of a canvas, placed by x, and the sum of it: canvas 0 but for 1, 2, 3, 4 in the middle."""
    middle = [0] * 16
    middle[5], middle[6], middle[9], middle[10] = 1, 2, 3, 4
    return model([node("Cast", ["x"], ["s"], "place", to=INT64), node("Add", ["s", "two"], ["e"], "end"),
                  node("Slice", ["canvas", "s", "e", "axes"], ["p"], "patch"), node("ReduceSum", ["p"], ["y"], "sum", keepdims=0)],
                 [value_info("x", [2], element_type)], [value_info("y", [])],
                 [tensor("canvas", [4, 4], middle), tensor("two", [2], [2, 2], INT64), tensor("axes", [2], [0, 1], INT64)])


def pooled_region():
    """RoiAlign of a ramp over a region that x moves along its diagonal: 1.5 + x."""
    return model([node("Add", ["corners", "x"], ["r"], "region"),
                  node("RoiAlign", ["ramp", "r", "image"], ["p"], "align", sampling_ratio=1), node("Reshape", ["p", "one"], ["y"], "flat")],
                 [value_info("x", [1, 1])], [value_info("y", [1])],
                 [tensor("corners", [1, 4], [1, 1, 2, 2]), tensor("ramp", [1, 1, 4, 6], [float(i % 6) for i in range(24)]),
                  tensor("image", [1], [0], INT64), tensor("one", [1], [1], INT64)])


WIDE = [(0, 1)] * 6
SEPARATE = [(2, 3), (0, 1), (0, 1), (0, 1), (0, 1), (0, 1)]  # the first row's label is 0
# name -> model, intervals, outputs, unsat assertion, sat assertion
QUERIES = {
    "a count of equal labels": (equal_labels(), SEPARATE, 1, "(< Y_0 1)", "(<= Y_0 1)"),
    "a count between two numbers": (equal_labels(), WIDE, 1, "(> Y_0 2)", "(> Y_0 1.5)"),
    "token ids": (token_sum(), [(0.5, 4.5), (-0.25, 4)], 1, "(>= Y_0 10.5)", "(>= Y_0 10)"),
    "token ids, several values open": (token_sum(), [(1, 3), (2, 2)], 1, "(and (>= Y_0 1.5) (<= Y_0 2.5))", "(and (>= Y_0 0.5) (<= Y_0 2.5))"),
    "an integer between halves": (parabola(INT64), [(-3, 4)], 1, "(< Y_0 0.25)", "(<= Y_0 0.25)"),
    "an int32": (parabola(INT32), [(-3.7, 4.2)], 1, "(> Y_0 12.5)", "(>= Y_0 12.25)"),
    "a byte, beyond its type's range": (parabola(UINT8), [(-1000, 1000)], 1, "(> Y_0 64770.5)", "(>= Y_0 64770.25)"),
    "a constant that no double is": (beyond_doubles(), [(0, 3)], 1, "(>= Y_0 3.5)", "(>= Y_0 3)"),
    "a truth value": (gate(), [(0, 1)], 1, "(and (> Y_0 -1) (< Y_0 2))", "(>= Y_0 2)"),
    "a patch placed by integers": (placed_patch(INT64), [(0, 2), (0, 2)], 1, "(> Y_0 10)", "(>= Y_0 10)"),
    "a patch placed by integers, one value": (placed_patch(INT32), [(0, 2), (1, 1)], 1, "(and (> Y_0 3) (< Y_0 7))", "(== Y_0 7)"),
    "a patch placed by a float": (placed_patch(FLOAT), [(0, 2.5), (0.5, 0.75)], 1, "(> Y_0 4.5)", "(== Y_0 4)"),
    "a region that an input moves": (pooled_region(), [(0, 1)], 1, "(> Y_0 2.75)", "(>= Y_0 2.25)"),
}


class Values(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, data):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        return path

    def answer(self, bytes_of_model, text, *words):
        """-> the run, after assay-check accepted what it proved."""
        network, question, proof = self.write("m.onnx", bytes_of_model), self.write("q.vnnlib", text), os.path.join(self.folder.name, "proof")
        run = Run("assay", "verify", network, question, "--proof", proof, "--timeout", "60", *words)
        if run.word in ("sat", "unsat"):
            checked = Run("assay-check", network, question, proof, "--exact")
            self.assertEqual((checked.word, checked.exit), ("accepted", 0), checked.err)
        return run

    def test_both_answers_have_certificates(self):
        for name, (bytes_of_model, intervals, outputs, unsat, sat) in QUERIES.items():
            for word, assertion in (("unsat", unsat), ("sat", sat)):
                with self.subTest(query=name, word=word):
                    self.assertEqual(Run("assay", "lint", self.write("m.onnx", bytes_of_model)).exit, 0)
                    run = self.answer(bytes_of_model, query(intervals, outputs, assertion))
                    self.assertEqual((run.word, run.exit), (word, 0), run.err)

    def test_a_box_without_integers_is_vacuous_and_says_so(self):
        run = self.answer(parabola(INT64), query([(0.25, 0.75)], 1, "(<= Y_0 100)"))
        self.assertEqual(run.word, "unsat", run.err)
        self.assertIn("unsat (vacuous)", run.err)
        self.assertIn("which holds no value of the input's type", run.err)

    def test_the_statement_names_the_type(self):
        run = self.answer(parabola(UINT8), query([(-1, 300)], 1, "(< Y_0 0)"))
        self.assertIn("    X_0 in the uint8 values of [-1, 300]\n", run.err)
        self.assertIn("\nintegers: exact;", run.err)

    def test_a_witness_is_written_in_integers(self):
        run = self.answer(token_sum(), query([(0.5, 4.5), (-0.25, 4)], 1, "(>= Y_0 10)"), "--json")
        report = json.loads(run.out)
        self.assertEqual([point["exact"] for point in report["theorem"]["witness"]["inputs"]], ["3", "3"])

    def test_declared_integer_types_of_version_2(self):
        text = """(vnnlib-version <2.0>)
(declare-network f (declare-input X %s [2]) (declare-output Y real []))
(assert (and (>= X[0] 0) (<= X[0] 4) (>= X[1] 0) (<= X[1] 4)))
(assert (>= Y %s))
"""
        for word, least in (("unsat", "10.5"), ("sat", "10")):
            run = self.answer(token_sum(), text % ("int64", least))
            self.assertEqual((run.word, run.exit), (word, 0), run.err)
        self.assertEqual(run.lines[1:], ["X int64 [2]", "3", "3", "Y real []", "10"])
        run = self.answer(token_sum(), text % ("real", "10"))
        self.assertEqual((run.out, run.exit), ("", 4))
        self.assertIn("vnnlib.type_mismatch", run.err)
        self.assertIn("declare it int64", run.err)

    def test_eval_takes_integers_and_sets_of_them(self):
        network = self.write("m.onnx", placed_patch(INT64))
        for given, expected in (([1, 1], "output y[0] in [10, 10]"), ([{"lo": 0, "hi": 1}, 1], "output y[0] in [3, 10]"), ([3, 0], "output y[0] is undefined")):
            run = Run("assay", "eval", network, self.write("v.json", json.dumps({"inputs": {"x": given}})))
            self.assertEqual((run.word, run.exit), (expected, 0), run.err)
        run = Run("assay", "eval", network, self.write("v.json", json.dumps({"inputs": {"x": [0.5, 0]}})))
        self.assertEqual(run.exit, 4)
        self.assertIn("a value of int64", run.err)

    def test_eval_at_a_point_keeps_the_value_of_deep_networks(self):
        network, weights = deep(60, 16)
        point = [Fraction(i + 1, 16) for i in range(16)]
        exact = point
        for weight in weights:
            exact = [max(Fraction(0), sum(x * Fraction(row[k]) for x, row in zip(exact, weight))) for k in range(16)]
        network, values = self.write("m.onnx", network), {"inputs": {"x": [float(x) for x in point]}, "cotangents": {"y": [1] * 16}}
        found = json.loads(Run("assay", "eval", network, self.write("v.json", json.dumps(values)), "--json").out)
        self.assertEqual((found["bits"], found["vacuous"]), (257, []))
        self.assertGreater(max(exact), 0)
        for value, lo, hi in zip(exact, found["outputs"]["y"]["lo"], found["outputs"]["y"]["hi"]):
            self.assertTrue(Fraction(lo) <= value <= Fraction(hi) and Fraction(hi) - Fraction(lo) <= value / 2**51, (value, lo, hi))
        gradient = found["gradients"]["x"]
        slope = sum(x * (Fraction(lo) + Fraction(hi)) / 2 for x, lo, hi in zip(point, gradient["lo"], gradient["hi"]))
        self.assertLess(abs(slope - sum(exact)), sum(exact) / 10**12)  # the network has no bias, so it is its gradient times x

    def test_eval_says_where_a_point_of_a_large_network_is_lost(self):
        numbers = random.Random(2)
        nodes, last = [], "x"
        for i in range(40):
            nodes.append(node("Conv", [last, "w"], ["y" if i == 39 else f"c{i}"], f"conv{i}", pads=[1, 1, 1, 1]))
            nodes.append(node("Relu", [f"c{i}"], [f"r{i}"], f"relu{i}"))
            last = f"r{i}"
        weight = tensor("w", [16, 16, 3, 3], [numbers.choice((-3, -1, 1, 3)) / 8 for _ in range(16 * 16 * 9)])
        shapes = [value_info("x", [1, 16, 24, 24])], [value_info("y", [1, 16, 24, 24])]
        network = self.write("m.onnx", model(nodes[:-1], *shapes, [weight]))
        values = self.write("v.json", json.dumps({"inputs": {"x": [(k % 7) / 4 for k in range(16 * 24 * 24)]}}))
        run = Run("assay", "eval", network, values)
        self.assertEqual(run.exit, 0)
        self.assertIn("note: output y: the intervals say little, since the rounding errors of doubles grew with each layer", run.err)

    def test_truth_values_are_no_floats(self):
        network = self.write("m.onnx", placed_patch(FLOAT))
        for words in (("eval", network, self.write("v.json", json.dumps({"inputs": {"x": [1, True]}}))),
                      ("run", network, "--values", self.write("v.json", json.dumps({"inputs": {"x": [1, True]}})))):
            run = Run("assay", *words)
            self.assertEqual(run.exit, 4)
            self.assertIn('"x", element 1: expected a number of float32, found true or false', run.err)

    # assay run

    def run_model(self, network, values, *words):
        given = self.write("v.json", json.dumps({"inputs": values}))
        return Run("assay", "run", network, "--values", given, *words)

    def test_run_computes_over_every_kind_of_number_that_the_ops_have(self):
        weights, x = [0.1, -0.7, 1.3, 0.3], [0.6, 0.7]
        bits = {value: struct.unpack("f", struct.pack("f", value))[0] for value in (*weights, *x)}  # as the model and float32 inputs hold them
        network = self.write("m.onnx", model([node("MatMul", ["x", "w"], ["h"], "product"), node("Relu", ["h"], ["r"], "relu"),
                                              node("Mul", ["r", "r"], ["y"], "square")],
                                             [value_info("x", [1, 2])], [value_info("y", [1, 2])], [tensor("w", [2, 2], weights)]))
        w, v = [Fraction(bits[one]) for one in weights], [Fraction(bits[one]) for one in x]
        exact = [max(v[0] * w[k] + v[1] * w[2 + k], 0) ** 2 for k in range(2)]
        self.assertEqual(exact.count(0), 1)
        outputs = {}
        for dtype in ("float32", "bfloat16", "exact", "interval"):
            run = self.run_model(network, {"x": x}, "--dtype", dtype, "--json")
            self.assertEqual(run.exit, 0, run.err)
            outputs[dtype] = json.loads(run.out)["outputs"]["y"]["values"]
        self.assertEqual([Fraction(one) for one in outputs["exact"]], exact)
        for k, value in enumerate(exact):
            self.assertLessEqual(Fraction(outputs["interval"][k]["lo"]), value)
            self.assertGreaterEqual(Fraction(outputs["interval"][k]["hi"]), value)
            self.assertLess(outputs["interval"][k]["hi"] - outputs["interval"][k]["lo"], 1e-12)
            self.assertAlmostEqual(outputs["float32"][k], float(value), delta=1e-6)
            self.assertAlmostEqual(outputs["bfloat16"][k], float(value), delta=0.02 * float(value) + 1e-9)
            self.assertEqual(struct.unpack("I", struct.pack("f", outputs["bfloat16"][k]))[0] & 0xffff, 0)
        self.assertNotEqual(outputs["float32"], [float(value) for value in exact])
        compiled = self.run_model(network, {"x": x}, "--backend", "compiled", "--json")
        self.assertEqual(json.loads(compiled.out)["outputs"]["y"]["values"], outputs["float32"])
        emulated = self.run_model(network, {"x": x}, "--device", "emulated", "--json")
        self.assertEqual(emulated.exit, 0, emulated.err)
        drawn = [Run("assay", "run", network, "--seed", seed).out for seed in ("1", "1", "2")]
        self.assertEqual(drawn[0], drawn[1])
        self.assertNotEqual(drawn[0], drawn[2])

    def test_a_run_may_hold_values_that_a_proof_has_no_memory_for(self):
        shape = tensor("s", [1], [70_000_000], INT64)
        network = self.write("m.onnx", model([node("Expand", ["x", "s"], ["e"], "copies"), node("ReduceMax", ["e"], ["y"], "most", keepdims=1)],
                                             [value_info("x", [1])], [value_info("y", [1])], [shape]))
        values = self.write("v.json", json.dumps({"inputs": {"x": [0.75]}}))
        run = Run("assay", "run", network, "--values", values)
        self.assertEqual((run.word, run.exit), ("output y[0] = 0.75", 0), run.err)
        run = Run("assay", "run", network, "--values", values, "--memory", "400MiB")
        self.assertEqual(run.exit, 3)
        self.assertIn("statement.memory", run.err)
        self.assertIn("statement.memory", Run("assay", "bounds", network, self.write("q.vnnlib", query([(0, 1)], 1, "(<= Y_0 2)"))).err)

    def test_run_refuses_what_a_model_or_a_backend_has_no_numbers_for(self):
        network = self.write("m.onnx", model([node("Sigmoid", ["x"], ["y"], "squash")], [value_info("x", [2])], [value_info("y", [2])], []))
        for words, reason in ((("--dtype", "exact"), "a scalar on which sigmoid is defined"), (("--dtype", "float64"), "a model of float64"),
                              (("--dtype", "complex64"), "real values"), (("--dtype", "exact", "--backend", "compiled"), "replays nothing"),
                              (("--dtype", "bfloat16", "--backend", "compiled"), "a fused pass keeps float32"),
                              (("--dtype", "interval", "--device", "emulated"), "devices compute float32")):
            run = self.run_model(network, {"x": [0.5, 1]}, *words)
            self.assertEqual((run.exit, run.out), (4, ""), words)
            self.assertIn(reason, run.err)
        self.assertEqual(self.run_model(network, {"x": [0.5, 1]}, "--dtype", "interval").exit, 0)
        self.assertIn("2 numbers for [2]", self.run_model(network, {"x": [0.5]}).err)
        self.assertEqual(Run("assay", "run", network, "--dtype", "float8").exit, 2)

    def test_a_patch_that_may_leave_its_canvas_is_unknown_but_can_be_refuted(self):
        leaving = [(0, 3), (0, 2)]
        run = self.answer(placed_patch(INT64), query(leaving, 1, "(> Y_0 10)"))
        self.assertEqual((run.word, run.exit), ("unknown", 0), run.err)
        self.assertIn("may have no value in the box: node", run.err)
        self.assertEqual(self.answer(placed_patch(INT64), query(leaving, 1, "(>= Y_0 10)")).word, "sat")

    def test_what_stays_refused_says_what_would_help(self):
        masked = model([node("NonZero", ["x"], ["i"], "places"), node("Cast", ["i"], ["y"], "cast", to=FLOAT)], [value_info("x", [4])],
                       [value_info("y", None)], [])
        run = Run("assay", "lint", self.write("m.onnx", masked))
        self.assertEqual(run.exit, 4)
        self.assertIn("fold the mask into a constant", run.out + run.err)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    cli_test.BIN = sys.argv.pop(1)
    unittest.main()
