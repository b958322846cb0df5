"""The graph, its index maps, and the canonical bytes of graphs and statements (docs/reference/canonical-graph.md)."""
import hashlib
import itertools
import json
import math
import pathlib
import struct
from dataclasses import dataclass, field
from fractions import Fraction

from wire import Malformed, require

CODES = {"float32": "f", "float64": "d", "int64": "q", "int32": "i", "uint8": "B", "int8": "b", "bool": "?", "complex64": "_", "int16": "h",
         "uint16": "H", "uint32": "I", "uint64": "Q"}
DTYPES = list(CODES)
FLOATS = ("float32", "float64")
WIDTHS = {t: 8 * struct.calcsize("<" + c) for t, c in CODES.items() if "int" in t}
RANGES = {t: (-(1 << w - 1), (1 << w - 1) - 1) if t[0] == "i" else (0, (1 << w) - 1) for t, w in WIDTHS.items()} | {"bool": (0, 1)}


@dataclass
class Node:
    op: str
    operands: list                # numbers of nodes
    attributes: dict
    dtype: str
    shape: tuple
    values: list = None           # constants: Python numbers, row-major
    number: int = None            # None: not in the graph
    users: list = field(default_factory=list)

    def __post_init__(self):
        self.size = math.prod(self.shape)


def strides_of(shape):
    return [math.prod(shape[k + 1:]) for k in range(len(shape))]


def indices_of(shape):
    return itertools.product(*map(range, shape))


def flat(index, strides):
    return sum(i * s for i, s in zip(index, strides))


def broadcast(*shapes):
    rank = max(map(len, shapes))
    extents = [{d for d in axis if d != 1} for axis in zip(*[(1,) * (rank - len(s)) + tuple(s) for s in shapes])]
    require(all(len(e) < 2 for e in extents), Malformed, "onnx.shape", f"{shapes} do not broadcast")
    return tuple(e.pop() if e else 1 for e in extents)


def broadcast_strides(shape, rank):
    return [0] * (rank - len(shape)) + [0 if extent == 1 else s for extent, s in zip(shape, strides_of(shape))]


def broadcast_map(shape, result):
    """For every element of `result` the element of `shape` that it repeats."""
    strides = broadcast_strides(shape, len(result))
    return [flat(index, strides) for index in indices_of(result)]


LAYOUT = ("reshape", "permute", "expand", "concat", "slice", "pad", "gather")


def layout_map(op, a, shapes, shape):
    """For every element of the result: (operand, element), or None for padding."""
    x, strides, chosen = shapes[0], strides_of(shapes[0]), [range(d) for d in shapes[0]]
    if op == "concat":
        blocks = [math.prod(s[a["axis"]:]) for s in shapes]
        return [(place, k * block + e) for k in range(math.prod(x[:a["axis"]])) for place, block in enumerate(blocks) for e in range(block)]
    if op == "permute":
        strides, chosen, x = [strides[k] for k in a["axes"]], [range(d) for d in shape], shape
    elif op == "slice":
        chosen = [range(b, b + n * s, s) for b, n, s in zip(a["starts"], a["extents"], a["steps"])]
    elif op == "pad":
        chosen = [range(-b, d + e) for b, d, e in zip(a["before"], x, a["after"])]
    elif op == "gather":
        chosen[a["axis"]] = a["indices"]
    elif op == "expand":
        return [(0, e) for e in broadcast_map(x, shape)]
    return [(0, flat(i, strides)) if all(0 <= k < d for k, d in zip(i, x)) else None for i in itertools.product(*chosen)]


# The operations by name: the form of their attributes, and the operator of ONNX that is the same, with its numbers.
OPERATIONS = json.loads(pathlib.Path(__file__).with_name("ops.json").read_text())
# The fields of each form: lists, integers, bits, doubles, rationals.
FIELDS = {
    "Shape": "l:shape", "Permute": "l:axes", "Slice": "l:starts l:steps l:extents", "Concat": "i:axis", "Pad": "l:before l:after d:value",
    "Gather": "i:axis l:indices l:index_shape", "Gemm": "d:alpha d:beta b:transpose_a b:transpose_b", "BatchNorm": "d:epsilon", "LeakyRelu": "d:slope",
    "Clip": "d:lo d:hi", "Pow": "r:exponent", "Softmax": "i:axis", "Activation": "d:alpha d:beta", "Reduce": "l:axes b:keep_dims",
    "Window": "l:kernel l:strides l:dilations l:pads_begin l:pads_end l:output_padding i:groups b:count_include_pad b:ceil_mode",
}


def fields_of(op):
    return FIELDS.get(OPERATIONS[op]["attributes"], "").split() if op in OPERATIONS else []


def number(value):
    return struct.pack("<q", value)


def text(value):
    return number(len(value)) + value.encode("ascii")


def listing(values, encode=number):
    return number(len(values)) + b"".join(map(encode, values))


def rational(value):
    return text(str(Fraction(value)))


ENCODE = {"l": listing, "i": number, "b": lambda v: bytes([bool(v)]), "d": lambda v: struct.pack("<d", v), "r": rational}


def node_bytes(node):
    parts = [text(node.op), listing(node.operands)] + [ENCODE[f[0]](node.attributes[f[2:]]) for f in fields_of(node.op)]
    values = struct.pack(f"<{node.size}{CODES[node.dtype]}", *node.values) if node.op == "constant" else b""
    return b"".join(parts) + bytes([DTYPES.index(node.dtype)]) + listing(node.shape) + values


def row_bytes(row):
    terms, bound, strict = row
    places = b"".join(b"".join(map(number, place)) + rational(c) for place, c in sorted(terms.items()))
    return number(len(terms)) + places + rational(bound) + number(int(strict))


class Statement:
    """`cases`: (lower bounds, upper bounds, rows); a row: (terms {(side, tensor, element): coefficient}, bound, strict)."""

    def __init__(self, model, cases):
        self.graph = text("assay graph 1") + listing(model.nodes, node_bytes) + listing(model.inputs) + listing(model.outputs)
        self.graph_digest, boxes = hashlib.sha256(self.graph).digest(), [listing(lo, rational) + listing(hi, rational) for lo, hi, _ in cases]
        rows, first, kind = [listing(rows, row_bytes) for _, _, rows in cases], list(dict.fromkeys(boxes)), struct.pack("<8q", 0, 0, 0, 0, 0, 1, 0, 1) + text("")
        parts = [hashlib.sha256(box).digest() + row for box, row in zip(boxes, rows)]
        self.bytes = text("assay statement 1") + self.graph_digest + listing(parts, bytes) + kind
        parts = [number(first.index(box)) + row for box, row in zip(boxes, rows)]
        self.file = text("assay statement file 1") + self.graph + listing(first, bytes) + listing(parts, bytes) + kind
        self.digest = hashlib.sha256(self.bytes).digest()
