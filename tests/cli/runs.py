"""What the tests of runs share: the program, the digits, arrays and pictures byte by byte."""
import array
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
INSTRUMENTED = "--instrumented" in sys.argv  # the programs carry sanitizers, whose allocator knows no limit
BIN = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "release" / "bin"
DIGITS = ROOT / "examples" / "digits"
MODEL, DATA = str(DIGITS / "digits.onnx"), str(DIGITS / "digits_test.npz")


def assay(*words, **options):
    return subprocess.run([str(BIN / "assay"), *map(str, words)], capture_output=True, text=True, check=False, timeout=300, **options)


def npy(content, kind, shape, fortran=False):
    text = f"{{'descr': '{kind}', 'fortran_order': {fortran}, 'shape': {shape!r}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + content


def digits():
    """-> images as lists of 64 numbers, labels."""
    with zipfile.ZipFile(DATA) as archive:
        x, y = archive.read("x.npy"), archive.read("y.npy")
    pixels = array.array("f", x[-360 * 64 * 4:])
    return [list(pixels[64 * i:64 * i + 64]) for i in range(360)], list(y[-360:])


IMAGES, LABELS = digits()
COUNT = 6


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(pixels, width, height, depth=8, colour=0, filters=(0, 1, 2, 3, 4)):
    """Filtered by hand: each line with the next filter."""
    step = max(1, depth // 8 * (3 if colour == 2 else 1))
    row = len(pixels) // height
    out, above = bytearray(), bytes(row)
    for y in range(height):
        line, kind = pixels[y * row:(y + 1) * row], filters[y % len(filters)]
        out.append(kind)
        for i, value in enumerate(line):
            a, b, c = (line[i - step] if i >= step else 0), above[i], (above[i - step] if i >= step else 0)
            p = a + b - c
            nearest = min((abs(p - v), k, v) for k, v in enumerate((a, b, c)))[2]
            out.append((value - (0, a, b, (a + b) // 2, nearest)[kind]) & 255)
        above = line
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(out))) + chunk(b"IEND", b"")


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return str(path)

    def results(self, run):
        return [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]

    def table(self, run):
        """Without times: what two runs have to agree on."""
        return {(one["item"], one["eps"]): (one["answer"], one.get("statement")) for one in self.results(run)}


def main():
    unittest.main(argv=[sys.argv[0], *(word for word in sys.argv[2:] if word != "--instrumented")], verbosity=1)
