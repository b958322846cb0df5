"""Certificates made here, with random slopes, mixes, candidates, multipliers, cuts and claims: what the twin derives exactly, less and more.

A property `Y_0 <= t` is refuted up to the bound that the rules give. Below it both checkers have to accept; above it neither may."""
import struct
from fractions import Fraction

from certificate import Hints
from graph import FLOATS
from lowering import Model
from ops import MAXIMA, PRODUCTS
from replay import Replay, binary32
from vnnlib import Property
from wire import Rejected


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def single(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def array(values):
    return varint(len(values)) + (b"\x03" + struct.pack(f"<{len(values)}f", *values) if values else b"")


def property_text(sizes, bounds, row):
    lines = [f"(declare-const X_{i} Real)" for i in range(sizes[0])] + [f"(declare-const Y_{i} Real)" for i in range(sizes[1])]
    lines += [f"(assert (>= X_{i} {lo:.6f}))(assert (<= X_{i} {hi:.6f}))" for i, (lo, hi) in enumerate(bounds)]
    return "\n".join(lines + [f"(assert {row})"])


class Sharp:
    """One network with a box: a replay that has boxes of all nodes, and random hints."""

    def __init__(self, model_path, property_path, bounds, rng):
        self.model, self.path, self.bounds, self.rng = Model(model_path), property_path, bounds, rng
        self.nodes = self.model.nodes
        self.sizes = [sum(self.nodes[v].size for v in side) for side in (self.model.inputs, self.model.outputs)]
        self.write_property("(<= Y_0 0)")
        self.replay = Replay(self.model, Property(property_path, self.model.input_types, self.model.output_types))
        self.replay.step_begin_group(0)
        self.inner = [v for v, node in enumerate(self.nodes) if node.op != "input" and not self.replay.ops.is_constant(v)]
        for v in self.inner:
            self.replay.step_box(v)
        self.boxes = b"\x01\x00" + b"".join(b"\x04" + varint(v) for v in self.inner)
        self.hints, self.encoded = self.random_hints()

    def write_property(self, row):
        with open(self.path, "w", encoding="ascii") as file:
            file.write(property_text(self.sizes, self.bounds, row))

    def random_hints(self):
        hints, ops = Hints(), self.replay.ops
        for v in self.inner:
            node = self.nodes[v]
            if ops.exact(v) is not None or not (ops.function(v) or node.op in MAXIMA or node.op in PRODUCTS):
                continue
            for side in (hints.lower, hints.upper):
                if node.op in MAXIMA:
                    count = min(map(len, ops.candidates(v)))
                    side[v] = [float(self.rng.randrange(count)) for _ in range(node.size)]
                else:
                    least = 0 if node.op in PRODUCTS else -1
                    side[v] = [single(self.rng.choice((0.0, 1.0, 0.5, self.rng.uniform(least, 1)))) for _ in range(node.size)]
        encoded = b""
        for side in (hints.lower, hints.upper):
            encoded += varint(len(side)) + b"".join(varint(v) + array(values) for v, values in sorted(side.items()))
        return hints, encoded

    def conclude(self, beta=()):
        return b"\x07\x03\x07" + self.encoded + array(list(beta))

    def output(self):
        return {self.model.outputs[0]: {0: Fraction(1)}}

    def plain(self):
        """(records, bound)"""
        return self.boxes + self.conclude() + b"\x02", self.replay.least(self.output(), Fraction(0), self.hints)

    def split(self):
        """A split at 0 of an element of a node, a multiplier in each half."""
        v = self.rng.choice([v for v in self.inner if self.nodes[v].dtype in FLOATS and v not in self.model.outputs] or self.inner)
        element, replay, bounds, records = self.rng.randrange(self.nodes[v].size), self.replay, [], self.boxes + b"\x0a"
        records += varint(v) + varint(element)
        for below in (True, False):
            beta = single(self.rng.choice((0.0, self.rng.uniform(0, 1))))
            replay.begin_half(v, element, Fraction(0), below)
            self.hints.beta = [beta]
            bounds.append(replay.least(self.output(), Fraction(0), self.hints))
            self.hints.beta = []
            replay.stack.pop()
            records += self.conclude([beta]) + (b"\x0d" if below else b"\x0e")
        return records + b"\x02", min(bounds)

    def by_cases(self):
        """Elements of a node are tightened in a tree of two splits at 0, multipliers of which count in the leaves."""
        v = self.rng.choice([v for v in self.inner if self.nodes[v].dtype in FLOATS])
        below = [u for u in self.inner if u <= v and self.nodes[u].dtype in FLOATS]
        tree, encoded, multipliers = [], b"", {2: 2, 3: 2, 4: 1}      # of the splits that are open at each leaf
        for kind in (1, 1, 0, 0, 0):
            if kind:
                tree.append((u := self.rng.choice(below), self.rng.randrange(self.nodes[u].size), Fraction(0)))
                encoded += b"\x0a" + varint(u) + varint(tree[-1][1])
                continue
            beta = [single(self.rng.choice((0.0, self.rng.uniform(0, 1)))) for _ in range(multipliers[len(tree)])]
            tree.append(Hints(self.hints.lower, self.hints.upper, beta))
            encoded += b"\x00\x07" + self.encoded + array(beta)
        self.replay.step_tighten_by_cases((v, 1, [1] * self.nodes[v].size, False, tree))
        bound = self.replay.least(self.output(), Fraction(0), self.hints)
        return self.boxes + b"\x10" + varint(v) + b"\x08" + encoded + self.conclude() + b"\x02", bound

    def level(self):
        """(terms: what is left of the output at a random node, times a random number, one element in halves; the number)"""
        row, stop, scale = self.output(), self.rng.choice(self.inner), self.rng.choice((0.5, 1, 2, self.rng.uniform(0.25, 4)))
        while left := [v for v in row if v > stop and v in self.inner]:
            self.replay.substitute(max(left), row.pop(max(left)), row, self.hints)
        variable = [v for v in sorted(row) if not self.replay.ops.is_constant(v)]
        terms = [(v, element, single(float(c) * scale)) for v in variable for element, c in row[v].items()]
        return terms[:-1] + [(v, element, single(c / 2)) for v, element, c in terms[-1:]] * 2, scale

    def tree(self, known):
        """(a tree of up to two splits at 0, of different elements, most often on both sides of it, each leaf with hints and multipliers of its
        own; its bytes)"""
        nodes = [v for v, node in enumerate(self.nodes) if node.dtype in FLOATS and not self.replay.ops.is_constant(v)]
        places = [(v, e) for v in nodes for e in range(self.nodes[v].size)]
        both = [(v, e) for v, e in places if self.replay.has_box(v) and self.replay.boxes(v)[e][0] < 0 < self.replay.boxes(v)[e][1]]
        chosen = self.rng.sample(both if len(both) > 1 and self.rng.random() < 0.9 else places, 2)
        some = lambda n: [single(self.rng.choice((0.0, self.rng.uniform(0, 1)))) for _ in range(n)]
        tree, encoded, ahead = [], b"", [0]
        for kind in self.rng.choice(((0,), (1, 0, 0), (1, 1, 0, 0, 0), (1, 0, 1, 0, 0))):
            depth = ahead.pop()
            if kind:
                tree.append((*chosen[depth], Fraction(0)))
                encoded += b"\x0a" + varint(tree[-1][0]) + varint(tree[-1][1])
                ahead += [depth + 1] * 2
                continue
            hints, slopes = self.random_hints()
            hints.beta, hints.cuts = some(depth), some(known)
            tree.append(hints)
            encoded += b"\x00\x87" + slopes + array(hints.beta) + array(hints.cuts)
        return tree, encoded

    def cuts(self):
        """One or two cuts, the first in the leaves of the second, and a conclusion with their multipliers: of six draws that which gains most
        by them. (records, bound, the same without multipliers, their bound)"""
        (records, plain), cuts = self.plain(), self.replay.branch.cuts
        draws = [(plain, records, records)]
        for _ in range(6):
            records, multipliers = self.boxes, []
            for weight in self.rng.choice(((1,), (1, 0), (0, 1), (0.25, 0.75))):
                terms, scale = self.level()
                tree, encoded = self.tree(len(cuts))
                try:
                    self.replay.step_cut(terms, tree)
                except Rejected:      # no finite binary32
                    del self.replay.stack[1:]
                    break
                multipliers.append(single(weight / scale))
                records += b"\x11" + varint(len(terms)) + b"".join(varint(v) + varint(e) + struct.pack("<f", c) for v, e, c in terms) + encoded
            # conclude; define_hints, conclude_with
            head, tail = self.rng.choice(((b"\x07\x03\x87", b"\x02"), (b"\x06\x00\x87", b"\x08\x03\x00\x00\x02")))
            with_, without = [records + head + self.encoded + b"\x00" + array(m) + tail for m in (multipliers, [])]
            bound = self.replay.least(self.output(), Fraction(0), Hints(self.hints.lower, self.hints.upper, (), multipliers))
            draws += [(bound, with_, without)] * bool(cuts)
            cuts.clear()
        bound, with_, without = max(draws)
        return with_, bound, without, plain

    def claims(self):
        """A tighten of all elements of a node with claims: the derived bounds rounded outward; and the same with one of them moved inward."""
        v = self.rng.choice([v for v in self.inner if self.nodes[v].dtype in FLOATS])
        bounds = []
        for element in range(self.nodes[v].size):
            lo = self.replay.least({v: {element: Fraction(1)}}, Fraction(0), self.hints)
            hi = -self.replay.least({v: {element: Fraction(-1)}}, Fraction(0), self.hints)
            box = self.replay.boxes(v)[element]
            bounds.append([max(lo, box[0]), min(hi, box[1])])
        right = [[float(binary32(lo, False)), float(binary32(hi, True))] for lo, hi in bounds]
        wrong, at, end = [list(b) for b in right], self.rng.randrange(len(bounds)), self.rng.randrange(2)
        room = max(abs(right[at][end]), 2.0 ** -100)
        wrong[at][end] = single(right[at][end] + (1 if end == 0 else -1) * room * 2.0 ** -20)
        end_of_proof = b"\x07\x03\x00\x02"
        for values in (right, wrong):
            columns = [b[0] for b in values] + [b[1] for b in values]
            claims = varint(len(values)) + struct.pack(f"<{len(columns)}f", *columns)
            yield self.boxes + b"\x05" + varint(v) + bytes([0x2F]) + self.encoded + b"\x00" + claims + end_of_proof
