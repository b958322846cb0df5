"""The native functions behind assay.testing."""
import ctypes

import pytest

import assay
from assay import _native
from conftest import GLIBC

numpy = pytest.importorskip("numpy")


def t(array):
    return str(array.dtype), array.shape, numpy.ascontiguousarray(array)


@pytest.fixture
def x():
    return numpy.random.default_rng(0).standard_normal((4, 7), dtype=numpy.float32)


def test_a_right_and_a_wrong_result(x):
    kind, counts, text = _native.check_contract("relu", {}, GLIBC, [t(x)], t(numpy.maximum(x, 0)))
    assert kind == "passed" and counts == {"passed": 28, "failed": 0, "vacuous": 0, "unsupported": 0} and text.startswith("passed: 28")
    bent = numpy.maximum(x, 0)
    bent[2, 3] += 1
    kind, counts, text = _native.check_contract("relu", None, GLIBC, [t(x)], t(bent))
    assert kind == "failed" and counts["failed"] == 1 and "first and worst at [2, 3]: received 1" in text


def test_attributes_and_types(x):
    shifted = x - x.max(1, keepdims=True)
    y = numpy.exp(shifted) / numpy.exp(shifted).sum(1, keepdims=True, dtype=numpy.float32)
    assert _native.check_contract("softmax", {"axis": 1}, GLIBC, [t(x)], t(y))[0] == "passed"
    assert _native.check_contract("softmax", {"axis": 0}, GLIBC, [t(x)], t(y))[0] == "failed"
    wide = x.astype(numpy.float64)
    assert _native.check_contract("mul", {}, "binary64", [t(wide), t(wide)], t(wide * wide))[0] == "passed"
    whole = numpy.arange(6, dtype=numpy.int64)
    assert _native.check_contract("add", {}, GLIBC, [t(whole), t(whole)], t(2 * whole))[0] == "passed"
    assert _native.check_contract("add", {}, GLIBC, [t(whole), t(whole)], t(2 * whole + (whole == 5)))[0] == "failed"
    assert _native.check_contract("less", {}, GLIBC, [t(x), t(x)], t(x < x))[0] == "passed"
    assert _native.check_contract("add", {}, GLIBC, [t(x), t(x)], t((x + x)[:, :6]))[0] == "failed"  # another shape


def test_a_fault_of_the_bank_is_named(x):
    kind, _, text = _native.check_contract("reduce_mean", {"axes": [1]}, GLIBC, [t(x)], t(x.sum(1, keepdims=True) / numpy.float32(6)))
    assert kind == "failed" and "the result " in text, text


def test_halves_are_widened_exactly():
    every = numpy.arange(2**16, dtype=numpy.uint16)
    bits = every.view(numpy.float16)
    keep = numpy.isfinite(bits)
    wide = bits[keep].astype(numpy.float32)
    kind, counts, text = _native.check_contract("relu", {}, GLIBC, [("float16", (int(keep.sum()),), every[keep])], t(numpy.maximum(wide, 0)))
    assert kind == "passed", text
    double = numpy.nextafter(bits[keep], numpy.float16(9))
    kind, counts, text = _native.check_contract("relu", {}, GLIBC, [("float16", (int(keep.sum()),), every[keep])],
                                                ("float16", (int(keep.sum()),), numpy.maximum(double, numpy.float16(0))))
    assert kind == "failed" and "float16 step" in text, text
    kind, _, _ = _native.check_contract("equal", {}, GLIBC + " storage=same", [("float32", wide.shape, wide), t(wide)], t(wide == wide))
    assert kind == "passed"


def test_regions(x):
    w = numpy.ones((7, 3), numpy.float32)
    nodes = '{"nodes": [{"op": "matmul", "operands": [0, 1]}, {"op": "relu", "operands": [2]}], "outputs": [2, 3]}'
    y = x @ w
    assert _native.check_region(nodes, GLIBC, [t(x), t(w)], [t(y), t(numpy.maximum(y, 0))])[0] == "passed"
    assert _native.check_region(nodes, GLIBC, [t(x), t(w)], [t(y), t(y)])[0] == "failed"
    assert _native.infer_region(nodes, [("float32", (4, 7)), ("float32", (7, 3))], 2) == [("float32", (4, 3))] * 2
    with pytest.raises(assay.UsageError, match="2 results"):
        _native.check_region(nodes, GLIBC, [t(x), t(w)], [t(y)])


def test_a_large_result_on_a_thread_of_its_own():
    a = numpy.random.default_rng(1).standard_normal((200, 300), dtype=numpy.float32)
    assert _native.check_contract("abs", {}, GLIBC, [t(a)], t(numpy.abs(a)))[1]["passed"] == 60000


def softmax(op, attributes, operands, result):
    dtype, shape, strides, memory = operands[0]
    a = numpy.lib.stride_tricks.as_strided(numpy.frombuffer(memory, dtype), shape, [s * numpy.dtype(dtype).itemsize for s in strides])
    out = numpy.frombuffer(result[2], result[0]).reshape(result[1])
    with numpy.errstate(all="ignore"):
        e = numpy.exp(a - a.max(attributes["axis"], keepdims=True)) if a.size else a
        out[...] = e / e.sum(attributes["axis"], keepdims=True)


SMALL = {"large": False, "blocks": False}


def codes(found):
    return {why["code"] for _, why in found["faults"]}


def test_probes_are_tensors_with_attributes():
    plan = _native.probes("softmax", **SMALL)
    assert len(plan) > 50 and plan[0]["op"] == "softmax" and plan[0]["attributes"] == {"axis": 1}
    dtype, shape, data = plan[0]["operands"][0]
    assert len(data) == numpy.dtype(dtype).itemsize * int(numpy.prod(shape))
    assert {probe["layout"] for probe in _native.probes("softmax", strided=True, **SMALL)} > {"dense", "transposed"}
    assert _native.probes("softmax", seed=2, **SMALL) != plan == _native.probes("softmax", **SMALL)
    for op in _native.ops():
        assert all(isinstance(probe["attributes"], dict) for probe in _native.probes(op, **SMALL)), op


@pytest.mark.parametrize("strided", [False, True])
def test_a_right_kernel_passes(strided):
    found = _native.audit_kernel("softmax", softmax, GLIBC, strided=strided, trace=True, **SMALL)
    assert found["kind"] == "passed" and not found["faults"] and not found["declined"] and found["probes"] > 50, found["text"]
    assert assay.inspect(found["trace"])["kind"] == "trace"


def test_a_kernel_may_return_its_result():
    def returns(op, attributes, operands, result):
        softmax(op, attributes, operands, result)
        mine = bytes(result[2])
        numpy.frombuffer(result[2], "u1")[:] = 0
        return mine

    assert _native.audit_kernel("softmax", returns, GLIBC, **SMALL)["kind"] == "passed"


def test_faults():
    def half(op, attributes, operands, result):  # the last element stays as it was
        before = bytes(result[2][-4:])
        softmax(op, attributes, operands, result)
        result[2][-4:] = before

    def writes(op, attributes, operands, result):
        softmax(op, attributes, operands, result)
        if operands[0][3].nbytes:
            operands[0][3][0] ^= 1

    def overruns(byte):
        def kernel(op, attributes, operands, result):
            softmax(op, attributes, operands, result)
            bytes_of = numpy.frombuffer(result[2], "u1")
            if bytes_of.size:
                ctypes.memset(bytes_of.ctypes.data + bytes_of.size, byte, 4)
        return kernel

    draw = numpy.random.default_rng(0)

    def unsteady(op, attributes, operands, result):
        softmax(op, attributes, operands, result)
        numpy.frombuffer(result[2], "f4")[...] *= draw.choice(numpy.float32([1, 1 + 2**-23]), len(result[2]) // 4)

    def doubled(op, attributes, operands, result):
        softmax(op, attributes, operands, result)
        numpy.frombuffer(result[2], "f4")[3:4] *= 2

    for kernel, code in ((half, "probe.unwritten"), (writes, "probe.operand"), *((overruns(byte), "probe.guard") for byte in (0, 0xA5, 0x3C)), (unsteady, "probe.unsteady")):
        found = _native.audit_kernel("softmax", kernel, GLIBC, **SMALL)
        assert found["kind"] == "failed" and codes(found) >= {code}, (code, found["faults"])
        assert code in found["text"]
    found = _native.audit_kernel("softmax", doubled, GLIBC, **SMALL)
    assert found["kind"] == "failed" and not found["faults"] and "outside their contract" in found["text"]


def test_exceptions_and_declining():
    def fails(*_):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        _native.audit_kernel("softmax", fails, GLIBC, **SMALL)
    found = _native.audit_kernel("softmax", lambda *_: NotImplemented, GLIBC, **SMALL)
    assert found["kind"] == "undecided" and found["probes"] == 0 and len(found["declined"]) > 50
    with pytest.raises(assay.UsageError, match="bytes for"):
        _native.audit_kernel("softmax", lambda *_: b"123", GLIBC, **SMALL)
    with pytest.raises(assay.UsageError, match="None, NotImplemented or a contiguous buffer"):
        _native.audit_kernel("softmax", lambda *_: 3, GLIBC, **SMALL)


def test_what_a_kernel_keeps_stays_valid():
    kept = []

    def keeps(op, attributes, operands, result):
        softmax(op, attributes, operands, result)
        kept.append((operands[0][3], result[2]))

    _native.audit_kernel("softmax", keeps, GLIBC, **SMALL)
    assert sum(sum(bytes(a)[:8]) + sum(bytes(b)[:8]) for a, b in kept) > 0
