#!/usr/bin/env python3
"""Training steps of real libraries by the gradient gate: which pass at default limits, and what stands in the way of the others.

    PYTHONPATH=python ASSAY_PROGRAMS=build/release/bin python3 benchmarks/training_steps/steps.py [--alphabet] [--only NAME ...] [--limit 120] [--json FILE]

Needs torch, transformers, timm, diffusers, x-transformers, torch-geometric, gpytorch, rotary-embedding-torch, torchdiffeq, vector-quantize-pytorch and einops.
Each step is small, has random weights and downloads nothing: loss, backward pass and a step of SGD. All steps are right as far as anybody knows.
With --alphabet, the steps are those that the rule of alphabet.py chose.
"""
from __future__ import annotations

import argparse
import collections
import contextlib
import importlib.metadata
import pathlib
import signal
import sys
import time
import warnings
from typing import Any, Iterator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import alphabet  # noqa: E402
import language  # noqa: E402
import others  # noqa: E402
import results  # noqa: E402
import torch  # noqa: E402
import vision  # noqa: E402

import assay.torch  # noqa: E402

STEPS = {**language.STEPS, **vision.STEPS, **others.STEPS}
PACKAGES = ("transformers", "timm", "diffusers", "x-transformers", "torch-geometric", "gpytorch", "rotary-embedding-torch", "torchdiffeq", "vector-quantize-pytorch", "einops")
SEED, REASONS = 3, 6


class Late(BaseException):
    """The time for a step is over."""


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    def late(*_: Any) -> None:
        raise Late(f"more than {seconds:g} s")
    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def reasons(report: Any) -> list[str]:
    """Rules and operations that stand in the way, the most frequent ones first, each with its number of findings."""
    kinds = ("fail",) if report.failed else ("undecided", "unsupported")
    found = collections.Counter(f"{one.rule} ({case.op if len(case.op) < 50 else case.op[:47] + '...'})" for case in report.cases for one in case.findings if one.kind in kinds)
    wide = {op: collections.Counter[str]() for op in report.written.get("undecided_ops", [])}
    for case in report.cases:
        if case.op in wide:
            wide[case.op].update(judged=case.judged, vacuous=case.vacuous, unsupported=case.unsupported)
    whole = [f"{op[:50]}: {n['vacuous']} vacuous, {n['unsupported']} unsupported of {n['judged']}" for op, n in wide.items()]
    return [*whole, *(f"{name}: {count}" for name, count in found.most_common(REASONS))] or [report.headline]


def plain_seconds(model: Any, loss: Any) -> float:
    """The shortest of three plain steps, forward and backward."""
    found = []
    for _ in range(3):
        model.zero_grad()
        start = time.perf_counter()
        loss().backward()
        found.append(time.perf_counter() - start)
    return min(found)


def judged(make: Any, limit: float) -> dict[str, Any]:
    """One step: its verdict, the reasons where it does not pass, the counts of elements, and how long it took."""
    torch.manual_seed(SEED)
    model, loss = make()
    found: dict[str, Any] = {"verdict": "error", "reasons": [], "first": "", "counts": {}}
    start = time.perf_counter()
    try:
        with at_most(limit):
            report = assay.torch.step(model, loss, torch.optim.SGD([one for one in model.parameters() if one.requires_grad], lr=0.01))
        found.update(verdict=report.verdict, counts=report.counts, reasons=[] if report.passed else reasons(report), first="" if report.passed else report.headline)
    except Late as error:
        found.update(verdict="too slow", reasons=[str(error)], first=str(error))
    except assay.torch.Refused as error:
        found.update(verdict="refused", reasons=[str(error)], first=str(error))
    except assay.Error as error:
        found.update(verdict="no verdict", reasons=[str(error)[:200]], first=str(error)[:500])
    found["seconds"] = time.perf_counter() - start
    torch.manual_seed(SEED)
    model, loss = make()
    return {**found, "plain": plain_seconds(model, loss)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", default=[], help="parts of names")
    parser.add_argument("--alphabet", action="store_true", help="the steps of alphabet.py")
    parser.add_argument("--limit", type=float, default=120)
    parser.add_argument("--json")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    rows, every = [], collections.Counter[str]()
    for name, make in (alphabet.steps() if options.alphabet else STEPS).items():
        if options.only and not any(one in name for one in options.only):
            continue
        try:
            one = judged(make, options.limit)
        except Exception as error:
            one = {"verdict": "no step", "reasons": [f"{type(error).__name__}: {error}"], "first": repr(error)[:300], "seconds": 0.0, "plain": 0.0}
        every[one["verdict"]] += 1
        print(f"{name}: {one['verdict']}, plain {one['plain']:.3f} s, judged {one['seconds']:.1f} s {one.get('counts', '')}", flush=True)
        for why in one["reasons"]:
            print(f"    {why}", flush=True)
        if one["first"]:
            print(f"    first: {one['first']}", flush=True)
        rows.append([name, one["verdict"], "; ".join(one["reasons"][:3]), f"{one['plain']:.3f}", f"{one['seconds']:.1f}"])
    print(dict(every))
    if options.json:
        versions = ", ".join(f"{one} {importlib.metadata.version(one)}" for one in PACKAGES)
        table = {"title": "Each step, at default limits; times in seconds", "header": ["Step", "Verdict", "Reasons", "Plain step", "Recorded and judged"], "left": [0, 1, 2], "rows": rows}
        title, about = ("Training steps by the alphabet", alphabet.__doc__.partition("\n")[0] + " ") if options.alphabet else ("Training steps of libraries", "")
        figures = {word: (f"{every[word]} of {len(rows)}", f"{title[0].lower()}{title[1:]}: {word}") for word in ("passed", "undecided", "failed", "refused", "no verdict", "too slow", "no step")}
        results.write(options.json, results.begin(title, "Gradients", f"{about}PyTorch {torch.__version__}, {versions}; all steps are right, so that none may fail.",
                                                  figures, tables=[table]))


if __name__ == "__main__":
    main()
