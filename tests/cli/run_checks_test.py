"""The check of a run, and lists of properties. Usage: run_checks_test.py BIN_DIRECTORY"""
import array
import json
import os
import shutil
import struct
import subprocess

import runs
from runs import BIN, Case, DATA, DIGITS, MODEL, assay


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

    def test_classes_are_those_of_model_and_data(self):
        """Whatever the answer of a line is, and whether it has a certificate or follows from another line."""
        follower = next(i for i, one in enumerate(self.lines) if "follows_from" in one)
        for at in (self.own, follower):
            one = self.lines[at]
            for change, text in (({"predicted": (one["predicted"] + 1) % 10}, "expected the class that the model gives the item, "), ({"predicted": "x"}, "predicted none"),
                                 ({"correct": not one["correct"]}, "found its opposite"), ({"correct": 1}, "correct true, since the class is the label"),
                                 ({"label": (one["label"] + 1) % 10, "answer": "undecided"}, f"label {one['label']}")):
                with self.subTest(at=at, change=change):
                    self.rewrite(lambda lines, at=at, change=change: lines[at].update(change))
                    self.expect(1, "rejected", f"rejected: line {at + 1}")
                    self.expect(1, "rejected", text)

    def test_nul_bytes(self):
        self.rewrite(lambda lines: lines[self.own].update(answer="certified\0"))
        self.expect(4, "rejected", "or a text of it has a NUL byte")
        manifest = json.loads((self.run_folder / "run.json").read_text())
        for change in ({"model": MODEL + "\0.onnx"}, {"first\0": 12}, {"eps": ["0.02\0", "0.08"]}):
            (self.run_folder / "run.json").write_text(json.dumps({**manifest, "claim": {**manifest["claim"], **change}}))
            self.expect(4, "", "a run.json with a NUL byte in a name or a text")
        listed = self.write("list.csv", f"{MODEL}\0x,{DIGITS / 'digits_holds.vnnlib'}\n".encode())
        plain = self.write("plain.csv", f"{MODEL},{DIGITS / 'digits_holds.vnnlib'}\n".encode())
        expected = self.write("expected.csv", f"{MODEL},{DIGITS / 'digits_holds.vnnlib'},unsat\0\n".encode())
        certificates = self.write("certificates.csv", f"{MODEL}\0x,{DIGITS / 'digits_holds.vnnlib'},proof.assay\n".encode())
        data = self.write("data.csv", b"a,b\0,label\n1,2,0\n")
        for words in (("batch", listed), ("batch", plain, "--expected", expected), ("check", "--list", certificates), ("robust", MODEL, data, "--eps", "0.1")):
            done = assay(*words)
            self.assertEqual((done.returncode, "NUL" in done.stderr or "\\x00" in done.stderr), (4, True), (words, done.stderr))

    def test_what_does_not_follow(self):
        follower = next(i for i, one in enumerate(self.lines) if "follows_from" in one)
        self.rewrite(lambda lines: lines[follower].update(eps="0.3" if lines[follower]["answer"] == "certified" else "0.001"))
        self.expect(1, "rejected", "a radius that the run asks for")
        self.rewrite(lambda lines: lines[follower].update(answer="falsified" if lines[follower]["answer"] == "certified" else "certified"))
        self.expect(1, "rejected", "does not follow")
        self.rewrite(lambda lines: lines[follower].update(follows_from="0.5"))
        self.expect(4, "declined", f"missing: item {self.lines[follower]['item']}, radius 0.5: no result of this radius was accepted, and line {follower + 1}")

    def test_the_report_says_the_verdict(self):
        page = self.folder / "page.html"
        self.assertIn("verdict accepted", assay("report", self.run_folder, "-o", page).stdout)
        self.assertIn("<p>Question: is each item classified as labelled, and so is every point of its ball?</p>", page.read_text())
        self.rewrite(lambda lines: lines[self.own].update(answer="falsified"))
        self.assertIn("verdict rejected", assay("report", self.run_folder, "-o", page).stdout)

    def test_a_name_that_stands_twice_in_run_json(self):
        manifest = self.run_folder / "run.json"
        manifest.write_text('{"kind": "other", ' + manifest.read_text().lstrip()[1:])
        done = assay("check", self.run_folder)
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        self.assertIn('"kind" twice', done.stdout + done.stderr)

    def test_a_name_that_stands_twice_in_a_line(self):
        results = self.run_folder / "results.jsonl"
        lines = results.read_text().splitlines(keepends=True)
        results.write_text("".join([*lines[:self.own], '{"answer": "falsified", ' + lines[self.own].lstrip()[1:], *lines[self.own + 1:]]))
        self.expect(4, "rejected", f"damaged: results.jsonl, line {self.own + 1}: the line is not JSON, or an object of it has a name twice")

    def certificate(self):
        digest = self.lines[self.own]["certificate"]
        return self.run_folder / "certificates" / digest[:2] / (digest + ".assay")

    def test_certificates_that_are_no_files_or_consist_of_holes(self):
        path = self.certificate()
        with open(path, "r+b") as file:
            file.truncate(2**40)  # the disk holds next to nothing of it
        self.expect(4, "rejected", "cannot be read, or consists of holes")
        path.unlink()
        os.mkfifo(path)
        self.expect(4, "declined", "there is no certificate")
        path.unlink()
        path.symlink_to("/dev/zero")
        self.expect(4, "declined", "there is no certificate")

    def test_a_pack_that_consists_of_holes(self):
        digest = self.lines[self.own]["certificate"]
        self.certificate().unlink()
        with open(self.run_folder / "certificates.pack", "wb") as file:
            file.write(b"ASSAYPK1")
            file.seek(2**40)
            file.write(bytes.fromhex(digest) + struct.pack("<QQQ", 8, 2**40 - 8, 1) + b"ASSAYPK1")
        self.expect(4, "declined", "there is no certificate")

    def test_pipes_and_devices_as_one_certificate(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        files = (str(DIGITS / "digits.onnx"), str(DIGITS / "digits_holds.vnnlib"))
        for certificate, why in ((pipe, "a named pipe"), ("/dev/zero", "a file that starts with ASSAY")):
            for program in ([BIN / "assay", "check"], [BIN / "assay-check"]):
                done = subprocess.run([*program, *files, certificate], capture_output=True, text=True, check=False, timeout=60)
                self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
                self.assertIn(why, done.stderr)

    def test_missing_and_damaged(self):
        path = self.certificate()
        content = path.read_bytes()
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        self.expect(4, "rejected", "damaged: line")
        self.expect(4, "rejected", "has another SHA-256 than its name: its bytes were changed")
        path.unlink()
        self.expect(4, "declined", "missing: line")
        self.rewrite(lambda lines: lines[self.own].pop("certificate"))
        self.expect(4, "declined", "without a certificate")
        self.rewrite(lambda lines: lines.__delitem__(slice(20, None)))
        with open(self.run_folder / "results.jsonl", "a", encoding="utf-8") as file:
            file.write("not json\n")
        self.expect(4, "rejected", "damaged: results.jsonl, line 21")

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

    def test_long_files(self):
        """What is longer than a run writes takes little memory, and is damaged."""
        with open(self.run_folder / "results.jsonl", "r+b") as file:
            file.write(bytes(40 << 20) + b"\n")
        with open(self.folder / "out", "w+", encoding="utf-8") as out:
            process = subprocess.Popen([str(BIN / "assay"), "check", str(self.run_folder)], stdout=out, stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            self.assertEqual((process.returncode, "the line is not JSON" in out.read()), (4, True))
        self.assertLess(usage.ru_maxrss, 350_000)
        os.truncate(self.run_folder / "results.jsonl", 2**40)
        for words in (("check", self.run_folder), ("gather", self.folder / "whole", self.run_folder), ("report", self.run_folder, "-o", self.folder / "page.html")):
            done = assay(*words)
            self.assertEqual((done.returncode, "results.jsonl that consists of holes" in done.stderr), (4, True), done.stderr)
        with open(self.run_folder / "run.json", "r+b") as file:
            file.truncate(3 << 30)
        done = assay("check", self.run_folder)
        self.assertEqual((done.returncode, "64 MiB" in done.stderr), (4, True), done.stderr)

    def test_options_of_other_files_name_what_does_it_for_a_run(self):
        done = assay("check", self.run_folder, "--semantics", "float32:pytorch-cpu")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("a run about float32:pytorch-cpu, which --semantics names, found a run about real arithmetic; make another run", done.stderr)
        for option, instead in (("--statement=full", "--properties FOLDER writes the property"), ("--expect=unsat", "--require SHARE makes the check a gate")):
            done = assay("check", self.run_folder, option)
            self.assertEqual((done.returncode, instead in done.stderr), (2, True), done.stderr)

    def test_no_run(self):
        done = assay("check", self.folder)
        self.assertEqual((done.returncode, "store.run" in done.stderr), (4, True), done.stderr)
        shutil.copy(self.certificate(), self.folder / "loose.assay")
        done = assay("check", self.folder)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("certificates of no run: 1; check each with `assay check MODEL PROPERTY CERTIFICATE`, or all with --list FILE", done.stderr)
        done = assay("check", self.folder / "loose.assay", self.certificate())
        self.assertEqual((done.returncode, "expected a statement file, found a certificate" in done.stderr), (4, True), done.stderr)

    def test_a_run_of_which_a_file_is_lost(self):
        results, manifest = self.run_folder / "results.jsonl", self.run_folder / "run.json"
        text, claim = results.read_text(), manifest.read_text()
        results.write_text(text[:-5])
        self.expect(3, "declined", "not there: 1 result of 24 that the claim asks for; the last line of results.jsonl is cut off\n"
                    "next: if you received the folder, ask for it again; if the run is yours, `assay robust` with its arguments and --resume")
        self.expect(3, "declined", f"without a result: item {self.lines[-1]['item']}, radius {self.lines[-1]['eps']}\n")
        self.expect(3, "declined", "0 undecided, 1 without an accepted result, of 12\n")
        words = ("robust", MODEL, DATA, "--eps", "0.02,0.08", "--clip", "0,1", "--run", self.run_folder, "--resume", "-q")
        self.assertIn("a run with first 11, as this command asks, found one with first 12 in its run.json", assay(*words, "--first", 11).stderr)
        results.unlink()
        self.expect(4, "", "run.json without a results.jsonl that can be read; copy the folder again")
        results.write_text(text)
        manifest.write_text(claim[:100])
        self.expect(4, "", "a run.json that is cut off or no JSON; copy the folder again; or move run.json away")
        manifest.unlink()
        self.expect(4, "", "results.jsonl without run.json, which says what was asked; copy the folder again")
        self.assertEqual(assay(*words, "--first", 12).returncode, 0)
        self.expect(0, "accepted", "24 results: ")


class Asked(Case):
    """Which question a run answered: with labels, an item that is misclassified counts apart; without, no label is spoken of."""

    def both(self, *words):
        """-> what `assay robust` and `assay check` print."""
        run = self.folder / f"run{len(list(self.folder.iterdir()))}"
        done, check = assay("robust", MODEL, *words, "--clip", "0,1", "--first", 20, "--run", run, "-q"), assay("check", run)
        self.assertEqual((done.returncode, check.returncode), (0, 0), done.stderr + check.stdout)
        return done.stdout, check.stdout, json.loads((run / "run.json").read_text())

    def test_with_labels(self):
        told, checked, manifest = self.both(DATA, "--eps", "0.02,0.05")
        question = "is each item classified as labelled, and so is every point of its ball?"
        self.assertTrue(told.startswith(f"question: {question}\n20 items, 19 of them classified as labelled (95.0 %)\n"), told)
        self.assertRegex(told, r"(?m)^0\.05 +17 +3 \(1\) +0  85\.0 %$")
        self.assertIn(f"question: {question}\n", checked)
        self.assertIn("radius 0.02: 18 certified, 2 falsified (1 misclassified), 0 undecided, of 20\n", checked)
        self.assertEqual((manifest["question"], manifest["notes"]), (question, ["data: labels are those of the file itself, under the name y"]))
        run = next(self.folder.iterdir())
        (run / "run.json").write_text(json.dumps({**manifest, "question": "without labels: another one?"}))
        self.assertIn(f"question: {question}\n", assay("check", run).stdout)  # of the data, whatever the folder says

    def test_without_labels(self):
        items = self.write("x.npy", runs.npy(array.array("d", [value for image in runs.IMAGES[:20] for value in image]).tobytes(), "<f8", (20, 64)))
        told, checked, manifest = self.both(items, "--eps", "0.02")
        question = "question: without labels: does every point of an item's ball get the class that the model gives the item?\n"
        self.assertTrue(told.startswith(question + "20 items\n"), told)
        self.assertNotIn("classified", told + checked)
        self.assertIn(question, checked)
        told, checked, _ = self.both(items, "--eps", "0.05", "--largest", "0.025")
        self.assertNotIn("classified", told + checked)

    def test_the_largest_radii_that_were_checked(self):
        told, checked, _ = self.both(DATA, "--eps", "0.1", "--largest", "0.02")
        self.assertIn("not classified as labelled", told)
        self.assertIn(told, checked)  # what the run prints, from what was accepted
        run = next(self.folder.iterdir())
        lines = self.results(run)
        kept = [one for one in lines if one["item"] != 4 and (one["item"], one["eps"]) != (0, "0.1")]
        (run / "results.jsonl").write_text("".join(json.dumps(one) + "\n" for one in kept))
        checked = assay("check", run).stdout
        self.assertIn("item 4: 0 (without a result at 0.06)\n", checked)
        self.assertIn("item 0: 0.06 (without a result at 0.1)\n", checked)
        self.assertEqual(json.loads(assay("check", run, "--json").stdout)["largest"][4], {"item": 4, "eps": "0", "correct": True})

    def test_an_item_is_classified_as_labelled_by_the_model_alone(self):
        """An undecided line says nothing about the class, nor does an item without lines: the check computes it."""
        run = self.folder / "run"
        self.assertEqual(assay("robust", MODEL, DATA, "--eps", "0.02", "--largest", "0.02", "--first", 20, "--run", run, "-q").returncode, 0)
        lines = self.results(run)
        wrong = next(one["item"] for one in lines if not one["correct"])
        undecided = [{**{k: v for k, v in one.items() if k != "certificate"}, "answer": "undecided"} if one["item"] == wrong else one for one in lines]
        for kept, word in ((undecided, "0.02 is undecided"), ([one for one in lines if one["item"] != wrong], "no line")):
            (run / "results.jsonl").write_text("".join(json.dumps(one) + "\n" for one in kept))
            told = assay("check", run).stdout
            self.assertIn(f"item {wrong}: 0 (not classified as labelled)\n", told, word)
            self.assertIn("20 items, 19 of them classified as labelled (95.0 %)", told, word)

    def test_radii_of_largest_count_every_item(self):
        """Bisection asks for a radius of few items; the answers at other radii decide the others."""
        run = self.folder / "run"
        told = json.loads(assay("robust", MODEL, DATA, "--eps", "0.1", "--largest", "0.01", "--clip", "0,1", "--first", 20, "--run", run, "--json", "-q").stdout)
        checked = json.loads(assay("check", run, "--json").stdout)
        radii = {one["item"]: float(one["eps"]) for one in told["largest"]}
        self.assertEqual(told["largest"], checked["largest"])
        self.assertGreater(len(told["radii"]), 3)
        for one, other in zip(told["radii"], checked["counts"]):
            self.assertEqual((one["certified"], one["certified"] + one["falsified"] + one["undecided"]), (sum(radius >= float(one["eps"]) for radius in radii.values()), 20))
            self.assertEqual([one[name] for name in ("eps", "certified", "falsified", "misclassified", "undecided")],
                             [other[name] for name in ("name", "proved", "refuted", "misclassified", "undecided")])

    def test_a_check_of_a_stored_run_is_a_gate(self):
        """`accepted` says nothing about the share: a run that refutes every item is accepted, too."""
        told, _, _ = self.both(DATA, "--eps", "0.02,0.05")
        run = next(self.folder.iterdir())
        for share, code in ((0.85, 0), (0.9, 1), (1, 1)):
            done = assay("check", run, "--require", share, "--json")
            self.assertEqual((done.returncode, json.loads(done.stdout)["verdict"]), (code, "accepted"), done.stderr)
            self.assertEqual("assay check: --require is not met at radius 0.05: 17 of 20 are certified\n" in done.stderr, code == 1, done.stderr)
        lines = self.results(run)
        item = next(one["item"] for one in lines if one["answer"] == "certified")
        open_ = [one | {"answer": "undecided", "reason": "timed out"} if one["item"] == item else one for one in lines]
        (run / "results.jsonl").write_text("".join(json.dumps({k: v for k, v in one.items() if one["answer"] != "undecided" or k not in ("certificate", "follows_from")}) + "\n" for one in open_))
        done = assay("check", run, "--require", 0.85)
        self.assertEqual((done.returncode, "16 of 20 are certified, 1 are undecided\n" in done.stderr), (3, True), done.stdout + done.stderr)
        largest = self.folder / "largest"
        self.assertEqual(assay("robust", MODEL, DATA, "--eps", "0.05", "--largest", "0.05", "--first", 1, "--run", largest, "-q").returncode, 0)
        done = assay("check", largest, "--require", 0.5)
        self.assertEqual((done.returncode, "a run with --largest" in done.stderr), (2, True), done.stderr)

    def test_what_is_undecided_says_why_and_what_to_do(self):
        words = ("robust", MODEL, DATA, "--eps", "0.05", "--first", 8, "--timeout", "0.000001", "-q")
        told = assay(*words).stdout
        self.assertRegex(told, r"\nundecided: \d, because: timed out\nnext: the same command with a longer --timeout; with --run FOLDER")
        self.assertIn("--timeout and --resume --retry-undecided, which", assay(*words, "--run", self.folder / "run").stdout)


class Lists(Case):
    def expect_by_folders(self):
        """Files of one name in two folders are two questions: each has its own answer, and a line about one says nothing of the other."""
        lists = []
        for name, source in (("one", "digits_holds.vnnlib"), ("two", "digits_fails.vnnlib")):
            (self.folder / name).mkdir()
            shutil.copy(DIGITS / "digits.onnx", self.folder / name)
            shutil.copy(DIGITS / source, self.folder / name / "p.vnnlib")
            lists.append(self.write(f"{name}/list.csv", b"digits.onnx,p.vnnlib\n"))
        line = "{0}/digits.onnx,{0}/p.vnnlib,{1}\n".format
        for lines, code in ((line("one", "unsat") + line("./two", "sat"), 0), (line("one", "unsat"), 0), (line("one", "unsat") + line("two", "unsat"), 1),
                            (line("two", "unsat"), 1), ("digits.onnx,p.vnnlib,unsat\n", 1), (line("three", "unsat"), 4), (line(self.folder / "two", "sat"), 0)):
            done = assay("batch", *lists, "--expected", self.write("folders.csv", lines.encode()), "-q")
            self.assertEqual(done.returncode, code, lines + done.stderr)

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
        for line, word in (("digits.onnx,digits_fails.vnnlib,UNSAT", "sat or unsat"), ("digits.onnx,digits_fails.vnnlib,holds", "sat or unsat"),
                           ("digits.onnx,digits_fails.vnnlib,unknown", "sat or unsat"), ("nope.onnx,nope.vnnlib,sat", "of the lists"),
                           ("digits.onnx,digits_fails.vnnlib,sat\ndigits.onnx,digits_fails.vnnlib,unsat", "line 2")):
            done = assay("batch", instances, "--expected", self.write("none.csv", f"{line}\n".encode()), "-q")
            self.assertEqual((done.returncode, "batch.list" in done.stderr, word in done.stderr), (4, True, True), (line, done.stderr))
        self.expect_by_folders()
        content = (DIGITS / "digits_holds.vnnlib").read_text() + "\n(assert (<= X_0 -9))\n"
        self.write("vacuous.vnnlib", content.encode())
        vacuous = self.write("list.csv", b"digits.onnx,vacuous.vnnlib,60\n")
        wanted = self.write("wanted.csv", b"digits.onnx,vacuous.vnnlib,unsat\n")
        for more, code in ((["--expected", wanted], 1), (["--expected", wanted, "--allow-vacuous"], 0), ([], 0)):
            done = assay("batch", vacuous, "-q", "--json", *more)
            self.assertEqual((done.returncode, "unsat is vacuous, since the input box of the property is empty" in done.stderr), (code, True), done.stderr)
            self.assertEqual(len(json.loads(done.stdout)["vacuous"]), 1)
        self.assertEqual(assay("batch", vacuous, "--run", self.folder / "told", "-q").returncode, 0)
        self.assertEqual(assay("batch", vacuous, "--run", self.folder / "told", "--resume", "-q").returncode, 0)
        for more, code in (((), 1), (("--allow-vacuous",), 0)):
            done = assay("check", self.folder / "told", *more)
            self.assertEqual((done.returncode, "the certificate is vacuous: the input box of the property is empty; mend the property" in done.stdout), (code, code == 1), done.stdout)
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


class Selections(Case):
    WORDS = ("robust", MODEL, DATA, "--eps", "0.02,0.08", "--clip", "0,1", "-q")

    def test_items(self):
        run = self.folder / "run"
        done = assay(*self.WORDS, "--items", "3,7,10-12,7", "--run", run)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted({one["item"] for one in self.results(run)}), [3, 7, 10, 11, 12])
        done = assay("check", run)
        self.assertEqual((done.returncode, "only 5 of 360 items" in done.stdout), (0, True), done.stdout)
        parts = [self.folder / str(i) for i in (1, 2)]
        for part in parts:
            self.assertEqual(assay(*self.WORDS, "--items", "3,7,10-12", "--part", part.name + "/2", "--run", part).returncode, 0)
        self.assertEqual(sorted({one["item"] for one in self.results(parts[1])}), [7, 11])
        self.assertEqual(assay("gather", self.folder / "both", *parts).returncode, 0)
        self.assertEqual(assay("check", self.folder / "both").returncode, 0)
        done = assay(*self.WORDS, "--items", "3", "--part", "2/2", "--require", "0.9")
        self.assertEqual(done.returncode, 3, done.stdout)  # nothing was asked
        for items in ("x", "3-", "5-3", "360", "3,,4", "-1", "18446744073709551616"):
            done = assay(*self.WORDS, "--items", items)
            self.assertEqual((done.returncode, "--items" in done.stderr), (2, True), done.stderr)

    def test_what_is_undecided_is_tried_again_and_handed_on(self):
        run, folder = self.folder / "run", self.folder / "a/new/folder"
        done = assay(*self.WORDS, "--first", 8, "--timeout", "0.000001", "--run", run, "--properties", folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        undecided = [one for one in self.results(run) if one["answer"] == "undecided"]
        self.assertGreater(len(undecided), 0)
        self.assertEqual(assay("check", run).returncode, 0)
        files = {one.name for one in folder.iterdir()}
        self.assertEqual(files, {f"item{one['item']}-{one['eps']}.vnnlib" for one in undecided} | {"instances.csv"})
        done = assay("batch", folder / "instances.csv", "--timeout", "20", "--json", "-q")
        category = json.loads(done.stdout)["categories"][0]
        self.assertEqual((done.returncode, category["unsat"] + category["sat"]), (0, len(undecided)), done.stderr)
        before = [one for one in self.results(run) if one["answer"] != "undecided"]
        self.assertEqual(assay(*self.WORDS, "--first", 8, "--run", run, "--resume").returncode, 0)
        self.assertEqual(len([one for one in self.results(run) if one["answer"] == "undecided"]), len(undecided))  # not tried again
        self.assertEqual(assay(*self.WORDS, "--first", 8, "--run", run, "--resume", "--retry-undecided").returncode, 0)
        after = self.results(run)
        self.assertEqual(([one for one in after if one["answer"] == "undecided"], len(after)), ([], 16))
        self.assertEqual(after[:len(before)], before)
        self.assertEqual(assay("check", run).returncode, 0)

    def test_instances(self):
        for name in ("digits.onnx", "digits_holds.vnnlib", "digits_fails.vnnlib"):
            shutil.copy(DIGITS / name, self.folder)
        instances = self.write("instances.csv", b"digits.onnx,digits_holds.vnnlib\ndigits.onnx,digits_fails.vnnlib\ndigits.onnx,none.vnnlib\n")
        run, folder = self.folder / "run", self.folder / "open"
        self.assertEqual(assay("batch", instances, "--items", "1-2", "--run", run, "--properties", folder, "-q").returncode, 4)
        self.assertEqual([(one["instance"], one["answer"]) for one in sorted(self.results(run), key=lambda one: one["instance"])], [(1, "sat"), (2, "error")])
        self.assertEqual((folder / "instances.csv").read_text(), f"{self.folder}/digits.onnx,{self.folder}/none.vnnlib\n")
        done = assay("check", run)
        self.assertEqual((done.returncode, "only 2 of 3 instances" in done.stdout), (0, True), done.stdout)
        shutil.copy(DIGITS / "digits_holds.vnnlib", self.folder / "none.vnnlib")
        self.assertEqual(assay("batch", instances, "--items", "1-2", "--run", run, "--resume", "--retry-undecided", "-q").returncode, 0)
        self.assertEqual(sorted(one["answer"] for one in self.results(run)), ["sat", "unsat"])
        self.assertEqual(assay("check", run).returncode, 0)

    def test_a_folder_that_cannot_be_written_is_no_verdict(self):
        self.write("file", b"")
        done = assay(*self.WORDS, "--first", 2, "--properties", self.folder / "file" / "x")
        self.assertEqual((done.returncode, "cannot write" in done.stderr), (3, True), done.stderr)
        done = assay(*self.WORDS, "--first", 12, "--require", "0.99", "--properties", self.folder / "file" / "x")
        self.assertEqual(done.returncode, 1, done.stderr)


class Parts(Case):
    def test_parts_with_faults_become_the_whole_run(self):
        """One part is killed, one is gathered twice, one loses a certificate: nothing is lost and nothing counts twice."""
        words = ["robust", MODEL, DATA, "--eps", "0.02,0.08", "--clip", "0,1", "--first", 60, "-q"]
        whole, run = self.folder / "whole", self.folder / "run"
        self.assertEqual(assay(*words, "--run", whole).returncode, 0)
        parts = [self.folder / f"part{i}" for i in range(4)]
        for i, part in enumerate(parts):
            self.assertEqual(assay(*words, "--part", f"{i + 1}/4", "--run", part).returncode, 0)
            self.assertEqual(assay("check", part).returncode, 0)
        lines = (parts[1] / "results.jsonl").read_text().splitlines(keepends=True)
        (parts[1] / "results.jsonl").write_text("".join(lines[:7]) + lines[7][:20])  # killed there
        source = next(one for one in self.results(parts[2]) if one.get("certificate"))
        lost = source["certificate"]
        follow = [one for one in self.results(parts[2]) if (one["item"], one.get("follows_from")) == (source["item"], source["eps"])]
        path = parts[2] / "certificates" / lost[:2] / (lost + ".assay")
        content = path.read_bytes()
        path.unlink()
        done = assay("gather", run, *parts, parts[0], "--json")
        self.assertEqual((done.returncode, json.loads(done.stdout)["left_out"]), (0, 1 + len(follow)), done.stderr)
        self.assertEqual(assay("check", run).returncode, 3)  # not there yet, nor what follows from it
        path.write_bytes(content)
        self.assertEqual(assay(*words, "--part", "2/4", "--run", parts[1], "--resume").returncode, 0)
        self.assertEqual(assay("gather", run, *reversed(parts)).returncode, 0)
        self.assertEqual(assay("check", run).returncode, 0)
        answers = [{key: answer for key, (answer, *_) in self.table(one).items()} for one in (run, whole)]  # what follows from what depends on the time that searches get
        self.assertEqual(*answers)
        self.assertEqual(len(self.results(run)), 120)
        other = self.folder / "other"
        self.assertEqual(assay("robust", MODEL, DATA, "--eps", "0.03", "--first", 2, "--run", other, "-q").returncode, 0)
        done = assay("gather", run, other)
        self.assertEqual((done.returncode, "store.other_run" in done.stderr), (4, True), done.stderr)

    def test_parts_of_a_list(self):
        for name in ("digits.onnx", "digits_holds.vnnlib", "digits_fails.vnnlib"):
            shutil.copy(DIGITS / name, self.folder)
        instances = self.write("instances.csv", b"digits.onnx,digits_holds.vnnlib\ndigits.onnx,digits_fails.vnnlib\ndigits.onnx,digits_holds.vnnlib\n")
        for i in (1, 2):
            self.assertEqual(assay("batch", instances, "--part", f"{i}/2", "--run", self.folder / str(i), "-q").returncode, 0)
            self.assertEqual(assay("check", self.folder / str(i)).returncode, 0)
        self.assertEqual(assay("gather", self.folder / "run", self.folder / "2", self.folder / "1").returncode, 0)
        self.assertEqual([len(self.results(self.folder / name)) for name in ("1", "2", "run")], [2, 1, 3])
        self.assertEqual(assay("check", self.folder / "run").returncode, 0)

    def test_no_part(self):
        for part in ("0/2", "3/2", "1", "x/2", "1/0"):
            self.assertEqual(assay("robust", MODEL, DATA, "--eps", "0.1", "--part", part).returncode, 2)
        self.assertEqual(assay("gather", self.folder / "run", self.folder / "none").returncode, 4)


if __name__ == "__main__":
    runs.main()
