"""The rules that the records of a certificate name, in exact arithmetic."""
import struct
from fractions import Fraction
from math import inf, isinf, nextafter

from certificate import Decoder
from errors import Declined, Malformed, Rejected
from functions import ONE, ZERO
from graph import FLOATS
from ops import MAXIMA, PRODUCTS, Ops
from vnnlib import integer_box

TYPES = ["", "begin_group", "end_group", "sweep", "box", "refine", "define_hints", "conclude", "conclude_with", "empty", "split_zero",
         "split_f32", "split_f64", "next", "done", "witness"]


# Ops whose lines without hints FORMAT.md fixes; for others a step that fails is declined.
KNOWN = PRODUCTS + ("relu", "leaky_relu", "abs", "clip", "sigmoid", "tanh", "erf", "atan", "softsign", "exp", "log", "sqrt", "reciprocal", "pow", "softplus",
                    "batch_norm")


def binary32(x, up):
    """The binary32 next to x on the outer side."""
    try:
        near = struct.unpack("<f", struct.pack("<f", float(x)))[0]
    except OverflowError:
        return x
    if (near < x if up else near > x):
        bits = struct.unpack("<i", struct.pack("<f", near))[0]
        away = 1 if (near > 0) == up else -1
        near = struct.unpack("<f", struct.pack("<i", bits + away))[0] if near else (2.0 ** -149 if up else -2.0 ** -149)
    return x if isinf(near) else Fraction(near)


class Branch:
    """The boxes and hints in force; a branch inside starts with a copy and is forgotten at its end."""

    def __init__(self, boxes, force, empty=False):
        self.boxes, self.force, self.refuted, self.empty = dict(boxes), dict(force), set(), empty


class Replay:
    def __init__(self, model, property_):
        self.model, self.nodes, self.property = model, model.nodes, property_
        self.ops, self.decoder = Ops(model.nodes), Decoder(model.nodes)
        self.groups = {}
        for number, (lo, hi, _) in enumerate(property_.cases):
            self.groups.setdefault((tuple(lo), tuple(hi)), []).append(number)
        self.groups = list(self.groups.items())
        self.seen, self.witnessed, self.stack, self.splits = set(), False, [], []
        self.record = 0
        self.doubts = set()

    def run(self, frames):
        for reader in frames:
            while reader.place < len(reader.data):
                kind = reader.u8()
                if not 0 < kind < len(TYPES):
                    raise Malformed("certificate.record", f"type {kind}")
                name = TYPES[kind]
                try:
                    self.step(name, reader)
                except Rejected as error:
                    note = f"record {self.record}, {name}: {error}"
                    if self.doubts:
                        raise Declined("twin.relaxation", f"{note}; rests on own choices for {sorted(self.doubts)}") from None
                    raise Rejected(error.code, note) from None
                self.record += 1
        if self.stack:
            raise Malformed("certificate.structure", "the proof ends inside a group")
        if self.witnessed:
            return "sat"
        if len(self.seen) < len(self.groups):
            raise Rejected("certificate.open", "a group is missing")
        return "unsat"

    def step(self, name, reader):
        self.decoder.values = 0
        if self.witnessed or (not self.stack) != (name in ("begin_group", "witness")):
            raise Malformed("certificate.structure", name)
        getattr(self, "step_" + name)(reader)

    # Structure.

    @property
    def branch(self):
        return self.stack[-1]

    def step_begin_group(self, reader):
        group = reader.varint()
        if group >= len(self.groups) or group in self.seen:
            raise Malformed("certificate.structure", f"group {group}")
        self.seen.add(group)
        (lo, hi), self.cases = self.groups[group]
        self.inputs, place = {}, 0
        for number in self.model.inputs:
            node = self.nodes[number]
            self.inputs[number] = [integer_box(lo[place + e], hi[place + e], node.dtype) for e in range(node.size)]
            place += node.size
        branch = Branch(self.inputs, {})
        branch.empty = any(l > u for box in self.inputs.values() for l, u in box)
        self.decoder.force = branch.force
        self.stack, self.splits, self.doubts = [branch], [], set()

    def step_end_group(self, reader):
        if self.splits:
            raise Malformed("certificate.structure", "end_group inside a split")
        if len(self.branch.refuted) < len(self.cases):
            raise Rejected("certificate.open", f"{len(self.cases) - len(self.branch.refuted)} cases are open")
        self.stack = []

    def begin_branch(self, below):
        node, element, threshold = self.splits[-1][:3]
        outer = self.stack[-1]
        branch = Branch(outer.boxes, outer.force, outer.empty)
        self.stack.append(branch)
        self.decoder.force = branch.force
        lo, hi = branch.boxes[node][element]
        lo, hi = (lo, min(hi, threshold)) if below else (max(lo, threshold), hi)
        self.narrow(node, {element: integer_box(lo, hi, self.nodes[node].dtype) if self.nodes[node].op == "input" else (lo, hi)})

    def split(self, reader, threshold):
        node = self.decoder.node(reader)
        element = reader.varint()
        threshold = threshold(reader)
        if isinf(threshold) or threshold != threshold:
            raise Malformed("certificate.value", "threshold")
        if element >= self.nodes[node].size:
            raise Malformed("certificate.value", f"element {element}")
        if self.nodes[node].op == "constant":
            raise Rejected("split.S1", "a constant")
        self.boxes(node)
        self.splits.append([node, element, Fraction(threshold), True, None])
        self.begin_branch(True)

    def step_split_zero(self, reader):
        self.split(reader, lambda r: 0.0)

    def step_split_f32(self, reader):
        self.split(reader, lambda r: r.f32())

    def step_split_f64(self, reader):
        self.split(reader, lambda r: struct.unpack("<d", r.bytes(8))[0])

    def close(self):
        if not self.branch.refuted:
            raise Rejected("certificate.open", "a branch refutes no case")
        refuted = self.stack.pop().refuted
        self.decoder.force = self.branch.force
        return refuted

    def step_next(self, reader):
        if not self.splits or not self.splits[-1][3]:
            raise Malformed("certificate.structure", "next")
        self.splits[-1][3:] = [False, self.close()]
        self.begin_branch(False)

    def step_done(self, reader):
        if not self.splits or self.splits[-1][3]:
            raise Malformed("certificate.structure", "done")
        second = self.close()
        first = self.splits.pop()[4]
        self.branch.refuted |= first & second

    def step_empty(self, reader):
        if not self.branch.empty:
            raise Rejected("empty", "no box is empty")
        self.branch.refuted |= set(range(len(self.cases)))

    # Boxes.

    def boxes(self, node):
        if self.nodes[node].op == "constant":
            return [(c, c) for c in self.ops.constants(node)]
        if node not in self.branch.boxes:
            raise Rejected("box.premise", f"no box of node {node}")
        return self.branch.boxes[node]

    def operand_boxes(self, user):
        """The boxes of the operands of `user`. Affine nodes that are joined with a node that moves or shifts their elements need none of their own."""
        def boxes(node):
            known = self.nodes[node].op == "constant" or node in self.branch.boxes
            if known or not (self.ops.moves(node) or self.ops.exact(node) and (self.ops.moves(user) or self.ops.shifts(user))):
                return self.boxes(node)
            return self.ops.image(node, self.operand_boxes(user if self.ops.moves(node) else node))
        return boxes

    def is_joined(self, node):
        users = self.nodes[node].users
        return self.ops.moves(node) or self.ops.exact(node) and any(self.ops.moves(u) or self.ops.shifts(u) for u in users)

    def narrow(self, node, bounds):
        """Meets the box of the node with bounds of some elements."""
        box = list(self.branch.boxes[node])
        for element, (lo, hi) in bounds.items():
            old = box[element]
            box[element] = max(lo, old[0]), min(hi, old[1])
            if not box[element][0] <= box[element][1]:
                self.branch.empty = True
                box[element] = old
        self.branch.boxes[node] = box

    def derive_box(self, node):
        op = self.nodes[node].op
        if op in ("constant", "input"):
            return
        image = self.ops.image(node, self.operand_boxes(node))
        if node in self.branch.boxes:
            self.narrow(node, dict(enumerate(image)))
        else:
            self.branch.boxes[node] = image

    def step_box(self, reader):
        self.derive_box(self.decoder.node(reader))

    def step_sweep(self, reader):
        rounding, first = reader.u8(), self.decoder.node(reader)
        for node in range(first, len(self.nodes)):
            if self.nodes[node].op in ("constant", "input"):
                continue
            self.derive_box(node)
            if any(self.ops.exact(user) is None for user in self.nodes[node].users):
                self.refine(node, self.unstable(node), Decoder([]).hints(None, 0, 0), bool(rounding))

    def unstable(self, node):
        """Elements whose box makes a user non-linear."""
        found = set()
        for user in self.nodes[node].users:
            if self.ops.exact(user) is not None:
                continue
            for element, sources in enumerate(self.sources(user, node)):
                if not found.issuperset(sources) and self.is_linear(user, element) is None:
                    found |= set(sources)
        return sorted(found)

    def is_linear(self, user, element):
        if any(o not in self.branch.boxes and self.nodes[o].op != "constant" for o in self.nodes[user].operands):
            return None
        return self.ops.is_linear(user, element, self.boxes)

    def sources(self, user, node):
        """Per element of the user the elements of the operand `node` that it reads."""
        operands = self.nodes[user].operands
        if self.ops.function(user):
            return [[e] for e in range(self.nodes[user].size)]
        if self.nodes[user].op in MAXIMA:
            return [[e for p, e in c if operands[p] == node] for c in self.ops.candidates(user)]
        return [range(self.nodes[node].size)]

    def step_refine(self, reader):
        node, flags = self.decoder.node(reader), reader.u8()
        selection, size = flags >> 3 & 3, self.nodes[node].size
        if flags & 0x80 or selection == 3:
            raise Malformed("certificate.value", f"flags {flags}")
        if self.nodes[node].op == "constant":
            raise Rejected("refine.S0", "a constant")
        self.boxes(node)
        if selection == 2:
            mask = self.decoder.array(reader, size)
            if len(mask) != size:
                raise Malformed("certificate.hint", "the mask's count")
            elements = [e for e in range(size) if mask[e]]
        else:
            elements = list(range(size)) if selection else self.unstable(node)
        hints, claims = self.decoder.hints(reader, flags, len(self.splits)), None
        if flags & 32:
            count = reader.count(8)
            claims = [reader.f32() for _ in range(2 * count)]
            if count != len(elements):
                raise (Rejected if selection else Declined)("certificate.hint", "claims for another number of elements")
            claims = list(zip(claims[:count], claims[count:]))
        self.refine(node, elements, hints, bool(flags & 64), claims)

    def refine(self, node, elements, hints, rounding, claims=None):
        bounds = {}
        for place, element in enumerate(elements):
            lo = self.least({node: {element: ONE}}, ZERO, hints)
            hi = -self.least({node: {element: -ONE}}, ZERO, hints)
            if claims:
                old, claim = self.branch.boxes[node][element], claims[place]
                if not (claim[0] <= lo and hi <= claim[1]):
                    raise Rejected("claim", f"element {element}: [{claim[0]}, {claim[1]}] does not hold [{float(lo)}, {float(hi)}]")
                lo, hi = [old[k] if isinf(c) else Fraction(c) for k, c in enumerate(claim)]
            elif rounding:
                lo, hi = binary32(lo, False), binary32(hi, True)
            bounds[element] = lo, hi
        self.narrow(node, bounds)

    # Back-substitution.

    def least(self, row, constant, hints):
        """A lower bound of the row over the region of the branch: back to the inputs, with multipliers for the open splits."""
        row = {node: dict(terms) for node, terms in row.items()}
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
        op, constant = self.nodes[node].op, ZERO
        if op == "constant":
            values = self.ops.constants(node)
            return sum(c * values[e] for e, c in terms.items())
        if op == "input":
            box = self.branch.boxes[node]
            return sum(c * box[e][0 if c > 0 else 1] for e, c in terms.items())
        if not self.is_joined(node):
            self.boxes(node)
        forms = self.ops.exact(node)
        for element, c in terms.items():
            if c == 0:
                continue
            form = forms[element] if forms is not None else self.line(node, element, c > 0, hints)
            constant += c * form[1]
            for operand, source, factor in form[0]:
                target = row.setdefault(operand, {})
                target[source] = target.get(source, ZERO) + c * factor
        return constant

    def line(self, node, element, lower, hints):
        form = self.ops.is_linear(node, element, self.operand_boxes(node))
        if form is not None:
            return form
        op, slopes = self.nodes[node].op, (hints.lower if lower else hints.upper).get(node)
        if op in MAXIMA and lower != (MAXIMA[op] > 0) or op not in MAXIMA and op not in KNOWN and (slopes is None or not self.ops.function(node)):
            self.doubts.add(op)
        return self.ops.relax(node, element, self.operand_boxes(node), self.boxes, lower, None if slopes is None else Fraction(slopes[element]))

    # Conclusions.

    def step_define_hints(self, reader):
        number, flags = reader.varint(), reader.u8()
        if flags & ~7:
            raise Malformed("certificate.value", f"flags {flags}")
        if any(number <= k for k in self.branch.force):
            raise Malformed("certificate.hint", f"id {number}")
        self.branch.force[number] = self.decoder.hints(reader, flags, len(self.splits))

    def step_conclude(self, reader):
        cases, flags = self.decoder.cases(reader, self.cases), reader.u8()
        if flags & ~7:
            raise Malformed("certificate.value", f"flags {flags}")
        self.conclude(cases, self.decoder.hints(reader, flags, len(self.splits)))

    def step_conclude_with(self, reader):
        cases, number = self.decoder.cases(reader, self.cases), reader.varint()
        if number not in self.branch.force:
            raise Malformed("certificate.hint", f"id {number}")
        hints = Decoder([]).hints(None, 0, 0)
        hints.lower, hints.upper = self.branch.force[number].lower, self.branch.force[number].upper
        hints.beta = self.decoder.array(reader, len(self.splits), lambda h: h.beta)
        self.conclude(cases, hints)

    def conclude(self, cases, hints):
        for position, multipliers in cases.items():
            rows = self.property.cases[self.cases[position]][2]
            if multipliers is None:
                multipliers = [1.0]
            if len(multipliers) != len(rows) or any(m < 0 for m in multipliers):
                raise Rejected("multiplier", f"{len(multipliers)} multipliers for {len(rows)} rows")
            total, constant, strict = {}, ZERO, False
            for (terms, bound, is_strict), m in zip(rows, map(Fraction, multipliers)):
                strict |= is_strict and m > 0
                constant -= m * bound
                for (side, tensor, element), coefficient in terms.items():
                    target = total.setdefault((self.model.outputs if side else self.model.inputs)[tensor], {})
                    target[element] = target.get(element, ZERO) + m * coefficient
            least = self.least(total, constant, hints)
            if not (least > 0 or strict and least == 0):
                raise Rejected("conclude", f"case {position}: the least value is {float(least)}")
            self.branch.refuted.add(position)

    def step_witness(self, reader):
        number, count = reader.varint(), reader.count()
        texts = [reader.bytes(reader.count()).decode("ascii", "replace") for _ in range(count)]
        self.witnessed = True
        if number >= len(self.property.cases):
            raise Rejected("witness", f"case {number}")
        lo, hi, rows = self.property.cases[number]
        if count != len(lo):
            raise Rejected("witness", f"{count} coordinates")
        try:
            point = [Fraction(t) for t in texts if len(t) <= 20000 and t.isascii() and "_" not in t and t == t.strip()]
        except (ValueError, ZeroDivisionError):
            raise Malformed("certificate.value", "a coordinate") from None
        if len(point) != count:
            raise Malformed("certificate.length", "a coordinate")
        boxes, place = {}, 0
        for node in self.model.inputs:
            values = point[place:place + self.nodes[node].size]
            if self.nodes[node].dtype not in FLOATS and any(integer_box(v, v, self.nodes[node].dtype) != (v, v) for v in values):
                raise Rejected("witness", "a value that the element type does not hold")
            boxes[node] = [(v, v) for v in values]
            place += len(values)
        if not all(l <= v <= u for l, v, u in zip(lo, point, hi)):
            raise Rejected("witness", "the point lies outside of the box")
        for node in range(len(self.nodes)):
            if node not in boxes:
                boxes[node] = self.ops.image(node, boxes.__getitem__)
        for terms, bound, strict in rows:
            value = sum((c * boxes[(self.model.outputs if s else self.model.inputs)[t]][e][1 if c > 0 else 0] for (s, t, e), c in terms.items()), ZERO)
            if not (value < bound if strict else value <= bound):
                raise Rejected("witness", f"a row does not hold: {float(value)}")
