#!/usr/bin/env python3
"""`assay supports` against what `assay verify` does: each claimed theory of VNN-LIB 2 is answered both ways with certificates that
assay-check accepts in exact mode, each other one is refused by its name. Usage: theories_test.py BIN_DIRECTORY"""
import json
import os
import re
import sys
import tempfile
import unittest

import cli_test
import onnx_files
from cli_test import Run

SINGLE = """(vnnlib-version <2.0>)
(declare-network f (declare-input X {type} [1,2]) (declare-output Y {type} [1,1]))
(assert (and (>= X[0,0] -1.0) (<= X[0,0] 1.0) (>= X[0,1] -1.0) (<= X[0,1] 1.0)))
"""
# h = relu(a w + b), t = h v, with w = ((1, -1), (0.5, 1)), v = (1, 1)
SEVERAL = """(vnnlib-version <2.0>)
(declare-network f (declare-input A real [1,2]) (declare-input B real [1,1]) (declare-output H real [1,2]) (declare-output T real [1,1]))
(assert (and (>= A[0,0] -1) (<= A[0,0] 1) (>= A[0,1] -1) (<= A[0,1] 1) (>= B[0,0] 0) (<= B[0,0] 0.5)))
"""
BY_NAME = SEVERAL.replace("(declare-input A real [1,2]) (declare-input B real [1,1]) (declare-output H real [1,2]) (declare-output T real [1,1])",
                          '(declare-input B real [1,1] "b") (declare-input A real [1,2] "a") (declare-output T real [1,1] "t") (declare-output H real [1,2] "h")')
SECOND = "(declare-network g {relation} (declare-input C real [1,2]) (declare-output D real [1,1]))\n(assert"
# theory -> model, prefix, assertions with answer unsat, assertions with answer sat
CLAIMED = {
    "real": ("one", SINGLE.format(type="real"), "(assert (<= Y[0,0] -0.5))", "(assert (<= Y[0,0] 0.5))"),
    "NH": ("one", SINGLE.format(type="Real"), "(assert (>= Y[0,0] 0.5))", "(assert (>= Y[0,0] 0))"),
    "SNET": ("one", SINGLE.format(type="real"), "(assert (>= Y[0,0] 0.5))", "(assert (>= Y[0,0] 0))"),
    "SIO": ("one", SINGLE.format(type="real"), "(assert (>= Y[0,0] 0.5))", "(assert (>= Y[0,0] 0))"),
    "MIO": ("two", SEVERAL, "(assert (>= T[0,0] 10))", "(assert (>= T[0,0] 1.5))"),
    "SNC": ("two", SEVERAL, "(assert (>= (+ H[0,0] H[0,1]) 9))", "(assert (>= (+ H[0,0] H[0,1]) 1))"),
    "MNC": ("two", SEVERAL, "(assert (<= (+ T[0,0] 0.01) (- H[0,0] A[0,0] 2)))", "(assert (>= T[0,0] (+ A[0,0] B[0,0])))"),
    "BND": ("two", BY_NAME, "(assert (== H[0,0] 9))", "(assert (== H[0,0] 0))"),
    "OUTC": ("two", BY_NAME, "(assert (> H[0,0] T[0,0])) (assert (>= H[0,1] 0.1))", "(assert (< H[0,0] T[0,0]))"),
    "LIN": ("two", SEVERAL, "(assert (<= (+ (* 0.5 A[0,0]) (* 0.25 A[0,1])) -0.7)) (assert (>= H[0,0] 0.01))",
            "(assert (<= (+ (* 0.5 A[0,0]) (* 0.25 A[0,1])) -0.7)) (assert (>= H[0,1] 0.01))"),
    "POLY": ("two", SEVERAL, "(assert (<= (+ (* A[0,0] A[0,0]) (* A[0,1] A[0,1])) 0.25)) (assert (>= (* T[0,0] T[0,0] T[0,0]) 8))",
             "(assert (<= (+ (* A[0,0] A[0,0]) (* A[0,1] A[0,1])) 0.25)) (assert (>= (* T[0,0] (+ 1 A[0,1])) 1))"),
}
# theory -> model, query, code of the refusal
NOT_CLAIMED = {
    "H": ("two", SEVERAL.replace("(declare-output H", '(declare-hidden S real [1,2] "s") (declare-output H') + "(assert (>= T[0,0] 1))",
          "vnnlib.hidden_nodes"),
    "MENET": ("one", SINGLE.format(type="real").replace("(assert", SECOND.format(relation="(equal-to f)"), 1) + "(assert (>= Y[0,0] D[0,0]))",
              "vnnlib.multiple_networks"),
    "MINET": ("one", SINGLE.format(type="real").replace("(assert", SECOND.format(relation="(isomorphic-to f)"), 1) + "(assert (>= Y[0,0] D[0,0]))",
              "vnnlib.multiple_networks"),
    "MNET": ("one", SINGLE.format(type="real").replace("(assert", SECOND.format(relation=""), 1) + "(assert (>= Y[0,0] D[0,0]))",
             "vnnlib.multiple_networks"),
    "POLY of float32": ("one", SINGLE.format(type="float32") + "(assert (>= (* Y[0,0] X[0,0]) 1))", "semantics.polynomial"),
}
# The same query on a network of one element of each type: y = x + x.
INTEGER = """(vnnlib-version <2.0>)
(declare-network f (declare-input X {type} [1]) (declare-output Y {type} [1]))
(assert (and (>= X[0] 0.5) (<= X[0] 3)))
"""
ELEMENT_TYPES = {"int8": 3, "int16": 5, "int32": 6, "int64": 7, "uint8": 2, "uint16": 4, "uint32": 12, "uint64": 13}
for name in ELEMENT_TYPES:
    CLAIMED[name] = (name, INTEGER.format(type=name), "(assert (and (> Y[0] 4) (< Y[0] 6)))", "(assert (and (> Y[0] 3) (< Y[0] 6)))")
# Every execution in the format: twice a number is exact, unless it overflows.
CLAIMED["float32"] = ("one", SINGLE.format(type="float32"), "(assert (<= Y[0,0] -0.5))", "(assert (<= Y[0,0] 0.5))")
CLAIMED["float64"] = ("float64", INTEGER.format(type="float64"), "(assert (> Y[0] 6.0001))", "(assert (and (> Y[0] 3) (< Y[0] 6)))")
CLAIMED["bool"] = ("bool", INTEGER.format(type="bool"), "(assert (>= Y[0] 0.25))", "(assert (<= Y[0] 0.75))")
QUESTIONS = ("onnx-element-types", "hidden-node-theories", "multiple-input-output-theories", "multiple-network-theories",
             "multiple-node-comparison-theories", "arithmetic-complexity-theories")


def two_inputs_two_outputs():
    return onnx_files.model(
        [onnx_files.node("Gemm", ["a", "w", "c"], ["z"], "first"), onnx_files.node("Add", ["z", "b"], ["s"], "sum"),
         onnx_files.node("Relu", ["s"], ["h"], "hidden"), onnx_files.node("MatMul", ["h", "v"], ["t"], "last")],
        [onnx_files.value_info("a", [1, 2]), onnx_files.value_info("b", [1, 1])], [onnx_files.value_info("h", [1, 2]), onnx_files.value_info("t", [1, 1])],
        [onnx_files.tensor("w", [2, 2], [1, -1, 0.5, 1]), onnx_files.tensor("c", [2], [0, 0]), onnx_files.tensor("v", [2, 1], [1, 1])])


def one_element(op, element_type):
    """y = x + x, or x xor x."""
    return onnx_files.model([onnx_files.node(op, ["x", "x"], ["y"], "only")], [onnx_files.value_info("x", [1], element_type)],
                            [onnx_files.value_info("y", [1], element_type)], [], opset=14)  # small integers from this version on


class Theories(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.models = {name: self.write(name + ".onnx", one_element("Add", code)) for name, code in ELEMENT_TYPES.items()}
        self.models |= {"float64": self.write("float64.onnx", one_element("Add", 11)), "bool": self.write("bool.onnx", one_element("Xor", onnx_files.BOOL)), "one": self.write("one.onnx", onnx_files.two_equal_neurons()), "two": self.write("two.onnx", two_inputs_two_outputs())}

    def write(self, name, data):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def verify(self, model, query, *words):
        path = self.write("query.vnnlib", query.encode())
        return Run("assay", "verify", path, "--network", "f=" + self.models[model], "--timeout", "60", *words)

    def test_the_claims_are_these(self):
        claimed = [line for question in QUESTIONS for line in Run("assay", "supports", "--" + question).lines]
        self.assertEqual(sorted(claimed), sorted(CLAIMED))

    def test_what_is_claimed_is_answered(self):
        proof = os.path.join(self.folder.name, "proof")
        for theory, (model, prefix, unsat, sat) in CLAIMED.items():
            for word, assertions in (("unsat", unsat), ("sat", sat)):
                with self.subTest(theory=theory, word=word):
                    run = self.verify(model, prefix + assertions, "--proof", proof)
                    self.assertEqual((run.word, run.exit), (word, 0), run.err)
                    checked = Run("assay-check", self.models[model], os.path.join(self.folder.name, "query.vnnlib"), proof, "--exact")
                    self.assertEqual((checked.word, checked.exit), ("accepted", 0), checked.err)

    def test_what_is_not_claimed_is_refused_by_name(self):
        for theory, (model, query, code) in NOT_CLAIMED.items():
            with self.subTest(theory=theory):
                run = self.verify(model, query)
                self.assertEqual((run.out, run.exit), ("", 4))
                self.assertRegex(run.err, r"^assay: .* \[%s" % re.escape(code))

    def test_the_assignment_follows_the_declarations(self):
        run = self.verify("two", BY_NAME + "(assert (>= T[0,0] 1.5))")
        self.assertEqual([line for line in run.lines if " " in line], ["B real [1,1]", "A real [1,2]", "T real [1,1]", "H real [1,2]"])
        self.assertEqual(len(run.lines), 1 + 4 + 6)
        for line in ("    a_1 in [-1, 1]", "    b_0 in [0, 0.5]", "  case 0: t_0 >= 1.5"):
            self.assertIn("\n" + line + "\n", run.err, "the printed statement names the model's tensors")
        b, t, h = float(run.lines[2]), float(run.lines[7]), [float(x) for x in run.lines[9:]]
        self.assertTrue(0 <= b <= 0.5 and t >= 1.5 and abs(sum(h) - t) < 1e-12, run.out)

    def test_models_and_declarations_correspond(self):
        query = self.write("query.vnnlib", (SEVERAL + "(assert (>= T[0,0] 1))").encode())
        for words, code in ((("g=" + self.models["two"],), "vnnlib.network_missing"), (("f=" + self.models["one"],), "vnnlib."),
                            (("f=" + self.models["two"], "g=" + self.models["one"]), "verify.networks")):
            run = Run("assay", "verify", query, *[x for word in words for x in ("--network", word)])
            self.assertEqual((run.out, run.exit), ("", 4), words)
            self.assertRegex(run.err, r"^assay: .* \[%s" % re.escape(code))

    def test_disjuncts_over_one_box_share_one_proof(self):
        self.assertEqual(Run("assay", "supports", "--optimised-disjunctive-reasoning").lines, ["true"])
        disjuncts = ["(>= T[0,0] 6)", "(>= H[0,0] 4)", "(>= (- H[0,1] A[0,0]) 5)"]
        sizes = []
        for assertion in [*disjuncts, "(or %s)" % " ".join(disjuncts)]:
            proof = os.path.join(self.folder.name, "proof")
            run = self.verify("two", SEVERAL + "(assert %s)" % assertion, "--proof", proof, "--json", "--no-attack")
            report = json.loads(run.out)
            self.assertEqual((report["answer"], report["statement"]["groups"]), ("unsat", 1))
            sizes.append(os.path.getsize(proof))
        self.assertEqual(report["statement"]["cases"], 3)
        self.assertLess(sizes[3], sum(sizes[:3]) / 2, "bytes of the joint certificate against those of the three")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    cli_test.BIN = sys.argv.pop(1)
    unittest.main()
