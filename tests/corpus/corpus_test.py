#!/usr/bin/env python3
"""corpus_test.py BIN: what `assay-check` and tools/twin say of every certificate of the corpus, and whether the corpus and FORMAT.md know every kind of record."""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "tools" / "twin"), str(ROOT / "tests" / "twin")]

from check import check, read_statement  # noqa: E402
from corpus import records_of  # noqa: E402
import make  # noqa: E402

BIN = Path(sys.argv[1]).resolve()
KINDS = {name: int(number) for number, name in re.findall(r"^ *(?:RECORD|STEP)\((\d+), (\w+), \w+\)", (ROOT / "certificates/format/format.h").read_text(), re.M)}


def cases():
    return sorted(path.parent for verdict in ("accept", "reject") for path in (HERE / verdict).glob("*/*/expected.json"))


def test_checker():
    """Verdict, exit status and code, from model and property and from the statement's file alone."""
    for case in cases():
        expected = json.loads((case / "expected.json").read_text())
        for statement in (["model.onnx", "property.vnnlib"], ["statement.assay-statement"]):
            done = subprocess.run([BIN / "assay-check", *statement, "certificate.assay"], cwd=case, capture_output=True, text=True, timeout=60)
            code = re.search(r"^assay-check: .*\[([\w.]+)\]$", done.stderr, re.MULTILINE)  # a refusal ends with its code
            found = done.stdout.split()[0], done.returncode, code[1] if code else ""
            assert found == (expected["verdict"], expected["exit"], expected["code"]), (case, statement, found, done.stderr)
        assert (case.parts[-3] == "accept") == (expected["verdict"] == "accepted"), case


def test_twin():
    """The second checker, which shares no code with the first, has the same verdict and exit status."""
    for case in cases():
        expected = json.loads((case / "expected.json").read_text())
        word, status, lines = check(*(str(case / file) for file in ("model.onnx", "property.vnnlib", "certificate.assay")))
        assert (word, status) == (expected["verdict"], expected["exit"]), (case, word, status, lines)
        says = lines[0].split(": ")[1:2]
        assert word != "accepted" or says == ["sat" if expected["satisfiable"] else "unsat"], (case, lines)


def test_every_kind():
    """Each kind of record has a folder on either side; an accepted certificate there holds one, and FORMAT.md has its row."""
    assert len(KINDS) >= 18
    for name, number in KINDS.items():
        assert any((HERE / "reject" / name).glob("*/expected.json")), f"no rejected certificate for {name}"
        held = set()
        for case in (HERE / "accept" / name).glob("*"):
            model, property_, _ = read_statement(str(case / "model.onnx"), str(case / "property.vnnlib"))
            held |= {record[0] for record in records_of((case / "certificate.assay").read_bytes(), model, property_)}
        assert number in held, f"no accepted certificate holds {name}"
    rows = {name: int(number) for number, name in re.findall(r"^\| (\d+) \| (\w+) \|", (ROOT / "certificates/FORMAT.md").read_text().split("### Structure")[0].split("## 2. Records")[1], re.M)}
    assert rows == KINDS, rows.items() ^ KINDS.items()


def test_files_are_those_of_the_table():
    """make.py writes what is there, byte for byte."""
    with tempfile.TemporaryDirectory() as folder:
        make.write(Path(folder))
        written = {path.relative_to(folder): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}
    there = {path.relative_to(HERE): path.read_bytes() for verdict in ("accept", "reject") for path in (HERE / verdict).rglob("*") if path.is_file()}
    assert written.keys() == there.keys(), written.keys() ^ there.keys()
    for name, data in written.items():
        assert data == there[name], name


if __name__ == "__main__":
    for name, test in [(name, test) for name, test in globals().items() if name.startswith("test_")]:
        test()
        print(f"{name}: ok")
    print(f"{len(cases())} certificates")
