#!/usr/bin/env python3
"""twin_test.py [BIN]: tests of tools/twin that need no binary: enclosures, lines, digests that are written in the documents, refusals. With BIN,
`assay-check` has to accept the same steps."""
import gzip
import math
import random
import re
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools" / "twin"), str(ROOT / "tests" / "cli"), str(Path(__file__).resolve().parent)]

import functions  # noqa: E402
from certificate import crc32c  # noqa: E402
from check import check, read_statement  # noqa: E402
from corpus import with_checksums  # noqa: E402
from functions import atan, elu, exp, log, power, sigmoid, sin, softplus, sqrt  # noqa: E402
from networks import Network  # noqa: E402
from onnx_files import two_equal_neurons  # noqa: E402

BIN = sys.argv[1:2]
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


def test_slopes_without_hints():
    """The tables of FORMAT.md, section 3."""
    F, table = Fraction, functions.FUNCTIONS
    assert power(F(2)).slope(F(-1), F(2), True) == 0 and power(F(2)).slope(F(-1), F(2), False) == 1
    assert table["square"].slope(F(-1), F(2), True) == 1
    assert elu(F(7, 10), F(1), F(1)).slope(F(-1), F(2), True) == F(17, 20)
    assert abs(table["sin"].slope(F(0), F(2), False) - F(math.sin(2) / 2)) < F(1, 1 << 50)
    assert table["abs"].slope(F(-1), F(3), True) == F(1, 2)
    for l, u, lower in ((F(-3), F(4), True), (F(-4), F(3), False)):
        f, end = table["tanh"], u if lower else l
        s, t = f.line(l, u, lower, None)
        assert abs(s * end + t - sum(f.value(end)) / 2) < F(1, 1 << 30)      # the tangent that meets the function there
        assert F(0) < s < 1 and s != f.slope(l, u, not lower)
    assert abs(table["tanh"].slope(F(-1, 4), F(4), True) - F(math.tanh(4) - math.tanh(-0.25)) / F(17, 4)) < F(1, 1 << 50)      # the chord bounds


def refutes(records, folder, value="Y_0"):
    """What the twin says of these records about x [1], y = relu(x) + 1 and the property y <= 1/2 (or another value), x in [-1, 1]."""
    net = Network(random.Random(1), (1,))
    net.unary("Relu")
    net.node("Add", [net.x, net.weight((1,), values=[1.0])], (1,))
    paths = [folder / name for name in ("small.onnx", "small.vnnlib", "small.assay")]
    paths[0].write_bytes(net.finish())
    paths[1].write_text("(declare-const X_0 Real)(declare-const Y_0 Real)(assert (>= X_0 -1))(assert (<= X_0 1))(assert (<= %s 0.5))" % value)
    digest = read_statement(*map(str, paths[:2]))[2].digest
    paths[2].write_bytes(with_checksums(b"ASSAY\x01" + digest + b"\x0freal arithmetic", [(1, bytes.fromhex(records)), (2, b"\x01")]))
    word, _, lines = check(*map(str, paths))
    if BIN:
        done = subprocess.run([Path(BIN[0]) / "assay-check", *paths], capture_output=True, timeout=60)
        assert done.stdout.split()[0].decode() == word, (records, done.stderr, lines)
    return lines[0].split(":")[0]


def test_steps(folder):
    """Nodes: 0 x, 1 relu, 2 the constant, 3 the sum. Premises of the rules, and what an empty branch does."""
    boxes = "0401 0403"
    assert refutes(f"0100 {boxes} 070300 02", folder) == "theorem"
    assert refutes("0100 0401 070300 02", folder) == "box.premise" and refutes("0100 0403 070300 02", folder) == "box.premise"
    assert refutes(f"0100 {boxes} 02", folder) == "certificate.open" and refutes(f"0100 {boxes} 070100 02", folder) == "certificate.open"
    assert refutes("0100 0a0100 0401 0403 070300 0d 0401 0403 070300 0e 02", folder) == "theorem"              # split before the box
    assert refutes("0100 0a0200 0401 0403 070300 0d 0401 0403 070300 0e 02", folder) == "split"                # of a constant
    two = "0b0000 00000040"                                                                                    # split x at 2
    assert refutes(f"0100 {two} {boxes} 070300 0d 070100 0e 02", folder) == "theorem"                          # x >= 2 is empty
    assert refutes(f"0100 {two} {boxes} 070300 0d 09 0e 02", folder) == "theorem"
    assert refutes(f"0100 {two} 09 0d 09 0e 02", folder) == "empty"
    assert refutes(f"0100 {two} 070300 0d 09 0e 02", folder) == "box.premise"
    assert refutes(f"0100 {boxes} 050200 070300 02", folder) == "tighten" and refutes(f"0100 {boxes} 050320 00 070300 02", folder) == "theorem"
    assert refutes(f"0100 {boxes} 050028 01 000080bf 0000803f 070300 02", folder) == "theorem"                 # claims for x: [-1, 1]
    assert refutes(f"0100 {boxes} 050028 01 000080bf 0000003f 070300 02", folder) == "claim"                   # [-1, 1/2]
    first, leaf, last = f"0100 {boxes}", "0000", "070300 02"
    assert refutes(f"{first} 100308 {leaf} {last}", folder) == "theorem"                                       # by one case
    assert refutes(f"{first} 100308 {two} 0a0100 {leaf} {leaf} {leaf} {last}", folder) == "theorem"
    assert refutes(f"{first} 100358 {two} {leaf} 0a0100 {leaf} {leaf} {last}", folder) == "certificate.value"  # selection 3
    assert refutes(f"{first} 100328 {leaf} {last}", folder) == "certificate.value"                             # claims
    assert refutes(f"{first} 100308 {two} {leaf} 0d {leaf} {last}", folder) == "certificate.record"
    assert refutes(f"{first} 100308 0a0200 {leaf} {leaf} {last}", folder) == "split"                           # of a constant
    assert refutes(f"{first} 100308 {two} 0004020100 {leaf} {last}", folder) == "certificate.hint"             # two multipliers, one split
    assert refutes(f"{first} 100308 {two} 0004010103 {leaf} {last}", folder) == "theorem"                      # one
    assert refutes(f"0100 0401 100308 {leaf} {last}", folder) == "box.premise"                                 # of a node without a box
    assert refutes(f"{first} 100308 {two} {leaf} {last}", folder) == "certificate.record"                      # a half without end
    assert refutes(f"{first} 100108 {two} {leaf} {leaf} 09 02", folder) == "empty"                             # one half is not empty


def test_cuts(folder):
    """The same nodes, and y - x <= 1/2. With slope 0 below relu the conclusion needs a cut: relu - x >= 0."""
    says = lambda records: refutes(records, folder, "(- Y_0 X_0)")
    one, part, minus, huge = "0000803f", "0000c03e", "000080bf", "ffff7f7f"                                  # 1, 3/8, -1, the greatest
    first, slope, cut, two = "0100 0401 0403", "01 01 0100 00000000", f"11 02 0100{one} 0000{minus}", "0b0000 00000040"
    leaf = f"0001 01 01 0100 {one}"                                                                          # slope 1
    plain = f"070301 01 01 0100 {one}"
    last, lacking = f"070381 {slope} 0100{one} 02", f"070301 {slope} 02"
    many = lambda flags, *values: f"0703{flags} {slope} {len(values):02}03 {' '.join(values)} 02"
    assert refutes(f"{first} {lacking}", folder) == "theorem"                                                # y <= 1/2: by the boxes
    assert says(f"{first} {cut} {leaf} {last}") == "theorem"
    for end in (lacking, many("81", part), many("81", "00000000"), many("81", "0000003f")):                  # 1/2: not above
        assert says(f"{first} {cut} {leaf} {end}") == "conclude"
    assert says(f"{first} {cut} {leaf} {many('81', '0100003f')}") == "theorem"                               # above 1/2
    assert says(f"{first} {cut} {leaf} {many('81', minus)}") == "multiplier"
    assert says(f"{first} {last}") == "certificate.hint"                                                     # no cut in force
    assert says(f"{first} {cut} {leaf} {many('81', one, one)}") == "certificate.hint"                        # two multipliers, one cut
    assert says(f"{first} {cut} {leaf} {many('85', one)}") == "certificate.hint"                             # as beta
    assert says(f"{first} {cut} {leaf} 070385 {slope} 00 0100{one} 02") == "theorem"
    assert says(f"{first} {cut} {leaf} {cut} {leaf} {many('81', part, part)}") == "theorem"
    assert says(f"{first} {cut} {leaf} {cut} {leaf} {many('81', one)}") == "theorem"
    assert says(f"{first} 11 03 0100{part} 0100{part} 0000000040bf {leaf} {last}") == "theorem"              # two terms of an element
    assert says(f"{first} 11 00 {leaf} {last}") == "conclude"
    assert says(f"{first} {cut} 0001{slope} {last}") == "conclude"                                           # >= -1
    assert says(f"{first} {cut} 0a0000 {leaf} 0001{slope} {last}") == "theorem"                              # by its sign
    assert says(f"{first} {cut} {two} {leaf} 0001{slope} {last}") == "theorem"                               # x >= 2 is empty
    assert says(f"{first} {cut} 0a0000 {leaf} {last}") == "certificate.record"
    first_in_second = f"{cut} {leaf} {cut} 0081{slope} 0100{one}"
    assert says(f"{first} {first_in_second} {many('81', '00000000', one)}") == "theorem"
    assert says(f"{first} {cut} 0081{slope} 0100{one} {last}") == "certificate.hint"                         # itself in its own
    assert says(f"{first} {cut} 0081{slope} 00 {last}") == "conclude"
    assert says(f"{first} 11 01 0200{one} {leaf} {last}") == "cut"                                           # a constant
    assert says(f"{first} 11 01 0101{one} {leaf} {last}") == "certificate.value"                             # element 1 of one
    assert says(f"{first} 11 01 0400{one} {leaf} {last}") == "certificate.value"                             # node 4 of four
    assert says(f"{first} 11 01 01000000807f {leaf} {last}") == "certificate.value"                          # infinite
    assert says(f"{first} 11 7f 0100{one} {leaf} {last}") == "certificate.length"
    assert says(f"0100 0401 11 01 0300{one} {leaf} 0403 {plain} 02") == "box.premise"                        # of a node without a box
    assert says(f"{first} 11 02 0300{huge} 0300{huge} {leaf} {plain} 02") == "theorem"                       # beyond binary32: the greatest
    assert says(f"{first} 11 02 0000{huge} 0000{huge} {leaf} {plain} 02") == "cut"                           # below all of them
    # Named hints keep multipliers; a base is the same array; a branch's cuts end with it, and their places with them.
    named = f"06 00 81 {slope} 0100{one}"
    assert says(f"{first} {named} 08 03 00 00 02") == "certificate.hint"
    assert says(f"{first} {cut} {leaf} {named} 08 03 00 00 02") == "theorem"
    assert says(f"{first} {cut} {leaf} {named} {cut} {leaf} 08 03 00 00 02") == "theorem"
    assert says(f"{first} {cut} {leaf} {named} 070381 {slope} 0104 01 00 02") == "theorem"                   # the named ones
    assert says(f"{first} {cut} {leaf} {named} 070381 {slope} 0105 01 01 00 00000000 02") == "conclude"
    assert says(f"{first} {cut} {leaf} {named} {cut} {leaf} 070381 {slope} 0204 01 00 02") == "certificate.hint" # of another count
    assert says(f"{first} {cut} {leaf} 06 00 01 {slope} 070381 {slope} 0104 01 00 02") == "certificate.hint"
    assert says(f"{first} {cut} {leaf} {named} 0a0000 070385 {slope} 0104 01 00 0100{one} 0d {plain} 0e 02") == "certificate.hint"
    inside = f"{first} 0a0000 {cut} {leaf} {last[:-2]} 0d"
    assert says(f"{inside} {plain} 0e 02") == "theorem" and says(f"{inside} {last[:-2]} 0e 02") == "certificate.hint"
    assert says(f"{inside} {cut} {leaf} {last[:-2]} 0e 02") == "theorem"
    assert says(f"{first} {cut} {leaf} 0a0000 {last[:-2]} 0d {last[:-2]} 0e 02") == "theorem"                # of the enclosing branch
    empty = f"{first} {two} {plain} 0d"
    assert says(f"{empty} {cut} {leaf} {last[:-2]} 0e 02") == "theorem"                                      # in an empty branch: a place
    assert says(f"{empty} {last[:-2]} 0e 02") == "certificate.hint"
    # Multipliers in tighten and its leaves.
    assert says(f"{first} {cut} {leaf} 050188 0100{one} {plain} 02") == "theorem"
    assert says(f"{first} {cut} {leaf} 050188 0100{minus} {plain} 02") == "multiplier"
    assert says(f"{first} {cut} {leaf} 0501a8 0100{one} 01 00000000 {one} {plain} 02") == "theorem"          # claims follow them
    assert says(f"{first} {cut} {leaf} 100188 {leaf} {plain} 02") == "certificate.value"                     # not in 16
    assert says(f"{first} {cut} {leaf} 100108 0080 0100{one} {plain} 02") == "theorem"
    assert says(f"{first} 100108 0080 0100{one} {plain} 02") == "certificate.hint"
    assert says(f"{first} 100108 {cut} {leaf} {leaf} {plain} 02") == "certificate.record"                    # in a tree


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


def test_layout(folder):
    """White space and comments of SMT-LIB change nothing of a property, for the twin and for assay-check, in plain and packed files."""
    model, certificate, rng = folder / "m.onnx", folder / "c.assay", random.Random(5)
    model.write_bytes(two_equal_neurons())
    certificate.write_bytes(bytes.fromhex(EXAMPLE))

    def blank():
        comment = ";" + "".join(chr(rng.choice([*range(10), 11, 12, *range(14, 256)])) for _ in range(rng.randint(0, 9)))
        return "".join(rng.choice([" ", "\t", "\n", "\r", "\r\n", comment + "\r", comment + "\n", comment + "\r\n"]) for _ in range(rng.randint(1, 3)))

    for round_ in range(200 if not BIN else 40):
        text = re.sub(r"\s+|(?=[()])", lambda _: blank(), PROPERTY).encode("latin-1")
        property_ = folder / ("p.vnnlib.gz" if round_ % 2 else "p.vnnlib")
        property_.write_bytes(gzip.compress(text) if round_ % 2 else text)
        assert check(str(model), str(property_), str(certificate))[:2] == ("accepted", 0), text
        if BIN:
            told = subprocess.run([f"{BIN[0]}/assay-check", model, property_, certificate], capture_output=True, text=True)
            assert told.returncode == 0, (text, told)
    for text in ("|X_0|", "X\x0b_0", "X_0\x85", '"X_0"'):
        property_ = folder / "p.vnnlib"
        property_.write_bytes(PROPERTY.replace("X_0 1", text + " 1").encode("latin-1"))
        assert check(str(model), str(property_), str(certificate))[:2] == ("declined", 4), text


if __name__ == "__main__":
    test_enclosures()
    test_extremes()
    test_slopes_without_hints()
    with tempfile.TemporaryDirectory() as name:
        test_example_of_the_format(Path(name))
        test_steps(Path(name))
        test_cuts(Path(name))
        test_layout(Path(name))
    print("twin: enclosures, extremes, slopes, the example of FORMAT.md, steps, cuts, layout")
