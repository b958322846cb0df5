"""Small graphs whose ops, ranges or fusions the networks of the development set lack."""
import math

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SHAPE = (1, 4, 6, 6)
UNIT, WIDE, TINY = (-1.0, 1.0), (-30.0, 30.0), (-1e-3, 1e-3)
SUBNORMAL = (-1e-38, 1e-38)
FAR, FARTHER = (100.0, 101.0), (10000.0, 10000.5)  # a mean far above the deviation
OPSET = 21


class Builder:
    def __init__(self):
        self.nodes, self.initialisers, self.random = [], [], np.random.default_rng(7)

    def constant(self, value):
        name = f"c{len(self.initialisers)}"
        self.initialisers.append(numpy_helper.from_array(np.asarray(value, np.float32), name))
        return name

    def indices(self, value):
        name = f"c{len(self.initialisers)}"
        self.initialisers.append(numpy_helper.from_array(np.asarray(value, np.int64), name))
        return name

    def weights(self, *shape, scale=1.0):
        return self.constant(scale * self.random.standard_normal(shape))

    def op(self, kind, *inputs, domain="", **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], domain=domain, **attributes))
        return name

    def model(self, output, shape, output_shape):
        names = [("x", shape), (output, output_shape)]
        values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in names]
        graph = helper.make_graph(self.nodes, "pattern", values[:1], values[1:], self.initialisers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)


def functions():
    """name: (ONNX op, attributes, ranges)"""
    yield "exp", "Exp", {}, [UNIT, WIDE, TINY, (-100, -80), (80, 88)]
    yield "tanh", "Tanh", {}, [UNIT, WIDE, TINY, (7, 10), (-1e-38, 1e-38)]
    yield "erf", "Erf", {}, [UNIT, (-5, 5), TINY]
    yield "sigmoid", "Sigmoid", {}, [UNIT, WIDE, TINY, (-100, -17)]
    yield "log", "Log", {}, [(0.5, 2), (1e-30, 1e-3), (1, 1e30), (0.99, 1.01)]
    for name, op in (("sin", "Sin"), ("cos", "Cos")):
        yield name, op, {}, [UNIT, WIDE, (-1e4, 1e4)]
    yield "tan", "Tan", {}, [UNIT, TINY]
    for name, op in (("asin", "Asin"), ("acos", "Acos"), ("atanh", "Atanh")):
        yield name, op, {}, [(-0.99, 0.99), (-0.6, -0.4), TINY]
    for name, op in (("atan", "Atan"), ("sinh", "Sinh"), ("cosh", "Cosh"), ("asinh", "Asinh")):
        yield name, op, {}, [UNIT, WIDE, TINY]
    yield "acosh", "Acosh", {}, [(1.01, 2), (2, 1e6)]
    yield "sqrt", "Sqrt", {}, [(1e-3, 1e3)]
    yield "reciprocal", "Reciprocal", {}, [(1e-3, 1e3)]
    yield "softplus", "Softplus", {}, [UNIT, WIDE, TINY, (-100, -10), (10, 100)]
    yield "softsign", "Softsign", {}, [UNIT, WIDE, TINY]
    yield "elu", "Elu", {"alpha": 1.3}, [UNIT, WIDE, TINY]
    yield "selu", "Selu", {}, [UNIT, WIDE, TINY]
    yield "celu", "Celu", {"alpha": 0.7}, [UNIT, WIDE, TINY]
    yield "gelu", "Gelu", {}, [UNIT, (-8, 8), TINY]
    yield "gelu, tanh", "Gelu", {"approximate": "tanh"}, [UNIT, (-8, 8), TINY]
    yield "mish", "Mish", {}, [UNIT, WIDE, TINY]
    yield "hard_sigmoid", "HardSigmoid", {}, [UNIT, (-4, 4)]
    yield "hard_swish", "HardSwish", {}, [UNIT, (-4, 4)]
    yield "leaky_relu", "LeakyRelu", {"alpha": 0.1}, [UNIT, TINY]
    yield "thresholded_relu", "ThresholdedRelu", {"alpha": 0.5}, [UNIT]
    yield "softmax", "Softmax", {"axis": -1}, [UNIT, WIDE, TINY, (-100, 100), FARTHER]
    yield "softmax, channels", "Softmax", {"axis": 1}, [UNIT, WIDE]
    yield "log_softmax", "LogSoftmax", {"axis": -1}, [UNIT, WIDE, TINY, (-100, 100), FARTHER]
    yield "lrn", "LRN", {"size": 3, "alpha": 0.5, "beta": 0.75, "bias": 1.0}, [UNIT, (-5, 5)]
    yield "lp_normalise", "LpNormalization", {"axis": -1, "p": 2}, [(0.5, 1), UNIT]
    yield "mean_variance", "MeanVarianceNormalization", {"axes": [0, 2, 3]}, [UNIT, WIDE, FAR, FARTHER]
    yield "average_pool", "AveragePool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}, [UNIT]
    yield "average_pool, all", "AveragePool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1}, [UNIT]
    yield "global_average_pool", "GlobalAveragePool", {}, [UNIT]
    yield "lp_pool", "LpPool", {"kernel_shape": [2, 2], "p": 2}, [(0.5, 1)]


def of_builder():
    """name: (function of builder and input that returns the output, ranges)"""
    c = lambda b, *shape, **k: b.weights(*shape, **k)
    flat = lambda b, x: b.op("Reshape", x, b.indices([1, 144]))

    def norm(kind):
        def build(b, x):
            if kind == "LayerNormalization":
                return b.op(kind, x, c(b, 6), c(b, 6), axis=-1, epsilon=1e-5)
            if kind == "GroupNormalization":
                return b.op(kind, x, c(b, 4), c(b, 4), num_groups=2, epsilon=1e-5)
            return b.op(kind, x, c(b, 4), c(b, 4), epsilon=1e-5)
        return build

    def batch_norm(b, x):
        return b.op("BatchNormalization", x, c(b, 4), c(b, 4), c(b, 4), b.constant(np.abs(b.random.standard_normal(4)) + 0.01), epsilon=1e-5)

    def layer_norm_by_hand(b, x):
        centre = b.op("Sub", x, b.op("ReduceMean", x, b.indices([-1])))
        variance = b.op("ReduceMean", b.op("Pow", centre, b.constant(2.0)), b.indices([-1]))
        y = b.op("Div", centre, b.op("Sqrt", b.op("Add", variance, b.constant(1e-5))))
        return b.op("Add", b.op("Mul", y, c(b, 6)), c(b, 6))

    def gelu_by_hand(b, x):
        t = b.op("Add", b.op("Erf", b.op("Div", x, b.constant(math.sqrt(2)))), b.constant(1.0))
        return b.op("Mul", b.op("Mul", x, t), b.constant(0.5))

    def fast_gelu_by_hand(b, x):
        cube = b.op("Mul", b.op("Pow", x, b.constant(3.0)), b.constant(0.044715))
        t = b.op("Tanh", b.op("Mul", b.op("Add", x, cube), b.constant(math.sqrt(2 / math.pi))))
        return b.op("Mul", b.op("Mul", x, b.op("Add", t, b.constant(1.0))), b.constant(0.5))

    def attention(b, x):
        q, k, v = (b.op("MatMul", x, c(b, 6, 6)) for _ in range(3))
        scores = b.op("Div", b.op("MatMul", q, b.op("Transpose", k, perm=[0, 1, 3, 2])), b.constant(math.sqrt(6)))
        return b.op("MatMul", b.op("Softmax", scores, axis=-1), v)

    conv = lambda b, x: b.op("Conv", x, c(b, 4, 4, 3, 3), c(b, 4), pads=[1, 1, 1, 1])
    conv_plain = lambda b, x: b.op("Conv", x, c(b, 4, 4, 3, 3), pads=[1, 1, 1, 1])
    small = [UNIT, WIDE, TINY]
    far = [*small, FAR, FARTHER]
    tiny = [*small, SUBNORMAL]
    for kind in ("InstanceNormalization", "LayerNormalization", "GroupNormalization"):
        yield kind, norm(kind), far
    yield "layer norm by hand", layer_norm_by_hand, far
    yield "batch norm", batch_norm, [*far, SUBNORMAL]
    yield "conv", conv, [*far, SUBNORMAL]
    yield "conv without bias", conv_plain, [*far, SUBNORMAL]
    yield "conv, 1x1", lambda b, x: b.op("Conv", x, c(b, 8, 4, 1, 1), c(b, 8)), small
    yield "conv, depthwise", lambda b, x: b.op("Conv", x, c(b, 4, 1, 3, 3), c(b, 4), group=4), small
    yield "conv, 16 channels", lambda b, x: b.op("Conv", b.op("Conv", x, c(b, 16, 4, 3, 3), c(b, 16)), c(b, 16, 16, 3, 3), c(b, 16)), small
    yield "conv, strides and dilations", lambda b, x: b.op("Conv", x, c(b, 4, 4, 2, 2), c(b, 4), strides=[2, 2], dilations=[2, 2]), small
    yield "conv transpose", lambda b, x: b.op("ConvTranspose", x, c(b, 4, 3, 3, 3), c(b, 3), strides=[2, 2]), small
    yield "conv + batch norm", lambda b, x: batch_norm(b, conv(b, x)), far
    yield "conv + mul", lambda b, x: b.op("Mul", conv(b, x), c(b, 1, 4, 1, 1)), small
    yield "conv + add", lambda b, x: b.op("Add", conv(b, x), c(b, 1, 4, 1, 1)), small
    yield "conv without bias + add", lambda b, x: b.op("Add", conv_plain(b, x), c(b, 1, 4, 1, 1)), small
    yield "conv + add + relu", lambda b, x: b.op("Relu", b.op("Add", conv(b, x), c(b, 1, 4, 6, 6))), small
    yield "conv + x", lambda b, x: b.op("Add", conv(b, x), x), small
    yield "conv + sigmoid", lambda b, x: b.op("Sigmoid", conv(b, x)), small
    yield "conv + hard swish", lambda b, x: b.op("HardSwish", conv(b, x)), [UNIT]
    yield "batch norm + conv", lambda b, x: b.op("Conv", batch_norm(b, x), c(b, 4, 4, 1, 1), c(b, 4)), small
    yield "pad + conv", lambda b, x: b.op("Conv", b.op("Pad", x, b.indices([0, 0, 1, 1, 0, 0, 1, 1])), c(b, 4, 4, 3, 3)), small
    yield "gelu by hand", gelu_by_hand, [UNIT, (-8, 8), TINY]
    yield "gelu of a sum by hand", lambda b, x: gelu_by_hand(b, b.op("Add", x, c(b, 6))), [UNIT, (-8, 8)]
    yield "tanh gelu by hand", fast_gelu_by_hand, [UNIT, (-8, 8), TINY]
    yield "silu by hand", lambda b, x: b.op("Mul", x, b.op("Sigmoid", x)), small
    yield "quick gelu by hand", lambda b, x: b.op("Mul", x, b.op("Sigmoid", b.op("Mul", x, b.constant(1.702)))), small
    yield "matmul + add", lambda b, x: b.op("Add", b.op("MatMul", flat(b, x), c(b, 144, 20)), c(b, 20)), small
    yield "matmul + add, 4 axes", lambda b, x: b.op("Add", b.op("MatMul", x, c(b, 6, 20)), c(b, 20)), small
    yield "matmul + mul", lambda b, x: b.op("Mul", b.op("MatMul", flat(b, x), c(b, 144, 20)), b.constant(0.3)), small
    yield "mul + matmul", lambda b, x: b.op("MatMul", b.op("Mul", flat(b, x), b.constant(0.3)), c(b, 144, 20)), small
    yield "matmul + batch norm", lambda b, x: b.op("BatchNormalization", b.op("MatMul", flat(b, x), c(b, 144, 20)), c(b, 20), c(b, 20), c(b, 20),
                                                   b.constant(np.abs(b.random.standard_normal(20)) + 0.01)), small
    yield "gemm", lambda b, x: b.op("Gemm", flat(b, x), c(b, 20, 144), c(b, 20), transB=1), tiny
    yield "gemm, alpha and beta", lambda b, x: b.op("Gemm", flat(b, x), c(b, 144, 20), c(b, 20), alpha=0.3, beta=1.7), tiny
    yield "gemm + relu", lambda b, x: b.op("Relu", b.op("Gemm", flat(b, x), c(b, 144, 20), c(b, 20))), small
    yield "gemm + batch norm", lambda b, x: b.op("BatchNormalization", b.op("Gemm", flat(b, x), c(b, 144, 20), c(b, 20)), c(b, 20), c(b, 20), c(b, 20),
                                                 b.constant(np.abs(b.random.standard_normal(20)) + 0.01)), small
    yield "gemm + sum", lambda b, x: b.op("Add", b.op("Gemm", flat(b, x), c(b, 144, 20), c(b, 20)), c(b, 20)), small
    yield "attention", attention, [UNIT, (-4, 4)]
    yield "einsum", lambda b, x: b.op("Einsum", x, c(b, 6, 5), equation="abij,jk->abik"), [UNIT]
    for kind in ("ReduceSum", "ReduceMean"):
        yield kind, lambda b, x, kind=kind: b.op(kind, x, b.indices([2, 3])), [*far, SUBNORMAL]
    for kind in ("ReduceL2", "ReduceL1", "ReduceSumSquare", "ReduceLogSumExp"):
        yield kind, lambda b, x, kind=kind: b.op(kind, x, b.indices([-1])), small
    yield "ReduceProd", lambda b, x: b.op("ReduceProd", x, b.indices([-1])), [(0.5, 2)]
    yield "cumulative sum", lambda b, x: b.op("CumSum", x, b.indices(3)), small
    for exponent in (2.0, 3.0, 0.5, -0.5, 1.5, -1.0, 2.5, 7.0):
        yield f"pow {exponent:g}", lambda b, x, e=exponent: b.op("Pow", x, b.constant(e)), [(0.5, 2), (1e-3, 1e3)]
    yield "x x", lambda b, x: b.op("Mul", x, x), [*tiny, (-1e-19, 1e-19)]
    yield "x / (1 + x x)", lambda b, x: b.op("Div", x, b.op("Add", b.op("Mul", x, x), b.constant(1.0))), small
    yield "x c + x x", lambda b, x: b.op("Add", b.op("Mul", x, c(b, 6)), b.op("Mul", x, x)), small
    yield "constants folded", lambda b, x: b.op("Mul", x, b.op("Exp", b.op("Div", c(b, 6), b.constant(3.0)))), small
    yield "x c1 c2", lambda b, x: b.op("Mul", b.op("Mul", x, b.constant(0.1)), b.constant(0.3)), small
    yield "x + c1 + c2", lambda b, x: b.op("Add", b.op("Add", x, b.constant(0.1)), b.constant(0.3)), small
    yield "prelu", lambda b, x: b.op("PRelu", x, c(b, 4, 1, 1)), small
    yield "clip", lambda b, x: b.op("Clip", x, b.constant(-0.3), b.constant(0.7)), [UNIT]
    yield "resize", lambda b, x: b.op("Resize", x, "", b.constant([1, 1, 1.5, 1.5]), mode="linear"), [UNIT]
    yield "resize, nearest", lambda b, x: b.op("Resize", x, "", b.constant([1, 1, 2, 2]), mode="nearest"), [UNIT]


def shape_of(model):
    """The output's shape by ONNX's inference."""
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True).graph.output[0]
    return [d.dim_value for d in inferred.type.tensor_type.shape.dim] or list(SHAPE)  # functions are not inferred: group normalisation keeps the shape


def all_patterns(only=""):
    """(name, model, elements of the input, ranges of the inputs)"""
    kinds = [(name, lambda b, x, op=op, a=attributes: b.op(op, x, **a), ranges) for name, op, attributes, ranges in functions()]
    for name, build, ranges in kinds + list(of_builder()):
        if only not in name:
            continue
        b = Builder()
        output = build(b, "x")
        model = b.model(output, SHAPE, None)
        yield name, with_shape(model, shape_of(model)), int(np.prod(SHAPE)), ranges


def with_shape(model, shape):
    value = helper.make_tensor_value_info(model.graph.output[0].name, TensorProto.FLOAT, shape)
    model.graph.output[0].CopyFrom(value)
    return model
