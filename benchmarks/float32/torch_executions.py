"""Executions of PyTorch on the CPU: the nodes of an ONNX model one after the other as torch functions, all values kept.

Models with other ops than the ones below, or with other forms of them, are refused.
"""
import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import numpy_helper

# (threads, oneDNN, every value is an output)
CONFIGURATIONS = [(1, "oneDNN", True), (2, "oneDNN", True), (1, "native", True), (2, "native", True)]


class Unsupported(Exception):
    pass


def demand(holds, what):
    if not holds:
        raise Unsupported(what)


def symmetric_pads(attributes):
    pads = attributes.get("pads", [0, 0, 0, 0])
    demand(attributes.get("auto_pad", b"NOTSET") in (b"NOTSET", b"VALID") and pads[:2] == pads[2:] and len(pads) == 4, "pads")
    return pads[:2]


def gemm(a, x, w, c=None):
    x, w = (x.t() if a.get("transA", 0) else x), (w.t() if a.get("transB", 0) else w)
    demand(c is not None and a.get("alpha", 1.0) == 1.0 and a.get("beta", 1.0) == 1.0, "Gemm")
    return torch.addmm(c, x, w)


def conv(a, x, w, b=None):
    return F.conv2d(x, w, b, a.get("strides", [1, 1]), symmetric_pads(a), a.get("dilations", [1, 1]), a.get("group", 1))


def conv_transpose(a, x, w, b=None):
    demand("output_shape" not in a, "ConvTranspose")
    return F.conv_transpose2d(x, w, b, a.get("strides", [1, 1]), symmetric_pads(a), a.get("output_padding", [0, 0]), a.get("group", 1),
                              a.get("dilations", [1, 1]))


def reshape(a, x, shape):
    demand(not a.get("allowzero", 0), "Reshape")
    return x.reshape([x.shape[i] if n == 0 else n for i, n in enumerate(shape.tolist())])


def flatten(a, x):
    axis = a.get("axis", 1)
    return x.reshape(int(np.prod(x.shape[:axis])), -1)


def batch_norm(a, x, scale, bias, mean, variance):
    return F.batch_norm(x, mean, variance, scale, bias, False, 0.0, a.get("epsilon", 1e-5))


FUNCTIONS = {
    "Gemm": gemm, "Conv": conv, "ConvTranspose": conv_transpose, "Reshape": reshape, "Flatten": flatten, "BatchNormalization": batch_norm,
    "MatMul": lambda a, x, y: x @ y, "Add": lambda a, x, y: x + y, "Sub": lambda a, x, y: x - y, "Mul": lambda a, x, y: x * y,
    "Div": lambda a, x, y: x / y, "Relu": lambda a, x: F.relu(x), "Sigmoid": lambda a, x: torch.sigmoid(x), "Tanh": lambda a, x: torch.tanh(x),
    "Exp": lambda a, x: torch.exp(x), "Log": lambda a, x: torch.log(x), "Sin": lambda a, x: torch.sin(x), "Cos": lambda a, x: torch.cos(x),
    "Erf": lambda a, x: torch.erf(x), "Sqrt": lambda a, x: torch.sqrt(x), "Reciprocal": lambda a, x: torch.reciprocal(x),
    "Tan": lambda a, x: torch.tan(x), "Asin": lambda a, x: torch.asin(x), "Acos": lambda a, x: torch.acos(x), "Atan": lambda a, x: torch.atan(x),
    "Sinh": lambda a, x: torch.sinh(x), "Cosh": lambda a, x: torch.cosh(x), "Asinh": lambda a, x: torch.asinh(x),
    "Acosh": lambda a, x: torch.acosh(x), "Atanh": lambda a, x: torch.atanh(x), "Pow": lambda a, x, y: x**(y.item() if y.numel() == 1 else y),
    "Softplus": lambda a, x: F.softplus(x), "Softsign": lambda a, x: F.softsign(x), "Elu": lambda a, x: F.elu(x, a.get("alpha", 1.0)),
    "Selu": lambda a, x: F.selu(x), "Celu": lambda a, x: F.celu(x, a.get("alpha", 1.0)), "Mish": lambda a, x: F.mish(x),
    "Gelu": lambda a, x: F.gelu(x, approximate=a.get("approximate", b"none").decode()),
    "HardSigmoid": lambda a, x: torch.clamp(a.get("alpha", 0.2) * x + a.get("beta", 0.5), 0, 1), "HardSwish": lambda a, x: F.hardswish(x),
    "LeakyRelu": lambda a, x: F.leaky_relu(x, a.get("alpha", 0.01)), "Softmax": lambda a, x: F.softmax(x, a.get("axis", -1)),
    "LogSoftmax": lambda a, x: F.log_softmax(x, a.get("axis", -1)), "Transpose": lambda a, x: x.permute(a["perm"]),
    "Concat": lambda a, *x: torch.cat(x, a["axis"]), "Identity": lambda a, x: x, "Neg": lambda a, x: -x, "Abs": lambda a, x: torch.abs(x),
    "LayerNormalization": lambda a, x, s, b: F.layer_norm(x, s.shape, s, b, a.get("epsilon", 1e-5)),
    "GroupNormalization": lambda a, x, s, b: F.group_norm(x, a["num_groups"], s, b, a.get("epsilon", 1e-5)),
    "InstanceNormalization": lambda a, x, s, b: F.instance_norm(x, None, None, s, b, eps=a.get("epsilon", 1e-5)),
    "ReduceSum": lambda a, x, axes: torch.sum(x, axes.tolist(), keepdim=bool(a.get("keepdims", 1))),
    "ReduceMean": lambda a, x, axes: torch.mean(x, axes.tolist(), keepdim=bool(a.get("keepdims", 1))),
    "ReduceLogSumExp": lambda a, x, axes: torch.logsumexp(x, axes.tolist(), keepdim=bool(a.get("keepdims", 1))),
    "CumSum": lambda a, x, axis: torch.cumsum(x, int(axis)), "GlobalAveragePool": lambda a, x: F.adaptive_avg_pool2d(x, 1),
}


class Executions:
    """The same interface as that of ONNX Runtime's executions."""

    def __init__(self, model):
        self.constants = {t.name: torch.from_numpy(numpy_helper.to_array(t).copy()) for t in model.graph.initializer}
        self.inputs = [value.name for value in model.graph.input if value.name not in self.constants]
        self.steps = []
        for node in model.graph.node:
            attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
            if node.op_type == "Constant" and "value" in attributes:
                self.constants[node.output[0]] = torch.from_numpy(numpy_helper.to_array(attributes["value"]).copy())
                continue
            demand(node.op_type in FUNCTIONS and len(node.output) == 1 and all(node.input), node.op_type)
            self.steps.append((FUNCTIONS[node.op_type], attributes, list(node.input), node.output[0]))

    def run(self, configuration, feed):
        threads, library, _ = configuration
        torch.set_num_threads(threads)
        torch.backends.mkldnn.enabled = library == "oneDNN"
        values = dict(self.constants) | {name: torch.from_numpy(np.ascontiguousarray(x)) for name, x in feed.items()}
        with torch.no_grad():
            for function, attributes, inputs, output in self.steps:
                try:
                    values[output] = function(attributes, *[values[name] for name in inputs])
                except (TypeError, RuntimeError) as why:
                    raise Unsupported(str(why)[:100]) from None
        return {output: values[output].numpy() for _, _, _, output in self.steps}
