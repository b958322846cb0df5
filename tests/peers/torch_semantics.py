#!/usr/bin/env python3
"""The reference semantics against PyTorch in float64, values and gradients.

    python3 tests/peers/torch_semantics.py BIN [--only TEXT]

For every operator that PyTorch has, a one-node ONNX model in float64 is evaluated by `assay eval` at random and at awkward
points; PyTorch computes the same, and its gradient for a random cotangent. PyTorch's numbers must lie in the enclosures,
widened by ROUNDINGS roundings of float64 at the largest magnitude that it adds up (PyTorch rounds, the enclosures do not).
At kinks the enclosure of the gradient is the Clarke set, and PyTorch's convention must lie in it. Where the two mean
different things, KNOWN says so and docs/reference/divergences.md why.
Prints "skipped" without the package torch.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from onnx_files import BOOL, DOUBLE, INT64, model, node, tensor, value_info

try:
    import torch
    import torch.nn.functional as F
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(0)

ROUNDINGS = 16
torch.manual_seed(7)
torch.set_default_dtype(torch.float64)
CASES = []
AWKWARD = [0.0, -0.0, 5e-324, 1e-300, -1e-300, 1e-8, -1e-8, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 3.0, -3.0, 6.0, 20.0, -20.0, 40.0, 1e4]


class Case:
    def __init__(self, name, op, inputs, function, constants=(), attributes=None, opset=18, outputs=1, gradient=True, roundings=ROUNDINGS):
        self.name, self.op, self.function, self.constants = name, op, function, constants
        self.inputs, self.attributes, self.opset, self.outputs = inputs, attributes or {}, opset, outputs
        self.gradient, self.roundings = gradient, roundings


def uniform(*shape, low=-2.0, high=2.0):
    return torch.rand(shape) * (high - low) + low


def case(name, op, shapes, function, constants=(), low=-2.0, high=2.0, points=None, **options):
    """`shapes` of the network inputs; `constants`: what follows them, tensors, None for an omitted one."""
    for _ in range(2):
        CASES.append(Case(name, op, [uniform(*shape, low=low, high=high) for shape in shapes], function, constants, **options))
    if points is not None:
        CASES.append(Case(name + " at awkward points", op, [torch.tensor(points)], function, constants, **options))


def within(low, high):
    return [p for p in AWKWARD if low <= p <= high]


def elementwise():
    every = within(-1e9, 1e9)
    for op, function, low, high in (
            ("Exp", torch.exp, -40, 40), ("Log", torch.log, 1e-320, 1e9), ("Sqrt", torch.sqrt, 1e-320, 1e9), ("Sin", torch.sin, -1e9, 1e9),
            ("Cos", torch.cos, -1e9, 1e9), ("Tan", torch.tan, -1e9, 1e9), ("Asin", torch.asin, -0.9, 0.9), ("Acos", torch.acos, -0.9, 0.9),
            ("Atan", torch.atan, -1e9, 1e9), ("Sinh", torch.sinh, -40, 40), ("Cosh", torch.cosh, -40, 40), ("Tanh", torch.tanh, -1e9, 1e9),
            ("Asinh", torch.asinh, -1e9, 1e9), ("Acosh", torch.acosh, 1.1, 1e9), ("Atanh", torch.atanh, -0.9, 0.9), ("Erf", torch.erf, -20, 20),
            ("Sigmoid", torch.sigmoid, -40, 1e9), ("Softplus", F.softplus, -20, 20), ("Softsign", F.softsign, -1e9, 1e9), ("Relu", torch.relu, -1e9, 1e9),
            ("Abs", torch.abs, -1e9, 1e9), ("Neg", torch.neg, -1e9, 1e9), ("Floor", torch.floor, -1e9, 1e9), ("Ceil", torch.ceil, -1e9, 1e9),
            ("Round", torch.round, -1e9, 1e9), ("Sign", torch.sign, -1e9, 1e9), ("Mish", F.mish, -20, 20), ("HardSwish", F.hardswish, -1e9, 1e9),
            ("Reciprocal", torch.reciprocal, 1e-9, 1e9)):
        case(op, op, [(3, 4)], function, low=max(low, -2), high=min(high, 2), points=[p for p in every if low <= p <= high])
    case("LeakyRelu", "LeakyRelu", [(5,)], lambda x: F.leaky_relu(x, 0.25), attributes={"alpha": 0.25}, points=every)
    case("Elu", "Elu", [(5,)], lambda x: F.elu(x, 1.5), attributes={"alpha": 1.5}, points=within(-20, 40))
    case("Celu", "Celu", [(5,)], lambda x: F.celu(x, 1.5), attributes={"alpha": 1.5}, points=within(-20, 40), opset=28)
    gamma, alpha = 1.05078125, 1.671875  # floats that are short: attributes are float32
    case("Selu", "Selu", [(5,)], lambda x: gamma * F.elu(x, alpha),
         attributes={"alpha": alpha, "gamma": gamma}, points=within(-20, 40))
    case("Gelu", "Gelu", [(5,)], F.gelu, opset=20, points=within(-5, 40), roundings=64)
    case("Gelu tanh", "Gelu", [(5,)], lambda x: F.gelu(x, approximate="tanh"), attributes={"approximate": "tanh"}, opset=20, points=within(-5, 40), roundings=64)
    case("Swish", "Swish", [(5,)], F.silu, opset=24, points=within(-20, 40))
    case("HardSigmoid", "HardSigmoid", [(5,)], lambda x: torch.clamp(0.25 * x + 0.5, 0, 1), attributes={"alpha": 0.25, "beta": 0.5}, points=every)
    case("ThresholdedRelu", "ThresholdedRelu", [(5,)], lambda x: F.threshold(x, 0.75, 0), attributes={"alpha": 0.75}, points=every)
    case("Shrink soft", "Shrink", [(5,)], lambda x: F.softshrink(x, 0.75), attributes={"bias": 0.75, "lambd": 0.75})
    case("Shrink hard", "Shrink", [(5,)], lambda x: F.hardshrink(x, 0.75), attributes={"bias": 0.0, "lambd": 0.75})
    case("PRelu", "PRelu", [(2, 3, 4), (3, 1)], lambda x, s: torch.where(x > 0, x, s * x))
    bounds = [torch.tensor(-0.5), torch.tensor(0.75)]
    case("Clip", "Clip", [(5,)], lambda x: torch.clamp(x, -0.5, 0.75), bounds, points=every)
    for exponent in (2.0, 3.0, -1.0, 0.5, -1.5, 2.5):
        case(f"Pow {exponent}", "Pow", [(5,)], lambda x, e=exponent: torch.pow(x, e), [torch.tensor(exponent)], low=0.25, points=within(1e-9, 50))


def binary():
    for op, function in (("Add", torch.add), ("Sub", torch.sub), ("Mul", torch.mul), ("Div", torch.div), ("Max", torch.maximum), ("Min", torch.minimum)):
        for shapes in ([(3, 4), (3, 4)], [(3, 1), (4,)], [(4,), (2, 3, 1)]):
            case(f"{op} {shapes}", op, shapes, function)
    case("Pow of tensors", "Pow", [(3, 4), (4,)], torch.pow, low=0.25)
    case("Mod", "Mod", [(3, 4), (4,)], torch.fmod, attributes={"fmod": 1})
    for op, function in (("Equal", torch.eq), ("Less", torch.lt), ("Greater", torch.gt), ("LessOrEqual", torch.le), ("GreaterOrEqual", torch.ge)):
        case(op, op, [(3, 4), (4,)], function, gradient=False)
    mask = torch.tensor([True, False, True, True])
    CASES.append(Case("Where", "Where", [mask, uniform(3, 4), uniform(3, 1)], torch.where))
    case("Sum of three", "Sum", [(2, 3), (3,), (2, 1)], lambda *x: x[0] + x[1] + x[2])
    case("Mean of three", "Mean", [(2, 3), (3,), (2, 1)], lambda *x: (x[0] + x[1] + x[2]) / 3)


def reductions():
    for op, function in (("ReduceSum", lambda x, a, k: x.sum(a, k)), ("ReduceMean", lambda x, a, k: x.mean(a, k)),
                         ("ReduceMax", lambda x, a, k: x.amax(a, k)), ("ReduceMin", lambda x, a, k: x.amin(a, k)),
                         ("ReduceL1", lambda x, a, k: x.abs().sum(a, k)), ("ReduceL2", lambda x, a, k: torch.linalg.vector_norm(x, 2, a, k)),
                         ("ReduceSumSquare", lambda x, a, k: (x * x).sum(a, k)), ("ReduceLogSumExp", lambda x, a, k: torch.logsumexp(x, a, k))):
        for axes, keep in (((1,), True), ((0, 2), False), ((0, 1, 2), False)):
            case(f"{op} {axes}", op, [(2, 3, 4)], lambda x, f=function, a=axes, k=keep: f(x, a, k), [torch.tensor(axes)], attributes={"keepdims": int(keep)})
    case("ReduceProd", "ReduceProd", [(2, 3, 4)], lambda x: x.prod(1), [torch.tensor([1])], attributes={"keepdims": 0})
    case("ReduceLogSum", "ReduceLogSum", [(2, 3)], lambda x: x.sum(1).log(), [torch.tensor([1])], attributes={"keepdims": 0}, low=0.1)
    CASES.append(Case("ReduceMax of ties", "ReduceMax", [torch.tensor([[1.0, 1.0, 0.5], [2.0, 2.0, 2.0]])], lambda x: x.amax(1), [torch.tensor([1])],
                      {"keepdims": 0}))
    case("CumSum", "CumSum", [(2, 5)], lambda x: x.cumsum(1), [torch.tensor(1)])
    case("CumProd", "CumProd", [(2, 5)], lambda x: x.cumprod(1), [torch.tensor(1)], opset=26)
    case("ArgMax", "ArgMax", [(3, 5)], lambda x: x.argmax(1, keepdim=True), attributes={"axis": 1}, gradient=False)
    case("ArgMin", "ArgMin", [(3, 5)], lambda x: x.argmin(1, keepdim=True), attributes={"axis": 1}, gradient=False)
    for axis in (0, 1, -1):
        case(f"Softmax {axis}", "Softmax", [(3, 4, 5)], lambda x, a=axis: x.softmax(a), attributes={"axis": axis})
        case(f"LogSoftmax {axis}", "LogSoftmax", [(3, 4, 5)], lambda x, a=axis: x.log_softmax(a), attributes={"axis": axis})
    wide = torch.tensor([[700.0, -700.0, 0.0], [1e4, 1e4, 9.999e3], [-1e4, 0.0, 1e-3]])
    CASES.append(Case("Softmax of wide rows", "Softmax", [wide], lambda x: x.softmax(1), attributes={"axis": 1}))
    CASES.append(Case("LogSoftmax of wide rows", "LogSoftmax", [wide], lambda x: x.log_softmax(1), attributes={"axis": 1}))


def products():
    for shapes in ([(3, 4), (4, 2)], [(2, 3, 4), (4, 2)], [(4,), (4, 2)], [(2, 1, 3, 4), (5, 4, 2)], [(4,), (4,)]):
        case(f"MatMul {shapes}", "MatMul", shapes, torch.matmul)
    case("Gemm", "Gemm", [(4, 3), (5, 4), (5,)], lambda a, b, c: 0.5 * a.T @ b.T + 2 * c, attributes={"alpha": 0.5, "beta": 2.0, "transA": 1, "transB": 1})
    for d in (1, 2, 3):
        x, conv = (2, 4) + (7,) * d, (F.conv1d, F.conv2d, F.conv3d)[d - 1]
        turned = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[d - 1]
        for stride, pad, dilation, groups in ((1, 0, 1, 1), (2, 1, 1, 2), (1, 2, 2, 4)):
            window = {"strides": [stride] * d, "pads": [pad] * 2 * d, "dilations": [dilation] * d, "group": groups}
            case(f"Conv {d}d {stride} {pad} {dilation} {groups}", "Conv", [x, (4, 4 // groups) + (3,) * d, (4,)],
                 lambda a, w, b, f=conv, s=stride, p=pad, l=dilation, g=groups: f(a, w, b, s, p, l, g), attributes=window, roundings=64)
            case(f"ConvTranspose {d}d {stride} {pad} {dilation} {groups}", "ConvTranspose", [(1, 4) + (4,) * d, (4, 4 // groups) + (3,) * d, (4,)],
                 lambda a, w, b, f=turned, s=stride, p=pad, l=dilation, g=groups: f(a, w, b, s, p, 0, g, l), attributes=window, roundings=64)
    for equation, shapes in (("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]), ("ij->ji", [(2, 3)]), ("i,j->ij", [(3,), (4,)]), ("bhqd,bhkd->bhqk", [(1, 2, 3, 4), (1, 2, 5, 4)]),
                             ("ii->", [(3, 3)])):
        case(f"Einsum {equation}", "Einsum", shapes, lambda *x, e=equation: torch.einsum(e, *x), attributes={"equation": equation})
    case("Det", "Det", [(2, 3, 3)], torch.linalg.det)


def pools():
    for d, most, mean in ((1, F.max_pool1d, F.avg_pool1d), (2, F.max_pool2d, F.avg_pool2d), (3, F.max_pool3d, F.avg_pool3d)):
        for stride, pad, ceil in ((2, 0, False), (1, 1, False), (2, 1, True)):
            window = {"kernel_shape": [3] * d, "strides": [stride] * d, "pads": [pad] * 2 * d, "ceil_mode": int(ceil)}
            x = [(1, 2) + (6,) * d]
            case(f"MaxPool {d}d {stride} {pad} {ceil}", "MaxPool", x, lambda a, f=most, s=stride, p=pad, c=ceil: f(a, 3, s, p, 1, c), attributes=window)
            for inside in (0, 1):
                case(f"AveragePool {d}d {stride} {pad} {ceil} {inside}", "AveragePool", x,
                     lambda a, f=mean, s=stride, p=pad, c=ceil, i=inside: f(a, 3, s, p, c, bool(i)), attributes=window | {"count_include_pad": inside}, opset=19)
    case("GlobalAveragePool", "GlobalAveragePool", [(2, 3, 4, 5)], lambda x: x.mean((2, 3), True))
    case("GlobalMaxPool", "GlobalMaxPool", [(2, 3, 4, 5)], lambda x: x.amax((2, 3), True))
    case("LpPool", "LpPool", [(1, 2, 6, 6)], lambda x: F.lp_pool2d(x, 2.0, 3, 2), attributes={"kernel_shape": [3, 3], "strides": [2, 2], "p": 2})


def norms():
    eps = 2.0**-10
    CASES.append(Case("BatchNormalization", "BatchNormalization", [uniform(2, 3, 4), uniform(3), uniform(3), uniform(3), uniform(3, low=0.5)],
                      lambda x, s, b, m, v: F.batch_norm(x, m.detach(), v.detach(), s, b, False, 0, eps), attributes={"epsilon": eps}))
    CASES[-1].only = 3  # PyTorch gives no gradients of the statistics
    for shift in (0.0, 1000.0):
        x = uniform(3, 8) + shift
        CASES.append(Case(f"LayerNormalization about {shift}", "LayerNormalization", [x, uniform(8), uniform(8)], lambda x, s, b: F.layer_norm(x, (8,), s, b, eps),
                          attributes={"epsilon": eps}, roundings=ROUNDINGS * (1 + abs(shift)) ** 2))
    case("RMSNormalization", "RMSNormalization", [(3, 8), (8,)], lambda x, s: F.rms_norm(x, (8,), s, eps), attributes={"epsilon": eps}, opset=23)
    case("InstanceNormalization", "InstanceNormalization", [(2, 3, 4, 4), (3,), (3,)], lambda x, s, b: F.instance_norm(x, weight=s, bias=b, eps=eps),
         attributes={"epsilon": eps}, roundings=64)
    case("GroupNormalization", "GroupNormalization", [(2, 4, 5), (4,), (4,)], lambda x, s, b: F.group_norm(x, 2, s, b, eps),
         attributes={"epsilon": eps, "num_groups": 2}, opset=21, roundings=64)
    case("LpNormalization", "LpNormalization", [(3, 5)], lambda x: F.normalize(x, 2, 1, 0), attributes={"axis": 1, "p": 2})
    case("LRN", "LRN", [(1, 6, 3, 3)], lambda x: F.local_response_norm(x, 3, 0.125, 0.75, 1.5), attributes={"size": 3, "alpha": 0.125, "beta": 0.75, "bias": 1.5})


def layout():
    case("Transpose", "Transpose", [(2, 3, 4)], lambda x: x.permute(2, 0, 1), attributes={"perm": [2, 0, 1]})
    case("Reshape", "Reshape", [(2, 3, 4)], lambda x: x.reshape(4, 6), [torch.tensor([4, -1])])
    case("Expand", "Expand", [(3, 1)], lambda x: x.expand(2, 3, 4), [torch.tensor([2, 3, 4])])
    case("Tile", "Tile", [(2, 3)], lambda x: x.repeat(2, 2), [torch.tensor([2, 2])])
    case("Trilu", "Trilu", [(4, 5)], torch.triu)
    case("Concat", "Concat", [(2, 3), (2, 1)], lambda *x: torch.cat(x, 1), attributes={"axis": 1})
    case("Slice", "Slice", [(5, 6)], lambda x: x[1:4, ::2], [torch.tensor([1, 0]), torch.tensor([4, 6]), torch.tensor([0, 1]), torch.tensor([1, 2])])
    for mode, name in (("constant", "constant"), ("reflect", "reflect"), ("edge", "replicate"), ("wrap", "circular")):
        case(f"Pad {mode}", "Pad", [(1, 1, 4, 5)], lambda x, n=name: F.pad(x, (1, 2, 2, 1), n), [torch.tensor([0, 0, 2, 1, 0, 0, 1, 2])], attributes={"mode": mode}, opset=19)
    case("DepthToSpace", "DepthToSpace", [(1, 8, 2, 3)], lambda x: F.pixel_shuffle(x, 2), attributes={"blocksize": 2, "mode": "CRD"})
    case("SpaceToDepth", "SpaceToDepth", [(1, 2, 4, 6)], lambda x: F.pixel_unshuffle(x, 2).reshape(1, 2, 4, 2, 3).transpose(1, 2).reshape(1, 8, 2, 3), attributes={"blocksize": 2})
    rows = torch.tensor([2, 0, 2])
    case("Gather", "Gather", [(4, 3)], lambda x: F.embedding(rows, x), [rows])
    places = torch.tensor([[0, 2, 1], [3, 3, 0]])
    case("GatherElements", "GatherElements", [(4, 3)], lambda x: torch.gather(x, 0, places), [places])
    CASES.append(Case("GatherElements at run time", "GatherElements", [uniform(4, 3), places], lambda x, i: torch.gather(x, 0, i)))
    case("ScatterElements add", "ScatterElements", [(4, 3)], lambda x: torch.scatter_add(x, 0, places, torch.ones(2, 3)), [places, torch.ones(2, 3)], attributes={"reduction": "add"})
    case("Col2Im", "Col2Im", [(1, 8, 9)], lambda x: F.fold(x, (4, 4), 2), [torch.tensor([4, 4]), torch.tensor([2, 2])])
    case("TopK", "TopK", [(3, 6)], lambda x: torch.topk(x, 2)[0], [torch.tensor([2])], outputs=2)


def sampling():
    for mode, name, corners in (("linear", "bilinear", True), ("linear", "bilinear", False), ("cubic", "bicubic", False), ("nearest", "nearest", False)):
        how = "align_corners" if corners else "half_pixel" if mode != "nearest" else "asymmetric"
        attributes = {"mode": mode, "coordinate_transformation_mode": how} | ({"nearest_mode": "floor"} if mode == "nearest" else {})
        for size in ((7, 9), (2, 3)):
            case(f"Resize {mode} {how} {size}", "Resize", [(1, 2, 4, 5)], lambda x, n=name, c=corners, s=size: F.interpolate(x, s, mode=n, align_corners=c if "i" in n and n != "nearest" else None),
                 [None, None, torch.tensor((1, 2) + size)], attributes=attributes, roundings=64)
    for mode in ("linear", "cubic", "nearest"):
        for padding in ("zeros", "border", "reflection"):
            for corners in (0, 1):
                case(f"GridSample {mode} {padding} {corners}", "GridSample", [(1, 2, 4, 5), (1, 3, 3, 2)],
                     lambda x, g, m=mode, p=padding, c=corners: F.grid_sample(x, g, {"linear": "bilinear", "cubic": "bicubic"}.get(m, m), p, bool(c)),
                     attributes={"mode": mode, "padding_mode": padding, "align_corners": corners}, opset=20, roundings=256)
    for corners in (0, 1):
        case(f"AffineGrid {corners}", "AffineGrid", [(2, 2, 3)], lambda t, c=corners: F.affine_grid(t, (2, 1, 3, 4), bool(c)), [torch.tensor([2, 1, 3, 4])],
             attributes={"align_corners": corners}, opset=20)
    case("DFT", "DFT", [(2, 6, 2)], lambda x: torch.view_as_real(torch.fft.fft(torch.view_as_complex(x))), [None, torch.tensor(1)], opset=20, roundings=64)
    case("DFT onesided", "DFT", [(2, 7, 1)], lambda x: torch.view_as_real(torch.fft.rfft(x[..., 0])), [None, torch.tensor(1)], attributes={"onesided": 1}, opset=20, roundings=64)


def compound():
    case("Attention", "Attention", [(1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4)], F.scaled_dot_product_attention, opset=23, roundings=64)
    case("Attention causal", "Attention", [(1, 2, 4, 4), (1, 2, 4, 4), (1, 2, 4, 4)], lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
         attributes={"is_causal": 1}, opset=23, roundings=64)
    target = torch.tensor([1, 0, 2, 1])
    for reduction in ("mean", "sum", "none"):
        case(f"SoftmaxCrossEntropyLoss {reduction}", "SoftmaxCrossEntropyLoss", [(4, 3)], lambda x, r=reduction: F.cross_entropy(x, target, reduction=r), [target],
             attributes={"reduction": reduction})
        case(f"NegativeLogLikelihoodLoss {reduction}", "NegativeLogLikelihoodLoss", [(4, 3)], lambda x, r=reduction: F.nll_loss(x, target, torch.tensor([0.5, 1.0, 2.0]), reduction=r),
             [target, torch.tensor([0.5, 1.0, 2.0])], attributes={"reduction": reduction})
    hidden = 3
    for op, gates, cell in (("RNN", 1, torch.nn.RNN), ("LSTM", 4, torch.nn.LSTM), ("GRU", 3, torch.nn.GRU)):
        def run(x, w, r, b, c=cell):
            net = c(2, hidden)
            named = {"weight_ih_l0": onnx_to_torch(w[0], c), "weight_hh_l0": onnx_to_torch(r[0], c), "bias_ih_l0": onnx_to_torch(b[0].chunk(2)[0], c),
                     "bias_hh_l0": onnx_to_torch(b[0].chunk(2)[1], c)}
            return torch.func.functional_call(net, named, (x,))[0][:, None]
        case(op, op, [(4, 1, 2), (1, gates * hidden, 2), (1, gates * hidden, hidden), (1, 2 * gates * hidden)], run,
             attributes={"hidden_size": hidden} | ({"linear_before_reset": 1} if op == "GRU" else {}), opset=14, roundings=256)


def onnx_to_torch(gates, cell):
    """PyTorch orders an LSTM's gates i f g o and a GRU's r z n; ONNX i o f c and z r h."""
    if cell is torch.nn.LSTM:
        i, o, f, c = gates.chunk(4)
        return torch.cat([i, f, c, o])
    if cell is torch.nn.GRU:
        z, r, h = gates.chunk(3)
        return torch.cat([r, z, h])
    return gates


# Where PyTorch means something else, by case: docs/reference/divergences.md says why.
KNOWN: set[str] = set()


def element_type(value):
    return BOOL if value.dtype == torch.bool else INT64 if value.dtype == torch.int64 else DOUBLE


def write(path, one):
    names, inputs, tensors = [], [], []
    for i, value in enumerate(one.inputs):
        names.append(f"x{i}")
        inputs.append(value_info(f"x{i}", list(value.shape), element_type(value)))
    for i, value in enumerate(one.constants):
        names.append("" if value is None else f"c{i}")
        if value is not None:
            tensors.append(tensor(f"c{i}", list(value.shape), value.reshape(-1).tolist(), element_type(value)))
    # The value that is asked for is the first output.
    path.write_bytes(model([node(one.op, names, ["y"] + [f"unused{i}" for i in range(1, one.outputs)], "n", **one.attributes)], inputs, [value_info("y", None)], tensors, one.opset))


def differences(sets, values, roundings, scale):
    """Elements of PyTorch's that lie outside, as texts."""
    flat, found = values.reshape(-1).tolist(), []
    if len(flat) != len(sets["lo"]):
        return [f"shape {sets['shape']} against {list(values.shape)}"]
    for i, (low, high, value) in enumerate(zip(sets["lo"], sets["hi"], flat)):
        reach = roundings * 2.0**-53 * max(scale, abs(value)) + 5e-324 * 4
        inside = low is not None and high is not None and low - reach <= value <= high + reach
        if not inside:
            found.append(f"[{i}] {value!r} outside [{low!r}, {high!r}]")
    return found


def check(program, folder, one):
    path, values = folder / "m.onnx", folder / "v.json"
    write(path, one)
    inputs = [v.clone().requires_grad_(v.dtype == torch.float64) for v in one.inputs]
    y = one.function(*inputs)
    request = {"inputs": {f"x{i}": v.reshape(-1).tolist() for i, v in enumerate(one.inputs)}}
    differentiable = one.gradient and y.requires_grad
    cotangent = torch.rand_like(y) - 0.5 if differentiable else None
    if differentiable:
        request["cotangents"] = {"y": cotangent.reshape(-1).tolist()}
    values.write_text(json.dumps(request))
    run = subprocess.run([program, "eval", path, values, "--json"], capture_output=True, text=True)
    if run.returncode != 0:
        return [f"refused: {run.stderr.strip()[:300]}"]
    report = json.loads(run.stdout)
    scale = max([1e-300] + [v.abs().max().item() for v in one.inputs if v.dtype == torch.float64 and v.numel()] + [y.to(torch.float64).abs().max().item()])
    problems = differences(report["outputs"]["y"], y.detach().to(torch.float64), one.roundings, min(scale, 10.0))
    if differentiable:
        wanted = [v for v in inputs if v.requires_grad]
        wanted = wanted[: getattr(one, "only", len(wanted))]
        gradients = torch.autograd.grad(y, wanted, cotangent, allow_unused=True)
        for i, gradient in zip([i for i, v in enumerate(inputs) if v.requires_grad], gradients):
            given = gradient if gradient is not None else torch.zeros_like(inputs[i])
            scale = min(max(1.0, given.abs().max().item()), 1e6)
            problems += [f"gradient of x{i} " + text for text in differences(report["gradients"][f"x{i}"], given, 4 * one.roundings, scale)]
    return problems


def main():
    for part in (elementwise, binary, reductions, products, pools, norms, layout, sampling, compound):
        part()
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
    differing = set()
    program, failed, known, run = os.path.join(sys.argv[1], "assay"), 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for one in CASES:
            if only not in one.name:
                continue
            run += 1
            problems = check(program, pathlib.Path(folder), one)
            if problems and one.name in KNOWN:
                known += 1
                differing.add(one.name)
            elif problems:
                failed += 1
                print(f"{one.name}: {len(problems)} differences: " + "; ".join(problems[:3]))
    for name in sorted(KNOWN - differing if not only else ()):
        failed += 1
        print(f"{name} no longer differs: take it out of KNOWN and docs/reference/divergences.md")
    operators = len({one.op for one in CASES})
    print(f"PyTorch {torch.__version__}: {run} cases of {operators} operators, values and gradients; {failed} differ, {known} differ as documented")
    return 1 if failed or run == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
