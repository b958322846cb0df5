#!/usr/bin/env python3
"""Random programs over differentiable operations, right and with one product bent, by `assay.gradcheck` and by `torch.autograd.gradcheck`.

    PYTHONPATH=python ASSAY_PROGRAMS=build/release/bin python3 benchmarks/python/random_programs.py [--count 300] [--first 0] [--json FILE]

PyTorch's gets the same programs in double precision. With --json the figures go to a result file.
"""
from __future__ import annotations

import argparse
import collections
import pathlib
import sys
import time
import warnings
from typing import Any

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / folder) for folder in ("python/tests", "benchmarks")]
import results  # noqa: E402
import torch  # noqa: E402
from random_programs import Program, bent, program  # noqa: E402

from assay import GradcheckError, gradcheck  # noqa: E402
from assay.torch import Refused  # noqa: E402

KINDS = ("right", "right, in a Function", "bent")
UNREACHED = "gradient.unreached"  # what a program on given tensors meets whose Function has a branch that none of their elements takes


def ours(one: Program, allow_unreached: bool = False) -> tuple[str, str]:
    """The verdict, and why."""
    try:
        gradcheck(one, one.fresh(), allow_dead=True, allow_unreached=allow_unreached)
        return "passed", ""
    except GradcheckError as error:
        found = [f"`{x.rule}`: {x.message[:140]}" for x in error.report.findings if x.kind in ("fail", "undecided")]
        word = {1: "failed", 3: "undecided"}.get(error.report.exit_code, f"exit {error.report.exit_code}")
        return word, (found or [f"`{x.rule}`: {x.message[:140]}" for x in error.report.findings] or [error.report.text[-200:]])[0]
    except Refused as error:
        return "undecided", f"refused: {error}"


def theirs(one: Program) -> tuple[str, str]:
    torch.manual_seed(one.seed)
    try:
        return ("passed" if torch.autograd.gradcheck(one, one.fresh(torch.float64), raise_exception=False) else "failed"), ""
    except Exception as error:  # whatever its own preparation of the program raises
        return "undecided", str(error)[:100]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=300)
    options.add_argument("--first", type=int, default=0)
    options.add_argument("--json")
    given = options.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    counts: dict[tuple[str, str], collections.Counter[str]] = collections.defaultdict(collections.Counter)
    seconds: collections.Counter[str] = collections.Counter()
    odd: list[str] = []
    for seed in range(given.first, given.first + given.count):
        right, wrong = program(seed), bent(program(seed))
        variants: list[tuple[str, Any]] = [("right", right)]
        if wrong is not None:
            variants += [("right, in a Function", Program(seed, right.inputs, right.steps, right.results, wrong.bent, "nothing")), ("bent", wrong)]
        for kind, one in variants:
            for who, check in (("assay", ours), ("torch", theirs)):
                start = time.perf_counter()
                word, why = check(one)
                seconds[who] += time.perf_counter() - start
                counts[kind, who][word] += 1
                if who == "assay":
                    allowed = ours(one, True) if why.startswith(f"`{UNREACHED}`") else (word, why)
                    counts[kind, "allowed"][allowed[0]] += 1
                    word, why = allowed if word == "undecided" and allowed[0] != ("failed" if kind == "bent" else "passed") else (word, why)
                if who == "assay" and word != ("failed" if kind == "bent" else "passed"):
                    odd.append(f"{seed}, {kind}: {word}: {why}")
                    print(odd[-1], flush=True)
    words = ("passed", "failed", "undecided")
    gates = {"assay": "`assay.gradcheck`, as they are", "allowed": "`assay.gradcheck`, `allow_unreached=True`", "torch": "`torch.autograd.gradcheck`, float64"}
    table = {"title": "Verdicts", "header": ["Programs", "Gate", *words], "left": [0, 1],
             "rows": [[kind, gate, *(str(counts[kind, who][word]) for word in words)] for kind in KINDS for who, gate in gates.items()]}
    right, all_right = counts["right", "assay"], sum((counts[kind, "assay"] for kind in KINDS[:2]), collections.Counter())
    found = {"bent": (f"{counts['bent', 'assay']['failed']} of {counts['bent', 'assay'].total()}", "programs with one product bent that the gate finds"),
             "accused": (f"{all_right['failed']} of {all_right.total()}", "right programs, alone and in a Function, that the gate accuses"),
             "undecided": (right["undecided"], "right programs that the gate leaves undecided"),
             "torch": (counts["right", "torch"]["failed"], "right programs that `torch.autograd.gradcheck` accuses"),
             "seconds": (f"{seconds['assay']:.0f} s", "time of the gate for all"), "torch_seconds": (f"{seconds['torch']:.0f} s", "time of `torch.autograd.gradcheck` for all")}
    print("\n".join([*results.table_lines(table), *(f"{what}: {value}" for value, what in found.values())]))
    if given.json:
        results.write(given.json, results.begin(
            f"{given.count} random PyTorch programs", "Gradients", f"Seeds from {given.first} on; PyTorch {torch.__version__}, one thread. Each program runs as it is, "
            "with one operation as a Function, and with the product of that Function bent.", found, tables=[table], details={"not_as_expected": odd}))


if __name__ == "__main__":
    main()
