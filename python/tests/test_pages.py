"""Every code block of the tutorials and recipes runs, and prints what the page shows below it."""
from __future__ import annotations

import pathlib
import shutil

import pytest

import pages
from conftest import DIGITS

DOCS = pathlib.Path(__file__).parents[2] / "docs"
# Pages whose blocks run -> packages that they need beside NumPy and pytest, and the page whose files they go on with. All have the
# files of examples/digits.
SENSORS, SMALL = "tutorials/certify-a-classifier.md", "tutorials/emit-a-certificate.md"
EXPORT = ["torch", "onnx", "onnxscript"]
PAGES = {
    SENSORS: (EXPORT, None), SMALL: (["onnx"], None), "tutorials/gate-a-gradient-in-ci.md": (["torch"], None), "tutorials/your-first-failing-kernel.md": ([], None),
    "how-to/certify-a-data-set.md": ([], None), "how-to/check-a-received-run.md": ([], None), "how-to/ci-on-github.md": ([], None), "how-to/properties.md": (EXPORT, SENSORS), "how-to/gate-a-training-step.md": (["torch"], None), "how-to/gate-masks.md": (["torch"], None),
    "how-to/gate-an-opaque-function.md": (["torch"], None),
    "how-to/open-models.md": (["onnx"], None), "how-to/quantised-models.md": ([*EXPORT, "onnxruntime"], SENSORS), "how-to/read-a-theorem.md": (EXPORT, SENSORS),
    "how-to/real-or-float32.md": (EXPORT, SENSORS), "how-to/refused-certificate.md": (["onnx"], SMALL), "how-to/test-a-kernel.md": ([], None), "how-to/let-a-program-write-kernels.md": ([], None),
    "how-to/trees.md": (["onnx"], None), "how-to/unknown.md": (EXPORT, None), "how-to/undecided-gradient.md": (["torch"], None), "how-to/waivers-and-baselines.md": (["torch"], None)}
# Pages whose blocks other tests run, or that are older than this test.
ELSEWHERE = {"tutorials/README.md", "how-to/README.md", "how-to/cuda-testing.md", "how-to/inspect.md", "how-to/install.md", "how-to/python-testing.md",
             "how-to/scale.md"}


@pytest.mark.parametrize("page", PAGES)
def test_the_blocks_of_a_page_run(page, tmp_path):
    modules, before = PAGES[page]
    for module in modules:
        pytest.importorskip(module)
    for file in DIGITS.glob("digits*"):
        shutil.copy(file, tmp_path)
    with pages.Runner(tmp_path) as runner:
        if before:
            assert not runner.run((DOCS / before).read_text(encoding="utf-8"))
    with pages.Runner(tmp_path) as runner:
        problems = runner.run((DOCS / page).read_text(encoding="utf-8"))
    assert not problems, "\n\n".join(problems)


def test_every_page_is_run():
    found = {path.relative_to(DOCS).as_posix() for folder in ("tutorials", "how-to") for path in (DOCS / folder).glob("*.md")}
    assert found == set(PAGES) | ELSEWHERE


def test_outputs_are_compared():
    assert not pages.differs("a [...] c\n[...]\nlast 3.5 s", "a b c\nx\ny\nlast 12 s\n")
    assert pages.differs("a\n[...]\nlast", "a\nb\nlost\n")
    assert pages.differs("a\nb", "a\nx\nb")


def test_options_of_commands_that_are_not_run(tmp_path):
    with pages.Runner(tmp_path) as runner:
        assert not runner.elsewhere("assay verify m.onnx p.vnnlib \\\n    --timeout 5; pip install x --upgrade\nassay-check m p c --exact\n")
        assert runner.elsewhere("assay verify m.onnx p.vnnlib \\\n    --patience 5\n") == "assay verify has no --patience\n"
        assert runner.elsewhere("for x in 1; do\n")
