"""README.md against reality: its example commands print the lines that it shows, every verb and file that it names exists, and
TRUST.md lists the assumptions that verdicts print. Run as: readme_test.py --root ROOT --build BUILD"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

NUMBERS = re.compile(r"\d+(\.\d+)?( (nodes?|leaf|leaves))?")
MOST_LINES = 90
MEASURED = re.compile(r"^(search|certificate|check cpu seconds): ")  # lines whose numbers differ from run to run


def examples(page):
    """-> (command, lines shown) of every `$ command` in a code block."""
    for block in re.findall(r"(?s)```console\n(.*?)```", page):
        for part in re.split(r"(?m)^\$ ", block)[1:]:
            command, *shown = part.rstrip("\n").split("\n")
            yield command, [line for line in shown if line and "[..." not in line]


def comparable(line):
    return NUMBERS.sub("#", line) if MEASURED.match(line) else line


def broken_examples(root, binaries, page):
    """The commands run in a scratch copy, stdout before stderr as the page shows them."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / "examples").symlink_to(root / "examples")
        (folder / "build").mkdir()
        (folder / "build/release").symlink_to(binaries.parent)
        count = 0
        for command, shown in examples(page):
            done = subprocess.run(command.split(), cwd=folder, capture_output=True, text=True, timeout=120)
            printed = iter([comparable(line) for line in (done.stdout + done.stderr).splitlines()])
            missing = [line for line in shown if comparable(line) not in printed]  # `in` moves on: the order counts
            if missing or done.returncode:
                yield f"README.md: `{command}`: exit {done.returncode}, not printed (in this order): {missing[:1]}"
            count += 1
        if count < 3:
            yield f"README.md shows {count} commands"


def absent_files(root, page):
    for link in re.findall(r"\]\(([^)#:]+)\)", page) + re.findall(r"`((?:tools|semantics|kernel|frontends|certificates|cli|docs|tests|examples|benchmarks|formats)/[\w./]*)`", page):
        if not (root / link).exists():
            yield f"README.md names {link}, which does not exist"


def unknown_verbs(binaries, page):
    known = subprocess.run([binaries / "assay", "--help"], capture_output=True, text=True, timeout=60).stdout
    for verb in set(re.findall(r"`assay (\w+)", page)):
        if not re.search(rf"(?m)^  {verb}\b", known):
            yield f"README.md names the verb {verb}"


def too_long(page):
    if page.count("\n") > MOST_LINES:
        yield f"README.md has {page.count(chr(10))} lines, and {MOST_LINES} are allowed"


def unlisted_assumptions(root, trust):
    """Every sentence that the kernel can print stands in TRUST.md."""
    source = (root / "kernel/logic/problem.cpp").read_text(encoding="utf-8")
    body = source[source.index("Problem::assumptions()"):]
    sentences = re.findall(r'"([^"]{20,})"', body[:body.index("\n}\n")])
    if len(sentences) < 3:
        yield f"kernel/logic/problem.cpp: {len(sentences)} assumptions found"
    for sentence in sentences:
        if f"| assumption: {sentence} |" not in trust:
            yield f"TRUST.md does not list: {sentence}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    options = parser.parse_args()
    page, trust = ((options.root / name).read_text(encoding="utf-8") for name in ("README.md", "TRUST.md"))
    binaries = options.build.resolve() / "bin"
    problems = [*broken_examples(options.root.resolve(), binaries, page), *absent_files(options.root, page), *unknown_verbs(binaries, page), *too_long(page),
                *unlisted_assumptions(options.root, trust)]
    print("\n".join(f"FAILED {p}" for p in problems) or "README.md and TRUST.md say what is the case")
    sys.exit(1 if problems else 0)
