"""The rules of writing (CONTRIBUTING.md), as far as a machine can check them.

    style.py PAGE...      prints each finding of these pages, with its line
"""
import dataclasses
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_WORDS, MOST_COLUMNS = 35, 100
VERBS = "is|are|was|were|has|have|had|can|may|might|must|do|does|will|would|holds?|gives?|takes?|needs?|means?"
# A sentence whose subject is a pronoun without a noun -> the words that show it.
OPENINGS = {"What": r"What\b(?!.*\?$)", "Such": rf"Such (?:{VERBS}|ones?)\b", "Those": rf"Those (?:that|which|who|whose|of|in|on|at|with|{VERBS})\b",
            "So many": r"So (?:many|much)\b", "Either": rf"Either (?:{VERBS})\b", "That which": r"That (?:which|what)\b"}
# A word of this project's past -> the word of the field (docs/reference/notation.md).
PRIVATE = {r"careful splits?": "kFSB", r"quick splits?": "BaBSR score", r"early roots?": "staged incomplete proofs", r"dual ascent": "alpha-beta-CROWN",
           r"root bounds": "CROWN bounds of the root", r"lane bounds": "bounds of a batch of boxes", r"closes nothing": "proves no further case"}
# Abbreviations that every reader knows; others stand in docs/reference/notation.md or are spelt out on their page.
COMMON = set("""AMD API APIs ARM ASCII CD CI CLI CMake CPU CPUs CSV CUDA DAG DEB DLL GCC GitHub GNU GPU GPUs HTML HTTP ID IDs IEEE I/O JAX JSON JUnit
    LLVM MIT ONNX OpenMP OS PATH PDF PNG PyPI PyTorch RAM README RGB SARIF SHA SIMD SVG TF32 TOML TRUST URL US USA UTF VM XML YAML FORMAT CHANGELOG
    CONTRIBUTING LICENSE README AVX NVIDIA EPYC SIGTERM SIGINT ACM USENIX ICML ICLR CAV TACAS POPL KB MB GB TB Catch2 LAPACK BLAS MPFR GMP NPY NPZ IDX CIFAR MNIST VNN COMP LIB SMT CNN MLP RNN LSTM GRU OK NaN INT UINT TEXT FILE FLOAT""".split())
VAGUE = {"details", "notes", "misc", "miscellaneous", "other", "others", "general", "more", "overview", "introduction", "remarks", "various", "what"}


@dataclasses.dataclass(frozen=True)
class Finding:
    page: str
    line: int
    rule: str
    text: str

    def __str__(self):
        return f"{self.page}:{self.line}: {self.rule}: {self.text}"


def plain(text):
    """Markdown without its marks: a code span is one word, a link its text."""
    text = re.sub(r"``.+?``|`[^`]*`", "`code`", text)
    text = re.sub(r"!?\[((?:[^\]\[]|\[[^\]]*\])*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"<[^>]+>|\*\*|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)|\\(?=[|<>*_])", "", text)
    return text


def blocks(text):
    """-> (kind, line, text) of each heading, paragraph, item of a list, cell of a table, in order; code is left out."""
    kind, begun, lines, fence = None, 0, [], None

    def done():
        return [(kind, begun, " ".join(lines))] if lines else []

    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if fence or re.match(r" *(```|~~~)", line):
            if not fence:
                yield from done()
                kind, lines, fence = None, [], stripped[:3]
            elif stripped.startswith(fence):
                fence = None
            continue
        item = re.match(r"\s*(?:[-*+]|\d+\.) +(?:\[[ x]\] )?(.*)", line)
        if stripped.startswith("|"):
            yield from done()
            kind, lines = None, []
            if not re.fullmatch(r"[|\s:-]+", stripped):
                for cell in re.split(r"(?<!\\)\|", re.sub(r"`[^`]*`", lambda m: m[0].replace("|", "\\|"), stripped).strip("|")):
                    yield "cell", number, cell.strip()
        elif not stripped or re.match(r"(?:!!!|\?\?\?|:::|---|<!--|\[\w+\]:)", stripped) or (line.startswith("    ") and kind is None):
            yield from done()
            kind, lines = None, []
        elif match := re.match(r"(#+) +(.*)", line):
            yield from done()
            kind, lines = None, []
            yield "heading " + str(len(match[1])), number, match[2]
        elif item or kind is None:
            yield from done()
            kind, begun, lines = "item" if item else "text", number, [item[1] if item else stripped]
        else:
            lines.append(stripped)
    yield from done()


def sentences(text):
    text = re.sub(r"\b(e\.g|i\.e|etc|vs|cf|Fig|No|approx)\.", r"\1", plain(text))
    return [one.strip() for one in re.split(r"(?<=[.!?])[)\"'”]*\s+(?=[\"'“(]?[A-Z`0-9])|(?<=:)\s+(?=[A-Z][a-z]+ [a-z]+ [a-z]+)", text) if one.strip()]


def of_sentence(text, kind="text"):
    words = re.findall(r"[\w`][\w`'’.,/+%°^-]*", text)
    count = sum(bool(re.search(r"[^\W\d_]{2}|^[aA]$", word)) for word in words)  # letters and signs of formulas are no words
    if count > MOST_WORDS:
        yield f"more than {MOST_WORDS} words", f"{count}: {' '.join(words[:8])} ..."
    label = not text.endswith(".") and (kind == "cell" or len(words) < 5) or re.match(r"What [a-z ]{1,24}:", text)
    for name, pattern in OPENINGS.items():
        if re.match(pattern, text) and not label:
            yield f'a sentence whose subject is "{name}"', " ".join(words[:8])
    for pattern, better in PRIVATE.items():
        if found := re.search(rf"(?i)\b{pattern}\b", text):
            yield f'a word that only this project uses; say "{better}"', found[0]


def defined(root):
    """Abbreviations that the page of notation lists."""
    return set(re.findall(r"\b[A-Z][A-Za-z]*[A-Z][A-Za-z0-9]*\b", (root / "docs/reference/notation.md").read_text(encoding="utf-8")))


def of_words(text, known):
    """Abbreviations that neither the page of notation nor this page says. Help texts name files in capitals."""
    for kind, line, part in [] if "`tools/program_pages` writes this page" in text else blocks(text):
        for word in re.findall(r"(?<![\w./`-])[A-Z]{2,}s?(?![\w/`]|\.\w)", plain(part)):
            said = re.search(rf"\w \({word}\)|\b{word} \(", text)
            if word not in known and word.rstrip("s") not in known and not said:
                yield line, "an abbreviation that is not in docs/reference/notation.md", word


def of_headings(text):
    level, tops = 0, 0
    for kind, line, part in blocks(text):
        if not kind.startswith("heading"):
            continue
        depth = int(kind.split()[1])
        tops += depth == 1
        if depth > level + 1:
            yield line, "a heading that skips a level", part
        level = depth
        if plain(part).strip().lower() in VAGUE:
            yield line, "a heading that does not name its subject", part
    if tops != 1:
        yield 1, "a page has one heading of the first level", f"{tops}"


def of_lines(text):
    fence, indented, before = False, False, ""
    for number, line in enumerate(text.split("\n"), 1):
        indented = line.startswith("    ") and (indented or not before.strip())
        before = line
        if re.match(r" *(```|~~~)", line):
            fence = not fence
        elif not fence and not indented and len(line) > MOST_COLUMNS and not line.lstrip().startswith("|") and " " in line.strip()[:MOST_COLUMNS] and not re.match(r"\s*\[\w+\]:", line):
            yield number, f"more than {MOST_COLUMNS} columns", f"{len(line)}: {line.strip()[:50]} ..."


def findings(root, page, known=None):
    """All findings of one page, by line."""
    text = (root / page).read_text(encoding="utf-8")
    known = COMMON | defined(root) if known is None else known
    found = [Finding(page, line, rule, words) for check in (of_lines(text), of_headings(text), of_words(text, known)) for line, rule, words in check]
    for kind, line, part in blocks(text):
        if not kind.startswith("heading"):
            found += [Finding(page, line, rule, words) for one in sentences(part) for rule, words in of_sentence(one, kind)]
    return sorted(set(found), key=lambda one: (one.line, one.rule))


if __name__ == "__main__":
    said = [one for page in sys.argv[1:] for one in findings(ROOT, str(pathlib.Path(page).resolve().relative_to(ROOT)))]
    print("\n".join(map(str, said)))
    sys.exit(1 if said else 0)
