"""Models for onnx_oracle.py: selection by constant indices, Einsum, recurrent networks."""
import itertools

import numpy as np


def ints(*values):
    return np.array(values, np.int64)


def selection(make):
    for opset in (9, 13):
        make.add("Tile", [(2, 3), ints(2, 3)], opset)
        make.add("Tile", [(2, 3), ints(1, 0)], opset)
    for upper, k in itertools.product((0, 1), (-5, -1, 0, 2, 9)):
        make.add("Trilu", [(2, 4, 3), np.int64(k)], 14, upper=upper)
    make.add("Trilu", [(3, 4)], 14)
    make.add("ReverseSequence", [(4, 3, 2), ints(4, 1, 2)], 10)
    make.add("ReverseSequence", [(3, 4), ints(0, 3, 4)], 10, batch_axis=0, time_axis=1)
    for axes, shape in (((0, 1), (5, 2)), ((1, 0), (7, 3)), ((-1,), (8,))):
        make.add("CenterCropPad", [(4, 5), ints(*shape)], 18, axes=list(axes))
    make.add("Compress", [(3, 4), np.array([True, False, True])], 11, axis=0)
    make.add("Compress", [(3, 4), np.array([False, True, True, False, True])], 11)
    make.add("GatherND", [(3, 4, 2), ints(2, 1, 0, -1).reshape(2, 2)], 12)
    make.add("GatherND", [(2, 4, 3), ints(1, 0, 3, 2).reshape(2, 2, 1)], 13, batch_dims=1)
    make.add("GatherND", [(2, 4, 3), ints(1, 0, 3, 2).reshape(2, 2)], 13, batch_dims=1)
    make.add("GatherElements", [(3, 4), ints(2, 1, 0, -1, 0, 1).reshape(2, 3)], 13, axis=1)
    make.add("GatherElements", [(3, 4), ints(2, 1, 0, -1, 0, 1, 2, 2).reshape(2, 4)], 11)
    make.add("Scatter", [(3, 4), ints(2, 1).reshape(1, 2), (1, 2)], 9)
    make.add("ScatterElements", [(3, 4), ints(2, -1, 0, 1, 0, 3).reshape(3, 2), (3, 2)], 11, axis=1)
    make.add("ScatterND", [(4, 3), ints(3, 1).reshape(2, 1), (2, 3)], 11)
    make.add("ScatterND", [(4, 3, 2), ints(3, 1, 0, -1).reshape(2, 2), make.floats(2, 2)], 13)
    for reduction in ("add", "mul", "max", "min"):
        make.add("ScatterElements", [(3, 4), ints(1, 1, 1, 0, 2, 2).reshape(2, 3), (2, 3)], 18, axis=1, reduction=reduction)
        make.add("ScatterND", [(4, 3), ints(3, 1, 3, 3).reshape(4, 1), (4, 3)], 18, reduction=reduction)
    regions = np.float32([[0.5, 0.25, 7.5, 6.75], [-4, -3, 12, 11], [2, 1, 2.25, 1.125], [5, 5, 1, 0]])
    for opset, frames in ((10, [None]), (16, ["half_pixel", "output_half_pixel"])):
        for frame, rois in itertools.product(frames, (regions, (4, 4))):
            make.add("RoiAlign", [(2, 3, 5, 6), rois, ints(0, 1, 1, 0)], opset, output_height=2, output_width=3, sampling_ratio=2, spatial_scale=0.75,
                     **({} if frame is None else {"coordinate_transformation_mode": frame}))
    make.add("MaxUnpool", [(1, 1, 2, 2), ints(5, 7, 13, 15).reshape(1, 1, 2, 2)], 11, kernel_shape=[2, 2], strides=[2, 2])
    make.add("EyeLike", [(3, 5)], 9, k=-1, dtype=1)
    for p in (1, 2, 3):
        make.add("GlobalLpPool", [(2, 3, 4, 5)], 7, p=p)
        make.add("LpPool", [(1, 2, 7, 6)], 11, kernel_shape=[3, 2], strides=[2, 3], pads=[1, 0, 2, 1], p=p)
        make.add("LpPool", [(1, 2, 7, 6)], 18, kernel_shape=[3, 2], dilations=[2, 1], p=p)
        make.add("LpPool", [(1, 2, 8, 7)], 18, kernel_shape=[3, 3], strides=[2, 3], ceil_mode=1, p=p)
        make.add("LpPool", [(1, 2, 8, 7)], 18, kernel_shape=[3, 3], strides=[2, 3], auto_pad="SAME_LOWER", p=p)


def einsum(make):
    rows = {
        "ij->ji": [(2, 3)], "ii->i": [(3, 3)], "ii": [(3, 3)], "ij->": [(2, 3)], "...ij->...ji": [(2, 3, 4)], "bii->bi": [(2, 3, 3)],
        "ij,jk->ik": [(2, 3), (3, 4)], "ij,jk": [(2, 3), (3, 4)], "ij,kj->ik": [(2, 3), (4, 3)], "i,i->": [(3,), (3,)], "i,j->ij": [(3,), (4,)],
        "bij,bjk->bik": [(2, 3, 4), (2, 4, 5)], "bhid,bhjd->bhij": [(2, 2, 3, 4), (2, 2, 5, 4)], "bij,jk->bki": [(2, 3, 4), (4, 5)],
        "...ij,...jk->...ik": [(2, 1, 3, 4), (5, 4, 2)], "i...,j...->ij...": [(2, 3), (4, 3)], "ij,jk,kl->il": [(2, 3), (3, 4), (4, 5)],
        "ijk,k,j->i": [(2, 3, 4), (4,), (3,)], "ab,ab->ab": [(2, 3), (2, 3)], "abc,cd->abd": [(2, 3, 4), (4, 5)], "ii,i->i": [(3, 3), (3,)],
        "bca,bc->ab": [(2, 3, 4), (2, 3)], " i j , j k -> i k ": [(2, 3), (3, 4)],
    }
    for equation, shapes in rows.items():
        make.add("Einsum", shapes, 12, equation=equation)


def recurrent(make):
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}
    t, n, i, h = 4, 3, 2, 5

    def add(op, opset, directions=1, bias=True, lengths=None, first=False, peep=False, **more):
        g = gates[op]
        batch_first = more.get("layout", 0) == 1
        inputs = [(n, t, i) if batch_first else (t, n, i), make.floats(directions, g * h, i), make.floats(directions, g * h, h)]
        state = (n, directions, h) if batch_first else (directions, n, h)
        inputs += [make.floats(directions, 2 * g * h) if bias else None, None if lengths is None else np.array(lengths, np.int32)]
        inputs += [state if first else None]
        if op == "LSTM":
            inputs += [state if first else None, make.floats(directions, 3 * h) if peep else None]
        make.add(op, inputs, opset, outputs=3 if op == "LSTM" else 2, hidden_size=h, **more)

    for op in gates:
        for opset in (7, 14, 22):
            add(op, opset)
        add(op, 14, bias=False)
        add(op, 14, direction="reverse", first=True)
        add(op, 14, directions=2, direction="bidirectional", first=True)
        add(op, 14, directions=2, direction="bidirectional", first=True, lengths=[4, 1, 3])
        add(op, 14, direction="reverse", lengths=[2, 4, 3])
        add(op, 14, lengths=[2, 4, 3])
        add(op, 14, layout=1, first=True)
        add(op, 14, clip=0.3)
        wanted = {"RNN": 1, "GRU": 2, "LSTM": 3}[op]
        for names, alphas, betas in ((["Relu", "Elu", "Softsign"], [0.7], []), (["HardSigmoid", "LeakyRelu", "Affine"], [0.3, 0.2, 0.4], [0.4, 0.1]),
                                     (["ScaledTanh", "ThresholdedRelu", "Softplus"], [0.5, 0.25], [0.75]), (["Sigmoid", "Relu", "Tanh"], [], [])):
            more = {"activations": names[:wanted]}
            if alphas:
                more["activation_alpha"] = alphas
            if betas:
                more["activation_beta"] = betas
            add(op, 14, **more)
    add("GRU", 14, linear_before_reset=1)
    add("GRU", 14, linear_before_reset=1, bias=False)
    add("LSTM", 14, peep=True)
    add("LSTM", 14, peep=True, input_forget=1)
    add("LSTM", 14, input_forget=1, directions=2, direction="bidirectional", lengths=[3, 2, 4])
