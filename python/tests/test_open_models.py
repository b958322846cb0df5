"""assay.Model: shapes, constants and outputs with which a model is read, in every function that takes a model."""
import pytest

import assay

numpy, onnx = pytest.importorskip("numpy"), pytest.importorskip("onnx")

TEXT = """
<ir_version: 8, opset_import: ["": 17]>
voice (float[batch, frames] x, int64 sr, float[frames] w) => (float[batch, 1] score, int64[batch] label)
{
    rate = Constant<value_int: int = 16000>()
    is_high = Equal(sr, rate)
    y = Mul(x, w)
    score = If(is_high) <then_branch = high () => (float[batch, 1] a) { a = ReduceSum<keepdims: int = 1>(y, axis) },
                         else_branch = low () => (float[batch, 1] b) { s = ReduceSum<keepdims: int = 1>(y, axis) b = Neg(s) }>
    axis = Constant<value_ints: ints = [1]>()
    label = ArgMax<axis: int = 1, keepdims: int = 0>(y)
}
"""
NARROW = {"dims": {"frames": 2}, "constants": {"sr": 16000, "w": numpy.array([2, 0.5], numpy.float32)}, "outputs": ["score"]}
BELOW = [assay.Box([0, 0], 1), assay.Linear([[1]], at_most=3)]


@pytest.fixture(scope="module")
def voice(tmp_path_factory):
    path = tmp_path_factory.mktemp("voice") / "voice.onnx"
    onnx.save(onnx.parser.parse_model(TEXT), path)
    return path


def test_a_model_is_read_with_its_options(voice):
    low = assay.Model(voice, dims={"frames": 2}, constants={"sr": 8000, "w": 1}, outputs=["score"])
    assert assay.evaluate(assay.Model(voice, **NARROW), [[1, 1]]).outputs["score"].lo.tolist() == [[2.5]]
    assert assay.evaluate(low, [[1, 1]]).outputs["score"].hi.tolist() == [[-2]]
    both = assay.evaluate(assay.Model(voice.read_bytes(), shapes={"x": (1, 2)}, constants={"sr": 8000, "w": [1, 1]}, outputs=("label", "y")), [[1, 3]])
    assert both.outputs["label"].lo.tolist() == [1] and both.outputs["y"].lo.tolist() == [[1, 3]]
    assert assay.lint(assay.Model(voice, **NARROW)) == []
    codes = [one.code for one in assay.lint(voice)]
    assert "onnx.input_shape" in codes and any("--dim frames=N" in one.advice for one in assay.lint(voice))


def test_a_certificate_needs_the_same_options(voice, tmp_path):
    model = assay.Model(voice, **NARROW)
    result = assay.verify(model, BELOW, proof=tmp_path / "proof")
    assert result.answer == "unsat" and result.check().verdict == "accepted"
    assert "model options '--dim frames=2 --set sr=16000 --set w=2.0,0.5 --outputs score'" in result.statement
    assert assay.check(model, BELOW, result.certificate).verdict == "accepted"
    other = assay.Model(voice, **{**NARROW, "constants": {"sr": 16000, "w": [2, 0.25]}})
    assert assay.check(other, BELOW, result.certificate).verdict == "rejected"
    assert [round(one.hi[0][0], 9) for one in assay.bounds(model, BELOW).outputs.values()] == [2.5]
    statement = assay.statement(model, BELOW)
    assert assay.check(statement, None, result.certificate).verdict == "accepted"
    with pytest.raises(assay.UsageError, match="a statement"):
        assay.check(model, None, result.certificate)
    with pytest.raises(assay.Error, match="--dim frames=N"):
        assay.verify(voice, BELOW)


def test_a_run_keeps_the_options(voice, tmp_path):
    high, low = (assay.Model(voice, dims={"frames": 2}, constants={"sr": rate, "w": 1}, outputs=["y"]) for rate in (16000, 8000))
    run = assay.robust(high, numpy.array([[0, 1], [1, 0]], numpy.float32), [1, 0], eps=0.25, run=tmp_path / "run")
    assert run.counts["0.25"]["certified"] == 2 and run.check()["verdict"] == "accepted"
    assert run.check()["claim"]["model_options"][0] == "--dim frames=2"
    with pytest.raises(assay.Error):
        assay.robust(low, numpy.array([[0, 1], [1, 0]], numpy.float32), [1, 0], eps=0.25, run=tmp_path / "run", resume=True)


@pytest.mark.parametrize("options, part", [
    ({"dims": {"width": 2}}, "the open axes are batch, frames"), ({"shapes": {"x": [1, 2, 3]}}, "2 axes"), ({"constants": {"sr": 0.5}}, "values of int64"),
    ({"outputs": ["nothing"]}, "the outputs are score, label"), ({"dims": {"frames": -1}}, "dims"), ({"dims": ["frames"]}, "a dict"),
    ({"outputs": "score"}, "a list"), ({"outputs": ["score,label"]}, "without a comma"), ({"constants": {"sr": "16000"}}, "numbers"), ({"constants": {"w": [1, float("nan")]}}, "finite numbers")])
def test_mistakes(voice, options, part):
    with pytest.raises(assay.Error, match=part):
        assay.verify(assay.Model(voice, **options), "(declare-const X_0 Real)")


def test_a_model_of_a_model_is_refused(voice):
    with pytest.raises(assay.UsageError, match="ModelProto"):
        assay.Model(assay.Model(voice))
    with pytest.raises(assay.UsageError, match="assay.Model"):
        assay.lint(3)


def test_functions_may_not_redefine_operators_of_any_standard_domain():
    text = """<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 3]> g (float[1, 2] x) => (float[1, 2] y) { y = ai.onnx.ml.Scaler<scale = [2.0]>(x) }
              <domain: "ai.onnx.ml", opset_import: ["": 17]> Scaler<scale> (a) => (b) { b = Neg(a) }"""
    with pytest.raises(assay.Unsupported, match="redefine"):
        assay.evaluate(onnx.parser.parse_model(text).SerializeToString(), [[1, 2]])
