"""The graph, its index maps and its canonical bytes (docs/canonical-graph.md)."""
import hashlib
import itertools
import math
import struct
from dataclasses import dataclass, field
from fractions import Fraction

from errors import Declined

DTYPES = ["float32", "float64", "int64", "int32", "uint8", "int8", "bool", "complex64", "int16", "uint16", "uint32", "uint64"]
FORMATS = dict(zip(DTYPES, "f d q i B b ? _ h H I Q".split()))
RANGES = {t: (-(1 << 8 * struct.calcsize("<" + c) - 1), (1 << 8 * struct.calcsize("<" + c) - 1) - 1) if c in "qibh"
          else (0, (1 << 8 * struct.calcsize("<" + c)) - 1) for t, c in FORMATS.items() if c in "qibhBHIQ"} | {"bool": (0, 1)}
FLOATS = ("float32", "float64")


@dataclass
class Node:
    op: str
    operands: list
    attributes: dict
    dtype: str
    shape: tuple
    values: list = None          # constants: Python numbers, row-major
    users: list = field(default_factory=list)

    @property
    def size(self):
        return math.prod(self.shape)


def strides_of(shape):
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return strides[::-1]


def indices_of(shape):
    return itertools.product(*map(range, shape))


def flat(index, strides):
    return sum(i * s for i, s in zip(index, strides))


def broadcast(*shapes):
    rank, result = max(map(len, shapes)), []
    for axis in range(-rank, 0):
        extents = {s[axis] for s in shapes if len(s) >= -axis} - {1}
        if len(extents) > 1:
            raise Declined("onnx.shape", f"{shapes} do not broadcast")
        result.append(extents.pop() if extents else 1)
    return tuple(result)


def broadcast_map(shape, result):
    """For every element of `result` the element of `shape` that it repeats."""
    strides = [0 if extent == 1 else s for extent, s in zip(shape, strides_of(shape))]
    strides = [0] * (len(result) - len(shape)) + strides
    return [flat(index, strides) for index in indices_of(result)]


def layout_map(op, attributes, shapes, shape):
    """For every element of the result: (operand, element), or None for padding."""
    x = shapes[0]
    strides = strides_of(x)
    if op == "reshape":
        return [(0, e) for e in range(math.prod(x))]
    if op == "expand":
        return [(0, e) for e in broadcast_map(x, shape)]
    if op == "permute":
        moved = [strides[a] for a in attributes["axes"]]
        return [(0, flat(i, moved)) for i in indices_of(shape)]
    if op == "slice":
        starts, steps = attributes["starts"], attributes["steps"]
        return [(0, sum((b + i * s) * t for i, b, s, t in zip(index, starts, steps, strides))) for index in indices_of(shape)]
    if op == "pad":
        before = attributes["before"]
        moved = ([i - b for i, b in zip(index, before)] for index in indices_of(shape))
        return [(0, flat(i, strides)) if all(0 <= a < d for a, d in zip(i, x)) else None for i in moved]
    if op == "gather":
        axis, rank, indices = attributes["axis"], len(attributes["index_shape"]), attributes["indices"]
        inner = strides_of(attributes["index_shape"])
        return [(0, flat(i[:axis] + (indices[flat(i[axis:axis + rank], inner)],) + i[axis + rank:], strides)) for i in indices_of(shape)]
    axis, source = attributes["axis"], []                          # concat
    for number, part in enumerate(shapes):
        source += [(number, i) for i in range(part[axis])]
    every = [strides_of(s) for s in shapes]
    result = []
    for index in indices_of(shape):
        number, place = source[index[axis]]
        result.append((number, flat(index[:axis] + (place,) + index[axis + 1:], every[number])))
    return result


LAYOUT = ("reshape", "expand", "permute", "slice", "pad", "gather", "concat")
WINDOW = ["l:kernel", "l:strides", "l:dilations", "l:pads_begin", "l:pads_end", "l:output_padding", "i:groups", "b:count_include_pad", "b:ceil_mode"]
REDUCE = ["l:axes", "b:keep_dims"]
ALPHA_BETA = ["d:alpha", "d:beta"]
FIELDS = {
    "reshape": ["l:shape"], "expand": ["l:shape"], "permute": ["l:axes"], "slice": ["l:starts", "l:steps", "l:extents"], "concat": ["i:axis"],
    "take": ["i:axis"], "pad": ["l:before", "l:after", "d:value"], "gather": ["i:axis", "l:indices", "l:index_shape"], "scale": ["d:factor"],
    "gemm": ["d:alpha", "d:beta", "b:transpose_a", "b:transpose_b"], "conv": WINDOW, "conv_transpose": WINDOW, "max_pool": WINDOW,
    "avg_pool": WINDOW, "batch_norm": ["d:epsilon"], "leaky_relu": ["d:slope"], "clip": ["d:lo", "d:hi"], "pow": ["r:exponent"],
    "softmax": ["i:axis"], "log_softmax": ["i:axis"], "gelu": ["b:tanh"], "mod": ["b:truncated"], "is_inf": ["b:positive", "b:negative"],
    "cumsum": ["i:axis", "b:exclusive", "b:reverse"], "cumprod": ["i:axis", "b:exclusive", "b:reverse"], "arg_max": ["i:axis", "b:keep_dims", "b:last"],
    "arg_min": ["i:axis", "b:keep_dims", "b:last"], "sort": ["i:axis", "i:count", "b:descending"], "arg_sort": ["i:axis", "i:count", "b:descending"],
    "normalise": ["l:axes", "d:epsilon", "i:form"], "local_response": ["i:size", "d:alpha", "d:beta", "d:bias"],
    **{op: REDUCE for op in ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod", "log_sum_exp", "max_weight")},
    **{op: ALPHA_BETA for op in ("elu", "selu", "celu", "silu", "hard_sigmoid", "thresholded_relu", "shrink")},
}


def number(value):
    return struct.pack("<q", value)


def text(value):
    return number(len(value)) + value.encode("ascii")


def listing(values):
    return number(len(values)) + b"".join(map(number, values))


def rational(value):
    return text(str(Fraction(value)))


ENCODE = {"l": listing, "i": number, "b": lambda v: bytes([bool(v)]), "d": lambda v: struct.pack("<d", v), "r": rational}


def graph_bytes(nodes, inputs, outputs):
    parts = [text("assay graph 1"), number(len(nodes))]
    for node in nodes:
        parts += [text(node.op), listing(node.operands)]
        parts += [ENCODE[f[0]](node.attributes[f[2:]]) for f in FIELDS.get(node.op, [])]
        parts += [bytes([DTYPES.index(node.dtype)]), listing(node.shape)]
        if node.op == "constant":
            parts.append(struct.pack(f"<{node.size}{FORMATS[node.dtype]}", *node.values))
    return b"".join(parts + [listing(inputs), listing(outputs)])


def statement_bytes(graph_digest, cases):
    """`cases`: (lower bounds, upper bounds, rows); a row: (terms {(side, tensor, element): coefficient}, bound, strict)."""
    parts = [text("assay statement 1"), graph_digest, number(len(cases))]
    boxes = {}
    for lo, hi, rows in cases:
        key = (tuple(lo), tuple(hi))
        if key not in boxes:
            boxes[key] = hashlib.sha256(b"".join([number(len(lo)), *map(rational, lo), number(len(hi)), *map(rational, hi)])).digest()
        parts += [boxes[key], number(len(rows))]
        for terms, bound, strict in rows:
            parts.append(number(len(terms)))
            for (side, tensor, element), coefficient in sorted(terms.items()):
                parts += [number(side), number(tensor), number(element), rational(coefficient)]
            parts += [rational(bound), number(int(strict))]
    return b"".join(parts + [number(v) for v in REAL] + [text("")])


# Real arithmetic: kind, format, rounding, two flushes, fused multiply-add, accumulator, bias in product; the last fields play no part, but have bytes.
REAL = (0, 0, 0, 0, 0, 1, 0, 1)
