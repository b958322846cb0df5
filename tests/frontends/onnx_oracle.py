#!/usr/bin/env python3
"""Imported graphs against ONNX Runtime.

    python3 tests/frontends/onnx_oracle.py BUILD/bin/test_frontends [--seed N] [--only PART,...]

Writes small models over many operators, versions and attributes, and every network under $ASSAY_DATA/vnn (default:
shared/data beside the repository), each with a random input; the hidden test "[.oracle]" evaluates the imported graphs
in double, ONNX Runtime runs the files in float32. They agree when |difference| <= TOLERANCE * (1 + largest output).
Prints "skipped" without the packages onnx, onnxruntime and numpy.
"""
import gzip
import os
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(0)

from onnx_oracle_selection import einsum, recurrent, selection

TOLERANCE = 2e-5   # one float32 operator with short sums
NETWORK_TOLERANCE = 5e-4  # float32 rounding through whole networks
ort.set_default_logger_severity(4)


class Maker:
    """Collects single-operator models."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.cases = []

    def floats(self, *shape, low=-2.0, high=2.0):
        return self.random.uniform(low, high, shape).astype(np.float32)

    def add(self, op, inputs, opset, outputs=1, low=-2.0, high=2.0, **attributes):
        """inputs: a tuple is the shape of a network input, an array a constant, None an omitted input."""
        names, graph_inputs, initializers, data = [], [], [], []
        for i, one in enumerate(inputs):
            names.append("" if one is None else f"i{i}")
            if isinstance(one, tuple):
                graph_inputs.append(helper.make_tensor_value_info(f"i{i}", TensorProto.FLOAT, one))
                data.append(self.floats(*one, low=low, high=high))
            elif one is not None:
                initializers.append(numpy_helper.from_array(np.asarray(one), f"i{i}"))
        while names and names[-1] == "":
            names.pop()
        results = [f"o{i}" for i in range(outputs)]
        node = helper.make_node(op, names, results, **attributes)
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in results]
        graph = helper.make_graph([node], "g", graph_inputs, values, initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        self.cases.append((f"{op}@{opset} {attributes} {[getattr(i, 'shape', i) for i in inputs]}", model, data, TOLERANCE))


def elementwise(make):
    for opset in (7, 13, 21):
        for op in ("Relu", "Sigmoid", "Tanh", "Abs", "Neg", "Exp", "Sin", "Cos"):
            make.add(op, [(2, 3)], opset)
        for op in ("Sqrt", "Log", "Reciprocal"):
            make.add(op, [(2, 3)], opset, low=0.1)
        make.add("LeakyRelu", [(2, 3)], opset)
        make.add("LeakyRelu", [(2, 3)], opset, alpha=0.3)
        for op in ("Add", "Sub", "Mul"):
            for left, right in (((2, 3), (3,)), ((1, 3), (2, 1)), ((2, 3), make.floats(2, 3)), ((4, 1, 3), make.floats(2, 1))):
                make.add(op, [left, right], opset)
        make.add("Div", [(2, 3), make.floats(3, low=0.5)], opset)
        make.add("Pow", [(2, 3), np.float32(3)], opset, low=0.1)
        make.add("Pow", [(3,), np.float32([[0.5]])], opset, low=0.1)
    for opset in (8, 13):
        for op in ("Min", "Max", "Sum", "Mean"):
            make.add(op, [(2, 3)], opset)
            make.add(op, [(2, 3), (3,), make.floats(2, 1)], opset)
    make.add("Sign", [(2, 3)], 9)
    make.add("Clip", [(2, 3)], 7, min=-0.5, max=1.0)
    make.add("Clip", [(2, 3)], 7, max=0.25)
    make.add("Clip", [(2, 3), np.float32(-0.5), np.float32(0.5)], 11)
    make.add("Clip", [(2, 3), None, np.float32(0.5)], 13)
    for opset in (7, 11, 13):
        for axis in (0, 1, 2):
            make.add("Softmax", [(2, 3, 4)], opset, axis=axis)
        make.add("Softmax", [(2, 3, 4)], opset)
    make.add("Softmax", [(2, 3, 4)], 11, axis=-2)


def products(make):
    for opset in (7, 11, 13):
        make.add("Gemm", [(2, 3), make.floats(3, 4), make.floats(4)], opset)
        make.add("Gemm", [(3, 2), make.floats(4, 3), make.floats(2, 1)], opset, transA=1, transB=1, alpha=0.5, beta=2.0)
        make.add("MatMul", [(2, 3), make.floats(3, 4)], opset)
        make.add("MatMul", [make.floats(3), (2, 3, 4)], opset)
        make.add("MatMul", [(5, 1, 2, 3), (4, 3, 2)], opset)
    make.add("Gemm", [(2, 3), make.floats(3, 4)], 11)
    statistics = [make.floats(3), make.floats(3), make.floats(3), make.floats(3, low=0.1)]
    for opset in (7, 9, 14, 15):
        make.add("BatchNormalization", [(2, 3, 4)] + statistics, opset, epsilon=0.01)
        make.add("BatchNormalization", [(2, 3)] + statistics, opset)


def windows(make):
    for opset in (7, 11, 22):
        make.add("Conv", [(1, 2, 5, 6), make.floats(3, 2, 3, 2), make.floats(3)], opset)
        make.add("Conv", [(2, 4, 7, 6), make.floats(6, 2, 3, 2)], opset, group=2, strides=[2, 1], pads=[1, 0, 2, 1], dilations=[2, 3])
        make.add("Conv", [(1, 2, 9), make.floats(2, 2, 3)], opset, strides=[2], kernel_shape=[3])
        make.add("Conv", [(1, 1, 4, 4, 4), make.floats(2, 1, 2, 2, 2)], opset, auto_pad="SAME_LOWER", strides=[1, 2, 3])
        for mode in ("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"):
            make.add("Conv", [(1, 1, 7, 6), make.floats(2, 1, 4, 3)], opset, auto_pad=mode, strides=[2, 3])
        make.add("ConvTranspose", [(1, 2, 3, 4), make.floats(2, 3, 3, 2), make.floats(3)], opset)
        make.add("ConvTranspose", [(1, 4, 3, 4), make.floats(4, 2, 3, 2)], opset, group=2, strides=[2, 3], pads=[1, 0, 1, 1],
                 output_padding=[1, 2], dilations=[2, 1])
        for mode in ("SAME_UPPER", "SAME_LOWER", "VALID"):
            make.add("ConvTranspose", [(1, 1, 3, 4), make.floats(1, 2, 4, 3)], opset, auto_pad=mode, strides=[2, 2])
        make.add("ConvTranspose", [(1, 1, 3, 3), make.floats(1, 2, 3, 3)], opset, output_shape=[5, 5], strides=[2, 2])
        for op in ("MaxPool", "AveragePool"):
            make.add(op, [(1, 2, 7, 6)], opset, kernel_shape=[3, 2], strides=[2, 3])
            make.add(op, [(1, 2, 9)], opset, kernel_shape=[3], pads=[1, 2])
            for mode in ("SAME_UPPER", "SAME_LOWER", "VALID"):
                make.add(op, [(1, 2, 7, 6)], opset, kernel_shape=[4, 3], strides=[2, 2], auto_pad=mode)
        make.add("AveragePool", [(1, 2, 7, 6)], opset, kernel_shape=[3, 2], pads=[1, 1, 2, 0], count_include_pad=1)
        make.add("GlobalAveragePool", [(2, 3, 4, 5)], opset)
        make.add("GlobalMaxPool", [(2, 3, 4, 5)], opset)
    for opset in (10, 12, 22):
        for op in ("MaxPool", "AveragePool"):
            make.add(op, [(1, 2, 8, 7)], opset, kernel_shape=[3, 3], strides=[2, 3], ceil_mode=1)
            make.add(op, [(1, 1, 6, 6)], opset, kernel_shape=[2, 2], strides=[3, 3], pads=[1, 1, 1, 1], ceil_mode=1)
        make.add("MaxPool", [(1, 2, 8, 7)], opset, kernel_shape=[3, 2], dilations=[2, 3])
    make.add("AveragePool", [(1, 2, 8, 7)], 19, kernel_shape=[3, 2], dilations=[2, 3])
    make.add("AveragePool", [(1, 1, 6, 6)], 22, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1, count_include_pad=1)


def layout(make):
    ints = lambda *values: np.array(values, np.int64)
    for opset in (7, 14, 21):
        for shape in (ints(4, 6), ints(-1, 3), ints(0, 0, 2, 2), ints(24), ints(0, -1)):
            make.add("Reshape", [(2, 3, 4), shape], opset)
        for axis in (0, 1, 2, 3):
            make.add("Flatten", [(2, 3, 4)], opset, axis=axis)
        make.add("Transpose", [(2, 3, 4)], opset)
        make.add("Transpose", [(2, 3, 4)], opset, perm=[1, 2, 0])
        make.add("Concat", [(2, 3), make.floats(2, 1), (2, 2)], opset, axis=1)
        make.add("Gather", [(3, 4), ints(2, 0, 1)], opset, axis=1)
        make.add("Gather", [(3, 4), np.int64(1)], opset)
        make.add("Identity", [(2, 3)], opset)
    make.add("Flatten", [(2, 3, 4)], 11, axis=-1)
    make.add("Gather", [(3, 4), ints(-1, 0).reshape(2, 1)], 11, axis=-1)
    make.add("Concat", [(2, 3), (2, 3)], 11, axis=-2)
    make.add("Dropout", [(2, 3)], 7, ratio=0.7)
    make.add("Dropout", [(2, 3), np.float32(0.7), np.bool_(False)], 13)
    make.add("Squeeze", [(1, 3, 1)], 7)
    make.add("Squeeze", [(1, 3, 1)], 11, axes=[-1])
    make.add("Squeeze", [(1, 3, 1), ints(0)], 13)
    make.add("Unsqueeze", [(2, 3)], 7, axes=[0, 3])
    make.add("Unsqueeze", [(2, 3), ints(-1, 1)], 13)
    make.add("Slice", [(4, 5)], 7, starts=[1, -3], ends=[100, -1])
    make.add("Slice", [(4, 5)], 9, starts=[1], ends=[3], axes=[1])
    make.add("Slice", [(4, 5), ints(1), ints(5), ints(-1), ints(2)], 10)
    make.add("Slice", [(4, 5), ints(3, 10), ints(-100, 0), ints(0, 1), ints(-2, -3)], 13)
    make.add("Slice", [(4, 5), ints(-100), ints(np.iinfo(np.int64).max), ints(0), ints(1)], 13)
    make.add("Split", [(2, 6)], 7, outputs=3, axis=1)
    make.add("Split", [(2, 6)], 11, outputs=2, axis=-1, split=[1, 5])
    make.add("Split", [(2, 6), ints(4, 2)], 13, outputs=2, axis=1)
    make.add("Split", [(2, 7)], 18, outputs=3, axis=1, num_outputs=3)
    make.add("Pad", [(2, 3)], 7, pads=[1, 0, 2, -1], value=1.5)
    make.add("Pad", [(2, 3), ints(0, 1, 1, 2), np.float32(-2)], 11)
    make.add("Pad", [(2, 3), ints(1, 2), None, ints(-1)], 18)
    for mode in ("edge", "reflect"):
        make.add("Pad", [(3, 4), ints(1, 2, 2, 3)], 13, mode=mode)
    make.add("Pad", [(3, 4), ints(1, 5, 2, 3)], 19, mode="wrap")
    make.add("Expand", [(3, 1), ints(2, 1, 4)], 8)
    make.add("Expand", [(3, 4), ints(1)], 13)
    make.add("Where", [np.array([[True], [False]]), (2, 3), make.floats(3)], 9)
    make.add("Where", [np.array([True, False, True]), make.floats(2, 1), (2, 3)], 16)
    for op in ("ReduceSum", "ReduceMean"):
        make.add(op, [(2, 3, 4)], 7)
        make.add(op, [(2, 3, 4)], 7, axes=[1], keepdims=0)
        make.add(op, [(2, 3, 4)], 11, axes=[-1, 0])
        make.add(op, [(2, 3, 4), ints(-1)], 18, keepdims=0)
        make.add(op, [(2, 3, 4)], 18, noop_with_empty_axes=1)
        make.add(op, [(2, 3, 4)], 18, keepdims=0)
    make.add("Upsample", [(1, 1, 2, 3)], 7, scales=[1.0, 1.0, 2.0, 3.0])
    make.add("Upsample", [(1, 1, 2, 3), np.float32([1, 1, 3, 2])], 9)
    make.add("Resize", [(1, 1, 2, 3), np.float32([1, 1, 3, 2])], 10)
    for scales in ([1, 1, 2, 2], [1, 1, 3, 4], [1, 1, 5, 7]):
        make.add("Resize", [(1, 1, 2, 3), np.float32([]), np.float32(scales)], 11)
        make.add("Resize", [(1, 1, 2, 3), None, np.float32(scales)], 13, coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        make.add("Resize", [(1, 1, 2, 3), None, np.float32(scales)], 19, coordinate_transformation_mode="pytorch_half_pixel", nearest_mode="round_prefer_ceil")
    make.add("Resize", [(1, 1, 2, 3), None, None, ints(1, 1, 4, 9)], 13)
    make.add("DepthToSpace", [(1, 8, 2, 3)], 11, blocksize=2)
    make.add("DepthToSpace", [(1, 8, 2, 3)], 13, blocksize=2, mode="CRD")
    make.add("SpaceToDepth", [(1, 2, 4, 6)], 13, blocksize=2)
    make.add("Cast", [(2, 3)], 13, to=1)


def networks(make, seed):
    root = pathlib.Path(os.environ.get("ASSAY_DATA", pathlib.Path(__file__).resolve().parents[3] / "shared" / "data")) / "vnn"
    if not root.is_dir():
        print(f"skipped: networks (no {root})")
    generator = random.Random(seed)
    folders = sorted({path.parent for path in root.rglob("*.onnx*")})
    for folder in folders:
        files = sorted(folder.glob("*.onnx*"))
        for path in generator.sample(files, min(3, len(files))):
            blob = gzip.open(path).read() if path.suffix == ".gz" else path.read_bytes()
            model = onnx.load_model_from_string(blob)
            constants = {tensor.name for tensor in model.graph.initializer}
            data = []
            for value in model.graph.input:
                if value.name in constants:
                    continue
                shape = [d.dim_value if d.dim_value > 0 else 1 for d in value.type.tensor_type.shape.dim]
                data.append(make.floats(*shape, low=0.0, high=1.0))
            make.cases.append((str(path.relative_to(root)), model, data, NETWORK_TOLERANCE))


def run_runtime(model, data):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]
    return session.run(None, dict(zip(names, data)))


def main():
    binary = sys.argv[1]
    seed = int(sys.argv[sys.argv.index("--seed") + 1]) if "--seed" in sys.argv else 1
    make = Maker(seed)
    parts = {part.__name__: part for part in (elementwise, products, windows, layout, selection, einsum, recurrent)}
    only = sys.argv[sys.argv.index("--only") + 1].split(",") if "--only" in sys.argv else [*parts, "networks"]
    for name in only:
        networks(make, seed) if name == "networks" else parts[name](make)
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for i, (_, model, data, _) in enumerate(make.cases):
            (root / str(i)).mkdir()
            (root / str(i) / "model.onnx").write_bytes(model.SerializeToString())
            for j, one in enumerate(data):
                one.astype(np.float64).tofile(root / str(i) / f"input_{j}.bin")
        subprocess.run([binary, "[.oracle]"], env=dict(os.environ, ASSAY_ORACLE=folder), check=True, stdout=subprocess.DEVNULL)
        agreed, refused, failed, unrunnable = 0, [], [], []
        for i, (name, model, data, tolerance) in enumerate(make.cases):
            refusal = root / str(i) / "refused.txt"
            if refusal.exists():
                refused.append(f"{name}: {refusal.read_text().strip()}")
                continue
            try:
                expected = run_runtime(model, data)
            except Exception as error:  # versions or modes that ONNX Runtime does not implement
                unrunnable.append(f"{name}: {str(error)[:120]}")
                continue
            worst = 0.0
            for j, theirs in enumerate(expected):
                ours = np.fromfile(root / str(i) / f"output_{j}.bin", np.float64)
                theirs = np.asarray(theirs, np.float64).ravel()
                if ours.shape != theirs.shape:
                    worst = float("inf")
                    break
                scale = 1 + np.abs(theirs).max(initial=0)
                worst = max(worst, float(np.abs(ours - theirs).max(initial=0) / scale))
            if worst <= tolerance:
                agreed += 1
            else:
                failed.append(f"{name}: relative difference {worst:.3g} > {tolerance}")
    for title, rows in (("refused", refused), ("not run by ONNX Runtime", unrunnable), ("DIFFER", failed)):
        for row in rows:
            print(f"{title}: {row}")
    print(f"seed {seed}: {agreed} agree, {len(refused)} refused, {len(unrunnable)} not run by ONNX Runtime, {len(failed)} differ")
    sys.exit(1 if failed or agreed == 0 else 0)


if __name__ == "__main__":
    main()
