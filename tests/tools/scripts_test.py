"""Every script of the tree parses and is executable; tools/setup on a machine that has everything does nothing, offline."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile


def shebang(path):
    try:
        return path.read_text(encoding="utf-8").splitlines()[0]
    except (IndexError, UnicodeDecodeError):
        return ""


def scripts(root):
    for folder in ("tools", ".ci"):
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and shebang(path).startswith("#!"):
                yield path


def broken(root):
    for path in scripts(root):
        if not os.access(path, os.X_OK):
            yield f"{path.relative_to(root)} is not executable"
        if "bash" in shebang(path):
            done = subprocess.run(["bash", "-n", path], capture_output=True, text=True, timeout=60)
            if done.returncode:
                yield f"{path.relative_to(root)}: {done.stderr}"
        else:
            compile(path.read_text(encoding="utf-8"), str(path), "exec")


def setup(root):
    """apt-get and sudo are replaced by words that fail: this build exists, so nothing may be missing."""
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("apt-get", "sudo"):
            path = pathlib.Path(scratch) / name
            path.write_text("#!/bin/sh\nexit 1\n")
            path.chmod(0o755)
        environment = dict(os.environ, PATH=f"{scratch}:{os.environ['PATH']}")
        done = subprocess.run([root / "tools/setup"], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=250)
    if done.returncode or "everything is installed" not in done.stderr:
        yield f"tools/setup: exit {done.returncode}: {done.stderr}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path)
    root = parser.parse_args().root
    problems = [*broken(root), *setup(root)]
    print("\n".join(f"FAILED {p}" for p in problems) or f"{len(list(scripts(root)))} scripts")
    sys.exit(1 if problems else 0)
