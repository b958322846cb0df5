#!/usr/bin/env python3
"""Random float32 executions of small networks at one point, against the boxes of `assay bounds --semantics float32`: every sum in a random
order, in random blocks, with random terms fused, lies inside. Usage: orders_test.py BIN_DIRECTORY

Prints how far the executions reach, as a share of each box's half width; without numpy "skipped"."""
import json
import os
import sys
import tempfile
import time
import unittest

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is not installed")
    sys.exit(0)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))

import cli_test
from catalogue_test import decimal
from cli_test import Run
from onnx_files import model, node, tensor, value_info

EXECUTIONS = 12000
BLOCKS = (1, 1, 2, 4, 7)  # as many partial sums; one twice as often


def fused(total, a, b):
    """The float32 number nearest to total + a b: the product is exact in double, and the sum is rounded to odd before it is rounded again."""
    product, wide = a.astype(np.float64) * b.astype(np.float64), total.astype(np.float64)
    s = wide + product
    back = s - wide
    lost = (wide - (s - back)) + (product - back)
    even = (s.view(np.int64) & 1) == 0
    odd = np.where((lost != 0) & even, np.nextafter(s, np.where(lost > 0, np.inf, -np.inf)), s)
    return odd.astype(np.float32)


def chain(a, b, fuse):
    """Sums of a b along the last axis, from left to right: each product rounded, or fused with its addition."""
    total = (a[:, 0] * b[:, 0]).astype(np.float32)
    for k in range(1, a.shape[1]):
        apart = total + (a[:, k] * b[:, k]).astype(np.float32)
        total = np.where(fuse[:, k], fused(total, a[:, k], b[:, k]), apart)
    return total


def dots(a, b, draw):
    """One sum of products for each row of a and b: a random order for each, random blocks, random terms fused; also three orders by size."""
    count, terms = a.shape
    keys = draw.random((count, terms))
    size = np.abs(a.astype(np.float64) * b.astype(np.float64))
    for k, key in enumerate((size, -size, a.astype(np.float64) * b)):
        keys[k::64] = key[k::64]
    order = np.argsort(keys, axis=1)
    a, b = np.take_along_axis(a, order, 1), np.take_along_axis(b, order, 1)
    fuse = draw.random((count, terms)) < draw.choice([0.0, 0.5, 1.0], (count, 1))
    result = np.empty(count, np.float32)
    for k, blocks in enumerate(BLOCKS):
        mine = slice(k, None, len(BLOCKS))
        length = -(-terms // blocks)
        parts = [chain(a[mine, at:at + length], b[mine, at:at + length], fuse[mine, at:at + length]) for at in range(0, terms, length)]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        result[mine] = total
    return result


def layer(x, weights, bias, draw):
    """Executions of x W + b, one for each row of x: the bias is a term like the others."""
    ones = np.ones((len(x), 1), np.float32)
    columns = []
    for j in range(weights.shape[1]):
        terms = np.broadcast_to(np.append(weights[:, j], bias[j]), (len(x), len(weights) + 1))
        columns.append(dots(np.hstack([x, ones]), np.ascontiguousarray(terms), draw))
    return np.stack(columns, 1)


def weights_of(kind, shape, draw):
    if kind == "random":
        return draw.standard_normal(shape).astype(np.float32)
    if kind == "positive":
        return draw.random(shape).astype(np.float32)
    large = (draw.standard_normal(shape) * 2.0 ** draw.integers(-8, 24, shape)).astype(np.float32)  # cancelling: of many sizes, and in pairs
    half = shape[0] // 2
    large[half:2 * half] = -large[:half]
    return large


def gemm(x, w, b, y, name):
    return node("Gemm", [x, w, b], [y], name)


class Orders(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def boxes(self, network, point, outputs, *words):
        """-> name of a node -> its lower and upper ends."""
        paths = {name: os.path.join(self.folder.name, name) for name in ("m.onnx", "q.vnnlib", "b.json")}
        names = [f"X_{i}" for i in range(len(point))] + [f"Y_{i}" for i in range(outputs)]
        query = "".join(f"(declare-const {name} Real)\n" for name in names) + "".join(
            f"(assert (>= X_{i} {decimal(float(v))}))\n(assert (<= X_{i} {decimal(float(v))}))\n" for i, v in enumerate(point)) + "(assert (<= Y_0 0))\n"
        for name, data in (("m.onnx", network), ("q.vnnlib", query.encode())):
            with open(paths[name], "wb") as file:
                file.write(data)
        run = Run("assay", "bounds", paths["m.onnx"], paths["q.vnnlib"], "--semantics", "float32", "--json=" + paths["b.json"], *words)
        self.assertEqual(run.exit, 0, run.err)
        with open(paths["b.json"], encoding="utf-8") as file:
            nodes = json.load(file)["groups"][0]["nodes"]
        return {one["name"]: tuple(np.array([float.fromhex(v["hex"]) for v in one[end]]) for end in ("lo", "hi")) for one in nodes}

    def inside(self, what, box, values):
        """All executions lie in the box, and they are not all one. -> the share of the half width that they reach."""
        lo, hi = box
        values = values.astype(np.float64)
        self.assertTrue(np.all(np.isfinite(values)), what)
        self.assertTrue(np.all((lo <= values) & (values <= hi)), f"{what}: {values.min(0)} .. {values.max(0)} in {lo} .. {hi}")
        centre, radius = (lo + hi) / 2, (hi - lo) / 2
        return float(np.max(np.abs(values - centre) / radius))

    def test_one_sum(self):
        for kind in ("random", "positive", "cancelling"):
            for terms in (4, 16, 64, 200):
                with self.subTest(kind=kind, terms=terms):
                    draw = np.random.default_rng(terms)
                    w, b = weights_of(kind, (terms, 1), draw), draw.standard_normal(1).astype(np.float32)
                    x = draw.random(terms).astype(np.float32)
                    network = model([gemm("x", "w", "b", "y", "sum")], [value_info("x", [1, terms])], [value_info("y", [1, 1])],
                                    [tensor("w", [terms, 1], w.ravel().tolist()), tensor("b", [1], b.tolist())])
                    y = layer(np.broadcast_to(x, (EXECUTIONS, terms)), w, b, draw)
                    share = self.inside("y", self.boxes(network, x, 1)["y"], y)
                    print(f"{kind} sum of {terms} terms: {len(np.unique(y))} results, {100 * share:.2f} % of the half width")
                    self.assertGreater(share, 0)
                    self.assertGreater(len(np.unique(y)), 1)

    def test_two_layers(self):
        for kind in ("random", "cancelling"):
            for terms, hidden in ((6, 4), (40, 8), (120, 5)):
                with self.subTest(kind=kind, terms=terms):
                    draw = np.random.default_rng(1000 + terms)
                    w, b = weights_of(kind, (terms, hidden), draw), draw.standard_normal(hidden).astype(np.float32)
                    v, c = weights_of("random", (hidden, 2), draw), draw.standard_normal(2).astype(np.float32)
                    x = draw.random(terms).astype(np.float32)
                    network = model([gemm("x", "w", "b", "z", "first"), node("Relu", ["z"], ["h"], "relu"), gemm("h", "v", "c", "y", "last")],
                                    [value_info("x", [1, terms])], [value_info("y", [1, 2])],
                                    [tensor("w", [terms, hidden], w.ravel().tolist()), tensor("b", [hidden], b.tolist()),
                                     tensor("v", [hidden, 2], v.ravel().tolist()), tensor("c", [2], c.tolist())])
                    z = layer(np.broadcast_to(x, (EXECUTIONS, terms)), w, b, draw)
                    h = np.maximum(z, np.float32(0))
                    y = layer(h, v, c, draw)
                    for method in ("ibp", "crown"):
                        boxes = self.boxes(network, x, 2, "--method", method)
                        shares = [self.inside("z", boxes["z"], z), self.inside("y", boxes["y"], y)]
                        lo, hi = boxes["h"]
                        self.assertTrue(np.all((lo <= h) & (h <= hi)))
                        print(f"{kind}, {terms} terms, ReLU, {hidden} terms, {method}: {100 * shares[0]:.2f} % and {100 * shares[1]:.2f} % of the half widths")
                        self.assertGreater(min(shares), 0)

    def test_a_bias_that_is_added_later(self):
        """Products apart from their addition: the bias may be the first term, or any other; a second layer takes the difference of two of them."""
        for terms in (8, 100):
            with self.subTest(terms=terms):
                draw = np.random.default_rng(2000 + terms)
                w, b = weights_of("random", (terms, 3), draw), (100 * draw.standard_normal(3)).astype(np.float32)
                x = draw.random(terms).astype(np.float32)
                network = model([node("MatMul", ["x", "w"], ["p"], "product"), node("Add", ["p", "b"], ["y"], "bias")],
                                [value_info("x", [1, terms])], [value_info("y", [1, 3])],
                                [tensor("w", [terms, 3], w.ravel().tolist()), tensor("b", [3], b.tolist())])
                boxes = self.boxes(network, x, 3)
                all_x = np.broadcast_to(x, (EXECUTIONS, terms))
                product = layer(all_x, w, np.zeros(3, np.float32), draw)
                shares = [self.inside("y", boxes["y"], y) for y in (layer(all_x, w, b, draw), product + b)]
                self.inside("p", boxes["p"], product)
                print(f"{terms} terms and a bias: {100 * shares[0]:.2f} % of the half width together, {100 * shares[1]:.2f} % apart")
                self.assertGreater(min(shares), 0)

    def test_means(self):
        for terms in (5, 150):
            with self.subTest(terms=terms):
                draw = np.random.default_rng(3000 + terms)
                x = (draw.standard_normal(terms) * 2.0 ** draw.integers(-3, 6, terms)).astype(np.float32)
                network = model([node("ReduceMean", ["x"], ["y"], "mean", axes=[1], keepdims=1)], [value_info("x", [1, terms])], [value_info("y", [1, 1])], [])
                total = dots(np.ascontiguousarray(np.broadcast_to(x, (EXECUTIONS, terms))), np.ones((EXECUTIONS, terms), np.float32), draw)
                n = np.float32(terms)
                y = np.where(np.arange(EXECUTIONS) % 2 == 0, total / n, total * (np.float32(1) / n))[:, None]
                share = self.inside("y", self.boxes(network, x, 1)["y"], y)
                print(f"mean of {terms}: {len(np.unique(y))} results, {100 * share:.2f} % of the half width")
                self.assertGreater(share, 0)

    def test_fused_rounds_once(self):
        draw = np.random.default_rng(7)
        a, b = ((1 + draw.integers(0, 2**23, 20000) * 2.0**-23).astype(np.float32) for _ in range(2))
        c = (-(a.astype(np.float64) * b) * (1 + draw.integers(-3, 4, 20000) * 2.0**-24)).astype(np.float32)
        from executions import BINARY32
        from fractions import Fraction
        for got, one, other, total in zip(fused(c, a, b).tolist()[:3000], a.tolist(), b.tolist(), c.tolist()):
            self.assertEqual(got, BINARY32.nearest(Fraction(one) * Fraction(other) + Fraction(total)))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    cli_test.BIN = sys.argv.pop(1)
    started = time.monotonic()
    program = unittest.main(exit=False)
    print(f"{time.monotonic() - started:.1f} s")
    sys.exit(0 if program.result.wasSuccessful() else 1)
