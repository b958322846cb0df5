"""Random models of com.microsoft for onnx_random.py: quantised operators, fused ones, attention."""
import numpy as np
from onnx import helper

from onnx_random_models import Input, of

PREFIX = "com.microsoft."


def make(d, op, inputs, outputs=1, **attributes):
    case = d.make(op.removeprefix(PREFIX), 17, inputs, outputs, **attributes)
    case.op = op
    case.model.graph.node[0].domain = "com.microsoft"
    case.model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return case


def named(*ops):
    return of(*(PREFIX + op for op in ops))


def integers(d, shape, dtype):
    ends = np.iinfo(dtype)
    return d.ints(shape, int(ends.min), int(ends.max), dtype)


def scale(d, shape=()):
    """A quarter of single ones are powers of two, for which numbers lie halfway between two of the grid."""
    return np.full(shape, d.one_of(0.125, 0.25, 0.5), np.float32) if shape == () and d.chance(0.25) else d.floats(shape, 0.01, 0.2)


def zero(d, dtype, shape=()):
    return d.ints(shape, -20 if dtype is np.int8 else 100, 20 if dtype is np.int8 else 140, dtype)


def quantised(d, shape, dtype, constant=False):
    """A tensor of whole numbers, its scale and its zero point."""
    values = integers(d, shape, dtype)
    return [values if constant else Input(values), scale(d), zero(d, dtype)]


@named("QLinearAdd", "QLinearMul", "QLinearSigmoid", "QLinearLeakyRelu", "QLinearConcat", "QLinearAveragePool", "QLinearGlobalAveragePool", "QLinearWhere",
       "QuantizeLinear", "DequantizeLinear")
def quantised_maps(d, op):
    dtype, shape = d.one_of(np.uint8, np.int8), d.shape(1, 3)
    if op.endswith("QuantizeLinear"):
        return make(d, op, [Input(d.floats(shape)), scale(d), zero(d, dtype)])
    if op.endswith("DequantizeLinear"):
        return make(d, op, quantised(d, shape, dtype))
    grid = [scale(d), zero(d, dtype)]
    if op.endswith(("Add", "Mul")):
        other = d.broadcast(shape) if op.endswith("Add") else shape
        return make(d, op, quantised(d, shape, dtype) + quantised(d, other, dtype, d.chance(0.5)) + grid)
    if op.endswith(("Sigmoid", "LeakyRelu")):
        alpha = {"alpha": d.one_of(None, 0.2)} if op.endswith("Relu") else {}
        return make(d, op, quantised(d, shape, dtype) + grid, **alpha)
    if op.endswith("Concat"):
        axis = d.whole(0, len(shape) - 1)
        parts = [quantised(d, tuple(d.whole(1, 3) if i == axis else n for i, n in enumerate(shape)), dtype) for _ in range(d.whole(1, 3))]
        return make(d, op, grid + sum(parts, []), axis=d.one_of(axis, axis - len(shape)))
    if op.endswith("Where"):
        truth = d.ints(d.broadcast(shape), 0, 1).astype(bool)
        return make(d, op, [truth] + quantised(d, shape, dtype) + quantised(d, shape, dtype) + grid)
    image = (1, d.whole(1, 3), d.whole(3, 6), d.whole(3, 6))
    if op.endswith("GlobalAveragePool"):
        return make(d, op, quantised(d, image, dtype) + grid)
    return make(d, op, quantised(d, image, dtype) + grid, kernel_shape=[2, d.whole(1, 3)], strides=d.one_of(None, [2, 1]), pads=d.one_of(None, [1, 0, 0, 0]),
                count_include_pad=d.one_of(None, 1), ceil_mode=d.one_of(None, 1))


@named("QGemm", "MatMulIntegerToFloat", "DynamicQuantizeMatMul")
def quantised_products(d, op):
    dtype, weights = d.one_of((np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8))
    m, k, n = d.whole(1, 3), d.whole(1, 5), d.whole(1, 4)
    by_column = (n,) if d.chance(0.5) else ()
    if op.endswith("DynamicQuantizeMatMul"):
        b_zero = zero(d, weights, by_column)
        return make(d, op, [Input(d.floats((m, k))), integers(d, (k, n), weights), scale(d, by_column), d.one_of(None, b_zero), d.one_of(None, d.floats((n,)))])
    if op.endswith("ToFloat"):
        return make(d, op, [Input(integers(d, (m, k), dtype)), integers(d, (k, n), weights), scale(d), scale(d, by_column), zero(d, dtype), zero(d, weights, by_column),
                            d.one_of(None, d.floats((n,)))])
    a_turned, b_turned = d.chance(0.3), d.chance(0.3)
    c = d.one_of(None, d.ints((n,), -500, 500, np.int32))
    result = d.one_of([], [scale(d, ()) * 20, zero(d, dtype)])
    return make(d, op, [Input(integers(d, (k, m) if a_turned else (m, k), dtype)), scale(d), zero(d, dtype), integers(d, (n, k) if b_turned else (k, n), weights),
                        scale(d, by_column), zero(d, weights, by_column), c] + result, transA=int(a_turned), transB=int(b_turned), alpha=d.one_of(None, 0.5))


@named("DynamicQuantizeLSTM")
def quantised_lstm(d, op):
    steps, batch, inputs, hidden = d.whole(1, 3), d.whole(1, 2), d.whole(1, 4), d.whole(1, 3)
    direction = d.one_of(None, "reverse", "bidirectional")
    ways, dtype = 2 if direction == "bidirectional" else 1, d.one_of(np.uint8, np.int8)
    by_column = (ways, 4 * hidden) if dtype is np.int8 and d.chance(0.5) else (ways,)
    optional = lambda shape: d.one_of(None, d.floats(shape, -0.5, 0.5))  # noqa: E731
    grids = [scale(d, by_column), zero(d, dtype, by_column), scale(d, by_column), zero(d, dtype, by_column)]
    if len(by_column) == 2:  # ONNX Runtime takes no other zero points of columns
        grids[1] = grids[3] = np.zeros(by_column, np.int8)
    return make(d, op, [Input(d.floats((steps, batch, inputs))), integers(d, (ways, inputs, 4 * hidden), dtype), integers(d, (ways, hidden, 4 * hidden), dtype),
                        optional((ways, 8 * hidden)), None, optional((ways, batch, hidden)), optional((ways, batch, hidden)), None] + grids, 3,
                hidden_size=hidden, direction=direction)


@named("Gelu", "BiasGelu", "FastGelu", "QuickGelu", "SkipLayerNormalization", "SkipSimplifiedLayerNormalization", "FusedMatMul", "FusedGemm", "FusedConv")
def fused(d, op):
    shape = (1, d.whole(1, 3), d.whole(1, 4))
    x, width = Input(d.floats(shape)), shape[-1:]
    if op.endswith("BiasGelu"):
        return make(d, op, [x, d.floats(width)])
    if op.endswith("FastGelu"):
        return make(d, op, [x, d.one_of(None, d.floats(width))])
    if op.endswith("Gelu"):
        return make(d, op, [x], **({"alpha": d.one_of(None, 1.0)} if "Quick" in op else {}))
    if "Skip" in op:
        skip, one = d.one_of(Input(d.floats(shape)), d.floats(shape)), d.floats(width)
        rest = [d.one_of(None, d.floats(width))] if "Simplified" in op else [d.one_of(None, d.floats(width)), d.one_of(None, d.floats(width))]
        case = make(d, op, [x, skip, one, *rest], 4 if d.chance(0.4) else 1, epsilon=d.one_of(1e-5, 0.01))
        if len(case.model.graph.output) == 4:  # the sum, without mean and deviation
            del case.model.graph.output[1:3]
            case.model.graph.node[0].output[1] = case.model.graph.node[0].output[2] = ""
        return case
    if op.endswith("MatMul"):
        m, k, n = (d.whole(1, 4) for _ in range(3))
        a, b, lead = d.chance(0.4), d.chance(0.4), d.one_of((), (2,))
        return make(d, op, [Input(d.floats(lead + ((k, m) if a else (m, k)))), d.floats(lead + ((n, k) if b else (k, n)))], transA=int(a), transB=int(b),
                    alpha=d.one_of(None, 0.5))
    name, first, second = d.one_of(("Relu", None, None), ("Tanh", None, None), ("Sigmoid", None, None), ("LeakyRelu", 0.2, None), ("HardSigmoid", 0.25, 0.5))
    if op.endswith("Gemm"):
        m, k, n = (d.whole(1, 4) for _ in range(3))
        return make(d, op, [Input(d.floats((m, k))), d.floats((k, n)), d.one_of(None, d.floats((n,)))], activation=name, activation_alpha=first, activation_beta=second,
                    alpha=d.one_of(None, 0.5), beta=d.one_of(None, 2.0))
    name, first, second = d.one_of((name, first, second), ("Clip", -1.0, 1.5))
    image, channels = (1, d.whole(1, 2), d.whole(3, 5), d.whole(3, 5)), d.whole(1, 3)
    z = d.one_of(None, Input(d.floats((1, channels, image[2] - 1, image[3] - 1))))
    numbers = [one for one in (first, second) if one is not None] or None
    return make(d, op, [Input(d.floats(image)), d.floats((channels, image[1], 2, 2)), d.one_of(None, d.floats((channels,))), z], activation=name, activation_params=numbers)


@named("EmbedLayerNormalization")
def embedding(d, op):
    length, width, words = d.whole(1, 3), d.whole(2, 4), 5
    ids, table = d.ints((1, length), 0, words - 1, np.int32), lambda rows: d.floats((rows, width))
    segments = d.one_of([None, table(words), table(4), d.one_of(None, table(2))], [d.ints((1, length), 0, 1, np.int32), table(words), table(4), table(2)])
    return make(d, op, [Input(ids), *segments, d.floats((width,)), d.floats((width,))], 2, epsilon=1e-5)


@named("Attention", "MultiHeadAttention", "RotaryEmbedding")
def attention(d, op):
    batch, heads, size, length, past = d.whole(1, 2), d.whole(1, 2), 2 * d.whole(1, 2), d.whole(1, 3), d.one_of(0, 0, 2)
    width, keys = heads * size, length + past
    if op.endswith("Embedding"):
        whole = d.chance(0.5)
        positions = d.ints((batch, length), 0, 5) if d.chance(0.5) else d.ints((1,), 0, 2)
        shape = (batch, length, width) if whole else (batch, heads, length, size)
        return make(d, op, [Input(d.floats(shape)), positions, d.floats((8, size // 2)), d.floats((8, size // 2))], interleaved=d.one_of(None, 1),
                    num_heads=heads if whole and d.chance(0.5) else None)
    common = {"num_heads": heads, "unidirectional": d.one_of(None, 1), "mask_filter_value": d.one_of(None, -50.0), "scale": d.one_of(None, 0.5)}
    mask = d.one_of(None, d.ints((batch, keys), -1, 2, np.int32), d.ints((batch,), 1, keys, np.int32), d.ints((batch, length, keys), 0, 1, np.int32))
    if mask is not None and mask.ndim > 1:
        mask[..., 0] = 1  # where all keys are shut, float32 rounds scores away beside the number that is added
    bias = d.one_of(None, d.floats((1, heads, length, keys)))
    if op.endswith("MultiHeadAttention"):
        before = d.floats((batch, heads, past, size))
        return make(d, op, [Input(d.floats((batch, length, width))) for _ in range(3)] + [d.one_of(None, d.floats((3 * width,))), mask, bias] +
                    ([before, d.floats((batch, heads, past, size))] if past else []), 3 if past else d.one_of(1, 3), **common)
    inputs = d.whole(1, 3)
    return make(d, op, [Input(d.floats((batch, length, inputs))), d.floats((inputs, 3 * width)), d.floats((3 * width,)), mask,
                        d.floats((2, batch, heads, past, size)) if past else None, None if past else bias], 2 if past else 1, **common)


@named("QAttention")
def quantised_attention(d, op):
    batch, heads, size, length, inputs, past = d.whole(1, 2), d.whole(1, 2), d.whole(1, 3), d.whole(1, 3), d.whole(1, 4), d.one_of(0, 0, 2)
    width, keys, weights = heads * size, length + past, d.one_of(np.uint8, np.int8)
    by_column = (3 * width,) if d.chance(0.4) else ()
    mask = d.one_of(None, d.ints((batch, keys), 0, 1, np.int32), d.ints((batch,), 1, keys, np.int32))
    if mask is not None and mask.ndim > 1:
        mask[..., 0] = 1
    zeros = [zero(d, np.uint8), zero(d, weights, by_column)]
    return make(d, op, [Input(integers(d, (batch, length, inputs), np.uint8)), integers(d, (inputs, 3 * width), weights), d.floats((3 * width,)), scale(d) / 20,
                        scale(d, by_column) / 20, mask, *(zeros if d.chance(0.8) else [None, None]), d.floats((2, batch, heads, past, size)) if past else None],
                2 if past else 1, num_heads=heads, unidirectional=d.one_of(None, 1), mask_filter_value=d.one_of(None, -50.0), scale=d.one_of(None, 0.5))


@named("MatMulNBits")
def packed_product(d, op):
    bits, block, k, n, lead = d.one_of(2, 4, 4, 8), d.one_of(16, 32), d.whole(1, 70), d.whole(1, 4), d.one_of((), (2,))
    blocks = -(-k // block)
    packed = integers(d, (n, blocks, block * bits // 8), np.uint8)
    zeros = d.one_of(None, integers(d, (n, -(-blocks * bits // 8)), np.uint8), None if bits == 8 else d.floats((n, blocks), 0, 8))
    return make(d, op, [Input(d.floats((*lead, d.whole(1, 3), k))), packed, d.floats((n, blocks), 0.01, 0.2), zeros, None, d.one_of(None, d.floats((n,)))],
                K=k, N=n, bits=bits, block_size=block, accuracy_level=d.one_of(None, 0, 1))


@named("GroupQueryAttention")
def grouped_attention(d, op):
    groups, each, size, length, past = d.whole(1, 2), d.whole(1, 2), d.one_of(8, 16, 16), d.whole(1, 3), d.one_of(0, 0, 2)
    batch = d.whole(1, 2) if length == 1 or past == 0 else 1
    heads, total, rotary = groups * each, length + past, size == 16 and d.chance(0.7)
    parts = [Input(d.floats((batch, length, (heads + 2 * groups) * size))), None, None]
    if d.chance(0.6):
        parts = [Input(d.floats((batch, length, one * size))) for one in (heads, groups, groups)]
    before = [d.floats((batch, groups, past, size)) if past else None for _ in range(2)]
    tables = [d.floats((8, size // 2)) if rotary else None for _ in range(2)]
    bias = d.one_of(None, None, d.floats((1, heads, length, total)))
    return make(d, op, [*parts, *before, np.full(batch, total - 1, np.int32), np.int32(total), *tables, None, bias], d.one_of(1, 3, 3), num_heads=heads, kv_num_heads=groups,
                do_rotary=int(rotary), rotary_interleaved=d.one_of(None, int(rotary)), scale=d.one_of(None, 0.5), softcap=d.one_of(None, 0.0, 2.0))
