"""Trusted flags: how the compiler was really called, read from compile_commands.json.

Every trusted file: compiled alone in semantics and the proof core, -ffp-contract=off, nothing that relaxes IEEE arithmetic, no link-time optimisation. Every file that sees
trusted headers (all but runtime and gpu) also keeps -ffp-contract=off. The last of contradicting flags counts, as it does for gcc.
"""
import json
import pathlib
import re
import shlex

import house

RELAXING = ["fast-math", "unsafe-math-optimizations", "associative-math", "reciprocal-math", "finite-math-only", "allow-store-data-races"]
STRICT_BY_DEFAULT = ["signed-zeros", "trapping-math"]  # relaxed by their -fno- form
SEES_TRUSTED = ["semantics", "kernel", "policy", "frontends", "certificates", "assay", "cli", "tests"]


def last(flags, *forms):
    """The last flag that equals one of the forms or starts with one that ends in '='."""
    hits = [f for f in flags if any(f == form or (form.endswith("=") and f.startswith(form)) for form in forms)]
    return hits[-1] if hits else None


def faults_of(layer, flags):
    """-> what is wrong with the flags of one file of `layer`."""
    found = []
    if layer in SEES_TRUSTED and last(flags, "-ffp-contract=") != "-ffp-contract=off":
        found.append(f"-ffp-contract=off is missing or overridden ({last(flags, '-ffp-contract=')})")
    if layer not in house.TRUSTED:
        return found
    found += [f"-f{name}" for name in RELAXING if last(flags, f"-f{name}", f"-fno-{name}") == f"-f{name}"]
    found += [f"-fno-{name}" for name in STRICT_BY_DEFAULT if last(flags, f"-f{name}", f"-fno-{name}") == f"-fno-{name}"]
    if last(flags, "-O", "-O0", "-O1", "-O2", "-O3", "-Os", "-Og", "-Oz", "-Ofast") == "-Ofast":
        found.append("-Ofast")
    if last(flags, "-flto", "-flto=", "-fno-lto") not in (None, "-fno-lto"):
        found.append("link-time optimisation")
    if last(flags, "-mfpmath=") not in (None, "-mfpmath=sse"):
        found.append(last(flags, "-mfpmath="))
    return found


# Flags of a trusted file that must be found wrong (True) or right.
IN_UNITS = ["gradients", "contracts", "quick", "audit"]  # of kernel/: no verdict of assay-check rests on them
CONTROLS = [
    ("-O2", True),
    ("-O2 -ffp-contract=off", False),
    ("-ffp-contract=off -O2 -ffp-contract=fast", True),
    ("-ffp-contract=off -ffast-math", True),
    ("-ffp-contract=off -ffast-math -fno-fast-math", False),
    ("-ffp-contract=off -Ofast", True),
    ("-ffp-contract=off -Ofast -O2", False),
    ("-ffp-contract=off -flto=auto", True),
    ("-ffp-contract=off -flto -fno-lto", False),
    ("-ffp-contract=off -fassociative-math", True),
    ("-ffp-contract=off -fno-signed-zeros", True),
    ("-ffp-contract=off -mfpmath=387", True),
]


def commands(build):
    """-> [(file, flags, shared)]; shared: the file is compiled as part of a unit with others, which an #include line of the unit names."""
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        flags = entry.get("arguments") or shlex.split(entry["command"])
        if path.parent.name == "Unity":
            for name in re.findall(r'(?m)^#include "(.*)"$', path.read_text(encoding="utf-8")):
                yield pathlib.Path(name).resolve(), flags, True
        else:
            yield path, flags, False


if __name__ == "__main__":
    options = house.arguments()
    root = options.root.resolve()
    problems = [f"control {flags!r} should be found {'wrong' if wrong else 'right'}" for flags, wrong in CONTROLS
                if bool(faults_of("kernel", flags.split())) != wrong]
    seen = set()
    for path, flags, shared in commands(options.build):
        if path.is_relative_to(root):
            relative = path.relative_to(root)
            seen.add(relative)
            if shared and relative.parts[0] in house.TRUSTED and not any(relative.is_relative_to(f"kernel/{part}") for part in IN_UNITS):
                problems.append(f"{relative} is compiled in one unit with other files")
            problems += [f"{relative}: {fault}" for fault in faults_of(relative.parts[0], flags)]
    trusted = house.sources(root, house.TRUSTED, {".cpp"})
    problems += [f"{path} is not compiled by this build" for path in trusted if path not in seen]
    house.report("trusted flags", problems, f"{len(trusted)} trusted files of {len(seen)} compiled ones carry the agreed flags")
