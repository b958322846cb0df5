"""audit_kernel: kernels that are wrong at whole numbers of tiles, in mixed layouts or for wide integers; and right ones that the default declines."""
from __future__ import annotations

import numpy as np
import pytest

import assay.ops as xp
from assay.testing import audit_kernel, probes

SMALL = {"blocks": False, "strided": False}
LAID = {"blocks": False, "raises": False}
f32, strided = np.float32, np.lib.stride_tricks.as_strided


def spoiled(y, is_wrong):
    y = np.array(y)
    y.reshape(-1)[-1:] += is_wrong
    return y


def fused(x, y):
    return x * y + x


@pytest.mark.parametrize("tile", [16, 64, 256, 1024])
def test_given_shapes_become_whole_numbers_of_tiles_and_one_element_more_or_less(tile):
    for beside in (-1, 0, 1):
        def wrong(x, y, beside=beside):
            return spoiled(fused(x, y), x.size > tile and (x.size - beside) % tile == 0)
        assert audit_kernel(fused, wrong, like=[(5, 7)] * 2, raises=False, strided=False).failed, beside


def by_strides_of_the_first(x, y):
    return x + (strided(y, y.shape, x.strides) if x.shape == y.shape and y.size and 0 not in x.strides else y)


def by_the_layout_of_the_first(x, y):
    swapped = [one.ndim == 2 and 0 < one.strides[0] < one.strides[1] for one in (x, y)]
    return spoiled(np.matmul(x, y), swapped[0] != swapped[1] and x.size * y.size > 0)


def by_dense_rows(x):
    dense = x.ndim > 1 and x.size and x.strides[-1] == x.itemsize
    return np.maximum(strided(x, x.shape, np.empty(x.shape, x.dtype).strides) if dense else x, f32(0))


def by_the_last_axis_innermost(x):
    return spoiled(np.maximum(x, 0), x.ndim == 3 and x.size > 0 and x.strides[0] < x.strides[1])


@pytest.mark.parametrize("op, kernel", [("add", by_strides_of_the_first), ("matmul", by_the_layout_of_the_first), ("relu", by_dense_rows)], ids=lambda one: getattr(one, "__name__", ""))
def test_kernels_that_take_the_layout_of_one_operand_for_all_fail(op, kernel):
    report = audit_kernel(op, kernel, **LAID)
    assert report.failed and all(case.group.endswith("in memory") for case in report.cases if case.failed)


def test_a_kernel_that_takes_the_last_axis_for_the_innermost_fails():
    assert audit_kernel(lambda x: xp.relu(x), by_the_last_axis_innermost, like=[(2, 3, 4)], **LAID).failed
    assert audit_kernel(lambda x: xp.relu(x), lambda x: np.maximum(x, f32(0)), like=[(2, 3, 4)], **LAID).passed


@pytest.mark.parametrize("op, kernel, dtype", [
    ("add", lambda x, y: (x.astype(np.int32) + y.astype(np.int32)).astype(np.int64), "int64"),
    ("mul", lambda x, y: (x.astype(np.int32) * y.astype(np.int32)).astype(np.int64), "int64"),
    ("add", lambda x, y: (x.astype(np.int16) + y.astype(np.int16)).astype(np.int32), "int32"),
    ("max", lambda x, y: np.maximum(x.astype(f32), y.astype(f32)).astype(np.int64), "int64"),
    ("bitwise_and", lambda x, y: (x.astype(np.int32) & y.astype(np.int32)).astype(np.int64), "int64"),
    ("equal", lambda x, y: x.astype(np.int16) == y.astype(np.int16), "int32")], ids=str)
def test_kernels_that_cut_integers_off_fail(op, kernel, dtype):
    plan = probes(op, dtypes=[dtype], **SMALL)
    right = {"add": np.add, "mul": np.multiply, "max": np.maximum, "bitwise_and": np.bitwise_and, "equal": np.equal}[op]
    assert audit_kernel(op, right, plan=plan, raises=False).passed
    assert audit_kernel(op, kernel, plan=plan, raises=False).failed


def in_float64(function):
    return lambda *operands: function(*(one.astype(np.float64) for one in operands)).astype(f32)


@pytest.mark.parametrize("reference, function, like", [
    (lambda x: xp.log(1 + xp.exp(x)), lambda x: np.log(1 + np.exp(x)), "exp"),
    (lambda x: xp.sqrt(x * x + 1) - x, lambda x: np.sqrt(x * x + 1) - x, "exp"),
    (lambda x: (1 - xp.cos(x)) / (abs(x) + 1), lambda x: (1 - np.cos(x)) / (abs(x) + 1), "sin")])
def test_expressions_in_float64_pass_where_terms_cancel(reference, function, like):
    assert audit_kernel(reference, in_float64(function), like=like, **SMALL).passed
    off = in_float64(lambda x: function(x) * (1 + 2.0**-20))
    assert audit_kernel(reference, off, like=like, raises=False, **SMALL).failed


def by_log_sum_exp(x, axis):
    top = x.max(axis, keepdims=True)
    return x - (top + np.log(np.exp(x - top).sum(axis, keepdims=True)))


def by_tanh(x):
    return f32(0.5) * (f32(1) + np.tanh(x * f32(0.5)))


@pytest.mark.parametrize("op, kernel, words", [
    ("log_softmax", by_log_sum_exp, "audit_kernel(lambda x, axis: x - xp.log_sum_exp(x, axes=[axis], keep_dims=True), ..., like='log_softmax')"),
    ("sigmoid", by_tanh, "model='any-order sigmoid=tanh_form'. Declare it if it computes a sigmoid by tanh"),
    ("sigmoid", lambda x: by_tanh(x) * f32(1 + 2.0**-12), "")], ids=["log_softmax", "sigmoid", "wrong"])
def test_a_failure_names_the_declaration_that_would_admit_the_results(op, kernel, words):
    report = audit_kernel(op, kernel, raises=False, **SMALL)
    assert report.failed and (words in report.text if words else not report.remedy), report.text


def test_a_long_sum_of_functions_in_float16_fails():
    def reference(x):
        return xp.reduce_sum(xp.exp(x), axes=[-1], keep_dims=False)

    def in_lanes(x):
        high = np.exp(x)
        if x.shape[-1] < 4096:
            return high.sum(-1)
        lanes = np.zeros((*x.shape[:-1], 256), np.float16)
        for start in range(0, x.shape[-1], 256):
            part = high[..., start:start + 256].astype(np.float16)
            lanes[..., :part.shape[-1]] += part
        return lanes.astype(f32).sum(-1)

    assert audit_kernel(reference, in_lanes, like=[(3, 5000)], raises=False, strided=False).failed
