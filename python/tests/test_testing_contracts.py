"""assert_within_contract: arrays of every library, operations, expressions, models; what is wrong, and what is no pass."""
from __future__ import annotations

import pathlib
import subprocess
import sys

import numpy as np
import pytest

import assay.ops as xp
from assay._core import execution_models, programs, vocabulary
from assay.errors import Error, UsageError
from assay.testing import ContractViolation, Misfit, NotDecided, Refused, UnknownOperation, UnsupportedArray, WrongAttributes
from assay.testing import assert_within_contract, audit_kernel, within_contract

DIGITS = pathlib.Path(__file__).parents[2] / "examples/digits"
RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(3, 17)).astype(np.float32)
W = RANDOM.normal(size=(17, 5)).astype(np.float32)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def bent(y, at=(1, 2), by=1.001):
    y = np.array(y)
    y[at] *= by
    return y


def test_a_right_result_passes_and_a_bent_one_is_explained():
    assert_within_contract("softmax", [X], softmax(X), attributes={"axis": -1})
    with pytest.raises(ContractViolation) as raised:
        assert_within_contract("softmax", [X], bent(softmax(X)), attributes={"axis": -1})
    assert "first and worst at [1, 2]: received" in str(raised.value) and "y = exp(d) / s" in str(raised.value)
    assert raised.value.report.failures[0].rule == "contract.softmax"
    assert isinstance(raised.value, AssertionError)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8"])
def test_sums_of_every_element_type(dtype):
    x, y = (np.arange(12).reshape(3, 4) % 5).astype(dtype), np.full(4, 3, dtype)
    assert_within_contract("add", [x, y], x + y)
    with pytest.raises(ContractViolation):
        assert_within_contract("add", [x, y], x + y + np.array(1, dtype))


def test_truth_values():
    assert_within_contract("less", [X, X.T[:17, :1].T.repeat(3, 0)], X < X.T[:17, :1].T.repeat(3, 0))
    with pytest.raises(ContractViolation):
        assert_within_contract("logical_not", [X > 0], X > 0)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_results_in_sixteen_bits_are_float32_that_is_rounded_once(name):
    dtype = np.dtype("float16") if name == "float16" else np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    x, axis = X.astype(dtype), {"axis": 1}
    wide = x.astype(np.float32)
    assert_within_contract("relu", [x], np.maximum(x, np.array(0, dtype)))
    assert_within_contract(lambda a: xp.max(a, axis=1), [x], x.max(1))
    assert_within_contract("softmax", [x], softmax(wide).astype(dtype), attributes=axis)
    assert_within_contract("softmax", [x], softmax(wide), attributes=axis)  # kept in float32
    cut = (softmax(wide).view(np.uint32) >> (16 if name == "bfloat16" else 13) << (16 if name == "bfloat16" else 13)).view(np.float32).astype(dtype)
    narrow = softmax(x)  # each step in 16 bits
    for wrong in (cut, narrow, np.nextafter(softmax(wide).astype(dtype), np.array(9, dtype)) if name == "float16" else cut):
        with pytest.raises(ContractViolation, match=f"{name} step"):
            assert_within_contract("softmax", [x], wrong, attributes=axis)
    assert_within_contract(lambda a: xp.exp(a * 0.5), [x], np.exp((wide * np.float32(0.5)).astype(dtype).astype(np.float32)).astype(dtype), model=name)
    with pytest.raises(ContractViolation):
        assert_within_contract(lambda a: xp.exp(a * 0.3), [x], np.exp((wide * np.float32(0.3)).astype(dtype).astype(np.float32)).astype(dtype))


def test_wrong_twins_in_bfloat16_are_found():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    x, w, b = (torch.randn(*shape).bfloat16() for shape in ((16, 64), (8, 64), (8,)))
    right = torch.nn.functional.linear(x, w, b)
    wide = torch.nn.functional.linear(x.float(), w.float(), b.float())
    cut = (wide.view(torch.int32) >> 16 << 16).view(torch.float32).bfloat16()
    twice = (x.float() @ w.float().T).bfloat16() + b
    narrow = b.expand(16, 8).clone()
    for k in range(64):
        narrow = narrow + x[:, k:k + 1] * w[:, k]
    def linear(x, w, b):
        return xp.gemm(x, w, b, transpose_b=True)
    assert_within_contract(linear, [x, w, b], right, model="pytorch-cpu")
    assert_within_contract(linear, [x, w, b], wide.bfloat16(), model="pytorch-cpu")
    for wrong in (cut, twice, narrow):
        with pytest.raises(ContractViolation, match="bfloat16"):
            assert_within_contract(linear, [x, w, b], wrong, model="pytorch-cpu")


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    x, w = torch.tensor(X, requires_grad=True), torch.tensor(W)
    assert_within_contract("softmax", [x], torch.softmax(x, -1), attributes={"axis": -1}, model="pytorch-cpu")
    assert_within_contract(lambda a, b: xp.relu(a @ b), [x, w], torch.relu(x @ w), model="pytorch-cpu")
    assert_within_contract("permute", [x], x.T, attributes={"axes": [1, 0]})
    assert_within_contract("relu", [x.bfloat16()], torch.relu(x.bfloat16()))
    assert_within_contract("neg", [torch.tensor([True]).int()], -torch.tensor([1], dtype=torch.int32))
    with pytest.raises(ContractViolation):
        assert_within_contract("softmax", [x], torch.softmax(x, 0), attributes={"axis": -1}, model="pytorch-cpu")
    with pytest.raises(UnsupportedArray, match="layout"):
        assert_within_contract("relu", [w.to_sparse()], w)
    with pytest.raises(UnsupportedArray, match="complex64"):
        assert_within_contract("relu", [w.to(torch.complex64)], w)
    with pytest.raises(UnsupportedArray, match="meta"):
        assert_within_contract("relu", [w.to("meta")], w)


def test_torch_tensors_on_a_gpu():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    x = torch.tensor(X, device="cuda")
    assert_within_contract("softmax", [x], torch.softmax(x, -1), attributes={"axis": -1}, model="cuda")


def test_jax_arrays():
    jax = pytest.importorskip("jax")
    x = jax.numpy.asarray(X)
    assert_within_contract("softmax", [x], jax.nn.softmax(x, -1), attributes={"axis": -1})
    assert_within_contract("relu", [x.astype("bfloat16")], jax.nn.relu(x.astype("bfloat16")))


def test_arrays_by_protocols_alone():
    class Interface:
        def __init__(self, array):
            self.array, self.__array_interface__ = array, array.__array_interface__

    class Exchanged:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **arguments):
            return self.array.__dlpack__(**arguments)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    for kind in (Interface, Exchanged):
        assert_within_contract("relu", [kind(X)], kind(np.maximum(X, 0)))
    with pytest.raises(UnsupportedArray, match="neither DLPack nor an array interface"):
        assert_within_contract("relu", [object()], X)
    with pytest.raises(UnsupportedArray, match="mask"):  # whose bytes have numbers where the mask has none
        assert_within_contract("relu", [X], np.ma.masked_array(np.maximum(X, 0), mask=X < 0))
    assert not audit_kernel("relu", lambda x: np.ma.masked_array(np.maximum(x, 0), mask=x < 0), raises=False).passed


def test_expressions():
    gain = RANDOM.normal(size=17).astype(np.float32)
    centered = X - X.mean(-1, keepdims=True)
    variance = (centered * centered).mean(-1, keepdims=True) + np.float32(1e-5)

    def by_hand(x):
        c = x - x.mean(-1, keepdims=True)
        return c / xp.sqrt((c * c).mean(-1, keepdims=True) + 1e-5) * gain + 1

    assert_within_contract(by_hand, X, centered / np.sqrt(variance) * gain + 1)
    assert_within_contract(lambda x: xp.normalise(x, axes=-1, eps=1e-5) * gain, X, centered / np.sqrt(variance) * gain)
    assert_within_contract(lambda x, w: xp.softmax(x @ w, axis=-1), [X, W], softmax(X @ W))
    assert_within_contract(lambda x: (x + 1, x * 2), X, [X + 1, X * 2])
    with pytest.raises(ContractViolation, match="contract.add"):
        assert_within_contract(lambda x: (x + 1, x * 2), X, [bent(X + 1), X * 2])
    with pytest.raises(ContractViolation):
        assert_within_contract(by_hand, X, centered / (np.sqrt(variance) + 1e-3).astype(np.float32) * gain + 1)


@pytest.mark.parametrize("expression", [
    lambda x: x[1], lambda x: x[-1, ::-2], lambda x: x[..., None, 3:1], lambda x: x[:, [3, -1, 3]], lambda x: x.T.reshape(-1)[4:9],
    lambda x: x.reshape(17, -1).transpose(1, 0), lambda x: x.sum(), lambda x: x.mean(0), lambda x: x.max(axis=(0, 1), keepdims=True), lambda x: -abs(x),
    lambda x: 1 - x, lambda x: 2 / (x * x + 1), lambda x: (x > 0.5) & ~(x == x.max()), lambda x: (x != x[0]) | (x >= 1), lambda x: x.astype("int32"),
    lambda x: x.min(), lambda x: x % 1.5])
def test_the_namespace_means_what_numpy_means(expression):
    assert_within_contract(expression, X, np.asarray(expression(X)))


@pytest.mark.parametrize("name, numpy", [
    ("exp", np.exp), ("square", np.square), ("maximum", lambda x: np.maximum(x, 0.5)), ("swapaxes", lambda x: np.swapaxes(x, 0, 1)),
    ("stack", lambda x: np.stack([x, x], 1)), ("concatenate", lambda x: np.concatenate([x, x], 1)), ("argmax", lambda x: x.argmax(1)),
    ("broadcast_to", lambda x: np.broadcast_to(x, (2, 3, 17))), ("expand_dims", lambda x: x[:, None]), ("clip", lambda x: np.clip(x, -1, 1)),
    ("where", lambda x: np.where(x > 0, x, np.float32(7)))])
def test_functions_of_the_namespace(name, numpy):
    arguments = {"maximum": lambda x: xp.maximum(x, 0.5), "swapaxes": lambda x: xp.swapaxes(x, 0, 1), "stack": lambda x: xp.stack([x, x], 1),
                 "concatenate": lambda x: xp.concatenate([x, x], 1), "argmax": lambda x: xp.argmax(x, 1), "clip": lambda x: xp.clip(x, -1, 1),
                 "broadcast_to": lambda x: xp.broadcast_to(x, (2, 3, 17)), "expand_dims": lambda x: xp.expand_dims(x, 1),
                 "where": lambda x: xp.where(x > 0, x, 7)}
    assert_within_contract(arguments.get(name, getattr(xp, name)), X, np.asarray(numpy(X)))


def test_powers_by_number_and_by_tensor():
    positive = np.abs(X) + np.float32(0.5)
    assert_within_contract(lambda x: x ** 3, X, X ** 3)
    assert_within_contract(lambda x: x ** x, positive, positive ** positive)
    assert_within_contract(lambda x: x ** -0.5, positive, positive ** np.float32(-0.5))


def test_vacuous_is_no_pass():
    long = RANDOM.normal(size=(1, 40000)).astype(np.float32)
    arguments = {"attributes": {"axis": 1, "keepdims": False}}
    with pytest.raises(NotDecided, match="sets too wide to say anything"):
        assert_within_contract("reduce_sum", [long], long.sum(1), **arguments)
    assert_within_contract("reduce_sum", [long], long.sum(1), allow_vacuous=True, **arguments)
    assert_within_contract("reduce_sum", [long], long.sum(1), model="any-order accumulator=tree tree_height=4096", **arguments)


def test_unsupported_is_no_pass():
    with pytest.raises(NotDecided, match="math"):
        assert_within_contract("exp", [X], np.exp(X), model="binary32 math=none")


def test_a_result_of_another_shape_or_type_fails():
    for output in (softmax(X)[:2], softmax(X).astype(np.float64), X > 0):
        with pytest.raises(ContractViolation, match=r"expected float32 \[3, 17\]"):
            assert_within_contract("softmax", [X], output, attributes={"axis": -1})


@pytest.mark.parametrize("error, arguments, options", [
    (UnknownOperation, ("sofmax", [X], X), {}), (WrongAttributes, ("softmax", [X], X), {"attributes": {"axis": 2}}),
    (WrongAttributes, ("softmax", [X], X), {"attributes": {"temperature": 2}}), (Misfit, ("add", [X, W], X), {}), (Misfit, ("relu", [X, X], X), {}),
    (Misfit, ("relu", [], X), {}), (Misfit, ("relu", [X], [X, X]), {}), (Misfit, ("logical_not", [X], X), {}), (UnsupportedArray, ("relu", ["x"], X), {}),
    (Error, ("relu", [X], X), {"model": "nonsense"}), (Refused, ("relu", [X], X), {"model": "any-order wrong=3"}),
    (Error, (lambda x: 3, [X], X), {}), (Error, (lambda x: xp.relu(np.ones(3)), [X], X), {}), (Misfit, (lambda x: x + x.T, [X], X), {}),
    (AttributeError, (lambda x: xp.no_such(x), [X], X), {}), (TypeError, (lambda x: x if x > 0 else -x, [X], X), {})])
def test_wrong_use_has_exceptions_that_say_what(error, arguments, options):
    with pytest.raises(error) as raised:
        within_contract(*arguments, **options)
    assert not isinstance(raised.value, AssertionError) and len(str(raised.value)) > 15


def test_the_table_is_that_of_the_program():
    import json
    listed = json.loads(subprocess.run([programs.program(), "ops", "--json"], capture_output=True, check=True, text=True).stdout)["ops"]
    rows = {one["name"]: one for one in listed if one["class"].split(";")[0] != "leaf"}
    assert set(rows) == set(vocabulary.ROWS)
    for name, row in vocabulary.ROWS.items():
        count = f"{row.least}" + ("" if row.most == row.least else " or more" if row.most is None else f" to {row.most}")
        types = {"reals": "float", "numbers": "float, integer", "integers": "integer", "booleans": "bool", "any": "float, integer, bool"}[row.elements]
        assert rows[name]["operands"] == f"{count} of {types}", name
        words = [word.strip("`") for word in rows[name]["attributes"].replace(",", " ").replace(":", " ").split() if word.startswith("`")]
        assert words == list(row.attributes), name


@pytest.mark.parametrize("model", ["any-order tree_height=1088", "any-order accumulator=any_order tree_height=1088", "cuda accumulator=left_to_right tree_height=5",
                                   "any-order accumulator=tree", "any-order fma=no fma=yes"])
def test_fields_of_a_model_that_do_not_fit_together_are_refused(model):
    with pytest.raises(UsageError, match="wrong argument at model: expected (accumulator=tree and tree_height together|each field of an execution model once)"):
        within_contract("relu", [np.ones(3, np.float32)], np.ones(3, np.float32), model=model)


def test_the_named_models_are_those_of_the_program():
    for name, text in execution_models.NAMED.items():
        if name == "float64":  # of which there is no statement about a float32 model
            assert text == execution_models.NAMED["any-order"].replace("binary32", "binary64")
            continue
        if name == "onnxruntime":  # a theorem speaks about rewritten graphs, too; a trace says what ran
            text += " rewrites=algebraic"
        semantics = name if name in ("bfloat16", "float16") else f"float32:{name}"
        spelled = [subprocess.run([programs.program(), "statement", DIGITS / "digits.onnx", DIGITS / "digits_holds.vnnlib", "--semantics", word],
                                  capture_output=True, check=True).stdout for word in (semantics, f"float32:{text}")]
        assert spelled[0] == spelled[1], name


def test_importing_is_cheap():
    code = ("import sys, time; t = time.process_time(); import assay.testing, assay.ops; "
            "print(time.process_time() - t, [m for m in ('numpy', 'torch', 'jax', 'onnx') if m in sys.modules])")  # of this process: others may be busy
    seconds, _, loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout.partition(" ")
    assert float(seconds) < 0.3 and loaded.strip() == "[]"


def test_exceptions_come_back_from_other_processes():
    """As from concurrent.futures.ProcessPoolExecutor, which pickles them: otherwise the test would not see which check failed."""
    import pickle

    with pytest.raises(ContractViolation) as caught:
        assert_within_contract("neg", [X], X)
    back = pickle.loads(pickle.dumps(caught.value))
    assert type(back) is ContractViolation and str(back) == str(caught.value) and back.report.failures[0].rule == "contract.neg"
    torch = pytest.importorskip("torch")
    import assay

    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]
    with pytest.raises(assay.GradcheckError) as wrong:
        assay.gradcheck(Half.apply, [(2, 3)])
    again = pickle.loads(pickle.dumps(wrong.value))
    assert type(again) is assay.GradcheckError and str(again) == str(wrong.value) and again.failed and again.report.trace == wrong.value.report.trace
