"""Writes traces: recorded runs, as docs/reference/trace-format.md describes them."""
from __future__ import annotations

import json
import struct
import zlib
from typing import Any, Iterable

# Element types of traces, and their bytes.
CODES = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8",
         "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8", "bool": "BOOL", "complex64": "C64"}


def spelled(node: dict[str, Any]) -> dict[str, Any]:
    """Infinities among a node's attributes by name: they are no numbers of JSON."""
    ends = {key: str(one) for key, one in node.get("attributes", {}).items() if isinstance(one, float) and one - one != 0}
    return node | {"attributes": node["attributes"] | ends} if ends else node


class Trace:
    """Tensors bit for bit, and how they hang together. Every tensor is given, or the result of one region.

    Names are the caller's; `fresh` makes one that is not taken. Bytes are little endian, dense and row-major.
    """

    def __init__(self, writer: str, models: dict[str, str] | None = None) -> None:
        self.writer = writer
        self.models = dict(models or {})
        self.regions: list[dict[str, Any]] = []
        self.vjps: list[dict[str, Any]] = []
        self.gradients: list[dict[str, Any]] = []
        self.tangents: list[dict[str, Any]] = []
        self.inputs: list[str] = []
        self.parameters: list[str] = []
        self.outputs: list[str] = []
        self.detached: list[str] = []
        self.opaque: list[dict[str, Any]] = []
        self._tensors: dict[str, tuple[str, tuple[int, ...], bytes | memoryview]] = {}

    def fresh(self, name: str) -> str:
        count, full = 1, name
        while full in self._tensors:
            count += 1
            full = f"{name}#{count}"
        return full

    def add(self, name: str, dtype: str, shape: Iterable[int], data: bytes | memoryview) -> str:
        """A tensor; `dtype` is a key of CODES. What `data` shows of other memory is read by `to_bytes`."""
        if name in self._tensors:
            raise ValueError(f"a second tensor has the name '{name}'; give each tensor a name of its own")
        self._tensors[name] = (CODES[dtype], tuple(int(n) for n in shape), data)
        return name

    def given(self, name: str, dtype: str, shape: Iterable[int], data: bytes, *, parameter: bool = False) -> str:
        (self.parameters if parameter else self.inputs).append(self.add(name, dtype, shape, data))
        return name

    def region(self, name: str, model: str, operands: list[str], results: list[str], nodes: list[dict[str, Any]],
               outputs: list[int] | None = None) -> int:
        """Adds what ran as one; gives its number. Without `outputs` the last nodes are the results."""
        region: dict[str, Any] = {"name": name, "model": model, "operands": operands, "results": results, "nodes": [spelled(one) for one in nodes]}
        if outputs is not None:
            region["outputs"] = outputs
        self.regions.append(region)
        return len(self.regions) - 1

    def to_bytes(self) -> bytes:
        return b"".join(self.parts())

    def parts(self) -> list[bytes | memoryview]:
        """The same bytes in pieces, which are not copied."""
        header: dict[str, Any] = {}
        crc: dict[str, int] = {}
        at = 0
        for name, (code, shape, data) in self._tensors.items():
            header[name] = {"dtype": code, "shape": list(shape), "data_offsets": [at, at + len(data)]}
            crc[name] = zlib.crc32(data)
            at += len(data)
        trace = {"version": 1, "writer": self.writer, "models": self.models, "inputs": self.inputs, "parameters": self.parameters,
                 "outputs": self.outputs, "regions": self.regions, "vjps": self.vjps, "gradients": self.gradients, "tangents": self.tangents, "detached": self.detached,
                 "opaque": self.opaque,
                 "crc32": crc}
        text = json.dumps({"__metadata__": {"assay.trace": json.dumps(trace)}, **header}).encode()
        return [struct.pack("<Q", len(text)), text, *(data for _, _, data in self._tensors.values())]
