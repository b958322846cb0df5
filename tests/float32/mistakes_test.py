#!/usr/bin/env python3
"""What goes wrong when a float semantics is asked for: names and fields that do not exist, formats that the model does not have, weights
that are no numbers, functions without a row. Each message says what, where and what to do. Usage: mistakes_test.py BIN_DIRECTORY"""
import json
import math
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))

import cli_test
from cli_test import Run
from folder_case import FolderCase
from onnx_files import DOUBLE, FLOAT, model, node, tensor, value_info

QUERY = """(declare-const X_0 Real)
(declare-const Y_0 Real)
(assert (>= X_0 0))
(assert (<= X_0 1))
(assert (<= Y_0 -1))
"""
TYPED = """(vnnlib-version <2.0>)
(declare-network f (declare-input X %s [1]) (declare-output Y %s [1]))
(assert (and (>= X[0] 0.0) (<= X[0] 1.0)))
(assert (<= Y[0] -1.0))
"""
NAMES = ("any-order", "onnxruntime", "pytorch-cpu", "cuda", "tf32", "bfloat16", "float16", "float64")
FAST = "float32:binary32 accumulator=any_order math=cuda-13-fast"
NO_TABLE = "float32:binary32 accumulator=any_order math=none"


def one(op, kind=FLOAT):
    return model([node(op, ["x"], ["y"], "only")], [value_info("x", [1], kind)], [value_info("y", [1], kind)], [])


def scaled(factor):
    return model([node("Mul", ["x", "c"], ["y"], "scale")], [value_info("x", [1])], [value_info("y", [1])], [tensor("c", [1], [factor])])


MODELS = {
    "sigmoid": one("Sigmoid"),
    "double": one("Relu", DOUBLE),
    "widened": model([node("Cast", ["x"], ["wide"], "widen", to=DOUBLE), node("Relu", ["wide"], ["y"], "relu")], [value_info("x", [1])],
                     [value_info("y", [1], DOUBLE)], []),
    "constant": model([node("Cast", ["tenth"], ["k"], "narrow", to=FLOAT), node("Mul", ["x", "k"], ["y"], "scale")], [value_info("x", [1])],
                      [value_info("y", [1])], [tensor("tenth", [1], [0.1], DOUBLE)]),
    "nan": scaled(math.nan),
    "infinite": scaled(math.inf),
    "functions": model([node("Relu", ["x"], ["h"], "first"), node("Exp", ["h"], ["y"], "second")], [value_info("x", [1])], [value_info("y", [1])], []),
}


class Mistakes(FolderCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, data in [("q.vnnlib", QUERY.encode()), *((name + ".onnx", data) for name, data in MODELS.items()),
                           *((kind + ".vnnlib", (TYPED % (kind, kind)).encode()) for kind in ("float32", "float64", "float16", "bfloat16"))]:
            cls.write(name, data)
        cls.made = cls.verify("sigmoid", "--semantics", "float32", "--proof", cls.at("proof"))

    @classmethod
    def verify(cls, name, *words, prop="q"):
        return Run("assay", "verify", cls.at(name + ".onnx"), cls.at(prop + ".vnnlib"), *words, "--timeout", "20")

    def all_programs(self, name, semantics):
        """Each program that takes a semantics, on this model, with its name."""
        files, option = (self.at(name + ".onnx"), self.at("q.vnnlib")), ("--semantics", semantics)
        return {"verify": Run("assay", "verify", *files, *option, "--timeout", "20"), "bounds": Run("assay", "bounds", *files, *option),
                "check": Run("assay", "check", *files, self.at("proof"), *option), "assay-check": Run("assay-check", *files, self.at("proof"), *option)}

    def refused(self, run, exit_code, code, *words):
        """Nothing is claimed on standard output, and standard error names the rule and all of these words."""
        self.assertEqual(run.exit, exit_code, run.out + run.err)
        self.assertNotIn(run.word, ("sat", "unsat", "accepted"))
        for word in (code, *words):
            self.assertIn(word, run.err)

    # names

    def test_the_certificate_of_these_tests_is_right(self):
        self.assertEqual((self.made.word, self.made.exit), ("unsat", 0), self.made.err)
        self.assertEqual({name: run.exit for name, run in self.all_programs("sigmoid", "float32").items()}, {"verify": 0, "bounds": 0, "check": 0, "assay-check": 0})

    def test_unknown_names_list_those_that_exist(self):
        for name in ("flaot32", "float32:", "float32:cuda12", "cuda", "float", "real:cuda", "FLOAT32", ""):
            for program, run in {**self.all_programs("sigmoid", name), "statement": Run("assay", "statement", self.at("sigmoid.onnx"), self.at("q.vnnlib"), "--semantics", name)}.items():
                with self.subTest(name=name, program=program):
                    words = (f"'{name}'", *NAMES) if name or program == "assay-check" else ("is empty",)  # `assay` reads no empty value
                    self.refused(run, 2, "--semantics", *words)
                    self.assertEqual(run.out, "")

    def test_a_mistyped_name_gets_the_nearest(self):
        for name, meant in (("flaot32", "float32"), ("float32:onnxruntme", "float32:onnxruntime"), ("cuda", "float32:cuda"), ("bfloat-16", "bfloat16"),
                            ("float32:pytorch", "float32:pytorch-cpu"), ("Real", "real")):
            for program, run in self.all_programs("sigmoid", name).items():
                with self.subTest(name=name, program=program):
                    self.refused(run, 2, f"'{name}'; did you mean {meant}?")

    def test_settings_are_told_in_words(self):
        for spelling, words in (("fma=maybe", "fma=no or fma=yes: whether a product and a sum may be one operation with one rounding"),
                                ("storage=tiny", "storage=same or storage=bfloat16 or storage=binary16: the format in which results are stored"),
                                ("colour=red", "a field of an execution model: rounding, flush_operands,")):
            for program, run in self.all_programs("sigmoid", "float32:binary32 " + spelling).items():
                with self.subTest(spelling=spelling, program=program):
                    self.refused(run, 2, words, "not " + spelling, "docs/contracts/execution-models.md")

    def test_unknown_fields_and_words_are_named(self):
        for spelling, found in (("binary32 colour=red", "colour=red"), ("binary32 fma=maybe", "fma=maybe"), ("binary64 storage=tiny", "storage=tiny"),
                                ("binary32 fma=yes fma=no", "fma"), ("binary32 accumulator=tree", "tree_height")):
            for program, run in self.all_programs("sigmoid", "float32:" + spelling).items():
                with self.subTest(spelling=spelling, program=program):
                    self.refused(run, 2, "--semantics", found)
                    self.assertEqual(run.out, "")

    def test_an_option_without_a_value(self):
        run = Run("assay-check", self.at("sigmoid.onnx"), self.at("q.vnnlib"), self.at("proof"), "--semantics")
        self.refused(run, 2, "--semantics", *NAMES)
        self.assertEqual(Run("assay", "verify", self.at("sigmoid.onnx"), self.at("q.vnnlib"), "--semantics").exit, 2)

    def test_a_table_that_nobody_knows(self):
        for program, run in self.all_programs("sigmoid", "float32:binary32 math=my-library").items():
            with self.subTest(program=program):
                self.refused(run, 2, "--semantics", "'my-library'", "math-tables.md", "onnxruntime", "cuda-13", "sleef-u10")
                self.assertEqual(run.out, "")
        self.assertIn("'cuda13'; did you mean cuda-13?", self.all_programs("sigmoid", "float32:binary32 math=cuda13")["verify"].err)

    # formats

    def test_values_of_another_format_are_named(self):
        for name, semantics, place, required, found in (
                ("double", "float32", "x", "float32 values", "float64"), ("widened", "float32", "wide", "float32 values", "float64"),
                ("widened", "float64", "x", "float64 values", "float32"), ("constant", "float32", "tenth", "float32 values", "float64"),
                ("sigmoid", "float64", "x", "float64 values", "float32"), ("double", "bfloat16", "x", "float32 values", "float64")):
            for program, run in self.all_programs(name, semantics).items():
                with self.subTest(model=name, semantics=semantics, program=program):
                    self.refused(run, 3, "execution.format", f"expected {required}, found {found}", "state a semantics of that format, or real arithmetic")
                    self.assertRegex(run.err, r": \w+ '%s': expected" % place)

    def test_the_declared_type_chooses_the_format(self):
        for kind, name in (("float32", "sigmoid"), ("float64", "double")):
            with self.subTest(kind=kind):
                run = self.verify(name, prop=kind)
                self.assertEqual((run.word, run.exit), ("unsat", 0), run.err)
                self.assertIn({"float32": "semantics: binary32", "float64": "semantics: binary64"}[kind], run.err)
        for kind, name, own in (("float64", "sigmoid", "float32"), ("float32", "double", "float64"), ("bfloat16", "sigmoid", "float32"), ("float16", "sigmoid", "float32")):
            with self.subTest(kind=kind, model=name):
                run = self.verify(name, prop=kind)
                self.refused(run, 4, "vnnlib.type_mismatch", kind + ".vnnlib, line 2", "element type " + own, "element type " + kind)
                self.assertEqual(run.out, "")

    # weights

    def test_weights_that_are_no_numbers(self):
        for name, found in (("nan", "nan"), ("infinite", "inf")):
            for semantics in ("real", "float32", "bfloat16", "float32:cuda"):
                for program, run in self.all_programs(name, semantics).items():
                    with self.subTest(model=name, semantics=semantics, program=program):
                        self.refused(run, 4, "onnx.nonfinite", name + ".onnx", 'node "scale"', "finite weights", '"c" element 0 is', found, "repair the weights")

    # functions

    def test_causes_are_told_apart(self):
        """Which op, which operand, and what is wrong with it: one network each."""
        wide, far = QUERY.replace("X_0 1)", "X_0 3e38)").replace("X_0 0)", "X_0 -3e38)"), QUERY.replace("X_0 1)", "X_0 10)")
        large = {"x": (node("Mul", ["x", "c"], ["y"], "scale"), [tensor("c", [1], [4.0])])}
        for name, nodes, constants, query, semantics, words in (
                ("exp", [node("Exp", ["x"], ["y"], "e")], [], QUERY, NO_TABLE, ("of exp", "without a table of functions (math=none)", "a row for exp in float32", "'x' in [0, 1]")),
                ("row", [node("Tan", ["x"], ["y"], "t")], [], QUERY, FAST, ("of tan", "no row for tan in float32 in the table 'cuda-13-fast'", "'x' in [0, 1]")),
                ("range", [node("Sin", ["x"], ["y"], "s")], [], far, FAST, ("of sin", "arguments of sin in [0, 10], which its rows in the table 'cuda-13-fast' do not cover")),
                ("over", [node("Mul", ["x", "x"], ["y"], "m")], [], wide, "float32", ("of mul", "a result that may overflow", "'x' in [-3e+38, 3e+38]")),
                ("sum", *large["x"], wide, "float32", ("a sum of up to 2 terms whose magnitudes add up to 1.2e+39, where the format ends at 3.40282347e+38",))):
            with open(self.at(name + ".onnx"), "wb") as file:
                file.write(model(nodes if isinstance(nodes, list) else [nodes], [value_info("x", [1])], [value_info("y", [1])], constants))
            with open(self.at(name + ".vnnlib"), "w") as file:
                file.write(query)
            with self.subTest(name=name):
                run = Run("assay", "bounds", self.at(name + ".onnx"), self.at(name + ".vnnlib"), "--semantics", semantics)
                self.refused(run, 3, "propagate_box.S4", "state another execution model", *words)

    def test_functions_without_a_row(self):
        for name, op in (("sigmoid", "sigmoid"), ("functions", "exp")):
            for run in (self.verify(name, "--semantics", NO_TABLE), Run("assay", "bounds", self.at(name + ".onnx"), self.at("q.vnnlib"), "--semantics", NO_TABLE)):
                with self.subTest(model=name):
                    self.refused(run, 3, "propagate_box.S4", "'y', element 0", op, "state another execution model")
                    self.assertEqual(run.out, "")
        report = json.loads(self.verify("sigmoid", "--semantics", NO_TABLE, "--json").out)
        self.assertEqual((report["answer"], report["exit"]), ("", 3))

    def test_what_needs_no_table_is_answered_without_one(self):
        with open(self.at("relu.onnx"), "wb") as file:
            file.write(one("Relu"))
        run = self.verify("relu", "--semantics", NO_TABLE, "--proof", self.at("relu proof"))
        self.assertEqual((run.word, run.exit), ("unsat", 0), run.err)
        checked = Run("assay-check", self.at("relu.onnx"), self.at("q.vnnlib"), self.at("relu proof"), "--semantics", NO_TABLE, "--exact")
        self.assertEqual((checked.word, checked.exit), ("accepted", 0), checked.err)
        self.assertNotIn("error table", checked.out)

    # certificates of another semantics

    def test_a_certificate_of_another_semantics_is_declined_by_both_names(self):
        for semantics, required in (("float32:cuda", "float32:cuda"), ("bfloat16", "bfloat16"), (NO_TABLE, "binary32 accumulator=any_order")):
            with self.subTest(semantics=semantics):
                run = self.all_programs("sigmoid", semantics)["assay-check"]
                self.assertEqual((run.word, run.exit), ("declined", 3), run.err)
                for word in ("certificate.semantics", f"a certificate about {required}", f"found float32; check it with --semantics 'float32', or prove the property again with assay verify --semantics '{required}"):
                    self.assertIn(word, run.err)

    def test_a_statement_keeps_its_semantics(self):
        written = Run("assay", "statement", self.at("sigmoid.onnx"), self.at("q.vnnlib"), "--semantics", "float32", "--out", self.at("claim"))
        self.assertEqual(written.exit, 0, written.err)
        checked = Run("assay-check", self.at("claim"), self.at("proof"))
        self.assertEqual((checked.word, checked.exit), ("accepted", 0), checked.err)
        self.assertIn("semantics: binary32", checked.out)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    cli_test.BIN = sys.argv.pop(1)
    unittest.main()
