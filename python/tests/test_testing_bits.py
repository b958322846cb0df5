"""Bits as a verdict: rows in other company, runs, threads, ways; and tokens that no admitted execution changes."""
from __future__ import annotations

import inspect

import numpy as np
import pytest

import assay.ops as xp
from assay.errors import UsageError
from assay.testing import ContractViolation, assert_same_bits, assert_within_contract, greedy_margin

f32 = np.float32


def drawn(*shape, seed=1):
    return np.random.default_rng(seed).normal(size=shape).astype(f32)


def split(x, w, parts=1):
    """A product whose sum over K is cut into parts; each part is added one term after the other."""
    total = np.zeros((len(x), w.shape[1]), f32)
    for some in np.array_split(np.arange(x.shape[1]), parts):
        part = np.zeros_like(total)
        for k in some:
            part = part + x[:, k:k + 1] * w[k]
        total = total + part
    return total


X, W = drawn(7, 40), drawn(40, 5)


def test_a_function_of_its_rows_alone_passes():
    report = assert_same_bits(split, [X, W], runs=3, ways={"the same": lambda x, w: split(x, w)})
    assert report.passed and [case.name for case in report.cases] == ["another call", "other company", "another way"]
    assert assert_same_bits(lambda x: (x[0] * 2, x.sum()), [X], batch=()).passed
    assert assert_same_bits(lambda x: np.where(x > 0, f32(np.nan), x), [X]).passed  # NaN has bits, too


def test_rows_that_depend_on_their_company_are_named():
    def by_size(x, w):
        return split(x, w, 4 if len(x) >= 8 else 1)
    report = assert_same_bits(by_size, [X, W], raises=False)
    assert report.failed and {one.rule for one in report.findings} == {"bits.rows"}
    assert [one.message.partition(":")[0] for one in report.findings] == ["the rows twice", "a batch of 8", "a batch of 17", "a batch of 64", "a batch of 129"]
    first = report.findings[0].first
    at = tuple(first["at"])
    assert first["expected"] == split(X, W)[at] != first["received"] == split(X, W, 4)[at] and first["rows"] == sorted(first["rows"])
    differs = (split(X, W) != split(X, W, 4)).any(-1)
    assert first["rows"] == np.flatnonzero(differs).tolist() and first["at"][0] == first["rows"][0]

    def third_row_reads_its_neighbour(x):
        y = x * 2
        if len(x) > 3:
            y[3] += x[2] * f32(2.0**-20)
        return y
    report = assert_same_bits(third_row_reads_its_neighbour, [X], raises=False)
    assert report.findings[0].message.startswith("row 3 alone") and report.findings[0].first["rows"] == [3]


def test_calls_threads_and_ways_that_differ_are_named():
    count = iter(range(100))
    report = assert_same_bits(lambda x: x + f32(next(count) == 1), [X], batch=(), raises=False)
    assert [one.rule for one in report.findings] == ["bits.run"] and report.findings[0].message.startswith("call 2 on the same inputs: 280 elements")
    with pytest.raises(ContractViolation, match="bits.way: split of K in 4: .* have other bits in rows"):
        assert_same_bits(split, [X, W], ways={"split of K in 4": lambda x, w: split(x, w, 4)})
    report = assert_same_bits(lambda x: x, [X], ways={"of one row": lambda x: x[:1], "negated zero": lambda x: x * f32(-1) * f32(-1)}, raises=False)
    assert [one.message for one in report.findings] == ["of one row: result 0 is float32 [1, 40], and the first one float32 [7, 40]"]
    zero = np.zeros((2, 2), f32)
    assert assert_same_bits(lambda x: x, [zero], ways={"negated": lambda x: -x}, raises=False).failed  # -0 is another number of bits


def test_threads_are_those_of_pytorch():
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    assert assert_same_bits(lambda x: x * 2, [torch.tensor(X)], threads=(1, 2)).passed
    report = assert_same_bits(lambda x: x * torch.get_num_threads(), [torch.tensor(X)], threads=(before, before + 1), raises=False)
    assert [one.rule for one in report.findings] == ["bits.threads"] and torch.get_num_threads() == before
    half = torch.tensor(X).bfloat16()
    assert assert_same_bits(lambda x: x @ torch.ones(40, 3, dtype=x.dtype), [half], batch=()).passed


def parting(function, given, **options):
    """Of the first finding, what is told of the first operation, in words and as JSON."""
    found = assert_same_bits(function, given, **{"runs": 1, "raises": False, **options}).findings[0]
    return found.details[-1], found.first["operation"]


def line_of(function, words):
    lines, first = inspect.getsourcelines(function)
    return next(first + i for i, line in enumerate(lines) if words in line)


def test_the_first_operation_that_differs_is_named():
    torch = pytest.importorskip("torch")

    def attention(x):  # axes of rows: the first, a part of the first, the last, a part of the last
        b, t, d = x.shape
        y = (x * 2).reshape(b * t, d) + 1
        y = y.reshape(b, t, d).permute(1, 2, 0) * 3
        y = y.reshape(t, d * b) - 0.5
        y = y * y.max()
        return y.reshape(t, d, b).permute(2, 0, 1)

    x = torch.tensor(drawn(4, 3, 5))
    text, found = parting(attention, [x])
    assert (found["kind"], found["op"], found["line"], found["file"]) == ("result", "max", line_of(attention, "y.max()"), __file__)
    assert f"max at test_testing_bits.py:{found['line']}" in text and "its operands have the same bits" in text and found["not_compared"] == 0

    def neighbours(x):  # differs where rows come in another order, of which there are as many
        steps = torch.cat([torch.zeros(1), (x[:-1, 0] - x[1:, 0])]).relu()
        return x + steps[:, None]

    sorted_ = torch.tensor(np.sort(drawn(7, 2), axis=0))
    report = assert_same_bits(neighbours, [sorted_], runs=1, raises=False)
    assert report.findings[0].message.startswith("the rows in reversed order") and report.findings[0].first["operation"]["op"] == "cat"

    def slope(x):
        leaf = x.detach().clone().requires_grad_()
        (leaf * leaf.detach().sum(0)).sum().backward()
        return leaf.grad

    text, found = parting(slope, [x])
    assert found["op"] == "sum" and found["line"] == line_of(slope, "sum(0)")
    half = parting(lambda x: x + x.sum(), [x.bfloat16()])[1]
    assert half["op"] == "sum" and half["expected"] != half["received"]
    quiet = torch.tensor([[np.nan, 1], [2, 3]], dtype=torch.float32)
    assert assert_same_bits(lambda x: x.relu() * 2, [quiet]).passed  # NaN with the same bits is no difference


def test_what_is_told_where_runs_part():
    torch = pytest.importorskip("torch")
    x, w = torch.tensor(drawn(7, 4)), torch.tensor(drawn(4, 3, seed=2))
    other = w.clone()
    other[1, 1] += 1
    alone = {"batch": ()}
    text, found = parting(lambda x: (x @ w).relu(), [x], ways={"other weights": lambda x: (x @ other).relu()}, **alone)
    assert found["op"] == "mm" and found["other_operands"] == [1] and "operand 1, which no operation computed, has other bits" in text
    text, found = parting(lambda x: (x * 2).sum(0) * 3, [x], ways={"another factor": lambda x: (x * 2).sum(0) * 4}, **alone)
    assert (found["op"], found["number"]) == ("mul", 2) and "its other arguments are [3], and [4] there" in text
    text, found = parting(lambda x: (x * 2).sum(0), [x], ways={"flipped": lambda x: (x * 2).cumsum(0)[-1] + 1}, **alone)
    assert (found["kind"], found["op"], found["other"]["op"]) == ("other operation", "sum", "cumsum") and "all before it have the same bits" in text
    text, found = parting(lambda x: x * 2, [x], ways={"one more": lambda x: x * 2 + 1}, **alone)
    assert found["kind"] == "other operation" and "only the second goes on, with add" in text
    text, found = parting(lambda x: torch.rand(3) + x[0, :3], [x], runs=2, **alone)
    assert found["op"] == "rand"
    text, found = parting(lambda x: torch.nn.functional.dropout(x, 0.5), [torch.ones(30, 30)], runs=2, **alone)
    assert found["op"] == "bernoulli_" and found["number"] == 0  # what lies in empty memory before is no result
    count = iter(range(100))
    text, found = parting(lambda x: torch.from_numpy((x + 1).numpy() + f32(next(count) == 1)), [x], runs=2, **alone)
    assert found["kind"] == "none" and text == "no operation was found that differs, of 1 that were compared"
    report = assert_same_bits(lambda x: x * x.max(), [X], raises=False)  # of NumPy
    assert report.failed and "operation" not in report.findings[0].first


def test_the_first_node_of_a_model_that_differs_is_named(tmp_path):
    onnx, _ = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    make = onnx.helper
    nodes = [make.make_node("Mul", ["x", "x"], ["a"]), make.make_node("ReduceMax", ["a"], ["m"], keepdims=0, name="largest"), make.make_node("Div", ["a", "m"], ["y"])]
    values = [[make.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", 5])] for name in "xy"]
    model = make.make_model(make.make_graph(nodes, "g", *values), opset_imports=[make.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "model.onnx")
    for one in (tmp_path / "model.onnx", model):
        text, found = parting(one, [drawn(4, 5)])
        assert (found["kind"], found["op"], found["number"]) == ("result", "ReduceMax", 1) and "ReduceMax 'largest'" in text and "fused no nodes" in text
    assert assert_same_bits(model, [drawn(4, 5)], batch=(), threads=(1, 2)).passed
    with pytest.raises(UsageError, match="the model has x"):
        assert_same_bits(model, [], batch=())


def test_wrong_use_is_refused():
    for options, words in (({"batch": (2,)}, "positions of the 2 inputs"), ({"batch": (0, 1)}, "equally long"), ({"runs": 0}, "runs")):
        with pytest.raises(UsageError, match=words):
            assert_same_bits(split, [X, W], **options)
    with pytest.raises(UsageError, match="no batch in a result"):
        assert_same_bits(lambda x: x.sum(), [X])


def logits(x, w):
    return x @ w


def test_tokens_that_cannot_change_are_certain():
    w = drawn(40, 30)
    w[:, 29] = w[:, 4]
    x = drawn(12, 40)
    x[3] = w[:, 4]  # two largest
    x[5, 0] = np.nan
    found = greedy_margin(logits, [x, w], x @ w)
    assert found.certain.sum() >= 8 and not found.certain[3] and not found.certain[5] and (3,) in found.uncertain
    assert "of 12 tokens cannot change" in found.text and "row [3]: token" in found.text
    exact = x.astype(float) @ w.astype(float)
    for row in np.flatnonzero(found.certain):
        assert exact[row].argmax() == found.tokens[row] and (np.delete(exact[row], found.tokens[row]) < exact[row].max()).all()


@pytest.mark.parametrize("gap", [1e-7, 1e-3])
def test_no_admitted_execution_changes_a_certain_token(gap):
    """The margin is compared with sums in many orders: a certain one is larger than what they differ by."""
    x, w = drawn(60, 64, seed=3), drawn(64, 2, seed=4)
    w[:, 1] = w[:, 0]
    w[0, 1] += f32(gap)
    found = greedy_margin(logits, [x, w], split(x, w))
    assert found.certain.any() == (gap > 1e-6) and not found.certain.all()
    order = np.random.default_rng(5)
    for _ in range(20):
        shuffled = order.permutation(64)
        other = split(x[:, shuffled], w[shuffled], int(order.integers(1, 9)))
        assert_within_contract(logits, [x, w], other)
        assert (other.argmax(-1) == found.tokens)[found.certain].all()


def test_models_decide_what_is_certain_and_shapes_have_to_fit():
    x, w = drawn(40, 64), drawn(64, 50)
    w = w[:, :1] + w * f32(0.01)  # all columns are near the first one
    exact, coarse = (greedy_margin(logits, [x, w], x @ w, model=one).certain for one in ("any-order", "tf32"))
    assert exact.sum() > coarse.sum() and exact[coarse].all()
    assert greedy_margin(lambda a, b: xp.softmax(a @ b, axis=-1), [x, w], x @ w).certain.any()
    assert greedy_margin(lambda a, b: a @ b, [x.reshape(4, 10, 64), w], (x @ w).reshape(4, 10, 50)).certain.shape == (4, 10)
    for wrong in ((x @ w)[:1], (x @ w).astype(np.float16)):
        with pytest.raises(UsageError, match="logits"):
            greedy_margin(logits, [x, w], wrong)
