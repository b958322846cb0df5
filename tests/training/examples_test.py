#!/usr/bin/env python3
"""The programs in examples/training: the same losses twice, eager and compiled; steps that pass the audit; refusals with a reason.

    python3 tests/training/examples_test.py BIN [--only NAME]

Each runs STEPS steps from its seed. The last step is recorded and judged by `assay audit` and `assay gradcheck`. Number types, backends and devices:
dtypes_test.py.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Steps, and what the loss has to fall below within them.
PROGRAMS = {"char_transformer": (6, 3.6), "diffusion": (30, 0.8), "digits_cnn": (40, 2.2), "digits_resnet": (12, 2.3), "digits_vae": (30, 35),
            "fno_burgers": (12, 0.01), "gan": (60, 1.35), "least_squares": (30, 0.01), "lstm_adding": (25, 0.4), "phase_retrieval": (60, 3),
            "train_mlp": (60, 0.6)}
# A sequence begins with a state of zeros, so that the first step's gates and recurrent weights get no cotangent but 0; where all points are
# real, the loss multiplies their scores by 0.
ALLOWED = {"gan": ["--allow-dead"], "lstm_adding": ["--allow-dead"]}
EAGER = ["gan"]  # run twice instead
FAULTS = []


def run(*command, status=0):
    done = subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != status:
        FAULTS.append(f"{' '.join(map(str, command))}: status {done.returncode}, not {status}\n{done.stdout}{done.stderr}")
    return done


def losses(text):
    return [line for line in text.splitlines() if line.startswith("step ")]


def trained(binary, folder, name):
    steps, below = PROGRAMS[name]
    found = []
    for backend in ("eager", "eager") if name in EAGER else ("eager", "compiled"):
        trace = pathlib.Path(folder) / f"{name}.{backend}"
        done = run(binary / name, "--steps", steps, "--backend", backend, "--below", below, "--record", trace, "--deterministic")
        found.append(losses(done.stdout))
        run(binary / "assay", "audit", trace)
        run(binary / "assay", "gradcheck", trace, *ALLOWED.get(name, []))
    if found[0] != found[1] or not found[0]:
        FAULTS.append(f"{name}: two runs differ: {found[0][-1:]} and {found[1][-1:]}")
    print(f"{name}: {found[0][-1] if found[0] else 'nothing'}, {'eager, twice' if name in EAGER else 'eager and compiled'}")


def flags(binary, folder):
    trace = pathlib.Path(folder) / "bfloat16"
    run(binary / "train_mlp", "--steps", 3, "--dtype", "bfloat16", "--record", trace)
    run(binary / "assay", "audit", trace)
    run(binary / "assay", "gradcheck", trace)
    run(binary / "train_mlp", "--resume", status=2)
    run(binary / "train_mlp", "--device", "toaster", status=4)
    run(binary / "train_mlp", "--help")
    run(binary / "train_mlp", "--steps", 3, "--below", 0.001, status=1)
    log, saved = pathlib.Path(folder) / "log.csv", pathlib.Path(folder) / "saved.safetensors"
    whole = run(binary / "digits_cnn", "--steps", 8, "--log", log)
    if len(log.read_text().splitlines()) != 9:
        FAULTS.append(f"log: {log.read_text()}")
    half = run(binary / "digits_cnn", "--steps", 5, "--checkpoint", saved)  # another schedule: its losses are its own
    rest = run(binary / "digits_cnn", "--steps", 8, "--checkpoint", saved, "--resume")
    if "resumed at step 5" not in rest.stdout or not losses(whole.stdout) or not losses(half.stdout):
        FAULTS.append(f"not resumed: {rest.stdout}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("--only")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in PROGRAMS:
            if options.only in (None, name):
                trained(options.bin, folder, name)
        if options.only is None:
            flags(options.bin, folder)
    for fault in FAULTS:
        print(f"FAILED {fault}")
    sys.exit(1 if FAULTS else 0)


if __name__ == "__main__":
    main()
