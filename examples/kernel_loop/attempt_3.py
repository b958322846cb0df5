import numpy as np

BLOCK = 64


def rms_norm(x, residual, weight, out):
    rows = x + residual
    n = rows.shape[-1]
    squares = np.zeros(rows.shape[:-1] + (1,), np.float32)
    for first in range(0, n, BLOCK):
        block = rows[..., first:first + BLOCK]
        squares += (block * block).sum(axis=-1, keepdims=True)
    out[...] = rows / np.sqrt(squares / np.float32(n) + np.float32(1e-5)) * weight
