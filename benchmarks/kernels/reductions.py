"""Sums, scans, softmaxes and normalisations over rows, block by block, in NumPy."""
from __future__ import annotations

from typing import Any

import numpy as np
from entries import by_probes, entry

import assay.ops as xp

BLOCK = 64
f32 = np.float32


def starts(n: int, block: int = BLOCK) -> range:
    return range(0, n, block)


def next_power(n: int) -> int:
    return 1 << max(n - 1, 0).bit_length()


@entry("softmax, online", "Triton's tutorials", by_probes("softmax", attributes={"axis": -1}),
       no_maximum="without the maximum", no_rescaling="without rescaling", zeros_within_atol="gives 0", NaN_as_wildcard="gives NaN", one_lane_short="last element")
def softmax(fault: str) -> Any:
    def kernel(x: Any) -> Any:
        n = x.shape[-1] - (fault == "one lane short")
        largest, total = np.full(x.shape[:-1] + (1,), -np.inf, f32), np.zeros(x.shape[:-1] + (1,), f32)
        for s in starts(n):
            block = x[..., s:min(s + BLOCK, n)]
            new = np.maximum(largest, block.max(-1, keepdims=True)) if fault != "no maximum" else np.zeros_like(largest)
            shift = new if fault == "NaN as wildcard" else np.where(np.isneginf(new), 0, new)
            total = total * (1 if fault == "no rescaling" else np.exp(largest - shift) if fault != "no maximum" else 1) + np.exp(block - shift).sum(-1, keepdims=True)
            largest = new
        y = np.exp(x - largest) / total
        return np.where(y < 1e-3, f32(0), y) if fault == "zeros within atol" else y
    return kernel


@entry("log softmax", "Liger", by_probes("log_softmax", attributes={"axis": -1}), logarithm_of_softmax="logarithm of softmax", lost_block="")
def log_softmax(fault: str) -> Any:
    def kernel(x: Any) -> Any:
        n = x.shape[-1] // BLOCK * BLOCK if fault == "lost block" and x.shape[-1] > BLOCK else x.shape[-1]
        largest = x.max(-1, keepdims=True)
        z = x - largest
        total = np.zeros(x.shape[:-1] + (1,), f32)
        for s in starts(n):
            total = total + np.exp(z[..., s:min(s + BLOCK, n)]).sum(-1, keepdims=True)
        return np.log(np.exp(z) / total) if fault == "logarithm of softmax" else z - np.log(total)
    return kernel


@entry("softmax with scale and mask", "Megatron, xformers", by_probes(lambda x, m: xp.softmax(x * 0.125 + m, axis=-1), like=[(5, 7), (5, 7)]),
       scale_after_the_mask="add before its mul", mask_of_the_first_row="first row of operand 1")
def scaled_softmax(fault: str) -> Any:
    def kernel(x: Any, m: Any) -> Any:
        if fault == "mask of the first row":
            m = np.broadcast_to(m[:1], m.shape)
        z = (x + m) * f32(0.125) if fault == "scale after the mask" else x * f32(0.125) + m
        e = np.exp(z - z.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)
    return kernel


@entry("row sum", "FlagGems", by_probes("reduce_sum", attributes={"axes": (-1,), "keep_dims": False}),
       lost_tail="last whole block", sampled_prefix="gives 0", one_short="without the last", accumulator_of_16_bits="binary16|16 bits|float16")
def row_sum(fault: str) -> Any:
    def kernel(x: Any) -> Any:
        n, total = x.shape[-1], np.zeros(x.shape[:-1], f32)
        end = n // BLOCK * BLOCK if fault == "lost tail" and n > BLOCK else n - 1 if fault == "one short" else n
        for s in starts(end):
            total = total + x[..., s:min(s + BLOCK, end)].sum(-1, dtype=f32)
            if fault == "accumulator of 16 bits":
                total = total.astype(np.float16).astype(f32)
        if fault == "sampled prefix":
            total.reshape(-1)[128:] = 0  # of so many rows only the first are compared
        return total
    return kernel


@entry("cumulative sum with a carry", "FlagGems", by_probes("cumsum", attributes={"axis": -1, "exclusive": False, "reverse": False}),
       no_carry="without the carry", last_carry_only="", exclusive="taken in or left out")
def cumsum(fault: str) -> Any:
    def kernel(x: Any) -> Any:
        y, carry = np.empty_like(x), np.zeros(x.shape[:-1] + (1,), f32)
        for s in starts(x.shape[-1]):
            own = np.cumsum(x[..., s:s + BLOCK], -1, dtype=f32)
            y[..., s:s + BLOCK] = (own - x[..., s:s + BLOCK] if fault == "exclusive" else own) + carry
            carry = np.zeros_like(carry) if fault == "no carry" else own[..., -1:] + (0 if fault == "last carry only" else carry)
        return y
    return kernel


@entry("argmax of blocks", "FlagGems", by_probes("arg_max", attributes={"axis": -1, "keep_dims": False, "last": False}),
       last_of_equals="another one of equals", offset_forgotten="over the first")
def argmax(fault: str) -> Any:
    def kernel(x: Any) -> Any:
        best, at = np.full(x.shape[:-1], -np.inf, f32), np.zeros(x.shape[:-1], np.int64)
        for s in starts(x.shape[-1], 32):
            block = x[..., s:s + 32]
            place = block.argmax(-1)
            value = np.take_along_axis(block, place[..., None], -1)[..., 0]
            takes = value >= best if fault == "last of equals" else value > best
            takes = (takes | np.isnan(value)) & ~np.isnan(best)
            at = np.where(takes, place + (0 if fault == "offset forgotten" else s), at)
            best = np.where(takes, value, best)
        return at
    return kernel


@entry("rms norm", "Liger", by_probes("rms norm"), epsilon_outside="epsilon added", stale_pointers="earlier call", one_less="one less", no_weight="mul of operand 1")
def rms_norm(fault: str) -> Any:
    seen: dict[Any, Any] = {}

    def kernel(x: Any, w: Any) -> Any:
        if fault == "stale pointers":  # as a captured graph replays the addresses of its first call
            x, w = seen.setdefault((x.shape, w.shape), (x.copy(), w.copy()))
        n = x.shape[-1]
        square = np.zeros(x.shape[:-1] + (1,), f32)
        for s in starts(n):
            square += (x[..., s:s + BLOCK] * x[..., s:s + BLOCK]).sum(-1, keepdims=True)
        mean = square / f32(n - (fault == "one less"))
        root = np.sqrt(mean) + f32(1e-5) if fault == "epsilon outside" else np.sqrt(mean + f32(1e-5))
        return x * (1 / root) * (1 if fault == "no weight" else w)
    return kernel


@entry("residual and rms norm", "Liger", by_probes(lambda x, r, w: (x + r, xp.normalise(x + r, axes=[-1], epsilon=1e-6, form="root_mean") * w), like=[(5, 12), (5, 12), (12,)]),
       old_residual="without its add of operand 1", other_epsilon="an epsilon of 1e-05")
def add_rms_norm(fault: str) -> Any:
    def kernel(x: Any, r: Any, w: Any) -> Any:
        h = x + r
        used = x if fault == "old residual" else h
        mean = (used * used).mean(-1, keepdims=True, dtype=f32)
        return h, used / np.sqrt(mean + f32(1e-5 if fault == "other epsilon" else 1e-6)) * w
    return kernel


@entry("layer norm, two passes", "Triton's tutorials", by_probes("layer norm"), padded_lanes="padded lanes", one_less="one less", one_pass="one pass")
def layer_norm(fault: str) -> Any:
    def kernel(x: Any, w: Any, b: Any) -> Any:
        n = x.shape[-1]
        mean = x.sum(-1, keepdims=True, dtype=f32) / f32(n)
        d = x - mean
        square = (d * d).sum(-1, keepdims=True, dtype=f32)
        if fault == "padded lanes":
            square = square + f32(next_power(n) - n) * mean * mean
        variance = square / f32(n - (fault == "one less"))
        if fault == "one pass":
            variance = (x * x).mean(-1, keepdims=True, dtype=f32) - mean * mean
        return d * (1 / np.sqrt(variance + f32(1e-5))) * w + b
    return kernel


@entry("layer norm, merged", "Apex", by_probes("layer norm", model="any-order moments=welford"), merged_without_the_counts="")
def layer_norm_merged(fault: str) -> Any:
    def kernel(x: Any, w: Any, b: Any) -> Any:
        mean, square, count = np.zeros(x.shape[:-1] + (1,), f32), np.zeros(x.shape[:-1] + (1,), f32), 0
        for s in starts(x.shape[-1], 16):
            block = x[..., s:s + 16]
            m, own = block.mean(-1, keepdims=True, dtype=f32), block.shape[-1]
            delta, whole = m - mean, count + own
            square = square + ((block - m) ** 2).sum(-1, keepdims=True) + delta * delta * f32(count * own / whole)
            mean = mean + delta * f32(0.5 if fault == "merged without the counts" and count else own / whole)
            count = whole
        return (x - mean) / np.sqrt(square / f32(count) + f32(1e-5)) * w + b
    return kernel


def _grouped(x: Any, w: Any, b: Any) -> Any:
    n, c, s = x.shape
    z = xp.normalise(x.reshape(n, 2, c // 2 * s), axes=[-1], epsilon=1e-5, form="centered").reshape(n, c, s)
    return z * w.reshape(c, 1) + b.reshape(c, 1)


@entry("group norm", "Liger", by_probes(_grouped, like=[(3, 4, 5), (4,), (4,)]), weight_of_the_group="first element of each of 2 groups")
def group_norm(fault: str) -> Any:
    def kernel(x: Any, w: Any, b: Any) -> Any:
        n, c, s = x.shape
        if c % 2:
            raise NotImplementedError("an even number of channels")
        z = x.reshape(n, 2, -1)
        mean = z.mean(-1, keepdims=True, dtype=f32)
        d = z - mean
        y = (d / np.sqrt((d * d).mean(-1, keepdims=True, dtype=f32) + f32(1e-5))).reshape(n, c, s)
        if fault == "weight of the group":
            w = np.repeat(w[::c // 2], c // 2)
        return y * w[:, None] + b[:, None]
    return kernel


@entry("l2 norm", "fla", by_probes("normalise", attributes={"axes": (-1,), "epsilon": 1e-6, "form": "l2"}), epsilon_outside="epsilon added")
def l2_norm(fault: str) -> Any:
    def kernel(x: Any) -> Any:
        total = (x * x).sum(-1, keepdims=True, dtype=f32)
        return x / (np.sqrt(total) + f32(1e-6)) if fault == "epsilon outside" else x / np.sqrt(total + f32(1e-6))
    return kernel


@entry("log sum exp", "Liger", by_probes("log_sum_exp", attributes={"axes": (-1,), "keep_dims": False}), no_maximum="maximum")
def log_sum_exp(fault: str) -> Any:
    def kernel(x: Any) -> Any:
        top = x.max(-1, keepdims=True)
        top = np.where(np.isfinite(top), top, 0).astype(f32) if fault != "no maximum" else np.zeros_like(top)
        return np.log(np.exp(x - top).sum(-1)) + top[..., 0]
    return kernel


@entry("top k", "FlagGems", by_probes("sort", attributes={"axis": -1, "descending": True}), ascending="other direction")
def top_k(fault: str) -> Any:
    def kernel(x: Any, count: int) -> Any:
        y = np.sort(x, -1)
        y = y[..., x.shape[-1] - count:]
        return y if fault == "ascending" else y[..., ::-1].copy()
    return kernel
