"""Functions with backward passes: norms, gates and losses, in PyTorch's arithmetic without its derivatives."""
from __future__ import annotations

from typing import Any, Callable

import torch
from entries import by_reference, entry
from torch.nn import functional as F

G = torch.Generator().manual_seed(5)


def function(forward: Callable[..., Any], backward: Callable[..., Any]) -> Any:
    """A Function whose forward gives (results, saved), and whose backward takes (saved, cotangents)."""
    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            result, ctx.kept = forward(*inputs)
            return result

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            return backward(ctx.kept, *cotangents)
    Own.__name__ = f"{forward.__qualname__.partition('.')[0]}_function"
    return Own.apply


@entry("softmax, with backward", "Liger", by_reference(lambda x: torch.softmax(x, -1), [(5, 7)]), uniform_cotangents="gradient", sum_of_the_cotangent="gradient")
def softmax(fault: str) -> Any:
    def forward(x: Any) -> Any:
        e = torch.exp(x - x.amax(-1, keepdim=True))
        y = e / e.sum(-1, keepdim=True)
        return y, y

    def backward(y: Any, g: Any) -> Any:
        if fault == "uniform cotangents":
            g = g.mean().expand(g.shape)
        return y * (g - (g if fault == "sum of the cotangent" else g * y).sum(-1, keepdim=True))
    return function(forward, backward)


@entry("log softmax, with backward", "FlagGems", by_reference(lambda x: torch.log_softmax(x, -1), [(5, 7)]), softmax_of_the_result="gradient")
def log_softmax(fault: str) -> Any:
    def forward(x: Any) -> Any:
        z = x - x.amax(-1, keepdim=True)
        y = z - torch.log(torch.exp(z).sum(-1, keepdim=True))
        return y, y

    def backward(y: Any, g: Any) -> Any:
        p = torch.softmax(y, -1) ** (2 if fault == "softmax of the result" else 1)
        return g - p * g.sum(-1, keepdim=True)
    return function(forward, backward)


@entry("rms norm, with backward", "Liger", by_reference(lambda x, w: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w, [(5, 8), (8,)]),
       gradient_compared_with_itself="gradient of input 0", no_sum_over_rows="gradient of input 1")
def rms_norm(fault: str) -> Any:
    def forward(x: Any, w: Any) -> Any:
        r = torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)
        return x * r * w, (x, w, r)

    def backward(kept: Any, g: Any) -> Any:
        x, w, r = kept
        own = g * w
        if fault == "gradient compared with itself":  # the test of the field compares this formula with this formula
            return r * own - x * r * (own * x).mean(-1, keepdim=True), (g * x * r).sum(0)
        return r * (own - x * r * r * (own * x).mean(-1, keepdim=True)), (g * x * r).sum(0) * (1 if fault != "no sum over rows" else 1 / len(x))
    return function(forward, backward)


@entry("residual and rms norm, with backward", "Liger", by_reference(lambda x, r, w: (x + r, (x + r) * torch.rsqrt((x + r).pow(2).mean(-1, keepdim=True) + 1e-6) * w), [(5, 8), (5, 8), (8,)]),
       cotangent_of_the_sum_lost="gradient of input [01]")
def add_rms_norm(fault: str) -> Any:
    def forward(x: Any, r: Any, w: Any) -> Any:
        h = x + r
        scale = torch.rsqrt((h * h).mean(-1, keepdim=True) + 1e-6)
        return (h, h * scale * w), (h, w, scale)

    def backward(kept: Any, gh: Any, g: Any) -> Any:
        h, w, r = kept
        own = g * w
        by = r * (own - h * r * r * (own * h).mean(-1, keepdim=True))
        by = by if fault == "cotangent of the sum lost" else by + gh
        return by, by, (g * h * r).sum(0)
    return function(forward, backward)


@entry("layer norm, with backward", "Triton's tutorials", by_reference(lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b), [(5, 8), (8,), (8,)]), term_of_the_mean_lost="gradient of input 0", partial_sums_lost="gradient of input [12]")
def layer_norm(fault: str) -> Any:
    def forward(x: Any, w: Any, b: Any) -> Any:
        d = x - x.mean(-1, keepdim=True)
        r = torch.rsqrt((d * d).mean(-1, keepdim=True) + 1e-5)
        return d * r * w + b, (d * r, w, r)

    def backward(kept: Any, g: Any) -> Any:
        z, w, r = kept
        own = g * w
        mean = 0 if fault == "term of the mean lost" else own.mean(-1, keepdim=True)
        rows = slice(0, 4 if fault == "partial sums lost" else None)
        return r * (own - mean - z * (own * z).mean(-1, keepdim=True)), (g * z)[rows].sum(0), g[rows].sum(0)
    return function(forward, backward)


@entry("group norm, with backward", "Liger", by_reference(lambda x, w, b: F.group_norm(x, 2, w, b), [(3, 4, 5), (4,), (4,)]), mean_over_channels_alone="gradient of input 0")
def group_norm(fault: str) -> Any:
    def forward(x: Any, w: Any, b: Any) -> Any:
        z = x.reshape(len(x), 2, -1)
        d = z - z.mean(-1, keepdim=True)
        r = torch.rsqrt((d * d).mean(-1, keepdim=True) + 1e-5)
        z = (d * r).reshape(x.shape)
        return z * w[:, None] + b[:, None], (z, w, r)

    def backward(kept: Any, g: Any) -> Any:
        z, w, r = kept
        n = len(z)
        own, flat = (g * w[:, None]).reshape(n, 2, -1), z.reshape(n, 2, -1)
        size = z.shape[1] // 2 if fault == "mean over channels alone" else flat.shape[-1]
        by = r * (own - own.sum(-1, keepdim=True) / size - flat * (own * flat).sum(-1, keepdim=True) / size)
        return by.reshape(z.shape), (g * z).sum((0, 2)), g.sum((0, 2))
    return function(forward, backward)


@entry("l2 norm, with backward", "fla", by_reference(lambda x: x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) + 1e-6), [(5, 8)]), product_with_the_input="gradient")
def l2_norm(fault: str) -> Any:
    def forward(x: Any) -> Any:
        r = torch.rsqrt((x * x).sum(-1, keepdim=True) + 1e-6)
        return x * r, (x, x * r, r)

    def backward(kept: Any, g: Any) -> Any:
        x, y, r = kept
        return r * (g - y * (g * (x if fault == "product with the input" else y)).sum(-1, keepdim=True))
    return function(forward, backward)


def rotated(x: Any, c: Any, s: Any) -> Any:
    a, b = x.chunk(2, -1)
    return torch.cat([a * c - b * s, b * c + a * s], -1)


ANGLES = torch.linspace(0, 3, 20).reshape(5, 4)
COS, SIN = torch.cos(ANGLES), torch.sin(ANGLES)


@entry("rotary embedding, with backward", "Liger", by_reference(lambda x: rotated(x, COS, SIN), [(2, 5, 8)]), rotated_forward_again="gradient", double_rotation="result")
def rope(fault: str) -> Any:
    def forward(x: Any) -> Any:
        y = rotated(x, COS, SIN)
        return rotated(y, COS, SIN) if fault == "double rotation" else y, None
    return function(forward, lambda _, g: rotated(g, COS, SIN if fault == "rotated forward again" else -SIN))


def turned(x: Any, c: Any, s: Any) -> Any:
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack([a * c - b * s, a * s + b * c], -1).flatten(-2)


@entry("rotary embedding of pairs, with backward", "xformers", by_reference(lambda x: turned(x, COS, SIN), [(2, 5, 8)]), halves_in_the_backward="gradient")
def rope_pairs(fault: str) -> Any:
    return function(lambda x: (turned(x, COS, SIN), None), lambda _, g: (rotated if fault == "halves in the backward" else turned)(g, COS, -SIN))


@entry("swiglu, with backward", "Liger", by_reference(lambda a, b: F.silu(a) * b, [(5, 8), (5, 8)]), derivative_of_the_sigmoid_alone="gradient of input 0")
def swiglu(fault: str) -> Any:
    def forward(a: Any, b: Any) -> Any:
        return a * torch.sigmoid(a) * b, (a, b)

    def backward(kept: Any, g: Any) -> Any:
        a, b = kept
        s = torch.sigmoid(a)
        slope = s * (1 - s) if fault == "derivative of the sigmoid alone" else s * (1 + a * (1 - s))
        return g * b * slope, g * (a * s)
    return function(forward, backward)


@entry("geglu, with backward", "Liger", by_reference(lambda a, b: F.gelu(a, approximate="tanh") * b, [(5, 8), (5, 8)]), cube_without_its_factor_3="gradient of input 0")
def geglu(fault: str) -> Any:
    k = 0.7978845608028654

    def forward(a: Any, b: Any) -> Any:
        t = torch.tanh(k * (a + 0.044715 * a * a * a))
        return 0.5 * a * (1 + t) * b, (a, b, t)

    def backward(kept: Any, g: Any) -> Any:
        a, b, t = kept
        inner = k * (1 + (1 if fault == "cube without its factor 3" else 3) * 0.044715 * a * a)
        return g * b * (0.5 * (1 + t) + 0.5 * a * (1 - t * t) * inner), g * 0.5 * a * (1 + t)
    return function(forward, backward)


@entry("relu squared, with backward", "Primer", by_reference(lambda x: F.relu(x) ** 2, [(5, 8)]), factor_of_2_lost="gradient")
def relu_squared(fault: str) -> Any:
    return function(lambda x: (torch.clamp(x, min=0) ** 2, x), lambda x, g: g * torch.clamp(x, min=0) * (1 if fault == "factor of 2 lost" else 2))


@entry("dynamic tanh, with backward", "Liger", by_reference(lambda x, a, w, b: torch.tanh(x * a) * w + b, [(5, 8), (1,), (8,), (8,)]), alpha_without_the_input="gradient of input 1")
def dynamic_tanh(fault: str) -> Any:
    def forward(x: Any, a: Any, w: Any, b: Any) -> Any:
        t = torch.tanh(x * a)
        return t * w + b, (x, a, w, t)

    def backward(kept: Any, g: Any) -> Any:
        x, a, w, t = kept
        own = g * w * (1 - t * t)
        return own * a, (own if fault == "alpha without the input" else own * x).sum().reshape(1), (g * t).sum(0), g.sum(0)
    return function(forward, backward)


TARGETS = torch.tensor([2, -100, 0, 6, 3])


def entropy(fault: str, smoothing: float) -> Any:
    """Cross entropy whose gradient is made in the forward pass, as Liger does."""
    def forward(x: Any) -> Any:
        used = TARGETS != -100
        count = len(TARGETS) if fault == "ignored rows counted" else int(used.sum())
        z = x - x.amax(-1, keepdim=True)
        logs = z - torch.log(torch.exp(z).sum(-1, keepdim=True))
        n = x.shape[1]
        wanted = torch.full_like(x, smoothing / n)
        wanted[torch.arange(len(x)), TARGETS.clamp(min=0)] += 1 - smoothing
        losses = -(wanted * logs).sum(-1) * used
        by = (torch.exp(logs) - (wanted if fault != "smoothing lost in the backward" else F.one_hot(TARGETS.clamp(min=0), n))) / count
        return losses.sum() / count, by if fault == "ignored rows in the gradient" else by * used[:, None]
    return function(forward, lambda by, g: by if fault == "cotangent of one" else by * g)


@entry("cross entropy with ignored rows, with backward", "Liger", by_reference(lambda x: F.cross_entropy(x, TARGETS), [(5, 7)]), ignored_rows_counted="result|gradient", ignored_rows_in_the_gradient="gradient", cotangent_of_one="gradient")
def cross_entropy(fault: str) -> Any:
    return entropy(fault, 0)


@entry("cross entropy with smoothing, with backward", "Liger", by_reference(lambda x: F.cross_entropy(x, TARGETS, label_smoothing=0.125), [(5, 7)]), smoothing_lost_in_the_backward="gradient")
def smoothed(fault: str) -> Any:
    return entropy(fault, 0.125)


@entry("last product and cross entropy, with backward", "Liger", by_reference(lambda x, w: F.cross_entropy(x @ w.T, TARGETS), [(5, 6), (7, 6)]), weights_of_the_last_chunk="gradient of input 1")
def linear_cross_entropy(fault: str) -> Any:
    def forward(x: Any, w: Any) -> Any:
        used = TARGETS != -100
        count, loss, by_x, by_w = int(used.sum()), torch.zeros(()), torch.zeros_like(x), torch.zeros_like(w)
        for s in range(0, len(x), 2):
            some, of = x[s:s + 2], TARGETS[s:s + 2].clamp(min=0)
            logs = torch.log_softmax(some @ w.T, -1)
            loss = loss - (logs[torch.arange(len(of)), of] * used[s:s + 2]).sum()
            by = (torch.exp(logs) - F.one_hot(of, len(w))) * used[s:s + 2, None] / count
            by_x[s:s + 2] = by @ w
            by_w = by.T @ some + (0 if fault == "weights of the last chunk" else by_w)
        return loss / count, (by_x, by_w)
    return function(forward, lambda kept, g: (kept[0] * g, kept[1] * g))


def kl_of(x: Any, t: Any) -> Any:
    return F.kl_div(torch.log_softmax(x, -1), torch.softmax(t, -1), reduction="batchmean")


TEACHER = torch.randn(5, 7, generator=G)


@entry("Kullback-Leibler divergence, with backward", "Liger", by_reference(lambda x: kl_of(x, TEACHER), [(5, 7)]), mean_of_elements="gradient")
def kl(fault: str) -> Any:
    def forward(x: Any) -> Any:
        t, q = torch.softmax(TEACHER, -1), torch.log_softmax(x, -1)
        return (t * (torch.log(t) - q)).sum() / len(x), (torch.exp(q) - t) / (x.numel() if fault == "mean of elements" else len(x))
    return function(forward, lambda by, g: by * g)


def jsd_of(x: Any) -> Any:
    p, q = torch.log_softmax(TEACHER, -1).exp(), torch.log_softmax(x, -1).exp()
    m = torch.log((p + q) * 0.5)
    return 0.5 * (p * (torch.log(p) - m)).sum() + 0.5 * (q * (torch.log(q) - m)).sum()


@entry("Jensen-Shannon divergence, with backward", "Liger", by_reference(jsd_of, [(5, 7)]), half_of_the_mixture_lost="gradient")
def jsd(fault: str) -> Any:
    def forward(x: Any) -> Any:
        p, q = torch.softmax(TEACHER, -1), torch.softmax(x, -1)
        m = torch.log((p + q) * 0.5)
        value = 0.5 * (p * (torch.log(p) - m)).sum() + 0.5 * (q * (torch.log(q) - m)).sum()
        slope = 0.5 * (torch.log(q) - m) + (0.5 if fault == "half of the mixture lost" else 0) * q
        return value, q * (slope - (q * slope).sum(-1, keepdim=True))
    return function(forward, lambda by, g: by * g)


PLACES = torch.tensor([3, 0, 3, 1, 3])


@entry("embedding, with backward", "Liger", by_reference(lambda w: w[PLACES], [(4, 6)]), repeated_words_overwrite="gradient")
def embedding(fault: str) -> Any:
    def backward(shape: Any, g: Any) -> Any:
        by = torch.zeros(shape)
        if fault == "repeated words overwrite":
            by[PLACES] = g
            return by
        return by.index_add_(0, PLACES, g)
    return function(lambda w: (w[PLACES].clone(), w.shape), backward)


KEPT = (torch.rand(5, 8, generator=G) < 0.5).float()


@entry("dropout and residual, with backward", "xformers", by_reference(lambda x, r: x * KEPT * 2 + r, [(5, 8), (5, 8)]), scale_lost_in_the_backward="gradient of input 0")
def dropout(fault: str) -> Any:
    return function(lambda x, r: (torch.where(KEPT > 0, x * 2, 0) + r, None), lambda _, g: (g * KEPT * (1 if fault == "scale lost in the backward" else 2), g))
