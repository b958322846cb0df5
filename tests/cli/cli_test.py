#!/usr/bin/env python3
"""Behaviour of `assay` and `assay-check`: words, exit codes, streams, JSON. Usage: cli_test.py BIN_DIRECTORY [--instrumented]

--instrumented: the programs carry sanitizers, so their speed says nothing."""
import gzip
import json
import math
import os
import re
import resource
import subprocess
import sys
import unittest

import onnx_files
from folder_case import FolderCase

BIN = "."
INSTRUMENTED = False
HOLDS = "".join("(declare-const %s Real)\n" % v for v in ("X_0", "X_1", "Y_0")) + """
(assert (>= X_0 -1)) (assert (<= X_0 1)) (assert (>= X_1 -1.0)) (assert (<= X_1 1))
(assert (or (and (<= Y_0 -0.25)) (and (>= Y_0 0.25))))
"""
FAILS = HOLDS.replace("(<= Y_0 -0.25)", "(<= Y_0 0.125)").replace("(>= X_0 -1)", "(>= X_0 0.3)").replace("(<= X_0 1)", "(<= X_0 0.3)")
EMPTY = HOLDS.replace("(<= X_0 1)", "(<= X_0 -2)")
TYPED = """(vnnlib-version <2.0>)
(declare-network f (declare-input X %s [1,2]) (declare-output Y %s [1,1]))
(assert (and (>= X[0,0] -1.0) (<= X[0,0] 1.0) (>= X[0,1] -1.0) (<= X[0,1] 1.0)))
(assert (<= Y[0,0] %s))
"""


class Run:
    def __init__(self, program, *words):
        done = subprocess.run([os.path.join(BIN, program), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        self.exit, self.out, self.err = done.returncode, done.stdout, done.stderr
        self.lines = self.out.splitlines()
        self.word = self.lines[0] if self.lines else ""


class CommandLine(FolderCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.write("net.onnx", onnx_files.two_equal_neurons())
        cls.write("batch.onnx", onnx_files.two_equal_neurons(batch="N"))
        cls.write("odd.onnx", onnx_files.two_equal_neurons("Swirl"))  # no such operator
        cls.write("no_lines.onnx", onnx_files.two_equal_neurons("Celu"))  # bounded by its box alone
        cls.write("nothing", b"")
        cls.write("smooth.onnx", onnx_files.two_equal_neurons("Sigmoid"))  # what is tight takes millions of splits
        cls.write("nan.onnx", onnx_files.two_equal_neurons(weight=math.nan))
        cls.write("wide.onnx", onnx_files.two_equal_neurons(inputs=3))
        cls.write("cut.gz", gzip.compress(HOLDS.encode())[:-9])
        cls.write("narrow.vnnlib", HOLDS.replace("X_1", "X_0").encode())
        cls.write("cut.onnx", onnx_files.two_equal_neurons()[:-7])
        for name, text in (("holds", HOLDS), ("tight", HOLDS.replace("0.25", "0.0000001")), ("fails", FAILS), ("empty", EMPTY), ("cut", HOLDS[:-4]), ("free", HOLDS.replace("(assert (<= X_1 1))", "")),
                           ("typed", TYPED % ("float32", "float32", "-0.5")), ("real", TYPED % ("real", "real", "-0.5")),
                           ("real_fails", TYPED % ("real", "real", "0.5"))):
            cls.write(name + ".vnnlib", text.encode())
        cls.run_of_proof = Run("assay", "verify", cls.at("net.onnx"), cls.at("holds.vnnlib"), "--proof", cls.at("proof"))

    def verify(self, *words, model="net.onnx", prop="holds.vnnlib"):
        return Run("assay", "verify", self.at(model), self.at(prop), *words)

    def check(self, *words, prop="holds.vnnlib", proof="proof", model="net.onnx"):
        return Run("assay-check", self.at(model), self.at(prop), self.at(proof), *words)

    # verify

    def test_unsat_with_a_certificate_that_is_accepted(self):
        run = self.run_of_proof
        self.assertEqual((run.out, run.exit), ("unsat\n", 0), run.err)
        self.assertIn("property HOLDS: no input of the box reaches the unsafe set", run.err)
        for words in ((), ("--exact",)):
            checked = self.check(*words)
            self.assertEqual((checked.word, checked.exit), ("accepted", 0), checked.err)
            self.assertGreater(len(checked.lines), 3, "the theorem is printed")
            self.assertRegex(checked.err, r"(?m)^check cpu seconds: [0-9]+\.[0-9]+$")

    def test_branching_choices_agree(self):
        for choice in ("auto", "input", "relu"):
            run = self.verify("--branching", choice, "--proof", self.at("by_" + choice), "--no-attack", "--threads", "1")
            self.assertEqual((run.out, run.exit), ("unsat\n", 0), choice + run.err)
            self.assertEqual(self.check(proof="by_" + choice).word, "accepted")

    def test_sat_prints_a_point_of_the_box(self):
        run = self.verify("--proof", self.at("witness"), prop="fails.vnnlib")
        self.assertEqual((run.word, run.exit), ("sat", 0), run.err)
        values = dict(re.findall(r"\((\w+) ([-0-9.e+]+)\)", run.out))
        self.assertEqual(sorted(values), ["X_0", "X_1", "Y_0"])
        self.assertEqual(values["X_0"], "0.3", "the decimal of the box, exactly")
        self.assertLessEqual(abs(float(values["X_1"])), 1)
        self.assertEqual(float(values["Y_0"]), 0)
        self.assertIn("property VIOLATED", run.err)
        self.assertEqual(self.check(prop="fails.vnnlib", proof="witness").word, "accepted")

    def test_empty_box_is_vacuous(self):
        run = self.verify("--proof", self.at("vacuous"), prop="empty.vnnlib")
        self.assertEqual((run.word, run.exit), ("unsat", 0), run.err)
        self.assertIn("VACUOUSLY", run.err)
        self.assertEqual(self.check(prop="empty.vnnlib", proof="vacuous").word, "accepted")

    def test_a_vacuous_answer_says_so_and_is_not_the_expected_one(self):
        box = "".join("(declare-const %s Real)\n" % v for v in ("X_0", "X_1", "Y_0")) + "(assert (and (>= X_0 -1) (<= X_0 1) (>= X_1 -1) (<= X_1 1)))\n"
        assertions = "the property's assertions contradict each other, whatever the network computes"
        contradictions = {"(assert (<= 1 0.5))": assertions, "(assert (and (>= Y_0 1) (<= Y_0 0.5)))": assertions, "(assert (and (< Y_0 1) (>= Y_0 1)))": assertions,
                          "(assert (>= (+ X_0 X_1) 2.5))": assertions, "(assert (> (- X_0 X_1) 2.5))": assertions,
                          "(assert (and (>= (+ (* 2 Y_0) (* 4 X_1)) 5) (<= (+ Y_0 (* 2 X_1)) 2)))": assertions,
                          "(assert (< (* Y_0 Y_0) 0))": assertions, "(assert (<= (* X_0 X_0) -0.5))": assertions, "(assert (>= (* X_0 X_0 X_0) 1.5))": assertions,
                          "(assert (>= (+ (* X_0 X_0) (* X_1 X_1)) 2.5))": assertions, "(assert (<= (+ (* X_0 X_0) X_0) -0.3))": assertions,
                          "(assert (< (* Y_0 Y_0 X_0 X_0) 0))": assertions, "(assert (> (* X_0 X_1) 1.5))": assertions,
                          "(assert (<= (+ (* (- X_0 2) (- X_0 2)) (* (- X_1 2) (- X_1 2))) 1.9))(assert (>= Y_0 1))": assertions,
                          "(assert (and (>= (+ X_0 X_1) 1.5) (>= (- X_0 X_1) 1)))": assertions, "(assert (and (>= (- Y_0 X_0) 1) (<= Y_0 -1)))": assertions,
                          "(assert (and (>= (+ Y_0 X_0 X_1) 4) (<= Y_0 3) (<= X_0 0.5) (<= X_1 0.25)))": assertions,
                          "(assert (and (>= (+ Y_0 X_0) (+ X_1 0.5)) (> (* 2 X_1) (* 3 Y_0)) (>= Y_0 (* 2 X_0)) (>= X_0 0)))": assertions,
                          "(assert (and (>= (* X_0 X_1) 0.5) (<= (+ (* 4 X_0 X_1) X_0) 0.75) (>= X_0 -0.5)))": assertions,
                          "(assert (<= X_0 -2))": "the input box of the property is empty",
                          "(assert (or (and (<= X_0 -2) (>= Y_0 0)) (and (<= X_1 -2) (>= Y_0 0))))": "every input box of the property is empty",
                          "(assert (or (<= X_0 -2) (and (>= Y_0 3) (<= Y_0 2))))": "every case of the property has an empty input box or assertions that contradict each other"}
        for text, why in contradictions.items():
            self.write("vacuous.vnnlib", (box + text).encode())
            run = self.verify("--expect", "unsat", "--proof", self.at("vacuous"), prop="vacuous.vnnlib")
            self.assertEqual((run.lines, run.exit), (["unsat", "vacuous: " + why], 1), text + run.err)
            self.assertIn("assay verify: --expect unsat is not met: the answer is vacuous, since " + why, run.err)
            self.assertEqual(self.verify("--expect", "unsat", "--allow-vacuous", prop="vacuous.vnnlib").exit, 0, text)
            checked = self.check(prop="vacuous.vnnlib", proof="vacuous")
            self.assertEqual(checked.lines[:2], ["accepted", "vacuous: " + why], text)
            report = json.loads(self.verify("--json", prop="vacuous.vnnlib").out)
            self.assertEqual((report["theorem"]["vacuous"], report["theorem"]["vacuous_since"]), (True, why))
        for text in ("(assert (<= (* Y_0 X_0) -9))", "(assert (>= (* Y_0 Y_0) 9))", "(assert (<= (+ (* (- X_0 2) (- X_0 2)) (* (- X_1 2) (- X_1 2))) 2))(assert (>= Y_0 1))",
                     "(assert (>= Y_0 1))", "(assert (>= (+ X_0 X_1) 2))(assert (<= Y_0 -1))", "(assert (and (<= Y_0 -1) (>= Y_0 -1)))",
                     "(assert (and (>= (+ X_0 X_1) 1.5) (>= (- X_0 X_1) 0.5) (<= Y_0 -1)))", "(assert (and (>= (- Y_0 X_0) 0) (<= Y_0 -0.5)))",
                     "(assert (or (<= X_0 -2) (>= Y_0 1)))", "(assert (and (>= (+ (* 2 Y_0) (* 4 X_1)) 40) (<= (+ Y_0 (* 2 X_1)) 20)))"):
            self.write("speaks.vnnlib", (box + text).encode())
            run = self.verify("--expect", "unsat", prop="speaks.vnnlib")
            self.assertEqual((run.out, run.exit), ("unsat\n", 0), text + run.err)

    def test_standard_form(self):
        for network in (self.at("net.onnx"), "f=" + self.at("net.onnx")):
            run = Run("assay", "verify", self.at("real.vnnlib"), "--network", network, "--timeout", "60")
            self.assertEqual((run.out, run.exit), ("unsat\n", 0), run.err)
        run = Run("assay", "verify", self.at("real_fails.vnnlib"), "--network", "f=" + self.at("net.onnx"))
        self.assertEqual((run.word, run.exit), ("sat", 0), run.err)
        self.assertEqual(len(run.lines), 1 + (1 + 2) + (1 + 1), run.out)
        self.assertRegex(run.lines[1], r"^X real \[1,2\]$")
        wrong = Run("assay", "verify", self.at("real.vnnlib"), "--network", "g=" + self.at("net.onnx"))
        self.assertEqual((wrong.out, wrong.exit), ("", 4))

    def test_float_types_ask_about_executions_unless_read_as_real(self):
        run = self.verify("--proof", self.at("held"), prop="typed.vnnlib")
        self.assertEqual((run.word, run.exit), ("unsat", 0), run.err)
        self.assertIn("semantics: binary32 ", run.err)
        self.assertIn("assumption: executions compute the graph node by node", run.err)
        run = self.verify("--semantics", "real", "--proof", self.at("typed"), prop="typed.vnnlib")
        self.assertEqual((run.word, run.exit), ("unsat", 0), run.err)
        # What holds for every execution of every number in the box is shown over the reals by the same steps, and not the other way round.
        for semantics, proof, word in (((), "held", "accepted"), (("--semantics", "real"), "held", "accepted"), ((), "typed", "declined"),
                                       (("--semantics", "real"), "typed", "accepted"), (("--semantics", "float32:cuda"), "held", "declined")):
            self.assertEqual(self.check(*semantics, prop="typed.vnnlib", proof=proof).word, word, (semantics, proof))

    def test_expect(self):
        self.assertEqual(self.verify("--expect", "unsat").exit, 0)
        self.assertEqual(self.verify("--expect", "sat").exit, 1)
        self.assertEqual(self.verify("--expect", "sat", prop="fails.vnnlib").exit, 0)
        self.assertEqual(self.verify("--expect", "maybe").exit, 2)

    def test_json_on_stdout_and_in_a_file(self):
        bare = self.verify("--json")
        report = json.loads(bare.out)
        self.assertEqual((report["schema"], report["answer"], bare.exit), ("assay.verify/1", "unsat", 0))
        self.assertGreaterEqual(report["statistics"]["cpu_seconds"], 0)
        self.assertEqual(len(report["statement"]["digest"]), 64)
        run = self.verify("--json=" + self.at("report"), prop="fails.vnnlib")
        self.assertEqual(run.word, "sat")
        report = json.loads(self.read("report"))
        inputs = report["theorem"]["witness"]["inputs"]
        self.assertEqual(inputs[0]["exact"], "0.3")
        self.assertEqual(float.fromhex(inputs[1]["hex"]), inputs[1]["value"])
        run = self.verify("--json=" + self.at("report"), prop="cut.vnnlib")
        report = json.loads(self.read("report"))
        self.assertEqual((run.exit, report["exit"], report["rejection"]["kind"]), (4, 4, "malformed"))

    def test_json_has_the_boxes_and_rows_of_the_statement(self):
        claims = json.loads(self.verify("--json").out)["statement"]["claims"]
        text = self.verify("--statement", "full").err
        (box,), (case, *others) = claims["boxes"], claims["cases"]
        self.assertEqual(len(box), sum(math.prod(each["shape"]) for each in claims["input_tensors"]))
        for i, bounds in enumerate(box):
            self.assertIn("    X_%d in [%s, %s]\n" % (i, bounds["lo"], bounds["hi"]), text)
        self.assertEqual([each["case"] for each in claims["cases"]], list(range(1 + len(others))))
        self.assertEqual((case["box"], {term["side"] for row in case["rows"] for term in row["terms"]}), (0, {"output"}))
        self.assertIn("  case 0: ", text)
        self.assertIn(" %s %s" % (case["rows"][0]["relation"], case["rows"][0]["bound"]), text)
        count = 33000
        self.write("long.onnx", onnx_files.model([onnx_files.node("Relu", ["x"], ["y"], "r")], [onnx_files.value_info("x", [count])], [onnx_files.value_info("y", [count])], []))
        self.write("long.vnnlib", ("(vnnlib-version <2.0>)\n(declare-network f (declare-input X Real [%d]) (declare-output Y Real [%d]))\n" % (count, count) +
                                   "".join("(assert (and (>= X[%d] 0) (<= X[%d] 1)))\n" % (i, i) for i in range(count)) + "(assert (<= Y[0] -1))\n").encode())
        shortened = json.loads(self.verify("--json", model="long.onnx", prop="long.vnnlib").out)["statement"]["claims"]
        self.assertEqual(shortened, {"left_out": "66002 numbers; --statement full writes them"})
        whole = json.loads(self.verify("--json", "--statement", "full", model="long.onnx", prop="long.vnnlib").out)["statement"]["claims"]
        self.assertEqual(len(whole["boxes"][0]), count)

    def test_contradictory_and_empty_assertions(self):
        self.write("never.vnnlib", HOLDS.encode() + b"(assert (<= 1 0.5))")
        run = self.verify("--proof", self.at("never"), prop="never.vnnlib")
        self.assertEqual((run.out, run.exit), ("unsat\nvacuous: the property's assertions contradict each other, whatever the network computes\n", 0), run.err)
        self.assertIn("HOLDS VACUOUSLY: the property's assertions contradict each other", run.err)
        self.assertIn("\n  case 0: 0 <= -1\n", run.err)
        self.assertIn("\nnote: property: the assertions contradict each other", run.err)
        for words in ((), ("--exact",)):
            checked = self.check(*words, prop="never.vnnlib", proof="never")
            self.assertEqual((checked.word, checked.exit), ("accepted", 0), checked.err)
            self.assertIn("\nnote: property: the assertions contradict each other", checked.out)
        self.write("always.vnnlib", HOLDS[:HOLDS.index("(assert (or")].encode() + b"(assert (<= 0.5 1))")
        run = self.verify("--proof", self.at("always"), prop="always.vnnlib")
        self.assertEqual((run.word, run.exit), ("sat", 0), run.err)
        self.assertIn("\n  case 0: every point of the box\n", run.err)
        self.assertEqual(self.check(prop="always.vnnlib", proof="always").word, "accepted")

    def test_notes_of_the_readers_go_with_the_statement(self):
        note = 'axis 0 of input "x" ("N") is the batch, fixed to 1'
        run = self.verify("--proof", self.at("noted"), model="batch.onnx")
        self.assertIn("\nnote: model: " + note, run.err)
        self.assertIn("\nnote: model: " + note, self.check(model="batch.onnx", proof="noted").out)
        files = (self.at("batch.onnx"), self.at("holds.vnnlib"))
        for words in (("verify", *files), ("check", *files, self.at("noted")), ("bounds", *files)):
            self.assertEqual(json.loads(Run("assay", *words, "--json").out)["notes"], ["model: " + note], words)
        self.assertIn("note: model: " + note, Run("assay", "bounds", *files).out)
        self.assertEqual(json.loads(Run("assay", "inspect", self.at("batch.onnx"), "--json").out)["note"], [note])

    def test_sat_says_what_a_float32_execution_does(self):
        run = self.verify("--json=" + self.at("report"), prop="fails.vnnlib")
        self.assertRegex(run.err, r"(?m)^float32: one float32 execution .* violates there too: case \d; 1 input was rounded")
        self.assertIn("| assay-replay-witness -", run.err)
        self.verify("--proof", self.at("fails"), prop="fails.vnnlib")
        self.assertRegex(self.check(prop="fails.vnnlib", proof="fails").out, r"(?m)^witness: X_0 = 0\.3, X_1 = ")
        report = json.loads(self.read("report"))
        ran, witness = report["float32"], report["theorem"]["witness"]
        self.assertEqual((ran["violates"], ran["inside"], ran["rounded_inputs"]), (True, False, 1))  # no float32 equals 0.3
        self.assertEqual((witness["inputs"][0]["lo"], witness["inputs"][0]["hi"]), ("0.3", "0.3"))
        self.assertEqual(witness["input_tensors"], [{"name": "x", "shape": [1, 2]}])
        self.assertEqual([case["case"] for case in witness["cases"]], [0, 1])
        self.assertEqual(witness["cases"][0]["rows"], [{"terms": [{"side": "output", "tensor": 0, "element": 0, "coefficient": "1"}],
                                                        "relation": "<=", "bound": "0.125"}])
        self.assertNotIn("float32", self.verify().err.replace("a float execution", ""))

    def test_quiet(self):
        run = self.verify("-q")
        self.assertEqual((run.out, run.err, run.exit), ("unsat\n", "", 0))

    def test_output_that_cannot_be_written(self):
        for proof, found, answer in ((os.path.join(self.folder.name, "none", "proof"), "No such file", ""), (self.folder.name, "Is a directory", ""),
                                     ("/dev/full", "No space", "unsat\n")):
            run = self.verify("--proof", proof)
            self.assertEqual((run.out, run.exit), (answer, 3), proof)
            self.assertRegex(run.err, r"(?m)^assay: .*, found %s.* \[certificate\.io\]$" % found)
        run = self.verify("--json=" + os.path.join(self.folder.name, "none", "report"), "-q")
        self.assertEqual((run.out, run.exit), ("unsat\n", 3))
        self.assertIn("cannot write", run.err)

    def test_an_output_over_an_input_is_refused(self):
        for name in ("net.onnx", "holds.vnnlib"):
            before = self.read(name)
            for words in (("--proof", self.at(name)), ("--proof", os.path.join(self.folder.name, ".", name)), ("--json=" + self.at(name),)):
                run = self.verify(*words)
                self.assertEqual((run.out, run.exit), ("", 2), words)
                self.assertIn("is an input", run.err)
            self.assertEqual(self.read(name), before)

    def test_unsupported_and_malformed_input(self):
        for words in (("odd.onnx", "holds.vnnlib"), ("cut.onnx", "holds.vnnlib"), ("net.onnx", "cut.vnnlib"), ("net.onnx", "free.vnnlib"),
                      ("none.onnx", "holds.vnnlib"), ("net.onnx", "none.vnnlib"), ("nothing", "holds.vnnlib"), ("net.onnx", "nothing"),
                      ("", "holds.vnnlib"), ("net.onnx", ""), ("cut.gz", "holds.vnnlib"), ("net.onnx", "cut.gz"), ("nan.onnx", "holds.vnnlib"),
                      ("wide.onnx", "holds.vnnlib"), ("net.onnx", "narrow.vnnlib"), ("holds.vnnlib", "holds.vnnlib"), ("net.onnx", "net.onnx")):
            run = self.verify("--proof", self.at("no_proof"), model=words[0], prop=words[1])
            self.assertEqual((run.out, run.exit), ("", 4), words)
            self.assertRegex(run.err, r"^assay: [a-z`][^:\n]+: %s[^\n]*: expected [^\n]+, found [^\n]+ \[\w+\.\w+\]\n$" % re.escape(self.at(words[words[0] == "net.onnx"])))
            self.assertFalse(os.path.exists(self.at("no_proof")))
            checked = self.check(model=words[0], prop=words[1])
            self.assertEqual((checked.word, checked.exit), ("declined", 4), words)

    def test_an_op_without_lines(self):
        run = self.verify("--proof", self.at("box_proof"), model="no_lines.onnx")
        self.assertEqual((run.word, run.exit), ("unsat", 0), run.err)
        checked = self.check(model="no_lines.onnx", proof="box_proof")
        self.assertEqual((checked.word, checked.exit), ("accepted", 0))

    def test_refused_options(self):
        run = self.verify("--serialise-assignments", self.folder.name)
        self.assertEqual((run.out, run.exit), ("", 4))
        self.assertIn("verify.serialise_assignments", run.err)
        both = ("--network", self.at("net.onnx"), "--network", self.at("net.onnx"))
        run = Run("assay", "verify", self.at("real.vnnlib"), *both)
        self.assertEqual((run.out, run.exit), ("", 4))
        self.assertIn("verify.networks", run.err)

    # check

    def test_a_bent_certificate_is_rejected(self):
        proof = self.read("proof")
        for at in range(0, len(proof), 3):
            self.write("bent", proof[:at] + bytes([proof[at] ^ 0x10]) + proof[at + 1:])
            run = self.check(proof="bent")
            self.assertEqual(run.word, "rejected", at)
            self.assertIn(run.exit, (1, 4))
            self.assertRegex(run.err, r"^assay-check: .*/bent[^\n]*: expected [^\n]+, found [^\n]+ \[certificate\.\w+\]\n")
        self.write("bent", proof[:-1])
        run = self.check(proof="bent")
        self.assertEqual((run.word, run.exit), ("rejected", 4))
        self.assertIn("certificate.truncated", run.err)

    def test_a_certificate_of_another_statement_is_rejected(self):
        run = self.check(prop="fails.vnnlib")
        self.assertEqual((run.word, run.exit), ("rejected", 1))
        self.assertIn("certificate.digest", run.err)
        for proof, word, found in (("none", "declined", "No such file"), ("", "declined", "Is a directory"), ("nothing", "rejected", "an empty file"),
                                   ("net.onnx", "rejected", "other bytes")):
            run = self.check(proof=proof)
            self.assertEqual((run.word, run.exit), (word, 4))
            self.assertRegex(run.err, r": %s[^\n]*: expected .*, found %s" % (re.escape(self.at(proof)), found))
            self.assertEqual(Run("assay", "inspect", self.at(proof)).exit, {"net.onnx": 0, "": 2}.get(proof, 4))

    def test_a_deadline_may_come_at_any_point_of_the_search(self):
        for k in range(16):
            run = self.verify("--timeout", str(0.1 + 0.01 * k), model="smooth.onnx", prop="tight.vnnlib")
            self.assertEqual((run.out, run.exit), ("timed-out\n", 0), run.err)

    def test_a_proof_of_nothing_is_not_kept(self):
        run = self.verify("--proof", self.at("kept"), "--timeout", "0.3", model="smooth.onnx", prop="tight.vnnlib")
        self.assertEqual((run.out, run.exit), ("timed-out\n", 0), run.err)
        self.assertIn("certificate: none", run.err)
        self.assertFalse(os.path.exists(self.at("kept")))

    def test_check_verb(self):
        run = Run("assay", "check", self.at("net.onnx"), self.at("holds.vnnlib"), self.at("proof"), "--json")
        report = json.loads(run.out)
        self.assertEqual((report["schema"], report["verdict"], run.exit), ("assay.check/1", "accepted", 0))
        self.assertGreater(report["statistics"]["steps"], 2)
        self.assertGreater(report["statistics"]["multiply_adds"], 0)
        self.assertGreater(report["statistics"]["budget"], 10 * report["statistics"]["multiply_adds"])
        self.assertEqual(Run("assay", "check", self.at("net.onnx"), self.at("holds.vnnlib"), self.at("proof")).out, self.check().out)
        for program in (("assay-check",), ("assay", "check")):
            self.assertEqual(Run(*program, self.at("net.onnx"), self.at("holds.vnnlib"), self.at("proof"), "--threads", "3").out, self.check().out)

    # the other verbs

    def test_bounds(self):
        for method, limit in (("ibp", 1.751), ("crown", 1.751)):
            run = Run("assay", "bounds", self.at("net.onnx"), self.at("holds.vnnlib"), "--method", method, "--json")
            report = json.loads(run.out)
            output = [n for n in report["groups"][0]["nodes"] if n["output"]][0]
            self.assertLessEqual(output["lo"][0]["value"], 0)
            self.assertGreaterEqual(output["hi"][0]["value"], 0)
            self.assertLess(output["hi"][0]["value"], limit)
            self.assertEqual(float.fromhex(output["hi"][0]["hex"]), output["hi"][0]["value"])
        run = Run("assay", "bounds", self.at("net.onnx"), self.at("holds.vnnlib"), "--nodes", "outputs")
        self.assertEqual(run.exit, 0)
        self.assertEqual(len([line for line in run.lines if "gemm" in line]), 1, run.out)
        # Out of time: the interval bounds, and a word about it.
        run = Run("assay", "bounds", self.at("net.onnx"), self.at("holds.vnnlib"), "--timeout", "1e-9", "--json")
        self.assertEqual((run.exit, json.loads(run.out)["groups"][0]["stopped"]), (0, True))

    def test_bounds_are_those_of_the_whole_box(self):
        """A row over the model's own squares is a ball, which restricts proofs of that row's cases, and no bounds."""
        nodes = [onnx_files.node("Mul", ["x", "x"], ["s"], "m"), onnx_files.node("MatMul", ["x", "w"], ["z"], "z"), onnx_files.node("Relu", ["z"], ["r"], "r")]
        model = onnx_files.model(nodes, [onnx_files.value_info("x", [1, 2])], [onnx_files.value_info("s", [1, 2]), onnx_files.value_info("r", [1, 1])],
                                 [onnx_files.tensor("w", [2, 1], [1, 1])])
        self.write("squares.onnx", model)
        text = "".join(f"(declare-const {name} Real)\n" for name in ("X_0", "X_1", "Y_0", "Y_1", "Y_2"))
        text += "".join(f"(assert (<= X_{i} 2))\n(assert (>= X_{i} -2))\n" for i in (0, 1)) + "(assert (<= (+ Y_0 Y_1) 1))\n(assert (>= Y_2 1.5))\n"
        self.write("disc.vnnlib", text.encode())
        run = Run("assay", "bounds", self.at("squares.onnx"), self.at("disc.vnnlib"), "--json")
        self.assertEqual(run.exit, 0, run.err)
        relu = next(n for n in json.loads(run.out)["groups"][0]["nodes"] if n["op"] == "relu")
        self.assertGreaterEqual(relu["hi"][0]["value"], 4)
        run = Run("assay", "verify", self.at("squares.onnx"), self.at("disc.vnnlib"))
        self.assertEqual((run.lines[0], run.exit), ("unsat", 0), run.err)

    def test_inspect(self):
        run = Run("assay", "inspect", self.at("proof"))
        self.assertEqual(run.exit, 0, run.err)
        self.assertRegex(run.word, r"^certificate version 1, .*, statement [0-9a-f]{64}$")
        self.assertIn("begin_group 0", run.lines)
        self.assertRegex(run.lines[-1], r"^depth \d+, \d+ frames?, %d bytes$" % len(self.read("proof")))
        run = Run("assay", "inspect", self.at("proof"), "--summary", "--json")
        self.assertEqual(json.loads(run.out)["bytes"], len(self.read("proof")))
        run = Run("assay", "inspect", self.at("net.onnx"))
        self.assertEqual(run.exit, 0, run.err)
        self.assertRegex(run.out, r"(?m)^opset +ai\.onnx 13$")
        run = Run("assay", "inspect", self.at("holds.vnnlib"), "--network", self.at("net.onnx"))
        self.assertRegex(run.out, r"(?m)^cases +2 cases over 1 input box$")
        self.assertEqual(Run("assay", "inspect", self.at("holds.vnnlib")).exit, 4)
        self.assertEqual(Run("assay", "inspect", self.at("none")).exit, 4)

    def test_the_file_in_the_format_page_is_as_described(self):
        page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "certificates", "FORMAT.md")
        with open(page, encoding="utf-8") as file:
            example = file.read().split("## 5.")[1]
        rows = re.findall(r"(?m)^    [0-9a-f]{4}  ((?:[0-9a-f]{2} ?)+)$", example)
        self.write("example", bytes.fromhex("".join(rows)))
        listing = [line[4:] for line in example[example.index("    certificate version"):].splitlines() if line.startswith("    ")]
        run = Run("assay", "inspect", self.at("example"))
        self.assertEqual(run.exit, 0, run.err)
        self.assertEqual(run.lines[:len(listing)], listing)

    def test_adjoint(self):
        run = Run("assay", "adjoint", "--op", "relu")
        self.assertEqual((run.exit, run.word.split()[:2]), (0, ["proved", "relu"]))
        self.assertIn("exact at 8 points; sets at 6 kinks", run.word)
        self.assertIn("1 op proved", run.err)
        report = json.loads(Run("assay", "adjoint", "--op", "conv", "--json").out)
        (op,) = report["ops"]
        self.assertEqual((report["schema"], op["op"], op["verdict"], op["cases"][0]["method"]), ("assay.adjoint/1", "conv", "proved", "probed"))
        self.assertLess(op["cases"][0]["miss_log2"], -60)
        self.assertEqual(Run("assay", "adjoint", "--op", "equal").word.split()[0], "none")
        for words in (("--op", "swirl"), (), ("--op", "relu", "--all")):
            self.assertEqual(Run("assay", "adjoint", *words).exit, 2)

    def test_lint(self):
        run = Run("assay", "lint", self.at("net.onnx"))
        self.assertEqual((run.out, run.exit), ("supported\n", 0))
        run = Run("assay", "lint", self.at("odd.onnx"))
        self.assertEqual((run.word, run.exit), ("unsupported", 4))
        self.assertIn("Swirl", run.out)
        report = json.loads(Run("assay", "lint", self.at("odd.onnx"), "--json").out)
        self.assertEqual((report["schema"], report["supported"], len(report["problems"])), ("assay.lint/1", False, 1))

    def test_supports(self):
        permitted = {"hidden-node-theories": {"NH", "H"}, "multiple-input-output-theories": {"SIO", "MIO"},
                     "multiple-network-theories": {"SNET", "MENET", "MINET", "MNET"}, "multiple-node-comparison-theories": {"SNC", "MNC"},
                     "arithmetic-complexity-theories": {"BND", "OUTC", "LIN", "POLY"}, "optimised-disjunctive-reasoning": {"true", "false"},
                     "serialise-assignments": {"true", "false"}, "unsat-proofs": {"true", "false"},
                     "onnx-element-types": {"real", "bool", "float32", "float64"} | {sign + f"int{width}" for sign in ("", "u") for width in (8, 16, 32, 64)}}
        for verb in ("supports", "capabilities"):
            for question, answers in permitted.items():
                run = Run("assay", verb, "--" + question)
                self.assertEqual(run.exit, 0)
                self.assertTrue(run.lines and set(run.lines) <= answers, question)
            self.assertLessEqual({"Gemm", "Relu", "Conv", "MatMul"}, set(Run("assay", verb, "--onnx-operators").lines))
            first, last = map(int, Run("assay", verb, "--onnx-opset-versions").lines)
            self.assertLess(first, last)
            self.assertEqual(Run("assay", verb, "--vnnlib-versions").lines, ["1.0", "2.0"])
        self.assertEqual(Run("assay", "supports").exit, 2)
        self.assertEqual(Run("assay", "supports", "--onnx-operators", "--vnnlib-versions").exit, 2)
        self.assertEqual(len(json.loads(Run("assay", "supports", "--json").out)["answers"]), 13)

    def test_advice_on_memory_can_be_followed(self):
        """Every verb that reads a model and says "allow more with --memory" has the option."""
        ints = lambda name, *values: onnx_files.tensor(name, [len(values)], values, onnx_files.INT64)
        nodes = [onnx_files.node("ConstantOfShape", ["s"], ["large"], "c"), onnx_files.node("Slice", ["large", "zero", "two"], ["w"], "p"),
                 onnx_files.node("MatMul", ["x", "w"], ["y"], "m")]
        self.write("made.onnx", onnx_files.model(nodes, [onnx_files.value_info("x", [1, 2])], [onnx_files.value_info("y", [1, 2])],
                                                 [ints("s", 9_000_000, 2), ints("zero", 0), ints("two", 2)]))
        self.write("made.json", json.dumps({"inputs": {"x": [1, 2]}}).encode())
        self.write("made.vnnlib", b"(vnnlib-version <2.0>)(declare-network f (declare-input X real [1,2]) (declare-output Y real [1,2]))"
                                  b"(assert (and (>= X[0,0] 0) (<= X[0,0] 1) (>= X[0,1] 0) (<= X[0,1] 1) (>= Y[0,0] 9)))")
        model, prop = self.at("made.onnx"), self.at("made.vnnlib")
        for words in (["lint", model], ["eval", model, self.at("made.json")], ["run", model], ["record", model, self.at("made.trace")], ["inspect", model],
                      ["verify", model, prop], ["bounds", model, prop], ["statement", model, prop], ["gradcheck", model, "--allow-dead"]):
            small, large = Run("assay", *words), Run("assay", *words, "--memory", "4G")
            self.assertIn("onnx.limit", small.err + small.out, words)
            self.assertIn("allow more with --memory", small.err + small.out, words)
            self.assertNotIn("onnx.limit", large.err + large.out, words)
            self.assertEqual(large.exit, 0, (words, large.err, large.out))

    # eval

    def test_eval(self):
        def values(text):
            with open(self.at("values.json"), "w") as file:
                file.write(text)
            return Run("assay", "eval", self.at("net.onnx"), self.at("values.json"), "--json")
        run = values('{"inputs": {"x": [[1, 2]]}, "cotangents": {"y": [3]}}')
        self.assertEqual(run.exit, 0, run.err)
        report = json.loads(run.out)
        self.assertEqual((report["schema"], report["outputs"]["y"]), ("assay.eval/1", {"shape": [1, 1], "lo": [0.0], "hi": [0.0]}))
        self.assertEqual(report["gradients"]["x"], {"shape": [1, 2], "lo": [0.0, 0.0], "hi": [0.0, 0.0]})
        box = json.loads(values('{"inputs": {"x": [{"lo": -1, "hi": 1}, 0]}}').out)["outputs"]["y"]
        self.assertTrue(box["lo"][0] <= 0 <= box["hi"][0])
        for text, part in (("", "0 bytes"), ("{", "no JSON"), ("[]", "inputs"), ('{"inputs": {"x": [1]}}', "2 numbers"), ('{"inputs": {}}', "none"), ('{"inputs": {"x": [1, 2]}, "cotangent": {"y": [1]}}', "cotangent;"),
                           ('{"inputs": {"x": [1, "2"]}}', "finite numbers"), ('{"inputs": {"x": [1, 1e999]}}', "no JSON"),
                           ('{"inputs": {"x": [1, {"lo": 2, "hi": 1}]}}', "finite numbers"), ('{"inputs": {"x": %s1%s}}' % ("[" * 99, "]" * 99), "finite"),
                           ('{"inputs": {"x": [1, 2]}, "cotangents": {"y": []}}', "1 numbers")):
            run = values(text)
            self.assertEqual(run.exit, 4, text)
            self.assertIn(part, run.err, text)

    def test_values_are_exact_or_refused(self):
        """Integers that no double holds, or that are no values of their type, are refused; infinities, NaN and undefined values are three words."""
        with open(self.at("integers.onnx"), "wb") as file:
            file.write(onnx_files.model([onnx_files.node("Add", ["x", "one"], ["y"], "add")], [onnx_files.value_info("x", [2], onnx_files.INT64)], [onnx_files.value_info("y", [2], onnx_files.INT64)],
                             [onnx_files.tensor("one", [2], [1, 1], onnx_files.INT64)]))
        with open(self.at("root.onnx"), "wb") as file:
            file.write(onnx_files.model([onnx_files.node("Log", ["x"], ["y"], "log")], [onnx_files.value_info("x", [2])], [onnx_files.value_info("y", [2])],
                             []))

        def values(verb, network, text, *more):
            with open(self.at("values.json"), "w") as file:
                file.write(text)
            where = ["--values", self.at("values.json")] if verb == "run" else [self.at("values.json")]
            return Run("assay", verb, self.at(network), *where, "--json", *more)
        for text in ("[9007199254740993, 1]", "[9223372036854775808, 1]", "[18446744073709551617, 1]", '["inf", 1]'):
            for verb in ("eval", "run"):
                self.assertEqual(values(verb, "integers.onnx", '{"inputs": {"x": %s}}' % text).exit, 4, (verb, text))
        found = values("run", "integers.onnx", '{"inputs": {"x": [9007199254740992, -9007199254740994]}}')
        self.assertEqual(json.loads(found.out)["outputs"]["y"]["values"], [9007199254740993, -9007199254740993])
        found = json.loads(values("run", "root.onnx", '{"inputs": {"x": ["inf", -1]}}').out)["outputs"]["y"]["values"]
        self.assertEqual(found, ["inf", "nan"])
        self.assertEqual(json.loads(values("run", "root.onnx", '{"inputs": {"x": [0, "nan"]}}').out)["outputs"]["y"]["values"], ["-inf", "nan"])
        sets = json.loads(values("eval", "root.onnx", '{"inputs": {"x": [-1, {"lo": 1, "hi": 2}]}}').out)["outputs"]["y"]
        self.assertEqual((sets["lo"][0], sets["hi"][0], sets["lo"][1]), (None, None, 0.0))
        found = values("eval", "root.onnx", '{"inputs": {"x": [1, "inf"]}}').err
        for part in ("element 1", '"inf"', "eval is about real numbers", "use assay run"):
            self.assertIn(part, found)

    def test_bent_values_are_refused_in_words(self):
        """Sets where single numbers are read, repeated names, bare words, no inputs: exit 4 with the place, from every verb that reads values."""
        bent = [('{"inputs": {"x": [1, {"lo": 1, "hi": 2}]}}', "single numbers only"), ('{"inputs": {"x": [1, 2], "x": [3, 4]}}', '"x" twice'),
                ('{"inputs": {"x": [1, NaN]}}', 'write the word "nan"'), ('{"inputs": {"x": [1, -Infinity]}}', 'write the word "nan"'),
                ('{"x": [1, 2]}', 'no "inputs"'), ('{"inputs": {"x": [1, "two"]}}', "at element 1")]
        verbs = [["run", self.at("net.onnx"), "--values"], ["record", self.at("net.onnx"), self.at("bent.trace"), "--values"],
                 ["gradcheck", self.at("net.onnx"), "--values"], ["eval", self.at("net.onnx")],
                 *(["run", self.at("net.onnx"), "--dtype", dtype, "--values"] for dtype in ("interval", "exact", "bfloat16"))]
        for text, part in bent:
            self.write("bent.json", text.encode())
            for words in verbs:
                if words[0] == "eval" and "single" in part:
                    continue
                run = Run("assay", *words, self.at("bent.json"))
                self.assertEqual(run.exit, 4, (words, text, run.err))
                self.assertIn(part, run.err, (words, text))

    def test_an_expectation_that_is_not_met_is_said(self):
        self.write("never.vnnlib", b"(vnnlib-version <2.0>)(declare-network f (declare-input X real [1,2]) (declare-output Y real [1,1]))"
                                   b"(assert (and (>= X[0,0] 0) (<= X[0,0] 1) (>= X[0,1] 0) (<= X[0,1] 1) (>= Y[0,0] 900)))")
        run = Run("assay", "verify", self.at("net.onnx"), self.at("never.vnnlib"), "--expect", "sat")
        self.assertEqual(run.exit, 1, run.err)
        self.assertIn("--expect sat is not met: the answer is unsat", run.err)

    def test_ops(self):
        names = Run("assay", "supports", "--operations").out.split()
        self.assertIn("masked_softmax", names)
        self.assertIn("| domain | x >= 0 |", Run("assay", "ops", "sqrt").out)
        self.assertEqual(Run("assay", "ops").out.count(".md) |"), len(names))
        unknown = Run("assay", "ops", "no_such_op")
        self.assertEqual(unknown.exit, 2)
        self.assertIn("no_such_op", unknown.err)

    # usage

    def test_usage_errors(self):
        for words in ((), ("frobnicate",), ("verify",), ("verify", "a.onnx"), ("verify", "a", "b", "c"), ("verify", "a.onnx", "b", "--threads", "0"),
                      ("verify", "a.onnx", "b", "--timeout", "soon"), ("verify", "a.onnx", "b", "--timeout", "0"), ("verify", "a.onnx", "b", "--memory", "lots"), ("verify", "b.vnnlib", "a.onnx"),
                      ("verify", "a", "--branching", "random"), ("verify", "a.onnx", "b", "--nonsense"), ("check",), ("check", "a", "b", "c", "d"), ("bounds", "a", "b", "--method", "x")):
            run = Run("assay", *words)
            self.assertEqual((run.out, run.exit), ("", 2), words)
            self.assertTrue(run.err)
        for words in ((), ("a",), ("a", "b", "c", "d"), ("a", "b", "c", "--fast"), ("--semantics", "float33", "a", "b", "c"),
                      ("a", "b", "c", "--threads"), ("a", "b", "c", "--threads", "0"), ("a", "b", "c", "--threads", "2x"), ("a", "b", "c", "--threads", "9999")):
            run = Run("assay-check", *words)
            self.assertEqual((run.out, run.exit), ("", 2), words)
            self.assertIn("Run `assay-check --help` for the command line.", run.err)

    def test_help_name_and_version(self):
        for program in ("assay", "assay-check"):
            self.assertEqual(Run(program, "--help").exit, 0)
            first, *lines = Run(program, "--version").lines
            self.assertRegex(first, rf"^{program} [0-9]+\.[0-9]+\.[0-9]+$")
            shown = dict(re.split("  +", line, maxsplit=1) for line in lines)
            self.assertEqual(set(shown), {"commit", "compiler", "libraries", "instruction sets"})
            self.assertRegex(shown["commit"], r"^([0-9a-f]{12,40}(-dirty)?|unknown)$")
            named = {word.rsplit(" ", 1)[0] for word in shown["libraries"].split(", ")}
            named.discard("gperftools")  # which a build may leave out
            self.assertEqual(named, {"Boost", "MPFR", "GMP", "zlib"} | ({"oneDNN", "Highway", "CLP"} if program == "assay" else set()))
            self.assertRegex(shown["libraries"], r"^(\w+ \d+(\.\d+)+(, |$))+$")
            self.assertEqual(len(Run(program, "--name").lines), 1)
        for verb in ("verify", "check", "bounds", "inspect", "lint", "supports"):
            run = Run("assay", verb, "--help")
            self.assertEqual(run.exit, 0)
            self.assertIn("--json", run.out)

    def test_start_up_is_quick(self):
        if INSTRUMENTED:
            self.skipTest("programs with sanitizers")
        def spent():  # by programs that have ended, whatever else the machine does
            children = resource.getrusage(resource.RUSAGE_CHILDREN)
            return children.ru_utime + children.ru_stime

        best = 1.0
        for _ in range(30):
            before = spent()
            Run("assay", "--version")
            best = min(best, spent() - before)
        self.assertLess(best, 0.030, "processor seconds, best of 30")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    BIN = sys.argv.pop(1)
    INSTRUMENTED = "--instrumented" in sys.argv
    sys.argv = [word for word in sys.argv if word != "--instrumented"]
    unittest.main()
