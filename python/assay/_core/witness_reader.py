"""Reads the witness of a certificate, in the bytes of certificates/FORMAT.md."""
from __future__ import annotations

import fractions
from typing import Optional

from assay import errors


def read_witness(data: bytes) -> Optional[tuple[int, list[fractions.Fraction]]]:
    """The case and the point of the witness that a certificate ends with, or None. Nothing of it is checked."""
    try:
        at, payload = 38 + data[38] + 5, b""
        while data[:6] == b"ASSAY\x01" and data[at] == 1:
            length, at = _varint_at(data, at + 1)
            payload, at = data[at:at + length], at + length + 4
    except IndexError:
        raise errors.wrong("data", "the bytes of a certificate", data[:20]) from None
    starts = (at for at in range(len(payload)) if payload[at] == 15 and (at == 0 or payload[at - 1] == 2))  # behind the end of a group
    return next(filter(None, (_witness_at(payload, at + 1) for at in starts)), None)


def _varint_at(data: bytes, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        value, shift, at = value | (data[at] & 127) << shift, shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def _witness_at(payload: bytes, at: int) -> Optional[tuple[int, list[fractions.Fraction]]]:
    point = []
    try:
        case, at = _varint_at(payload, at)
        count, at = _varint_at(payload, at)
        for _ in range(count):
            length, at = _varint_at(payload, at)
            point.append(fractions.Fraction(payload[at:at + length].decode("ascii")))
            at += length
    except (IndexError, ValueError):
        return None
    return (case, point) if at == len(payload) else None
