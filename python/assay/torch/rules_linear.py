"""Meanings of products of matrices, convolutions and pools, and of their backward kernels."""
from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any, Callable

import torch

from .nodes import Nodes, Ref, Unknown, counted

Rule = Callable[..., Any]


def matmul(n: Nodes, a: Ref, b: Ref) -> Ref:
    """A product of matrices; of complex ones by their parts."""
    if not (a.is_complex or b.is_complex):
        if not n.dtype.is_floating_point:
            raise Unknown("a product of matrices of integers")
        if a.shape[-1] == 0:  # sums of nothing
            return n.expand(n.constant(0.0, n.dtype), n.shape)
        return n("matmul", a, b)
    (p, q), (r, s) = ((n.part(v, 0), n.part(v, 1)) for v in (a, b))
    rows = n("concat", p, q, axis=p.rank - 1)
    columns = max(r.rank - 2, 0)
    return n.pair(n("matmul", rows, n("concat", r, n("neg", s), axis=columns)), n("matmul", rows, n("concat", s, r, axis=columns)))


def addmm(n: Nodes, c: Ref, a: Ref, b: Ref, beta: float = 1, alpha: float = 1) -> Ref:
    if c.is_complex:
        raise Unknown("complex numbers in addmm")
    (a, of_product), (c, of_sum) = n.factored(a, alpha), n.factored(c, beta)
    return n("gemm", a, b, c, alpha=of_product, beta=of_sum)


def baddbmm(n: Nodes, c: Ref, a: Ref, b: Ref, beta: float = 1, alpha: float = 1) -> Ref:
    product = n("matmul", a, b)
    first, second = (one if factor == 1 else n("mul", one, n.number(factor, n.dtype)) for one, factor in ((c, beta), (product, alpha)))
    return n("add", first, second)


def addr(n: Nodes, c: Ref, a: Ref, b: Ref, beta: float = 1, alpha: float = 1) -> Ref:
    """beta c + alpha a b, the factors in any order."""
    factors = [n.reshape(a, [*a.shape, 1]), b] + ([] if alpha == 1 else [n.number(alpha, n.dtype)])
    product = n("mul", *factors) if alpha == 1 else n.product(*factors, slack=0)
    return n("add", c if beta == 1 else n("mul", c, n.number(beta, n.dtype)), product)


def grown(values: Any, count: int) -> list[int]:
    """A number for each spatial axis."""
    given = [values] if isinstance(values, int) else list(values)
    return given * count if len(given) == 1 else given


def window(kernel: list[int], stride: Any, padding: Any, dilation: Any, groups: int = 1) -> dict[str, Any]:
    d = len(kernel)
    pads = grown(padding, d)
    return {"kernel": list(kernel), "strides": grown(stride, d), "dilations": grown(dilation, d), "pads_begin": pads, "pads_end": list(pads),
            "groups": groups}


def convolution(n: Nodes, x: Ref, w: Ref, b: Ref | None, stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any,
                groups: int) -> Ref:
    at = window(w.shape[2:], stride, padding, dilation, groups)
    if transposed:
        at["output_padding"] = grown(output_padding, len(at["kernel"]))
    return n("conv_transpose" if transposed else "conv", *[v for v in (x, w, b) if v is not None], **at)


def weight_cotangent(n: Nodes, x: Ref, g: Ref, w: list[int], at: dict[str, Any]) -> Ref:
    """The correlation of what the weight is moved over with the cotangent of what that gave, group by group."""
    groups, spatial, rest = at["groups"], x.shape[2:], [0, 1, *range(2, x.rank)]
    swap = [1, 0, *rest[2:]]
    batch, channels = x.shape[:2]
    by_group = n.reshape(x, [batch, groups, channels // groups, *spatial])
    moved = n.reshape(n.permute(by_group, [2, 1, 0, *range(3, by_group.rank)]), [channels // groups, groups * batch, *spatial])
    left = [size + 2 * p - d * (k - 1) - 1 - (m - 1) * s for size, p, d, k, m, s in zip(
        spatial, at["pads_begin"], at["dilations"], w[2:], g.shape[2:], at["strides"])]
    pads = [p - r for p, r in zip(at["pads_begin"], left)]
    if min(pads, default=0) < 0:  # the last elements are in no window
        crop = [min(p, 0) for p in pads]
        moved = n("pad", moved, before=[0] * moved.rank, after=[0, 0, *crop], value=0)
        pads = [p - c for p, c in zip(pads, crop)]
    correlation = {"kernel": g.shape[2:], "pads_begin": at["pads_begin"], "pads_end": pads,
                   "strides": at["dilations"], "dilations": at["strides"], "groups": groups}
    return n.permute(n("conv", moved, n.permute(g, swap), **correlation), swap)


def operand_cotangent(n: Nodes, g: Ref, w: Ref, shape: list[int], at: dict[str, Any], transposed: bool) -> Ref:
    if transposed:
        return n("conv", g, w, **at)
    left = [size + 2 * p - d * (k - 1) - 1 - (m - 1) * s for size, p, d, k, m, s in zip(
        shape[2:], at["pads_begin"], at["dilations"], at["kernel"], g.shape[2:], at["strides"])]
    return n("conv_transpose", g, w, **(at | {"output_padding": left}))


def convolution_backward(n: Nodes, g: Ref, x: Ref, w: Ref, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
                         output_padding: Any, groups: int, mask: list[bool]) -> list[Ref | None]:
    at = window(w.shape[2:], stride, padding, dilation, groups)
    over, gave = (g, x) if transposed else (x, g)
    values: list[Callable[[], Ref]] = [lambda: operand_cotangent(n, g, w, x.shape, at, transposed),
                                       lambda: weight_cotangent(n, over, gave, w.shape, at),
                                       lambda: n.reduce("reduce_sum", g, [0, *range(2, g.rank)], False)]
    return [value() if wanted else None for value, wanted in zip(values, mask)]


# Pools, by tables of windows: which elements of a plane each window holds; -1 stands for padding.

def tables(extents: list[int], starts: list[list[int]], sizes: list[list[int]], steps: list[int]) -> torch.Tensor:
    """[windows, elements]: per axis, windows begin at these places and have these many elements at this distance."""
    axes = []
    for extent, begin, size, step in zip(extents, starts, sizes, steps):
        most = max(size)
        axes.append([[b + k * step if k < s and 0 <= b + k * step < extent else -1 for k in range(most)] for b, s in zip(begin, size)])
    rows = []
    for row in itertools.product(*axes):
        places = []
        for one in itertools.product(*row):
            at = 0
            for place, extent in zip(one, extents):
                at = -1 if at < 0 or place < 0 else at * extent + place
            places.append(at)
        rows.append(places)
    return torch.tensor(rows)


def strided(extents: list[int], results: list[int], kernel: Any, stride: Any, padding: Any, dilation: Any) -> torch.Tensor:
    d = len(extents)
    kernel, padding, dilation = grown(kernel, d), grown(padding, d), grown(dilation, d)
    stride = grown(stride, d) if stride != [] else kernel
    starts = [[i * s - p for i in range(m)] for m, s, p in zip(results, stride, padding)]
    return tables(extents, starts, [[k] * m for k, m in zip(kernel, results)], dilation)


def adaptive(extents: list[int], results: list[int]) -> torch.Tensor:
    starts = [[i * n // m for i in range(m)] for n, m in zip(extents, results)]
    sizes = [[-((-(i + 1) * n) // m) - i * n // m for i in range(m)] for n, m in zip(extents, results)]
    return tables(extents, starts, sizes, [1] * len(extents))


def windows_of(n: Nodes, x: Ref, table: torch.Tensor, planes: int, padding: float) -> Ref:
    """[planes, windows, elements]."""
    flat = n.reshape(x, [planes, counted(x.shape) // planes])
    if bool((table < 0).any()):
        flat = n("pad", flat, before=[0, 0], after=[0, 1], value=padding)
        table = torch.where(table < 0, flat.shape[1] - 1, table)
    return n("gather", flat, axis=1, indices=table.flatten().tolist(), index_shape=list(table.shape))


def spread(n: Nodes, shares: Ref, table: torch.Tensor, planes: int, shape: list[int]) -> Ref:
    """Shares [planes, windows, elements] added at the elements of the windows."""
    size = counted(shape) // planes
    inside = torch.nonzero(table.flatten() >= 0).flatten()
    flat = n("gather", n.reshape(shares, [planes, table.numel()]), axis=1, indices=inside.tolist(), index_shape=[inside.numel()])
    places = torch.arange(planes)[:, None] * size + table.flatten()[inside][None, :]
    return n.place(flat, places, shape)


def planes_of(shape: list[int], d: int) -> int:
    return counted(shape[:len(shape) - d])


def max_pool(d: int, table_of: Callable[..., torch.Tensor]) -> Rule:
    """The greatest element of each window, and its place in the plane."""
    def rule(n: Nodes, x: Ref, *args: Any) -> list[Ref]:
        table, planes = table_of(x.shape[-d:], n.shape[-d:], *args), planes_of(x.shape, d)
        lowest = float(torch.finfo(n.dtype).min)
        inside = windows_of(n, x, table, planes, lowest)
        first = n("arg_max", inside, axis=2, keep_dims=True)
        hit = n("equal", first, n.constant(list(range(table.shape[1])), torch.int64))
        places = n("where", hit, n.constant(table, torch.int64), n.constant(-1, torch.int64))
        return [n.reshape(n.reduce("reduce_max", inside, [2], False), n.shape),
                n.reshape(n.reduce("reduce_max", places, [2], False), n.shape)]
    return rule


def max_pool_backward(d: int, table_of: Callable[..., torch.Tensor]) -> Rule:
    """Each cotangent goes to the place that the forward kernel named."""
    def rule(n: Nodes, g: Ref, x: Ref, *args: Any) -> Ref:
        *rest, indices = args
        table, planes = table_of(x.shape[-d:], g.shape[-d:], *rest), planes_of(x.shape, d)
        column = [planes, table.shape[0], 1]
        hit = n("equal", n.reshape(indices, column), n.constant(table, torch.int64))
        shares = n("where", hit, n.expand(n.reshape(g, column), [planes, *table.shape]), n.constant(0.0, n.dtype), dtype=n.dtype)
        return spread(n, shares, table, planes, n.shape)
    return rule


def pool_table(extents: list[int], results: list[int], kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
               *_: Any) -> torch.Tensor:
    return strided(extents, results, kernel, list(stride) if not isinstance(stride, int) else stride, padding, dilation)


def divisors(extents: list[int], results: list[int], kernel: Any, stride: Any, padding: Any, counts_padding: bool, divisor: int | None) -> torch.Tensor:
    """By which the sum of each window is divided."""
    d = len(extents)
    kernel, padding = grown(kernel, d), grown(padding, d)
    stride = grown(stride, d) if stride != [] else kernel
    sizes = []
    for n, m, k, s, p in zip(extents, results, kernel, stride, padding):
        begin = [i * s - p for i in range(m)]
        ends = [min(b + k, n + p) for b in begin]
        sizes.append([e - b if counts_padding else min(e, n) - max(b, 0) for b, e in zip(begin, ends)])
    return torch.tensor([divisor or counted(one) for one in itertools.product(*sizes)])


def avg_pool(d: int) -> Rule:
    def rule(n: Nodes, x: Ref, kernel: Any, stride: Any = (), padding: Any = 0, ceil_mode: bool = False, counts_padding: bool = True,
             divisor: int | None = None) -> Ref:
        table, planes = pool_table(x.shape[-d:], n.shape[-d:], kernel, stride, padding), planes_of(x.shape, d)
        total = n.reduce("reduce_sum", windows_of(n, x, table, planes, 0.0), [2], False)
        count = divisors(x.shape[-d:], n.shape[-d:], kernel, list(grown(stride, d)) if stride else [], padding, counts_padding, divisor)
        return n.reshape(n("div", total, n.constant(count, n.dtype)), n.shape)
    return rule


def avg_pool_backward(d: int) -> Rule:
    def rule(n: Nodes, g: Ref, x: Ref, kernel: Any, stride: Any, padding: Any, ceil_mode: bool, counts_padding: bool, divisor: int | None) -> Ref:
        table, planes = pool_table(x.shape[-d:], g.shape[-d:], kernel, stride, padding), planes_of(x.shape, d)
        count = divisors(x.shape[-d:], g.shape[-d:], kernel, list(grown(stride, d)) if stride else [], padding, counts_padding, divisor)
        share = n("div", n.reshape(g, [planes, table.shape[0], 1]), n.constant(count[:, None], n.dtype))
        return spread(n, n.expand(share, [planes, *table.shape]), table, planes, n.shape)
    return rule


def adaptive_avg(d: int) -> Rule:
    def rule(n: Nodes, x: Ref, size: Any) -> Ref:
        table, planes = adaptive(x.shape[-d:], n.shape[-d:]), planes_of(x.shape, d)
        total = n.reduce("reduce_sum", windows_of(n, x, table, planes, 0.0), [2], False)
        return n.reshape(n("div", total, n.constant((table >= 0).sum(1), n.dtype)), n.shape)
    return rule


def adaptive_avg_backward(d: int) -> Rule:
    def rule(n: Nodes, g: Ref, x: Ref) -> Ref:
        table, planes = adaptive(x.shape[-d:], g.shape[-d:]), planes_of(x.shape, d)
        share = n.reshape(g, [planes, *g.shape[-d:]])
        for i, (extent, count) in enumerate(zip(x.shape[-d:], g.shape[-d:])):  # axis by axis, as the kernels do
            sizes = (adaptive([extent], [count]) >= 0).sum(1)
            share = n("div", share, n.constant(sizes.reshape([-1] + [1] * (d - 1 - i)), n.dtype))
        return spread(n, n.expand(n.reshape(share, [planes, table.shape[0], 1]), [planes, *table.shape]), table, planes, n.shape)
    return rule


def weights(extent: int, result: int, aligned: bool, scale: float | None) -> torch.Tensor:
    """[results, extents]: the weights of linear interpolation along one axis, as the kernel computes them."""
    return torch.ops.aten.upsample_linear1d(torch.eye(extent)[None], [result], aligned, scale)[0].t().contiguous()  # type: ignore[no-any-return]


def mixed(n: Nodes, x: Ref, matrices: list[torch.Tensor]) -> Ref:
    """Weighted sums over the last axes, of which each has a matrix of weights."""
    d = len(matrices)
    starts, indices, shares = [0], list[int](), list[str]()
    rows = [[apart([(j, Fraction(w)) for j, w in enumerate(row) if w]) for row in one.tolist()] for one in matrices]
    for picked in itertools.product(*rows):
        for terms in itertools.product(*picked):
            at, weight = 0, Fraction(1)
            for (j, w), one in zip(terms, matrices):
                at, weight = at * one.shape[1] + j, weight * w
            indices.append(at)
            shares.append(str(weight))
        starts.append(len(indices))
    planes = planes_of(x.shape, d)
    found = n("weighted_gather", n.reshape(x, [planes, counted(x.shape) // planes]), axis=1, starts=starts, indices=indices, weights=shares)
    return n.reshape(found, [*x.shape[:x.rank - d], *[one.shape[0] for one in matrices]])


def apart(terms: list[tuple[int, Fraction]]) -> list[tuple[int, Fraction]]:
    """At a border both neighbours are one element, which a kernel may add to itself."""
    return [(j, w * share / 4) for j, w in terms for share in (3, 1)] if len(terms) == 1 else terms


def interpolated(d: int) -> Rule:
    def rule(n: Nodes, x: Ref, size: list[int], aligned: bool, *scales: float | None) -> Ref:
        return mixed(n, x, [weights(x.shape[x.rank - d + i], size[i], aligned, scales[i] if scales else None) for i in range(d)])
    return rule


def interpolated_backward(d: int) -> Rule:
    def rule(n: Nodes, g: Ref, size: list[int], shape: list[int], aligned: bool, *scales: float | None) -> Ref:
        first = g.rank - d
        return mixed(n, g, [weights(shape[first + i], g.shape[first + i], aligned, scales[i] if scales else None).t() for i in range(d)])
    return rule


def cubic(extents: list[int], results: list[int], aligned: bool, scales: tuple[float | None, ...]) -> list[torch.Tensor]:
    """[extents, results] for each of the last two axes: the weights of cubic interpolation, as the kernel computes them."""
    def along(extent: int, result: int, scale: float | None) -> torch.Tensor:
        return torch.ops.aten.upsample_bicubic2d(torch.eye(extent)[None, :, :, None], [result, 1], aligned, scale, None)[0, :, :, 0].contiguous()  # type: ignore[no-any-return]
    return [along(extents[i - 2], results[i - 2], scales[i] if scales else None) for i in range(2)]


def bicubic(n: Nodes, x: Ref, size: list[int], aligned: bool, *scales: float | None) -> Ref:
    """At a border several neighbours are one element: the kernel adds what each gives, with roundings of their own."""
    return n.loose(mixed(n, x, [one.t() for one in cubic(x.shape, size, aligned, scales)]))


def bicubic_backward(n: Nodes, g: Ref, size: list[int], shape: list[int], aligned: bool, *scales: float | None) -> Ref:
    return n.loose(mixed(n, g, cubic(shape, g.shape, aligned, scales)))


def trilinear(n: Nodes, a: Ref, b: Ref, c: Ref, expand_a: list[int], expand_b: list[int], expand_c: list[int], summed: list[int], unroll: int = 1) -> Ref:
    """The product of three tensors, each with axes of extent 1 put in, summed over axes."""
    factors = []
    for one, axes in ((a, expand_a), (b, expand_b), (c, expand_c)):
        shape = list(one.shape)
        for axis in sorted(axes):
            shape.insert(axis, 1)
        factors.append(n.reshape(one, shape))
    found = n("mul", n("mul", factors[0], factors[1]), factors[2])
    return n.reduce("reduce_sum", found, [axis % found.rank for axis in summed], False)


def adaptive_table(extents: list[int], results: list[int], *_: Any) -> torch.Tensor:
    return adaptive(extents, results)


LINEAR: dict[str, Rule] = {
    "mm": matmul, "bmm": matmul, "mv": matmul, "dot": matmul, "addmm": addmm,
    "baddbmm": baddbmm, "addmv": lambda n, c, a, b, beta=1, alpha=1: baddbmm(n, c, a, b, beta, alpha),
    "addr": addr,
    "_trilinear": trilinear, "convolution": convolution,
    "upsample_linear1d": interpolated(1), "upsample_bilinear2d": interpolated(2), "upsample_trilinear3d": interpolated(3),
    "upsample_linear1d_backward": interpolated_backward(1), "upsample_bilinear2d_backward": interpolated_backward(2),
    "upsample_trilinear3d_backward": interpolated_backward(3),
    "upsample_bicubic2d": bicubic, "upsample_bicubic2d_backward": bicubic_backward, "convolution_overrideable": convolution, "convolution_backward": convolution_backward,
    **{f"max_pool{d}d_with_indices": max_pool(d, pool_table) for d in (1, 2, 3)},
    **{f"max_pool{d}d_with_indices_backward": max_pool_backward(d, pool_table) for d in (2, 3)},
    **{f"adaptive_max_pool{d}d": max_pool(d, adaptive_table) for d in (2, 3)},
    **{f"adaptive_max_pool{d}d_backward": max_pool_backward(d, adaptive_table) for d in (2, 3)},
    **{f"avg_pool{d}d": avg_pool(d) for d in (1, 2, 3)}, **{f"avg_pool{d}d_backward": avg_pool_backward(d) for d in (2, 3)},
    **{f"_adaptive_avg_pool{d}d": adaptive_avg(d) for d in (2, 3)}, **{f"_adaptive_avg_pool{d}d_backward": adaptive_avg_backward(d) for d in (2, 3)},
}
