"""Kernels as people write them, right ones and wrong twins, for the tests of `audit_kernel`.

`Launch` runs Triton-style programs over NumPy: a program id, blocks of offsets, masked loads and stores on flat memory.
"""
from __future__ import annotations

import ctypes
import os
import pathlib
import subprocess
import tempfile

import numpy as np

BLOCK = 32


class Pointer:
    """Flat memory, read and written at masked offsets. Like a device's memory it goes on behind the end of a tensor."""

    def __init__(self, array):
        self.array = array
        size = 1 + sum((n - 1) * (s // array.itemsize) for n, s in zip(array.shape, array.strides)) if array.size else 0
        self.flat = np.lib.stride_tricks.as_strided(array, (size + 8,), (array.itemsize,))

    def load(self, offsets, mask, other=0.0):
        return np.where(mask, self.flat[np.where(mask, offsets, 0)], np.array(other, self.array.dtype))

    def store(self, offsets, values, mask):
        self.flat[offsets[mask]] = values[mask]


def relu(x, out, *, mask_of=lambda offsets, n: offsets < n, programs=lambda n: -(-n // BLOCK)):
    """relu, a block per program."""
    n, x_pointer, y_pointer = x.size, Pointer(x), Pointer(out)
    for program in range(programs(n)):
        offsets = program * BLOCK + np.arange(BLOCK)
        mask = mask_of(offsets, n)
        y_pointer.store(offsets, np.maximum(x_pointer.load(offsets, mask), np.float32(0)), mask)


def relu_strided(x, out):
    """relu that copies what is not dense first, as launchers do."""
    relu(np.ascontiguousarray(x), out)


def relu_off_by_one(x, out):
    """The mask lets one element too many through, which writes behind the result."""
    relu(np.ascontiguousarray(x), out, mask_of=lambda offsets, n: offsets <= n)


def relu_without_tail(x, out):
    """The grid is rounded down: the elements after the last full block are never written."""
    relu(np.ascontiguousarray(x), out, programs=lambda n: n // BLOCK)


def relu_by_flat_memory(x, out):
    """Takes any operand for dense: wrong strides."""
    relu(x, out)


def softmax_rows(x, out, *, shift=True, load_mask=lambda columns, n: columns < n):
    """softmax over the last axis, a row per program."""
    x = np.ascontiguousarray(x)
    n = x.shape[-1]
    x_pointer, y_pointer = Pointer(x), Pointer(out)
    columns = np.arange(1 << max(n - 1, 0).bit_length())
    for program in range(x.size // n if n else 0):
        offsets, mask = program * n + columns, columns < n
        row = x_pointer.load(offsets, load_mask(columns, n), -np.inf)
        row = np.exp(row - row.max() if shift else row)
        y_pointer.store(offsets, row / row.sum(), mask)


def softmax_without_maximum(x, out):
    """exp overflows."""
    softmax_rows(x, out, shift=False)


def softmax_short_mask(x, out):
    """The load's mask ends one element early."""
    softmax_rows(x, out, load_mask=lambda columns, n: columns < n - 1)


def softmax_in_place(x, axis):
    """Takes the maximum out of the caller's array."""
    x -= x.max(axis, keepdims=True)
    e = np.exp(x)
    return e / e.sum(axis, keepdims=True)


def softmax_numpy(x, axis):
    """As in a text book."""
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def softmax_other_axis(x, axis):
    """Normalises along the axis before."""
    return softmax_numpy(x, axis - 1)


def matmul(x, y):
    """As NumPy does it."""
    return np.matmul(x, y)


def matmul_in_half(x, y):
    """Accumulates in float16, one product after the other."""
    if x.ndim != 2 or y.ndim != 2:
        raise NotImplementedError("matrices only")
    total = np.zeros((x.shape[0], y.shape[1]), np.float16)
    for k in range(x.shape[1]):
        total = (total + (x[:, k:k + 1] * y[k:k + 1]).astype(np.float16)).astype(np.float16)
    return total.astype(np.float32)


def linear(a, b, c=None):
    """a bᵀ + c."""
    y = a @ b.T
    return y if c is None else y + c


def linear_untransposed(a, b, c=None):
    """Reads the weight [n, k] as if it lay as [k, n]."""
    y = a @ np.ascontiguousarray(b).reshape(b.shape[::-1])
    return y if c is None else y + c


def layer_norm(x, axes, epsilon):
    """Two passes."""
    centered = x - x.mean(axes, keepdims=True)
    return centered / np.sqrt((centered * centered).mean(axes, keepdims=True) + np.float32(epsilon))


def layer_norm_epsilon_outside(x, axes, epsilon):
    """Epsilon beside the root instead of under it."""
    centered = x - x.mean(axes, keepdims=True)
    return centered / (np.sqrt((centered * centered).mean(axes, keepdims=True)) + np.float32(epsilon))


def layer_norm_of_sample(x, axes, epsilon):
    """The variance of a sample: n - 1."""
    centered = x - x.mean(axes, keepdims=True)
    return centered / np.sqrt(x.var(axes, keepdims=True, ddof=1) + np.float32(epsilon))


def mean(x, axes, keep_dims):
    """The mean."""
    return x.mean(axes, keepdims=keep_dims)


def mean_of_sample(x, axes, keep_dims):
    """Divides by n - 1."""
    n = np.prod([x.shape[axis] for axis in axes])
    return np.asarray(x.sum(axes, keepdims=keep_dims) / np.float32(n - 1), np.float32)


_noise = np.random.default_rng(7)


def matmul_unsteady(x, y):
    """Adds its terms in an order that changes, as atomics do."""
    order = _noise.permutation(x.shape[-1])
    rows = y if y.ndim == 1 else np.take(y, order, axis=-2)
    return np.matmul(np.take(x, order, axis=-1), rows[order] if y.ndim == 1 else rows)


def reduce_into_empty(x, axes, keep_dims):
    """Sums into memory that was never set to 0, one part of it not at all."""
    right = x.sum(axes, keepdims=keep_dims)
    result = np.empty(right.shape, np.float32)
    flat = result.reshape(-1)
    flat[::2] = np.asarray(right).reshape(-1)[::2]
    return result


C_SOURCE = """
#include <math.h>
#include <stddef.h>
void layer_norm(const float* x, float* y, ptrdiff_t rows, ptrdiff_t n, float epsilon, int wrong) {
  for (ptrdiff_t r = 0; r < rows; ++r, x += n, y += n) {
    float mean = 0, variance = 0;
    for (ptrdiff_t i = 0; i < n; ++i) mean += x[i];
    mean /= (float)n;
    for (ptrdiff_t i = 0; i < n; ++i) variance += (x[i] - mean) * (x[i] - mean);
    const float divisor = sqrtf(variance / (float)n + (wrong ? 0 : epsilon)) + (wrong ? epsilon : 0);
    for (ptrdiff_t i = 0; i < n; ++i) y[i] = (x[i] - mean) / divisor;
  }
}
"""


def compiled():
    """The C kernel above, for ctypes; none without a compiler."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="assay-kernel-"))
    (folder / "kernel.c").write_text(C_SOURCE, encoding="utf-8")
    compiler = os.environ.get("CC", "cc")
    try:
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", folder / "kernel.so", folder / "kernel.c", "-lm"], check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    library = ctypes.CDLL(str(folder / "kernel.so"))

    def call(x, out, epsilon, wrong):
        x = np.ascontiguousarray(x)
        pointer = ctypes.POINTER(ctypes.c_float)
        library.layer_norm(x.ctypes.data_as(pointer), out.ctypes.data_as(pointer), ctypes.c_ssize_t(x.size // x.shape[-1]),
                           ctypes.c_ssize_t(x.shape[-1]), ctypes.c_float(epsilon), ctypes.c_int(wrong))
    return call
