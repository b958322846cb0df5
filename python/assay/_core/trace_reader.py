"""Reads traces back."""
from __future__ import annotations

import json
import struct
from typing import Any

from .arrays import Bits
from .trace_writer import CODES

_DTYPES = {code: name for name, code in CODES.items()}


def read_trace(data: bytes) -> tuple[dict[str, Any], dict[str, Bits]]:
    """The JSON of a trace (docs/reference/trace-format.md), and its tensors by name."""
    size, = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + size])
    trace: dict[str, Any] = json.loads(header.pop("__metadata__")["assay.trace"])
    start = 8 + size
    return trace, {name: Bits(_DTYPES[one["dtype"]], tuple(one["shape"]), data[start + one["data_offsets"][0]:start + one["data_offsets"][1]])
                   for name, one in header.items()}
