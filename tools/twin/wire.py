"""What the twin says - malformed (exit 4), rejected (exit 1), declined (exit 3) - and bytes: files, and the numbers that certificates and protobuf have in common."""
import gzip
import io
import os
import struct


class Refusal(Exception):
    status, word = 1, "rejected"

    def __init__(self, code, message=""):
        super().__init__(f"{code}: {message}" if message else code)
        self.code = code


class Malformed(Refusal):
    status = 4


class Rejected(Refusal):
    pass


class Declined(Refusal):
    status, word = 3, "declined"


def require(condition, kind, code, message=""):
    if not condition:
        raise kind(code, message)


class Reader:
    """`short` is the code of bytes that end too soon or are no number."""

    def __init__(self, data, short):
        self.data, self.place, self.short = data, 0, short

    def left(self):
        return len(self.data) - self.place

    def bytes(self, count):
        require(count <= self.left(), Malformed, self.short, f"byte {self.place}")
        self.place += count
        return self.data[self.place - count:self.place]

    def number(self, code):
        return struct.unpack("<" + code, self.bytes(struct.calcsize("<" + code)))[0]

    def varint(self):
        value, shift, byte = 0, 0, 128
        while byte > 127:
            require(shift < 64, Malformed, self.short, f"byte {self.place}")
            byte = self.number("B")
            value, shift = value | (byte & 127) << shift, shift + 7
        return value


def read_bytes(path):
    with open(path if os.path.exists(path) else path + ".gz", "rb") as file:
        data = file.read()
    return gzip.GzipFile(fileobj=io.BytesIO(data)).read(1 << 30) if data[:2] == b"\x1f\x8b" else data
