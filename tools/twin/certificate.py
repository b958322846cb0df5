"""Certificate bytes (certificates/FORMAT.md): frames, and the fields of records."""
import math
import struct

from wire import Declined, Malformed, require
from wire import Reader

MOST, SPLITS = 1 << 24, range(10, 13)
TABLE = []
for entry in range(256):
    for _ in range(8):
        entry = entry >> 1 ^ (0x82F63B78 if entry & 1 else 0)
    TABLE.append(entry)
# By type: the name of a record and its fields: methods of Records, or numbers by their code of one letter.
RECORDS = [record.split() for record in (
    "-, begin_group varint, end_group, sweep B node, box node, tighten tightening, define_hints varint hints, conclude cases hints, "
    "conclude_with cases varint beta, empty, split node varint, split node varint f, split node varint d, next, done, witness varint texts, tighten_by_cases by_cases, "
    "cut terms tree, boxes node").split(", ")]


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ TABLE[(value ^ byte) & 255]
    return value ^ 0xFFFFFFFF


class Hints:
    def __init__(self, lower=None, upper=None, beta=(), cuts=()):
        self.lower, self.upper, self.beta, self.cuts = lower or {}, upper or {}, beta, cuts


class Records(Reader):
    """The bytes of a frame. What the fields refer to is in `context`: the nodes of the graph, the open splits, the cases of the group, the named hints and the cuts in force;
    `inside`: the splits open in a tree."""

    context, values, inside = None, 0, 0

    def varint(self):
        start, value = self.place, super().varint()
        require(value < 1 << 64 and (self.data[self.place - 1] or self.place == start + 1), Malformed, "certificate.varint", f"byte {start}")
        return value

    def records(self, context):
        """The name of each record, and a function that reads its fields."""
        self.context = context
        while self.left():
            kind = self.number("B")
            require(0 < kind < len(RECORDS), Malformed, "certificate.record", f"type {kind}")
            self.values = 0
            yield RECORDS[kind][0], lambda kind=kind: self.fields(kind)

    def fields(self, kind):
        return [self.number(field) if len(field) == 1 else getattr(self, field)() for field in RECORDS[kind][1:]]

    def check(self, start):
        expected = crc32c(self.data[start:self.place])
        require(self.number("I") == expected, Malformed, "certificate.checksum", f"byte {self.place - 4}")

    def count(self, width=1):
        """A count whose entries follow one by one."""
        value = self.varint()
        require(value * width <= self.left(), Malformed, "certificate.length", str(value))
        return value

    def number(self, code):
        value = super().number(code)
        require(math.isfinite(value), Malformed, "certificate.value", str(value))
        return value

    def node(self):
        number = self.varint()
        require(number < len(self.context.nodes), Malformed, "certificate.value", f"node {number}")
        return number

    def array(self, most, exact=False, base_of=None):
        """`base_of` finds the same array among hints in force."""
        count = self.varint()
        self.values += count
        require(count <= most and (count == most or not exact), Malformed, "certificate.hint", f"{count} values, not {most}")
        require(self.values <= MOST, Declined, "certificate.memory")
        kind = self.number("B") if count else 3
        require(kind <= 5, Malformed, "certificate.hint", f"kind {kind}")
        if kind == 0:
            return [self.number("f")] * count
        if kind == 1:
            bits = self.bytes((count + 7) // 8)
            return [bits[i // 8] >> i % 8 & 1 for i in range(count)]
        read = lambda: self.number("f") if kind in (3, 5) else self.number("B") / 128
        if kind < 4:
            return [read() for _ in range(count)]
        base, named = self.varint(), self.context.branch.hints
        require(not base or base_of and base - 1 in named, Malformed, "certificate.hint", f"base {base}")
        values, place = list(base_of(named[base - 1])) if base else [0.0] * count, -1
        require(len(values) == count, Malformed, "certificate.hint", "a base of another count")
        for _ in range(self.count(2)):
            place += 1 + self.varint()
            require(place < count, Malformed, "certificate.hint", "an entry outside")
            values[place] = read()
        return values

    def slopes(self, side):
        result = {}
        for _ in range(self.count(2)):
            node = self.node()
            require(all(node > before for before in result), Malformed, "certificate.hint", "nodes do not ascend")
            result[node] = self.array(self.context.nodes[node].size, True, lambda hints, node=node: getattr(hints, side).get(node, []))
        return result

    def beta(self):
        return self.array(len(self.context.stack) - 1 + self.inside, False, lambda hints: hints.beta)

    def cuts(self):
        return self.array(len(self.context.branch.cuts), False, lambda hints: hints.cuts)

    def hints(self, flags=None):
        if flags is None:
            flags = self.number("B")
            require(not flags & ~135, Malformed, "certificate.value", f"flags {flags}")
        lower, upper = [self.slopes(side) if flags >> bit & 1 else None for bit, side in enumerate(("lower", "upper"))]
        return Hints(lower, upper, self.beta() if flags & 4 else (), self.cuts() if flags & 128 else ())

    def selection(self, allowed):
        """(flags, node, selection: 0 unstable or 1 all or 2 the mask's, mask)"""
        node, flags = self.node(), self.number("B")
        size, selection = self.context.nodes[node].size, flags >> 3 & 3
        require(not flags & ~allowed and selection < 3, Malformed, "certificate.value", f"flags {flags}")
        return flags, node, selection, self.array(size, True) if selection == 2 else [1] * size

    def tightening(self):
        """(node, selection, mask, hints, rounded, claims)"""
        flags, *selected = self.selection(255)
        hints, claims = self.hints(flags & 135), None
        if flags & 32:
            count = self.count(8)
            ends = struct.unpack(f"<{2 * count}f", self.bytes(8 * count))
            require(not any(map(math.isnan, ends)), Malformed, "certificate.value", "NaN")
            claims = list(zip(ends[:count], ends[count:]))
        return *selected, hints, bool(flags & 64), claims

    def by_cases(self):
        """(node, selection, mask, rounded, tree)"""
        flags, *selected = self.selection(88)
        return *selected, bool(flags & 64), self.tree()

    def tree(self):
        """In preorder the fields of splits, and the hints of leaves."""
        tree, ahead = [], [0]
        while ahead:
            self.inside, kind = ahead.pop(), self.number("B")
            require(len(tree) < 1 << 16, Malformed, "certificate.length", "a tree")
            require(not kind or kind in SPLITS, Malformed, "certificate.record", f"type {kind} in a tree")
            tree.append(self.fields(kind) if kind else self.hints())
            ahead += [self.inside + 1] * 2 if kind else []
        self.inside = 0
        return tree

    def terms(self):
        """(node, element, coefficient) of a cut; each counts as three values of an array."""
        count = self.count(6)
        self.values += 3 * count
        require(self.values <= MOST, Declined, "certificate.memory")
        return [(self.node(), self.varint(), self.number("f")) for _ in range(count)]

    def cases(self):
        """[(position, multipliers or None)]"""
        head = self.varint()
        require(head >> 1 <= (len(self.context.cases) if head & 1 else self.left()), Malformed, "certificate.length", f"{head >> 1} cases")
        entries = (2 * position for position in range(head >> 1)) if head & 1 else (self.varint() for _ in range(head >> 1))
        return [(entry >> 1, self.array(1 << 20) if entry & 1 else None) for entry in entries]

    def texts(self):
        return [self.bytes(self.count()) for _ in range(self.count())]


def read_certificate(data):
    """(digest, semantics, the record frames)"""
    file, frames = Records(data, "certificate.truncated"), []
    require(file.bytes(5) == b"ASSAY" and file.number("B") == 1, Malformed, "certificate.magic")
    digest, semantics = file.bytes(32), file.bytes(file.number("B"))
    file.check(0)
    while True:
        start = file.place
        kind, length = file.number("B"), file.varint()
        require(kind in (1, 2) and length <= 1 << 30, Malformed, "certificate.frame", f"type {kind}")
        payload = Records(file.bytes(length), "certificate.frame")
        file.check(start)
        if kind == 2:
            ended = payload.varint() == len(frames) and not payload.left() and not file.left()
            require(ended, Malformed, "certificate.frame", "end frame")
            return digest, semantics, frames
        frames.append(payload)
