"""The site is built without a warning, and its check finds broken links, foreign files and far pages.

    site_test.py FOLDER      FOLDER gets the environment of mkdocs and the site
"""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "site"))
import check  # noqa: E402
import headers  # noqa: E402

GOOD = {"index.html": '<a href="a/b.html#there">b</a><script src="s.js"></script>', "a/b.html": '<h1 id="there"></h1><a href="../index.html">i</a>'}
# What is wrong -> the page that has it, and a part of the sentence that names it.
BAD = {"a link to nowhere": ({"a/b.html": '<h1 id="there"></h1><a href="c.html">c</a>'}, "links c.html, which does not exist"),
       "an anchor that is absent": ({"index.html": '<a href="a/b.html#here">b</a>'}, "a/b.html has no such anchor"),
       "a script from elsewhere": ({"index.html": GOOD["index.html"] + '<script src="https://example.org/s.js"></script>'}, "from elsewhere"),
       "a font from elsewhere": ({"index.html": GOOD["index.html"] + '<link rel="stylesheet" href="//example.org/f.css">'}, "from elsewhere"),
       "text that is an attribute": ({"index.html": GOOD["index.html"] + '<table><td length:varint text>count</td></table>'}, "has <td length:varint text>"),
       "a page that none links": ({"lost.html": ""}, "lost.html is never reached"),
       "a page four clicks away": ({"a/b.html": '<h1 id="there"></h1><a href="c.html">c</a>', "a/c.html": '<a href="d.html">d</a>',
                                    "a/d.html": '<a href="e.html">e</a>', "a/e.html": ""}, "a/e.html is 4 clicks")}


def problems(pages):
    with tempfile.TemporaryDirectory() as scratch:
        site = pathlib.Path(scratch)
        for name, text in pages.items():
            (site / name).parent.mkdir(exist_ok=True)
            (site / name).write_text(text)
        (site / "s.js").write_text("")
        return check.problems(site, check.pages_of(site))


def controls():
    assert problems(GOOD) == [], problems(GOOD)
    for what, (pages, words) in BAD.items():
        found = problems({**GOOD, **pages})
        assert len(found) == 1 and words in found[0], (what, found)
    text = headers.page(ROOT, "testing")
    for words in ("### `check_kernel`", "### `WithinContract`", "[[nodiscard]] Checked check_contract(", "Checks the result of one op on these operands."):
        assert words in text, words
    assert " private:" not in text


if __name__ == "__main__":
    controls()
    sys.exit(subprocess.run([ROOT / "tools" / "docs", sys.argv[1]]).returncode)
