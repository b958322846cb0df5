"""Runs as jobs of Slurm, of which a program in its place plays the part. Usage: slurm_test.py BIN_DIRECTORY"""
import json
import os

import runs
from runs import Case, DATA, DIGITS, MODEL, assay

# Runs a script as Slurm would, task by task, but for those that $LOST names; what it was asked stands in $CALLS.
SBATCH = """#!/usr/bin/env python3
import os, re, subprocess, sys
text = open(sys.argv[-1]).read()
with open(os.environ["CALLS"], "a") as calls:
    calls.write(repr(sys.argv[1:]) + "\\n")
print("sbatch: warning: the sky is blue", file=sys.stderr)
if "FAIL" in os.environ:
    sys.exit("sbatch: error: Batch job submission failed")
array = re.search(r"--array=1-(\\d+)", text)
for task in range(1, int(array[1]) + 1) if array else [0]:
    if str(task) not in os.environ.get("LOST", "").split():
        subprocess.run(["sh", sys.argv[-1]], env={**os.environ, "SLURM_ARRAY_TASK_ID": str(task)}, cwd="/", check=True, stdout=subprocess.DEVNULL)
print("4711;cluster" if array else "4712")
"""


class Slurm(Case):
    def setUp(self):
        super().setUp()
        stub = self.folder / "bin" / "sbatch"
        self.write("bin/sbatch", SBATCH.encode())
        stub.chmod(0o755)
        self.calls, self.run_folder = self.folder / "calls", self.folder / "it's a run"
        self.environment = {**os.environ, "PATH": f"{stub.parent}:{os.environ['PATH']}", "CALLS": str(self.calls)}
        self.words = ["robust", MODEL, DATA, "--eps", "0.02,0.08", "--clip", "0,1", "--first", 20, "--each"]

    def submit(self, *words, **environment):
        return assay(*self.words, "--run", self.run_folder, *words, env={**self.environment, **environment}, cwd=self.folder)

    def test_the_run_is_the_same(self):
        whole = self.folder / "whole"
        self.assertEqual(assay(*self.words, "--run", whole, "-q").returncode, 0)
        done = self.submit("--slurm", 3, "--sbatch=--time=1:00:00", "--sbatch", "-pshort", "--json")
        self.assertEqual(done.returncode, 0, done.stderr[:300])
        report = json.loads(done.stdout)
        self.assertEqual((report["array"], report["join"], report["parts"]), ("4711", "4712", 3))
        asked = self.calls.read_text().splitlines()
        self.assertEqual(len(asked), 2)
        self.assertTrue(all("'--time=1:00:00', '-pshort'" in call for call in asked) and "--dependency=afterany:4711" in asked[1])
        self.assertEqual(self.table(self.run_folder), self.table(whole))
        self.assertEqual(assay("check", self.run_folder).returncode, 0)
        self.assertTrue(json.loads((self.run_folder / "report.json").read_text())["complete"])

    def test_lost_tasks_lose_nothing(self):
        whole = self.folder / "whole"
        self.assertEqual(assay(*self.words, "--run", whole, "-q").returncode, 0)
        done = self.submit("--slurm", 4, "--pack", LOST="2 3")
        self.assertEqual(done.returncode, 0, done.stderr[:300])
        self.assertEqual(self.table(self.run_folder), self.table(whole))
        self.assertEqual((len(self.results(self.run_folder)), assay("check", self.run_folder).returncode), (40, 0))

    def test_lists(self):
        self.write("instances.csv", f"{MODEL},{DIGITS / 'digits_holds.vnnlib'}\n{MODEL},{DIGITS / 'digits_fails.vnnlib'}\n".encode())
        self.words = ["batch", "instances.csv"]  # seen from where the jobs are submitted
        done = self.submit("--slurm=2")
        self.assertEqual(done.returncode, 0, done.stderr[:300])
        self.assertEqual(sorted(one["answer"] for one in self.results(self.run_folder)), ["sat", "unsat"])

    def test_what_cannot_be_submitted(self):
        done = self.submit("--slurm", 2, FAIL="1")
        self.assertEqual((done.returncode, "submission failed" in done.stderr), (3, True), done.stderr[:300])
        self.assertTrue((self.run_folder / "slurm" / "array.sh").exists())
        done = self.submit("--slurm", 2, PATH="/nowhere")
        self.assertEqual((done.returncode, "slurm.submit" in done.stderr), (3, True), done.stderr[:300])
        done = self.submit("--slurm", 2, "--part", "1/2")
        self.assertEqual((done.returncode, "--slurm" in done.stderr), (2, True), done.stderr[:300])
        self.assertEqual(self.submit("--slurm", 0).returncode, 2)


if __name__ == "__main__":
    runs.main()
