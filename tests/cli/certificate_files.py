"""Frames of certificates, byte by byte (certificates/FORMAT.md, section 1)."""
from onnx_files import varint


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return (crc ^ 0xFFFFFFFF).to_bytes(4, "little")


def frame(kind, payload):
    body = bytes([kind]) + varint(len(payload)) + payload
    return body + crc32c(body)


def header_size(certificate):
    return 6 + 32 + 1 + certificate[38]


def with_digest(certificate, digest):
    """The same records under another header."""
    size = header_size(certificate)
    head = certificate[:6] + digest + certificate[38:size]
    return head + crc32c(head) + certificate[size + 4:]


def with_records(certificate, payload):
    """The same header before other records."""
    return certificate[:header_size(certificate) + 4] + frame(1, payload) + frame(2, b"\x01")
