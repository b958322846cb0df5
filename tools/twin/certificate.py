"""Certificate bytes (certificates/FORMAT.md): frames, then records one by one."""
import math
import struct

from errors import Declined, Malformed


def crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = crc_table()


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

    def f32(self, finite=False):
        value = struct.unpack("<f", self.bytes(4))[0]
        if math.isnan(value) or finite and math.isinf(value):
            raise Malformed("certificate.hint" if finite else "certificate.value", "a number that is not finite")
        return value

    def varint(self, limit=1 << 64, code="certificate.value"):
        value = shift = 0
        while True:
            byte = self.u8()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
            if shift > 63:
                raise Malformed("certificate.varint", f"byte {self.place}")
        if byte == 0 and shift > 7 or value >= 1 << 64:
            raise Malformed("certificate.varint", f"byte {self.place}")
        if value >= limit:
            raise Malformed(code, f"{value} at byte {self.place}")
        return value

    def count(self, width=1):
        """A count whose entries follow one by one."""
        value = self.varint()
        if value * width > len(self.data) - self.place:
            raise Malformed("certificate.length", str(value))
        return value


def read_certificate(data):
    """(digest, semantics, readers of the record frames)."""
    file = Reader(data)
    if file.bytes(5) != b"ASSAY":
        raise Malformed("certificate.magic")
    if file.u8() != 1:
        raise Malformed("certificate.version")
    digest = file.bytes(32)
    semantics = file.bytes(file.u8())
    check(file, 0)
    frames = []
    while True:
        start = file.place
        kind, length = file.u8(), file.varint()
        if kind not in (1, 2):
            raise Malformed("certificate.frame", f"type {kind}")
        if length > 1 << 30:
            raise Malformed("certificate.length", str(length))
        payload = Reader(file.bytes(length), "certificate.frame")
        check(file, start)
        if kind == 1:
            frames.append(payload)
            continue
        if payload.varint() != len(frames) or payload.place != length or file.place != len(data):
            raise Malformed("certificate.frame", "end frame")
        return digest, semantics, frames


def check(file, start):
    expected = crc32c(file.data[start:file.place])
    if struct.unpack("<I", file.bytes(4))[0] != expected:
        raise Malformed("certificate.checksum", f"byte {file.place - 4}")


class Hints:
    def __init__(self):
        self.lower, self.upper, self.beta = {}, {}, []


MOST = 1 << 24


class Decoder:
    """Hints and arrays of records; `sizes` gives the elements of each node, `force` the named hints in force."""

    def __init__(self, nodes):
        self.nodes, self.force, self.values = nodes, {}, 0

    def node(self, reader):
        number = reader.varint(1 << 32)
        if number >= len(self.nodes):
            raise Malformed("certificate.hint", f"node {number}")
        return number

    def array(self, reader, most, base_of=None):
        count = reader.varint()
        if count == 0:
            return []
        if count > most:
            raise Malformed("certificate.hint", f"{count} values")
        self.values += count
        if self.values > MOST:
            raise Declined("certificate.memory")
        kind = reader.u8()
        if kind == 0:
            return [reader.f32(True)] * count
        if kind == 1:
            bits = reader.bytes((count + 7) // 8)
            return [float(bits[i // 8] >> i % 8 & 1) for i in range(count)]
        if kind == 2:
            return [b / 128 for b in reader.bytes(count)]
        if kind == 3:
            return [reader.f32(True) for _ in range(count)]
        if kind not in (4, 5):
            raise Malformed("certificate.hint", f"kind {kind}")
        base = reader.varint()
        values = [0.0] * count
        if base:
            if base_of is None or base - 1 not in self.force:
                raise Malformed("certificate.hint", f"base {base}")
            values = list(base_of(self.force[base - 1]))
            if len(values) != count:
                raise Malformed("certificate.hint", "a base of another count")
        place = -1
        for _ in range(reader.count(2)):
            place += 1 + reader.varint()
            if place >= count:
                raise Malformed("certificate.hint", "an entry outside")
            values[place] = reader.u8() / 128 if kind == 4 else reader.f32(True)
        return values

    def slopes(self, reader, side):
        result, last = {}, -1
        for _ in range(reader.count(2)):
            node = self.node(reader)
            if node <= last:
                raise Malformed("certificate.hint", "nodes do not ascend")
            last, size = node, self.nodes[node].size
            result[node] = self.array(reader, size, lambda h, n=node: getattr(h, side).get(n, []))
            if len(result[node]) != size:
                raise Malformed("certificate.hint", f"{len(result[node])} slopes for node {node}")
        return result

    def hints(self, reader, flags, splits):
        hints = Hints()
        if flags & 1:
            hints.lower = self.slopes(reader, "lower")
        if flags & 2:
            hints.upper = self.slopes(reader, "upper")
        if flags & 4:
            hints.beta = self.array(reader, splits, lambda h: h.beta)
        return hints

    def cases(self, reader, group):
        """{position: multipliers or None}"""
        head = reader.varint()
        if head & 1:
            if head >> 1 > len(group):
                raise Malformed("certificate.length", f"{head >> 1} cases")
            return {p: None for p in range(head >> 1)}
        result = {}
        if head >> 1 > len(reader.data) - reader.place:
            raise Malformed("certificate.length", f"{head >> 1} cases")
        for _ in range(head >> 1):
            entry = reader.varint()
            if entry >> 1 >= len(group):
                raise Malformed("certificate.value", f"case {entry >> 1}")
            result[entry >> 1] = self.array(reader, 1 << 20) if entry & 1 else None
        return result
