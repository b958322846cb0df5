"""How far rounding errors may move the numbers of a function: measured, by errors that are put into each of its operations."""
from __future__ import annotations

import contextlib
from typing import Any, Callable, Sequence

import torch
from torch.utils._python_dispatch import TorchDispatchMode

UNITS, RUNS = 4.0, 8  # of the last place, by which each number is off at most; draws of such errors
# Operations that hand numbers on, without rounding. What compares them with their operands would see the error.
EXACT = {"abs", "amax", "amin", "cat", "clamp", "clamp_max", "clamp_min", "clone", "copy", "fill", "flip", "gather", "index", "index_select",
         "lift_fresh", "max", "maximum", "min", "minimum", "neg", "relu", "sign", "sort", "stack", "threshold", "topk", "where", "zero"}


def off(one: Any) -> Any:
    """Numbers that are off by a few units in the last place."""
    if not isinstance(one, torch.Tensor) or not one.is_floating_point():
        return one
    return one * (1 + UNITS * torch.finfo(one.dtype).eps * (2 * torch.rand(one.shape, dtype=torch.float64) - 1)).to(one.dtype)


class Rounded(TorchDispatchMode):
    """Each operation gives numbers that are off."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = function(*args, **(kwargs or {}))
        schema = function._schema
        if schema.name.partition("::")[2].rstrip("_") in EXACT or any(one.alias_info is not None for one in schema.returns):
            return found
        return type(found)(map(off, found)) if isinstance(found, (tuple, list)) else off(found)


def spread(run: Callable[[Sequence[Any]], Any], point: Sequence[Any], wanted: torch.Tensor) -> torch.Tensor:
    """By how much a tensor that `run` computes changes at most, in some runs whose inputs and operations are off by rounding errors."""
    most = torch.zeros_like(wanted, dtype=torch.float64)
    for _ in range(RUNS):
        inputs = [off(one.detach()).requires_grad_(one.requires_grad) if isinstance(one, torch.Tensor) else one for one in point]
        with contextlib.suppress(Exception), Rounded():  # of operations that do not take other results
            found = run(inputs)
            if found is not None and found.shape == wanted.shape:
                change = (found.detach().double() - wanted.detach().double()).abs()
                most = torch.maximum(most, torch.where(torch.isfinite(change), change, 0.0))
    return most


__all__ = ["spread"]
