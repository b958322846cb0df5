"""Meanings of distances between rows and of running logarithms of sums."""
from __future__ import annotations

import math
from typing import Any, Callable

import torch

from .nodes import Nodes, Ref, Unknown, broadcast, counted
from .rules_reduce import norm
from .rules_solve import summed_to, turned, widened
from .stored_steps import MOST_STEPS
from .values import Equation

Rule = Callable[..., Any]
MOST = 1 << 22  # elements of a table of differences, or of beginnings of lines


# Distances. A table holds the differences: pairs of rows along the axis before the last.

def size_of(n: Nodes, difference: Ref, p: float) -> Ref:
    """The norm of each row of differences."""
    if n.is_half or p == 0 or counted(difference.shape) > MOST:
        raise Unknown("distances in 16 bits, of order 0, or of very many pairs")
    if p != 2:
        return n.loose(norm(n, difference, p, [difference.rank - 1]))
    return n.loose(root(n, n.reduce("reduce_sum", n("mul", difference, difference), [difference.rank - 1], False)))


def root(n: Nodes, square: Ref) -> Ref:
    """The square root; of 0 it is a constant, since autograd takes 0 for the derivative of a norm there, which is one of those that it may have."""
    is_zero = n("equal", square, 0.0)
    found = n("sqrt", n("where", is_zero, n.constant(1.0, n.dtype), square, dtype=n.dtype))
    return n("where", is_zero, n.constant(0.0, n.dtype), found, dtype=n.dtype)


def pull(n: Nodes, g: Ref, difference: Ref, size: Ref, p: float) -> Ref:
    """The cotangents of the differences; 0 where the distance is, and along no axis but that of the greatest one where p is infinite."""
    g, size = (n.reshape(one, [*one.shape, 1]) for one in (g, size))
    sign, zero = n("sign", difference), n.constant(0.0, n.dtype)
    if p == 1:
        return n("mul", g, sign)
    if p == math.inf:
        is_greatest = n("equal", n("abs", difference), n.expand(size, difference.shape))
        return n("where", is_greatest, n("mul", g, sign), zero, dtype=n.dtype)
    if p == 2:
        found = n.product(g, difference, n("reciprocal", size))
    elif p > 1:
        power, below = n("power", n("abs", difference), n.constant(p - 1, n.dtype)), n("power", size, n.constant(p - 1, n.dtype))
        found = n.product(sign, power, g, n("reciprocal", below))
    else:
        raise Unknown(f"the product of a distance of order {p}")
    return n("where", n("equal", n.expand(size, found.shape), 0.0), zero, found, dtype=n.dtype)


def between(n: Nodes, a: Ref, b: Ref) -> Ref:
    """[..., rows of a, rows of b, columns]."""
    batch = broadcast(a.shape[:-2], b.shape[:-2])
    shape = [*batch, a.shape[-2], b.shape[-2], a.shape[-1]]
    if counted(shape) > MOST:
        raise Unknown("distances of very many pairs")
    left, right = n.reshape(a, [*a.shape[:-1], 1, a.shape[-1]]), n.reshape(b, [*b.shape[:-2], 1, *b.shape[-2:]])
    return n("sub", n.expand(left, shape), n.expand(right, shape))


def cdist(n: Nodes, a: Ref, b: Ref, p: float, mode: int | None) -> Ref:
    if p == 2 and (mode == 1 or not mode and max(a.shape[-2], b.shape[-2]) > 25):
        raise Unknown("distances by a product of matrices inside of another kernel")
    return size_of(n, between(n, a, b), p)


def cdist_backward(n: Nodes, g: Ref, a: Ref, b: Ref, p: float, size: Ref) -> Ref:
    if not counted(a.shape) * counted(b.shape):  # a sum of nothing
        return n.expand(n.constant(0.0, n.dtype), n.shape)
    found = pull(n, g, between(n, a, b), size, p)
    return n.reshape(n.reduce("reduce_sum", found, [found.rank - 2], False), n.shape)


def euclidean(n: Nodes, a: Ref, b: Ref) -> Ref:
    """The root of |a|^2 - 2 a b + |b|^2 by one product of matrices; what is below 0 by rounding is 0."""
    def with_size(x: Ref, factor: float, is_first: bool) -> Ref:
        square = n.reduce("reduce_sum", n("mul", x, x), [x.rank - 1])
        ones = n.expand(n.constant(1.0, n.dtype), square.shape)
        return n("concat", x if factor == 1 else n("mul", x, factor), *([square, ones] if is_first else [ones, square]), axis=x.rank - 1)
    return n.loose(root(n, n("clip", n("matmul", with_size(a, -2.0, True), turned(n, with_size(b, 1, False))), lo=0.0, hi="inf")))


def pairs(n: Nodes, x: Ref) -> tuple[Ref, torch.Tensor]:
    """The differences of each row and those after it; their numbers."""
    at = torch.triu_indices(x.shape[0], x.shape[0], 1)
    def rows(which: torch.Tensor) -> Ref:
        return n("gather", x, axis=0, indices=which.tolist(), index_shape=[which.numel()])
    return n("sub", rows(at[0]), rows(at[1])), at


def pdist(n: Nodes, x: Ref, p: float = 2) -> Ref:
    return size_of(n, pairs(n, x)[0], p)


def pdist_backward(n: Nodes, g: Ref, x: Ref, p: float, size: Ref) -> Ref:
    difference, at = pairs(n, x)
    found, columns = pull(n, g, difference, size, p), torch.arange(x.shape[1])
    both = n("concat", found, n("neg", found), axis=0)
    places = at.flatten()[:, None] * x.shape[1] + columns
    return n.place(both, places, x.shape)


# Running logarithms of sums.

def logcumsumexp(n: Nodes, x: Ref, axis: int) -> Ref:
    """Of each beginning of a line its own log_sum_exp: the kernel adds in double. In float64 it stores each result, and goes on from there."""
    if n.is_half or x.is_complex:
        raise Unknown("a running logarithm of sums in 16 bits, or of complex numbers")
    if not x.rank:
        return n.like(x)
    axis %= x.rank
    extent = x.shape[axis]
    if extent > MOST_STEPS or counted(x.shape) * extent > MOST:
        raise Unknown("a running logarithm of very many sums")
    def part(size: int, start: int = 0) -> Ref:
        at = [[start if i == axis else 0 for i in range(x.rank)], [size if i == axis else s for i, s in enumerate(x.shape)]]
        return n("slice", x, starts=at[0], steps=[1] * x.rank, extents=at[1])
    found = [part(1)]
    for i in range(1, extent):
        if n.dtype == torch.float64:
            before, one = found[-1], part(1, i)
            step = n("add", n("max", before, one), n("softplus", n("neg", n("abs", n("sub", before, one)))))
            n.partial.append((n.first.narrow(axis, i, 1), step))
            found.append(step)
        else:
            found.append(n.reduce("log_sum_exp", part(i + 1), [axis]))
    return n("concat", *found, axis=axis) if extent > 1 else found[0]


def running_step(n: Nodes, outs: list[Ref], x: Ref, axis: int) -> list[Equation]:
    """In float64 each result is made of the one before it, as it was stored."""
    y = outs[0]
    assert y.tensor is not None
    if n.dtype != torch.float64 or not x.rank or x.shape[axis % x.rank] < 2:
        return [Equation("value", logcumsumexp(n, x, axis), y.tensor)]
    axis %= x.rank
    def part(one: Ref, start: int, size: int) -> Ref:
        starts, extents = [start if i == axis else 0 for i in range(x.rank)], [size if i == axis else s for i, s in enumerate(x.shape)]
        return n("slice", one, starts=starts, steps=[1] * x.rank, extents=extents)
    extent = x.shape[axis]
    before, one = part(y, 0, extent - 1), part(x, 1, extent - 1)
    step = n("add", n("max", before, one), n("softplus", n("neg", n("abs", n("sub", before, one)))))
    return [Equation("value", n("concat", part(x, 0, 1), step, axis=axis), y.tensor)]


def valued(rule: Rule) -> Callable[..., list[Equation]]:
    """The equation that a result is what the rule says."""
    def write(n: Nodes, outs: list[Ref], *args: Any, **named: Any) -> list[Equation]:
        assert outs[0].tensor is not None
        return [Equation("value", rule(n, *args, **named), outs[0].tensor)]
    return write


# Products. The formulas are the adjoints of the derivatives: the tests have the gate prove that for small tables, where it finds points for all roots.

def wanted(given: list[Ref | None], found: list[Callable[[], Ref]]) -> list[Equation]:
    return [Equation("cotangent", formula(), one.tensor, i) for i, (one, formula) in enumerate(zip(given, found)) if one is not None and one.tensor is not None]


def one_greatest(table: torch.Tensor, p: float) -> None:
    """Where several differences are the greatest, autograd gives each of them the whole cotangent, which is no derivative."""
    size = table.abs()
    if p == math.inf and bool(((size == size.amax(-1, keepdim=True)).sum(-1) > 1).logical_and(size.amax(-1) > 0).any()):
        raise Unknown("a greatest difference that occurs twice")


def numbers_of(x: Ref) -> torch.Tensor:
    if x.tensor is None:
        raise Unknown("rows whose values were not recorded")
    return x.tensor


def cdist_product(n: Nodes, bars: list[Ref], outs: list[Ref], given: list[Ref | None], a: Ref, b: Ref, p: float, mode: int | None) -> list[Equation]:
    one_greatest(numbers_of(a).unsqueeze(-2) - numbers_of(b).unsqueeze(-3), p)
    def along(first: Ref, second: Ref, g: Ref, size: Ref) -> Ref:
        found = pull(n, g, between(n, first, second), size, p)
        return summed_to(n, n.reduce("reduce_sum", found, [found.rank - 2], False), first.shape)
    return wanted(given, [lambda: along(a, b, bars[0], outs[0]), lambda: along(b, a, turned(n, bars[0]), turned(n, outs[0]))])


def euclidean_product(n: Nodes, bars: list[Ref], outs: list[Ref], given: list[Ref | None], a: Ref, b: Ref) -> list[Equation]:
    """With r the cotangent over the distance, and 0 where that is 0: a sum(r) - r b."""
    is_zero, zero = n("equal", outs[0], 0.0), n.constant(0.0, n.dtype)
    ratio = n("where", is_zero, zero, n("div", bars[0], n("where", is_zero, n.constant(1.0, n.dtype), outs[0], dtype=n.dtype)), dtype=n.dtype)
    def along(first: Ref, second: Ref, r: Ref) -> Ref:
        total = n("mul", first, n.reduce("reduce_sum", n.loose(r), [r.rank - 1]))
        return n("sub", total, n("matmul", n.loose(r), second))
    return wanted(given, [lambda: along(a, b, ratio), lambda: along(b, a, turned(n, ratio))])


def pdist_product(n: Nodes, bars: list[Ref], outs: list[Ref], given: list[Ref | None], x: Ref, p: float = 2) -> list[Equation]:
    rows = numbers_of(x)
    one_greatest(rows[:, None] - rows[None], p)
    return wanted(given, [lambda: pdist_backward(n, bars[0], x, p, outs[0])])


def logcumsumexp_product(n: Nodes, bars: list[Ref], outs: list[Ref], given: list[Ref | None], x: Ref, axis: int) -> list[Equation]:
    """The sum of g exp(x - y) over what comes later. PyTorch computes it of the logarithms of the positive and the negative cotangents, for themselves."""
    if not x.rank:
        return wanted(given, [lambda: bars[0]])
    axis %= x.rank
    g, y, extent = bars[0], outs[0], x.shape[axis]
    if extent > MOST_STEPS or counted(x.shape) * extent > MOST:
        raise Unknown("a running logarithm of very many sums")
    is_some = n("logical_not", n("equal", g, 0.0))
    size = n("log", n("where", is_some, n("abs", g), n.constant(1.0, n.dtype), dtype=n.dtype))
    places = torch.arange(counted(x.shape)).reshape(x.shape)
    shape = [*x.shape[:axis], extent, *x.shape[axis:]]  # [..., of, later, ...]
    late = torch.ones(extent, extent, dtype=torch.bool).triu().reshape([extent, extent] + [1] * (x.rank - axis - 1)).expand(shape)
    def rows(one: Ref) -> Ref:
        return n.gather(one, places.unsqueeze(axis).expand(shape), shape)
    roundings = 4 + (2 * extent if n.dtype == torch.float64 else 0)  # where each result is made of the one before it
    exponent = n("add", widened(n, n("sub", rows(size), rows(y)), roundings), n.gather(x, places.unsqueeze(axis + 1).expand(shape), shape))
    terms = n("mul", widened(n, n("exp", n.loose(exponent)), 12 + roundings), n("sign", rows(g)))
    kept = n("where", n.constant(late, torch.bool), terms, n.constant(0.0, n.dtype), dtype=n.dtype)
    return wanted(given, [lambda: n.reduce("reduce_sum", kept, [axis + 1], False)])


DISTANCE: dict[str, Rule] = {
    "_cdist_forward": cdist, "_cdist_backward": cdist_backward, "_euclidean_dist": euclidean, "_pdist_forward": pdist, "_pdist_backward": pdist_backward,
    "logcumsumexp": logcumsumexp}
# Where a gradient is asked for the result is given, and these have to hold: the gate finds no points at which very many roots have values.
DISTANCES: dict[str, Callable[..., list[Equation]]] = {
    "_cdist_forward": valued(cdist), "_euclidean_dist": valued(euclidean), "_pdist_forward": valued(pdist), "logcumsumexp": running_step}
DISTANCE_PRODUCTS: dict[str, Callable[..., list[Equation]]] = {
    "_cdist_forward": cdist_product, "_euclidean_dist": euclidean_product, "_pdist_forward": pdist_product, "logcumsumexp": logcumsumexp_product}
