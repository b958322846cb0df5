"""Files that earlier releases wrote are read as they were, and names that earlier releases had are there (docs/reference/compatibility.md).

    compatibility_test.py BIN            the programs in BIN on the files of every folder here, and names against each names.txt
    compatibility_test.py BIN --make     before a release: writes the folder of its version anew

A folder VERSION holds certificates of both answers, a statement file, runs of each kind, a split proof with its parts, a trace with its gradients, a
baseline, a file of waivers, and names.txt. Until the version has a date in CHANGELOG.md its names may still change; its files are read all the same.
"""
import ast
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DIGITS = ROOT / "examples" / "digits"
PAGE = ROOT / "docs" / "reference" / "compatibility.md"
BIN = pathlib.Path(sys.argv[1]).resolve()
SOURCES = ("api", "app", "cli", "certificates", "formats")
SCHEMA = re.compile(r"\bassay\.[a-z]+/\d+\b")
# What a folder is asked -> exit status, and a part of the first lines of the answer.
QUESTIONS = [
    ("assay-check digits.onnx digits_holds.vnnlib holds.assay", 0, "accepted"),
    ("assay-check digits.onnx digits_fails.vnnlib fails.assay", 0, "accepted"),
    ("assay-check digits.onnx digits_fails.vnnlib holds.assay", 1, "rejected"),
    ("assay-check holds.statement holds.assay", 0, "accepted"),
    ("assay-check digits.onnx digits_holds.vnnlib float32.assay --semantics float32:onnxruntime", 0, "accepted"),
    ("assay check --list certificates.csv", 0, "passed: 2 certificates"),
    ("assay check robust --model digits.onnx --data items.csv", 0, "accepted"),
    ("assay check packed --model digits.onnx --data items.csv", 0, "accepted"),
    ("assay check batch --list instances.csv", 0, "accepted"),
    ("assay merge split -o whole.assay", 0, "unsat"),
    ("assay audit trace.safetensors --baseline baseline.json --waivers waivers.json", 0, "passed"),
    ("assay gradcheck trace.safetensors", 0, "passed"),
]
# A file of a later version -> its bytes before and after, a question about it, and the code of the refusal, which the page names.
LATER = [("holds.assay", b"ASSAY\1", b"ASSAY\2", "assay-check digits.onnx digits_holds.vnnlib holds.assay", "certificate.version"),
         ("holds.statement", b"assay statement file 1", b"assay statement file 2", "assay-check holds.statement fails.assay", "statement_file.bytes"),
         ("trace.safetensors", b'\\"version\\":1', b'\\"version\\":2', "assay audit trace.safetensors", "trace.version"),
         ("robust/run.json", b"assay.run/1", b"assay.run/2", "assay check robust --model digits.onnx --data items.csv", "run.schema"),
         ("packed/certificates.pack", b"ASSAYPK1", b"ASSAYPK2", "assay check packed --model digits.onnx --data items.csv", "missing"),
         ("split/split.json", b"assay.split/1", b"assay.split/2", "assay merge split -o later.assay", "cubes.split")]


def run(words, folder):
    program, *rest = words.split()
    done = subprocess.run([BIN / program, *rest], cwd=folder, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def made(words, folder):
    status, text = run(words, folder)
    if status != 0:
        sys.exit(f"{words}: exit {status}\n{text}")


def make(folder):
    """Files of every format, as this version writes them. They are small: a digit takes 14 kB."""
    for name in ("digits.onnx", "digits_holds.vnnlib", "digits_fails.vnnlib"):
        shutil.copy(DIGITS / name, folder)
    import numpy
    digits = numpy.load(DIGITS / "digits_test.npz")
    rows = [[int(digits["y"][item]), *map(float, digits["x"][item].ravel())] for item in (0, 1, 11)]  # the last one takes splits
    (folder / "items.csv").write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    (folder / "certificates.csv").write_text("digits.onnx,digits_holds.vnnlib,holds.assay,unsat\ndigits.onnx,digits_fails.vnnlib,fails.assay,sat\n")
    (folder / "instances.csv").write_text("digits.onnx,digits_holds.vnnlib,60\ndigits.onnx,digits_fails.vnnlib,60\n")
    (folder / "waivers.json").write_text('{"waivers": []}\n')
    for words in ("assay verify digits.onnx digits_holds.vnnlib --proof holds.assay", "assay verify digits.onnx digits_fails.vnnlib --proof fails.assay",
                  "assay verify digits.onnx digits_holds.vnnlib --semantics float32:onnxruntime --proof float32.assay",
                  "assay statement digits.onnx digits_holds.vnnlib --out holds.statement",
                  "assay robust digits.onnx items.csv --eps 0.02,0.12 --clip 0,1 --run robust", "assay robust digits.onnx items.csv --eps 0.02 --clip 0,1 --run packed --pack",
                  "assay batch instances.csv --run batch", "assay check robust --properties properties", "assay split digits.onnx harder.vnnlib --into 2 -o split",
                  "assay record digits.onnx trace.safetensors", "assay audit trace.safetensors --write-baseline baseline.json"):
        if "harder" in words:
            line = next(one for one in map(json.loads, (folder / "robust" / "results.jsonl").read_text().splitlines()) if (one["item"], one["eps"]) == (2, "0.12"))
            (folder / "properties" / f"{line['certificate']}.vnnlib").rename(folder / "harder.vnnlib")
            shutil.rmtree(folder / "properties")
        made(words, folder)
    for cube in sorted((folder / "split").glob("*.cube")):
        made(f"assay solve split/{cube.name} --threads 1", folder)

    for lock in folder.rglob("lock"):
        lock.unlink()


def files(folder):
    """-> what a copy of the folder is not answered any more."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = shutil.copytree(folder, pathlib.Path(scratch) / "files")
        for words, status, part in QUESTIONS:
            given, text = run(words, copy)
            if given != status or part not in text:
                yield f"{folder.name}: {words}: exit {given}, and not {status} with '{part}': {text[-600:]}"
        for name, before, after, words, code in LATER:
            (copy / name).write_bytes((folder / name).read_bytes().replace(before, after))
            given, text = run(words, copy)
            if (copy / name).read_bytes() == (folder / name).read_bytes() or given not in (1, 3, 4) or code not in text or f"`{code}`" not in PAGE.read_text():
                yield f"{folder.name}: {name} of a later version, {words}: exit {given}, and not a refusal {code} that {PAGE.name} names: {text[-600:]}"


def exported(path):
    """The names of `__all__` in a module whose list is written out."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return ast.literal_eval(node.value)
    return []


def names():
    """-> the names that users write: of Python, options, codes, schemas of JSON."""
    sys.path.insert(0, str(ROOT / "python"))
    sys.dont_write_bytecode = True
    import assay
    found = {f"python assay.{name}" for name in assay.__all__}
    for module, path in (("testing", "testing/__init__.py"), ("torch", "torch/__init__.py"), ("onnxruntime", "onnxruntime.py")):
        found |= {f"python assay.{module}.{name}" for name in exported(ROOT / "python" / "assay" / path)}
    verb = ""
    for line in (ROOT / "docs/reference/command-line.md").read_text(encoding="utf-8").splitlines():
        verb = line[4:-1] if line.startswith("## `") else verb
        option = re.match(r"- `[^`]*?(--[a-z][a-z0-9-]*)", line)
        found |= {f"option {verb} {option[1]}"} if option else set()
    for page in (ROOT / "docs/reference/codes").glob("*.md"):
        found |= {f"code {name}" for name in re.findall(r"(?m)^### (\S+)$", page.read_text(encoding="utf-8"))}
    return found | {f"schema {name}" for name in schemas()}


def schemas():
    texts = [path.read_text(encoding="utf-8") for folder in SOURCES for path in (ROOT / folder).rglob("*") if path.suffix in (".cpp", ".h")]
    return {name for text in texts for name in SCHEMA.findall(text)}


def lost(listed, there, page):
    """Names of a release that are gone, and that the page's section of removed names does not list."""
    removed = set(re.findall(r"`([^`\n]+)`", page.partition("## Names that were removed")[2]))
    return sorted(set(listed) - there - removed)


def released():
    """-> {version: has its section of the changelog a date}"""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    return {version: bool(re.match(r"\(\d{4}-", rest)) for version, rest in re.findall(r"(?m)^## (\d[\w.]*) ?(.*)$", text)}


def problems():
    page = PAGE.read_text(encoding="utf-8")
    if lost(["a", "b", "c"], {"a"}, "`b`\n## Names that were removed\n- `c`: take `a`") != ["b"]:
        yield "the search for lost names does not find one"
    there = names()
    if not all(any(name.startswith(kind) for name in there) for kind in ("python assay.verify", "option assay verify --proof", "code certificate.digest", "schema assay.run/1")):
        yield "the list of names lacks a kind"
    yield from (f"{PAGE.name} does not list the schema {name}" for name in sorted(schemas()) if f"`{name}`" not in page)
    for version, has_date in released().items():
        folder = HERE / version
        if not folder.is_dir():
            yield f"{version} has no folder here: compatibility_test.py BIN --make writes it"
            continue
        yield from files(folder)
        if has_date:
            gone = lost((folder / "names.txt").read_text().splitlines(), there, page)
            yield from (f"{version} had `{name}`, which is gone, and {PAGE.name} does not list it as removed" for name in gone)


def main():
    version, has_date = next(iter(released().items()))
    if sys.argv[2:] == ["--make"]:
        if has_date:
            sys.exit(f"{version} has a date in CHANGELOG.md, and files of a release stay as they are")
        folder = HERE / version
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        make(folder)
        (folder / "names.txt").write_text("\n".join(sorted(names())) + "\n")
        return 0
    found = list(problems())
    if found and not has_date:
        found.append(f"if a format of {version} was changed on purpose before its release, compatibility_test.py BIN --make writes its files anew")
    print("\n".join(f"FAILED {one}" for one in found) or f"files of {', '.join(released())} are read; {len(names())} names")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
