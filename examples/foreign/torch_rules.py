"""What ATen operations mean in Assay's vocabulary, for torch_record.py. Add a rule for what your model uses."""
import torch

NAMES = {torch.float32: "float32", torch.float64: "float64", torch.int64: "int64", torch.int32: "int32", torch.bool: "boolean"}


class Ref(int):
    """The number of a value in a region."""


class Nodes:
    def __init__(self, operands, result):
        self.shapes, self.result, self.dtype, self.nodes = [list(t.shape) for t in operands], result, operands[0].dtype, []

    def __call__(self, op, *operands, **attributes):
        node = {"op": op, "operands": [v if isinstance(v, Ref) else self.constant(v) for v in operands]}
        return self.append(node | ({"attributes": attributes} if attributes else {}))

    def constant(self, value):
        data = torch.tensor(value, dtype=self.dtype)
        return self.append({"op": "constant", "dtype": NAMES[data.dtype], "shape": list(data.shape), "data": data.flatten().tolist()})

    def append(self, node):
        self.nodes.append(node)
        return Ref(len(self.shapes) + len(self.nodes) - 1)


def reshape(n, x, *_, **__): return n("reshape", x, shape=list(n.result[0].shape))


def convolution(n, x, w, b, stride, padding, dilation, transposed, output_padding, groups):
    window = dict(kernel=n.shapes[w][2:], strides=stride, dilations=dilation, pads_begin=padding, pads_end=padding, groups=groups)
    return n("conv", *[v for v in (x, w, b) if v is not None], **window)


def convolution_backward(n, g, x, w, bias, stride, padding, dilation, transposed, output_padding, groups, mask):
    size, kernel = n.shapes[x], n.shapes[w][2:]
    rest = [size[2 + i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1 - (n.shapes[g][2 + i] - 1) * stride[i] for i in (0, 1)]
    both = dict(pads_begin=padding, strides=stride, dilations=dilation)
    swap = lambda v: n("permute", v, axes=[1, 0, 2, 3])
    correlation = dict(kernel=n.shapes[g][2:], pads_begin=padding, pads_end=[p - r for p, r in zip(padding, rest)], strides=dilation, dilations=stride)
    return [n("conv_transpose", g, w, kernel=kernel, pads_end=padding, output_padding=rest, groups=groups, **both) if mask[0] else None,
            swap(n("conv", swap(x), swap(g), **correlation)), n("reduce_sum", g, axes=[0, 2, 3], keep_dims=False)]


def nll_loss(n, x, target, *_):
    picked = n("take", n("reshape", target, shape=[n.shapes[x][0], 1]), x, axis=1)
    return [n("neg", n("reduce_mean", picked, axes=[0, 1], keep_dims=False)), None]


def nll_loss_backward(n, g, x, target, *_):
    rows, classes = n.shapes[x]
    n.dtype = torch.int64
    hit = n("equal", n("reshape", target, shape=[rows, 1]), n.constant(list(range(classes))))
    n.dtype = torch.float32
    return n("where", hit, n("neg", n("mul", g, 1 / rows)), 0.0)


RULES = {
    "aten.t": lambda n, x: n("permute", x, axes=[1, 0]), "aten.view": reshape, "aten._unsafe_view": reshape, "aten.detach": reshape,
    "aten.mm": lambda n, a, b: n("matmul", a, b), "aten.addmm": lambda n, c, a, b: n("gemm", a, b, c),
    "aten.relu": lambda n, x: n("relu", x), "aten.tanh": lambda n, x: n("tanh", x), "aten.add": lambda n, a, b: n("add", a, b),
    "aten.threshold_backward": lambda n, g, y, _: n("where", n("less", 0.0, y), g, 0.0),
    "aten.tanh_backward": lambda n, g, y: n("mul", g, n("sub", 1.0, n("mul", y, y))),
    "aten.sum": lambda n, x, axes, keep=False: n("reduce_sum", x, axes=axes, keep_dims=keep),
    "aten._log_softmax": lambda n, x, axis, _: n("log_softmax", x, axis=axis % len(n.shapes[x])),
    "aten._log_softmax_backward_data": lambda n, g, y, axis, _: n("sub", g, n("mul", n("exp", y), n("reduce_sum", g, axes=[axis % 2], keep_dims=True))),
    "aten.nll_loss_forward": nll_loss, "aten.nll_loss_backward": nll_loss_backward,
    "aten.convolution": convolution, "aten.convolution_backward": convolution_backward,
}
