"""Every page keeps the rules of writing (CONTRIBUTING.md), or stands on the list of exceptions, which only shrinks.

Docstrings of the package open with a verb or a named subject, too.
"""
import ast
import pathlib
import re
import sys

import style

sys.path.insert(0, str(style.ROOT / "tools" / "site"))
import headers  # noqa: E402

LIST = pathlib.Path(__file__).with_name("style_exceptions.txt")
OUTSIDE = ["README.md", "TRUST.md", "CHANGELOG.md", "CONTRIBUTING.md", "certificates/FORMAT.md", "python/README.md",
           *(f"{folder}/README.md" for folder in (
               "api", "app", "benchmarks", "benchmarks/notes", "benchmarks/results", "certificates", "cli", "examples/digits", "examples/gallery",
               "examples/training", "explain", "formats", "frontends", "gpu", "kernel", "kernel/logic", "probes", "runtime", "search", "semantics",
               "tests", "tests/corpus", "tests/fuzz", "tools/twin", "training"))]
# Made by the program (docs/ops), or history that is not edited (docs/decisions).
LEFT_OUT = ("docs/decisions/", "docs/ops/")

RIGHT = """# Title

The search proves bounds. A certificate names them, and `assay-check` replays it.

- Which inputs are read? Models and properties.
- *What to do:* raise the limit.
- Such a model is read. Either answer is right. What is a box?

| What it holds | Means |
| --- | --- |
| `a | b`, a row of a table that is as wide as it likes to be, since a line cannot be broken there | DFT |

```text
What follows in a block of code is no sentence, however long it is, and however many words stand in it, one after the other, until it ends.
```
"""
# A rule -> a page that breaks it, which is the right page with this text behind it.
WRONG = {"more than 35 words": "Word " * 36 + "ends.", "more than 100 columns": "word " * 21 + ".", 'subject is "What"': "What is given has to hold for all.",
         'subject is "Such"': "Such is the rule of the house.", 'subject is "Those"': "Those that fail are listed below.", 'subject is "So many"': "So many rows are read at once.",
         'subject is "Either"': "Either is right for the model here.", "abbreviation": "The ZQX is read.", "skips a level": "### Deep", "does not name its subject": "## Details",
         "one heading of the first level": "# Another", "only this project uses": "The search has early roots here."}


def rules_of(text):
    page = pathlib.Path(__file__).with_name("page.md.part")
    page.write_text(text, encoding="utf-8")
    try:
        return [one.rule for one in style.findings(page.parent, page.name, style.COMMON | {"DFT"})]
    finally:
        page.unlink()


def openings(name, source):
    """-> findings of docstrings that open with a pronoun, as "What a gate gave." does."""
    for node in ast.walk(ast.parse(source)):
        text = ast.get_docstring(node) if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) else None
        if text and re.match(r"(What|Those|Such|So many|Either) ", text):
            yield f"{name}:{getattr(node, 'lineno', 1)}: a docstring that opens with no verb and no name: {text.splitlines()[0]}"


def controls():
    assert len(list(openings("", '"""Those of it."""\ndef gate():\n    """What a gate gave."""\nclass Gate:\n    """Judges what it got."""\n'))) == 2
    assert rules_of(RIGHT) == [], rules_of(RIGHT)
    for rule, text in WRONG.items():
        text = "\n".join(text[i:i + 90] for i in range(0, len(text), 90)) if "words" in rule else text
        found = rules_of(RIGHT + "\n" + text + "\n")
        assert len(found) == 1 and rule in found[0], (rule, found)


def main():
    controls()
    pages = [path.relative_to(style.ROOT).as_posix() for path in sorted((style.ROOT / "docs").rglob("*.md"))]
    pages = [*OUTSIDE, *(page for page in pages if not page.startswith(LEFT_OUT))]
    excepted = [line for line in LIST.read_text().splitlines() if line and not line.startswith("#")]
    found = {page: style.findings(style.ROOT, page) for page in pages}
    for name in headers.PAGES:  # the comments of public headers
        found[f"reference/cpp/{name}"] = [f"the page of assay::{name}, from its headers: {rule}: {words}" for kind, _, part in style.blocks(headers.page(style.ROOT, name))
                                          if not kind.startswith("heading") for one in style.sentences(part) for rule, words in style.of_sentence(one, kind)]
    for path in sorted((style.ROOT / "python" / "assay").rglob("*.py")):
        found.setdefault("docstrings of python/assay", []).extend(openings(path.relative_to(style.ROOT).as_posix(), path.read_text(encoding="utf-8")))
    pages += [name for name in found if name not in pages]
    problems = [str(one) for page in pages if page not in excepted for one in found[page]]
    problems += [f"{LIST.name}: {page} is no page" for page in excepted if page not in found]
    problems += [f"{LIST.name}: {page} keeps the rules now; take it off the list" for page in excepted if found.get(page) == []]
    print("\n".join(problems) or f"{len(pages) - len(excepted)} pages keep the rules of writing, {len(excepted)} are excepted")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
