"""Meanings of samples at computed places: grid_sample of images, and its backward kernel, as the vectorised kernels compute them."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

import torch

from .nodes import Nodes, Ref, Unknown, counted

Rule = Callable[..., Any]

MOST = 1 << 24  # weights of a table of all samples and all elements of a plane


@dataclass
class Axis:
    """Places along one axis of an image: the place, the lower neighbour, the shares of both, and by how much a place moves with the grid."""

    place: Ref
    lower: Ref
    shares: tuple[Ref, Ref]
    slope: Ref
    extent: int


def along(n: Nodes, grid: Ref, which: int, extent: int, bordered: bool, aligned: bool) -> Axis:
    """(x + 1) s, less a half where corners are not aligned; at the border where they lie beyond it and the mode says so."""
    batch, rows, columns, _ = grid.shape
    x = n.reshape(n("slice", grid, starts=[0, 0, 0, which], steps=[1] * 4, extents=[batch, rows, columns, 1]), [batch, 1, rows * columns])
    scale = (extent - 1) / 2 if aligned else extent / 2
    at = n("mul", n("add", x, 1.0), scale)
    at = at if aligned else n("sub", at, 0.5)
    slope = n.expand(n.constant(scale, n.dtype), at.shape)
    if bordered:
        inside = n("logical_and", n("less", 0.0, at), n("less", at, float(extent - 1)))
        slope = n("where", inside, slope, n.constant(0.0, n.dtype), dtype=n.dtype)
        at = n("clip", at, lo=0, hi=float(extent - 1))
    lower = n("floor", at)
    share = n("sub", at, lower)
    return Axis(at, lower, (n("sub", n.constant(1.0, n.dtype), share), share), slope, extent)


def sampled(n: Nodes, x: Ref, rows: Ref, columns: Ref) -> tuple[Ref, Ref, Ref]:
    """The elements at places, 0 outside of the image; which lie inside; and where on a plane."""
    batch, channels, height, width = x.shape
    rows, columns = (n.cast(one, torch.int64) for one in (rows, columns))
    bounds = [n("less_equal", n.constant(0, torch.int64), rows), n("less", rows, height), n("less_equal", n.constant(0, torch.int64), columns), n("less", columns, width)]
    inside = bounds[0]
    for one in bounds[1:]:
        inside = n("logical_and", inside, one)
    at = n("where", inside, n("add", n("mul", rows, width), columns), n.constant(0, torch.int64))
    found = n("take", n.expand(at, [batch, channels, at.shape[2]]), n.reshape(x, [batch, channels, height * width]), axis=2)
    return n("where", inside, found, n.constant(0.0, n.dtype), dtype=n.dtype), inside, at


def corners(n: Nodes, y: Axis, x: Axis) -> list[tuple[Ref, Ref, Ref, Ref]]:
    """Rows, columns, and the shares of both, of the four neighbours."""
    found = []
    for down in (0, 1):
        for right in (0, 1):
            found.append((n("add", y.lower, float(down)) if down else y.lower, n("add", x.lower, float(right)) if right else x.lower, y.shares[down], x.shares[right]))
    return found


def axes_of(n: Nodes, image: Ref, grid: Ref, padding: int, aligned: bool) -> tuple[Axis, Axis]:
    if padding == 2:
        raise Unknown("places that are reflected at the border")
    return along(n, grid, 1, image.shape[2], padding == 1, aligned), along(n, grid, 0, image.shape[3], padding == 1, aligned)


def grid_sample(n: Nodes, image: Ref, grid: Ref, mode: int, padding: int, aligned: bool) -> Ref:
    y, x = axes_of(n, image, grid, padding, aligned)
    if mode == 1:
        return n.reshape(sampled(n, image, n("round", y.place), n("round", x.place))[0], n.shape)
    if mode != 0:
        raise Unknown("cubic samples")
    parts = [(sampled(n, image, row, column)[0], n("mul", v, h)) for row, column, v, h in corners(n, y, x)]
    terms = n("mul", n.stacked([value for value, _ in parts]), n.stacked([share for _, share in parts]))
    return n.reshape(n.reduce("reduce_sum", terms, [3], False), n.shape)


def grid_sample_backward(n: Nodes, g: Ref, image: Ref, grid: Ref, mode: int, padding: int, aligned: bool, mask: list[bool]) -> list[Ref | None]:
    batch, channels, height, width = image.shape
    y, x = axes_of(n, image, grid, padding, aligned)
    g = n.reshape(g, [batch, channels, counted(g.shape[2:])])
    if mode not in (0, 1) or batch * g.shape[2] * height * width > MOST:
        raise Unknown("cubic samples, or very many")
    one = n.constant(1.0, n.dtype)
    near = [(n("round", y.place), n("round", x.place), one, one)] if mode == 1 else corners(n, y, x)
    table: Ref | None = None  # [batch, samples, elements]: how much each sample has of each element
    plane = n.constant(list(range(height * width)), torch.int64)
    by_grid: list[list[Ref]] = [[], []]
    for k, (row, column, v, h) in enumerate(near):
        value, inside, at = sampled(n, image, row, column)
        turned = [batch, g.shape[2], 1]
        hit = n("logical_and", n("equal", n.reshape(at, turned), plane), n.reshape(inside, turned))
        share = n.reshape(n.expand(n("mul", v, h), [batch, 1, g.shape[2]]), turned)
        weights = n("where", hit, share, n.constant(0.0, n.dtype), dtype=n.dtype)
        table = weights if table is None else n("add", table, weights)
        for axis, other, sign in ((0, v, k % 2), (1, h, k // 2)):
            by_grid[axis].append(n("mul", n.product(value, g, other), 1.0 if sign else -1.0))
    assert table is not None
    found = [n.reduce("reduce_sum", n.stacked(one), [1, 3]) for one in by_grid]
    moved = [n.loose(n("mul", n.reshape(one, [batch, 1, g.shape[2]]), axis.slope)) for one, axis in zip(found, (x, y))]
    of_grid = n.reshape(n.stacked(moved), grid.shape) if mode == 0 else n.expand(n.constant(0.0, n.dtype), grid.shape)
    return [n.reshape(n("matmul", g, table), image.shape) if mask[0] else None, of_grid if mask[1] else None]


SAMPLE: dict[str, Rule] = {"grid_sampler_2d": grid_sample, "grid_sampler_2d_backward": grid_sample_backward}
