"""bounds, lint, evaluate and inspect."""
import pytest

import assay
from conftest import DIGITS, network

numpy = pytest.importorskip("numpy")


def run(model, x):
    """The network in float64."""
    return assay.evaluate(model, x).outputs["y"]


def test_bounds_hold_and_back_substitution_tightens_them():
    model = network([5, 20, 20, 3], seed=2)
    property = [assay.Box([0.1] * 5, 0.3), assay.Robust(0)]
    crown, interval = (assay.bounds(model, property, method=method) for method in ("crown", "interval"))
    assert crown.complete and not crown.stopped
    wide, narrow = interval.outputs["y"], crown.outputs["y"]
    assert (wide.lo <= narrow.lo).all() and (narrow.hi <= wide.hi).all() and (narrow.hi - narrow.lo).sum() < 0.9 * (wide.hi - wide.lo).sum()
    draw = numpy.random.default_rng(1)
    for _ in range(50):
        y = run(model, (0.1 + draw.uniform(-0.3, 0.3, (1, 5))).astype(numpy.float32))
        assert (y.hi >= narrow.lo).all() and (y.lo <= narrow.hi).all()
    assert [node.op for node in interval.nodes][0] == "input" and interval.nodes[-1].shape == (1, 3)
    assert [node.name for node in assay.bounds(model, property, outputs_only=True).nodes] == ["y"]


def test_bounds_of_several_outputs_of_one_node():
    import onnx_files as files

    split = files.model([files.node("Split", ["x"], ["y", "z"], "split", axis=1)], [files.value_info("x", [1, 2])],
                        [files.value_info("y", [1, 1]), files.value_info("z", [1, 1])], [])
    found = assay.bounds(split, [assay.Box(lo=[[1, 5]], hi=[[1, 5]]), assay.Linear([[1, 0]], at_most=9)])
    assert [node.lo.tolist() for node in found.nodes if node.output] == [[[pytest.approx(1)]], [[pytest.approx(5)]]]
    with pytest.raises(assay.UsageError, match="different ONNX nodes"):
        found.outputs


def test_bounds_of_several_boxes():
    model = network([2, 4, 2])
    text = "".join(f"(declare-const {name} Real)\n" for name in ("X_0", "X_1", "Y_0", "Y_1"))
    text += "(assert (or (and (>= X_0 0) (<= X_0 1) (>= X_1 0) (<= X_1 1) (>= Y_0 9)) (and (>= X_0 2) (<= X_0 3) (>= X_1 0) (<= X_1 1) (>= Y_0 9))))\n"
    found = assay.bounds(model, text)
    assert len(found.groups) == 2
    with pytest.raises(assay.UsageError, match="one input box, got 2"):
        found.nodes


def test_evaluate_points_boxes_and_gradients(digits):
    rng = numpy.random.default_rng(0)
    x = rng.uniform(0, 1, (1, 64)).astype(numpy.float32)
    point = assay.evaluate(digits, x, gradients={"scores": numpy.eye(10)[3]})
    box = assay.evaluate(digits, {"image": (x - numpy.float32(0.01), x + numpy.float32(0.01))}, gradients={"scores": numpy.eye(10)[3]})
    for kind in ("outputs", "gradients"):
        for name, ends in getattr(point, kind).items():
            wide = getattr(box, kind)[name]
            assert (wide.lo <= ends.lo).all() and (ends.hi <= wide.hi).all() and (ends.lo <= ends.hi).all()
    assert point.gradients["image"].lo.shape == (1, 64)
    step = 1e-4
    shifted = x.astype(numpy.float64).copy()
    shifted[0, 20] += step
    slope = (assay.evaluate(digits, shifted).outputs["scores"].lo[0, 3] - point.outputs["scores"].lo[0, 3]) / step
    assert abs(slope - point.gradients["image"].lo[0, 20]) < 1e-3 * (1 + abs(slope))
    same = assay.evaluate(digits, assay.Box(x, 0))
    assert (same.outputs["scores"].lo == point.outputs["scores"].lo).all() and same.gradients == {}
    assert assay.evaluate(digits, 0.5).outputs["scores"].lo.shape == (1, 10)


def test_lint_lists_what_stands_in_the_way(digits, tmp_path):
    import onnx_files as files

    assert assay.lint(digits) == []
    model = files.model([files.node("Relu", ["x"], ["a"], "fine"), files.node("Unheard", ["a"], ["y"], "odd")],
                        [files.value_info("x", [1, 2])], [files.value_info("y", [1, 2])], [])
    (finding,) = assay.lint(model)
    assert finding.kind == "unsupported" and "Unheard" in str(finding) and "odd" in finding.where
    with pytest.raises(assay.Unsupported, match="Unheard"):
        assay.bounds(model, [assay.Box([0, 0], 1), assay.Robust(0)])


def test_inspect(digits):
    model = assay.inspect(digits)
    assert model["kind"] == "model" and model["input"] == ["image [1, 64]"]
    result = assay.verify(digits, DIGITS / "digits_holds.vnnlib")
    assert assay.inspect(result.certificate)["kind"] == "certificate"
    assert assay.inspect(DIGITS / "digits_holds.vnnlib", network=digits)["kind"] == "property"


def test_explain_says_what_a_code_means(tmp_path):
    with pytest.raises(assay.MalformedInput) as refused:
        assay.lint(tmp_path / "nothing.onnx")
    assert "cannot be opened" in assay.explain(refused.value) and assay.explain("gemm.S2").startswith("gemm.S2\n\nA side condition")
    for wrong in ("", "nothing", "-x", "--json", 3, None, assay.UsageError("without a code")):
        with pytest.raises(assay.UsageError, match="wrong argument at code"):
            assay.explain(wrong)


def test_intervals_are_rounded_outward():
    from fractions import Fraction

    from assay._core.arguments import decimal_of, outward

    for text in ("0.1", "-0.1", "1e-400", "-1e-400", "1e308", "0", "3"):
        exact = Fraction(text)
        lo, hi = outward(exact, exact)
        assert Fraction(lo) <= exact <= Fraction(hi)
    assert outward(Fraction(10**400), Fraction(10**400)) == (1.7976931348623157e308, float("inf"))
    for value in (Fraction(0), Fraction(-3), Fraction(1, 8), Fraction(-7, 20), Fraction(5e-324), Fraction(10**30)):
        assert Fraction(decimal_of(value)) == value


def test_whole_numbers_that_no_float64_holds_are_refused(tmp_path):
    """They were rounded outward, without a word."""
    onnx = pytest.importorskip("onnx")
    sides = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.INT64, [2]) for name in ("x", "y")]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Add", ["x", "x"], ["y"])], "g", sides[:1], sides[1:])
    path = tmp_path / "add.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8), path)
    for x in ([2**53 + 1, 5], numpy.array([2**53 + 1, 5]), ([0, 5], [2**53 + 1, 5])):
        with pytest.raises(assay.UsageError, match="integers that a float64 holds"):
            assay.evaluate(path, x)
    assert assay.evaluate(path, [2**52, 5]).outputs["y"].lo.tolist() == [2**53, 10]


def test_every_question_has_the_memory_of_the_programs(digits, tmp_path):
    """--memory of the verbs: lint, statement, evaluate and inspect of the package had none."""
    zero = [0] * 64
    for ask in (lambda memory: assay.evaluate(digits, zero, memory=memory), lambda memory: assay.statement(digits, digits.parent / "digits_holds.vnnlib", memory=memory),
                lambda memory: assay.inspect(digits, memory=memory)):
        ask(2**30)
        with pytest.raises(assay.Undecided, match="memory"):
            ask(2000)
        for wrong in (0, -1, 1.5, "1GiB"):
            with pytest.raises(assay.UsageError, match="memory"):
                ask(wrong)
    onnx = pytest.importorskip("onnx")
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4]) for name in ("x", "y"))
    steps = [("ConstantOfShape", ["s"], "c"), ("ReduceMax", ["c"], "t"), ("Add", ["x", "t"], "y")]  # 8 MB of zeros
    nodes = [onnx.helper.make_node(op, inputs, [output]) for op, inputs, output in steps]
    shape = onnx.helper.make_tensor("s", onnx.TensorProto.INT64, [1], [2000000])
    graph = onnx.helper.make_graph(nodes, "g", [x], [y], [shape])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    assert assay.lint(model, memory=2**30) == []
    assert [why.kind for why in assay.lint(model, memory=2**20)] == ["declined"]
