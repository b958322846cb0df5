"""The graph, its index maps and its canonical bytes (docs/canonical-graph.md)."""
import hashlib
import itertools
import math
import struct
from dataclasses import dataclass, field
from fractions import Fraction

from errors import Malformed
from onnx_file import CODES

DTYPES = [t for t in CODES if t != "float16"]
FLOATS = ("float32", "float64")
WIDTHS = {t: 8 * struct.calcsize("<" + c) for t, c in CODES.items() if c in "qibhBHIQ"}
RANGES = {t: (-(1 << w - 1), (1 << w - 1) - 1) if t[0] == "i" else (0, (1 << w) - 1) for t, w in WIDTHS.items()} | {"bool": (0, 1)}


@dataclass
class Node:
    op: str
    operands: list
    attributes: dict
    dtype: str
    shape: tuple
    values: list = None          # constants: Python numbers, row-major
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
    if any(len(e) > 1 for e in extents):
        raise Malformed("onnx.shape", f"{shapes} do not broadcast")
    return tuple(e.pop() if e else 1 for e in extents)


def broadcast_map(shape, result):
    """For every element of `result` the element of `shape` that it repeats."""
    strides = [0] * (len(result) - len(shape)) + [0 if extent == 1 else s for extent, s in zip(shape, strides_of(shape))]
    return [flat(index, strides) for index in indices_of(result)]


def layout_map(op, a, shapes, shape):
    """For every element of the result: (operand, element), or None for padding."""
    x, strides = shapes[0], strides_of(shapes[0])
    if op == "reshape":
        return [(0, e) for e in range(math.prod(x))]
    if op == "expand":
        return [(0, e) for e in broadcast_map(x, shape)]
    if op == "permute":
        places = ([i[a["axes"].index(k)] for k in range(len(x))] for i in indices_of(shape))
    elif op == "slice":
        places = ([b + k * s for k, b, s in zip(i, a["starts"], a["steps"])] for i in indices_of(shape))
    elif op == "pad":
        places = ([k - b for k, b in zip(i, a["before"])] for i in indices_of(shape))
    elif op == "gather":
        axis, rank, inner = a["axis"], len(a["index_shape"]), strides_of(a["index_shape"])
        places = (i[:axis] + (a["indices"][flat(i[axis:axis + rank], inner)],) + i[axis + rank:] for i in indices_of(shape))
    else:
        axis, every = a["axis"], [strides_of(s) for s in shapes]
        source = [(number, k) for number, part in enumerate(shapes) for k in range(part[axis])]
        found = ((*source[i[axis]], i) for i in indices_of(shape))
        return [(number, flat(i[:axis] + (k,) + i[axis + 1:], every[number])) for number, k, i in found]
    return [(0, flat(i, strides)) if all(0 <= k < d for k, d in zip(i, x)) else None for i in places]


LAYOUT = ("reshape", "expand", "permute", "slice", "pad", "gather", "concat")
WINDOW = "l:kernel l:strides l:dilations l:pads_begin l:pads_end l:output_padding i:groups b:count_include_pad b:ceil_mode"
FIELDS = {
    "reshape": "l:shape", "expand": "l:shape", "permute": "l:axes", "slice": "l:starts l:steps l:extents", "concat": "i:axis",
    "pad": "l:before l:after d:value", "gather": "i:axis l:indices l:index_shape", "gemm": "d:alpha d:beta b:transpose_a b:transpose_b",
    "batch_norm": "d:epsilon", "leaky_relu": "d:slope", "clip": "d:lo d:hi", "pow": "r:exponent", "softmax": "i:axis",
    **dict.fromkeys(("conv", "max_pool", "avg_pool"), WINDOW), **dict.fromkeys(("elu", "selu", "celu", "hard_sigmoid"), "d:alpha d:beta"),
    **dict.fromkeys(("reduce_sum", "reduce_mean", "reduce_max", "reduce_min"), "l:axes b:keep_dims"),
}


def number(value):
    return struct.pack("<q", value)


def text(value):
    return number(len(value)) + value.encode("ascii")


def listing(values, encode=number):
    return number(len(values)) + b"".join(map(encode, values))


def rational(value):
    return text(str(Fraction(value)))


ENCODE = {"l": listing, "i": number, "b": lambda v: bytes([bool(v)]), "d": lambda v: struct.pack("<d", v), "r": rational}


def graph_bytes(nodes, inputs, outputs):
    parts = [text("assay graph 1"), number(len(nodes))]
    for node in nodes:
        parts += [text(node.op), listing(node.operands)] + [ENCODE[f[0]](node.attributes[f[2:]]) for f in FIELDS.get(node.op, "").split()]
        parts += [bytes([DTYPES.index(node.dtype)]), listing(node.shape)]
        if node.op == "constant":
            parts.append(struct.pack(f"<{node.size}{CODES[node.dtype]}", *node.values))
    return b"".join(parts + [listing(inputs), listing(outputs)])


def row_bytes(row):
    terms, bound, strict = row
    places = b"".join(b"".join(map(number, place)) + rational(c) for place, c in sorted(terms.items()))
    return number(len(terms)) + places + rational(bound) + number(int(strict))


def statement_bytes(graph_digest, cases):
    """`cases`: (lower bounds, upper bounds, rows); a row: (terms {(side, tensor, element): coefficient}, bound, strict)."""
    parts = [hashlib.sha256(listing(lo, rational) + listing(hi, rational)).digest() + listing(rows, row_bytes) for lo, hi, rows in cases]
    model = b"".join(map(number, (0, 0, 0, 0, 0, 1, 0, 1))) + text("")       # real arithmetic
    return text("assay statement 1") + graph_digest + number(len(cases)) + b"".join(parts) + model
