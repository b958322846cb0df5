"""ONNX models to graphs (docs/onnx.md), for the common operators; any other is declined by name."""
import math
import struct
from fractions import Fraction

from errors import Declined, Malformed
from graph import DTYPES, FLOATS, LAYOUT, RANGES, Node, broadcast, broadcast_map, graph_bytes, layout_map
from onnx_file import TYPES, message, read_bytes, tensor_of


class Constant:
    """A value that depends on no input; it joins the graph when a node first uses it."""

    def __init__(self, dtype, shape, values):
        self.dtype, self.shape, self.values, self.node = dtype, tuple(shape), values, None


def float32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


class Model:
    def __init__(self, path):
        raw = message("model", read_bytes(path))
        versions = list({o.get("version", 0) for o in raw["opset_import"] if o.get("domain", b"") in (b"", b"ai.onnx")})
        if "graph" not in raw or not 3 <= raw.get("ir_version", 0) <= 14 or len(versions) != 1 or not 1 <= versions[0] <= 28:
            raise Malformed("onnx.model", f"IR version {raw.get('ir_version')}, opset {versions}")
        if raw["functions"] or raw["graph"]["sparse"]:
            raise Declined("onnx.function", "functions and sparse initializers")
        self.opset, self.nodes, self.values, self.inputs, self.input_types = versions[0], [], {b"": None}, [], []
        self.read(raw["graph"])
        for number, node in enumerate(self.nodes):
            for operand in node.operands:
                self.nodes[operand].users.append(number)
        self.bytes = graph_bytes(self.nodes, self.inputs, self.outputs)

    def read(self, graph):
        for tensor in graph["initializer"]:
            self.define(tensor.get("name", b""), Constant(*tensor_of(tensor)))
        for value in graph["input"]:
            if value.get("name", b"") not in self.values:
                dtype, shape = self.declared(value)
                self.inputs.append(self.add(Node("input", [], {}, dtype, shape)))
                self.input_types.append((value["name"], dtype, shape))
                self.define(value["name"], self.inputs[-1])
        names, live = [v.get("name", b"") for v in graph["output"]], []
        self.needed = set(names)
        for node in reversed(graph["node"]):
            if self.needed & set(node["output"]) - {b""}:
                live.append(node)
                self.needed |= set(node["input"])
        for node in reversed(live):
            if node.get("domain", b"") not in (b"", b"ai.onnx"):
                raise Declined("onnx.domain", repr(node["domain"]))
            Lowering(self, node).run()
        if not names or any(self.values.get(name) is None for name in names):
            raise Malformed("onnx.output", str(names))
        self.outputs = [self.node_of(self.values[name]) for name in names]
        for value, node in zip(graph["output"], self.outputs):
            kind = value.get("type", {}).get("tensor_type", {})
            extents = [d.get("dim_value") for d in kind["shape"]["dim"]] if "shape" in kind else self.nodes[node].shape
            fits = len(extents) == len(self.nodes[node].shape) and all(d in (None, e) for d, e in zip(extents, self.nodes[node].shape))
            if TYPES.get(kind.get("elem_type", 0), self.nodes[node].dtype) != self.nodes[node].dtype or not fits:
                raise Malformed("onnx.output_shape", f"{kind.get('elem_type')} {extents}")
        self.output_types = [(name, self.nodes[v].dtype, self.nodes[v].shape) for name, v in zip(names, self.outputs)]

    def declared(self, value):
        kind = value.get("type", {}).get("tensor_type", {})
        shape = [d.get("dim_value", -1) if "dim_param" not in d else -1 for d in kind.get("shape", {"dim": [{}, {}]})["dim"]]
        shape[:1] = [1 if d < 0 else d for d in shape[:1]]
        if TYPES.get(kind.get("elem_type")) not in DTYPES or min(shape, default=0) < 0:
            raise Declined("onnx.input_type", f"{kind.get('elem_type')} {shape}")
        return TYPES[kind["elem_type"]], tuple(shape)

    def define(self, name, value):
        if name in self.values:
            raise Malformed("onnx.duplicate_value", repr(name))
        self.values[name] = value

    def add(self, node):
        if len(node.shape) > 64 or node.size >= 1 << 24:
            raise Declined("onnx.limit", str(node.shape))
        self.nodes.append(node)
        return len(self.nodes) - 1

    def node_of(self, value):
        if not isinstance(value, Constant):
            return value
        if value.node is None:
            if not all(map(math.isfinite, value.values)):
                raise Declined("onnx.nonfinite")
            value.node = self.add(Node("constant", [], {}, value.dtype, value.shape, value.values))
        return value.node

    def type_of(self, value):
        return value if isinstance(value, Constant) else self.nodes[value]

    def emit(self, op, operands, shape, /, dtype=None, **attributes):
        """A node, or a constant where layout moves constants only."""
        if op in LAYOUT and all(isinstance(o, Constant) for o in operands):
            places = layout_map(op, attributes, [o.shape for o in operands], shape)
            values = [attributes["value"] if p is None else operands[p[0]].values[p[1]] for p in places]
            return Constant(operands[0].dtype, shape, values)
        dtype = dtype or self.type_of(operands[0]).dtype
        return self.add(Node(op, [self.node_of(o) for o in operands], attributes, dtype, tuple(shape)))


ELEMENTWISE = {n: n.lower() for n in "Neg Abs Relu Sigmoid Tanh Exp Log Sqrt Reciprocal Softplus Sign Floor Ceil Softsign".split()}
BINARY = {n: n.lower() for n in "Add Sub Mul Div Min Max".split()}
REDUCTIONS = {"ReduceSum": "reduce_sum", "ReduceMean": "reduce_mean", "ReduceMax": "reduce_max", "ReduceMin": "reduce_min"}
WITH_ALPHA_BETA = {"Elu": ("elu", 1.0, 0.0), "Selu": ("selu", 1.67326319217681884765625, 1.05070102214813232421875), "Celu": ("celu", 1.0, 0.0),
                   "HardSigmoid": ("hard_sigmoid", 0.2, 0.5)}
INTEGER = {"Add": lambda a, b: a + b, "Sub": lambda a, b: a - b, "Mul": lambda a, b: a * b, "Min": min, "Max": max,
           "Div": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)}
IGNORED = {"Dropout": ("ratio", "seed"), "BatchNormalization": ("momentum",), "MaxPool": ("storage_order",), "Cast": ("saturate",)}


class Lowering:
    def __init__(self, model, node):
        self.model, self.op, self.inputs, self.outputs = model, node.get("op_type", b"").decode("ascii", "replace"), node["input"], node["output"]
        self.attributes = {a.get("name", b"").decode("ascii", "replace"): a for a in node["attribute"]}
        if any(name not in model.values for name in self.inputs):
            raise Malformed("onnx.undefined_value", f"{self.op}: {self.inputs}")
        self.types = [None if name == b"" else model.type_of(model.values[name]) for name in self.inputs]
        self.shape = self.types[0].shape if self.types and self.types[0] else ()
        self.rank = len(self.shape)

    def run(self):
        op = self.op
        handler = getattr(self, "lower_" + op.lower(), None)
        for name in IGNORED.get(op, ()):
            self.attributes.pop(name, None)
        if op in ELEMENTWISE:
            results = self.emit(ELEMENTWISE[op])
        elif op in WITH_ALPHA_BETA:
            name, alpha, beta = WITH_ALPHA_BETA[op]
            results = self.emit(name, alpha=self.take("alpha", "f", float32(alpha)), beta=self.take("gamma" if op == "Selu" else "beta", "f", float32(beta)))
        elif op in BINARY or op in REDUCTIONS:
            results = self.binary() if op in BINARY else self.reduction()
        elif handler:
            results = handler()
        else:
            raise self.no("onnx.unknown_op")
        if self.attributes:
            raise self.no("onnx.attribute", sorted(self.attributes))
        for name, result in zip(self.outputs, results if isinstance(results, list) else [results]):
            if name:
                self.model.define(name, result)

    # Operands and attributes.

    def no(self, code, what=""):
        return Declined(code, f"{self.op} {what}")

    def x(self, place=0):
        if not self.has(place):
            raise Malformed("onnx.arity", self.op)
        return self.model.values[self.inputs[place]]

    def has(self, place):
        return place < len(self.inputs) and self.inputs[place] != b""

    def emit(self, op, operands=None, shape=None, /, **attributes):
        return self.model.emit(op, [self.x()] if operands is None else operands, self.shape if shape is None else shape, **attributes)

    def constant(self, place):
        if not isinstance(self.x(place), Constant):
            raise self.no("onnx.not_constant")
        return list(self.x(place).values)

    def take(self, name, field, default):
        return self.attributes.pop(name, {}).get(field, default)

    def moved(self, name, place, since, default=None):
        """Integers that became an operand."""
        if self.model.opset < since:
            return self.take(name, "ints", default)
        return self.constant(place) if self.has(place) else default

    def axis(self, value, rank=None):
        rank = self.rank if rank is None else rank
        if not -rank <= value < rank:
            raise Malformed("onnx.axis", self.op)
        return value % rank

    def reshaped(self, value, shape):
        shape = tuple(shape)
        if min(shape, default=0) < 0 or math.prod(shape) != math.prod(self.model.type_of(value).shape):
            raise Malformed("onnx.shape", f"{self.op}: {shape}")
        return value if shape == self.model.type_of(value).shape else self.emit("reshape", [value], shape, shape=list(shape))

    # Elementwise and products.

    def binary(self):
        operands, dtype = [self.x(i) for i in range(len(self.inputs))], self.types[0].dtype
        shape = broadcast(*[t.shape for t in self.types])
        if len(operands) == 1:
            return operands[0]
        if any(not isinstance(o, Constant) for o in operands) or dtype in FLOATS:
            return self.emit(BINARY[self.op], operands, shape)
        a, b, *more = [[o.values[e] for e in broadcast_map(o.shape, shape)] for o in operands]
        if more or self.op not in INTEGER or self.op == "Div" and 0 in b:
            raise self.no("onnx.integers_only")
        values = [INTEGER[self.op](p, q) for p, q in zip(a, b)]
        if any(not RANGES[dtype][0] <= v <= RANGES[dtype][1] for v in values):
            raise Malformed("onnx.integer_overflow", self.op)
        return Constant(dtype, shape, values)

    def lower_leakyrelu(self):
        return self.emit("leaky_relu", slope=self.take("alpha", "f", float32(0.01)))

    def lower_clip(self):
        bounds = [-math.inf, math.inf]
        if self.model.opset >= 11:
            bounds = [self.constant(i)[0] if self.has(i) else bounds[i - 1] for i in (1, 2)]
        else:
            largest = float.fromhex("0x1.fffffep+127")
            bounds = [self.take("min", "f", -largest), self.take("max", "f", largest)]
        if not bounds[0] <= bounds[1] or self.types[0].dtype not in FLOATS:
            raise self.no("onnx.clip")
        return self.emit("clip", lo=bounds[0], hi=bounds[1])

    def lower_pow(self):
        exponent = self.constant(1)
        if self.types[0].dtype not in FLOATS or len(set(exponent)) != 1 or broadcast(self.shape, self.types[1].shape) != self.shape:
            raise self.no("onnx.unknown_op")
        return self.emit("pow", exponent=Fraction(exponent[0]))

    def lower_gemm(self):
        ta, tb = self.take("transA", "i", 0), self.take("transB", "i", 0)
        (m, k), (depth, n) = self.shape[::-1 if ta else 1], self.types[1].shape[::-1 if tb else 1]
        if k != depth:
            raise Malformed("onnx.shape", self.op)
        factors = {"alpha": self.take("alpha", "f", 1.0), "beta": self.take("beta", "f", 1.0), "transpose_a": ta, "transpose_b": tb}
        return self.emit("gemm", [self.x(i) for i in range(3) if i < 2 or self.has(i)], (m, n), **factors)

    def lower_matmul(self):
        a, b = self.shape, self.types[1].shape
        rows, columns = (1,) * (2 - len(a)) + a, b + (1,) * (2 - len(b))
        if not a or not b or rows[-1] != columns[-2]:
            raise Malformed("onnx.shape", self.op)
        shape = broadcast(rows[:-2], columns[:-2]) + (rows[-2:-1] if len(a) > 1 else ()) + (columns[-1:] if len(b) > 1 else ())
        return self.emit("matmul", [self.x(0), self.x(1)], shape)

    def window(self, kernel, groups=1, count_include_pad=0, ceil_mode=0):
        """The attributes of a window and the extents of its result."""
        rank, kernel, inputs = self.rank - 2, list(kernel), self.shape[2:]
        strides, dilations = self.take("strides", "ints", [1] * rank), self.take("dilations", "ints", [1] * rank)
        pads, auto = self.take("pads", "ints", [0] * 2 * rank), self.take("auto_pad", "s", b"NOTSET")
        reach = [d * (k - 1) + 1 for d, k in zip(dilations, kernel)]
        if auto[:4] == b"SAME":
            total = [max(0, (-(-x // s) - 1) * s + r - x) for x, s, r in zip(inputs, strides, reach)]
            small, large = [t // 2 for t in total], [t - t // 2 for t in total]
            pads = small + large if auto == b"SAME_UPPER" else large + small
        rooms = [x + b + e - r for x, b, e, r in zip(inputs, pads, pads[rank:], reach)]
        if min(rooms) < 0 or min(strides + dilations) < 1 or not len(kernel) == len(rooms) == rank or not 0 < math.prod(kernel) < 1 << 24:
            raise Malformed("onnx.shape", self.op)
        counts = [(-(-room // s) if ceil_mode else room // s) + 1 for room, s in zip(rooms, strides)]
        extents = [n - 1 if ceil_mode and (n - 1) * s >= x + b else n for n, s, x, b in zip(counts, strides, inputs, pads)]
        return {"kernel": kernel, "strides": strides, "dilations": dilations, "pads_begin": pads[:rank], "pads_end": pads[rank:], "output_padding": [],
                "groups": groups, "count_include_pad": count_include_pad, "ceil_mode": ceil_mode}, tuple(extents)

    def lower_conv(self):
        weights, groups = self.types[1].shape, self.take("group", "i", 1)
        w, extents = self.window(self.take("kernel_shape", "ints", weights[2:]), groups)
        if tuple(w["kernel"]) != weights[2:] or self.shape[1] != weights[1] * groups or weights[0] % groups:
            raise Malformed("onnx.shape", self.op)
        return self.emit("conv", [self.x(i) for i in range(3) if i < 2 or self.has(i)], (self.shape[0], weights[0]) + extents, **w)

    def pool(self, op, kernel):
        if len(self.outputs) > 1:
            raise self.no("onnx.unknown_op")
        w, extents = self.window(kernel, 1, self.take("count_include_pad", "i", 0), self.take("ceil_mode", "i", 0))
        return self.emit(op, [self.x()], self.shape[:2] + extents, **w)

    def lower_maxpool(self):
        return self.pool("max_pool", self.take("kernel_shape", "ints", []))

    def lower_averagepool(self):
        return self.pool("avg_pool", self.take("kernel_shape", "ints", []))

    def lower_globalmaxpool(self):
        return self.pool("max_pool", self.shape[2:])

    def lower_globalaveragepool(self):
        return self.reduce("reduce_mean", range(2, self.rank), True)

    def reduce(self, op, axes, keep):
        shape = [1 if a in axes else d for a, d in enumerate(self.shape) if keep or a not in axes]
        return self.emit(op, [self.x()], shape, axes=sorted(axes), keep_dims=keep)

    def reduction(self):
        axes, keep = self.moved("axes", 1, 13 if self.op == "ReduceSum" else 18), self.take("keepdims", "i", 1)
        if self.take("noop_with_empty_axes", "i", 0) and not axes:
            return self.x()
        return self.reduce(REDUCTIONS[self.op], {self.axis(a) for a in axes or range(self.rank)}, bool(keep))

    def lower_batchnormalization(self):
        if self.take("training_mode", "i", 0) or len(self.outputs) > 1 and self.model.opset < 14:
            raise Malformed("onnx.training", self.op)
        return self.emit("batch_norm", [self.x(i) for i in range(5)], epsilon=self.take("epsilon", "f", float32(1e-5)))

    def lower_softmax(self):
        old = self.model.opset < 13
        axis = self.axis(self.take("axis", "i", 1 if old else -1))
        if not old:
            return self.emit("softmax", axis=axis)
        matrix = (math.prod(self.shape[:axis]), math.prod(self.shape[axis:]))
        return self.reshaped(self.emit("softmax", [self.reshaped(self.x(), matrix)], matrix, axis=1), self.shape)

    # Layout and constants.

    def lower_identity(self):
        return self.x()

    lower_dropout = lower_identity

    def lower_cast(self):
        target, x = TYPES.get(self.take("to", "i", 0)), self.x()
        if target == self.types[0].dtype:
            return x
        if target in FLOATS and self.types[0].dtype in FLOATS and not isinstance(x, Constant):
            return self.emit("cast", dtype=target)
        if not isinstance(x, Constant) or target not in DTYPES or any(v != int(v) or abs(v) > 1 << 24 for v in x.values):
            raise self.no("onnx.cast")
        return Constant(target, x.shape, [float(v) if target in FLOATS else int(v != 0) if target == "bool" else int(v) for v in x.values])

    def lower_flatten(self):
        axis = self.take("axis", "i", 1)
        axis += self.rank if axis < 0 else 0
        return self.reshaped(self.x(), (math.prod(self.shape[:axis]), math.prod(self.shape[axis:])))

    def lower_reshape(self):
        wanted = self.constant(1)
        if not self.take("allowzero", "i", 0):
            wanted = [self.shape[i] if d == 0 else d for i, d in enumerate(wanted)]
        if wanted.count(-1) == 1 and math.prod(wanted):
            wanted[wanted.index(-1)] = math.prod(self.shape) // -math.prod(wanted)
        return self.reshaped(self.x(), wanted)

    def lower_squeeze(self):
        axes = self.moved("axes", 1, 13, [i for i, d in enumerate(self.shape) if d == 1])
        axes = [self.axis(a) for a in axes]
        return self.reshaped(self.x(), [d for i, d in enumerate(self.shape) if i not in axes])

    def lower_unsqueeze(self):
        shape, axes = list(self.shape), self.moved("axes", 1, 13, [])
        for axis in sorted(self.axis(a, self.rank + len(axes)) for a in axes):
            shape.insert(axis, 1)
        return self.reshaped(self.x(), shape)

    def lower_transpose(self):
        axes = self.take("perm", "ints", list(range(self.rank))[::-1])
        if sorted(axes) != list(range(self.rank)):
            raise Malformed("onnx.axis", self.op)
        return self.emit("permute", [self.x()], [self.shape[a] for a in axes], axes=axes)

    def lower_slice(self):
        starts, ends = self.moved("starts", 1, 10), self.moved("ends", 2, 10)
        axes, steps = self.moved("axes", 3, 10, range(len(starts))), self.moved("steps", 4, 1, [1] * len(starts))
        parts = {self.axis(a): range(self.shape[a])[slice(b, None if s < 0 and e < -self.shape[a] else e, s)] for b, e, a, s in zip(starts, ends, axes, steps)}
        return self.sliced([parts.get(a, range(d)) for a, d in enumerate(self.shape)])

    def sliced(self, parts):
        extents = [len(p) for p in parts]
        return self.emit("slice", [self.x()], extents, starts=[p.start for p in parts], steps=[p.step for p in parts], extents=extents)

    def lower_split(self):
        axis, count = self.axis(self.take("axis", "i", 0)), self.take("num_outputs", "i", len(self.outputs))
        whole, results, start = self.shape[axis], [], 0
        sizes = self.moved("split", 1, 13) or [min(-(-whole // count), whole - -(-whole // count) * i) for i in range(count)]
        if sum(sizes) != whole or min(sizes) < 0:
            raise Malformed("onnx.shape", self.op)
        for name, size in zip(self.outputs, sizes):
            parts = [range(start, start + size) if a == axis else range(d) for a, d in enumerate(self.shape)]
            results.append(self.sliced(parts) if name in self.model.needed else None)
            start += size
        return results

    def lower_concat(self):
        axis, shapes = self.axis(self.take("axis", "i", 0)), [t.shape for t in self.types]
        if len({s[:axis] + s[axis + 1:] for s in shapes}) > 1:
            raise Malformed("onnx.shape", self.op)
        shape = self.shape[:axis] + (sum(s[axis] for s in shapes),) + self.shape[axis + 1:]
        operands = [self.x(i) for i in range(len(self.inputs))]
        return operands[0] if len(operands) == 1 else self.emit("concat", operands, shape, axis=axis)

    def lower_gather(self):
        places, axis = self.types[1].shape, self.axis(self.take("axis", "i", 0))
        indices = [self.axis(i, self.shape[axis]) for i in self.constant(1)]
        shape = self.shape[:axis] + places + self.shape[axis + 1:]
        return self.emit("gather", [self.x()], shape, axis=axis, indices=indices, index_shape=list(places))

    def lower_expand(self):
        shape = broadcast(self.shape, tuple(self.constant(1)))
        return self.x() if shape == self.shape else self.emit("expand", [self.x()], shape, shape=list(shape))

    def lower_pad(self):
        pads, old = self.moved("pads", 1, 11, []), self.model.opset < 11
        value = self.take("value", "f", 0.0) if old else self.constant(2)[0] if self.has(2) else 0
        if self.take("mode", "s", b"constant") != b"constant" or len(pads) != 2 * self.rank or self.has(3):
            raise self.no("onnx.pad")
        before, after = pads[:self.rank], pads[self.rank:]
        if not any(pads):
            return self.x()
        return self.emit("pad", [self.x()], [b + d + a for b, d, a in zip(before, self.shape, after)], before=before, after=after, value=value)

    def lower_constant(self):
        (name, attribute), = self.attributes.items()
        self.attributes = {}
        if name == "value":
            return Constant(*tensor_of(attribute["t"]))
        if name not in ("value_float", "value_int", "value_floats", "value_ints"):
            raise self.no("onnx.attribute", name)
        values = attribute[name[6:]] if name[-1] == "s" else [attribute.get(name[6], 0)]
        return Constant("float32" if "float" in name else "int64", (len(values),) if name[-1] == "s" else (), values)

    def lower_shape(self):
        chosen = self.shape[self.take("start", "i", 0):self.take("end", "i", self.rank)]
        return Constant("int64", (len(chosen),), list(chosen))
