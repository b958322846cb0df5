"""Lone headers: every header compiles as the first include of a file, and all headers of a layer together, twice over, without a
warning. A header that its own .cpp file includes first needs no other proof of the first half than the build.

For trusted layers also: no header carries a body that computes in floating point (such a body would be compiled again in files
with other flags, and the linker keeps either copy). The inline functions of the layer's headers are emitted and their code is searched
for scalar and packed arithmetic on doubles and floats; on machines other than x86-64 this half is reported as skipped, and with
Clang, which has no option that emits them.
"""
import concurrent.futures
import os
import pathlib
import platform
import re
import shutil
import subprocess
import tempfile

import house

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wno-sign-conversion", "-Werror"]
OF_GCC = ["-Wno-unknown-pragmas", "-Wno-shadow"]  # for Clang: GCC's pragmas, and names that GCC does not call shadowed
ARITHMETIC = re.compile(r"\b(v?(?:add|sub|mul|div|sqrt|fn?m(?:add|sub)\w*)[sp][sd])\b")
FUNCTION = re.compile(r"^[0-9a-f]+ <(.*)>:$")


def floating_bodies(assembly):
    """-> {function of ours: first arithmetic instruction in it}"""
    found, name = {}, ""
    for line in assembly.splitlines():
        start = FUNCTION.match(line)
        name = start[1] if start else name
        hit = ARITHMETIC.search(line)
        if hit and re.search(r"\bassay::", name) and name not in found:
            found[name] = hit[1]
    return found


def bodies_of(cxx, root, text, *flags):
    """-> (compiler messages if it fails, floating_bodies of all that `text` defines inline); -fkeep-inline-functions emits it."""
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "lone.o"
        command = [cxx, "-std=c++20", "-O0", "-ffp-contract=off", "-fkeep-inline-functions", f"-I{root}", f"-I{root}/api", *flags, "-c", "-x", "c++", "-"]
        done = subprocess.run([*command, "-o", out], input=text, capture_output=True, text=True)
        if done.returncode:
            return done.stderr, {}
        return "", floating_bodies(subprocess.run(["objdump", "-dC", out], capture_output=True, text=True).stdout)


def stands_first(root, header):
    """Whether the .cpp file beside the header includes it before anything else."""
    source = root / header.with_suffix(".cpp")
    first = re.search(r'^#include (.*)$', source.read_text(), re.M) if source.exists() else None
    return first is not None and first[1] == f'"{header}"'


def alone(job):
    cxx, root, header = job
    done = house.compile_text(cxx, root, f'#include "{header}"\n', *WARNINGS)
    return [f"{header} does not stand alone:\n{done.stderr}"] if done.returncode else []


def of_families(root):
    """The headers of the families of ops: only the trusted files that instantiate a scalar compile them, each for itself."""
    text = (root / "semantics/ops/denotation.h").read_text(encoding="utf-8")
    return {"semantics/ops/denotation.h", *re.findall(r'#include "(semantics/ops/(?!families|integer_range)\w+\.h)"', text)}


def together(job):
    cxx, root, layer, headers, inspect = job
    if inspect and layer in house.TRUSTED:
        headers = [header for header in headers if str(header) not in of_families(root)]
    text = "".join(f'#include "{header}"\n' for header in headers) * 2
    if inspect and layer in house.TRUSTED:
        errors, bodies = bodies_of(cxx, root, text, *WARNINGS)
    else:
        done = house.compile_text(cxx, root, text, *WARNINGS)
        errors, bodies = done.stderr if done.returncode else "", {}
    if errors:
        return [f"the headers of {layer} together:\n{errors}"]
    return [f"{layer}: inline {name} computes in floating point ({instruction}); move its body to a .cpp file"
            for name, instruction in bodies.items()]


# The search itself is tried on one body of each kind.
CONTROLS = [
    ("namespace assay { struct S { double f(double x) { return x * 2.5; } }; }", True),
    ("namespace assay { inline float f(float a, float b) { return a - b; } }", True),
    ("namespace assay { inline bool f(double a, double b) { return a < b; } }", False),
    ("namespace assay { inline int f(int a, int b) { return a * b; } }", False),
]


def controls(cxx, root):
    return [f"control: {text} should{'' if bad else ' not'} be caught" for text, bad in CONTROLS
            if bool(bodies_of(cxx, root, text)[1]) != bad]


if __name__ == "__main__":
    options = house.arguments()
    is_clang = "clang" in subprocess.run([options.cxx, "--version"], capture_output=True, text=True, check=True).stdout
    WARNINGS.extend(OF_GCC if is_clang else [])
    inspect = platform.machine() == "x86_64" and shutil.which("objdump") is not None and not is_clang
    headers = [h for h in house.sources(options.root, house.LAYERS, {".h"}) if h.parts[0] not in ("gpu", "python")]  # CUDA, nanobind
    jobs = [(alone, (options.cxx, options.root, header)) for header in headers if not stands_first(options.root, header)]
    lone = len(jobs)
    for layer in house.LAYERS:
        # Headers that are compiled once per target of the vector library stand alone only.
        if own := [header for header in headers if header.parts[0] == layer and not header.name.endswith("-inl.h")]:
            jobs.append((together, (options.cxx, options.root, layer, own, inspect)))
    with concurrent.futures.ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        problems = [p for found in pool.map(lambda job: job[0](job[1]), jobs) for p in found]
    if inspect:
        problems += controls(options.cxx, options.root)
    else:
        print("skipped: search for floating-point bodies (needs GCC, x86-64 and objdump)")
    house.report("lone header", problems, f"{len(headers)} headers stand alone, {len(headers) - lone} of them first in their own file")
