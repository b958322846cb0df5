"""tools/gpu_check on the emulation: its report, that it goes on where it was, and that it says what failed."""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

problems = []


def check(condition, text):
    if not condition:
        problems.append(text)


def run(root, build, out, *words, path=None, report=True):
    command = [sys.executable, "-B", root / "tools/gpu_check", "--quick", "--device", "emulated", "--build", build, "--out", out, "--jobs", "2",
               "--tests", "gpu devices*,gpu stream: a device without*", *words]
    environment = {**os.environ, "PATH": path} if path else None
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=500, env=environment)
    found = pathlib.Path(out) / "report.json"
    return done.returncode, done.stdout, json.loads(found.read_text()) if report and found.exists() else None


def stages_and_their_repetition(root, build):
    stages = ["--only", "machine", "build", "tests", "probes", "compiled", "model", "training", "torch", "sanitizer"]
    words = ["--ops", "relu", "take", *stages]
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder)
        status, text, report = run(root, build, folder, *words)
        check(status == 0, f"exit status {status}:\n{text}")
        check(report["schema"] == "assay.gpu_check/1" and report["result"] == "passed", "the report says that it passed")
        results = {name: stage["result"] for name, stage in report["stages"].items()}
        check(results == {"machine": "passed", "build": "skipped", "tests": "passed", "probes": "passed", "compiled": "passed", "model": "passed",
                          "training": "passed", "torch": "skipped", "sanitizer": "skipped"}, f"stages: {results}")
        for kind in ("probes", "programs"):
            check(all(found["exit"] == 0 for found in report[kind].values()) and set(report[kind]) == {"relu", "take"}, f"two ops: {kind}")
        check(len(report["tests"]) == report["stages"]["tests"]["facts"]["tests"] >= 2, f"tests by name: {report['tests']}")
        check("0 failed" in (out / "report.txt").read_text(), "the text counts failures")
        status, text, again = run(root, build, folder, *words)
        check(status == 0 and text.count("passed before") == 6, f"the second run finds six stages done:\n{text}")
        check(again["stages"]["probes"] == report["stages"]["probes"], "what was found stays")
        # Cut off after relu: take is probed, and relu is not probed again.
        state = json.loads((out / "state.json").read_text())
        del state["stages"]["probes"], state["ops"]["take"]
        (out / "state.json").write_text(json.dumps(state))
        before = {op: (out / "probes" / f"{op}.json").stat().st_mtime_ns for op in ("relu", "take")}
        status, text, _ = run(root, build, folder, *words)
        after = {op: (out / "probes" / f"{op}.json").stat().st_mtime_ns for op in ("relu", "take")}
        check(status == 0 and after["relu"] == before["relu"] and after["take"] > before["take"], f"it goes on where it was:\n{text}")


def failures(root, build):
    with tempfile.TemporaryDirectory() as folder:
        status, text, report = run(root, build, folder, "--ops", "no_such_op", "--only", "probes")
        check(status == 1 and report["stages"]["probes"]["result"] == "failed" and "no_such_op" in text, f"an op that fails:\n{text}")
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, "-B", root / "tools/gpu_check", "--out", folder, "--only", "machine"], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "PATH": bare_path(folder)})
        check(done.returncode == 4 and "missing: nvidia-smi" in done.stdout and "missing: nvcc" in done.stdout, f"no device: {done.returncode} {done.stdout}")


def bare_path(folder):
    """A path with what the script itself cannot do without."""
    there = pathlib.Path(folder) / "path"
    there.mkdir()
    for name in ("bash", "env", "sort", "sed", "dirname", "id", "head"):
        (there / name).symlink_to(shutil.which(name))
    return str(there)


def machines_that_lack_something(root, build):
    """Without the tools of a build, programs run as they are; without programs stages are skipped, each in one line."""
    with tempfile.TemporaryDirectory() as folder:
        status, text, report = run(root, build, folder, "--only", "machine", "tests", "example", path=bare_path(folder))
        missing = report["stages"]["machine"]["facts"]["missing"]
        check("cmake: the build" in missing and "git: the commit in the report" in missing, f"what is missing: {missing}")
        check(status == 0 and report["stages"]["tests"]["result"] == "passed" and report["commit"] == "none" and len(report["changes"]) == 16, text)
        check(report["stages"]["example"]["facts"]["why"].startswith("missing: cmake"), f"the example: {report['stages']['example']}")
    with tempfile.TemporaryDirectory() as folder:
        status, text, report = run(root, pathlib.Path(folder) / "nothing", folder, "--only", "tests", "probes", "model")
        check(status == 1 and report["result"] == "skipped" and all("there is no" in stage["facts"]["why"] for stage in report["stages"].values()), f"no programs:\n{text}")


def dry_run(root, build):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        status, text, _ = run(root, build, out, "--dry-run", report=False)
        names = ["machine", "build", "tests", "probes", "compiled", "model", "training", "torch", "example", "sanitizer"]
        check(status == 0 and all(f"{name}: about" in text for name in names) and not out.exists(), f"a dry run shows every stage and writes nothing:\n{text}")
        command = [sys.executable, "-B", root / "tools/gpu_check", "--device", "emulated", "--build", build, "--out", out, "--dry-run", "--only", "tests"]
        text_of_all = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout
        listed = subprocess.run([build / "bin/test_gpu", "--list-tests", "--verbosity", "quiet"], stdout=subprocess.PIPE, text=True).stdout
        check(f"for {len(listed.split(chr(10))) - 1} tests" in text_of_all, f"all tests of the backend: {text_of_all}")
        seconds = re.search(r"about (\d+) s of (\d+) s", text)
        check(seconds and int(seconds[1]) <= int(seconds[2]), f"it fits: {text[-200:]}")


def main(root, build):
    stages_and_their_repetition(root, build)
    failures(root, build)
    machines_that_lack_something(root, build)
    dry_run(root, build)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    options = parser.parse_args()
    main(options.root, options.build)
    print("\n".join(f"FAILED {problem}" for problem in problems) or "gpu_check: all as promised")
    sys.exit(1 if problems else 0)
