"""The rules that the records of a certificate name (FORMAT.md, section 3), in exact arithmetic."""
import math
import re
import struct
from fractions import Fraction

from balls import balls_of, least_in
from certificate import Hints
from wire import Declined, Malformed, Rejected, require
from graph import FLOATS, RANGES
from functions import ONE, ZERO
from ops import MAXIMA, Ops

LARGEST = Fraction((1 << 24) - 1 << 104)       # of binary32
COORDINATE = re.compile(rb"-?\d+(/0*[1-9]\d*|(\.\d+)?([eE][+-]?\d{1,4})?)")


def binary32(x, up):
    """The binary32 next to x on the outer side, or x itself beyond the format."""
    if abs(x) > LARGEST:
        return x
    near = struct.unpack("<f", struct.pack("<f", float(x)))[0]
    if near < x if up else near > x:
        away = struct.unpack("<i", struct.pack("<f", near))[0] + (1 if (near > 0) == up else -1)
        near = struct.unpack("<f", struct.pack("<i", away))[0] if near else (2.0 ** -149 if up else -2.0 ** -149)
    return Fraction(near)


def values_between(lo, hi, dtype):
    """The box of an input element: of an integer type, the integers of that type."""
    if dtype in FLOATS:
        return lo, hi
    return Fraction(max(math.ceil(lo), RANGES[dtype][0])), Fraction(min(math.floor(hi), RANGES[dtype][1]))


def add(row, node, element, coefficient):
    """Rows are {node: {element: coefficient}}."""
    terms = row.setdefault(node, {})
    terms[element] = terms.get(element, ZERO) + coefficient


class Branch:
    """The boxes, named hints, cuts and refuted cases; a branch inside starts with copies of the first three. `cuts`: (terms, bound); `split`: (node, element, threshold,
    whether below it); `other`: the half below, of one above."""

    def __init__(self, boxes, hints, cuts, empty, split=None, other=None):
        self.boxes, self.hints, self.cuts, self.refuted = dict(boxes), dict(hints), list(cuts), set()
        self.empty, self.split, self.other = empty, split, other


class Replay:
    def __init__(self, model, property_):
        self.model, self.nodes, self.property, self.ops = model, model.nodes, property_, Ops(model.nodes)
        self.groups = {}
        for number, (lo, hi, _) in enumerate(property_.cases):
            self.groups.setdefault((tuple(lo), tuple(hi)), []).append(number)
        self.seen, self.witnessed, self.stack, self.balls = set(), False, [], {}

    def run(self, frames):
        records = (record for frame in frames for record in frame.records(self))
        for number, (name, fields) in enumerate(records):
            starts = name in ("begin_group", "witness")
            require(not self.witnessed and starts != bool(self.stack), Malformed, "certificate.structure", name)
            try:
                getattr(self, "step_" + name)(*fields())
            except Rejected as error:
                note = f"record {number}, {name}: {error}"
                require(not self.ops.doubts, Declined, "twin.relaxation", f"{note}; rests on own choices for {sorted(self.ops.doubts)}")
                raise Rejected(error.code, note) from None
        require(not self.stack, Malformed, "certificate.structure", "the proof ends inside a group")
        require(self.witnessed or len(self.seen) == len(self.groups), Rejected, "certificate.open", "a group is missing")
        what = "sat: the witness lies in the box of a case and satisfies its rows" if self.witnessed else "unsat: no case occurs: no input in the box of a case satisfies its rows"
        return f"theorem: {what}"

    # Groups, branches and splits.

    @property
    def branch(self):
        return self.stack[-1]

    def input_boxes(self, lo, hi):
        ends, boxes = iter(zip(lo, hi)), {}
        for node in self.model.inputs:
            boxes[node] = [values_between(*next(ends), self.nodes[node].dtype) for _ in range(self.nodes[node].size)]
        return boxes, any(l > u for box in boxes.values() for l, u in box)

    def step_begin_group(self, group):
        require(group < len(self.groups) and group not in self.seen, Malformed, "certificate.structure", f"group {group}")
        self.seen.add(group)
        (lo, hi), self.cases = list(self.groups.items())[group]
        boxes, empty = self.input_boxes(lo, hi)
        self.balls = balls_of(self.model, self.ops, [self.property.cases[number] for number in self.cases])
        self.stack = [Branch(boxes, {}, (), empty)]
        self.ops.doubts.clear()

    def step_end_group(self):
        require(len(self.stack) == 1, Malformed, "certificate.structure", "end_group inside a split")
        require(len(self.branch.refuted) == len(self.cases), Rejected, "certificate.open", f"only {sorted(self.branch.refuted)} are refuted")
        self.stack = []

    def step_split(self, node, element, threshold=0):
        self.require_element(node, element, "split")
        self.begin_half(node, element, Fraction(threshold), True)

    def require_element(self, node, element, code):
        require(element < self.nodes[node].size, Malformed, "certificate.value", f"node {node}, element {element}")
        require(not self.ops.is_constant(node), Rejected, code, f"node {node} is constant")

    def begin_half(self, node, element, threshold, below, other=None):
        self.stack.append(Branch(self.branch.boxes, self.branch.hints, self.branch.cuts, self.branch.empty, (node, element, threshold, below), other))
        if self.has_box(node):
            self.narrow_by_splits(node)

    def end_half(self, below):
        require(self.branch.split and self.branch.split[3] == below, Malformed, "certificate.structure", "next or done")
        require(self.branch.refuted, Rejected, "certificate.open", "a branch refutes no case")
        return self.stack.pop()

    def step_next(self):
        half = self.end_half(True)
        self.begin_half(*half.split[:3], False, half)

    def step_done(self):
        half = self.end_half(False)
        self.branch.refuted |= half.other.refuted & half.refuted

    def step_empty(self):
        require(self.branch.empty, Rejected, "empty", "no box is empty")
        self.branch.refuted |= set(range(len(self.cases)))

    # Boxes.

    def has_box(self, node):
        return node in self.branch.boxes or self.ops.is_constant(node)

    def boxes(self, node):
        require(self.has_box(node), Rejected, "box.premise", f"no box of node {node}")
        return self.ops.constant_box(node) if self.ops.is_constant(node) else self.branch.boxes[node]

    def narrow(self, node, bounds):
        """Meets the box of the node with bounds of some elements; what is empty leaves it."""
        box = list(self.branch.boxes[node])
        for element, (lo, hi) in bounds.items():
            met = max(lo, box[element][0]), min(hi, box[element][1])
            if self.ops.gives_integers(node):
                met = math.ceil(met[0]) if met[0] > -math.inf else met[0], math.floor(met[1]) if met[1] < math.inf else met[1]
            self.branch.empty |= met[0] > met[1]
            box[element] = met if met[0] <= met[1] else box[element]
        self.branch.boxes[node] = box

    def narrow_by_splits(self, node):
        for branch in self.stack[1:]:
            if branch.split[0] == node:
                _, element, threshold, below = branch.split
                lo, hi = self.boxes(node)[element]
                half = (lo, threshold) if below else (threshold, hi)
                self.narrow(node, {element: values_between(*half, self.nodes[node].dtype if self.nodes[node].op == "input" else "float32")})

    def step_box(self, node):
        if self.nodes[node].op != "input" and not self.ops.is_constant(node) and not self.branch.empty:
            image = self.ops.image(node, self.boxes)
            self.branch.boxes.setdefault(node, image)
            self.narrow(node, dict(enumerate(image)))
            self.narrow_by_splits(node)

    def step_boxes(self, first):
        for node in range(first, len(self.nodes)):
            self.step_box(node)

    def step_sweep(self, rounding, first):
        for node in range(first, len(self.nodes)):
            self.step_box(node)
            if not self.ops.is_arranged(node) and not self.ops.is_constant(node) and self.bending_users(node):
                self.step_tighten((node, 0, (), Hints(), rounding, None))

    def bending_users(self, node):
        return [self.nodes[user].op for user in self.nodes[node].users if not self.ops.exact(user)]

    def unstable(self, node):
        kinked = all(op in ("relu", "leaky_relu", "abs") for op in self.bending_users(node))
        return [e for e, (lo, hi) in enumerate(self.boxes(node)) if (lo < 0 < hi if kinked else lo < hi)]

    def step_tighten(self, tightening):
        node, selection, mask, hints, rounding, claims = tightening
        require(not self.ops.is_constant(node), Rejected, "tighten", f"node {node} is constant")
        if self.branch.empty:
            return
        elements = [e for e, chosen in enumerate(mask) if chosen] if selection else self.unstable(node)
        if claims is not None:
            require(len(claims) == len(elements), Rejected if selection else Declined, "twin.claims", f"{len(claims)} for {len(elements)} elements")
        bounds = {}
        for place, element in enumerate(elements):
            lo, hi = self.least({node: {element: ONE}}, ZERO, hints), -self.least({node: {element: -ONE}}, ZERO, hints)
            if claims:
                box, (claimed_lo, claimed_hi) = self.boxes(node)[element], claims[place]
                holds = claimed_lo <= max(lo, box[0]) and min(hi, box[1]) <= claimed_hi
                require(holds, Rejected, "claim", f"element {element}: {claims[place]} does not hold [{float(lo)}, {float(hi)}]")
                lo, hi = [old if math.isinf(c) else Fraction(c) for old, c in zip(box, claims[place])]
            elif rounding:
                lo, hi = binary32(lo, False), binary32(hi, True)
            bounds[element] = lo, hi
        self.narrow(node, bounds)

    def step_tighten_by_cases(self, tightening):
        node, selection, mask, rounding, tree = tightening
        self.in_leaves(tree, lambda hints: self.step_tighten((node, selection, mask, hints, rounding, None)))

    def step_cut(self, terms, tree):
        for node, element, _ in terms:
            self.require_element(node, element, "cut")
        bounds = []
        self.in_leaves(tree, lambda hints: self.branch.empty or bounds.append(self.least_of_cut(terms, hints)))
        self.branch.cuts.append((terms, min(bounds)) if bounds else ((), ZERO))

    def least_of_cut(self, terms, hints):
        row = {}
        for node, element, coefficient in terms:
            add(row, node, element, Fraction(coefficient))
        least = self.least(row, ZERO, hints)
        require(least >= -LARGEST, Rejected, "cut", "a bound that is not finite")
        return binary32(min(least, LARGEST), False)

    def in_leaves(self, tree, step_with):
        """A step in each leaf of a tree; then the hulls of its splits, from the innermost one out."""
        depth = len(self.stack)
        for step in tree:
            if not isinstance(step, Hints):
                self.step_split(*step)
                continue
            step_with(step)
            while len(self.stack) > depth and self.branch.other:
                half = self.stack.pop()
                self.hull([h for h in (half.other, half) if not h.empty])
            if len(self.stack) > depth:
                half = self.stack.pop()
                self.begin_half(*half.split[:3], False, half)

    def hull(self, halves):
        """The boxes that hold in both halves of a split; an empty one is not among them."""
        self.branch.empty |= not halves
        for node, box in list(self.branch.boxes.items()) if halves else ():
            if all(h.boxes[node] is not box for h in halves):
                self.narrow(node, {e: (min(lo for lo, _ in ends), max(hi for _, hi in ends)) for e, ends in enumerate(zip(*(h.boxes[node] for h in halves)))})

    # Back-substitution.

    def least(self, row, constant, hints):
        """A lower bound of the row over the region of the branch: back to the inputs, with multipliers for the open splits and the cuts."""
        for branch, beta in zip(self.stack[1:], hints.beta):
            require(beta >= 0, Rejected, "multiplier", "below 0")
            node, element, threshold, below = branch.split
            beta = Fraction(beta) if below else -Fraction(beta)
            constant -= beta * threshold
            if beta:
                add(row, node, element, beta)
        for (terms, bound), m in zip(self.branch.cuts, hints.cuts):
            require(m >= 0, Rejected, "multiplier", "below 0")
            constant += Fraction(m) * bound
            for node, element, coefficient in terms if m else ():
                add(row, node, element, -Fraction(m) * Fraction(coefficient))
        while row:
            node = max(row)
            constant += self.substitute(node, row.pop(node), row, hints)
        return constant

    def substitute(self, node, terms, row, hints):
        """Replaces the terms of one node by terms of its operands, which join `row`; returns the constant."""
        constant, box = ZERO, self.boxes(node)
        if self.nodes[node].op == "input" or self.ops.is_constant(node):
            return least_in(self.balls.get(node, ()), box, terms)
        forms, reads = self.ops.exact(node) or (None, ())
        for operand in reads:
            self.boxes(operand)
        for element, c in terms.items():
            if c:
                form, more = forms[element] if forms else self.line(node, element, c > 0, hints)
                constant += c * more
                for variable, factor in form:
                    add(row, *variable, c * factor)
        return constant

    def line(self, node, element, lower, hints):
        """A form below (lower) or above an element of a node that is not affine."""
        slopes = [Fraction(side[node][element]) if node in side else None for side in (hints.lower, hints.upper)]
        slope, form, op = slopes[0 if lower else 1], self.ops.is_linear(node, element, self.boxes), self.nodes[node].op
        if form is not None and (slope is None or op == "relu" or lower != (MAXIMA.get(op, 0) > 0) and op in MAXIMA):
            return form
        return self.ops.relax(node, element, self.boxes, self.boxes(node)[element], lower, slopes)

    # Conclusions.

    def step_define_hints(self, number, hints):
        require(all(number > k for k in self.branch.hints), Malformed, "certificate.hint", f"id {number}")
        self.branch.hints[number] = hints

    def step_conclude_with(self, cases, number, beta):
        require(number in self.branch.hints, Malformed, "certificate.hint", "an id that is not in force")
        named = self.branch.hints[number]
        self.step_conclude(cases, Hints(named.lower, named.upper, beta, named.cuts))

    def terms(self, row):
        """(node, element, coefficient) of a row of the property."""
        for (side, tensor, element), coefficient in row[0].items():
            yield (self.model.inputs, self.model.outputs)[side][tensor], element, coefficient

    def step_conclude(self, cases, hints):
        if self.branch.empty:
            return self.step_empty()
        for position, multipliers in cases:
            require(position < len(self.cases), Rejected, "conclude", f"case {position} of {len(self.cases)}")
            rows = self.property.cases[self.cases[position]][2]
            multipliers = multipliers or [1] * (len(rows) == 1)
            fits = len(multipliers) == len(rows) and min(multipliers, default=0) >= 0
            require(fits, Rejected, "multiplier", f"{multipliers} for {len(rows)} rows")
            total, constant, strict = {}, ZERO, False
            for row, m in zip(rows, map(Fraction, multipliers)):
                strict, constant = strict or row[2] and m > 0, constant - m * row[1]
                for node, element, coefficient in self.terms(row) if m else ():
                    add(total, node, element, m * coefficient)
            least = constant + sum(least_in((), self.boxes(node), terms) for node, terms in total.items())  # by the boxes
            if not (least > 0 or strict and least == 0):
                least = self.least(total, constant, hints)
            require(least > 0 or strict and least == 0, Rejected, "conclude", f"case {position}: the least value is {float(least)}")
            self.branch.refuted.add(position)

    def step_witness(self, number, texts):
        self.witnessed = True
        lo, hi, rows = self.property.cases[number] if number < len(self.property.cases) else ([], [], [])
        require(len(texts) == len(lo) > 0, Rejected, "witness", f"case {number}, {len(texts)} coordinates")
        require(all(len(t) <= 20000 and COORDINATE.fullmatch(t) for t in texts), Malformed, "certificate.value", "a coordinate")
        point = [Fraction(t.decode()) for t in texts]
        boxes, empty = self.input_boxes(point, point)
        inside = not empty and all(l <= v <= u for l, v, u in zip(lo, point, hi))
        require(inside, Rejected, "witness", "the point lies outside of the box")
        for node in range(len(self.nodes)):
            boxes[node] = boxes.get(node) or self.ops.image(node, boxes.__getitem__)
        for row in rows:
            value = sum((c * boxes[node][e][1 if c > 0 else 0] for node, e, c in self.terms(row)), ZERO)
            require(value < row[1] if row[2] else value <= row[1], Rejected, "witness", f"a row does not hold: {float(value)}")
