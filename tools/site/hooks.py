"""Hooks of mkdocs: pages that other folders of the repository hold or that are made, and links between all of them.

A page has a place in the repository and an address on the site. Links are written for the repository, so that they
work there too, and are rewritten here. A linked source file becomes a page of its own below sources/.
"""
import json
import os
import pathlib
import re
import sys

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools" / "site"))
import headers  # noqa: E402

# Repository path -> site path, of pages outside of docs/ that have a place in the navigation.
OUTSIDE = {"TRUST.md": "explanation/trust.md", "CONTRIBUTING.md": "explanation/contributing.md", "CHANGELOG.md": "reference/changes.md",
           "certificates/FORMAT.md": "reference/certificate-format.md", "python/README.md": "how-to/python.md",
           "benchmarks/README.md": "reference/benchmarks.md"}
SECTIONS = ("tutorials", "how-to", "reference", "explanation")
LANGUAGES = {".h": "cpp", ".cpp": "cpp", ".cu": "cpp", ".def": "cpp", ".py": "python", ".yml": "yaml", ".yaml": "yaml", ".json": "json"}
LINK = re.compile(r"(?<!\\)\]\(<?([^)\s>]+)>?\)")
MOST_BYTES = 200_000
BOOSTS = {"tutorials/": 3, "how-to/": 2, "decisions/": 0.2, "reference/bugs-found": 0.2, "sources/": 0.2}  # of hits of the search
STYLE = """.md-typeset table:not([class]) thead:not(:has(th:not(:empty))) { display: none; }  /* tables without a head */
.md-typeset h1, .md-typeset h2 { font-weight: 500; color: var(--md-default-fg-color); }
"""
# Page -> its title, and the objects that it shows; a class behind a minus without its members, which serve the package itself.
MODULES = {"testing": ("`assay.testing`", ["assay.testing"]),
           "torch": ("`assay.torch`", ["-assay.torch.Recorder", "assay.torch.judge", "assay.torch.step", "assay.torch.trace_of", "-assay.torch.Report", "assay.torch.Refused"]),
           "certificate": ("`assay.certificate`", ["assay.certificate"]),
           "modules": ("other modules", ["assay.ops", "assay.onnxruntime", "assay.pytest_plugin.Gate", "assay.plots"])}

site_of = {}  # repository path -> site path
repository_of = {}  # site path -> repository path


def code_mask(text):
    """-> [(is code, part)]: fenced blocks and code spans apart from the rest."""
    parts = re.split(r"(?ms)(^ *```.*?^ *```[^\n]*$|`[^`\n]+`)", text)
    return [(i % 2 == 1, part) for i, part in enumerate(parts)]


def links(text):
    return [target for code, part in code_mask(text) if not code for target in LINK.findall(part)]


def target_of(page, link):
    """The repository path that a relative link names; nothing for other links."""
    path = link.partition("#")[0]
    if not path or re.match(r"[a-z]+:", link):
        return None
    return os.path.normpath(os.path.join(os.path.dirname(page), path))


def python_pages():
    """-> (site path, Markdown) of the pages of the Python package."""
    sys.path.insert(0, str(ROOT / "python"))
    sys.dont_write_bytecode = True
    import assay
    made = ["# Python: `assay`\n\n[The package](../../how-to/python.md) says how to install and use it.\n"]
    made += [f"::: assay.{home}.{name}\n    options:\n      heading: assay.{name}\n      toc_label: {name}\n" for name, home in assay._HOMES.items()]
    yield "reference/python/assay.md", "\n".join(made)
    for page, (title, objects) in MODULES.items():
        shown = [f"::: {one.lstrip('-')}\n" + ("    options:\n      members: false\n" if one.startswith("-") else "") for one in objects]
        yield f"reference/python/{page}.md", f"# Python: {title}\n\n" + "\n".join(shown)


def notebook(text):
    """A notebook as Markdown, with the text that its cells printed."""
    out = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        out.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", []):
            shown = "".join(output.get("text", output.get("data", {}).get("text/plain", "")))
            out += ["```text\n" + shown.rstrip("\n") + "\n```"] if shown else []
    return "\n\n".join(out) + "\n"


def source_page(path):
    """-> (site path, Markdown) of a file or folder of the repository that a page links."""
    place = ROOT / path
    head = "---\nsearch:\n  exclude: true\n---\n"
    if place.is_dir():
        if (place / "README.md").exists():
            return f"sources/{path}/README.md", (place / "README.md").read_text(encoding="utf-8")
        names = sorted(one.name + ("/" if one.is_dir() else "") for one in place.iterdir() if not one.name.startswith((".", "__")))
        return f"sources/{path}/index.md", f"{head}# `{path}/`\n\nFiles of this folder in the repository:\n\n" + "".join(f"- `{name}`\n" for name in names)
    text = place.read_bytes()[:MOST_BYTES].decode("utf-8", errors="replace")
    if place.suffix == ".md":
        return f"sources/{path}", text
    if place.suffix == ".ipynb":
        return f"sources/{path}.md", notebook(text)
    return f"sources/{path.lstrip('.')}.md", f"{head}# `{path}`\n\n`````{LANGUAGES.get(place.suffix, 'text')}\n{text}\n`````\n"


def follow(texts, add):
    """Adds the page of every repository file that a page links, and of those that these link."""
    todo = list(texts.items())
    while todo:
        page, text = todo.pop()
        for link in links(text):
            target = target_of(page, link)
            if target is None or target in site_of or not (ROOT / target).exists() or target.startswith(".."):
                continue
            readme = os.path.join(target, "README.md")
            if readme in site_of:
                site_of[target] = site_of[readme]
                continue
            where, made = source_page(target)
            named = readme if (ROOT / readme).exists() else target
            site_of[target] = where
            add(named, where, made)
            if where.endswith(("README.md", os.path.basename(target))) or target.endswith(".ipynb"):
                todo.append((named, made))


def named_in(nav):
    for entry in nav:
        if isinstance(entry, dict):
            for value in entry.values():
                yield from [value] if isinstance(value, str) else named_in(value)
        else:
            yield entry


def complete_nav(nav, files):
    """Adds the pages of each section that nav does not name, and those of the operations."""
    named = set(named_in(nav))
    reference = next(entry["Reference"] for entry in nav if "Reference" in entry)
    operations = next(entry for entry in reference if isinstance(entry, dict) and "Operations" in entry)
    operations["Operations"] += sorted(file.src_uri for file in files.documentation_pages() if re.fullmatch(r"ops/[a-z]\w*\.md", file.src_uri))
    for entry in nav:
        for title, inner in entry.items():
            section = title.lower()
            if isinstance(inner, list) and section in SECTIONS:
                inner += sorted(file.src_uri for file in files.documentation_pages()
                                if re.fullmatch(section + r"/([\w-]+|[\w-]+/README)\.md", file.src_uri) and file.src_uri not in named)


def on_files(files, config):
    site_of.clear()
    repository_of.clear()
    texts = {}
    for file in files.documentation_pages():
        path = "docs/" + file.src_uri
        site_of[path], texts[path] = file.src_uri, (ROOT / path).read_text(encoding="utf-8")
    for file in files:
        site_of.setdefault("docs/" + file.src_uri, file.src_uri)

    def add(path, where, text):
        site_of.setdefault(path, where)
        repository_of[where] = path
        files.append(File.generated(config, where, content=text))

    for path, where in OUTSIDE.items():
        texts[path] = (ROOT / path).read_text(encoding="utf-8")
        add(path, where, texts[path])
    for section in SECTIONS:
        site_of.setdefault(f"docs/{section}", f"{section}/README.md")
    follow(texts, add)
    for where, text in [*python_pages(), *((f"reference/cpp/{name}.md", headers.page(ROOT, name)) for name in headers.PAGES)]:
        files.append(File.generated(config, where, content=text))
    files.append(File.generated(config, "site.css", content=STYLE))
    complete_nav(config.nav, files)
    return files


def summary(text):
    """A page's title and the first sentence below it."""
    title = re.search(r"(?m)^# (.+)$", text)
    first = re.search(r"(?ms)^# .+?\n\n+((?![#|>`\-*]).+?)(?:\n\n|\Z)", text)
    sentence = re.split(r"(?<=[.:])\s", first[1].replace("\n", " "))[0] if first else ""
    sentence = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", sentence)
    return title[1] if title else "", sentence.rstrip(":")


def contents(section, text, files):
    """The list of a section's pages that its first page does not link."""
    rows = []
    for file in files.documentation_pages():
        name = os.path.basename(file.src_uri)
        if re.fullmatch(section + r"/[\w-]+\.md", file.src_uri) and name != "README.md" and f"]({name})" not in text:
            title, sentence = summary(file.content_string)
            rows.append(f"- [{title}]({name})" + (f": {sentence}" if sentence else ""))
    return "\n".join(sorted(rows)) + "\n"


def on_page_markdown(markdown, page, config, files):
    here = page.file.src_uri
    path = repository_of.get(here, "docs/" + here)

    def rewritten(match):
        target = target_of(path, match[1])
        if target is None or target not in site_of:
            return match[0]
        link = os.path.relpath(site_of[target], os.path.dirname(here) or ".")
        anchor = match[1].partition("#")[2]
        return "](" + link + ("#" + anchor if anchor else "") + ")"

    boost = next((factor for folder, factor in BOOSTS.items() if here.startswith(folder)), None)
    if boost:
        page.meta.setdefault("search", {"boost": boost})
    text = "".join(part if code else LINK.sub(rewritten, part) for code, part in code_mask(markdown))
    if here in {f"{section}/README.md" for section in SECTIONS}:
        text = text.rstrip("\n") + "\n\n" + contents(os.path.dirname(here), text, files)
    return text
