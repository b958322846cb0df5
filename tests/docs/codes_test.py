"""Every code of the sources has an entry in docs/reference/codes, with its cause and what to do, and every entry a code.
Codes that the pages of CITED name have an entry, too.

With the folder of the programs: `assay explain` prints these entries.
"""
from __future__ import annotations

import json
import re
import subprocess
import sys

import codes
import style

PAGES = codes.ROOT / "docs" / "reference" / "codes"
CURE = "What to do: "
MOST_SENTENCES = 3
CITED = ["certificates/FORMAT.md", "docs/how-to/refused-certificate.md", "docs/tutorials/emit-a-certificate.md"]


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


def cited(text: str) -> set[str]:
    """The codes on a page; a table's `certificate.magic, .version` is two. A family with an entry of its own makes a word a code."""
    families = "certificate|kernel|statement|vnnlib|hints|session"
    found = set(re.findall(r"(?<![\w/.])(?:(?:" + families + r")\.[a-z_]+|[a-z_]+\.S[0-9]+)\b(?![./])", text))
    for first, rest in re.findall(r"\b(certificate)\.[a-z]+((?:, \.[a-z]+)+)", text):
        found |= {first + one for one in re.findall(r"\.[a-z]+", rest)}
    return found - {"certificate.py", "certificate.md"}  # files


def faults_of_program(program: str, written: dict[str, list[str]]) -> list[str]:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([program, "explain", *words], capture_output=True, text=True, timeout=60)

    def plain(text: str) -> str:
        return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)

    said = {one["code"]: [one["cause"], CURE + one["cure"]] for one in json.loads(run("--json").stdout)["codes"]}
    faults = [f"assay explain: other words for {code}: {said.get(code)}" for code, parts in written.items() if said.get(code) != list(map(plain, parts))]
    for code, entry in (("gemm.S2", "OP.S1"), ("log.domain", "OP.domain"), ("contract.relu", "contract.OP"), ("trace.version", "trace.version")):
        if json.loads(run(code, "--json").stdout)["entry"] != entry:
            faults.append(f"assay explain {code}: not the entry of {entry}")
    for code in ("gemm.S", "gemm.S2x", "nothing.S1", "contract.nothing", ".", "", "onnx"):
        if code and (run(code).returncode != 2 or "there is no code" not in run(code).stderr):
            faults.append(f"assay explain {code}: not refused")
    if "did you mean onnx.unknown_op?" not in run("onnx.unkown_op").stderr:
        faults.append("assay explain onnx.unkown_op: no word of onnx.unknown_op")
    refused = subprocess.run([program, "verify", "/nothing.onnx", "/nothing.vnnlib"], capture_output=True, text=True, timeout=60).stderr
    happened = written["files.open"][0].split(". ")[0].rstrip(".")
    if not refused.startswith(f"assay: {happened[0].lower()}{happened[1:]}: /nothing.onnx: expected ") or not refused.endswith(" [files.open]\n"):
        faults.append(f"a refusal does not say what its code means:\n{refused}")
    return faults


def main() -> int:
    known, written = codes.codes(), entries()
    faults = [f"{one}: tests/docs/codes.py does not list it" for one in codes.unknown_families()]
    faults += [f"{code} ({', '.join(sorted(known[code]))}): no entry in docs/reference/codes" for code in sorted(set(known) - set(written))]
    faults += [f"docs/reference/codes: {code} stands nowhere in the sources" for code in sorted(set(written) - set(known))]
    assert cited("`certificate.open`, certificate.magic, .version (conclude.S3)") == {"certificate.open", "certificate.magic", "certificate.version", "conclude.S3"}
    for page in CITED:
        faults += [f"{page}: {code} has no entry in docs/reference/codes" for code in sorted(cited((codes.ROOT / page).read_text(encoding="utf-8")) - set(written))]
    for code, parts in written.items():
        if len(parts) != 2 or not parts[1].startswith(CURE) or not all(part.endswith((".", ")")) for part in parts):
            faults.append(f"{code}: an entry has two paragraphs, the cause and '{CURE}...'")
        if ":" in parts[0].split(". ")[0]:
            faults.append(f"{code}: the first sentence has a colon, and a refusal writes one behind it")
        if any(len(style.sentences(part.removeprefix(CURE))) > MOST_SENTENCES for part in parts):
            faults.append(f"{code}: cause and cure have at most {MOST_SENTENCES} sentences each")
        if any(re.search(r"\w- \w", part) for part in parts):
            faults.append(f"{code}: a line ends inside of a word with a hyphen, which `assay explain` prints as two words")
    if len(sys.argv) > 1:
        faults += faults_of_program(sys.argv[1] + "/assay", written)
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"{len(known)} codes, {len(faults)} faults")
    return 1 if faults or len(known) < 400 else 0


if __name__ == "__main__":
    sys.exit(main())
