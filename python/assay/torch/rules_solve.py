"""Equations that solutions of linear systems and factorisations satisfy, and those of their cotangents.

An equation is written as a graph that gives zeros, or what was recorded, if the numbers are right. It admits what elimination and substitution lose in
any order of their sums (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., theorems 8.5, 9.3, 9.4 and 10.3): for factors L and U
|A - L U| and |b - L U x| are within gamma |L| |U| and gamma |L| |U| |x|. So growth is that of the recorded factors.
"""
from __future__ import annotations

from typing import Any, Callable

import torch

from .nodes import Nodes, Ref, Unknown
from .values import Equation

MOST = 512  # rows


def zero(what: str, found: Ref, of: int = 0) -> Equation:
    return Equation(what, found, torch.zeros(found.shape, dtype=found.dtype), of)


# Matrices on the last two axes.

def turned(n: Nodes, x: Ref) -> Ref:
    return n.permute(x, [*range(x.rank - 2), x.rank - 1, x.rank - 2])


def widened(n: Nodes, x: Ref, roundings: int) -> Ref:
    """The value with so many roundings: times a sum of fractions that is 1."""
    count = 2 * (roundings // 2) + 3
    one = n("weighted_gather", n.constant([1.0], n.dtype), axis=0, starts=[0, count], indices=[0] * count, weights=[f"1/{count}"] * count)
    return n("mul", x, n.reshape(one, []))


def loosened(n: Nodes, x: Ref) -> Ref:
    """A factor with some roundings more: kernels multiply with reciprocals of a diagonal, which is not quite to divide."""
    return widened(n, x, 6)


def times(n: Nodes, *factors: Ref) -> Ref:
    """A product from the right, as substitution goes."""
    found = factors[-1]
    for one in reversed(factors[:-1]):
        found = n("matmul", one, found)
    return found


def masked(n: Nodes, x: Ref, mask: torch.Tensor, other: torch.Tensor | None = None) -> Ref:
    """The elements where the mask holds, else those of another matrix, which is 0 unless told."""
    rest = n.constant(torch.zeros(mask.shape) if other is None else other, x.dtype)
    return n("where", n.expand(n.constant(mask, torch.bool), x.shape), x, n.expand(rest, x.shape), dtype=x.dtype)


def triangle(size: int, is_upper: bool, is_strict: bool = False) -> torch.Tensor:
    full = torch.ones(size, size, dtype=torch.bool)
    return full.triu(int(is_strict)) if is_upper else full.tril(-int(is_strict))


def rows_of(x: Ref) -> int:
    if x.rank < 2 or x.shape[-1] != x.shape[-2] or not 0 < x.shape[-1] <= MOST:
        raise Unknown("no square matrix, or a very large one")
    return x.shape[-1]


def scaled_unit(n: Nodes, factor: Ref, size: int) -> Ref:
    """A factor times the unit matrix, for each of a batch."""
    shape = [*factor.shape, size, size]
    return n("mul", n.expand(n.reshape(factor, [*factor.shape, 1, 1]), shape), n.expand(n.constant(torch.eye(size), n.dtype), shape))


def diagonal(n: Nodes, x: Ref) -> Ref:
    places = torch.arange(torch.Size(x.shape).numel()).reshape(x.shape).diagonal(0, -2, -1)
    return n.gather(x, places, list(places.shape))


class Factors:
    """P M = L U, where M is A or its transpose; each factor with a few roundings more, as a kernel may multiply with reciprocals."""

    def __init__(self, n: Nodes, a: Ref, lu: Ref, pivots: torch.Tensor) -> None:
        self.n, size = n, rows_of(lu)
        if a.tensor is None or lu.tensor is None or a.shape != lu.shape:
            raise Unknown("factors of a matrix whose values were not recorded, or of another shape")
        low = triangle(size, False, True)
        self.lower = loosened(n, masked(n, lu, low, torch.eye(size)))
        self.upper = loosened(n, masked(n, lu, ~low))
        self.order = order_of(pivots, size)
        exact = lu.tensor.double()
        product = torch.where(low, exact, torch.eye(size, dtype=torch.float64)) @ torch.where(low, 0.0, exact)
        given = a.tensor.double()
        errors = [float((self.picked(one) - product).abs().amax()) for one in (given, given.mT)]
        self.is_turned = errors[1] < errors[0]
        self.matrix = turned(n, a) if self.is_turned else a

    def picked(self, x: torch.Tensor) -> torch.Tensor:
        return x.gather(-2, self.order[..., None].expand(*self.order.shape, x.shape[-1]))

    def ordered(self, x: Ref) -> Ref:
        """P x."""
        if x.shape[:-1] != list(self.order.shape):
            raise Unknown("rows of other batches than the factors'")
        places = self.picked(torch.arange(torch.Size(x.shape).numel()).reshape(x.shape))
        return self.n.gather(x, places, x.shape)

    def given_back(self) -> Equation:
        return zero("P A - L U", self.n("sub", self.ordered(self.matrix), times(self.n, self.lower, self.upper)))

    def residual(self, x: Ref, b: Ref, is_transposed: bool) -> Ref:
        """Return the residual of A x = b, or of the equation with the transpose of A."""
        if is_transposed == self.is_turned:
            return self.n("sub", self.ordered(b), times(self.n, self.lower, self.upper, x))
        return self.n("sub", b, times(self.n, turned(self.n, self.upper), turned(self.n, self.lower), self.ordered(x)))


def order_of(pivots: torch.Tensor, size: int) -> torch.Tensor:
    """Which row comes where, by the rows that elimination swapped one after the other."""
    flat = pivots.reshape(-1, size).long() - 1
    order = torch.arange(size).expand(flat.shape[0], size).clone()
    for one, swaps in zip(order, flat.tolist()):
        for i, k in enumerate(swaps):
            one[i], one[k] = one[k].clone(), one[i].clone()
    return order.reshape(pivots.shape)


def sign_of(pivots: torch.Tensor) -> torch.Tensor:
    """The sign of the rows' order: each swap of two rows turns it."""
    swaps = (pivots.long() != torch.arange(1, pivots.shape[-1] + 1)).sum(-1)
    return 1.0 - 2.0 * (swaps % 2)


def integers(ref: Ref | None) -> torch.Tensor:
    if ref is None or ref.tensor is None:
        raise Unknown("pivots whose values were not recorded")
    return ref.tensor


def succeeded(ref: Ref | None) -> None:
    if ref is None or ref.tensor is None or bool(ref.tensor.any()):
        raise Unknown("a factorisation that did not succeed")


def wide(n: Nodes, x: Ref, shape: list[int]) -> Ref:
    """A matrix, or batches of them, broadcast to a shape's batches."""
    full = [*shape[:-2], *x.shape[-2:]]
    found = n.expand(x, full)
    if found is not x and x.tensor is not None:
        found.tensor = x.tensor.expand(full)
    return found


def summed_to(n: Nodes, x: Ref, shape: list[int]) -> Ref:
    """The cotangent of what was broadcast: the sum over what it was repeated along."""
    padded = [1] * (x.rank - len(shape)) + list(shape)
    return n.reshape(n.reduce("reduce_sum", x, [i for i, s in enumerate(padded) if s != x.shape[i]], False), shape)


# Systems.

def solve(n: Nodes, outs: list[Ref], a: Ref, b: Ref, *, left: bool = True, check_errors: bool = False) -> list[Equation]:
    x, lu, pivots, info = outs
    succeeded(info)
    given_back = Factors(n, a, lu, integers(pivots)).given_back()
    if x.rank == a.rank - 1:  # for a vector
        x, b = (n.reshape(one, [*one.shape, 1]) for one in (x, b))
    b, factors = wide(n, b, x.shape), broadcast_factors(n, a, lu, pivots, x.shape)
    left_over = factors.residual(x, b, False) if left else factors.residual(turned(n, x), turned(n, b), True)
    return [given_back, zero("A X - B", left_over)]


def broadcast_factors(n: Nodes, a: Ref, lu: Ref, pivots: Ref, shape: list[int]) -> Factors:
    return Factors(n, wide(n, a, shape), wide(n, lu, shape), integers(pivots).expand([*shape[:-2], a.shape[-1]]))


def solve_product(n: Nodes, bars: list[Ref], outs: list[Ref], given: list[Ref | None], a: Ref, b: Ref, *, left: bool = True, **_: Any) -> list[Equation]:
    """With Y the cotangent of B: A^T Y is that of X, and the cotangent of A is -Y X^T."""
    x, lu, pivots, _info = outs
    if bars[0] is None or any(one is not None for one in bars[1:]):
        raise Unknown("factors that have a cotangent")
    shape = [*x.shape, 1] if x.rank == a.rank - 1 else x.shape
    solution = n.reshape(right_side(given, x.shape, shape), x.shape)
    x, y, g = (n.reshape(one, shape) for one in (x, solution, bars[0]))
    factors = broadcast_factors(n, a, lu, pivots, shape)
    if not left:
        x, y, g = (turned(n, one) for one in (x, y, g))
    outer = times(n, y, turned(n, x)) if left else times(n, x, turned(n, y))
    return [zero("A^T (cotangent of B) - cotangent", factors.residual(y, g, left), 1), *shared(n, given, solution, outer)]


def shared(n: Nodes, given: list[Ref | None], solution: Ref, outer: Ref) -> list[Equation]:
    """The cotangents of a system's two sides, of which one may have been broadcast."""
    found = []
    if given[1] is not None and given[1] is not solution:
        found.append(zero("cotangent of B - its sum", n("sub", n.loose(given[1]), summed_to(n, n.loose(solution), given[1].shape)), 1))
    if given[0] is not None:
        found.append(zero("cotangent of A + (cotangent of B) X^T", n("sub", n.loose(given[0]), n("neg", summed_to(n, outer, given[0].shape))), 0))
    return found


def right_side(given: list[Ref | None], *shapes: list[int]) -> Ref:
    """The cotangent of the right side, or what the product solved: where nobody asked for that, or where it was broadcast."""
    found = next((one for one in given[1:] if one is not None and one.shape in shapes), None)
    if found is None:
        raise Unknown("a product that solves no system")
    return found


def lu_solve(n: Nodes, outs: list[Ref], lu: Ref, pivots: Ref, b: Ref, *, left: bool = True, adjoint: bool = False) -> list[Equation]:
    x = outs[0]
    b, factors = wide(n, b, x.shape), broadcast_factors(n, lu, lu, pivots, x.shape)
    factors.is_turned = False
    return [zero("L U X - P B", factors.residual(x, b, adjoint) if left else factors.residual(turned(n, x), turned(n, b), not adjoint))]


def lu_factor(n: Nodes, outs: list[Ref], a: Ref, *, pivot: bool = True, check_errors: bool = False) -> list[Equation]:
    lu, pivots, info = outs
    succeeded(info)
    factors = Factors(n, a, lu, integers(pivots))
    factors.matrix = a
    return [factors.given_back()]


def witness(n: Nodes, a: Ref, x: Ref) -> Factors:
    """Factors that are computed again, where an operation does not give them: of the matrix, or of its transpose if those explain x better."""
    if a.tensor is None or x.tensor is None:
        raise Unknown("a matrix whose values were not recorded")
    found, left = list[tuple[float, torch.Tensor, torch.Tensor]](), (a.tensor.double() @ x.tensor.double() - torch.eye(rows_of(a))).abs()
    for one in (a.tensor, a.tensor.mT):
        lu, pivots, info = torch.linalg.lu_factor_ex(one)
        succeeded(Ref(list(info.shape), info.dtype, info))
        p, lower, upper = torch.lu_unpack(lu.double(), pivots)
        size = p @ lower.abs() @ upper.abs()
        size = (size if one is a.tensor else size.mT) @ x.tensor.double().abs()
        found.append((float((left / size).nan_to_num().amax()), lu.contiguous(), pivots))
    _, lu, pivots = min(found, key=lambda one: one[0])
    n.given.append(Ref(list(lu.shape), lu.dtype, lu))
    return Factors(n, a, n.given[-1], pivots)


def inverse(n: Nodes, outs: list[Ref], a: Ref, *, check_errors: bool = False) -> list[Equation]:
    succeeded(outs[1])
    factors = witness(n, a, outs[0])
    unit = n.expand(n.constant(torch.eye(rows_of(a)), n.dtype), a.shape)
    return [factors.given_back(), zero("A X - 1", factors.residual(outs[0], unit, False))]


def inverse_product(n: Nodes, bars: list[Ref], outs: list[Ref], given: list[Ref], a: Ref, **_: Any) -> list[Equation]:
    x = turned(n, outs[0])
    return [zero("cotangent of A + X^T (cotangent) X^T", n("sub", n.loose(given[0]), n("neg", times(n, x, bars[0], x))))]


def triangular_part(n: Nodes, a: Ref, upper: bool, unitriangular: bool) -> Ref:
    size = rows_of(a)
    return loosened(n, masked(n, a, triangle(size, upper, unitriangular), torch.eye(size) if unitriangular else None))


def solve_triangular(n: Nodes, outs: list[Ref], a: Ref, b: Ref, *, upper: bool, left: bool = True, unitriangular: bool = False) -> list[Equation]:
    part = triangular_part(n, a, upper, unitriangular)
    return [zero("A X - B", n("sub", b, times(n, part, outs[0]) if left else times(n, outs[0], part)))]


def solve_triangular_product(n: Nodes, bars: list[Ref], outs: list[Ref], given: list[Ref | None], a: Ref, b: Ref, *, upper: bool, left: bool = True,
                             unitriangular: bool = False) -> list[Equation]:
    part, x = turned(n, triangular_part(n, a, upper, unitriangular)), outs[0]
    y = right_side(given, x.shape)
    outer = masked(n, times(n, y, turned(n, x)) if left else times(n, turned(n, x), y), triangle(rows_of(a), upper, unitriangular))
    return [zero("A^T (cotangent of B) - cotangent", n("sub", bars[0], times(n, part, y) if left else times(n, y, part)), 1), *shared(n, given, y, outer)]


# Determinants: functions of the factors.

def determinant(n: Nodes, outs: list[Ref], a: Ref) -> list[Equation]:
    result, lu, pivots = outs
    factors = Factors(n, a, lu, integers(pivots))
    product = n("mul", n.reduce("reduce_prod", diagonal(n, lu), [lu.rank - 2], False), n.constant(sign_of(integers(pivots)), n.dtype))
    assert result.tensor is not None
    return [factors.given_back(), Equation("product of the diagonal", product, result.tensor)]


def log_determinant(n: Nodes, outs: list[Ref], a: Ref) -> list[Equation]:
    sign, size, lu, pivots = outs
    factors, line = Factors(n, a, lu, integers(pivots)), diagonal(n, lu)
    signs = n("mul", n.reduce("reduce_prod", n("sign", line), [line.rank - 1], False), n.constant(sign_of(integers(pivots)), n.dtype))
    total = n.reduce("reduce_sum", n("log", n("abs", line)), [line.rank - 1], False)
    assert sign.tensor is not None and size.tensor is not None
    return [factors.given_back(), Equation("signs of the diagonal", signs, sign.tensor), Equation("logarithms of the diagonal", total, size.tensor)]


def determinant_product(n: Nodes, bars: list[Ref], outs: list[Ref], given: list[Ref], a: Ref) -> list[Equation]:
    """A^T (cotangent of A) = det (cotangent) 1."""
    if any(one is not None for one in bars[1:]):
        raise Unknown("factors that have a cotangent")
    factor = n("mul", bars[0], outs[0])
    return [zero("A^T (cotangent of A) - det (cotangent) 1", solved_unit(n, outs[1], outs[2], given[0], a, factor))]


def log_determinant_product(n: Nodes, bars: list[Ref | None], outs: list[Ref], given: list[Ref], a: Ref) -> list[Equation]:
    if bars[1] is None or any(one is not None for one in bars[2:]):  # the derivative of the sign is 0
        raise Unknown("factors that have a cotangent")
    return [zero("A^T (cotangent of A) - (cotangent) 1", solved_unit(n, outs[2], outs[3], given[0], a, bars[1]))]


def solved_unit(n: Nodes, lu: Ref, pivots: Ref, x: Ref, a: Ref, factor: Ref) -> Ref:
    if lu.tensor is None or bool((lu.tensor.diagonal(0, -2, -1) == 0).any()):
        raise Unknown("a matrix without an inverse")
    return Factors(n, a, lu, integers(pivots)).residual(x, scaled_unit(n, factor, rows_of(a)), True)


# Cholesky's factor.

def symmetric(a: Ref, is_positive: bool) -> None:
    """Kernels read one triangle, but autograd takes both to be the same numbers: of other matrices its gradient is not the derivative."""
    if a.tensor is None:
        raise Unknown("a matrix whose values were not recorded")
    exact = a.tensor.double()
    size = exact.diagonal(0, -2, -1).abs().sqrt() if is_positive else exact.abs().amax((-2, -1)).sqrt().unsqueeze(-1)
    if bool(((exact - exact.mT).abs() > size.unsqueeze(-1) * size.unsqueeze(-2) / 4096).any()):
        raise Unknown("a matrix that is not symmetric")


def cholesky(n: Nodes, outs: list[Ref], a: Ref, *, upper: bool = False, check_errors: bool = False) -> list[Equation]:
    factor, info = outs
    succeeded(info)
    half = triangle(rows_of(a), upper)
    loose = loosened(n, factor)
    product = times(n, turned(n, loose), loose) if upper else times(n, loose, turned(n, loose))
    assert factor.tensor is not None
    return [zero("A - L L^T", masked(n, n("sub", a, product), half)), Equation("triangle", masked(n, factor, half), factor.tensor)]


def cholesky_product(n: Nodes, bars: list[Ref], outs: list[Ref], given: list[Ref], a: Ref, *, upper: bool = False, **_: Any) -> list[Equation]:
    """For symmetric A: L^T (cotangent of A) L is half of the symmetric matrix that has the lower triangle of L^T (cotangent)."""
    symmetric(a, True)
    lower, g = (turned(n, one) if upper else one for one in (outs[0], bars[0]))
    lower, size = loosened(n, lower), rows_of(a)
    inner = times(n, turned(n, lower), masked(n, g, triangle(size, False)))
    half = n("add", masked(n, inner, triangle(size, False)), turned(n, masked(n, inner, triangle(size, False, True))))
    through = n("matmul", times(n, turned(n, lower), given[0]), lower)
    return [zero("L^T (cotangent of A) L - half of L^T (cotangent)", n("sub", through, n("mul", n.loose(half), 0.5)))]


def cholesky_solve(n: Nodes, outs: list[Ref], b: Ref, factor: Ref, upper: bool = False) -> list[Equation]:
    """L L^T X = B. All of L counts, whose other triangle is 0."""
    if factor.tensor is None or bool(factor.tensor.masked_select(~triangle(rows_of(factor), upper)).any()) or b.shape != outs[0].shape:
        raise Unknown("a factor that is no triangle, or a right side that is broadcast")
    loose = loosened(n, turned(n, factor) if upper else factor)
    return [zero("L L^T X - B", n("sub", b, times(n, loose, turned(n, loose), outs[0])))]


def cholesky_solve_product(n: Nodes, bars: list[Ref], outs: list[Ref], given: list[Ref | None], b: Ref, factor: Ref, upper: bool = False) -> list[Equation]:
    """With Y the cotangent of B: L L^T Y is that of X, and the cotangent of L is -(Y X^T + X Y^T) L."""
    x, y = outs[0], given[0] if given[0] is not None else right_side(given[1:], outs[0].shape)
    if factor.shape[:-2] != x.shape[:-2]:
        raise Unknown("a side that is broadcast")
    lower = turned(n, factor) if upper else factor
    loose = loosened(n, lower)
    found = [zero("L L^T (cotangent of B) - cotangent", n("sub", bars[0], times(n, loose, turned(n, loose), y)), 0)]
    if given[1] is not None:
        g, pair = turned(n, given[1]) if upper else given[1], n("add", times(n, y, turned(n, x)), times(n, x, turned(n, y)))
        found.append(zero("cotangent of L + (Y X^T + X Y^T) L", n("sub", n.loose(g), n("neg", times(n, n.loose(pair), lower))), 1))
    return found


SOLVED: dict[str, Callable[..., list[Equation]]] = {
    "_linalg_solve_ex": solve, "linalg_lu_factor_ex": lu_factor, "linalg_lu_solve": lu_solve, "linalg_inv_ex": inverse, "linalg_solve_triangular": solve_triangular, "_linalg_det": determinant,
    "_linalg_slogdet": log_determinant, "linalg_cholesky_ex": cholesky, "cholesky_solve": cholesky_solve}
SOLVED_PRODUCTS: dict[str, Callable[..., list[Equation]]] = {
    "_linalg_solve_ex": solve_product, "linalg_inv_ex": inverse_product, "linalg_solve_triangular": solve_triangular_product,
    "_linalg_det": determinant_product, "_linalg_slogdet": log_determinant_product, "linalg_cholesky_ex": cholesky_product,
    "cholesky_solve": cholesky_solve_product}
