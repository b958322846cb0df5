"""Messages of refusals and findings name what was found, and no sentence of theirs is too long (CONTRIBUTING.md, rules of writing)."""
from __future__ import annotations

import re
import sys

import messages

MOST_WORDS = 45  # of a sentence; what an expression puts in counts as one word
# What was found, in words that say nothing: the whole of a literal.
VAGUE = {"another", "another one", "less", "more", "neither", "none such", "others", "something", "something else", "the others"}
# Words that a reader has to guess: who holds a tensor, what is meant.
UNCLEAR = re.compile(r"\bnobody (?:holds|saw|wrote)\b|\bare meant\b|\bno pass\b")


def faults(rows: list[tuple[str, str, str]]) -> list[str]:
    found = []
    for place, code, text in rows:
        parts = text.split(" | ")
        found += [f"{place} {code}: '{part}' says nothing" for part in parts if part in VAGUE]
        found += [f"{place} {code}: unclear words: {text}" for _ in UNCLEAR.findall(text)]
        for part in parts:
            plain = re.sub(r"\{[^}]*\}|\(.*?\)", "x", part)
            found += [f"{place} {code}: {len(one.split())} words: {one[:80]}..." for one in re.split(r"[.;:] ", plain) if len(one.split()) > MOST_WORDS]
    return found


def missing_sections() -> list[str]:
    """Sections of the format that refusals name by their headings."""
    headings = set(re.findall(r"^#+ (.*)$", (messages.codes.ROOT / "certificates/FORMAT.md").read_text(encoding="utf-8"), re.MULTILINE))
    named: dict[str, str] = {}
    for folder in ("semantics/statement", "certificates"):
        for path in (messages.codes.ROOT / folder).rglob("*.[ch]*"):
            text = path.read_text(encoding="utf-8")
            named |= dict.fromkeys(re.findall(r'in_format\(\s*"([^"]+)"', text), path.name)
            if "kKnown[] = {" in text:
                named |= dict.fromkeys(re.findall(r'\{"[\w.]*",\s*"([^"]+)",', text.split("kKnown[] = {")[1].split("};")[0]), path.name)
    assert {"Structure", "Split", "3. Rules"} <= set(named), named
    return [f"{where}: certificates/FORMAT.md has no section {one}" for one, where in sorted(named.items()) if one not in headings]


def main() -> int:
    controls = [("a.py:1", "", "found | others"), ("a.py:2", "", "a matrix that nobody holds"), ("a.py:3", "", "word " * (MOST_WORDS + 1))]
    assert all(len(faults([one])) == 1 for one in controls), [faults([one]) for one in controls]
    rows = messages.python_messages() + messages.cpp_messages()
    found = faults(rows)
    named = messages.documents()
    found += [f"{', '.join(where)}: {one} is in no package" for one, where in named.items()
              if not messages.is_installed(one) or not (messages.codes.ROOT / one).is_file()]
    found += missing_sections()
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{len(rows)} messages that name {len(named)} documents, {len(found)} faults")
    return 1 if found or len(rows) < 900 or len(named) < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
