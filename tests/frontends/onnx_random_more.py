"""More random models for onnx_random.py: layout, selection, interpolation, recurrent cells, quantised and composed operators."""
import numpy as np

from onnx_random_models import GENERATORS, Draw, Input, of, window


def ints(*values):
    return np.array(values, np.int64)


def axes_of(d, rank):
    return sorted(int(one) for one in d.random.choice(rank, d.whole(1, rank), replace=False))


@of("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Concat", "Slice", "Split", "Expand", "Tile", "Pad", "Trilu", "DepthToSpace", "SpaceToDepth",
    "CenterCropPad", "ReverseSequence", "Dropout", "Cast", "CastLike", "Where", "Shape", "Size", "EyeLike", "ConstantOfShape", "Constant", "Range", "NonZero")
def layout(d, op):
    shape, opset = d.shape(2, 4), d.whole(13, 22)
    x, rank = Input(d.floats(shape)), len(shape)
    axis = d.whole(-rank, rank - 1)
    if op == "Reshape":
        order = list(d.random.permutation(shape))
        return d.make(op, opset, [x, d.one_of(ints(*order), ints(-1), ints(*shape[:-1], -1), ints(0, -1))])
    if op in ("Flatten", "Concat"):
        if op == "Flatten":
            return d.make(op, d.whole(11, 22), [x], axis=d.one_of(None, d.whole(-rank, rank)))
        return d.make(op, opset, [x, *(d.floats(shape[:axis % rank] + (d.whole(1, 3),) + shape[axis % rank + 1:]) for _ in range(d.whole(0, 2)))], axis=axis)
    if op == "Squeeze":
        x = Input(d.floats((1,) + shape + (1,)))
        return d.make(op, opset, [x, d.one_of(ints(0), ints(-1), ints(0, -1))])
    if op == "Unsqueeze":
        return d.make(op, opset, [x, d.one_of(ints(0), ints(-1), ints(1, -1), ints(rank))])
    if op == "Transpose":
        return d.make(op, d.whole(7, 22), [x], perm=d.one_of(None, [int(one) for one in d.random.permutation(rank)]))
    if op == "Slice":
        axes = axes_of(d, rank)
        starts, ends, steps = ([d.whole(-6, 6) for _ in axes] for _ in range(3))
        steps = [step or 1 for step in steps]
        return d.make(op, d.whole(10, 22), [x, ints(*starts), ints(*ends), ints(*axes), ints(*steps)])
    if op == "Split":
        parts = d.whole(1, 3)
        sizes = [d.whole(1, 3) for _ in range(parts)]
        x = Input(d.floats(shape[:axis % rank] + (sum(sizes),) + shape[axis % rank + 1:]))
        if d.chance(0.4):
            return d.make(op, 18, [x], parts, axis=axis, num_outputs=parts)
        return d.make(op, opset, [x, ints(*sizes)], parts, axis=axis)
    if op == "Expand":
        target = [extent if d.chance(0.5) else 1 for extent in shape]
        return d.make(op, d.whole(8, 22), [Input(d.floats(d.broadcast(shape))), ints(*(shape if d.chance(0.5) else [d.whole(1, 3), *target]))])
    if op == "Tile":
        return d.make(op, opset, [x, ints(*(d.whole(1, 3) for _ in shape))])
    if op == "Pad":
        mode = d.one_of("constant", "reflect", "edge", "wrap" if opset >= 19 else "edge")
        low = -1 if mode == "constant" and min(shape) > 2 else 0
        pads = [d.whole(low, 2 if mode != "reflect" else min(2, extent - 1)) for extent in shape * 2]
        return d.make(op, opset, [x, ints(*pads), np.float32(d.random.uniform(-1, 1)) if mode == "constant" and d.chance(0.5) else None], mode=mode)
    if op == "Trilu":
        return d.make(op, 14, [x, d.one_of(None, np.int64(d.whole(-4, 4)))], upper=d.one_of(None, 0, 1))
    if op in ("DepthToSpace", "SpaceToDepth"):
        b = d.whole(1, 3)
        if op == "DepthToSpace":
            return d.make(op, d.whole(11, 22), [Input(d.floats((1, b * b * d.whole(1, 2), 2, 3)))], blocksize=b, mode=d.one_of(None, "DCR", "CRD"))
        return d.make(op, d.whole(7, 22), [Input(d.floats((1, 2, b * d.whole(1, 3), b * 2)))], blocksize=b)
    if op == "CenterCropPad":
        axes = axes_of(d, rank)
        return d.make(op, 18, [x, ints(*(d.whole(1, 7) for _ in axes))], axes=axes)
    if op == "ReverseSequence":
        x = Input(d.floats((4, 3, 2)))
        if d.chance(0.5):
            return d.make(op, 10, [x, d.ints((3,), 1, 4)])
        return d.make(op, 10, [x, d.ints((4,), 1, 3)], batch_axis=0, time_axis=1)
    if op == "Dropout":
        return d.make(op, opset, [x, np.float32(0.5), np.bool_(False)])
    if op in ("Cast", "CastLike"):
        values = d.one_of(d.ints(shape, 0, 100, np.int32), d.ints(shape, 0, 1, np.bool_), d.floats(shape, 0, 100))
        to = d.one_of(1, 6, 7, 9)
        kinds = {1: np.float32, 6: np.int32, 7: np.int64, 9: np.bool_}
        return d.make(op, d.whole(15, 22), [Input(values), *([np.zeros(1, kinds[to])] if op == "CastLike" else [])], to=to if op == "Cast" else None)
    if op == "Where":
        return d.make(op, d.whole(9, 22), [d.one_of(Input, np.asarray)(d.ints(d.broadcast(shape), 0, 1, np.bool_)), x, d.floats(d.broadcast(shape))])
    if op in ("Shape", "Size"):
        return d.make(op, opset, [x])
    if op == "EyeLike":
        return d.make(op, 9, [Input(d.floats(shape[:2]))], k=d.one_of(None, -1, 1), dtype=1)
    if op == "NonZero":
        return d.make(op, 13, [d.ints(shape, 0, 1).astype(np.float32)])
    if op == "ConstantOfShape":
        return d.make(op, 9, [ints(*shape)])
    if op == "Constant":
        return d.make(op, 12, [], value_floats=[float(one) for one in d.floats(3)])
    return d.make(op, 11, [np.int64(d.whole(-3, 3)), np.int64(d.whole(4, 9)), np.int64(d.whole(1, 3))])


@of("Gather", "GatherElements", "GatherND", "Scatter", "ScatterElements", "ScatterND", "Compress", "OneHot", "MaxUnpool", "Col2Im", "TensorScatter", "RoiAlign")
def selection(d, op):
    shape, opset = (d.whole(2, 4), d.whole(2, 4), d.whole(1, 3)), d.whole(13, 22)
    x, axis = Input(d.floats(shape)), d.whole(0, 1)
    if op == "Gather":
        index = d.ints(d.shape(0, 2, 3), -shape[axis], shape[axis] - 1)
        return d.make(op, opset, [x, d.one_of(index, Input(np.abs(index) % shape[axis]))], axis=axis)
    if op == "GatherND":
        index = d.ints((*d.shape(0, 2, 3), d.whole(1, 3)), -1, 0)
        return d.make(op, opset, [x, d.one_of(index, Input(index))])
    if op in ("ScatterND", "ScatterElements") and d.chance(0.5):  # at places that the network computes
        how = d.one_of("add", "add", "mul", "max", "min", None)
        if op == "ScatterND":
            index = d.ints((*((1,) if how is None else d.shape(0, 2, 3)), d.whole(1, 3)), -1, 0)
            updates = d.floats((*index.shape[:-1], *shape[index.shape[-1]:]))
            return d.make(op, 18, [x, Input(index), d.one_of(updates, Input(updates))], reduction=how)
        axis, place = d.one_of(axis, axis - 3), axis
        index = d.ints((*shape[:place], 1 if how is None else d.whole(1, 4), *shape[place + 1:]), -shape[place], shape[place] - 1)
        updates = d.floats(index.shape)
        return d.make(op, 18, [x, Input(index), d.one_of(updates, Input(updates))], axis=axis, reduction=how)
    if op == "ScatterND":
        return d.make(op, 16, [x, ints(0, 1).reshape(2, 1), d.floats((2,) + shape[1:])], reduction=d.one_of(None, "add", "mul"))
    if op in ("GatherElements", "Scatter", "ScatterElements"):
        index = np.stack([d.random.permutation(shape[axis]) for _ in range(6)])[:shape[1 - axis]]
        index = index.T if axis == 0 else index
        index = np.repeat(index[..., None], shape[2], axis=2).astype(np.int64)
        if op == "GatherElements":
            return d.make(op, opset, [x, index], axis=axis)
        updates = d.floats(index.shape)
        if op == "Scatter":
            return d.make(op, 10, [x, index, updates], axis=axis)
        return d.make(op, 18, [x, index, updates], axis=axis, reduction=d.one_of(None, "add", "mul", "max", "min"))
    if op == "Compress":
        return d.make(op, 11, [x, d.ints((shape[axis],), 0, 1, np.bool_) | (np.arange(shape[axis]) == 0)], axis=axis)
    if op == "OneHot":
        return d.make(op, 11, [Input(d.ints((3,), -4, 3)), np.int64(4), d.floats((2,))], axis=d.one_of(None, 0, -1))
    if op == "MaxUnpool":
        return d.make(op, 11, [Input(d.floats((1, 1, 2, 2))), np.sort(d.random.permutation(16)[:4]).reshape(1, 1, 2, 2).astype(np.int64)], kernel_shape=[2, 2],
                      strides=[2, 2])
    if op == "Col2Im":
        kernel, image = [d.whole(1, 2), d.whole(1, 2)], [4, 5]
        blocks = (image[0] - kernel[0] + 1) * (image[1] - kernel[1] + 1)
        return d.make(op, 18, [Input(d.floats((1, 2 * kernel[0] * kernel[1], blocks))), ints(*image), ints(*kernel)])
    if op == "TensorScatter":
        return d.make(op, 24, [Input(d.floats((2, 4, 3))), d.floats((2, 2, 3)), ints(d.whole(0, 2), d.whole(0, 2))], axis=1)
    first = d.floats((3, 2), 0, 4)
    rois = np.concatenate([first, first + d.floats((3, 2), 0.5, 4)], axis=1)
    return d.make(op, 16, [Input(d.floats((2, 2, 6, 6))), rois, ints(0, 1, 1)], output_height=d.whole(1, 3), output_width=d.whole(1, 3),
                  sampling_ratio=d.whole(1, 3), spatial_scale=d.one_of(None, 0.5),
                  coordinate_transformation_mode=d.one_of(None, "half_pixel", "output_half_pixel"))


@of("Resize", "Upsample")
def resize(d, op):
    rank = 4
    mode = d.one_of("nearest", "linear", "cubic") if op == "Resize" else d.one_of("nearest", "linear")
    shape = (1, d.whole(1, 2), d.whole(1, 9), d.whole(1, 12))
    if op == "Resize" and d.chance(0.1):
        shape, mode, rank = (shape[2], shape[3]), d.one_of("nearest", "linear"), 2
    scale = lambda low: float(np.float32(d.one_of(d.random.uniform(low, 3), d.whole(1, 4), d.one_of(1 / 3, 0.5, 0.6, 0.7, 1.3, 1.5, 2 / 3, 2.5, 3))))
    x = Input(d.floats(shape))
    ones = [1.0] * (rank - 2)
    if op == "Upsample":
        scales = ones + [max(1.0, scale(1)), max(1.0, scale(1))]
        return d.make(op, 7, [x], mode=mode, scales=scales) if d.chance(0.5) else d.make(op, 9, [x, np.float32(scales)], mode=mode)
    scales = np.float32(ones + [max(scale(0.3), 1 / extent) for extent in shape[-2:]])
    opset = d.one_of(10, 11, 13, 18, 19)
    if opset == 10:
        return d.make(op, opset, [x, scales], mode="linear" if mode == "cubic" else mode)
    where = d.one_of("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners", "half_pixel_symmetric" if opset >= 19 else "half_pixel",
                     "tf_half_pixel_for_nn" if opset == 11 else "asymmetric", "tf_crop_and_resize")
    given = {"coordinate_transformation_mode": where, "mode": mode}
    if mode == "nearest":
        given["nearest_mode"] = d.one_of(None, "floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
    if mode == "cubic":
        given |= {"cubic_coeff_a": d.one_of(None, -0.5), "exclude_outside": d.one_of(None, 0, 1)}
    if opset >= 18 and mode != "nearest" and where in ("half_pixel", "asymmetric", "pytorch_half_pixel") and d.chance(0.3):
        given["antialias"] = 1
    roi = None
    if where == "tf_crop_and_resize":
        low, high = sorted(d.floats(2, 0, 1)), sorted(d.floats(2, 0, 1.4))
        roi, given["extrapolation_value"] = np.float32([0.0] * (rank - 2) + [low[0], high[0]] + [1.0] * (rank - 2) + [low[1], high[1]]), d.one_of(None, 2.5)
    elif opset == 11:
        roi = np.zeros(0, np.float32)
    if d.chance(0.3):
        sizes = ints(*shape[:-2], d.whole(1, 16), d.whole(1, 16))
        if opset >= 18 and d.chance(0.3):
            given |= {"axes": [rank - 2, rank - 1], "keep_aspect_ratio_policy": d.one_of("stretch", "not_larger", "not_smaller")}
            sizes = sizes[-2:]
            roi = None if roi is None else roi[[rank - 2, rank - 1, 2 * rank - 2, 2 * rank - 1]]
        return d.make(op, opset, [x, roi, np.zeros(0, np.float32) if opset == 11 else None, sizes], **given)
    return d.make(op, opset, [x, roi, scales], **given)


@of("GridSample", "AffineGrid", "DeformConv")
def sampling(d, op):
    if op == "AffineGrid":
        return d.make(op, 20, [Input(d.floats((1, 2, 3))), ints(1, 1, d.whole(1, 4), d.whole(2, 4))], align_corners=d.one_of(None, 0, 1))
    if op == "DeformConv":
        kernel, given = window(d, 2, fixed=True)
        given.pop("pads", None)
        strides = given.get("strides", [1, 1])
        result = [(5 - k) // s + 1 for k, s in zip(kernel, strides)]
        offsets = d.floats((1, 2 * kernel[0] * kernel[1], *result))
        return d.make(op, 19, [Input(d.floats((1, 2, 5, 5))), d.floats((1, 2, *kernel)), d.one_of(Input, np.asarray)(offsets)], **given)
    opset = d.one_of(16, 20)
    modes = ("bilinear", "nearest", "bicubic") if opset == 16 else ("linear", "nearest", "cubic")
    grid = d.floats((1, d.whole(1, 3), d.whole(1, 3), 2), -1.8, 1.8)
    return d.make(op, opset, [Input(d.floats((1, 1, d.whole(1, 5), d.whole(1, 5)))), d.one_of(Input, np.asarray)(grid)], mode=d.one_of(*modes),
                  padding_mode=d.one_of("zeros", "border", "reflection"), align_corners=d.whole(0, 1))


ACTIVATIONS = {"Relu": 0, "Tanh": 0, "Sigmoid": 0, "Affine": 2, "LeakyRelu": 1, "ThresholdedRelu": 1, "ScaledTanh": 2, "HardSigmoid": 2, "Elu": 1, "Softsign": 0,
               "Softplus": 0}


@of("RNN", "GRU", "LSTM")
def recurrent(d, op):
    gates, wanted = {"RNN": (1, 1), "GRU": (3, 2), "LSTM": (4, 3)}[op]
    t, n, i, h = d.whole(1, 3), d.whole(1, 2), d.whole(1, 3), d.whole(1, 3)
    direction = d.one_of("forward", "reverse", "bidirectional")
    directions = 2 if direction == "bidirectional" else 1
    given = {"hidden_size": h, "direction": direction}
    if d.chance(0.6):
        names = [d.one_of(*ACTIVATIONS) for _ in range(wanted * directions)]
        alphas = [float(d.floats((), 0.1, 1)) for name in names if ACTIVATIONS[name] > 0]
        betas = [float(d.floats((), 0.1, 1)) for name in names if ACTIVATIONS[name] > 1]
        plain = all(ACTIVATIONS[name] < 2 for name in names) and d.chance(0.3)  # defaults
        given |= {"activations": names} | ({"activation_alpha": alphas} if alphas and not plain else {}) | ({"activation_beta": betas} if betas else {})
    if d.chance(0.2):
        given["clip"] = 0.5
    if op == "GRU":
        given["linear_before_reset"] = d.whole(0, 1)
    if op == "LSTM":
        given["input_forget"] = d.one_of(None, 0, 1)
    inputs = [Input(d.floats((t, n, i))), d.floats((directions, gates * h, i), -1, 1), d.floats((directions, gates * h, h), -1, 1),
              d.floats((directions, 2 * gates * h), -1, 1) if d.chance(0.7) else None,
              d.ints((n,), 1, t, np.int32) if d.chance(0.4) else None, d.floats((directions, n, h), -1, 1) if d.chance(0.5) else None]
    if op == "LSTM":
        inputs += [d.floats((directions, n, h), -1, 1) if d.chance(0.5) else None, d.floats((directions, 3 * h), -1, 1) if d.chance(0.4) else None]
    return d.make(op, d.one_of(7, 14, 22), inputs, {"LSTM": 3}.get(op, 2), **given)


@of("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger", "QLinearMatMul", "QLinearConv")
def quantised(d, op):
    scale, zero = np.float32(d.random.uniform(0.02, 0.1)), np.uint8(d.whole(0, 255))
    if op == "QuantizeLinear":
        return d.make(op, d.one_of(10, 13, 19, 21), [Input(d.floats(d.shape(2, 3))), scale, zero])
    if op == "DequantizeLinear":
        x = d.ints((3, 4), 0, 255, np.uint8)
        if d.chance(0.5):
            return d.make(op, 13, [Input(x), d.floats((4,), 0.01, 1), d.ints((4,), 0, 255, np.uint8)], axis=d.one_of(1, -1))
        return d.make(op, d.one_of(10, 13), [Input(x), scale, zero])
    if op == "DynamicQuantizeLinear":
        return d.make(op, 11, [Input(d.floats(d.shape(2, 3)))], 3)
    if op == "MatMulInteger":
        return d.make(op, 10, [Input(d.ints((2, 3), 0, 255, np.uint8)), d.ints((3, 4), 0, 255, np.uint8), zero, np.uint8(d.whole(0, 255))])
    other, out = np.float32(d.random.uniform(0.02, 0.1)), np.float32(d.random.uniform(1, 3))
    if op == "QLinearMatMul":
        return d.make(op, 10, [Input(d.ints((2, 3), 0, 255, np.uint8)), scale, zero, d.ints((3, 4), 0, 255, np.uint8), other, np.uint8(9), out, np.uint8(100)])
    return d.make(op, 10, [Input(d.ints((1, 2, 4, 4), 0, 255, np.uint8)), scale, zero, d.ints((2, 2, 2, 2), 0, 255, np.uint8), other, np.uint8(9), out,
                           np.uint8(100)])


@of("DFT", "STFT", "Det", "Attention", "RotaryEmbedding", "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", "CumProd", "SwiGLU", "LinearAttention",
    "CausalConvWithState", "BitCast")
def composed(d, op):
    if op == "DFT":
        n, inverse = d.whole(2, 5), d.whole(0, 1)
        given = {"inverse": inverse} if inverse else {"onesided": d.one_of(None, 1)}
        return d.make(op, 20, [Input(d.floats((1, n, 2 if inverse or not given["onesided"] else 1))), None, np.int64(1)], **given)
    if op == "STFT":
        return d.make(op, 17, [Input(d.floats((1, 12, 1))), np.int64(d.whole(1, 4)), d.floats((4,), 0.1, 1), np.int64(4)], onesided=1)
    if op == "Det":
        n = d.whole(1, 4)
        return d.make(op, d.one_of(11, 22), [Input(d.floats((n, n)))])
    if op == "Attention":
        heads, queries, keys, width = d.whole(1, 2), d.whole(1, 3), d.whole(1, 4), d.whole(1, 4)
        return d.make(op, 23, [Input(d.floats((1, heads, queries, width))), Input(d.floats((1, heads, keys, width))), Input(d.floats((1, heads, keys, width)))],
                      is_causal=d.one_of(None, 1), softcap=d.one_of(None, 2.0))
    if op == "RotaryEmbedding":
        return d.make(op, 23, [Input(d.floats((1, 2, 3, 4))), d.floats((5, 2)), d.floats((5, 2)), d.ints((1, 3), 0, 4)], interleaved=d.one_of(None, 0, 1))
    if op in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"):
        return d.make(op, 13, [Input(d.floats((4, 3))), d.ints((4,), 0, 2), *([d.floats((3,), 0.1, 2)] if d.chance(0.5) else [])],
                      reduction=d.one_of(None, "mean", "sum", "none"))
    if op == "CumProd":
        return d.make(op, 26, [Input(d.floats((2, 3))), np.int64(d.whole(0, 1))], exclusive=d.one_of(None, 1))
    if op == "SwiGLU":
        return d.make(op, 28, [Input(d.floats((2, 4))), d.floats((2, 4))])
    if op == "BitCast":
        return d.make(op, 26, [Input(d.ints((3,), -5, 5, np.int32))], to=12)
    if op == "CausalConvWithState":
        return d.make(op, 27, [Input(d.floats((1, 2, 5))), d.floats((2, 1, 3))], 2)
    return d.make(op, 27, [Input(d.floats((1, 2, 6))), d.floats((1, 2, 6)), d.floats((1, 2, 6))], 2, q_num_heads=2, kv_num_heads=2, update_rule="linear")


__all__ = ["GENERATORS", "Draw"]
