"""The examples of README.md and python/README.md run, one after the other, and print what the pages say."""
import contextlib
import io
import re
import shutil

import pytest

from conftest import DIGITS, ROOT


def test_the_examples_of_the_readme(tmp_path, monkeypatch):
    pytest.importorskip("numpy")
    for file in DIGITS.glob("digits*"):
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "python" / "README.md").read_text(), re.M | re.S)
    assert len(blocks) == 6
    names, said = {}, io.StringIO()
    with contextlib.redirect_stdout(said):
        for block in blocks:
            exec(block, names)
    text = said.getvalue()
    for words in ("Result(unsat, certificate of 95 bytes", "sat (1, 64)", "\n3\n", "\nunsat\n", "gemm scores", "certificate\n",
                  "Robust(label) expected a position below 10"):
        assert words in text, words


def test_the_example_of_the_front_page(monkeypatch):
    pytest.importorskip("numpy")
    pytest.importorskip("torch", reason="the example needs the package torch")
    page = (ROOT / "README.md").read_text()
    (source, shown), = re.findall(r"^```python\n(.*?)^```\n\n^```text\n(.*?)^```", page, re.M | re.S)
    monkeypatch.chdir(ROOT)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(source, {})
    assert said.getvalue() == shown


@pytest.mark.parametrize("page, language", [("python/README.md", "py"), ("docs/reference/pytorch.md", "python")])
def test_the_examples_with_torch(page, language):
    pytest.importorskip("torch", reason="the example needs the package torch")
    block, = re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)
    exec(block, {})


def test_no_page_installs_a_package_that_no_index_has():
    """`pip install assay` finds nothing: pages say `pip install .`, or name a wheel."""
    by_name = re.compile(r"\b(?:pip3?|pipx|uv)\b[^\n`]* install [^\n`]*(?<![\w/.-])assay(?![\w-])")
    assert by_name.search("run: pip install assay pytest") and not by_name.search("pip install wheels/assay-*.whl")
    pages = [page for folder in ("docs", "examples", "python/assay") for page in (ROOT / folder).rglob("*") if page.suffix in (".md", ".yml", ".py", ".ipynb", ".1")]
    found = [str(page) for page in [*pages, *ROOT.glob("*.md"), *(ROOT / "python").glob("*.md")] if by_name.search(page.read_text())]
    assert found == []
