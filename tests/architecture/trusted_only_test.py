"""Trusted only: a copy of what assay-check is made of, and nothing else, builds with the preset of that name and runs.

The copy holds semantics and the proof core, the front ends, the certificate format and one main; no search, no command line tool, no tests.
The dependency files of the build then tell which foreign headers were really read, and the binary which libraries it loads:
the C++ library, Boost headers, MPFR, GMP and zlib, no more. The digits demo is checked by it where a certificate is at hand.
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import house

PARTS = ["CMakeLists.txt", "CMakePresets.json", "tools/cmake", "semantics", "kernel/CMakeLists.txt", "kernel/exact", "kernel/floats", "kernel/inspect", "kernel/logic", "kernel/relax", "kernel/rows", "policy",
         "frontends", "formats", "certificates/CMakeLists.txt", "certificates/check", "certificates/format", "api/CMakeLists.txt", "api/assay/check.h", "api/check", "cli"]
LEFT_OUT = {"__pycache__", "assay"}  # a folder of that name inside one of them: cli/assay is the search's command line
# Folders of foreign headers; single files directly below an include root (mpfr.h, gmp.h, zlib.h, the C library) are listed apart.
HEADER_FOLDERS = {"boost", "c++", "bits", "sys", "gnu", "asm", "asm-generic", "linux", "gcc", "backward", "debug", "ext", "pstl"}
LIBRARIES = re.compile(r"^(lib(stdc\+\+|c\+\+|m|c|gcc_s|mpfr|gmp|z|pthread)\.so|ld-linux|linux-vdso)")
FORBIDDEN_HEADER = re.compile(r"/(nlohmann|CLI|catch2|coin/|onnx|google|cblas|openblas|omp\.h|pthread\.h/)")


def copy(root, to):
    for part in PARTS:
        source, target = root / part, to / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns(*LEFT_OUT))
        else:
            shutil.copyfile(source, target)


def run(command, cwd):
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=1500)


def foreign(listing, tree):
    """-> headers in the output of `ninja -t deps` that lie neither in the tree nor in HEADER_FOLDERS."""
    found = set()
    for line in listing.splitlines():
        path = line.strip()
        if not line.startswith("    ") or not path.startswith("/") or path.startswith(str(tree)):
            continue
        after = re.sub(r"^/usr/(?:local/)?(?:include|lib/gcc|lib)/(?:[a-z0-9_]+-linux-gnu/)?", "", path)
        top = after.split("/")[0]
        if FORBIDDEN_HEADER.search(path) or ("/" in after and top not in HEADER_FOLDERS and not re.fullmatch(r"[\w.]+-linux-gnu|\d+", top)):
            found.add(path)
    return sorted(found)


def build(options, tree):
    """-> problems of configuring and building; the compiler cache is used if the machine has one."""
    configure = ["cmake", "--preset", "trusted-only", f"-DCMAKE_CXX_COMPILER={options.cxx}"]
    if shutil.which("ccache"):
        os.environ["CCACHE_BASEDIR"] = str(tree)
        os.environ["CCACHE_NOHASHDIR"] = "1"
        configure.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
    for command in (configure, ["cmake", "--build", "--preset", "trusted-only"]):
        done = run(command, tree)
        if done.returncode:
            return [f"{' '.join(command)} fails:\n{done.stdout[-6000:]}{done.stderr[-2000:]}"]
    return []


def inspect(tree):
    """-> problems of the built binary."""
    where = tree / "build/trusted-only"
    binary = where / "bin/assay-check"
    problems = [f"reads the foreign header {path}" for path in foreign(run(["ninja", "-t", "deps"], where).stdout, tree)]
    if (where / "bin/assay").exists():
        problems.append("the search binary was built as well")
    needed = re.findall(r"NEEDED.*?\[(.*?)\]", run(["readelf", "-d", str(binary)], tree).stdout)
    print("assay-check loads:", " ".join(needed))
    problems += [f"assay-check loads {name}" for name in needed if not LIBRARIES.match(name)]
    done = run([str(binary), str(tree / "no.onnx"), str(tree / "no.vnnlib"), str(tree / "no.assay")], tree)
    if done.returncode != 4:
        problems.append(f"assay-check on absent files: exit {done.returncode}, not 4\n{done.stdout}{done.stderr}")
    return problems


if __name__ == "__main__":
    options = house.arguments()
    if foreign("a.o: #deps 1\n    /usr/include/nlohmann/json.hpp\n", pathlib.Path("/t")) == []:
        house.report("trusted only", ["control: a JSON header must be found foreign"], "")
    with tempfile.TemporaryDirectory(prefix="assay-trusted-") as scratch:
        tree = pathlib.Path(scratch).resolve()
        copy(options.root.resolve(), tree)
        problems = build(options, tree) or inspect(tree)
    house.report("trusted only", problems, "assay-check builds from its own parts alone")
