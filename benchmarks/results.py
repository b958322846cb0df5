#!/usr/bin/env python3
"""Makes docs/results.md and its drawing of the files in benchmarks/results, so that no figure of the page is typed by hand.

    benchmarks/results.py            writes the page and the drawing
    benchmarks/results.py --check    exits with 1 if either differs from what the files say, or a file lacks a field

benchmarks/results/README.md describes the files.
"""
import datetime
import html
import json
import math
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILES, PAGE, DRAWING = "benchmarks/results", "docs/results.md", "docs/images/solved.svg"
SCHEMA = "assay.result/1"
FIELDS = {"schema": str, "title": str, "section": str, "date": str, "commit": str, "machine": str, "command": str, "figures": dict}
# Sections of the page, in its order, each with what its figures answer.
SECTIONS = {
    "Beside other verifiers": "How many properties does Assay solve beside other complete verifiers?",
    "Development set": "How many of the properties in the development set does `assay verify` solve?",
    "Checking beside solving": "How long does `assay-check` take, as a share of the search that found the proof?",
    "Float32": "Do proved float32 bounds hold in the runtimes, and how many proofs survive float32?",
    "Contracts and faults": "Which wrong results do contracts find, and do they accuse right ones?",
    "Gradients": "Does the gradient gate find wrong backward passes, and does it accuse right ones?",
    "Beside PyTorch": "How fast are Assay's runtime and audits beside PyTorch?",
    "ONNX": "Do the models that are read mean the same as in ONNX Runtime?",
    "Set-up": "How long does a fresh machine need?"}


def load(root=ROOT):
    """-> {name: result}, the newest first."""
    paths = sorted((root / FILES).glob("*.json"), key=lambda path: (path.name[:10], path.name), reverse=True)
    return {path.name: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def problems_of(name, result, root=ROOT):
    """What a result file lacks."""
    for field, kind in FIELDS.items():
        if not isinstance(result.get(field), kind) or not result[field]:
            yield f"{FILES}/{name}: the field {field!r} is missing or empty"
            return
    if result["schema"] != SCHEMA:
        yield f"{FILES}/{name}: its schema is {result['schema']!r}, not {SCHEMA!r}"
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", result["date"]) or not name.startswith(result["date"] + "-"):
        yield f"{FILES}/{name}: the name has to begin with its date, {result['date']}"
    if not re.fullmatch(r"[0-9a-f]{7,40}", result["commit"]) and not (result.get("source") and result["commit"] == "not recorded"):
        yield f"{FILES}/{name}: its commit is no commit: {result['commit']!r}"
    if result["section"] not in SECTIONS:
        yield f"{FILES}/{name}: {result['section']!r} is no section of the page"
    for key, figure in result["figures"].items():
        if not (isinstance(figure, dict) and set(figure) == {"value", "what"} and isinstance(figure["value"], str)):
            yield f"{FILES}/{name}: figure {key!r} needs a value and what it counts, both as text"
    source = result.get("transcribed_from")
    if source and not (root / source).is_file():
        yield f"{FILES}/{name}: it was transcribed from {source}, which does not exist"
    for table in result.get("tables", []):
        if any(len(row) != len(table["header"]) for row in table["rows"]):
            yield f"{FILES}/{name}: a row of the table {table['title']!r} has another number of cells than its header"


# ---- for scripts that write a result file -------------------------------------------------------------------------------

def machine():
    """The processor, and how busy it is."""
    try:
        words = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
        name = re.search(r"^model name\s*: (.+)$", words, re.M)[1]
    except (OSError, TypeError):
        name = "an unnamed processor"
    return f"{os.cpu_count()} cores of {name}, load {os.getloadavg()[0]:.1f} at the end"


def begin(title, section, about, figures, **further):
    """The content of a result file; `figures` has (value, what it counts) for each key."""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    return {"schema": SCHEMA, "title": title, "section": section, "about": about, "date": datetime.date.today().isoformat(), "commit": commit or "not recorded",
            "machine": machine(), "command": shlex.join(["python3", *sys.argv]), "figures": {key: {"value": str(value), "what": what} for key, (value, what) in figures.items()}, **further}


def write(path, result):
    """The file, with one line for each row and figure, so that changes can be read."""
    text = json.dumps(result, indent=1, ensure_ascii=False)
    text = re.sub(r'\[\n\s+("(?:[^"\\]|\\.)*"(?:,\n\s+"(?:[^"\\]|\\.)*")*)\n\s+\]', lambda match: "[" + re.sub(r",\n\s+", ", ", match[1]) + "]", text)
    text = re.sub(r'\{\n\s+("value": .*),\n\s+("what": .*)\n\s+\}', r"{\1, \2}", text)
    pathlib.Path(path).write_text(text + "\n", encoding="utf-8")


# ---- peers: figures and tables of the instances ------------------------------------------------------------------------

def solved_times(result, program):
    """The times of a program's answers, in order."""
    runs = (one["programs"][program] for one in result["instances"])
    return sorted(run["seconds"] for run in runs if run["answer"] in ("sat", "unsat"))


def peers_tables(result):
    """Solved, errors and medians of each program."""
    rows = []
    for program, what in result["programs"].items():
        times, runs = solved_times(result, program), [one["programs"][program] for one in result["instances"]]
        refused = sum(one["answer"] == "undecided" and bool(one["error"]) for one in runs)
        rows.append([what["name"], what["version"], f"{len(times)} of {len(runs)}", f"{times[len(times) // 2]:.2f}" if times else "-", str(refused), what["lacks"]])
    header = ["Program", "Version", "Solved", f"Median {result['seconds']} of solved ones", "Ended with an error", "What it lacked"]
    return [{"title": "Solved within the limit", "header": header, "rows": rows, "left": (0, 1, 5)}]


# ---- the page --------------------------------------------------------------------------------------------------------

def table_lines(table):
    left = table.get("left", (0,))
    return ["| " + " | ".join(table["header"]) + " |", "| " + " | ".join("---" if i in left else "---:" for i in range(len(table["header"]))) + " |",
            *("| " + " | ".join(row) + " |" for row in table["rows"])]


def wrapped(text, width=98):
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return lines + [line]


def entry(name, result):
    """The part of the page for one result file."""
    source = result.get("transcribed_from")
    origin = f"transcribed from [{source}]({link(source)})" if source else f"{result['source']}" if result.get("source") else "written by the run"
    lines = [f"### {result['title']}", "", *wrapped(result.get("about", "")), ""] if result.get("about") else [f"### {result['title']}", ""]
    figures = [[figure["what"], figure["value"]] for figure in result["figures"].values()]
    lines += table_lines({"header": ["Figure", "Value"], "rows": figures}) + [""]
    for table in [*(peers_tables(result) if "instances" in result else []), *result.get("tables", [])]:
        lines += [*wrapped(f"{table['title']}:"), "", *table_lines(table), ""]
    facts = [["Date and commit", f"{result['date']}, " + ("not recorded" if result["commit"] == "not recorded" else f"`{result['commit'][:8]}`")], ["Machine", result["machine"]],
             ["Command", "<br>".join(f"`{one}`" for one in result["command"].split("\n"))], ["Figures", f"[{name}]({link(FILES + '/' + name)}), {origin}"]]
    return lines + table_lines({"header": ["Run", "Value"], "rows": facts, "left": (0, 1)}) + [""]


def link(path):
    return "../" + path if not path.startswith("docs/") else path.removeprefix("docs/")


def page(results):
    lines = ["# Results", "", "<!-- Written by benchmarks/results.py. Change the files in benchmarks/results, and run it again. -->", "",
             *wrapped("Every figure on this page stands in a result file, with the commit, the machine, the date and the command of its run. "
                      f"[Benchmarks]({link('benchmarks/README.md')}) says how to run each again, and [notes]({link('benchmarks/notes/README.md')}) hold earlier experiments. "
                      "Some files were transcribed from notes, and name the commit that wrote the figures down."), ""]
    rows = [[result["figures"][key]["what"], result["figures"][key]["value"], f"[{section}](#{section.lower().replace(' ', '-')})"]
            for section in SECTIONS for result in results.values() if result["section"] == section for key in result.get("glance", [])]
    lines += table_lines({"header": ["Figure", "Value", "Section"], "rows": rows, "left": (0, 2)}) + [""]
    for section, question in SECTIONS.items():
        inside = [(name, result) for name, result in results.items() if result["section"] == section]
        if inside:
            lines += [f"## {section}", "", *wrapped(question), ""]
        for name, result in inside:
            if result.get("drawing"):
                lines += [f"![{result['title']}: solved against time]({link(DRAWING)})", "", *wrapped(result["caption"]), ""]
            lines += entry(name, result)
    return "\n".join(lines).rstrip("\n") + "\n"


# ---- the drawing -----------------------------------------------------------------------------------------------------

STYLE = """text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:#24292f}.panel{fill:#fff}.grid{stroke:#d8dee4;fill:none}.axis{stroke:#57606a;fill:none}
.small{font-size:10px}.c0{--c:#0b6e4f}.c1{--c:#b3261e}.c2{--c:#1f5fbf}.c3{--c:#8a5a00}path.line{fill:none;stroke:var(--c);stroke-width:2}text.name{fill:var(--c);font-weight:600;font-size:10.5px}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.panel{fill:#161b22}.grid{stroke:#30363d}.axis{stroke:#8b949e}.c0{--c:#4cc38a}.c1{--c:#ff8c82}.c2{--c:#79b8ff}.c3{--c:#e3b341}}"""


def drawing(result):
    """SVG: how many properties each program has solved after so many seconds (a cactus plot), for 400 pixels and more."""
    wide, high, left, top, least, limit = 214, 190, 32, 22, 0.01, result["limit_seconds"]
    count = len(result["instances"])
    across = lambda time: left + wide * (math.log10(max(time, least)) - math.log10(least)) / (math.log10(limit) - math.log10(least))
    up = lambda solved: top + high * (1 - solved / count)
    parts = []
    for solved in range(0, count + 1, 10 if count > 24 else 5):
        parts.append(f'<path class="grid" d="M{left} {up(solved):.1f}h{wide}"/><text x="{left - 5}" y="{up(solved) + 4:.1f}" text-anchor="end">{solved}</text>')
    for time in [one for one in (0.01, 0.1, 1, 10, 100) if one <= limit]:
        parts.append(f'<text x="{across(time):.1f}" y="{top + high + 16}" text-anchor="middle">{time:g} s</text>')
    parts.append(f'<text class="small" x="{left - 26}" y="13">Properties solved, of {count}, within so many {result["seconds"]}</text>')
    parts.append(f'<path class="axis" d="M{left} {top}V{top + high}H{left + wide}"/>')
    names, places = list(result["programs"]), []
    for number, program in enumerate(names):
        times = solved_times(result, program)
        path, before = "", 0
        for solved, time in enumerate(times, 1):
            path += f"M{across(time):.1f} {up(0):.1f}V{up(solved):.1f}" if not before else f"H{across(time):.1f}V{up(solved):.1f}"
            before = solved
        parts.append(f'<g class="c{number}"><path class="line" d="{path}H{left + wide}"/></g>' if times else "")
        places.append([up(len(times)), number, f"{result['programs'][program]['name']} {len(times)}"])
    places.sort()
    for one, (y, number, words) in enumerate(places):
        low = max(y, places[one - 1][0] + 15 if one else top + 4)
        places[one][0] = low
        parts.append(f'<g class="c{number}"><text class="name" x="{left + wide + 6}" y="{low + 4:.1f}">{html.escape(words)}</text></g>')
    lines = [f'<text class="small" x="{left - 26}" y="{top + high + 36 + 14 * i}">{html.escape(line)}</text>' for i, line in enumerate(wrapped(result["caption"], 66))]
    size = top + high + 34 + 14 * len(lines)
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 {size}" width="560" role="img" aria-labelledby="title">', f'<title id="title">{html.escape(result["title"])}</title>',
                      f"<style>{STYLE}</style>", f'<rect class="panel" width="400" height="{size}" rx="6"/>', *filter(None, parts), *lines, "</svg>\n"])


def written(results):
    """-> {path: text} of all that this program writes."""
    drawn = [result for result in results.values() if result.get("drawing")]
    return {PAGE: page(results), **({DRAWING: drawing(drawn[0])} if drawn else {})}


def main(words):
    if words not in ([], ["--check"]):
        print(__doc__.strip(), file=sys.stderr)
        return 0 if words[0] in ("-h", "--help") else 2
    results = load()
    problems = [one for name, result in results.items() for one in problems_of(name, result)]
    for path, text in {} if problems else written(results).items():
        if not words:
            (ROOT / path).parent.mkdir(exist_ok=True)
            (ROOT / path).write_text(text, encoding="utf-8")
        elif not (ROOT / path).is_file() or (ROOT / path).read_text(encoding="utf-8") != text:
            problems.append(f"{path} is not what the result files say; run benchmarks/results.py")
    print("\n".join(problems) or f"{len(results)} result files: {PAGE} {'holds' if words else 'written with'} their figures")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
