"""ONNX models to graphs (docs/onnx.md), for the common operators; any other is declined by name."""
import math
import os
import struct
from fractions import Fraction

from errors import Declined, Malformed
from graph import DTYPES, FLOATS, LAYOUT, RANGES, Node, broadcast, broadcast_map, graph_bytes, layout_map, strides_of
from onnx_file import TYPES, name_of, read_model, tensor_of


class Constant:
    """A value that depends on no input; it joins the graph when a node first uses it."""

    def __init__(self, dtype, shape, values):
        self.dtype, self.shape, self.values, self.node = dtype, tuple(shape), values, None


def float32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


class Model:
    def __init__(self, path):
        raw = read_model(path)
        if "graph" not in raw or not 3 <= raw.get("ir_version", 0) <= 14:
            raise Malformed("onnx.model", "no graph, or an IR version that is not known")
        versions = [o.get("version", 0) for o in raw["opset_import"] if o.get("domain", b"") in (b"", b"ai.onnx")]
        if len(versions) != 1 or not 1 <= versions[0] <= 28:
            raise Malformed("onnx.opset", str(versions))
        if raw["functions"] or raw["graph"]["sparse"]:
            raise Declined("onnx.function", "functions and sparse initializers")
        self.opset, self.folder = versions[0], os.path.dirname(os.path.abspath(path))
        self.nodes, self.values = [], {"": None}
        self.inputs, self.input_types = [], []
        self.read(raw["graph"])
        for number, node in enumerate(self.nodes):
            for operand in node.operands:
                self.nodes[operand].users.append(number)
        self.bytes = graph_bytes(self.nodes, self.inputs, self.outputs)

    def read(self, graph):
        for tensor in graph["initializer"]:
            self.define(name_of(tensor.get("name", b"")), Constant(*tensor_of(tensor, self.folder)))
        for value in graph["input"]:
            name = name_of(value.get("name", b""))
            if name in self.values:
                continue
            dtype, shape = self.declared(value)
            self.define(name, self.add(Node("input", [], {}, dtype, tuple(shape))))
            self.inputs.append(len(self.nodes) - 1)
            self.input_types.append((name, dtype, tuple(shape)))
        outputs = [name_of(v.get("name", b"")) for v in graph["output"]]
        needed, live = set(outputs), []
        for node in reversed(graph["node"]):
            names = [name_of(o) for o in node["output"]]
            if any(n and n in needed for n in names):
                live.append(node)
                needed |= {name_of(i) for i in node["input"]}
        self.needed = needed
        for node in reversed(live):
            if node.get("domain", b"") not in (b"", b"ai.onnx"):
                raise Declined("onnx.domain", name_of(node["domain"]))
            Lowering(self, node).run()
        if any(self.values.get(name) is None for name in outputs) or not outputs:
            raise Malformed("onnx.output", str(outputs))
        self.outputs = [self.node_of(self.values[name]) for name in outputs]
        self.output_types = [(name, self.nodes[v].dtype, self.nodes[v].shape) for name, v in zip(outputs, self.outputs)]

    def declared(self, value):
        kind = value.get("type", {}).get("tensor_type", {})
        dtype = TYPES.get(kind.get("elem_type"))
        if dtype not in DTYPES or "shape" not in kind:
            raise Declined("onnx.input_type", str(dtype))
        shape = [d.get("dim_value", -1) if "dim_param" not in d else -1 for d in kind["shape"]["dim"]]
        if shape and shape[0] < 0:
            shape[0] = 1
        if any(extent < 0 for extent in shape):
            raise Declined("onnx.input_shape", str(shape))
        return dtype, shape

    def define(self, name, value):
        if name in self.values:
            raise Malformed("onnx.duplicate_value", name)
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
            if any(not math.isfinite(v) for v in value.values):
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
        operands = [self.node_of(o) for o in operands]
        return self.add(Node(op, operands, attributes, dtype, tuple(shape)))


ELEMENTWISE = {n: n.lower() for n in "Neg Abs Relu Sigmoid Tanh Exp Log Sqrt Sin Cos Tan Asin Acos Atan Floor Ceil Reciprocal Softplus Softsign "
               "Sinh Cosh Asinh Acosh Atanh Erf Round Mish Sign".split()} | {"HardSwish": "hard_swish"}
BINARY = {"Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div", "PRelu": "prelu", "Min": "min", "Max": "max"}
REDUCTIONS = {"ReduceSum": "reduce_sum", "ReduceMean": "reduce_mean", "ReduceMax": "reduce_max", "ReduceMin": "reduce_min",
              "ReduceProd": "reduce_prod", "ReduceLogSumExp": "log_sum_exp"}
WITH_ALPHA_BETA = {"Elu": ("elu", 1.0, 0.0), "Selu": ("selu", 1.67326319217681884765625, 1.05070102214813232421875), "Celu": ("celu", 1.0, 0.0),
                   "HardSigmoid": ("hard_sigmoid", 0.2, 0.5), "ThresholdedRelu": ("thresholded_relu", 1.0, 0.0)}
INTEGER = {"Add": lambda a, b: a + b, "Sub": lambda a, b: a - b, "Mul": lambda a, b: a * b}


class Lowering:
    def __init__(self, model, node):
        self.model, self.op = model, name_of(node.get("op_type", b""))
        self.inputs = [name_of(i) for i in node["input"]]
        self.outputs = [name_of(o) for o in node["output"]]
        self.attributes = {name_of(a.get("name", b"")): a for a in node["attribute"]}
        self.where = f"{self.op} '{name_of(node.get('name', b''))}'"

    def run(self):
        for name in self.inputs:
            if name not in self.model.values:
                raise Malformed("onnx.undefined_value", name)
        handler = getattr(self, "lower_" + self.op.lower(), None)
        if self.op in ELEMENTWISE:
            results = self.model.emit(ELEMENTWISE[self.op], [self.x(0)], self.shape(0))
        elif self.op in BINARY:
            results = self.binary()
        elif self.op in REDUCTIONS:
            results = self.reduction()
        elif self.op in WITH_ALPHA_BETA:
            op, alpha, beta = WITH_ALPHA_BETA[self.op]
            alpha = self.number("alpha", float32(alpha))
            beta = self.number("gamma" if op == "selu" else "beta", float32(beta))
            results = self.model.emit(op, [self.x(0)], self.shape(0), alpha=alpha, beta=beta)
        elif handler:
            results = handler()
        else:
            raise Declined("onnx.unknown_op", self.where)
        results = results if isinstance(results, list) else [results]
        if self.attributes:
            raise Declined("onnx.attribute", f"{self.where}: {sorted(self.attributes)}")
        for name, result in zip(self.outputs, results):
            if name:
                self.model.define(name, result)

    # Operands and attributes.

    def x(self, place):
        value = self.model.values[self.inputs[place]] if place < len(self.inputs) else None
        if value is None:
            raise Malformed("onnx.arity", self.where)
        return value

    def has(self, place):
        return place < len(self.inputs) and self.inputs[place] != ""

    def shape(self, place):
        return self.model.type_of(self.x(place)).shape

    def dtype(self, place):
        return self.model.type_of(self.x(place)).dtype

    def constant(self, place):
        value = self.x(place)
        if not isinstance(value, Constant):
            raise Declined("onnx.not_constant", self.where)
        return value.values

    def number(self, name, default):
        return self.attributes.pop(name, {}).get("f", default)

    def integer(self, name, default):
        return self.attributes.pop(name, {}).get("i", default)

    def integers(self, name, default):
        return self.attributes.pop(name)["ints"] if name in self.attributes else default

    def axis(self, value, rank):
        if not -rank <= value < max(rank, 1):
            raise Malformed("onnx.axis", self.where)
        return value + rank if value < 0 else value

    def reshaped(self, value, shape):
        if math.prod(shape) != math.prod(self.model.type_of(value).shape):
            raise Malformed("onnx.shape", f"{self.where}: {shape}")
        return value if tuple(shape) == self.model.type_of(value).shape else self.model.emit("reshape", [value], tuple(shape), shape=list(shape))

    # Elementwise and products.

    def binary(self):
        operands = [self.x(i) for i in range(len(self.inputs))]
        shape = broadcast(*[self.model.type_of(o).shape for o in operands])
        dtype = self.dtype(0)
        if len(operands) == 1:
            return operands[0]
        if all(isinstance(o, Constant) for o in operands) and dtype not in FLOATS:
            return self.fold(operands, shape, dtype)
        return self.model.emit(BINARY[self.op], operands, shape)

    def fold(self, operands, shape, dtype):
        a, b, *more = [[o.values[e] for e in broadcast_map(o.shape, shape)] for o in operands]
        if self.op == "Div" and 0 in b or more or self.op in ("PRelu",):
            raise Declined("onnx.integers_only", self.where)
        by = INTEGER | {"Div": lambda p, q: abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1), "Min": min, "Max": max}
        values = [by[self.op](p, q) for p, q in zip(a, b)]
        if any(not RANGES[dtype][0] <= v <= RANGES[dtype][1] for v in values):
            raise Malformed("onnx.integer_overflow", self.where)
        return Constant(dtype, shape, values)

    def lower_sum(self):
        total = self.x(0)
        for place in range(1, len(self.inputs)):
            total = self.model.emit("add", [total, self.x(place)], broadcast(self.model.type_of(total).shape, self.shape(place)))
        return total

    def lower_mean(self):
        total, dtype = self.lower_sum(), self.dtype(0)
        shape = self.model.type_of(total).shape
        return total if len(self.inputs) == 1 else self.model.emit("div", [total, Constant(dtype, (), [len(self.inputs)])], shape)

    def lower_leakyrelu(self):
        return self.model.emit("leaky_relu", [self.x(0)], self.shape(0), slope=self.number("alpha", float32(0.01)))

    def lower_shrink(self):
        alpha, beta = self.number("lambd", 0.5), self.number("bias", 0.0)
        return self.model.emit("shrink", [self.x(0)], self.shape(0), alpha=alpha, beta=beta)

    def lower_gelu(self):
        form = self.attributes.pop("approximate", {}).get("s", b"none")
        return self.model.emit("gelu", [self.x(0)], self.shape(0), tanh=form == b"tanh")

    def lower_clip(self):
        if self.model.opset >= 11:
            bounds = [(self.x(i) if self.has(i) else None) for i in (1, 2)]
            if any(b is not None and not isinstance(b, Constant) for b in bounds) or self.dtype(0) not in FLOATS:
                raise Declined("onnx.clip", self.where)
            lo, hi = [b.values[0] if b else d for b, d in zip(bounds, (-math.inf, math.inf))]
        else:
            largest = float.fromhex("0x1.fffffep+127")
            lo, hi = self.number("min", -largest), self.number("max", largest)
        if not lo <= hi:
            raise Declined("onnx.clip", self.where)
        return self.model.emit("clip", [self.x(0)], self.shape(0), lo=lo, hi=hi)

    def lower_pow(self):
        exponent = self.constant(1)
        if self.dtype(0) not in FLOATS or len(set(exponent)) != 1 or broadcast(self.shape(0), self.model.type_of(self.x(1)).shape) != self.shape(0):
            raise Declined("onnx.unknown_op", self.where)
        return self.model.emit("pow", [self.x(0)], self.shape(0), exponent=Fraction(exponent[0]))

    def lower_gemm(self):
        ta, tb = self.integer("transA", 0), self.integer("transB", 0)
        (m, k), (l, n) = self.shape(0)[::-1 if ta else 1], self.shape(1)[::-1 if tb else 1]
        operands = [self.x(0), self.x(1)] + ([self.x(2)] if self.has(2) else [])
        if k != l:
            raise Malformed("onnx.shape", self.where)
        return self.model.emit("gemm", operands, (m, n), alpha=self.number("alpha", 1.0), beta=self.number("beta", 1.0), transpose_a=ta, transpose_b=tb)

    def lower_matmul(self):
        a, b = self.shape(0), self.shape(1)
        rows, columns = (1,) + a if len(a) == 1 else a, b + (1,) if len(b) == 1 else b
        if not a or not b or rows[-1] != columns[-2]:
            raise Malformed("onnx.shape", self.where)
        shape = broadcast(rows[:-2], columns[:-2]) + (rows[-2:-1] if len(a) > 1 else ()) + (columns[-1:] if len(b) > 1 else ())
        return self.model.emit("matmul", [self.x(0), self.x(1)], shape)

    def window(self, rank, kernel):
        given = {n: self.integers(n, [1] * rank) for n in ("strides", "dilations")}
        pads, auto = self.integers("pads", [0] * 2 * rank), self.attributes.pop("auto_pad", {}).get("s", b"NOTSET")
        extents = self.shape(0)[2:]
        begin, end = pads[:rank], pads[rank:]
        if auto in (b"SAME_UPPER", b"SAME_LOWER"):
            total = [max(0, (math.ceil(x / s) - 1) * s + d * (k - 1) + 1 - x) for x, k, s, d in zip(extents, kernel, given["strides"], given["dilations"])]
            small = [t // 2 for t in total]
            large = [t - s for t, s in zip(total, small)]
            begin, end = (small, large) if auto == b"SAME_UPPER" else (large, small)
        elif auto == b"VALID":
            begin, end = [0] * rank, [0] * rank
        return {"kernel": list(kernel), **given, "pads_begin": begin, "pads_end": end, "output_padding": [], "groups": 1,
                "count_include_pad": False, "ceil_mode": False}

    def extents(self, w, ceiling=False):
        result = []
        for x, k, s, d, b, e in zip(self.shape(0)[2:], w["kernel"], w["strides"], w["dilations"], w["pads_begin"], w["pads_end"]):
            reach = x + b + e - d * (k - 1) - 1
            if reach < 0 or s < 1 or d < 1:
                raise Malformed("onnx.shape", self.where)
            count = (-(-reach // s) if ceiling else reach // s) + 1
            result.append(count - 1 if ceiling and (count - 1) * s >= x + b else count)
        return tuple(result)

    def lower_conv(self):
        weights = self.shape(1)
        kernel = self.integers("kernel_shape", weights[2:])
        w = self.window(len(weights) - 2, kernel) | {"groups": self.integer("group", 1)}
        if tuple(kernel) != weights[2:] or self.shape(0)[1] != weights[1] * w["groups"] or weights[0] % w["groups"]:
            raise Malformed("onnx.shape", self.where)
        operands = [self.x(0), self.x(1)] + ([self.x(2)] if self.has(2) else [])
        return self.model.emit("conv", operands, (self.shape(0)[0], weights[0]) + self.extents(w), **w)

    def pool(self, op):
        kernel = self.integers("kernel_shape", None)
        if not kernel or len(self.outputs) > 1:
            raise Declined("onnx.unknown_op", self.where)
        w = self.window(len(kernel), kernel)
        w |= {"ceil_mode": bool(self.integer("ceil_mode", 0)), "count_include_pad": bool(self.integer("count_include_pad", 0))}
        self.attributes.pop("storage_order", None)
        return self.model.emit(op, [self.x(0)], self.shape(0)[:2] + self.extents(w, w["ceil_mode"]), **w)

    def lower_maxpool(self):
        return self.pool("max_pool")

    def lower_averagepool(self):
        return self.pool("avg_pool")

    def lower_globalmaxpool(self):
        w = self.window(len(self.shape(0)) - 2, self.shape(0)[2:])
        return self.model.emit("max_pool", [self.x(0)], self.shape(0)[:2] + self.extents(w), **w)

    def lower_globalaveragepool(self):
        axes = list(range(2, len(self.shape(0))))
        return self.model.emit("reduce_mean", [self.x(0)], self.shape(0)[:2] + (1,) * len(axes), axes=axes, keep_dims=True)

    def lower_batchnormalization(self):
        if self.integer("training_mode", 0) or len(self.outputs) > 1 and self.model.opset < 14:
            raise Malformed("onnx.training", self.where)
        self.attributes.pop("momentum", None)
        return self.model.emit("batch_norm", [self.x(i) for i in range(5)], self.shape(0), epsilon=self.number("epsilon", float32(1e-5)))

    def softmax(self, op):
        shape, old = self.shape(0), self.model.opset < 13
        axis = self.axis(self.integer("axis", 1 if old else -1), len(shape))
        if not old:
            return self.model.emit(op, [self.x(0)], shape, axis=axis)
        flat = (math.prod(shape[:axis]), math.prod(shape[axis:]))
        return self.reshaped(self.model.emit(op, [self.reshaped(self.x(0), flat)], flat, axis=1), shape)

    def lower_softmax(self):
        return self.softmax("softmax")

    def lower_logsoftmax(self):
        return self.softmax("log_softmax")

    def reduction(self):
        shape, op = self.shape(0), REDUCTIONS[self.op]
        moved = self.model.opset >= (13 if op == "reduce_sum" else 18)
        axes = (list(self.constant(1)) if self.has(1) else None) if moved else self.integers("axes", None)
        keep, empty = bool(self.integer("keepdims", 1)), self.integer("noop_with_empty_axes", 0)
        if not axes:
            if empty:
                raise Declined("onnx.attribute", self.where)
            axes = range(len(shape))
        axes = sorted({self.axis(a, len(shape)) for a in axes})
        result = tuple(1 if a in axes else e for a, e in enumerate(shape) if keep or a not in axes)
        return self.model.emit(op, [self.x(0)], result, axes=axes, keep_dims=keep)

    # Layout.

    def lower_identity(self):
        return self.x(0)

    def lower_dropout(self):
        self.attributes.pop("ratio", None), self.attributes.pop("seed", None)
        return self.x(0)

    def lower_cast(self):
        target, x = TYPES.get(self.integer("to", 0)), self.x(0)
        self.attributes.pop("saturate", None)
        if target == self.dtype(0):
            return x
        if not isinstance(x, Constant):
            if target in DTYPES and target in FLOATS and self.dtype(0) in FLOATS:
                return self.model.emit("cast", [x], self.shape(0), dtype=target)
            raise Declined("onnx.cast", self.where)
        if target not in FLOATS or x.dtype in FLOATS or any(abs(v) > 1 << 24 for v in x.values):
            if target not in RANGES or any(v != int(v) for v in x.values):
                raise Declined("onnx.cast", self.where)
            return Constant(target, x.shape, [int(v != 0) if target == "bool" else int(v) for v in x.values])
        return Constant(target, x.shape, [float(v) for v in x.values])

    def lower_flatten(self):
        shape = self.shape(0)
        axis = self.integer("axis", 1)
        axis = axis + len(shape) if axis < 0 else axis
        return self.reshaped(self.x(0), (math.prod(shape[:axis]), math.prod(shape[axis:])))

    def lower_reshape(self):
        shape, wanted, zero = self.shape(0), list(self.constant(1)), self.integer("allowzero", 0)
        if not zero:
            if any(d == 0 and i >= len(shape) for i, d in enumerate(wanted)):
                raise Malformed("onnx.shape", self.where)
            wanted = [shape[i] if d == 0 else d for i, d in enumerate(wanted)]
        if wanted.count(-1) == 1 and math.prod(wanted):
            wanted[wanted.index(-1)] = math.prod(shape) // -math.prod(wanted)
        if any(d < 0 for d in wanted):
            raise Malformed("onnx.shape", self.where)
        return self.reshaped(self.x(0), tuple(wanted))

    def axes(self, version=13):
        return (list(self.constant(1)) if self.has(1) else None) if self.model.opset >= version else self.integers("axes", None)

    def lower_squeeze(self):
        shape, axes = self.shape(0), self.axes()
        axes = [self.axis(a, len(shape)) for a in axes] if axes is not None else [i for i, d in enumerate(shape) if d == 1]
        return self.reshaped(self.x(0), tuple(d for i, d in enumerate(shape) if i not in axes))

    def lower_unsqueeze(self):
        shape, axes = list(self.shape(0)), self.axes()
        if axes is None:
            raise Malformed("onnx.arity", self.where)
        for axis in sorted(self.axis(a, len(shape) + len(axes)) for a in axes):
            shape.insert(axis, 1)
        return self.reshaped(self.x(0), tuple(shape))

    def lower_transpose(self):
        shape = self.shape(0)
        axes = self.integers("perm", list(range(len(shape)))[::-1])
        if sorted(axes) != list(range(len(shape))):
            raise Malformed("onnx.axis", self.where)
        return self.model.emit("permute", [self.x(0)], tuple(shape[a] for a in axes), axes=axes)

    def lower_slice(self):
        shape = self.shape(0)
        if self.model.opset >= 10:
            starts, ends = self.constant(1), self.constant(2)
            axes = self.constant(3) if self.has(3) else range(len(starts))
            steps = self.constant(4) if self.has(4) else [1] * len(starts)
        else:
            starts, ends = self.integers("starts", []), self.integers("ends", [])
            axes, steps = self.integers("axes", range(len(starts))), [1] * len(starts)
        begin, step, extents = [0] * len(shape), [1] * len(shape), list(shape)
        for start, end, axis, by in zip(starts, ends, axes, steps):
            axis = self.axis(axis, len(shape))
            if by == 0:
                raise Malformed("onnx.shape", self.where)
            chosen = range(shape[axis])[slice(start, None if by < 0 and end < -shape[axis] else end, by)]
            begin[axis], step[axis], extents[axis] = chosen.start, by, len(chosen)
        return self.model.emit("slice", [self.x(0)], tuple(extents), starts=begin, steps=step, extents=extents)

    def lower_split(self):
        shape = self.shape(0)
        axis = self.axis(self.integer("axis", 0), len(shape))
        sizes = (list(self.constant(1)) if self.has(1) else None) if self.model.opset >= 13 else self.integers("split", None)
        count = self.integer("num_outputs", len(self.outputs))
        each = -(-shape[axis] // count)
        sizes = sizes or [min(each, shape[axis] - each * i) for i in range(count)]
        if sum(sizes) != shape[axis] or min(sizes) < 0:
            raise Malformed("onnx.shape", self.where)
        results, start = [], 0
        for name, size in zip(self.outputs, sizes):
            starts, extents = [0] * len(shape), list(shape)
            starts[axis], extents[axis] = start, size
            start += size
            used = name in self.model.needed
            results.append(self.model.emit("slice", [self.x(0)], tuple(extents), starts=starts, steps=[1] * len(shape), extents=extents) if used else None)
        return results

    def lower_concat(self):
        shapes = [self.shape(i) for i in range(len(self.inputs))]
        axis = self.axis(self.integer("axis", None), len(shapes[0]))
        if len({s[:axis] + s[axis + 1:] for s in shapes}) > 1:
            raise Malformed("onnx.shape", self.where)
        shape = shapes[0][:axis] + (sum(s[axis] for s in shapes),) + shapes[0][axis + 1:]
        operands = [self.x(i) for i in range(len(self.inputs))]
        return operands[0] if len(operands) == 1 else self.model.emit("concat", operands, shape, axis=axis)

    def lower_gather(self):
        shape, indices, places = self.shape(0), self.constant(1), self.shape(1)
        axis = self.axis(self.integer("axis", 0), len(shape))
        indices = [self.axis(i, shape[axis]) for i in indices]
        return self.model.emit("gather", [self.x(0)], shape[:axis] + places + shape[axis + 1:], axis=axis, indices=indices, index_shape=list(places))

    def lower_expand(self):
        shape = broadcast(self.shape(0), tuple(self.constant(1)))
        return self.x(0) if shape == self.shape(0) else self.model.emit("expand", [self.x(0)], shape, shape=list(shape))

    def lower_pad(self):
        shape, rank = self.shape(0), len(self.shape(0))
        pads = list(self.constant(1)) if self.model.opset >= 11 else self.integers("pads", [])
        value = (self.constant(2)[0] if self.has(2) else 0) if self.model.opset >= 11 else self.number("value", 0.0)
        axes = [self.axis(a, rank) for a in self.constant(3)] if self.has(3) else list(range(rank))
        if self.attributes.pop("mode", {}).get("s", b"constant") != b"constant" or len(pads) != 2 * len(axes):
            raise Declined("onnx.pad", self.where)
        before, after = [0] * rank, [0] * rank
        for place, axis in enumerate(axes):
            before[axis], after[axis] = pads[place], pads[place + len(axes)]
        extents = tuple(b + d + a for b, d, a in zip(before, shape, after))
        return self.model.emit("pad", [self.x(0)], extents, before=before, after=after, value=value)

    def lower_constant(self):
        given = [self.attributes.pop(n) for n in list(self.attributes)]
        if len(given) != 1 or name_of(given[0]["name"]) not in ("value", "value_float", "value_int", "value_floats", "value_ints"):
            raise Declined("onnx.attribute", self.where)
        attribute, name = given[0], name_of(given[0]["name"])
        if name == "value":
            return Constant(*tensor_of(attribute.get("t", {"dims": []}), self.model.folder))
        values = attribute["floats" if "float" in name else "ints"] if name.endswith("s") else [attribute.get("f" if "float" in name else "i", 0)]
        return Constant("float32" if "float" in name else "int64", (len(values),) if name.endswith("s") else (), values)

    def lower_constantofshape(self):
        value = self.attributes.pop("value", None)
        dtype, _, values = tensor_of(value["t"], self.model.folder) if value else ("float32", (), [0.0])
        shape = tuple(self.constant(0))
        return Constant(dtype, shape, values * math.prod(shape))

    def lower_shape(self):
        shape = self.shape(0)
        chosen = shape[slice(self.integer("start", 0), self.integer("end", len(shape)))]
        return Constant("int64", (len(chosen),), list(chosen))
