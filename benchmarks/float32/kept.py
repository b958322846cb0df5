#!/usr/bin/env python3
"""What a theorem about float executions costs: of the `unsat` that are proved over the reals, how many are proved in a float semantics too, and
at what price in time, nodes, certificate and check.

    benchmarks/float32/kept.py [--bin DIR] [--semantics float32] [--seconds 5] [--longer 20] [--category NAME]...
        [--most N] [--out FILE.jsonl]

Every instance of the development set ($ASSAY_DATA/vnn, ../shared/data/vnn) whose answer may be `unsat`: first over the reals, SECONDS each; what is proved is
asked again in the float semantics with twice as much, then with LONGER. One line of JSON for each instance that was proved over the reals; lines that FILE holds
are not measured again. --most: of a category, spread evenly. At the end a table by category, the ratios' medians, and every instance that was lost, with its reason.
"""
import argparse
import collections
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(command, limit):
    start = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return "", "", limit
    return done.stdout, done.stderr, time.monotonic() - start


def proved(bin_folder, files, semantics, seconds, folder):
    """-> what came of it, with the check's verdict and times."""
    proof, report = folder / "p.assay", folder / "r.json"
    for path in (proof, report):
        path.unlink(missing_ok=True)
    run([f"{bin_folder}/assay", "verify", *files, "--semantics", semantics, "--timeout", str(seconds), "--proof", str(proof), f"--json={report}"], seconds + 60)
    found = json.loads(report.read_text()) if report.exists() else {}
    result = {"answer": found.get("answer", ""), "reason": found.get("reason", ""), "vacuous": found.get("theorem", {}).get("vacuous", False),
              "nodes": found.get("statistics", {}).get("nodes"), "cpu": found.get("statistics", {}).get("cpu_seconds")}
    if "rejection" in found:
        result["reason"] = found["rejection"].get("found", "")
    if result["answer"] == "unsat" and proof.exists():
        out, _, wall = run([f"{bin_folder}/assay-check", *files, str(proof), "--semantics", semantics], 120)
        result |= {"bytes": proof.stat().st_size, "verdict": out.split("\n")[0].split(" ")[0].strip(":"), "check": wall}
    return result


def table(lines, semantics):
    by_category = collections.defaultdict(lambda: [0, 0, 0])
    ratios, lost = {"cpu": [], "check": [], "bytes": [], "nodes": []}, []
    for one in lines:
        counts = by_category[one["category"]]
        counts[0] += 1
        kept = one["float"]["answer"] == "unsat" and one["float"].get("verdict") == "accepted"
        counts[1 + (not kept)] += 1
        if not kept:
            lost.append(one)
            continue
        for key, values in ratios.items():
            if one["real"].get(key) and one["float"].get(key) is not None and not one["float"]["vacuous"]:
                values.append(one["float"][key] / one["real"][key])
    total = [sum(counts[k] for counts in by_category.values()) for k in range(3)]
    print(f"| Category | `unsat` over the reals | in {semantics} | lost |\n| --- | ---: | ---: | ---: |")
    for name, counts in sorted(by_category.items()):
        print(f"| {name} | {counts[0]} | {counts[1]} | {counts[2]} |")
    print(f"| all | {total[0]} | {total[1]} | {total[2]} |")
    for key, values in ratios.items():
        if values:
            print(f"{key}: median ratio {statistics.median(values):.3f}, sum {sum(values) / len(values):.3f} on average, {len(values)} instances")
    print(f"vacuous: {sum(one['float']['vacuous'] for one in lines)}")
    for one in lost:
        print(f"lost: {one['category']} {one['property']}: {one['float']['answer'] or 'refused'} ({one['float']['reason'][:200]})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=str(ROOT / "build/release/bin"))
    parser.add_argument("--semantics", default="float32")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--longer", type=float, default=20)
    parser.add_argument("--category", action="append")
    parser.add_argument("--most", type=int, default=1 << 30)
    parser.add_argument("--out", default="kept.jsonl")
    options = parser.parse_args()
    data = pathlib.Path(os.environ.get("ASSAY_DATA", ROOT.parent / "shared/data")) / "vnn"
    if not (data / "expected.csv").exists():
        print(f"SKIPPED: no {data / 'expected.csv'} (set ASSAY_DATA)")
        return 77
    out, lines, seen = pathlib.Path(options.out), [], set()
    if out.exists():
        lines = [json.loads(line) for line in out.read_text().splitlines()]
        seen = {(one["category"], one["model"], one["property"]) for one in lines}
    with open(data / "expected.csv", newline="", encoding="utf-8") as file, tempfile.TemporaryDirectory() as scratch, open(out, "a", encoding="utf-8") as log:
        rows = collections.defaultdict(list)
        for row in csv.DictReader(file):
            if row["expected"] != "sat" and (not options.category or row["category"] in options.category):
                rows[row["category"]].append(row)
        chosen = [row for one in rows.values() for k, row in enumerate(one) if k * options.most // len(one) != (k - 1) * options.most // len(one)]
        for row in chosen:
            category, model, query = row["category"], row["onnx"], row["vnnlib"]
            if (category, model, query) in seen:
                continue
            files = [str(data / category / model), str(data / category / query)]
            real = proved(options.bin, files, "real", options.seconds, pathlib.Path(scratch))
            if real["answer"] == "unsat":
                one = {"category": category, "model": model, "property": query, "real": real}
                for seconds in (2 * options.seconds, options.longer):
                    one["float"] = proved(options.bin, files, options.semantics, seconds, pathlib.Path(scratch))
                    if one["float"]["answer"] in ("unsat", "sat"):
                        break
                lines.append(one)
            else:
                one = {"category": category, "model": model, "property": query, "real": real, "float": None}
            print(json.dumps(one), file=log, flush=True)
            print(category, query, real["answer"], (one["float"] or {}).get("answer"), flush=True, file=sys.stderr)
    table([one for one in lines if one["real"]["answer"] == "unsat"], options.semantics)
    return 0


if __name__ == "__main__":
    sys.exit(main())
