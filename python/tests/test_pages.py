"""Every code block of the tutorials and recipes runs, and prints what the page shows below it."""
from __future__ import annotations

import pathlib

import pytest

import pages

DOCS = pathlib.Path(__file__).parents[2] / "docs"
# Pages whose blocks run, and the packages that they need beside NumPy and pytest.
PAGES = {"tutorials/emit-a-certificate.md": ["onnx"],
         "tutorials/certify-a-classifier.md": ["torch", "onnx", "onnxscript"],
         "tutorials/gate-a-gradient-in-ci.md": ["torch"],
         "tutorials/your-first-failing-kernel.md": []}


@pytest.mark.parametrize("page", PAGES)
def test_the_blocks_of_a_page_run(page, tmp_path):
    for module in PAGES[page]:
        pytest.importorskip(module)
    with pages.Runner(tmp_path) as runner:
        problems = runner.run((DOCS / page).read_text(encoding="utf-8"))
    assert not problems, "\n\n".join(problems)


def test_every_new_page_is_run():
    found = {path.relative_to(DOCS).as_posix() for path in (DOCS / "tutorials").glob("*.md")}
    assert found <= set(PAGES)


def test_outputs_are_compared():
    assert not pages.differs("a [...] c\n[...]\nlast 3.5 s", "a b c\nx\ny\nlast 12 s\n")
    assert pages.differs("a\n[...]\nlast", "a\nb\nlost\n")
    assert pages.differs("a\nb", "a\nx\nb")
