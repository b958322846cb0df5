"""Compile failures: what must not compile does not, and for the right reason.

Each file in forgery/ compiles as it stands; with any one of its FORGE_ macros it must not, and the message has to speak of
access (private, protected, inaccessible, deleted) or of a value that cannot be changed (const, read-only). Further: the
trusted files that compute in floating point refuse -ffast-math and -Ofast at compile time. And a visitor of records that lacks a member
for one kind does not compile, whichever kind it is.
"""
import concurrent.futures
import re

import house

FORGERY = re.compile(r"^#ifdef (FORGE_\w+)$", re.M)
REASON = re.compile(r"private|protected|inaccessible|deleted|read-only|const|could not convert|no matching", re.I)


def forgeries(cxx, root):
    """-> (problems, number of forgeries tried)"""
    jobs = []
    for path in sorted((root / "tests/architecture/forgery").glob("*.cpp")):
        jobs += [(path, None)] + [(path, macro) for macro in FORGERY.findall(path.read_text(encoding="utf-8"))]

    def problem(job):
        path, macro = job
        done = house.compile_text(cxx, root, path.read_text(encoding="utf-8"), *([f"-D{macro}"] if macro else []))
        if macro is None:
            return f"{path.name} must compile without a macro:\n{done.stderr}" if done.returncode else None
        if done.returncode == 0:
            return f"{path.name} compiles with {macro}: the kernel's constructors are open"
        return None if REASON.search(done.stderr) else f"{path.name} with {macro} fails for another reason:\n{done.stderr}"

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return [found for found in pool.map(problem, jobs) if found], sum(1 for _, macro in jobs if macro)


RECORD = re.compile(r"^ *(?:RECORD|STEP)\(\d+, \w+, (\w+)\)", re.M)


def forgetful(cxx, root):
    """-> (problems, number of kinds): a visitor has to know every kind of record, those that treat steps or structure alike too."""
    members = list(dict.fromkeys(RECORD.findall((root / "certificates/format/format.h").read_text(encoding="utf-8"))))
    text = '#include "certificates/format/record.h"\nusing namespace assay::certificate;\n'
    text += "".join(f"struct Lacks_{lacks} {{ {' '.join(f'void {m}(const Record&);' for m in members if m != lacks)} }};\n" for lacks in ["nothing", *members])
    text += "static_assert(RecordVisitor<Lacks_nothing>);\n" + "".join(f"static_assert(!RecordVisitor<Lacks_{m}>);\n" for m in members)
    lacks = members[-1]
    done = house.compile_text(cxx, root, f"{text}void try_it(const Record& record) {{ visit(record, Lacks_{lacks}{{}}); }}\n")
    problems = []
    if done.returncode == 0 or lacks not in done.stderr or "static assertion failed" in done.stderr:
        problems.append(f"a visitor that lacks a member must not compile, and the message has to name it ({lacks}):\n{done.stderr}")
    return problems, len(members)


def relaxed(cxx, root):
    """-> problems: files that compute in floating point say #error under relaxed arithmetic, in both trusted layers."""
    guards = [p for p in house.sources(root, house.TRUSTED) if "__FAST_MATH__" in (root / p).read_text(encoding="utf-8")]
    problems = [f"no file of {layer} refuses relaxed arithmetic" for layer in house.TRUSTED if not any(p.parts[0] == layer for p in guards)]
    for path in guards:  # the preprocessor is enough to see #error
        problems += [f"{path} compiles under {flag}" for flag in ("-ffast-math", "-Ofast")
                     if "#error" not in house.compile_text(cxx, root, f'#include "{path}"\n', flag, "-E").stderr]
        if "#error" in house.compile_text(cxx, root, f'#include "{path}"\n', "-E").stderr:
            problems.append(f"{path} is refused without relaxed arithmetic")
    return problems


if __name__ == "__main__":
    options = house.arguments()
    problems, tried = forgeries(options.cxx, options.root)
    problems += relaxed(options.cxx, options.root)
    forgotten, kinds = forgetful(options.cxx, options.root)
    problems += forgotten
    if kinds < 16:
        problems.append(f"only {kinds} kinds of records were found; the test looks in the wrong place")
    if tried < 10:
        problems.append(f"only {tried} forgeries were found; the test looks in the wrong place")
    house.report("compile failure", problems, f"{tried} forgeries refused, and visitors that lack one of {kinds} members")
