#!/usr/bin/env python3
"""Kills a run that trains (SIGKILL) at random moments and resumes it, until it is done: its last checkpoint has the bytes of one of a run that
nobody killed.

    python3 tests/training/resume_test.py BIN [--seed N] [--kills N]
"""
import argparse
import pathlib
import random
import subprocess
import sys
import tempfile
import time

STEPS = 120
LONGEST = 400  # runs, should each be killed before its first step


def run(command, seconds=None):
    """-> whether it ended by itself; killed after that many seconds otherwise."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return False
    assert process.returncode == 0, f"{command}: status {process.returncode}\n{out}{err}"
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--kills", type=int, default=25)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    print(f"seed {options.seed}")
    for how in ([], ["compiled"]):
        with tempfile.TemporaryDirectory() as folder:
            whole, killed = (str(pathlib.Path(folder) / name) for name in ("whole.safetensors", "killed.safetensors"))
            start = time.monotonic()
            run([options.bin / "resumable", whole, str(STEPS), *how])
            length = time.monotonic() - start
            kills, command = 0, [options.bin / "resumable", killed, str(STEPS), *how]
            for _ in range(LONGEST):
                # The first runs last about as long as makes them die often; the last ones are left alone.
                if kills >= options.kills:
                    run(command)
                    break
                if run(command, draw.uniform(0, 2 * length / options.kills + 0.05)):
                    break
                kills += 1
            assert kills > 0, "no run was killed: it is too short"
            same = pathlib.Path(whole).read_bytes() == pathlib.Path(killed).read_bytes()
            print(f"{' '.join(how) or 'eager'}: killed {kills} times, {'the same bytes' if same else 'OTHER BYTES'}")
            if not same:
                sys.exit(1)


if __name__ == "__main__":
    main()
