"""Equations of orthogonal factors: those of QR, of eigenvalues and of singular values, and those of their cotangents.

How far they may be off has no theorem with a constant. What is admitted is what LAPACK's own tests admit of it: 30 max(m, n) units of rounding, of the
norm of the matrix, or of the column in QR, and of 1 for the distance from orthogonal.
"""
from __future__ import annotations

from typing import Any, Callable

import torch

from .nodes import Nodes, Ref, Unknown
from .rules_solve import masked, rows_of, symmetric, times, triangle, turned, widened, zero
from .values import Equation

THRESHOLD = 30
MOST = 512  # rows or columns


def held(*refs: Ref | None) -> None:
    """All are there, as matrices or lines that are not too long."""
    if any(one is None or one.tensor is None or max(one.shape[-2:]) > MOST for one in refs):
        raise Unknown("factors that were not computed, or very long ones")


def room(n: Nodes, size: torch.Tensor, extent: int, shape: list[int]) -> Ref:
    """Zeros that may be as far off as so many roundings of a size are."""
    one = n.expand(n.constant(size * 1.0001, n.dtype), shape)
    return n("sub", widened(n, one, THRESHOLD * extent), one)


def norm_of(x: Ref) -> torch.Tensor:
    """Of a matrix, as [..., 1, 1]."""
    assert x.tensor is not None
    return x.tensor.double().square().sum((-2, -1), keepdim=True).sqrt()


def orthogonal(n: Nodes, what: str, q: Ref, extent: int) -> Equation:
    """The columns are of length 1, and at right angles."""
    ones = n.expand(n.constant(torch.eye(q.shape[-1]), n.dtype), [*q.shape[:-2], q.shape[-1], q.shape[-1]])
    return zero(what, n("add", n("sub", ones, times(n, turned(n, q), q)), room(n, torch.ones(()), extent, ones.shape)))


def same(n: Nodes, what: str, left: Ref, right: Ref, size: torch.Tensor, extent: int) -> Equation:
    return zero(what, n("add", n("sub", left, right), room(n, size, extent, left.shape)))


def in_order(n: Nodes, what: str, line: Ref, descending: bool) -> Equation:
    assert line.tensor is not None
    return Equation(what, n("sort", line, axis=line.rank - 1, count=line.shape[-1], descending=descending), line.tensor)


def columns(n: Nodes, line: Ref) -> Ref:
    """As factors of columns: [..., 1, k]."""
    return n.reshape(line, [*line.shape[:-1], 1, line.shape[-1]])


def rows(n: Nodes, line: Ref) -> Ref:
    return n.reshape(line, [*line.shape, 1])


def product_of(n: Nodes, what: str, given: Ref, *terms: Ref) -> Equation:
    """A cotangent is a sum of products, which may be multiplied from either side."""
    found = terms[0]
    for one in terms[1:]:
        found = n("add", found, one)
    return zero(what, n("sub", n.loose(given), found))


# QR.

def qr(n: Nodes, outs: list[Ref], a: Ref, mode: str = "reduced") -> list[Equation]:
    held(*outs, a)
    q, r = outs
    size = a.tensor.double().square().sum(-2, keepdim=True).sqrt()  # type: ignore[union-attr]
    extent = max(a.shape[-2:])
    upper = torch.ones(r.shape[-2:], dtype=torch.bool).triu()
    assert r.tensor is not None
    return [same(n, "A - Q R", a, times(n, q, r), size, extent), orthogonal(n, "1 - Q^T Q", q, extent), Equation("triangle", masked(n, r, upper), r.tensor)]


def qr_product(n: Nodes, bars: list[Ref | None], outs: list[Ref], given: list[Ref], a: Ref, mode: str = "reduced") -> list[Equation]:
    """(cotangent of A) R^T is that of Q, and Q times the symmetric matrix with the upper triangle of (cotangent of R) R^T - Q^T (cotangent of Q)."""
    (q, r), (g_q, g_r) = outs, bars
    size = rows_of(r)
    if q.shape[-1] != size:
        raise Unknown("factors of a matrix that is wider than long, or complete ones")
    parts = [n("matmul", n.loose(g_r), turned(n, r))] if g_r is not None else []
    parts += [n("neg", n("matmul", turned(n, q), n.loose(g_q)))] if g_q is not None else []
    inner = parts[0] if len(parts) == 1 else n("add", *parts)
    both = n("add", masked(n, inner, triangle(size, True)), turned(n, masked(n, inner, triangle(size, True, True))))
    wanted = n("matmul", n.loose(q), both)
    wanted = wanted if g_q is None else n("add", wanted, g_q)
    left = n("matmul", given[0], turned(n, widened(n, r, 6)))
    return [zero("(cotangent of A) R^T - its value", n("sub", left, wanted))]


# Eigenvalues of symmetric matrices, of which one triangle is read.

def eigh(n: Nodes, outs: list[Ref], a: Ref, uplo: str = "L", compute_v: bool = True) -> list[Equation]:
    held(*outs, a)
    (w, v), size = outs, rows_of(a)
    low = triangle(size, uplo == "U")
    whole = n("add", masked(n, a, low), turned(n, masked(n, a, triangle(size, uplo == "U", True))))
    assert a.tensor is not None
    norm = norm_of(Ref(a.shape, a.dtype, a.tensor * low + (a.tensor * low).mT))
    return [same(n, "A V - V w", times(n, whole, v), n("mul", v, n.expand(columns(n, w), v.shape)), norm, size),
            orthogonal(n, "1 - V^T V", v, size), in_order(n, "order", w, False)]


def eigh_product(n: Nodes, bars: list[Ref | None], outs: list[Ref], given: list[Ref], a: Ref, *_: Any) -> list[Equation]:
    """V (the cotangents of w, and beside the diagonal the skew half of V^T (cotangent of V) over differences of w) V^T, for symmetric A."""
    symmetric(a, False)
    (w, v), (g_w, g_v) = outs, bars
    size = rows_of(v)
    core = None
    if g_v is not None:
        core = over_gaps(n, skew(n, n("matmul", turned(n, n.loose(v)), g_v)), w)
        core = n("mul", core, 0.5)
    if g_w is not None:
        line = scaled_columns(n, g_w, size)
        core = line if core is None else n("add", core, line)
    assert core is not None
    return [product_of(n, "cotangent of A", given[0], times(n, n.loose(v), core, turned(n, n.loose(v))))]


def skew(n: Nodes, x: Ref) -> Ref:
    return n("sub", x, turned(n, x))


def over_gaps(n: Nodes, x: Ref, line: Ref) -> Ref:
    """Element i, j over line j - line i; the diagonal is 0."""
    gaps = n("sub", n.expand(columns(n, line), x.shape), n.expand(rows(n, line), x.shape))
    diagonal = torch.eye(line.shape[-1], dtype=torch.bool)
    return masked(n, n("div", x, masked(n, gaps, ~diagonal, torch.ones(diagonal.shape))), ~diagonal)


def scaled_columns(n: Nodes, line: Ref, size: int) -> Ref:
    """A diagonal matrix."""
    return n("mul", n.expand(columns(n, line), [*line.shape[:-1], size, size]), n.expand(n.constant(torch.eye(size), n.dtype), [*line.shape[:-1], size, size]))


# Singular values.

def svd(n: Nodes, outs: list[Ref], a: Ref, full_matrices: bool = False, compute_uv: bool = True, **_: Any) -> list[Equation]:
    held(*outs, a)
    u, s, vh = outs
    count, extent = s.shape[-1], max(a.shape[-2:])
    left, right = part(n, u, count, -1), part(n, vh, count, -2)
    product = times(n, left, n("mul", n.expand(rows(n, s), right.shape), right))
    assert s.tensor is not None
    return [same(n, "A - U S V^T", a, product, norm_of(a), extent), orthogonal(n, "1 - U^T U", u, extent), orthogonal(n, "1 - V^T V", turned(n, vh), extent),
            in_order(n, "order", s, True), Equation("sign", n("abs", s), s.tensor)]


def part(n: Nodes, x: Ref, count: int, axis: int) -> Ref:
    extents = list(x.shape)
    extents[axis] = count
    return x if extents == x.shape else n("slice", x, starts=[0] * x.rank, steps=[1] * x.rank, extents=extents)


def svd_product(n: Nodes, bars: list[Ref | None], outs: list[Ref], given: list[Ref], a: Ref, *_: Any, **__: Any) -> list[Equation]:
    """U ((skew(U^T g_U) S + S skew(V^T g_V)) / gaps of S^2 + g_S) V^T, and what of g_U and g_V lies beside the columns of U and V, over S."""
    (u, s, vh), (g_u, g_s, g_v) = outs, bars
    count = s.shape[-1]
    if u.shape[-1] != count or vh.shape[-2] != count:
        raise Unknown("singular vectors beside the singular values")
    u, vh = n.loose(u), n.loose(vh)
    parts, beside = list[Ref](), list[Ref]()
    if g_u is not None:
        inner = skew(n, n("matmul", turned(n, u), g_u))
        parts.append(n("mul", inner, n.expand(columns(n, s), inner.shape)))
        beside += [times(n, rest(n, n("div", g_u, n.expand(columns(n, s), g_u.shape)), u), vh)] if a.shape[-2] > count else []
    if g_v is not None:
        inner = skew(n, n("matmul", vh, turned(n, g_v)))
        parts.append(n("mul", n.expand(rows(n, s), inner.shape), inner))
        over = n("div", g_v, n.expand(rows(n, s), g_v.shape))
        beside += [times(n, u, turned(n, rest(n, turned(n, over), turned(n, vh))))] if a.shape[-1] > count else []
    core = None
    if parts:
        core = over_gaps(n, n.loose(parts[0]) if len(parts) == 1 else n("add", *parts), n.loose(n("mul", s, s)))
    if g_s is not None:
        core = scaled_columns(n, g_s, count) if core is None else n("add", core, scaled_columns(n, g_s, count))
    assert core is not None
    return [product_of(n, "cotangent of A", given[0], times(n, u, core, vh), *beside)]


def rest(n: Nodes, x: Ref, q: Ref) -> Ref:
    """Return the part of x that lies beside the columns of q."""
    return n("sub", x, times(n, q, turned(n, q), x))


FACTORS: dict[str, Callable[..., list[Equation]]] = {"linalg_qr": qr, "_linalg_eigh": eigh, "_linalg_svd": svd}
FACTOR_PRODUCTS: dict[str, Callable[..., list[Equation]]] = {"linalg_qr": qr_product, "_linalg_eigh": eigh_product, "_linalg_svd": svd_product}
