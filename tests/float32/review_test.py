#!/usr/bin/env python3
"""Networks of a review, each with an execution that the model admits and that violates a claim which was once proved about it.
Usage: review_test.py BIN_DIRECTORY

Every test computes its execution here: with fractions, and where a function is evaluated with 60 decimal digits. assay verify may say `unknown` or
decline with exit code 3, never `unsat`; `sat` only where every execution is in the unsafe set. Where assay bounds gives a box, the
value that the execution holds lies in it."""
from decimal import Decimal, getcontext
from fractions import Fraction
import json
import math
import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "cli")]

import cli_test
from catalogue_test import TWO, at, decimal, float32, neuron, with_constants
from cli_test import Run
from executions import BFLOAT16, BINARY16, BINARY32, TF32, flushed, summed, sums
from onnx_files import BOOL, model, node, tensor, value_info

getcontext().prec = 60
ANY = "float32:binary32 accumulator=any_order %s math=any-library"
OPERANDS, RESULTS, BOTH = (ANY % words for words in ("flush_operands=yes", "flush_results=yes", "flush_operands=yes flush_results=yes"))
SUBNORMAL = TWO**-140
HALF, ONE = Fraction(1, 2), Fraction(1)
LARGEST = (2 - TWO**-23) * TWO**127
# The square of FACTOR lies half a unit below its rounded value; with ADDEND, a fused sum and one of the rounded square differ.
FACTOR, ADDEND = Fraction(11534338, 2**23), Fraction(3669997, 2**25)
BETWEEN = ADDEND - Fraction(11, 5) * TWO**-24


def unary(op, **attributes):
    return with_constants([node(op, ["x"], ["y"], op.lower(), **attributes)], [("x", [1])], [("y", [1])], [])


def holds(relation, value, bound):
    return value <= bound if relation == "<=" else value >= bound


class Review(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.network, self.question, self.boxes = (os.path.join(self.folder.name, name) for name in ("m.onnx", "q.vnnlib", "b.json"))

    def ask(self, network, box, outputs, unsafe, semantics, violating, words=("unknown",)):
        """The unsafe set is: sum of coefficients times inputs and outputs, in relation to a bound.

        violating: what that sum is in an execution; None for one whose values are not all finite. words: what may be answered."""
        terms, relation, bound = unsafe
        if violating is not None and "sat" not in words:
            self.assertTrue(holds(relation, violating, bound), "the execution is in the unsafe set")
        names = [f"X_{i}" for i in range(len(box))] + [f"Y_{i}" for i in range(outputs)]
        total = " ".join(name if c == 1 else f"(* {decimal(c)} {name})" for name, c in terms.items())
        text = "".join(f"(declare-const {name} Real)\n" for name in names) + "".join(
            f"(assert (>= X_{i} {decimal(lo)}))\n(assert (<= X_{i} {decimal(hi)}))\n" for i, (lo, hi) in enumerate(box))
        text += f"(assert ({relation} {total if len(terms) == 1 else f'(+ {total})'} {decimal(bound)}))\n"
        for path, data in ((self.network, network), (self.question, text.encode())):
            with open(path, "wb") as file:
                file.write(data)
        run = Run("assay", "verify", self.network, self.question, "--semantics", semantics, "--timeout", "5")
        if run.exit == 3:
            self.assertEqual(run.out, "", run.err)
            self.assertRegex(run.err, "propagate_box.S4|conclude.S4|execution.constant")
        else:
            self.assertEqual(run.exit, 0, run.err)
            self.assertIn(run.word, words, f"{semantics}: an execution contradicts this")

    def bounded(self, semantics, name, element, value):
        """The value of an execution of the network that was asked about last lies in the box, unless the run is declined."""
        run = Run("assay", "bounds", self.network, self.question, "--semantics", semantics, "--json=" + self.boxes)
        if run.exit == 3:
            self.assertRegex(run.err, "propagate_box.S4|execution.constant")
            return
        self.assertEqual(run.exit, 0, run.err)
        with open(self.boxes, encoding="utf-8") as file:
            nodes = {entry["name"]: entry for entry in json.load(file)["groups"][0]["nodes"]}
        lo, hi = (Fraction(float.fromhex(nodes[name][side][element]["hex"])) for side in ("lo", "hi"))
        self.assertTrue(lo <= value <= hi, f"{semantics}: an execution holds {float(value)!r} outside [{float(lo)!r}, {float(hi)!r}]")

    # ---- fused operations ----

    def fused_and_read(self, first, second, dims):
        """y = p + c, fused with the square p or not, and s, which holds the rounded p, is an output as well.

        y - s is below BETWEEN where the sum is fused and above where it is not, so that neither unsat nor sat is true."""
        nodes, s = [first, *second], "s" if second else "p"
        network = with_constants([*nodes, node("Add", [s, "c"], ["y"], "sum")], [("x", [1, 2])], [("y", dims), (s, dims)],
                                 [("c", [1], [float(ADDEND)]), ("axis", [1], [0]), ("two", [1], [2.0])])
        held = BINARY32.nearest(FACTOR * FACTOR)
        fused, apart = BINARY32.nearest(FACTOR * FACTOR + ADDEND), BINARY32.nearest(held + ADDEND)
        for relation, y in (("<=", fused), (">=", apart)):
            with self.subTest(relation=relation):
                self.ask(network, at(FACTOR, FACTOR), 4, ({"Y_0": 1, "Y_2": -1}, relation, BETWEEN), "float32", y - held)
        self.assertLess(fused - held, BETWEEN)
        self.assertGreater(apart - held, BETWEEN)

    def test_product_read_twice_through_unsqueeze(self):
        self.fused_and_read(node("Mul", ["x", "x"], ["p"], "square"), [node("Unsqueeze", ["p", "axis"], ["s"], "copy")], [1, 1, 2])

    def test_square_read_twice(self):
        """Pow with the exponent 2 is the product x x, which is fused as every product is."""
        self.fused_and_read(node("Pow", ["x", "two"], ["p"], "square"), [], [1, 2])

    # ---- a bias that joins the accumulation ----

    def test_bias_in_a_sum_that_is_read_twice_through_unsqueeze(self):
        """The held sum is 510, with the ones first. In y the bias 1 comes last, after 2^24 took the ones one by one: y = 1."""
        terms = [TWO**24, *[ONE] * 510, -TWO**24]
        lost, kept = summed([*terms, ONE]), summed([*terms[1:-1], terms[0], terms[-1]])
        self.assertEqual((lost, kept), (1, 510))
        constants = [("w", [512, 1], [float(t) for t in terms]), ("b", [1], [1.0]), ("axis", [1], [0])]
        steps = [node("MatMul", ["x", "w"], ["p"], "sum"), node("Unsqueeze", ["p", "axis"], ["s"], "copy"), node("Add", ["s", "b"], ["y"], "bias")]
        # z = s - b accumulates once more: 509.
        less = summed([*terms[1:-1], -ONE, terms[0], terms[-1]])
        for name, nodes, second in (("s", steps, kept), ("z", [*steps, node("Sub", ["s", "b"], ["z"], "less")], less)):
            with self.subTest(output=name):
                network = with_constants(nodes, [("x", [1, 512])], [("y", [1, 1, 1]), (name, [1, 1, 1])], constants)
                self.ask(network, at(*[1] * 512), 2, ({"Y_0": 1, "Y_1": -1}, "<=", Fraction(-500)), "float32", lost - second)

    def test_sum_of_constants_with_a_variable_bias(self):
        """2^24 + 1 + ... + 1 - 2^24 is 0 or 64, by the order; the bias of the Gemm is the input 0."""
        terms = [TWO**24, *[ONE] * 64, -TWO**24]
        self.assertEqual({*sums(terms)} & {0, 64}, {0, 64})
        network = with_constants([node("Gemm", ["a", "w", "x"], ["y"], "sum")], [("x", [1, 1])], [("y", [1, 1])],
                                 [("a", [1, 66], [1.0] * 66), ("w", [66, 1], [float(t) for t in terms])])
        self.ask(network, at(0), 1, ({"Y_0": 1}, "<=", Fraction(32)), "float32", summed(terms))
        for y in (0, 64):
            self.bounded("float32", "y", 0, y)

    def test_product_of_constants_before_a_bias(self):
        """k = (s + 2^24) - 2^24 is 0 where 2^24 is the first term of the accumulation and 512 where it is the last."""
        together, after = summed([TWO**24, *[ONE] * 512, -TWO**24]), summed([*[ONE] * 512, TWO**24, -TWO**24])
        self.assertEqual((together, after), (0, 512))
        for op, words in (("Transpose", {}), ("Neg", {}), ("Concat", {"axis": 0})):
            for bias, output, point in (("b", "y", -ONE), ("x", "k", TWO**24)):
                with self.subTest(op=op, bias=bias):
                    rows = 2 if op == "Concat" else 1
                    nodes = [node("MatMul", ["a", "w"], ["p"], "sum"), node(op, ["p"] * rows, ["s"], "step", **words), node("Add", ["s", bias], ["z"], "bias"),
                             node("Sub", ["z", bias], ["k"], "back"), *([node("Max", ["x", "k"], ["y"], "greater")] if output == "y" else [])]
                    network = with_constants(nodes, [("x", [1, 1])], [(output, [rows, 1])],
                                             [("a", [1, 512], [1.0] * 512), ("w", [512, 1], [-1.0 if op == "Neg" else 1.0] * 512), ("b", [1], [2.0**24])])
                    self.ask(network, at(point), rows, ({"Y_0": 1}, "<=", Fraction(256)), "float32", together)
                    self.bounded("float32", output, 0, together)

    # ---- what is rounded beyond the range ----

    def test_weights_that_are_rounded_to_infinity(self):
        """A factor is rounded before it is multiplied, and the shorter format has no number for it: the execution holds an infinity."""
        for words, weight, point, rounded in (("inputs=binary16", Fraction(70000), ONE, BINARY16.nearest), ("inputs=bfloat16", LARGEST, TWO**-8, BFLOAT16.nearest),
                                              ("inputs=tf32", LARGEST, TWO**-8, TF32.away)):
            with self.subTest(words):
                self.assertEqual(rounded(weight), math.inf)
                self.ask(neuron([float(weight)]), at(point), 1, ({"Y_0": 1}, ">=", 16 * weight * point), ANY % words, None)

    def test_constants_that_are_stored_as_infinity(self):
        """100000 is stored as an infinity in float16, and 2^128 - 2^104 in bfloat16: the output is no finite number."""
        self.assertEqual((BINARY16.nearest(Fraction(100000)), BFLOAT16.nearest(LARGEST)), (math.inf, math.inf))
        for semantics, constant in (("float16", 1e5), ("bfloat16", float(LARGEST))):
            for op, operands, words, extent in (("Max", ["x", "c"], {}, 1), ("Concat", ["c", "x"], {"axis": 0}, 2), ("Where", ["no", "x", "c"], {}, 1)):
                with self.subTest(semantics=semantics, op=op):
                    network = model([node(op, operands, ["y"], "step", **words)], [value_info("x", [1])], [value_info("y", [extent])],
                                    [tensor("c", [1], [constant]), tensor("no", [1], [False], BOOL)])
                    self.ask(network, [(0, 1)], extent, ({"Y_0": 1}, "<=", Fraction(3)), semantics, None)

    # ---- subnormal numbers ----

    def test_flushed_operands_of_what_jumps(self):
        """2^-140 reads as 0: it is not above the threshold of ThresholdedRelu, and Shrink leaves what is 0."""
        self.assertEqual(flushed(SUBNORMAL), 0)
        for semantics in (OPERANDS, BOTH):
            for network, unsafe in ((unary("ThresholdedRelu", alpha=0.0), ({"Y_0": 1}, "<=", Fraction(0))),
                                    (unary("Shrink", lambd=0.0, bias=0.5), ({"Y_0": 1}, ">=", -HALF / 2))):
                with self.subTest(semantics=semantics, unsafe=unsafe):
                    self.ask(network, at(SUBNORMAL), 1, unsafe, semantics, Fraction(0))
                    self.bounded(semantics, "y", 0, 0)

    def test_flushed_operand_of_a_remainder(self):
        """The remainder of what reads as 0 is 0; so is the remainder 2^-140 where it is flushed as a result."""
        network = with_constants([node("Mod", ["x", "d"], ["y"], "remainder", fmod=1)], [("x", [1])], [("y", [1])], [("d", [1], [1.0])])
        for semantics in (OPERANDS, RESULTS, BOTH):
            with self.subTest(semantics):
                self.ask(network, at(SUBNORMAL), 1, ({"Y_0": 1}, "<=", Fraction(0)), semantics, flushed(SUBNORMAL))
                self.bounded(semantics, "y", 0, 0)

    def test_flushed_results_of_choices(self):
        """Each function gives its operand 2^-140, and the subnormal result may be zero."""
        for op, words in (("Clip", {}), ("LeakyRelu", {}), ("Elu", {}), ("ThresholdedRelu", {"alpha": 0.0})):
            network = unary(op, **words) if op != "Clip" else with_constants([node("Clip", ["x", "lo"], ["y"], "clip")], [("x", [1])], [("y", [1])], [("lo", [], [-1.0])])
            with self.subTest(op):
                self.ask(network, at(SUBNORMAL), 1, ({"Y_0": 1}, "<=", Fraction(0)), RESULTS, flushed(SUBNORMAL))
                self.bounded(RESULTS, "y", 0, 0)

    def test_flushed_exponential_in_softmax(self):
        """The exponential of -87.5 is subnormal by far more than its error; the division reads it as 0, and 0 / (1 + 0) is 0."""
        self.assertLess(Decimal("-87.5").exp() * 2**126, Decimal("0.9"))
        network = with_constants([node("Softmax", ["x"], ["y"], "softmax", axis=0)], [("x", [2])], [("y", [2])], [])
        self.ask(network, at(0, Fraction(-175, 2)), 2, ({"Y_1": 1}, "<=", SUBNORMAL), OPERANDS, Fraction(0))
        self.bounded(OPERANDS, "y", 1, 0)

    # ---- functions and means ----

    def test_stored_exponent_of_pow(self):
        """The exponent 0.3 is stored in the shorter format: 2^100 to that power is larger by 5 %, 2^15 by 0.08 %.

        An error of pow of 16 units of the last place does not change what is stored, so that every execution is in the unsafe set."""
        exponent = float32(0.3)
        for semantics, form, base in (("bfloat16", BFLOAT16, 100), ("float16", BINARY16, 15)):
            with self.subTest(semantics):
                of_stored, of_meant = (Fraction(Decimal(2) ** (base * Decimal(e.numerator) / Decimal(e.denominator))) for e in (form.nearest(exponent), exponent))
                stored = form.nearest(of_stored)
                self.assertEqual({form.nearest(of_stored * (1 + error)) for error in (-TWO**-20, TWO**-20)}, {stored})
                self.assertGreater(stored, form.nearest(of_meant * (1 + TWO**-20)))
                network = with_constants([node("Pow", ["x", "e"], ["y"], "power")], [("x", [1])], [("y", [1])], [("e", [1], [float(exponent)])])
                self.ask(network, at(TWO**base), 1, ({"Y_0": 1}, ">=", stored), semantics, stored, ("unknown", "sat"))
                self.bounded(semantics, "y", 0, stored)

    def test_softplus_of_fast_functions(self):
        """The table counts steps from the correctly rounded result: 2 + floor(1.173 |x|) for exp, 1 for log1p. With all of them upwards,
        log1p(exp(x)) is 96 units of 2^-24 above x.

        The box reaches beyond 20, where x itself is among the forms; at x, below 20, this one is, too."""
        x, semantics = float32(19.41574478149414), ANY.replace("any-library", "cuda-13-fast") % "fma=yes"

        def above(exact, steps):
            rounded = BINARY32.nearest(Fraction(exact))
            return rounded + steps * BINARY32.spacing(rounded)

        exponential = above((Decimal(x.numerator) / Decimal(x.denominator)).exp(), 2 + math.floor(Fraction(1173, 1000) * x))
        y = above((1 + Decimal(exponential.numerator) / Decimal(exponential.denominator)).ln(), 1)
        self.assertTrue(BINARY32.has(exponential) and BINARY32.has(y))
        self.assertEqual(y - x, 96 * TWO**-24)
        self.ask(unary("Softplus"), [(x, float32(20.0001))], 1, ({"Y_0": 1, "X_0": -1}, ">=", y - x), semantics, y - x)
        self.bounded(semantics, "y", 0, y)

    def test_mean_of_a_wide_sum(self):
        """The sum runs in binary64, is rounded to float32 and multiplied with the rounded 1/63: three roundings, of which two were counted."""
        xs = [66577 * TWO**-16] * 62 + [8517857 * TWO**-23]
        self.assertTrue(all(BINARY32.has(x) for x in xs))
        y = BINARY32.nearest(BINARY32.nearest(sum(xs)) * BINARY32.nearest(Fraction(1, 63)))
        self.assertGreater((y * 63 / sum(xs) - 1) * 2**24, Fraction(29, 10))
        network = model([node("ReduceMean", ["x"], ["y"], "mean", axes=[0], keepdims=1)], [value_info("x", [63])], [value_info("y", [1])], [])
        semantics = ANY % "accumulator_format=binary64"
        self.ask(network, at(*xs), 1, ({"Y_0": 1}, ">=", y), semantics, y)
        self.bounded(semantics, "y", 0, y)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    cli_test.BIN = sys.argv.pop(1)
    unittest.main()
