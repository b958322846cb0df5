"""Gradients that the gate tells from the derivative though no number shows it: a forward pass that iterates, with the derivative of its limit.

The gate compares functions in exact arithmetic, and an iteration that stops is not its limit. What is left of it may be far below a rounding. Wrong code
looks like that, too, if its mistake is as small: so nothing passes by it, and the gradient is undecided in place of wrong. Where no operations repeat
until their results settle, a difference that small is a wrong constant, and the gradient is wrong.
"""
from __future__ import annotations

import contextlib
import re
from typing import Any

import torch

from .conventions import run_again
from .joins import Product
from .nodes import HALVES

IDENTITY = "adjointness.identity"  # of numbers that differ by less than a float32 shows
AT_THE_POINT = "which is also the derivative at the recorded point"
FACTORS = (0, 30, -30)  # powers of two by which cotangents are multiplied, too
SHARE, SEED = 0.25, 23  # by which operands are moved to both sides, so that nothing is as it was
NEAR, COARSE = 2.0**-20, 2.0**-12  # a few roundings of float32, for numbers in float64; a bound for numbers as the function runs
DOUBLE = 2.0**-46  # of float64, for numbers that are rounded to it themselves
LONGEST, ROUNDS = 2000, 3  # how many operations are searched for rounds, and how many rounds an iteration has at least
SMALL = 2.0**-6  # of the largest element of a gradient: what is smaller is not small beside it
CAUSE = "At other inputs the two differ by less than a rounding: an iteration that stops early has such a derivative"
_OF = re.compile(r"^region \d+ \((.*)\)$")


def settled(run: Any, report: Any) -> None:
    """A run that failed is undecided, where no number shows a difference between the product and the derivative."""
    failed = [(case, one) for case in report.cases for one in case.findings if one.kind == "fail" or IDENTITY in one.message]
    if not failed or not all(one.rule == "gradient.product" and (AT_THE_POINT in one.headline or IDENTITY in one.message) for _, one in failed):
        return
    if run.bent or any(one.is_of_cotangent or run.in_own(one) for one in run.branches):
        return  # what it decides elsewhere is in no run here
    own = {id(one) for one in run.own}
    names = {found[1] if (found := _OF.search(case.name)) else "" for case, _ in failed}
    products = [one for one in run.products if id(one.of) in own and one.of.name in names]
    if names != {one.of.name for one in products} or not all(iterates(run, one) and is_near(run, one) for one in products):
        return
    for _, one in failed:
        one.kind, one.opening = "undecided", f"{one.headline}. {CAUSE}"
    report.exit_code, report.written["verdict"] = 3, "undecided"


def iterates(run: Any, product: Product) -> bool:
    """Whether some operations repeat in the forward pass, round by round, until a result of a round is nearly that of the round before."""
    values = [run.memory.values[v] for v in product.of.results[-LONGEST:]]
    names = [one.name.partition("#")[0] for one in values]
    for length in range(1, len(names) // ROUNDS + 1):
        same = 0  # how many operations in a row are those of a round before
        for i in range(length, len(names)):
            same = same + 1 if names[i] == names[i - length] else 0
            if same >= (ROUNDS - 1) * length and is_settled(*(values[i - k * length].tensor for k in (2, 1, 0))):
                return True
    return False


def is_settled(first: torch.Tensor, second: torch.Tensor, third: torch.Tensor) -> bool:
    """Whether a result changed from one round to the next, and then by a small share of it at most."""
    if not third.is_floating_point() or any(one.shape != third.shape for one in (first, second)):
        return False
    return bool((first != second).any()) and apart(second, third) <= COARSE


def is_near(run: Any, product: Product) -> bool:
    """Whether the product agrees with PyTorch's derivative of the same operations at two other points, of which nothing is the same."""
    values, region = run.memory.values, product.of
    if product.surrogate is not None or not isinstance(product.cotangent, int) or region.results[product.result] == region.whole or any(one.writes for one in [*region.ran, *product.ran]):
        return False
    given = {v: values[v].tensor for v in region.operands if values[v].tensor.is_floating_point()}
    if any(values[v].kind in HALVES for v in given) or len(set(region.operands)) < len(region.operands):
        return False
    with contextlib.suppress(Exception), torch.random.fork_rng(devices=[]):  # of an operation that does not take other numbers, or other types
        torch.manual_seed(SEED)
        bar = values[product.cotangent].tensor
        again, _ = both(run, product, given, bar)
        if any(apart(one, values[v].tensor) > COARSE for v, one in zip(product.cotangents.values(), again)):
            return False  # of what is drawn, or was not seen
        is_double = any(one.dtype == torch.float64 for one in given.values())
        for share in (SHARE, -SHARE):
            for widens in (False, True):
                point = {v: moved(one, share).double() if widens else moved(one, share) for v, one in given.items()}
                most = DOUBLE if is_double else NEAR if widens else COARSE
                drawn = torch.randn(bar.shape, dtype=torch.float64 if widens else bar.dtype)
                pairs = [pair for k in FACTORS for pair in zip(*both(run, product, point, drawn * 2.0**k))]
                if any(not bool(torch.isfinite(torch.stack(pair)).all()) or not bool(pair[1].any()) or apart(*pair) > most for pair in pairs):
                    return False
        return True
    return False


def both(run: Any, product: Any, point: dict[int, torch.Tensor], bar: torch.Tensor) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The cotangents that the backward gives at a point, and the derivatives of the forward pass there."""
    region, values = product.of, run.memory.values
    known = {v: values[v].tensor for v in region.operands if v not in point}
    operands = [region.operands[k] for k in product.cotangents]
    leaves = {v: one.clone().requires_grad_(v in operands) for v, one in point.items()}
    with torch.enable_grad():
        forward = run_again(region.ran, known | leaves, bar.dtype == torch.float64)
        slopes = torch.autograd.grad(forward[region.results[product.result]], [leaves[v] for v in operands], bar)
    plain = {v: one.detach() for v, one in forward.items()}
    with torch.no_grad():
        backward = run_again(product.ran, plain | {product.cotangent: bar}, bar.dtype == torch.float64)
    return [backward[v] for v in product.cotangents.values()], list(slopes)


def moved(tensor: torch.Tensor, share: float) -> torch.Tensor:
    """A tensor a little nearer to 0 in each element; what is 0 moves away."""
    plain = tensor.detach()
    factor = (1 - share * (0.5 + 0.5 * torch.arange(7, dtype=torch.float64) / 7)).to(plain.real.dtype)
    return torch.where(plain == 0, share, plain * factor.repeat(plain.numel() // 7 + 1)[:plain.numel()].reshape(plain.shape))


def apart(a: Any, b: Any) -> float:
    """By which share gradients differ most, of numbers that are not small beside the others."""
    if a is None or b is None:
        return 0.0 if a is b else 1.0
    if a.shape != b.shape or not a.numel():
        return 0.0
    a, b = ((torch.view_as_real(one) if one.is_complex() else one).detach().double() for one in (a, b))
    is_sure = torch.isfinite(a) & torch.isfinite(b)
    size = torch.where(is_sure, b.abs(), 0.0)
    least = torch.clamp(torch.maximum(size, SMALL * size.max()), min=2.0**-100)
    return float(torch.where(is_sure, (a - b).abs() / least, 0.0).max())


__all__ = ["apart", "moved", "settled"]
