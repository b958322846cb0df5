"""Meanings of reductions, scans, orders and softmaxes."""
from __future__ import annotations

import math
from typing import Any, Callable

import torch

from .nodes import Nodes, Ref, Unknown, complexly, counted
from .rules_basic import raised
from .stored_steps import stored_product

Rule = Callable[..., Any]


def axes_of(x: Ref, axes: Any) -> list[int]:
    """Axes from 0 on; none given are all."""
    rank = x.rank - (1 if x.is_complex else 0)
    given = [axes] if isinstance(axes, int) else list(axes or [])
    return sorted(a % rank for a in given) if given and rank else list(range(rank))


def reduced(op: str) -> Rule:
    def rule(n: Nodes, x: Ref, axes: Any = None, keep_dims: bool = False, **_: Any) -> Ref:
        if x.is_complex:
            return complexly(n.reduce(op, x, axes_of(x, axes), keep_dims))
        y = n.cast(x, n.dtype)
        if not x.rank and op == "reduce_sum":  # it adds to 0, which takes the sign of -0
            return n.reduce(op, n.reshape(y, [1]), [0], False)
        return n.reduce(op, y, axes_of(x, axes), keep_dims)
    return rule


def ordinal(n: Nodes, x: Ref) -> Ref:
    """Truth values as the numbers 0 and 1."""
    return n.cast(x, torch.int32) if x.dtype == torch.bool else x


def extremum(op: str, place: str) -> Rule:
    """The greatest (least) element; along an axis with its place."""
    def rule(n: Nodes, x: Ref, axis: int | None = None, keep_dims: bool = False) -> Any:
        if axis is None or x.rank == 0:
            return n.cast(n.reduce(op, ordinal(n, x), list(range(x.rank)), False), x.dtype)
        axis, y = axis % x.rank, ordinal(n, x)
        return [n.cast(n.reduce(op, y, [axis], keep_dims), x.dtype), n(place, y, axis=axis, keep_dims=keep_dims)]
    return rule


def place_of_extremum(op: str) -> Rule:
    def rule(n: Nodes, x: Ref, axis: int | None = None, keep_dims: bool = False) -> Ref:
        if axis is None:
            return n.reshape(n(op, n.reshape(ordinal(n, x), [counted(x.shape)]), axis=0, keep_dims=False), n.shape)
        return n(op, ordinal(n, x), axis=axis % x.rank, keep_dims=keep_dims)
    return rule


def product(n: Nodes, x: Ref, axis: int | None = None, keep_dims: bool = False, **_: Any) -> Ref:
    if n.is_half:
        return stored_product(n, x, axis)
    return n.reduce("reduce_prod", n.cast(x, n.dtype), axes_of(x, axis), keep_dims)


def centred(n: Nodes, x: Ref, axes: list[int]) -> tuple[Ref, Ref]:
    """The mean over axes, and the distances to it."""
    mean = n.reduce("reduce_mean", x, axes)
    return mean, n("sub", x, mean)


def variance(n: Nodes, x: Ref, axes: Any, correction: Any, keep: bool) -> Ref:
    which = axes_of(x, axes)
    distances = n("sub", x, x) if is_single(x, which) else centred(n, x, which)[1]
    count = counted([x.shape[a] for a in which]) - (1 if correction is None else correction)
    total = n.reduce("reduce_sum", n("mul", distances, distances), which, keep)
    return n("div", total, n.constant(float(count), n.dtype))


def var(n: Nodes, x: Ref, axes: Any = None, correction: Any = None, keepdim: bool = False, **_: Any) -> Ref:
    return variance(n, x, axes, correction, keepdim)


def std(n: Nodes, x: Ref, axes: Any = None, correction: Any = None, keepdim: bool = False, **_: Any) -> Ref:
    """The root of the variance. Of one element it is the distance from the mean, |x - x|, which has a derivative where the root of 0 has none."""
    if correction == 0 and is_single(x, axes_of(x, axes)):
        return n.reduce("reduce_sum", n("abs", n("sub", x, x)), axes_of(x, axes), keepdim)
    return n("sqrt", variance(n, x, axes, correction, keepdim))


def is_single(x: Ref, which: list[int]) -> bool:
    return all(x.shape[a] == 1 for a in which)


def var_mean(n: Nodes, x: Ref, axes: Any = None, correction: Any = None, keepdim: bool = False, **_: Any) -> list[Ref]:
    return [variance(n, x, axes, correction, keepdim), n.reduce("reduce_mean", x, axes_of(x, axes), keepdim)]


def norm(n: Nodes, x: Ref, order: float = 2, axes: Any = None, keepdim: bool = False, **_: Any) -> Ref:
    which = axes_of(x, axes)
    if x.is_complex:
        raise Unknown("a norm of complex numbers")
    if order == 2:
        return n("sqrt", n.reduce("reduce_sum", n("mul", x, x), which, keepdim))
    if order == 1:
        return n.reduce("reduce_sum", n("abs", x), which, keepdim)
    if abs(order) == float("inf"):
        return n.reduce("reduce_max" if order > 0 else "reduce_min", n("abs", x), which, keepdim)
    if order == 0:  # how many are not 0
        return n.reduce("reduce_sum", n.cast(n("logical_not", n("equal", x, 0.0)), n.dtype), which, keepdim)
    power = raised(n, n("abs", x), order)
    return n("power", n.reduce("reduce_sum", power, which, keepdim), n("div", 1.0, n.number(order, n.dtype)))


def softmax(op: str) -> Rule:
    def rule(n: Nodes, x: Ref, axis: int, *_: Any, **__: Any) -> Ref:
        x = n.cast(x, n.dtype)
        if n.is_half and x.rank and axis % x.rank < x.rank - 1 and op == "softmax":
            raise Unknown("a softmax along another axis than the last, whose steps are stored in 16 bits")
        if not x.rank:
            return n.reshape(n(op, n.reshape(x, [1]), axis=0), [])
        axis %= x.rank
        if op == "softmax" and x.tensor is not None and not in_forward_mode() and bool((far := far_below(x.tensor, axis)).any()):
            return n("masked_softmax", x, n.constant(~far, torch.bool), axis=axis)
        return n(op, x, axis=axis)
    return rule


def in_forward_mode() -> bool:
    """Whether tangents are computed: their formulas are judged by the softmax of all scores, masked ones included."""
    return torch.autograd.forward_ad._current_level >= 0


FAR = 1000.0  # exp(-1000) is 0 in every format


def far_below(x: torch.Tensor, axis: int) -> torch.Tensor:
    """Masked scores (-1e9, the least number): so far below the greatest of their line that their share is 0, whatever the others are."""
    return x < x.amax(axis, keepdim=True) - FAR


def safe_softmax(n: Nodes, x: Ref, axis: int, *rest: Any, **more: Any) -> Ref:
    """0 where a line sees nothing: all of it is -inf."""
    y: Ref = softmax("softmax")(n, x, axis, *rest, **more)
    if x.tensor is None or not x.rank or not bool((x.tensor == -math.inf).all(axis).any()):
        return y
    blocked = n("logical_and", n("is_inf", x), n("less", x, 0.0))
    line = n.reduce("reduce_min", n.cast(blocked, torch.int32), [axis % x.rank])
    return n("where", n.expand(n.cast(line, torch.bool), y.shape), n.constant(0.0, y.dtype), y, dtype=y.dtype)


def softmax_backward(n: Nodes, g: Ref, y: Ref, axis: int, _: Any) -> Ref:
    return n("mul", y, n("sub", g, n.reduce("reduce_sum", n("mul", g, y), [axis % y.rank] if y.rank else [])))


def log_softmax_backward(n: Nodes, g: Ref, y: Ref, axis: int, _: Any) -> Ref:
    return n("sub", g, n("mul", n("exp", y), n.reduce("reduce_sum", g, [axis % y.rank] if y.rank else [])))


def running(op: str) -> Rule:
    def rule(n: Nodes, x: Ref, axis: int, **_: Any) -> Ref:
        return n(op, n.cast(x, n.dtype), axis=axis % x.rank) if x.rank else n.like(x)
    return rule


def ordered(n: Nodes, x: Ref, axis: int = -1, descending: bool = False, **named: Any) -> list[Ref]:
    axis = named.get("dim", axis) % x.rank
    at: dict[str, Any] = {"axis": axis, "count": x.shape[axis], "descending": descending}
    return [n("sort", x, **at), n("arg_sort", x, **at)]


def top(n: Nodes, x: Ref, count: int, axis: int = -1, largest: bool = True, is_sorted: bool = True) -> list[Ref]:
    if not is_sorted:
        raise Unknown("topk that is not sorted")
    at: dict[str, Any] = {"axis": axis % x.rank, "count": count, "descending": largest}
    return [n("sort", x, **at), n("arg_sort", x, **at)]


def ranked(n: Nodes, x: Ref, rank: int, axis: int, keep_dims: bool) -> list[Ref]:
    """The element of this rank, from 0 on, and its place."""
    at: dict[str, Any] = {"axis": axis % x.rank, "count": rank + 1, "descending": False}
    starts = [rank if i == at["axis"] else 0 for i in range(x.rank)]
    extents = [1 if i == at["axis"] else s for i, s in enumerate(x.shape)]
    found = [n("slice", n(op, x, **at), starts=starts, steps=[1] * x.rank, extents=extents) for op in ("sort", "arg_sort")]
    return found if keep_dims else [n.reshape(one, n.shape) for one in found]


def median(n: Nodes, x: Ref, axis: int | None = None, keep_dims: bool = False) -> Any:
    if axis is None:
        return n.reshape(ranked(n, n.reshape(x, [counted(x.shape)]), (counted(x.shape) - 1) // 2, 0, True)[0], [])
    return ranked(n, x, (x.shape[axis] - 1) // 2, axis, keep_dims)


def logsumexp(n: Nodes, x: Ref, axes: Any, keep: bool = False) -> Ref:
    return n.reduce("log_sum_exp", n.cast(x, n.dtype), axes_of(x, axes), keep)


def any_of(n: Nodes, x: Ref, axes: Any = None, keep: bool = False) -> Ref:
    total = n.reduce("reduce_max", n.cast(n.cast(x, torch.bool), torch.int32), axes_of(x, axes), keep)
    return n.cast(total, n.dtype)


def all_of(n: Nodes, x: Ref, axes: Any = None, keep: bool = False) -> Ref:
    total = n.reduce("reduce_min", n.cast(n.cast(x, torch.bool), torch.int32), axes_of(x, axes), keep)
    return n.cast(total, n.dtype)


def diagonal_sum(n: Nodes, x: Ref) -> Ref:
    size = min(x.shape)
    return n.reduce("reduce_sum", n.gather(x, torch.arange(size) * (x.shape[1] + 1), [size]), [0], False)


REDUCE: dict[str, Rule] = {
    "sum": reduced("reduce_sum"), "mean": reduced("reduce_mean"), "amax": reduced("reduce_max"), "amin": reduced("reduce_min"),
    "max": extremum("reduce_max", "arg_max"), "min": extremum("reduce_min", "arg_min"), "argmax": place_of_extremum("arg_max"),
    "argmin": place_of_extremum("arg_min"), "prod": product, "var": var, "std": std, "var_mean": var_mean,
    "std_mean": lambda n, *a, **k: (lambda v: [n("sqrt", v[0]), v[1]])(var_mean(n, *a, **k)), "linalg_vector_norm": norm, "norm": norm,
    "logsumexp": logsumexp, "_softmax": softmax("softmax"), "_safe_softmax": safe_softmax, "_log_softmax": softmax("log_softmax"),
    "_softmax_backward_data": softmax_backward, "_log_softmax_backward_data": log_softmax_backward, "cumsum": running("cumsum"),
    "cumprod": running("cumprod"), "sort": ordered, "topk": top, "median": median,
    "kthvalue": lambda n, x, k, axis=-1, keep=False: ranked(n, x, k - 1, axis, keep), "any": any_of, "all": all_of, "_is_any_true": any_of, "_is_all_true": all_of, "trace": diagonal_sum,
}
