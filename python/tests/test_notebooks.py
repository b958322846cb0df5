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
NEEDS = {"test_a_kernel": ["matplotlib"], "certify_a_classifier": ["matplotlib", "assay._native"], "gate_a_gradient": ["torch", "assay.gradcheck"]}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_the_notebook_runs(path):
    for module in NEEDS[path.stem]:
        pytest.importorskip(module)
    book = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in book.cells), "outputs are not kept"
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(FOLDER)}}).execute()
    pictures = json.dumps([output for cell in book.cells for output in cell.get("outputs", [])]).count("image/png")
    assert pictures >= (1 if "matplotlib" in NEEDS[path.stem] else 0)
