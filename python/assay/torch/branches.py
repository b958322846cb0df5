"""Where a run took one of several formulas: comparisons, clips and piecewise functions, and on which sides of their thresholds their operands lay."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

import torch
from torch.autograd.function import BackwardCFunction

from .outside import Outside

BELOW, ABOVE, EQUAL = "below", "above", "equal to"
Crossing = tuple[Any, Any]  # an operand, and the threshold that it is compared with: a number or a tensor


@dataclass
class Branch:
    """A threshold of one operation of a run: which sides of it had elements, in all elements `lowest` to `highest`."""

    name: str
    threshold: float | None  # None: another tensor
    lowest: float
    highest: float
    sides: set[str]
    wanted: tuple[str, ...]
    result: int | None = None  # a value that the operation gave
    is_backward: bool = False  # of a torch.autograd.Function's backward

    @property
    def missing(self) -> list[str]:
        return [one for one in self.wanted if one not in self.sides]


def clipped(x: Any, lowest: Any = None, highest: Any = None) -> list[Crossing]:
    return [(x, one) for one in (lowest, highest) if one is not None]


def softplus(x: Any, beta: float = 1, threshold: float = 20) -> list[Crossing]:
    return [(x, threshold / beta)] if beta else []


def far_apart(a: Any, b: Any, _: int = 1, delta: float = 1.0) -> list[Crossing]:
    return [((a - b).abs(), delta)]


# By the name of an operation: which of its operands are compared with what.
CROSSINGS: dict[str, Callable[..., list[Crossing]]] = {
    **dict.fromkeys(("relu", "leaky_relu", "elu", "celu", "_prelu_kernel"), lambda x, *_, **__: [(x, 0.0)]),
    "hardtanh": lambda x, lowest=-1.0, highest=1.0: clipped(x, lowest, highest), "clamp": lambda x, min=None, max=None: clipped(x, min, max),
    "relu6": lambda x: clipped(x, 0.0, 6.0), "clamp_min": lambda x, min: [(x, min)], "clamp_max": lambda x, max: [(x, max)],
    "threshold": lambda x, threshold, _: [(x, threshold)], "softplus": softplus,
    **dict.fromkeys(("hardswish", "hardsigmoid"), lambda x: clipped(x, -3.0, 3.0)),
    **dict.fromkeys(("hardshrink", "softshrink"), lambda x, lambd=0.5: clipped(x, -lambd, lambd)),
    "huber_loss": far_apart, "smooth_l1_loss": far_apart,
    **dict.fromkeys(("gt", "lt", "ge", "le", "eq", "ne", "maximum", "minimum", "fmax", "fmin"), lambda x, y: [(x, y)]),
}


class Branching(Outside):
    """Notes the branches of the forward pass."""

    def __init__(self, model: Any = None) -> None:
        self.branches: list[Branch] = []
        self.own: list[Any] = []  # regions of torch.autograd.Functions
        super().__init__(model)

    def note_branches(self, op: str, args: Any, kwargs: Any, values: list[int | None]) -> list[Branch]:
        """The branches of an operation that is about to run, if what it compares depends on something that has a gradient.

        What the backward pass compares is PyTorch's own, but in a Function's backward.
        """
        is_backward = isinstance(torch._C._current_autograd_node(), BackwardCFunction)
        if self.in_backward() and not is_backward or op not in CROSSINGS or not self.depending.intersection(v for v in values if v is not None):
            return []
        found = []
        with self.aside():
            try:
                crossings = CROSSINGS[op](*args, **kwargs)
            except (TypeError, RuntimeError):
                return []
            for x, threshold in crossings:
                if not isinstance(x, torch.Tensor) or not x.is_floating_point() or not x.numel():
                    continue
                at = None if isinstance(threshold, torch.Tensor) and threshold.numel() != 1 else float(threshold)
                away = x - threshold
                sides = {side for side, hit in ((BELOW, away < 0), (ABOVE, away > 0), (EQUAL, away == 0)) if bool(hit.any())}
                wanted = (EQUAL,) if op in ("eq", "ne") else (BELOW, ABOVE)
                if at is None or abs(at) != float("inf"):
                    found.append(Branch(f"{self.label(op)} at {'another tensor' if at is None else f'{at:.6g}'}", at, float(x.min()), float(x.max()), sides, wanted, is_backward=is_backward))
        self.branches += found
        return found

    def in_own(self, branch: Branch) -> bool:
        """Whether a torch.autograd.Function computed it: nothing else tells what its backward does there."""
        return branch.is_backward or any(branch.result in one.results for one in self.own)

