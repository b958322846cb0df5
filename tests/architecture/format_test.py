"""Every source is formatted as .clang-format says. Versions of clang-format differ, so that the one is named."""
import pathlib
import re
import shutil
import subprocess
import tempfile

import house

VERSION = 14
FOLDERS = [*house.LAYERS, "tests", "benchmarks", "examples"]


def formatter():
    for name in (f"clang-format-{VERSION}", "clang-format"):
        if shutil.which(name):
            said = subprocess.run([name, "--version"], capture_output=True, text=True, check=True).stdout
            if re.search(rf"version {VERSION}\.", said):
                return name
    return None


def unformatted(name, files, folder):
    done = subprocess.run([name, "--dry-run", *map(str, files)], cwd=folder, capture_output=True, text=True, check=True)
    return sorted(set(re.findall(r"^(\S+?):\d+:\d+: warning", done.stderr, re.M)))


def main():
    root = house.arguments().root
    name = formatter()
    if name is None:
        print(f"skipped: clang-format {VERSION} is not installed (apt-get install clang-format-{VERSION})")
        return
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        shutil.copy(root / ".clang-format", scratch)
        (scratch / "bad.h").write_text("int  f( );\n")
        (scratch / "good.h").write_text("int f();\n")
        assert unformatted(name, ["bad.h", "good.h"], scratch) == ["bad.h"], "the control was not found"
    files = [path.relative_to(root) for folder in FOLDERS for path in sorted((root / folder).rglob("*")) if path.suffix in house.SUFFIXES]
    assert len(files) > 500, f"only {len(files)} sources found"
    found = unformatted(name, files, root)
    assert not found, "not formatted (tools/check --fix does it): " + ", ".join(found)
    print(f"{len(files)} sources")


main()
