"""Rows that lie strictly between two values of floor, ceil, round, sign, casts and comparisons are decided, and what is proved replays.
Usage: steps_test.py BIN_DIRECTORY"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import onnx_files as of

BIN = pathlib.Path(sys.argv[1])
TWIN = pathlib.Path(__file__).resolve().parents[2] / "tools" / "twin" / "check.py"
ROWS = "(declare-const X_0 Real)(declare-const Y_0 Real)(assert (>= X_0 {}))(assert (<= X_0 {}))(assert (>= Y_0 {}))(assert (<= Y_0 {}))"


def single(op):
    return [of.node(op, ["x"], ["y"], "step")]


def through(kind):
    return [of.node("Cast", ["x"], ["i"], "there", to=kind), of.node("Cast", ["i"], ["y"], "back", to=of.FLOAT)]


ABOVE = [of.node("Greater", ["x", "half"], ["i"], "above"), of.node("Cast", ["i"], ["y"], "number", to=of.FLOAT)]
DEEP = [of.node("Mul", ["x", "half"], ["h"], "scaled"), of.node("Floor", ["h"], ["f"], "step"), of.node("Relu", ["f"], ["r"], "relu"),
        of.node("Add", ["r", "r"], ["y"], "twice")]
# nodes, the ends of x, the ends of y, the answer; whether the second implementation reads the model
QUESTIONS = [
    (single("Floor"), (0.2, 0.8), (0.5, 9), "unsat", True), (single("Floor"), (0.2, 1.8), (0.3, 0.7), "unsat", True),
    (single("Floor"), (-5.5, 7.3), (2.25, 2.75), "unsat", True), (single("Floor"), (0.2, 1.8), (0.5, 1), "sat", True),
    (single("Ceil"), (0.2, 1.8), (1.3, 1.7), "unsat", True), (single("Round"), (0.2, 1.8), (0.3, 0.7), "unsat", False),
    (single("Sign"), (-1, 1), (0.3, 0.7), "unsat", True), (single("Sign"), (-1, 1), (-0.1, 0.7), "sat", True),
    (through(of.INT64), (-1.8, 1.8), (-0.7, -0.3), "unsat", False), (through(of.BOOL), (-1, 1), (0.3, 0.7), "unsat", False),
    (ABOVE, (0, 1), (0.3, 0.7), "unsat", False), (ABOVE, (0, 1), (0.3, 1), "sat", False), (DEEP, (-3, 9), (2.5, 3.5), "unsat", True)]


class Steps(unittest.TestCase):
    def test_rows_between_two_steps(self):
        sides = [of.value_info("x", [1, 1])], [of.value_info("y", [1, 1])]
        with tempfile.TemporaryDirectory() as folder:
            net, prop, proof = (str(pathlib.Path(folder) / name) for name in ("net.onnx", "rows.vnnlib", "proof.assay"))
            for number, (nodes, x, y, answer, is_known) in enumerate(QUESTIONS):
                with self.subTest(number=number, x=x, y=y):
                    pathlib.Path(net).write_bytes(of.model(nodes, *sides, [of.tensor("half", [1, 1], [0.5])]))
                    pathlib.Path(prop).write_text(ROWS.format(*x, *y))
                    said = subprocess.run([BIN / "assay", "verify", net, prop, "--timeout", "60", "--proof", proof], capture_output=True, text=True, check=False)
                    self.assertEqual(said.stdout.split("\n")[0], answer, said.stdout + said.stderr)
                    checks = [[BIN / "assay-check", net, prop, proof], [BIN / "assay-check", "--exact", net, prop, proof]]
                    for words in checks + ([[sys.executable, "-B", TWIN, net, prop, proof]] if is_known else []):
                        done = subprocess.run(words, capture_output=True, text=True, check=False)
                        self.assertEqual((done.returncode, done.stdout.split("\n")[0]), (0, "accepted"), done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
