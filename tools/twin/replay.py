"""The rules that the records of a certificate name (FORMAT.md, section 3), in exact arithmetic."""
import re
import struct
from fractions import Fraction
from math import isinf

from certificate import Decoder, Hints
from errors import Declined, Malformed, Rejected
from functions import ONE, ZERO
from ops import MAXIMA, PRODUCTS, Ops
from vnnlib import integer_box

TYPES = ["", "begin_group", "end_group", "sweep", "box", "tighten", "define_hints", "conclude", "conclude_with", "empty", "split_zero",
         "split_f32", "split_f64", "next", "done", "witness"]
# Ops whose lines without hints FORMAT.md fixes; where another op's are used, a step that fails is declined.
KNOWN = PRODUCTS + ("relu", "leaky_relu", "abs", "clip", "sign", "sigmoid", "tanh", "softsign", "exp", "log", "sqrt", "reciprocal", "pow", "softplus", "batch_norm")
FIRST_OF_PROOF = ("begin_group", "witness")
COORDINATE = re.compile(rb"-?\d+(/0*[1-9]\d*|(\.\d+)?([eE][+-]?\d{1,4})?)")


def binary32(x, up):
    """The binary32 next to x on the outer side, or x itself beyond the format."""
    if abs(x) >= 1 << 127:
        return x
    near = struct.unpack("<f", struct.pack("<f", float(x)))[0]
    if near < x if up else near > x:
        away = struct.unpack("<i", struct.pack("<f", near))[0] + (1 if (near > 0) == up else -1)
        near = struct.unpack("<f", struct.pack("<i", away))[0] if near else (2.0 ** -149 if up else -2.0 ** -149)
    return Fraction(near)


class Branch:
    """The boxes and hints in force; a branch inside starts with copies and is forgotten at its end."""

    def __init__(self, boxes, force, empty):
        self.boxes, self.force, self.refuted, self.empty = dict(boxes), dict(force), set(), empty


class Replay:
    def __init__(self, model, property_):
        self.model, self.nodes, self.property = model, model.nodes, property_
        self.ops, self.decoder = Ops(model.nodes), Decoder(model.nodes)
        groups = {}
        for number, (lo, hi, _) in enumerate(property_.cases):
            groups.setdefault((tuple(lo), tuple(hi)), []).append(number)
        self.groups = list(groups.items())
        self.seen, self.witnessed, self.stack, self.splits, self.doubts = set(), False, [], [], set()

    def run(self, frames):
        record = 0
        for reader in frames:
            while reader.place < len(reader.data):
                kind = reader.u8()
                name = TYPES[kind] if kind < len(TYPES) else ""
                if not name:
                    raise Malformed("certificate.record", f"type {kind}")
                if self.witnessed or bool(self.stack) == (name in FIRST_OF_PROOF):
                    raise Malformed("certificate.structure", name)
                self.decoder.values = 0
                try:
                    getattr(self, "step_" + name)(reader)
                except Rejected as error:
                    note = f"record {record}, {name}: {error}"
                    if self.doubts:
                        raise Declined("twin.relaxation", f"{note}; rests on own choices for {sorted(self.doubts)}") from None
                    raise Rejected(error.code, note) from None
                record += 1
        if self.stack:
            raise Malformed("certificate.structure", "the proof ends inside a group")
        if not self.witnessed and len(self.seen) < len(self.groups):
            raise Rejected("certificate.open", "a group is missing")
        return "sat" if self.witnessed else "unsat"

    # Structure.

    @property
    def branch(self):
        return self.stack[-1]

    def points(self, lo, hi):
        """Boxes of the inputs: the values of their types between lo and hi."""
        boxes, place = {}, 0
        for number in self.model.inputs:
            node = self.nodes[number]
            boxes[number] = [integer_box(lo[place + e], hi[place + e], node.dtype) for e in range(node.size)]
            place += node.size
        return boxes

    def begin(self, boxes, force, empty):
        self.stack.append(Branch(boxes, force, empty))
        self.decoder.force = self.branch.force

    def step_begin_group(self, reader):
        group = reader.varint()
        if group >= len(self.groups) or group in self.seen:
            raise Malformed("certificate.structure", f"group {group}")
        self.seen.add(group)
        (lo, hi), self.cases = self.groups[group]
        inputs, self.doubts = self.points(lo, hi), set()
        self.begin(inputs, {}, any(l > u for box in inputs.values() for l, u in box))

    def step_end_group(self, reader):
        if self.splits:
            raise Malformed("certificate.structure", "end_group inside a split")
        if len(self.branch.refuted) < len(self.cases):
            raise Rejected("certificate.open", f"{len(self.cases) - len(self.branch.refuted)} cases are open")
        self.stack = []

    def split(self, reader, read):
        node = self.decoder.node(reader)
        element, threshold = reader.varint(), read()
        if element >= self.nodes[node].size or isinf(threshold) or threshold != threshold:
            raise Malformed("certificate.value", f"element {element}, threshold {threshold}")
        self.needs_box(node)
        self.splits.append((node, element, Fraction(threshold), True, None))
        self.begin_half()

    def begin_half(self):
        node, element, threshold, below, _ = self.splits[-1]
        self.begin(self.branch.boxes, self.branch.force, self.branch.empty)
        half = (self.boxes(node)[element][0], threshold) if below else (threshold, self.boxes(node)[element][1])
        self.narrow(node, {element: integer_box(*half, self.nodes[node].dtype if self.nodes[node].op == "input" else "float32")})

    def step_split_zero(self, reader):
        self.split(reader, lambda: 0.0)

    def step_split_f32(self, reader):
        self.split(reader, lambda: reader.f32("certificate.value"))

    def step_split_f64(self, reader):
        self.split(reader, lambda: struct.unpack("<d", reader.bytes(8))[0])

    def close(self, below):
        if not self.splits or self.splits[-1][3] != below:
            raise Malformed("certificate.structure", "next or done")
        if not self.branch.refuted:
            raise Rejected("certificate.open", "a branch refutes no case")
        refuted = self.stack.pop().refuted
        self.decoder.force = self.branch.force
        return refuted

    def step_next(self, reader):
        refuted = self.close(True)
        self.splits[-1] = self.splits[-1][:3] + (False, refuted)
        self.begin_half()

    def step_done(self, reader):
        refuted = self.close(False)
        self.branch.refuted |= self.splits.pop()[4] & refuted

    def step_empty(self, reader):
        if not self.branch.empty:
            raise Rejected("empty", "no box is empty")
        self.branch.refuted |= set(range(len(self.cases)))

    # Boxes.

    def has_box(self, node):
        return node in self.branch.boxes or self.ops.is_constant(node)

    def boxes(self, node):
        if not self.has_box(node):
            raise Rejected("box.premise", f"no box of node {node}")
        return self.ops.image(node, None) if self.ops.is_constant(node) else self.branch.boxes[node]

    def needs_box(self, node):
        if self.ops.is_constant(node):
            raise Rejected("constant", f"node {node}")
        self.boxes(node)

    def operand_boxes(self, user):
        """The boxes of the operands of `user`; affine nodes that are joined with it need none of their own."""
        def boxes(node):
            joined = self.ops.exact(user) and any(map(self.ops.moves, (node, user))) or self.ops.shifts(user)
            if self.has_box(node) or not (joined and self.ops.exact(node)):
                return self.boxes(node)
            return self.ops.image(node, self.operand_boxes(user if self.ops.moves(node) else node))
        return boxes

    def narrow(self, node, bounds):
        """Meets the box of the node with bounds of some elements."""
        box = list(self.branch.boxes[node])
        for element, (lo, hi) in bounds.items():
            met = max(lo, box[element][0]), min(hi, box[element][1])
            if met[0] <= met[1]:
                box[element] = met
            else:
                self.branch.empty = True
        self.branch.boxes[node] = box

    def step_box(self, reader):
        self.propagate_box(self.decoder.node(reader))

    def propagate_box(self, node):
        if self.nodes[node].op not in ("constant", "input"):
            image = self.ops.image(node, self.operand_boxes(node))
            self.branch.boxes.setdefault(node, image)
            self.narrow(node, dict(enumerate(image)))

    def step_sweep(self, reader):
        rounding, first = reader.u8(), self.decoder.node(reader)
        for node in range(first, len(self.nodes)):
            self.propagate_box(node)
            if self.nodes[node].op not in ("constant", "input") and any(self.ops.exact(user) is None for user in self.nodes[node].users):
                self.tighten(node, self.unstable(node), Hints(), bool(rounding))

    def unstable(self, node):
        """Elements whose box makes a user non-linear."""
        found = set()
        for user in self.nodes[node].users:
            if self.ops.exact(user) is None:
                known = all(map(self.has_box, self.nodes[user].operands))
                for element, sources in enumerate(self.sources(user, node)):
                    if not found.issuperset(sources) and not (known and self.ops.is_linear(user, element, self.boxes)):
                        found.update(sources)
        return sorted(found)

    def sources(self, user, node):
        """Per element of the user the elements of its operand `node` that it reads."""
        operands, op = self.nodes[user].operands, self.nodes[user].op
        if op in MAXIMA:
            return [[e for p, e in c if operands[p] == node] for c in self.ops.candidates(user)]
        single = self.ops.function(user) or op == "mul"
        return [[e[operands.index(node)]] for e in self.ops.aligned(user)] if single else [range(self.nodes[node].size)]

    def step_tighten(self, reader):
        node, flags = self.decoder.node(reader), reader.u8()
        selection, size = flags >> 3 & 3, self.nodes[node].size
        if flags & 0x80 or selection == 3:
            raise Malformed("certificate.value", f"flags {flags}")
        mask = self.decoder.array(reader, size, True) if selection == 2 else [1] * size
        hints, claims = self.decoder.hints(reader, flags, len(self.splits)), None
        if flags & 32:
            count = reader.count(8)
            claims = [reader.f32("") for _ in range(2 * count)]
            claims = list(zip(claims[:count], claims[count:]))
        self.needs_box(node)
        elements = [e for e in range(size) if mask[e]] if selection else self.unstable(node)
        if claims is not None and len(claims) != len(elements):
            raise (Rejected if selection else Declined)("twin.claims", f"{len(claims)} claims for {len(elements)} elements")
        self.tighten(node, elements, hints, bool(flags & 64), claims)

    def tighten(self, node, elements, hints, rounding, claims=None):
        bounds = {}
        for place, element in enumerate(elements):
            lo, hi = self.least({node: {element: ONE}}, ZERO, hints), -self.least({node: {element: -ONE}}, ZERO, hints)
            if claims:
                lo, hi = max(lo, self.boxes(node)[element][0]), min(hi, self.boxes(node)[element][1])
                if not (claims[place][0] <= lo and hi <= claims[place][1]):
                    raise Rejected("claim", f"element {element}: {claims[place]} does not hold [{float(lo)}, {float(hi)}]")
                lo, hi = [old if isinf(c) else Fraction(c) for old, c in zip(self.boxes(node)[element], claims[place])]
            elif rounding:
                lo, hi = binary32(lo, False), binary32(hi, True)
            bounds[element] = lo, hi
        self.narrow(node, bounds)

    # Back-substitution.

    def least(self, row, constant, hints):
        """A lower bound of the row over the region of the branch: back to the inputs, with multipliers for the open splits."""
        for (node, element, threshold, below, _), beta in zip(self.splits, hints.beta):
            if beta < 0:
                raise Rejected("multiplier", "below 0")
            beta = Fraction(beta) if below else -Fraction(beta)
            terms = row.setdefault(node, {})
            terms[element] = terms.get(element, ZERO) + beta
            constant -= beta * threshold
        while row:
            node = max(row)
            constant += self.substitute(node, row.pop(node), row, hints)
        return constant

    def substitute(self, node, terms, row, hints):
        """Replaces the terms of one node by terms of its operands, which join `row`; returns the constant."""
        constant, forms = ZERO, self.ops.exact(node)
        joined = self.ops.moves(node) or forms and any(self.ops.moves(u) or self.ops.shifts(u) for u in self.nodes[node].users)
        box = None if joined and not self.has_box(node) else self.boxes(node)
        if self.nodes[node].op in ("input", "constant"):
            return sum(c * box[e][0 if c > 0 else 1] for e, c in terms.items())
        for element, c in terms.items():
            if c:
                form = forms[element] if forms is not None else self.line(node, element, c > 0, hints)
                constant += c * form[1]
                for operand, source, factor in form[0]:
                    target = row.setdefault(operand, {})
                    target[source] = target.get(source, ZERO) + c * factor
        return constant

    def line(self, node, element, lower, hints):
        boxes, op, slopes = self.operand_boxes(node), self.nodes[node].op, (hints.lower if lower else hints.upper).get(node)
        form = self.ops.is_linear(node, element, boxes)
        if form is not None and (slopes is None or op == "relu" or op in MAXIMA and lower != (MAXIMA[op] > 0)):
            return form
        if lower != (MAXIMA[op] > 0) if op in MAXIMA else op not in KNOWN and (slopes is None or not self.ops.function(node)):
            self.doubts.add(op)
        return self.ops.relax(node, element, boxes, self.boxes(node), lower, None if slopes is None else Fraction(slopes[element]))

    # Conclusions.

    def flags(self, reader):
        flags = reader.u8()
        if flags > 7:
            raise Malformed("certificate.value", f"flags {flags}")
        return flags

    def step_define_hints(self, reader):
        number, flags = reader.varint(), self.flags(reader)
        if any(number <= k for k in self.branch.force):
            raise Malformed("certificate.hint", f"id {number}")
        self.branch.force[number] = self.decoder.hints(reader, flags, len(self.splits))

    def step_conclude(self, reader):
        cases, flags = self.decoder.cases(reader, self.cases), self.flags(reader)
        self.conclude(cases, self.decoder.hints(reader, flags, len(self.splits)))

    def step_conclude_with(self, reader):
        cases, named, hints = self.decoder.cases(reader, self.cases), self.branch.force.get(reader.varint()), Hints()
        if named is None:
            raise Malformed("certificate.hint", "an id that is not in force")
        hints.lower, hints.upper = named.lower, named.upper
        hints.beta = self.decoder.array(reader, len(self.splits), False, lambda h: h.beta)
        self.conclude(cases, hints)

    def place(self, side, tensor):
        return (self.model.outputs if side else self.model.inputs)[tensor]

    def conclude(self, cases, hints):
        for position, multipliers in cases:
            rows = self.property.cases[self.cases[position]][2]
            multipliers = multipliers or [1.0] * (len(rows) == 1)
            if len(multipliers) != len(rows) or any(m < 0 for m in multipliers):
                raise Rejected("multiplier", f"{multipliers} for {len(rows)} rows")
            total, constant, strict = {}, ZERO, False
            for (terms, bound, is_strict), m in zip(rows, map(Fraction, multipliers)):
                strict, constant = strict or is_strict and m > 0, constant - m * bound
                for (side, tensor, element), coefficient in terms.items():
                    target = total.setdefault(self.place(side, tensor), {})
                    target[element] = target.get(element, ZERO) + m * coefficient
            least = self.least(total, constant, hints)
            if not (least > 0 or strict and least == 0 or self.branch.empty):
                raise Rejected("conclude", f"case {position}: the least value is {float(least)}")
            self.branch.refuted.add(position)

    def step_witness(self, reader):
        number, texts, self.witnessed = reader.varint(), [reader.bytes(reader.count()) for _ in range(reader.count())], True
        lo, hi, rows = self.property.cases[number] if number < len(self.property.cases) else ([], [], [])
        if len(texts) != len(lo) or not lo:
            raise Rejected("witness", f"case {number}, {len(texts)} coordinates")
        if any(len(t) > 20000 or not COORDINATE.fullmatch(t) for t in texts):
            raise Malformed("certificate.value", "a coordinate")
        point = [Fraction(t.decode()) for t in texts]
        boxes = self.points(point, point)
        if not all(l <= v <= u for l, v, u in zip(lo, point, hi)) or any(l > u for box in boxes.values() for l, u in box):
            raise Rejected("witness", "the point lies outside of the box")
        for node in range(len(self.nodes)):
            boxes[node] = boxes.get(node) or self.ops.image(node, boxes.__getitem__)
        for terms, bound, strict in rows:
            value = sum((c * boxes[self.place(side, tensor)][e][1 if c > 0 else 0] for (side, tensor, e), c in terms.items()), ZERO)
            if not (value < bound if strict else value <= bound):
                raise Rejected("witness", f"a row does not hold: {float(value)}")
