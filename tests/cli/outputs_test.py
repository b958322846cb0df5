#!/usr/bin/env python3
"""What becomes of the files and streams that verbs write: replaced when complete, full disks, interrupted runs. Usage: outputs_test.py BIN_DIRECTORY"""
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import unittest

import onnx_files
from folder_case import FolderCase

BIN = "."
DIGITS = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "digits")
BOX = "".join("(declare-const %s Real)\n" % v for v in ("X_0", "X_1", "Y_0")) + """
(assert (>= X_0 -1)) (assert (<= X_0 1)) (assert (>= X_1 -1.0)) (assert (<= X_1 1))
"""
HOLDS = BOX + "(assert (or (and (<= Y_0 -0.25)) (and (>= Y_0 0.25))))"
TIGHT = HOLDS.replace("0.25", "0.0000001")  # takes millions of splits with sigmoids
SECOND = 1.0
GIFT = 0.6  # seconds more for a machine that is busy with other tests


def cpu_seconds(process):
    with open(f"/proc/{process}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Folder(FolderCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.write("net.onnx", onnx_files.two_equal_neurons())
        cls.write("smooth.onnx", onnx_files.two_equal_neurons("Sigmoid"))
        cls.write("holds.vnnlib", HOLDS.encode())
        cls.write("tight.vnnlib", TIGHT.encode())
        cls.files = (cls.at("net.onnx"), cls.at("holds.vnnlib"))
        cls.hard = (cls.at("smooth.onnx"), cls.at("tight.vnnlib"))
        done = cls.run_assay("verify", *cls.files, "--proof", cls.at("proof"))
        assert (done.stdout, done.returncode) == ("unsat\n", 0), done.stderr
        done = cls.run_assay("record", cls.at("net.onnx"), cls.at("trace"))
        assert done.returncode == 0, done.stderr

    @classmethod
    def run_assay(cls, *words, program="assay", **how):
        how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "timeout": 120, "stdin": subprocess.DEVNULL, **how}
        return subprocess.run([os.path.join(BIN, program), *words], **how)

    def assert_tidy(self):
        self.assertEqual([name for name in os.listdir(self.folder.name) if ".part" in name], [])


class Outputs(Folder):
    def test_an_output_takes_no_place_of_a_file_that_the_line_names(self):
        """A command line that would lose a file is refused before anything is read: inputs, files that these name, runs and other outputs."""
        net, holds = self.files
        for name in ("digits.onnx", "digits_test.npz"):
            shutil.copy(os.path.join(DIGITS, name), self.folder.name)
        self.write("list.csv", b"net.onnx,holds.vnnlib\n")
        self.write("expected.csv", b"net.onnx,holds.vnnlib,unsat\n")
        self.write("certificates.csv", b"net.onnx,holds.vnnlib,proof\n")
        self.write("values.json", b'{"inputs": {"x": [0, 0]}}')
        run, items, instances = self.at("run"), self.at("digits_test.npz"), self.at("list.csv")
        robust = ("robust", self.at("digits.onnx"), items, "--eps", "0.01", "--first", "2", "-q")
        done = self.run_assay(*robust, "--run", run)
        self.assertEqual(done.returncode, 0, done.stderr)
        kept = {name: self.read(name) for name in os.listdir(self.folder.name) if os.path.isfile(self.at(name))}
        kept |= {f"run/{name}": self.read(f"run/{name}") for name in ("run.json", "results.jsonl")}
        fresh, again = self.at("fresh"), os.path.join(self.folder.name, ".", "fresh")
        check, certificate = ("check", net, holds, self.at("proof")), self.at("proof")
        for words, message in (
                ((*robust, f"--json={self.at('digits.onnx')}"), "is an input"), ((*robust, "--labels", items + ":y", f"--json={items}"), "is an input"),
                ((*robust, "--run", self.at("other"), f"--json={self.at('other/run.json')}"), "is a file of the run"),
                ((*robust, "--run", self.at("other"), f"--json={self.at('other/certificates/x')}"), "is a file of the run"),
                (("batch", instances, f"--json={instances}"), "is an input"), (("batch", instances, f"--json={holds}"), "is an input"),
                (("batch", instances, "--expected", self.at("expected.csv"), f"--json={self.at('expected.csv')}"), "is an input"),
                (("check", run, f"--json={self.at('run/results.jsonl')}"), "is a file of the run"), (("check", run, f"--json={items}"), "is an input"),
                (("report", run, "-o", self.at("run/run.json")), "is a file of the run"), (("report", run, "-o", self.at("digits.onnx")), "is an input"),
                (("report", run, "-o", fresh, "--perfetto", again), "--out and --perfetto both write"),
                (("check", "--list", self.at("certificates.csv"), "--sarif", certificate), "is an input"),
                ((*check, "--junit", certificate), "is an input"), ((*check, "--statement", holds), "is an input"),
                ((*check, "--junit", fresh, "--sarif", again), "--junit and --sarif both write"),
                ((*check, "--markdown", fresh, f"--json={fresh}"), "both write"),
                (("verify", net, holds, "--proof", fresh, f"--json={again}"), "--proof and --json both write"),
                (("verify", net, holds, "--proof", holds), "is an input"), (("statement", net, holds, "-o", net), "is an input"),
                (("trim", net, holds, certificate, "-o", holds), "is an input"), (("bounds", net, holds, f"--json={net}"), "is an input"),
                (("eval", net, self.at("values.json"), f"--json={self.at('values.json')}"), "is an input"), (("lint", net, f"--json={net}"), "is an input"),
                (("record", net, net), "is an input"), (("audit", self.at("trace"), "--write-baseline", self.at("trace")), "is an input")):
            done = self.run_assay(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn(message, done.stderr)
        self.assertEqual({name: self.read(name) for name in kept}, kept)
        self.assertFalse(os.path.exists(fresh))
        for words in (("trim", net, holds, certificate, "-o", certificate), (*check, "--junit", "/dev/null", "--sarif", "/dev/null"), ("report", run, "-o", self.at("run/page.html"))):
            done = self.run_assay(*words)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_an_undecided_run_leaves_the_old_certificate(self):
        self.write("kept", self.read("proof"))
        run = self.run_assay("verify", *self.hard, "--proof", self.at("kept"), "--timeout", "0.3", "--json=" + self.at("report"))
        self.assertEqual((run.stdout, run.returncode), ("timed-out\n", 0), run.stderr)
        self.assertEqual(self.read("kept"), self.read("proof"))
        self.assertIsNone(json.loads(self.read("report"))["proof"], "a run without a proof names none")
        self.assert_tidy()

    def test_a_killed_run_leaves_the_old_certificate(self):
        self.write("kept", self.read("proof"))
        run = subprocess.Popen([os.path.join(BIN, "assay"), "verify", *self.hard, "--proof", self.at("kept")], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(0.5)
        run.kill()
        run.communicate()
        self.assertEqual(self.read("kept"), self.read("proof"))
        for name in os.listdir(self.folder.name):
            if ".part" in name:
                os.remove(self.at(name))

    def test_a_link_and_the_mode_stay(self):
        self.write("target", b"")
        os.chmod(self.at("target"), 0o640)
        if not os.path.islink(self.at("link")):
            os.symlink(self.at("target"), self.at("link"))
        self.assertEqual(self.run_assay("verify", *self.files, "--proof", self.at("link")).returncode, 0)
        self.assertTrue(os.path.islink(self.at("link")))
        self.assertEqual(self.read("target"), self.read("proof"))
        self.assertEqual(os.stat(self.at("target")).st_mode & 0o777, 0o640)

    def test_no_space_keeps_the_answer_and_the_old_file(self):
        # A limit on the size of files stands for a full disk: the write fails in the same way.
        limit = lambda size: lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        self.write("kept", self.read("proof"))
        run = self.run_assay("verify", *self.files, "--proof", self.at("kept"), preexec_fn=limit(40))
        self.assertEqual((run.stdout, run.returncode), ("unsat\n", 3), run.stderr)
        self.assertIn("certificate.io", run.stderr)
        self.assertIn(self.at("kept") + ": expected", run.stderr, "the file that was asked for is named")
        self.assertIn("property HOLDS", run.stderr)
        self.assertEqual(self.read("kept"), self.read("proof"))
        report = self.run_assay("verify", *self.files, "--proof", self.at("kept"), "--json", preexec_fn=limit(40))
        self.assertEqual((json.loads(report.stdout)["answer"], json.loads(report.stdout)["proof"], report.returncode), ("unsat", None, 3))
        for words in (("verify", *self.files, "--json=%s"), ("verify", *self.files, "--statement", "%s"), ("record", self.at("net.onnx"), "%s"), ("lint", self.at("net.onnx"), "--json=%s"),
                      ("gradcheck", self.at("net.onnx"), "--save", "%s"), ("audit", self.at("trace"), "--junit", "%s"), ("audit", self.at("trace"), "--sarif", "%s"),
                      ("audit", self.at("trace"), "--markdown", "%s"), ("audit", self.at("trace"), "--write-baseline", "%s"), ("probe", "--op", "relu", "--small", "--trace", "%s")):
            self.write("old", b"old")
            # LLVM's OpenMP library writes 1,024 bytes when it starts, for these verbs. Their own files have more than 8,000.
            size = 4096 if words[0] in ("record", "gradcheck") else 20
            run = self.run_assay(*[word.replace("%s", self.at("old")) for word in words], preexec_fn=limit(size))
            self.assertEqual((run.returncode, self.read("old")), (3, b"old"), words)
            self.assertIn("cannot write " + self.at("old"), run.stderr, words)
        self.assert_tidy()

    def test_every_verb_says_that_stdout_is_full(self):
        self.write("certificates.csv", b"net.onnx,holds.vnnlib,proof\n")
        self.write("values.json", b'{"inputs": {"x": [1, 2]}}')
        certificate = (*self.files, self.at("proof"))
        for words in (("verify", *self.files), ("verify", *self.files, "--json"), ("check", *certificate), ("check", *certificate, "--json"), ("bounds", *self.files),
                      ("inspect", self.at("proof")), ("inspect", self.at("net.onnx"), "--json"), ("lint", self.at("net.onnx")), ("eval", self.at("net.onnx"), self.at("values.json")),
                      ("adjoint", "--op", "relu"), ("audit", self.at("trace")), ("gradcheck", self.at("trace"), "--json"), ("probe", "--op", "relu", "--small", "--forward-only"),
                      ("supports", "--onnx-operators"), ("ops",), ("ops", "relu"), ("record", self.at("net.onnx"), self.at("again")), ("--help",), ("verify", "--help"), ("--version",)):
            with open("/dev/full", "w") as full:
                run = self.run_assay(*words, stdout=full)
            self.assertEqual(run.returncode, 3, words)
            self.assertIn("cannot write to standard output", run.stderr, words)
        for words in (certificate, ("--help",)):
            with open("/dev/full", "w") as full:
                run = self.run_assay(*words, program="assay-check", stdout=full)
            self.assertEqual(run.returncode, 3, words)
            self.assertIn("cannot write to standard output", run.stderr, words)

    def test_a_reader_that_leaves_is_a_failed_write(self):
        run = subprocess.Popen([os.path.join(BIN, "assay"), "supports", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        run.stdout.close()
        self.assertIn("cannot write to standard output", run.stderr.read())
        run.stderr.close()
        self.assertEqual(run.wait(), 3)


class Interruption(Folder):
    def interrupted(self, *words, after=0.1, signals=(signal.SIGINT,), program="assay", **how):
        """Interrupts after that many CPU seconds: a fourth or less of what the runs take on a fast machine. -> (stdout, stderr, exit status, seconds from the first signal to the end)"""
        run = subprocess.Popen([os.path.join(BIN, program), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True, **how)
        while cpu_seconds(run.pid) < after:
            self.assertIsNone(run.poll(), "it runs long enough to be interrupted: %s" % (words,))
            time.sleep(0.01)
        start = time.monotonic()
        for one in signals:
            run.send_signal(one)
            time.sleep(0.01)
        out, err = run.communicate(timeout=60)
        return out, err, run.returncode, time.monotonic() - start

    def test_verify_says_unknown_the_reason_and_the_best_bound(self):
        self.write("kept", self.read("proof"))
        for one, name in ((signal.SIGINT, "SIGINT"), (signal.SIGTERM, "SIGTERM")):
            out, err, status, seconds = self.interrupted("verify", *self.hard, "--proof", self.at("kept"), "--json=" + self.at("report"), after=0.8, signals=(one,))
            self.assertEqual((out, status), ("unknown\n", 3), err)
            self.assertLess(seconds, SECOND + GIFT)
            self.assertRegex(err, r"UNDECIDED: interrupted by %s.* after \d+\.\d s; .*, \d+ branches closed, \d+ open, worst bound -?\d" % name)
            report = json.loads(self.read("report"))
            self.assertEqual((report["answer"], report["exit"], report["proof"]), ("unknown", 3, None))
            self.assertIn("worst bound", report["reason"])
            self.assertEqual(set(report["progress"]), {"phase", "closed", "open", "worst_bound"})
            self.assertEqual(self.read("kept"), self.read("proof"))
            self.assert_tidy()
        out, _, status, _ = self.interrupted("verify", *self.hard, "--json")
        self.assertEqual((json.loads(out)["answer"], status), ("unknown", 3))

    def test_a_search_that_ends_at_one_point_asks_for_no_time(self):
        self.write("exp.onnx", onnx_files.model([onnx_files.node("Exp", ["x"], ["y"], "y")], [onnx_files.value_info("x", [1])], [onnx_files.value_info("y", [1])], []))
        words = "(declare-const X_0 Real)(declare-const Y_0 Real)(assert (>= X_0 1))(assert (<= X_0 1))(assert (>= Y_0 2.718281828459045))"
        self.write("e.vnnlib", words.encode())  # within one rounding of exp(1)
        run = self.run_assay("verify", self.at("exp.onnx"), self.at("e.vnnlib"), "--timeout", "30", "--semantics", "float32")
        self.assertEqual(run.stdout, "unknown\n", run.stderr)
        self.assertIn("; the bounds at one point are too wide to decide", run.stderr)
        self.assertNotIn("more time", run.stderr)
        self.assertNotIn("assay split", run.stderr)
        commands = re.findall(r"^  assay verify .*? (--semantics .*)   \(", run.stderr, re.M)
        self.assertEqual([word.split()[-1] for word in commands], ["30", "real"], run.stderr)

    def test_an_undecided_comparison_of_scores_names_both(self):
        """Y_0 - Y_1 is 1e-7 everywhere, which takes millions of splits to prove."""
        self.write("scores.onnx", onnx_files.model(
            [onnx_files.node("Gemm", ["x", "w", "b"], ["z"], "first"), onnx_files.node("Sigmoid", ["z"], ["h"], "hidden"), onnx_files.node("Gemm", ["h", "v", "c"], ["y"], "last")],
            [onnx_files.value_info("x", [1, 2])], [onnx_files.value_info("y", [1, 2])],
            [onnx_files.tensor("w", [2, 2], [1, 1, 0.5, 0.5]), onnx_files.tensor("b", [2], [0.25, 0.25]), onnx_files.tensor("v", [2, 2], [1, -1, -1, 1]),
             onnx_files.tensor("c", [2], [0, -1e-7])]))
        self.write("scores.vnnlib", (BOX.replace("(declare-const Y_0 Real)", "(declare-const Y_0 Real)\n(declare-const Y_1 Real)") + "(assert (<= Y_0 Y_1))").encode())
        run = self.run_assay("verify", self.at("scores.onnx"), self.at("scores.vnnlib"), "--timeout", "0.5")
        self.assertEqual((run.stdout, run.returncode), ("timed-out\n", 0), run.stderr)
        self.assertIn("\nnot excluded: case 0, Y_0 <= Y_1: output 1 may reach output 0\n", run.stderr)

    def test_a_timeout_tells_what_a_signal_tells(self):
        run = self.run_assay("verify", *self.hard, "--timeout", "1.2", "--json=" + self.at("report"))
        self.assertEqual((run.stdout, run.returncode), ("timed-out\n", 0), run.stderr)
        told = r"timed out after \d+\.\d s; [a-z ]+, (\d+) branches closed, (\d+) open, worst bound -?\d\S*; the limit of 1.2 s ended the search\b"
        self.assertRegex(run.stderr, "UNDECIDED: " + told)
        report = json.loads(self.read("report"))
        closed, opened = (int(word) for word in re.match(told, report["reason"]).groups())
        self.assertEqual((report["progress"]["closed"], report["progress"]["open"]), (closed, opened))
        self.assertIsInstance(report["progress"]["worst_bound"]["value"], float)
        left = report["unfinished"]
        self.assertTrue(0 <= left["closed_share"]["value"] < 1, left)
        self.assertTrue(left["cases"] and {one["case"] for one in left["cases"]} <= set(range(report["statement"]["cases"])), left)
        self.assertTrue(all(one["bound"]["value"] <= 0 for one in left["cases"]), left)
        self.assertRegex(run.stderr, r"\nclosed: \S+ % of the tree(, about \S+ s more at the latest pace, which tends to fall)?; undecided: case \d \(bound -")
        self.assertEqual(left["seconds_left"] is not None, "at the latest pace" in run.stderr)
        self.assertRegex(run.stderr, r"\nnot excluded: case \d, -?[\w. +]+ [<>]=? [\w. +-]+\ntried: \d+ steps? of attack, \d+ nodes? of branch and bound")
        commands = re.findall(r"^  (assay (?:verify|split) .*)   \(", run.stderr, re.M)
        self.assertEqual([word.split()[1] for word in commands], ["verify", "verify", "verify", "split"], run.stderr)
        self.assertEqual([" --branching relu" in word for word in commands], [False, True, False, False], "inputs were split")
        page = re.search("\nmore ways: (.*docs/how-to/unknown.md)\n", run.stderr)[1]
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
        self.assertTrue(os.path.isfile(page) or not os.path.realpath(BIN).startswith(root + os.sep), page)
        split = self.run_assay(*commands[3].split()[1:-1], self.at("next_cubes"), "--timeout", "1")  # as printed, into a folder of this test
        self.assertIn(split.returncode, (0, 3), split.stderr)
        neurons = self.run_assay("verify", *self.hard, "--timeout", "0.4", "--branching", "relu").stderr
        self.assertRegex(neurons, r"next, one of:\n  assay verify \S+ \S+ --branching input --timeout 60   \(boxes are split in place of neurons\)\n")
        if left["seconds_left"] is not None:
            self.assertTrue(0 < left["seconds_left"] <= 10 * report["statistics"]["wall_seconds"], report)
        self.assertNotIn("progress", json.loads(self.run_assay("verify", self.at("net.onnx"), self.at("holds.vnnlib"), "--json").stdout))

    def test_a_second_signal_ends_at_once(self):
        _, _, status, seconds = self.interrupted("adjoint", "--all", signals=(signal.SIGINT, signal.SIGINT))
        self.assertEqual(status, 3)
        self.assertLess(seconds, 0.3 + GIFT)
        _, _, status, seconds = self.interrupted("verify", *self.hard, "--proof", self.at("none"), signals=(signal.SIGTERM, signal.SIGINT))
        self.assertLess(seconds, 0.3 + GIFT)
        self.assert_tidy()

    def test_ignored_signals_stay_ignored(self):
        run = subprocess.Popen(["nohup", os.path.join(BIN, "assay"), "verify", *self.hard, "--timeout", "1"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
        time.sleep(0.5)
        run.send_signal(signal.SIGHUP)
        self.assertEqual((run.communicate()[0], run.returncode), ("timed-out\n", 0))

    def test_gates_and_lists_end_undecided(self):
        self.write("wide.onnx", onnx_files.wide_layers())
        line = "net.onnx,holds.vnnlib,proof\n"
        self.write("list", (line * 200000).encode())
        for words, word in ((("adjoint", "--all"), "undecided"), (("probe", "--all"), "undecided"), (("check", "--list", self.at("list")), "undecided"),
                            (("gradcheck", self.at("wide.onnx")), "undecided")):
            out, err, status, seconds = self.interrupted(*words)
            self.assertEqual(status, 3, (words, out[-500:], err[-500:]))
            self.assertIn(word, out, words)
            self.assertIn("SIGINT (Ctrl-C) after", out + err, words)
            self.assertLess(seconds, SECOND + GIFT, words)
            out, err, status, seconds = self.interrupted(*words, "--json", signals=(signal.SIGTERM,))
            self.assertEqual(status, 3, words)
            self.assertIn("SIGTERM after", out, words)
            self.assertIsInstance(json.loads(out), dict)

    def test_adjoint_says_at_any_time_that_it_was_interrupted(self):
        for tenths in range(1, 4):  # between two ops, too
            out, _, status, _ = self.interrupted("adjoint", "--all", "--json", after=tenths / 10)
            cases = [case for op in json.loads(out)["ops"] for case in op["cases"]]
            self.assertEqual((status, cases[-1]["rejection"]["code"]), (3, "cli.interrupted"), tenths)

    def test_bounds_print_what_they_have(self):
        self.write("wide.onnx", onnx_files.wide_layers(depth=6 * onnx_files.DEPTH))  # fast machines take 0.3 s for DEPTH layers
        self.write("wide.vnnlib", onnx_files.wide_property().encode())
        words = ("bounds", self.at("wide.onnx"), self.at("wide.vnnlib"), "--timeout", "0")
        out, err, status, seconds = self.interrupted(*words, after=0.9)
        self.assertEqual(status, 3, err)
        self.assertLess(seconds, SECOND + GIFT)
        self.assertIn("group 0", out)
        self.assertIn("SIGINT (Ctrl-C) after", err)
        out, err, status, _ = self.interrupted(*words, "--json", after=0.9)
        report = json.loads(out)
        self.assertEqual((status, report["rejection"]["code"]), (3, "cli.interrupted"))
        self.assertTrue(report["groups"][0]["nodes"])


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    BIN = sys.argv.pop(1)
    unittest.main()
