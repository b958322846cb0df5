"""Runs: data sets in every format, the folder of a run under faults, and the check of it. Usage: robust_test.py BIN_DIRECTORY"""
import array
import gzip
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile
import zlib
from fractions import Fraction

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = pathlib.Path(sys.argv[1]) if __name__ == "__main__" else ROOT / "build" / "release" / "bin"
DIGITS = ROOT / "examples" / "digits"
MODEL, DATA = str(DIGITS / "digits.onnx"), str(DIGITS / "digits_test.npz")


def assay(*words, **options):
    return subprocess.run([str(BIN / "assay"), *map(str, words)], capture_output=True, text=True, check=False, timeout=300, **options)


def npy(content, kind, shape, fortran=False):
    text = f"{{'descr': '{kind}', 'fortran_order': {fortran}, 'shape': {shape!r}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + content


def digits():
    """-> images as lists of 64 numbers, labels."""
    with zipfile.ZipFile(DATA) as archive:
        x, y = archive.read("x.npy"), archive.read("y.npy")
    pixels = array.array("f", x[-360 * 64 * 4:])
    return [list(pixels[64 * i:64 * i + 64]) for i in range(360)], list(y[-360:])


IMAGES, LABELS = digits()
COUNT = 6


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(pixels, width, height, depth=8, colour=0, filters=(0, 1, 2, 3, 4)):
    """Filtered by hand: each line with the next filter."""
    step = max(1, depth // 8 * (3 if colour == 2 else 1))
    row = len(pixels) // height
    out, above = bytearray(), bytes(row)
    for y in range(height):
        line, kind = pixels[y * row:(y + 1) * row], filters[y % len(filters)]
        out.append(kind)
        for i, value in enumerate(line):
            a, b, c = (line[i - step] if i >= step else 0), above[i], (above[i - step] if i >= step else 0)
            p = a + b - c
            nearest = min((abs(p - v), k, v) for k, v in enumerate((a, b, c)))[2]
            out.append((value - (0, a, b, (a + b) // 2, nearest)[kind]) & 255)
        above = line
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(out))) + chunk(b"IEND", b"")


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return str(path)

    def results(self, run):
        return [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]

    def table(self, run):
        """Without times: what two runs have to agree on."""
        return {(one["item"], one["eps"]): (one["answer"], one.get("statement")) for one in self.results(run)}


class Formats(Case):
    """Six images in every format are the same statements."""

    def statements(self, data, *options):
        done = assay("robust", MODEL, data, "--eps", "0.02", "--clip", "0,1", "--stream", "--run", self.folder / f"run{len(os.listdir(self.folder))}", "-q",
                     *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = sorted((json.loads(line) for line in done.stdout.splitlines()), key=lambda one: one["item"])
        return [(one["label"], one["statement"]) for one in lines]

    def test_formats(self):
        images, labels = IMAGES[:COUNT], LABELS[:COUNT]
        wanted = self.statements(DATA, "--first", COUNT)
        self.assertEqual([label for label, _ in wanted], labels)
        flat = [value for image in images for value in image]
        sixteenths = bytes(round(16 * value) for value in flat)
        floats, y = array.array("f", flat).tobytes(), self.write("y.npy", npy(array.array("q", labels).tobytes(), "<i8", (COUNT,)))
        x = self.write("x.npy", npy(floats, "<f4", (COUNT, 64)))
        self.assertEqual(self.statements(x, "--labels", y), wanted)
        self.assertEqual(self.statements(x, "--labels", ",".join(map(str, labels))), wanted)
        big = array.array("d", flat)
        big.byteswap()
        big = self.write("big.npy", npy(big.tobytes(), ">f8", (COUNT, 1, 8, 8)))
        self.assertEqual(self.statements(big, "--labels", y), wanted)
        columns = array.array("f", [image[i] for i in range(64) for image in images]).tobytes()
        self.assertEqual(self.statements(self.write("f.npy", npy(columns, "<f4", (COUNT, 64), True)), "--labels", y), wanted)
        idx = b"\0\0\x08\x03" + struct.pack(">III", COUNT, 8, 8) + sixteenths
        idy = self.write("labels.gz", gzip.compress(b"\0\0\x08\x01" + struct.pack(">I", COUNT) + bytes(labels)))
        self.assertEqual(self.statements(self.write("x.gz", gzip.compress(idx)), "--labels", idy, "--scale", "1/16"), wanted)
        table = "\n".join(",".join(map(repr, [label, *image])) for label, image in zip(labels, images))
        self.assertEqual(self.statements(self.write("x.csv", table.encode())), wanted)
        head = ",".join([f"p{i}" for i in range(64)] + ["label"])
        table = "\r\n".join([head] + [",".join(map(repr, [*image, label])) for label, image in zip(labels, images)]) + "\r\n"
        self.assertEqual(self.statements(self.write("h.csv", table.encode())), wanted)
        header = json.dumps({"images": {"dtype": "F32", "shape": [COUNT, 64], "data_offsets": [0, len(floats)]},
                             "labels": {"dtype": "U8", "shape": [COUNT], "data_offsets": [len(floats), len(floats) + COUNT]}}).encode()
        tensors = struct.pack("<Q", len(header)) + header + floats + bytes(labels)
        self.assertEqual(self.statements(self.write("x.safetensors", tensors)), wanted)
        self.assertEqual(self.statements(str(self.folder / "x.safetensors") + ":images", "--labels", str(self.folder / "x.safetensors") + ":labels"), wanted)
        for i, label in enumerate(labels):
            self.write(f"pngs/{label}/{i:02}.png", png(sixteenths[64 * i:64 * i + 64], 8, 8))
        got = self.statements(str(self.folder / "pngs"), "--scale", "1/16")
        self.assertEqual(sorted(got), sorted(wanted))

    def test_the_box_by_hand(self):
        """(clip(v/16 +- eps) - mean) / std: exact decimals where they end, else 30 digits, outward; and assay-check takes the property."""
        data, run, folder = self.write("x.npy", npy(bytes([8, 16] + 62 * [0]), "|u1", (1, 64))), self.folder / "run", self.folder / "properties"
        folder.mkdir()
        for eps, more in (("1/3", ["--mean", "1/2", "--std", "0.3"]), ("0.05", [])):
            shutil.rmtree(run, ignore_errors=True)
            done = assay("robust", MODEL, data, "--labels", "3", "--eps", eps, "--scale", "1/16", "--clip", "0,1", "--run", run, "-q", *more)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(assay("check", run, "--properties", folder).returncode, 0)
            digest = self.results(run)[0]["certificate"]
            property_file = folder / (digest + ".vnnlib")
            ends = re.findall(r"\(assert \(([<>])= X_(\d+) (\S+)\)\)", property_file.read_text())
            self.assertEqual(len(ends), 128)
            mean, std, radius = (Fraction("1/2"), Fraction("0.3"), Fraction(eps)) if more else (Fraction(0), Fraction(1), Fraction(eps))
            for side, i, text in ends:
                pixel = Fraction([8, 16][int(i)] if int(i) < 2 else 0) / 16
                exact = (min(max(pixel + (radius if side == "<" else -radius), 0), 1) - mean) / std
                miss = (Fraction(text) - exact) * (1 if side == "<" else -1)
                self.assertTrue(0 <= miss < Fraction(1, 10**30), (eps, side, i, text))
                self.assertTrue(more or miss == 0)
            certificate = run / "certificates" / digest[:2] / (digest + ".assay")
            done = subprocess.run([str(BIN / "assay-check"), MODEL, str(property_file), str(certificate)], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout.split("\n")[0]), (0, "accepted"), done.stdout + done.stderr)

    def test_refused(self):
        x = self.write("x.npy", npy(array.array("f", [0] * 60).tobytes(), "<f4", (1, 60)))
        wide = self.write("wide.npy", npy(array.array("f", [0] * 128).tobytes(), "<f4", (2, 64)))
        odd = self.write("odd.npy", npy(array.array("f", [float("nan")] * 64).tobytes(), "<f4", (1, 64)))
        cases = [
            ((x,), 4, "robust.shape"), ((wide, "--labels", "1"), 4, "dataset.labels"), ((wide, "--labels", "1,12"), 4, "robust.label"),
            ((self.write("cut.npy", npy(b"abc", "<f4", (1, 64))),), 4, "dataset.npy"), ((self.write("t.txt", b"1,2\n3,x\n"),), 4, "dataset.csv"),
            ((str(self.folder / "none.npy"),), 4, "dataset.open"), ((wide, "--eps", "-1"), 2, "--eps"), ((wide, "--eps", "x"), 2, "--eps"),
            ((wide, "--scale", "0"), 4, "robust.number"), ((wide, "--std", "0"), 4, "robust.number"), ((wide, "--mean", "1,2"), 4, "robust.channels"),
            ((wide, "--clip", "1,0"), 4, "robust.number"), ((wide, "--timeout", "0"), 2, "--timeout"), ((wide, "--resume"), 2, "--resume"),
            ((self.write("z.npz", b"PK\x03\x04" + bytes(40)),), 4, "dataset.zip"), ((self.write("p.png", b"\x89PNG\r\n\x1a\n123"),), 4, "dataset.png"),
        ]
        for words, code, text in cases:
            with self.subTest(words=words):
                done = assay("robust", MODEL, *words, *([] if "--eps" in words else ["--eps", "0.1"]))
                self.assertEqual((done.returncode, text in done.stderr), (code, True), done.stderr)
        done = assay("robust", MODEL, odd, "--labels", "1", "--eps", "0.1", "--json")
        self.assertEqual(done.returncode, 4, done.stderr)


class Runs(Case):
    EPS = ["0.01", "0.03", "0.06", "0.1"]

    def robust(self, run, *more, **options):
        return assay("robust", MODEL, DATA, "--eps", ",".join(self.EPS), "--clip", "0,1", "--run", run, "-q", *more, **options)

    def test_answers_do_not_depend_on_jobs_or_on_what_follows(self):
        tables = []
        for i, more in enumerate([("--jobs", 1), ("--jobs", 3), ("--each",)]):
            self.assertEqual(self.robust(self.folder / str(i), "--first", 40, *more).returncode, 0)
            tables.append({key: answer for key, (answer, _) in self.table(self.folder / str(i)).items()})
            checked = assay("check", self.folder / str(i), "--json", "--jobs", 2)
            self.assertEqual(checked.returncode, 0, checked.stdout)
        self.assertEqual(len(tables[0]), 160)
        self.assertEqual(tables[0], tables[1])
        self.assertEqual(tables[0], tables[2])

    def test_largest_is_the_boundary_of_the_grid(self):
        grid = ",".join(f"0.0{i}" for i in range(1, 10))
        done = assay("robust", MODEL, DATA, "--eps", grid, "--clip", "0,1", "--first", 10, "--run", self.folder / "grid", "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        certified = {i: 0 for i in range(10)}
        for one in self.results(self.folder / "grid"):
            if one["answer"] == "certified":
                certified[one["item"]] = max(certified[one["item"]], float(one["eps"]))
        done = assay("robust", MODEL, DATA, "--eps", "0.09", "--largest", "0.01", "--clip", "0,1", "--first", 10, "--run", self.folder / "b", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({one["item"]: float(one["eps"]) for one in json.loads(done.stdout)["largest"]}, certified)
        self.assertEqual(assay("check", self.folder / "b").returncode, 0)

    def test_require(self):
        for share, code in ((0.5, 0), (0.99, 1)):
            self.assertEqual(assay("robust", MODEL, DATA, "--eps", "0.02", "--first", 60, "--require", share).returncode, code)

    def test_killed_at_any_moment_and_resumed(self):
        whole = self.folder / "whole"
        self.assertEqual(self.robust(whole).returncode, 0)
        wanted, run = self.table(whole), self.folder / "run"
        words = [str(BIN / "assay"), "robust", MODEL, DATA, "--eps", ",".join(self.EPS), "--clip", "0,1", "--run", str(run), "-q"]
        kills, before = 0, 0
        for delay in (0.05, 0.15, 0.1, 0.25, 0.2):
            with subprocess.Popen(words + (["--resume"] if run.exists() else []), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                time.sleep(delay)
                process.send_signal(signal.SIGKILL)
                kills += process.wait() == -signal.SIGKILL
            lines = (run / "results.jsonl").read_text().count("\n") if (run / "results.jsonl").exists() else 0
            self.assertGreaterEqual(lines, before)
            before = lines
        self.assertGreater(kills, 1)
        with open(run / "results.jsonl", "a", encoding="utf-8") as file:
            file.write('{"item":7,"eps":"0.0')  # a torn line
        done = self.robust(run, "--resume")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({k: a for k, (a, _) in self.table(run).items()}, {k: a for k, (a, _) in wanted.items()})
        self.assertEqual(len(self.results(run)), len(wanted))  # nothing twice
        self.assertEqual(assay("check", run, "--jobs", 2).returncode, 0)

    def test_interrupted(self):
        run = self.folder / "run"
        words = [str(BIN / "assay"), "robust", MODEL, DATA, "--eps", ",".join(f"0.{i:03}" for i in range(1, 120)), "--each", "--clip", "0,1", "--run", str(run)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            deadline = time.time() + 60
            while time.time() < deadline and not ((run / "results.jsonl").exists() and (run / "results.jsonl").stat().st_size > 0):
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 3, err)
        self.assertIn("--resume", err)
        self.assertGreater(len(self.results(run)), 0, out)
        checked = assay("check", run)
        self.assertEqual((checked.returncode, checked.stdout.split()[0]), (3, "declined"), checked.stdout[-500:])

    def test_refusals(self):
        run = self.folder / "run"
        self.assertEqual(self.robust(run, "--first", 2).returncode, 0)
        again = self.robust(run, "--first", 2)
        self.assertEqual((again.returncode, "store.exists" in again.stderr), (4, True))
        other = self.robust(run, "--first", 3, "--resume")
        self.assertEqual((other.returncode, "store.other_run" in other.stderr), (4, True))
        import fcntl
        with open(run / "lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            held = self.robust(run, "--first", 2, "--resume")
        self.assertEqual((held.returncode, "store.locked" in held.stderr), (3, True))
        self.assertEqual(self.robust(run, "--first", 2, "--resume").returncode, 0)

    def test_full_disk(self):
        run = self.folder / "run"
        limit = 20_000  # bytes of one file

        def limited():
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        done = self.robust(run, preexec_fn=limited)
        self.assertEqual((done.returncode, "store.write" in done.stderr, "--resume" in done.stderr), (3, True, True), done.stderr)
        text = (run / "results.jsonl").read_text()
        self.assertTrue(text.endswith("}\n"))
        self.assertGreater(len(text), limit // 2)
        self.assertEqual(self.robust(run, "--resume").returncode, 0)
        self.assertEqual(len(self.results(run)), 360 * len(self.EPS))
        self.assertEqual(assay("check", run, "--jobs", 2).returncode, 0)


class Checks(Case):
    def setUp(self):
        super().setUp()
        self.run_folder = self.folder / "run"
        done = assay("robust", MODEL, DATA, "--eps", "0.02,0.08", "--clip", "0,1", "--first", 12, "--run", self.run_folder, "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.lines = self.results(self.run_folder)
        self.own = next(i for i, one in enumerate(self.lines) if one["answer"] == "certified" and "certificate" in one)

    def rewrite(self, change):
        lines = [dict(one) for one in self.lines]
        change(lines)
        (self.run_folder / "results.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))

    def expect(self, code, word, text):
        done = assay("check", self.run_folder)
        self.assertEqual((done.returncode, done.stdout.split("\n")[0]), (code, word), done.stdout + done.stderr)
        self.assertIn(text, done.stdout + done.stderr)

    def test_accepted(self):
        self.expect(0, "accepted", "of 12")
        self.assertEqual(assay("check", self.run_folder, "--exact").returncode, 0)

    def test_another_answer(self):
        self.rewrite(lambda lines: lines[self.own].update(answer="falsified"))
        self.expect(1, "rejected", "a proof of falsified")

    def test_another_radius_item_or_label(self):
        self.rewrite(lambda lines: lines[self.own].update(eps="0.0801"))
        self.expect(1, "rejected", "rejected: line")
        self.rewrite(lambda lines: lines[self.own].update(label=(lines[self.own]["label"] + 1) % 10))
        self.expect(1, "rejected", "rejected: line")
        self.rewrite(lambda lines: lines[self.own].update(item=lines[self.own]["item"] + 1))
        self.expect(1, "rejected", "rejected: line")

    def test_what_does_not_follow(self):
        follower = next(i for i, one in enumerate(self.lines) if "follows_from" in one)
        self.rewrite(lambda lines: lines[follower].update(eps="0.3" if lines[follower]["answer"] == "certified" else "0.001"))
        self.expect(1, "rejected", "does not follow")
        self.rewrite(lambda lines: lines[follower].update(follows_from="0.5"))
        self.expect(4, "declined", "missing: line")

    def test_missing_and_damaged(self):
        digest = self.lines[self.own]["certificate"]
        path = self.run_folder / "certificates" / digest[:2] / (digest + ".assay")
        content = path.read_bytes()
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        self.expect(4, "declined", "damaged: line")
        path.unlink()
        self.expect(4, "declined", "missing: line")
        self.rewrite(lambda lines: lines[self.own].pop("certificate"))
        self.expect(4, "declined", "without a certificate")
        self.rewrite(lambda lines: lines.__delitem__(slice(20, None)))
        with open(self.run_folder / "results.jsonl", "a", encoding="utf-8") as file:
            file.write("not json\n")
        self.expect(4, "declined", "damaged: results.jsonl, line 21")

    def test_a_certificate_of_another_statement(self):
        """Whatever a certificate is renamed to, it shows what it shows."""
        other = next(one for one in self.lines if one.get("certificate") and one["certificate"] != self.lines[self.own]["certificate"]
                     and one["answer"] == "certified")
        self.rewrite(lambda lines: lines[self.own].update(certificate=other["certificate"]))
        self.expect(1, "rejected", "rejected: line")

    def test_hostile_lines(self):
        for line in ({"item": "x", "eps": 3, "answer": []}, {"item": -5, "eps": "1/0", "answer": "certified", "certificate": "../../etc/passwd"},
                     {"item": 10**18, "eps": "0.02", "answer": "certified", "label": 1, "certificate": "0" * 64}, {"item": 0, "eps": "9" * 30000}):
            with self.subTest(line=str(line)[:80]):
                self.rewrite(lambda lines, line=line: lines.append(line))
                self.assertIn(assay("check", self.run_folder).returncode, (1, 4))

    def test_files_that_moved_or_changed(self):
        model, data = self.folder / "m.onnx", self.folder / "d.npz"
        shutil.copy(MODEL, model)
        shutil.copy(DATA, data)
        self.assertEqual(assay("check", self.run_folder, "--model", model, "--data", data).returncode, 0)
        content = bytearray(model.read_bytes())
        content[2000] ^= 1
        model.write_bytes(content)
        done = assay("check", self.run_folder, "--model", model)
        self.assertEqual((done.returncode, "run.digest" in done.stderr), (4, True), done.stderr)

    def test_no_run(self):
        done = assay("check", self.folder)
        self.assertEqual((done.returncode, "store.run" in done.stderr), (4, True), done.stderr)


class Lists(Case):
    def test_batch(self):
        for name in ("digits.onnx", "digits_holds.vnnlib", "digits_fails.vnnlib"):
            shutil.copy(DIGITS / name, self.folder)
        rows = ["digits.onnx,digits_holds.vnnlib,60", '"digits.onnx", digits_fails.vnnlib', "# no instance", ""]
        instances = self.write("instances.csv", "\r\n".join(rows).encode())
        expected = self.write("expected.csv", b"x/digits.onnx,digits_holds.vnnlib.gz,unsat\ndigits.onnx,digits_fails.vnnlib,sat\n")
        run = self.folder / "run"
        done = assay("batch", instances, "--expected", expected, "--run", run, "--json", "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        category = json.loads(done.stdout)["categories"][0]
        self.assertEqual((category["unsat"], category["sat"], len(category["cactus"])), (1, 1, 2))
        self.assertEqual(category["category"], self.folder.name)
        self.assertEqual(assay("check", run).returncode, 0)
        again = assay("batch", instances, "--run", run, "--resume", "-q")
        self.assertEqual((again.returncode, len(self.results(run))), (0, 2), again.stderr)
        wrong = self.write("wrong.csv", b"digits.onnx,digits_holds.vnnlib,sat\n")
        done = assay("batch", instances, "--expected", wrong, "-q")
        self.assertEqual((done.returncode, "not as expected" in done.stderr), (1, True))
        shutil.copy(DIGITS / "digits_fails.vnnlib", self.folder / "digits_holds.vnnlib")  # another file under the same name
        done = assay("check", run)
        self.assertEqual((done.returncode, "run.digest" in done.stdout), (4, True), done.stdout)

    def test_what_cannot_be_read(self):
        bad = self.write("bad.csv", f"{MODEL},none.vnnlib,5\n{MODEL},{DIGITS / 'digits_holds.vnnlib'}\n".encode())
        run = self.folder / "run"
        done = assay("batch", bad, "--run", run, "-q")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(sorted(one["answer"] for one in self.results(run)), ["error", "unsat"])
        self.assertEqual(assay("check", run).returncode, 0)
        for content, code in ((b"", "batch.list"), (b"a\n", "batch.list"), (b"a,b,c\n", "batch.list"), (b"a,b,-1\n", "batch.list"),
                              (b"\"[('f', 'a.onnx')]\",b,1\n", "batch.networks")):
            with self.subTest(content=content):
                done = assay("batch", self.write("l.csv", content))
                self.assertEqual((done.returncode, code in done.stderr), (4, True), done.stderr)
        self.assertEqual(assay("batch", self.folder / "none.csv").returncode, 4)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=1)
