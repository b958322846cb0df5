"""Meanings of some operations that are made of several functions, or of functions in pieces: angles, extremes at places, masks."""
from __future__ import annotations

from typing import Any, Callable

import torch

from .nodes import Nodes, Ref, Unknown, Value, counted
from .rules_index import both, is_fixed, put_at
from .rules_layout import moved, numbered

Rule = Callable[..., Any]
MOST = 1 << 22  # elements of a table


def atan2(n: Nodes, y: Value, x: Value) -> Ref:
    """By the arc tangent of the smaller over the greater one; the kernel's result is nearer to the exact value than that, hence a few roundings more."""
    y, x = n.cast(y, n.dtype), n.cast(x, n.dtype)
    is_steep = n("less", n("abs", x), n("abs", y))
    if y.tensor is not None and x.tensor is not None and bool(((y.tensor == 0) & ((x.tensor == 0) | torch.signbit(y.tensor) & (x.tensor < 0))).any()):
        raise Unknown("an angle of 0 and 0, or one that the sign of a zero decides")
    under = n("where", is_steep, y, x, dtype=n.dtype)
    angle = n("atan", n("div", n("where", is_steep, x, y, dtype=n.dtype), under))
    pi = n.half_turn(n.dtype)
    half = n("mul", pi, 0.5)
    is_below, is_left = n("less", y, 0.0), n("less", x, 0.0)
    steep = n("sub", n("where", is_below, n("neg", half), half, dtype=n.dtype), angle)
    turn = n("where", is_below, n("neg", pi), pi, dtype=n.dtype)
    flat = n("add", angle, n("where", is_left, turn, n.constant(0.0, n.dtype), dtype=n.dtype))
    return n.loose(n("where", is_steep, steep, flat, dtype=n.dtype))


def hypot(n: Nodes, x: Ref, y: Ref) -> Ref:
    return n.loose(n("sqrt", n("add", n("mul", x, x), n("mul", y, y))))


# Values at places.

def contributors(places: torch.Tensor, size: int, includes: bool) -> list[list[int]]:
    """For each element: itself, if it counts, and the numbers behind it of the values that go there."""
    found = [[i] for i in range(size)]
    touched = [list[int]() for _ in range(size)]
    for k, at in enumerate(places.flatten().tolist()):
        touched[at].append(size + k)
    return [own + more if includes or not more else more for own, more in zip(found, touched)]


def scatter_reduce(n: Nodes, x: Ref, axis: int, index: Ref, source: Ref, reduce: str, *, include_self: bool = True) -> Ref:
    if not is_fixed(index) or reduce not in ("amax", "amin", "sum", "mean") or not x.rank:
        raise Unknown(f"scatter_reduce by {reduce}, or at places that real numbers decide")
    places = torch.ops.aten.gather.default(numbered(x.shape), axis, index.tensor).long() - 1
    values = n("slice", source, starts=[0] * x.rank, steps=[1] * x.rank, extents=index.shape)
    lists = contributors(places, counted(x.shape), include_self)
    flat, _ = both(n, x, values, places)
    most = max(map(len, lists))
    if len(lists) * most > MOST:
        raise Unknown("very many values at one place")
    if reduce in ("amax", "amin"):  # one element may stand there again
        table = [at for one in lists for at in [*one, *[one[0]] * (most - len(one))]]
        wide = n("gather", flat, axis=0, indices=table, index_shape=[len(lists), most])
        return n.reshape(n.reduce("reduce_max" if reduce == "amax" else "reduce_min", wide, [1], False), x.shape)
    at = [at for one in lists for at in one]
    owners = [i for i, one in enumerate(lists) for _ in one]
    total = n.place(n("gather", flat, axis=0, indices=at, index_shape=[len(at)]), torch.tensor(owners), x.shape)
    counts = torch.tensor([float(len(one)) for one in lists]).reshape(x.shape)
    return total if reduce == "sum" else n("div", total, n.constant(counts, n.dtype))


def masked_select(n: Nodes, x: Ref, mask: Ref) -> Ref:
    if not is_fixed(mask):
        raise Unknown("a mask whose values were not recorded")
    found: Ref = moved(lambda t, m: torch.ops.aten.masked_select.default(t, m))(n, x, mask.tensor)
    return found


def masked_scatter(n: Nodes, x: Ref, mask: Ref, source: Ref) -> Ref:
    if not is_fixed(mask) or x.shape != n.shape:
        raise Unknown("a mask whose values were not recorded, or that makes the tensor larger")
    assert mask.tensor is not None
    places = torch.nonzero(mask.tensor.expand(x.shape).flatten()).flatten()
    return put_at(n, x, places, n.gather(source, torch.arange(places.numel()), [places.numel()]), False)


def masked_scatter_backward(n: Nodes, g: Ref, mask: Ref, shape: list[int]) -> Ref:
    """The cotangents of what was taken from the source, and 0 of the rest."""
    assert mask.tensor is not None
    places = torch.nonzero(mask.tensor.expand(g.shape).flatten()).flatten()
    return n.place(n.gather(g, places, [places.numel()]), torch.arange(places.numel()), shape)


# Grids of affine maps.

def base_of(n: Nodes, size: list[int], aligned: bool) -> Ref:
    """[places, coordinates and 1]: evenly from -1 to 1, or to the centres of the outer elements."""
    extents = size[2:]
    columns = []
    for axis in reversed(range(len(extents))):
        count = extents[axis]
        even = n.constant(torch.linspace(-1, 1, count, dtype=n.dtype) if count > 1 else torch.zeros(1), n.dtype)
        even = even if aligned else n("mul", even, n.number((count - 1) / count, n.dtype))
        columns.append(n.expand(n.reshape(even, [count if i == axis else 1 for i in range(len(extents))]), extents))
    stacked = n.stacked([*columns, n.expand(n.constant(1.0, n.dtype), extents)])
    return n.reshape(stacked, [counted(extents), len(extents) + 1])


def affine_grid(n: Nodes, theta: Ref, size: list[int], aligned: bool) -> Ref:
    return n.reshape(n("matmul", base_of(n, list(size), aligned), n.permute(theta, [0, 2, 1])), n.shape)


def affine_grid_backward(n: Nodes, g: Ref, size: list[int], aligned: bool) -> Ref:
    base = base_of(n, list(size), aligned)
    flat = n.reshape(g, [g.shape[0], base.shape[0], base.shape[1] - 1])
    return n("matmul", n.permute(flat, [0, 2, 1]), base)


PIECES: dict[str, Rule] = {
    "atan2": atan2, "hypot": hypot, "scatter_reduce": scatter_reduce, "masked_select": masked_select, "masked_scatter": masked_scatter, "masked_scatter_backward": masked_scatter_backward, "affine_grid_generator": affine_grid,
    "affine_grid_generator_backward": affine_grid_backward}
