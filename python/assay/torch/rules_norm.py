"""Meanings of normalisations and attention, and of their backward kernels."""
from __future__ import annotations

import math
from typing import Any, Callable

import torch
from torch._prims_common import suggest_memory_format

from .moments import most_roundings
from .nodes import HALVES, Nodes, Ref, Unknown, counted
from .rules_reduce import FAR

Rule = Callable[..., Any]


def root(n: Nodes, variance: Ref, epsilon: float, times: int = 6) -> Ref:
    """1 / sqrt(variance + epsilon). A variance that is merged from parts has so many roundings more than one of two passes."""
    return n("reciprocal", n("sqrt", n("add", rounded_often(n, variance, times), n.read(n.constant(epsilon, n.dtype), float(epsilon)))))


def rounded_often(n: Nodes, x: Ref, times: int) -> Ref:
    """The value with so many roundings: it times ones."""
    ones = n.expand(n.constant(1.0, n.dtype), [*x.shape, times])
    return n.reduce("reduce_prod", n("concat", n.reshape(x, [*x.shape, 1]), ones, axis=x.rank), [x.rank], False)


def merged_mean(n: Nodes, x: Ref, axes: list[int], keep: bool = True) -> Ref:
    """The mean over axes; of elements with a few roundings more, as means that are merged from parts round where a sum is exact."""
    return n.reduce("reduce_mean", n.loose(x), axes, keep)


def moments(n: Nodes, x: Ref, axes: list[int], epsilon: float, merged: bool = True) -> tuple[Ref, Ref, Ref]:
    """Mean, variance and 1 / sqrt(variance + epsilon) over axes, which are kept. Moments that are merged from parts (Welford's) are about the means of
    those, not about the mean that is recorded: how often these are rounded is derived in docs/contracts/merged-moments.md."""
    mean = merged_mean(n, x, axes)
    count = counted([x.shape[a] for a in axes])
    of_mean, of_variance = most_roundings(count, n.first.element_size()) if merged and count > 1 else (0, 6)
    distance = n("sub", x, rounded_often(n, mean, of_mean) if of_mean else mean)
    variance = n.reduce("reduce_mean", n("mul", distance, distance), axes)
    return mean, variance, root(n, variance, epsilon, of_variance)


def moments_of_one_pass(n: Nodes, x: Ref, axes: list[int], epsilon: float) -> Ref:
    """1 / sqrt(variance + epsilon) of a variance that is the mean of squares without the square of the mean."""
    mean = merged_mean(n, x, axes)
    return root(n, n("sub", n.reduce("reduce_mean", n("mul", x, x), axes), n("mul", mean, mean)), epsilon)


def scaled(n: Nodes, y: Ref, w: Ref | None, b: Ref | None, shape: list[int]) -> Ref:
    y = y if w is None else n("mul", y, n.reshape(w, shape))
    return y if b is None else n("add", y, n.reshape(b, shape))


# The statistics are results of their own: what is made of them is a region that reads them (`late`), and the backward kernels mark what they
# are for each: cotangents of x without the statistics, of the mean and of the inverse, and what these give to x.

def layer_norm(n: Nodes, x: Ref, shape: list[int], w: Ref | None, b: Ref | None, epsilon: float) -> list[Ref]:
    mean, _, inverse = moments(n, x, list(range(x.rank - len(shape), x.rank)), epsilon)
    def late(m: Ref, r: Ref) -> Ref:
        return scaled(n, n("mul", n("sub", x, m), r), w, b, list(shape))
    n.late = late
    return [late(mean, inverse), mean, inverse]


def affine(n: Nodes, x: Ref, mean: Ref, inverse: Ref, w: Ref | None, b: Ref | None) -> Ref:
    """x s + (b - mean s) with s = inverse w."""
    s = inverse if w is None else n("mul", inverse, w)
    rest = n("mul", mean, s)
    return n("add", n("mul", x, s), n("neg", rest) if b is None else n("sub", b, rest))


def normalised_back(n: Nodes, t: Ref, x: Ref, mean: Ref, inverse: Ref, axes: list[int], like: list[int], shape: list[int]) -> Ref:
    """The cotangent of x from that of (x - mean) inverse; `like` is the shape of the statistics, `shape` that of x."""
    count = n.constant(float(counted([x.shape[a] for a in axes])), n.dtype)
    direct = n.product(t, inverse)
    of_mean = n.reshape(n("neg", n.reduce("reduce_sum", direct, axes)), like)
    both = n.stacked([n.product(t, x), n("neg", n.product(t, mean))])
    of_inverse = n.reshape(n.reduce("reduce_sum", both, [*axes, x.rank]), like)
    def times(a: Ref, b: Ref) -> Ref:  # a product of many factors says nothing where one may be 0, as a sum that cancels may
        return n.loose(n("mul", a, b))
    k = n("div", times(n.reshape(of_inverse, inverse.shape), n.product(inverse, inverse, inverse)), count)
    by_mean = n.expand(n("div", n.reshape(of_mean, mean.shape), count), x.shape)
    found = {"x": direct, "x by mean": by_mean, "x by inverse": n("neg", times(k, x)), "mean by inverse": n.expand(times(k, mean), x.shape)}
    found = {what: n.reshape(one, shape) for what, one in found.items()}
    n.marks = found | {"mean": of_mean, "inverse": of_inverse}
    return n.total(*found.values())


def weight_back(n: Nodes, g: Ref, x: Ref, mean: Ref, inverse: Ref, axes: list[int]) -> Ref:
    """The sum of g (x - mean) inverse over axes."""
    both = n.stacked([n.product(g, x, inverse), n("neg", n.product(g, mean, inverse))])
    return n.reduce("reduce_sum", both, [*axes, x.rank], False)


def layer_norm_backward(n: Nodes, g: Ref, x: Ref, shape: list[int], mean: Ref, inverse: Ref, w: Ref | None, b: Ref | None,
                        mask: list[bool]) -> list[Ref | None]:
    first = x.rank - len(shape)
    axes, outer = list(range(first, x.rank)), list(range(first))
    through = g if w is None else n("mul", g, n.reshape(w, list(shape)))
    return [normalised_back(n, through, x, mean, inverse, axes, mean.shape, x.shape) if mask[0] else None,
            weight_back(n, g, x, mean, inverse, outer) if mask[1] else None,
            n.reduce("reduce_sum", g, outer, False) if mask[2] else None]


def group_norm(n: Nodes, x: Ref, w: Ref | None, b: Ref | None, batch: int, channels: int, extent: int, groups: int, epsilon: float) -> list[Ref]:
    rows = n.reshape(x, [batch, groups, channels // groups * extent])
    is_dense = suggest_memory_format(n.first) == torch.contiguous_format  # or the kernel takes one pass over the channels
    inverse = moments(n, rows, [2], epsilon)[2] if is_dense else moments_of_one_pass(n, rows, [2], epsilon)
    mean, inverse = merged_mean(n, rows, [2], False), n.reshape(inverse, [batch, groups])
    def late(m: Ref, r: Ref) -> Ref:
        shape, column = [batch, groups, channels // groups, extent], [batch, groups, 1, 1]
        by_channel = [None if one is None else n.reshape(one, [1, groups, channels // groups, 1]) for one in (w, b)]
        rows, centre, turn = n.reshape(x, shape), n.reshape(m, column), n.reshape(r, column)
        if w is None and b is None and is_dense:  # then the difference comes first
            return n.reshape(n("mul", n("sub", rows, centre), turn), x.shape)
        return n.reshape(affine(n, rows, centre, turn, *by_channel), x.shape)
    n.late = late
    return [late(mean, inverse), mean, inverse]


def group_norm_backward(n: Nodes, g: Ref, x: Ref, mean: Ref, inverse: Ref, w: Ref | None, batch: int, channels: int, extent: int, groups: int,
                        mask: list[bool]) -> list[Ref | None]:
    shape, column = [batch, groups, channels // groups * extent], [batch, groups, 1]
    rows, centre, turn = n.reshape(x, shape), n.reshape(mean, column), n.reshape(inverse, column)
    through = g if w is None else n("mul", g, n.reshape(w, [channels] + [1] * (x.rank - 2)))
    by_channel, inside = [batch, channels, extent], [batch, groups, channels // groups, extent]
    return [normalised_back(n, n.reshape(through, shape), rows, centre, turn, [2], mean.shape, x.shape) if mask[0] else None,
            n.reshape(weight_back(n, n.reshape(g, inside), n.reshape(x, inside), n.reshape(mean, [*column, 1]), n.reshape(inverse, [*column, 1]), [0, 3]), [channels]) if mask[1] else None,
            n.reduce("reduce_sum", n.reshape(g, by_channel), [0, 2], False) if mask[2] else None]


def channel_column(x: Ref) -> list[int]:
    return [x.shape[1]] + [1] * (x.rank - 2)


def batch_norm(n: Nodes, x: Ref, w: Ref | None, b: Ref | None, mean: Ref | None, var: Ref | None, training: bool, momentum: float,
               epsilon: float) -> list[Ref | None]:
    """The result, what is saved; then the running statistics, which the kernel writes without saying so."""
    channels = [x.shape[1]]
    if not training:
        scale = n.expand(n.constant(1.0, n.dtype), channels) if w is None else w
        shift = n.expand(n.constant(0.0, n.dtype), channels) if b is None else b
        assert mean is not None and var is not None
        return [n("batch_norm", x, scale, shift, mean, var, epsilon=n.rounded(epsilon)), None, None]
    axes = [0, *range(2, x.rank)]
    now = merged_mean(n, x, axes, False)
    count = counted([x.shape[a] for a in axes])
    saved = n.results[1]
    is_short = saved is not None and saved.dtype in HALVES  # then the sum of squares and what is made of it are stored
    if is_short:
        distance = n("sub", x, merged_mean(n, x, axes))
        squares = n.stored_step(n.reduce("reduce_sum", n("mul", distance, distance), axes))
        variance, unbiased = (n.reshape(n.stored_step(n("div", squares, float(size))), channels) for size in (count, count - 1))
        inverse = root(n, variance, epsilon)
    else:
        _, variance, inverse = (n.reshape(one, channels) for one in moments(n, x, axes, epsilon, merged=False))
        unbiased = n("div", n("mul", variance, float(count)), float(count - 1))
    def late(m: Ref, r: Ref) -> Ref:
        column = channel_column(x)
        return affine(n, x, n.reshape(m, column), n.reshape(r, column), *[None if one is None else n.reshape(one, column) for one in (w, b)])
    n.late = late
    y = late(now, inverse)
    if mean is None or var is None:
        return [y, now, inverse]
    share, kept = n.constant(momentum, n.dtype), n("sub", n.constant(1.0, n.dtype), n.constant(momentum, n.dtype))
    if saved is not None and saved.dtype == torch.bfloat16:  # the numbers are stored, too
        share, kept = (n.constant(float(torch.tensor(one, dtype=saved.dtype)), n.dtype) for one in (momentum, 1 - momentum))
    step = n.stored_step if is_short else lambda one: one
    return [y, now, inverse, *[n("add", step(n("mul", share, step(new))), step(n("mul", kept, old)))
                               for new, old in ((now, mean), (unbiased, var))]]


def batch_norm_backward(n: Nodes, g: Ref, x: Ref, w: Ref | None, mean: Ref | None, var: Ref | None, saved_mean: Ref | None, saved_inverse: Ref | None,
                        training: bool, epsilon: float, mask: list[bool]) -> list[Ref | None]:
    axes, column = [0, *range(2, x.rank)], channel_column(x)
    if training:
        assert saved_mean is not None and saved_inverse is not None
        centre, inverse = saved_mean, saved_inverse
    else:
        assert mean is not None and var is not None
        centre, inverse = mean, root(n, var, epsilon)
    inverse, centre = n.reshape(inverse, column), n.reshape(centre, column)
    through = g if w is None else n("mul", g, n.reshape(w, column))
    x_bar = None
    if mask[0]:
        wide = [1, *column]
        x_bar = normalised_back(n, through, x, n.reshape(centre, wide), n.reshape(inverse, wide), axes, [x.shape[1]], x.shape) if training \
            else n("mul", through, inverse)
    return [x_bar, weight_back(n, g, x, centre, inverse, axes) if mask[1] else None,
            n.reduce("reduce_sum", g, axes, False) if mask[2] else None]


def fused_rms_norm(n: Nodes, x: Ref, shape: list[int], w: Ref | None, epsilon: float | None) -> list[Ref]:
    axes = list(range(x.rank - len(shape), x.rank))
    mean = n.reduce("reduce_mean", n("mul", x, x), axes)
    inverse = root(n, mean, torch.finfo(n.dtype).eps if epsilon is None else epsilon)
    return [scaled(n, n("mul", x, inverse), w, None, list(shape)), inverse]


# Attention: softmax(scale q k^T + mask) v, and the logarithms of the sums.

def allowed(q: Ref, k: Ref, causal: bool, mask: Ref | None) -> torch.Tensor | None:
    """Which pairs may meet, where some may not."""
    open_pairs = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool)
    if causal:
        return open_pairs.tril()
    if mask is None or mask.tensor is None:
        return None
    if mask.dtype == torch.bool:
        return mask.tensor
    if not bool(torch.isfinite(mask.tensor).all()):
        return mask.tensor != -math.inf
    # A mask of -1e9 or of the least number shuts out, as -inf does, what is beside an open element, if scores are no such numbers.
    bound = max((float(one.tensor.detach().float().norm(dim=-1).max()) if one.tensor is not None else math.inf) for one in (q, k)) ** 2
    far = mask.tensor < mask.tensor.amax(-1, keepdim=True) - FAR - 2 * bound
    is_open = math.isfinite(bound) and bool((mask.tensor.amax(-1) > -FAR).all())
    return ~far if is_open and bool(far.any()) else None


def scores(n: Nodes, q: Ref, k: Ref, causal: bool, mask: Ref | None, scale: float | None) -> tuple[Ref, torch.Tensor | None]:
    """The scaled products, with a finite mask added; which pairs may meet."""
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    turned = n.permute(k, [*range(k.rank - 2), k.rank - 1, k.rank - 2])
    found = n("mul", n("matmul", q, turned), n.number(factor, n.dtype))
    pairs = allowed(q, k, causal, mask)
    if mask is not None and mask.dtype != torch.bool and not causal:
        assert mask.tensor is not None
        found = n("add", found, mask if pairs is None else n.constant(torch.where(pairs, mask.tensor, 0.0), n.dtype))
    return found, pairs


def heads(n: Nodes, q: Ref, k: Ref) -> Ref:
    """Keys or values, repeated where several queries share a head."""
    if k.shape[1] == q.shape[1]:
        return k
    shape = [k.shape[0], k.shape[1], q.shape[1] // k.shape[1], *k.shape[2:]]
    wide = n.expand(n.reshape(k, [k.shape[0], k.shape[1], 1, *k.shape[2:]]), shape)
    return n.reshape(wide, [q.shape[0], q.shape[1], *k.shape[2:]])


def flash(n: Nodes, q: Ref, k: Ref, v: Ref, dropout: float = 0, causal: bool = False, attn_mask: Ref | None = None, scale: float | None = None) -> list[Ref]:
    if dropout:
        raise Unknown("attention with dropout inside of it")
    found, pairs = scores(n, q, heads(n, q, k), causal, attn_mask, scale)
    axis = found.rank - 1
    if pairs is None:
        weights, total = n("softmax", found, axis=axis), n.reduce("log_sum_exp", found, [axis], False)
    else:
        weights, total = open_rows(n, found, pairs)
    order = n.results[1]
    assert order is not None
    return [n("matmul", n.stored_step(weights, "attention"), heads(n, q, v)), n.reshape(total, list(order.shape))]


def open_rows(n: Nodes, found: Ref, pairs: torch.Tensor) -> tuple[Ref, Ref]:
    """The weights of the pairs that may meet, and the logarithms of their sums. Rows in which no pair may meet have 0 for all of these."""
    axis, shut, zero = found.rank - 1, ~pairs.any(-1, keepdim=True), n.constant(0.0, n.dtype)
    meets = n.expand(n.constant(pairs | shut, torch.bool), found.shape)
    weights = n("masked_softmax", found, meets, axis=axis)
    total = n("log", n.reduce("reduce_sum", n("where", meets, n("exp", found), zero, dtype=n.dtype), [axis], False))
    if not bool(shut.any()):
        return weights, total
    return n("where", n.constant(shut, torch.bool), zero, weights, dtype=n.dtype), n("where", n.constant(shut.squeeze(-1), torch.bool), zero, total, dtype=n.dtype)


def summed_heads(n: Nodes, wide: Ref, like: Ref) -> Ref:
    """The cotangents of keys or values that several queries share, added."""
    if wide.shape == like.shape:
        return wide
    batch, few = like.shape[:2]
    return n.reduce("reduce_sum", n.reshape(wide, [batch, few, wide.shape[1] // few, *like.shape[2:]]), [2], False)


def flash_backward(n: Nodes, g: Ref, q: Ref, k: Ref, v: Ref, out: Ref, total: Ref, dropout: float, causal: bool, attn_mask: Ref | None = None,
                   scale: float | None = None) -> list[Ref]:
    wide_k, wide_v = heads(n, q, k), heads(n, q, v)
    found, pairs = scores(n, q, wide_k, causal, attn_mask, scale)
    weights = n("exp", n("sub", found, n.reshape(total, [*found.shape[:-1], 1])))
    if pairs is not None:
        weights = n("where", n.expand(n.constant(pairs, torch.bool), found.shape), weights, n.constant(0.0, n.dtype), dtype=n.dtype)
    turn = [*range(g.rank - 2), g.rank - 1, g.rank - 2]
    share = n("matmul", g, n.permute(wide_v, turn))
    row = n.reduce("reduce_sum", n("mul", g, out), [g.rank - 1])
    factor = n.number(1 / math.sqrt(q.shape[-1]) if scale is None else scale, n.dtype)
    s_bar = n("mul", weights, n("sub", share, row))
    if n.is_half:  # stored, and scaled when it has been multiplied
        s_bar, weights = n.stored_step(s_bar, "attention"), n.stored_step(weights, "attention")
        return [n("mul", n("matmul", s_bar, wide_k), factor), summed_heads(n, n("mul", n("matmul", n.permute(s_bar, turn), q), factor), k),
                summed_heads(n, n("matmul", n.permute(weights, turn), g), v)]
    s_bar = n("mul", s_bar, factor)
    return [n("matmul", s_bar, wide_k), summed_heads(n, n("matmul", n.permute(s_bar, turn), q), k),
            summed_heads(n, n("matmul", n.permute(weights, turn), g), v)]


def weight_norm(n: Nodes, v: Ref, g: Ref, axis: int) -> list[Ref]:
    size = n("sqrt", n.reduce("reduce_sum", n("mul", v, v), [i for i in range(v.rank) if i != axis % v.rank]))
    return [n("mul", v, n("div", g, size)), size]


def weight_norm_backward(n: Nodes, g_w: Ref, v: Ref, g: Ref, size: Ref, axis: int) -> list[Ref]:
    axes = [i for i in range(v.rank) if i != axis % v.rank]
    along = n.reduce("reduce_sum", n.product(g_w, v), axes)
    inverse = n("div", n.constant(1.0, n.dtype), size)
    through = n.total(n.product(g, g_w, inverse), n("neg", n.product(g, v, along, inverse, inverse, inverse)))
    return [through, n.product(along, inverse)]


NORM: dict[str, Rule] = {
    "native_layer_norm": layer_norm, "native_layer_norm_backward": layer_norm_backward, "native_group_norm": group_norm,
    "native_group_norm_backward": group_norm_backward, "native_batch_norm": batch_norm, "native_batch_norm_backward": batch_norm_backward,
    "_fused_rms_norm": fused_rms_norm, "_scaled_dot_product_flash_attention_for_cpu": flash,
    "_scaled_dot_product_flash_attention_for_cpu_backward": flash_backward, "_weight_norm_interface": weight_norm,
    "_weight_norm_interface_backward": weight_norm_backward,
}
