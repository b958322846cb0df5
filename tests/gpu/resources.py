"""Compiles the kernels by nvcc and lists what each needs of a multiprocessor.

    python3 resources.py COMMAND...

COMMAND is nvcc with its options and -Xptxas -v. A kernel fails that spills registers, takes more than MOST_REGISTERS of them, or declares
shared memory of its own; so does a warning, by the options.
"""
import re
import subprocess
import sys

MOST_REGISTERS = 128  # of 65536 on a multiprocessor: two blocks of 256 threads fit at once
MOST_STATIC_SHARED = 0  # bytes: kernels take theirs at the launch, which the emulation checks


def kernels_of(text):
    """(kernel, architecture) -> registers, stack, spilled bytes, static shared bytes."""
    found, kernel = {}, None
    for line in text.splitlines():
        entry = re.search(r"Compiling entry function '(\w+)' for '(sm_\d+)'", line)
        if entry:
            kernel = (name_of(entry.group(1)), entry.group(2))
            found[kernel] = {"registers": None, "stack": 0, "spilled": 0, "shared": 0}
            continue
        if kernel is None:
            continue
        frame = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line)
        if frame:
            found[kernel]["stack"] = int(frame.group(1))
            found[kernel]["spilled"] = int(frame.group(2)) + int(frame.group(3))
        used = re.search(r"Used (\d+) registers", line)
        if used:
            found[kernel]["registers"] = int(used.group(1))
            shared = re.search(r"(\d+) bytes smem", line)
            found[kernel]["shared"] = int(shared.group(1)) if shared else 0
            kernel = None
    return found


def name_of(symbol):
    """_ZN5assay3gpu10run_kernelINS0_10CastKernelIflEEEEvT_ -> CastKernel<fl>"""
    inner = re.match(r"_ZN5assay3gpu10run_kernelINS0_(\d+)(\w+)", symbol)
    if not inner:
        return symbol
    length, rest = int(inner.group(1)), inner.group(2)
    arguments = re.match(r"I(\w+?)E", rest[length:])
    return rest[:length] + (f"<{arguments.group(1)}>" if arguments else "")


def main(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        print(done.stdout)
        return 1
    kernels, failed = kernels_of(done.stdout), []
    print(f"{'kernel':40} {'':6} registers  stack  spilled  shared")
    for (name, architecture), needs in sorted(kernels.items()):
        wrong = (
            needs["registers"] is None
            or needs["registers"] > MOST_REGISTERS
            or needs["spilled"] > 0
            or needs["shared"] > MOST_STATIC_SHARED
        )
        print(
            f"{name:40} {architecture:6} {needs['registers']!s:>9} {needs['stack']:6} {needs['spilled']:8} {needs['shared']:7}"
            + ("  too much" if wrong else "")
        )
        if wrong:
            failed.append(f"{name} for {architecture}")
    if not kernels:
        failed.append("the table, which is empty")
    for one in failed:
        print(f"failed: {one}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
