"""tools/gpu_check on the emulation: its report, that it goes on where it was, and that it says what failed."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

problems = []


def check(condition, text):
    if not condition:
        problems.append(text)


def run(root, build, out, *words):
    command = [sys.executable, "-B", root / "tools/gpu_check", "--quick", "--device", "emulated", "--build", build, "--out", out, "--jobs", "2",
               "--tests", "gpu devices*,gpu stream: a device without*", *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=500)
    return done.returncode, done.stdout, json.loads((pathlib.Path(out) / "report.json").read_text())


def main(root, build):
    stages = ["--only", "machine", "build", "tests", "probes", "model", "training", "torch", "sanitizer"]
    with tempfile.TemporaryDirectory() as folder:
        status, text, report = run(root, build, folder, "--ops", "relu", "take", *stages)
        check(status == 0, f"exit status {status}:\n{text}")
        check(report["schema"] == "assay.gpu_check/1" and report["result"] == "passed", "the report says that it passed")
        results = {name: stage["result"] for name, stage in report["stages"].items()}
        check(results == {"machine": "passed", "build": "skipped", "tests": "passed", "probes": "passed", "model": "passed", "training": "passed",
                          "torch": "skipped", "sanitizer": "skipped"}, f"stages: {results}")
        check(all(found["exit"] == 0 for found in report["probes"].values()) and set(report["probes"]) == {"relu", "take"}, "two ops were probed")
        check("relu" in (pathlib.Path(folder) / "state.json").read_text(), "the state names the ops")
        check("0 failed" in (pathlib.Path(folder) / "report.txt").read_text(), "the text counts failures")
        status, text, again = run(root, build, folder, "--ops", "relu", "take", *stages)
        check(status == 0 and text.count("passed before") == 5, f"the second run finds five stages done:\n{text}")
        check(again["stages"]["probes"] == report["stages"]["probes"], "what was found stays")
    with tempfile.TemporaryDirectory() as folder:
        status, text, report = run(root, build, folder, "--ops", "no_such_op", "--only", "probes")
        check(status == 1 and report["stages"]["probes"]["result"] == "failed" and "no_such_op" in text, f"an op that fails:\n{text}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    options = parser.parse_args()
    main(options.root, options.build)
    print("\n".join(f"FAILED {problem}" for problem in problems) or "gpu_check: all as promised")
    sys.exit(1 if problems else 0)
