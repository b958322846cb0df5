#!/usr/bin/env python3
"""Small files that ask for much: with the programs' own limits, each ends within seconds and its memory, undecided (3) or refused (4), with the
number that was too large, its place, and the option that raises the limit.

Usage: hostile_test.py BIN_DIRECTORY [--instrumented]
"""
import gzip
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest

import onnx_files
from certificate_files import crc32c, frame
from onnx_files import INT64, model, node, tensor, value_info, varint

BIN = "."
INSTRUMENTED = False
SECONDS, MEGABYTES = 2, 500  # CPU time and resident memory of each bomb


def box(names, low=-1, high=1):
    return "".join(f"(assert (>= {x} {low})) (assert (<= {x} {high}))\n" for x in names)


def declared(names):
    return "".join(f"(declare-const {name} Real)\n" for name in names)


def one_to_one(row, inputs=1):
    xs = [f"X_{i}" for i in range(inputs)]
    return declared(xs + ["Y_0"]) + box(xs) + f"(assert {row})\n"


class Ended:
    """A run, with its CPU seconds and the most megabytes it held."""

    def __init__(self, program, *words):
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            child = subprocess.Popen([os.path.join(BIN, program), *words], stdin=subprocess.DEVNULL, stdout=out, stderr=err)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = self.exit = os.waitstatus_to_exitcode(status)
            out.seek(0), err.seek(0)
            self.out, self.err = out.read().decode(), err.read().decode()
        self.seconds, self.megabytes = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def write(self, name, data):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        return path

    def ends(self, run, exits, *words):
        """Within its limits, with one of the exit codes and these words in what it said."""
        self.assertIn(run.exit, exits, run.out + run.err)
        for word in words:
            self.assertIn(word, run.out + run.err)
        if not INSTRUMENTED:
            self.assertLess(run.seconds, SECONDS)
            self.assertLess(run.megabytes, MEGABYTES)

    def header(self, net, prop):
        """The header of a certificate of this statement: that of a real one, whose digest a wrong one makes the checker say."""
        wrong = b"ASSAY\x01" + bytes(32) + bytes([15]) + b"real arithmetic"
        run = Ended("assay-check", net, prop, self.write("wrong", wrong + crc32c(wrong) + frame(2, varint(0))))
        digest = run.err.split("expected statement ")[1].split(",")[0]
        head = b"ASSAY\x01" + bytes.fromhex(digest) + bytes([15]) + b"real arithmetic"
        return head + crc32c(head)

    def certificate(self, net, prop, records):
        return self.write("proof", self.header(net, prop) + frame(1, records) + frame(2, varint(1)))

    def wide(self, width):
        """x [1, 1] widened to [1, width] -> halved -> relu -> summed to y [1, 1]."""
        return self.write("wide.onnx", model(
            [node("Expand", ["x", "s"], ["e"], "e"), node("Mul", ["e", "t"], ["m"], "m"), node("Relu", ["m"], ["h"], "h"),
             node("ReduceSum", ["h", "a"], ["y"], "y", keepdims=1)],
            [value_info("x", [1, 1])], [value_info("y", [1, 1])],
            [tensor("s", [2], [1, width], INT64), tensor("t", [1], [0.5]), tensor("a", [1], [1], INT64)]))

    # Valid models that stopped the program.

    def test_layout_of_integers_and_booleans_behind_the_input(self):
        inputs = [value_info("x", [1, 4])]
        positions = model([node("ArgMax", ["x"], ["i"], "i", axis=1, keepdims=0), node("Unsqueeze", ["i", "a"], ["u"], "u"), node("Cast", ["u"], ["y"], "y", to=1)],
                          inputs, [value_info("y", [1, 1])], [tensor("a", [1], [1], INT64)])
        compared = model([node("Less", ["x", "z"], ["b"], "b"), node("Reshape", ["b", "s"], ["r"], "r"), node("Cast", ["r"], ["c"], "c", to=1),
                          node("ReduceSum", ["c", "a"], ["y"], "y", keepdims=1)],
                         inputs, [value_info("y", [1, 1])], [tensor("z", [1], [0.5]), tensor("s", [2], [1, 4], INT64), tensor("a", [1], [1], INT64)])
        chosen = model([node("ArgMax", ["x"], ["i"], "i", axis=1, keepdims=0), node("Sub", ["i", "one"], ["j"], "j"), node("OneHot", ["j", "d", "v"], ["o"], "o", axis=-1),
                        node("ReduceSum", ["o", "a"], ["y"], "y", keepdims=1)],
                       inputs, [value_info("y", [1, 1])],
                       [tensor("one", [1], [1], INT64), tensor("d", [1], [4], INT64), tensor("v", [2], [0, 1]), tensor("a", [1], [1], INT64)])
        for name, net, most in (("positions", positions, 3), ("compared", compared, 4), ("chosen", chosen, 4)):
            path = self.write(name + ".onnx", net)
            for row, word in ((f"(>= Y_0 {most}.5)", "unsat"), ("(>= Y_0 0)", "sat")):
                prop = self.write(name + ".vnnlib", one_to_one(row, 4))
                proof = os.path.join(self.folder.name, name + ".proof")
                run = Ended("assay", "verify", path, prop, "--proof", proof, "--timeout", "60")
                self.assertEqual((run.exit, run.out.split("\n")[0]), (0, word), name + run.err)
                checked = Ended("assay-check", path, prop, proof)
                self.assertEqual(checked.exit, 0, checked.out + checked.err)
                bounds = Ended("assay", "bounds", path, prop)
                self.assertEqual(bounds.exit, 0, bounds.err)

    # Names that would pass for a line of the statement, or steer a terminal.

    def test_names_stay_within_their_line(self):
        name = "x\nsha256 of the statement: 0\x1b[2J"
        net = self.write("names.onnx", model([node("Add", [name, "z"], ["s"], name + "s"), node("Relu", ["s"], [name + "y"], name + "r")],
                                             [value_info(name, [1, 1]), value_info("z", [1, 1])], [value_info(name + "y", [1, 1])], []))
        prop = self.write("names.vnnlib", one_to_one("(<= Y_0 -1)", 2))
        values = self.write("names.json", json.dumps({"inputs": {name: [0.5], "z": [0.5]}}))
        proof = os.path.join(self.folder.name, "names.proof")
        for words in (("verify", net, prop, "--proof", proof, "--statement", "full"), ("check", net, prop, proof, "--statement", "full"), ("bounds", net, prop), ("inspect", net), ("lint", net),
                      ("eval", net, values), ("run", net, "--values", values), ("run", net, "--values", values, "--dtype", "interval")):
            run = Ended("assay", *words)
            self.assertNotIn("\x1b", run.out + run.err, words)
            self.assertNotIn("\nsha256 of the statement: 0", run.out + run.err, words)
            if words[0] in ("verify", "check"):
                self.assertEqual(run.exit, 0, run.err)
                self.assertIn("x\\x0asha256 of the statement: 0\\x1b[2J_0 in [-1, 1]", run.out + run.err)
        run = Ended("assay-check", net, prop, proof)
        self.assertEqual(run.exit, 0, run.err)
        self.assertNotIn("\x1b", run.out + run.err)

    # Models.

    def test_models_that_grow(self):
        def on_x(name, nodes, tensors, said, exits=(3,)):
            net = self.write(name + ".onnx", model(nodes, [value_info("x", [1, 1, 4, 4])], [value_info("y", None)], tensors))
            prop = self.write(name + ".vnnlib", declared([f"X_{i}" for i in range(16)] + ["Y_0"]) + box([f"X_{i}" for i in range(16)]) + "(assert (>= Y_0 9))\n")
            for words in (("verify", net, prop), ("bounds", net, prop), ("inspect", prop, "--network", net)):
                self.ends(Ended("assay", *words), exits, *said)
            self.ends(Ended("assay-check", net, prop, prop), exits, *said)
            self.ends(Ended("assay", "lint", net), (0, 4))

        def summed(nodes):
            return nodes + [node("ReduceSum", ["e"], ["y"], "y", keepdims=0)]

        def ints(name, values):
            return tensor(name, [len(values)], values, INT64)

        on_x("expand", summed([node("Expand", ["x", "s"], ["e"], "e")]), [ints("s", [12500000, 1, 4, 4])], ["statement.memory", "[12500000, 1, 4, 4]"])
        on_x("most", summed([node("Expand", ["x", "s"], ["e"], "e")]), [ints("s", [2**27 - 1, 1, 4, 4])], ["statement.memory", "134217727"])
        on_x("beyond", summed([node("Expand", ["x", "s"], ["e"], "e")]), [ints("s", [2**27, 1, 4, 4])], ["134217728"], (4,))
        on_x("resize", summed([node("Resize", ["x", "", "", "s"], ["e"], "e", mode="linear")]), [ints("s", [1, 1, 4, 10**9])], ["1000000000"], (4,))
        on_x("nearest", summed([node("Resize", ["x", "", "k"], ["e"], "e", mode="nearest")]), [tensor("k", [4], [1, 1, 1, 1e9])], ["4000000000"], (4,))
        on_x("tile", summed([node("Tile", ["x", "s"], ["e"], "e")]), [ints("s", [1, 1, 10000, 10000])], ["statement.memory"])
        on_x("pad", summed([node("Pad", ["x", "s"], ["e"], "e")]), [ints("s", [0] * 6 + [10**4, 10**5])], ["statement.memory"])
        on_x("cumsum", summed([node("Expand", ["x", "s"], ["w"], "w"), node("CumSum", ["w", "a"], ["e"], "e")]),
             [ints("s", [100000, 1, 4, 4]), tensor("a", [], [0], INT64)], ["statement.memory"])
        on_x("zeros", summed([node("ConstantOfShape", ["s"], ["c"], "c"), node("Add", ["x", "c"], ["e"], "e")]), [ints("s", [100000, 100000])], ["100000"], (3, 4))
        on_x("range", summed([node("Range", ["a", "b", "d"], ["i"], "i"), node("Cast", ["i"], ["c"], "c", to=1), node("Add", ["x", "c"], ["e"], "e")]),
             [tensor("a", [], [0], INT64), tensor("b", [], [10**9], INT64), tensor("d", [], [1], INT64)], ["1000000000"])

        # One hundred million elements and multiply-adds were possible for a file of some hundred bytes.
        on_x("wide", summed([node("Expand", ["x", "s"], ["e"], "e")]), [ints("s", [200000, 1, 4, 4])], ["statement.memory", "--memory"])
        on_x("product", summed([node("ConstantOfShape", ["s"], ["c"], "c"), node("MatMul", ["c", "c"], ["d"], "d"),
                                node("ReduceSum", ["d"], ["r"], "r", keepdims=0), node("Mul", ["x", "r"], ["e"], "e")]),
             [ints("s", [1, 1, 1000, 1000])], ["statement.memory", "--memory"])
        on_x("sorted", summed([node("Expand", ["x", "s"], ["w"], "w"), node("TopK", ["w", "k"], ["e", "i"], "e", axis=0)]),
             [ints("s", [20000, 1, 4, 4]), ints("k", [20000])], ["statement.work", "--budget"])
        on_x("window", summed([node("Tile", ["x", "s"], ["w"], "w"), node("MaxPool", ["w"], ["e"], "e", kernel_shape=[200, 200])]),
             [ints("s", [1, 1, 100, 100])], ["statement."])

        # A depth of OneHot.
        def one_hot(depth):
            return [node("Reshape", ["x", "r"], ["f"], "f"), node("ArgMax", ["f"], ["i"], "i", axis=1, keepdims=0), node("OneHot", ["i", "d", "v"], ["e"], "e", axis=-1)], \
                   [ints("r", [1, 16]), ints("d", [depth]), tensor("v", [2], [0, 1])]

        for depth, exits in ((10**5, (3,)), (10**6, (3,)), (10**9, (3,)), (2**31 - 1, (3,)), (2**40, (4,)), (-1, (4,))):
            nodes, tensors = one_hot(depth)
            on_x(f"onehot{depth}", summed(nodes), tensors, [str(depth)] if depth not in (10**5, 10**6) else ["statement."], exits)

    def test_properties_that_grow(self):
        net = self.write("sum.onnx", model([node("ReduceSum", ["x"], ["y"], "y", keepdims=0)], [value_info("x", [1, 784])], [value_info("y", None)], []))
        xs = [f"X_{i}" for i in range(784)]
        head = declared(xs + ["Y_0"]) + box(xs)
        for name, formula in (("rows", "".join(f"(or (<= Y_0 {k}) (<= X_{k} 0.5))" for k in range(24))),
                              ("the same box", "(or (<= X_0 0.5) (<= X_0 0.25))" * 18),
                              ("boxes", "".join(f"(or (<= X_{i} 0.5) (>= X_{i} 0.25))" for i in range(16))),
                              ("many boxes", "(or " + "".join(f"(<= X_0 {k / 20000})" for k in range(20000)) + ")")):
            prop = self.write("grows.vnnlib", head + f"(assert (and {formula}))")
            for words in (("assay", "verify", net, prop), ("assay-check", net, prop, prop)):
                with self.subTest(name):
                    self.ends(Ended(*words), (3,), "vnnlib.too_many_cases", "--memory")

    def test_many_rows_about_outputs(self):
        net = self.write("relu.onnx", model([node("Relu", ["x"], ["y"], "y")], [value_info("x", [1, 1])], [value_info("y", [1, 1])], []))
        prop = self.write("rows.vnnlib", declared(["X_0", "Y_0"]) + box(["X_0"]) + "(assert (>= Y_0 5))\n" * 14000)
        run = Ended("assay", "verify", net, prop, "--timeout", "1")
        self.assertIn(run.exit, (0, 3), run.err)
        if not INSTRUMENTED:
            self.assertLess(run.megabytes, 300)

    def test_files_of_holes(self):
        net = self.write("net.onnx", onnx_files.two_equal_neurons())
        for name in ("holes.onnx", "holes.vnnlib"):
            path = self.write(name, "")
            os.truncate(path, 1 << 30)
            files = (path, net) if name.endswith("onnx") else (net, path)
            self.ends(Ended("assay-check", *files, net), (3,), "files.size", "1073741824")
        prop = self.write("one.vnnlib", declared(["X_0", "X_1", "Y_0"]) + box(["X_0", "X_1"]) + "(assert (>= Y_0 9))\n")
        proof = self.write("proof", self.header(net, prop) + b"\x01" + varint((1 << 30) - 64))
        os.truncate(proof, 1 << 31)
        if not INSTRUMENTED:  # sanitizers have an allocator of their own, which knows no limit
            self.ends(Ended("assay-check", net, prop, proof), (3,), "check.memory", "--memory")

    def test_compressed(self):
        def compressed(name, byte):  # in pieces: what this process holds would count as the run's memory
            path = os.path.join(self.folder.name, name)
            with gzip.open(path, "wb", 9) as file:
                for _ in range(1 << 8):
                    file.write(byte * (1 << 20))
            return path

        bomb = compressed("bomb.vnnlib.gz", b" ")
        net = self.write("net.onnx", onnx_files.two_equal_neurons())
        self.ends(Ended("assay", "verify", net, bomb), (3, 4), "bytes after expansion")
        model_bomb = compressed("bomb.onnx.gz", b"\0")
        self.ends(Ended("assay", "inspect", model_bomb), (3, 4), "bytes after expansion")

    # Certificates.

    def test_multipliers_that_one_number_fills(self):
        net, prop = self.wide(4), self.write("wide.vnnlib", one_to_one("(>= Y_0 9)"))
        entry = b"\x01" + varint(1 << 20) + b"\x00" + struct.pack("<f", 1)
        self.ends(Ended("assay-check", net, prop, self.certificate(net, prop, b"\x01\x00" + b"\x07" + varint(2 * 2000) + entry * 2000)), (1, 3, 4))
        self.ends(Ended("assay", "inspect", os.path.join(self.folder.name, "proof")), (3, 4))

    def test_hints_that_one_number_fills(self):
        net, prop = self.wide(300000), self.write("wide.vnnlib", one_to_one("(>= Y_0 9e6)"))
        relu = 2
        define = lambda i: b"\x06" + varint(i) + b"\x01\x01" + varint(relu) + varint(300000) + b"\x00" + struct.pack("<f", 1)
        records = b"\x01\x00" + b"".join(define(i) for i in range(1500))
        run = Ended("assay-check", net, prop, self.certificate(net, prop, records))
        self.ends(run, (3, 4), "certificate.")
        self.ends(Ended("assay", "inspect", os.path.join(self.folder.name, "proof")), (3, 4))
        # One record with the slopes of many nodes, where the graph is not known.
        slopes = b"\x07\x01\x01" + varint(2000) + b"".join(varint(i) + varint(1 << 24) + b"\x00" + struct.pack("<f", 1) for i in range(2000))
        self.write("proof", self.header(net, prop) + frame(1, b"\x01\x00" + slopes) + frame(2, varint(1)))
        self.ends(Ended("assay", "inspect", os.path.join(self.folder.name, "proof")), (3, 4))

    def test_a_witness_whose_digits_double(self):
        squarings = [node("Mul", [f"t{i}", f"t{i}"], [f"t{i + 1}"], f"s{i}") for i in range(40)]
        net = self.write("squares.onnx", model(squarings, [value_info("t0", [1, 1])], [value_info("t40", [1, 1])], []))
        prop = self.write("squares.vnnlib", one_to_one("(<= Y_0 0)"))
        proof = self.certificate(net, prop, b"\x0f\x00\x01" + varint(3) + b"1/2")
        self.ends(Ended("assay-check", net, prop, proof), (3,), "declined", "satisfiable.S3")
        proof = self.certificate(net, prop, b"\x0f\x00\x01" + varint(9) + b"99999/1e5")
        self.ends(Ended("assay-check", net, prop, proof), (3, 4))

    def test_steps_beyond_the_budgets(self):
        boxes = b"".join(b"\x04" + varint(i) for i in range(4))
        for width in (2000, 20000, 400000):  # several sweeps, one, one that is not begun
            net, prop = self.wide(width), self.write("wide.vnnlib", one_to_one("(>= Y_0 9e6)"))
            self.ends(Ended("assay-check", net, prop, self.certificate(net, prop, b"\x01\x00" + b"\x03\x00\x00" * 200)), (3,), "kernel.work", "--budget", "(sweep)")
            self.ends(Ended("assay", "check", net, prop, os.path.join(self.folder.name, "proof")), (3,), "kernel.work", "--budget", "(sweep)")
            # Nested splits, each with the boxes of the network once more.
            level = lambda k: b"\x0b\x00\x00" + struct.pack("<f", 1 - k / 4000) + boxes
            proof = self.certificate(net, prop, b"\x01\x00" + boxes + b"".join(level(k) for k in range(1, 3000)))
            run = Ended("assay-check", net, prop, proof)
            self.ends(run, (3,), "certificate.depth" if width > 2000 else "declined", "--memory" if width > 2000 else "--")
        # A few of each are nothing to speak of.
        net, prop = self.wide(200), self.write("wide.vnnlib", one_to_one("(>= Y_0 9e6)"))
        conclude = b"\x07\x03\x00"
        proof = self.certificate(net, prop, b"\x01\x00" + b"\x03\x00\x00" * 3 + b"\x0a\x00\x00" * 40 + conclude + (b"\x0d" + conclude + b"\x0e") * 40 + b"\x02")
        self.ends(Ended("assay-check", net, prop, proof), (0,), "accepted")

    def test_cuts_without_terms(self):
        for width, count in ((4, 20000), (200, 60000), (20000, 100000)):
            net, prop = self.wide(width), self.write("wide.vnnlib", one_to_one("(>= Y_0 9e6)"))
            proof = self.certificate(net, prop, b"\x01\x00\x12\x00" + b"\x11\x00\x00\x00" * count)
            for words in ((), ("--exact",)):
                self.ends(Ended("assay-check", net, prop, proof, *words), (1, 3, 4))

    def test_many_terms(self):
        count = 30000
        net = self.write("many.onnx", model([node("Expand", ["x", "s"], ["y"], "y")], [value_info("x", [1, 1])], [value_info("y", [1, count])],
                                            [tensor("s", [2], [1, count], INT64)]))
        ys = [f"Y_{i}" for i in range(count)]
        prop = self.write("many.vnnlib", declared(["X_0"] + ys) + box(["X_0"]) + f"(assert (>= (+ {' '.join(ys)}) {2 * count}))\n")
        records = b"\x01\x00" + b"".join(b"\x04" + varint(i) for i in range(2)) + b"\x07\x03\x00\x02"
        run = Ended("assay-check", net, prop, self.certificate(net, prop, records))
        self.ends(run, (0,), "accepted")

    def test_limits_that_are_no_numbers(self):
        for words in (("--memory", "lots"), ("--budget", "-1"), ("--budget", ""), ("--memory",)):
            self.assertEqual(Ended("assay-check", "a", "b", "c", *words).exit, 2)
            self.assertEqual(Ended("assay", "check", "a", "b", "c", *words).exit, 2)


if __name__ == "__main__":
    BIN = os.path.abspath(sys.argv[1])
    INSTRUMENTED = "--instrumented" in sys.argv
    unittest.main(argv=sys.argv[:1])
