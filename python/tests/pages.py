"""Runs the code blocks of a page in order, in an empty folder, and compares what they print with what the page shows.

    ```python title="train.py"      a file: it is written (any language)
    ```python                       run as a script would be, with the names of the blocks before it
    ```text                         what the block before it prints
    ```console                      "$ command" lines, each followed by what the command prints; a command ends with exit status 0
    ```sh                           commands for another machine, such as `pip install`: only their syntax is checked

In what is shown, a line "[...]" stands for any lines and "[...]" within a line for any text. Times, digests, versions and the
name of the folder may differ, and all numbers below a comment `<!-- numbers vary -->` but those of judged elements. A block below `<!-- needs MODULE -->` is
left out where that module is not installed.
"""
from __future__ import annotations

import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import Iterator, NamedTuple, Optional

from assay._core import programs

FENCE = re.compile(r"^(?P<marks>(?: *<!-- [^\n]* -->\n)*)(?P<indent> *)```(?P<language>\w*)(?: +title=\"(?P<title>[^\"]+)\")?[^\n]*\n(?P<text>.*?)^(?P=indent)```$", re.M | re.S)
VARYING = [(re.compile(r"\b[0-9a-f]{32,64}\b"), "DIGEST"), (re.compile(r"\b\d+(\.\d+)?(e-\d+)?( ?m?s\b| seconds)"), "TIME"),
           (re.compile(r"(cpu seconds: )[\d.e-]+"), r"\1TIME"), (re.compile(r"=+( [^=]* )=+"), r"=\1="), (re.compile(r"\b\d+\.\d+\.\d+\b"), "VERSION"),
           (re.compile(r" \(\d+:\d\d:\d\d\)"), "")]
DOTS = "[...]"
NUMBER = re.compile(r"-?\b\d+(\.\d*)?(e[-+]?\d+)?(?!\d| elements within)")  # how many elements a kernel is judged on follows from its probes
MOST_SECONDS = 300
# Runs the files that are named on its input, with names in common, and ends what each prints with a line of its own.
SESSION = """import sys
names = {'__name__': '__main__'}
for path in iter(sys.stdin.readline, ''):
    exec(compile(open(path.rstrip(), encoding='utf-8').read(), path.rstrip(), 'exec'), names)
    print('\\0', flush=True)
"""


class Block(NamedTuple):
    language: str
    title: Optional[str]
    text: str
    line: int
    loose: bool
    needs: list[str]


def blocks(page: str) -> list[Block]:
    found = []
    for match in FENCE.finditer(page):
        indent = len(match["indent"])
        text = "".join(line[indent:] if line.strip() else "\n" for line in match["text"].splitlines(keepends=True))
        found.append(Block(match["language"], match["title"], text, page.count("\n", 0, match.start("indent")) + 1,
                           "<!-- numbers vary -->" in match["marks"], re.findall(r"<!-- needs (\w+) -->", match["marks"])))
    return found


def commands(text: str) -> Iterator[tuple[str, str]]:
    """-> (command, what is shown below it) of each `$ command`, whose lines may end with a backslash."""
    for part in re.split(r"(?m)^\$ ", text)[1:]:
        command, shown = re.fullmatch(r"((?:[^\n]*\\\n)*[^\n]*)\n?(.*)", part, re.S).groups()
        yield command, shown


def comparable(text: str, loose: bool) -> str:
    for pattern, word in [*VARYING, *([(NUMBER, "N")] if loose else [])]:
        text = pattern.sub(word, text)
    return "\n".join(re.sub(r" +", " ", line).strip() for line in text.strip().splitlines())


def differs(shown: str, printed: str, loose: bool = False) -> str:
    """Why the text that is shown is not what was printed, or nothing."""
    wanted, given = comparable(shown, loose), comparable(printed, loose)
    pattern = "".join("(?:.*\n)*?" if line == DOTS else re.escape(line).replace(re.escape(DOTS), ".*") + "\n" for line in wanted.split("\n"))
    if re.fullmatch(pattern, given + "\n"):
        return ""
    return f"the page shows\n{wanted}\n\nprinted was\n{given}"


class Runner:
    """The folder of one page."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        found = [pathlib.Path(programs.program()).parent, pathlib.Path(sys.executable).parent]
        path = os.pathsep.join([*map(str, found), os.environ["PATH"]])
        # pytest prints a longer summary where CI is set.
        inherited = {name: value for name, value in os.environ.items() if name not in ("CI", "BUILD_NUMBER")}
        self.environment = {**inherited, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_ADDOPTS": "-p no:cacheprovider", "COLUMNS": "80",
                            "PYTHONWARNINGS": "ignore", "TORCH_LOGS": "-all"}
        self.session: Optional[subprocess.Popen[str]] = None
        self.errors = tempfile.TemporaryFile("w+", encoding="utf-8")

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: object) -> None:
        if self.session is not None:
            self.session.kill()
            self.session.communicate()
        self.errors.close()

    def run(self, page: str) -> list[str]:
        """What is wrong with a page."""
        problems, printed = [], None
        for block in blocks(page):
            if any(importlib.util.find_spec(module) is None for module in block.needs):
                continue
            where = f"line {block.line}: "
            if block.language == "text" and not block.title:
                why = "no block of Python stands before it" if printed is None else differs(block.text, printed, block.loose)
                printed = None
            else:
                why, printed = self.block(block)
            problems += [where + why] if why else []
        return problems

    def block(self, block: Block) -> tuple[str, Optional[str]]:
        if block.title:
            path = self.folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
            return "", None
        if block.language == "python":
            return self.python(block.text)
        if block.language == "console":
            return "\n".join(why for command, shown in commands(block.text) if (why := self.command(command, shown, block.loose))), None
        if block.language == "sh":
            return self.elsewhere(block.text), None
        return f"a block of '{block.language}' without a title: nothing runs it", None

    def elsewhere(self, text: str) -> str:
        """What is wrong with commands that are not run: their syntax, or an option that a program does not have."""
        problems = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False).stderr
        for program, verb, words in re.findall(r"\b(assay-check|assay (\w+))((?:\\\n|[^\n;|&])*)", text):
            shown = subprocess.run([*program.split(), "--help"], env=self.environment, capture_output=True, text=True, check=False).stdout
            problems += "".join(f"{program} has no {option}\n" for option in re.findall(r" (--[a-z][a-z-]*)", words) if option not in shown)
        return problems

    def python(self, text: str) -> tuple[str, Optional[str]]:
        if self.session is None:
            self.session = subprocess.Popen([sys.executable, "-c", SESSION], cwd=self.folder, env=self.environment, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=self.errors, text=True)
        with tempfile.NamedTemporaryFile("w", suffix=".py", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            self.session.stdin.write(file.name + "\n")
            self.session.stdin.flush()
            printed = ""
            for line in self.session.stdout:
                if line == "\0\n":
                    return "", printed
                printed += line
        self.errors.seek(0)
        return f"it fails:\n{self.errors.read()[-3000:]}", None

    def command(self, command: str, shown: str, loose: bool = False) -> str:
        done = subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=MOST_SECONDS, check=False)
        printed = done.stdout.replace(f"{self.folder}/", "").replace(str(self.folder), "FOLDER")
        if done.returncode:
            return f"`{command}` ends with exit status {done.returncode}:\n{printed[-3000:]}"
        why = differs(shown, printed, loose)
        return f"`{command}`: {why}" if why else ""
