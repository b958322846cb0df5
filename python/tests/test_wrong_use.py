"""Wrong use raises our exceptions, with what, where and what to do; nothing ends the interpreter."""
import decimal
import fractions
import os
import random
import time

import pytest

import assay
from assay import _native
from conftest import DIGITS, GLIBC

MODEL = str(DIGITS / "digits.onnx")
PROPERTY = str(DIGITS / "digits_holds.vnnlib")
BOX = assay.Box([0.5] * 64, 0.125)

# A call, the exception's type, and words of its text.
WRONG = [
    (lambda: assay.verify("/nope.onnx", PROPERTY), assay.MalformedInput, ["/nope.onnx", "No such file", "check the path"]),
    (lambda: assay.verify(MODEL, "/nope.vnnlib"), assay.MalformedInput, ["/nope.vnnlib", "No such file"]),
    (lambda: assay.verify(b"junk", PROPERTY), assay.MalformedInput, ["model.onnx", "onnx."]),
    (lambda: assay.verify(PROPERTY, MODEL), assay.MalformedInput, ["an ONNX model", "a VNN-LIB property"]),
    (lambda: assay.verify(3, PROPERTY), assay.UsageError, ["model", "torch.nn.Module", "got 3"]),
    (lambda: assay.verify(MODEL, None), assay.UsageError, ["property", "Box"]),
    (lambda: assay.verify(MODEL, "(assert"), assay.MalformedInput, ["property.vnnlib", "line 1"]),
    (lambda: assay.verify(MODEL, "(assert (<= Z 1))"), assay.MalformedInput, ["vnnlib."]),
    (lambda: assay.verify(MODEL, [BOX]), assay.UsageError, ["a Robust or a Linear", "say what holds for the outputs: Robust(label)"]),
    (lambda: assay.verify(MODEL, [assay.Robust(1)]), assay.UsageError, ["one Box for input 'image', got none; add Box(center, radius)"]),
    (lambda: assay.verify(MODEL, [assay.Box, assay.Robust(1)]), assay.UsageError, ["got the class Box; call it: Box(center, radius)"]),
    (lambda: assay.verify(MODEL, assay.Robust), assay.UsageError, ["got the class Robust; call it: Robust(label)"]),
    (lambda: assay.Robust("cat"), assay.UsageError, ["a whole number of at least 0, got 'cat'"]),
    (lambda: assay.Robust(2**63), assay.UsageError, ["a whole number from 0 to"]),
    (lambda: assay.verify(MODEL, [BOX, BOX, assay.Robust(1)]), assay.UsageError, ["one Box", "got 2 for it and 2 in all"]),
    (lambda: assay.verify(MODEL, [BOX, assay.Robust(10)]), assay.UsageError, ["position below 10", "got 10"]),
    (lambda: assay.verify(MODEL, [BOX, assay.Linear([1, 2], at_most=0)]), assay.UsageError, ["10 columns"]),
    (lambda: assay.verify(MODEL, [assay.Box([0.5] * 3, 0.1), assay.Robust(1)]), assay.UsageError, ["shape [1, 64]", "[3]"]),
    (lambda: assay.verify(MODEL, PROPERTY, timeout=-1), assay.UsageError, ["timeout", "above 0"]),
    (lambda: assay.verify(MODEL, PROPERTY, timeout="1"), assay.UsageError, ["timeout"]),
    (lambda: assay.verify(MODEL, PROPERTY, threads=0), assay.UsageError, ["threads", "1 to 1024"]),
    (lambda: assay.verify(MODEL, PROPERTY, threads=True), assay.UsageError, ["threads"]),
    (lambda: assay.verify(MODEL, PROPERTY, seed=-1), assay.UsageError, ["seed"]),
    (lambda: assay.verify(MODEL, PROPERTY, memory=1.5), assay.UsageError, ["memory"]),
    (lambda: assay.verify(MODEL, PROPERTY, memory=1), assay.Undecided, ["memory"]),
    (lambda: assay.verify(MODEL, PROPERTY, semantics="float99"), assay.MalformedInput, ["float99", "onnxruntime"]),
    (lambda: assay.verify(MODEL, PROPERTY, semantics=3), assay.UsageError, ["semantics"]),
    (lambda: assay.statement(MODEL, PROPERTY, semantics="\ud800"), assay.UsageError, ["semantics", "unpaired"]),
    (lambda: assay.verify(MODEL, PROPERTY, branching="up"), assay.UsageError, ["branching", "relu"]),
    (lambda: assay.verify(MODEL, PROPERTY, progress=3), assay.UsageError, ["progress"]),
    (lambda: assay.verify(MODEL, PROPERTY, proof=3), assay.UsageError, ["proof"]),
    (lambda: assay.verify(MODEL, PROPERTY, example_inputs=(1,)), assay.UsageError, ["example_inputs"]),
    (lambda: assay.check(MODEL, PROPERTY, "/nope.assay"), assay.MalformedInput, ["/nope.assay"]),
    (lambda: assay.check(MODEL, PROPERTY, 3), assay.UsageError, ["certificate"]),
    (lambda: assay.check(MODEL, PROPERTY, b"", exact=1), assay.UsageError, ["exact", "True or False"]),
    (lambda: assay.check(MODEL, None, b""), assay.MalformedInput, ["a statement file", "an ONNX model"]),
    (lambda: assay.bounds(MODEL, PROPERTY, method="magic"), assay.UsageError, ["method", "crown"]),
    (lambda: assay.lint("/nope.onnx"), assay.MalformedInput, ["/nope.onnx"]),
    (lambda: assay.evaluate(MODEL, {"nope": 1}), assay.UsageError, ["names of the model: image"]),
    (lambda: assay.evaluate(MODEL, {}), assay.MalformedInput, ["image", "64 numbers"]),
    (lambda: assay.evaluate(MODEL, [1, 2, 3]), assay.UsageError, ["shape [1, 64]"]),
    (lambda: assay.evaluate(MODEL, float("inf")), assay.UsageError, ["a finite number"]),
    (lambda: assay.evaluate(MODEL, (1, 0)), assay.UsageError, ["lo <= hi"]),
    (lambda: assay.evaluate(MODEL, 0, gradients="nope"), assay.UsageError, ["scores"]),
    (lambda: assay.inspect("/nope"), assay.MalformedInput, ["/nope"]),
    (lambda: assay.inspect(3), assay.UsageError, ["a path"]),
    (lambda: assay.Box(1), assay.UsageError, ["center and radius, or lo and hi"]),
    (lambda: assay.Box(1, -1), assay.UsageError, ["at least 0"]),
    (lambda: assay.Box(lo=2, hi=1), assay.UsageError, ["element 0", "lo <= hi"]),
    (lambda: assay.Box([1, float("nan")], 1), assay.UsageError, ["a finite number", "nan"]),
    (lambda: assay.Box([[1], [1, 2]], 1), assay.UsageError, ["lists of equal lengths"]),
    (lambda: assay.Box("a", 1), assay.UsageError, ["a finite number", "'a'"]),
    (lambda: assay.Robust("1"), assay.UsageError, ["Robust(label)"]),
    (lambda: assay.Linear([[1, 2]]), assay.UsageError, ["at_most"]),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_wrong_use(case):
    call, kind, words = WRONG[case]
    with pytest.raises(assay.Error) as caught:
        call()
    assert type(caught.value) is kind, repr(caught.value)
    assert caught.value.what and caught.value.code
    for word in words:
        assert word in str(caught.value), str(caught.value)


def test_errors_are_also_what_python_calls_them():
    for kind, builtin in ((assay.UsageError, ValueError), (assay.UsageError, TypeError), (assay.MalformedInput, ValueError),
                          (assay.Unsupported, NotImplementedError), (assay.InternalError, RuntimeError)):
        assert issubclass(kind, builtin)


class Hostile:
    """Everything that is asked of it fails."""

    def __getattr__(self, name):
        raise RuntimeError(name)

    def __repr__(self):
        raise RuntimeError("repr")

    def __len__(self):
        raise RuntimeError("len")

    def __fspath__(self):
        raise RuntimeError("path")

    def __getitem__(self, key):
        raise RuntimeError("item")

    def __index__(self):
        raise RuntimeError("index")


def deep(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def values(draw, model, small):
    """A value of any kind; often one that nearly fits."""
    pool = [None, True, False, 0, 1, -1, 2**31, 2**63, 2**64, -2**200, 0.5, -0.0, float("nan"), float("inf"), 5e-324, 1e308, 1 + 2j, "", "0.1", "1e999",
            "a\0b", "\ud800", "/nope", "(assert", ";", "float32", "real", "binary32", GLIBC, "relu", "softmax", "matmul", "conv", b"", b"junk",
            bytearray(b"ASSAY"), memoryview(bytes(8)), [], (), {}, set(), [[]], deep(100), [1, 2], [1, [2]], ["x"], (1, 2), (0, 1), range(3),
            decimal.Decimal("NaN"), decimal.Decimal("1e-300"), fractions.Fraction(1, 3), object(), Hostile(), Hostile, lambda *a: None,
            lambda *a: b"x", assay.Box(1, 1), assay.Robust(0), assay.Linear([1], at_most=0), BOX, [BOX, assay.Robust(1)], {"image": 0.5},
            {"axis": 1}, {"axis": -9}, {"axes": [10**9]}, {1: 2}, {"x": object()}, MODEL, PROPERTY, model, small, small[:-3],
            ("float32", (2, 2), bytes(16)), ("float32", [2], bytes(8)), ("bool", (1,), b"\3"), ("int64", (), bytes(8)), ("uint64", (1,), b"\xff" * 8),
            ("float16", (3,), b"\xff" * 6), ("float32", (-1,), b""), ("float32", (2**40, 2**40), b""), ("float64", (0, 3), b""), ("complex64", (1,), bytes(8)),
            [("float32", (2, 2), bytes(16))], [("float32", (2, 2), bytes(16)), ("float32", (2, 2), b"\xff" * 16)], '{"nodes": []}',
            '{"nodes": [{"op": "relu", "operands": [0]}]}', '{"nodes": [{"op": "matmul", "operands": [0, 7]}], "outputs": [0, -1]}', "[" * 2000]
    if draw.random() < 0.1:
        return bytes(draw.randrange(256) for _ in range(draw.randrange(40)))
    return draw.choice(pool)


ENTRIES = [
    (assay.verify, 2, ["timeout", "threads", "semantics", "proof", "seed", "memory", "budget", "branching", "attack", "progress", "example_inputs"]),
    (assay.check, 3, ["exact", "semantics", "memory", "budget", "example_inputs"]),
    (assay.bounds, 2, ["method", "timeout", "outputs_only", "semantics", "memory", "budget"]),
    (assay.lint, 1, ["memory", "example_inputs"]), (assay.statement, 2, ["semantics", "memory", "budget"]), (assay.evaluate, 2, ["gradients", "memory"]),
    (assay.Box, 2, ["lo", "hi", "clip", "input"]), (assay.Robust, 1, []), (assay.Linear, 1, ["at_most", "at_least"]),
    (_native.verify, 2, ["certificate", "semantics", "timeout", "threads", "seed", "memory", "budget", "branching", "attack", "progress"]),
    (_native.check, 3, ["exact", "semantics"]), (_native.bounds, 2, ["method", "timeout"]), (_native.lint, 1, ["memory"]), (_native.describe, 1, ["memory"]),
    (_native.statement, 2, ["semantics"]), (_native.evaluate, 3, ["memory"])]


def nearly(entry, draw, given):
    """Arguments some of which are right, so that others are looked at."""
    right = {_native.evaluate: [MODEL, {}, {}], assay.evaluate: [MODEL, 0.5],
             assay.verify: [MODEL, PROPERTY], assay.check: [MODEL, PROPERTY, b"ASSAY"]}.get(entry)
    if right is None or draw.random() < 0.3:
        return given
    return [one if draw.random() < 0.4 else right[i] for i, one in enumerate(given)]


def test_any_arguments_at_all(tmp_path):
    """ASSAY_FUZZ_CALLS (100,000) calls; whatever is not ours is a failure, and an abort ends the test run."""
    from conftest import network

    os.chdir(tmp_path)
    calls, seed = int(os.environ.get("ASSAY_FUZZ_CALLS", "100000")), int(os.environ.get("ASSAY_FUZZ_SEED", "1"))
    draw, small = random.Random(seed), network([2, 3, 2])
    start, passed, refused = time.monotonic(), 0, 0
    # Calls that read and search a model take milliseconds: one in twelve.
    heavy = [entry for entry in ENTRIES if entry[0] in (assay.verify, _native.verify, assay.bounds, _native.bounds)]
    light = [entry for entry in ENTRIES if entry not in heavy]
    for _ in range(calls):
        entry, positional, names = draw.choice(heavy if draw.random() < 1 / 12 else light)
        arguments = nearly(entry, draw, [values(draw, MODEL, small) for _ in range(positional)])
        options = {name: values(draw, MODEL, small) for name in names if draw.random() < 0.3}
        if "proof" in options or "certificate" in options:
            options.pop("proof", None), options.pop("certificate", None)
        if draw.random() < 0.02:
            arguments = arguments[:-1]
        try:
            entry(*arguments, **options)
            passed += 1
        except assay.Error as error:
            assert str(error) and error.what
            refused += 1
        except TypeError:  # Python's own, of a call with other arguments than the function has; or of nanobind
            assert entry.__module__.endswith("_native") or len(arguments) < positional, entry
            refused += 1
        except RuntimeError as error:
            if str(error) not in ("len", "item", "index", "repr", "SerializeToString", "detach", "tolist", "__iter__"):  # Hostile's own, passed through
                raise
            refused += 1
    print(f"{calls} calls: {refused} refused, {passed} answered, {time.monotonic() - start:.1f} s")
    assert refused > 0.5 * calls and passed > 0.001 * calls
