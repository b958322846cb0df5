"""ONNX models to graphs (docs/reference/onnx.md), for the common operators; any other is declined by name."""
import math
import struct
from fractions import Fraction

from functions import FAMILIES, FUNCTIONS
from graph import DTYPES, FLOATS, LAYOUT, OPERATIONS, RANGES, Node, broadcast, broadcast_map, fields_of, layout_map
from onnx_file import TYPES, message, tensor_of
from wire import Declined, Malformed, read_bytes, require

DOMAIN = (b"", b"ai.onnx")


def constant(dtype, shape, values):
    return Node("constant", [], {}, dtype, tuple(shape), values)


def tensor_type(value):
    """(element type or None, extents, None where they are open) that a model declares."""
    kind = value.get("type", {}).get("tensor_type", {})
    shape = [None if "dim_param" in d else d.get("dim_value") for d in kind["shape"]["dim"]] if "shape" in kind else None
    return TYPES.get(kind.get("elem_type", 0)), shape


class Model:
    def __init__(self, path):
        raw = message("model", read_bytes(path))
        versions = {o.get("version", 0) for o in raw["opset_import"] if o.get("domain", b"") in DOMAIN}
        known = "graph" in raw and 3 <= raw.get("ir_version", 0) <= 14 and len(versions) == 1 and 1 <= min(versions) <= 28
        require(known, Malformed, "onnx.model", f"IR version {raw.get('ir_version')}, opset {versions}")
        require(not raw["functions"] and not raw["graph"]["sparse"], Declined, "onnx.function", "functions and sparse initializers")
        self.opset, self.nodes, self.values, graph = min(versions), [], {b"": None}, raw["graph"]
        for tensor in graph["initializer"]:
            self.define(tensor.get("name", b""), constant(*tensor_of(tensor)))
        self.inputs, self.input_types = [], []
        for value in graph["input"]:
            if value.get("name", b"") not in self.values:
                self.input_types.append((value["name"], *self.input_type(value)))
                self.inputs.append(self.number_of(Node("input", [], {}, *self.input_types[-1][1:])))
                self.define(value["name"], self.nodes[-1])
        self.lower(graph)
        for number, node in enumerate(self.nodes):
            for operand in node.operands:
                self.nodes[operand].users.append(number)

    def lower(self, graph):
        names = [value.get("name", b"") for value in graph["output"]]
        self.needed, live = set(names), []
        for node in reversed(graph["node"]):
            if self.needed & set(node["output"]) - {b""}:
                live.append(node)
                self.needed |= set(node["input"])
        for node in reversed(live):
            require(node.get("domain", b"") in DOMAIN, Declined, "onnx.domain", repr(node.get("domain")))
            Call(self, node).run()
        require(names and all(self.values.get(name) for name in names), Malformed, "onnx.output", str(names))
        self.outputs = [self.number_of(self.values[name]) for name in names]
        self.output_types = [(name, self.nodes[v].dtype, self.nodes[v].shape) for name, v in zip(names, self.outputs)]
        for value, (name, dtype, shape) in zip(graph["output"], self.output_types):
            declared, extents = tensor_type(value)
            fits = extents is None or len(extents) == len(shape) and all(d in (None, e) for d, e in zip(extents, shape))
            require(declared in (None, dtype) and fits, Malformed, "onnx.output_shape", f"{name}: {declared} {extents}")

    def input_type(self, value):
        dtype, shape = tensor_type(value)
        shape = [1 if place == 0 and (d is None or d < 0) else d for place, d in enumerate(shape or [None] * 2)]
        require(dtype in DTYPES and all(d is not None and d >= 0 for d in shape), Declined, "onnx.input_type", f"{dtype} {shape}")
        return dtype, tuple(shape)

    def define(self, name, value):
        require(name not in self.values, Malformed, "onnx.duplicate_value", repr(name))
        self.values[name] = value

    def number_of(self, node):
        """Constants join the graph when a node first uses them."""
        if node.number is None:
            require(len(node.shape) <= 64 and node.size < 1 << 24, Declined, "onnx.limit", str(node.shape))
            require(all(map(math.isfinite, node.values or ())), Declined, "onnx.nonfinite")
            node.number = len(self.nodes)
            self.nodes.append(node)
        return node.number


def float32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


# Functions of one variable: name, and attributes with their names and defaults in ONNX.
UNARY = {row["operator"]: (op, dict(zip([f[2:] for f in fields_of(op)], row.get("numbers", [])))) for op, row in OPERATIONS.items()
         if "operator" in row and (op in FUNCTIONS or op in FAMILIES or op == "neg")}
BINARY = {name: name.lower() for name in "Add Sub Mul Div Min Max".split()}
REDUCTIONS = {f"Reduce{name}": f"reduce_{name.lower()}" for name in "Sum Mean Max Min".split()}
INTEGER = {"Add": lambda a, b: a + b, "Sub": lambda a, b: a - b, "Mul": lambda a, b: a * b, "Min": min, "Max": max,
           "Div": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)}
IGNORED = {"Dropout": ("ratio", "seed"), "BatchNormalization": ("momentum",), "MaxPool": ("storage_order",), "Cast": ("saturate",)}
KINDS = {int: "i", float: "f", bytes: "s", list: "ints", range: "ints", type(None): "ints"}


class Call:
    """A node of a model. Methods that are named after operators take the operands, and give the result or the list of them."""

    def __init__(self, model, node):
        self.model, self.op, self.outputs = model, node.get("op_type", b"").decode("ascii", "replace"), node["output"]
        self.attributes = {a.get("name", b"").decode("ascii", "replace"): a for a in node["attribute"]}
        require(all(name in model.values for name in node["input"]), Malformed, "onnx.undefined_value", f"{self.op}: {node['input']}")
        self.operands = [model.values[name] for name in node["input"]]

    def run(self):
        for name in IGNORED.get(self.op, ()):
            self.attributes.pop(name, None)
        self.require(self.op in HANDLERS, Declined, "onnx.unknown_op")
        results = HANDLERS[self.op](self, *self.operands)
        self.require(not self.attributes, Declined, "onnx.attribute", sorted(self.attributes))
        for name, result in zip(self.outputs, results if isinstance(results, list) else [results]):
            if name:
                self.model.define(name, result)

    def require(self, condition, kind=Malformed, code="onnx.shape", what=""):
        require(condition, kind, code, f"{self.op} {what}")

    def emit(self, op, operands, shape, /, dtype=None, **attributes):
        """A node, or a constant where layout moves constants only."""
        operands, shape = [o for o in operands if o], tuple(shape)
        if op in LAYOUT and all(o.op == "constant" for o in operands):
            places = layout_map(op, attributes, [o.shape for o in operands], shape)
            return constant(operands[0].dtype, shape, [attributes["value"] if p is None else operands[p[0]].values[p[1]] for p in places])
        node = Node(op, [self.model.number_of(o) for o in operands], attributes, dtype or operands[0].dtype, shape)
        self.model.number_of(node)
        return node

    def values(self, x, default=None):
        """The numbers of an operand that has to be constant."""
        self.require(x is None or x.op == "constant", Declined, "onnx.not_constant")
        return default if x is None else list(x.values)

    def take(self, name, default):
        return self.attributes.pop(name, {}).get(KINDS[type(default)], default)

    def moved(self, name, x, since, default=None):
        """Integers that became an operand."""
        return self.take(name, default) if self.model.opset < since else self.values(x, default)

    def axis(self, value, rank):
        self.require(-rank <= value < rank, Malformed, "onnx.axis")
        return value % rank

    # Elementwise and products.

    def unary(self, x):
        name, attributes = UNARY[self.op]
        return self.emit(name, [x], x.shape, **{k: self.take(source, float32(default)) for k, (source, default) in attributes.items()})

    def binary(self, *operands):
        shape, dtype = broadcast(*[o.shape for o in operands]), operands[0].dtype
        if len(operands) == 1:
            return operands[0]
        if dtype in FLOATS or any(o.op != "constant" for o in operands):
            return self.emit(BINARY[self.op], operands, shape)
        a, b, *more = [[o.values[e] for e in broadcast_map(o.shape, shape)] for o in operands]
        self.require(not more and not (self.op == "Div" and 0 in b), Declined, "onnx.integers_only")
        values = [INTEGER[self.op](p, q) for p, q in zip(a, b)]
        self.require(all(RANGES[dtype][0] <= v <= RANGES[dtype][1] for v in values), Malformed, "onnx.integer_overflow")
        return constant(dtype, shape, values)

    def Clip(self, x, lo=None, hi=None):
        old, largest = self.model.opset < 11, float.fromhex("0x1.fffffep+127")
        lo = self.take("min", -largest) if old else self.values(lo, [-math.inf])[0]
        hi = self.take("max", largest) if old else self.values(hi, [math.inf])[0]
        self.require(lo <= hi and x.dtype in FLOATS, Declined, "onnx.clip")
        return self.emit("clip", [x], x.shape, lo=lo, hi=hi)

    def Pow(self, x, y):
        exponent = self.values(y)
        self.require(x.dtype in FLOATS and len(set(exponent)) == 1 and broadcast(x.shape, y.shape) == x.shape, Declined, "onnx.unknown_op")
        return self.emit("pow", [x], x.shape, exponent=Fraction(exponent[0]))

    def Gemm(self, x, y, z=None):
        factors = {"alpha": self.take("alpha", 1.0), "beta": self.take("beta", 1.0), "transpose_a": self.take("transA", 0), "transpose_b": self.take("transB", 0)}
        (m, k), (depth, n) = x.shape[::-1 if factors["transpose_a"] else 1], y.shape[::-1 if factors["transpose_b"] else 1]
        self.require(k == depth)
        return self.emit("gemm", [x, y, z], (m, n), **factors)

    def MatMul(self, x, y):
        a, b = (1,) * (2 - len(x.shape)) + x.shape, y.shape + (1,) * (2 - len(y.shape))
        self.require(x.shape and y.shape and a[-1] == b[-2])
        shape = broadcast(a[:-2], b[:-2]) + (a[-2:-1] if len(x.shape) > 1 else ()) + (b[-1:] if len(y.shape) > 1 else ())
        return self.emit("matmul", [x, y], shape)

    def window(self, inputs, kernel, groups=1, count_include_pad=0, ceil_mode=0, output_padding=()):
        """The attributes of a window on a spatial shape."""
        rank, kernel = len(inputs), list(kernel)
        strides, dilations = self.take("strides", [1] * rank), self.take("dilations", [1] * rank)
        pads, auto = self.take("pads", [0] * 2 * rank), self.take("auto_pad", b"NOTSET")
        self.require(len(kernel) == len(strides) == len(dilations) == rank == len(pads) / 2 and min(kernel + strides + dilations) > 0)
        if auto[:4] == b"SAME":
            total = [max(0, (-(-x // s) - 1) * s + d * (k - 1) + 1 - x) for x, s, d, k in zip(inputs, strides, dilations, kernel)]
            small, large = [t // 2 for t in total], [t - t // 2 for t in total]
            pads = small + large if auto == b"SAME_UPPER" else large + small
        return {"kernel": kernel, "strides": strides, "dilations": dilations, "pads_begin": pads[:rank], "pads_end": pads[rank:],
                "output_padding": list(output_padding), "groups": groups, "count_include_pad": count_include_pad, "ceil_mode": ceil_mode}

    def extents(self, inputs, w):
        rooms = [x + b + e - d * (k - 1) - 1 for x, b, e, d, k in zip(inputs, w["pads_begin"], w["pads_end"], w["dilations"], w["kernel"])]
        self.require(min(rooms) >= 0)
        counts = [(-(-room // s) if w["ceil_mode"] else room // s) + 1 for room, s in zip(rooms, w["strides"])]
        return tuple(n - 1 if w["ceil_mode"] and (n - 1) * s >= x + b else n for n, s, x, b in zip(counts, w["strides"], inputs, w["pads_begin"]))

    def Conv(self, x, y, z=None):
        groups = self.take("group", 1)
        w = self.window(x.shape[2:], self.take("kernel_shape", list(y.shape[2:])), groups)
        self.require(tuple(w["kernel"]) == y.shape[2:] and x.shape[1] == y.shape[1] * groups and y.shape[0] % groups == 0)
        return self.emit("conv", [x, y, z], (x.shape[0], y.shape[0]) + self.extents(x.shape[2:], w), **w)

    def ConvTranspose(self, x, y, z=None):
        groups, inputs, kernel = self.take("group", 1), x.shape[2:], self.take("kernel_shape", list(y.shape[2:]))
        self.require("auto_pad" not in self.attributes, Declined, "onnx.unknown_op", "with auto_pad")
        w = self.window(inputs, kernel, groups, output_padding=self.take("output_padding", [0] * len(inputs)))
        self.require(tuple(w["kernel"]) == y.shape[2:] and x.shape[1] == y.shape[0] and x.shape[1] % groups == 0)
        sides = zip(inputs, w["kernel"], w["strides"], w["dilations"], w["pads_begin"], w["pads_end"], w["output_padding"])
        extents = tuple((i - 1) * s + d * (k - 1) + 1 + more - b - e for i, k, s, d, b, e, more in sides)
        return self.emit("conv_transpose", [x, y, z], (x.shape[0], y.shape[1] * groups) + extents, **w)

    def pool(self, x, op, kernel):
        self.require(len(self.outputs) == 1, Declined, "onnx.unknown_op", "with indices")
        w = self.window(x.shape[2:], kernel, 1, self.take("count_include_pad", 0), self.take("ceil_mode", 0))
        return self.emit(op, [x], x.shape[:2] + self.extents(x.shape[2:], w), **w)

    def reduce(self, x, op, axes, keep):
        shape = [1 if a in axes else d for a, d in enumerate(x.shape) if keep or a not in axes]
        return self.emit(op, [x], shape, axes=sorted(axes), keep_dims=keep)

    def reduction(self, x, axes=None):
        axes, keep = self.moved("axes", axes, 13 if self.op == "ReduceSum" else 18), self.take("keepdims", 1)
        if self.take("noop_with_empty_axes", 0) and not axes:
            return x
        return self.reduce(x, REDUCTIONS[self.op], {self.axis(a, len(x.shape)) for a in axes or range(len(x.shape))}, bool(keep))

    def BatchNormalization(self, *operands):
        self.require(not self.take("training_mode", 0) and (len(self.outputs) == 1 or self.model.opset >= 14), Malformed, "onnx.training")
        return self.emit("batch_norm", operands, operands[0].shape, epsilon=self.take("epsilon", float32(1e-5)))

    def Softmax(self, x):
        old = self.model.opset < 13
        axis = self.axis(self.take("axis", 1 if old else -1), len(x.shape))
        if not old:
            return self.emit("softmax", [x], x.shape, axis=axis)
        return self.reshaped(self.emit("softmax", [self.reshaped(x, self.matrix(x, axis))], self.matrix(x, axis), axis=1), x.shape)

    # Layout and constants.

    def Cast(self, x):
        target = TYPES.get(self.take("to", 0))
        if target == x.dtype:
            return x
        if target in FLOATS and x.dtype in FLOATS and x.op != "constant":
            return self.emit("cast", [x], x.shape, dtype=target)
        held = x.op == "constant" and target in DTYPES and all(v == int(v) and abs(v) <= 1 << 24 for v in x.values)
        self.require(held, Declined, "onnx.cast")
        return constant(target, x.shape, [float(v) if target in FLOATS else int(v != 0) if target == "bool" else int(v) for v in x.values])

    def reshaped(self, x, shape):
        shape = tuple(shape)
        self.require(min(shape, default=0) >= 0 and math.prod(shape) == x.size)
        return x if shape == x.shape else self.emit("reshape", [x], shape, shape=list(shape))

    def Flatten(self, x):
        return self.reshaped(x, self.matrix(x, self.take("axis", 1)))

    def matrix(self, x, axis):
        return math.prod(x.shape[:axis]), math.prod(x.shape[axis:])

    def Reshape(self, x, shape):
        wanted = self.values(shape)
        if not self.take("allowzero", 0):
            wanted = [x.shape[i] if d == 0 else d for i, d in enumerate(wanted)]
        if wanted.count(-1) == 1 and math.prod(wanted):
            wanted[wanted.index(-1)] = x.size // -math.prod(wanted)
        return self.reshaped(x, wanted)

    def Squeeze(self, x, axes=None):
        axes = self.moved("axes", axes, 13, [i for i, d in enumerate(x.shape) if d == 1])
        axes = [self.axis(a, len(x.shape)) for a in axes]
        return self.reshaped(x, [d for i, d in enumerate(x.shape) if i not in axes])

    def Unsqueeze(self, x, axes=None):
        shape, axes = list(x.shape), self.moved("axes", axes, 13, [])
        for axis in sorted(self.axis(a, len(x.shape) + len(axes)) for a in axes):
            shape.insert(axis, 1)
        return self.reshaped(x, shape)

    def Transpose(self, x):
        axes = self.take("perm", list(range(len(x.shape)))[::-1])
        self.require(sorted(axes) == list(range(len(x.shape))), Malformed, "onnx.axis")
        return self.emit("permute", [x], [x.shape[a] for a in axes], axes=axes)

    def sliced(self, x, chosen):
        """`chosen`: the indices along some axes, as ranges."""
        parts = [chosen.get(a, range(d)) for a, d in enumerate(x.shape)]
        extents = [len(p) for p in parts]
        return self.emit("slice", [x], extents, starts=[p.start for p in parts], steps=[p.step for p in parts], extents=extents)

    def Slice(self, x, starts=None, ends=None, axes=None, steps=None):
        starts, ends = self.moved("starts", starts, 10), self.moved("ends", ends, 10)
        axes, steps = self.moved("axes", axes, 10, range(len(starts))), self.values(steps, [1] * len(starts))
        sides = [(self.axis(a, len(x.shape)), b, e, s) for b, e, a, s in zip(starts, ends, axes, steps)]
        return self.sliced(x, {a: range(x.shape[a])[slice(b, None if s < 0 and e < -x.shape[a] else e, s)] for a, b, e, s in sides})

    def Split(self, x, sizes=None):
        axis, count, results, start = self.axis(self.take("axis", 0), len(x.shape)), self.take("num_outputs", len(self.outputs)), [], 0
        whole = -(-x.shape[axis] // count)
        sizes = self.moved("split", sizes, 13) or [min(whole, x.shape[axis] - whole * i) for i in range(count)]
        self.require(sum(sizes) == x.shape[axis] and min(sizes) >= 0)
        for name, size in zip(self.outputs, sizes):
            results.append(self.sliced(x, {axis: range(start, start + size)}) if name in self.model.needed else None)
            start += size
        return results

    def Concat(self, x, *more):
        axis, shapes = self.axis(self.take("axis", 0), len(x.shape)), [o.shape for o in (x, *more)]
        self.require(len({s[:axis] + s[axis + 1:] for s in shapes}) == 1)
        shape = x.shape[:axis] + (sum(s[axis] for s in shapes),) + x.shape[axis + 1:]
        return self.emit("concat", [x, *more], shape, axis=axis) if more else x

    def Gather(self, x, places):
        axis = self.axis(self.take("axis", 0), len(x.shape))
        indices = [self.axis(i, x.shape[axis]) for i in self.values(places)]
        return self.emit("gather", [x], x.shape[:axis] + places.shape + x.shape[axis + 1:], axis=axis, indices=indices, index_shape=list(places.shape))

    def Expand(self, x, shape):
        shape = broadcast(x.shape, tuple(self.values(shape)))
        return x if shape == x.shape else self.emit("expand", [x], shape, shape=list(shape))

    def Pad(self, x, pads=None, value=None, axes=None):
        pads, rank = self.moved("pads", pads, 11, []), len(x.shape)
        value = self.values(value, [0])[0] if self.model.opset >= 11 else self.take("value", 0.0)
        self.require(self.take("mode", b"constant") == b"constant" and len(pads) == 2 * rank and not axes, Declined, "onnx.pad")
        shape = [b + d + a for b, d, a in zip(pads, x.shape, pads[rank:])]
        return self.emit("pad", [x], shape, before=pads[:rank], after=pads[rank:], value=value) if any(pads) else x

    def Constant(self):
        (name, attribute), = self.attributes.items()
        self.attributes = {}
        if name == "value":
            return constant(*tensor_of(attribute["t"]))
        self.require(name in ("value_float", "value_int", "value_floats", "value_ints"), Declined, "onnx.attribute", name)
        values = attribute[name[6:]] if name[-1] == "s" else [attribute.get(name[6], 0)]
        return constant("float32" if "float" in name else "int64", (len(values),) if name[-1] == "s" else (), values)

    def Shape(self, x):
        chosen = x.shape[self.take("start", 0):self.take("end", len(x.shape))]
        return constant("int64", (len(chosen),), list(chosen))


HANDLERS = {name: method for name, method in vars(Call).items() if name[0].isupper()} | dict.fromkeys(UNARY, Call.unary) | {
    **dict.fromkeys(BINARY, Call.binary), **dict.fromkeys(REDUCTIONS, Call.reduction), **dict.fromkeys(("Identity", "Dropout"), lambda call, x, *_: x),
    "MaxPool": lambda call, x: call.pool(x, "max_pool", call.take("kernel_shape", [])),
    "AveragePool": lambda call, x: call.pool(x, "avg_pool", call.take("kernel_shape", [])),
    "GlobalMaxPool": lambda call, x: call.pool(x, "max_pool", x.shape[2:]),
    "GlobalAveragePool": lambda call, x: call.reduce(x, "reduce_mean", range(2, len(x.shape)), True),
}
