"""Judges one candidate: python gate.py CANDIDATE.py prints the report as JSON."""
import json
import random
import sys

import assay.ops as xp
from assay.testing import IsolatedKernel, audit_kernel

EXITS = {"passed": 0, "failed": 1}  # any other verdict: 3


def reference(x, residual, weight):
    rows = x + residual
    return rows / xp.sqrt((rows * rows).mean(axis=-1, keepdims=True) + 1e-5) * weight


if __name__ == "__main__":
    seed = random.SystemRandom().randrange(1, 2**31)  # no candidate can remember the numbers
    shapes = [(3, 100), (3, 100), (100,)]
    with IsolatedKernel(sys.argv[1], "rms_norm", seconds=60, memory=4 << 30) as kernel:
        report = audit_kernel(reference, kernel, out=True, like=shapes, seed=seed, raises=False)
    print(json.dumps(report.json))
    sys.exit(EXITS.get(report.verdict, 3))
