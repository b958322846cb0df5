"""Contracts of JAX arrays on the CPU: they are read by DLPack, or by JAX's own conversion where NumPy's DLPack has not the type."""
from __future__ import annotations

from typing import Any

import pytest

jax = pytest.importorskip("jax", reason="needs the package jax")
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import assay.ops as xp  # noqa: E402
from assay import UsageError  # noqa: E402
from assay.testing import ContractViolation, assert_within_contract, audit_kernel  # noqa: E402

JAX = "jax-cpu"
REALS = ["float32", "float16", "bfloat16"]


def drawn(*shape: int) -> Any:
    return jnp.asarray(np.random.default_rng(3).standard_normal(shape, dtype=np.float32))


@pytest.mark.parametrize("dtype", REALS)
def test_results_of_every_real_type(dtype: str) -> None:
    x, w = drawn(3, 4).astype(dtype), drawn(4, 5).astype(dtype)
    assert_within_contract("matmul", [x, w], x @ w)
    assert_within_contract("tanh", [x], jax.jit(jnp.tanh)(x), model=JAX)
    assert_within_contract(lambda x, w: xp.softmax(x @ w, axis=-1), [x, w], jax.nn.softmax((x.astype("float32") @ w.astype("float32"))).astype(dtype))
    with pytest.raises(ContractViolation, match="matmul"):
        assert_within_contract("matmul", [x, w], (x @ w) * jnp.asarray(1.05, dtype))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "uint8", "uint32", "bool"])
def test_integers(dtype: str) -> None:
    x = (drawn(3, 4) * 3).astype(dtype)
    assert_within_contract("cast", [x], x.astype("float32"), attributes={"to": "float32"})


def test_doubles_and_views() -> None:
    with (jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64)(True):
        x = jnp.asarray(np.random.default_rng(4).standard_normal((3, 4)))
        assert x.dtype == "float64"
        assert_within_contract("mul", [x, x], x * x)
        assert_within_contract("permute", [x], x.T, attributes={"axes": [1, 0]})


def test_what_cannot_be_read() -> None:
    x = drawn(3)
    with pytest.raises(UsageError, match="float8_e4m3fn"):
        assert_within_contract("tanh", [x], jnp.tanh(x).astype(jnp.float8_e4m3fn))
    def traced(x: Any) -> Any:
        assert_within_contract("tanh", [x], jnp.tanh(x))
        return x
    with pytest.raises(UsageError, match="cannot be read.*TracerArrayConversionError"):
        jax.jit(traced)(x)
    x.delete()
    with pytest.raises(UsageError, match="cannot be read"):
        assert_within_contract("tanh", [x], jnp.ones(3))


KERNELS = {"tanh": jnp.tanh, "exp": jnp.exp, "sinh": jnp.sinh, "asin": jnp.arcsin, "matmul": lambda a, b: a @ b, "softmax": lambda x, axis: jax.nn.softmax(x, axis),
           "reduce_mean": lambda x, axes, keep_dims: jnp.mean(x, tuple(axes), keepdims=keep_dims)}


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_on_their_probes(name: str) -> None:
    report = audit_kernel(name, KERNELS[name], arrays=jnp.asarray, model=JAX)
    assert report.passed and report.probes > 390 and not report.declined


def test_that_subnormal_numbers_are_flushed_is_found() -> None:
    """XLA flushes them, too, and is further off than the default model allows: its own model is advised."""
    def flushed(x: jax.Array) -> jax.Array:
        y = np.exp(np.asarray(x, np.float64)).astype(np.float32)
        return jnp.asarray(np.where(y < np.finfo(np.float32).tiny, np.float32(0), y))

    with pytest.raises(ContractViolation) as found:
        audit_kernel("exp", flushed, arrays=jnp.asarray)
    assert found.value.report.faults[0][0] == "computes the reference with subnormal results flushed to 0"
    with pytest.raises(ContractViolation, match="Declare it if it calls JAX's functions on the CPU"):
        audit_kernel("exp", jnp.exp, arrays=jnp.asarray)


def test_a_wrong_kernel_is_named() -> None:
    def mean(x: Any, axes: list[int], keep_dims: bool) -> Any:
        return jnp.sum(x, tuple(axes), keepdims=keep_dims) / (np.prod([x.shape[axis] for axis in axes]) - 1)
    with pytest.raises(ContractViolation) as found:
        audit_kernel("reduce_mean", mean, arrays=jnp.asarray, model=JAX)
    assert found.value.report.faults[0][0] == "computes the reference divided by one less"
