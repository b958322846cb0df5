"""Every block of code on a page runs in a test, or is marked as text.

    blocks_test.py BIN COMPILER        BIN is the folder of the programs

    text        output, grammars, notes: not run
    sh          commands: run here in a folder with a model, properties and lists, one page after another
    cpp         compiled here (not linked), all pages in one file, behind the declarations that PRELUDE gives its page; macros stand for Catch2
    json        parsed here
    cmake       each command stands in a project that tests/consumer builds
    python, console and files with a title     run by a test of its own (RUNNERS), which names the page
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import typing

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUTSIDE = ["README.md", "TRUST.md", "CONTRIBUTING.md", "certificates/FORMAT.md", "python/README.md"]
# Made by the program (docs/ops), or history that is not edited (docs/decisions).
LEFT_OUT = ("docs/decisions/", "docs/ops/")
# Page -> the test that runs its blocks of Python, its consoles and its files.
RUNNERS = {"README.md": ["python/tests/test_readme.py", "tests/tools/readme_test.py"], "python/README.md": ["python/tests/test_readme.py"],
           "docs/how-to/python-testing.md": ["python/tests/test_testing_docs.py"], "docs/reference/pytorch.md": ["python/tests/test_readme.py"]}
# A first line -> why its block of commands is not run here.
ELSEWHERE = {"pip install .": "the tests `python: wheel` and tools/clean_room build and install wheels",
             "pip install assay-*.whl": "the same", "tools/setup": "the same",
             "cmake --preset release": "the test `consumer` installs, and makes the package"}
PROJECTS = ["tests/consumer/CMakeLists.txt", "examples/cuda_kernels/CMakeLists.txt"]
# The examples of help texts, and the commands that make the files which an example names, by its first words.
HELP_TEXTS = "docs/reference/command-line.md"
PROOF = "assay verify MODEL.onnx PROPERTY.vnnlib --proof {} --timeout 60"
SPLIT = "assay split MODEL.onnx PROPERTY.vnnlib --into 8 -o cubes"
BEFORE = {"assay check ": PROOF.format("holds.assay"), "assay trim ": PROOF.format("holds.assay"), "assay statement ": PROOF.format("holds.assay"),
          "assay report proof": PROOF.format("proof.assay"), "assay report FOLDER": f"assay batch instances.csv --run FOLDER && {PROOF.format('proof.assay')}",
          "assay gather ": "for part in 1 2; do assay batch instances.csv --part $part/2 --run parts/$part; done",
          "assay solve cubes/": SPLIT, "assay merge ": SPLIT + " && ls cubes/*.cube | xargs -n1 assay solve",
          "assay inspect run": "assay record MODEL.onnx run.safetensors", "assay audit ": "assay record MODEL.onnx run.safetensors",
          "echo ": "cp $ROOT/tests/corpus/accept/ball/support/model.onnx MODEL.onnx"}
HEADERS = """#include <cstdio>
#include <span>
#include "assay/cuda_testing.h"
#include "assay/testing.h"
#include "kernel/audit/audit.h"
#include "probes/plan.h"
#include "runtime/functions.h"
#include "training/layers/basic.h"
#include "training/layers/convolution.h"
#include "training/layers/normalise.h"
#include "training/layers/shapes.h"
#include "training/trainer.h"
#define REQUIRE(condition) static_cast<void>(condition)
#define INFO(text) static_cast<void>(text)
#define TEST_CASE(name)
"""
# Page -> the names that its blocks of C++ take for granted.
PRELUDE = {
    "docs/reference/probes.md": """void my_softmax(const assay::Tensor& x, std::span<std::byte> y);
void my_relu(const std::byte* x, std::span<const std::int64_t> strides, const assay::Shape& shape, std::span<std::byte> y);
extern const assay::ExecutionModel my_model;
extern decltype(assay::probes::ProductLaunch::application) round_case;
extern const assay::probes::ProductLauncher my_straight_through;
extern const assay::Graph identity;""",
    "docs/reference/runtime.md": """using namespace assay::runtime;
using assay::training::Adam;
extern const assay::Tensor images, digits;""",
    "docs/reference/training.md": """using namespace assay;
using namespace assay::training;
extern runtime::Session session;
extern const runtime::Array images, digits;""",
}
OPEN = re.compile(r"^ *```(\w*)(.*)$")


class Block(typing.NamedTuple):
    page: str
    line: int
    language: str
    title: bool
    text: str

    def __str__(self):
        return f"{self.page}:{self.line}"


def blocks(page, text):
    """-> the fenced blocks of a page."""
    begun, lines = None, []
    for number, line in enumerate(text.split("\n"), 1):
        fence = OPEN.match(line)
        if begun is None and fence:
            begun, lines = (number, fence[1], "title=" in fence[2]), []
        elif begun and line.strip() == "```":
            yield Block(page, *begun, "\n".join(lines) + "\n")
            begun = None
        elif begun:
            lines.append(line)


def pages():
    inner = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))]
    return [*OUTSIDE, *(page for page in inner if not page.startswith(LEFT_OUT))]


def runners(page):
    """The tests that run a page; python/tests/test_pages.py lists its pages, and behind them those that run elsewhere."""
    listed = (ROOT / "python" / "tests" / "test_pages.py").read_text(encoding="utf-8").partition("\nELSEWHERE")[0]
    return RUNNERS.get(page, []) + (["python/tests/test_pages.py"] if f'"{page.removeprefix("docs/")}"' in listed else [])


def not_run(block):
    """Why nothing runs a block that is not run here, or nothing."""
    tests = runners(block.page)
    if not tests:
        return f"{block}: no test runs this block ({block.language}); mark it as text, or add its page to python/tests/test_pages.py"
    name = pathlib.Path(block.page).name
    if not any(name in (ROOT / test).read_text(encoding="utf-8") for test in tests):
        return f"{block}: {tests} name no {name}"
    return None


def hard_property(binaries, folder):
    """A property whose proof takes some hundred nodes, so that it can be split: an image of the demo network and every pixel within 0.12."""
    run, properties = folder / "run", folder / "properties"
    properties.mkdir()
    digits = ROOT / "examples" / "digits"
    for words in (["robust", digits / "digits.onnx", digits / "digits_test.npz", "--eps", "0.12", "--clip", "0,1", "--first", 12, "--run", run, "-q"],
                  ["check", run, "--properties", properties]):
        subprocess.run([binaries / "assay", *map(str, words)], check=True, capture_output=True, timeout=300)
    last = next(one for one in map(json.loads, (run / "results.jsonl").read_text().splitlines()) if one["item"] == 11)
    return properties / (last["certificate"] + ".vnnlib")


def prepared(folder, hard):
    """The files that commands on pages name."""
    digits = ROOT / "examples" / "digits"
    (folder / "examples").symlink_to(ROOT / "examples")
    shutil.copy(digits / "digits.onnx", folder / "MODEL.onnx")
    shutil.copy(hard, folder / "PROPERTY.vnnlib")
    shutil.copy(digits / "digits_test.npz", folder / "images.npz")
    (folder / "instances.csv").write_text("MODEL.onnx,PROPERTY.vnnlib,60\n")
    (folder / "certificates.csv").write_text("MODEL.onnx,PROPERTY.vnnlib,holds.assay\n")


def broken_commands(binaries, found):
    """Runs blocks of commands, those of one page in one folder, and the examples of help texts each in one of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        hard = hard_property(binaries, pathlib.Path(scratch)) if found else None
        for number, block in enumerate(found):
            folder = pathlib.Path(scratch) / (f"example {number}" if block.page == HELP_TEXTS else block.page.replace("/", "_"))
            if not folder.exists():
                folder.mkdir()
                prepared(folder, hard)
            before = [script for first, script in BEFORE.items() if block.page == HELP_TEXTS and first in block.text]
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", "\n".join([*before, block.text])], cwd=folder, capture_output=True, text=True, timeout=300,
                                  env={**os.environ, "ROOT": str(ROOT), "PATH": f"{binaries}:{os.environ['PATH']}"})
            if done.returncode != 0:
                yield f"{block}: exit {done.returncode}: {(done.stderr or done.stdout).strip()[-400:]}"


def uncompiled(compiler, found):
    """Compiles all blocks of C++ in one file: each is the body of a function, its includes stand before all."""
    source = HEADERS + "".join(line + "\n" for block in found for line in block.text.split("\n") if line.startswith("#include") and "catch2" not in line)
    for number, block in enumerate(found):
        body = "\n".join("" if line.startswith("#include") else line for line in block.text.split("\n"))
        source += f'namespace block_{number} {{\n{PRELUDE.get(block.page, "")}\n#line {block.line} "{block.page}"\n[[maybe_unused]] void block() {{\n{body}}}\n}}\n'
    done = subprocess.run([*compiler, "-std=c++20", "-ffp-contract=off", "-fsyntax-only", "-w", f"-I{ROOT}", f"-I{ROOT / 'api'}", "-x", "c++", "-"],
                          input=source, capture_output=True, text=True)
    if done.returncode != 0:
        yield from [line for line in done.stderr.split("\n") if "error:" in line]


def unknown_projects(block):
    """Commands of CMake that no project of the tests has."""
    projects = " ".join(" ".join((ROOT / project).read_text().split()) for project in PROJECTS)
    for line in block.text.split("\n"):
        name = re.match(r"\s*(\w+)\(", line)
        if name and name[1] + "(" not in projects:
            yield f"{block}: {PROJECTS} have no {name[1]}()"


def problems(binaries, compiler, found):
    commands, compiled = [], []
    for block in found:
        first = block.text.split("\n")[0]
        if not block.language:
            yield f"{block}: say what the block is: ```text for output, else its language"
        elif block.title or block.language in ("python", "py", "console", "yaml", "toml"):
            yield from filter(None, [not_run(block)])
        elif block.language == "sh":
            if runners(block.page) == ["python/tests/test_pages.py"] or any(first.startswith(words) for words in ELSEWHERE):
                continue
            commands.append(block)
        elif block.language == "cpp":
            compiled.append(block)
        elif block.language == "cmake":
            yield from unknown_projects(block)
        elif block.language == "json":
            json.loads(block.text)
        elif block.language != "text":
            yield f"{block}: nothing here runs {block.language}"
    yield from broken_commands(binaries, commands)
    if compiled:
        yield from uncompiled(compiler, compiled)


def main(binaries, compiler):
    found = [block for page in pages() for block in blocks(page, (ROOT / page).read_text(encoding="utf-8"))]
    wrong = list(problems(binaries, compiler, found))
    print("\n".join(wrong) or f"{len(found)} blocks: {sum(b.language == 'text' for b in found)} are text, and each of the others runs")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]))
