#!/usr/bin/env python3
"""Every number type, backend and device of programs that train: each combination runs to the expected losses, or is refused with status and reason.

    python3 tests/training/dtypes_test.py BIN [--gallery]

--gallery takes programs in examples/gallery that look at values between their ops, in the place of those of examples/training.
least_squares has only ops with exact values; train_mlp has a softplus and a square root; phase_retrieval is complex.
"""
import itertools
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS = 4
DTYPES = ("float32", "float64", "bfloat16", "exact", "interval", "complex64")
INEXACT = {"train_mlp": "(softplus)", "phase_retrieval": "adam, node '' (sqrt)"}  # the first op without exact values
# Between runs of one seed: a device adds in other orders; bfloat16 has 8 bits, of which sums and steps lose some.
ALIKE = {"emulated": 1e-4, "bfloat16": 0.05}
FAULTS = []


def refusal(program, dtype, backend, device):
    """-> status and a part of the reason, or None where the combination runs."""
    is_complex = program == "phase_retrieval"
    if dtype == "complex64" and not is_complex:
        return 2, "this program's values are real"
    if dtype == "float32" and is_complex:
        return 2, "this program's values are complex"
    if backend == "compiled" and dtype == "bfloat16":
        return 2, "a fused pass keeps float32 between its ops"
    if backend == "compiled" and dtype in ("exact", "interval"):
        return 2, "there is nothing to replay"
    if device != "cpu" and dtype not in ("float32", "complex64"):
        return 2, "devices compute float32"
    if dtype == "exact" and program in INEXACT:
        return 4, INEXACT[program]
    return None


def fault(command, done, why):
    FAULTS.append(f"{' '.join(map(str, command))}: {why}: status {done.returncode}\n{(done.stdout + done.stderr)[-300:]}")


def run(binary, program, *options, status=0, reason=""):
    command = [binary / program, "--steps", STEPS, *options]
    done = subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != status or reason not in done.stderr:
        fault(command, done, f"not status {status}, {reason!r}")
    return done


def losses(done):
    return [line.split("loss ")[1].split()[0] for line in done.stdout.splitlines() if line.startswith("step ")]


def matrix(binary, program):
    found = {}
    for dtype, backend, device in itertools.product(DTYPES, ("eager", "compiled"), ("cpu", "emulated")):
        options = ["--dtype", dtype, "--backend", backend, "--device", device]
        no = refusal(program, dtype, backend, device)
        if no:
            run(binary, program, *options, status=no[0], reason=no[1])
            continue
        done = run(binary, program, *options)
        found[dtype, backend, device] = losses(done)
        if len(losses(done)) != STEPS:
            fault([program, *options], done, "not every step is printed")
        if dtype == "interval":
            for loss, lo, hi in re.findall(r"loss (\S+)  loss in \[(\S+), (\S+)\]", done.stdout):
                if not float(lo) <= float(hi) < float(lo) + 1e-6 or abs(float(loss) - float(lo)) > 2e-6:
                    fault([program, *options], done, "an interval")
        if dtype == "exact" and len(re.findall("longest fraction [0-9]+ characters", done.stdout)) != STEPS:
            fault([program, *options], done, "no fractions")
    for (dtype, backend, device), mine in found.items():
        # Intervals, fractions and float64 start from the same numbers; bfloat16 and devices from those of float32 or complex64.
        peer = {"exact": "float64", "interval": "float64", "bfloat16": "complex64" if program == "phase_retrieval" else "float32"}.get(dtype, dtype)
        theirs = found[peer, "eager", "cpu"]
        bound = max(ALIKE.get(device, 0), ALIKE.get(dtype, 0))
        if any(abs(float(a) - float(b)) > bound * abs(float(b)) for a, b in zip(mine, theirs)):
            FAULTS.append(f"{program} {dtype} {backend} {device}: {mine}, {peer} eager on the CPU {theirs}")
    print(f"{program}: {len(found)} combinations run, the others are refused")


def others(binary):
    """Options beside: what an exact run or a program cannot use."""
    for dtype in ("exact", "interval"):
        run(binary, "least_squares", "--dtype", dtype, "--record", "never", status=2, reason="a trace holds the floats of a run")
        run(binary, "least_squares", "--dtype", dtype, "--checkpoint", "never", status=2, reason="a checkpoint holds floats")
    run(binary, "train_mlp", "--dtype", "float8", status=2)
    done = run(binary, "phase_retrieval")
    if "complex64 as pairs of float32" not in done.stdout:
        fault(["phase_retrieval"], done, "the banner does not say what runs")
    done = run(binary, "phase_retrieval", "--dtype", "float64")
    if "pairs of float64" not in done.stdout:
        fault(["phase_retrieval"], done, "the banner does not say what runs")


def values_between_ops(binary):
    run(binary, "gan", "--backend", "compiled", status=2, reason="looks at values between its ops")
    run(binary, "gan", "--dtype", "interval")
    for program in ("digits_vqvae", "dqn_grid", "ppo_grid"):  # arg_min and take, which look at values, on a device
        here, there = (losses(run(binary, program, "--device", device)) for device in ("cpu", "emulated"))
        if len(there) != STEPS or any(abs(float(a) - float(b)) > ALIKE["emulated"] * abs(float(a)) for a, b in zip(here, there)):
            FAULTS.append(f"{program}: {here} on the CPU, {there} on the emulated device")


def main():
    binary = pathlib.Path(sys.argv[1])
    if "--gallery" in sys.argv[2:]:
        values_between_ops(binary)
    else:
        for program in ("least_squares", "train_mlp", "phase_retrieval"):
            matrix(binary, program)
        others(binary)
    for one in FAULTS:
        print(f"FAILED {one}")
    sys.exit(1 if FAULTS else 0)


if __name__ == "__main__":
    main()
