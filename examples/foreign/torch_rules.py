"""What ATen operations mean in Assay's vocabulary, for torch_record.py. Add a rule for what your model uses.

A rule gets the nodes of a region, and the operation's arguments with a number for each tensor; it returns the number of each result, None for
one that nothing may read. A count or a mean is written as a division: the constant 1/n would be another, rounded, function.
"""
import math

import torch

NAMES = {torch.float32: "float32", torch.float64: "float64", torch.int64: "int64", torch.int32: "int32", torch.bool: "boolean"}


class Ref(int):
    """The number of a value in a region."""


class Nodes:
    """The nodes of a region. `parts`, where wanted: what each operand of a concatenation adds to it."""
    def __init__(self, operands, results, wants_parts=False):
        self.shapes, self.types = [list(t.shape) for t in operands], [t.dtype for t in operands]
        self.results, self.nodes, self.wants_parts, self.parts = results, [], wants_parts, None

    @property
    def shape(self): return list(self.first.shape)

    @property
    def dtype(self): return self.first.dtype

    @property
    def first(self): return next(one for one in self.results if one is not None)

    def __call__(self, op, *operands, dtype=None, **attributes):
        """A node on these values; numbers become constants of the type of the first value, else of the result."""
        first = next((self.types[v] for v in operands if isinstance(v, Ref)), self.dtype)
        node = {"op": op, "operands": [v if isinstance(v, Ref) else self.constant(v, first) for v in operands]}
        return self.append(node | ({"attributes": attributes} if attributes else {}), dtype or first)

    def constant(self, value, dtype):
        data = torch.tensor(value, dtype=dtype)
        return self.append({"op": "constant", "dtype": NAMES[dtype], "shape": list(data.shape), "data": data.flatten().tolist()}, dtype)

    def append(self, node, dtype):
        self.nodes.append(node)
        self.types.append(dtype)
        self.shapes.append(None)
        return Ref(len(self.types) - 1)

    def rounded(self, value): return torch.tensor(value, dtype=self.dtype).item()

    def cast(self, value, dtype):
        if not isinstance(value, Ref): return self.constant(value, dtype)
        return value if self.types[value] == dtype else self("cast", value, dtype=dtype, to=NAMES[dtype])

    def reshape(self, x, shape): return self("reshape", x, shape=list(shape))
    def expand(self, x, shape): return self("expand", x, shape=list(shape))

    def mean_or_sum(self, x, reduction):
        """The reduction of a loss: 0 none, 1 mean, 2 sum; x has the shape of the first operand."""
        axes = list(range(len(self.shapes[0])))
        return x if reduction == 0 else self("reduce_mean" if reduction == 1 else "reduce_sum", x, axes=axes, keep_dims=False)


def counted(values): return max(1, math.prod(values))


def arithmetic(op):
    """The operands in the type of the result; a factor alpha on the second one."""
    def rule(n, a, b, alpha=1, **_):
        b = n.cast(b, n.dtype)
        return n(op, n.cast(a, n.dtype), b if alpha == 1 else n("mul", b, alpha))
    return rule


def compared(op, swap=False, negate=False):
    def rule(n, a, b):
        types = [n.types[v] for v in (a, b) if isinstance(v, Ref)]
        wide = max(types, key=lambda t: (t.is_floating_point, t.itemsize))
        a, b = (n.cast(v, wide) for v in ((b, a) if swap else (a, b)))
        truth = n(op, a, b, dtype=torch.bool)
        return n("logical_not", truth) if negate else truth
    return rule


def unary(op, **attributes): return lambda n, x, *_, **__: n(op, x, **attributes)
def reshape(n, x, *_, **__): return n.reshape(x, n.shape)
def filled(n, value): return n.expand(n.constant(value, n.dtype), n.shape)


def transpose(n, x, i, j):
    axes = list(range(len(n.shapes[x])))
    if axes: axes[i], axes[j] = axes[j], axes[i]
    return n("permute", x, axes=axes)


def broadcast(n, x, *_, **__):
    return n.expand(n.reshape(x, [1] * (len(n.shape) - len(n.shapes[x])) + n.shapes[x]), n.shape)


def cut(n, x, shape, axis, start, extent, step=1):
    starts, steps, extents = [0] * len(shape), [1] * len(shape), list(shape)
    starts[axis], steps[axis], extents[axis] = start, step, extent
    return n("slice", x, starts=starts, steps=steps, extents=extents)


def padded(n, x, shape, axis, before, extent, zero=0.0):
    """x inside zeros; its axis has this extent."""
    pads = [[0] * len(shape), [0] * len(shape)]
    pads[0][axis], pads[1][axis] = before, shape[axis] - before - extent
    return n("pad", x, before=pads[0], after=pads[1], value=zero)


def bounds(size, start, end):
    begin, end = ((p + size if p < 0 else p) for p in (start or 0, size if end is None else end))
    return min(max(begin, 0), size), min(max(end, 0), size)


def slice_(n, x, axis=0, start=None, end=None, step=1):
    axis %= len(n.shape)
    return cut(n, x, n.shapes[x], axis, bounds(n.shapes[x][axis], start, end)[0], n.shape[axis], step)


def slice_backward(n, g, sizes, axis, start, end, step):
    axis %= len(sizes)
    if step != 1:
        where = torch.arange(counted(sizes)).reshape(list(sizes))[(slice(None),) * axis + (slice(start, end, step),)]
        return n("place", g, indices=where.flatten().tolist(), shape=list(sizes))
    return padded(n, g, sizes, axis, bounds(sizes[axis], start, end)[0], n.shapes[g][axis])


def select(n, x, axis, index):
    shape = n.shapes[x]
    axis %= len(shape)
    return n.reshape(cut(n, x, shape, axis, index % shape[axis], 1), n.shape)


def select_backward(n, g, sizes, axis, index):
    axis %= len(sizes)
    return padded(n, n.reshape(g, [1 if i == axis else s for i, s in enumerate(sizes)]), sizes, axis, index % sizes[axis], 1)


def split(n, x, _, axis=0):
    axis, at, values = axis % len(n.shapes[x]), 0, []
    for one in n.results:
        values.append(cut(n, x, n.shapes[x], axis, at, one.shape[axis]))
        at += one.shape[axis]
    return values


def unbind(n, x, axis=0):
    axis %= len(n.shapes[x])
    return [n.reshape(cut(n, x, n.shapes[x], axis, i, 1), one.shape) for i, one in enumerate(n.results)]


def joined(n, values, sizes, axis):
    """A concatenation; where its parts are wanted, as their sum. They lie between negative zeros, to which every number adds exactly."""
    if not n.wants_parts: return n("concat", *values, axis=axis)
    parts = [padded(n, value, n.shape, axis, sum(sizes[:i]), size, -0.0) for i, (value, size) in enumerate(zip(values, sizes))]
    n.parts, total = list(n.nodes[-len(parts):]), parts[0]
    for part in parts[1:]: total = n("add", total, part)
    return total


def cat(n, tensors, axis=0):
    axis %= len(n.shape)
    return joined(n, tensors, [n.shapes[v][axis] for v in tensors], axis)


def stack(n, tensors, axis=0):
    axis %= len(n.shape)
    return joined(n, [n.reshape(v, [1 if i == axis else s for i, s in enumerate(n.shape)]) for v in tensors], [1] * len(tensors), axis)


def reduced(op):
    def rule(n, x, axes=None, keep_dims=False, **_):
        rank = len(n.shapes[x])
        axes = [axes] if isinstance(axes, int) else axes
        return n(op, n.cast(x, n.dtype), axes=sorted(a % rank for a in axes) if axes else list(range(rank)), keep_dims=keep_dims)
    return rule


def power(n, x, exponent):
    if exponent != int(exponent) or not 0 < exponent <= 64: raise NotImplementedError("a power other than 1 to 64")
    return n.reshape(x, n.shape) if exponent == 1 else n("pow", x, exponent=str(int(exponent)))


def clamp(n, x, lo=None, hi=None):
    return n("clip", x, lo="-inf" if lo is None else n.rounded(lo), hi="inf" if hi is None else n.rounded(hi))


def gathered(n, x, axis, index, **_):
    axis %= len(n.shapes[x])
    shape = [n.shapes[index][i] if i == axis else s for i, s in enumerate(n.shapes[x])]
    if shape != n.shapes[index]: raise NotImplementedError("gather with an index that is smaller than the tensor off its axis")
    return n("take", index, x, axis=axis)


def hits(n, index, classes):
    """[..., k]: whether the index is k."""
    return n("equal", n.reshape(index, n.shapes[index] + [1]), n.constant(list(range(classes)), n.types[index]), dtype=torch.bool)


def scatter_add(n, x, axis, index, source):
    rank = len(n.shapes[x])
    if n.shapes[index] != n.shapes[source] or any(n.shapes[x][i] != n.shapes[index][i] for i in range(rank) if i != axis % rank):
        raise NotImplementedError("scatter_add with an index that is smaller than the tensor off its axis")
    axis %= rank
    found = n("where", hits(n, index, n.shapes[x][axis]), n.reshape(source, n.shapes[source] + [1]), n.constant(0, n.dtype), dtype=n.dtype)
    total = n("reduce_sum", found, axes=[axis], keep_dims=False)
    back = list(range(axis)) + [rank - 1] + list(range(axis, rank - 1))
    return n("add", x, n("permute", total, axes=back))


def embedding(n, weight, index, *_):
    rows, width = counted(n.shapes[index]), n.shapes[weight][1]
    return n.reshape(n("take", n.expand(n.reshape(index, [rows, 1]), [rows, width]), weight, axis=0, dtype=n.dtype), n.shape)


def embedding_backward(n, g, index, rows, padding, by_frequency):
    if padding >= 0 or by_frequency: raise NotImplementedError("embedding with a padding index or scaled by frequency")
    count, width = counted(n.shapes[index]), n.shapes[g][-1]
    hit = n.cast(n("equal", n.reshape(index, [count, 1]), n.constant(list(range(rows)), n.types[index]), dtype=torch.bool), n.dtype)
    return n("gemm", hit, n.reshape(g, [count, width]), transpose_a=True)


def convolution(n, x, w, b, stride, padding, dilation, transposed, output_padding, groups):
    if transposed or len(n.shapes[x]) != 4: raise NotImplementedError("convolution that is transposed or not over two axes")
    window = dict(kernel=n.shapes[w][2:], strides=stride, dilations=dilation, pads_begin=padding, pads_end=padding, groups=groups)
    return n("conv", *[v for v in (x, w, b) if v is not None], **window)


def convolution_backward(n, g, x, w, bias, stride, padding, dilation, transposed, output_padding, groups, mask):
    if groups != 1 and mask[1]: raise NotImplementedError("the weight's gradient of a grouped convolution")
    size, kernel = n.shapes[x], n.shapes[w][2:]
    rest = [size[2 + i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1 - (n.shapes[g][2 + i] - 1) * stride[i] for i in (0, 1)]
    both = dict(pads_begin=padding, strides=stride, dilations=dilation)
    swap = lambda v: n("permute", v, axes=[1, 0, 2, 3])
    correlation = dict(kernel=n.shapes[g][2:], pads_begin=padding, pads_end=[p - r for p, r in zip(padding, rest)], strides=dilation, dilations=stride)
    values = [lambda: n("conv_transpose", g, w, kernel=kernel, pads_end=padding, output_padding=rest, groups=groups, **both),
              lambda: swap(n("conv", swap(x), swap(g), **correlation)), lambda: n("reduce_sum", g, axes=[0, 2, 3], keep_dims=False)]
    return [value() if wanted else None for value, wanted in zip(values, mask)]


def nll_parts(n, x, target, weight, ignored):
    """[rows, 1] each: the row's class, 0 where the row is ignored; whether it counts; the weight of that class."""
    if len(n.shapes[x]) != 2: raise NotImplementedError("nll_loss of something else than rows of classes")
    rows, whole = n.shapes[x][0], n.types[target]
    column = n.reshape(target, [rows, 1])
    counts = n("logical_not", n("equal", column, n.constant(ignored, whole), dtype=torch.bool))
    column, of_class = n("where", counts, column, n.constant(0, whole), dtype=whole), n.constant(1.0, n.dtype)
    if weight is not None: of_class = n("take", column, n.expand(n.reshape(weight, [1, n.shapes[x][1]]), n.shapes[x]), axis=1, dtype=n.dtype)
    return column, counts, of_class


def nll_loss(n, x, target, weight, reduction, ignored):
    (column, counts, of_class), zero = nll_parts(n, x, target, weight, ignored), n.constant(0.0, n.dtype)
    rows = n("where", counts, n("mul", n("neg", n("take", column, x, axis=1, dtype=n.dtype)), of_class), zero, dtype=n.dtype)
    if reduction == 0: return [n.reshape(rows, n.shapes[target]), zero]
    summed, total = (n("reduce_sum", v, axes=[0, 1], keep_dims=False) for v in (rows, n("where", counts, of_class, zero, dtype=n.dtype)))
    return [n("div", summed, total) if reduction == 1 else summed, total]


def nll_loss_backward(n, g, x, target, weight, reduction, ignored, total):
    column, counts, of_class = nll_parts(n, x, target, weight, ignored)
    each = n("neg", n("div", g, total) if reduction == 1 else n.reshape(g, [n.shapes[x][0], 1]) if reduction == 0 else g)
    hit = n("equal", column, n.constant(list(range(n.shapes[x][1])), n.types[target]), dtype=torch.bool)
    return n("where", n("logical_and", counts, hit), n("mul", of_class, each), n.constant(0.0, n.dtype), dtype=n.dtype)


def mse_loss(n, x, y, reduction=1):
    d = n("sub", x, y)
    return n.mean_or_sum(n("mul", d, d), reduction)


def mse_loss_backward(n, g, x, y, reduction):
    factor = n("div", n.constant(2.0, n.dtype), n.constant(float(counted(n.shapes[x])), n.dtype)) if reduction == 1 else 2.0
    return n("mul", n("mul", n("sub", x, y), factor), g)


def bce_with_logits(n, x, target, weight=None, positive=None, reduction=1):
    if weight is not None or positive is not None: raise NotImplementedError("binary cross entropy with weights")
    return n.mean_or_sum(n("add", n("mul", n("sub", n.constant(1.0, n.dtype), target), x), n("softplus", n("neg", x))), reduction)


def softmax_backward(n, g, y, axis, _):
    return n("mul", y, n("sub", g, n("reduce_sum", n("mul", g, y), axes=[axis % len(n.shapes[y])], keep_dims=True)))


def log_softmax_backward(n, g, y, axis, _):
    return n("sub", g, n("mul", n("exp", y), n("reduce_sum", g, axes=[axis % len(n.shapes[y])], keep_dims=True)))


def where(n, condition, a, b): return n("where", condition, n.cast(a, n.dtype), n.cast(b, n.dtype), dtype=n.dtype)


# Not here: sqrt and rsqrt. PyTorch takes roots from a library that does not always give the nearest number, and no execution model says so.
# Names without the overload; what writes in place has the meaning of what does not. Every function here takes what the overloads give it.
RULES = {
    "t": lambda n, x: n("permute", x, axes=list(range(len(n.shape)))[::-1]), "transpose": transpose,
    "permute": lambda n, x, axes: n("permute", x, axes=[a % len(axes) for a in axes]), "expand": broadcast, "slice": slice_, "select": select,
    "slice_backward": slice_backward, "select_backward": select_backward, "split": split, "split_with_sizes": split, "unbind": unbind,
    "cat": cat, "stack": stack, "gather": gathered, "scatter_add": scatter_add, "embedding": embedding,
    "embedding_dense_backward": embedding_backward, "where": where, "_to_copy": lambda n, x, **_: n.reshape(n.cast(x, n.dtype), n.shape), "masked_fill": lambda n, x, mask, value: where(n, mask, value, x),
    "zeros": lambda n, *_, **__: filled(n, 0), "zeros_like": lambda n, *_, **__: filled(n, 0), "new_zeros": lambda n, *_, **__: filled(n, 0),
    "ones": lambda n, *_, **__: filled(n, 1), "ones_like": lambda n, *_, **__: filled(n, 1), "full": lambda n, _, v, **__: filled(n, v),
    "full_like": lambda n, _, v, **__: filled(n, v), "scalar_tensor": lambda n, v, **_: filled(n, v), "zero": lambda n, _: filled(n, 0),
    "fill": lambda n, _, v: broadcast(n, n.cast(v, n.dtype)) if isinstance(v, Ref) else filled(n, v),
    "copy": lambda n, _, x, *__: broadcast(n, x),
    "mm": lambda n, a, b: n("matmul", a, b), "bmm": lambda n, a, b: n("matmul", a, b), "mv": lambda n, a, b: n("matmul", a, b),
    "dot": lambda n, a, b: n("matmul", a, b), "addmm": lambda n, c, a, b, beta=1, alpha=1: n("gemm", a, b, c, alpha=n.rounded(alpha), beta=n.rounded(beta)),
    "add": arithmetic("add"), "sub": arithmetic("sub"), "mul": arithmetic("mul"), "div": arithmetic("div"), "maximum": arithmetic("max"),
    "minimum": arithmetic("min"), "rsub": lambda n, a, b, alpha=1: arithmetic("sub")(n, b, a, alpha),
    "eq": compared("equal"), "ne": compared("equal", negate=True), "lt": compared("less"), "le": compared("less_equal"),
    "gt": compared("less", swap=True), "ge": compared("less_equal", swap=True), "logical_and": lambda n, a, b: n("logical_and", a, b),
    "logical_not": unary("logical_not"), "neg": unary("neg"), "exp": unary("exp"), "log": unary("log"),
    "sin": unary("sin"), "cos": unary("cos"), "abs": unary("abs"), "sgn": unary("sign"), "sign": unary("sign"), "tanh": unary("tanh"),
    "reciprocal": unary("reciprocal"), "relu": unary("relu"), "sigmoid": unary("sigmoid"), "pow": power,
    "clamp": clamp, "leaky_relu": lambda n, x, slope=0.01: n("leaky_relu", x, slope=n.rounded(slope)),
    "threshold_backward": lambda n, g, y, _: n("where", n("less", n.constant(0.0, n.dtype), y, dtype=torch.bool), g, n.constant(0.0, n.dtype), dtype=n.dtype),
    "tanh_backward": lambda n, g, y: n("mul", g, n("sub", 1.0, n("mul", y, y))),
    "sigmoid_backward": lambda n, g, y: n("mul", n("mul", g, n("sub", n.constant(1.0, n.dtype), y)), y),
    "leaky_relu_backward": lambda n, g, x, slope, _: n("where", n("less", n.constant(0.0, n.dtype), x, dtype=torch.bool), g, n("mul", g, slope), dtype=n.dtype),
    "sum": reduced("reduce_sum"), "mean": reduced("reduce_mean"), "amax": reduced("reduce_max"), "amin": reduced("reduce_min"),
    "logsumexp": lambda n, x, axes, keep=False: n("log_sum_exp", x, axes=sorted(a % len(n.shapes[x]) for a in axes), keep_dims=keep),
    "_softmax": lambda n, x, axis, _: n("softmax", x, axis=axis % len(n.shapes[x])), "_softmax_backward_data": softmax_backward,
    "_log_softmax": lambda n, x, axis, _: n("log_softmax", x, axis=axis % len(n.shapes[x])),
    "_log_softmax_backward_data": log_softmax_backward, "nll_loss_forward": nll_loss, "nll_loss_backward": nll_loss_backward,
    "mse_loss": mse_loss, "mse_loss_backward": mse_loss_backward, "binary_cross_entropy_with_logits": bce_with_logits,
    "convolution": convolution, "convolution_backward": convolution_backward,
} | dict.fromkeys(["view", "_unsafe_view", "reshape", "_reshape_alias", "squeeze", "unsqueeze", "clone", "alias", "view_as"], reshape)
# The same tensor again, or memory that nobody wrote.
TRANSPARENT = {"detach", "lift_fresh", "empty", "empty_like", "new_empty", "empty_strided"}
# What these give is an input of the run: nothing says what it has to be.
GIVEN = {"bernoulli", "normal", "uniform", "rand", "randn", "rand_like", "randn_like", "randint", "randperm", "arange", "eye", "linspace"}
