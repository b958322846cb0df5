"""Layering: every include, absolute or relative, stays within what its folder may use (the table of borders below).

Each border is also tried: for every folder an include that it must not have is written into a scratch tree and has to be caught.
"""
import pathlib
import re
import tempfile

import house

# Folder -> prefixes of this tree that it may include; the longest matching folder decides. A folder may always use itself.
MAY_INCLUDE = {
    "semantics": [],  # only what lies directly in the folder: outcome.h and the like
    "semantics/numbers": ["semantics/outcome.h", "semantics/demand.h"],
    "semantics/graph": ["semantics/outcome.h", "semantics/demand.h", "semantics/numbers/"],
    "semantics/ops": ["semantics/"],
    "semantics/functions": ["semantics/"],
    "semantics/statement": ["semantics/"],
    "semantics/compositions": ["semantics/"],
    "kernel/floats": ["semantics/"],  # one source of errors for theorems and for contracts
    "kernel/floats/theorems": ["semantics/", "kernel/logic/", "kernel/rows/", "kernel/relax/", "kernel/floats/", "policy/policy.h"],  # the part of the proof core that float semantics need
    "kernel/relax": ["semantics/"],  # choose nothing
    "kernel/rows": ["semantics/", "kernel/logic/", "kernel/relax/", "kernel/exact/"],
    "kernel/exact": ["semantics/", "kernel/logic/", "kernel/relax/", "kernel/rows/"],
    "kernel/logic": ["semantics/", "kernel/relax/", "kernel/rows/", "kernel/exact/", "kernel/floats/", "policy/policy.h"],  # hands the policy to the rules
    "kernel/inspect": ["semantics/", "kernel/logic/", "kernel/rows/", "kernel/relax/", "policy/policy.h"],  # reads states, makes none
    "policy": ["semantics/", "kernel/relax/choices.h"],  # knows no rule, and no fact
    "kernel/gradients": ["semantics/"],
    "kernel/contracts": ["semantics/", "kernel/floats/"],
    "kernel/quick": ["semantics/", "kernel/audit/", "kernel/contracts/", "kernel/floats/", "kernel/rows/lanes.h"],
    "kernel/audit": ["semantics/", "kernel/floats/", "kernel/contracts/", "kernel/quick/", "kernel/gradients/"],
    "frontends": ["semantics/outcome.h", "semantics/demand.h", "semantics/printable.h", "semantics/graph/", "semantics/numbers/", "semantics/statement/"],
    "formats": ["semantics/outcome.h", "semantics/demand.h", "semantics/graph/", "semantics/numbers/rational.h"],
    "formats/datasets": ["semantics/outcome.h", "formats/"],
    "certificates/format": ["kernel/", "semantics/", "formats/"],
    "certificates/check": ["kernel/", "semantics/", "certificates/format/"],
    "search": ["kernel/", "semantics/", "formats/", "certificates/format/", "certificates/check/"],
    "certificates/edit": ["kernel/", "semantics/", "certificates/format/", "certificates/check/", "search/bab/cube.h"],
    "certificates/edit/trim": ["kernel/", "semantics/", "certificates/format/", "certificates/check/", "certificates/edit/", "search/"],
    "runtime": ["semantics/outcome.h", "semantics/demand.h", "semantics/graph/", "semantics/numbers/rational.h", "formats/"],
    "gpu": ["semantics/outcome.h", "semantics/demand.h", "semantics/graph/", "runtime/"],
    "training": ["semantics/outcome.h", "semantics/demand.h", "semantics/graph/", "runtime/", "formats/", "gpu/devices.h", "training/reference/numbers.h"],
    "training/reference": ["semantics/"],  # the reference semantics for training steps; knows no runtime
    "probes": ["semantics/", "kernel/", "runtime/"],
    "api": ["api/check/", "api/reports/", "certificates/check/", "semantics/", "kernel/", "formats/", "runtime/", "gpu/cuda/", "gpu/cuda_emulation.h", "probes/", "explain/"],
    "api/check": ["api/assay/check.h", "kernel/logic/", "kernel/inspect/", "kernel/floats/", "semantics/", "frontends/", "certificates/check/", "certificates/format/"],  # decides for assay-check
    "api/reports": ["kernel/", "semantics/", "explain/"],  # for `assay` and assay::testing
    "app": [],  # words.h
    "app/files": ["kernel/", "semantics/", "certificates/format/"],  # that take their place when they are complete
    "app/queries": ["app/words.h", "app/files/", "api/assay/check.h", "api/check/", "kernel/", "semantics/", "frontends/", "certificates/", "search/", "formats/"],  # for `assay` and the Python package
    "app/models": ["app/program.h", "app/words.h", "app/queries/", "api/check/", "kernel/", "semantics/", "frontends/", "runtime/", "training/reference/numbers.h", "gpu/devices.h"],
    "app/gates": ["app/words.h", "app/queries/", "api/assay/check.h", "api/check/", "search/answer.h", "api/reports/", "kernel/", "semantics/", "frontends/", "formats/", "runtime/", "probes/", "explain/"],
    "app/views": ["app/", "api/check/", "api/reports/", "kernel/", "semantics/", "frontends/", "formats/", "certificates/", "explain/"],  # what a file holds
    "app/pages": ["semantics/outcome.h", "semantics/printable.h", "semantics/graph/", "formats/datasets/dataset.h"],  # for reports and inspections
    "app/runs": ["api/assay/check.h", "api/check/", "app/files/", "app/queries/", "app/pages/", "kernel/", "semantics/", "frontends/", "certificates/", "formats/", "search/"],  # many questions at once
    "explain": ["semantics/", "kernel/"],  # words about what the kernel has judged
    "cli/assay": ["api/assay/check.h", "cli/", "api/check/", "api/reports/", "app/", "search/", "kernel/", "semantics/", "frontends/", "formats/", "certificates/", "runtime/", "training/reference/numbers.h", "probes/", "gpu/devices.h", "explain/"],
    "python": ["api/", "app/", "kernel/", "semantics/", "frontends/", "certificates/"],  # python/bindings
    "cli": ["api/assay/check.h", "api/check/", "kernel/logic/", "kernel/floats/", "semantics/"],  # assay-check
}
# Layers with a closed list of public headers: everything else below them is private, whatever the table above says.
CONTRACTS = [f"kernel/contracts/{stem}.h" for stem in ("arithmetic", "contract", "factors", "float_set")]
EXECUTIONS = [f"kernel/floats/{stem}.h" for stem in ("format", "math_tables", "named_models")]
PUBLIC = {"kernel": ["kernel/gradients/adjointness/adjointness.h", "kernel/gradients/adjointness/cases.h", "kernel/gradients/derivatives/differentiate.h",
                     "kernel/audit/audit.h", "kernel/audit/dead.h", "kernel/audit/gradients.h", "kernel/audit/tangents.h", "kernel/audit/work.h", *CONTRACTS, *EXECUTIONS,
                     "kernel/logic/api.h", "kernel/logic/meter.h", "kernel/logic/step.h", "kernel/inspect/inspect.h", "kernel/inspect/selection.h", "kernel/rows/linear_map.h", "kernel/relax/box.h", "kernel/relax/choices.h"]}
# Headers that show a package which headers must not show; only .cpp files of the same layer include them.
INTERNAL = ["semantics/numbers/mpfr_functions.h", "semantics/numbers/rational_access.h"]

# Folder -> angle-bracket headers beyond the C++ standard library; those in CPP_ONLY stay out of headers.
PACKAGES = {
    "semantics": ["boost/multiprecision/", "boost/numeric/interval", "mpfr.h", "gmp.h", "xmmintrin.h"],
    "kernel": ["immintrin.h", "xmmintrin.h"],
    "frontends": ["zlib.h", "sys/stat.h"],
    "formats": ["zlib.h", "nlohmann/"],
    "formats/datasets": ["zlib.h", "png.h"],
    "certificates/format": ["sys/stat.h", "unistd.h"],
    "search": ["Clp", "Coin", "cblas.h", "sys/resource.h", "unistd.h", "pthread.h", "immintrin.h", "xmmintrin.h"],
    "runtime": ["hwy/", "oneapi/dnnl/", "omp.h", "immintrin.h", "xmmintrin.h"],
    "training": ["CLI/", "zlib.h", "unistd.h", "fcntl.h", "sys/"],
    "training/reference": [],
    "gpu": ["cuda", "cublas", "ucontext.h", "setjmp.h", "elf.h", "link.h", "cxxabi.h", "unistd.h"],
    "api": ["cuda_runtime.h"],
    "api/check": ["sys/stat.h", "unistd.h"],
    "app/files": ["sys/stat.h", "unistd.h"],
    "app/queries": ["nlohmann/"],
    "app/models": ["nlohmann/"],
    "app/gates": ["nlohmann/"],
    "app/pages": ["nlohmann/"],
    "api/reports": ["nlohmann/"],
    "app/views": ["nlohmann/"],
    "app/runs": ["nlohmann/", "fcntl.h", "malloc.h", "unistd.h", "sys/"],
    "cli/assay": ["nlohmann/", "CLI/", "unistd.h", "sys/", "signal.h", "poll.h", "ClpConfig.h", "hwy/highway.h", "oneapi/dnnl/dnnl.h"],
    "python": ["nanobind/", "Python.h"],
    "cli": ["malloc.h", "signal.h", "unistd.h", "sys/", "boost/version.hpp", "gmp.h", "gperftools/tcmalloc.h", "mpfr.h", "zlib.h"],  # --version names them
}
CPP_ONLY = ["boost/", "mpfr.h", "gmp.h", "Clp", "Coin", "oneapi/", "omp.h"]

# Standard headers that trusted code does without: files, streams to the outside, threads, randomness.
TRUSTED_WITHOUT = {
    "iostream", "fstream", "filesystem", "syncstream", "thread", "mutex", "shared_mutex", "condition_variable", "future", "atomic",
    "semaphore", "latch", "barrier", "stop_token", "random", "regex", "locale", "csignal", "csetjmp", "execution", "experimental",
}
C_LIBRARY = {"errno.h", "limits.h", "math.h", "stdint.h", "stdio.h", "stdlib.h", "string.h", "time.h"}


def owner(path, table):
    """The longest key of `table` that is a folder of `path`, or None."""
    keys = [k for k in table if path.as_posix().startswith(k + "/")]
    return max(keys, key=len, default=None)


def resolve(root, path, name):
    """The file of this tree that `name` means inside `path`, or None."""
    for base in (root / path.parent, root, root / "api"):  # "assay/testing.h" stands in api/assay
        candidate = (base / name).resolve()
        if candidate.is_file() and candidate.is_relative_to(root.resolve()):
            return candidate.relative_to(root.resolve())
    return None


def fault_inside(path, target):  # both relative to the root
    """Why `path` must not include `target` of this tree, or None."""
    home, text = owner(path, MAY_INCLUDE), target.as_posix()
    if text in INTERNAL and (path.suffix != ".cpp" or path.parts[0] != target.parts[0]):
        return f"includes {text}, which only .cpp files of {target.parts[0]} may"
    if home is None:
        return "folder has no row in the table of borders"
    if target.suffix not in (".h", ".cuh", ".def"):
        return f"includes {text}, which is not a header"
    layer = target.parts[0]
    if layer in PUBLIC and path.parts[0] != layer and text not in PUBLIC[layer]:
        return f"includes {text}, which is private to {layer}"
    if owner(target, MAY_INCLUDE) == home or any(text.startswith(p) for p in MAY_INCLUDE[home]):
        return None
    if path.as_posix().startswith("semantics/") and target.parent.as_posix() == "semantics":
        return None
    return f"includes {text}: {home} may use {', '.join(MAY_INCLUDE[home]) or 'only itself'}"


def fault_outside(path, name):
    """Why `path` must not include the foreign header `name`, or None."""
    home = owner(path, PACKAGES)
    if path.suffix == ".h" and path.as_posix() not in INTERNAL and any(name.startswith(p) for p in CPP_ONLY):
        return f"includes <{name}> in a header; it belongs behind a .cpp file"
    if "/" not in name and "." not in name:
        trusted = owner(path, dict.fromkeys(house.TRUSTED))
        return f"includes <{name}>, which trusted code does without" if trusted and name in TRUSTED_WITHOUT else None
    if name in C_LIBRARY and path.parts[0] not in house.TRUSTED:
        return None
    return None if home and any(name.startswith(p) for p in PACKAGES[home]) else f"includes <{name}>, not a package of {home}"


def fault(root, path, operand):
    match = re.fullmatch(r'"([^"]+)"|<([^>]+)>', operand)
    if not match:
        return f"includes {operand!r}: write the file's name out"
    name = match[1] or match[2]
    if pathlib.PurePath(name).is_absolute():
        return f"includes an absolute path, {name}"
    target = resolve(root, path, name)
    if target:
        return fault_inside(path, target)
    return f'includes "{name}", which is not in this tree' if match[1] else fault_outside(path, name)


def faults(root, strip):
    """-> problems of the tree below root."""
    found = []
    for path in house.sources(root, house.LAYERS):
        text = strip((root / path).read_text(encoding="utf-8").replace("\\\n", ""))
        for line, operand in house.includes(text):
            why = fault(root, path, operand)
            if why:
                found.append(f"{path}:{line}: {why}")
    return found


# Each of these must be caught, in a tree where every named header exists.
FORBIDDEN = [
    ("semantics/numbers/a.cpp", '"semantics/graph/graph.h"'),
    ("semantics/graph/a.cpp", '"semantics/ops/denote.h"'),
    ("semantics/graph/a.cpp", '"../ops/denote.h"'),
    ("semantics/ops/a.cpp", '"kernel/logic/api.h"'),
    ("semantics/ops/a.cpp", "<kernel/logic/api.h>"),
    ("semantics/ops/a.cpp", "<iostream>"),
    ("semantics/numbers/a.h", "<boost/multiprecision/gmp.hpp>"),
    ("semantics/numbers/a.h", "<mpfr.h>"),
    ("semantics/numbers/a.h", '"semantics/numbers/mpfr_functions.h"'),
    ("search/a.cpp", '"semantics/numbers/mpfr_functions.h"'),
    ("kernel/a.cpp", '"certificates/format/writer.h"'),
    ("kernel/a.cpp", '"../certificates/format/writer.h"'),
    ("kernel/relax/a.cpp", '"../../frontends/onnx/import.h"'),
    ("kernel/logic/a.cpp", '"kernel/gradients/derivatives/differentiate.h"'),
    ("kernel/logic/a.cpp", '"kernel/audit/audit.h"'),
    ("kernel/relax/a.cpp", '"policy/policy.h"'),
    ("kernel/relax/a.cpp", '"../../../policy/policy.h"'),
    ("kernel/relax/a.cpp", '"kernel/logic/api.h"'),
    ("kernel/rows/a.cpp", '"policy/policy.h"'),
    ("kernel/relax/a.cpp", '"kernel/inspect/inspect.h"'),
    ("kernel/logic/a.cpp", '"kernel/inspect/inspect.h"'),
    ("search/a.cpp", '"kernel/logic/state.h"'),
    ("certificates/check/a.cpp", '"kernel/logic/state.h"'),
    ("policy/a.cpp", '"kernel/relax/relaxation.h"'),
    ("policy/a.cpp", '"kernel/logic/api.h"'),
    ("kernel/gradients/a.cpp", '"kernel/logic/api.h"'),
    ("semantics/statement/a.cpp", '"kernel/logic/api.h"'),
    ("cli/a.cpp", '"kernel/audit/audit.h"'),
    ("cli/a.cpp", '"frontends/onnx/import.h"'),
    ("api/check/a.cpp", '"kernel/audit/audit.h"'),
    ("api/check/a.cpp", '"search/search.h"'),
    ("api/check/a.cpp", '"runtime/session.h"'),
    ("api/a.cpp", '"frontends/onnx/import.h"'),
    ("certificates/format/a.cpp", '"certificates/check/session.h"'),
    ("certificates/check/a.cpp", '"search/search.h"'),
    ("certificates/check/a.cpp", '"certificates/edit/dump.h"'),
    ("search/a.cpp", '"certificates/edit/trim/trim.h"'),
    ("certificates/edit/a.cpp", '"search/search.h"'),
    ("kernel/a.cpp", "<mpfr.h>"),
    ("kernel/a.cpp", "<thread>"),
    ("kernel/a.cpp", "<fstream>"),
    ("kernel/a.cpp", "<nlohmann/json.hpp>"),
    ("kernel/a.cpp", "<ClpSimplex.hpp>"),
    ("semantics/ops/a.cpp", "<CoinPackedMatrix.hpp>"),
    ("certificates/format/a.cpp", "<ClpSimplex.hpp>"),
    ("search/a.h", "<ClpSimplex.hpp>"),
    ("kernel/logic/a.cpp", '"kernel/relax/a.cpp"'),
    ("kernel/a.cpp", "HEADER"),
    ("kernel/a.cpp", '"/usr/include/math.h"'),
    ("frontends/onnx/a.cpp", '"semantics/ops/denote.h"'),
    ("frontends/onnx/a.cpp", '"kernel/logic/api.h"'),
    ("frontends/onnx/a.cpp", "<google/protobuf/message.h>"),
    ("formats/a.cpp", '"semantics/ops/denote.h"'),
    ("certificates/format/a.cpp", '"search/search.h"'),
    ("certificates/format/a.cpp", '"../../search/search.h"'),
    ("search/a.cpp", '"kernel/relax/relu_line.h"'),
    ("search/a.cpp", '"frontends/onnx/import.h"'),
    ("runtime/a.cpp", '"semantics/ops/denote.h"'),
    ("runtime/a.cpp", '"kernel/logic/api.h"'),
    ("gpu/a.cu", '"kernel/logic/api.h"'),
    ("runtime/a.cpp", '"training/optimise.h"'),
    ("training/a.cpp", '"kernel/logic/api.h"'),
    ("training/a.cpp", '"semantics/ops/denote.h"'),
    ("training/a.cpp", '"gpu/device.h"'),
    ("training/a.cpp", '"semantics/numbers/interval.h"'),
    ("training/reference/a.cpp", '"runtime/array.h"'),
    ("runtime/a.cpp", '"training/reference/numbers.h"'),
    ("gpu/kernels/a.h", '"semantics/ops/denote.h"'),
    ("kernel/a.cpp", '"explain/explain.h"'),
    ("explain/a.cpp", '"kernel/relax/relu_line.h"'),
    ("explain/a.cpp", '"runtime/session.h"'),
    ("cli/check_main.cpp", '"search/search.h"'),
    ("cli/check_main.cpp", "<nlohmann/json.hpp>"),
    ("cli/check_main.cpp", '"cli/assay/report.h"'),
    ("cli/assay/a.cpp", '"kernel/relax/relu_line.h"'),
    ("elsewhere/a.cpp", '"kernel/logic/api.h"'),
]


def controls():
    """-> FORBIDDEN entries that fault() lets through."""
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch).resolve()
        named = [operand[1:-1] for _, operand in FORBIDDEN]
        for name in ["policy/policy.h", *(name for name in named if name.partition("/")[0] in house.LAYERS)]:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text("")
        for name, _ in FORBIDDEN:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
        return [f"control not caught: {name} including {operand}" for name, operand in FORBIDDEN
                if not fault(root, pathlib.PurePosixPath(name), operand)]


if __name__ == "__main__":
    options = house.arguments()
    tree = options.root.resolve()
    problems = faults(tree, house.load_count_lines(tree).without_comments) + controls()
    count = len(house.sources(tree, house.LAYERS))
    house.report("layering", problems, f"{count} files respect the borders; {len(FORBIDDEN)} forbidden includes were caught")
