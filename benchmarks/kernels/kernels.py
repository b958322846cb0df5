#!/usr/bin/env python3
"""Kernels in the manner of libraries by the gates: does each right one pass, is each planted fault found, and is it named?

    PYTHONPATH=python ASSAY_PROGRAMS=build/release/bin python3 benchmarks/kernels/kernels.py [--only NAME ...] [--right] [--recent] [--faults N] [--jobs N]
        [--json FILE]

Needs torch and numpy. The kernels are plain code for the CPU that goes block by block, as kernels for GPUs do: half of them have a backward pass. `--right` leaves
the faults out. `--recent` runs the kinds of faults alone that tests of libraries let pass in 2025 and 2026.
"""
from __future__ import annotations

import argparse
import collections
import concurrent.futures
import pathlib
import re
import resource
import sys
import warnings
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import functions  # noqa: E402, F401
import numpy as np  # noqa: E402
import pointwise  # noqa: E402, F401
import products  # noqa: E402, F401
import reductions  # noqa: E402, F401
import results  # noqa: E402
import sequences  # noqa: E402, F401
import torch  # noqa: E402
from entries import EVERY, RIGHT, Entry  # noqa: E402

# Kinds of faults that tests of libraries let pass in 2025 and 2026, each with the kernel into which it is planted.
RECENT = {"zeros within atol": "softmax, online", "truncated history": "linear attention in chunks", "sampled prefix": "row sum", "stale pointers": "rms norm",
          "NaN as wildcard": "softmax, online", "wrong tiles at 192": "attention, any width in tiles of 64", "lost tail": "matmul, split of K",
          "double rotation": "rotary embedding of halves", "wrong broadcast of the scale": "product of quantised weights", "accumulator of 16 bits": "matmul in tiles",
          "epsilon outside": "rms norm", "no maximum": "softmax, online", "hash over NaN": "swiglu", "gradient compared with itself": "rms norm, with backward",
          "uniform cotangents": "softmax, with backward"}
_UNNAMED = re.compile("gives (values outside of|nothing but NaN|wrong results only where)")


def is_recent(kernel: str, fault: str) -> bool:
    return RECENT.get(fault) == kernel


def named(one: Entry, fault: str, report: Any) -> tuple[str, str]:
    """Whether a report names a fault "rightly", "wrongly" or not, and its words."""
    if not hasattr(report, "faults"):
        words = report.headline
        return "rightly" if one.faults[fault] and re.search(one.faults[fault], words) else "no name", words
    words = [found for found, _ in report.faults if not _UNNAMED.match(found)]
    if not words:
        return "no name", report.faults[0][0] if report.faults else report.headline
    return "rightly" if one.faults[fault] and re.search(one.faults[fault], "; ".join(words)) else "wrongly", "; ".join(words)


def spent() -> float:
    """Seconds of a processor so far, with those of programs that have ended."""
    return sum(resource.getrusage(who).ru_utime + resource.getrusage(who).ru_stime for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def judged(one: Entry, fault: str) -> dict[str, Any]:
    """One audit: its verdict, the words of a fault, and how long it took."""
    start = spent()
    torch.manual_seed(1)
    try:
        report = one.audit(one.make(fault))
    except Exception as error:
        return {"verdict": "error", "named": "", "words": f"{type(error).__name__}: {error}"[:300], "seconds": spent() - start}
    verdict = "passed" if report is None else report.verdict
    name, words = ("", "") if verdict == "passed" else ("", report.headline or report.text[:300]) if fault == RIGHT else named(one, fault, report)
    return {"verdict": verdict, "named": name, "words": words, "seconds": spent() - start}


def figures(right: list[Any], faulty: list[Any]) -> dict[str, tuple[str, str]]:
    """The counts of a run."""
    verdicts, names = collections.Counter(one["verdict"] for _, _, one in right), collections.Counter(one["named"] for _, _, one in faulty)
    recent, others = ([row for row in faulty if is_recent(row[0].name, row[1]) == wanted] for wanted in (True, False))
    found = {"passed": (f"{verdicts['passed']} of {len(right)}", "right kernels that pass"), "accused": (f"{verdicts['failed']} of {len(right)}", "right kernels that fail"),
             "undecided": (str(len(right) - verdicts["passed"] - verdicts["failed"]), "right kernels that are undecided or vacuous"),
             "slowest": (f"{max(one['seconds'] for _, _, one in right):.1f}", "slowest audit of a right kernel, seconds of a processor")}
    for key, rows, what in (("recent", recent, "kinds of faults of 2025 and 2026"), ("planted", others, "further planted faults")):
        if rows:
            found[key] = f"{sum(one['verdict'] != 'passed' for _, _, one in rows)} of {len(rows)}", f"{what}, found"
    if faulty:
        found["named"] = f"{names['rightly']} of {len(faulty)}", "faults that are named rightly"
        found["misnamed"] = f"{names['wrongly']} of {len(faulty)}", "faults that are named wrongly"
    return found


def wanted(options: Any) -> list[tuple[str, str]]:
    """The audits to run: of right kernels, then of those with a fault."""
    every = [one for one in EVERY.values() if not options.only or any(part in one.name for part in options.only)]
    faults = [(one.name, fault) for one in every for fault in one.faults if is_recent(one.name, fault)]
    for one in every:
        further = [(one.name, fault) for fault in one.faults if not is_recent(one.name, fault)]
        faults += [] if options.recent else further[:options.faults]
    return [*([] if options.recent else [(one.name, RIGHT) for one in every]), *([] if options.right else faults)]


def label(name: str, fault: str) -> str:
    return f"{name}, {fault}" if fault else name


def logged(text: str) -> dict[str, dict[str, Any]]:
    """The audits that an interrupted run has printed, by their labels."""
    lines = re.findall(r"^(.+?): ([a-z]+), ([\d.]+) s\. (rightly|wrongly|no name|) (.*)$", text, re.M)
    return {name: {"verdict": verdict, "seconds": float(seconds), "named": named, "words": words} for name, verdict, seconds, named, words in lines}


def ran(what: tuple[str, str]) -> tuple[str, str, dict[str, Any]]:
    """One audit in a process of its own."""
    return *what, judged(EVERY[what[0]], what[1])


def quiet() -> None:
    """Kernels overflow on purpose."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    torch.set_num_threads(1)


def table(title: str, header: list[str], rows: list[list[str]]) -> dict[str, Any]:
    return {"title": title, "header": header, "left": list(range(len(header) - 1)), "rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", default=[], help="parts of names")
    parser.add_argument("--right", action="store_true", help="no faults")
    parser.add_argument("--recent", action="store_true", help="the faults of RECENT alone")
    parser.add_argument("--faults", type=int, help="the largest number of further faults for each kernel")
    parser.add_argument("--jobs", type=int, default=1, help="audits at once")
    parser.add_argument("--resume", help="what an interrupted run has printed: these audits do not run again")
    parser.add_argument("--logged", action="store_true", help="with --resume: nothing else runs")
    parser.add_argument("--json")
    options = parser.parse_args()
    every, known = wanted(options), logged(pathlib.Path(options.resume).read_text(encoding="utf-8")) if options.resume else {}
    rows = [(*what, known[label(*what)]) for what in every if label(*what) in known]
    with concurrent.futures.ProcessPoolExecutor(options.jobs, initializer=quiet) as pool:
        for name, fault, found in pool.map(ran, [] if options.logged else [what for what in every if label(*what) not in known]):
            rows.append((name, fault, found))
            print(f"{label(name, fault)}: {found['verdict']}, {found['seconds']:.1f} s. {found['named']} {found['words']}", flush=True)
    right, faulty = ([(EVERY[name], fault, found) for name, fault, found in rows if bool(fault) == has_one] for has_one in (False, True))
    counts = figures(right, faulty) if right else {}
    print("\n".join(f"{what}: {value}" for value, what in counts.values()))
    if options.json:
        tables = [table("Right kernels", ["Kernel", "In the manner of", "Verdict", "Reason", "Seconds"],
                        [[one.name, one.manner, found["verdict"], found["words"], f"{found['seconds']:.1f}"] for one, _, found in right])]
        tables += [table(title, ["Fault", "Kernel", "Verdict", "Named", "Words of the report", "Seconds"],
                         [[fault, one.name, found["verdict"], found["named"], found["words"], f"{found['seconds']:.1f}"] for one, fault, found in faulty if is_recent(one.name, fault) == is_new])
                   for title, is_new in (("Kinds of faults that tests of libraries let pass in 2025 and 2026", True), ("Further planted faults", False))]
        results.write(options.json, results.begin("Kernels in the manner of libraries", "Contracts and faults",
                                                  f"PyTorch {torch.__version__}, NumPy {np.__version__}, at default limits. All kernels are written for this benchmark, on the CPU. "
                                                  "A fault of a Function is named if the report says which result or gradient is wrong.", counts, tables=tables))


if __name__ == "__main__":
    main()
