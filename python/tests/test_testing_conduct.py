"""What audit_kernel watches beside values, in every call; which attributes it asks for; what it counts; expressions in place of operations."""
from __future__ import annotations

import math
import re

import kernels
import numpy as np
import pytest

import assay.ops as xp
from assay.errors import UsageError
from assay.testing import ContractViolation, KernelWarning, NotDecided, WrongAttributes, audit_kernel, probes, within_contract
from assay.testing._references import probes_of

SMALL = {"blocks": False, "strided": False}


def beside(out, value):
    """Writes into the eight bytes behind an array."""
    np.lib.stride_tricks.as_strided(out, (out.size + 8,), (out.itemsize,))[out.size:] = value


@pytest.mark.parametrize("value", [True, False])
def test_truth_values_beside_a_result_are_seen(value):
    def kernel(x, out):
        out[...] = np.isnan(x)
        beside(out, value)

    report = audit_kernel("is_nan", kernel, out=True, raises=False, **SMALL)
    assert report.failed and report.faults[0] == ("writes outside of its result", report.probes)


def test_truth_values_that_are_not_written_are_seen():
    def kernel(x, out):
        out.reshape(-1)[:-1] = np.isnan(x).reshape(-1)[:-1]

    assert audit_kernel("is_nan", kernel, out=True, raises=False, **SMALL).faults[0][0] == "leaves elements of its result unwritten"


def test_truth_values_are_0_or_1():
    def kernel(x, out):
        out.view(np.uint8)[...] = 2 * np.isnan(x) + np.isinf(x)

    report = audit_kernel("is_nan", kernel, out=True, raises=False, **SMALL)
    assert report.failed and any("neither 0 nor 1" in one.message for one in report.failures)


@pytest.mark.parametrize("byte", [0x5A, 0x25, 0x3C, 0x43, 0])
def test_bytes_beside_a_result_of_one_byte_are_seen(byte):
    def kernel(x, out):
        np.negative(x, out=out)
        beside(out, byte)

    plan = probes("neg", dtypes=["int8"], **SMALL)
    assert plan and audit_kernel("neg", kernel, plan=plan, out=True, raises=False).faults[0][0] == "writes outside of its result"


@pytest.mark.parametrize("period", [2, 3])
def test_an_operand_that_is_written_now_and_then_is_seen(period):
    calls = [0]

    def kernel(x):
        calls[0] += 1
        result = -x
        if calls[0] % period == 0:
            x[...] = 0
        return result

    report = audit_kernel("neg", kernel, raises=False, **SMALL)
    assert report.failed and report.faults[0][0] == "writes into its operands"


def test_attributes_that_mean_nothing_are_not_asked_for_and_defaults_are_taken():
    np.testing.assert_equal(audit_kernel("elu", lambda x: np.where(x > 0, x, np.expm1(x)), raises=False, **SMALL).count("failed"), 0)
    assert audit_kernel("thresholded_relu", lambda x: np.where(x > 1, x, np.float32(0) * x), raises=False, **SMALL).count("failed") < 20  # -0
    report = audit_kernel("arg_max", lambda x, axis, keep_dims: x.argmax(axis, keepdims=keep_dims), raises=False, **SMALL)
    assert report.probes > 20 and "last" not in report.text
    seen = set()

    def conv(x, w, b=None):
        seen.add((x.shape, w.shape))
        raise ValueError("not here")

    with pytest.raises(NotDecided, match="not here"):
        audit_kernel("conv", conv, **SMALL)
    assert seen
    with pytest.raises(UsageError, match="no parameter 'beta' of hard_sigmoid"):  # 0.5 in one library, 0.2 for alpha in another: no default
        audit_kernel("hard_sigmoid", lambda x, alpha: x, **SMALL)


def test_a_plan_needs_no_attributes_again():
    made = probes("softmax", attributes={"axis": -1}, **SMALL)
    assert audit_kernel("softmax", lambda x: kernels.softmax_numpy(x, -1), plan=made).passed
    selected = [one for one in probes("softmax", **SMALL) if one.attributes["axis"] == 1]
    assert audit_kernel("softmax", lambda x: kernels.softmax_numpy(x, 1), plan=selected).passed
    with pytest.raises(UsageError, match="no parameter 'axis' of softmax"):
        audit_kernel("softmax", lambda x: x, plan=probes("softmax", strided=False))


@pytest.mark.parametrize("op", ["softmax", "log_softmax", "cumsum", "arg_max", "sort"])
def test_an_axis_is_asked_for(op):
    with pytest.raises(WrongAttributes, match=f"{op} needs the attribute 'axis', the axis along which it goes: for example axis=-1"):
        within_contract(op, [np.ones((2, 3), np.float32)], np.ones((2, 3), np.float32))


def test_fractions_are_exact_or_refused_in_a_sentence():
    x = np.linspace(-1, 1, 5, dtype=np.float32)
    half = np.where(x > 0, x, np.float32(0.5) * np.expm1(x))
    assert within_contract("elu", [x], half, attributes={"alpha": "1/2"}).count("failed") == 0
    for value, words in (("1/6", "is given exactly, as 1/6, and no float64 equals that; give the float64 that the kernel has, without quotes: 0.16666666666666666"), ("a half", "has to be a number")):
        with pytest.raises(WrongAttributes, match=words) as wrong:
            within_contract("elu", [x], half, attributes={"alpha": value})
        assert "/tmp" not in str(wrong.value)
    cube = within_contract("pow", [np.float32([1, 8])], np.float32([1, 2]), attributes={"exponent": "1/3"})
    assert cube.count("failed") == 0  # an exponent is any fraction


def test_equal_rows_are_no_wrong_strides():
    def norm(x, axes, epsilon):
        centered = x - x.mean(axes, keepdims=True)
        flat = (x == x.reshape(-1)[:1]).all() if x.size else False
        return centered / np.sqrt((centered * centered).mean(axes, keepdims=True) + np.float32(epsilon)) + np.float32(flat and x.size > 1)

    report = audit_kernel("normalise", norm, attributes={"form": "centered"}, raises=False, blocks=False)
    assert report.failed and not any("dense in memory" in words for words, _ in report.faults)


def test_memory_that_is_read_beside_an_operand_is_named():
    def total(x, axes, keep_dims):
        if x.ndim != 2 or not x.flags.c_contiguous:
            raise NotImplementedError
        rows = np.lib.stride_tricks.as_strided(x, (x.shape[0], x.shape[1] + 1), x.strides)
        return rows.sum(1, dtype=np.float32).reshape(-1, 1)

    def scaled(x, w):
        weight = np.lib.stride_tricks.as_strided(w, (w.size + 1,), w.strides)[1:]
        return (x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-5)) * weight).astype(np.float32)

    last = {"attributes": {"axes": [-1], "keep_dims": True}, **SMALL}
    plan = [one for one in probes("reduce_sum", **last) if len(one.operands[0].shape) == 2 and one.kind == "integers"]
    report = audit_kernel("reduce_sum", total, plan=[next(one for one in plan if (0 in one.operands[0].shape) == is_empty) for is_empty in (True, False)], raises=False)
    assert report.faults == [("reads outside of its operands", report.probes)]
    assert "memory at the address of operand 0, whose shape is [2, 0]" in report.text
    assert any(re.search(r"element \[(\d+), 0\] of operand 0, whose shape is \[\1, \d+\]", one.message) for one in report.failures)
    report = audit_kernel("rms norm", scaled, plan=[one for one in probes("rms norm", **SMALL) if "5: dense" in one.name], raises=False)
    assert report.faults[0][0] == "reads outside of its operands" and "element [5] of operand 1" in report.text
    draws = np.random.default_rng(1)
    report = audit_kernel("neg", lambda x: -x + draws.normal(size=x.shape).astype(x.dtype), plan=probes("neg", **SMALL)[:2], raises=False)
    assert report.faults[0][0] == "gives another result from the same operands"


def test_a_fault_comes_first_only_where_it_explains_most():
    report = audit_kernel("neg", lambda x: np.where(x > 1, x, -x), raises=False, **SMALL)
    assert report.faults[0][0] == "gives values outside of its contract"
    nothing = audit_kernel("relu", lambda x: np.full_like(x, np.nan), raises=False, **SMALL)
    assert [words for words, _ in nothing.faults] == ["gives NaN where its contract has numbers alone"]


def test_vacuous_elements_are_a_share_of_ordinary_probes():
    def prod(x, axes, keep_dims):
        return np.asarray(np.prod(x, axes, keepdims=keep_dims), np.float32)

    for strided in (False, True):
        for blocks in (False, True):
            report = audit_kernel("reduce_prod", prod, strided=strided, blocks=blocks)
            assert report.passed and report.vacuous_shares["range"] > 0.25 and report.count("vacuous") > 0
    far = [one for one in probes("reduce_prod", **SMALL) if one.kind == "range"]
    assert audit_kernel("reduce_prod", prod, plan=far, raises=False).verdict == "vacuous"


def test_an_exact_gelu_passes_with_any_choice_of_probes():
    erfc = np.vectorize(math.erfc, otypes=[np.float64])

    def gelu(x):
        exact = np.where(np.isposinf(x), np.inf, x.astype(np.float64) * erfc(-x.astype(np.float64) / math.sqrt(2)) / 2)
        return exact.astype(np.float32)

    for strided in (False, True):
        assert audit_kernel("gelu", gelu, strided=strided, blocks=False).vacuous_shares["dense"] < 0.25


def gated(x, gate):
    return xp.relu(x) * gate


def test_an_expression_on_borrowed_probes():
    report = audit_kernel(gated, lambda x, gate: np.maximum(x, 0) * gate, like="mul")
    assert report.passed and report.probes > 200
    report = audit_kernel(gated, lambda x, gate: x * gate, like="mul", raises=False)
    assert report.failed and all(one.rule == "contract.gated" for one in report.failures)
    with pytest.raises(ContractViolation, match="writes into its operands"):
        audit_kernel(gated, lambda x, gate: np.multiply(np.maximum(x, 0, out=x), gate), like="mul", **SMALL)

    def scaled(x, axis):
        return xp.softmax(x / 2, axis=axis)

    assert audit_kernel(scaled, lambda x, axis: kernels.softmax_numpy(x / np.float32(2), axis), like="softmax", **SMALL).passed
    assert audit_kernel(scaled, lambda x: kernels.softmax_numpy(x / np.float32(2), -1), like="softmax", attributes={"axis": -1}, **SMALL).passed
    with pytest.raises(UsageError, match="no parameter 'axis'"):
        audit_kernel(scaled, lambda x: x, like="softmax", **SMALL)


def test_an_expression_on_probes_of_given_shapes():
    bias = np.float32([1, 2, 3])

    def affine(x, w):
        return xp.maximum(x @ w + bias, 0)

    def kernel(x, w):
        return np.maximum(x @ w + bias, 0)

    report = audit_kernel(affine, kernel, like=[(5, 4), (4, 3)], model="any-order")
    assert report.passed and {"integers", "dense", "special values"} <= set(report.vacuous_shares)
    assert audit_kernel(affine, lambda x, w: np.maximum(x @ w, 0), like=[(5, 4), (4, 3)], raises=False).failed
    for like, words in ((None, "no probes of its own"), ([(5, 4), (5, 4)], "no probe fits the reference"), (3, "shape for each operand")):
        with pytest.raises(UsageError, match=words):
            audit_kernel(affine, kernel, like=like)


def test_given_shapes_bring_others_around_the_sizes_of_blocks():
    def gate(x, y):
        return xp.relu(x) + y

    def kernel(x, y):
        return np.maximum(x, 0) + y

    def without_a_tail(block):
        def wrong(x, y):
            z = kernel(x, y).reshape(-1)
            z[z.size // block * block if z.size > block else z.size:] = 0
            return z.reshape(x.shape)
        return wrong

    with np.errstate(all="ignore"):
        right = audit_kernel(gate, kernel, like=[(5, 7)] * 2)
        assert right.summary().endswith("sizes tried: in place of 7 31, 33, 64, 96, 192, 257, 1025, 2047, 2048, 2049, 8193, 16385, 65537; in place of 5 31, 96, 128, 129, 192, 257, 1025, 2047, 2048, 2049, 8193")
        assert "only the given ones" in audit_kernel(gate, without_a_tail(256), like=[(5, 7)] * 2, blocks=False).summary()
        for block in (256, 65536):
            with pytest.raises(ContractViolation, match="have shapes that were made from the given ones.* blocks=False"):
                audit_kernel(gate, without_a_tail(block), like=[(5, 7)] * 2)
    shapes = {tuple(one.shape for one in probe.operands) for probe in probes_of(lambda x, w: xp.relu(x @ w), [(5, 4), (4, 1)], None, "float32", 1, True, True)[0]}
    assert ((5, 4), (4, 1)) in shapes and ((1, 65537), (65537, 1)) in shapes and all(x[1] == w[0] and w[1] == 1 for x, w in shapes)

    table = np.ones((5, 4), np.float32)
    with pytest.warns(KernelWarning, match="<lambda>: shapes tried: only the given ones, since the reference takes no others"):
        audit_kernel(lambda x: x + table, lambda x: x + table, like=[(5, 4)])
    with pytest.raises(NotDecided, match=r"declines=IndexError.* say blocks=False"):
        audit_kernel(lambda x: xp.relu(x), lambda x: np.maximum(x, 0) if x.size == 20 else ()[1], like=[(5, 4)])


def test_an_expression_in_float64_that_is_rounded_once_is_right():
    def gate(x, y, r):
        return xp.silu(x) * y + r

    def kernel(x, y, r):
        x, y, r = (one.astype(np.float64) for one in (x, y, r))
        with np.errstate(all="ignore"):
            return (x / (1 + np.exp(-x)) * y + r).astype(np.float32)

    like = [(5, 7)] * 3
    assert audit_kernel(gate, kernel, like=like, **SMALL).passed
    off = audit_kernel(gate, lambda *x: np.nextafter(kernel(*x), np.float32(0)), like=like, raises=False, **SMALL)
    assert off.failed and off.count("failed") > 300
    assert audit_kernel(gate, kernel, like=like, model="any-order fma=no", raises=False, **SMALL).failed  # each step as written

    def in_another_order(x, y, r):
        with np.errstate(all="ignore"):
            return x * (np.float32(1) / (np.float32(1) + np.exp(-x)) * y) + r
    assert "write its own formula as the reference" in audit_kernel(gate, in_another_order, like=like, raises=False, **SMALL).text
    assert "own formula" not in audit_kernel(gate, lambda x, y, r: x * y + r, like=like, raises=False, **SMALL).text

    def with_casts(x, y, r):
        return xp.cast(xp.silu(xp.cast(x, to="float64")), to="float32") * y + r
    assert "step silu" in (text := audit_kernel(with_casts, kernel, like=like, raises=False, **SMALL).text) and "leave casts out" in text


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_operands_of_16_bits(dtype):
    torch = pytest.importorskip("torch")
    kind = getattr(torch, dtype)
    seen = set()

    def softmax(x, axis):
        seen.add(x.dtype)
        return torch.softmax(x.float(), axis).to(kind)

    options = {"arrays": "torch", "dtype": dtype, "blocks": False}
    report = audit_kernel("softmax", softmax, **options)
    assert report.passed and report.probes > 140 and seen == {kind} and report.count("vacuous") < 10

    def narrow(x, axis):  # the sum of exponentials is kept in 16 bits
        e = torch.exp(x.float() - x.float().amax(axis, keepdim=True)).to(kind)
        return (e / e.sum(axis, keepdim=True, dtype=kind)).to(kind)

    assert audit_kernel("softmax", narrow, raises=False, **options).failed
    report = audit_kernel("relu", lambda x, out: out.copy_(torch.relu(x)), out=True, **options)
    assert report.passed
    report = audit_kernel("relu", lambda x, out: out.copy_(torch.relu_(x)), out=True, raises=False, **options)
    assert report.faults[0][0] == "writes into its operands"
    report = audit_kernel("relu", lambda x, out: out.reshape(-1)[1:].copy_(torch.relu(x).reshape(-1)[1:]), out=True, raises=False, **options)
    assert report.faults[0][0] == "leaves elements of its result unwritten"
    assert audit_kernel("matmul", lambda a, b: (a.float() @ b.float()).to(kind), **options).passed
    with pytest.raises(ContractViolation, match="float32 .* instead of " + dtype):
        audit_kernel("relu", lambda x: torch.relu(x.float()), **options)

    def gated(x, y):
        return xp.sigmoid(x) * y

    assert audit_kernel(gated, lambda x, y: (torch.sigmoid(x.float()) * y.float()).to(kind), like="mul", **options).passed
    assert audit_kernel(gated, lambda x, y: (torch.sigmoid(x.float()) * y.float()).to(kind), like=[(3, 5), (5,)], **options).passed
    twice = audit_kernel(gated, lambda x, y: torch.sigmoid(x.float()).to(kind) * y, like="mul", raises=False, **options)
    assert twice.failed  # rounded twice
    if dtype == "float16":
        assert audit_kernel("neg", np.negative, dtype=dtype, blocks=False).passed


def test_composite_regions_of_16_bits():
    torch = pytest.importorskip("torch")

    def norm(x, weight, bias):
        y = torch.nn.functional.layer_norm(x.float(), x.shape[-1:], weight.float(), bias.float(), 1e-5)
        return y.to(torch.bfloat16)

    report = audit_kernel("layer norm", norm, arrays="torch", dtype="bfloat16", model="pytorch-cpu moments=one_or_two_pass", blocks=False)
    assert report.passed and report.probes > 20
    report = audit_kernel("layer norm", lambda x, w, b: norm(x, b, w), arrays="torch", dtype="bfloat16", blocks=False, raises=False)
    assert report.failed and {one.rule for one in report.failures} == {"contract.layer norm"}
