"""Asks a writer for kernels until one is accepted: python loop.py ACCEPTED.py ATTEMPT.py..."""
import json
import pathlib
import subprocess
import sys
import tempfile

from gate import EXITS

GATE = pathlib.Path(__file__).with_name("gate.py")
SECONDS = 300


def no_report(why):
    return {"schema": "assay.kernel/1", "verdict": "no report", "headline": why}


def judged(source, gate=GATE, seconds=SECONDS):
    """The report of the gate on one candidate, or a report with the verdict "no report"."""
    with tempfile.TemporaryDirectory() as folder:
        candidate = pathlib.Path(folder, "candidate.py")
        candidate.write_text(source, encoding="utf-8")
        try:
            command = [sys.executable, gate, candidate]
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            return no_report(f"the gate took longer than {seconds} seconds")
    try:
        report = json.loads(done.stdout)
        is_known = report["schema"] == "assay.kernel/1"
        if is_known and EXITS.get(report["verdict"], 3) == done.returncode:
            return report
    except (ValueError, KeyError, TypeError):
        pass
    return no_report(f"the gate ended with status {done.returncode}: {done.stderr[-500:].strip()}")


def is_accepted(report):
    """Whether every probe was judged and passed: a kernel that declines a probe is not accepted."""
    counts = report.get("probes", {})
    return report["verdict"] == "passed" and 0 < counts["all"] == counts["judged"]


def element(found):
    """One element: where it is, what the kernel gave, what is right."""
    right = found["admitted"]
    more = [f", {word}" for word in ("minus_infinity", "plus_infinity", "nan") if right[word]]
    words = f"{right['lo']} to {right['hi']}" + "".join(more)
    return f"element {found['index']}: got {found['received']}, expected {words}"


def message(report):
    """What the writer of the kernel is told."""
    lines = [f"Verdict: {report['verdict']}", report["headline"]]
    lines += [f"Fault: {one['fault']} ({one['probes']})" for one in report.get("faults", [])]
    lines += [f"Declined: {one['why']} ({one['probes']})" for one in report.get("declined", [])]
    if (worst := report.get("worst")) and worst["call"]:
        given = worst["call"]["operands"]
        operands = ", ".join(f"{one['dtype']} {one['shape']} {one['layout']}" for one in given)
        lines += [f"Worst probe: {worst['probe']}", f"  operands: {operands}"]
        lines.append(f"  {worst['message']}")
        if worst["worst"] and "admitted" in worst["worst"]:
            lines.append(f"  {element(worst['worst'])}")
        lines += [f"  {line}" for line in worst["details"]]
    is_failed = report["verdict"] == "failed"
    for name, rows in report["failures"].items() if is_failed else ():
        lines.append(f"Failing probes {name.replace('_', ' ')}:")
        lines += [f"  {one['of']}: {one['failed']} of {one['judged']}" for one in rows]
    lines += [f"Not tried: {one}" for one in report.get("not_tried", [])]
    return "\n".join(lines)


def attempts(files):
    """Stands for the writer: gets the message about its last version, and gives the next one."""
    left = [pathlib.Path(file).read_text(encoding="utf-8") for file in files]
    return lambda told: left.pop(0) if left else None


def main(accepted, *files):
    write, told = attempts(files), ""
    while (source := write(told)) is not None:
        report = judged(source)
        told = message(report)
        print(told, end="\n\n", flush=True)
        if is_accepted(report):
            # The text that was judged: the kernel may have changed the file from which it was run.
            pathlib.Path(accepted).write_text(source, encoding="utf-8")
            return 0
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
