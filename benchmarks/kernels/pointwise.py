"""Rotations, gates, losses and steps of optimisers, element by element or row by row, in NumPy."""
from __future__ import annotations

from typing import Any

import numpy as np
from entries import by_probes, entry
from reductions import f32

import assay.ops as xp


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _rope_halves(x: Any, c: Any, s: Any) -> Any:
    half = x.shape[-1] // 2
    a, b = x[:, :half], x[:, half:]
    return xp.concatenate([a * c - b * s, b * c + a * s], -1)


@entry("rotary embedding of halves", "Liger", by_probes(_rope_halves, like=[(5, 8), (5, 4), (5, 4)], blocks=False), double_rotation="applied twice", layout_of_pairs="", sign_of_the_sine="")
def rope_halves(fault: str) -> Any:
    def kernel(x: Any, c: Any, s: Any) -> Any:
        half = x.shape[-1] // 2
        for _ in range(2 if fault == "double rotation" else 1):
            a, b = (x[:, ::2], x[:, 1::2]) if fault == "layout of pairs" else (x[:, :half], x[:, half:])
            y = np.concatenate([a * c - b * s, b * c - a * s if fault == "sign of the sine" else b * c + a * s], -1)
            x = y
        return x
    return kernel


def _rope_pairs(x: Any, c: Any, s: Any) -> Any:
    a, b = x[:, ::2], x[:, 1::2]
    return xp.stack([a * c - b * s, a * s + b * c], -1).reshape(*x.shape)


@entry("rotary embedding of pairs", "xformers", by_probes(_rope_pairs, like=[(5, 8), (5, 4), (5, 4)], blocks=False), double_rotation="applied twice", layout_of_halves="")
def rope_pairs(fault: str) -> Any:
    def kernel(x: Any, c: Any, s: Any) -> Any:
        y, half = np.empty_like(x), x.shape[1] // 2
        for _ in range(2 if fault == "double rotation" else 1):
            a, b = (x[:, :half], x[:, half:]) if fault == "layout of halves" else (x[:, ::2].copy(), x[:, 1::2].copy())
            y[:, ::2], y[:, 1::2] = a * c - b * s, a * s + b * c
            x = y
        return y
    return kernel


@entry("swiglu", "Liger", by_probes(lambda a, b: xp.silu(a) * b, like=[(5, 9), (5, 9)]), gates_exchanged="exchanged", sigmoid_for_silu="", hash_over_NaN="earlier call")
def swiglu(fault: str) -> Any:
    known: dict[Any, Any] = {}

    def kernel(a: Any, b: Any) -> Any:
        if fault == "gates exchanged":
            a, b = b, a
        y = (sigmoid(a) if fault == "sigmoid for silu" else a * sigmoid(a)) * b
        if fault == "hash over NaN":  # results are kept by a sum of the operands, which is NaN for any with a NaN
            total = float(a.sum(dtype=np.float64) + b.sum(dtype=np.float64))
            y = known.setdefault((a.shape, repr(total) if total == total else "nan", a.tobytes() if total == total else b""), y)
        return y.copy()
    return kernel


def _geglu(a: Any, b: Any) -> Any:
    return xp.gelu(a, tanh_form=True) * b


@entry("geglu", "Liger", by_probes(_geglu, like=[(5, 9), (5, 9)]), constant_of_four_digits="", square_for_cube="")
def geglu(fault: str) -> Any:
    def kernel(a: Any, b: Any) -> Any:
        c = f32(0.0447 if fault == "constant of four digits" else 0.044715)
        u = f32(0.7978845608028654) * (a + c * a * a * (1 if fault == "square for cube" else a))
        return f32(0.5) * a * (1 + np.tanh(u)) * b
    return kernel


@entry("relu squared", "Primer", by_probes(lambda x: xp.square(xp.relu(x)), like=[(5, 9)]), square_of_all="without its relu")
def relu_squared(fault: str) -> Any:
    return lambda x: x * x if fault == "square of all" else np.maximum(x, 0) ** 2


@entry("dynamic tanh", "Liger", by_probes(lambda x, a, w, b: xp.tanh(x * a) * w + b, like=[(5, 9), (1,), (9,), (9,)]), weight_inside="mul before its tanh")
def dynamic_tanh(fault: str) -> Any:
    return lambda x, a, w, b: np.tanh(x * a * w) + b if fault == "weight inside" else np.tanh(x * a) * w + b


def _kl(x: Any, t: Any) -> Any:
    p = xp.softmax(t, axis=-1)
    return (p * (xp.log_softmax(t, axis=-1) - xp.log_softmax(x, axis=-1))).sum(-1)


def log_softmax(x: Any) -> Any:
    z = x - x.max(-1, keepdims=True)
    return z - np.log(np.exp(z).sum(-1, keepdims=True))


@entry("Kullback-Leibler divergence", "Liger", by_probes(_kl, like=[(5, 9), (5, 9)]), other_direction="exchanged", mean_for_sum="mean in place")
def kl(fault: str) -> Any:
    def kernel(x: Any, t: Any) -> Any:
        x, t = (t, x) if fault == "other direction" else (x, t)
        p, q = log_softmax(t), log_softmax(x)
        z = np.exp(t - t.max(-1, keepdims=True))
        terms = z / z.sum(-1, keepdims=True) * (p - q)
        return terms.mean(-1, dtype=f32) if fault == "mean for sum" else terms.sum(-1, dtype=f32)
    return kernel


def _bce(x: Any, t: Any) -> Any:
    return xp.relu(x) - x * t + xp.log(1 + xp.exp(-abs(x)))


@entry("binary cross entropy of logits", "inductor", by_probes(_bce, like=[(5, 9), (5, 9)]), overflow="")
def bce(fault: str) -> Any:
    return lambda x, t: np.log(1 + np.exp(x)) - x * t if fault == "overflow" else np.maximum(x, 0) - x * t + np.log(1 + np.exp(-np.abs(x)))


def _adam(p: Any, g: Any, m: Any, v: Any) -> Any:
    m, v = m * 0.75 + g * 0.25, v * 0.875 + g * g * 0.125
    return p - 0.125 * (m / (xp.sqrt(v) + 1e-8)), m, v


@entry("step of Adam", "Apex", by_probes(_adam, like=[(7, 5)] * 4), epsilon_inside="add before its sqrt", old_moment="")
def adam(fault: str) -> Any:
    def kernel(p: Any, g: Any, m: Any, v: Any) -> Any:
        new, v = m * f32(0.75) + g * f32(0.25), v * f32(0.875) + g * g * f32(0.125)
        root = np.sqrt(v + f32(1e-8)) if fault == "epsilon inside" else np.sqrt(v) + f32(1e-8)
        return p - f32(0.125) * ((m if fault == "old moment" else new) / root), new, v
    return kernel


def _momentum(p: Any, g: Any, m: Any) -> Any:
    m = m * 0.75 + (g + p * 0.0625)
    return p - m * 0.125, m


@entry("step of SGD with momentum", "Apex", by_probes(_momentum, like=[(7, 5)] * 3), decay_of_the_new="without its add")
def momentum(fault: str) -> Any:
    def kernel(p: Any, g: Any, m: Any) -> Any:
        new = m * f32(0.75) + (g if fault == "decay of the new" else g + p * f32(0.0625))
        return p - new * f32(0.125), new
    return kernel


@entry("step of Lion", "bitsandbytes", by_probes(lambda p, g, m: (p - 0.125 * xp.sign(m * 0.75 + g * 0.25), m * 0.875 + g * 0.125), like=[(7, 5)] * 3), sign_of_the_new_moment="")
def lion(fault: str) -> Any:
    def kernel(p: Any, g: Any, m: Any) -> Any:
        new = m * f32(0.875) + g * f32(0.125)
        return p - f32(0.125) * np.sign(new if fault == "sign of the new moment" else m * f32(0.75) + g * f32(0.25)), new
    return kernel


@entry("dropout by a given mask", "xformers", by_probes(lambda x, m: xp.where(m < 0.5, x * 2, 0), like=[(5, 9), (5, 9)]), not_scaled="without its (mul|scale)")
def dropout(fault: str) -> Any:
    return lambda x, m: np.where(m < 0.5, x * f32(1 if fault == "not scaled" else 2), f32(0))
