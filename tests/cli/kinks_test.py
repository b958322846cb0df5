#!/usr/bin/env python3
"""Gradients at kinks, as the runtime gives and records them: each operation at its kinks, eager and compiled, on the CPU and on the
emulation of a device, passes `gradcheck`, and passes `gradcheck --kinks pytorch` or is undecided for a reason that
docs/explanation/kinks.md names. The numbers are those of the page's table. Usage: kinks_test.py BIN_DIRECTORY"""
import json
import struct
import sys
import unittest

import cli_test
from cli_test import Run
from folder_case import FolderCase
from onnx_files import DOUBLE, FLOAT, INT64, model, node, tensor, value_info


def of_one(op, x, slopes, constants=(), outputs=1, opset=17, shape=None, **attributes):
    """An operation of x and constants, which are (shape, numbers); its first output counts."""
    return {"op": op, "x": x, "slopes": slopes, "constants": constants, "outputs": outputs, "opset": opset, "shape": shape or [1, len(x)],
            "attributes": attributes}


SELU = 1.6732631921768188 * 1.0507010221481323  # of float32 attributes
SQUARE = dict(shape=[1, 1, 2, 2], kernel_shape=[2, 2])
# The slopes at x for the cotangent 1 of each result.
CASES = {
    "relu": of_one("Relu", [0, -0.0, 1, -1], [0, 0, 1, 0]),
    "relu6": of_one("Clip", [0, 6, 3, 7], [0, 0, 1, 0], [([], [0]), ([], [6])]),
    "hardtanh": of_one("Clip", [-1, 1, 0.5, -2], [0, 0, 1, 0], [([], [-1]), ([], [1])]),
    "hard_sigmoid": of_one("HardSigmoid", [-2, 2, 1, 3], [0, 0, 0.25, 0], alpha=0.25, beta=0.5),
    "hard_swish": of_one("HardSwish", [-3, 3, 0, 4], [0, 1, 0.5, 1]),
    "leaky_relu": of_one("LeakyRelu", [0, 1, -1], [0.25, 1, 0.25], alpha=0.25),
    "prelu": of_one("PRelu", [0, 1, -1], [0.25, 1, 0.25], [([1], [0.25])]),
    "elu": of_one("Elu", [0, 1], [2, 1], alpha=2.0),
    "selu": of_one("Selu", [0, 1], [SELU, 1.0507010221481323]),
    "celu": of_one("Celu", [0, 1], [1, 1], alpha=2.0, opset=28),  # float64 from this version on
    "thresholded_relu": of_one("ThresholdedRelu", [0, 1, -1], [0, 1, 0], alpha=0.0),
    "softshrink": of_one("Shrink", [-0.5, 0.5, 1, 0], [0, 0, 1, 0], lambd=0.5, bias=0.5),
    "abs": of_one("Abs", [0, -0.0, 1, -1], [0, 0, 1, -1]),
    "maximum": of_one("Max", [1, 2, 0], [0.5, 1, 0], [([3], [1, 1, 1])]),
    "minimum": of_one("Min", [1, 2, 0], [0.5, 0, 1], [([3], [1, 1, 1])]),
    "maximum of three": of_one("Max", [1, 2, 0], [1 / 3, 0.5, 0], [([3], [1, 2, 1]), ([3], [1, 1, 0])]),
    "amax": of_one("ReduceMax", [3, 1, 3, 2], [0.5, 0, 0.5, 0], axes=[1], keepdims=1),
    "amin": of_one("ReduceMin", [1, 3, 1, 2], [0.5, 0, 0.5, 0], axes=[1], keepdims=1),
    "max_pool": of_one("MaxPool", [2, 1, 2, 0], [1, 0, 0, 0], **SQUARE, strides=[2, 2]),
    "max_pool, a later line": of_one("MaxPool", [0, 1, 2, 2], [0, 0, 1, 0], **SQUARE, strides=[2, 2]),
    "max_pool, overlapping": of_one("MaxPool", [2, 2, 2, 1], [1, 1, 1, 0], shape=[1, 1, 4], kernel_shape=[2], strides=[1], pads=[0, 0]),
    "max_pool, padded": of_one("MaxPool", [-1, -1, -1, -1], [2, 0, 1, 0], shape=[1, 1, 4], kernel_shape=[3], strides=[2], pads=[2, 1]),
    "sort": of_one("TopK", [2, 1, 2, 3], [1, 0, 0, 1], [([1], [2])], outputs=2, axis=1),
}
# Undecided by PyTorch's convention, for a reason that the page names.
UNDECIDED = {"sort"}


def network(case, element_type, fused):
    """The operation alone, or between a product and a sum, which a compiled step takes with it."""
    names = [f"c{k}" for k in range(len(case["constants"]))]
    types = [INT64 if case["op"] == "TopK" else element_type for _ in names]
    tensors = [tensor(name, shape, values, kind) for name, kind, (shape, values) in zip(names, types, case["constants"])]
    results = [f"r{k}" for k in range(case["outputs"])]
    nodes, given = [], "x"
    if fused:
        tensors += [tensor("half", [], [0.5], element_type), tensor("two", [], [2], element_type)]
        nodes, given = [node("Mul", ["x", "half"], ["h"], "before")], "h"
    nodes.append(node(case["op"], [given, *names], results, "choice", **case["attributes"]))
    if fused:
        nodes.append(node("Mul", [results[0], "two"], ["y"], "after"))
    return model(nodes, [value_info("x", case["shape"], element_type)], [value_info("y" if fused else results[0], None)], tensors,
                 opset=case["opset"])


def gradient_of(name, trace):
    """The numbers of the trace's gradient by a tensor."""
    size = struct.unpack("<Q", trace[:8])[0]
    header = json.loads(trace[8:8 + size])
    entry = header[json.loads(header["__metadata__"]["assay.trace"])["gradients"][0]["of"][name]]
    begin, end = entry["data_offsets"]
    form, width = {"F32": ("f", 4), "F64": ("d", 8)}[entry["dtype"]]
    return struct.unpack(f"<{(end - begin) // width}{form}", trace[8 + size + begin:8 + size + end])


class Kinks(FolderCase):
    def verdicts(self, name, element_type, fused, *how):
        """A run of the case is recorded: its gradient, and the exit codes of both questions."""
        case = CASES[name]
        self.write("m.onnx", network(case, element_type, fused))
        self.write("x.json", json.dumps({"inputs": {"x": [(2 if fused else 1) * each for each in case["x"]]}}).encode())
        run = Run("assay", "record", self.at("m.onnx"), self.at("t"), "--values", self.at("x.json"), *how)
        self.assertEqual(run.exit, 0, run.err)
        found = [Run("assay", "gradcheck", self.at("t"), "--allow-dead", *words) for words in ((), ("--kinks", "pytorch"))]
        return gradient_of("x", self.read("t")), found

    def check(self, name, element_type, fused, *how):
        slopes, (by_any, by_pytorch) = self.verdicts(name, element_type, fused, *how)
        with self.subTest(name, how=how, fused=fused, double=element_type == DOUBLE):
            for found, said in zip(slopes, CASES[name]["slopes"]):
                self.assertAlmostEqual(found, said, delta=2e-6)
            self.assertEqual(by_any.exit, 0, by_any.out)
            self.assertEqual(by_pytorch.exit, 3 if name in UNDECIDED else 0, by_pytorch.out)

    def test_each_operation(self):
        for name in CASES:
            for backend, element_type in (("eager", FLOAT), ("compiled", FLOAT), ("compiled", DOUBLE)):
                self.check(name, element_type, False, "--backend", backend)

    def test_inside_of_fused_steps(self):
        for name in CASES:
            self.check(name, FLOAT, True, "--backend", "compiled")

    def test_on_a_device(self):
        for name in CASES:
            self.check(name, FLOAT, False, "--backend", "compiled", "--device", "emulated")

    def test_of_a_model_that_is_run_first(self):
        self.write("m.onnx", network(CASES["relu"], FLOAT, False))
        self.write("x.json", json.dumps({"inputs": {"x": CASES["relu"]["x"]}}).encode())
        run = Run("assay", "gradcheck", self.at("m.onnx"), "--values", self.at("x.json"), "--kinks", "pytorch")
        self.assertEqual(run.exit, 0, run.out + run.err)
        self.assertIn("2 recorded cotangents at kinks: 2 of relu in [0, 1] and by PyTorch's convention", run.out)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    cli_test.BIN = sys.argv.pop(1)
    unittest.main()
