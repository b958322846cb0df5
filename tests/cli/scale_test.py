#!/usr/bin/env python3
"""What `assay verify --scale` proves of a property that stays undecided. Usage: scale_test.py BIN_DIRECTORY"""
import json
import os
import re
import subprocess
import sys
import unittest
from fractions import Fraction

import onnx_files
from folder_case import FolderCase

BIN = "."
NAMES = "".join("(declare-const %s Real)\n" % v for v in ("X_0", "X_1", "Y_0"))
BOX = NAMES + "(assert (>= X_0 -1)) (assert (<= X_0 0.5)) (assert (>= X_1 -1.0)) (assert (<= X_1 1))\n"
TIGHT = BOX + "(assert (or (and (<= Y_0 -0.0000001)) (and (>= Y_0 0.0000001))))"  # takes millions of splits with sigmoids
NEVER = BOX + "(assert (> Y_0 0))"                                                # it is 0, which no bound of a box with a point more shows
FALSE = BOX + "(assert (>= Y_0 -10))"


class Scale(FolderCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.write("net.onnx", onnx_files.two_equal_neurons("Sigmoid"))
        for name, text in (("tight", TIGHT), ("never", NEVER), ("false", FALSE), ("holds", TIGHT.replace("0.0000001", "0.25"))):
            cls.write(name + ".vnnlib", text.encode())

    def run_program(self, program, *words):
        return subprocess.run([os.path.join(BIN, program), *words], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)

    def verify(self, name, *words):
        run = self.run_program("assay", "verify", self.at("net.onnx"), self.at(name + ".vnnlib"), "--json=" + self.at("report"), *words)
        with open(self.at("report"), encoding="utf-8") as file:
            return run, json.load(file)

    def test_the_scale_is_proved_and_its_boxes_are_exact(self):
        proof = self.at("p")
        run, report = self.verify("tight", "--timeout", "0.5", "--scale", "3", "--proof", proof)
        self.assertEqual((run.stdout, run.returncode), ("timed-out\n", 0), run.stderr[-300:])
        self.assertFalse(os.path.exists(proof), "there is no certificate of the whole property")
        scaled = report["scaled"]
        self.assertRegex(scaled["scale"], r"^0\.\d{1,3}$")
        self.assertIn("scale: the property HOLDS in %s of the box" % scaled["scale"], run.stderr)
        files = (scaled["proof"]["statement"], scaled["proof"]["file"])
        self.assertEqual(files, (proof + ".scaled.statement", proof + ".scaled"))
        self.assertIn("assay-check %s %s\n" % files, run.stderr)
        self.assertEqual(os.path.getsize(files[1]), scaled["proof"]["bytes"])
        done = self.run_program("assay-check", *files, "--statement", "full")
        self.assertTrue(done.stdout.startswith("accepted"), (done.stdout + done.stderr)[:300])
        self.assertIn(scaled["digest"], done.stdout)
        self.assertIn(report["statement"]["graph_digest"], done.stdout, "it is about the same network")
        ends = [[Fraction(end) for end in pair] for pair in re.findall(r"X_\d in \[(\S+), ([^\]]+)\]", done.stdout)]
        scale = Fraction(scaled["scale"])
        self.assertEqual(ends, [[middle - scale * half, middle + scale * half] for middle, half in ((Fraction(-1, 4), Fraction(3, 4)), (0, 1))])
        whole = self.run_program("assay-check", self.at("net.onnx"), self.at("tight.vnnlib"), files[1])
        self.assertEqual(whole.returncode, 1, "it does not prove the property itself")
        self.assertEqual([name for name in os.listdir(self.folder.name) if ".part" in name], [])

    def test_no_scale_is_proved(self):
        run, report = self.verify("never", "--timeout", "0.3", "--scale", "1", "--proof", self.at("none"))
        self.assertIn(run.stdout, ("timed-out\n", "unknown\n"))
        self.assertEqual((report["scaled"]["scale"], report["scaled"]["proof"], report["scaled"]["digest"]), ("0", None, None))
        self.assertGreater(report["scaled"]["tries"], 0)
        self.assertIn("scale: no multiple of 0.001 of the box was proved", run.stderr)
        self.assertEqual([name for name in os.listdir(self.folder.name) if name.startswith("none")], [])

    def test_a_point_that_a_try_finds_is_the_answer(self):
        proof = self.at("sat")
        run, report = self.verify("false", "--timeout", "0.0001", "--scale", "10", "--proof", proof)
        self.assertEqual((run.stdout.split("\n")[0], run.returncode), ("sat", 0), run.stderr[-300:])
        self.assertNotIn("scaled", report)
        self.assertNotIn("unfinished", report)
        self.assertIn("\nscale: not searched, because the input above violates the property", run.stderr)
        done = self.run_program("assay", "check", self.at("net.onnx"), self.at("false.vnnlib"), proof, "--expect", "sat")
        self.assertEqual(done.returncode, 0, done.stderr[:300])

    def test_a_decided_property_is_not_scaled(self):
        run, report = self.verify("holds", "--scale", "5")
        self.assertEqual(run.stdout, "unsat\n")
        self.assertNotIn("scaled", report)
        self.assertIn("\nscale: 1, because the property holds in its whole box\n", run.stderr)

    def test_a_wrong_time_is_wrong_use(self):
        for word in ("0", "-1", "soon"):
            run = self.run_program("assay", "verify", self.at("net.onnx"), self.at("holds.vnnlib"), "--scale=" + word)
            self.assertEqual(run.returncode, 2, word)
            self.assertIn("--scale", run.stderr)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    BIN = sys.argv.pop(1)
    unittest.main()
