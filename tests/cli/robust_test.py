"""Data sets in every format, and the folder of a run under faults. Usage: robust_test.py BIN_DIRECTORY"""
import array
import gzip
import hashlib
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import time
from fractions import Fraction

import onnx_files
import runs
from runs import BIN, COUNT, Case, DATA, IMAGES, LABELS, MODEL, assay, npy, png


class Vacuous(Case):
    def test_a_region_without_a_number_of_the_format_is_not_certified(self):
        x = self.write("x.npy", npy(array.array("d", [0.1] * 64).tobytes(), "<f8", (1, 64)))
        done = assay("robust", MODEL, x, "--labels", "0", "--eps", "0", "--semantics", "float32", "--stream", "-q", "--each")
        line = json.loads(done.stdout.splitlines()[0])
        self.assertEqual((line["answer"], "vacuous" in line.get("reason", "")), ("undecided", True), line)


    def test_a_vacuous_certificate_in_a_run_is_rejected(self):
        x = self.write("x.npy", npy(array.array("d", [0.1] * 64).tobytes(), "<f8", (1, 64)))
        run, properties, proof = self.folder / "run", self.folder / "properties", self.folder / "proof.assay"
        assay("robust", MODEL, x, "--labels", "0", "--eps", "0", "--semantics", "float32", "--run", run, "--properties", properties, "-q")
        prop, = properties.glob("*.vnnlib")
        self.assertIn("vacuous: the input box", assay("verify", MODEL, prop, "--semantics", "float32", "--proof", proof, "-q").stdout)
        digest = hashlib.sha256(proof.read_bytes()).hexdigest()
        (run / "certificates" / digest[:2]).mkdir(parents=True)
        shutil.copy(proof, run / "certificates" / digest[:2] / f"{digest}.assay")
        line = json.loads((run / "results.jsonl").read_text())
        line.update(answer="certified", certificate=digest, bytes=proof.stat().st_size)
        del line["reason"]
        (run / "results.jsonl").write_text(json.dumps(line) + "\n")
        done = assay("check", run)
        self.assertEqual((done.returncode, "the certificate is vacuous: the input box" in done.stdout), (1, True), done.stdout + done.stderr)

    def test_an_item_outside_of_the_clip_has_no_ball(self):
        """Pixels from 0 to 16 beside --clip 0,1: the box would not hold the item."""
        x = self.write("x.npy", npy(array.array("d", [16.0] * 64).tobytes(), "<f8", (1, 64)))
        for norm in ("linf", "l2", "l1"):
            done = assay("robust", MODEL, x, "--labels", "0", "--eps", "0.02", "--clip", "0,1", "--norm", norm, "--stream", "-q")
            line = json.loads(done.stdout.splitlines()[0])
            self.assertEqual((line["answer"], "within the radius of --clip" in line.get("reason", "")), ("undecided", True), line)
        done = assay("robust", MODEL, x, "--labels", "0", "--eps", "0.02", "--clip", "0,1", "--require", 1, "-q")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("0 of 1 are certified, 1 are undecided; the search for 1 of these ended before the limit", done.stderr)
        self.assertNotIn("longer --timeout", done.stderr)
        near = self.write("near.npy", npy(array.array("d", [1.01] * 64).tobytes(), "<f8", (1, 64)))
        done = assay("robust", MODEL, near, "--eps", "0.02", "--clip", "0,1", "--stream", "-q")
        self.assertNotIn("--clip", json.loads(done.stdout.splitlines()[0]).get("reason", ""))


    def outside(self, pixels, more=()):
        """The first digit with these pixels, as a file, and the lines of a run on it."""
        image = [*pixels, *IMAGES[0][len(pixels):]]
        data = self.write("outside.npy", npy(array.array("d", image).tobytes(), "<f8", (1, 64)))
        run = self.folder / f"run{len(os.listdir(self.folder))}"
        done = assay("robust", MODEL, data, "--labels", LABELS[0], "--clip", "0,1", "--run", run, "-q", *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return run, {one["eps"]: one for one in self.results(run)}

    def test_a_ball_that_does_not_meet_the_clip_follows_from_no_larger_one(self):
        """Each coordinate is near enough, and together they are not: the distance is 0.0141 in l2, and 0.02 in l1."""
        for norm, empty, full in (("l2", "0.012", "0.015"), ("l1", "0.019", "0.021"), ("linf", "0.009", "0.011")):
            run, lines = self.outside([-0.01, -0.01], ("--eps", f"{empty},{full}", "--norm", norm))
            self.assertEqual([lines[eps]["answer"] for eps in (empty, full)], ["undecided", "certified"], lines)
            self.assertIn("within the radius of --clip", lines[empty]["reason"])
            self.assertIn(f"radius {empty}: 0 certified, 0 falsified, 1 undecided, of 1", assay("check", run).stdout)
            forged = {**{key: value for key, value in lines[empty].items() if key != "reason"}, "answer": "certified", "follows_from": full}
            (run / "results.jsonl").write_text("".join(json.dumps(one) + "\n" for one in (lines[full], forged)))
            done = assay("check", run)
            self.assertEqual((done.returncode, "within the radius of --clip" in done.stdout), (1, True), done.stdout)

    def test_a_float_ball_between_two_numbers_follows_from_no_larger_one(self):
        _, lines = self.outside([0.1], ("--eps", "0,0.001", "--semantics", "float32"))
        self.assertEqual([lines[eps]["answer"] for eps in ("0", "0.001")], ["undecided", "certified"], lines)

    def test_an_item_outside_of_the_clip_has_no_largest_radius(self):
        run, lines = self.outside([-0.01], ("--eps", "0.05", "--largest", "0.01"))
        self.assertEqual({one["answer"] for one in lines.values()}, {"undecided"})
        self.assertIn("item 0: 0 (undecided at 0.01)\n", assay("check", run).stdout)

    def test_an_item_outside_of_its_ball_is_classified_itself(self):
        """The class is the sign of x. Every point of the ball has the label, and the item, which is none of these, has not."""
        model = self.write("sign.onnx", onnx_files.model(
            [onnx_files.node("Gemm", ["x", "w"], ["y"], "sign")], [onnx_files.value_info("x", [1, 1])], [onnx_files.value_info("y", [1, 2])],
            [onnx_files.tensor("w", [1, 2], [1, -1])]))
        data = self.write("x.npy", npy(array.array("d", [-0.25]).tobytes(), "<f8", (1, 1)))
        run = self.folder / "run"
        done = assay("robust", model, data, "--labels", "0", "--eps", "0.5", "--clip", "0.125,1", "--run", run, "-q")
        line, = self.results(run)
        self.assertEqual((line["answer"], line["correct"], "not classified as labelled itself" in line["reason"]), ("undecided", False, True), done.stdout)


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

    def test_colours(self):
        """PNG, HWC, CHW and CIFAR-10 are the same items for a model of [1, 3, H, W], mean and deviation by channel."""
        count, side = 3, 32
        draw = random.Random(5)
        weights = [draw.gauss(0, 0.02) for _ in range(3 * side * side * 2)]
        model = self.write("c.onnx", onnx_files.model(
            [onnx_files.node("Flatten", ["x"], ["f"], "f"), onnx_files.node("MatMul", ["f", "w"], ["y"], "m")],
            [onnx_files.value_info("x", [1, 3, side, side])], [onnx_files.value_info("y", [1, 2])],
            [onnx_files.tensor("w", [3 * side * side, 2], weights)]))
        items = [[[[draw.randrange(256) for _ in range(side)] for _ in range(side)] for _ in range(3)] for _ in range(count)]
        chw = bytes(v for item in items for plane in item for row in plane for v in row)
        hwc = bytes(items[n][c][y][x] for n in range(count) for y in range(side) for x in range(side) for c in range(3))
        size = 3 * side * side
        for n in range(count):
            self.write(f"png/{n}.png", png(hwc[n * size:(n + 1) * size], side, side, colour=2))
        deep = bytes(part for v in hwc[:size] for part in (v, v))  # v * 257 of 65535 is v of 255
        self.write("deep/0.png", png(deep, side, side, depth=16, colour=2))
        labels, tables = ",".join("0" * count), []
        for data in (self.write("chw.npy", npy(chw, "|u1", (count, 3, side, side))), self.write("hwc.npy", npy(hwc, "|u1", (count, side, side, 3))),
                     str(self.folder / "png"), self.write("data.bin", b"".join(b"\0" + chw[n * size:(n + 1) * size] for n in range(count))),
                     str(self.folder / "deep")):
            done = assay("robust", model, data, "--labels", labels if "deep" not in data else "0", "--eps", "1/255", "--mean", "0.4,1/2,0.3", "--std", "0.2,1/4,0.3",
                         "--stream", "-q", "--run", self.folder / f"run{len(tables)}", "--jobs", 1)
            self.assertEqual(done.returncode, 0, done.stderr)
            tables.append([json.loads(line)["statement"] for line in done.stdout.splitlines()])
        self.assertEqual(len(set(tables[0])), count)
        self.assertEqual([tables[0]] * 4, tables[:4])
        self.assertEqual(tables[4], tables[0][:1])

    def test_bent_files_are_read_or_refused(self):
        draw = random.Random(7)
        image = bytes(draw.randrange(256) for _ in range(64))
        header = json.dumps({"x": {"dtype": "U8", "shape": [1, 64], "data_offsets": [0, 64]}}).encode()
        files = {"b.npy": npy(image, "|u1", (1, 64)), "b.idx": b"\0\0\x08\x02" + struct.pack(">II", 1, 64) + image, "b.png": png(image, 8, 8),
                 "b.npz": pathlib.Path(DATA).read_bytes(), "b.gz": gzip.compress(npy(image, "|u1", (1, 64)), mtime=0),
                 "b.safetensors": struct.pack("<Q", len(header)) + header + image, "b.csv": b"1,2,3\n4,5,6\n"}
        for name, content in files.items():
            for turn in range(25):
                bent = bytearray(content)
                for _ in range(draw.randrange(1, 4)):
                    bent[draw.randrange(min(len(bent), 200) if draw.random() < 0.7 else len(bent))] = draw.randrange(256)
                if turn % 5 == 4:
                    del bent[draw.randrange(len(bent)):]
                done = assay("robust", MODEL, self.write(name, bytes(bent)), "--eps", "0.001", "--first", 1, "-q", "--timeout", "5", "--jobs", 1)
                self.assertIn(done.returncode, (0, 4), (name, turn, done.stderr))

    def test_balls_of_other_norms(self):
        """What is certified in a box is in the l2 ball inside of it, and what is there in the l1 ball inside of that; witnesses lie in the balls; runs are checked, and one
        on another norm is another run."""
        words = ["robust", MODEL, DATA, "--clip", "0,1", "--first", 24, "--each", "-q", "--timeout", "20", "--eps"]
        box = assay(*words, "0.03,0.1,0.4", "--run", self.folder / "linf")
        self.assertEqual(box.returncode, 0, box.stderr)
        outer = {(one["item"], one["eps"]): one["answer"] for one in self.results(self.folder / "linf")}
        for norm, radii, sphere, far in (("l2", "0.03,0.1,0.4,2", " 0.16))", " 0.17))"), ("l1", "0.03,0.1,0.4,1,12", None, None)):
            run, folder = self.folder / norm, self.folder / (norm + "-properties")
            folder.mkdir()
            done = assay(*words, radii, "--norm", norm, "--run", run)
            self.assertEqual(done.returncode, 0, done.stderr)
            results = {(one["item"], one["eps"]): one for one in self.results(run)}
            for item in range(24):  # every answer is a proof of its own: none contradicts another
                proofs = [results[item, eps]["answer"] for eps in radii.split(",")]
                self.assertNotIn("certified", proofs[proofs.index("falsified"):])
            for key, answer in outer.items():
                self.assertTrue(answer != "certified" or results[key]["answer"] == "certified", (norm, key))
            certified = {eps: sum(one["answer"] == "certified" for (_, e), one in results.items() if e == eps) for eps in radii.split(",")}
            self.assertGreater(certified["0.4"], 10)
            self.assertEqual(certified[radii.split(",")[-1]], 0)
            self.assertEqual(assay("check", run, "--properties", folder).returncode, 0)
            self.assertEqual(assay(*words, radii, "--run", run, "--resume").returncode, 4)
            proved = [one["certificate"] for one in results.values() if one["answer"] == "certified" and one["eps"] == "0.4"]
            certificate = run / "certificates" / proved[0][:2] / (proved[0] + ".assay")
            if norm == "l2":
                text = (folder / (proved[0] + ".vnnlib")).read_text()
                places = [[MODEL, folder / (proved[0] + ".vnnlib")]], [[MODEL, self.write("wider.vnnlib", text.replace(sphere, far).encode())]]
            else:
                places = [[folder / (proved[0] + ".statement")]], [[folder / (other + ".statement")] for other in proved[1:3]]
            for files, code in [(one, 0) for one in places[0]] + [(one, 1) for one in places[1]]:
                done = subprocess.run(list(map(str, [BIN / "assay-check", *files, certificate])), capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, code, done.stdout[:200] + done.stderr[:200])
            outer = {key: one["answer"] for key, one in results.items()}
            done = assay(*words, "0.1", "--norm", norm, "--semantics", "float32", "--run", self.folder / (norm + "-float"))
            self.assertEqual(done.returncode, 4)
            self.assertIn("robust.norm", done.stderr)

    def test_the_octahedron_by_hand(self):
        """sum of std |X - centre| <= eps: middles in float32, and the radius has what that moves."""
        data, run, folder = self.write("x.npy", npy(bytes([8, 16] + 62 * [0]), "|u1", (1, 64))), self.folder / "run", self.folder / "statements"
        folder.mkdir()
        done = assay("robust", MODEL, data, "--labels", "3", "--eps", "1/3", "--scale", "1/16", "--mean", "1/7", "--std", "2/3", "--norm", "l1", "--run", run, "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(assay("check", run, "--properties", folder).returncode, 0)
        digest = self.results(run)[0]["certificate"]
        done = subprocess.run([str(BIN / "assay-check"), str(folder / (digest + ".statement")), str(run / "certificates" / digest[:2] / (digest + ".assay"))],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        row = re.search(r"(2/3 \|X_0 .*?) <= (\S+)", done.stdout)
        magnitudes = re.findall(r"2/3 \|X_(\d+) ([-+]) (\S+)\|", row.group(1))
        self.assertEqual([int(i) for i, _, _ in magnitudes], list(range(64)))
        moved = Fraction(0)
        for i, sign, size in magnitudes:
            middle = Fraction(size) * (1 if sign == "-" else -1)
            centre = (Fraction([8, 16][int(i)] if int(i) < 2 else 0) / 16 - Fraction("1/7")) / Fraction("2/3")
            self.assertEqual(struct.unpack("<f", struct.pack("<f", float(middle)))[0], middle)
            self.assertLess(abs(centre - middle), Fraction(1, 2**23))
            moved += Fraction("2/3") * abs(centre - middle)
        self.assertEqual(Fraction("1/3") + moved, Fraction(row.group(2)))

    def test_the_ball_by_hand(self):
        """sum of (std (X - centre))^2 <= eps^2 in decimals that hold all of it."""
        data, run, folder = self.write("x.npy", npy(bytes([8, 16] + 62 * [0]), "|u1", (1, 64))), self.folder / "run", self.folder / "properties"
        folder.mkdir()
        done = assay("robust", MODEL, data, "--labels", "3", "--eps", "1/3", "--scale", "1/16", "--mean", "1/7", "--std", "2/3", "--norm", "l2", "--run", run, "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(assay("check", run, "--properties", folder).returncode, 0)
        text = next(folder.iterdir()).read_text()
        squares = re.findall(r"\(\* (\S+) \(- X_(\d+) (\S+)\) \(- X_\2 \3\)\)", text)
        radius = Fraction(re.search(r" 0\) (\S+)\)\)\n", text).group(1))
        self.assertEqual([int(i) for _, i, _ in squares], list(range(64)))
        std, moved = Fraction("2/3"), Fraction(0)
        for weight, i, middle in squares:
            centre = (Fraction([8, 16][int(i)] if int(i) < 2 else 0) / 16 - Fraction("1/7")) / std
            self.assertTrue(0 <= std * std - Fraction(weight) < Fraction(1, 10**29))
            moved += std * abs(centre - Fraction(middle))
        self.assertTrue((Fraction("1/3") + moved) ** 2 <= radius < Fraction("1/9") + Fraction(1, 10**26))

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
        told = assay("robust", MODEL, DATA, "--eps", "0.09", "--largest", "0.01", "--clip", "0,1", "--first", 10, "--run", self.folder / "b", "--resume", "-q").stdout
        wrong = {one["item"] for one in json.loads(done.stdout)["largest"] if not one["correct"]}
        self.assertEqual({int(item) for item in re.findall(r"(?m)^item (\d+): 0 \(not classified as labelled\)$", told)}, wrong)
        self.assertEqual(len(re.findall(r"(?m)^item \d+: 0\.\d+ \((?:falsified|undecided) at 0\.\d+\)$|^item \d+: 0\.09 \(the largest radius to try\)$", told)), 10 - len(wrong), told)
        self.assertRegex(told, r"\n10 items, %d of them classified as labelled \(.* %%\), \d+ with a certified radius above 0; median radius 0\.\d+\n$" % (10 - len(wrong)))

    def test_a_missing_radius_is_told_what_it_is_for(self):
        done = assay("robust", MODEL, DATA, "--largest", "0.01")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, "^assay: assay robust needs --eps: radii of the balls, .*; with --largest, the largest radius to try\n")

    def test_require(self):
        for share, code in ((0.5, 0), (0.99, 1)):
            self.assertEqual(assay("robust", MODEL, DATA, "--eps", "0.02", "--first", 60, "--require", share).returncode, code)
        self.assertEqual(assay("robust", MODEL, DATA, "--eps", "0.02", "--items", "0", "--require", "nan").returncode, 2)
        # 7 of 25 items are 0.28 of them, though 25 times the double nearest 0.28 is more than 7
        labels = ",".join(str(label if i <= 7 else (label + 1) % 10) for i, label in enumerate(LABELS))
        run = self.folder / "shares"
        for words in (["robust", MODEL, DATA, "--eps", 0, "--first", 25, "--labels", labels, "--run", run, "-q"], ["check", run]):
            for share, code in ((0.28, 0), (0.29, 1)):
                done = assay(*words, *(["--resume"] if share == 0.29 and words[0] == "robust" else []), "--require", share)
                self.assertEqual(done.returncode, code, done.stdout + done.stderr)

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


if __name__ == "__main__":
    runs.main()
