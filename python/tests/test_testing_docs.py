"""The examples of docs/how-to/python-testing.md run as they stand."""
from __future__ import annotations

import pathlib
import re
import subprocess
import sys

import kernel_operations
import pytest

from assay._core.vocabulary import ROWS
from assay.pytest_plugin import pytest_addoption
from assay.testing import probes

ROOT = pathlib.Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/python-testing.md").read_text(encoding="utf-8")


def test_the_examples_pass(tmp_path):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    (tmp_path / "test_page.py").write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path / "test_page.py")], cwd=ROOT, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert f"{len(re.findall('def test_', PAGE))} passed" in done.stdout


def test_the_options_are_those_of_the_plugin():
    added = set()
    group = type("Group", (), {"addoption": lambda self, name, **_: added.add(name)})
    pytest_addoption(type("Parser", (), {"getgroup": lambda self, *_: group()})())
    assert set(re.findall(r"--assay-[a-z-]+", PAGE)) == added


def test_the_table_of_operations_is_that_of_the_package():
    page = (ROOT / "docs/reference/tested-operations.md").read_text(encoding="utf-8")
    assert "\n".join(kernel_operations.table()) in page, "docs/reference/tested-operations.md: python python/tests/kernel_operations.py prints the table"
    calls = {name: call for name, call, *_ in kernel_operations.rows()}
    for name in ("gelu", "gemm", "masked_softmax", "attention", "rms norm"):  # as their probes call
        most = max(probes(name, blocks=False, strided=False), key=lambda one: len(one.operands))
        required = [word for word, default in kernel_operations.attributes_of(name).items() if not default] if name in ROWS else []
        words = [one.strip() for one in re.sub(r"[`\[\]]|kernel\(|\)", "", calls[name]).split(",")]
        assert len(words) == len(most.operands) + len(required) and set(required) <= set(most.arguments()), name
