"""Each option of each form of each verb has an effect, or is refused by name. Usage: options_test.py BIN_DIRECTORY"""
import json
import pathlib
import re
import shutil
import tempfile

import runs
from runs import INSTRUMENTED, Case, DATA, DIGITS, MODEL, assay

HOLDS, FAILS = str(DIGITS / "digits_holds.vnnlib"), str(DIGITS / "digits_fails.vnnlib")
REFUSED = "refused"
# A value of each option, for forms that refuse it, and for those in which any value does.
VALUES = {"--expect": "sat", "--statement": "full", "--junit": "x", "--sarif": "x", "--markdown": "x", "--waivers": "x", "--today": "2030-01-01", "--most-undecided": "0.5",
          "--model": MODEL, "--data": DATA, "--labels": "x", "--properties": "x", "--jobs": "1", "--property": HOLDS, "--semantics": "float32", "--samples": "3",
          "--images": "1", "--model-explorer": "x", "--network": MODEL, "--box": ("0", "1"), "--method": "ibp", "--values": "x", "--items": "3", "--tensor": "x",
          "--elements": "1", "--show": "all", "--budget": "1e12", "--memory": "4G", "--backend": "eager", "--device": "cpu", "--range": ("0", "1"), "--draws": "2",
          "--output": "x", "--save": "x", "--seed": "3", "--rerun": "eager", "--each": (), "--require": "0.5", "--first": "2", "--every": "2", "--part": "1/2",
          "--stream": (), "--allow-vacuous": (), "--sbatch": "x", "--trace": "x", "--trim": (), "--timeout": "5", "--bounds": (), "--weighted": (), "--list": "x",
          "--step": "1", "--shape": "image=1,64", "--dim": "n=1", "--set": "n=1", "--outputs": "scores"}  # of the last four: model_options_test.py
OF_MODELS = ["--shape", "--dim", "--set", "--outputs"]
NUMBER_REFUSES = ["--network", "--property", "--box", "--bounds", "--method", "--samples", "--values", "--data", "--labels", "--items", "--tensor", "--step", "--memory", "--budget"]
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

    def ran(self, *arguments, **options):
        return assay(*arguments, cwd=self.files, **options)

    def test_what_a_form_does_not_read_is_refused_by_name(self):
        one, several = [MODEL, HOLDS, "holds.assay"], [MODEL, HOLDS, "holds.assay", MODEL, FAILS, "fails.assay"]
        of_runs = ["--model", "--data", "--labels", "--properties", "--jobs"]
        gate = ["--expect", "--allow-vacuous", "--statement", "--junit", "--sarif", "--markdown", "--waivers", "--most-undecided"]
        forms = [
            (["check", "robust"], [*gate, "--list", "--labels"]), (["check", "batch"], [*(one for one in gate if one != "--allow-vacuous"), "--model", "--data", "--labels", "--properties"]),
            (["check", *one], [*of_runs, "--most-undecided", "--allow-vacuous"]), (["check", *several], of_runs), (["check", "--list", "certificates.csv"], of_runs),
            (["check", "holds.statement", "holds.assay"], [*of_runs, "--most-undecided"]),
            (["check", *one], ["--today"]), (["check", "robust"], ["--today"]),
            (["report", "robust"], ["--property", "--semantics", "--samples", "--model-explorer"]),
            (["report", "run.trace"], ["--property", "--semantics", "--samples", "--images", "--data", "--labels"]),
            (["report", "holds.assay"], ["--memory", "--model", "--semantics", "--samples", "--images", "--data", "--labels", "--jobs"]),
            (["report", "holds.assay", "--property", HOLDS, "--model", MODEL], ["--images", "--data", "--labels", "--jobs"]),
            (["inspect", "--number", "0.1"], [*NUMBER_REFUSES, *OF_MODELS]),
            *((form, OF_MODELS) for form in (["audit", "run.trace"], ["gradcheck", "run.trace"], ["inspect", "run.trace"], ["inspect", HOLDS], ["report", "robust"],
                                             ["inspect", "holds.assay"], ["inspect", "holds.statement"], ["report", "run.trace"], ["report", "holds.assay"])),
            (["inspect", MODEL], ["--network", "--bounds", "--step", "--method", "--samples", "--labels", "--items", "--elements"]),
            (["inspect", MODEL, "--values", "values.json"], ["--property", "--box", "--data", "--tensor"]),
            (["inspect", MODEL, "--property", HOLDS], ["--box"]),
            (["inspect", HOLDS, "--network", MODEL], [*FILE_REFUSES, "--tensor", "--method", "--samples"]),
            (["inspect", "holds.statement"], [*FILE_REFUSES, "--network", "--step", "--tensor", "--method", "--samples"]),
            (["inspect", "holds.assay"], [*FILE_REFUSES, "--bounds", "--tensor", "--method", "--model-explorer", "--budget"]),
            (["inspect", "holds.assay", "--network", MODEL], ["--box", "--budget"]),
            (["inspect", "run.trace"], [*FILE_REFUSES, "--network", "--bounds", "--method", "--samples", "--elements"]),
            (["inspect", DATA], [*FILE_REFUSES, "--network", "--bounds", "--method", "--samples", "--elements"]),
            (["inspect", "log.csv"], [*FILE_REFUSES, "--network", "--bounds", "--method", "--samples", "--tensor"]),
            (["gradcheck", "run.trace"], ["--values", "--backend", "--device", "--range", "--draws", "--output", "--save"]),
            (["gradcheck", MODEL, "--values", "values.json"], ["--range", "--draws"]),
            (["record", MODEL, "x.trace", "--values", "values.json"], ["--range", "--draws"]),
            (["record", MODEL, "x.trace", "--forward-only"], ["--draws", "--output", "--weighted"]),
            (["run", MODEL, "--values", "values.json"], ["--seed"]),
            (["audit", "run.trace"], ["--seed", "--rerun"]), (["probe", "--all"], ["--trace"]), (["verify", MODEL, HOLDS], ["--trim"]),
            (["bounds", MODEL, HOLDS, "--method", "ibp"], ["--timeout"]),
            (["robust", MODEL, DATA, "--eps", "0.1", "--largest", "0.01"], ["--each", "--require"]),
            (["robust", MODEL, DATA, "--eps", "0.1", "--items", "1"], ["--first", "--every"]),
            (["robust", MODEL, DATA, "--eps", "0.1"], ["--sbatch"]), (["batch", "list.csv"], ["--sbatch"]),
            (["batch", "list.csv"], ["--allow-vacuous"]), (["verify", MODEL, HOLDS], ["--allow-vacuous"]),
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

    def test_every_output_has_a_short_and_a_long_option(self):
        verbs = re.findall(r"(?m)^  ([a-z]+) ", self.ran("--help").stdout.split("Subcommands:")[1])
        outputs = {verb: re.findall(r"(?m)^  ((?:-o|--out)\b\S*) ", self.ran(verb, "--help").stdout) for verb in verbs}
        self.assertEqual({verb: names for verb, names in outputs.items() if names},
                         {verb: ["-o,--out"] for verb in ("split", "solve", "merge", "trim", "inspect", "report", "statement")})
        self.assertEqual(self.ran("statement", MODEL, HOLDS, "-o", "short.statement").returncode, 0)
        self.assertEqual((self.files / "short.statement").read_bytes(), (self.files / "holds.statement").read_bytes())

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

    def test_what_is_read_has_an_effect(self):
        """Of verbs that have one form: another exit code, a file, or another output."""
        verify, bounds, record = ["verify", MODEL, HOLDS], ["bounds", MODEL, HOLDS], ["record", MODEL, "r.trace"]
        shutil.rmtree(self.files / "cubes", ignore_errors=True)
        split = ["split", MODEL, HOLDS]
        cases = [
            (verify, "--budget 1", 3), (verify, "--memory 1K", 3), (verify, "--expect sat", 1), (verify, "--serialise-assignments x", 4), (verify, "--proof p.assay", "p.assay"),
            (verify, "--statement s.txt", "s.txt"), (verify, "--json=v.json", "v.json"), (verify, "--timeout 0", 2), (verify, "--scale 0", 2), (verify, "--threads 0", 2),
            (verify, "--network x", 2), ([*verify, "--proof", "q.assay"], "--trim=x", 2), (verify, "-q", "differs"),
            *(([*verify, "--json"], option, "differs") for option in ("--semantics float32", "--seed 5", "--branching input", "--threads 1", "--no-attack", "--timeout 50")),
            (bounds, "--budget 1", 3), (bounds, "--memory 1K", 3), (bounds, "--method ibp", "differs"), (bounds, "--nodes outputs", "differs"), (bounds, "--timeout x", 2),
            (bounds, "--statement full", "differs"), (bounds, "--semantics float32", "differs"), (bounds, "--json=b.json", "b.json"),
            (["statement", MODEL, HOLDS, "--out", "f.statement", "--json"], "--semantics float32", "differs"), (["statement", MODEL, HOLDS], "--out o.statement", "o.statement"),
            (["statement", MODEL, HOLDS], "--budget 1", 3), (["statement", MODEL, HOLDS], "--memory 1K", 3), (["lint", MODEL], "--json=l.json", "l.json"),
            (["lint", MODEL], "--memory 1K", 4), (["run", MODEL], "--memory 1K", 3), (record, "--memory 1K", 3),
            (["adjoint", "--op", "neg"], "--seed x", 2), (["adjoint"], "--op neg", 0), (["adjoint", "--op", "neg"], "--all", 2), (["ops", "neg"], "--json", "differs"),
            (record, "--values none.json", 4), (record, "--device nothing", 2), (record, "--output none", 4), (record, "--forward-only", "differs"), (record, "--json", "differs"),
            ([*split, "-o", "c1"], "--budget 1", 3), ([*split, "-o", "c2"], "--memory 1K", 3), ([*split, "-o", "c3"], "--timeout 0", 2), ([*split, "-o", "c4"], "--into 0", 2),
            (["merge", "none", "-o", "m"], "--model " + MODEL, 4), (["trim", MODEL, HOLDS, "holds.assay", "-o", "t.assay"], "--budget 1", 3),
            (["trim", MODEL, HOLDS, "holds.assay", "-o", "t.assay"], "--semantics float32", 3), (["trim", MODEL, HOLDS, "holds.assay", "-o", "t.assay"], "--json=t.json", "t.json"),
            (["probe", "--op", "neg", "--small"], "--dtype float64", "differs"), (["probe", "--op", "neg", "--small"], "--trace p.trace", "p.trace"),
            (["probe", "--op", "neg", "--small"], "--forward-only", "differs"), (["probe", "--op", "neg"], "--small", "differs"),
            (["probe", "--op", "neg", "--small"], "--junit p.xml", "p.xml"), (["probe", "--op", "neg", "--small"], "--write-baseline w.json", "w.json"),
            (["audit", "run.trace"], "--memory 1K", 3), (["audit", "run.trace"], "--sample 1", "differs"), (["audit", "run.trace"], "--model none.onnx", 4),
            (["gradcheck", "run.trace"], "--kinks x", 2), (["gradcheck", "run.trace"], "--baseline none.json", 4), (["run", MODEL], "--seed 9", "differs"),
        ]
        for base, option, wanted in cases:
            if INSTRUMENTED and option.startswith("--memory"):
                continue
            with self.subTest(base=base, option=option):
                done = self.ran(*base, *option.split())
                if isinstance(wanted, int):
                    self.assertEqual(done.returncode, wanted, (done.stdout[:300], done.stderr[:300]))
                elif wanted == "differs":
                    plain = self.ran(*base)
                    def said(one):
                        return re.sub(r"[0-9.e-]+ ?s\b|_seconds\": [0-9.e-]+", "", one.stdout) + re.sub(r"[0-9.e-]+ s\b", "", one.stderr)
                    self.assertNotEqual(said(done), said(plain))
                else:
                    self.assertTrue((self.files / wanted).exists(), (done.returncode, done.stderr[:300]))

    def test_no_option_takes_what_is_no_value_of_it(self):
        """CLI11 takes -1 for 2^64 - 1, an empty value for the next argument or for no option, and any word for a flag."""
        base = {"supports": [], "capabilities": [], "ops": [], "adjoint": [], "probe": [], "merge": ["cubes", "-o", "x"], "solve": ["cubes", "-o", "x"],
                "gather": ["x", "robust"], "report": ["robust"], "batch": ["list.csv"], "explain": ["csv.quote"], "lint": [MODEL], "run": [MODEL], "inspect": [MODEL],
                "audit": ["run.trace"], "gradcheck": ["run.trace"], "record": [MODEL, "x"], "eval": [MODEL, "values.json"], "robust": [MODEL, DATA, "--eps", "0.02"],
                "trim": [MODEL, HOLDS, "holds.assay", "-o", "x"], "check": [MODEL, HOLDS, "holds.assay"]}
        helps = {verb: assay(verb, "--help").stdout for verb in re.findall(r"^  ([a-z]+) +[A-Z]", assay("--help").stdout, re.M)}
        tried = {"flag": 0, "whole": 0, "number": 0, "value": 0}
        for verb, text in helps.items():
            for option, kind in re.findall(r"^ +(?:-\w,)?(--[a-z-]+) ?(\S*)", text, re.M):
                is_flag = not re.match(r"[A-Z\[{]|real\||full\||YYYY", kind)
                is_whole = re.match(r"(UINT|INT|N|K)\b", kind)
                is_number = re.match(r"(FLOAT|TIME|SIZE|SHARE)\b", kind) or option == "--budget"
                if option in ("--help", "--trim"):
                    continue
                tried["flag" if is_flag else "whole" if is_whole else "number" if is_number else "value"] += 1
                bad = ["-1", "x"] if is_flag else ["-1", "18446744073709551616", "1e400", "1x"] if is_whole else ["-1", "1e400", "nan", "1x!"] if is_number else []
                for words in [[f"{option}="], *([f"{option}={one}"] for one in bad)]:
                    with self.subTest(verb=verb, words=words):
                        done = self.ran(verb, *base.get(verb, [MODEL, HOLDS]), *words)
                        self.assertEqual((done.returncode, len(done.stderr.splitlines()) <= 3), (2, True), (done.stdout[:200], done.stderr[:300]))
                        self.assertTrue(option in done.stderr or "is empty" in done.stderr, done.stderr)
        self.assertTrue(all(count >= 8 for count in tried.values()), tried)
        for words in (["verify", "", HOLDS], ["verify", MODEL, HOLDS, "--proof", ""], ["batch", "list.csv", "--expected", ""], ["audit", "run.trace", "--waivers", ""]):
            done = self.ran(*words)
            self.assertEqual((done.returncode, "is empty" in done.stderr), (2, True), done.stderr)

    def test_files_and_programs_that_are_missing(self):
        for arguments in (["verify", "no.onnx", HOLDS], ["verify", MODEL, "no.vnnlib"], ["check", MODEL, HOLDS, "no.assay"], ["robust", "no.onnx", DATA, "--eps", "0.1"],
                          ["robust", MODEL, "no.npz", "--eps", "0.1"], ["robust", MODEL, DATA, "--eps", "0.1", "--labels", "no.npy"], ["batch", "no.csv"], ["check", "no-run"],
                          ["report", "no-run"], ["gather", "new", "no-run"], ["inspect", "no.onnx"], ["lint", "no.onnx"], ["run", "no.onnx"], ["record", "no.onnx", "x"],
                          ["audit", "no.trace"], ["gradcheck", "no.trace"], ["eval", "no.onnx", "values.json"], ["bounds", MODEL, "no.vnnlib"], ["statement", MODEL, "no.vnnlib"],
                          ["split", MODEL, "no.vnnlib", "-o", "x"], ["solve", "no-cubes", "-o", "x"], ["merge", "no-cubes", "-o", "x"], ["trim", MODEL, HOLDS, "no.assay", "-o", "x"]):
            with self.subTest(arguments=arguments):
                done = self.ran(*arguments)
                self.assertEqual((done.returncode, "internal error" in done.stderr), (4, False), done.stdout + done.stderr)
        done = self.ran("robust", MODEL, DATA, "--eps", "0.1", "--slurm", "2", "--run", "jobs", env={"PATH": "/nowhere"})
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)

    def test_every_option_is_known_here(self):
        """An option that is added is one of a form above, or has been thought about: its effect has a test."""
        helps = {verb: assay(verb, "--help").stdout for verb in re.findall(r"^  ([a-z]+) +[A-Z]", assay("--help").stdout, re.M)}
        self.assertGreater(len(helps), 20)
        read_always = {
            "check": "--exact --threads --memory --budget --json --semantics", "report": "--out --perfetto --json",
            "inspect": "--summary --out --json --number --show --model-explorer --budget --memory",
            "gradcheck": "--model --seed --kinks --allow-dead --jobs --memory --baseline --write-baseline --junit --sarif --markdown --waivers --today --most-undecided --json",
            "record": "--values --backend --device --forward-only --seed --threads --json", "run": "--dtype --values --backend --device --json",
            "audit": "--model --shrink --jobs --sample --memory --baseline --write-baseline --junit --sarif --markdown --waivers --today --most-undecided --json",
            "robust": "--eps --norm --labels --scale --mean --std --clip --largest --semantics --run --resume --pack --slurm --jobs --timeout --seed --memory --quiet --json "
                      "--items --properties",
            "verify": "--branching --budget --expect --json --memory --network --no-attack --proof --quiet --scale --seed --semantics --serialise-assignments --statement "
                      "--threads --timeout --trim --verbose",
            "bounds": "--budget --json --memory --method --nodes --semantics --statement --timeout", "statement": "--budget --json --memory --out --semantics",
            "lint": "--json", "eval": "--json", "ops": "--json", "explain": "--json", "gather": "--json", "adjoint": "--all --json --op --seed",
            "split": "--branching --budget --into --json --memory --no-attack --out --seed --semantics --threads --timeout",
            "solve": "--branching --budget --json --memory --model --no-attack --out --property --seed --threads --timeout",
            "merge": "--budget --json --memory --model --out --property", "trim": "--budget --json --memory --out --semantics --timeout",
            "probe": "--all --backend --baseline --device --dtype --forward-only --jobs --json --junit --markdown --most-undecided --op --sarif --seed --small --today "
                     "--trace --waivers --write-baseline",
            "batch": "--expected --most --semantics --run --resume --pack --slurm --jobs --timeout --seed --memory --quiet --json --items --properties"}
        self.assertEqual(set(read_always) | {"supports", "capabilities"}, set(helps))  # of these two each option is a question
        for verb in read_always:
            options = set(re.findall(r"(?:^ +|,)(--[a-z-]+)", helps[verb], re.M)) - {"--help"}
            self.assertLessEqual(options, set(VALUES) | {"--retry-undecided"} | set(read_always[verb].split()), verb)


if __name__ == "__main__":
    runs.main()
