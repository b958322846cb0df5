#!/usr/bin/env python3
"""Controls of the audit's tests: the contracts without one premise of storage in 16 bits at a time.

    audit_mutants.py BUILD_DIR [--only TEXT] [--changed COMMIT]

As kernel_mutants.py, for kernel/audit and test_audit: each mutant is one replaced piece of one file. The layer is compiled several files at a time, so
that a mutant is compiled in the unit that holds its file, and linked before the library. Exit code 0: every mutant was caught, and the
unchanged audit passes. The working tree is never changed.
"""

import argparse
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile

from mutants import changed_since, flags_of, passes

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "kernel" / "audit"

# (text that occurs once in the folder, replacement, names of tests of which one must fail)
MUTANTS = [
    ("std::nearbyint(std::fabs(x) / unit) * unit, x)", "std::trunc(std::fabs(x) / unit) * unit, x)", "storage: all 65,536*"),
    ("if (std::fabs(x) >= format.overflow) return", "if (std::fabs(x) > format.overflow) return", "storage: all 65,536*"),
    ("std::fmax(std::ldexp(1.0, std::ilogb(x) - format.bits + 1), format.smallest)", "std::ldexp(1.0, std::ilogb(x) - format.bits + 1)", "storage: all 65,536*"),
    ("y.plus_infinity = y.plus_infinity || hi == kInfinity;\n  if (lo", "if (lo", "storage: the image of a set*"),
    ("y.hi = -1;\n  y.minus_infinity = y.minus_infinity || lo == -kInfinity;", "y.hi = -1;", "storage: the image of a set*"),
    ("y.include(Format::real, std::fmax(lo, -most), std::fmin(hi, most));", "y.include(Format::real, lo, hi);", "storage: the image of a set*"),
    ("above < kInfinity ? size / 2 + above / 2 : format.overflow", "size", "storage: what may have been stored*"),
    ("if (storage == Storage::same) return kept(model, computed);", "return kept(model, computed);", "storage: a kernel in float32*"),
    ("set.include(stored(storage, reals));", "", "storage: what is rounded at once*"),
    ("return model.storage == Storage::same ? computed : hull(computed,", "return true ? computed : hull(computed,", "storage: a region says which*"),
    ("return model.storage == Storage::same ? computed : hull(computed,", "return hull(FloatSet(),", "storage: steps inside of a region*"),
    ("return stored(storage, model.flush_results ? flushed(Format::binary32, computed) : computed);", "return stored(storage, computed);", "storage: subnormal numbers*"),
    ("if (value.nan || !value.is_single()) continue;", "continue;", "storage: what follows from a recorded*"),
    ("if (says_where && !(is_softmax && model.softmax == ExecutionModel::Softmax::online))", "if (false)", "storage: a region says which*"),
    ("(!says_where || is_stored_step(graph, node))", "true", "storage: a region says which*"),
    ("stores ? add_up(of_merges, mul_up(2, kept.unit)) : of_merges", "of_merges", "storage: steps inside of a defined*"),
    ("line.sum = a.kept(a.sum(online ? terms : line.powers));", "line.sum = a.sum(online ? terms : line.powers);", "storage: steps inside of a defined*"),
    ("format_ == Format::binary32 && model_->storage != Storage::same ? hull(x, stored(model_->storage, x)) : x", "x", "storage: steps inside of a defined*"),
    ("if (contracts::is_number_of(entry.storage, entry.value.as_double(i))) continue;", "continue;", "a tensor that is stored in 16 bits*"),
    ("if (entry.value.dtype() != DType::float32) return broken", "if (false) return broken", "a tensor that is stored in 16 bits*"),
    ("stored.push_back(entry.storage);", "stored.push_back(contracts::Storage::same);", "a tensor that is stored in 16 bits*"),
    ("executions::precision_of(shortest());", "executions::precision_of(contracts::Storage::same);", "kinks: cotangents that were stored*"),
    ("if (product_.is_stored_short)", "if (false)", "point: a cotangent that overflows in 16 bits*"),
    ("stored.push_back(cotangent.storage);", "stored.push_back(contracts::Storage::same);", "point: a cotangent that overflows in 16 bits*"),
]


def units(build):
    """The compile commands of the layer: its units of several files, and the files that are compiled alone."""
    marker = str(pathlib.Path("kernel") / "audit")
    return [entry for entry in json.loads((build / "compile_commands.json").read_text()) if marker in entry["file"]]


def link(build, objects, binary):
    """The command that linked test_audit, with these objects first."""
    command = subprocess.run(["ninja", "-C", str(build), "-t", "commands", "-s", "bin/test_audit"], check=True, capture_output=True, text=True).stdout
    words = shlex.split(command.strip().splitlines()[-1])
    start = next(i for i, word in enumerate(words) if word.endswith("++"))
    end = next((i for i in range(start, len(words)) if words[i] == "&&"), len(words))
    words = words[start:end]
    words[words.index("-o") + 1] = str(binary)
    subprocess.run([words[0], *map(str, objects), "-Wl,--allow-multiple-definition", *words[1:]], check=True, cwd=build)


def places(text):
    return [path for path in sorted(FOLDER.rglob("*.*")) if path.suffix in (".cpp", ".h") and text in path.read_text()]


def check(build, folder, number, mutant):
    old, new, tests = mutant
    files = places(old)
    if len(files) != 1 or files[0].read_text().count(old) != 1:
        return f"stale: found in {[str(path.relative_to(ROOT)) for path in files]}"
    place = folder / str(number)
    changed = place / files[0].relative_to(ROOT)
    changed.parent.mkdir(parents=True)
    changed.write_text(files[0].read_text().replace(old, new))
    objects = []
    for entry in units(build):
        source = pathlib.Path(entry["file"])
        text = source.read_text()
        is_header = files[0].suffix == ".h"
        if not is_header and str(files[0]) not in text and source.resolve() != files[0]:
            continue
        unit = place / f"unit{len(objects)}.cpp"
        unit.write_text(f'#include "{changed}"\n' if source.resolve() == files[0] else
                        text.replace(str(files[0]), str(changed)) if "Unity" in str(source) else f'#include "{source}"\n')
        objects.append(unit.with_suffix(".o"))
        compiler, *flags = flags_of(entry)
        flags = [f"-I{(pathlib.Path(entry['directory']) / word[2:]).resolve()}" if word.startswith("-I") else word for word in flags]
        done = subprocess.run([compiler, f"-I{place}", *flags, "-w", "-O1", "-c", str(unit), "-o", str(objects[-1])], cwd=entry["directory"], capture_output=True, text=True)
        if done.returncode != 0:
            return "does not compile: " + done.stderr[:300]
    link(build, objects, place / "test")
    caught = any(not passes(place / "test", test) for test in tests.split(","))
    (place / "test").unlink()
    return "" if caught else f"survives {tests!r}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", default="", help="mutants whose text or test contains this")
    parser.add_argument("--changed", help="mutants of the files that differ from this commit, and those that are found in no file")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    chosen = [m for m in MUTANTS if any(arguments.only in part for part in m)]
    if arguments.changed:
        changed = changed_since(ROOT, arguments.changed, [str(FOLDER)])
        chosen = [m for m in chosen if not places(m[0]) or changed & set(places(m[0]))]
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        if not passes(build / "bin" / "test_audit", "*stor*"):
            sys.exit("the unchanged audit fails its tests")
        for number, mutant in enumerate(chosen):
            problem = check(build, pathlib.Path(name), number, mutant)
            print(("CAUGHT   " if not problem else "SURVIVES ") + f"{mutant[0][:80]!r} -> {mutant[1][:60]!r}" + (f" ({problem})" if problem else ""), flush=True)
            failures += bool(problem)
    print(f"{len(chosen) - failures} of {len(chosen)} mutants caught")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
