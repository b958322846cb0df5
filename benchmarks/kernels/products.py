"""Products of matrices, attention and recurrences, tile by tile, in NumPy."""
from __future__ import annotations

from typing import Any

import numpy as np
from entries import by_probes, entry
from reductions import f32, starts

import assay.ops as xp

TILE = 32


def tiled(x: Any, w: Any, fault: str = "") -> Any:
    """The product of two matrices, in tiles of the inner axis."""
    total = np.zeros((x.shape[0], w.shape[1]), f32)
    for s in starts(x.shape[1], TILE):
        total += x[:, s:s + TILE] @ w[s:s + TILE]
        if fault == "accumulator of 16 bits":
            total = total.astype(np.float16).astype(f32)
    return total


@entry("matmul in tiles", "Triton's tutorials", by_probes(lambda x, w: x @ w, like=[(5, 7), (7, 3)]),
       accumulator_of_16_bits="binary16|16 bits|float16", factors_of_16_bits="bfloat16|binary16", columns_of_the_last_tile="")
def matmul(fault: str) -> Any:
    def kernel(x: Any, w: Any) -> Any:
        if fault == "factors of 16 bits":
            x, w = x.astype(np.float16).astype(f32), w.astype(np.float16).astype(f32)
        y = tiled(x, w, fault)
        if fault == "columns of the last tile" and w.shape[1] > TILE and w.shape[1] % TILE:
            y[:, w.shape[1] // TILE * TILE:] = y[:, :w.shape[1] % TILE]
        return y
    return kernel


@entry("matmul, split of K", "Triton's tutorials", by_probes(lambda x, w: x @ w, like=[(4, 16), (16, 6)]), lost_tail="last whole block", first_part_twice="")
def split_k(fault: str) -> Any:
    def kernel(x: Any, w: Any) -> Any:
        k, parts = x.shape[1], 4
        each = k // parts if fault == "lost tail" and k > parts else -(-k // parts)
        found = [tiled(x[:, s:s + each], w[s:s + each]) for s in range(0, each * parts, max(each, 1))]
        return np.sum(found if fault != "first part twice" else [*found[:1], *found], 0, dtype=f32)
    return kernel


@entry("matmul, bias and relu", "inductor", by_probes(lambda x, w, b: xp.relu(x @ w + b), like=[(5, 7), (7, 3), (3,)]), bias_after_relu="relu before its add", bias_for_each_tile="")
def matmul_bias_relu(fault: str) -> Any:
    def kernel(x: Any, w: Any, b: Any) -> Any:
        y = tiled(x, w)
        if fault == "bias after relu":
            return np.maximum(y, 0) + b
        return np.maximum(y + b * f32(-(-x.shape[1] // TILE) if fault == "bias for each tile" else 1), 0)
    return kernel


@entry("product of quantised weights", "bitsandbytes", by_probes(lambda x, q, s: (x @ q) * s, like=[(4, 8), (8, 6), (6,)]), wrong_broadcast_of_the_scale="along another axis", scale_of_the_first="first row of operand 2")
def quantised(fault: str) -> Any:
    def kernel(x: Any, q: Any, s: Any) -> Any:
        y = tiled(x, q)
        if fault == "wrong broadcast of the scale":
            return y * np.resize(s, y.shape[0])[:, None]
        return y * (s[0] if fault == "scale of the first" else s)
    return kernel


@entry("quantisation of rows", "TensorRT-LLM", by_probes(lambda x: xp.clip(xp.round(x / (xp.maximum(xp.max(abs(x), axis=-1, keepdims=True), 1e-4) / 127)), -128, 127), like=[(5, 9)]), largest_without_sign="without its abs", truncated="")
def quantise_rows(fault: str) -> Any:
    def kernel(x: Any) -> Any:
        top = (x if fault == "largest without sign" else np.abs(x)).max(-1, keepdims=True)
        z = x / (np.maximum(top, f32(1e-4)) / f32(127))
        return np.clip(np.trunc(z) if fault == "truncated" else np.rint(z), -128, 127).astype(f32)
    return kernel


def online(q: Any, k: Any, v: Any, scale: float, open_: Any = None, fault: str = "", cap: float = 0, tile: int = TILE) -> Any:
    """Attention by a running maximum. `open_` says which keys a query uses."""
    h, s, d = q.shape
    top, total, y = np.full((h, s, 1), -np.inf, f32), np.zeros((h, s, 1), f32), np.zeros((h, s, v.shape[2]), f32)
    for at in starts(k.shape[1], tile):
        z = q @ k[:, at:at + tile].swapaxes(1, 2) * f32(scale)
        if cap:
            z = f32(cap) * np.tanh(z / f32(cap))
        if open_ is not None:
            z = np.where(open_[..., at:at + tile], z, f32(-np.inf))
        new = np.maximum(top, z.max(-1, keepdims=True))
        shift = np.where(np.isneginf(new), 0, new)
        old, p = np.exp(top - shift), np.exp(z - shift)
        total = total * old + p.sum(-1, keepdims=True)
        y = (y if fault == "no rescaling" else y * old) + p @ v[:, at:at + tile]
        top = new
    return np.where(total == 0, 0, y / np.where(total == 0, 1, total)).astype(f32)


@entry("attention", "Triton's tutorials", by_probes("attention"), no_rescaling="", scale_of_the_padded_width="", keys_beyond_the_end="", wrong_tiles_at_192="last whole block of 128", mask_forgotten="mask")
def attention(fault: str) -> Any:
    def kernel(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
        d = q.shape[-1]
        width = 1 << (d - 1).bit_length() if fault == "scale of the padded width" else d
        if fault == "wrong tiles at 192" and d > 128 and d % 128:
            q = np.concatenate([q[..., :d // 128 * 128], np.zeros_like(q[..., d // 128 * 128:])], -1)
        if fault == "keys beyond the end":
            missing = -k.shape[1] % 4
            k, v = (np.concatenate([one, np.zeros_like(one[:, :1]).repeat(missing, 1)], 1) for one in (k, v))
            mask = None if mask is None else np.concatenate([mask, np.ones((len(mask), missing), bool)], 1)
        return online(q, k, v, width ** -0.5, None if fault == "mask forgotten" else mask, fault)
    return kernel


def _scores(q: Any, k: Any, scale: float) -> Any:
    return q @ xp.swapaxes(k, -1, -2) * scale


def _open(s: int, t: int, window: int = 0) -> Any:
    rows, columns = np.arange(s)[:, None], np.arange(t)
    return (columns <= rows) & (columns > rows - window if window else True)


def _masked(q: Any, k: Any, v: Any, open_: Any, scale: float) -> Any:
    return xp.softmax(xp.where(np.broadcast_to(open_, (q.shape[0], *open_.shape)), _scores(q, k, scale), -np.inf), axis=-1) @ v


@entry("attention, causal, of width 192", "FlashAttention", by_probes(lambda q, k, v: _masked(q, k, v, _open(q.shape[1], k.shape[1]), 192 ** -0.5), like=[(1, 9, 192), (1, 9, 192), (1, 9, 64)], blocks=False),
       wrong_tiles_at_192="", mask_one_too_far="")
def causal(fault: str) -> Any:
    def kernel(q: Any, k: Any, v: Any) -> Any:
        s, d = q.shape[1:]
        open_ = _open(s, s) if fault != "mask one too far" else np.tri(s, s, 1, dtype=bool)
        if fault == "wrong tiles at 192":  # two tiles of 128 for a width of 192, of which the second is not masked: it reads on in the next row
            flat = np.concatenate([q.ravel(), np.zeros(64, f32)])
            q = np.stack([flat[i * d:i * d + 256] for i in range(s)])[None]
            k = np.concatenate([k, k[..., 128:]], -1)
        return online(q, k, v, d ** -0.5, open_)
    return kernel


@entry("attention, any width in tiles of 64", "FlashAttention", by_probes(lambda q, k: q @ xp.swapaxes(k, -1, -2) * 0.125, like=[(1, 3, 64), (1, 5, 64)]), wrong_tiles_at_192="last whole block of 128")
def widths(fault: str) -> Any:
    def kernel(q: Any, k: Any) -> Any:
        d = q.shape[-1]
        if d % 64:
            raise NotImplementedError("widths are multiples of 64")
        tile = 128 if d % 128 == 0 else 64
        used = d // 128 * 128 if fault == "wrong tiles at 192" and d > 128 else d  # right for 64, 128 and 256
        total = np.zeros((q.shape[0], q.shape[1], k.shape[1]), f32)
        for s in starts(used, tile):
            total += q[..., s:min(s + tile, used)] @ k[..., s:min(s + tile, used)].swapaxes(1, 2)
        return total * f32(0.125)
    return kernel


@entry("attention in a window", "Mistral", by_probes(lambda q, k, v: _masked(q, k, v, _open(q.shape[1], k.shape[1], 4), 0.25), like=[(2, 11, 8), (2, 11, 8), (2, 11, 5)]), window_one_too_wide="", truncated_history="")
def window(fault: str) -> Any:
    def kernel(q: Any, k: Any, v: Any) -> Any:
        open_ = _open(q.shape[1], k.shape[1], 5 if fault == "window one too wide" else 4)
        if fault == "truncated history":  # a query uses no keys of an earlier block
            open_ &= np.arange(q.shape[1])[:, None] // 16 == np.arange(k.shape[1]) // 16
        return online(q, k, v, 0.25, open_)
    return kernel


@entry("attention with grouped keys", "xformers", by_probes(lambda q, k, v: xp.softmax(_scores(q, xp.concatenate([k[:1], k[:1], k[1:], k[1:]]), 0.5), axis=-1)
                                                               @ xp.concatenate([v[:1], v[:1], v[1:], v[1:]]), like=[(4, 5, 6), (2, 7, 6), (2, 7, 3)]), heads_interleaved="")
def grouped(fault: str) -> Any:
    def kernel(q: Any, k: Any, v: Any) -> Any:
        of = [0, 1, 0, 1] if fault == "heads interleaved" else [0, 0, 1, 1]
        if len(q) != 4 or len(k) != 2:
            raise NotImplementedError("two heads for each key")
        return online(q, k[of], v[of], 0.5)
    return kernel


@entry("attention with a soft cap", "Gemma", by_probes(lambda q, k, v: xp.softmax(xp.tanh(_scores(q, k, 0.5) / 20) * 20, axis=-1) @ v, like=[(2, 5, 6), (2, 7, 6), (2, 7, 3)]), cap_before_the_scale="", no_cap="without its tanh")
def softcap(fault: str) -> Any:
    def kernel(q: Any, k: Any, v: Any) -> Any:
        if fault == "cap before the scale":
            return online(q * f32(0.5) ** 0.5, k * f32(0.5) ** 0.5, v, 1, cap=40)
        return online(q, k, v, 0.5, cap=0 if fault == "no cap" else 20)
    return kernel


@entry("linear attention in chunks", "fla", by_probes(lambda q, k, v: (_scores(q, k, 1.0) * _open(q.shape[1], k.shape[1]).astype(f32)) @ v, like=[(2, 9, 6), (2, 9, 6), (2, 9, 5)]),
       truncated_history="other blocks of 16", state_of_the_last_chunk="", chunk_counted_twice="")
def linear_attention(fault: str) -> Any:
    def kernel(q: Any, k: Any, v: Any) -> Any:
        chunk = 16
        state, y = np.zeros((q.shape[0], q.shape[2], v.shape[2]), f32), np.empty(v.shape, f32)
        for s in starts(q.shape[1], chunk):
            a, b, c = q[:, s:s + chunk], k[:, s:s + chunk], v[:, s:s + chunk]
            own = b.swapaxes(1, 2) @ c
            carried = state * (fault != "truncated history") + (own if fault == "chunk counted twice" else 0)
            y[:, s:s + chunk] = (a @ b.swapaxes(1, 2) * np.tri(a.shape[1], dtype=f32)) @ c + a @ carried
            state = own if fault == "state of the last chunk" else state + own
        return y
    return kernel


def _recurrence(x: Any, a: Any) -> Any:
    h, found = None, []
    for t in range(x.shape[0]):
        h = (a[t] * 0.0 if h is None else h * a[t]) + x[t]
        found.append(h)
    return xp.stack(found)


@entry("selective scan", "Mamba", by_probes(_recurrence, like=[(12, 5), (12, 5)], blocks=False), truncated_history="", decay_of_the_step_before="")
def selective_scan(fault: str) -> Any:
    def kernel(x: Any, a: Any) -> Any:
        if fault == "decay of the step before":
            a = np.roll(a, 1, 0)
        h, y = np.zeros_like(x[0]), np.empty_like(x)
        for t in range(len(x)):
            h = (h if t % 8 or fault != "truncated history" else 0) * a[t] + x[t]
            y[t] = h
        return y
    return kernel


def _delta(k: Any, v: Any, b: Any) -> Any:
    s: Any = np.zeros((k.shape[1], v.shape[1]), f32)
    for t in range(k.shape[0]):
        key = k[t].reshape(-1, 1)
        s = s + key * ((v[t] - (key * s).sum(0)) * b[t:t + 1]).reshape(1, -1)
    return s


@entry("delta rule", "fla", by_probes(_delta, like=[(6, 4), (6, 3), (6,)], blocks=False), gate_on_the_old_alone="", sums_without_the_old="")
def delta_rule(fault: str) -> Any:
    def kernel(k: Any, v: Any, b: Any) -> Any:
        s = np.zeros((k.shape[1], v.shape[1]), f32)
        for t in range(len(k)):
            old = k[t] @ s if fault != "sums without the old" else 0
            new = v[t] - old * b[t] if fault == "gate on the old alone" else (v[t] - old) * b[t]
            s = s + np.outer(k[t], new)
        return s
    return kernel


def _convolved(x: Any, w: Any) -> Any:
    padded = xp.pad(x, before=[0, 3], after=[0, 0], value=0)
    return xp.stack([padded[:, i:i + x.shape[1]] * w[:, i:i + 1] for i in range(4)]).sum(0)


@entry("causal convolution", "Mamba", by_probes(_convolved, like=[(3, 9), (3, 4)]), weights_reversed="", looks_ahead="")
def causal_conv(fault: str) -> Any:
    def kernel(x: Any, w: Any) -> Any:
        if w.shape[1] != 4:
            raise NotImplementedError("a width of 4")
        w = w[:, ::-1] if fault == "weights reversed" else w
        padded = np.concatenate([np.zeros((len(x), 2 if fault == "looks ahead" else 3), f32), x, np.zeros((len(x), 1), f32)], 1)
        return np.sum([padded[:, i:i + x.shape[1]] * w[:, i:i + 1] for i in range(4)], 0, dtype=f32)
    return kernel


OF_EXPERTS = np.array([1, 0, 2, 1, 1, 0])


@entry("grouped product of experts", "MegaBlocks", by_probes(lambda x, w: xp.stack([x[i] @ w[int(e)] for i, e in enumerate(OF_EXPERTS)]), like=[(6, 5), (3, 5, 4)], blocks=False), not_put_back="", offset_of_one="")
def experts(fault: str) -> Any:
    def kernel(x: Any, w: Any) -> Any:
        order = np.argsort(OF_EXPERTS, kind="stable")
        ends = np.cumsum(np.bincount(OF_EXPERTS, minlength=len(w)))
        found = np.empty((len(x), w.shape[2]), f32)
        for e, (s, t) in enumerate(zip([0, *ends], ends)):
            rows = order[s + (fault == "offset of one" and e > 0):t]
            found[rows] = x[rows] @ w[e]
        if fault == "offset of one":
            found[order[ends[:-1]]] = 0
        return found[order] if fault == "not put back" else found
    return kernel
