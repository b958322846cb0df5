"""audit_kernel: right kernels pass, wrong twins are found and named; what a kernel may not do is a finding of its own."""
from __future__ import annotations

import copy
import json
import re
from xml.etree import ElementTree

import kernels
import numpy as np
import pytest

import assay.ops as xp
from assay._core.gate_reports import Case, Finding
from assay._core.vocabulary import ROWS
from assay.errors import UsageError
from assay.testing import ContractViolation, Declined, NotDecided, UnknownOperation, WrongAttributes, audit_kernel, probes, within_contract
from assay.testing._kernels import _faults
from assay.testing._plans import LAYOUTS, MIXED, REGIONS

LAST = {"attributes": {"axis": -1}}
OUT = {"out": True, "attributes": {"axis": -1}}
WEIGHT = {"attributes": {"transpose_a": False, "transpose_b": True, "alpha": 1, "beta": 1}}
CENTERED = {"attributes": {"form": "centered"}}

RIGHT = [("relu", kernels.relu_strided, {"out": True}), ("softmax", kernels.softmax_rows, OUT), ("softmax", kernels.softmax_numpy, {}),
         ("softmax", kernels.softmax_numpy, LAST), ("matmul", kernels.matmul, {}), ("gemm", kernels.linear, WEIGHT),
         ("normalise", kernels.layer_norm, CENTERED), ("reduce_mean", kernels.mean, {}), ("tanh", np.tanh, {}), ("add", np.add, {}),
         ("where", np.where, {})]
# Sixteen twins, and what names them.
WRONG = [
    ("softmax", kernels.softmax_without_maximum, OUT, "computes the reference without the maximum taken out"),
    ("relu", kernels.relu_without_tail, {"out": True}, "leaves elements of its result unwritten"),
    ("relu", kernels.relu_by_flat_memory, {"out": True}, "reads operands as if they were dense in memory"),
    ("matmul", kernels.matmul_in_half, {}, "computes the reference with sums in float16"),
    ("relu", kernels.relu_off_by_one, {"out": True}, "writes outside of its result"),
    ("softmax", kernels.softmax_short_mask, OUT, "with the last element of each line masked out"),
    ("reduce_sum", kernels.reduce_into_empty, {}, "leaves elements of its result unwritten"),
    ("softmax", kernels.softmax_in_place, {}, "writes into its operands"),
    ("matmul", kernels.matmul_unsteady, {}, "gives another result from the same operands"),
    ("softmax", kernels.softmax_other_axis, {}, "computes the reference along axis 0"),
    ("gemm", kernels.linear_untransposed, WEIGHT, "with operand 1 read as if it lay transposed"),
    ("normalise", kernels.layer_norm_epsilon_outside, CENTERED, "with epsilon outside the root"),
    ("normalise", kernels.layer_norm_of_sample, CENTERED, "with the variance of a sample"),
    ("reduce_mean", kernels.mean_of_sample, {}, "divided by one less"),
]


def masked_softmax(fill, empty):
    """A softmax of open elements that fills masked ones; rows with nothing open are `empty`, unless it is None."""
    def kernel(x, mask, axis):
        z = np.where(mask, x, np.float32(fill))
        high = np.exp(z - z.max(axis, keepdims=True))
        y = high / high.sum(axis, keepdims=True)
        return y if empty is None else np.where(mask.any(-1, keepdims=True), y, np.float32(empty))
    return kernel


@pytest.mark.parametrize("fill, empty, is_zero, words", [
    (-np.inf, 0, True, ""), (-np.inf, None, False, ""), (-np.inf, 0, False, "the other convention for rows with nothing open"),
    (-np.inf, None, True, "the other convention for rows with nothing open"), (-1e9, None, False, "a large negative number, such as -1e9, in place of masked"),
    (-np.inf, np.nan, True, "the other convention for rows with nothing open")])
def test_what_a_masked_softmax_does_with_nothing_open_is_named(fill, empty, is_zero, words):
    report = audit_kernel("masked_softmax", masked_softmax(fill, empty), attributes={"axis": -1, "empty_is_zero": is_zero}, raises=False, blocks=False, strided=False)
    assert report.passed != bool(words)
    assert not words or (len(report.faults) == 1 and words in report.faults[0][0])
    assert ("attributes={'empty_is_zero': True} for 0" in report.text) == ("convention" in words)


def test_a_normalisation_may_have_another_epsilon():
    def rms_norm(x, weight, epsilon=1e-6):
        return x * (1 / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(epsilon))) * weight

    options = {"blocks": False, "strided": False}
    assert audit_kernel("rms norm", lambda x, weight: rms_norm(x, weight), attributes={"epsilon": 1e-6}, **options).passed
    assert audit_kernel("rms norm", rms_norm, attributes={"epsilon": 1e-3}, **options).passed
    text = audit_kernel("rms norm", lambda x, weight: rms_norm(x, weight), raises=False, **options).text
    assert "added under the root. If the kernel has another one there, say which: attributes={'epsilon': 1e-6}" in text
    x = np.linspace(-1, 1, 24, dtype=np.float32).reshape(2, 12)
    assert within_contract("rms norm", [x, x[0]], rms_norm(x, x[0]), attributes={"eps": 1e-6}).passed
    assert not within_contract("rms norm", [x, x[0]], rms_norm(x, x[0])).passed
    with pytest.raises(WrongAttributes, match="rms norm has only the attribute epsilon, but was given axis"):
        audit_kernel("rms norm", rms_norm, attributes={"axis": -1})
    with pytest.raises(WrongAttributes, match="attention has no attributes, but was given epsilon"):
        audit_kernel("attention", rms_norm, attributes={"epsilon": 1})


@pytest.mark.parametrize("op, kernel, options", RIGHT)
def test_right_kernels_pass(op, kernel, options):
    report = audit_kernel(op, kernel, **options)
    assert report.passed and report.probes > 50 and report.count("passed") > 500 and not report.faults


@pytest.mark.parametrize("op, kernel, options, name", WRONG, ids=[one[1].__name__ for one in WRONG])
def test_wrong_twins_are_found_and_named(op, kernel, options, name):
    with pytest.raises(ContractViolation) as raised:
        audit_kernel(op, kernel, **options)
    words = [fault for fault, _ in raised.value.report.faults]
    assert name in words[0], words
    assert words[0] in str(raised.value)


def test_reports_are_written():
    report = audit_kernel("softmax", kernels.softmax_in_place, raises=False)
    suites = ElementTree.fromstring(report.junit())
    failure = suites.find("testsuite/testcase/failure")
    assert suites.get("failures") == "1" and failure.get("type") == "probe.operand"
    assert re.match(r"\d\d of \d\d probes of this kind, first: the kernel writes into its operands", failure.get("message"))
    # A test case for each kind of probe and layout, with all details; those after the first name the case that stands for them.
    assert 5 < int(suites.get("skipped")) < int(suites.get("tests")) < 40
    names = [one.get("name") for one in suites.iter("testcase")]
    assert len(set(names)) == len(names) and any(name.endswith("softmax: dense float32, 16 probes") for name in names)
    assert failure.text.count("operand 0 was written: element") > 10
    sarif = json.loads(report.sarif())
    assert sarif["version"] == "2.1.0" and sarif["runs"][0]["results"][0]["ruleId"] == "probe.operand"


def test_what_a_fault_does_not_explain_is_told():
    report = audit_kernel("softmax", kernels.softmax_without_maximum, raises=False, blocks=False, strided=False, **OUT)
    (fault, told), (rest, alone), *others = report.faults
    assert fault == "computes the reference without the maximum taken out" and rest == "gives nothing but NaN, of which many faults are the cause"
    assert told + alone + sum(count for _, count in others) == sum(case.failed > 0 for case in report.cases)
    assert re.search(rf"{alone} of them \(\d shifted, \d range\): it {rest}", report.text) and "range" in report.kinds[fault]


def test_results_that_later_calls_change_are_found():
    buffers, kept = {}, []

    def static(x):
        return np.negative(x, out=buffers.setdefault(x.shape, np.empty(x.shape, x.dtype)))

    def late(x, out=None):
        kept.append(np.negative(x, out=out))
        if len(kept) > 3:
            kept.pop(0).fill(0)
        return kept[-1]

    plan = probes("neg", blocks=False, strided=False)[:30]
    for kernel, options in ((static, {}), (late, {}), (late, {"out": True})):
        report = audit_kernel("neg", kernel, raises=False, plan=plan, **options)
        assert [words for words, _ in report.faults] == ["changes a result that it gave before"], report.text
        assert {one.rule for one in report.failures} == {"probe.overwritten"}
    # A view of an operand is a result like any other.
    assert audit_kernel("permute", lambda x, axes: x.transpose(axes), plan=probes("permute", blocks=False, strided=False)[:30]).passed


def test_a_fault_that_explains_few_probes_is_no_hint():
    wrong = Finding("fail", "contract.reduce_sum", "y", "1 of 2 elements are outside", ["the result equals the reference with halves away from 0, bit for bit", "where"])
    right = Finding("fail", "contract.reduce_sum", "y", "1 of 2 elements are outside", ["where"])
    outside = Finding("fail", "probe.outside", "x", "the kernel reads outside of its operands")
    for others in ([right], [right, outside]):  # a rule that explains the others leaves one case, which the fault would explain
        cases = [Case("a", "reduce_sum", failed=1, findings=[copy.deepcopy(wrong)])]
        cases += [Case("b", "reduce_sum", failed=1, findings=copy.deepcopy(others)) for _ in range(5)]
        assert not any("halves" in words for words, _ in _faults(cases, set()))
        assert cases[0].findings[0].details == ["where"]


def test_a_mean_that_is_merged_may_round():
    """Welford's method over a row whose sum is exact: an element that equals the mean gives a tiny number, in float16 a zero of either sign."""
    def layer_norm(x, w, b):
        rows = x.astype(np.float32)
        mean, m2 = np.zeros_like(rows[..., :1]), np.zeros_like(rows[..., :1])
        for k in range(rows.shape[-1]):
            d = rows[..., k:k + 1] - mean
            mean = mean + d / np.float32(k + 1)
            m2 = m2 + d * (rows[..., k:k + 1] - mean)
        y = (rows - mean) / np.sqrt(m2 / np.float32(rows.shape[-1]) + np.float32(1e-5))
        return (y * w.astype(np.float32) + b.astype(np.float32)).astype(np.float16)

    every = probes("layer norm", dtype="float16", strided=False)
    plan = [one for one in every if "129: integers" in one.name]
    assert audit_kernel("layer norm", layer_norm, plan=plan).passed
    report = audit_kernel("layer norm", layer_norm, plan=[one for one in every if "8193: dense" in one.name][:1], model="any-order moments=welford")
    assert report.count("vacuous") == 0
    with pytest.raises(ContractViolation):
        audit_kernel("layer norm", lambda x, w, b: layer_norm(x, w, b) + np.float16(2**-9), plan=plan)


def test_a_compiled_kernel_by_ctypes():
    call = kernels.compiled()
    if call is None:
        pytest.skip("no C compiler")

    def kernel(x, out, epsilon, wrong=0):
        call(x, out, epsilon, wrong)

    pinned = {"form": "centered", "axes": [-1], "epsilon": 1e-5}
    audit_kernel("normalise", kernel, out=True, attributes=pinned)
    report = audit_kernel("normalise", lambda x, out, epsilon: kernel(x, out, epsilon, 1), out=True, attributes=pinned, raises=False)
    assert report.faults[0][0] == "computes the reference with epsilon outside the root"


def test_a_torch_extension():
    torch = pytest.importorskip("torch")
    cpp = pytest.importorskip("torch.utils.cpp_extension")
    source = """
      torch::Tensor mean(torch::Tensor x, std::vector<int64_t> axes, bool keep) { return x.contiguous().mean(axes, keep); }
      torch::Tensor wrong(torch::Tensor x, std::vector<int64_t> axes, bool keep) {
        int64_t n = 1;
        for (int64_t axis : axes) n *= x.size(axis);
        return x.sum(axes, keep) / static_cast<float>(n - 1);
      }"""
    try:
        module = cpp.load_inline("assay_test_mean", cpp_sources=source, functions=["mean", "wrong"], extra_cflags=["-O0"])
    except (RuntimeError, OSError, ImportError) as why:
        pytest.skip(f"torch extensions do not compile here: {str(why)[:200]}")
    options = {"arrays": "torch", "model": "pytorch-cpu", "blocks": False}
    audit_kernel("reduce_mean", lambda x, axes, keep_dims: module.mean(x, list(axes), keep_dims) if axes else x, **options)
    report = audit_kernel("reduce_mean", lambda x, axes, keep_dims: module.wrong(x, list(axes), keep_dims), raises=False, **options)
    assert report.faults[0][0] == "computes the reference divided by one less"
    assert torch.is_tensor(torch.ones(1))


def test_functions_of_torch():
    torch = pytest.importorskip("torch")
    options = {"arrays": "torch", "model": "pytorch-cpu", "blocks": False}
    audit_kernel("softmax", lambda x, axis: torch.softmax(x, axis), **options)
    audit_kernel("relu", lambda x, out: torch.clamp_min(x, 0, out=out), out=True, **options)
    report = audit_kernel("relu", lambda x, out: out.copy_(torch.relu_(x)), out=True, raises=False, **options)
    assert report.faults[0][0] == "writes into its operands"
    report = audit_kernel("exp", lambda x: torch.empty_like(x), raises=False, **options)
    assert not report.passed


def test_composite_regions():
    def rms_norm(x, gain):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-5)) * gain

    plan = probes("rms norm", blocks=False)
    assert len({len(one.operands) for one in plan}) == 1
    report = audit_kernel("rms norm", rms_norm, plan=plan, raises=False)
    assert report.probes == len(plan)


def backward_of(function, bent=lambda found: found):
    """PyTorch's gradients of a function of all operands but the last one, which is the cotangent; the first one bent."""
    def kernel(*operands):
        import torch
        inputs = [one.detach().clone().requires_grad_() for one in operands[:-1]]
        found = torch.autograd.grad(function(*inputs), inputs, operands[-1].clone())
        return [bent(found[0]), *found[1:]]
    return kernel


@pytest.mark.parametrize("model", ["any-order", "pytorch-cpu"])
def test_products_of_normalisations_of_torch(model):
    """Means that are merged from parts, and products with a reciprocal of the root, lie in the contract; other formulas do not."""
    torch = pytest.importorskip("torch")
    functional = torch.nn.functional
    def rms_norm(x, w, epsilon=1e-5):
        return functional.rms_norm(x, x.shape[-1:], w, epsilon)
    def layer_norm(x, w, b, epsilon=1e-5):
        return functional.layer_norm(x, x.shape[-1:], w, b, epsilon)
    for op, function in (("rms norm backward", rms_norm), ("layer norm backward", layer_norm)):
        assert audit_kernel(op, backward_of(function), arrays="torch", model=model).passed
        wrong = [backward_of(lambda *operands, function=function: function(*operands, epsilon=1.1e-5)), backward_of(function, lambda x: x * (1 + 2.0**-18))]
        for kernel in wrong:
            assert audit_kernel(op, kernel, arrays="torch", model=model, strided=False, raises=False).failed, op


def test_a_kernel_declines_by_raising_and_declining_all_is_no_pass():
    def few(x):
        if x.ndim != 2:
            raise Declined("matrices only")
        return np.maximum(x, 0)

    report = audit_kernel("relu", few)
    assert report.passed and 0 < len(report.declined) < report.probes and report.declined[0][1] == "matrices only"
    with pytest.raises(NotDecided, match="declined"):
        audit_kernel("relu", lambda x: 1 / 0)

    def silent(x, axis):
        raise NotImplementedError
    words = r"softmax: integers float32': NotImplementedError: no reason given; the operands were float32 \[3, 4\], the attributes axis=1"
    assert re.search(words, repr(audit_kernel("softmax", silent, blocks=False, strided=False, raises=False)))


def test_a_model_that_is_refused_names_the_probe():
    with pytest.raises(Exception, match="softmax: integers float32, execution model: expected softmax=max_subtracted or softmax=online") as refused:
        audit_kernel("softmax", kernels.softmax_numpy, model="any-order softmax=blockwise", blocks=False, strided=False)
    assert "recorded" not in str(refused.value)


def test_an_exception_that_is_no_refusal_is_no_pass():
    def kernel(x):
        if not x.flags.c_contiguous:
            raise ValueError("dense arrays only")
        return np.maximum(x, 0)

    report = audit_kernel("relu", kernel, blocks=False, raises=False)
    assert report.undecided and report.raised == report.declined and 0 < len(report.raised) < report.probes
    words = rf"{len(report.raised)} declined \({len(report.raised)} by an exception that is no refusal\), such as '.*': ValueError: dense arrays only"
    assert re.search(words, repr(report)) and report.findings[0].rule == "probe.raised"
    with pytest.raises(NotDecided, match="allow the exception: declines=ValueError"):
        audit_kernel("relu", kernel, blocks=False)
    for declines in (ValueError, (KeyError, ValueError)):
        allowed = audit_kernel("relu", kernel, blocks=False, declines=declines)
        assert allowed.passed and not allowed.raised and "such as" in repr(allowed) and "no refusal" not in repr(allowed)
    assert audit_kernel("relu", kernel, blocks=False, declines=KeyError, raises=False).undecided
    with pytest.raises(UsageError, match="wrong argument at declines: expected an exception such as ValueError"):
        audit_kernel("relu", kernel, declines="ValueError")


def test_a_crash_does_not_hide_wrong_values():
    def kernel(x):
        if not x.flags.c_contiguous:
            raise IndexError("out of range")
        return np.maximum(x, 0) + 1

    report = audit_kernel("relu", kernel, blocks=False, raises=False)
    assert report.failed and report.raised and f"of {report.probes - len(report.raised)} judged probes fail" in report.text


def test_a_kernel_that_returns_nothing_is_told_of_out():
    def kernel(x, out=None):
        pass

    with pytest.raises(ContractViolation, match="the kernel returned None. Return the result; .* out=True"):
        audit_kernel("relu", kernel, blocks=False)


def test_one_element_is_no_plural():
    def kernel(x, out):
        np.maximum(x, 0, out=out)
        np.lib.stride_tricks.as_strided(out, (out.size + 1,), (out.itemsize,))[out.size:] = 3

    report = audit_kernel("relu", kernel, out=True, blocks=False, strided=False, raises=False)
    assert any("1 element beside the result was written" in one.message for one in report.failures) and "1 elements" not in report.text


def test_wrong_shapes_and_types_are_findings():
    for kernel, words in ((lambda x: np.maximum(x, 0).astype(np.float64), "float64"), (lambda x: np.maximum(x, 0)[None], r"\[1, ")):
        with pytest.raises(ContractViolation, match=words):
            audit_kernel("relu", kernel, blocks=False)


def test_positions_may_have_another_integer_type():
    audit_kernel("arg_max", lambda x, axis, keep_dims: x.argmax(axis, keepdims=keep_dims).astype(np.int32),
                 attributes={"last": False}, plan=[one for one in probes("arg_max", attributes={"last": False}, blocks=False) if _is_ordinary(one)])


def _is_ordinary(probe):
    return probe.kind in ("integers", "dense")


def test_pinned_attributes_reach_the_kernel_or_stay_out():
    seen = set()

    def kernel(x, axis):
        seen.add(axis)
        return kernels.softmax_numpy(x, axis)

    audit_kernel("softmax", kernel, blocks=False, strided=False, **LAST)
    assert seen == {1, 2} or seen == {0, 1, 2}
    audit_kernel("leaky_relu", lambda x: np.where(x > 0, x, x * np.float32(0.125)), attributes={"slope": 0.125}, blocks=False)
    with pytest.raises(ContractViolation):
        audit_kernel("leaky_relu", lambda x: np.where(x > 0, x, x * np.float32(0.125)), attributes={"slope": 0.25}, blocks=False)
    with pytest.raises(UsageError, match="no parameter 'axis' of softmax"):
        audit_kernel("softmax", lambda x: x)
    with pytest.raises(WrongAttributes):
        audit_kernel("softmax", lambda x: x, attributes={"temperature": 1})
    with pytest.raises(UnknownOperation):
        audit_kernel("sofmax", lambda x: x)
    with pytest.raises(UsageError):
        audit_kernel("relu", lambda x, out: None, out=True, arrays=np.asarray)


def test_plans_are_the_programs_with_layouts_beside_them():
    plan = probes("matmul", blocks=False)
    assert {one.layout for one in plan} == {*LAYOUTS, *MIXED}
    assert {"integers", "dense", "one hot", "special values"} <= {one.kind for one in plan}
    assert all(one.operands[0].dtype == "float32" for one in plan)
    assert {one.operands[0].dtype for one in probes("add", dtypes=["int8", "uint64"])} == {"int8", "uint64"}
    assert {one.operands[0].dtype for one in probes("add", dtype="float64")} == {"float64"}


@pytest.mark.parametrize("op", ["softmax", "log_softmax"])
def test_the_plan_in_16_bits_is_never_beyond_the_budget_of_foreign_traces(op):
    def kernel(x, axis=-1):
        wide = np.asarray(x).astype(np.float32)
        shifted = wide - wide.max(axis=axis, keepdims=True)
        if op == "softmax":
            powers = np.exp(shifted)
            return (powers / powers.sum(axis=axis, keepdims=True)).astype(np.float16)
        return (shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))).astype(np.float16)

    assert audit_kernel(op, kernel, dtype="float16", raises=False).verdict == "passed"


def test_operations_and_types_by_the_names_that_users_have():
    from assay.testing._plans import row_named, type_named

    for name in (*ROWS, *REGIONS):
        words = re.split("[ _]", name)
        assert {row_named(between.join(words)) for between in (" ", "_", "-", "")} == {name} == {row_named(name.title())}
    assert row_named("Nothing") == "Nothing" and audit_kernel("layer-norm", lambda x, w, b: kernels.layer_norm(x, -1, 1e-5) * w + b, blocks=False, strided=False).passed
    x = np.ones((2, 3), np.float32)
    assert within_contract("reduce sum", [x], x.sum(1), attributes={"axis": 1, "keepdims": False}).passed and within_contract("Rms_Norm", [x, x[0]], x).failed
    assert type_named(np.float16) == type_named(np.dtype("float16")) == type_named("float16") == "float16"
    for wrong in ("fp16", np.int8, 3, None):
        with pytest.raises(ValueError, match="wrong argument at dtype: expected one of float32"):
            audit_kernel("relu", lambda x: x, dtype=wrong)
    assert audit_kernel("Relu", lambda x: np.maximum(x, np.float16(0)), dtype=np.float16, blocks=False, strided=False, raises=False).probes


def test_numpys_words_for_attributes_reach_the_kernel():
    def norm(x, axis, eps):
        centered = x - x.mean(axis, keepdims=True)
        return centered / np.sqrt((centered * centered).mean(axis, keepdims=True) + np.float32(eps))

    small = {"blocks": False, "strided": False}
    for attributes in ({"axis": -1, "eps": 1e-5}, {"axes": -1, "epsilon": 1e-5}, {"axis": -1}, {"axis": -1, "eps": 1e-5, "form": "centered"}):
        assert audit_kernel("normalise", norm, attributes=attributes, **small).passed
    assert audit_kernel("normalise", lambda x: norm(x, -1, 1e-5), attributes={"axis": -1, "eps": 1e-5}, **small).passed
    assert audit_kernel("normalise", lambda x: norm(x, -1, 1e-3), attributes={"axis": -1, "eps": 1e-5}, raises=False, **small).failed
    with pytest.raises(UsageError, match="no parameter 'epsilon' of normalise"):
        audit_kernel("normalise", lambda x, axes: x, **small)
    with pytest.raises(WrongAttributes, match=r"no probe of conv fits .*; its probes have strides \(1, 1\), \(2, 1\)"):
        audit_kernel("conv", lambda x, w, b=None: x, attributes={"strides": [7, 7]}, **small)


@pytest.mark.parametrize("name, meant", [("layernrm", "layer norm"), ("softmx", "softmax"), ("logsoftmax_backwards", "log softmax backward")])
def test_an_unknown_operation_has_a_nearest_one(name, meant):
    for call in (lambda: audit_kernel(name, lambda x: x), lambda: probes(name)):
        with pytest.raises(UnknownOperation, match=f"unknown operation '{name}'; did you mean '{meant}'"):
            call()


def test_an_unknown_operation_that_is_near_to_none_has_both_lists():
    for call, words in ((lambda: probes("zzzz"), "lists the operations, and the compositions are 'attention', "), (lambda: within_contract("zzzz", [], []), "lists the operations$")):
        with pytest.raises(UnknownOperation, match=words):
            call()


def test_a_kernel_with_other_parameters_is_told_the_operands():
    with pytest.raises(NotDecided, match=r"cannot be called with 3 operands, in order x float32 \[3, 5\], weight float32 \[5\], bias float32 \[5\]: too many"):
        audit_kernel("layer norm", lambda x: x, blocks=False, strided=False)
    for region, names in REGIONS.items():
        assert {len(one.operands) for one in probes(region, blocks=False, strided=False)} <= {len(names.split()), len(names.split()) - names.endswith("mask")}


def test_names_are_listed_before_they_are_used():
    import assay.testing

    assert set(assay.testing.__all__) <= set(dir(assay.testing))


def test_a_summary_names_what_it_counts():
    report = audit_kernel("relu", lambda x: x, raises=False)
    counts, judged = report.counts, report.probes - report.left
    assert report.left and f"of {judged} judged probes fail" in report.text
    assert report.summary() == (f"failed: {report.probes} probes; {sum(counts.values())} elements: {counts['passed']} passed, {counts['failed']} failed, "
                                f"{counts['vacuous']} vacuous, {counts['unsupported']} unsupported; {report.left} not judged, since enough others fail")
    assert within_contract("relu", [np.float32([1])], np.float32([1])).summary() == "passed: 1 case; 1 element: 1 passed, 0 failed, 0 vacuous, 0 unsupported"


def test_options_without_effect_are_refused():
    """Each would leave a test green that judges something else than its author meant."""
    small, plan, negated = {"blocks": False, "strided": False}, probes("relu", blocks=False, strided=False)[:3], lambda x: xp.neg(x)
    along = probes("softmax", attributes={"axis": 1}, blocks=False, strided=False)[:3]
    for call, words in (
            (lambda: audit_kernel("relu", relu, like="softmax", **small), "like= has no effect.*'relu' is an operation that has probes of its own"),
            (lambda: audit_kernel("neg", np.negative, plan=plan), "its probes are of relu, and not of neg"),
            (lambda: audit_kernel("softmax", kernels.softmax_numpy, plan=along, attributes={"axis": 0}), "the attributes of a probe are {'axis': 1}"),
            (lambda: audit_kernel(lambda x: xp.softmax(x, axis=0), relu, plan=along, attributes={"axis": 0}), "the attributes of a probe are {'axis': 1}"),
            (lambda: audit_kernel("relu", relu, plan=plan, dtype="float16"), "dtype='float16' has no effect"),
            (lambda: audit_kernel("relu", relu, plan=plan, seed=2), "seed= has no effect.*plan= already has the probes"),
            (lambda: audit_kernel("relu", relu, plan=plan, blocks=False), "blocks= has no effect"),
            (lambda: audit_kernel("relu", relu, plan=[]), "plan: expected a list of at least one of the probes"),
            (lambda: audit_kernel("relu", relu, device="cuda", **small), "device= has no effect"),
            (lambda: audit_kernel("relu", relu, arrays="jax", **small), "arrays: expected 'numpy', 'torch', or a function"),
            (lambda: audit_kernel("relu", relu, repeats=1, **small), "repeats: expected a whole number from 2"),
            (lambda: audit_kernel("relu", relu, blocks="no"), "blocks: expected True or False"),
            (lambda: audit_kernel("relu", relu, attributes=["axis"], **small), "attributes: expected a mapping"),
            (lambda: audit_kernel("logical_not", np.logical_not, dtype="float16", **small), "no probe of logical_not has operands of this type"),
            (lambda: audit_kernel(negated, np.negative, like=[(3, 4)], attributes={"axs": 1}, **small), "neither the reference nor the kernel has a parameter 'axs'"),
            (lambda: audit_kernel(negated, np.negative, like=[(0,)]), "no probe has a result with elements"),
            (lambda: probes("relu", dtypes=["float33"]), "dtypes: expected some of float32"),
            (lambda: probes("relu", strided="no"), "strided: expected True or False")):
        with pytest.raises(UsageError, match=words):
            call()
    with pytest.raises(TypeError, match="axes"):
        audit_kernel("softmax", kernels.softmax_numpy, axes=1)


def test_a_plan_gives_its_operands_to_a_function():
    """Which says what is right: the plan's own operation is not meant."""
    plan = probes("relu", blocks=False, strided=False)[:3]
    assert audit_kernel(lambda x: xp.neg(x), np.negative, plan=plan).passed
    assert audit_kernel(lambda x: xp.neg(x), relu, plan=plan, raises=False).failed


def relu(x):
    return np.maximum(x, 0)


def test_operands_that_are_written_on_purpose():
    def negated(x):
        x[...] = -x
        return x.copy()

    report = audit_kernel("neg", negated, blocks=False, strided=False, raises=False)
    finding = next(one for one in report.failures if one.rule == "probe.operand")
    assert report.failed and "operand 0 was written: element [" in finding.message and finding.first["from"] != finding.first["to"]
    assert audit_kernel("neg", negated, blocks=False, strided=False, writes=(0,)).passed
    with pytest.raises(UsageError, match="writes"):
        audit_kernel("neg", negated, blocks=False, strided=False, writes=(1,))


def test_a_result_of_a_composition_by_name():
    x, weight = np.linspace(-2, 2, 10, dtype=np.float32).reshape(2, 5), np.ones(5, np.float32)
    y = x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-5)) * weight
    assert within_contract("rms norm", [x, weight], y).passed and within_contract("rms norm", [x, weight], y * np.float32(1.01)).failed


def test_attention_by_name_is_that_of_its_probes():
    probe = next(one for one in probes("attention") if len(one.operands) == 4)
    q, k, v, mask = (one.numpy() for one in probe.operands)
    scores = np.where(mask, q @ k.transpose(0, 2, 1) / np.sqrt(np.float32(q.shape[-1])), np.float32(-np.inf))
    most = np.max(scores, -1, keepdims=True)
    terms = np.exp(scores - np.where(np.isfinite(most), most, np.float32(0)))
    y = np.float32(terms / np.maximum(terms.sum(-1, keepdims=True), np.float32(1e-30))) @ v
    check = within_contract("attention", [q, k, v, mask], y)
    assert check.passed and within_contract("attention", [q, k, v, mask], y + np.float32(0.01)).failed
    with pytest.raises(UsageError, match="audit_kernel"):
        within_contract("rms norm backward", [q], q)
