"""Runs of ONNX Runtime, value by value; comparisons of runtimes; ONNX models as references."""
from __future__ import annotations

import pathlib

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")
import onnx.helper as h  # noqa: E402
import onnx.numpy_helper as nh  # noqa: E402

import assay  # noqa: E402
from assay.errors import Error  # noqa: E402
from assay.onnxruntime import Function, OnnxRuntime, Reference, record, recorded  # noqa: E402
from assay.testing import ContractViolation, Misfit, Refused, assert_within_contract, within_contract  # noqa: E402

DIGITS = pathlib.Path(__file__).parents[2] / "examples/digits/digits.onnx"
RANDOM = np.random.default_rng(11)
FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64


def model(nodes, inputs, outputs, weights=()):
    graph = h.make_graph(nodes, "net", [h.make_tensor_value_info(*one) for one in inputs], [h.make_tensor_value_info(*one) for one in outputs],
                         [nh.from_array(array, name) for name, array in weights])
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 20)], ir_version=9)


def floats(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


def block():
    """A layer norm, a product, a gelu, a copy, a softmax and a choice of columns; the batch is open."""
    nodes = [h.make_node("MatMul", ["x", "w"], ["product"]), h.make_node("LayerNormalization", ["product", "gain", "bias"], ["norm"], axis=-1),
             h.make_node("Gelu", ["norm"], ["gelu"], approximate="tanh"), h.make_node("Identity", ["gelu"], ["copy"]),
             h.make_node("Softmax", ["copy"], ["softmax"], axis=-1), h.make_node("Gather", ["softmax", "i"], ["y"], axis=1)]
    return model(nodes, [("x", FLOAT, ["n", 8]), ("i", INT64, [2])], [("y", FLOAT, None)],
                 [("w", floats(8, 16)), ("gain", floats(16)), ("bias", floats(16))])


def convolution():
    """With a shape that is computed and folded away."""
    nodes = [h.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), h.make_node("Relu", ["c"], ["r"]),
             h.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]), h.make_node("Shape", ["p"], ["s"]),
             h.make_node("Gather", ["s", "zero"], ["n"]), h.make_node("Unsqueeze", ["n", "axes"], ["n1"]),
             h.make_node("Concat", ["n1", "rest"], ["shape"], axis=0), h.make_node("Reshape", ["p", "shape"], ["y"])]
    return model(nodes, [("x", FLOAT, [2, 3, 8, 8])], [("y", FLOAT, None)],
                 [("w", floats(4, 3, 3, 3)), ("zero", np.array(0)), ("axes", np.array([0])), ("rest", np.array([-1]))])


INPUTS = {"x": floats(3, 8), "i": np.array([5, 1])}


@pytest.mark.parametrize("level", ["disabled", "basic", "extended", "all"])
def test_every_intermediate_value_is_judged(level):
    run = record(block(), INPUTS, optimization_level=level)
    report = run.audit()
    assert report.passed, report.text
    assert set(run.recorded) == {"product", "norm", "gelu", "copy", "softmax", "y"} and not run.hidden
    assert run.outputs["y"].shape == (3, 2)
    assert "this is a run of it" in report.text
    assert {case.op for case in report.cases} >= {"matmul", "normalise+mul+add", "gelu", "softmax", "reshape", "model"}


def test_outputs_alone_are_one_region():
    run = record(block(), INPUTS, intermediates=False)
    assert run.recorded == ["y"] and run.audit().passed


def test_shapes_that_are_computed_fold_away():
    run = record(convolution(), {"x": floats(2, 3, 8, 8)})
    report = run.audit()
    assert report.passed, report.text
    assert {"c", "r", "p", "y", "shape"} <= set(run.recorded)


def test_a_file_and_a_saved_trace(tmp_path):
    run = record(DIGITS, {"image": floats(1, 64)})
    assert run.audit().passed
    run.save(tmp_path / "run.safetensors")
    from assay._core.programs import gate
    assert gate("audit", (tmp_path / "run.safetensors").read_bytes())[0] == 0


def bent(name, by=1.01):
    """A runtime that is wrong at one value, and goes on from there as if nothing were."""
    class Bent(OnnxRuntime):
        def run(self, proto, wanted, inputs):
            found = dict(super().run(proto, wanted, inputs))
            found[name] = found[name] * np.float32(by)
            return found
    return Bent("disabled")


def test_the_first_wrong_value_is_named():
    report = recorded(bent("norm"), block(), INPUTS).audit()
    assert [finding.subject for finding in report.failures] == ["norm", "gelu"]
    found = assay.compare(block(), INPUTS, [OnnxRuntime("disabled"), bent("softmax"), bent("norm"), Reference()])
    assert not found.passed and found.first is found.entries[2] and found.first.value == "norm"
    assert [entry.verdict for entry in found.entries] == ["passed", "failed", "failed", "passed"]
    assert "first outside: ONNX Runtime, disabled, value 'norm' (normalise+mul+add)" in str(found)


def test_callables_and_broken_runners():
    def double(inputs):
        return np.maximum(inputs["x"], 0) * np.float32(2)

    proto = model([h.make_node("Relu", ["x"], ["r"]), h.make_node("Add", ["r", "r"], ["y"])], [("x", FLOAT, [4])], [("y", FLOAT, [4])])
    found = assay.compare(proto, None, [double, Function(lambda inputs: {"y": inputs["x"]}, name="other"), lambda inputs: 1 / 0])
    assert [entry.verdict for entry in found.entries] == ["passed", "failed", "error"]
    assert found.first.runner == "other" and "ZeroDivisionError" in str(found)
    assert assay.compare(proto).passed


def test_a_model_as_reference():
    proto = block()
    y = ort.InferenceSession(proto.SerializeToString()).run(None, INPUTS)
    inputs = [INPUTS["x"], INPUTS["i"]]
    assert_within_contract(proto, inputs, y, model="onnxruntime")
    assert_within_contract(proto.SerializeToString(), inputs, y[0], model="onnxruntime")
    assert_within_contract(str(DIGITS), [np.zeros((1, 64), np.float32)], record(DIGITS, {"image": np.zeros((1, 64), np.float32)}).outputs["scores"])
    with pytest.raises(ContractViolation, match="matmul"):
        assert_within_contract(proto, inputs, y[0] * np.float32(1.001), model="onnxruntime")


def test_wrong_use():
    with pytest.raises(Error, match="unknown optimisation level"):
        record(block(), INPUTS, optimization_level="most")
    with pytest.raises(Misfit, match="has shape"):
        record(block(), {"x": floats(3, 9), "i": INPUTS["i"]})
    with pytest.raises(Misfit, match="2 inputs"):
        within_contract(block(), [INPUTS["x"]], floats(3, 2))
    with pytest.raises(Error, match="an ONNX model is"):
        record(3, INPUTS)
    with pytest.raises(Error, match="a runner is"):
        recorded(3, block(), INPUTS)
    with pytest.raises(Error, match="does not give y"):
        recorded(lambda inputs: {"z": inputs["x"]}, block(), INPUTS)
    unknown = model([h.make_node("NonMaxSuppression", ["x", "s"], ["y"])], [("x", FLOAT, [1, 2, 4]), ("s", FLOAT, [1, 1, 2])], [("y", INT64, None)])
    with pytest.raises(Refused, match="NonMaxSuppression"):
        record(unknown, {"x": floats(1, 2, 4), "s": floats(1, 1, 2)})


@pytest.mark.parametrize("scale, mode, verdict", [(2.0, "linear", "passed"), (1.5, "linear", "passed"), (0.7, "nearest", "passed"), (1 / 3, "nearest", "passed")])
def test_interpolation_by_a_runtime_is_not_accused(scale, mode, verdict):
    """Programs round weights from coordinates, as far as a row of the table says; lengths and nearest elements are those of ONNX Runtime."""
    where = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"} if mode == "nearest" else {}
    scales = nh.from_array(np.float32([1, 1, scale, scale]), "s")
    resize = h.make_graph([h.make_node("Resize", ["x", "", "s"], ["y"], mode=mode, **where)], "g", [h.make_tensor_value_info("x", 1, [1, 1, 9, 30])],
                          [h.make_tensor_value_info("y", 1, None)], [scales])
    x = np.random.default_rng(1).normal(size=(1, 1, 9, 30)).astype(np.float32)
    assert record(h.make_model(resize, opset_imports=[h.make_opsetid("", 13)], ir_version=8), {"x": x}).audit().verdict == verdict


def single(op, feed, shape, weights=(), **attributes):
    nodes = [h.make_node(op, [name for name in attributes.pop("reads", list(feed))], ["y"], **attributes)]
    return model(nodes, [(name, FLOAT, list(array.shape)) for name, array in feed.items()], [("y", FLOAT, shape)], weights)


def infinite(*shape):
    found = np.ones(shape, np.float32)
    found[..., 0, -1] = np.inf
    return found


SINGLE = {
    "Resize linear": lambda: (single("Resize", {"x": floats(1, 2, 5, 6)}, [1, 2, 8, 13], [("s", np.float32([1, 1, 1.7, 2.3]))], reads=["x", "", "s"], mode="linear"), (1, 2, 5, 6)),
    "Resize cubic": lambda: (single("Resize", {"x": floats(1, 2, 5, 6)}, [1, 2, 8, 13], [("s", np.float32([1, 1, 1.7, 2.3]))], reads=["x", "", "s"], mode="cubic"), (1, 2, 5, 6)),
    "Resize cubic of one element": lambda: (single("Resize", {"x": floats(1, 2, 5, 1)}, [1, 2, 5, 3], [("s", np.int64([1, 2, 5, 3]))], reads=["x", "", "", "s"], mode="cubic"), (1, 2, 5, 1)),
    "LRN": lambda: (single("LRN", {"x": floats(1, 24, 5, 6)}, [1, 24, 5, 6], size=3, alpha=0.5), (1, 24, 5, 6)),
    "Softplus": lambda: (single("Softplus", {"x": floats(60, 8)}, [60, 8]), (60, 8)),
    "Mish": lambda: (single("Mish", {"x": floats(60, 8)}, [60, 8]), (60, 8)),
    "DFT 8": lambda: (single("DFT", {"x": floats(3, 8, 1)}, None), (3, 8, 1)),
    "DFT 7": lambda: (single("DFT", {"x": floats(3, 7, 1)}, None), (3, 7, 1)),
    "DFT 30": lambda: (single("DFT", {"x": floats(12, 30, 1)}, None), (12, 30, 1)),
    "inverse DFT 30": lambda: (single("DFT", {"x": floats(12, 30, 2)}, None, inverse=1), (12, 30, 2))}


@pytest.mark.parametrize("name", SINGLE)
def test_operators_that_round_in_their_own_way(name):
    """What the runtime gives passes; a result that is a little off does not."""
    network, shape = SINGLE[name]()
    scale = 8 if name in ("LRN", "Softplus", "Mish") else 1
    x = {"x": scale * floats(*shape)}
    assert record(network, x).audit().passed
    bent = Function(lambda given: {"y": np.float32(1.002) * OnnxRuntime().run(network.SerializeToString(), ["y"], given)["y"]}, "onnxruntime")
    assert not recorded(bent, network, x).audit().passed


def test_determinants_are_opaque_by_name():
    """The runtime eliminates with pivots, which no sum of products along the first row is: what it gives is not judged, what reads it is."""
    nodes = [h.make_node("Det", ["x"], ["d"]), h.make_node("Mul", ["d", "d"], ["y"])]
    network, x = model(nodes, [("x", FLOAT, [20, 3, 3])], [("y", FLOAT, [20])]), {"x": floats(20, 3, 3)}
    report = record(network, x).audit()
    assert report.verdict == "undecided" and "'Det, which programs compute by elimination'" in report.text
    def bent(given):
        found = dict(zip(["d", "y"], OnnxRuntime().run(network.SerializeToString(), ["d", "y"], given).values()))
        return {"d": found["d"], "y": np.float32(1.002) * found["y"]}
    assert recorded(Function(bent, "onnxruntime"), network, x).audit().verdict == "failed"


@pytest.mark.parametrize("intermediates", [True, False])
def test_float16_and_fused_operators_are_opaque_by_name(intermediates):
    """No contract of a float32 operation is true of them, so that right results would fail."""
    x = {"x": floats(2, 4)}
    half = [h.make_node("Cast", [name], [f"{name}16"], to=onnx.TensorProto.FLOAT16) for name in ("x", "w")]
    half += [h.make_node("MatMul", ["x16", "w16"], ["a"]), h.make_node("Cast", ["a"], ["y"], to=FLOAT)]
    fused = [h.make_node("MatMul", ["x", "w"], ["a"]), h.make_node("QuickGelu", ["a"], ["y"], domain="com.microsoft")]
    for nodes, name in ((half, "'arithmetic in float16 or bfloat16'"), (fused, "'QuickGelu, a fused operator of ONNX Runtime'")):
        network = model(nodes, [("x", FLOAT, [2, 4])], [("y", FLOAT, [2, 3])], [("w", floats(4, 3))])
        network.opset_import.append(h.make_opsetid("com.microsoft", 1))
        report = record(network, x, intermediates=intermediates).audit()
        assert report.verdict == "undecided" and name in report.text, report.text


def test_float16_without_a_cast_to_it_and_in_a_branch_is_opaque_by_name():
    """The first product was held to the contract of a product of float32, and failed; weights alone in float16 are judged."""
    weights, branch = [("w", floats(4).astype(np.float16)), ("yes", np.array(True))], lambda nodes: h.make_graph(nodes, "b", [], [h.make_tensor_value_info("z", FLOAT, [2, 4])])
    back = h.make_node("Cast", ["p"], ["y"], to=FLOAT)
    like = [h.make_node("CastLike", ["x", "w"], ["a"]), h.make_node("Mul", ["a", "w"], ["p"]), back]
    held = h.make_node("Constant", [], ["c"], value=onnx.numpy_helper.from_array(weights[0][1]))
    fixed = [held, h.make_node("Mul", ["c", "c"], ["q"]), h.make_node("Cast", ["q"], ["p"], to=FLOAT), h.make_node("Add", ["x", "p"], ["y"])]
    cast = [h.make_node("Cast", ["x"], ["a"], to=onnx.TensorProto.FLOAT16), h.make_node("Exp", ["a"], ["p"]), h.make_node("Cast", ["p"], ["z"], to=FLOAT)]
    fused = [h.make_node("QuickGelu", ["x"], ["z"], domain="com.microsoft")]
    inside = [[h.make_node("If", ["yes"], ["y"], then_branch=branch(one), else_branch=branch(one))] for one in (cast, fused)]
    exact = [h.make_node("Cast", ["w"], ["v"], to=FLOAT), h.make_node("Mul", ["x", "v"], ["y"])]
    for nodes, words in ((like, "float16"), (fixed, "float16"), (inside[0], "float16"), (inside[1], "QuickGelu, a fused operator"), (exact, "")):
        network = model(nodes, [("x", FLOAT, [2, 4])], [("y", FLOAT, [2, 4])], weights)
        network.opset_import.append(h.make_opsetid("com.microsoft", 1))
        report = record(network, {"x": floats(2, 4)}).audit()
        assert report.verdict == ("undecided" if words else "passed") and words in report.text, report.text


def test_padding_beside_an_infinite_weight():
    network = single("Conv", {"x": floats(1, 1, 4, 4), "w": floats(1, 1, 3, 3)}, [1, 1, 4, 4], pads=[1] * 4)
    assert record(network, {"x": np.ones((1, 1, 4, 4), np.float32), "w": infinite(1, 1, 3, 3)}).audit().passed


def test_products_of_integers():
    nodes = [h.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]), h.make_node("MatMulInteger", ["q", "w", "z"], ["p"]), h.make_node("Cast", ["p"], ["y"], to=FLOAT)]
    network = model(nodes, [("x", FLOAT, [4, 30])], [("y", FLOAT, [4, 5])], [("w", RANDOM.integers(0, 255, (30, 5)).astype(np.uint8))])
    report = record(network, {"x": floats(4, 30)}).audit()
    assert "contract.format" not in report.text and not report.failed, report.text


def quantized(x, w, y, rows, columns, depth):
    """Numbers as integers, their product with given ones, and that as numbers again; a scale for each column where there are several."""
    weights = [("sx", np.float32(0.021)), ("zx", np.array(128 if x == np.uint8 else -3, x)), ("sw", np.float32([0.013, 0.017, 0.011][:columns])),
               ("zw", np.zeros(columns, w)), ("sy", np.float32(0.11)), ("zy", np.array(111 if y == np.uint8 else -5, y)),
               ("w", RANDOM.integers(np.iinfo(w).min, np.iinfo(w).max + 1, (depth, columns)).astype(w))]
    nodes = [h.make_node("QuantizeLinear", ["x", "sx", "zx"], ["q"]), h.make_node("QLinearMatMul", ["q", "sx", "zx", "w", "sw", "zw", "sy", "zy"], ["p"]),
             h.make_node("DequantizeLinear", ["p", "sy", "zy"], ["y"])]
    return model(nodes, [("x", FLOAT, [rows, depth])], [("y", FLOAT, [rows, columns])], weights), {"x": floats(rows, depth)}


@pytest.mark.parametrize("types", [(np.uint8, np.uint8, np.uint8), (np.uint8, np.int8, np.uint8), (np.int8, np.int8, np.int8)])
@pytest.mark.parametrize("rows, columns, depth", [(4, 3, 9), (1, 1, 1), (7, 3, 40)])
def test_products_of_quantized_matrices(types, rows, columns, depth):
    """What the runtime gives passes; an element that is off by one step does not."""
    network, x = quantized(*types, rows, columns, depth)
    run = record(network, x, optimization_level="disabled")
    assert run.audit().passed and "p" in run.recorded, run.audit().text

    class Bent(OnnxRuntime):
        def run(self, proto, wanted, inputs):
            found = {name: array.copy() for name, array in super().run(proto, wanted, inputs).items()}
            last = int(found["p"].flat[-1])
            found["p"].flat[-1] = last + (1 if last < 100 else -1)
            return found
    report = recorded(Bent("disabled"), network, x).audit()
    assert report.verdict == "failed" and "p" in [one.subject for one in report.failures], report.text
