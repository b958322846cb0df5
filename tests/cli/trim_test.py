"""Certificates that are made cheaper to check: `assay trim`. Usage: trim_test.py BIN_DIRECTORY"""
import json
import subprocess

import runs
from certificate_files import frame
from runs import BIN, Case, DIGITS, IMAGES, LABELS, MODEL, assay

ITEM, EPS = 11, 0.11  # of the digits, one whose proof takes some splits


def check(model, property_file, certificate):
    """-> the first word."""
    done = subprocess.run([str(BIN / "assay-check"), str(model), str(property_file), str(certificate)], capture_output=True, text=True,
                          check=False, timeout=300)
    return done.stdout.split("\n")[0]


def box_of(pixels, label):
    """The property that no point around the picture has another class."""
    lines = [f"(declare-const X_{i} Real)" for i in range(64)] + [f"(declare-const Y_{k} Real)" for k in range(10)]
    for i, x in enumerate(pixels):
        lines += [f"(assert (>= X_{i} {max(0.0, x - EPS):.6f}))", f"(assert (<= X_{i} {min(1.0, x + EPS):.6f}))"]
    others = " ".join(f"(and (>= Y_{k} Y_{label}))" for k in range(10) if k != label)
    return "\n".join([*lines, f"(assert (or {others}))"]) + "\n"


class Trim(Case):
    @classmethod
    def setUpClass(cls):
        cls.shared = runs.tempfile.TemporaryDirectory()
        cls.base = runs.pathlib.Path(cls.shared.name)
        cls.hard = cls.base / "hard.vnnlib"
        cls.hard.write_text(box_of(IMAGES[ITEM], LABELS[ITEM]))
        cls.easy, cls.fails = DIGITS / "digits_holds.vnnlib", DIGITS / "digits_fails.vnnlib"
        cls.proofs = {}
        for statement, answer in ((cls.easy, "unsat"), (cls.hard, "unsat"), (cls.fails, "sat")):
            proof = cls.base / (statement.stem + ".proof")
            done = assay("verify", MODEL, statement, "--proof", proof, "--threads", 1)
            assert (done.returncode, done.stdout.split("\n")[0]) == (0, answer), done.stdout[:100] + done.stderr[:200]
            cls.proofs[statement] = proof

    @classmethod
    def tearDownClass(cls):
        cls.shared.cleanup()

    def trim(self, statement, proof=None, *words):
        """-> the first word, the report, the file."""
        out, report = self.folder / "trimmed", self.folder / "trim.json"
        done = assay("trim", MODEL, statement, proof or self.proofs[statement], "-o", out, f"--json={report}", *words)
        self.assertIn(done.returncode, (0, 1, 3, 4), done.stderr[:300])
        return done.stdout.split("\n")[0], json.loads(report.read_text()) if done.returncode == 0 else done, out

    def test_less_is_left_and_accepted(self):
        for statement in (self.easy, self.hard):
            word, report, out = self.trim(statement)
            self.assertEqual((word, report["answer"], report["trimmed"]), ("trimmed", "unsat", True), report["reason"][:300])
            self.assertEqual(check(MODEL, statement, out), "accepted")
            self.assertEqual((report["bytes_before"], report["bytes_after"]), (self.proofs[statement].stat().st_size, out.stat().st_size))
            self.assertLessEqual(report["bytes_after"], report["bytes_before"])
            self.assertLess(report["work_after"], report["work_before"])
            self.assertLessEqual(report["elements_after"], report["elements_before"])

    def test_trimming_again_makes_nothing_worse(self):
        first = self.trim(self.hard)[2]
        kept = self.folder / "first"
        kept.write_bytes(first.read_bytes())
        word, report, out = self.trim(self.hard, kept)
        self.assertLessEqual(report["bytes_after"], kept.stat().st_size)
        self.assertLessEqual(report["work_after"], report["work_before"])
        if word == "copied":
            self.assertEqual(out.read_bytes(), kept.read_bytes())
        self.assertEqual(check(MODEL, self.hard, out), "accepted")

    def test_it_proves_its_own_statement_only(self):
        out = self.trim(self.hard)[2]
        self.assertEqual(check(MODEL, self.easy, out), "rejected")
        word, done, _ = self.trim(self.easy, self.proofs[self.hard])
        self.assertEqual((word, done.returncode), ("", 1))
        self.assertIn("[certificate.digest]", done.stderr)

    def test_a_witness_is_copied(self):
        word, report, out = self.trim(self.fails)
        self.assertEqual((word, report["answer"], report["trimmed"]), ("copied", "sat", False))
        self.assertIn("witness", report["reason"])
        self.assertEqual(out.read_bytes(), self.proofs[self.fails].read_bytes())

    def test_what_is_not_accepted_is_not_trimmed(self):
        proof = self.proofs[self.hard].read_bytes()
        head = proof[:6 + 32 + 1 + proof[38] + 4]
        empty_group = head + frame(1, b"\x01\x00\x02") + frame(2, b"\x01")
        for name, bent, code in (("cut", proof[:-1], 4), ("bent", proof[:200] + b"\xff" + proof[201:], 4), ("open", empty_group, 1)):
            path = self.write(name, bent)
            (self.folder / "trimmed").unlink(missing_ok=True)
            word, done, out = self.trim(self.hard, path)
            self.assertEqual((word, done.returncode), ("", code), name + done.stderr[:300])
            self.assertFalse(out.exists())

    def test_a_split_goes_where_the_steps_behind_it_do(self):
        proof = self.proofs[self.easy].read_bytes()
        size = 6 + 32 + 1 + proof[38] + 4
        payload = proof[size + 2:-(4 + 7)] if proof[size + 1] < 128 else proof[size + 3:-(4 + 7)]
        records = payload[:-1]  # without end_group
        split = b"\x0a\x00\x00"  # of the first input, at 0
        branch = records[2:]
        twice = records[:2] + split + branch + b"\x0d" + branch + b"\x0e" + branch + b"\x02"
        path = self.write("twice", proof[:size] + frame(1, twice) + frame(2, b"\x01"))
        self.assertEqual(check(MODEL, self.easy, path), "accepted")
        word, report, out = self.trim(self.easy, path)
        self.assertEqual((word, report["trimmed"], report["splits_dropped"]), ("trimmed", True, 1))
        self.assertLess(len(out.read_bytes()), len(proof) + 10)
        self.assertEqual(check(MODEL, self.easy, out), "accepted")

    def test_time_that_is_up_leaves_a_copy(self):
        word, report, out = self.trim(self.hard, None, "--timeout", "1e-6")
        self.assertEqual((word, report["trimmed"]), ("copied", False))
        self.assertEqual(out.read_bytes(), self.proofs[self.hard].read_bytes())

    def verify(self, statement, *words):
        """-> what ran, the report, the file."""
        proof, report = self.folder / "verified", self.folder / "verify.json"
        done = assay("verify", MODEL, statement, "--proof", proof, "--threads", 1, f"--json={report}", *words)
        return done, json.loads(report.read_text()), proof

    def test_verify_trims_what_it_wrote(self):
        for statement in (self.easy, self.hard):
            done, report, proof = self.verify(statement, "--trim=60")
            self.assertEqual((done.returncode, done.stdout.split("\n")[0], report["trim"]["trimmed"]), (0, "unsat", True), report["trim"]["reason"][:300])
            self.assertEqual(check(MODEL, statement, proof), "accepted")
            self.assertEqual(report["proof"]["bytes"], proof.stat().st_size)
            self.assertLess(report["proof"]["bytes"], report["trim"]["bytes_before"])

    def test_verify_keeps_what_there_was_no_time_for(self):
        for words in (("--trim=0",), ("--trim", "--expect", "unsat"), ("--trim=1e-3", "--timeout", 30)):
            done, report, proof = self.verify(self.hard, *words)
            self.assertEqual((done.returncode, report["answer"]), (0, "unsat"))
            self.assertEqual(check(MODEL, self.hard, proof), "accepted")
            if words == ("--trim=0",):
                self.assertFalse(report["trim"]["trimmed"])
                self.assertEqual(proof.read_bytes(), self.proofs[self.hard].read_bytes())
        done, report, proof = self.verify(self.hard, "--trim", "--expect", "sat")
        self.assertEqual(done.returncode, 1)
        done, report, proof = self.verify(self.fails, "--trim")
        self.assertEqual((done.returncode, report["answer"], report.get("trim")), (0, "sat", None))

    def test_verify_trims_nothing_without_a_file(self):
        done = assay("verify", MODEL, self.easy, "--trim")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("--proof", done.stderr[:300])
        for time in ("soon", "-1"):
            self.assertEqual(assay("verify", MODEL, self.easy, "--proof", self.folder / "p", f"--trim={time}").returncode, 2)
        done = assay("verify", MODEL, self.easy, "--proof", "/dev/null", "--trim")
        self.assertEqual((done.returncode, done.stdout.split("\n")[0]), (0, "unsat"), done.stderr[:300])

    def test_usage(self):
        for words in ((MODEL, self.easy), (MODEL, self.easy, self.proofs[self.easy]), (MODEL, self.easy, self.proofs[self.easy], "-o", "x", "--timeout", "0")):
            self.assertEqual(assay("trim", *words).returncode, 2)
        done = assay("trim", MODEL, self.easy, self.proofs[self.easy], "-o", self.folder / "none" / "out")
        self.assertEqual(done.returncode, 3, done.stderr[:300])
        self.assertIn("trim.write", done.stderr)


if __name__ == "__main__":
    runs.main()
