"""A few ONNX models written byte by byte: enough of the wire format for the command-line tests."""
import random
import struct


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


FLOAT, UINT8, INT32, INT64, BOOL, DOUBLE = 1, 2, 6, 7, 9, 11
FORMAT = {FLOAT: "f", UINT8: "B", INT32: "i", INT64: "q", BOOL: "?", DOUBLE: "d"}


def tensor(name, dims, values, element_type=FLOAT):
    raw = struct.pack(f"<{len(values)}{FORMAT[element_type]}", *values)
    return b"".join(number(1, d) for d in dims) + number(2, element_type) + block(8, name) + block(9, raw)


def value_info(name, dims, element_type=FLOAT):
    """A dimension is an extent, or the name of a symbolic one; no dims at all: the shape is left open."""
    if dims is None:
        return block(1, name)
    shape = b"".join(block(1, block(2, d) if isinstance(d, str) else number(1, d)) for d in dims)
    return block(1, name) + block(2, block(1, number(1, element_type) + block(2, shape)))


def attribute(name, value):
    """An integer, a float, a text, or a list of integers."""
    if isinstance(value, bool) or isinstance(value, int):
        body = number(3, value & (2**64 - 1)) + number(20, 2)
    elif isinstance(value, float):
        body = varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)
    elif isinstance(value, str):
        body = block(4, value) + number(20, 3)
    else:
        body = b"".join(number(8, v & (2**64 - 1)) for v in value) + number(20, 7)
    return block(1, name) + body


def node(op, inputs, outputs, name, **attributes):
    text = b"".join(block(1, i) for i in inputs) + b"".join(block(2, o) for o in outputs) + block(3, name) + block(4, op)
    return text + b"".join(block(5, attribute(key, value)) for key, value in attributes.items())


def model(nodes, inputs, outputs, tensors, opset=13):
    graph = b"".join(block(1, n) for n in nodes) + block(2, "small") + b"".join(block(5, t) for t in tensors)
    graph += b"".join(block(11, i) for i in inputs) + b"".join(block(12, o) for o in outputs)
    return number(1, 7) + block(2, "assay tests") + block(7, graph) + block(8, block(1, "") + number(2, opset))


def two_equal_neurons(activation="Relu", batch=1, inputs=2, weight=1):
    """x [1,2] -> z = x W + b -> activation -> y = h0 - h1, which is 0 everywhere."""
    return model(
        [node("Gemm", ["x", "w", "b"], ["z"], "first"), node(activation, ["z"], ["h"], "hidden"), node("Gemm", ["h", "v", "c"], ["y"], "last")],
        [value_info("x", [batch, inputs])], [value_info("y", [batch, 1])],
        [tensor("w", [2, 2], [weight, 1, 0.5, 0.5]), tensor("b", [2], [0.25, 0.25]), tensor("v", [2, 1], [1, -1]), tensor("c", [1], [0])])


WIDTH, DEPTH = 256, 24


def wide_layers(depth=DEPTH):
    """x [1,WIDTH] through `depth` linear layers with ReLU: work for seconds. The weights are a short sequence of random numbers, repeated.

    At most DEPTH matrices are stored: deeper models use them again, and stay small files.
    """
    draw = random.Random(1)
    few = [draw.gauss(0, 1.4 / WIDTH ** 0.5) for _ in range(9973)]
    weights = (few * (WIDTH * WIDTH // len(few) + 1))[:WIDTH * WIDTH]
    nodes, last = [], "x"
    tensors = [tensor(f"w{k}", [WIDTH, WIDTH], weights[k:] + weights[:k]) for k in range(min(depth, DEPTH))]
    for k in range(depth):
        nodes += [node("MatMul", [last, f"w{k % DEPTH}"], [f"z{k}"], f"linear {k}"), node("Relu", [f"z{k}"], [f"h{k}"], f"relu {k}")]
        last = f"h{k}"
    nodes.append(node("MatMul", [last, "v"], ["y"], "last"))
    tensors.append(tensor("v", [WIDTH, 1], weights[:WIDTH]))
    return model(nodes, [value_info("x", [1, WIDTH])], [value_info("y", [1, 1])], tensors)


def wide_property():
    names = [f"X_{i}" for i in range(WIDTH)]
    return "".join(f"(declare-const {v} Real)\n" for v in [*names, "Y_0"]) + "".join(
        f"(assert (>= {v} -0.05)) (assert (<= {v} 0.05))\n" for v in names) + "(assert (>= Y_0 1000))\n"
