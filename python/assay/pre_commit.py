"""The commands of the pre-commit hooks (.pre-commit-hooks.yaml): `python -m assay.pre_commit lint|audit|gradcheck|certificates [OPTION...] FILE...`."""
from __future__ import annotations

import subprocess
import sys
from typing import Sequence

from assay._core.programs import program

# What runs on one file.
_COMMANDS = {"lint": ["lint"], "audit": ["audit"], "gradcheck": ["gradcheck"], "certificates": ["check", "--list"]}


def main(arguments: Sequence[str]) -> int:
    """The worst exit status of the files, above 128 for a program that a signal ended; 2 where the first argument is no hook, or no file was given."""
    if not arguments or arguments[0] not in _COMMANDS:
        print(__doc__, file=sys.stderr)
        return 2
    options = [one for one in arguments[1:] if one.startswith("-")]
    files, worst = [one for one in arguments[1:] if not one.startswith("-")], 0
    if not files:
        print(f"no file was given to the hook {arguments[0]}, so nothing was checked; leave pass_filenames as it is, and name no file with a - in front", file=sys.stderr)
        return 2
    for path in files:
        done = subprocess.run([program(), *_COMMANDS[arguments[0]], path, *options], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(f"{path}: assay {arguments[0]} ended with status {done.returncode}\n{done.stdout}{done.stderr}".rstrip())
        worst = max(worst, done.returncode if done.returncode >= 0 else 128 - done.returncode)
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
