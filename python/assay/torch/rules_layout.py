"""Meanings of ATen operations that move elements, and of those that move them back."""
from __future__ import annotations

import math
from typing import Any, Callable

import torch

from .nodes import Nodes, Ref, Unknown, complexly, counted

Rule = Callable[..., Any]


def reshape(n: Nodes, x: Ref, *_: Any, **__: Any) -> Ref:
    """The same elements in the shape of the result."""
    is_real = not (x.is_complex or n.first.is_complex())
    if is_real and (x.dtype.is_floating_point != n.first.dtype.is_floating_point or counted(x.shape) != counted(n.shape)):
        raise Unknown(f"the bytes of {x.dtype} read as {n.first.dtype}")
    y = n.like(x)
    return complexly(y) if x.is_complex else y


def expanded(n: Nodes, x: Ref, *_: Any, **__: Any) -> Ref:
    """Broadcast to the shape of the result."""
    return complexly(n.expand(x, [*n.shape, 2])) if x.is_complex else n.expand(n.cast(x, n.dtype), n.shape)


def permuted(n: Nodes, x: Ref, axes: list[int]) -> Ref:
    if x.is_complex:
        return complexly(n.permute(x, [a % len(axes) for a in axes] + [x.rank - 1]))
    return n.permute(x, [a % len(axes) for a in axes])


def transposed(n: Nodes, x: Ref, i: int = 0, j: int = 1) -> Ref:
    rank = len(n.shape)
    axes = list(range(rank))
    if rank > 1:
        axes[i], axes[j] = axes[j], axes[i]
    return permuted(n, x, axes)


def cut(n: Nodes, x: Ref, axis: int, start: int, extent: int, step: int = 1) -> Ref:
    """A slice along one axis."""
    starts, steps, extents = [0] * x.rank, [1] * x.rank, list(x.shape)
    starts[axis], steps[axis], extents[axis] = start, step, extent
    y = n("slice", x, starts=starts, steps=steps, extents=extents)
    return complexly(y) if x.is_complex else y


def padded(n: Nodes, x: Ref, axis: int, before: int, extent: int, zero: float = 0.0) -> Ref:
    """x inside zeros; its axis gets this extent."""
    ends = [[0] * x.rank, [0] * x.rank]
    ends[0][axis], ends[1][axis] = before, extent - before - x.shape[axis]
    y = n("pad", x, before=ends[0], after=ends[1], value=zero)
    return complexly(y) if x.is_complex else y


def bounds(size: int, start: int | None, end: int | None) -> tuple[int, int]:
    """A slice's ends, as Python has them."""
    begin, last = ((p + size if p < 0 else p) for p in (start or 0, size if end is None else end))
    return min(max(begin, 0), size), min(max(last, 0), size)


def sliced(n: Nodes, x: Ref, axis: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Ref:
    axis %= len(n.shape)
    return cut(n, x, axis, bounds(x.shape[axis], start, end)[0], n.shape[axis], step)


def selected(n: Nodes, x: Ref, axis: int, index: int) -> Ref:
    axis %= len(n.shape) + 1
    return reshape(n, cut(n, x, axis, index % x.shape[axis], 1))


def split(n: Nodes, x: Ref, _: Any, axis: int = 0) -> list[Ref]:
    assert n.results[0] is not None
    axis, at, values = axis % n.results[0].dim(), 0, []
    for one in n.results:
        assert one is not None
        values.append(cut(n, x, axis, at, one.shape[axis]))
        at += one.shape[axis]
    return values


def unbound(n: Nodes, x: Ref, axis: int = 0) -> list[Ref]:
    axis %= len(n.shape) + 1
    return [reshape(n, cut(n, x, axis, i, 1)) for i in range(len(n.results))]


def joined(n: Nodes, tensors: list[Ref], axis: int = 0) -> Ref:
    """A concatenation; empty parts of rank 1 are left out, as PyTorch does."""
    axis %= len(n.shape)
    given = [v for v in tensors if counted(v.shape)]
    if any(v.is_complex for v in given):
        return complexly(n("concat", *given, axis=axis))
    return n("concat", *[n.cast(v, n.dtype) for v in given], axis=axis)


def stacked(n: Nodes, tensors: list[Ref], axis: int = 0) -> Ref:
    axis %= len(n.shape)
    shape = [1 if i == axis else s for i, s in enumerate(n.shape)]
    return joined(n, [complexly(n.reshape(v, [*shape, 2])) if v.is_complex else n.reshape(v, shape) for v in tensors], axis)


def constant_pad(n: Nodes, x: Ref, pad: list[int], value: float = 0.0) -> Ref:
    rank = x.rank - (1 if x.is_complex else 0)
    before, after = [0] * x.rank, [0] * x.rank
    for i in range(len(pad) // 2):
        before[rank - 1 - i], after[rank - 1 - i] = pad[2 * i], pad[2 * i + 1]
    if not math.isfinite(value):
        y = n("pad", x, before=before, after=after, value=0.0)
        lies = torch.nn.functional.pad(torch.ones(x.shape, dtype=torch.bool), pad)
        return n("where", n.constant(lies, torch.bool), y, n.constant(value, x.dtype), dtype=x.dtype)
    y = n("pad", x, before=before, after=after, value=n.rounded(value))
    return complexly(y) if x.is_complex else y


def numbered(shape: list[int]) -> torch.Tensor:
    """Tensors whose elements say where they are; 0 is nowhere."""
    return torch.arange(1, counted(shape) + 1, dtype=torch.float64).reshape(shape)


def moved(function: Any) -> Rule:
    """An operation that only moves elements of its first operand, or puts zeros: it is run on the numbers of the places."""
    def rule(n: Nodes, x: Ref, *args: Any, **kwargs: Any) -> Ref:
        shape = x.shape[:-1] if x.is_complex else x.shape
        places = function(numbered(shape), *args, **kwargs).long() - 1
        if x.is_complex:
            flat = n.reshape(x, [counted(shape), 2])
            taken = n("gather", flat, axis=0, indices=places.flatten().tolist(), index_shape=[places.numel()])
            return complexly(n.reshape(taken, [*places.shape, 2]))
        if bool((places >= 0).all()):
            return n.gather(x, places, places.shape)
        flat = n("concat", n.reshape(x, [counted(shape)]), n.expand(n.cast(0, x.dtype), [1]), axis=0)
        places = torch.where(places < 0, counted(shape), places)
        return n.gather(flat, places, places.shape)
    return rule


def moved_back(function: Any, shape_of: Callable[..., tuple[list[int], list[Any]]]) -> Rule:
    """The adjoint of an operation that only moves elements: each cotangent is added at the place that its element came from."""
    def rule(n: Nodes, g: Ref, *args: Any, **kwargs: Any) -> Ref:
        shape, rest = shape_of(n, *args, **kwargs)
        places = function(numbered(shape), *rest).long().flatten() - 1
        if g.is_complex:
            raise Unknown("complex cotangents of a layout")
        inside = torch.nonzero(places >= 0).flatten()
        flat = n.reshape(g, [counted(g.shape)])
        if inside.numel() < places.numel():
            flat = n.gather(flat, inside, [inside.numel()])
        return n.place(flat, places[inside], shape)
    return rule


def adjoint(function: Any) -> Rule:
    """Backward kernels that name the shape of the operand, then the arguments of the operation."""
    return moved_back(function, lambda n, sizes, *rest: (list(sizes), list(rest)))


def adjoint_like(function: Any) -> Rule:
    """Backward kernels that name the operand itself."""
    return moved_back(function, lambda n, x, *rest: (list(x.shape), list(rest)))


def columns_back(n: Nodes, x: Ref, size: list[int], kernel: list[int], dilation: list[int], padding: list[int], stride: list[int]) -> Ref:
    shape = n.shape if len(n.shape) == 4 else [1, *n.shape]
    def function(t: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.im2col(t, kernel, dilation, padding, stride)  # type: ignore[no-any-return]
    back: Ref = moved_back(function, lambda *_: (shape, []))(n, x)
    return n.like(back)


def scattered(function: Any) -> Rule:
    """x with a part of it replaced: select_scatter, slice_scatter and their kin."""
    def rule(n: Nodes, x: Ref, source: Ref, *args: Any, **kwargs: Any) -> Ref:
        places = function(numbered(x.shape), *args, **kwargs).long().flatten() - 1
        return n.replaced(x, places, source)
    return rule


ATEN = torch.ops.aten
SAME = ("view", "_unsafe_view", "reshape", "_reshape_alias", "squeeze", "unsqueeze", "clone", "alias", "view_as", "contiguous", "lift_fresh_copy",
        "detach", "detach_copy", "view_copy", "_reshape_copy", "unsqueeze_copy", "squeeze_copy", "resolve_conj", "resolve_neg", "flatten", "unflatten")
MOVED = ("roll", "flip", "repeat", "tril", "triu", "diagonal", "diag_embed", "im2col", "unfold", "as_strided", "reflection_pad1d", "reflection_pad2d",
         "reflection_pad3d", "replication_pad1d", "replication_pad2d", "replication_pad3d", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle",
         "rot90", "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "_upsample_nearest_exact1d", "_upsample_nearest_exact2d",
         "_upsample_nearest_exact3d", "diag", "narrow_copy", "repeat_interleave")
LAYOUT: dict[str, Rule] = dict.fromkeys(SAME, reshape) | {name: moved(getattr(ATEN, name)) for name in MOVED} | {
    "t": transposed, "transpose": transposed, "permute": permuted, "expand": expanded, "expand_copy": expanded,
    "copy": lambda n, _, x, *__: expanded(n, x), "slice": sliced, "select": selected, "split": split, "split_with_sizes": split,
    "unsafe_split": split, "unsafe_split_with_sizes": split, "unbind": unbound, "cat": joined, "stack": stacked, "constant_pad_nd": constant_pad,
    "slice_backward": adjoint(ATEN.slice.Tensor), "select_backward": adjoint(ATEN.select.int), "diagonal_backward": adjoint(ATEN.diagonal.default),
    "unfold_backward": adjoint(ATEN.unfold.default), "col2im": columns_back, "slice_scatter": scattered(ATEN.slice.Tensor),
    "select_scatter": scattered(ATEN.select.int), "diagonal_scatter": scattered(ATEN.diagonal.default), "as_strided_scatter": scattered(ATEN.as_strided.default),
    **{f"{name}_pad{d}d_backward": adjoint_like(getattr(ATEN, f"{name}_pad{d}d")) for name in ("reflection", "replication") for d in (1, 2, 3)},
    **{f"{name}{d}d_backward": moved_back(getattr(ATEN, f"{name}{d}d").default, lambda n, out, sizes, *s: (list(sizes), [list(out), *s]))
       for name in ("upsample_nearest", "_upsample_nearest_exact") for d in (1, 2, 3)},
}
