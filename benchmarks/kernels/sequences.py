"""Functions with backward passes: products, attention with recomputation, and recurrences, tile by tile."""
from __future__ import annotations

from typing import Any

import torch
from entries import by_probes, by_reference, entry
from functions import function
from torch.nn import functional as F

TILE = 4


@entry("product, bias and gelu, with backward", "xformers", by_reference(lambda x, w, b: F.gelu(x @ w + b, approximate="tanh"), [(5, 6), (6, 4), (4,)]), bias_of_the_first_row="gradient of input 2")
def linear_gelu(fault: str) -> Any:
    k = 0.7978845608028654

    def forward(x: Any, w: Any, b: Any) -> Any:
        z = x @ w + b
        return 0.5 * z * (1 + torch.tanh(k * (z + 0.044715 * z ** 3))), (x, w, z)

    def backward(kept: Any, g: Any) -> Any:
        x, w, z = kept
        t = torch.tanh(k * (z + 0.044715 * z ** 3))
        own = g * (0.5 * (1 + t) + 0.5 * z * (1 - t * t) * k * (1 + 3 * 0.044715 * z * z))
        return own @ w.T, x.T @ own, own[0] if fault == "bias of the first row" else own.sum(0)
    return function(forward, backward)


def flash(fault: str, scale: float, opened: Any, cap: float = 0, groups: int = 1) -> Any:
    """Attention whose backward computes the weights again from the logarithms of sums, tile by tile."""
    def scores(q: Any, k: Any, s: int) -> tuple[Any, Any]:
        z = q @ k[:, s:s + TILE].mT * scale
        slope = torch.ones(())
        if cap:
            t = torch.tanh(z / cap)
            z, slope = cap * t, torch.ones(()) if fault == "slope of the cap lost" else 1 - t * t
        return (z if opened is None else z.masked_fill(~opened(q.shape[1], k.shape[1])[:, s:s + TILE], -torch.inf)), slope

    def repeated(one: Any) -> Any:
        return one.repeat_interleave(groups, 0) if groups > 1 else one

    def forward(q: Any, k: Any, v: Any) -> Any:
        keys, values = repeated(k), repeated(v)
        top, total, y = torch.full(q.shape[:2] + (1,), -torch.inf), torch.zeros(q.shape[:2] + (1,)), torch.zeros(*q.shape[:2], v.shape[2])
        for s in range(0, k.shape[1], TILE):
            z, _ = scores(q, keys, s)
            new = torch.maximum(top, z.amax(-1, keepdim=True))
            shift = torch.where(new == -torch.inf, 0, new)
            old, p = torch.exp(top - shift), torch.exp(z - shift)
            total, y, top = total * old + p.sum(-1, keepdim=True), y * old + p @ values[:, s:s + TILE], new
        y = y / total
        return y, (q, k, v, y, top + torch.log(total))

    def backward(kept: Any, g: Any) -> Any:
        q, k, v, y, lse = kept
        keys, values = repeated(k), repeated(v)
        delta = 0 if fault == "delta lost" else (g * y).sum(-1, keepdim=True)
        by_q, by_k, by_v = torch.zeros_like(q), [], []
        for s in range(0, k.shape[1], TILE):
            z, slope = scores(q, keys, s)
            p = torch.exp(z - lse)
            by_v.append(p.mT @ g)
            own = p * (g @ values[:, s:s + TILE].mT - delta) * slope * scale
            by_q = own @ keys[:, s:s + TILE] + (0 if fault == "queries of the last tile" else by_q)
            by_k.append(own.mT @ q / (scale if fault == "scale lost for keys" else 1))
        of_k, of_v = torch.cat(by_k, 1), torch.cat(by_v, 1)
        if groups > 1:
            of_k, of_v = (one.unflatten(0, (-1, groups)) for one in (of_k, of_v))
            of_k, of_v = (one[:, 0] if fault == "first head of the group" else one.sum(1) for one in (of_k, of_v))
        return by_q, of_k, of_v
    return function(forward, backward)


def plain(q: Any, k: Any, v: Any, scale: float, opened: Any = None, cap: float = 0) -> Any:
    z = q @ k.mT * scale
    z = cap * torch.tanh(z / cap) if cap else z
    return torch.softmax(z if opened is None else z.masked_fill(~opened(q.shape[1], k.shape[1]), -torch.inf), -1) @ v


def lower(s: int, t: int) -> Any:
    return torch.ones(s, t).tril() > 0


def band(s: int, t: int) -> Any:
    return lower(s, t) & (torch.ones(s, t).tril(-3) == 0)


@entry("attention, with recomputation", "FlashAttention", by_reference(lambda q, k, v: plain(q, k, v, 0.5), [(2, 5, 4), (2, 7, 4), (2, 7, 3)]), delta_lost="gradient of input [01]", scale_lost_for_keys="gradient of input 1", queries_of_the_last_tile="gradient of input 0")
def attention(fault: str) -> Any:
    return flash(fault, 0.5, None)


@entry("attention, causal, with recomputation", "FlashAttention", by_reference(lambda q, k, v: plain(q, k, v, 0.5, lower), [(2, 6, 4), (2, 6, 4), (2, 6, 3)]), delta_lost="gradient of input [01]")
def causal(fault: str) -> Any:
    return flash(fault, 0.5, lower)


@entry("attention in a window, with recomputation", "xformers", by_reference(lambda q, k, v: plain(q, k, v, 0.5, band), [(2, 9, 4), (2, 9, 4), (2, 9, 3)]), queries_of_the_last_tile="gradient of input 0")
def window(fault: str) -> Any:
    return flash(fault, 0.5, band)


@entry("attention with grouped keys, with recomputation", "FlashAttention", by_reference(lambda q, k, v: plain(q, k.repeat_interleave(2, 0), v.repeat_interleave(2, 0), 0.5), [(4, 5, 4), (2, 6, 4), (2, 6, 3)]), first_head_of_the_group="gradient of input [12]")
def grouped(fault: str) -> Any:
    return flash(fault, 0.5, None, groups=2)


@entry("attention with a soft cap, with recomputation", "Gemma", by_reference(lambda q, k, v: plain(q, k, v, 0.5, cap=4.0), [(2, 5, 4), (2, 6, 4), (2, 6, 3)]), slope_of_the_cap_lost="gradient of input [01]")
def softcap(fault: str) -> Any:
    return flash(fault, 0.5, None, cap=4.0)


@entry("linear attention in chunks, with backward", "fla", by_reference(lambda q, k, v: (q @ k.mT).tril() @ v, [(2, 9, 4), (2, 9, 4), (2, 9, 3)]), truncated_history="result|gradient", states_of_the_backward_lost="gradient of input [12]")
def linear_attention(fault: str) -> Any:
    def forward(q: Any, k: Any, v: Any) -> Any:
        state, found = torch.zeros(q.shape[0], q.shape[2], v.shape[2]), []
        for s in range(0, q.shape[1], TILE):
            a, b, c = (one[:, s:s + TILE] for one in (q, k, v))
            found.append((a @ b.mT).tril() @ c + a @ state)
            state = b.mT @ c + (0 if fault == "truncated history" else state)
        return torch.cat(found, 1), (q, k, v)

    def backward(kept: Any, g: Any) -> Any:
        q, k, v = kept
        state, by_q = torch.zeros(q.shape[0], q.shape[2], v.shape[2]), []
        for s in range(0, q.shape[1], TILE):
            a, b, c, d = (one[:, s:s + TILE] for one in (q, k, v, g))
            by_q.append((d @ c.mT).tril() @ b + d @ state.mT)
            state = b.mT @ c + state
        later, by_k, by_v = torch.zeros_like(state), [], []
        for s in reversed(range(0, q.shape[1], TILE)):
            a, b, c, d = (one[:, s:s + TILE] for one in (q, k, v, g))
            by_k.append((c @ d.mT).triu() @ a + c @ later.mT)
            by_v.append((b @ a.mT).triu() @ d + b @ later)
            later = a.mT @ d + (0 if fault == "states of the backward lost" else later)
        return torch.cat(by_q, 1), torch.cat(by_k[::-1], 1), torch.cat(by_v[::-1], 1)
    return function(forward, backward)


def recurrence(x: Any, a: Any) -> Any:
    h, found = torch.zeros_like(x[0]), []
    for t in range(len(x)):
        h = h * a[t] + x[t]
        found.append(h)
    return torch.stack(found)


@entry("selective scan, with backward", "Mamba", by_reference(recurrence, [(10, 3), (10, 3)]), state_after_the_step="gradient of input 1", truncated_history="gradient")
def scan(fault: str) -> Any:
    def forward(x: Any, a: Any) -> Any:
        y = recurrence(x, a)
        return y, (a, y)

    def backward(kept: Any, g: Any) -> Any:
        a, y = kept
        flow, by_x, by_a = torch.zeros_like(g[0]), torch.empty_like(g), torch.empty_like(g)
        for t in reversed(range(len(g))):
            flow = g[t] + flow
            by_x[t] = flow
            by_a[t] = flow * (y[t] if fault == "state after the step" else y[t - 1] if t else torch.zeros_like(flow))
            flow = flow * a[t] * (0 if fault == "truncated history" and t % TILE == 0 else 1)
        return by_x, by_a
    return function(forward, backward)


def delta(k: Any, v: Any, b: Any) -> Any:
    s = torch.zeros(k.shape[1], v.shape[1])
    for t in range(len(k)):
        s = s + torch.outer(k[t], (v[t] - k[t] @ s) * b[t])
    return s


@entry("delta rule, with backward", "fla", by_reference(delta, [(5, 4), (5, 3), (5,)]), erased_part_lost="gradient")
def delta_rule(fault: str) -> Any:
    def forward(k: Any, v: Any, b: Any) -> Any:
        states = [torch.zeros(k.shape[1], v.shape[1])]
        for t in range(len(k)):
            states.append(states[-1] + torch.outer(k[t], (v[t] - k[t] @ states[-1]) * b[t]))
        return states[-1].clone(), (k, v, b, states)

    def backward(kept: Any, g: Any) -> Any:
        k, v, b, states = kept
        by_k, by_v, by_b = torch.empty_like(k), torch.empty_like(v), torch.empty_like(b)
        for t in reversed(range(len(k))):
            u, own = v[t] - k[t] @ states[t], k[t] @ g
            by_v[t], by_b[t] = own * b[t], own @ u
            by_k[t] = g @ (u * b[t]) - states[t] @ (own * b[t])
            g = g if fault == "erased part lost" else g - torch.outer(k[t], own * b[t])
        return by_k, by_v, by_b
    return function(forward, backward)


def convolved(x: Any, w: Any) -> Any:
    padded = F.pad(x, (3, 0))
    return torch.stack([padded[:, i:i + x.shape[1]] * w[:, i:i + 1] for i in range(4)]).sum(0)


@entry("causal convolution, with backward", "Mamba", by_reference(convolved, [(3, 9), (3, 4)]), weights_not_reversed="gradient of input 0")
def causal_conv(fault: str) -> Any:
    def backward(kept: Any, g: Any) -> Any:
        x, w = kept
        padded, later = F.pad(x, (3, 0)), F.pad(g, (0, 3))
        order = range(4) if fault == "weights not reversed" else reversed(range(4))
        by_x = torch.stack([later[:, i:i + x.shape[1]] * w[:, j:j + 1] for i, j in zip(range(4), order)]).sum(0)
        return by_x, torch.stack([(padded[:, i:i + x.shape[1]] * g).sum(1) for i in range(4)], 1)
    return function(lambda x, w: (convolved(x, w), (x, w)), backward)


OF = torch.tensor([1, 0, 2, 1, 1, 0])


def by_experts(x: Any, w: Any) -> Any:
    """Multiply the rows of each expert at once, since the gradient of single rows is a chain of sums, which rounds otherwise."""
    y = torch.zeros(len(x), w.shape[2])
    for e in range(len(w)):
        rows = torch.nonzero(OF == e)[:, 0]
        y = y.index_add(0, rows, x[rows] @ w[e])
    return y


@entry("grouped product of experts, with backward", "MegaBlocks", by_reference(by_experts, [(6, 5), (3, 5, 4)]), last_row_of_each_expert="gradient of input 1")
def experts(fault: str) -> Any:
    def forward(x: Any, w: Any) -> Any:
        y = torch.empty(len(x), w.shape[2])
        for e in range(len(w)):
            y[OF == e] = x[OF == e] @ w[e]
        return y, (x, w)

    def backward(kept: Any, g: Any) -> Any:
        x, w = kept
        by_x, by_w = torch.empty_like(x), torch.empty_like(w)
        for e in range(len(w)):
            rows = torch.nonzero(OF == e)[:, 0]
            by_x[rows] = g[rows] @ w[e].T
            rows = rows[-1:] if fault == "last row of each expert" else rows
            by_w[e] = x[rows].T @ g[rows]
        return by_x, by_w
    return function(forward, backward)


def routed(x: Any) -> Any:
    return torch.softmax(torch.topk(x, 2, -1)[0], -1)


@entry("router of two experts, with backward", "Mixtral", by_reference(routed, [(5, 6)]), gradient_at_the_first_places="gradient")
def router(fault: str) -> Any:
    def forward(x: Any) -> Any:
        top, at = torch.topk(x, 2, -1)
        p = torch.softmax(top, -1)
        return p, (p, at, x.shape)

    def backward(kept: Any, g: Any) -> Any:
        p, at, shape = kept
        own = p * (g - (g * p).sum(-1, keepdim=True))
        return torch.zeros(shape).scatter(1, torch.arange(2).expand_as(at) if fault == "gradient at the first places" else at, own)
    return function(forward, backward)


@entry("softmax backward", "FlagGems", by_probes("softmax backward", arrays="torch"), cotangent_not_centred="without its sub")
def softmax_backward(fault: str) -> Any:
    def kernel(x: Any, g: Any) -> Any:
        e = torch.exp(x - x.amax(-1, keepdim=True))
        y = e / e.sum(-1, keepdim=True)
        return y * g if fault == "cotangent not centred" else y * (g - (y * g).sum(-1, keepdim=True))
    return kernel


@entry("layer norm backward", "Triton's tutorials", by_probes("layer norm backward", arrays="torch"), term_of_the_mean_lost="without its sub")
def layer_norm_backward(fault: str) -> Any:
    def kernel(x: Any, w: Any, b: Any, g: Any) -> Any:
        d = x - x.mean(-1, keepdim=True)
        r = torch.rsqrt((d * d).mean(-1, keepdim=True) + 1e-5)
        z, own = d * r, g * w
        mean = 0 if fault == "term of the mean lost" else own.mean(-1, keepdim=True)
        return r * (own - mean - z * (own * z).mean(-1, keepdim=True)), (g * z).sum(0), g.sum(0)
    return kernel


@entry("rms norm backward", "Liger", by_probes("rms norm backward", arrays="torch"), square_for_cube="without its mul")
def rms_norm_backward(fault: str) -> Any:
    def kernel(x: Any, w: Any, g: Any) -> Any:
        r, own = torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5), g * w
        inner = r if fault == "square for cube" else r * r
        return r * (own - x * inner * (own * x).mean(-1, keepdim=True)), (g * x * r).sum(0)
    return kernel


@entry("attention backward", "FlashAttention", by_probes("attention backward", arrays="torch"), delta_lost="without its sub")
def attention_backward(fault: str) -> Any:
    def kernel(q: Any, k: Any, v: Any, g: Any) -> Any:
        scale = q.shape[-1] ** -0.5
        p = torch.softmax(q @ k.mT * scale, -1)
        own = g @ v.mT
        own = p * (own - (0 if fault == "delta lost" else (own * p).sum(-1, keepdim=True))) * scale
        return own @ k, own.mT @ q, p.mT @ g
    return kernel
