#!/usr/bin/env python3
"""balls_test.py BIN [FIRST LAST]: balls of a group (FORMAT.md, section 3) in tools/twin: their bounds, which rows are balls, and the answers beside `assay verify` and `assay-check`."""
import random
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools" / "twin"), str(Path(__file__).resolve().parent)]

from balls import balls_of, least_in, least_on  # noqa: E402
from certificate import Hints  # noqa: E402
from check import check, read_statement  # noqa: E402
from corpus import bends, records_of, run, taken_apart, with_checksums  # noqa: E402
from networks import Network  # noqa: E402
from ops import Ops  # noqa: E402
from replay import Replay  # noqa: E402
from sharp import array, varint  # noqa: E402

BIN, SEEDS = Path(sys.argv[1]), [int(a) for a in sys.argv[2:4]] or [0, 8]
HINTS, FAR, ZERO = Hints(), "(<= Y_0 -1000)", Fraction(0)


def direction(rng, size, kind="mul"):
    """A rational vector of length 1: the root of its squares, or else the sum of its magnitudes, of which some are on an axis."""
    v = [Fraction(rng.randint(-9, 9), 4) for _ in range(size - 1)]
    if kind == "abs":
        w = [x if rng.random() < 0.7 else ZERO for x in [*v, Fraction(1)]]
        return [x / (sum(map(abs, w)) or 1) for x in w]
    square = sum(x * x for x in v)
    return [2 * x / (square + 1) for x in v] + [(square - 1) / (square + 1)]


def test_bounds():
    """No point of box and balls has less, and with one ball inside the box the bound is the least value there."""
    for seed in range(40):
        for kind in ("mul", "abs"):
            rng = random.Random(seed)
            size, centre = rng.randint(1, 6), Fraction(rng.randint(-20, 20), 8)
            box = [(centre - 1, centre + Fraction(rng.randint(1, 9), 8)) for _ in range(size)]
            inner = [lo + (hi - lo) * Fraction(rng.randint(0, 8), 8) for lo, hi in box]
            balls, spheres = [], []
            for _ in range(rng.randint(1, 3)):
                radius, scale, place = Fraction(rng.randint(1, 12), 8), Fraction(rng.randint(1, 5)), [x + Fraction(rng.randint(-2, 2), 16) for x in inner]
                parts = {e: (scale, -(2 if kind == "mul" else 1) * scale * c) for e, c in enumerate(place)}
                balls.append((parts, scale * (radius ** 2 - sum(c * c for c in place) if kind == "mul" else radius), kind))
                spheres.append((place, radius))
            terms = {e: Fraction(rng.randint(-5, 5)) for e in range(size) if rng.random() < 0.8}
            bound = least_in(balls, box, terms)
            for _ in range(60):
                (place, radius), way = rng.choice(spheres), direction(rng, size, kind)
                point = [min(max(c + radius * d, lo), hi) for c, d, (lo, hi) in zip(place, way, box)]
                if all(sum(q * point[e] ** 2 + p * point[e] if kind == "mul" else abs(q * point[e] + p) for e, (q, p) in parts.items()) <= b for parts, b, _ in balls):
                    assert bound <= sum(g * point[e] for e, g in terms.items()), seed
            (place, radius), wide = spheres[0], [(c - 20, c + 20) for c in spheres[0][0]]
            norm = float(sum(g * g for g in terms.values())) ** 0.5 if kind == "mul" else max(map(abs, terms.values()), default=0)
            exact = sum(g * place[e] for e, g in terms.items()) - float(radius) * norm
            assert abs(float(least_in(balls[:1], wide, terms)) - exact) <= 1e-12 * (1 + abs(exact)), seed
            assert least_in(balls, wide, terms) >= least_in(balls[:1], wide, terms) > least_on(wide, terms) or not any(terms.values()), seed


def number(value):
    """A decimal not below the value."""
    return f"{-(-value.numerator * 10 ** 9 // value.denominator) / 10 ** 9:.9f}"


class Example:
    """A network and properties about it: a random one on a ball within a box, or one that is given."""

    def __init__(self, seed, folder, kind="mul", network=None, size=None, scores=2):
        self.rng, self.kind = random.Random(seed), kind
        self.paths = [folder / f"{seed}{kind}.{end}" for end in ("onnx", "vnnlib", "assay")]
        rng = self.rng
        if network:
            self.size, self.box, self.scores = size, [(-2, 2)] * size, scores
            self.paths[0].write_bytes(network)
            return
        self.size = rng.randint(2, 4)
        net = Network(rng, (1, self.size))
        net.gemm(rng.randint(2, 5))
        net.unary(rng.choice(("Relu", "Relu", "Tanh")))
        net.gemm(rng.randint(2, 4))
        net.unary("Relu")
        net.gemm(2)
        outputs = [(net.x, net.shape)]
        self.centre = [Fraction(rng.randint(-16, 16), 16) for _ in range(self.size)]
        if kind == "abs":
            net.node("Abs", [net.node("Sub", [net.inputs[0][0], net.weight((1, self.size), values=list(map(float, self.centre)))], (1, self.size))], (1, self.size))
            outputs.append((net.x, net.shape))
        self.scores = 2 + self.size * (kind == "abs")
        self.paths[0].write_bytes(net.finish(*outputs))
        self.scales = [Fraction(rng.randint(1, 8), 4) if rng.random() < 0.3 else Fraction(1) for _ in range(self.size)]
        self.half = rng.choice((Fraction(1, 2), Fraction(1)))       # of the box, cut on one side in one dimension
        self.box = [(c - self.half, c + (self.half / 2 if k == 0 else self.half)) for k, c in enumerate(self.centre)]
        self.write(FAR)

    def ball(self, radius, sign="+"):
        terms = [f"(- X_{k} {float(c):.6f}) (- X_{k} {float(c):.6f})" if self.kind == "mul" else f"Y_{2 + k}" for k, c in enumerate(self.centre)]
        terms = [f"(* {float(s):.6f} {term})" for s, term in zip(self.scales, terms)]
        return f"(<= (+ {' '.join(terms[:-1])} ({sign} 0 {terms[-1]})) {float(radius) ** (1 + (self.kind == 'mul')):.12f})"

    def write(self, *asserted):
        lines = [f"(declare-const X_{k} Real)" for k in range(self.size)] + [f"(declare-const Y_{k} Real)" for k in range(self.scores)]
        lines += [f"(assert (and (>= X_{k} {float(lo):.6f}) (<= X_{k} {float(hi):.6f})))" for k, (lo, hi) in enumerate(self.box)]
        self.paths[1].write_text("\n".join(lines + [f"(assert {a})" for a in asserted]))
        self.model, self.property_, self.statement = read_statement(*map(str, self.paths[:2]))
        return balls_of(self.model, Ops(self.model.nodes), self.property_.cases)

    def bound(self):
        """A lower bound of Y_0 after one sweep: its box's, or a row's."""
        replay = Replay(self.model, self.property_)
        replay.step_begin_group(0)
        replay.step_sweep(0, 0)
        output = self.model.outputs[0]
        return max(replay.boxes(output)[0][0], replay.least({output: {0: Fraction(1)}}, Fraction(0), HINTS))

    def value(self, point):
        ops, boxes = Ops(self.model.nodes), {self.model.inputs[0]: [(v, v) for v in point]}
        for node in range(len(self.model.nodes)):
            boxes[node] = boxes.get(node) or ops.image(node, boxes.__getitem__)
        return boxes[self.model.outputs[0]][0]

    def answers(self, what):
        """What the twin says of the certificate; assay-check has to say the same."""
        word, _, notes = check(*map(str, self.paths))
        lines, errors = run(BIN / "assay-check", *self.paths)
        assert (word == "accepted") == (lines[0] == "accepted"), (what, self.paths, notes, lines[0], errors)
        return word

    def proves(self, *more):
        """Whether `assay verify` proves unsat, not too long for a test; both checkers have to accept what it wrote."""
        self.paths[2].unlink(missing_ok=True)
        lines, _ = run(BIN / "assay", "verify", *self.paths[:2], "--proof", self.paths[2], "--timeout", "5", "--threads", "1", "-q", *more)
        if not self.paths[2].exists() or self.paths[2].stat().st_size > 2000:
            return False
        assert self.answers(more) == "accepted", (more, self.paths)
        return lines[0].startswith("unsat")

    def concludes(self, *multipliers):
        """The same of one sweep and a conclusion, with the multipliers of each case's rows."""
        entries = b"".join(varint(2 * k + 1) + array(list(map(float, m))) for k, m in enumerate(multipliers))
        records = b"\x01\x00" + b"\x03\x00\x00" + b"\x07" + varint(2 * len(multipliers)) + entries + b"\x00" + b"\x02"
        self.paths[2].write_bytes(with_checksums(b"ASSAY\x01" + self.statement.digest + b"\x0freal arithmetic", [(1, records), (2, b"\x01")]))
        return self.answers(multipliers)


SUM, DISC = "(>= (+ X_0 X_1) 1.5)", "(<= (+ (* X_0 X_0) (* X_1 X_1)) 1)"
# By network: rows, and whether SUM is refuted with them in the box [-2, 2].
FORMS = {
    "relu": [((DISC,), True), ((DISC.replace("X", "Y"),), False), (("(>= (+ 0.5 (* -0.5 X_0 X_0) (* X_1 X_1 -0.5)) 0)",), True), (("(= (* 5 X_0 X_0) 1)", "(< (* X_1 X_1) 1)"), True),
             (("(<= (+ (* X_0 X_0) X_1) 1)",), True), (("(<= (+ (* X_0 X_0) (* 0.1 X_1)) 1)",), False), (("(<= (+ (* X_0 X_0) (* X_1 X_1) (* 0 Y_0)) 1)",), True),
             (("(<= (+ (* X_0 X_0) (* X_1 X_1) (* 0.001 Y_0)) 1)",), False),
             ((*(f"(<= (* X_1 X_1) {k})" for k in range(5, 20)), DISC), True), ((*(f"(<= (* X_1 X_1) {k})" for k in range(5, 21)), DISC), False)],
    "gather": [((DISC,), True), ((DISC.replace("X", "Y"),), False), (("(<= (+ (* X_0 X_0) (* Y_0 Y_0)) 1)",), False)],
    "two inputs": [((DISC,), True), (("(<= (+ (* X_0 X_0) (* X_2 X_2)) 1)", "(<= X_1 1)"), False), (("(<= (* X_0 X_0) 0.5)", "(<= X_1 0.75)", DISC.replace("0", "2").replace("X_1", "X_3")), True)],
}


# Y_0 and Y_1 are x, Y_2 and Y_3 |x|, Y_4 and Y_5 |x - (0.5, -0.5)|, Y_6 and Y_7 |(0.5, -0.5) - x|, Y_8 and Y_9 |x| by a reshape.
FORMS["magnitudes"] = [((f"(<= (+ {terms}) 1)",), refuted) for terms, refuted in (
    ("Y_2 Y_3", True), ("Y_4 Y_5", True), ("Y_2 Y_5", True), ("Y_8 Y_3", True), ("(* 2 Y_2) (* 0.7 Y_3)", True), ("Y_2 (* 0.5 Y_3)", False), ("Y_6 Y_7", False),
    ("Y_2 Y_4 Y_3", False), ("Y_2 Y_8 Y_3", False), ("Y_2 Y_3 (* 0.001 X_0)", False), ("Y_2 Y_3 (* 0.001 Y_0)", False), ("Y_2 (* X_1 X_1)", False), ("Y_2 (- 0 Y_3)", False))]
FORMS["magnitudes"].append((("(< Y_2 0.7)", "(<= Y_3 0.7)"), True))


def test_forms(folder):
    """What a ball may look like; the twin and assay-check take the same rows for balls."""
    for place, (name, forms) in enumerate(FORMS.items()):
        net, size = Network(random.Random(1), (2,)), 2
        if name == "two inputs":
            size, (other, _) = 4, net.input((2,))
            net.node("Add", [net.x, other], (2,))
        if name == "gather":
            net.node("Gather", [net.x, net.integers([1, 0])], (2,))
        elif name == "magnitudes":
            x, middle = net.x, net.weight((2,), values=[0.5, -0.5])
            inner = net.node("Identity", [x], (2,)), x, net.node("Sub", [x, middle], (2,)), net.node("Sub", [middle, x], (2,)), net.node("Reshape", [x, net.integers([2])], (2,))
            example = Example(100 + place, folder, "mul", net.finish((inner[0], (2,)), *((net.node("Abs", [one], (2,)), (2,)) for one in inner[1:])), size, 10)
        else:
            net.unary("Relu")
        if name != "magnitudes":
            example = Example(100 + place, folder, "mul", net.finish(), size)
        for rows, refuted in forms:
            example.write(*rows, SUM)
            kept = len(example.property_.cases[0][2])
            assert (example.concludes((0,) * (kept - 1) + (1,)) == "accepted") == refuted, (name, rows)


def test_rows(example):
    """Which rows are balls: with a threshold that a sweep refutes in the ball, and does not without."""
    radius = Fraction(example.rng.randint(4, 12), 16)
    assert not example.write(FAR)
    without = example.bound()
    ball = example.ball(radius)
    assert len(example.write(ball, FAR)[0]) == 1
    within = example.bound()
    if within - without < Fraction(1, 100):
        return 0
    row = f"(<= Y_0 {number((within + without) / 2)})"
    example.write(ball, row)
    assert example.concludes((0, 1)) == "accepted"
    both = (0, 1), (0, 1)
    for shared in ((ball, f"(or {row} {FAR})"), (f"(or (and {ball} {row}) (and {ball.replace('<=', '<')} {row}))",)):
        assert len(example.write(*shared)[0]) == 1
        assert example.concludes(*both) == "accepted", shared
    for row_of_one, multipliers in ((f"(or (and {ball} {row}) {row})", ((0, 1), (1,))), (f"(or (and {ball} {row}) (and {example.ball(radius + 1)} {row}))", both)):
        assert not example.write(row_of_one)
        assert example.concludes(*multipliers) == "rejected", row_of_one
    for other in (example.ball(radius, "-"), ball.replace("<=", ">="), f"(<= (* X_0 X_1) {float(radius):.6f})", f"(<= (+ (* X_0 X_0) Y_1) {float(radius):.6f})",
                  f"(<= (+ (* X_0 X_0) (* X_1 X_0) (* X_1 X_1)) {float(radius):.6f})", f"(<= (* X_0 X_0 X_0 X_0) {float(radius):.6f})"):
        assert not example.write(other, row), other
        assert example.concludes((0, 1)) == "rejected", other
    return 1


def test_planted(example):
    """A counterexample on the sphere (where a factor is not 1, within): no proof of a smaller ball is one of this, nor is what it says bent."""
    radius, values = Fraction(example.rng.randint(4, 12), 16), []
    for _ in range(30):
        way = direction(example.rng, example.size, example.kind)
        values.append(example.value([min(max(c + radius * d / max(s, 1), lo), hi) for c, d, s, (lo, hi) in zip(example.centre, way, example.scales, example.box)])[1])
    row = f"(<= Y_0 {number(min(values))})"
    small = next((k for k in (2, 4, 8, 16) if example.write(example.ball(radius / k), row) and example.proves()), None)
    if not small:
        return 0
    data, records = example.paths[2].read_bytes(), records_of(example.paths[2].read_bytes(), example.model, example.property_)
    example.write(example.ball(radius), row)
    assert example.bound() <= min(values)
    assert example.concludes((0, 1)) == "rejected"
    header, payloads = taken_apart(data)
    forged = with_checksums(header[:6] + example.statement.digest + header[38:], payloads)
    for what, bent in [("forged", forged), *bends(forged, records, example.rng, 3, None)]:
        example.paths[2].write_bytes(bent)
        assert example.answers(what) == "rejected", what
    return 1


def test_searches(example):
    """What `assay verify` proves about one and two balls."""
    radius, found = Fraction(example.rng.randint(4, 12), 16), 0
    second = f"(<= (+ (* X_0 X_0) (* -0.5 X_1) (* 2 X_1 X_1)) {float(sum(c * c for c in example.centre)) + 0.25:.4f})"
    for more in ((), (second,)):
        assert len(example.write(example.ball(radius), *more, FAR)[0]) == 1 + len(more)
        least = example.bound()
        for room in (Fraction(-1, 1000), Fraction(1, 4)):
            example.write(example.ball(radius), *more, f"(or (<= Y_0 {number(least + room * (1 + abs(least)))}) (<= (- Y_0 (* 0.001 Y_1)) -1000))")
            found += example.proves(*example.rng.choice(([], ["--branching", "relu", "--no-attack"], ["--branching", "input", "--no-attack"])))
    return found


if __name__ == "__main__":
    test_bounds()
    counts = [0, 0, 0]
    with tempfile.TemporaryDirectory() as name:
        test_forms(Path(name))
        for seed in range(*SEEDS):
            for kind in ("mul", "abs"):
                counts = [n + test(Example(seed, Path(name), kind)) for n, test in zip(counts, (test_rows, test_planted, test_searches))]
    networks = 2 * (SEEDS[1] - SEEDS[0])
    assert counts[0] * 2 >= networks <= counts[1] * 2 and counts[2] >= networks, counts
    print("twin: balls: rows of {} networks, {} planted counterexamples, {} proofs".format(*counts))
