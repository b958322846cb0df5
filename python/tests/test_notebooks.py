"""The notebooks of examples/notebooks run from their first cell to the last, in a kernel of their own."""
from __future__ import annotations

import json
import pathlib

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

FOLDER = pathlib.Path(__file__).parents[2] / "examples/notebooks"
# What each needs beside NumPy.
NEEDS = {"test_a_kernel": ["matplotlib"], "certify_a_classifier": ["matplotlib", "assay._native"], "gate_a_gradient": ["torch", "assay.testing._gradcheck"]}
# What each prints, among other things.
SAYS = {"test_a_kernel": ["20 of 240 elements of 'y' are outside their contract", "passed: 752 probes", "without_maximum: computes the reference without the maximum",
                          "in_place: writes into its operands"],
        "certify_a_classifier": ["property HOLDS", "95 bytes: accepted unsat", "the class: 3", "0.0001 unsat"],
        "gate_a_gradient": ["the cotangent of 'input 0'", "[gradient.product]", "region 0 (Wrong)"]}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_the_notebook_runs(path):
    for module in NEEDS[path.stem]:
        pytest.importorskip(module)
    book = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in book.cells), "outputs are not kept"
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(FOLDER)}}).execute()
    said = "".join(output.get("text", "") for cell in book.cells for output in cell.get("outputs", []))
    assert [words for words in SAYS[path.stem] if words not in said] == []
    pictures = json.dumps([output for cell in book.cells for output in cell.get("outputs", [])]).count("image/png")
    assert pictures >= (1 if "matplotlib" in NEEDS[path.stem] else 0)


def test_every_notebook_says_something():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(SAYS) == set(NEEDS)
