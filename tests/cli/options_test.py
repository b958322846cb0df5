"""Each option of each form of each verb has an effect, or is refused by name. Usage: options_test.py BIN_DIRECTORY"""
import json
import os
import pathlib
import re
import shutil
import tempfile

import runs
from runs import Case, DATA, DIGITS, MODEL, assay

HOLDS, FAILS = str(DIGITS / "digits_holds.vnnlib"), str(DIGITS / "digits_fails.vnnlib")
REFUSED = "refused"
# A value of each option, for forms that refuse it, and for those in which any value does.
VALUES = {"--expect": "sat", "--statement": "full", "--junit": "x", "--sarif": "x", "--markdown": "x", "--waivers": "x", "--today": "2030-01-01", "--most-undecided": "0.5",
          "--model": MODEL, "--data": DATA, "--labels": "x", "--properties": "x", "--jobs": "1", "--property": HOLDS, "--semantics": "float32", "--samples": "3",
          "--images": "1", "--model-explorer": "x", "--network": MODEL, "--box": ("0", "1"), "--method": "ibp", "--values": "x", "--items": "3", "--tensor": "x",
          "--elements": "1", "--show": "all", "--budget": "1e12", "--memory": "4G", "--backend": "eager", "--device": "cpu", "--range": ("0", "1"), "--draws": "2",
          "--output": "x", "--save": "x", "--seed": "3", "--rerun": "eager", "--each": (), "--require": "0.5", "--first": "2", "--every": "2", "--part": "1/2",
          "--stream": (), "--sbatch": "x", "--bounds": (), "--weighted": (), "--list": "x"}
NUMBER_REFUSES = ["--network", "--property", "--box", "--bounds", "--method", "--samples", "--values", "--data", "--labels", "--items", "--tensor", "--memory", "--budget"]
FILE_REFUSES = ["--property", "--box", "--values", "--data", "--labels", "--items"]


def words(option):
    value = VALUES[option]
    return [option, *((value,) if isinstance(value, str) else value)]


class Options(Case):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.files = pathlib.Path(folder.name)

        def made(*arguments):
            done = assay(*arguments, cwd=cls.files)
            if done.returncode != 0:
                raise AssertionError((arguments, done.stdout, done.stderr))

        made("verify", MODEL, HOLDS, "--proof", "holds.assay", "-q")
        made("verify", MODEL, FAILS, "--proof", "fails.assay", "-q")
        made("record", MODEL, "run.trace")
        made("statement", MODEL, HOLDS, "--out", "holds.statement")
        made("robust", MODEL, DATA, "--eps", "0.02", "--clip", "0,1", "--first", "4", "--run", "robust", "-q")
        (cls.files / "list.csv").write_text(f"{MODEL},{HOLDS}\n")
        (cls.files / "certificates.csv").write_text(f"{MODEL},{HOLDS},holds.assay,unsat\n")
        made("batch", "list.csv", "--run", "batch", "-q")
        (cls.files / "log.csv").write_text("step,loss\n1,2\n2,1\n")

    def ran(self, *arguments):
        return assay(*arguments, cwd=self.files)

    def test_what_a_form_does_not_read_is_refused_by_name(self):
        one, several = [MODEL, HOLDS, "holds.assay"], [MODEL, HOLDS, "holds.assay", MODEL, FAILS, "fails.assay"]
        of_runs = ["--model", "--data", "--labels", "--properties", "--jobs"]
        gate = ["--expect", "--statement", "--junit", "--sarif", "--markdown", "--waivers", "--most-undecided"]
        forms = [
            (["check", "robust"], [*gate, "--list", "--labels"]), (["check", "batch"], [*gate, "--model", "--data", "--labels", "--properties"]),
            (["check", *one], [*of_runs, "--most-undecided"]), (["check", *several], of_runs), (["check", "--list", "certificates.csv"], of_runs),
            (["check", "holds.statement", "holds.assay"], [*of_runs, "--most-undecided"]),
            (["check", *one], ["--today"]), (["check", "robust"], ["--today"]),
            (["report", "robust"], ["--property", "--semantics", "--samples", "--model-explorer"]),
            (["report", "run.trace"], ["--property", "--semantics", "--samples", "--images", "--data", "--labels"]),
            (["report", "holds.assay"], ["--model", "--semantics", "--samples", "--images", "--data", "--labels", "--jobs"]),
            (["report", "holds.assay", "--property", HOLDS, "--model", MODEL], ["--images", "--data", "--labels", "--jobs"]),
            (["inspect", "--number", "0.1"], NUMBER_REFUSES),
            (["inspect", MODEL], ["--network", "--bounds", "--method", "--samples", "--labels", "--items", "--elements"]),
            (["inspect", MODEL, "--values", "values.json"], ["--property", "--box", "--data", "--tensor"]),
            (["inspect", MODEL, "--property", HOLDS], ["--box"]),
            (["inspect", HOLDS, "--network", MODEL], [*FILE_REFUSES, "--tensor", "--method", "--samples"]),
            (["inspect", "holds.statement"], [*FILE_REFUSES, "--network", "--tensor", "--method", "--samples"]),
            (["inspect", "holds.assay"], [*FILE_REFUSES, "--network", "--bounds", "--tensor", "--method", "--show", "--model-explorer", "--budget"]),
            (["inspect", "run.trace"], [*FILE_REFUSES, "--network", "--bounds", "--method", "--samples", "--elements"]),
            (["inspect", DATA], [*FILE_REFUSES, "--network", "--bounds", "--method", "--samples", "--elements"]),
            (["inspect", "log.csv"], [*FILE_REFUSES, "--network", "--bounds", "--method", "--samples", "--tensor"]),
            (["gradcheck", "run.trace"], ["--values", "--backend", "--device", "--range", "--draws", "--output", "--save"]),
            (["gradcheck", MODEL, "--values", "values.json"], ["--range", "--draws"]),
            (["record", MODEL, "x.trace", "--values", "values.json"], ["--range", "--draws"]),
            (["record", MODEL, "x.trace", "--forward-only"], ["--draws", "--output", "--weighted"]),
            (["run", MODEL, "--values", "values.json"], ["--seed"]),
            (["audit", "run.trace"], ["--seed", "--rerun"]),
            (["robust", MODEL, DATA, "--eps", "0.1", "--largest", "0.01"], ["--each", "--require"]),
            (["robust", MODEL, DATA, "--eps", "0.1", "--items", "1"], ["--first", "--every"]),
            (["robust", MODEL, DATA, "--eps", "0.1"], ["--sbatch"]), (["batch", "list.csv"], ["--sbatch"]),
            (["batch", "list.csv", "--slurm", "2", "--run", "jobs"], ["--part", "--stream"]),
            (["robust", MODEL, DATA, "--eps", "0.1", "--slurm", "2", "--run", "jobs"], ["--part", "--stream"]),
            (["robust", MODEL, DATA, "--eps", "0.1", "--run", "new"], ["--retry-undecided"]), (["batch", "list.csv", "--run", "new"], ["--retry-undecided"]),
        ]
        VALUES["--retry-undecided"] = ()
        for form, options in forms:
            for option in options:
                with self.subTest(form=form, option=option):
                    done = self.ran(*form, *words(option))
                    self.assertEqual((done.returncode, option in done.stderr), (2, True), (done.stdout[:200], done.stderr[:300]))

    def test_what_a_check_of_a_run_reads(self):
        self.assertEqual(self.ran("check", "robust", "--semantics", "real").returncode, 0)
        self.assertEqual(self.ran("check", "robust", "--exact", "--jobs", "2", "--threads", "2", "--memory", "4G", "--budget", "1e12").returncode, 0)
        for run in ("robust", "batch"):
            done = self.ran("check", run, "--semantics", "float32")
            self.assertIn(done.returncode, (1, 3, 4))
            self.assertNotIn("accepted\n", done.stdout.split("results")[0])
        self.assertEqual(self.ran("check", "robust", "--budget", "1").returncode, 3)
        self.assertEqual(self.ran("check", "robust", "--model", HOLDS).returncode, 4)
        self.assertEqual(self.ran("check", "robust", "--data", MODEL).returncode, 4)
        self.assertEqual(self.ran("check", "batch", "--list", "certificates.csv").returncode, 4)
        shutil.copy(self.files / "list.csv", self.files / "moved.csv")
        self.assertEqual(self.ran("check", "batch", "--list", "moved.csv").returncode, 0)
        done = self.ran("check", "robust", "--json=check.json")
        self.assertEqual((done.returncode, json.loads((self.files / "check.json").read_text())["verdict"]), (0, "accepted"))

    def test_properties_make_their_folder_and_are_no_verdict(self):
        self.assertEqual(self.ran("check", "robust", "--properties", "a/new/folder").returncode, 0)
        self.assertEqual(len(list((self.files / "a/new/folder").glob("*.vnnlib"))), len({one["certificate"] for one in self.results(self.files / "robust")}))
        (self.files / "file").write_text("")
        done = self.ran("check", "robust", "--properties", "file/folder")
        self.assertEqual((done.returncode, "rejected" in done.stdout), (3, False), done.stdout)
        blocked = self.files / "blocked"
        for one in self.results(self.files / "robust"):
            (blocked / (one["certificate"] + ".vnnlib") / "x").mkdir(parents=True)  # a folder in the way of each file
        done = self.ran("check", "robust", "--properties", "blocked")
        self.assertEqual((done.returncode, done.stdout.split("\n")[0]), (3, "accepted"), done.stdout)
        self.assertIn("cannot write", done.stderr)

    def test_every_option_is_known_here(self):
        """An option that is added is one of a form above, or has been thought about: its effect has a test."""
        helps = {verb: assay(verb, "--help").stdout for verb in re.findall(r"^  ([a-z]+) +[A-Z]", assay("--help").stdout, re.M)}
        self.assertGreater(len(helps), 20)
        with_forms = {"check", "report", "inspect", "gradcheck", "record", "run", "audit", "robust", "batch"}
        read_always = {
            "check": "--exact --threads --memory --budget --json --semantics", "report": "--out --perfetto --json",
            "inspect": "--summary --out --json --number --show --model-explorer --budget --memory",
            "gradcheck": "--model --seed --kinks --allow-dead --jobs --memory --baseline --write-baseline --junit --sarif --markdown --waivers --today --most-undecided --json",
            "record": "--values --backend --device --forward-only --seed --threads --json", "run": "--dtype --values --backend --device --json",
            "audit": "--model --shrink --jobs --sample --memory --baseline --write-baseline --junit --sarif --markdown --waivers --today --most-undecided --json",
            "robust": "--eps --norm --labels --scale --mean --std --clip --largest --semantics --run --resume --pack --slurm --jobs --timeout --seed --memory --quiet --json "
                      "--items --properties",
            "batch": "--expected --most --semantics --run --resume --pack --slurm --jobs --timeout --seed --memory --quiet --json --items --properties"}
        for verb in with_forms:
            options = set(re.findall(r"(?:^ +|,)(--[a-z-]+)", helps[verb], re.M)) - {"--help"}
            self.assertLessEqual(options, set(VALUES) | {"--retry-undecided"} | set(read_always[verb].split()), verb)


if __name__ == "__main__":
    runs.main()
