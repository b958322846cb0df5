"""Steps with parameters that are 0 as a whole, as the last norm of a residual block begins: gradients behind them are 0, and show nothing.

The same step at other numbers for these parameters shows the same products with cotangents that are not 0.
"""
from __future__ import annotations

import contextlib
import random
from typing import Any, Callable, Iterable, Iterator, Mapping

import numpy
import torch

from .dead import dead_products, is_live, kind_of, take_back
from .backward import Recorder

SEED = 29


def zeros_among(model: torch.nn.Module | Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The parameters that are trained, and are 0 as a whole, by name."""
    named = model.named_parameters() if isinstance(model, torch.nn.Module) else model.items()
    return {name: one for name, one in named if one.requires_grad and one.is_leaf and one.is_floating_point() and one.numel() and not bool(one.detach().any())}


class Start:
    """Where a step begins: its generators of random numbers and buffers, and the gradients of its parameters."""

    def __init__(self, model: torch.nn.Module | Mapping[str, torch.Tensor], modules: Iterable[torch.nn.Module]) -> None:
        self.zeros = zeros_among(model)
        held = [*modules, *([model] if isinstance(model, torch.nn.Module) else [])] if self.zeros else []
        self.parameters = list({id(p): p for one in held for p in one.parameters()}.values()) + list(model.values() if isinstance(model, Mapping) else [])
        self.buffers = [(one, one.detach().clone()) for module in held for one in module.buffers()]
        self.generators = generators() if self.zeros else ()

    def elsewhere(self, run: Recorder, record: Callable[[], Recorder]) -> Recorder | None:
        """The step at other numbers, if it has products of zeros; nothing, if the program does not run twice."""
        if not self.zeros or all(is_live(run, one.cotangent) or not isinstance(one.cotangent, int) for one in run.products):
            return None
        with contextlib.suppress(Exception), self.again():
            return record()
        return None

    @contextlib.contextmanager
    def again(self) -> Iterator[None]:
        """The step may run again, at other numbers for parameters that were 0; then all is as it was."""
        now = [(one, one.detach().clone()) for one in (*self.zeros.values(), *(one for one, _ in self.buffers))]
        gradients, left = [(one, one.grad) for one in self.parameters if one.is_leaf], generators()
        drawn = torch.Generator().manual_seed(SEED)
        try:
            with torch.no_grad():
                for one in self.zeros.values():
                    one.copy_((0.5 + torch.rand(one.shape, generator=drawn)).to(one.dtype))
                for one, before in self.buffers:
                    one.copy_(before)
            for one, _ in gradients:
                one.grad = None
            restore(self.generators)
            yield
        finally:
            with torch.no_grad():
                for one, before in now:
                    one.copy_(before)
            for one, grad in gradients:
                one.grad = grad
            restore(left)


def generators() -> tuple[Any, ...]:
    return torch.random.get_rng_state(), numpy.random.get_state(), random.getstate()


def restore(states: tuple[Any, ...]) -> None:
    torch.random.set_rng_state(states[0])
    numpy.random.set_state(states[1])
    random.setstate(states[2])


def shown_at_other_numbers(run: Recorder, report: Any, zeros: Iterable[str], other: Recorder, second: Any) -> None:
    """Take back findings of dead products, if nothing else is open, and the step passes at other numbers for the parameters that are 0, with these products alive.

    `other` and `second`: the run at these numbers, and its report."""
    found = dead_products(run, report)
    others = [one for one in report.findings if one.kind in ("fail", "undecided", "unsupported", "error") and not any(one is dead for _, _, dead in found)]
    if not found or others or report.failed:
        return
    told_of(report, second, zeros)
    if not second.passed:
        return
    shown = {(one.of.name, kind_of(one.of)) for one in other.products}  # none of which is dead, if that run passed
    if all((run.regions[number].name, kind_of(run.regions[number])) in shown for number, _, _ in found):
        take_back(report, [(case, one) for _, case, one in found], f"{len(found)} of them are judged in a second run, with other numbers for {listed_names(zeros)}, which are 0")


def told_of(report: Any, second: Any, zeros: Iterable[str]) -> None:
    """Say in an undecided report what is wrong in the second run."""
    if second.failed:
        report.remark(f"with other numbers for {listed_names(zeros)}, which are 0, the run is wrong: {second.headline}")


def listed_names(zeros: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in zeros)


__all__ = ["Start", "listed_names", "shown_at_other_numbers", "told_of"]
