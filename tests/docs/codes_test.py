"""Every code of the sources has an entry in docs/reference/codes, with its cause and what to do, and every entry a code."""
from __future__ import annotations

import re
import sys

import codes

PAGES = codes.ROOT / "docs" / "reference" / "codes"
CURE = "What to do: "


def entries() -> dict[str, list[str]]:
    """Code -> the paragraphs below its heading."""
    found: dict[str, list[str]] = {}
    for page in sorted(PAGES.glob("*.md")):
        for part in re.split(r"^### ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            code, _, text = part.partition("\n")
            text = text.split("\n## ")[0]
            if code in found:
                sys.exit(f"{page.name}: a second entry for {code}")
            found[code] = [" ".join(one.split()) for one in text.strip().split("\n\n")]
    return found


def main() -> int:
    known, written = codes.codes(), entries()
    faults = [f"{one}: tests/docs/codes.py does not list it" for one in codes.unknown_families()]
    faults += [f"{code} ({', '.join(sorted(known[code]))}): no entry in docs/reference/codes" for code in sorted(set(known) - set(written))]
    faults += [f"docs/reference/codes: {code} stands nowhere in the sources" for code in sorted(set(written) - set(known))]
    for code, parts in written.items():
        if len(parts) != 2 or not parts[1].startswith(CURE) or not all(part.endswith((".", ")")) for part in parts):
            faults.append(f"{code}: an entry has two paragraphs, the cause and '{CURE}...'")
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"{len(known)} codes, {len(faults)} faults")
    return 1 if faults or len(known) < 400 else 0


if __name__ == "__main__":
    sys.exit(main())
