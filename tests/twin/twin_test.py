#!/usr/bin/env python3
"""twin_test.py: tests of tools/twin that need no binary: enclosures, lines, digests that are written in the documents, refusals."""
import math
import random
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools" / "twin"), str(ROOT / "tests" / "cli"), str(Path(__file__).resolve().parent)]

import functions  # noqa: E402
from certificate import crc32c  # noqa: E402
from check import check  # noqa: E402
from functions import atan, elu, exp, log, power, sigmoid, sin, softplus, sqrt  # noqa: E402
from onnx_files import two_equal_neurons  # noqa: E402

POINTS = {exp: math.exp, log: math.log, sqrt: math.sqrt, sigmoid: lambda x: 1 / (1 + math.exp(-x)), softplus: lambda x: math.log1p(math.exp(x)),
          atan: math.atan, sin: math.sin}


def test_enclosures():
    for enclose, plain in POINTS.items():
        for x in (0.1, 0.5, 1, 2.5, 7, 50.25 if enclose is sin else 100.25):
            lo, hi = enclose(Fraction(x))
            assert lo <= hi <= lo + Fraction(max(1, plain(x))) / (1 << 120), (enclose, x)
            assert abs(float(lo) - plain(x)) <= 1e-14 * abs(plain(x)), (enclose, x)
    assert exp(Fraction(-1))[0] * exp(Fraction(1))[0] <= 1 <= exp(Fraction(-1))[1] * exp(Fraction(1))[1]
    assert sqrt(Fraction(9, 4)) == (Fraction(3, 2),) * 2


def test_extremes():
    """Bounds of f(x) - s x hold at 41 points, and are not far from the extremes there."""
    rng, shapes = random.Random(1), dict(functions.FUNCTIONS)
    shapes |= {r: power(Fraction(r)) for r in ("3", "3/2", "-2", "-1/2")} | {"elu": elu(Fraction(7, 10), functions.ONE, functions.ONE)}
    for name, f in shapes.items():
        for _ in range(25):
            positive = not f.inside(Fraction(-1), Fraction(1))
            l = Fraction(rng.randint(1 if positive else -400, 300), 100)
            u, s = l + Fraction(rng.randint(0, 400), 100), Fraction(rng.randint(-200, 200), 100)
            lo, hi = f.extreme(l, u, s, True), f.extreme(l, u, s, False)
            values = [sum(f.value(x)) / 2 - s * x for x in (l + (u - l) * Fraction(k, 40) for k in range(41))]
            tiny = Fraction(1, 1 << 100)
            assert lo <= min(values) + tiny and hi >= max(values) - tiny, (name, l, u, s)
            room = max(1, *map(abs, values)) * Fraction(1, 10)
            assert name in ("sign", "floor", "ceil") or min(values) - lo <= room and hi - max(values) <= room, (name, l, u, s)


EXAMPLE = """
41 53 53 41 59 01 f2 9d 70 97 cf 68 eb 10 b7 c1 e3 76 5e a6 63 2a 5f 6a e1 fc 3d d8 2b f0 4d 9a f0 d8 13 fa 90 56 0f 72 65 61 6c 20 61 72 69 74
68 6d 65 74 69 63 9e 6f 29 f7 01 65 01 00 04 00 04 03 05 03 40 04 04 04 07 0a 03 01 07 03 01 01 04 02 02 14 00 0a 03 00 07 02 02 05 01 04 02 01
00 01 00 f7 97 26 3e 0d 07 02 02 05 01 04 02 01 01 01 00 7a a7 81 3f 0e 0d 07 03 01 01 04 02 02 72 80 0a 03 00 07 02 02 05 01 04 02 01 02 01 00
3f 44 57 3f 0d 07 02 02 01 01 04 02 01 03 0e 0e 02 cf 77 68 65 02 01 01 03 ea c2 ce"""
PROPERTY = """(declare-const X_0 Real) (declare-const X_1 Real) (declare-const Y_0 Real)
(assert (>= X_0 -1)) (assert (<= X_0 1)) (assert (>= X_1 -1)) (assert (<= X_1 1)) (assert (or (<= Y_0 -0.25) (>= Y_0 0.25)))"""


def test_example_of_the_format(folder):
    """The certificate that FORMAT.md spells out is accepted; one bit of a multiplier less, and it is not."""
    assert crc32c(b"123456789") == 0xE3069283
    model, property_, certificate = [folder / name for name in ("m.onnx", "p.vnnlib", "c.assay")]
    model.write_bytes(two_equal_neurons())
    property_.write_text(PROPERTY)
    data = bytes.fromhex(EXAMPLE)
    certificate.write_bytes(data)
    word, status, lines = check(str(model), str(property_), str(certificate))
    assert (word, status) == ("accepted", 0), lines
    assert data[6:38].hex() in lines[2]
    for at in range(len(data)):
        certificate.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1:])
        assert check(str(model), str(property_), str(certificate))[0] != "accepted", at
        certificate.write_bytes(data[:at])
        assert check(str(model), str(property_), str(certificate))[:2] == ("rejected", 4), at
    property_.write_text(PROPERTY.replace("-0.25", "-0.125"))
    certificate.write_bytes(data)
    assert check(str(model), str(property_), str(certificate))[2][0].startswith("certificate.digest")
    property_.write_text(PROPERTY.replace("<= X_0 1", "<= X_0 one"))
    assert check(str(model), str(property_), str(certificate))[:2] == ("declined", 4)


if __name__ == "__main__":
    test_enclosures()
    test_extremes()
    with tempfile.TemporaryDirectory() as name:
        test_example_of_the_format(Path(name))
    print("twin: enclosures, extremes, the example of FORMAT.md")
