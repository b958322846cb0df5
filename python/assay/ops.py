"""A small NumPy-like namespace whose functions write expressions down, for checks of whole expressions.

    import assay.ops as xp

    def attention(q, k, v):
        return xp.softmax(q @ xp.swapaxes(k, -1, -2) / 8.0, axis=-1) @ v

    assay.testing.assert_within_contract(attention, [q, k, v], output)

Every operation of the vocabulary (`assay ops`, docs/ops) is here by its name and attributes, `xp.leaky_relu(x, slope=0.2)`; beside them stand
NumPy's words for the common ones. Numbers take the element type of what they meet; arrays that a function closes over are operands.
"""
from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, Callable, Iterable, Iterator, Sequence, Union

from assay._core import expressions
from assay._core.arrays import bits_of
from assay._core.vocabulary import ROWS, UnknownOperation, row_of  # noqa: F401
from assay.errors import UsageError

Axes = Union[int, Sequence[int], None]


class Value(expressions.Value):
    """A value of an expression: arithmetic, comparisons, `@`, `**`, slices, `reshape`, `transpose`, `sum`, `mean`, `max`, ..."""

    __slots__ = ()
    __array_ufunc__ = None  # NumPy's arrays leave operators to us

    def __add__(self, other: Any) -> Value: return apply("add", self, other)
    def __radd__(self, other: Any) -> Value: return apply("add", other, self)
    def __sub__(self, other: Any) -> Value: return apply("sub", self, other)
    def __rsub__(self, other: Any) -> Value: return apply("sub", other, self)
    def __mul__(self, other: Any) -> Value: return apply("mul", self, other)
    def __rmul__(self, other: Any) -> Value: return apply("mul", other, self)
    def __truediv__(self, other: Any) -> Value: return apply("div", self, other)
    def __rtruediv__(self, other: Any) -> Value: return apply("div", other, self)
    def __matmul__(self, other: Any) -> Value: return apply("matmul", self, other)
    def __rmatmul__(self, other: Any) -> Value: return apply("matmul", other, self)
    def __mod__(self, other: Any) -> Value: return apply("mod", self, other)
    def __pow__(self, exponent: Any) -> Value: return pow(self, exponent)
    def __neg__(self) -> Value: return apply("neg", self)
    def __abs__(self) -> Value: return apply("abs", self)
    def __lt__(self, other: Any) -> Value: return apply("less", self, other)
    def __le__(self, other: Any) -> Value: return apply("less_equal", self, other)
    def __gt__(self, other: Any) -> Value: return apply("less", other, self)
    def __ge__(self, other: Any) -> Value: return apply("less_equal", other, self)
    def __eq__(self, other: Any) -> Value: return apply("equal", self, other)  # type: ignore[override]
    def __ne__(self, other: Any) -> Value: return apply("logical_not", apply("equal", self, other))  # type: ignore[override]
    def __and__(self, other: Any) -> Value: return apply("logical_and" if self.dtype == "bool" else "bitwise_and", self, other)
    def __or__(self, other: Any) -> Value: return apply("logical_or" if self.dtype == "bool" else "bitwise_or", self, other)
    def __xor__(self, other: Any) -> Value: return apply("logical_xor" if self.dtype == "bool" else "bitwise_xor", self, other)
    def __invert__(self) -> Value: return apply("logical_not", self)
    def __getitem__(self, key: Any) -> Value: return _indexed(self, key)
    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise TypeError("a value of an expression has no truth value; choose by assay.ops.where(condition, a, b)")

    def __iter__(self) -> Iterator[Value]:
        if not self.shape:
            raise TypeError("cannot iterate over a scalar of an expression; it has no axis")
        return iter([self[i] for i in range(self.shape[0])])

    @property
    def ndim(self) -> int: return len(self.shape)
    @property
    def size(self) -> int: return math.prod(self.shape)
    @property
    def T(self) -> Value: return transpose(self)

    def reshape(self, *shape: Any) -> Value: return reshape(self, shape[0] if len(shape) == 1 else shape)
    def transpose(self, *axes: Any) -> Value: return transpose(self, axes[0] if len(axes) == 1 else axes or None)
    def astype(self, dtype: Any) -> Value: return apply("cast", self, to=dtype)
    def sum(self, axis: Axes = None, keepdims: bool = False) -> Value: return sum(self, axis, keepdims)
    def mean(self, axis: Axes = None, keepdims: bool = False) -> Value: return mean(self, axis, keepdims)
    def max(self, axis: Axes = None, keepdims: bool = False) -> Value: return max(self, axis=axis, keepdims=keepdims)
    def min(self, axis: Axes = None, keepdims: bool = False) -> Value: return min(self, axis=axis, keepdims=keepdims)
    def prod(self, axis: Axes = None, keepdims: bool = False) -> Value: return prod(self, axis, keepdims)


def apply(op: str, *operands: Any, **attributes: Any) -> Value:
    """The operation of that name. Numbers and arrays among the operands take their place in the expression."""
    op = row_of(op).name
    known = [one for one in operands if isinstance(one, Value)]
    if not known:
        raise UsageError(f"assay.ops.{op}: no operand is a value of an expression; call it inside of the function that you give to a check")
    expression = known[0].expression
    if any(one.expression is not expression for one in known):
        raise UsageError(f"assay.ops.{op}: the operands belong to two expressions; use values of one function only")
    candidates = [one.dtype for i, one in enumerate(operands) if isinstance(one, Value) and not (op in ("where", "take", "masked_softmax") and i == 0)]
    dtype = candidates[0] if candidates else known[0].dtype
    values = [one if isinstance(one, Value) else _literal(expression, one, dtype) for one in operands]
    result = expression.apply(op, values, attributes, Value)
    assert isinstance(result, Value)
    return result


def _literal(expression: expressions.Expression, value: Any, dtype: str) -> Value:
    import numpy as np

    if isinstance(value, (Fraction, Decimal)):
        number = np.asarray(float(value), dtype)
        if Fraction(number.item()) != value:
            raise UsageError("wrong argument", where="a constant", why=f"expected a number of {dtype}, got {value}", code="python.argument",
                             advice="give the nearest such number, which is the one that a kernel multiplies by")
        value = number.item()
    if isinstance(value, (bool, int, float)):
        array = np.asarray(value, dtype)
        add = expression.constant if np.isfinite(array) else expression.capture  # JSON has no infinity; an operand may be one
        result = add(bits_of(array), Value)
    else:
        result = expression.capture(bits_of(value, "an array of the expression").widened(), Value)
    assert isinstance(result, Value)
    return result


def _axes(x: Value, axis: Axes) -> list[int]:
    return list(range(x.ndim)) if axis is None else [axis] if isinstance(axis, int) else list(axis)


def _reduce(op: str, x: Value, axis: Axes, keepdims: bool) -> Value:
    return apply(op, x, axes=_axes(x, axis), keep_dims=keepdims)


def sum(x: Value, axis: Axes = None, keepdims: bool = False) -> Value: return _reduce("reduce_sum", x, axis, keepdims)
def mean(x: Value, axis: Axes = None, keepdims: bool = False) -> Value: return _reduce("reduce_mean", x, axis, keepdims)
def prod(x: Value, axis: Axes = None, keepdims: bool = False) -> Value: return _reduce("reduce_prod", x, axis, keepdims)
def logsumexp(x: Value, axis: Axes = None, keepdims: bool = False) -> Value: return _reduce("log_sum_exp", x, axis, keepdims)


def max(x: Value, *others: Any, axis: Axes = None, keepdims: bool = False) -> Value:
    """Over axes, as numpy.max; of several operands, element by element."""
    return apply("max", x, *others) if others else _reduce("reduce_max", x, axis, keepdims)


def min(x: Value, *others: Any, axis: Axes = None, keepdims: bool = False) -> Value:
    """Over axes, as numpy.min; of several operands, element by element."""
    return apply("min", x, *others) if others else _reduce("reduce_min", x, axis, keepdims)


def argmax(x: Value, axis: int, keepdims: bool = False) -> Value: return apply("arg_max", x, axis=axis, keep_dims=keepdims)
def argmin(x: Value, axis: int, keepdims: bool = False) -> Value: return apply("arg_min", x, axis=axis, keep_dims=keepdims)
def maximum(x: Any, y: Any) -> Value: return apply("max", x, y)
def minimum(x: Any, y: Any) -> Value: return apply("min", x, y)
def square(x: Value) -> Value: return apply("pow", x, exponent=2)
def astype(x: Value, dtype: Any) -> Value: return apply("cast", x, to=dtype)
def softmax(x: Value, axis: int = -1) -> Value: return apply("softmax", x, axis=axis)
def log_softmax(x: Value, axis: int = -1) -> Value: return apply("log_softmax", x, axis=axis)


def clip(x: Value, lo: float = -math.inf, hi: float = math.inf) -> Value:
    """Between two numbers, perhaps infinite ones."""
    return apply("clip", x, lo=lo, hi=hi)


def pow(x: Value, exponent: Any) -> Value:
    """A number or fraction is the exact exponent of `pow`; anything else the second operand of `power`."""
    if isinstance(exponent, (int, float, Fraction, Decimal)):
        return apply("pow", x, exponent=exponent)
    return apply("power", x, exponent)


def reshape(x: Value, shape: int | Sequence[int]) -> Value:
    """One extent may be -1."""
    extents = [shape] if isinstance(shape, int) else list(shape)
    if extents.count(-1) == 1:
        others = -math.prod(extents)
        extents[extents.index(-1)] = x.size // others if others else 0
    return apply("reshape", x, shape=extents)


def transpose(x: Value, axes: Sequence[int] | None = None) -> Value:
    """Without axes in the other order."""
    return apply("permute", x, axes=[axis % x.ndim for axis in axes] if axes is not None else list(reversed(range(x.ndim))))


def swapaxes(x: Value, first: int, second: int) -> Value:
    """Two axes exchanged."""
    axes = list(range(x.ndim))
    axes[first], axes[second] = axes[second], axes[first]
    return transpose(x, axes)


def broadcast_to(x: Value, shape: Sequence[int]) -> Value: return apply("expand", x, shape=list(shape))
def concatenate(values: Sequence[Any], axis: int = 0) -> Value: return apply("concat", *values, axis=axis)
def squeeze(x: Value, axis: int) -> Value: return reshape(x, x.shape[:axis % x.ndim] + x.shape[axis % x.ndim + 1:])


def expand_dims(x: Value, axis: int) -> Value:
    """A new axis of extent 1."""
    at = axis % (x.ndim + 1)
    return reshape(x, (*x.shape[:at], 1, *x.shape[at:]))


def stack(values: Sequence[Value], axis: int = 0) -> Value:
    """Along a new axis."""
    return concatenate([expand_dims(one, axis) for one in values], axis)


def _indexed(x: Value, key: Any) -> Value:
    keys = list(key) if isinstance(key, tuple) else [key]
    if any(isinstance(one, Value) for one in keys):
        raise TypeError("cannot index by a computed value; use assay.ops.take")
    given = _count(one is not None and one is not Ellipsis for one in keys)
    if _count(one is Ellipsis for one in keys) == 0:
        keys.append(Ellipsis)
    at = next(i for i, one in enumerate(keys) if one is Ellipsis)
    keys[at:at + 1] = [slice(None)] * (x.ndim - given)
    starts, steps, extents, shape, picked = list[int](), list[int](), list[int](), list[int](), list[tuple[int, Any]]()
    for one in keys:
        if one is None:
            shape.append(1)
            continue
        if len(starts) >= x.ndim:
            raise IndexError(f"{given} indices for {x.ndim} axes")
        extent = x.shape[len(starts)]
        if isinstance(one, slice):
            found = range(extent)[one]
            shape.append(len(found))
        elif isinstance(one, int) and not isinstance(one, bool):
            found = range(range(extent)[one], range(extent)[one] + 1)
        else:  # a list of places: all of the axis here, gathered below
            found = range(extent)
            picked.append((len(shape), one))
            shape.append(extent)
        starts.append(found.start if len(found) else 0)
        steps.append(found.step)
        extents.append(len(found))
    result = x
    if extents != list(x.shape) or any(step != 1 for step in steps):
        result = apply("slice", x, starts=starts, steps=steps, extents=extents)
    if shape != list(result.shape):
        result = reshape(result, shape)
    if len(picked) > 1:
        raise IndexError("cannot index by lists along more than one axis; index one axis after the other")
    return _gathered(result, picked[0][1], picked[0][0]) if picked else result


def _gathered(x: Value, places: Any, axis: int) -> Value:
    """The elements at these places of one axis; places are known numbers."""
    import numpy as np

    array = np.asarray(places)
    if array.dtype.kind not in "iu":
        raise TypeError(f"cannot index by an array of {array.dtype}; use integers, slices, None or ...")
    extent = x.shape[axis]
    return apply("gather", x, axis=axis, indices=[range(extent)[int(one)] for one in array.ravel()], index_shape=list(array.shape))


def _count(flags: Iterable[bool]) -> int:
    return len([one for one in flags if one])


def __getattr__(name: str) -> Callable[..., Value]:
    if name not in ROWS:
        raise AttributeError(f"assay.ops has no '{name}'")

    def operation(*operands: Any, **attributes: Any) -> Value:
        return apply(name, *operands, **attributes)

    operation.__name__ = operation.__qualname__ = name
    operation.__doc__ = f"The operation {name} of the vocabulary (docs/ops/{name}.md); attributes: {', '.join(ROWS[name].attributes) or 'none'}."
    return operation


def __dir__() -> list[str]:
    return sorted({*globals(), *ROWS})


def traced(function: Callable[..., Any], operands: Sequence[tuple[str, Sequence[int]]]) -> tuple[expressions.Expression, list[Value]]:
    """The expression that the function writes on operands of these types and shapes, and its results."""
    expression = expressions.Expression()
    arguments = [expression.operand(dtype, tuple(shape), Value) for dtype, shape in operands]
    returned = function(*arguments)
    results = list(returned) if isinstance(returned, (tuple, list)) else [returned]
    if not results or not all(isinstance(one, Value) and one.expression is expression for one in results):
        raise UsageError(f"{getattr(function, '__name__', 'the reference')} has to return values of assay.ops made from its arguments, "
                        f"not {', '.join(type(one).__name__ for one in results) or 'nothing'}")
    return expression, results


__all__ = sorted({"Value", "apply", "traced", "UnknownOperation", *(name for name in ROWS if name not in ("slice",)), "sum", "mean", "prod", "logsumexp",
                  "argmax", "argmin", "maximum", "minimum", "square", "astype", "reshape", "transpose", "swapaxes", "broadcast_to", "concatenate",
                  "squeeze", "expand_dims", "stack"})
