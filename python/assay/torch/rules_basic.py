"""Meanings of elementwise ATen operations.

A rule gets the nodes of a region, and the operation's arguments with a Ref for each tensor; it returns a Ref for each result, None for one
that has no meaning here. A count or a mean is written as a division: the constant 1/n would be another, rounded, function.
"""
from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Callable

import torch

from .nodes import Nodes, Ref, Unknown, Value, complexly
from .numbers import meant, multiple, rounded_alike

Rule = Callable[..., Any]
MOST_COUNTED = 2**12  # elements of a range of whole numbers that are written down


def combined(n: Nodes, op: str, a: Value, b: Value) -> Ref:
    """A sum or difference; of complex numbers too."""
    complexes = [isinstance(v, Ref) and v.is_complex for v in (a, b)]
    if any(complexes):
        a, b = (v if is_complex else as_complex(n, v) for v, is_complex in zip((a, b), complexes))
        return complexly(n(op, a, b))
    if n.dtype == torch.bool:
        return n({"add": "logical_or", "sub": "logical_xor"}[op], n.cast(a, n.dtype), n.cast(b, n.dtype))
    return n(op, n.cast(a, n.dtype), n.cast(b, n.dtype))


def as_complex(n: Nodes, value: Value) -> Ref:
    """A real number or tensor as pairs."""
    if isinstance(value, complex):
        return complexly(n.reshape(n.constant([value.real, value.imag], n.dtype), [2]))
    real = n.cast(value, n.dtype)
    return n.pair(real, n.expand(n.constant(0.0, n.dtype), real.shape))


def arithmetic(op: str) -> Rule:
    """The operands in the type of the result; a factor alpha on the second one."""
    def rule(n: Nodes, a: Value, b: Value, alpha: float = 1, **_: Any) -> Ref:
        if isinstance(alpha, complex):
            raise Unknown("a complex factor")
        if alpha != 1:
            b = alpha * b if not isinstance(b, Ref) else multiplied(n, b, n.as_stored(alpha))
            b = n.stored_step(b) if isinstance(b, Ref) and n.is_half else b  # where elements are not computed in whole vectors
        return combined(n, op, n.summand(a), n.summand(b))
    return rule


def multiplied(n: Nodes, a: Value, b: Value) -> Ref:
    """A product; of complex numbers by their parts."""
    complexes = [isinstance(v, complex) or isinstance(v, Ref) and v.is_complex for v in (a, b)]
    if not any(complexes):
        if n.dtype == torch.bool:
            return n("logical_and", n.cast(a, n.dtype), n.cast(b, n.dtype))
        return n("mul", n.number(a, n.dtype), n.number(b, n.dtype))
    if not all(complexes):
        z, r = (a, b) if complexes[0] else (b, a)
        if isinstance(z, complex) or isinstance(r, Ref) and r.rank:  # the zero that a tensor gets as its other part is multiplied, too
            return complex_product(n, z if isinstance(z, Ref) else as_complex(n, z), as_complex(n, r))
        factor = n.number(r, n.dtype)
        return complexly(n("mul", z, n.reshape(factor, [*factor.shape, 1]) if factor.rank else factor))
    return complex_product(n, *(v if isinstance(v, Ref) else as_complex(n, v) for v in (a, b)))


def complex_product(n: Nodes, a: Ref, b: Ref) -> Ref:
    """(a + ib)(c + id) = ac - bd + i(ad + bc)."""
    (p, q), (r, s) = ((n.part(v, 0), n.part(v, 1)) for v in (a, b))
    return n.pair(n("sub", n("mul", p, r), n("mul", q, s)), n("add", n("mul", p, s), n("mul", q, r)))


def divided(n: Nodes, a: Value, b: Value, rounding_mode: str | None = None) -> Ref:
    """A quotient, perhaps rounded to an integer."""
    if isinstance(a, Ref) and a.is_complex and not (isinstance(b, complex) or isinstance(b, Ref) and b.is_complex):
        quotient = n("div", a, n.reshape(b, [*b.shape, 1]) if isinstance(b, Ref) and b.rank else n.number(b, n.dtype))
        return complexly(n.loose(quotient))  # the kernel multiplies with a reciprocal, or divides by a number whose other part is 0
    if any(isinstance(v, Ref) and v.is_complex for v in (a, b)):
        raise Unknown("a quotient by a complex number")
    quotient = n("div", n.number(a, n.dtype), n.number(b, n.dtype))
    if rounding_mode is None or not n.dtype.is_floating_point and rounding_mode == "trunc":
        return quotient
    if not n.dtype.is_floating_point:
        down, towards_zero = n("mod", *(n.cast(v, n.dtype) for v in (a, b))), n("mod", *(n.cast(v, n.dtype) for v in (a, b)), truncated=True)
        return n("where", n("equal", down, towards_zero), quotient, n("sub", quotient, 1))
    return n("floor", quotient) if rounding_mode == "floor" else truncated(n, quotient)


def truncated(n: Nodes, x: Ref) -> Ref:
    """Rounded towards zero."""
    return n("where", n("less", x, 0.0), n("ceil", x), n("floor", x))


def compared(op: str, swap: bool = False, negate: bool = False) -> Rule:
    """A comparison, in the widest of both types."""
    def rule(n: Nodes, a: Value, b: Value) -> Ref:
        types = [v.dtype for v in (a, b) if isinstance(v, Ref)]
        wide = max(types, key=lambda t: (t.is_floating_point, t.itemsize))
        if any(isinstance(v, float) and v != int(v) for v in (a, b) if not isinstance(v, Ref) and math.isfinite(v)) and not wide.is_floating_point:
            wide = torch.float32
        a, b = (n.cast(v, wide) for v in ((b, a) if swap else (a, b)))
        infinite = infinity_of(b)
        if op == "equal" and wide.is_floating_point and infinite and a.rank >= b.rank:  # no graph of real numbers has an infinity
            side = n("less", a, 0.0) if infinite < 0 else n("less", n.constant(0.0, wide), a)
            truth = n("logical_and", n("is_inf", a), side)
            return n("logical_not", truth) if negate else truth
        truth = n("logical_xor", a, b) if op == "equal" and wide == torch.bool else n(op, a, b)
        if op == "equal" and wide == torch.bool:
            return truth if negate else n("logical_not", truth)
        return n("logical_not", truth) if negate else truth
    return rule


def infinity_of(x: Ref) -> float:
    """The infinity that a tensor of one element is; 0 for all others."""
    if x.tensor is None or x.tensor.numel() != 1 or not x.dtype.is_floating_point or not bool(torch.isinf(x.tensor)):
        return 0.0
    return float(x.tensor.item())


def special(op: str) -> Rule:
    """Whether an element is NaN, or infinite: no integer is."""
    def rule(n: Nodes, x: Ref) -> Ref:
        if x.is_complex:
            raise Unknown(f"{op} of complex numbers")
        return n(op, x if x.dtype.is_floating_point else n.cast(x, torch.float32))
    return rule


def polar(n: Nodes, size: Ref, angle: Ref) -> Ref:
    """size (cos angle + i sin angle)."""
    return n.pair(n("mul", size, n("cos", angle)), n("mul", size, n("sin", angle)))


def size(n: Nodes, x: Ref) -> Ref:
    """The absolute value; of a complex number the root of the sum of squares."""
    if not x.is_complex:
        return n("abs", n.cast(x, n.dtype))
    return n("sqrt", n("add", *(n("mul", n.part(x, k), n.part(x, k)) for k in (0, 1))))


def direction(n: Nodes, x: Ref) -> Ref:
    """The sign; of a complex number itself by its absolute value, and 0 of 0."""
    if not x.is_complex:
        return n("sign", n.cast(x, n.dtype))
    length = size(n, x)
    column = n.expand(n.reshape(length, [*length.shape, 1]), x.shape)
    turned = n("div", x, column)
    turned = n.loose(turned) if n.dtype == torch.float64 else turned  # the kernel multiplies with a reciprocal
    return complexly(n("where", n("equal", column, 0.0), n.constant(0.0, n.dtype), turned, dtype=n.dtype))


def unary(op: str, **attributes: Any) -> Rule:
    """A function of one tensor."""
    def rule(n: Nodes, x: Ref, *_: Any, **__: Any) -> Ref:
        if x.is_complex:
            if op == "neg":
                return complexly(n("neg", x))
            raise Unknown(f"{op} of complex numbers")
        return n(op, n.cast(x, n.dtype), **attributes)
    return rule


def filled(n: Nodes, value: Value) -> Ref:
    """A tensor of one number."""
    if n.first.is_complex():
        return complexly(n.expand(as_complex(n, value), [*n.shape, 2]))
    return n.expand(n.number(value, n.dtype), n.shape)


def root(n: Nodes, x: Ref) -> Ref:
    """The square root; in float64 MKL computes it, which need not give the nearest number."""
    y = n("sqrt", n.cast(x, n.dtype))
    return n.loose(y) if n.dtype == torch.float64 else y


def inverse_root(n: Nodes, x: Ref) -> Ref:
    """1 / sqrt(x); the kernel stores the root."""
    return n("reciprocal", n.stored_step(n("sqrt", n.cast(x, n.dtype))))


def power(n: Nodes, x: Value, exponent: Value) -> Ref:
    """x^r, by the op for constant exponents where it is one."""
    if isinstance(x, Ref) and x.is_complex:
        raise Unknown("a power of complex numbers")
    if isinstance(exponent, Ref):
        if x == math.e and not n.is_half:
            return n("exp", n.cast(exponent, n.dtype))
        found = multiple(x, n.dtype) if isinstance(x, float) and x > 0 else None
        if found is not None and isinstance(x, float) and (found.name != "base_of_log" or x == math.e):  # by its logarithm, as its derivative has it
            stored, slope = n.as_stored(x), n.number(math.log(x), n.dtype)
            if isinstance(stored, Ref):  # the kernel takes the logarithm of the stored number, which means the same
                slope = n("mul", slope, n("div", n("log", stored), n("log", n.number(x, n.dtype))))
            return n("exp", n("mul", n.cast(exponent, n.dtype), slope))
        base = n.as_stored(x)
        return n("power", base if isinstance(base, Ref) else n.number(base, n.dtype), n.cast(exponent, n.dtype))
    if not isinstance(x, Ref):
        raise Unknown("a power without a tensor")
    x = n.cast(x, n.dtype)
    if exponent == 1:
        return n.like(x)
    if exponent == 0:
        return n.expand(n.constant(1.0, n.dtype), n.shape)
    if exponent == 0.5:
        return root(n, x)
    if exponent == -0.5:
        return inverse_root(n, x)
    if exponent == 3 and n.is_half:
        n.storing = "steps"
        return n("mul", n("mul", x, x), x)
    return raised(n, x, exponent)


def raised(n: Nodes, x: Ref, exponent: float) -> Ref:
    """x^r for a number r, which the kernel may round."""
    if not math.isfinite(exponent):
        raise Unknown("an exponent that is no finite number")
    if isinstance(stored := n.as_stored(float(exponent)), Ref):
        return n("power", x, stored)
    found = meant(exponent, n.dtype)
    ratio = Fraction(float(exponent)) if found is None else found.ratio
    if found is None and n.dtype == torch.float64 and Fraction(float(exponent) - 1) != ratio - 1:
        raise Unknown("a drawn exponent of which the backward kernel rounds one less")
    if found is not None and (found.name or found.is_log or not rounded_alike(float(ratio), exponent, n.dtype)):
        return n("power", x, n.number(exponent, n.dtype))
    return n("pow", x, exponent=str(ratio))


def clamp(n: Nodes, x: Ref, lo: Value | None = None, hi: Value | None = None) -> Ref:
    """min(max(x, lo), hi), with ends that are numbers or tensors."""
    x = n.cast(x, n.dtype)
    if isinstance(lo, Ref) or isinstance(hi, Ref) or not n.dtype.is_floating_point:
        x = x if lo is None else n("max", x, n.cast(lo, n.dtype))
        return x if hi is None else n("min", x, n.cast(hi, n.dtype))
    if lo is not None and hi is not None and lo > hi and x.tensor is not None and not bool(torch.isnan(x.tensor).any()):
        return filled(n, hi)  # whatever x is
    found = n("clip", x, lo="-inf" if lo is None else n.rounded(lo), hi="inf" if hi is None else n.rounded(hi))
    return n.with_ends(found, {op: float(one) for op, one in (("max", lo), ("min", hi)) if isinstance(one, (int, float)) and math.isfinite(one)})


def where(n: Nodes, condition: Ref, a: Value, b: Value) -> Ref:
    """The first where the condition holds, else the second; pairs where one is complex."""
    if n.first.is_complex():
        a, b = (v if isinstance(v, Ref) and v.is_complex else as_complex(n, v) for v in (a, b))
        return complexly(n("where", n.reshape(condition, [*condition.shape, 1]), a, b, dtype=n.dtype))
    return n("where", condition, n.cast(a, n.dtype), n.cast(b, n.dtype), dtype=n.dtype)


def lerp(n: Nodes, a: Ref, b: Ref, weight: Value) -> Ref:
    """a + w (b - a), from the nearer end."""
    span = n("sub", b, a)
    near = n("add", a, n("mul", n.number(weight, n.dtype), span))
    far = n("sub", b, n("mul", span, n("sub", n.constant(1.0, n.dtype), n.number(weight, n.dtype))))
    if not isinstance(weight, Ref):
        return near if abs(weight) < 0.5 else far
    return n("where", n("less", n("abs", weight), 0.5), near, far, dtype=n.dtype)


def product_added(op: str) -> Rule:
    """x + value (a b), or x + value (a / b)."""
    def rule(n: Nodes, x: Ref, a: Ref, b: Ref, value: float = 1) -> Ref:
        if op == "mul":
            inner = n("mul", a, b) if value == 1 else n("mul", n("mul", a, n.number(value, n.dtype)), b)
        else:
            inner = n("div", a if value == 1 else n("mul", a, n.number(value, n.dtype)), b)
        return n("add", x, inner)
    return rule


def xlogy(n: Nodes, x: Value, y: Value) -> Ref:
    """x log y, which is 0 where x is."""
    x, y = n.cast(n.as_stored(x), n.dtype), n.cast(n.as_stored(y), n.dtype)
    return n("where", n("equal", x, 0.0), n.constant(0.0, n.dtype), n("mul", x, n.stored_step(n("log", y))), dtype=n.dtype)


def remainder(n: Nodes, a: Value, b: Value, **attributes: Any) -> Ref:
    """Of numbers the kernel takes what the type of the result has for them."""
    a, b = (float(torch.tensor(one, dtype=n.first.dtype)) if isinstance(one, float) and n.is_half else one for one in (a, b))
    return n("mod", n.cast(a, n.dtype), n.cast(b, n.dtype), **attributes)


def logaddexp(n: Nodes, a: Ref, b: Ref) -> Ref:
    """The greater one, and log(1 + exp(-|a - b|)); of the same infinity twice that one."""
    found = n("add", n("max", a, b), n("softplus", n("neg", n("abs", n("sub", a, b)))))
    if a.tensor is None or b.tensor is None or not bool((torch.isinf(a.tensor) & (a.tensor == b.tensor)).any()):
        return found
    return n("where", n("logical_and", n("is_inf", a), n("equal", a, b)), a, found, dtype=n.dtype)


def logarithm(base: float) -> Rule:
    """A logarithm to another base."""
    return lambda n, x: n("div", n("log", n.cast(x, n.dtype)), n("log", n.constant(base, n.dtype)))


def log1p(n: Nodes, x: Ref) -> Ref:
    """log(1 + x); the kernel does not round the sum, so that all is admitted between its roundings."""
    x = n.cast(x, n.dtype)
    return n("log", n.loose(n("add", x, 1.0)))


def conversion(n: Nodes, x: Ref, *_: Any, **__: Any) -> Ref:
    """The value in the type of the result."""
    if x.is_complex:
        return n.like(x) if n.first.is_complex() else n.cast(n.part(x, 0), n.dtype)
    return as_complex(n, x) if n.first.is_complex() else n.cast(x, n.dtype)


def identity(n: Nodes, *_: Any, **__: Any) -> Ref:
    """Ones where the row is the column, else zeros."""
    rows, columns = n.shape
    is_one = n("equal", n.constant([[i] for i in range(rows)], torch.int64), n.constant(list(range(columns)), torch.int64))
    return where(n, is_one, n.constant(1.0, n.dtype), n.constant(0.0, n.dtype))


def is_counting(tensor: torch.Tensor | None) -> bool:
    """Whether these are few whole numbers, which a program counts as floats."""
    return tensor is not None and tensor.is_floating_point() and tensor.numel() <= MOST_COUNTED and bool((tensor == tensor.round()).all() & (tensor.abs() < 2**53).all())


def counting(n: Nodes, *_: Any, **__: Any) -> Ref:
    """The numbers themselves: ranks, to which a program compares, are no operands that may be others."""
    return n.cast(n.constant(n.first.long().tolist(), torch.int64), n.dtype)


def one_minus(n: Nodes, x: Ref) -> Ref:
    return n("sub", n.constant(1.0, n.dtype), x)


def frac(n: Nodes, x: Ref) -> Ref:
    return n("sub", x, truncated(n, x))


def bitwise(op: str) -> Rule:
    """Bit by bit; of truth values the logical operation."""
    def rule(n: Nodes, a: Value, b: Value) -> Ref:
        return n(("logical_" if n.dtype == torch.bool else "bitwise_") + op, n.cast(a, n.dtype), n.cast(b, n.dtype))
    return rule


def inverted(n: Nodes, x: Ref) -> Ref:
    """Each bit the other one: of a whole number with a sign, -1 - x."""
    if x.dtype == torch.bool:
        return n("logical_not", x)
    if x.dtype not in (torch.int64, torch.int32):
        raise Unknown(f"the bits of {x.dtype}")
    return n("sub", n.constant(-1, x.dtype), x)


def logical(op: str) -> Rule:
    return lambda n, a, b: n(op, n.cast(a, torch.bool), n.cast(b, torch.bool))


FUNCTIONS = ("neg", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "abs", "sign",
             "sqrt", "reciprocal", "relu", "sigmoid", "erf", "floor", "ceil", "round", "mish")
FULL = {"zeros": 0, "zeros_like": 0, "new_zeros": 0, "zero": 0, "ones": 1, "ones_like": 1, "new_ones": 1}
BASIC: dict[str, Rule] = {name: unary(name) for name in FUNCTIONS} | {name: (lambda n, *_, value=value, **__: filled(n, value))
                                                                       for name, value in FULL.items()} | {
    "sqrt": root, "sgn": direction, "abs": size, "trunc": truncated, "frac": frac, "rsqrt": inverse_root,
    "square": lambda n, x: n("mul", x, x), "log2": logarithm(2.0), "log10": logarithm(10.0),
    "erfc": lambda n, x: one_minus(n, n("erf", x)), "log1p": log1p,
    "expm1": lambda n, x: n("sub", n("exp", x), 1.0), "exp2": lambda n, x: n("exp", n("mul", x, n.log_of_2(n.dtype))),
    "full": lambda n, _, v, **__: filled(n, v), "full_like": lambda n, _, v, **__: filled(n, v), "new_full": lambda n, _, __, v, **___: filled(n, v),
    "scalar_tensor": lambda n, v, **_: filled(n, v), "fill": lambda n, _, v: filled(n, v),
    "add": arithmetic("add"), "sub": arithmetic("sub"), "rsub": lambda n, a, b, alpha=1: arithmetic("sub")(n, b, a, alpha), "mul": multiplied,
    "div": divided, "floor_divide": lambda n, a, b: divided(n, a, b, "floor"), "true_divide": divided, "maximum": arithmetic("max"), "fmax": arithmetic("max"), "fmin": arithmetic("min"),
    "minimum": arithmetic("min"), "fmod": lambda n, a, b: remainder(n, a, b, truncated=True), "remainder": remainder,
    "pow": power, "clamp": clamp,
    "clamp_min": lambda n, x, lo: clamp(n, x, lo), "clamp_max": lambda n, x, hi: clamp(n, x, None, hi), "hardtanh": lambda n, x, lo=-1, hi=1: clamp(n, x, lo, hi),
    "eq": compared("equal"), "ne": compared("equal", negate=True), "lt": compared("less"), "le": compared("less_equal"),
    "gt": compared("less", swap=True), "ge": compared("less_equal", swap=True), "polar": polar, "isnan": special("is_nan"), "isinf": special("is_inf"),
    "logical_and": logical("logical_and"), "logical_or": logical("logical_or"), "logical_xor": logical("logical_xor"),
    "logical_not": lambda n, x: n("logical_not", n.cast(x, torch.bool)), "bitwise_not": inverted, "bitwise_and": bitwise("and"), "bitwise_or": bitwise("or"),
    "bitwise_xor": bitwise("xor"), "where": where, "masked_fill": lambda n, x, mask, value: where(n, mask, value, x), "lerp": lerp,
    "addcmul": product_added("mul"), "addcdiv": product_added("div"), "xlogy": xlogy, "logaddexp": logaddexp, "_to_copy": conversion,
    "to": conversion, "_conj": lambda n, x: n.pair(n.part(x, 0), n("neg", n.part(x, 1))) if x.is_complex else n.like(x),
    "complex": lambda n, a, b: n.pair(a, b), "view_as_real": lambda n, x: Ref(x.shape, x.dtype, x.tensor, x.node) if x.node else n.reshape(x, x.shape),
    "view_as_complex": lambda n, x: complexly(x), "real": lambda n, x: n.part(x, 0), "imag": lambda n, x: n.part(x, 1),
    "softsign": unary("softsign"), "eye": identity, "arange": counting,
}
