#!/usr/bin/env python3
"""Thirty wrong custom backwards and their right twins, by `assay.gradcheck` and by `torch.autograd.gradcheck`: what each finds, and its time.

    PYTHONPATH=python ASSAY_PROGRAMS=build/release/bin python3 benchmarks/python/gradchecks.py

PyTorch's gets double precision, for which it is made, and once float32, as the functions are shipped, with a step and tolerances for it.
"""
from __future__ import annotations

import pathlib
import sys
import time
import warnings
from typing import Any, Callable

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python" / "tests"))
import torch  # noqa: E402
from wrong_backwards import PAIRS  # noqa: E402

from assay import gradcheck  # noqa: E402


def ours(function: Any, shapes: Any) -> bool:
    return gradcheck(function, shapes, raise_exception=False)


def theirs(dtype: torch.dtype, **options: float) -> Callable[[Any, Any], bool]:
    def run(function: Any, shapes: Any) -> bool:
        torch.manual_seed(0)
        return bool(torch.autograd.gradcheck(function, [torch.randn(s, dtype=dtype, requires_grad=True) for s in shapes], raise_exception=False, **options))
    return run


CHECKS: dict[str, Callable[[Any, Any], bool]] = {
    "assay, float32": ours, "torch, float64": theirs(torch.float64), "torch, float32": theirs(torch.float32, eps=1e-2, atol=1e-2, rtol=1e-2)}


def main() -> None:
    warnings.simplefilter("ignore")
    found: dict[str, list[str]] = {name: [] for name in CHECKS}
    accused: dict[str, list[str]] = {name: [] for name in CHECKS}
    seconds = dict.fromkeys(CHECKS, 0.0)
    ours(torch.sin, [(2,)])  # what is loaded once
    for name, (right, wrong, shapes) in PAIRS.items():
        for check, run in CHECKS.items():
            start = time.perf_counter()
            if not run(right, shapes):
                accused[check].append(name)
            if not run(wrong, shapes):
                found[check].append(name)
            seconds[check] += time.perf_counter() - start
    print("| Check | wrong ones found | right ones accused | seconds, all 60 |\n| --- | ---: | ---: | ---: |")
    for check in CHECKS:
        print(f"| {check} | {len(found[check])} of {len(PAIRS)} | {len(accused[check])} of {len(PAIRS)} | {seconds[check]:.1f} |")
    for check in CHECKS:
        missed = [name for name in PAIRS if name not in found[check]]
        print(f"{check}: missed {missed or 'none'}, accused {accused[check] or 'none'}")


if __name__ == "__main__":
    main()
