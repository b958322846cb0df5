"""Meanings of operations that take elements by indices, and of those that put them back; and of Fourier transforms.

Indices that no real number decides are fixed: they are taken as the numbers that they are. Others, as from argmax or topk, are values.
"""
from __future__ import annotations

import math
from typing import Any, Callable, Sequence

import torch

from .nodes import Meaningless, Nodes, Ref, Unknown, Value, complexly, counted
from .rules_layout import moved, numbered

Rule = Callable[..., Any]
MOST_SPREAD = 1 << 22  # elements times rows that they may go to, where a number decides to which


def is_fixed(*indices: Ref | None) -> bool:
    """Masks always are: which elements they let through has no derivative."""
    return all(one is None or (one.is_fixed or one.dtype == torch.bool) and one.tensor is not None for one in indices)


def tensors(indices: Sequence[Ref | None]) -> list[torch.Tensor | None]:
    return [None if one is None else one.tensor for one in indices]


def gathered(n: Nodes, x: Ref, axis: int, index: Ref, **_: Any) -> Ref:
    if is_fixed(index):
        found: Ref = moved(torch.ops.aten.gather.default)(n, x, axis, index.tensor)
        return found
    axis %= max(x.rank, 1)
    extents = [x.shape[i] if i == axis else s for i, s in enumerate(index.shape)]
    if extents != x.shape:
        x = n("slice", x, starts=[0] * x.rank, steps=[1] * x.rank, extents=extents)
    return n("take", index, x, axis=axis)


def index_select(n: Nodes, x: Ref, axis: int, index: Ref) -> Ref:
    if is_fixed(index):
        found: Ref = moved(torch.ops.aten.index_select.default)(n, x, axis, index.tensor)
        return found
    axis %= x.rank
    shape = [index.shape[0] if i == axis else s for i, s in enumerate(x.shape)]
    wide = n.expand(n.reshape(index, [index.shape[0] if i == axis else 1 for i in range(x.rank)]), shape)
    return n("take", wide, x, axis=axis)


def indexed(n: Nodes, x: Ref, indices: list[Ref | None]) -> Ref:
    if is_fixed(*indices):
        found: Ref = moved(lambda t, i: torch.ops.aten.index.Tensor(t, i))(n, x, tensors(indices))
        return found
    axes, place, extent = position(n, x, indices)
    rest = [i for i in range(x.rank) if i not in axes]
    rows = n.reshape(n.permute(x, axes + rest), [extent, counted([x.shape[i] for i in rest])])
    wide = n.expand(n.reshape(place, [counted(place.shape), 1]), [counted(place.shape), rows.shape[1]])
    if axes[0] != 0 and axes == list(range(axes[0], axes[-1] + 1)):
        found = n.reshape(n("take", wide, rows, axis=0), [*place.shape, *[x.shape[i] for i in rest]])
        before, count = axes[0], place.rank
        order = [*range(count, count + before), *range(count), *range(count + before, found.rank)]
        return n.reshape(n.permute(found, order), n.shape)
    return n.reshape(n("take", wide, rows, axis=0), n.shape)


def position(n: Nodes, x: Ref, indices: list[Ref | None]) -> tuple[list[int], Ref, int]:
    """The indexed axes, which are made one; where on it each element lies; its extent."""
    axes = [i for i, one in enumerate(indices) if one is not None]
    place: Ref | None = None
    extent = 1
    for axis in axes:
        one = indices[axis]
        assert one is not None
        if one.dtype == torch.bool:
            raise Unknown("a mask that real numbers decide, as an index")
        one = n("where", n("less", one, 0), n("add", one, x.shape[axis]), one)
        place = one if place is None else n("add", n("mul", place, x.shape[axis]), one)
        extent *= x.shape[axis]
    assert place is not None
    return axes, place, extent


def put(n: Nodes, x: Ref, indices: list[Ref | None], values: Ref, accumulate: bool = False, *_: Any) -> Ref:
    if is_fixed(*indices):
        places = torch.ops.aten.index.Tensor(numbered(x.shape), tensors(indices)).long() - 1
        return put_at(n, x, places, n.expand(values, list(places.shape)), accumulate)
    axes, place, extent = position(n, x, indices)
    if axes != list(range(len(axes))):
        raise Unknown("index_put behind axes that are not indexed")
    rest = x.shape[len(axes):]
    rows = n.reshape(n.expand(values, [*place.shape, *rest]), [counted(place.shape), counted(rest)])
    hit = n("equal", n.constant(list(range(extent)), place.dtype), n.reshape(place, [counted(place.shape), 1]))
    if n.dtype.is_floating_point:
        total = n.reshape(n("gemm", n.cast(hit, n.dtype), rows, transpose_a=True), x.shape)
    else:
        each = n("where", n.reshape(hit, [*hit.shape, 1]), n.reshape(rows, [rows.shape[0], 1, rows.shape[1]]), n.constant(0, x.dtype), dtype=x.dtype)
        total = n.reshape(n.reduce("reduce_sum", each, [0], False), x.shape)
    if accumulate:
        return n("add", x, total)
    touched = n.reduce("reduce_max", n.cast(hit, torch.int32), [0], False)
    return n("where", n.expand(n.reshape(n.cast(touched, torch.bool), [*x.shape[:len(axes)], *[1] * len(rest)]), x.shape), total, x)


def both(n: Nodes, x: Ref, values: Ref, places: torch.Tensor) -> tuple[Ref, torch.Tensor]:
    """The elements of x, each at its place, and values at places: kernels add one after the other to x."""
    flat = n("concat", n.reshape(x, [counted(x.shape)]), n.reshape(values, [places.numel()]), axis=0)
    return flat, torch.cat([torch.arange(counted(x.shape)), places.flatten()])


def put_at(n: Nodes, x: Ref, places: torch.Tensor, values: Ref, accumulate: bool) -> Ref:
    """x with values added, or written, at fixed places."""
    if accumulate:
        return n.place(*both(n, x, values, places), x.shape)
    if len(set(places.flatten().tolist())) != places.numel():
        last = torch.full([counted(x.shape)], -1)
        last[places.flatten()] = torch.arange(places.numel())
        kept = last[last >= 0]
        return n.replaced(x, torch.nonzero(last >= 0).flatten(), n.gather(values, kept, [kept.numel()]))
    return n.replaced(x, places, values)


def scatter(accumulate: bool) -> Rule:
    """Values written, or added, along an axis where the index says."""
    def rule(n: Nodes, x: Ref, axis: int, index: Ref, source: Value, **more: Any) -> Ref:
        axis %= max(x.rank, 1)
        source = source if isinstance(source, Ref) else n.constant(source, x.dtype)
        if x.dtype == torch.bool and not is_fixed(index):  # truth values are added as 0 and 1
            return n.cast(rule(n, n.cast(x, torch.int32), axis, index, n.cast(source, torch.int32), **more), torch.bool)
        values = n.expand(source, index.shape) if source.rank == 0 else \
            n("slice", source, starts=[0] * x.rank, steps=[1] * x.rank, extents=index.shape)
        if is_fixed(index):
            return put_at(n, x, torch.ops.aten.gather.default(numbered(x.shape), axis, index.tensor).long() - 1, values, accumulate)
        hit = n("equal", n.reshape(index, [*index.shape, 1]), n.constant(list(range(x.shape[axis])), index.dtype))
        back = [*range(axis), x.rank - 1, *range(axis, x.rank - 1)]
        found = n("where", hit, n.reshape(values, [*index.shape, 1]), n.constant(0, x.dtype), dtype=x.dtype)
        total = fitted(n, n.permute(n.reduce("reduce_sum", found, [axis], False), back), x.shape)
        if accumulate:
            return n("add", x, total)
        touched = n.reduce("reduce_max", n.cast(hit, torch.int32), [axis], False)
        return n("where", n.cast(fitted(n, n.permute(touched, back), x.shape), torch.bool), total, x, dtype=x.dtype)
    return rule


def fitted(n: Nodes, x: Ref, shape: list[int]) -> Ref:
    """Zeros behind the elements, up to this shape."""
    if x.shape == shape:
        return x
    return n("pad", x, before=[0] * x.rank, after=[m - s for m, s in zip(shape, x.shape)], value=0)


def index_add(n: Nodes, x: Ref, axis: int, index: Ref, source: Ref, alpha: float = 1) -> Ref:
    axis %= x.rank
    if is_fixed(index):
        places = torch.ops.aten.index_select.default(numbered(x.shape), axis, index.tensor).long() - 1
        flat, at = both(n, x, source, places)
        factors = n("concat", *(n.expand(n.number(v, n.dtype), [size]) for v, size in ((1.0, counted(x.shape)), (alpha, places.numel()))), axis=0)
        return n.place(flat if alpha == 1 else n("mul", flat, factors), at, x.shape)  # products that may be fused with the sum
    values = source if alpha == 1 else n("mul", source, n.number(alpha, n.dtype))
    wide = n.expand(n.reshape(index, [index.shape[0] if i == axis else 1 for i in range(x.rank)]), source.shape)
    found: Ref = scatter(True)(n, x, axis, wide, values)
    return found


def index_copy(n: Nodes, x: Ref, axis: int, index: Ref, source: Value) -> Ref:
    if not is_fixed(index):
        raise Unknown("elements written where real numbers decide")
    places = torch.ops.aten.index_select.default(numbered(x.shape), axis, index.tensor).long() - 1
    values = n.reshape(source, list(places.shape)) if isinstance(source, Ref) and source.rank else n.expand(n.cast(source, x.dtype), list(places.shape))
    return put_at(n, x, places, values, False)


def embedding(n: Nodes, weight: Ref, index: Ref, padding: int = -1, *_: Any) -> Ref:
    rows, width = counted(index.shape), weight.shape[1]
    if padding >= 0 and is_fixed(index) and index.tensor is not None and weight.tensor is not None and bool((index.tensor == padding).any()):
        n.given.append(Ref([width], weight.dtype, weight.tensor[padding]))  # a row without history
        found = n("gather", weight, axis=0, indices=index.tensor.flatten().tolist(), index_shape=[rows])
        hit = n.constant(index.tensor.reshape(-1, 1) == padding, torch.bool)
        return n.reshape(n("where", hit, n.given[-1], found), n.shape)
    if padding >= 0 and not is_fixed(index):
        raise Meaningless("an embedding with a padding index, at places that real numbers decide: its gradient is not the derivative")
    if is_fixed(index):
        assert index.tensor is not None
        return n.reshape(n("gather", weight, axis=0, indices=index.tensor.flatten().tolist(), index_shape=[rows]), n.shape)
    return n.reshape(n("take", n.expand(n.reshape(index, [rows, 1]), [rows, width]), weight, axis=0), n.shape)


def embedding_backward(n: Nodes, g: Ref, index: Ref, rows: int, padding: int, by_frequency: bool) -> Ref:
    width = g.shape[-1]
    if by_frequency or not is_fixed(index) and (padding >= 0 or counted(g.shape) * rows > MOST_SPREAD):
        raise Unknown("an embedding scaled by frequency, or of many elements by indices that real numbers decide")
    if not is_fixed(index):
        count = counted(index.shape)
        return index_add(n, n.expand(n.constant(0.0, n.dtype), [rows, width]), 0, n.reshape(index, [count]), n.reshape(g, [count, width]))
    assert index.tensor is not None
    flat = index.tensor.flatten()
    kept = torch.nonzero(flat != padding).flatten()
    values = n("gather", n.reshape(g, [flat.numel(), width]), axis=0, indices=kept.tolist(), index_shape=[kept.numel()])
    return n.place(values, flat[kept][:, None] * width + torch.arange(width), [rows, width])


# Bags: sums and means of rows.

def bags(indices: Ref, offsets: Ref, closed: bool) -> tuple[list[int], list[list[int]]]:
    """The rows, and which places of the list of rows lie in each bag."""
    if not is_fixed(indices, offsets):
        raise Unknown("bags that real numbers decide")
    assert indices.tensor is not None and offsets.tensor is not None
    starts = offsets.tensor.tolist()
    ends = starts[1:] if closed else [*starts[1:], indices.tensor.numel()]
    return indices.tensor.tolist(), [list(range(a, b)) for a, b in zip(starts, ends)]


def sizes(members: list[list[int]]) -> torch.Tensor:
    return torch.tensor([[max(len(one), 1)] for one in members])


def embedding_bag(n: Nodes, weight: Ref, indices: Ref, offsets: Ref, by_frequency: bool = False, mode: int = 0, sparse: bool = False,
                  factors: Ref | None = None, closed: bool = False, padding: int = -1) -> list[Ref | None]:
    if padding >= 0:
        raise Meaningless("bags with a padding index, whose gradient is not the derivative")
    if mode not in (0, 1):
        raise Unknown("bags of maxima")
    rows, members = bags(indices, offsets, closed)
    found = n("gather", weight, axis=0, indices=rows, index_shape=[len(rows)])
    if factors is not None:
        found = n.product(found, n.reshape(factors, [len(rows), 1]))  # which the kernel may not round before it adds
    most = max(max(map(len, members), default=0), 1)
    padded = n("pad", found, before=[0, 0], after=[1, 0], value=0)  # the last row is 0: it fills bags up
    table = [at for one in members for at in [*one, *[len(rows)] * (most - len(one))]]
    wide = n.reshape(n("gather", padded, axis=0, indices=table, index_shape=[len(table)]), [len(members), most, weight.shape[1]])
    total = n.reduce("reduce_sum", wide, [1], False)
    return [n.loose(n("div", total, n.constant(sizes(members), n.dtype))) if mode == 1 else total, None, None, None]


def embedding_bag_backward(n: Nodes, g: Ref, indices: Ref, offsets: Ref, bag_of: Ref, bag_sizes: Ref, greatest: Ref, count: int, by_frequency: bool,
                           mode: int, sparse: bool = False, factors: Ref | None = None, padding: int = -1) -> Ref:
    if by_frequency or mode not in (0, 1) or sparse:
        raise Unknown("bags scaled by frequency, of maxima, or with a sparse gradient")
    rows, members = bags(indices, offsets, offsets.shape[0] > g.shape[0])
    width = g.shape[1]
    if mode == 1:
        g = n.product(g, n("div", n.constant(1.0, n.dtype), n.constant(sizes(members), n.dtype)))
    at = [bag for bag, one in enumerate(members) for _ in one]
    values = n("gather", g, axis=0, indices=at, index_shape=[len(at)])
    if factors is not None:
        values = n.product(values, n.reshape(factors, [len(rows), 1]))
    return n.place(values, torch.tensor(rows)[:, None] * width + torch.arange(width), [count, width])


def bag_factors_backward(n: Nodes, g: Ref, weight: Ref, indices: Ref, offsets: Ref, bag_of: Ref, mode: int, padding: int = -1) -> Ref:
    rows, members = bags(indices, offsets, offsets.shape[0] > g.shape[0])
    at = [bag for bag, one in enumerate(members) for _ in one]
    both = [n("gather", one, axis=0, indices=where, index_shape=[len(rows)]) for one, where in ((g, at), (weight, rows))]
    return n.reduce("reduce_sum", n("mul", *both), [1], False)


# Fourier transforms: products with matrices of cosines and sines.

def turns(extent: int, sign: int, rows: int | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosine and sine of sign 2 pi j k / n in double."""
    j = torch.arange(extent, dtype=torch.float64)
    angle = sign * 2 * math.pi * ((j[:rows, None] * j[None, :]) % extent) / extent
    c, s = (torch.where(v.abs() < 1e-12, 0.0, v) for v in (torch.cos(angle), torch.sin(angle)))
    return c, s


def over_extent(n: Nodes, x: Ref, extent: int, norm: int) -> Ref:
    """Scaled: 0 not at all, 1 by the root of the extent, 2 by the extent. Kernels multiply with the rounded reciprocal."""
    if norm == 0:
        return x
    size = n.constant(float(extent), n.dtype)
    found = n("mul", x, n("div", 1.0, n("sqrt", size) if norm == 1 else size))
    return complexly(found) if x.is_complex else found


def mixed_pairs(n: Nodes, x: Ref, axis: int, blocks: list[list[torch.Tensor]]) -> Ref:
    """A matrix of blocks [results, elements] times an axis, and the parts of its numbers where there are two columns (and rows) of blocks.

    Every element is added and taken away once more: a fast transform has the rounding errors of sums of all elements, in those results too
    whose coefficients for them are 0.
    """
    rows, columns = len(blocks), len(blocks[0])
    if columns == 1:
        x = n.reshape(x, [*x.shape, 1])
    rank = x.rank - 1
    last = [i for i in range(rank) if i != axis] + [axis, rank]
    turned = n.permute(x, last)
    flat = n.reshape(turned, [*turned.shape[:-2], turned.shape[-2] * columns])
    matrix = torch.stack([torch.stack(row, -1) for row in blocks], 1)  # [results, rows, elements, columns]
    count = matrix.shape[0]
    matrix = matrix.reshape(count * rows, -1)
    ones = torch.full_like(matrix, 2.0 ** math.floor(math.log2(float(matrix.abs().max()))))
    wide = n("concat", flat, flat, flat, axis=flat.rank - 1)
    found = n("matmul", wide, n.constant(torch.cat([matrix, ones, -ones], 1).t().contiguous(), n.dtype))
    split = n.reshape(found, [*turned.shape[:-2], count, rows])
    back = n.permute(split, [last.index(i) for i in range(rank)] + [rank])
    return complexly(back) if rows == 2 else n.reshape(back, back.shape[:-1])


def c2c(n: Nodes, x: Ref, axes: list[int], norm: int, forward: bool) -> Ref:
    for axis in axes:
        axis %= x.rank - 1
        c, s = turns(x.shape[axis], -1 if forward else 1)
        x = over_extent(n, mixed_pairs(n, x, axis, [[c, -s], [s, c]]), x.shape[axis], norm)
    return x


def r2c(n: Nodes, x: Ref, axes: list[int], norm: int, onesided: bool) -> Ref:
    last = axes[-1] % x.rank
    c, s = turns(x.shape[last], -1, x.shape[last] // 2 + 1 if onesided else None)
    return c2c(n, over_extent(n, mixed_pairs(n, x, last, [[c], [s]]), x.shape[last], norm), axes[:-1], norm, True)


def c2r(n: Nodes, x: Ref, axes: list[int], norm: int, last: int) -> Ref:
    """Half a spectrum, each inner frequency for two: x_0 + 2 sum Re(z_k e^(2 pi i j k / n)) + the middle one of an even n."""
    x = c2c(n, x, axes[:-1], norm, False)
    c, s = turns(last, 1)
    half = last // 2 + 1
    double = torch.full([half], 2.0, dtype=torch.float64)
    double[0] = 1
    if last % 2 == 0:
        double[-1] = 1
    return over_extent(n, mixed_pairs(n, x, axes[-1] % (x.rank - 1), [[c[:, :half] * double, -s[:, :half] * double]]), last, norm)


INDEX: dict[str, Rule] = {
    "gather": gathered, "index_select": index_select, "index": indexed, "_unsafe_index": indexed, "index_put": put, "_index_put_impl": put,
    "_unsafe_index_put": put, "scatter": scatter(False), "scatter_add": scatter(True), "index_add": index_add, "index_copy": index_copy, "index_fill": index_copy, "embedding": embedding,
    "embedding_dense_backward": embedding_backward, "_embedding_bag": embedding_bag, "_embedding_bag_forward_only": embedding_bag,
    "_embedding_bag_backward": embedding_bag_backward, "_embedding_bag_dense_backward": embedding_bag_backward,
    "_embedding_bag_per_sample_weights_backward": bag_factors_backward, "_fft_c2c": c2c, "_fft_r2c": r2c, "_fft_c2r": c2r,
}
