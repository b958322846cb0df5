"""What is judged by equations: solutions of systems, factorisations, distances and running logarithms; right ones, bent ones, and what stays undecided."""
from __future__ import annotations

import math
from typing import Any, Callable

import pytest

torch = pytest.importorskip("torch", reason="the recorder needs the package torch")
import assay  # noqa: E402
import assay.torch as recorder  # noqa: E402
from assay.torch import equations  # noqa: E402
from torch_bent import Bent, judged  # noqa: E402
from torch_runs import summary  # noqa: E402

la = torch.linalg
SINGLE, DOUBLE = torch.float32, torch.float64


def drawn(shapes: list[tuple[int, ...]], kind: Any = SINGLE, scale: float = 1.0) -> list[Any]:
    return [(torch.randn(shape, dtype=kind) * scale).requires_grad_() for shape in shapes]


def positive(a: Any) -> Any:
    return a @ a.mT + torch.eye(a.shape[-1], dtype=a.dtype)


def like(value: float, a: Any) -> Any:
    return torch.arange(1.0, 1 + a.shape[-1] * 2, dtype=a.dtype).reshape(-1, 2).cos() * value


DISTANCES: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    **{f"cdist, p = {p}": (lambda a, b, p=p: torch.cdist(a, b, p=p), [(3, 4), (5, 4)]) for p in (1.0, 1.5, 2.0, 3.0, math.inf)},
    **{f"pdist, p = {p}": (lambda a, p=p: torch.pdist(a, p=p), [(5, 4)]) for p in (1.0, 2.0, 3.0, math.inf)},
    "cdist, batches": (torch.cdist, [(2, 3, 4), (2, 5, 4)]), "cdist, one side broadcast": (torch.cdist, [(2, 3, 4), (5, 4)]),
    "cdist, a side of one row": (torch.cdist, [(1, 3), (4, 3)]), "cdist of rows and themselves": (lambda a: torch.cdist(a, a), [(4, 3)]),
    "cdist by a product": (lambda a, b: torch.cdist(a, b, compute_mode="use_mm_for_euclid_dist"), [(3, 4), (5, 4)]),
    "cdist by a product, batches": (lambda a, b: torch.cdist(a, b, compute_mode="use_mm_for_euclid_dist"), [(2, 3, 4), (2, 5, 4)]),
    "cdist of many rows": (torch.cdist, [(30, 3), (7, 3)]), "cdist of long rows": (torch.cdist, [(12, 70), (9, 70)]),
    "pdist, equal rows": (lambda a: torch.pdist(torch.cat([a, a])), [(3, 3)]),
    "logcumsumexp": (lambda a: torch.logcumsumexp(a, 1), [(3, 6)]), "logcumsumexp along the first axis": (lambda a: torch.logcumsumexp(a, 0), [(7, 2, 3)]),
    "logcumsumexp of one": (lambda a: torch.logcumsumexp(a, 0), [(1, 3)]), "logcumsumexp of numbers far apart": (lambda a: torch.logcumsumexp(20 * a, 0), [(60, 2)])}
SYSTEMS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "solve": (la.solve, [(4, 4), (4, 2)]), "solve for a vector": (la.solve, [(4, 4), (4,)]), "solve, batches": (la.solve, [(3, 4, 4), (3, 4, 2)]),
    "solve from the right": (lambda a, b: la.solve(a, b, left=False), [(4, 4), (2, 4)]), "solve with a transpose": (lambda a, b: la.solve(a.mT, b), [(4, 4), (4, 2)]),
    "solve, a given right side": (lambda a: la.solve(a, like(1, a)), [(4, 4)]), "solve, a given matrix": (lambda b: la.solve(torch.eye(4, dtype=b.dtype) * 3 + 1, b), [(4, 2)]),
    "solve, one row": (la.solve, [(1, 1), (1, 3)]), "solve twice": (lambda a, b: la.solve(a, la.solve(a, b)), [(4, 4), (4, 2)]), "solve, 40 rows": (la.solve, [(40, 40), (40, 3)]),
    "solve, one matrix for a batch": (la.solve, [(4, 4), (3, 4, 2)]), "solve, one right side for a batch": (la.solve, [(3, 4, 4), (4, 2)]), "solve, both broadcast": (la.solve, [(2, 1, 4, 4), (3, 4, 2)]),
    "solve, one vector for a batch": (la.solve, [(3, 4, 4), (4,)]), "solve from the right, broadcast": (lambda a, b: la.solve(a, b, left=False), [(4, 4), (3, 2, 4)]),
    "solve_triangular, both broadcast": (lambda a, b: la.solve_triangular(a, b, upper=True), [(2, 1, 4, 4), (3, 4, 2)]),
    "solve_triangular from the right, broadcast": (lambda a, b: la.solve_triangular(a, b, upper=False, left=False), [(3, 4, 4), (2, 4)]),
    "inv": (la.inv, [(5, 5)]), "inv, batches": (la.inv, [(2, 3, 4, 4)]), "inv of a transpose": (lambda a: la.inv(a.mT), [(5, 5)]),
    "a negative power": (lambda a: la.matrix_power(a, -2), [(4, 4)]), "tensorsolve": (la.tensorsolve, [(2, 2, 4), (2, 2)]),
    "det": (la.det, [(5, 5)]), "det, batches": (la.det, [(2, 3, 3, 3)]), "slogdet": (la.slogdet, [(5, 5)]), "logdet": (lambda a: torch.logdet(positive(a)), [(2, 4, 4)]),
    "cholesky": (lambda a: la.cholesky(positive(a)), [(5, 5)]), "cholesky, upper, batches": (lambda a: la.cholesky(positive(a), upper=True), [(3, 4, 4)]),
    "cholesky_solve": (lambda a, b: torch.cholesky_solve(b, la.cholesky(positive(a))), [(4, 4), (4, 2)]),
    "cholesky_solve, upper, batches": (lambda a, b: torch.cholesky_solve(b, la.cholesky(positive(a), upper=True), upper=True), [(2, 4, 4), (2, 4, 3)]),
    "cholesky_solve, a given right side": (lambda a: torch.cholesky_solve(like(1, a), la.cholesky(positive(a))), [(4, 4)]),
    **{f"solve_triangular, upper = {upper}, left = {left}": (lambda a, b, upper=upper, left=left: la.solve_triangular(a, b, upper=upper, left=left), [(2, 4, 4), (2, 4, 4)])
       for upper in (True, False) for left in (True, False)},
    "solve_triangular, ones on the diagonal": (lambda a, b: la.solve_triangular(a, b, upper=True, unitriangular=True), [(4, 4), (4, 3)]),
    "solve_triangular, a given right side": (lambda a: la.solve_triangular(a, like(1, a), upper=False), [(4, 4)]),
    "cholesky_solve, a given triangle": (lambda a, b: torch.cholesky_solve(b, a.tril()), [(4, 4), (4, 2)]),
    "a density": (lambda a, x: torch.distributions.MultivariateNormal(torch.zeros(4, dtype=a.dtype), positive(a)).log_prob(x), [(4, 4), (5, 4)]),
    "in a checkpoint": (lambda a, b: torch.utils.checkpoint.checkpoint(lambda x, y: la.solve(x.tanh() + 3 * torch.eye(4, dtype=x.dtype), y).exp(), a, b, use_reentrant=False), [(4, 4), (4, 2)])}

FACTORS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "qr": (la.qr, [(4, 4)]), "qr of a long matrix": (la.qr, [(6, 3)]), "qr, complete": (lambda a: la.qr(a, mode="complete"), [(4, 4)]),
    "the triangle of qr, batches": (lambda a: la.qr(a)[1], [(2, 6, 3)]), "the columns of qr": (lambda a: la.qr(a)[0], [(6, 3)]),
    "eigh": (lambda a: la.eigh(a + a.mT), [(5, 5)]), "eigh of the upper triangle, batches": (lambda a: la.eigh(a + a.mT, UPLO="U"), [(2, 4, 4)]),
    "eigvalsh": (lambda a: la.eigvalsh(a + a.mT), [(5, 5)]), "eigenvectors": (lambda a: la.eigh(a + a.mT)[1], [(4, 4)]),
    "svd": (lambda a: la.svd(a, full_matrices=False), [(4, 4)]), "svd of a long matrix": (lambda a: la.svd(a, full_matrices=False), [(6, 3)]),
    "svd of wide ones": (lambda a: la.svd(a, full_matrices=False), [(2, 3, 6)]), "svd, complete": (la.svd, [(4, 4)]), "svdvals, batches": (la.svdvals, [(3, 5, 4)]),
    "left vectors": (lambda a: la.svd(a, full_matrices=False)[0], [(5, 3)]), "right vectors": (lambda a: la.svd(a, full_matrices=False)[2], [(3, 5)]),
    "nuclear norm": (lambda a: la.matrix_norm(a, "nuc"), [(5, 4)]), "condition": (la.cond, [(4, 4)])}
CASES = DISTANCES | SYSTEMS | FACTORS


@pytest.mark.parametrize("kind", [SINGLE, DOUBLE])
@pytest.mark.parametrize("name", CASES)
def test_right_results_and_products_pass(name: str, kind: Any) -> None:
    torch.manual_seed(len(name))
    function, shapes = CASES[name]
    run, report = judged(function, drawn(shapes, kind))
    assert report.passed and not run.opaque, summary(report)
    assert any(":" in one.name for one in run.regions)


@pytest.mark.parametrize("kind", [SINGLE, DOUBLE])
def test_hard_matrices_are_not_accused(kind: Any) -> None:
    """Of great condition, of rows of very different sizes, and with factors that grow."""
    torch.manual_seed(2)
    n, e = 9, torch.eye(9, dtype=kind)
    hilbert = 1 / (torch.arange(n)[:, None] + torch.arange(n) + 1).to(kind) + 1e-4 * e
    grows = e - torch.ones(n, n, dtype=kind).tril(-1)
    grows[:, -1] = 1
    for a in (hilbert, torch.randn(n, n, dtype=kind) * torch.logspace(-6, 6, n, dtype=kind)[:, None], grows, e + torch.randint(-2, 3, (n, n)).to(kind).triu(1)):
        for function in (la.inv, lambda m: la.solve(m, like(1, m)), lambda m: la.slogdet(m)[1], lambda m: la.solve_triangular(m + 3 * e, like(1, m), upper=True)):
            report = judged(function, [a.clone().requires_grad_()])[1]
            assert not report.failed and not any(one.rule == "audit.opaque" for one in report.findings), summary(report)


# The operation that is bent, by how much, which of its results, and whether in the product.
BENT: dict[str, tuple[str, str, float, int, bool]] = {
    "a distance": ("cdist, p = 2.0", "_cdist_forward", 1e-5, 0, False), "a distance of order 1": ("cdist, p = 1.0", "_cdist_forward", 1e-5, 0, False),
    "the greatest difference": ("cdist, p = inf", "_cdist_forward", 3e-6, 0, False), "a distance by a product": ("cdist by a product", "_euclidean_dist", 1e-4, 0, False),
    "a distance of pairs": ("pdist, p = 2.0", "_pdist_forward", 1e-5, 0, False), "a running logarithm": ("logcumsumexp", "logcumsumexp", 1e-5, 0, False),
    "a distance's product": ("cdist, p = 2.0", "_cdist_backward", 1e-5, 0, True), "that of order 3": ("cdist, p = 3.0", "_cdist_backward", 1e-4, 0, True),
    "that by a product": ("cdist by a product", "mm", 1e-4, 0, True), "its last step": ("cdist by a product", "sub", 1e-4, 0, True),
    "a product of pairs": ("pdist, p = 2.0", "_pdist_backward", 1e-5, 0, True), "a running logarithm's product": ("logcumsumexp", "exp", 1e-4, 0, True),
    "its last difference": ("logcumsumexp", "sub", 1e-4, 0, True),
    "a solution": ("solve", "_linalg_solve_ex", 3e-5, 0, False), "factors": ("solve", "_linalg_solve_ex", 3e-5, 1, False), "a solution of a batch": ("solve, batches", "_linalg_solve_ex", 3e-5, 0, False),
    "a solution from the right": ("solve from the right", "_linalg_solve_ex", 3e-5, 0, False), "an inverse": ("inv", "linalg_inv_ex", 3e-5, 0, False),
    "a determinant": ("det", "_linalg_det", 1e-5, 0, False), "factors of a determinant": ("det", "_linalg_det", 3e-5, 1, False),
    "the logarithm of a determinant": ("slogdet", "_linalg_slogdet", 1e-4, 1, False), "Cholesky's factor": ("cholesky", "linalg_cholesky_ex", 1e-5, 0, False),
    "a solution by Cholesky": ("cholesky_solve", "cholesky_solve", 1e-4, 0, False),
    "a triangular solution": ("solve_triangular, upper = True, left = False", "linalg_solve_triangular", 1e-5, 0, False),
    "the cotangent of a right side": ("solve", "linalg_lu_solve", 3e-5, 0, True), "that of a matrix": ("solve", "neg", 1e-5, 0, True), "its product": ("solve", "mm", 1e-5, 0, True),
    "that of a matrix alone": ("solve, a given right side", "mm", 1e-5, 0, True), "what it solves": ("solve, a given right side", "linalg_lu_solve", 3e-5, 0, True),
    "a sum over a batch": ("solve, one matrix for a batch", "sum", 1e-4, 0, True), "that of right sides": ("solve, one right side for a batch", "sum", 1e-4, 0, True),
    "an inverse's product": ("inv", "mm", 1e-4, 0, True), "a determinant's product": ("det", "linalg_lu_solve", 1e-4, 0, True),
    "that of its logarithm": ("slogdet", "linalg_lu_solve", 1e-4, 0, True), "a system in Cholesky's product": ("cholesky", "linalg_solve_triangular", 1e-4, 0, True),
    "the half in it": ("cholesky", "tril", 1e-4, 0, True), "a triangular product": ("solve_triangular, upper = True, left = True", "triu", 1e-5, 0, True),
    "a product by Cholesky": ("cholesky_solve", "neg", 1e-4, 0, True),
    "a column of Q": ("qr", "linalg_qr", 1e-3, 0, False), "an element of R": ("qr", "linalg_qr", 1e-3, 1, False), "a product of qr": ("qr", "linalg_solve_triangular", 1e-4, 0, True),
    "half of it": ("qr of a long matrix", "triu", 1e-4, 0, True), "an eigenvalue": ("eigh", "_linalg_eigh", 1e-3, 0, False),
    "an eigenvector": ("eigh", "_linalg_eigh", 1e-3, 1, False), "a product of eigenvalues": ("eigvalsh", "mm", 1e-4, 0, True), "a product of eigenvectors": ("eigenvectors", "mm", 1e-3, 0, True),
    "its gaps": ("eigenvectors", "div_", 1e-3, 0, True), "a singular value": ("svd", "_linalg_svd", 1e-3, 1, False), "a left vector": ("svd", "_linalg_svd", 1e-3, 0, False),
    "a right vector": ("svd", "_linalg_svd", 1e-3, 2, False), "a product of singular values": ("svdvals, batches", "mul", 1e-4, 0, True),
    "a product of singular vectors": ("svd of a long matrix", "mm", 1e-3, 0, True), "its gaps and values": ("svd of a long matrix", "div", 1e-3, 0, True)}


@pytest.mark.parametrize("name", BENT)
def test_a_bent_element_is_found(name: str) -> None:
    torch.manual_seed(7)
    case, op, by, which, in_product = BENT[name]
    function, shapes = CASES[case]
    _, report = judged(function, drawn(shapes), Bent(op, by, which), in_product)
    assert report.failed, summary(report)


@pytest.mark.parametrize("where", ["before", "after"])
def test_right_steps_of_another_product_are_found(where: str) -> None:
    """The steps of a product are right for themselves; what it was given, or gave, is bent between them."""
    a, b = drawn([(4, 4), (4, 2)])
    with recorder.record({"a": a, "b": b}) as run:
        x = la.solve(a, b)
        if where == "before":
            x.grad_fn.register_prehook(lambda given: tuple(None if one is None else one * 1.001 for one in given))
        else:
            x.grad_fn.register_hook(lambda found, given: tuple(one * 1.001 for one in found))
        x.backward(torch.randn_like(x))
    assert recorder.judge(run).failed


@pytest.mark.parametrize("name", ["cdist, p = 1.0", "cdist, p = 2.0", "cdist, p = inf", "pdist, p = 2.0", "cdist by a product"])
def test_the_gate_proves_the_formulas_of_distances(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Where nothing is judged by equations, small tables are: their products are the adjoints of the derivatives at random points."""
    monkeypatch.setattr(equations, "EQUATIONS", {})
    torch.manual_seed(3)
    function, _ = DISTANCES[name]
    run, report = judged(function, drawn([(3, 2)] if "pdist" in name else [(2, 3), (3, 3)]))
    assert report.passed and run.products, summary(report)


class Inside(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        x = la.solve(a, b)
        ctx.save_for_backward(a, x)
        return x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        a, x = ctx.saved_tensors
        y = la.solve(a.mT, g)
        return -y @ x.mT, y


class Divided(torch.autograd.Function):
    """Whose backward solves a system, where a division would do."""

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(a, b)
        return b / a

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        a, b = ctx.saved_tensors
        y = la.solve(torch.diag(a), g)
        return -y * b / a, y


class Twice(torch.autograd.Function):
    """Two results, which read one solution."""

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        x = la.solve(a, b)
        ctx.save_for_backward(a, x)
        return x * 2, x.square()

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        a, x = ctx.saved_tensors
        y = la.solve(a.mT, 2 * g + 2 * h * x)
        return -y @ x.mT, y


@pytest.mark.parametrize("function, shapes", [(Inside.apply, [(4, 4), (4, 2)]), (Divided.apply, [(4,), (4,)]), (lambda *x: sum(Twice.apply(*x)), [(4, 4), (4, 2)])])
def test_the_product_of_a_function_that_solves_is_opaque(function: Any, shapes: Any) -> None:
    run, report = judged(lambda *x: function(*x) * 2, drawn(shapes))
    assert run.opaque and not report.passed and not report.failed, summary(report)


def test_what_no_equation_says_is_opaque() -> None:
    for function, shapes in ((la.lu_factor, [(4, 4)]), (la.qr, [(3, 5)]), (lambda a: [torch.lgamma(a)], [(3,)])):
        run, report = judged(lambda *x: function(*x)[0], drawn(shapes))
        assert run.opaque and not report.passed and not report.failed, summary(report)
    with pytest.raises(recorder.Refused, match="second derivative"):
        assay.gradcheck(la.solve, [(3, 3), (3, 2)], check_grad_grad=True)
    assert not assay.gradcheck(la.solve, [(3, 3), (3, 2)], check_forward_ad=True, raise_exception=False)


WHOLE = torch.tensor([[4.0, 0.1, 0.2], [0.5, 4.0, 0.7], [0.3, 0.9, 4.0]])
NO_DERIVATIVE: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "two greatest differences": (lambda a: torch.cdist(a, torch.zeros(1, 2), p=math.inf), [torch.tensor([[1.0, -1.0], [2.0, 1.0]])]),
    "of pairs": (lambda a: torch.pdist(a, p=math.inf), [torch.tensor([[1.0, -1.0], [2.0, 0.0]])]),
    "cholesky of one triangle": (la.cholesky, [WHOLE]), "eigh of one triangle": (la.eigh, [WHOLE]),
    "cholesky_solve by one triangle": (lambda a: torch.cholesky_solve(torch.ones(3, 1), a), [WHOLE.tril()])}


@pytest.mark.parametrize("name", NO_DERIVATIVE)
def test_gradients_that_are_no_derivatives_do_not_pass(name: str) -> None:
    """PyTorch gives each of two greatest elements the whole cotangent, and elements that no kernel reads a part of one."""
    function, inputs = NO_DERIVATIVE[name]
    run, report = judged(function, [one.clone().requires_grad_() for one in inputs])
    assert run.opaque and not report.passed and not report.failed, summary(report)


def test_without_elements_nothing_is_accused() -> None:
    """A sum of no distances gives a gradient of zeros; a system without right sides has nothing to be judged."""
    run, report = judged(lambda a, b: torch.cdist(a, b).sum() + b.square().sum(), drawn([(0, 3), (2, 3)]))
    assert report.passed and not run.opaque, summary(report)
    for function, shapes in ((la.solve, [(3, 3), (3, 0)]), (la.solve, [(0, 3, 3), (0, 3, 2)]), (la.det, [(0, 0)])):
        _, report = judged(function, drawn(shapes))
        assert not report.passed and not report.failed, summary(report)


def test_what_a_hook_computes_beside_a_product_stays_opaque() -> None:
    a, b = drawn([(4, 4), (4, 2)])
    kept = []
    with recorder.record({"a": a, "b": b}) as run:
        x = la.solve(a, b)
        x.grad_fn.register_hook(lambda found, given: kept.append(torch.lgamma(found[0].abs() + 1)))
        x.sum().backward()
        kept[0] * 2
    report = recorder.judge(run)
    assert not report.passed and any("lgamma" in one.message for one in report.findings), summary(report)


def test_a_solution_that_is_cut_off_is_found() -> None:
    a, b = drawn([(4, 4), (4, 2)])
    with recorder.record({"a": a, "b": b}) as run:
        (la.solve(a, b).detach() * b).sum().backward()
    report = recorder.judge(run)
    assert not report.passed and any(one.rule == "gradient.detached" for one in report.findings), summary(report)


def test_without_gradients_values_are_judged() -> None:
    a, b = torch.randn(4, 4), torch.randn(4, 2)
    def body() -> None:
        with torch.no_grad():
            la.solve(a, b), la.inv(a), la.det(a), torch.cdist(a, a), torch.pdist(a), torch.logcumsumexp(a, 0), la.lu_factor(a), la.eigh(a)
    with recorder.record() as run:
        body()
    assert recorder.judge(run).passed and not run.opaque
    for op in ("_linalg_solve_ex", "linalg_inv_ex", "_linalg_det", "_cdist_forward", "_pdist_forward", "logcumsumexp", "linalg_lu_factor_ex", "_linalg_eigh"):
        bent = Bent(op, 1e-3)
        bent.is_on = True
        with bent, recorder.record() as run:
            body()
        assert recorder.judge(run).failed, op
