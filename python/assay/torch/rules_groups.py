"""Meanings of products of matrices group by group, as of experts, and of counts: rows belong to the groups that offsets say."""
from __future__ import annotations

from typing import Any, Callable

import torch

from .nodes import Nodes, Ref, Unknown, counted
from .rules_linear import matmul

MOST_PRODUCTS = 1 << 24  # elements of the products of all rows with all groups
MOST_COMPARED = 1 << 22  # pairs of numbers and bins


def group_of(n: Nodes, offsets: Ref, rows: int) -> Ref:
    """The group of each row: how many groups end before it."""
    is_behind = n("less_equal", n.reshape(offsets, [*offsets.shape, 1]), n.constant(torch.arange(rows)[None], offsets.dtype))
    return n.reduce("reduce_sum", n.cast(is_behind, torch.int64), [0], False)


def grouped(n: Nodes, a: Ref, b: Ref, offsets: Ref | None = None, bias: Ref | None = None, kind: torch.dtype | None = None) -> Ref:
    """Rows of a times the matrix of their group; of two matrices the sum over the rows of each group."""
    if bias is not None or n.is_half or kind not in (None, a.dtype) or a.is_complex:
        raise Unknown("a grouped product with a bias, or of other types")
    if offsets is None:
        return matmul(n, a, b)
    ends = offsets.tensor
    if a.rank != 2 or ends is None or not ends.numel() or bool((ends.diff() < 0).any()) or int(ends[0]) < 0:
        raise Unknown("a grouped product over another axis")
    rows = a.shape[0] if b.rank == 3 else a.shape[1]
    if int(ends[-1]) != rows or counted(ends.shape) * counted(a.shape) * b.shape[-1] > MOST_PRODUCTS:
        raise Unknown("a grouped product with rows of no group, or of many elements")
    group = group_of(n, offsets, rows)
    if b.rank == 3:
        every = n("matmul", a, b)
        return n.reshape(n("take", n.expand(n.reshape(group, [1, rows, 1]), [1, *n.shape]), every, axis=0), n.shape)
    hit = n("equal", n.reshape(group, [1, 1, rows]), n.constant(torch.arange(counted(ends.shape)).reshape(-1, 1, 1), torch.int64))
    return n("matmul", n("where", hit, a, n.constant(0.0, a.dtype), dtype=a.dtype), b)


def histogram(n: Nodes, x: Ref, bins: int = 100, least: float = 0, most: float = 0) -> Ref:
    """How often each of some whole numbers occurs; bins of other numbers have no meaning here."""
    if x.tensor is None or int(least) != least or most - least != bins - 1 or bins < 2 or bins > 2**10 or x.tensor.numel() * bins > MOST_COMPARED:
        raise Unknown("a histogram whose bins are no whole numbers")
    if not bool((x.tensor == x.tensor.round()).all()):
        raise Unknown("a histogram of numbers that are not whole")
    hit = n("equal", n.reshape(x, [1, counted(x.shape)]), n.constant(torch.arange(bins).reshape(-1, 1) + int(least), x.dtype))
    return n.cast(n.reduce("reduce_sum", n.cast(hit, torch.int64), [1], False), n.dtype)


GROUPS: dict[str, Callable[..., Any]] = {"_grouped_mm": grouped, "histc": histogram}
