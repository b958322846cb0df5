"""Reference pages of the C++ libraries, made from their headers: a comment describes the declaration below it."""
import re
import textwrap

PAGES = {
    "check": ("assay::check: decide a certificate", [
        "api/assay/check.h", "api/check/load.h", "semantics/statement/statement_text.h", "semantics/interrupt.h"]),
    "trace": ("assay::trace: write and read recorded runs", ["api/assay/trace.h", "semantics/graph/trace.h", "formats/trace.h"]),
    "testing": ("assay::testing: test results, kernels and gradients", [
        "api/assay/testing.h", "api/assay/kernel_audit.h", "api/assay/cuda_testing.h", "probes/launch.h"])}
NAME = re.compile(r"#define (\w+)|(?:class|struct|enum class|union|using|concept) (?:\[\[nodiscard\]\] )?(\w+)|(~?\w+|operator\W+)\(|(\w+)(?:\{.*\})?(?: =.*)?;")


def prose(lines):
    """The text of a comment: lines that are indented by two more blanks are code."""
    text = textwrap.dedent("\n".join(line.removeprefix("//") for line in lines))
    text = re.sub(r"(?m)^(?=  +\S)", "  ", text)
    return re.sub(r"(?m)^(?!    )(.+)\n(?=    )", r"\1\n\n", re.sub(r"(?m)(^    .+)\n(?!    |\n|$)", r"\1\n\n", text))


def items(source):
    """-> (comment lines, declaration lines) of everything at the level of a namespace; the first is the file's head."""
    comment, declared, depth = [], [], 0
    for line in source.split("\n"):
        plain = line.strip()
        if depth == 0 and not declared:
            if plain.startswith("//") and line == plain:
                comment.append(plain)
                continue
            if not plain or re.match(r"#(pragma|include|if|endif|else|ifdef|ifndef|elif)|namespace [\w:]+ \{|\}  // namespace|class \w+;|struct \w+;|using namespace", plain):
                if comment:
                    yield comment, []
                comment = []
                continue
        declared.append(line)
        bare = re.sub(r"//.*|\"(?:\\.|[^\"])*\"|'(?:\\.|[^'])'", "", line)
        depth += len(re.findall(r"[{(]", bare)) - len(re.findall(r"[})]", bare))
        if depth == 0 and (bare.rstrip().endswith((";", "}")) or (declared[0].startswith("#define") and not line.endswith("\\"))):
            yield comment, declared
            comment, declared = [], []


def name_of(declared):
    text = re.sub(r"template <[^\n]*>\n|\[\[nodiscard\]\] |//[^\n]*", "", "\n".join(declared))
    found = NAME.search(text)
    return next((part for part in found.groups() if part), "") if found else ""


def interface(declared):
    """A class without its private part, and a function without its body."""
    text = "\n".join(declared)
    if re.match(r"(?:template <.*>\n)?(?:class|struct|enum|inline constexpr|#define)", text):
        return re.sub(r"\n private:\n(.|\n)*?(?=\n(?:public:|\}))", "", text)
    return re.sub(r"\) ((?:const )?)\{(.|\n)*\}$", r") \1;", text).replace(" ;", ";")


def page(root, name):
    """The Markdown of one library's page."""
    title, headers = PAGES[name]
    out = [f"# {title}\n\nThis page is made from the headers. [Install](../../how-to/install.md) says how to link the target `assay::{name}`.\n"]
    for header in headers:
        out.append(f"## `{header.removeprefix('api/')}`\n")
        seen = []
        for comment, declared in items((root / header).read_text(encoding="utf-8")):
            if not declared:
                out.append(prose(comment) + "\n")
                continue
            called = name_of(declared)
            if called and called not in seen:
                out.append(f"### `{called}`\n")
                seen.append(called)
            out.append("```cpp\n" + interface(declared) + "\n```\n")
            if comment:
                out.append(prose(comment) + "\n")
    return "\n".join(out)
