#!/usr/bin/env python3
"""The programs in examples/training: the same losses twice, eager and compiled; steps that pass the audit; refusals with a reason.

    python3 tests/training/examples_test.py BIN [--gallery] [--only NAME] [--whole]

--gallery takes the programs in examples/gallery, which a build makes with -DASSAY_GALLERY=ON, in their place.
Each runs STEPS steps from its seed; with --whole all of its steps, and its output has to be that of the README beside the program. The last step
is recorded and judged by `assay audit` and `assay gradcheck`, compiled; eager for every third program, and for all with --whole. Number types, backends and devices: dtypes_test.py.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Steps, and what the loss has to fall below within them.
TRAINING = {"digits_cnn": (40, 2.2), "least_squares": (30, 0.01), "lyapunov": (100, 0.5), "phase_retrieval": (60, 3),
            "train_mlp": (60, 0.6)}
GALLERY = {"adder_transformer": (6, 2.4), "char_mamba": (16, 3.4), "char_transformer": (6, 3.6), "diffusion": (30, 0.8),
           "digits_autoencoder": (40, 0.08), "digits_jepa": (12, 1.1), "digits_mae": (12, 0.2), "digits_resnet": (12, 2.3),
           "digits_unet": (12, 0.1), "digits_vae": (30, 35), "digits_vit": (20, 2.31), "digits_vqvae": (60, 0.1),
           "dqn_grid": (60, 0.1), "fno_burgers": (12, 0.01), "gan": (60, 1.35), "gru_parity": (100, 0.4),
           "kan_function": (60, 1), "lstm_adding": (25, 0.4), "pinn_burgers": (150, 0.15), "ppo_grid": (60, 0.5)}
# A sequence begins with a state of zeros, so that the first step's gates and recurrent weights get no cotangent but 0; where all points are
# real, the loss multiplies their scores by 0.
ALLOWED = {name: ["--allow-dead"] for name in ("gan", "gru_parity", "lstm_adding")}
EAGER = ["gan"]  # run twice instead
DETACHED = ["digits_vqvae"]  # a compiled step does not claim gradients through a detached value: those of the eager one are judged
FAULTS = []


def run(*command, status=0):
    done = subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != status:
        FAULTS.append(f"{' '.join(map(str, command))}: status {done.returncode}, not {status}\n{(done.stdout + done.stderr)[-300:]}")
    return done


def losses(text):
    return [line for line in text.splitlines() if line.startswith("step ")]


def as_printed(name, text):
    """Whether each line that the page shows of the program is one that it printed."""
    page = (ROOT / "examples" / ("gallery" if name in GALLERY else "training") / "README.md").read_text()
    shown = next((block for block in page.split("```") if f"bin/{name} --backend compiled" in block or f"bin/{name}\n" in block), "")
    said = text.splitlines()
    lines = shown[shown.find(f"bin/{name}"):].split("\n$ ")[0].splitlines()[2:]
    FAULTS.extend(f"{name}: did not print {line!r}" for line in lines if line.strip() != "..." and not line.startswith("written:") and line not in said)


def trained(binary, folder, name, whole):
    steps, below = (TRAINING | GALLERY)[name]
    length = [] if whole else ["--steps", steps, "--below", below]
    found = []
    for backend in ("eager", "eager") if name in EAGER else ("eager", "compiled"):
        trace = pathlib.Path(folder) / f"{name}.{backend}"
        done = run(binary / name, *length, "--backend", backend, "--record", trace, "--deterministic")
        found.append(losses(done.stdout))
        if whole:
            as_printed(name, done.stdout)
        # Eager steps of different programs run the same ops: in a short run of the gallery those of every third one are judged.
        if whole or backend == "compiled" or name in [*TRAINING, *EAGER, *DETACHED] or sorted(GALLERY).index(name) % 3 == 0:
            run(binary / "assay", "audit", trace)
            unclaimed = name in DETACHED and backend == "compiled"
            run(binary / "assay", "gradcheck", trace, *ALLOWED.get(name, []), status=4 if unclaimed else 0)
    if found[0] != found[1] or not found[0]:
        FAULTS.append(f"{name}: two runs differ: {found[0][-1:]} and {found[1][-1:]}")
    print(f"{name}: {found[0][-1] if found[0] else 'nothing'}, {'eager, twice' if name in EAGER else 'eager and compiled'}")


def flags(binary, folder):
    trace = pathlib.Path(folder) / "bfloat16"
    run(binary / "train_mlp", "--steps", 3, "--dtype", "bfloat16", "--record", trace)
    run(binary / "assay", "audit", trace)
    run(binary / "assay", "gradcheck", trace)
    for wrong in ("--resume", "--steps=-1", "--seed=18446744073709551616", "--steps=1x", "--deterministic=x", "--every=0"):
        run(binary / "train_mlp", wrong, status=2)
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


def certified(binary, folder):
    """The closed loop is certified once it is trained, and is not when training has hardly begun."""
    for steps, status in ((300, 0), (1, 1)):
        loop = pathlib.Path(folder) / f"loop{steps}.onnx"
        run(binary / "lyapunov", "--steps", steps, "--onnx", loop)
        run(sys.executable, ROOT / "examples" / "training" / "certify_lyapunov.py", binary, loop, status=status)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("--gallery", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--whole", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in GALLERY if options.gallery else TRAINING:
            if options.only in (None, name):
                trained(options.bin, folder, name, options.whole)
        if options.only is None and not options.gallery:
            flags(options.bin, folder)
        if options.only in (None, "lyapunov") and not options.gallery:
            certified(options.bin, folder)
    for fault in FAULTS:
        print(f"FAILED {fault}")
    sys.exit(1 if FAULTS else 0)


if __name__ == "__main__":
    main()
