"""audit_kernel: faults of expressions and compositions by name, and shapes at which kernels of attention are wrong."""
from __future__ import annotations

import numpy as np
import pytest

import assay.ops as xp
from assay.testing import audit_kernel

f32 = np.float32
SHORT = {"blocks": False, "strided": False, "raises": False}
NORMED = {"like": [(5, 12), (5, 12), (12,)], **SHORT}


def first_fault(*given, **options):
    report = audit_kernel(*given, **options)
    assert report.failed
    return report.faults[0][0]


def rms(x, w, epsilon=f32(1e-5), added=f32(0)):
    return x / (np.sqrt((x * x).mean(-1, keepdims=True, dtype=f32) + epsilon) + added) * w


def less(x, w, b):
    d = x - x.mean(-1, keepdims=True, dtype=f32)
    return d / np.sqrt((d * d).sum(-1, keepdims=True, dtype=f32) / f32(x.shape[-1] - 1) + f32(1e-5)) * w + b


@pytest.mark.parametrize("op, kernel, words", [
    ("rms norm", lambda x, w: rms(x, w, f32(0), f32(1e-5)), "with epsilon added to the root"), ("rms norm", lambda x, w: rms(x, f32(1)), "without its mul of operand 1"),
    ("rms norm", lambda x, w: rms(x, w, f32(1e-6)), "with an epsilon of 1e-06"), ("layer norm", less, "with one less than the number of elements")])
def test_faults_of_compositions_are_named(op, kernel, words):
    assert first_fault(op, kernel, **SHORT) == f"computes the reference {words}"


def residual(x, r, w):
    return x + r, xp.normalise(x + r, axes=[-1], epsilon=1e-6, form="root_mean") * w


def turned(x, c, s):
    a, b = x[:, :4], x[:, 4:]
    return xp.concatenate([a * c - b * s, b * c + a * s], -1)


def turn(x, c, s):
    a, b = x[:, :4], x[:, 4:]
    return np.concatenate([a * c - b * s, b * c + a * s], -1)


def test_faults_of_expressions_are_named():
    assert first_fault(residual, lambda x, r, w: (x + r, rms(x + r, w)), **NORMED) == "computes the reference with an epsilon of 1e-05"
    assert first_fault(residual, lambda x, r, w: (x + r, rms(x, w, f32(1e-6))), **NORMED) == "computes the reference without its add of operand 1"
    assert first_fault(turned, lambda x, c, s: turn(turn(x, c, s), c, s), like=[(5, 8), (5, 4), (5, 4)], **SHORT) == "computes the reference applied twice"
    assert first_fault(lambda a, b: xp.silu(a) * b, lambda a, b: b / (1 + np.exp(-b)) * a, like=[(5, 9)] * 2, **SHORT) == "computes the reference with operands 0 and 1 exchanged"
    assert first_fault(lambda x, s: x * s, lambda x, s: x * s[:1], like=[(5, 6), (6,)], **SHORT) == "computes the reference with the first row of operand 1 for all"
    def in_fours(x, w):
        end = x.shape[1] // 4 * 4 or x.shape[1]
        return np.maximum(x[:, :end] @ w[:end], 0)
    words = "computes the reference without the terms behind the last whole block of 4 in its matmul"
    assert first_fault(lambda x, w: xp.relu(x @ w), in_fours, like=[(4, 18), (18, 6)], raises=False, strided=False) == words


def padded(x, w, b):
    n = x.shape[-1]
    mean = x.mean(-1, keepdims=True, dtype=f32)
    variance = (((x - mean)**2).sum(-1, keepdims=True) + f32((1 << (n - 1).bit_length()) - n) * mean * mean) / f32(n)
    return (x - mean) / np.sqrt(variance + f32(1e-5)) * w + b


def forgetful_sum(x):
    return np.concatenate([np.cumsum(x[..., s:s + 16], -1, dtype=f32) for s in range(0, x.shape[-1], 16)] or [x], -1)


def not_rescaled(x):
    largest, total = np.full((*x.shape[:-1], 1), -np.inf, f32), np.zeros((*x.shape[:-1], 1), f32)
    for s in range(0, x.shape[-1], 32):
        largest = np.maximum(largest, x[..., s:s + 32].max(-1, keepdims=True))
        total = total + np.exp(x[..., s:s + 32] - np.where(np.isneginf(largest), 0, largest)).sum(-1, keepdims=True)
    return np.exp(x - largest) / total


def last_block_of_equals(x):
    best, at = np.full(x.shape[:-1], -np.inf, f32), np.zeros(x.shape[:-1], np.int64)
    for s in range(0, x.shape[-1], 32):
        place = x[..., s:s + 32].argmax(-1)
        value = np.take_along_axis(x, s + place[..., None], -1)[..., 0]
        takes = ((value >= best) | np.isnan(value)) & ~np.isnan(best)
        at, best = np.where(takes, s + place, at), np.where(takes, value, best)
    return at


def causal(x):
    """As chunks of 8 do that forget the state."""
    own = np.arange(x.shape[0]) // 8
    return np.tri(x.shape[0], dtype=f32) * (own[:, None] == own)


LAST = {"axis": -1}


@pytest.mark.parametrize("op, kernel, words, options", [
    (lambda x, m: xp.tanh(x * 0.125 + m), lambda x, m: np.tanh((x + m) * f32(0.125)), "with its add before its mul", {"like": [(5, 7)] * 2}),
    (lambda x, b: xp.relu(x + b), lambda x, b: np.maximum(x, 0) + b, "with its relu before its add", {"like": [(5, 7), (7,)]}),
    (lambda x, s: x * s, lambda x, s: x * np.resize(s, len(x))[:, None], "with operand 1 along another axis", {"like": [(5, 6), (6,)]}),
    (lambda x, w: xp.tanh(x) * w, lambda x, w: np.tanh(x) * np.repeat(w[::4], 4), "with the first element of each of 2 groups of operand 1 for the whole group", {"like": [(5, 8), (8,)]}),
    (lambda q, x: (q @ xp.transpose(q) * np.tri(20, dtype=f32)) @ x, lambda q, x: (q @ q.T * causal(x)) @ x, "without the terms of other blocks of 8 in its matmul", {"like": [(20, 3), (20, 4)]}),
    ("layer norm", padded, "with squares of the mean for padded lanes in its variance", {}),
    ("cumsum", forgetful_sum, "without the carry of earlier blocks of 16 in its cumsum", {"attributes": {"axis": -1, "exclusive": False, "reverse": False}, "blocks": True}),
    ("softmax", not_rescaled, "without rescaling its sum after each block of 32", {"attributes": LAST, "blocks": True})])
def test_faults_of_regions_are_named(op, kernel, words, options):
    assert first_fault(op, kernel, **{**SHORT, **options}) == f"computes the reference {words}"


def test_the_place_of_an_equal_number_is_named():
    fixed = {**SHORT, "attributes": {"axis": -1, "keep_dims": False, "last": False}, "blocks": True}
    assert first_fault("arg_max", last_block_of_equals, **fixed) == "gives the place of another one of equals"
    assert first_fault("arg_max", lambda x: np.minimum(last_block_of_equals(x), 33), **fixed) == "gives values outside of its contract"


def test_a_fault_of_none_of_these_kinds_has_no_name():
    assert first_fault("rms norm", lambda x, w: rms(x, w) * f32(1 + 2.0**-10), **SHORT) == "gives values outside of its contract"
    assert first_fault(residual, lambda x, r, w: (x + r, rms(x + r, w[::-1], f32(1e-6))), **NORMED) == "gives values outside of its contract"


def test_symptoms_of_all_wrong_results_are_named():
    def softmax(x):
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)
    def of(kernel):
        return first_fault("softmax", kernel, attributes={"axis": -1}, **SHORT)
    assert of(lambda x: np.where(softmax(x) < 1e-3, f32(0), softmax(x))) == "gives 0 where its contract has no 0"
    assert of(lambda x: np.where(softmax(x) < 1e-3, f32(np.nan), softmax(x))) == "gives NaN where its contract has numbers alone"
    assert first_fault(lambda x: xp.abs(x) * 2, lambda x: np.where(x == 0, f32(-0.0), np.abs(x) * 2), like=[(5, 9)], **SHORT) == "gives values outside of its contract"
    known = {}
    assert of(lambda x: known.setdefault(x.shape, softmax(x)).copy()) == "gives the result of an earlier call with operands of the same shapes"


def test_sizes_at_which_alone_results_are_wrong_are_told():
    def lost(x, block):
        n = x.shape[-1]
        return sum((x[..., i:i + block].sum(-1, keepdims=True) for i in range(0, n - n % block, block)), np.zeros((*x.shape[:-1], 1), f32)) * f32(2)
    def first(kernel, like=((3, 100),)):
        return audit_kernel(lambda x: x.sum(axis=-1, keepdims=True) * 2, kernel, like=list(like), strided=False, raises=False).faults[0][0]
    def whole(x):
        return x.sum(-1, keepdims=True) * f32(2)
    words = "gives wrong results only where the size of the last axis of operand 0 is no "
    assert first(lambda x: lost(x, 64)) == words + "multiple of 64" and first(lambda x: lost(x, 32)) == words + "multiple of 32"
    assert first(lambda x: whole(x) + f32(x.shape[-1] & (x.shape[-1] - 1) != 0)) == words + "power of two"
    for is_wrong in (lambda n: n > 200, lambda n: n == 33):  # long rows of any size; one size
        assert first(lambda x, is_wrong=is_wrong: whole(x) + f32(is_wrong(x.shape[-1]))) == "gives values outside of its contract"


def lower(q, k):
    return np.tri(q.shape[1], k.shape[1], dtype=f32)


def test_shapes_at_which_kernels_of_attention_are_wrong():
    """In attention all sizes at once are too much work, so each is tried alone; and an odd number of tiles of 64 or 32 is no whole number of larger ones."""
    def reference(q, k, v):
        return (q @ xp.swapaxes(k, 1, 2) * lower(q, k)) @ v
    def kernel(q, k, v, is_wrong=lambda n: False):
        y = q @ k.swapaxes(1, 2) * lower(q, k) @ v
        return y * f32(1 + is_wrong(q.shape[1]))
    options = {"like": [(2, 9, 6), (2, 9, 6), (2, 9, 5)], "strided": False, "raises": False}
    assert audit_kernel(reference, kernel, **options).passed
    for wrong in (lambda n: n in (33, 65, 129), lambda n: n == 192, lambda n: n == 96):
        assert audit_kernel(reference, lambda q, k, v, wrong=wrong: kernel(q, k, v, wrong), **options).failed


def test_right_attention_of_a_large_width_is_not_vacuous():
    def reference(q, k, v):
        return xp.softmax(q @ xp.swapaxes(k, 1, 2) * 192 ** -0.5, axis=-1) @ v
    def kernel(q, k, v):
        z = q @ k.swapaxes(1, 2) * f32(192 ** -0.5)
        e = np.exp(z - z.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True) @ v
    report = audit_kernel(reference, kernel, like=[(1, 9, 192), (1, 9, 192), (1, 9, 64)], **SHORT)
    assert report.passed and not report.vacuous_shares["sparse"]


def test_an_infinity_may_stand_in_an_expression():
    below = np.tri(4, 6, dtype=bool)
    def kernel(x):
        z = np.where(below, x, f32(-np.inf))
        e = np.exp(z - z.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)
    assert audit_kernel(lambda x: xp.softmax(xp.where(below, x, -np.inf), axis=-1), kernel, like=[(4, 6)], **SHORT).passed


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_shapes_are_made_in_every_format(dtype):
    report = audit_kernel(lambda x, y: x * y, lambda x, y: x * y, like=[(3, 5)] * 2, dtype=dtype, strided=False, raises=False)
    assert report.passed and "129" in report.tried
