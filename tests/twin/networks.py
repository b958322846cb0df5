"""Small networks over the common operators, with properties: an ONNX writer and families of networks, all from a seed."""
import itertools
import random
import re
import struct


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def number(field, value):
    return varint(field << 3) + varint(value & (1 << 64) - 1)


def block(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


FLOAT, INT64, DOUBLE = 1, 7, 11


def tensor(name, dims, values, kind=FLOAT, raw=True):
    code = {FLOAT: "f", INT64: "q", DOUBLE: "d"}[kind]
    head = b"".join(number(1, d) for d in dims) + number(2, kind) + block(8, name)
    if raw:
        return head + block(9, struct.pack(f"<{len(values)}{code}", *values))
    if kind == INT64:
        return head + block(7, b"".join(varint(v & (1 << 64) - 1) for v in values))
    return head + block({FLOAT: 4, DOUBLE: 10}[kind], struct.pack(f"<{len(values)}{code}", *values))


def value_info(name, dims, kind=FLOAT):
    shape = b"".join(block(1, block(2, d) if isinstance(d, str) else number(1, d)) for d in dims)
    return block(1, name) + block(2, block(1, number(1, kind) + block(2, shape)))


def attribute(name, value):
    if isinstance(value, float):
        body = varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)
    elif isinstance(value, int):
        body = number(3, value) + number(20, 2)
    elif isinstance(value, str):
        body = block(4, value) + number(20, 3)
    elif isinstance(value, bytes):
        body = block(5, value) + number(20, 4)
    else:
        body = b"".join(number(8, v) for v in value) + number(20, 7)
    return block(1, name) + body


class Network:
    """Grows node by node; `x` is the current value, with its shape."""

    def __init__(self, rng, shape, opset=13, kind=FLOAT):
        self.rng, self.opset, self.kind = rng, opset, kind
        self.nodes, self.tensors, self.inputs, self.outputs = [], [], [], []
        self.count = 0
        self.x, self.shape = self.input(shape)

    def name(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def input(self, shape):
        name = self.name("in")
        self.inputs.append((name, tuple(shape)))
        return name, tuple(shape)

    def weight(self, dims, scale=1.0, values=None, kind=None):
        size = 1
        for d in dims:
            size *= d
        if values is None:
            values = [round(self.rng.gauss(0, scale), self.rng.choice((2, 3, 9))) for _ in range(size)]
        name = self.name("w")
        self.tensors.append(tensor(name, dims, values, kind or self.kind, raw=self.rng.random() < 0.5))
        return name

    def integers(self, values):
        return self.weight([len(values)], values=values, kind=INT64)

    def node(self, op, operands, shape, outputs=1, **attributes):
        names = [self.name("v") for _ in range(outputs)]
        text = b"".join(block(1, i) for i in operands) + b"".join(block(2, o) for o in names) + block(3, names[0]) + block(4, op)
        self.nodes.append(text + b"".join(block(5, attribute(k, v)) for k, v in attributes.items()))
        self.x, self.shape = names[0], tuple(shape)
        return names[0] if outputs == 1 else names

    def unary(self, op, **attributes):
        return self.node(op, [self.x], self.shape, **attributes)

    def gemm(self, width, bias=True, scale=None):
        batch, depth = self.shape
        scale = scale or (1.5 / depth) ** 0.5
        transposed = self.rng.random() < 0.5
        w = self.weight((width, depth) if transposed else (depth, width), scale)
        operands = [self.x, w] + ([self.weight((width,), 0.3)] if bias else [])
        attributes = {"transB": 1} if transposed else {}
        return self.node("Gemm", operands, (batch, width), **attributes)

    def flatten(self):
        size = 1
        for d in self.shape[1:]:
            size *= d
        return self.node("Flatten", [self.x], (self.shape[0], size))

    def conv(self, channels, kernel=3, pad=1, stride=1, groups=1):
        n, c, h, w = self.shape
        weights = self.weight((channels, c // groups, kernel, kernel), (1.5 / (c * kernel * kernel)) ** 0.5)
        size = [(d + 2 * pad - kernel) // stride + 1 for d in (h, w)]
        return self.node("Conv", [self.x, weights, self.weight((channels,), 0.2)], (n, channels, *size), kernel_shape=[kernel] * 2,
                         pads=[pad] * 4, strides=[stride] * 2, group=groups)

    def batch_norm(self):
        c = self.shape[1]
        parameters = [self.weight((c,), 0.5), self.weight((c,), 0.3), self.weight((c,), 0.3),
                      self.weight((c,), values=[self.rng.uniform(0.5, 2) for _ in range(c)])]
        return self.node("BatchNormalization", [self.x] + parameters, self.shape, epsilon=self.rng.choice((1e-5, 1e-3)))

    def finish(self, *outputs):
        outputs = outputs or [(self.x, self.shape)]
        self.outputs = list(outputs)
        graph = b"".join(block(1, n) for n in self.nodes) + block(2, "small") + b"".join(block(5, t) for t in self.tensors)
        graph += b"".join(block(11, value_info(n, s, self.kind)) for n, s in self.inputs)
        graph += b"".join(block(12, value_info(n, s, self.kind)) for n, s in self.outputs)
        return number(1, 7) + block(2, "twin") + block(7, graph) + block(8, block(1, "") + number(2, self.opset))


def mlp(activation, **attributes):
    def make(rng):
        net = Network(rng, (1, rng.randint(2, 4)), opset=13 if activation == "Celu" else rng.choice((9, 13, 17)), kind=rng.choice((FLOAT, FLOAT, FLOAT, DOUBLE)))
        for _ in range(rng.randint(1, 3)):
            net.gemm(rng.randint(3, 8))
            net.unary(activation, **attributes)
        net.gemm(rng.randint(1, 3))
        return net.finish()
    return make


def matmul_bias(rng):
    net = Network(rng, (1, 3))
    for width in (5, 4, 2):
        net.node("MatMul", [net.x, net.weight((net.shape[-1], width), 0.7)], (1, width))
        net.node(rng.choice(("Add", "Sub")), [net.x, net.weight((width,), 0.3)], (1, width))
        if width > 2:
            net.unary("Relu")
    net.node("Mul", [net.x, net.weight((1,), 1)], net.shape)
    net.node("Div", [net.x, net.weight((2,), values=[1.5, -3.0])], net.shape)
    return net.finish()


def convolution(rng):
    net = Network(rng, (1, rng.randint(1, 2), 4, 4))
    net.conv(2, pad=rng.randint(0, 1), stride=rng.randint(1, 2))
    if rng.random() < 0.5:
        net.batch_norm()
    net.unary(rng.choice(("Relu", "LeakyRelu")))
    net.flatten()
    net.gemm(2)
    return net.finish()


def transposed(rng):
    """ConvTranspose behind a convolution."""
    groups, stride = rng.choice(((1, 1), (2, 2), (1, 2)))
    net = Network(rng, (1, 2, 3, 3))
    net.conv(2)
    net.unary("Relu")
    channels, kernel, dilation, pad, more = 2, 2, rng.randint(1, 2), rng.randint(0, 1), stride - 1
    weights = net.weight((2, channels // groups, kernel, kernel), 0.6)
    side = (3 - 1) * stride + dilation * (kernel - 1) + 1 + more - 2 * pad
    net.node("ConvTranspose", [net.x, weights] + [net.weight((channels,), 0.3)] * rng.randint(0, 1), (1, channels, side, side), strides=[stride] * 2,
             pads=[pad] * 4, dilations=[dilation] * 2, output_padding=[more] * 2, group=groups)
    net.flatten()
    net.gemm(2)
    return net.finish()


def constants(rng):
    """Arithmetic on weights, which stays in the graph; one of the numbers is irrational."""
    net = Network(rng, (1, 3))
    total = net.node("Add", [net.weight((3, 4), 0.5), net.weight((3, 4), 0.5)], (3, 4))
    net.node("MatMul", [net.inputs[0][0], total], (1, 4))
    hidden = net.unary("Relu")
    shift = net.node("Exp", [net.weight((4,), 0.2)], (4,))
    net.node("Sub", [hidden, shift], (1, 4))
    net.gemm(2)
    return net.finish()


def quotient(rng):
    """A division by a computed number."""
    net = Network(rng, (1, 2))
    a = net.gemm(3)
    net.x, net.shape = net.inputs[0]
    net.gemm(3, scale=0.3)
    net.unary("Exp")
    net.node("Div", [a, net.x], (1, 3))
    net.gemm(1)
    return net.finish()


def rearranged(rng):
    """Expand, Identity, Dropout, Flatten, constants and shapes that the network carries."""
    net = Network(rng, (1, 3))
    net.gemm(3)
    net.node("Identity", [net.x], net.shape)
    net.unary("Tanh")
    net.node("Unsqueeze", [net.x, net.integers([2])], (1, 3, 1))
    net.node("Expand", [net.x, net.integers([1, 3, 2])], (1, 3, 2))
    kept = net.x
    shape = net.node("Shape", [kept], (3,))
    last = net.node("Slice", [shape, net.integers([1]), net.integers([3])], (2,))
    net.node("Reshape", [kept, last], (3, 2))
    net.unary("Dropout")
    net.node("ReduceMin", [net.x], (3, 1), axes=[1], keepdims=1)
    net.node("Transpose", [net.x], (1, 3))
    net.gemm(1)
    return net.finish()


def globally(op):
    def make(rng):
        net = Network(rng, (1, 2, 3, 3))
        net.conv(4, groups=2)
        net.unary("Relu")
        net.node(op, [net.x], (1, 4, 1, 1))
        net.flatten()
        net.gemm(2)
        return net.finish()
    return make


def pooled(op):
    def make(rng):
        net = Network(rng, (1, 1, 4, 4))
        net.conv(2)
        net.unary("Relu")
        pad = rng.randint(0, 1)
        extra = {"count_include_pad": rng.randint(0, 1)} if op == "AveragePool" else {}
        side = (4 + 2 * pad - 2) // 2 + 1
        net.node(op, [net.x], (1, 2, side, side), kernel_shape=[2, 2], strides=[2, 2], pads=[pad] * 4, **extra)
        net.flatten()
        net.gemm(2)
        return net.finish()
    return make


def residual(rng):
    net = Network(rng, (1, 3))
    net.gemm(4)
    skip = net.unary("Relu")
    net.gemm(4)
    net.unary("Relu")
    net.node("Add", [net.x, skip], net.shape)
    net.gemm(2)
    return net.finish()


def bilinear(rng):
    net = Network(rng, (1, 3))
    a = net.gemm(3)
    net.x, net.shape = net.inputs[0]
    b = net.gemm(3)
    net.node("Mul", [a, b], net.shape)
    if rng.random() < 0.5:
        net.unary("Relu")
    net.gemm(1)
    return net.finish()


def square(rng):
    net = Network(rng, (1, 2))
    net.gemm(3)
    net.node("Mul", [net.x, net.x], net.shape)
    net.gemm(1)
    return net.finish()


def layout(rng):
    net = Network(rng, (1, 6))
    net.gemm(6)
    net.node("Reshape", [net.x, net.integers([2, 3])], (2, 3))
    net.node("Transpose", [net.x], (3, 2), perm=[1, 0])
    net.unary("Relu")
    kept = net.x
    a = net.node("Slice", [kept, net.integers([0]), net.integers([2]), net.integers([0])], (2, 2))
    b = net.node("Slice", [kept, net.integers([-1]), net.integers([-4]), net.integers([0]), net.integers([-2])], (2, 2))
    net.node("Concat", [a, b], (2, 4), axis=1)
    net.node("Unsqueeze", [net.x, net.integers([0])], (1, 2, 4))
    net.node("Squeeze", [net.x, net.integers([0])], (2, 4))
    net.node("Gather", [net.x, net.integers([1, -2, 0])], (2, 3), axis=1)
    net.node("Pad", [net.x, net.integers([0, 1, 0, 0]), net.weight((), values=[0.5])], (2, 4))
    net.node("Reshape", [net.x, net.integers([1, -1])], (1, 8))
    net.gemm(2)
    return net.finish()


def split(rng):
    net = Network(rng, (1, 3))
    net.gemm(6)
    net.unary("Relu")
    a, b = net.node("Split", [net.x, net.integers([2, 4])], (1, 2), outputs=2, axis=1)
    net.x, net.shape = b, (1, 4)
    net.gemm(2)
    net.node("Sub", [a, net.x], (1, 2))
    return net.finish()


def extremum(op):
    def make(rng):
        net = Network(rng, (1, 3))
        a = net.gemm(3)
        net.x, net.shape = net.inputs[0]
        b = net.gemm(3)
        net.node(op, [a, b] + ([net.inputs[0][0]] if rng.random() < 0.4 else []), (1, 3))
        net.gemm(2)
        return net.finish()
    return make


def reduction(op):
    def make(rng):
        net = Network(rng, (1, 3))
        net.gemm(6)
        net.unary("Relu")
        net.node("Reshape", [net.x, net.integers([1, 2, 3])], (1, 2, 3))
        if op == "ReduceSum":
            net.node(op, [net.x, net.integers([1])], (1, 3), keepdims=0)
        else:
            net.node(op, [net.x], (1, 3), axes=[1], keepdims=0)
        net.gemm(2)
        return net.finish()
    return make


def clipped(rng):
    net = Network(rng, (1, 3))
    net.gemm(5)
    net.node("Clip", [net.x, net.weight((), values=[-0.5]), net.weight((), values=[0.75])] if rng.random() < 0.6 else
             [net.x, "", net.weight((), values=[0.5])], net.shape)
    net.gemm(4)
    net.unary("Abs")
    net.gemm(1)
    return net.finish()


def positive(op, **attributes):
    """Functions on positive numbers."""
    def make(rng):
        net = Network(rng, (1, 2))
        net.gemm(3, scale=0.4)
        net.unary("Abs")
        net.node("Add", [net.x, net.weight((1,), values=[0.5])], net.shape)
        if op == "Pow":
            net.node("Pow", [net.x, net.weight((), values=[rng.choice((2.0, 3.0, 0.5, 1.5, -1.0))])], net.shape)
        else:
            net.unary(op, **attributes)
        net.gemm(1)
        return net.finish()
    return make


def even_power(rng):
    net = Network(rng, (1, 2))
    net.gemm(3)
    net.node("Pow", [net.x, net.weight((), values=[rng.choice((2.0, 3.0, 4.0))])], net.shape)
    net.gemm(1)
    return net.finish()


def softmax(rng):
    net = Network(rng, (1, 2), opset=rng.choice((11, 13)))
    net.gemm(4)
    net.unary("Relu")
    net.gemm(3)
    net.unary("Softmax")
    return net.finish()


def two_inputs(rng):
    net = Network(rng, (1, 2))
    a = net.gemm(3)
    net.x, net.shape = net.input((1, 2))
    b = net.gemm(3)
    net.node("Add", [a, b], (1, 3))
    hidden = net.unary("Relu")
    first = net.gemm(1)
    net.x, net.shape = hidden, (1, 3)
    second = net.gemm(2)
    return net.finish((first, (1, 1)), (second, (1, 2)))


def attention(rng):
    """A product of two computed matrices."""
    net = Network(rng, (1, 4))
    a = net.gemm(4)
    net.x, net.shape = net.inputs[0]
    b = net.gemm(4)
    a = net.node("Reshape", [a, net.integers([2, 2])], (2, 2))
    b = net.node("Reshape", [b, net.integers([2, 2])], (2, 2))
    net.node("MatMul", [a, b], (2, 2))
    net.node("Reshape", [net.x, net.integers([1, 4])], (1, 4))
    net.gemm(1)
    return net.finish()


FAMILIES = {
    "relu": mlp("Relu"), "relu2": mlp("Relu"), "relu3": mlp("Relu"), "leaky_relu": mlp("LeakyRelu", alpha=0.1), "sigmoid": mlp("Sigmoid"), "tanh": mlp("Tanh"),
    "elu": mlp("Elu", alpha=0.7), "hard_sigmoid": mlp("HardSigmoid"), "softplus": mlp("Softplus"), "abs": mlp("Abs"), "selu": mlp("Selu"),
    "softsign": mlp("Softsign"), "celu": mlp("Celu", alpha=1.5), "sign": mlp("Sign"),
    "matmul": matmul_bias, "conv": convolution, "conv2": convolution, "grouped": globally("GlobalAveragePool"), "max_pool": pooled("MaxPool"), "avg_pool": pooled("AveragePool"),
    "residual": residual, "mul": bilinear, "square": square, "layout": layout, "split": split, "max": extremum("Max"), "min": extremum("Min"),
    "reduce_sum": reduction("ReduceSum"), "reduce_mean": reduction("ReduceMean"), "reduce_max": reduction("ReduceMax"), "clip": clipped,
    "exp": mlp("Exp"), "log": positive("Log"), "sqrt": positive("Sqrt"), "reciprocal": positive("Reciprocal"), "pow": positive("Pow"), "even_pow": even_power,
    "softmax": softmax, "two_inputs": two_inputs, "matmul_two": attention,
    "conv_transpose": transposed, "div": quotient, "rearranged": rearranged, "constants": constants, "global_max_pool": globally("GlobalMaxPool"), "reduce_min": reduction("ReduceMin"),
    "sin": mlp("Sin"), "cos": mlp("Cos"), "atan": mlp("Atan"), "floor": mlp("Floor"), "ceil": mlp("Ceil"),
}


def decimal(value):
    return f"{value:.6f}"


def property_text(rng, samples, bounds, sizes):
    """A property about outputs near the edge of what the samples reach. `samples`: lists of outputs; `bounds`: pairs per input."""
    inputs, outputs = sizes
    lines = [f"(declare-const X_{i} Real)" for i in range(inputs)] + [f"(declare-const Y_{i} Real)" for i in range(outputs)]
    for i, (lo, hi) in enumerate(bounds):
        lines += [f"(assert (>= X_{i} {decimal(lo)}))", f"(assert (<= X_{i} {decimal(hi)}))"]

    def edge(values, above):
        least, greatest = min(values), max(values)
        room = (greatest - least) * rng.choice((-0.15, 0.02, 0.1, 0.3, 0.8)) + 1e-3
        return f"{decimal(greatest + room)}" if above else f"{decimal(least - room)}"

    def row():
        y, above, strict = rng.randrange(outputs), rng.random() < 0.5, rng.choice(("", "", "="))
        sign = (">" if above else "<") + (strict or "=") if rng.random() < 0.8 else ">" if above else "<"
        if outputs > 1 and rng.random() < 0.4:
            z = (y + 1) % outputs
            return f"({sign} (- Y_{y} (* 0.5 Y_{z})) {edge([s[y] - s[z] / 2 for s in samples], above)})"
        if rng.random() < 0.15:
            return f"({sign} (+ Y_{y} (* 0.1 X_0)) {edge([s[y] + 0.1 * bounds[0][0] for s in samples], above)})"
        return f"({sign} Y_{y} {edge([s[y] for s in samples], above)})"

    form = rng.random()
    if form < 0.4:
        lines.append(f"(assert {row()})")
    elif form < 0.7:
        lines.append(f"(assert (or {row()} {row()}))")
    elif form < 0.85:
        lines.append(f"(assert (or (and {row()} {row()}) (and {row()})))")
    else:
        middle = decimal(sum(bounds[0]) / 2)
        lines.append(f"(assert (or (and (<= X_0 {middle}) {row()}) (and (>= X_0 {middle}) {row()})))")
    own = random.Random("\n".join(lines))  # the draws above stay those of other corpora
    if own.random() < 0.25:
        x, y = f"X_{own.randrange(inputs)}", f"Y_{own.randrange(outputs)}"
        square, product = f"(- {x} {decimal(own.random())})", own.choice((f"(* {x} {y})", f"(* 0.5 {y} {y} {x})", f"(* {y} {y} X_0 X_0)"))
        lines.append(f"(assert ({own.choice(('<=', '<'))} (+ (* {square} {square}) {product}) {decimal(own.choice((0.1, 1, 10, 100)))}))")
    return "\n".join(lines) + "\n"


def in_version_2(text, inputs, outputs):
    """The same property in VNN-LIB 2. `inputs`, `outputs`: (ONNX name, element type, shape) of the model's tensors."""
    declared, names = [], {}
    for side, letter, tensors in (("input", "X", inputs), ("output", "Y", outputs)):
        for number, (onnx, _, shape) in enumerate(tensors):
            declared.append(f'  (declare-{side} {letter}{number} real {list(shape)} "{onnx.decode()}")'.replace(", ", ","))
            for index in itertools.product(*map(range, shape)):
                names[f"{letter}_{sum(1 for n in names if n[0] == letter)}"] = f"{letter}{number}{list(index)}".replace(" ", "") if shape else f"{letter}{number}"
    assertions = re.sub(r"[XY]_\d+", lambda match: names[match[0]], "\n".join(line for line in text.split("\n") if "declare-const" not in line))
    return "(vnnlib-version <2.0>)\n(declare-network n\n" + "\n".join(declared) + ")\n" + assertions


def draw(seed):
    """(family, model bytes, random source) of a seed."""
    rng = random.Random(seed)
    family = list(FAMILIES)[seed % len(FAMILIES)]
    return family, FAMILIES[family](rng), rng
