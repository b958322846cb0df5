"""Random models of one operator each, for onnx_random.py: attributes, versions, sizes and values from a seed."""
import dataclasses

import numpy as np
from onnx import TensorProto, helper, numpy_helper

TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float64): TensorProto.DOUBLE, np.dtype(np.int64): TensorProto.INT64, np.dtype(np.int32): TensorProto.INT32,
         np.dtype(np.uint8): TensorProto.UINT8, np.dtype(np.int8): TensorProto.INT8, np.dtype(np.bool_): TensorProto.BOOL}


@dataclasses.dataclass
class Input:
    """What the network is given: everything else is a constant."""

    values: np.ndarray


@dataclasses.dataclass
class Case:
    op: str
    model: object
    inputs: dict
    words: str


class Draw:
    """Random choices of one model."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def one_of(self, *options):
        return options[self.random.integers(len(options))]

    def whole(self, low, high):
        return int(self.random.integers(low, high + 1))

    def chance(self, share):
        return self.random.random() < share

    def shape(self, least=1, most=4, extent=5):
        return tuple(self.whole(1, extent) for _ in range(self.whole(least, most)))

    def floats(self, shape, low=-3.0, high=3.0):
        return self.random.uniform(low, high, shape).astype(np.float32)

    def ints(self, shape, low, high, dtype=np.int64):
        return self.random.integers(low, high + 1, shape).astype(dtype)

    def broadcast(self, shape):
        """A shape that broadcasts to this one."""
        kept = shape[self.whole(0, len(shape)):]
        return tuple(1 if self.chance(0.3) else extent for extent in kept)

    def make(self, op, opset, inputs, outputs=1, **attributes):
        names, given, constants = [], {}, []
        for i, one in enumerate(inputs):
            names.append("" if one is None else f"i{i}")
            if isinstance(one, Input):
                given[f"i{i}"] = np.asarray(one.values)
            elif one is not None:
                constants.append(numpy_helper.from_array(np.asarray(one), f"i{i}"))
        while names and not names[-1]:
            names.pop()
        attributes = {name: value for name, value in attributes.items() if value is not None}
        results = [f"o{i}" for i in range(outputs)] if isinstance(outputs, int) else outputs
        node = helper.make_node(op, names, results, **attributes)
        values = [helper.make_tensor_value_info(name, TYPES[array.dtype], array.shape) for name, array in given.items()]
        shown = [helper.make_tensor_value_info(name, 0, None) for name in results if name]
        for one in shown:
            one.type.Clear()
        model = helper.make_model(helper.make_graph([node], "g", values, shown, constants), opset_imports=[helper.make_opsetid("", opset)],
                                  ir_version=10)
        shapes = [None if one is None else (one.values if isinstance(one, Input) else np.asarray(one)).shape for one in inputs]
        return Case(op, model, given, f"{op}-{opset} {attributes} {shapes}")


GENERATORS = {}  # operator -> generator of a case


def of(*ops):
    def enter(generator):
        for op in ops:
            GENERATORS[op] = generator
        return generator
    return enter


FIRST = {"Erf": 9, "Sinh": 9, "Cosh": 9, "Asinh": 9, "Acosh": 9, "Atanh": 9, "Sign": 9, "Round": 11, "HardSwish": 14, "Mish": 18, "Celu": 12,
         "Shrink": 9, "ThresholdedRelu": 10, "Gelu": 20, "Swish": 24}
DOMAINS = {"Log": (0.1, 4), "Sqrt": (0.0, 4), "Asin": (-1, 1), "Acos": (-1, 1), "Acosh": (1, 5), "Atanh": (-0.95, 0.95), "Reciprocal": (0.3, 4),
           "Tan": (-1.4, 1.4)}


@of("Neg", "Abs", "Relu", "Sigmoid", "Tanh", "Exp", "Log", "Sqrt", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Floor", "Ceil", "Reciprocal", "Softplus",
    "Softsign", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Erf", "Round", "HardSwish", "Mish", "Sign", "Identity", "Not", "IsNaN", "IsInf")
def function(d, op):
    opset = d.whole(max(FIRST.get(op, 7), {"IsInf": 10, "IsNaN": 9}.get(op, 7)), 22)
    shape = d.shape()
    if op == "Not":
        return d.make(op, opset, [Input(d.ints(shape, 0, 1, np.bool_))])
    values = d.floats(shape, *DOMAINS.get(op, (-4, 4)))
    if op == "Round" and d.chance(0.5):
        values = np.round(2 * values) / np.float32(2)
    return d.make(op, opset, [Input(values)])


@of("Elu", "Selu", "Celu", "HardSigmoid", "LeakyRelu", "Shrink", "ThresholdedRelu", "Gelu", "Swish", "PRelu", "Clip")
def activation(d, op):
    opset = d.whole(FIRST.get(op, 7), 24 if op == "Swish" else 22)
    x, a, b = d.floats(d.shape()), float(np.float32(d.random.uniform(0.1, 2))), float(np.float32(d.random.uniform(0.1, 2)))
    if op == "PRelu":
        return d.make(op, opset, [Input(x), d.floats(d.broadcast(x.shape))])
    if op == "Clip":
        low, high = d.one_of(None, -a), d.one_of(None, b, -2 * a)
        if opset < 11:
            return d.make(op, opset, [Input(x)], min=low, max=high)
        return d.make(op, opset, [Input(x), None if low is None else np.float32(low), None if high is None else np.float32(high)])
    names = {"Selu": ("alpha", "gamma"), "HardSigmoid": ("alpha", "beta"), "Shrink": ("lambd", "bias"), "Gelu": ()}.get(op, ("alpha",))
    given = {name: value for name, value in zip(names, (a, b)) if d.chance(0.7)}
    if op == "Gelu":
        given["approximate"] = d.one_of("none", "tanh", None)
    return d.make(op, opset, [Input(x)], **given)


@of("Add", "Sub", "Mul", "Div", "Pow", "Mod", "Min", "Max", "Sum", "Mean")
def arithmetic(d, op):
    opset, shape = d.whole({"Mod": 10, "Max": 8, "Min": 8, "Sum": 8, "Mean": 8}.get(op, 7), 22), d.shape()
    x = d.floats(shape, *((0.2, 3) if op == "Pow" else (-3, 3)))
    y = d.floats(d.broadcast(shape), *((0.4, 3) if op in ("Div", "Mod") else (-2, 2)))
    if op == "Div" and d.chance(0.5):
        y = -y
    if op == "Mod":
        integers = d.chance(0.5)
        if integers:
            return d.make(op, opset, [Input(d.ints(shape, -9, 9)), d.one_of(1, -1) * d.ints(y.shape, 1, 5)], fmod=d.one_of(0, 1))
        return d.make(op, opset, [Input(x), d.one_of(1, -1) * y], fmod=1)
    operands = [Input(x), d.one_of(Input(y), y)]
    if op in ("Min", "Max", "Sum", "Mean"):
        operands = [Input(x), *(d.floats(d.broadcast(shape)) for _ in range(d.whole(0, 3)))]
    elif op != "Pow" and d.chance(0.3):
        operands.reverse()
        if op == "Div":
            operands = [operands[0], Input(np.float32(1) + np.abs(x))]
    return d.make(op, opset, operands)


@of("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "BitShift")
def truth(d, op):
    shape = d.shape()
    if op in ("And", "Or", "Xor"):
        return d.make(op, d.whole(7, 22), [Input(d.ints(shape, 0, 1, np.bool_)), Input(d.ints(d.broadcast(shape), 0, 1, np.bool_))])
    if op.startswith("Bit"):
        dtype, low, high = (np.uint8, 0, 255) if op == "BitShift" or d.chance(0.5) else (np.int32, -1000, 1000)
        operands = [Input(d.ints(shape, low, high, dtype))]
        if op != "BitwiseNot":
            operands.append(d.ints(shape, *((0, 7) if op == "BitShift" else (low, high)), dtype))
        return d.make(op, 18, operands, direction=d.one_of("LEFT", "RIGHT") if op == "BitShift" else None)
    low = 12 if op.endswith("OrEqual") else 11 if op == "Equal" else 9
    x, y = d.ints(shape, -2, 2), d.ints(d.broadcast(shape), -2, 2)
    if d.chance(0.5):
        x, y = x.astype(np.float32), y.astype(np.float32)
    return d.make(op, d.whole(low, 22), [Input(x), y])


@of("Gemm", "MatMul", "Einsum")
def product(d, op):
    n, k, m = d.whole(1, 5), d.whole(1, 6), d.whole(1, 5)
    if op == "MatMul":
        stack = d.shape(0, 2, 3)
        return d.make(op, d.whole(9, 22), [Input(d.floats(stack + (n, k))), d.floats(d.broadcast(stack) + (k, m))])
    if op == "Einsum":
        equation = d.one_of("ij,jk->ik", "ij,jk", "ij,kj->ik", "ij,jk->ki")
        return d.make(op, d.whole(12, 22), [Input(d.floats((n, k))), d.floats((m, k) if equation == "ij,kj->ik" else (k, m))], equation=equation)
    a, b = d.whole(0, 1), d.whole(0, 1)
    bias = [d.floats(d.one_of((m,), (1, m), (n, m), (n, 1), ()))]
    return d.make(op, d.whole(11, 22), [Input(d.floats((k, n) if a else (n, k))), d.floats((m, k) if b else (k, m)), *(bias if d.chance(0.7) else [])],
                  transA=a, transB=b, alpha=d.one_of(None, 0.5, 2.0), beta=d.one_of(None, 0.25))


def window(d, axes, fixed=False):
    kernel, strides = [d.whole(1, 3) for _ in range(axes)], [d.whole(1, 3) for _ in range(axes)]
    given = {"strides": strides} if d.chance(0.8) else {}
    if not fixed and d.chance(0.3):
        given["auto_pad"] = d.one_of("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET")
    elif d.chance(0.6):
        given["pads"] = [d.whole(0, size - 1) for size in kernel * 2]
    return kernel, given


@of("Conv", "ConvTranspose", "ConvInteger")
def convolution(d, op):
    axes, groups, channels = d.whole(1, 2), d.whole(1, 2), d.whole(1, 2)
    kernel, given = window(d, axes)
    extents = tuple(d.whole(6, 8) for _ in range(axes))
    if "auto_pad" not in given and d.chance(0.4):
        given["dilations"] = [d.whole(1, 2) for _ in range(axes)]
    x, w = (1, groups * channels) + extents, (groups * d.whole(1, 2), channels) + tuple(kernel)
    if op == "ConvInteger":
        return d.make(op, 10, [Input(d.ints(x, 0, 255, np.uint8)), d.ints(w, 0, 255, np.uint8), np.uint8(d.whole(0, 255))], group=groups, **given)
    if op == "ConvTranspose":
        if "auto_pad" not in given and "strides" in given and d.chance(0.3):
            given["output_padding"] = [d.whole(0, stride - 1) for stride in given["strides"]]
        w = (groups * channels, d.whole(1, 2)) + tuple(kernel)
        return d.make(op, d.whole(11, 22), [Input(d.floats(x)), d.floats(w)], group=groups, **given)
    return d.make(op, d.whole(7, 22), [Input(d.floats(x)), d.floats(w), *([d.floats((w[0],))] if d.chance(0.5) else [])], group=groups, **given)


@of("MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def pool(d, op):
    axes = d.whole(1, 2)
    x = (d.whole(1, 2), d.whole(1, 2)) + tuple(d.whole(5, 8) for _ in range(axes))
    opset = d.whole(7, 22)
    if op.startswith("Global"):
        return d.make(op, opset, [Input(d.floats(x))], p=d.whole(1, 3) if op == "GlobalLpPool" else None)
    kernel, given = window(d, axes)
    if opset >= {"LpPool": 18}.get(op, 10) and "auto_pad" not in given and d.chance(0.4):
        given["ceil_mode"] = 1
    if opset >= {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[op] and d.chance(0.3):
        given["dilations"] = [d.whole(1, 2) for _ in range(axes)]
    if op == "AveragePool":
        given["count_include_pad"] = d.one_of(None, 0, 1)
    if op == "LpPool":
        given["p"] = d.whole(1, 3)
    return d.make(op, opset, [Input(d.floats(x))], kernel_shape=kernel, **given)


@of("BatchNormalization", "InstanceNormalization", "LayerNormalization", "GroupNormalization", "RMSNormalization", "LpNormalization",
    "MeanVarianceNormalization", "LRN")
def normalisation(d, op):
    channels = d.whole(1, 3) * 2
    shape = (d.whole(1, 2), channels) + d.shape(1, 2, 4)
    x, epsilon = Input(d.floats(shape)), d.one_of(None, 0.01)
    per = [d.floats((channels,)), d.floats((channels,))]
    if op == "BatchNormalization":
        return d.make(op, d.one_of(9, 14, 15), [x, *per, d.floats((channels,)), d.floats((channels,), 0.1, 2)], epsilon=epsilon)
    if op == "InstanceNormalization":
        return d.make(op, d.whole(7, 22), [x, *per], epsilon=epsilon)
    if op == "GroupNormalization":
        return d.make(op, 21, [x, *per], num_groups=d.one_of(1, 2, channels), epsilon=epsilon)
    if op == "LpNormalization":
        return d.make(op, d.whole(7, 22), [x], p=d.whole(1, 2), axis=d.whole(-1, len(shape) - 1))
    if op == "MeanVarianceNormalization":
        return d.make(op, d.one_of(9, 13), [x], axes=d.one_of(None, [0, 1], [-1], [2]))
    if op == "LRN":
        return d.make(op, d.whole(7, 13), [Input(d.floats(shape[:2] + (3, 4)))], size=d.one_of(1, 3, 5), alpha=d.one_of(None, 0.5), beta=d.one_of(None, 0.5),
                      bias=d.one_of(None, 2.0))
    axis = d.whole(1, len(shape) - 1)
    scale = d.floats(shape[axis:])
    return d.make(op, 23 if op == "RMSNormalization" else d.whole(17, 22), [x, scale, *([d.floats(shape[axis:])] if op[0] == "L" and d.chance(0.6) else [])],
                  axis=d.one_of(axis, axis - len(shape)), epsilon=epsilon)


@of("Softmax", "LogSoftmax", "Hardmax", "ArgMax", "ArgMin", "TopK", "CumSum", "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd",
    "ReduceLogSumExp", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum")
def along(d, op):
    shape = d.shape(2, 4)
    x, axis = Input(d.floats(shape)), d.whole(0, len(shape) - 1)
    signed = d.one_of(axis, axis - len(shape))
    if op in ("Softmax", "LogSoftmax", "Hardmax"):
        opset = d.whole(7, 22)
        return d.make(op, opset, [x], axis=d.one_of(None, axis if opset < 11 else signed))
    if op in ("ArgMax", "ArgMin"):
        opset = d.whole(11, 22)
        return d.make(op, opset, [x], axis=signed, keepdims=d.one_of(None, 0, 1), select_last_index=d.one_of(None, 0, 1) if opset >= 12 else None)
    if op == "TopK":
        return d.make(op, d.whole(11, 22), [x, np.array([d.whole(1, shape[axis])], np.int64)], 2, axis=signed, largest=d.one_of(None, 0, 1))
    if op == "CumSum":
        return d.make(op, d.whole(11, 22), [x, np.int64(signed)], exclusive=d.one_of(None, 1), reverse=d.one_of(None, 1))
    if op == "ReduceLogSum":
        x = Input(d.floats(shape, 0.2, 3))
    axes = sorted(int(one) for one in d.random.choice(len(shape), d.whole(1, len(shape)), replace=False))
    opset, keep = d.whole(11, 22), d.one_of(None, 0, 1)
    if opset >= (13 if op == "ReduceSum" else 18):
        given = d.one_of(None, np.array(axes, np.int64))
        return d.make(op, opset, [x, given], keepdims=keep, noop_with_empty_axes=d.one_of(None, 0, 1) if op not in ("ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum") else None)
    return d.make(op, opset, [x], axes=d.one_of(None, axes), keepdims=keep)
