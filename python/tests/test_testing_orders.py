"""Equal formulas of expressions: right kernels with other orders pass, bent ones fail, and each formula has the value of the expression."""
from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from assay.errors import UsageError
from assay.testing import Check, ContractViolation, audit_kernel
from assay.testing._orders import Orders
from assay.testing._references import probes_of

ONE = np.float32(1)
# An expression, a kernel with an equal formula, and one that is bent by 1e-6.
KERNELS = {
    "sum of three": (lambda a, b, c: (a + b) + c, lambda a, b, c: a + (b + c), lambda a, b, c: a + (b * np.float32(1.000001) + c)),
    "difference": (lambda a, b, c: a - b - c, lambda a, b, c: a - (b + c), lambda a, b, c: a * np.float32(1.000001) - (b + c)),
    "product": (lambda a, b, c: a * b * c, lambda a, b, c: a * (b * c), lambda a, b, c: a * (b * c) * np.float32(1.000001)),
    "quotients": (lambda a, b, c: a / b / c, lambda a, b, c: a / (b * c), lambda a, b, c: a / (b * (c * np.float32(1.000001)))),
    "reciprocal": (lambda a, b, c: a / b + c, lambda a, b, c: c + a * (ONE / b), lambda a, b, c: c + a * (np.float32(1.000001) / b)),
    "mean": (lambda a, b, c: (a + b + c) / 3, lambda a, b, c: (c + b + a) * np.float32(1 / 3), lambda a, b, c: (c + b + a) * np.float32(0.333334)),
    "square": (lambda a, b, c: a**2 * b - c, lambda a, b, c: -c + a * (a * b), lambda a, b, c: a * (a * b) - c * np.float32(1.000001)),
    "many terms": (lambda a, b, c: a + b + c + a + b + c + a, lambda a, b, c: (a + (a + a)) + ((b + b) + (c + c)), lambda a, b, c: np.float32(3.000003) * a + (b + b) + (c + c)),
}


def audited(reference, kernel, **options):
    with np.errstate(all="ignore"):
        return audit_kernel(reference, kernel, like=[(3, 5)] * 3, raises=False, **options)


@pytest.mark.parametrize("name", KERNELS)
def test_an_equal_formula_passes_and_a_bent_one_fails(name):
    reference, right, bent = KERNELS[name]
    report = audited(reference, right, blocks=False)
    assert report.passed and report.is_reordered and "in another order than the reference has" in report.summary()
    assert audited(reference, right, blocks=False, strict=True).failed
    assert audited(reference, bent, blocks=False).failed


def test_other_formats_and_shapes_pass():
    reference, right, _ = KERNELS["difference"]
    assert audited(reference, right).passed  # with shapes that are made
    assert audited(reference, right, blocks=False, dtype="float64").passed
    assert audited(reference, lambda *given: right(*(one.astype(np.float32) for one in given)).astype(np.float16), blocks=False, dtype="float16").passed
    assert audited(reference, right, blocks=False, dtype="float16").failed  # which adds in float16
    assert audited(reference, lambda a, b, c: a * 1.000001 - (b + c), blocks=False, dtype="float64").failed
    broad = audit_kernel(lambda a, b, c: a * b * c, lambda a, b, c: a * (b * c), like=[(3, 1), (5,), (1,)], blocks=False)
    assert broad.is_reordered


def test_special_values_are_those_of_one_formula():
    """A formula is no licence for infinities: each is that of the steps."""
    def kernel(a, b, c):
        found = a * (b * c)
        return np.where(np.isfinite(found), found, 0).astype(found.dtype)

    assert audited(lambda a, b, c: a * b * c, kernel, blocks=False).failed


def test_formulas_of_two_kernels_do_not_mix():
    """Each element has one of two orders, so that no formula has all of them."""
    def kernel(a, b, c):
        return np.where(np.arange(a.size).reshape(a.shape) % 2 == 0, (a + b) + c, a + (b + c))

    assert audited(lambda a, b, c: (a + b) + c, kernel, blocks=False).failed


def test_strict_is_for_functions_and_orders_that_are_declared_are_kept():
    with pytest.raises(UsageError, match="strict= has no effect"):
        audit_kernel("relu", lambda x: np.maximum(x, 0), strict=True)
    reference, right, _ = KERNELS["sum of three"]
    with pytest.raises(ContractViolation), np.errstate(all="ignore"):
        audit_kernel(reference, right, like=[(3, 5)] * 3, blocks=False, model="any-order accumulator=left_to_right")


def valued(check, operands):
    """The exact value of the nodes of a check, on fractions."""
    values = [np.asarray(one, object) for one in operands]
    steps = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b, "neg": lambda a: -a, "reciprocal": lambda a: 1 / a,
             "concat": lambda *every: np.concatenate(every, -1)}
    for node in check.nodes:
        used, words = [values[i] for i in node.get("operands", [])], node.get("attributes", {})
        values.append(np.asarray(
            steps[node["op"]](*used) if node["op"] in steps
            else np.array([Fraction(one) for one in node["data"]], object).reshape(node["shape"]) if node["op"] == "constant"
            else used[0] ** words["exponent"] if node["op"] == "pow"
            else used[0].reshape(words["shape"]) if node["op"] == "reshape"
            else np.broadcast_to(used[0], words["shape"]) if node["op"] == "expand"
            else used[0].sum(-1), object))
    return values[check.outputs[0]]


@pytest.mark.parametrize("reference, least", [
    (lambda a, b, c: a + b - c, 3), (lambda a, b, c: a * b / c, 8), (lambda a, b, c: -(a - b) - (c - 2), 15), (lambda a, b, c: a / (b / c) + 1 / a, 8),
    (lambda a, b, c: a**3 * b * 0.5, 6), (lambda a, b, c: (a + b) * (c - a) * b + c + a, 9), (lambda a, b, c: a - b - c - a - b - c - a, 1),
    (lambda a, b, c: (1 / b) * (1 / c), 2)])
def test_every_formula_has_the_value_of_the_expression(reference, least):
    probe = probes_of(reference, [(2,), (2,), (1,)], None, "float32", 1, False, False)[0][0]
    check = Check("x", probe.nodes, [*probe.operands, *probe.captured], [], "", probe.outputs)
    orders = Orders(probe, check)
    operands = [[Fraction(3, 7), Fraction(-5)], [Fraction(2, 9), Fraction(11, 3)], [Fraction(13, 5)]]
    wanted, formulas = valued(check, operands), orders.formulas()
    assert len(formulas) >= least and len(set(formulas)) == len(formulas)
    for one in formulas:
        found = orders.check(probe, check, one)
        assert (valued(found, operands) == wanted).all(), one


def test_a_step_that_is_read_twice_stays():
    def reference(a, b, c):
        both = a + b
        return both + c, both * 2

    probe = probes_of(reference, [(2,)] * 3, None, "float32", 1, False, False)[0][0]
    orders = Orders(probe, Check("x", probe.nodes, list(probe.operands), [], "", probe.outputs))
    assert not list(itertools.chain(*orders.formulas()))
