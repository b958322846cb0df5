"""Runs whose certificates are in one file. Usage: packs_test.py BIN_DIRECTORY"""
import json
import shutil
import struct

import runs
from runs import Case, DATA, MODEL, assay

WORDS = ("robust", MODEL, DATA, "--eps", "0.02,0.08", "--clip", "0,1", "--each", "-q")


class Packs(Case):
    def setUp(self):
        super().setUp()
        self.run_folder, self.pack = self.folder / "run", self.folder / "run" / "certificates.pack"
        done = assay(*WORDS, "--first", 12, "--run", self.run_folder, "--pack", "--json")
        self.assertEqual(done.returncode, 0, done.stderr[:300])
        self.report = json.loads(done.stdout)

    def files(self):
        return list(self.run_folder.glob("certificates/*/*"))

    def check(self, folder=None):
        done = assay("check", folder or self.run_folder, "--json")
        found = json.loads(done.stdout)
        return done.returncode, found["verdict"], found["accepted"]

    def test_the_same_certificates_in_one_file(self):
        plain = self.folder / "plain"
        self.assertEqual(assay(*WORDS, "--first", 12, "--run", plain).returncode, 0)
        self.assertEqual((self.files(), self.check()), ([], self.check(plain)))
        self.assertEqual(self.table(self.run_folder), self.table(plain))
        content, names = self.pack.read_bytes(), {one["certificate"] for one in self.results(self.run_folder)}
        self.assertEqual(self.report["pack"], {"certificates": len(names), "bytes": len(content)})
        self.assertEqual(struct.unpack("<Q", content[-16:-8])[0], len(names))
        index = [content[i:i + 48] for i in range(len(content) - 16 - 48 * len(names), len(content) - 16, 48)]
        self.assertEqual([entry[:32].hex() for entry in index], sorted(names))
        for entry in index:
            offset, length = struct.unpack("<QQ", entry[32:])
            file = plain / "certificates" / entry.hex()[:2] / (entry[:32].hex() + ".assay")
            self.assertEqual(content[offset:offset + length], file.read_bytes())
        self.assertEqual(assay("report", self.run_folder, "-o", self.folder / "page.html").returncode, 0)

    def test_a_run_that_goes_on_adds_to_its_pack(self):
        part = self.folder / "part"
        self.assertEqual(assay(*WORDS, "--first", 24, "--part", "1/1", "--run", part, "--pack").returncode, 0)
        lines = (part / "results.jsonl").read_text().splitlines(keepends=True)
        (part / "results.jsonl").write_text("".join(lines[:20]))  # as if it had been killed
        self.assertEqual(assay(*WORDS, "--first", 24, "--part", "1/1", "--run", part, "--resume").returncode, 0)
        self.assertGreater(len(list(part.glob("certificates/*/*"))), 0)  # beside the pack
        self.assertEqual(self.check(part)[:2], (0, "accepted"))
        self.assertEqual(assay(*WORDS, "--first", 24, "--part", "1/1", "--run", part, "--resume", "--pack").returncode, 0)
        self.assertEqual((list(part.glob("certificates/*/*")), self.check(part)[:2]), ([], (0, "accepted")))
        whole = self.folder / "whole"
        self.assertEqual(assay("gather", whole, part).returncode, 0)  # out of a pack
        self.assertEqual(self.check(whole), self.check(part))

    def test_damage(self):
        content = self.pack.read_bytes()
        count = struct.unpack("<Q", content[-16:-8])[0]
        first = len(content) - 16 - 48 * count
        whole = self.check()[2]

        def expect(changed, least_lost, most_lost, word="declined"):
            self.pack.write_bytes(changed)
            code, verdict, accepted = self.check()
            self.assertEqual((code, verdict), (4, word))
            self.assertTrue(least_lost <= whole - accepted <= most_lost, accepted)

        expect(content[:100] + bytes([content[100] ^ 1]) + content[101:], 1, 2, "rejected")
        expect(content[:first + 40] + struct.pack("<Q", 2**63) + content[first + 48:], 1, 2)  # a length beyond the file
        expect(content[:first + 32] + struct.pack("<Q", 2**64 - 1) + content[first + 40:], 1, 2)
        expect(content[:-16] + struct.pack("<Q", 2**60) + content[-8:], whole, whole)
        expect(content[:-1], whole, whole)
        expect(b"", whole, whole)
        self.pack.write_bytes(content[:-1])
        done = assay(*WORDS, "--first", 12, "--run", self.run_folder, "--resume", "--pack")
        self.assertEqual((done.returncode, "store.pack" in done.stderr, self.pack.read_bytes() == content[:-1]), (4, True, True), done.stderr[:300])
        self.pack.write_bytes(content)
        self.assertEqual(self.check()[:2], (0, "accepted"))

    def test_entries_that_are_damaged_or_share_their_bytes(self):
        """What is written again holds what could be read, once, and is no larger."""
        content = self.pack.read_bytes()
        count = struct.unpack("<Q", content[-16:-8])[0]
        first = len(content) - 16 - 48 * count
        index = [content[i:i + 48] for i in range(first, len(content) - 16, 48)]
        again = (*WORDS, "--first", 12, "--run", self.run_folder, "--resume", "--pack")
        self.pack.write_bytes(content[:first] + b"".join(entry for entry in index for _ in range(3)) + struct.pack("<Q", 3 * count) + content[-8:])
        self.assertEqual(assay(*again).returncode, 0)
        self.assertEqual((len(self.pack.read_bytes()), self.check()[:2]), (len(content), (0, "accepted")))
        beyond = index[0][:40] + struct.pack("<Q", 2**63)
        self.pack.write_bytes(content[:first] + beyond + b"".join(index[1:]) + content[-16:])
        self.assertEqual(self.check()[:2], (4, "declined"))
        self.assertEqual(assay(*again).returncode, 0)  # decides again what cannot be read
        self.assertEqual((struct.unpack("<Q", self.pack.read_bytes()[-16:-8])[0], self.check()[:2]), (count, (0, "accepted")))

    def test_a_damaged_file_is_made_again(self):
        plain = self.folder / "plain"
        self.assertEqual(assay(*WORDS, "--first", 12, "--run", plain).returncode, 0)
        victim = sorted(plain.glob("certificates/*/*"))[3]
        victim.write_bytes(victim.read_bytes()[:-1])
        self.assertEqual(assay(*WORDS, "--first", 12, "--run", plain, "--resume", "--pack").returncode, 0)
        self.assertEqual(list(plain.glob("certificates/*/*")), [])
        self.assertEqual(self.check(plain)[:2], (0, "accepted"))

    def test_wrong_use(self):
        done = assay(*WORDS, "--pack")
        self.assertEqual((done.returncode, "--pack" in done.stderr), (2, True), done.stderr[:300])
        shutil.rmtree(self.run_folder / "certificates", ignore_errors=True)
        self.assertEqual(self.check()[:2], (0, "accepted"))


if __name__ == "__main__":
    runs.main()
