"""Certificate bytes (certificates/FORMAT.md): frames, and what records are made of."""
import math
import struct

from errors import Declined, Malformed

MOST = 1 << 24
TABLE = []
for entry in range(256):
    for _ in range(8):
        entry = entry >> 1 ^ (0x82F63B78 if entry & 1 else 0)
    TABLE.append(entry)


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ TABLE[(value ^ byte) & 255]
    return value ^ 0xFFFFFFFF


class Reader:
    def __init__(self, data, short="certificate.truncated"):
        self.data, self.place, self.short = data, 0, short

    def bytes(self, count):
        if count > len(self.data) - self.place:
            raise Malformed(self.short, f"byte {self.place}")
        self.place += count
        return self.data[self.place - count:self.place]

    def u8(self):
        return self.bytes(1)[0]

    def f32(self, code="certificate.hint"):
        value = struct.unpack("<f", self.bytes(4))[0]
        if math.isnan(value) or code and math.isinf(value):
            raise Malformed(code or "certificate.value", "a number that is not finite")
        return value

    def varint(self):
        value = shift = 0
        while True:
            byte = self.u8()
            value, shift = value | (byte & 127) << shift, shift + 7
            if byte < 128 and not (byte == 0 and shift > 7) and value < 1 << 64:
                return value
            if byte < 128 or shift > 63:
                raise Malformed("certificate.varint", f"byte {self.place}")

    def count(self, width=1):
        """A count whose entries follow one by one."""
        value = self.varint()
        if value * width > len(self.data) - self.place:
            raise Malformed("certificate.length", str(value))
        return value

    def check(self, start):
        expected = crc32c(self.data[start:self.place])
        if struct.unpack("<I", self.bytes(4))[0] != expected:
            raise Malformed("certificate.checksum", f"byte {self.place - 4}")


def read_certificate(data):
    """(digest, semantics, readers of the record frames)"""
    file, frames = Reader(data), []
    if file.bytes(5) != b"ASSAY" or file.u8() != 1:
        raise Malformed("certificate.magic")
    digest, semantics = file.bytes(32), file.bytes(file.u8())
    file.check(0)
    while True:
        start = file.place
        kind, length = file.u8(), file.varint()
        if kind not in (1, 2) or length > 1 << 30:
            raise Malformed("certificate.frame", f"type {kind}")
        payload = Reader(file.bytes(length), "certificate.frame")
        file.check(start)
        if kind == 2:
            if payload.varint() != len(frames) or payload.place != length or file.place != len(data):
                raise Malformed("certificate.frame", "end frame")
            return digest, semantics, frames
        frames.append(payload)


class Hints:
    def __init__(self):
        self.lower, self.upper, self.beta = {}, {}, []


class Decoder:
    """Hints, cases and arrays of records; `force` holds the named hints in force."""

    def __init__(self, nodes):
        self.nodes, self.force, self.values = nodes, {}, 0

    def node(self, reader):
        number = reader.varint()
        if number >= len(self.nodes):
            raise Malformed("certificate.value", f"node {number}")
        return number

    def array(self, reader, most, exact=False, base_of=None):
        count = reader.varint()
        self.values += count
        if count > most or exact and count != most:
            raise Malformed("certificate.hint", f"{count} values, not {most}")
        if self.values > MOST:
            raise Declined("certificate.memory")
        kind = reader.u8() if count else 3
        if kind == 0:
            return [reader.f32()] * count
        if kind == 1:
            bits = reader.bytes((count + 7) // 8)
            return [float(bits[i // 8] >> i % 8 & 1) for i in range(count)]
        if kind in (2, 3):
            return [reader.u8() / 128 if kind == 2 else reader.f32() for _ in range(count)]
        base = reader.varint()
        if kind not in (4, 5) or base and (base_of is None or base - 1 not in self.force):
            raise Malformed("certificate.hint", f"kind {kind}, base {base}")
        values, place = list(base_of(self.force[base - 1])) if base else [0.0] * count, -1
        for _ in range(reader.count(2)):
            place += 1 + reader.varint()
            if place >= count:
                raise Malformed("certificate.hint", "an entry outside")
            values[place:place + 1] = [reader.u8() / 128 if kind == 4 else reader.f32()]
        if len(values) != count:
            raise Malformed("certificate.hint", "a base of another count")
        return values

    def slopes(self, reader, side):
        result, last = {}, -1
        for _ in range(reader.count(2)):
            node = self.node(reader)
            if node <= last:
                raise Malformed("certificate.hint", "nodes do not ascend")
            last = node
            result[node] = self.array(reader, self.nodes[node].size, True, lambda h, n=node: getattr(h, side).get(n, []))
        return result

    def hints(self, reader, flags, splits):
        hints = Hints()
        for bit, side in enumerate(("lower", "upper")):
            if flags >> bit & 1:
                setattr(hints, side, self.slopes(reader, side))
        if flags & 4:
            hints.beta = self.array(reader, splits, False, lambda h: h.beta)
        return hints

    def cases(self, reader, group):
        """{position: multipliers or None}"""
        head = reader.varint()
        if head >> 1 > (len(group) if head & 1 else len(reader.data) - reader.place):
            raise Malformed("certificate.length", f"{head >> 1} cases")
        if head & 1:
            return [(p, None) for p in range(head >> 1)]
        result = []
        for _ in range(head >> 1):
            entry = reader.varint()
            if entry >> 1 >= len(group):
                raise Malformed("certificate.value", f"case {entry >> 1}")
            result.append((entry >> 1, self.array(reader, 1 << 20) if entry & 1 else None))
        return result
