#!/usr/bin/env python3
"""Certificates for a closed loop that `lyapunov --onnx` wrote: from where V <= 1 every trajectory comes near the origin, and stays where V <= 1.

    python3 examples/training/certify_lyapunov.py BIN LOOP.onnx [--rings N] [--folder FOLDER]

The model gives Y = V(f(x)) - V(x), V(x), f(x) for a state x. Inside of |x| < 1 the rings are 2^-k <= |x| <= 2^(1-k), k = 1 .. N, in the largest
norm, and the rest is the core. Proved, each with a certificate that assay-check accepts:

    falls     V(f(x)) < V(x) on the rings
    positive  V(x) > 0 on the rings
    stays     where V(x) <= 1, f(x) is in |x| < 1
    returns   from the core, V(f(x)) < 1 and f(x) is in |x| < 1

So V <= 1 in the square is left by nobody, and as V falls on the rings, which are compact, by at least some number in each move, a trajectory
is in the core after finitely many. Exit 1 if something is not proved. Standard library only.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile
import time

OUTSIDE = [f"({sign} Y_{k} {bound})" for k in (2, 3) for sign, bound in ((">=", "1.0"), ("<=", "-1.0"))]  # f(x) is not in |x| < 1


def box(*ranges):
    return " ".join(f"(>= X_{k} {lo}) (<= X_{k} {hi})" for k, (lo, hi) in enumerate(ranges))


def rings(count):
    """Four boxes for each."""
    for k in range(count):
        outer, inner = 2.0**-k, 2.0**(-k - 1)
        for a, b in ((inner, outer), (-outer, -inner)):
            yield box((a, b), (-outer, outer))
            yield box((-inner, inner), (a, b))


def claims(count):
    """The counterexamples of each claim: boxes with a comparison."""
    core, square = box(*[(-2.0**-count, 2.0**-count)] * 2), box((-1.0, 1.0), (-1.0, 1.0))
    yield "falls", [f"{one} (>= Y_0 0.0)" for one in rings(count)]
    yield "positive", [f"{one} (<= Y_1 0.0)" for one in rings(count)]
    yield "stays", [f"{square} (<= Y_1 1.0) {one}" for one in OUTSIDE]
    yield "returns", [f"{core} {one}" for one in [*OUTSIDE, "(>= (+ Y_0 Y_1) 1.0)"]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--rings", type=int, default=5)
    parser.add_argument("--folder", type=pathlib.Path)
    options = parser.parse_args()
    proved = True
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for name, cases in claims(options.rings):
            start = time.monotonic()
            query, proof = folder / f"{name}.vnnlib", folder / f"{name}.assay"
            query.write_text("".join(f"(declare-const {v} Real)\n" for v in ("X_0", "X_1", "Y_0", "Y_1", "Y_2", "Y_3"))
                             + "(assert (or\n" + "".join(f"  (and {case})\n" for case in cases) + "))\n")
            said = subprocess.run([options.bin / "assay", "verify", options.model, query, "--proof", proof], capture_output=True, text=True)
            word = said.stdout.split("\n")[0] or said.stderr[:300]
            checked = word == "unsat" and subprocess.run([options.bin / "assay-check", options.model, query, proof], capture_output=True).returncode == 0
            proved &= checked
            print(f"{name}: {word}{', certificate accepted by assay-check' if checked else ''}; {len(cases)} cases, {time.monotonic() - start:.1f} s")
    sys.exit(0 if proved else 1)


if __name__ == "__main__":
    main()
