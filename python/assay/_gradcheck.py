"""Decides whether gradients of PyTorch functions are right, in float32 as they run, without finite differences."""
from __future__ import annotations

from typing import Any, Callable, Iterable, Mapping, Sequence

import torch
from torch.autograd import forward_ad

from . import _arguments
from .errors import Rejected, UsageError, wrong
from .torch import Refused, Report, judge, record


class GradcheckError(Rejected, AssertionError):
    """A gradient is wrong, or could not be decided. `report` is what the gate found."""

    def __init__(self, message: str, report: Report) -> None:
        super().__init__(message)
        self.report = report


DRAWS = 24  # of inputs that are given as shapes


def tensors_of(inputs: Any, scale: float) -> list[Any]:
    """The inputs; what is a shape is drawn, with this scale."""
    given = list(inputs) if isinstance(inputs, (tuple, list)) and not is_shape(inputs) else [inputs]
    return [(torch.randn(tuple(one)) * scale).requires_grad_() if is_shape(one) else one for one in given]


def is_shape(one: Any) -> bool:
    return isinstance(one, torch.Size) or isinstance(one, (tuple, list)) and all(isinstance(n, int) and not isinstance(n, bool) for n in one)


def recorded(function: Callable[..., Any], inputs: Sequence[Any], params: Mapping[str, torch.Tensor], second: bool) -> Report:
    """One forward pass, and one backward pass from random cotangents of all results; if second, one more from random cotangents of the gradients."""
    named = dict(params) | {f"input {i}": one for i, one in enumerate(inputs) if isinstance(one, torch.Tensor) and one.is_leaf}
    inside = [one if not isinstance(one, torch.Tensor) or one.is_leaf else one.detach().requires_grad_(one.requires_grad) for one in inputs]
    wanted = [one for one in [*inside, *params.values()] if isinstance(one, torch.Tensor) and one.requires_grad]
    if not wanted:
        raise UsageError("nothing to check", where="inputs", why="no input and no parameter requires a gradient", advice="call requires_grad_() on those that are meant")
    with record(named) as run:
        found = function(*inside)
        ends = [y for y in (found if isinstance(found, (tuple, list)) else [found]) if isinstance(y, torch.Tensor) and y.requires_grad]
        if not ends:
            raise UsageError("nothing to check", where="func", why="no result of the function depends on what requires a gradient")
        drawn = [torch.randn(real_of(y).shape, dtype=real_of(y).dtype).requires_grad_(second) for y in ends]
        known = list(wanted)
        if second:
            wanted += [run.input(f"cotangent {i}", one) for i, one in enumerate(drawn)]
        total = torch.stack([(real_of(y) * one).sum() for y, one in zip(ends, drawn)]).sum()
        slopes = [g for g in torch.autograd.grad(total, known, allow_unused=True, create_graph=second) if g is not None and g.requires_grad]
        if second and not slopes:
            raise UsageError("nothing to check", where="check_grad_grad", why="the backward pass of the function cannot be differentiated")
        if second:
            torch.autograd.grad(torch.stack([(real_of(g) * torch.randn(real_of(g).shape, dtype=real_of(g).dtype)).sum() for g in slopes]).sum(), wanted, allow_unused=True)
    if second:  # what a Function saved of its own is not meant to stop a second derivative
        run.cut -= run.inside
    return judge(run)


def recorded_forward(function: Callable[..., Any], inputs: Sequence[Any], params: Mapping[str, torch.Tensor]) -> Report:
    """One forward pass, along random tangents of all inputs that require a gradient."""
    plain = [one.detach().clone() if isinstance(one, torch.Tensor) else one for one in inputs]
    named = dict(params) | {f"input {i}": one for i, one in enumerate(plain) if isinstance(one, torch.Tensor)}
    with record(named) as run, forward_ad.dual_level():
        moving = [isinstance(one, torch.Tensor) and one.requires_grad for one in inputs]
        duals = [forward_ad.make_dual(one, torch.randn_like(one)) if moves else one for one, moves in zip(plain, moving)]
        found = function(*duals)
        ends = [y for y in (found if isinstance(found, (tuple, list)) else [found]) if isinstance(y, torch.Tensor)]
        for y in ends:
            forward_ad.unpack_dual(y)
    return judge(run)


def real_of(y: torch.Tensor) -> torch.Tensor:
    """The parts of complex numbers."""
    return torch.view_as_real(y) if y.is_complex() else y


def is_dead(report: Report) -> bool:
    return any(one["rule"] == "gradient.dead" for one in report.findings)


def gradcheck(func: Callable[..., Any], inputs: Any, *, params: Mapping[str, torch.Tensor] | Iterable[torch.Tensor] | None = None,
              raise_exception: bool = True, seed: int | None = 0, check_grad_grad: bool = False, check_forward_ad: bool = False, **_: Any) -> bool:
    """Whether the gradients of `func` at `inputs` are its derivatives; as `torch.autograd.gradcheck`, but in float32 and without a step size.

    `inputs` are tensors, taken as they are, or shapes, which are drawn (again, at several scales, until no cotangent is 0 everywhere).
    `params` are tensors that the function reads besides, as those of a module. What `torch.autograd.gradcheck` takes for its differences
    (`eps`, `atol`, `rtol`, `fast_mode`, ...) is accepted and means nothing. A result that is undecided is not right: it raises, too.

    With `check_grad_grad` the gradients are differentiated once more, as `torch.autograd.gradgradcheck` does, and both passes are judged.
    With `check_forward_ad` the function is also run in forward mode, along random tangents of its inputs (parameters stay where they are),
    and the tangents that it gives are judged.
    """
    _arguments.function("func", func)
    if params is not None and (not isinstance(params, Iterable) or isinstance(params, torch.Tensor)):
        raise wrong("params", "tensors, or tensors by name", params)
    params = params if isinstance(params, Mapping) else [] if params is None else list(params)
    if not all(isinstance(one, torch.Tensor) for one in (params.values() if isinstance(params, Mapping) else params)):
        raise wrong("params", "tensors, or tensors by name", params)
    named = params if isinstance(params, Mapping) else {f"parameter {i}": one for i, one in enumerate(params)}
    drawn = any(is_shape(one) for one in (inputs if isinstance(inputs, (tuple, list)) and not is_shape(inputs) else [inputs]))
    with torch.random.fork_rng(enabled=seed is not None):
        if seed is not None:
            torch.manual_seed(seed)
        for draw in range(DRAWS if drawn else 1):
            given = tensors_of(inputs, 2.0 ** ((draw + 1) // 2 * (-1) ** draw / 2))
            report = recorded(func, given, named, check_grad_grad)
            if check_forward_ad and report.passed:
                report = recorded_forward(func, given, named)
            if report.failed or not is_dead(report):
                break
    if report.passed:
        return True
    if raise_exception:
        raise GradcheckError(report.text or "no report", report)
    return False


__all__ = ["GradcheckError", "Refused", "gradcheck"]
