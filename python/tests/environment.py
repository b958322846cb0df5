#!/usr/bin/env python3
"""The virtual environment in which tests meet PyTorch, ONNX Runtime and other optional packages.

    environment.py BUILD                     makes BUILD/python/tests, or completes it, and names the packages that pip could not get
    environment.py BUILD --run SCRIPT ...    runs a script by that environment's interpreter, or by this one where there is none

The interpreter that makes the environment lends its own PyTorch and ONNX Runtime; pip gets the packages that it does not have.
Prints "skipped: ..." where pip cannot get what every test needs, and ends with status 77.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

TESTS = ["pytest", "numpy"]
OPTIONAL = ["ruff", "onnx", "onnxscript", "nbclient", "ipykernel", "matplotlib", "pyyaml", "check-jsonschema", "pytest-xdist", "jax"]
PEERS = {"torch": "torch==2.13.0", "onnxruntime": "onnxruntime"}
MOST_SECONDS = 300  # for optional packages


def run(*command, **options):
    print("+", *map(str, command), flush=True)
    return subprocess.run([str(word) for word in command], check=True, **options)


def pip(python, packages, seconds=None):
    """Installs packages; returns why it did not, or nothing."""
    install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--retries", "1", "--timeout", "20"]
    try:
        if PEERS["torch"] in packages:  # with CUDA it is gigabytes larger
            would = subprocess.run([*install, "--dry-run", "--report", "-", PEERS["torch"]], capture_output=True, text=True, timeout=seconds)
            if any(f'"name": "{other}' in would.stdout for other in ("nvidia", "cuda", "triton")):
                return "the build that pip finds brings CUDA along: install a build for CPUs in the interpreter that runs this"
        done = subprocess.run([*install, *packages], capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"more than {seconds} s"
    return (done.stderr.strip().splitlines() or ["no reason given"])[-1] if done.returncode != 0 else None


def environment(folder, packages):
    """A virtual environment with these packages; it is kept from run to run."""
    python = folder / "bin" / "python"
    listed = folder / "packages"
    if listed.exists() and listed.read_text() == repr((packages, sys.version)):
        return python
    shutil.rmtree(folder, ignore_errors=True)
    try:
        run(sys.executable, "-m", "venv", folder, stdout=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"skipped: no virtual environment can be made: {error}")
        sys.exit(77)
    why = pip(python, packages)
    if why is not None:
        print(f"skipped: pip cannot install {', '.join(packages)}: {why}")
        sys.exit(77)
    listed.write_text(repr((packages, sys.version)))
    return python


def has(python, module):
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0


def lend(python):
    """Lets the environment see this interpreter's PyTorch and ONNX Runtime, behind its own packages. Returns the names of those lent."""
    lent = [peer for peer in PEERS if has(sys.executable, peer)]
    own = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], capture_output=True, text=True, check=True)
    beside = pathlib.Path(own.stdout.strip()) / "peers.pth"  # looked at last
    beside.write_text(sysconfig.get_path("purelib") + "\n" if lent else "")
    return lent


def add_optional(python):
    """Packages that are good to have. Those that pip could not get are tried again in the next run."""
    lent = lend(python)
    had = python.parent.parent / "optional"
    installed = had.read_text().split() if had.exists() else []
    wanted = [one for one in [*OPTIONAL, *(name for peer, name in PEERS.items() if peer not in lent)] if one not in installed]
    if wanted and pip(python, wanted, MOST_SECONDS) is None:
        installed += wanted
    else:
        for one in wanted:  # one that cannot be had takes no other one with it
            why = pip(python, [one], MOST_SECONDS)
            if why is None:
                installed.append(one)
            else:
                print(f"not here, tests of it are skipped: {one}: {why}", flush=True)
    had.write_text("\n".join(installed))


def tests_of(tree):
    """The environment of the tests of a build tree, with all packages that can be had."""
    python = environment(tree / "python" / "tests", TESTS)
    add_optional(python)
    return python


def main():
    tree = pathlib.Path(sys.argv[1]).resolve()
    if sys.argv[2:3] == ["--run"]:
        python = tree / "python" / "tests" / "bin" / "python"
        python = python if python.exists() else sys.executable
        os.execv(python, [str(python), "-B", *sys.argv[3:]])
    (tree / "python").mkdir(exist_ok=True)
    tests_of(tree)


if __name__ == "__main__":
    main()
