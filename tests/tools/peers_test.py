#!/usr/bin/env python3
"""benchmarks/peers with programs that pretend to be verifiers. Usage: peers_test.py BIN_DIRECTORY"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli"))
sys.path.insert(0, str(ROOT / "benchmarks"))
import onnx_files
import results

BIN = "."
PROPERTY = "".join("(declare-const %s Real)\n" % v for v in ("X_0", "X_1", "Y_0")) + """
(assert (>= X_0 -1)) (assert (<= X_0 1)) (assert (>= X_1 -1)) (assert (<= X_1 1))
(assert (>= Y_0 %s))
"""
# Marabou's arguments: MODEL PROPERTY ... --summary-file FILE ...
ANSWERS = """#!/bin/sh
for word; do [ "$last" = --summary-file ] && echo %s 1 2 3 > "$word"; last=$word; done
"""
HANGS = """#!/bin/sh
(while :; do :; done) &
wait
"""


def text_of(path):
    try:
        return path.read_text()
    except OSError:  # the process has ended
        return ""


class Peers(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        (self.folder / "small").mkdir()
        (self.folder / "small/net.onnx").write_bytes(onnx_files.two_equal_neurons())
        for name, bound in (("holds", "1"), ("fails", "-1")):
            (self.folder / f"small/{name}.vnnlib").write_text(PROPERTY % bound)
        rows = [("holds", "unsat"), ("fails", "sat")]
        (self.folder / "expected.csv").write_text("category,onnx,vnnlib,timeout,expected\n" + "".join(f"small,net.onnx,{name}.vnnlib,60,{word}\n" for name, word in rows))
        (self.folder / "evidence.csv").write_text("category,onnx,vnnlib,basis\n")

    def tearDown(self):
        self.temporary.cleanup()

    def compare(self, script, *words):
        program = self.folder / "Marabou"
        program.write_text(script)
        program.chmod(0o755)
        done = subprocess.run([sys.executable, "-B", str(ROOT / "benchmarks/peers"), "--marabou", str(program), "--data", str(self.folder), "--bin", BIN,
                               "--keep-proofs", str(self.folder / "proofs"), "--out", str(self.folder / "out.json"), "--svg", str(self.folder / "c.svg"),
                               "--result", str(self.folder / "result.json"), "--words", "Marabou", "2.0", "nothing", *words],
                              capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-300:])
        return done.stdout, json.loads((self.folder / "out.json").read_text())

    def test_wrong_answers_are_listed_with_what_refutes_them(self):
        table, report = self.compare(ANSWERS % "sat")
        self.assertEqual(report["schema"], "assay.benchmark.peers/1")
        self.assertEqual([{name: one["answer"] for name, one in each["programs"].items()} for each in report["instances"]],
                         [{"assay": "unsat", "Marabou": "sat"}, {"assay": "sat", "Marabou": "sat"}])
        self.assertIn("| small | 2 | 2 |", table)
        said = re.findall(r"^- small net\.onnx holds\.vnnlib: Marabou answered sat, the certificate proves unsat: `(.*)`$", table, re.M)
        self.assertEqual((len(said), table.count("the certificate proves")), (1, 1), table[-300:])
        words = shlex.split(said[0])
        done = subprocess.run([os.path.join(BIN, words[0]), *words[1:]], capture_output=True, text=True, timeout=60, check=False)
        self.assertTrue(done.stdout.startswith("accepted"), done.stderr[:300])
        drawing = xml.etree.ElementTree.parse(self.folder / "c.svg").getroot()
        lines = [path for path in drawing.iter("{http://www.w3.org/2000/svg}path") if path.get("class") == "line"]
        self.assertEqual(len(lines), 2)
        result = json.loads((self.folder / "result.json").read_text())
        self.assertEqual({key: result["figures"][key]["value"] for key in ("assay", "Marabou", "accepted", "refuted")},
                         {"assay": "2 of 2", "Marabou": "1 of 2", "accepted": "2", "refuted": "1"})
        self.assertEqual(result["programs"]["Marabou"], {"name": "Marabou", "version": "2.0", "lacks": "nothing"})
        self.assertEqual(list(results.problems_of(result["date"] + "-peers.json", result)), [])

    def test_right_answers_are_not(self):
        table, _ = self.compare(ANSWERS % "unsat", "--match", "holds")
        self.assertIn("Answers that a certificate refutes: none.", table)
        self.assertIn("Geometric mean of our time over Marabou's where both answered (1)", table)

    def test_a_program_that_hangs_ends_with_all_that_it_started(self):
        start = time.monotonic()
        table, report = self.compare(HANGS, "--match", "holds", "--timeout-cap", "1")
        self.assertLess(time.monotonic() - start, 30)
        one = report["instances"][0]["programs"]["Marabou"]
        self.assertEqual(one["answer"], "undecided")
        self.assertGreater(one["cpu_seconds"], 0.1, "its child's time counts, though nobody waited for it")
        left = [path for path in pathlib.Path("/proc").glob("[0-9]*/cmdline") if str(self.folder) in text_of(path)]
        self.assertEqual(left, [])
        self.assertIn("| small | 1 | 1 |", table)

    def test_on_a_busy_machine_limits_are_cpu_seconds(self):
        _, report = self.compare(HANGS, "--match", "holds", "--timeout-cap", "1", "--busy", "60")
        one = report["instances"][0]
        self.assertEqual((one["timeout"], one["cpu_limit"]), (60, 1))
        self.assertEqual(one["programs"]["Marabou"]["answer"], "undecided")
        self.assertLess(one["programs"]["Marabou"]["cpu_seconds"], 5)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    BIN = sys.argv.pop(1)
    unittest.main()
