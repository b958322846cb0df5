"""Run folders that say more than was proved: none is accepted, by check, report, gather or a run that goes on. Usage: forgeries_test.py BIN_DIRECTORY"""
import json
import os
import pathlib
import shutil
import struct
import tempfile

import runs
from runs import Case, DATA, DIGITS, IMAGES, MODEL, assay, npy

LABELLED = ("robust", MODEL, DATA, "--eps", "0.02,0.08", "--clip", "0,1", "-q", "--jobs", 2)


class Folder:
    """A copy of a run that a forgery bends."""

    def __init__(self, path):
        self.path = path
        self.lines = [json.loads(line) for line in (path / "results.jsonl").read_text().splitlines()]
        self.manifest = json.loads((path / "run.json").read_text())
        self.claim = self.manifest["claim"]

    def save(self):
        if not (self.path / "results.jsonl").is_fifo():
            (self.path / "results.jsonl").write_text("".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in self.lines))
        (self.path / "run.json").write_text(json.dumps(self.manifest))

    def own(self, answer):
        return next(one for one in self.lines if one["answer"] == answer and "certificate" in one)

    def follower(self):
        return next(one for one in self.lines if "follows_from" in one)

    def certificate(self, line):
        return self.path / "certificates" / line["certificate"][:2] / (line["certificate"] + ".assay")


FORGERIES = {"batch": [], "robust": [], "unlabelled": [], "largest": [], "gathered": []}


def forgery(*kinds):
    def add(change):
        for kind in kinds:
            FORGERIES[kind].append(change)
        return change
    return add


def each(kind, *changes):
    for name, change in changes:
        change.__name__ = name
        FORGERIES[kind].append(change)


def updated(line, **fields):
    line.update(fields)


def without(line, *fields, **more):
    for field in fields:
        line.pop(field, None)
    line.update(more)


# Of lists: instance 0 and 2 hold, instance 1 fails.
each("batch",
     ("follows from nothing", lambda f: without(f.lines[1], "certificate", answer="unsat", follows_from="x")),
     ("follows, with the certificate of another", lambda f: updated(f.lines[1], answer="unsat", follows_from="0", certificate=f.lines[0]["certificate"])),
     ("a copy of an easier instance", lambda f: f.lines.__setitem__(1, dict(f.lines[0], instance=1))),
     ("a copy under the right names", lambda f: f.lines.__setitem__(1, dict(f.lines[0], instance=1, model=f.lines[1]["model"], property=f.lines[1]["property"]))),
     ("a copy with all but the certificate", lambda f: updated(f.lines[1], answer="unsat", certificate=f.lines[0]["certificate"])),
     ("nine times the same", lambda f: f.lines.extend([dict(f.lines[0])] * 8)),
     ("an instance that no list has", lambda f: f.lines.append(dict(f.lines[0], instance=3))),
     ("an instance below 0", lambda f: updated(f.lines[1], instance=-1)),
     ("an instance that is a word", lambda f: updated(f.lines[1], instance="1")),
     ("an instance that is half a number", lambda f: updated(f.lines[1], instance=1.5)),
     ("an instance of 64 bits", lambda f: updated(f.lines[1], instance=2**64 - 1)),
     ("no instance", lambda f: without(f.lines[1], "instance")),
     ("another word", lambda f: without(f.lines[1], "certificate", answer="proved")),
     ("no word", lambda f: without(f.lines[1], "answer")),
     ("a list for a word", lambda f: updated(f.lines[1], answer=["unsat"])),
     ("a word of the other kind", lambda f: updated(f.lines[0], answer="certified")),
     ("a line less", lambda f: f.lines.pop(1)),
     ("no lines", lambda f: f.lines.clear()),
     ("no certificate", lambda f: without(f.lines[0], "certificate")),
     ("a certificate that is no digest", lambda f: updated(f.lines[0], certificate="../../digits_holds.vnnlib")),
     ("the other answer", lambda f: updated(f.lines[1], answer="unsat")),
     ("the other answer of one that holds", lambda f: updated(f.lines[0], answer="sat")),
     ("another model", lambda f: updated(f.lines[0], model="../digits.onnx")),
     ("another property", lambda f: updated(f.lines[1], property="digits_holds.vnnlib")),
     ("other digests", lambda f: updated(f.lines[0], sha256={"model": "0" * 64, "property": "0" * 64})),
     ("no digests", lambda f: without(f.lines[0], "sha256")),
     ("a list with another digest", lambda f: updated(f.claim["lists"][0], sha256="0" * 64)),
     ("a list that is not there", lambda f: updated(f.claim["lists"][0], file="none.csv")),
     ("no list", lambda f: updated(f.claim, lists=[])),
     ("no claim of a list", lambda f: without(f.claim, "lists")),
     ("items that the list has not", lambda f: updated(f.claim, items="7")),
     ("a part that none is", lambda f: (updated(f.claim, part="0/0"), f.lines.pop(1))),
     ("fewer instances", lambda f: (updated(f.claim, instances=1), f.lines.__setitem__(slice(1, None), []))),
     ("the other kind", lambda f: f.manifest.update(kind="robust")),
     ("another semantics", lambda f: updated(f.claim, semantics="float32")))


@forgery("batch")
def a_list_of_easier_instances(folder):
    list_file = folder.path / "easy.csv"
    list_file.write_text(f"{MODEL},{DIGITS / 'digits_holds.vnnlib'}\n" * 3)
    folder.claim["lists"][0]["file"] = str(list_file)


@forgery("batch", "robust")
def a_certificate_with_other_bytes(folder):
    own = [folder.certificate(one) for one in folder.lines if "certificate" in one]
    own[0].write_bytes(own[1].read_bytes() + b"x")


@forgery("batch", "robust")
def a_certificate_that_is_a_pipe(folder):
    path = folder.certificate(next(one for one in folder.lines if "certificate" in one))
    path.unlink()
    os.mkfifo(path)


@forgery("batch", "robust")
def results_that_are_a_pipe(folder):
    (folder.path / "results.jsonl").unlink()
    os.mkfifo(folder.path / "results.jsonl")


@forgery("batch", "robust")
def lists_in_lists(folder):
    folder.lines[0] = '{"eps": ' + "[" * 100000 + "]" * 100000 + "}\n"


@forgery("batch", "robust")
def a_line_that_is_cut_off(folder):
    folder.lines[-1] = json.dumps(folder.lines[-1])[:-5]


@forgery("batch", "robust")
def a_line_that_is_no_json(folder):
    folder.lines.append("accepted\n")


def renamed_radius(folder):
    folder.claim["eps"] = ["0.02", "0.3"]
    for line in folder.lines:
        for field in ("eps", "follows_from"):
            if line.get(field) == "0.08":
                line[field] = "0.3"


def circle(folder):
    item = folder.lines[0]["item"]
    folder.lines = [one for one in folder.lines if one["item"] != item]
    folder.lines += [{"item": item, "label": 1, "answer": "certified", "eps": a, "follows_from": b} for a, b in (("0.02", "0.08"), ("0.08", "0.02"))]


each("robust",
     ("falsified lines that say timed-out", lambda f: [without(one, "certificate", "follows_from", answer="timed-out") for one in f.lines if one["answer"] == "falsified"]),
     ("certified lines 51 times", lambda f: f.lines.extend([one for one in f.lines if one["answer"] == "certified"] * 50)),
     ("labels of what follows", lambda f: [updated(one, label=(one["label"] + 1) % 10) for one in f.lines if "follows_from" in one]),
     ("a label of one that follows", lambda f: updated(f.follower(), label=-1)),
     ("labels", lambda f: [updated(one, label=(one["label"] + 1) % 10) for one in f.lines]),
     ("no labels", lambda f: [without(one, "label") for one in f.lines]),
     ("certified without a certificate", lambda f: [without(one, "certificate", "follows_from", answer="certified") for one in f.lines]),
     ("follows from itself", lambda f: without(f.own("certified"), "certificate", follows_from="0.08", eps="0.08")),
     ("follows from another radius", lambda f: updated(f.follower(), follows_from="0.5")),
     ("follows from no radius", lambda f: updated(f.follower(), follows_from="x")),
     ("follows, with another answer", lambda f: updated(f.follower(), answer="falsified" if f.follower()["answer"] == "certified" else "certified")),
     ("two that follow from each other", circle),
     ("another radius", lambda f: updated(f.lines[0], eps="0.0801")),
     ("a radius in other words", lambda f: f.lines.append(dict(f.own("certified"), eps="0.080"))),
     ("a radius that is a number", lambda f: updated(f.lines[0], eps=0.02)),
     ("an item beyond the first ones", lambda f: updated(f.lines[0], item=12)),
     ("an item below 0", lambda f: updated(f.lines[0], item=-1)),
     ("an item that is a word", lambda f: updated(f.lines[0], item="0")),
     ("another item", lambda f: updated(f.own("certified"), item=(f.own("certified")["item"] + 1) % 12)),
     ("a line less", lambda f: f.lines.pop()),
     ("an item less", lambda f: f.lines.__setitem__(slice(None), [one for one in f.lines if one["item"] != 3])),
     ("a wider radius in claim and lines", renamed_radius),
     ("no radii", lambda f: (updated(f.claim, eps=[]), f.lines.clear())),
     ("another norm", lambda f: updated(f.claim, norm="l2")),
     ("no clipping", lambda f: updated(f.claim, clip=None)),
     ("another mean", lambda f: updated(f.claim, mean=["0.5"])),
     ("another deviation", lambda f: updated(f.claim, std=["0.5"])),
     ("another scale", lambda f: updated(f.claim, scale="2")),
     ("another semantics", lambda f: updated(f.claim, semantics="float32")),
     ("no digests", lambda f: without(f.claim, "sha256")),
     ("empty digests", lambda f: updated(f.claim, sha256={})),
     ("no digest of the data", lambda f: without(f.claim["sha256"], "data")),
     ("no digest of the model", lambda f: without(f.claim["sha256"], "model", "graph")),
     ("a digest of labels that are not there", lambda f: updated(f.claim["sha256"], labels="0" * 64)),
     ("labels that nobody gave", lambda f: updated(f.claim, labels=",".join("0" * 360))),
     ("data that are not there", lambda f: updated(f.claim, data="none.npz")),
     ("a model that is not there", lambda f: updated(f.claim, model="none.onnx")),
     ("a longer name of labels than files have", lambda f: updated(f.claim, labels="x" * 5000)),
     ("a part that the lines are not of", lambda f: updated(f.claim, part="1/2")),
     ("more items", lambda f: updated(f.claim, first=13)),
     ("all items", lambda f: updated(f.claim, first="12")),
     ("each second item", lambda f: updated(f.claim, every=2)),
     ("the other kind", lambda f: f.manifest.update(kind="batch")),
     ("no kind", lambda f: f.manifest.update(kind="gathered")))

each("unlabelled",
     ("labels that the model does not give", lambda f: [updated(one, label=(one["label"] + 1) % 10) for one in f.lines]),
     ("one such label", lambda f: updated(f.lines[2], label=(f.lines[2]["label"] + 1) % 10)),
     ("a label beyond the classes", lambda f: updated(f.lines[0], label=10)),
     ("predictions as labels", lambda f: updated(f.lines[0], label=(f.lines[0]["label"] + 3) % 10, predicted=(f.lines[0]["label"] + 3) % 10, correct=True)))


@forgery("unlabelled")
def items_as_their_own_witnesses(folder):
    """Of a run with other labels: each item is falsified by itself."""
    other = folder.path.parent / "others"
    for name in ("certificates", "results.jsonl"):
        shutil.rmtree(folder.path / name) if (folder.path / name).is_dir() else (folder.path / name).unlink()
        (shutil.copytree if (other / name).is_dir() else shutil.copy)(other / name, folder.path / name)
    folder.lines = [json.loads(line) for line in (other / "results.jsonl").read_text().splitlines()]


each("largest",
     ("a step less", lambda f: f.lines.pop(next(i for i, one in enumerate(f.lines) if one["answer"] == "certified"))),
     ("a largest radius that nobody proved", lambda f: f.lines.append(dict(f.own("certified"), eps="0.16", certificate="0" * 64))),
     ("only what is falsified", lambda f: f.lines.__setitem__(slice(None), [one for one in f.lines if one["answer"] == "falsified"])),
     ("a finer step", lambda f: updated(f.claim, largest="0.005")),
     ("a step of nothing", lambda f: updated(f.claim, largest="0")))

each("gathered",
     ("a line of another part", lambda f: updated(f.lines[0], item=f.lines[0]["item"] + 1)),
     ("a part that is there twice", lambda f: f.lines.extend([dict(one) for one in f.lines if one["item"] % 2 == 0])),
     ("a part that is missing", lambda f: f.lines.__setitem__(slice(None), [one for one in f.lines if one["item"] % 2 == 0])))


# What is printed as the claim has to be what was checked.
for bent in ("batch", "robust", "largest", "gathered"):
    each(bent,
         ("a member that nobody reads", lambda f: updated(f.claim, verified="all 360 items at 8/255")),
         ("a part that is none", lambda f: updated(f.claim, part="0/3")),
         ("a part of words", lambda f: updated(f.claim, part="all of them")),
         ("semantics in a list", lambda f: updated(f.claim, semantics=["float32"])),
         ("items in a list", lambda f: updated(f.claim, items=["0-359"])),
         ("no items", lambda f: updated(f.claim, items="")),
         ("another schema", lambda f: f.manifest.update(schema="assay.run/9")),
         ("no schema", lambda f: f.manifest.pop("schema")))
each("robust",
     ("a norm in a list", lambda f: updated(f.claim, norm=["l2"])),
     ("a norm that is a number", lambda f: updated(f.claim, norm=2)),
     ("a mean that is no list", lambda f: updated(f.claim, mean="0.5")),
     ("a mean of numbers", lambda f: updated(f.claim, mean=[0.5])),
     ("a deviation that is an object", lambda f: updated(f.claim, std={"0": "2"})),
     ("a scale that is a number", lambda f: updated(f.claim, scale=3)),
     ("a clip of three", lambda f: updated(f.claim, clip=["0", "1", "2"])),
     ("labels in a list", lambda f: updated(f.claim, labels=[3, 3, 3])),
     ("a step that is a number", lambda f: updated(f.claim, largest=0.001)),
     ("each as a word", lambda f: updated(f.claim, each="true")),
     ("each, of what follows", lambda f: updated(f.claim, each=True)),
     ("every as a word", lambda f: updated(f.claim, every="30")),
     ("every as a fraction", lambda f: updated(f.claim, every=1.0)),
     ("items beside the first ones", lambda f: updated(f.claim, items="0-11")))
each("batch",
     ("more instances", lambda f: updated(f.claim, instances=100)),
     ("instances as a word", lambda f: updated(f.claim, instances="3")),
     ("a list that says more", lambda f: updated(f.claim["lists"][0], answers="all unsat")),
     ("a list that is a word", lambda f: f.claim["lists"].append("list.csv")))


class Forgeries(Case):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.honest = pathlib.Path(folder.name)

        def made(name, *words):
            done = assay(*words, "--run", cls.honest / name, cwd=cls.honest)
            if done.returncode != 0:
                raise AssertionError(done.stderr)

        for name in ("digits.onnx", "digits_holds.vnnlib", "digits_fails.vnnlib"):
            shutil.copy(DIGITS / name, cls.honest)
        (cls.honest / "list.csv").write_text("digits.onnx,digits_holds.vnnlib\ndigits.onnx,digits_fails.vnnlib\ndigits.onnx,digits_holds.vnnlib\n")
        (cls.honest / "x.npy").write_bytes(npy(b"".join(struct.pack("<64f", *image) for image in IMAGES[:6]), "<f4", (6, 64)))
        made("batch", "batch", cls.honest / "list.csv", "-q", "--jobs", 1)
        made("robust", *LABELLED, "--first", 12)
        made("unlabelled", "robust", MODEL, cls.honest / "x.npy", "--eps", "0.02", "--clip", "0,1", "-q")
        made("others", "robust", MODEL, cls.honest / "x.npy", "--labels", "3,3,3,3,3,3", "--eps", "0.02", "--clip", "0,1", "-q")
        made("largest", "robust", MODEL, DATA, "--eps", "0.16", "--largest", "0.02", "--clip", "0,1", "--first", 6, "-q")
        for part in ("1/2", "2/2"):
            made("part" + part[0], *LABELLED, "--first", 12, "--part", part)
        done = assay("gather", cls.honest / "gathered", cls.honest / "part1", cls.honest / "part2")
        if done.returncode != 0:
            raise AssertionError(done.stderr)

    def forged(self, kind, change):
        path = self.folder / "forged"
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(self.honest / kind, path)
        if not (self.folder / "others").exists():
            shutil.copytree(self.honest / "others", self.folder / "others")
        folder = Folder(path)
        change(folder)
        folder.save()
        return path

    def test_the_honest_ones_are_accepted(self):
        for kind in (*FORGERIES, "part1", "others"):
            done = assay("check", self.honest / kind)
            self.assertEqual((done.returncode, done.stdout.split("\n")[0]), (0, "accepted"), (kind, done.stdout, done.stderr))

    def test_no_forgery_is_accepted(self):
        count = 0
        for kind, changes in FORGERIES.items():
            for change in changes:
                with self.subTest(kind=kind, change=change.__name__):
                    path = self.forged(kind, change)
                    done = assay("check", path, "--json")
                    self.assertIn(done.returncode, (1, 3, 4), done.stdout)
                    self.assertTrue(done.stdout == "" or json.loads(done.stdout).get("verdict") != "accepted", done.stdout)
                    page = assay("report", path, "-o", self.folder / "page.html")
                    self.assertIn(page.returncode, (0, 4))
                    if page.returncode == 0:
                        self.assertNotIn('verdict accepted">accepted', (self.folder / "page.html").read_text())
                count += 1
        self.assertGreater(count, 90)

    def test_counts_are_of_what_was_accepted(self):
        path = self.forged("batch", lambda f: without(f.lines[1], "certificate", answer="unsat", follows_from="x"))
        found = json.loads(assay("check", path, "--json").stdout)
        self.assertEqual([(one["proved"], one["refuted"], one["undecided"]) for one in found["counts"]], [(2, 0, 1)])
        assay("report", path, "-o", self.folder / "page.html")
        data = (self.folder / "page.html").read_text().split('id="data"')[1].split(">", 1)[1].split("</script>")[0]
        self.assertEqual(json.loads(data)["tables"]["categories"]["rows"], [[self.honest.name, 2, 0, 1]])
        path = self.forged("robust", lambda f: f.lines.extend([dict(f.own("certified"))] * 100))
        found = json.loads(assay("check", path, "--json").stdout)
        for one in found["counts"]:
            self.assertEqual(one["proved"] + one["refuted"] + one["undecided"], 12)

    def test_what_the_list_says_is_shown(self):
        path = self.forged("batch", lambda f: updated(f.lines[0], category="x\x1b[2J\naccepted", folder="/"))
        done = assay("check", path)
        self.assertEqual((done.returncode, "\x1b" in done.stdout), (0, False))
        self.assertIn(self.honest.name + ": 2 unsat, 1 sat", done.stdout)

    def test_a_run_goes_on_from_what_a_check_accepts(self):
        """Lines without certificates, of other items or twice are decided again, and no share counts them."""
        for change in (lambda f: [without(one, "certificate", "follows_from", answer="certified") for one in f.lines],
                       lambda f: [updated(one, label=(one["label"] + 1) % 10) for one in f.lines], lambda f: f.lines.extend(list(f.lines))):
            path = self.forged("robust", change)
            done = assay(*LABELLED, "--first", 12, "--run", path, "--resume", "--require", "0.99", cwd=self.honest)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("did not pass a check", done.stderr)
            self.assertEqual(assay("check", path).returncode, 0)
            self.assertEqual({key: answer for key, (answer, _) in self.table(path).items()},
                             {key: answer for key, (answer, _) in self.table(self.honest / "robust").items()})
        path = self.forged("batch", lambda f: f.lines.__setitem__(1, dict(f.lines[0], instance=1)))
        done = assay("batch", self.honest / "list.csv", "--run", path, "--resume", "--json", "-q", cwd=self.honest)
        category = json.loads(done.stdout)["categories"][0]
        self.assertEqual((done.returncode, category["unsat"], category["sat"]), (0, 2, 1), done.stderr)

    def test_a_bad_part_hides_nothing(self):
        """Whichever comes first, what a check accepts stays."""
        bad = self.folder / "bad"
        for change in (lambda f: [without(one, "certificate", follows_from="0.9") for one in f.lines],
                       lambda f: [updated(one, answer="falsified", certificate=f.lines[0]["certificate"]) for one in f.lines if "certificate" in one],
                       lambda f: [without(one, "certificate", "follows_from", answer="undecided", reason="x") for one in f.lines]):
            shutil.rmtree(bad, ignore_errors=True)
            shutil.move(self.forged("part1", change), bad)
            for parts in ((bad, "part1", "part2"), ("part2", bad, "part1"), ("part1", bad, "part2")):
                run = self.folder / "run"
                shutil.rmtree(run, ignore_errors=True)
                done = assay("gather", run, *(one if one == bad else self.honest / one for one in parts))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(assay("check", run).returncode, 0)
            shutil.rmtree(run)
            self.assertEqual(assay("gather", run, bad).returncode, 0)  # what it alone says stands until others come
            self.assertEqual(assay("gather", run, self.honest / "part1", self.honest / "part2").returncode, 0)
            self.assertEqual(assay("check", run).returncode, 0)

    def test_each_member_of_a_claim_is_read(self):
        """A claim whose members have other types, or are not there, is refused by their names; with members in another order it is the same."""
        for kind in ("batch", "robust", "largest"):
            honest = json.loads((self.honest / kind / "run.json").read_text())["claim"]
            for name, value in honest.items():
                for other in ([value], {"x": value}, json.dumps(value) + " ", 3.5, -1):
                    done = assay("check", self.forged(kind, lambda f, name=name, other=other: updated(f.claim, **{name: other})))
                    self.assertEqual((done.returncode, done.stdout[:8] == "accepted"), (4, False), (kind, name, other, done.stdout, done.stderr))
                done = assay("check", self.forged(kind, lambda f, name=name: without(f.claim, name)))
                self.assertEqual(done.returncode, 4, (kind, name, done.stdout, done.stderr))
            path = self.forged(kind, lambda f: f.manifest.update(claim=dict(reversed(f.claim.items()))))
            self.assertEqual(assay("check", path).returncode, 0)
        done = assay("check", self.forged("robust", lambda f: updated(f.claim, semantics=["float32"])))
        self.assertIn('semantics ["float32"]', done.stderr)
        bad = self.folder / "bad"
        shutil.move(self.forged("part1", lambda f: updated(f.claim, verified="all")), bad)
        done = assay("gather", self.folder / "run", bad)
        self.assertEqual((done.returncode, "run.claim" in done.stderr), (4, True), done.stderr)

    def test_an_honest_claim_of_each_form_is_accepted(self):
        """Whatever options a run had: the claim that it wrote is the one that is read."""
        forms = (("--norm", "l2", "--eps", "0.01,2/255"), ("--norm", "l1", "--eps", "0.1"), ("--mean", "0.5", "--std", "1/2", "--scale", "1", "--eps", "0.01"),
                 ("--items", "0,3-4", "--part", "1/2", "--eps", "0.01"), ("--every", 100, "--first", 2, "--each", "--eps", "0.01,0.02"), ("--eps", "0.04", "--largest", "0.02", "--items", "1"))
        for number, form in enumerate(forms):
            run = self.folder / f"run{number}"
            words = form if "--items" in form or "--first" in form else (*form, "--first", 2)
            done = assay("robust", MODEL, DATA, *words, "--clip", "0,1", "-q", "--run", run, "--timeout", 2)
            self.assertEqual(done.returncode, 0, done.stderr)
            done = assay("check", run)
            self.assertEqual((done.returncode, done.stdout.split("\n")[0]), (0, "accepted"), (form, done.stdout, done.stderr))
        for number, form in enumerate((("--items", "1-2"), ("--part", "2/2"), ("--semantics", "real"))):
            done = assay("batch", self.honest / "list.csv", *form, "-q", "--run", self.folder / f"list{number}", cwd=self.honest)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(assay("check", self.folder / f"list{number}").returncode, 0, form)

    def test_lines_about_nothing_hide_nothing(self):
        """Gathering leaves lines out for which the claim does not ask, and takes a line by its instance in a list, and by item and radius of data."""
        def gathered(*parts):
            shutil.rmtree(self.folder / "run", ignore_errors=True)
            done = assay("gather", self.folder / "run", *parts, "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(assay("check", self.folder / "run").returncode, 0)
            return json.loads(done.stdout)["left_out"]

        for k in (1, 2):
            done = assay("batch", self.honest / "list.csv", "--part", f"{k}/2", "--run", self.folder / f"list{k}", "-q", cwd=self.honest)
            self.assertEqual(done.returncode, 0, done.stderr)
        keep = (self.folder / "list1" / "results.jsonl").read_text()
        other = json.loads((self.folder / "list2" / "results.jsonl").read_text())
        bad = {name: other[name] for name in ("instance", "model", "property")}
        for line, left in ((dict(bad, answer="timed-out", eps="z", item=77), 1), (dict(bad, answer="unsat", eps="z"), 1), (dict(bad, answer="proved"), 1),
                           (dict(bad, answer="unknown", instance=3), 1), (dict(bad, answer="unknown", instance="1"), 1)):
            (self.folder / "list1" / "results.jsonl").write_text(keep + json.dumps(line) + "\n")
            for parts in (("list1", "list2"), ("list2", "list1")):
                self.assertEqual(gathered(*(self.folder / one for one in parts)), left, line)
        bad = self.folder / "bad"
        for line in ({"item": 999, "eps": "0.02"}, {"item": 1.0, "eps": "0.02"}, {"item": -1, "eps": "0.02"}, {"item": 1}, {"item": 1, "eps": "7"}, {"item": 12, "eps": "0.02"}):
            shutil.rmtree(bad, ignore_errors=True)
            shutil.move(self.forged("part1", lambda f, line=line: f.lines.append(dict(line, label=0, answer="undecided"))), bad)
            for parts in ((bad, self.honest / "part2"), (self.honest / "part2", bad)):
                self.assertEqual(gathered(*parts), 1, line)

    def test_links_are_not_followed(self):
        """A folder that somebody else prepared makes no program write elsewhere."""
        victim, words = self.folder / "victim", (*LABELLED, "--first", 2)
        for name, again in (("results.jsonl", True), ("lock", False), ("run.json.part", False), ("certificates", False), ("certificates.pack.part", False)):
            for link in (os.symlink, os.link):
                if name == "certificates" and link == os.link:
                    continue
                with self.subTest(name=name, link=link.__name__):
                    run = self.folder / f"{name}-{link.__name__}"
                    if again:
                        shutil.copytree(self.honest / "robust", run)
                        (run / name).unlink()
                    else:
                        run.mkdir()
                    if name == "certificates":
                        target = self.folder / "elsewhere"
                        target.mkdir(exist_ok=True)
                    else:
                        target = victim
                        victim.write_text("a line\nanother one without its end")
                    link(target, run / name)
                    assay(*(words[:-1] + (12,) if again else words), "--pack", "--run", run, *(["--resume"] if again else []), cwd=self.honest)
                    self.assertEqual(victim.read_text() if victim.exists() else "", "a line\nanother one without its end" if target == victim or victim.exists() else "")
                    self.assertEqual(os.listdir(self.folder / "elsewhere") if (self.folder / "elsewhere").exists() else [], [])


if __name__ == "__main__":
    runs.main()
