#!/usr/bin/env python3
"""No network with a planted counterexample is ever called `unsat`, and no forged certificate says so.

    python3 tests/soundness/soundness_test.py BIN FOLDER

FOLDER keeps the networks of planted.py between runs, which are trained where it has none of this version. Prints "skipped" without the packages torch and onnx.
"""
import collections
import concurrent.futures
import hashlib
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from fractions import Fraction

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))
from certificate_files import with_digest

SECONDS = "1"  # of a search; undecided passes, too
BIN = FOLDER = pathlib.Path(".")


def trained():
    """The folder of the networks of this version of planted.py."""
    version = hashlib.sha256((HERE / "planted.py").read_bytes()).hexdigest()[:16]
    folder = FOLDER / version
    if not folder.exists():
        beside = FOLDER / f"{version}.{os.getpid()}"
        subprocess.run([sys.executable, "-B", "-W", "ignore", HERE / "planted.py", beside], check=True, stdout=subprocess.DEVNULL)
        try:
            beside.rename(folder)
        except OSError:  # somebody else was faster
            shutil.rmtree(beside)
    return folder


def program(name, *words):
    return subprocess.run([str(BIN / name), *map(str, words)], capture_output=True, text=True, timeout=120, check=False)


class Planted(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.models = sorted(trained().glob("*.onnx"))
        cls.pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)

    @classmethod
    def tearDownClass(cls):
        cls.pool.shutdown()
        cls.temporary.cleanup()

    def test_there_are_twenty_networks_of_five_architectures_and_most_are_hidden(self):
        kinds = collections.Counter(model.stem.rpartition("_")[0] for model in self.models)
        self.assertEqual((len(kinds), min(kinds.values())), (5, 4), kinds)
        shares = [json.loads(model.with_suffix(".json").read_text())["attacked"] for model in self.models]
        print(f"\ngradient ascent from 64 points finds no violation in {shares.count(0)} of {len(shares)} networks", flush=True)
        self.assertGreaterEqual(2 * shares.count(0), len(shares), "the training hides the points")

    def test_the_planted_points_violate_exactly(self):
        def violates(model):
            point = json.loads(model.with_suffix(".json").read_text())["point"]
            bounds = [line.split() for line in model.with_suffix(".vnnlib").read_text().splitlines() if line.startswith("(assert (>= X_") or line.startswith("(assert (<= X_")]
            for _, comparison, name, number in bounds:
                value, end = Fraction(point[int(name[2:])]), Fraction(number.rstrip(")"))
                if not (value >= end if comparison == "(>=" else value <= end):
                    return f"{name} lies outside"
            values = self.folder / f"{model.stem}.json"
            values.write_text('{"inputs": {"x": [%s]}}' % ", ".join(point))
            done = program("assay", "eval", model, values, "--json")
            scores = json.loads(done.stdout)["outputs"]["y"]
            low, high = scores["lo"][1], scores["hi"][0]  # of the unsafe score and of the label's, proved
            return "" if low >= high else f"{low} < {high}"

        for model, wrong in zip(self.models, self.pool.map(violates, self.models)):
            self.assertEqual(wrong, "", model.stem)

    def test_verify_never_says_unsat(self):
        def answer(model, *options):
            proof = self.folder / f"{model.stem}{len(options)}.assay"
            done = program("assay", "verify", model, model.with_suffix(".vnnlib"), "--timeout", SECONDS, "--threads", 1, "--proof", proof, *options)
            word = done.stdout.split("\n")[0]
            if word == "sat" and program("assay-check", model, model.with_suffix(".vnnlib"), proof).returncode != 0:
                word = "sat without an accepted certificate"
            return word

        for options in ((), ("--no-attack",)):  # without it bounds and splits alone decide
            answers = list(self.pool.map(lambda model, options=options: answer(model, *options), self.models))
            print(f"\nanswers{' '.join(('',) + options)}: {dict(collections.Counter(answers))}", flush=True)
            for model, word in zip(self.models, answers):
                self.assertIn(word, ("sat", "unknown", "timed-out"), model.stem)

    def test_forged_certificates_are_refused(self):
        """Proofs of what holds, under the header of what does not."""
        def accepted(model):
            statement = self.folder / f"{model.stem}.statement"
            program("assay", "statement", model, model.with_suffix(".vnnlib"), "--out", statement, "--json=" + str(self.folder / f"{model.stem}.digest"))
            digest = bytes.fromhex(json.loads((self.folder / f"{model.stem}.digest").read_text())["digest"])
            found = []
            for easier in ("easy", "small"):
                true = self.folder / f"{model.stem}.{easier}"
                done = program("assay", "verify", model, model.with_suffix(f".{easier}.vnnlib"), "--timeout", "10", "--threads", 1, "--proof", true)
                if done.stdout != "unsat\n":
                    found.append(f"{easier}: {done.stdout.split(chr(10))[0]}, there is nothing to forge")
                    continue
                forged = self.folder / f"{model.stem}.{easier}.forged"
                forged.write_bytes(with_digest(true.read_bytes(), digest))
                for words in ((model, model.with_suffix(".vnnlib"), forged), (statement, forged), (model, model.with_suffix(".vnnlib"), forged, "--exact")):
                    done = program("assay-check", *words)
                    if done.returncode != 1 or not done.stdout.startswith("rejected") or "certificate.digest" in done.stderr + done.stdout:
                        found.append(f"{easier}: {done.returncode} {done.stdout[:100]}{done.stderr[:100]}")
            return found

        for model, found in zip(self.models, self.pool.map(accepted, self.models)):
            self.assertEqual(found, [], model.stem)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    FOLDER, BIN = pathlib.Path(sys.argv.pop(2)), pathlib.Path(sys.argv.pop(1))
    missing = [name for name in ("torch", "onnx") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"skipped: no package {', '.join(missing)}")
        sys.exit(0)
    FOLDER.mkdir(parents=True, exist_ok=True)
    unittest.main()
