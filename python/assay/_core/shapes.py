"""Shapes and element types of results: enough to write an expression down. The program infers them again and has the last word."""
from __future__ import annotations

import math
from typing import Any, Callable, Mapping, Sequence

from assay.errors import UsageError
from .vocabulary import leading, row_of

Shape = tuple[int, ...]
REALS = ("float32", "float64")
INTEGERS = ("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8")
_TRUTH = ("equal", "less", "less_equal", "is_nan", "is_inf")
_TAKES = {"reals": REALS, "numbers": REALS + INTEGERS, "integers": INTEGERS, "booleans": ("bool",), "any": (*REALS, *INTEGERS, "bool")}


class Misfit(UsageError):
    """Operands that an operation does not take: their number, types or shapes."""


def result_of(op: str, dtypes: Sequence[str], shapes: Sequence[Shape], attributes: Mapping[str, Any]) -> tuple[str, Shape]:
    """Element type and shape of the operation on these operands; Misfit says what does not fit."""
    row = row_of(op)
    if len(dtypes) < row.least or (row.most is not None and len(dtypes) > row.most):
        words = f"{row.least}" + ("" if row.most == row.least else " or more" if row.most is None else f" to {row.most}")
        raise Misfit(f"{op} takes {words} operands, not {len(dtypes)}")
    first = leading(op, len(dtypes))
    dtype = dtypes[first]
    for position, found in enumerate(dtypes):
        if (op == "where" and position == 0) or (op == "masked_softmax" and position == 1):
            allowed: tuple[str, ...] = ("bool",)
        elif op == "take" and position == 0:
            allowed = ("int64", "int32")
        else:
            allowed = (dtype,) if position != first else _TAKES[row.elements]
        if found not in allowed:
            raise Misfit(f"{op}: operand {position} has elements of {found}; {' or '.join(allowed)} fit (cast converts)")
    return _dtype(op, dtype, attributes), _shape(op, list(shapes), attributes)


def broadcast(*shapes: Shape) -> Shape:
    """NumPy's rule."""
    rank = max((len(shape) for shape in shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    result = []
    for extents in zip(*padded):
        wide = {extent for extent in extents if extent != 1}
        if len(wide) > 1:
            raise Misfit("shapes " + " and ".join(map(text, shapes)) + " do not broadcast")
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def text(shape: Shape) -> str:
    """As the program writes shapes."""
    return "[" + ", ".join(map(str, shape)) + "]"


def _dtype(op: str, dtype: str, attributes: Mapping[str, Any]) -> str:
    if op in _TRUTH:
        return "bool"
    if op in ("arg_max", "arg_min", "arg_sort"):
        return "int64"
    return str(attributes["to"]) if op == "cast" else dtype


def _shape(op: str, shapes: list[Shape], attributes: Mapping[str, Any]) -> Shape:
    try:
        return _RULES.get(op, _elementwise)(shapes, attributes)
    except Misfit as why:
        raise Misfit(f"{op} of {', '.join(map(text, shapes))}: {why}") from None
    except KeyError as missing:
        raise Misfit(f"{op} lacks its attribute {missing}") from None
    except (IndexError, TypeError, ValueError) as why:
        raise Misfit(f"{op} of {', '.join(map(text, shapes))} with {dict(attributes)}: {why}") from None


def _elementwise(shapes: list[Shape], _: Mapping[str, Any]) -> Shape:
    return broadcast(*shapes)


def _reshape(shapes: list[Shape], attributes: Mapping[str, Any]) -> Shape:
    target = tuple(attributes["shape"])
    if math.prod(target) != math.prod(shapes[0]):
        raise Misfit(f"the shape {text(target)} has another number of elements than the operand")
    return target


def _permute(shapes: list[Shape], attributes: Mapping[str, Any]) -> Shape:
    axes = attributes["axes"]
    if sorted(axes) != list(range(len(shapes[0]))):
        raise Misfit(f"{axes} is no permutation of the operand's axes")
    return tuple(shapes[0][axis] for axis in axes)


def _slice(shapes: list[Shape], attributes: Mapping[str, Any]) -> Shape:
    starts, steps, extents = attributes["starts"], attributes["steps"], attributes["extents"]
    if not len(starts) == len(steps) == len(extents) == len(shapes[0]):
        raise Misfit("expected one start, step and extent per axis")
    return tuple(extents)


def _concat(shapes: list[Shape], attributes: Mapping[str, Any]) -> Shape:
    axis = attributes["axis"]
    if len({(len(shape), shape[:axis], shape[axis + 1:]) for shape in shapes}) > 1:
        raise Misfit("all axes but the one along which it joins have to agree")
    return (*shapes[0][:axis], sum(shape[axis] for shape in shapes), *shapes[0][axis + 1:])


def _pad(shapes: list[Shape], attributes: Mapping[str, Any]) -> Shape:
    before, after = attributes["before"], attributes["after"]
    if not len(before) == len(after) == len(shapes[0]):
        raise Misfit("expected one entry before and one after per axis")
    return tuple(b + n + a for b, n, a in zip(before, shapes[0], after))


def _gather(shapes: list[Shape], attributes: Mapping[str, Any]) -> Shape:
    axis = attributes["axis"]
    return (*shapes[0][:axis], *attributes["index_shape"], *shapes[0][axis + 1:])


def _gemm(shapes: list[Shape], attributes: Mapping[str, Any]) -> Shape:
    (m, k), (k_b, n) = shapes[0], shapes[1]
    if attributes.get("transpose_a"):
        m, k = k, m
    if attributes.get("transpose_b"):
        k_b, n = n, k_b
    if k != k_b or (len(shapes) == 3 and broadcast(shapes[2], (m, n)) != (m, n)):
        raise Misfit("the inner extents have to agree, and c has to broadcast to the result")
    return (m, n)


def _matmul(shapes: list[Shape], _: Mapping[str, Any]) -> Shape:
    a, b = shapes
    if not a or not b:
        raise Misfit("each operand needs at least one axis")
    wide_a, wide_b = ((1, *a) if len(a) == 1 else a), ((*b, 1) if len(b) == 1 else b)
    if wide_a[-1] != wide_b[-2]:
        raise Misfit(f"the inner extents differ: {wide_a[-1]} and {wide_b[-2]}")
    return (*broadcast(wide_a[:-2], wide_b[:-2]), *(wide_a[-2:-1] if len(a) > 1 else ()), *(wide_b[-1:] if len(b) > 1 else ()))


def _windows(shape: Shape, channels: int, attributes: Mapping[str, Any], *, transposed: bool = False) -> Shape:
    rank = len(shape) - 2
    lists = [attributes.get(key) or [default] * rank for key, default in (("strides", 1), ("dilations", 1), ("pads_begin", 0), ("pads_end", 0),
                                                                          ("output_padding", 0))]
    kernel = attributes["kernel"]
    if rank < 1 or any(len(one) != rank for one in (kernel, *lists)):
        raise Misfit("expected [N, C, spatial...], with one entry of every attribute per spatial axis")
    result = [shape[0], channels]
    for extent, k, stride, dilation, begin, end, more in zip(shape[2:], kernel, *lists):
        covered = dilation * (k - 1) + 1
        room = extent + begin + end - covered
        if transposed:
            count = stride * (extent - 1) + more + covered - begin - end
        elif attributes.get("ceil_mode"):
            count = -(-room // stride) + 1
            count -= (count - 1) * stride >= extent + begin
        else:
            count = room // stride + 1
        if room < 0 and not transposed or count < 1:
            raise Misfit("the window does not fit into the padded operand")
        result.append(count)
    return tuple(result)


def _conv(shapes: list[Shape], attributes: Mapping[str, Any]) -> Shape:
    x, w, groups = shapes[0], shapes[1], attributes.get("groups", 1)
    if len(w) != len(x) or x[1] != w[1] * groups or w[0] % groups or (len(shapes) == 3 and shapes[2] != w[:1]):
        raise Misfit(f"expected a weight [M, C / groups, kernel...] and a bias [M], groups {groups}")
    return _windows(x, w[0], attributes)


def _conv_transpose(shapes: list[Shape], attributes: Mapping[str, Any]) -> Shape:
    x, w, groups = shapes[0], shapes[1], attributes.get("groups", 1)
    if len(w) != len(x) or x[1] != w[0] or x[1] % groups or (len(shapes) == 3 and shapes[2] != (w[1] * groups,)):
        raise Misfit(f"expected a weight [C, M / groups, kernel...] and a bias [M], groups {groups}")
    return _windows(x, w[1] * groups, attributes, transposed=True)


def _pool(shapes: list[Shape], attributes: Mapping[str, Any]) -> Shape:
    return _windows(shapes[0], shapes[0][1], attributes)


def _reduced(shapes: list[Shape], axes: Sequence[int], keep: bool) -> Shape:
    if len(set(axes)) != len(axes) or any(not 0 <= axis < len(shapes[0]) for axis in axes):
        raise Misfit(f"expected distinct axes of the operand, got {list(axes)}")
    return tuple(1 if i in axes else n for i, n in enumerate(shapes[0]) if keep or i not in axes)


def _reduce(shapes: list[Shape], attributes: Mapping[str, Any]) -> Shape:
    return _reduced(shapes, attributes["axes"], attributes.get("keep_dims", True))


def _position(shapes: list[Shape], attributes: Mapping[str, Any]) -> Shape:
    return _reduced(shapes, [attributes.get("axis", 0)], attributes.get("keep_dims", True))


def _sort(shapes: list[Shape], attributes: Mapping[str, Any]) -> Shape:
    axis, count = attributes.get("axis", 0), attributes["count"]
    if not 0 <= count <= shapes[0][axis]:
        raise Misfit(f"expected a count from 0 to {shapes[0][axis]}, got {count}")
    return (*shapes[0][:axis], count, *shapes[0][axis + 1:])


def _first(shapes: list[Shape], _: Mapping[str, Any]) -> Shape:
    return shapes[0]


_RULES: dict[str, Callable[[list[Shape], Mapping[str, Any]], Shape]] = {
    "reshape": _reshape, "permute": _permute, "slice": _slice, "concat": _concat, "pad": _pad, "gather": _gather, "expand": lambda _, a: tuple(a["shape"]),
    "place": lambda _, a: tuple(a["shape"]), "gemm": _gemm, "matmul": _matmul, "conv": _conv, "conv_transpose": _conv_transpose, "max_pool": _pool,
    "avg_pool": _pool, "reduce_sum": _reduce, "reduce_mean": _reduce, "reduce_max": _reduce, "reduce_min": _reduce, "reduce_prod": _reduce,
    "log_sum_exp": _reduce, "arg_max": _position, "arg_min": _position, "sort": _sort, "arg_sort": _sort, "take": _first, "batch_norm": _first,
    "prelu": _first, "masked_softmax": _first,
    "weighted_gather": lambda shapes, a: (*shapes[0][:a["axis"]], len(a["starts"]) - 1, *shapes[0][a["axis"] + 1:]),
}
