"""One proof on many machines: split, solve, merge. Usage: cubes_test.py BIN_DIRECTORY"""
import json
import shutil
import subprocess

import runs
from certificate_files import with_digest, with_records
from onnx_files import varint
from runs import BIN, Case, DATA, DIGITS, MODEL, assay

ITEM, EPS, NODES = 11, "0.12", 397  # of the digits, one whose proof takes so many nodes


def check(*files):
    done = subprocess.run([str(BIN / "assay-check"), *map(str, files)], capture_output=True, text=True, check=False, timeout=300)
    return done.returncode, done.stdout.split("\n")[0], done.stderr


def make_property(folder):
    """-> the property of the item, as a run states it."""
    run = folder / "run"
    done = assay("robust", MODEL, DATA, "--eps", EPS, "--clip", "0,1", "--first", ITEM + 1, "--run", run, "-q")
    assert done.returncode == 0, done.stderr[:300]
    (folder / "properties").mkdir()
    done = assay("check", run, "--properties", folder / "properties")
    assert done.returncode == 0, done.stdout[-200:] + done.stderr[:300]
    one = next(json.loads(line) for line in (run / "results.jsonl").read_text().splitlines() if json.loads(line)["item"] == ITEM)
    assert one["nodes"] > NODES / 3, one["nodes"]
    return folder / "properties" / (one["certificate"] + ".vnnlib")


class Cubes(Case):
    @classmethod
    def setUpClass(cls):
        cls.shared = runs.tempfile.TemporaryDirectory()
        cls.base = runs.pathlib.Path(cls.shared.name)
        cls.property = make_property(cls.base)
        cls.split = cls.base / "cubes"
        done = assay("split", MODEL, cls.property, "--into", 6, "-o", cls.split, "--threads", 1)
        assert (done.returncode, done.stdout) == (0, "split\n"), done.stdout + done.stderr[:300]
        cls.cubes = sorted(cls.split.glob("*.cube"))
        for cube in cls.cubes:
            done = assay("solve", cube, "--threads", 1)
            assert (done.returncode, done.stdout) == (0, "closed\n"), done.stdout + done.stderr[:300]

    @classmethod
    def tearDownClass(cls):
        cls.shared.cleanup()

    def setUp(self):
        super().setUp()
        self.parts = [shutil.copy(cube.with_suffix(".part"), self.folder) for cube in self.cubes]
        self.out = self.folder / "whole.assay"

    def merge(self, *parts, split=None):
        return assay("merge", split or self.split, *parts, "-o", self.out)

    def refused(self, exit_code, code, name, *parts):
        done = self.merge(*parts)
        self.assertEqual(done.returncode, exit_code, (done.stdout + done.stderr)[:300])
        self.assertIn(code, done.stderr)
        self.assertIn(str(name), done.stderr)
        self.assertFalse(self.out.exists())

    def test_a_merged_certificate_is_as_any_other(self):
        self.assertGreaterEqual(len(self.cubes), 6)
        done = self.merge(*reversed(self.parts))
        self.assertEqual((done.returncode, done.stdout), (0, "unsat\n"), done.stderr[:300])
        for words in ((), ("--exact",)):
            self.assertEqual(check(*words, MODEL, self.property, self.out)[:2], (0, "accepted"))
        again = self.folder / "again.assay"
        self.assertEqual(assay("merge", self.split, "-o", again).returncode, 0)  # its own *.part
        self.assertEqual(again.read_bytes(), self.out.read_bytes())

    def test_nothing_but_the_whole_is_a_certificate(self):
        """The root, a cube and a part are refused by the checker: each for its own reason."""
        for file, code, expected in ((self.split / "root.assay", "certificate.open", 1), (self.cubes[0], "certificate.structure", 4),
                                     (self.parts[0], "certificate.digest", 1)):
            exit_code, word, error = check(MODEL, self.property, file)
            self.assertEqual((exit_code, word, code in error), (expected, "rejected", True), error[:300])

    def test_a_missing_part(self):
        self.refused(3, "join.missing", self.cubes[2], *self.parts[:2], *self.parts[3:])

    def test_a_part_that_is_there_twice(self):
        twice = shutil.copy(self.parts[1], self.folder / "twice.part")
        self.refused(4, "join.duplicate", twice, *self.parts, twice)
        self.refused(4, "join.duplicate", self.parts[0], *self.parts, self.parts[0])

    def test_a_damaged_part(self):
        content = runs.pathlib.Path(self.parts[3]).read_bytes()
        for bad, code in ((content[:-1], "certificate.truncated"), (content[:70] + bytes([content[70] ^ 4]) + content[71:], "certificate.checksum"),
                          (b"", "certificate.truncated"), (content + b"x", "certificate.frame"), (b"{}", "certificate.magic")):
            with self.subTest(code=code, size=len(bad)):
                runs.pathlib.Path(self.parts[3]).write_bytes(bad)
                self.refused(4, code, self.parts[3], *self.parts)

    def test_a_foreign_part(self):
        """Of another split of the same statement, and of the whole statement itself."""
        other = self.folder / "other"
        self.assertEqual(assay("split", MODEL, self.property, "--into", 1, "-o", other).returncode, 0)
        cube = sorted(other.glob("*.cube"))[0]
        self.assertEqual(assay("solve", cube).returncode, 0)
        self.refused(4, "join.foreign", cube.with_suffix(".part"), *self.parts, cube.with_suffix(".part"))
        whole = self.folder / "proof.assay"
        self.assertEqual(assay("verify", MODEL, self.property, "--proof", whole, "-q").returncode, 0)
        self.refused(4, "join.foreign", whole, *self.parts, whole)

    def test_a_part_under_another_cubes_name(self):
        """Whatever its header says, it has to fill the cube's branch."""
        first, second = (runs.pathlib.Path(part).read_bytes() for part in (self.parts[0], self.parts[-1]))
        runs.pathlib.Path(self.parts[0]).write_bytes(with_digest(second, first[6:38]))
        self.refused(4, "join.structure", self.parts[0], *self.parts)
        runs.pathlib.Path(self.parts[0]).write_bytes(first)
        runs.pathlib.Path(self.parts[-1]).write_bytes(with_digest(first, second[6:38]))
        self.refused(4, "join.structure", self.parts[-1], *self.parts)

    def test_a_part_that_proves_nothing(self):
        """Well-formed, in its place, and empty: the kernel refuses what is merged, and the part is named."""
        cube = json.loads((self.split / "split.json").read_text())["cubes"][2]
        way = b"\x01" + varint(cube["group"])
        for one in cube["literals"]:
            self.assertEqual(one["threshold"], 0)
            way += b"\x0a" + varint(one["node"]) + varint(one["element"]) + (b"\x0d" if one["side"] == ">=" else b"")
        back = b"".join(b"\x0e" if one["side"] == ">=" else b"\x0d\x0e" for one in reversed(cube["literals"]))
        part = runs.pathlib.Path(self.parts[2])
        part.write_bytes(with_records(part.read_bytes(), way + back + b"\x02"))
        self.refused(1, "certificate.open", part, *self.parts)
        part.write_bytes(with_records(part.read_bytes(), way + b"\x02" + back))
        self.refused(4, "join.structure", part, *self.parts)

    def test_a_hostile_manifest(self):
        copy = self.folder / "copy"
        shutil.copytree(self.split, copy)
        text = (copy / "split.json").read_text()
        split = json.loads(text)
        for change in ({"cubes": split["cubes"][1:]}, {"cubes": []}, {"statement": "00" * 32}, {"cubes": [{**split["cubes"][0], "after": 10**15}]},
                       {"cubes": [{"sha256": "x"}]}, {"cubes": 5}, {"schema": "x"}):
            with self.subTest(change=str(change)[:60]):
                (copy / "split.json").write_text(json.dumps({**split, **change}))
                done = self.merge(*self.parts, split=copy)
                self.assertIn(done.returncode, (1, 4), done.stderr[:300])
                self.assertFalse(self.out.exists())
        (copy / "split.json").write_text(text)
        (copy / "root.assay").write_bytes((copy / "root.assay").read_bytes()[:-9])
        self.assertEqual(self.merge(*self.parts, split=copy).returncode, 4)

    def test_elsewhere(self):
        """A machine that has copies of the three files and nothing else."""
        for file in (MODEL, self.property, self.cubes[0]):
            shutil.copy(file, self.folder)
        cube, part = self.folder / self.cubes[0].name, self.folder / "elsewhere.part"
        done = assay("solve", cube, "-o", part)
        self.assertEqual((done.returncode, "cubes.split" in done.stderr), (4, True), done.stderr[:300])
        files = ("--model", self.folder / "digits.onnx", "--property", self.folder / self.property.name)
        done = assay("solve", cube, "-o", part, *files, "--json")
        self.assertEqual((done.returncode, json.loads(done.stdout)["answer"]), (0, "closed"), done.stderr[:300])
        self.assertEqual(self.merge(part, *self.parts[1:]).returncode, 0)
        done = assay("solve", cube, "-o", part, "--model", DIGITS / "digits.onnx", "--property", DIGITS / "digits_holds.vnnlib")
        self.assertEqual((done.returncode, "cubes.statement" in done.stderr), (4, True), done.stderr[:300])

    def test_an_end_without_an_answer_leaves_no_part(self):
        part = self.folder / "late.part"
        done = assay("solve", self.cubes[0], "-o", part, "--timeout", "0.000001s")
        self.assertEqual((done.returncode, done.stdout), (3, "timed-out\n"), done.stderr[:300])
        self.assertFalse(part.exists())
        done = assay("split", MODEL, self.property, "-o", self.split)
        self.assertEqual((done.returncode, "cubes.folder" in done.stderr), (4, True), done.stderr[:300])


class Answers(Case):
    def test_what_needs_no_cubes(self):
        for name, answer in (("digits_holds.vnnlib", "unsat"), ("digits_fails.vnnlib", "sat")):
            cubes, out = self.folder / name, self.folder / (name + ".assay")
            done = assay("split", MODEL, DIGITS / name, "-o", cubes)
            self.assertEqual((done.returncode, done.stdout), (0, answer + "\n"), done.stderr[:300])
            done = assay("merge", cubes, "-o", out)
            self.assertEqual((done.returncode, done.stdout), (0, answer + "\n"), done.stderr[:300])
            self.assertEqual(check(MODEL, DIGITS / name, out)[:2], (0, "accepted"))


if __name__ == "__main__":
    runs.main()
