#!/usr/bin/env python3
"""Statement files as a user meets them: written by `assay statement`, checked by assay-check without the files. Usage: statement_test.py BIN_DIRECTORY"""
import hashlib
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import unittest

import onnx_files
from folder_case import FolderCase

BIN = "."
PROPERTY = "".join("(declare-const %s Real)\n" % v for v in ("X_0", "X_1", "Y_0")) + """
(assert (>= X_0 -1)) (assert (<= X_0 1)) (assert (>= X_1 -1.0)) (assert (<= X_1 1))
(assert (or (and (<= Y_0 -%s)) (and (>= Y_0 %s))))
"""


def text(data):
    return struct.pack("<Q", len(data)) + data


class Statement(FolderCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.write("net.onnx", onnx_files.two_equal_neurons())
        for name, bound in (("holds", "0.25"), ("other", "0.5")):
            cls.write(name + ".vnnlib", (PROPERTY % (bound, bound)).encode())
        cls.files = (cls.at("net.onnx"), cls.at("holds.vnnlib"))
        done = cls.run_program("assay", "verify", *cls.files, "--proof", cls.at("proof"))
        assert done.returncode == 0, done.stderr
        cls.written = cls.run_program("assay", "statement", *cls.files, text=False)
        assert cls.written.returncode == 0, cls.written.stderr
        cls.write("claim", cls.written.stdout)

    @classmethod
    def run_program(cls, program, *words, **how):
        return subprocess.run([os.path.join(BIN, program), *words], **{"capture_output": True, "text": True, "timeout": 120, **how})

    def check(self, name, *words):
        return self.run_program("assay-check", self.at(name), self.at("proof"), *words)

    def test_short_names_of_models_have_the_fields_that_the_page_lists(self):
        """docs/contracts/execution-models.md, which a reader of the line `semantics` compares with it."""
        page = (pathlib.Path(__file__).parents[2] / "docs/contracts/execution-models.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| (`[^|]*`) \| `(binary[^|]*)` \|$", page, re.M)
        self.assertEqual(len(rows), 9)

        def digest(semantics):
            done = self.run_program("assay", "statement", *self.files, "--semantics", semantics, "--out", self.at("named"), "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(done.stdout)["digest"]

        for names, fields in rows:
            for name in re.findall("`([^`]*)`", names) if fields.startswith("binary32") else ():  # the network has float32 values
                self.assertEqual(digest(name), digest("float32:" + fields), name)

    def test_a_certificate_is_accepted_by_the_statement_alone(self):
        from_files = self.run_program("assay-check", *self.files, self.at("proof"))
        alone = self.check("claim")
        self.assertEqual((alone.returncode, alone.stdout.split("\n")[0]), (0, "accepted"), alone.stderr)
        digests = lambda run: re.findall(r"sha256 of the (canonical graph|statement): ([0-9a-f]{64})", run.stdout)
        self.assertEqual(len(digests(alone)), 2)
        self.assertEqual(digests(alone), digests(from_files))
        self.assertIn("sha256 of statement '%s': %s" % (self.at("claim"), hashlib.sha256(self.written.stdout).hexdigest()), alone.stdout)
        run = self.run_program("assay", "check", self.at("claim"), self.at("proof"), "--json")
        self.assertEqual((run.returncode, json.loads(run.stdout)["statement_file"]), (0, self.at("claim")), run.stderr)
        self.assertEqual(self.run_program("assay", "check", self.at("claim"), self.at("proof"), "--expect", "sat").returncode, 1)
        self.assertEqual(self.check("claim", "--exact").returncode, 0)

    def test_a_statement_is_about_what_semantics_asks_for(self):
        """A proof about reals says nothing about floats, whether the statement comes from two files or from one."""
        floats = [("--semantics", "float32"), ("--semantics=float32:onnxruntime",)]
        for program in (("assay-check",), ("assay", "check")):
            for words in floats:
                run = self.run_program(*program, self.at("claim"), self.at("proof"), *words)
                self.assertEqual((run.returncode, run.stdout.split("\n")[0]), (3, "declined"), run.stdout)
                self.assertIn("[statement.semantics]", run.stderr)
            run = self.run_program(*program, self.at("claim"), self.at("proof"), "--semantics", "real")
            self.assertEqual((run.returncode, run.stdout.split("\n")[0]), (0, "accepted"), run.stderr)
        run = self.run_program("assay", "check", self.at("claim"), self.at("proof"), "--semantics", "float32", "--expect", "unsat")
        self.assertEqual(run.returncode, 3, run.stdout)
        run = self.run_program("assay", "report", self.at("proof"), "--property", self.at("claim"), "--semantics", "float32", "-o", self.at("page.html"))
        self.assertIn("verdict declined", run.stdout + run.stderr)

    def test_the_graph_digest_is_that_of_the_bytes(self):
        bytes_ = self.written.stdout
        head = text(b"assay statement file 1")
        self.assertTrue(bytes_.startswith(head + text(b"assay graph 1")))
        graph = re.search(r"canonical graph: ([0-9a-f]{64})", self.check("claim").stdout)[1]
        rest = bytes_[len(head):]
        ends = [end for end in range(len(rest) + 1) if hashlib.sha256(rest[:end]).hexdigest() == graph]
        self.assertEqual(len(ends), 1, "the graph's canonical bytes follow the magic text")

    def test_another_statement_takes_no_certificate(self):
        self.run_program("assay", "statement", self.files[0], self.at("other.vnnlib"), "--out", self.at("else"))
        run = self.check("else")
        self.assertEqual((run.returncode, run.stdout.split("\n")[0]), (1, "rejected"), run.stderr)

    def test_bent_files_are_refused_with_their_place(self):
        self.write("short", self.written.stdout[:-1])
        run = self.check("short")
        self.assertEqual(run.returncode, 4, run.stdout)
        self.assertRegex(run.stderr, r"short, byte \d+: .* \[statement_file\.bytes\]")
        self.write("long", self.written.stdout + b"\0")
        self.assertEqual(self.check("long").returncode, 4)
        self.write("huge", text(b"assay statement file 1") + text(b"assay graph 1") + b"\xff" * 8)
        run = self.check("huge")
        self.assertEqual(run.returncode, 4)
        self.assertIn("statement_file.bytes", run.stderr)
        run = self.check("net.onnx")
        self.assertEqual(run.returncode, 2)
        self.assertIn("the property is missing, which says what is claimed about", run.stderr)
        self.assertEqual(self.check("missing").returncode, 4)

    def test_out_and_json(self):
        run = self.run_program("assay", "statement", *self.files, "--out", self.at("file"), "--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        report = json.loads(run.stdout)
        with open(self.at("file"), "rb") as file:
            data = file.read()
        self.assertEqual(data, self.written.stdout)
        self.assertEqual(report["bytes"], len(data))
        self.assertIn(report["digest"], self.check("file").stdout)
        run = self.run_program("assay", "statement", *self.files, "--json")
        self.assertEqual(run.returncode, 4, "bytes and JSON do not fit into one stream")

    def test_usage(self):
        self.assertEqual(self.run_program("assay-check", self.at("claim")).returncode, 2)
        self.assertIn("STATEMENT CERTIFICATE", self.run_program("assay-check", "--help").stdout)


if __name__ == "__main__":
    BIN = sys.argv.pop(1)
    unittest.main()
