#!/usr/bin/env python3
"""PyTorch programs by the gradient gate: modules of torch.nn, families of models, programs of users, and wrong Functions beside their right twins.

    PYTHONPATH=python ASSAY_PROGRAMS=build/release/bin python3 benchmarks/python/torch_campaign.py [--part NAME ...] [--json FILE]

Right programs must not fail, wrong Functions must. What is undecided is listed with its reason. With --json the figures go to a result file.
"""
from __future__ import annotations

import argparse
import pathlib
import sys
import time
import warnings
from typing import Any, Callable, Iterator

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / folder) for folder in ("python/tests", "benchmarks")]
import results  # noqa: E402
import torch  # noqa: E402
import wrong_backwards  # noqa: E402
import wrong_forward  # noqa: E402
import wrong_second  # noqa: E402
from families import FAMILIES  # noqa: E402
from test_torch_modules import WRONG  # noqa: E402
from torch_modules import TABLE  # noqa: E402
from torch_runs import step  # noqa: E402
from user_programs import USERS  # noqa: E402

import assay.torch  # noqa: E402
from assay import GradcheckError, gradcheck  # noqa: E402

SEED = 3
One = tuple[str, Any]  # a name, and a report or a word


def modules() -> Iterator[One]:
    for name, make in TABLE.items():
        torch.manual_seed(SEED)
        module, inputs = make()
        yield name, step(module, *inputs)


def families() -> Iterator[One]:
    for name, make in FAMILIES.items():
        torch.manual_seed(SEED)
        yield name, assay.torch.step(*make())


def users() -> Iterator[One]:
    for name, make in USERS.items():
        torch.manual_seed(SEED)
        model, body = make()
        with assay.torch.record(model) as run:
            body()
        yield name, assay.torch.judge(run, "gradcheck", "--allow-dead")


def functions(is_right: bool) -> Callable[[], Iterator[One]]:
    def run() -> Iterator[One]:
        for pairs, options in ((wrong_backwards.PAIRS, {}), (wrong_second.PAIRS, {"check_grad_grad": True}), (wrong_forward.PAIRS, {"check_forward_ad": True})):
            for name, (right, wrong, shapes) in pairs.items():
                try:
                    gradcheck(right if is_right else wrong, shapes, **options)
                    yield name, "passed"
                except GradcheckError as error:
                    yield name, error.report
    return run


PARTS: dict[str, Callable[[], Iterator[One]]] = {
    "modules": modules, "families": families, "users": users, "right Functions": functions(True), "wrong Functions": functions(False)}


def word_of(found: Any) -> str:
    if isinstance(found, str):
        return found
    return "passed" if found.passed else "failed" if found.failed else "undecided"


def figures(part: str) -> dict[str, Any]:
    """How many passed, failed and are undecided, and their elements; names and reasons of all that are not as they should be."""
    counts, elements, open_, notes = dict.fromkeys(("passed", "failed", "undecided"), 0), 0, 0.0, []
    start = time.perf_counter()
    for name, found in PARTS[part]():
        word = word_of(found)
        counts[word] += 1
        if not isinstance(found, str):
            size = sum(found.counts.values())
            elements += size
            open_ += found.undecided_share * size
        expected = "failed" if part == "wrong Functions" or part == "modules" and name in WRONG else "passed"
        if word != expected:
            notes.append(f"{name}: {word}: {found if isinstance(found, str) else found.headline[:200]}")
            print(f"{part}: {notes[-1]}", flush=True)
    return {"programs": sum(counts.values()), **counts, "elements": elements, "undecided_share": round(open_ / max(elements, 1), 6),
            "seconds": round(time.perf_counter() - start, 1), "not_as_expected": notes}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--part", action="append", choices=list(PARTS))
    options.add_argument("--json")
    given = options.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    parts: dict[str, dict[str, Any]] = {}
    for part in given.part or PARTS:
        parts[part] = one = figures(part)
        print(f"{part}: {one['programs']} programs, {one['passed']} passed, {one['failed']} failed, {one['undecided']} undecided, "
              f"{100 * one['undecided_share']:.3f} % of {one['elements']} elements undecided, {one['seconds']} s", flush=True)
    if given.json:
        header = ["programs", "passed", "failed", "undecided", "elements", "seconds"]
        said = {part: (f"{one['failed' if part.startswith('wrong') else 'passed']} of {one['programs']}", f"{part} that {'fail' if part.startswith('wrong') else 'pass'}")
                for part, one in parts.items()}
        results.write(given.json, results.begin(
            "Modules, models, users' programs and wrong Functions of PyTorch", "Gradients", f"The gate has to pass right programs and to fail wrong ones. PyTorch {torch.__version__}, one thread.", said,
            tables=[{"title": "By part", "header": ["part", *header], "rows": [[part, *(f"{one[name]:,}" for name in header)] for part, one in parts.items()]}],
            details={"torch": torch.__version__, "seed": SEED, "wrong_modules": sorted(WRONG), "parts": parts}))


if __name__ == "__main__":
    main()
