#!/usr/bin/env python3
"""Certificates for the held-out digits: no image within EPSILON of one that the network gets right is taken for another digit.

    python3 examples/training/certify_digits.py BIN MODEL.onnx [--epsilon E] [--images N] [--folder FOLDER] [--least N]

BIN holds assay and assay-check. Each property is written to FOLDER (default: a temporary one), verified, and its certificate is checked
by assay-check. Exit 1 if fewer than --least are certified. Standard library only.
"""
import argparse
import gzip
import pathlib
import subprocess
import sys
import tempfile
import time
from fractions import Fraction

HERE = pathlib.Path(__file__).resolve().parent


def held_out():
    with gzip.open(HERE.parent / "digits" / "digits.csv.gz", "rt") as file:
        rows = [[int(float(cell)) for cell in line.split(",")] for line in file if line.strip()]
    return [(row[:64], row[64]) for row in rows[::5]]


def decimal(value):
    """Of a fraction whose denominator has no other factors than 2 and 5."""
    digits = 0
    while (value * 10**digits).denominator != 1:
        digits += 1
    number = str(abs(value * 10**digits)).rjust(digits + 1, "0")
    return ("-" if value < 0 else "") + (number[:-digits] + "." + number[-digits:] if digits else number)


def vnnlib(pixels, label, epsilon):
    lines = [f"(declare-const X_{i} Real)" for i in range(64)] + [f"(declare-const Y_{k} Real)" for k in range(10)]
    for i, pixel in enumerate(pixels):
        x = Fraction(pixel, 16)
        lines += [f"(assert (>= X_{i} {decimal(max(x - epsilon, Fraction(0)))}))", f"(assert (<= X_{i} {decimal(min(x + epsilon, Fraction(1)))}))"]
    others = " ".join(f"(and (>= Y_{k} Y_{label}))" for k in range(10) if k != label)
    return "\n".join(lines + [f"(assert (or {others}))"]) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--epsilon", type=Fraction, default=Fraction(2, 100))
    parser.add_argument("--images", type=int, default=360)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--least", type=int, default=0)
    options = parser.parse_args()
    words, accepted, start = {}, 0, time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for number, (pixels, label) in enumerate(held_out()[:options.images]):
            query, proof = folder / f"{number}.vnnlib", folder / f"{number}.assay"
            query.write_text(vnnlib(pixels, label, options.epsilon))
            said = subprocess.run([options.bin / "assay", "verify", options.model, query, "--proof", proof], capture_output=True, text=True)
            word = said.stdout.split("\n")[0]
            words[word] = words.get(word, 0) + 1
            if word == "unsat":
                checked = subprocess.run([options.bin / "assay-check", options.model, query, proof], capture_output=True, text=True)
                accepted += checked.returncode == 0
    told = ", ".join(f"{count} {word}" for word, count in sorted(words.items()))
    print(f"epsilon {decimal(options.epsilon)}: {told}; {accepted} certificates accepted by assay-check; {time.monotonic() - start:.0f} s")
    sys.exit(0 if accepted >= options.least else 1)


if __name__ == "__main__":
    main()
