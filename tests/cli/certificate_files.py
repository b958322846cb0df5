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
