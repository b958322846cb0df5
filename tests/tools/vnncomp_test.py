"""tools/vnncomp: verdict, assignment and exit status of run_instance.sh for everything a tool may print, with a stand-in tool."""
import argparse
import gzip
import os
import pathlib
import stat
import subprocess
import sys
import tempfile

HEADERS = "sat\nX real [1,3]\n0.1\n-2e-3\n3\nY real [1,2]\n5\n6.5\n"
LIST = "((X_0 0.1)\n (X_1 -2e-3)\n (X_2 3)\n (Y_0 5)\n (Y_1 6.5))\n"
# what the stand-in prints, its exit status, property, expected results file
CASES = [
    ("unsat\n", 0, "one.vnnlib", "unsat\n"),
    ("unknown\nmore\n", 0, "one.vnnlib", "unknown\n"),
    ("timed-out\n", 0, "one.vnnlib", "timeout\n"),
    ("unsat\n", 3, "one.vnnlib", "unsat\n"),
    ("sat\n" + LIST, 0, "one.vnnlib", "sat\n" + LIST),
    ("sat\n" + LIST, 0, "packed.vnnlib", "sat\n" + LIST),
    (HEADERS, 0, "two.vnnlib", HEADERS),
    ("", 70, "one.vnnlib", "error\n"),
    ("unsatisfiable\n", 0, "one.vnnlib", "error\n"),
    ("Segmentation fault\n", 139, "one.vnnlib", "error\n"),
]


def files(folder):
    (folder / "net.onnx").write_bytes(b"")
    (folder / "one.vnnlib").write_text("; (vnnlib-version in a comment\n(declare-const X_0 Real)\n")
    (folder / "two.vnnlib").write_text("(vnnlib-version <2.0>)\n")
    (folder / "packed.vnnlib.gz").write_bytes(gzip.compress(b"(declare-const X_0 Real)\n"))
    tool = folder / "assay"
    tool.write_text('#!/bin/sh\ncd "$(dirname "$0")"\nprintf "%s\\n" "$*" >called\ncat print\nexit "$(cat status)"\n')
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)


def run(root, folder, script, *arguments):
    environment = dict(os.environ, ASSAY_BINARY=str(folder / "assay"))
    return subprocess.run([root / "tools/vnncomp" / script, *arguments], env=environment, capture_output=True, text=True, timeout=60)


def verdicts(root, folder):
    for printed, status, name, expected in CASES:
        (folder / "print").write_text(printed)
        (folder / "status").write_text(str(status))
        results = folder / "out" / "results.txt"
        done = run(root, folder, "run_instance.sh", "v1", "category", str(folder / "net.onnx"), str(folder / name), str(results), "5")
        if done.returncode != 0 or results.read_text() != expected:
            yield f"{printed!r} with status {status}: exit {done.returncode}, results {results.read_text()!r}, expected {expected!r}"
        results.unlink()


def several_networks(root, folder):
    """The tool gets one --network per pair."""
    (folder / "print").write_text("unsat\n")
    (folder / "status").write_text("0")
    pairs = f"[('f', '{folder}/net.onnx'), (\"g\", \"{folder}/net.onnx\")]"
    query = str(folder / "two.vnnlib")
    run(root, folder, "run_instance.sh", "v1", "category", pairs, query, str(folder / "results.txt"), "7.5")
    called = (folder / "called").read_text().strip()
    expected = f"verify {query} --network f={folder}/net.onnx --network g={folder}/net.onnx --timeout 7.5"
    if called != expected:
        yield f"called with {called!r}, expected {expected!r}"


def preparation(root, folder):
    there, absent = str(folder / "net.onnx"), str(folder / "absent.onnx")
    for arguments, status in [(("v1", "c", there, str(folder / "one.vnnlib")), 0), (("v1", "c", there, str(folder / "packed.vnnlib")), 0),
                              (("v1", "c", absent, str(folder / "one.vnnlib")), 1), (("v1", "c", there, str(folder / "absent")), 1),
                              (("v2", "c", there, str(folder / "one.vnnlib")), 1), (("v1", "c", f"[('f', '{absent}')]", there), 1)]:
        done = run(root, folder, "prepare_instance.sh", *arguments)
        if done.returncode != status:
            yield f"prepare_instance {arguments}: exit {done.returncode}, expected {status}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path)
    root = parser.parse_args().root
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        files(folder)
        problems = [*verdicts(root, folder), *several_networks(root, folder), *preparation(root, folder)]
    print("\n".join(f"FAILED {p}" for p in problems) or f"{len(CASES)} verdicts, several networks and preparation as agreed")
    sys.exit(1 if problems else 0)
