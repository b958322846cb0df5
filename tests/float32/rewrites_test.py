#!/usr/bin/env python3
"""Executions of formulas that a program rewrote: constants combined and rounded anew, another association, moments in one pass.
Usage: rewrites_test.py BIN_DIRECTORY

Each execution is computed here in exact arithmetic with every rounding. It lies in the box of the model that admits rewrites; some lie outside
of the one that does not, so that the difference is needed."""
from fractions import Fraction
import json
import math
import os
import random
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "cli")]

import cli_test
from catalogue_test import TWO, decimal, float32
from cli_test import Run
from executions import BINARY32
from onnx_files import model, node, tensor, value_info

AS_WRITTEN = "float32"
REWRITTEN = "float32:binary32 accumulator=any_order rewrites=algebraic moments=one_or_two_pass math=any-library"
near = BINARY32.nearest


def root(x):
    """Correctly rounded: 2^30 times as many digits as the format has."""
    scale = 4**80
    return near(Fraction(math.isqrt(int(x * scale * scale)), scale)) if x > 0 else Fraction(0)


def added(terms, draw):
    terms = list(terms)
    draw.shuffle(terms)
    total = terms[0]
    for term in terms[1:]:
        total = near(total + term)
    return total


class Rewrites(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.draw = random.Random(11)

    def number(self, lo=-4.0, hi=4.0):
        return float32(self.draw.uniform(lo, hi))

    def boxes(self, network, point, semantics, outputs=1):
        """-> name of a node -> ends of its elements; None where the run is declined."""
        paths = {name: os.path.join(self.folder.name, name) for name in ("m.onnx", "q.vnnlib", "b.json")}
        text = "".join(f"(declare-const X_{i} Real)\n" for i in range(len(point))) + "".join(f"(declare-const Y_{i} Real)\n" for i in range(outputs))
        for i, x in enumerate(point):
            lo, hi = x if isinstance(x, tuple) else (x, x)
            text += f"(assert (>= X_{i} {decimal(lo)}))\n(assert (<= X_{i} {decimal(hi)}))\n"
        for name, data in (("m.onnx", network), ("q.vnnlib", (text + "(assert (<= Y_0 0))\n").encode())):
            with open(paths[name], "wb") as file:
                file.write(data)
        run = Run("assay", "bounds", paths["m.onnx"], paths["q.vnnlib"], "--semantics", semantics, "--method", "ibp", "--json=" + paths["b.json"])
        if run.exit == 3:
            self.assertIn("propagate_box.S4", run.err)
            return None
        self.assertEqual(run.exit, 0, run.err)
        with open(paths["b.json"], encoding="utf-8") as file:
            nodes = json.load(file)["groups"][0]["nodes"]
        return {one["name"]: [tuple(Fraction(float.fromhex(end["hex"])) for end in ends) for ends in zip(one["lo"], one["hi"])] for one in nodes}

    def escapes(self, network, point, values, name="y"):
        """The rewritten values lie in the box of the model that admits them. Whether one is outside of the other model's."""
        inside, plain = (self.boxes(network, point, semantics, len(values))[name] for semantics in (REWRITTEN, AS_WRITTEN))
        for (lo, hi), value in zip(inside, values):
            self.assertTrue(lo <= value <= hi, f"{float(value)!r} outside [{float(lo)!r}, {float(hi)!r}]")
        for (lo, hi), (low, high) in zip(inside, plain):
            self.assertTrue(lo <= low and high <= hi, "what is admitted as written is admitted rewritten")
        return any(not lo <= value <= hi for (lo, hi), value in zip(plain, values))

    def graph(self, nodes, width, constants, outputs=("y",), out=None):
        tensors = [tensor(name, shape, [float(v) for v in values]) for name, shape, values in constants]
        return model(nodes, [value_info("x", [1, width])], [value_info(name, out or [1, width]) for name in outputs], tensors)

    def test_a_difference_that_is_multiplied(self):
        """(x - m) s as x s - m s, near x = m: a relative error of s is an absolute one of m s."""
        escaped = 0
        for _ in range(12):
            m, s = self.number(1, 2), self.number(1, 2)
            x = near(m * (1 + self.draw.randrange(1, 9) * TWO**-22))
            network = self.graph([node("Sub", ["x", "m"], ["d"], "d"), node("Mul", ["d", "s"], ["y"], "y")], 1, [("m", [1], [m]), ("s", [1], [s])])
            escaped += self.escapes(network, [x], [near(near(x * s) - near(m * s))])
        self.assertGreater(escaped, 0)

    def test_a_quotient_as_a_product(self):
        """Where the reciprocal is rounded much, and the product in the same direction."""
        def error(c, x):
            return abs(near(x * near(1 / c)) * c / x - 1)
        c, x = max(((self.number(1, 2), self.number(1, 2)) for _ in range(2000)), key=lambda pair: error(*pair))
        self.assertGreater(error(c, x), Fraction(5, 4) * TWO**-24)
        network = self.graph([node("Div", ["x", "c"], ["y"], "y")], 1, [("c", [1], [c])])
        self.assertTrue(self.escapes(network, [x], [near(x * near(1 / c))]))

    def test_factors_that_are_combined(self):
        for _ in range(12):
            a, b, c, x = (self.number(1, 2) for _ in range(4))
            nodes = [node("Mul", ["x", "a"], ["p"], "p"), node("Mul", ["p", "b"], ["q"], "q"), node("Mul", ["q", "c"], ["y"], "y")]
            network = self.graph(nodes, 1, [("a", [1], [a]), ("b", [1], [b]), ("c", [1], [c])])
            for value in (near(x * near(near(a * b) * c)), near(near(x * c) * near(a * b))):
                self.escapes(network, [x], [value])

    def test_normalisation_folded_into_a_product(self):
        """Weights W s and bias (b - m) s + t, rounded step by step, in any order of summation; also with a factor and a term after it."""
        for channels, width in ((1, 2), (2, 6), (3, 12)):
            for further in (False, True):
                w = [[self.number() for _ in range(width)] for _ in range(channels)]
                b, m, t, g, o = ([self.number() for _ in range(channels)] for _ in range(5))
                s, v = ([self.number(0.1, 3) for _ in range(channels)] for _ in range(2))
                x = [self.number() for _ in range(width)]
                epsilon = float32(1e-5)
                nodes = [node("Gemm", ["x", "w", "b"], ["z"], "z", transB=1), node("BatchNormalization", ["z", "s", "t", "m", "v"], ["n" if further else "y"], "n")]
                nodes += [node("Mul", ["n", "g"], ["f"], "f"), node("Add", ["f", "o"], ["y"], "y")] if further else []
                flat = [value for row in w for value in row]
                constants = [("w", [channels, width], flat)] + [(k, [channels], values) for k, values in zip("bstmvgo", (b, s, t, m, v, g, o))]
                values = []
                for c in range(channels):
                    scale = near(s[c] / root(near(v[c] + epsilon)))
                    weights, bias = [near(one * scale) for one in w[c]], near(near(near(b[c] - m[c]) * scale) + t[c])
                    if further:
                        weights, bias = [near(one * g[c]) for one in weights], near(near(bias * g[c]) + o[c])
                    values.append(added([near(one * at) for one, at in zip(weights, x)] + [bias], self.draw))
                self.escapes(self.graph(nodes, width, constants, out=[1, channels]), x, values)

    def test_cancelling_weights(self):
        """The weights of two equal inputs cancel; folded, they are rounded apart. Without rewrites the product's own errors hide that, but for 0 at them."""
        a, b, s = Fraction(2**24 - 1, 2**23), Fraction(-(2**24 - 3), 2**23), Fraction(2**24 - 5, 2**23)
        nodes = [node("Gemm", ["x", "w"], ["z"], "z"), node("Mul", ["z", "s"], ["y"], "y")]
        network = self.graph(nodes, 2, [("w", [2, 1], [a, b]), ("s", [1], [s])], out=[1, 1])
        self.escapes(network, [Fraction(1), Fraction(1)], [near(near(a * s) + near(b * s))])

    def test_gelu(self):
        """x Phi(x) of five nodes; the fused kernel multiplies with 1 / root 2 and halves x first."""
        r = root(Fraction(2))
        nodes = [node("Div", ["x", "r"], ["d"], "d"), node("Erf", ["d"], ["e"], "e"), node("Add", ["e", "one"], ["a"], "a"),
                 node("Mul", ["x", "a"], ["q"], "q"), node("Mul", ["q", "half"], ["y"], "y")]
        network = self.graph(nodes, 1, [("r", [1], [r]), ("one", [1], [1]), ("half", [1], [Fraction(1, 2)])])
        escaped = 0
        for _ in range(8):
            x = self.number(-3, 3)
            inner = near(x * near(1 / r))
            escaped += self.escapes(network, [x], [inner], "d")
            e = float32(math.erf(float(inner)))
            self.escapes(network, [x], [near(near(x / 2) * near(1 + e))])
        self.assertGreater(escaped, 0)

    def test_polynomial(self):
        """c (x + k x^3) as x (c + c k x^2)."""
        c, k = float32(0.7978845608028654), float32(0.044715)
        nodes = [node("Pow", ["x", "three"], ["p"], "p"), node("Mul", ["p", "k"], ["q"], "q"), node("Add", ["q", "x"], ["a"], "a"), node("Mul", ["a", "c"], ["y"], "y")]
        network = self.graph(nodes, 1, [("three", [1], [3]), ("k", [1], [k]), ("c", [1], [c])])
        for _ in range(8):
            x = self.number(-3, 3)
            self.escapes(network, [x], [near(x * near(c + near(near(c * k) * near(x * x))))])

    def test_factors_moved_through_a_product(self):
        """A FusedMatMul: sum of x w times alpha, the product of the factors of its operand and its result; alpha before or after the sum."""
        for width in (1, 3, 9):
            a, b, c = (self.number(0.3, 2) for _ in range(3))
            w, x = ([self.number() for _ in range(width)] for _ in range(2))
            nodes = [node("Mul", ["a", "x"], ["p"], "p"), node("Div", ["p", "b"], ["q"], "q"), node("MatMul", ["q", "w"], ["z"], "z"), node("Mul", ["z", "c"], ["y"], "y")]
            network = self.graph(nodes, width, [("a", [1], [a]), ("b", [1], [b]), ("c", [1], [c]), ("w", [width, 1], w)], out=[1, 1])
            alpha = near(near(a * near(1 / b)) * c)
            after = near(added([near(one * at) for one, at in zip(w, x)], self.draw) * alpha)
            before = added([near(near(one * alpha) * at) for one, at in zip(w, x)], self.draw)
            self.escapes(network, x, [after])
            self.escapes(network, x, [before])
            alpha = near(a * near(1 / b))
            self.escapes(self.graph(nodes[:3], width, [("a", [1], [a]), ("b", [1], [b]), ("w", [width, 1], w)], ("z",), [1, 1]), x,
                         [near(added([near(one * at) for one, at in zip(w, x)], self.draw) * alpha)], "z")

    def test_scores_of_attention(self):
        """Q K^T alpha + mask, accumulated from the mask on, where the model divides one operand and adds the mask after the product."""
        d = float32(2.8284270763397217)
        nodes = [node("Div", ["x", "d"], ["q"], "q"), node("Transpose", ["x"], ["t"], "t", perm=[1, 0]), node("MatMul", ["q", "t"], ["s"], "s"), node("Add", ["s", "mask"], ["y"], "y")]
        for mask in (0, -10000):
            network = self.graph(nodes, 8, [("d", [1], [d]), ("mask", [1, 1], [mask])], out=[1, 1])
            x = [self.number() for _ in range(8)]
            alpha = near(1 / d)
            self.escapes(network, x, [added([Fraction(mask)] + [near(near(at * alpha) * at) for at in x], self.draw)])
            self.escapes(network, x, [near(Fraction(mask) + near(alpha * added([near(at * at) for at in x], self.draw)))])

    def test_variance_in_one_pass(self):
        width = 8
        nodes = [node("ReduceMean", ["x"], ["m"], "m", axes=[1], keepdims=1), node("Sub", ["x", "m"], ["d"], "d"), node("Mul", ["d", "d"], ["p"], "p"),
                 node("ReduceMean", ["p"], ["y"], "y", axes=[1], keepdims=1)]
        network = self.graph(nodes, width, [], out=[1, 1])
        escaped = 0
        for offset in (0, 3, 100):
            x = [near(offset + self.number(-1, 1)) for _ in range(width)]
            mean = near(added(x, self.draw) / width)
            square = near(added([near(one * one) for one in x], self.draw) / width)
            escaped += self.escapes(network, x, [near(square - near(mean * mean))])
        self.assertGreater(escaped, 0)

    def test_other_means(self):
        """Squares of differences to something else are no variance, and squares that are an output are held as they are computed."""
        width = 4
        x = [near(100 + self.number(-1, 1)) for _ in range(width)]
        head = [node("ReduceMean", ["x"], ["m"], "m", axes=[1], keepdims=1), node("Sub", ["x", "m"], ["d"], "d"), node("Mul", ["d", "d"], ["p"], "p")]
        tail = [node("ReduceMean", ["p"], ["y"], "y", axes=[1], keepdims=1)]
        def radius(nodes, outputs):
            tensors = [tensor("c", [1], [100.0])]
            network = model(nodes, [value_info("x", [1, width])], [value_info(name, [1, width] if name == "p" else [1, 1]) for name in outputs], tensors)
            lo, hi = self.boxes(network, x, REWRITTEN, 1 + 4 * (len(outputs) - 1))["y"][0]
            return hi - lo
        whole = radius(head + tail, ["y"])
        self.assertLess(radius(head + tail, ["y", "p"]) * 20, whole)
        self.assertLess(radius([node("Sub", ["x", "c"], ["d"], "d"), head[2]] + tail, ["y"]) * 20, whole)

    def test_steps_that_are_outputs(self):
        """What something else reads is computed as written."""
        m, s = self.number(1, 2), self.number(1, 2)
        nodes = [node("Sub", ["x", "m"], ["d"], "d"), node("Mul", ["d", "s"], ["y"], "y")]
        constants = [("m", [1], [m]), ("s", [1], [s])]
        both = self.graph(nodes, 1, constants, ("y", "d"))
        self.assertEqual(self.boxes(both, [m], REWRITTEN, 2)["y"], self.boxes(both, [m], AS_WRITTEN, 2)["y"])
        alone = self.graph(nodes, 1, constants)
        self.assertNotEqual(self.boxes(alone, [m], REWRITTEN)["y"], self.boxes(alone, [m], AS_WRITTEN)["y"])

    def test_combined_factors_that_overflow(self):
        nodes = [node("Mul", ["x", "a"], ["p"], "p"), node("Mul", ["p", "b"], ["q"], "q"), node("Mul", ["q", "b"], ["y"], "y")]
        network = self.graph(nodes, 1, [("a", [1], [1e-20]), ("b", [1], [1e20])])
        self.assertIsNotNone(self.boxes(network, [Fraction(1)], AS_WRITTEN))
        self.assertIsNone(self.boxes(network, [Fraction(1)], REWRITTEN), "b b is infinite")

    def test_divisors_around_zero_are_declined(self):
        network = self.graph([node("Mul", ["x", "c"], ["p"], "p"), node("Div", ["p", "z"], ["y"], "y")], 1, [("c", [1], [3]), ("z", [1], [0])])
        self.assertIsNone(self.boxes(network, [Fraction(1)], REWRITTEN))

    def test_answers(self):
        """A claim about what runs as written is proved; an execution that is rewritten breaks it, and the wider model says so."""
        m, s = Fraction(3, 2), float32(1.1)
        x = near(m * (1 + TWO**-22))
        written, rewritten = near(near(x - m) * s), near(near(x * s) - near(m * s))
        self.assertNotEqual(written, rewritten)
        network = self.graph([node("Sub", ["x", "m"], ["d"], "d"), node("Mul", ["d", "s"], ["y"], "y")], 1, [("m", [1], [m]), ("s", [1], [s])])
        between = (written + rewritten) / 2
        relation = "<=" if rewritten < written else ">="
        text = f"(declare-const X_0 Real)\n(declare-const Y_0 Real)\n(assert (>= X_0 {decimal(x)}))\n(assert (<= X_0 {decimal(x)}))\n(assert ({relation} Y_0 {decimal(between)}))\n"
        paths = [os.path.join(self.folder.name, name) for name in ("m.onnx", "q.vnnlib")]
        for path, data in zip(paths, (network, text.encode())):
            with open(path, "wb") as file:
                file.write(data)
        for semantics, word in ((AS_WRITTEN, "unsat"), (REWRITTEN, "unknown"), ("float32:onnxruntime", "unknown")):
            self.assertEqual(Run("assay", "verify", *paths, "--semantics", semantics, "--timeout", "5").word, word, semantics)

    def test_fields_that_do_not_fit(self):
        run = Run("assay", "verify", "m.onnx", "q.vnnlib", "--semantics", "float32:binary32 rewrites=algebraic storage=bfloat16 math=any-library")
        self.assertEqual(run.exit, 2, run.err)
        self.assertIn("rewrites=none", run.err)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    cli_test.BIN = sys.argv.pop(1)
    unittest.main()
