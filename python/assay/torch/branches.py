"""Where a run took one of several formulas: comparisons, clips and piecewise functions, and on which sides of their thresholds their operands lay."""
from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any, Callable

import torch
from torch.utils._pytree import tree_leaves

from .outside import Outside, caller
from .ranges import ALL, Range, range_of, reachable

BELOW, ABOVE, EQUAL, UNEQUAL = "below", "above", "equal to", "unequal to"
TRUE, FALSE = "true", "false"  # of a decision without a threshold
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
    place: str = ""  # the program's line, of a decision by a cotangent
    is_of_cotangent: bool = False
    is_own: bool = False  # of numbers that a torch.autograd.Function reads, or of its masks
    is_mild: bool = False  # named, if no element lay there, and no more
    is_of_finite: bool = False  # a question whether what was computed is finite, as guards ask
    line: str = ""  # the program's line, of a comparison of tensors in a torch.autograd.Function's passes
    spot: str = ""  # which instruction of a torch.autograd.Function's passes decides

    @property
    def missing(self) -> list[str]:
        return [one for one in self.wanted if one not in self.sides]

    def at(self, side: str) -> str:
        """One side in words."""
        where = f" at {self.place or self.line}" if self.place or self.line else ""
        return f"{self.name}, where it is {side}{where}" if side in (TRUE, FALSE) else f"{self.name}, {side} it{where}"


def clipped(x: Any, lowest: Any = None, highest: Any = None) -> list[Crossing]:
    return [(x, one) for one in (lowest, highest) if one is not None]


def softplus(x: Any, beta: float = 1, threshold: float = 20) -> list[Crossing]:
    return [(x, threshold / beta)] if beta else []


def far_apart(a: Any, b: Any, _: int = 1, delta: float = 1.0) -> list[Crossing]:
    return [((a - b).abs(), delta)]


def between(x: Any, at: Any) -> list[Crossing]:
    return [(x, one) for one in at.tolist()[:MOST_STEPS]] if at.dim() == 1 else []


def first_step(x: Any, *_: Any, **__: Any) -> list[Crossing]:
    return [(x.abs(), 1.0)]


def first_quotient(x: Any, y: Any, **options: Any) -> list[Crossing]:
    """Where a whole number of divisors first fits into an operand: of remainders, and of quotients that are rounded."""
    return [((x / y).abs(), 1.0)] if options.get("rounding_mode", "floor") is not None else []


def lengths(x: Any, p: Any = 2, *_: Any, **__: Any) -> list[Crossing]:
    """A norm's kink where an element is 0: a sum of squares has none."""
    return [(x, 0.0)] if float(p) % 2 != 0 or abs(float(p)) == float("inf") else []


def to_integers(x: Any, *, dtype: Any = None, **_: Any) -> list[Crossing]:
    return first_step(x) if dtype is not None and not (dtype.is_floating_point or dtype.is_complex or dtype is torch.bool) else []


MOST_STEPS = 16  # thresholds of one operation
STEPS = ("floor", "ceil", "trunc", "round", "_to_copy", "fmod", "remainder", "floor_divide", "div", "frac")  # to integers: noted in a Function's passes, if all are 0
SIGNS = ("sign", "sgn")  # which a Function's passes may decide by
LENGTHS = ("abs", "linalg_vector_norm", "norm")  # which have a kink at 0 that no other number need be near
OF_COTANGENTS = ("abs", "sign", "sgn", "nonzero")  # what has pieces, and is noted of cotangents alone
EXTREMES = ("maximum", "minimum", "fmax", "fmin")
TIES = ("eq", "ne", "nonzero", "isin")  # which ask whether two numbers are equal
# By the name of an operation: which of its operands are compared with what.
CROSSINGS: dict[str, Callable[..., list[Crossing]]] = {
    **dict.fromkeys(("relu", "leaky_relu", "elu", "celu", "_prelu_kernel"), lambda x, *_, **__: [(x, 0.0)]),
    "hardtanh": lambda x, lowest=-1.0, highest=1.0: clipped(x, lowest, highest), "clamp": lambda x, min=None, max=None: clipped(x, min, max),
    "relu6": lambda x: clipped(x, 0.0, 6.0), "clamp_min": lambda x, min: [(x, min)], "clamp_max": lambda x, max: [(x, max)],
    "threshold": lambda x, threshold, _: [(x, threshold)], "softplus": softplus,
    **dict.fromkeys(("hardswish", "hardsigmoid"), lambda x: clipped(x, -3.0, 3.0)),
    **dict.fromkeys(("hardshrink", "softshrink"), lambda x, lambd=0.5: clipped(x, -lambd, lambd)),
    "heaviside": lambda x, _: [(x, 0.0)], "isin": lambda x, at, **_: between(x, at.flatten()), "bucketize": lambda x, at, **_: between(x, at), "searchsorted": lambda at, x, **_: between(x, at),
    "huber_loss": far_apart, "smooth_l1_loss": far_apart,
    **dict.fromkeys(("floor", "ceil", "trunc", "frac"), first_step), **dict.fromkeys(("fmod", "remainder", "floor_divide"), first_quotient),
    "div": lambda x, y, rounding_mode=None: first_quotient(x, y, rounding_mode=rounding_mode), **dict.fromkeys(LENGTHS, lengths), "round": lambda x, **_: [(x.abs(), 0.5)], "_to_copy": to_integers,
    **dict.fromkeys(OF_COTANGENTS, lambda x, *_, **__: [(x, 0.0)]),
    **dict.fromkeys(("gt", "lt", "ge", "le", "eq", "ne", *EXTREMES), lambda x, y: [(x, y)]),
}

KINKED = {*CROSSINGS, "max", "amax", "min", "amin", "sort", "topk", "kthvalue", "median", "cummax", "cummin", "max_pool2d_with_indices", "adaptive_max_pool2d", "linalg_vector_norm",
          "norm", "fmod", "remainder", "where", "masked_fill", "index_put", "nan_to_num", "sgn", "sign", "frac", "logaddexp", "hypot", "rrelu_with_noise", "log_sigmoid_forward"}
TIED = {"max", "amax", "min", "amin", "sort", "topk", "kthvalue", "median", "cummax", "cummin", "max_pool2d_with_indices", "adaptive_max_pool2d", "linalg_vector_norm", "norm",
        "aminmax", "nanmedian", "mode", "argmax", "argmin", "argsort", "max_pool3d_with_indices", "adaptive_max_pool3d", "scatter_reduce", "dist", "_cdist_forward", "_pdist_forward",
        "huber_loss", "smooth_l1_loss", "multi_margin_loss", "fmod", "remainder", "hypot"}  # what has kinks where elements are equal, or lengths 0
BENT = (KINKED | TIED | {"copysign", "renorm", "grid_sampler_2d", "grid_sampler_3d", "binary_cross_entropy", "logit"}) - {"_to_copy", "div"}


def above_others(x: torch.Tensor, axes: Any = -1, *_: Any) -> torch.Tensor:
    """How far each element lies above the greatest of the others of its line."""
    axis = axes[0] if isinstance(axes, (list, tuple)) and len(axes) == 1 else axes
    top, at = x.topk(2, axis)
    return x - torch.where(torch.zeros_like(x, dtype=torch.bool).scatter(axis, at.narrow(axis, 0, 1), True), top.narrow(axis, 1, 1), top.narrow(axis, 0, 1))


# By the name of an operation that goes to a limit so fast that a float has it: by which number it changes most near 0.
SATURATING: dict[str, Callable[..., torch.Tensor]] = {
    **dict.fromkeys(("sigmoid", "tanh", "erf", "erfc", "silu", "gelu", "mish", "log_sigmoid_forward", "softplus"), lambda x, *_: x),
    **dict.fromkeys(("exp", "exp2", "expm1", "elu", "celu"), lambda x, *_: x.clamp(max=0)), "logaddexp": lambda x, y: x - y,
    **dict.fromkeys(("_softmax", "_log_softmax", "logsumexp"), above_others)}


def is_infinite(one: Any) -> bool:
    return isinstance(one, torch.Tensor) and one.is_floating_point() and bool(torch.isinf(one).all())


def sides_of_cotangent(op: str, x: torch.Tensor, away: torch.Tensor, at: float | None) -> set[str]:
    """Find the sides of a threshold that a cotangent met. An element that is 0 says nothing of other small cotangents, and lies on neither side.

    Only at the threshold 0 a comparison takes it to one side.
    """
    is_live = (x != 0).expand(away.shape) if at != 0 else away == away
    found = {side for side, hit in ((BELOW, away < 0), (ABOVE, away > 0), (UNEQUAL, away != 0)) if bool((hit & is_live).any())}
    if bool((away == 0).any()):
        found |= {EQUAL} | ({BELOW} if op in ("gt", "le") else {ABOVE} if op in ("lt", "ge") else set() if at == 0 else {BELOW, ABOVE} & found)
    return found


class Branching(Outside):
    """Notes the branches of the forward pass."""

    def __init__(self, model: Any = None) -> None:
        self.branches: list[Branch] = []
        self.ranges: dict[int, Range] = {}  # of values whose elements lie between numbers whatever the inputs are
        self.own: list[Any] = []  # regions of torch.autograd.Functions
        self.bends: set[str] = set()  # operations with kinks that passes of such run on what inputs decide
        self.bars: set[int] = set()  # what a cotangent decides
        self.saturating = list[tuple[str, str, torch.Tensor]]()  # in Functions, operands of functions with limits: which instruction, its words, and how far from where it changes
        self.rolled: set[int] = set()  # random numbers that forward passes of Functions drew
        self.is_crossed = False  # whether the thresholds of the operation that runs are known
        super().__init__(model)

    def note_branches(self, op: str, args: Any, kwargs: Any, values: list[int | None]) -> list[Branch]:
        """The branches of an operation that is about to run, if what it compares depends on something that has a gradient.

        What the backward pass compares is PyTorch's own, but in a Function's backward, and in hooks.
        """
        self.is_crossed = False
        if op in BENT and op not in self.bends and not self.decided.isdisjoint(values) and self.in_function():
            self.bends.add(op)
        if op in SATURATING and not self.in_backward() and not self.depending.isdisjoint(values) and self.in_function():
            with self.aside(), contextlib.suppress(TypeError, RuntimeError, IndexError):
                self.saturating.append((self.spot(), f"{self.label(op)} at {self.in_function()}", SATURATING[op](*args).detach().double().clone()))
        if op not in CROSSINGS or self.in_backward() and not self.is_watched():
            return []
        is_backward = self.in_backward()
        is_bar, place = is_backward and any(v in self.bars for v in values), ""
        is_rolled = not is_backward and any(v in self.rolled for v in values)
        is_passed = is_backward or bool(self.in_function())
        if op in (*STEPS, *SIGNS, *LENGTHS) and not (is_passed or is_bar) or op in STEPS and is_bar:
            return []
        decides = self.decided if is_passed else self.depending
        if not is_bar and (op in OF_COTANGENTS and op not in (*SIGNS, *LENGTHS) or not is_rolled and decides.isdisjoint(values)):
            return []
        if is_bar:
            place = caller()
        found = []
        with self.aside():
            try:
                crossings = CROSSINGS[op](*args, **kwargs)
            except (TypeError, RuntimeError):
                return []
            self.is_crossed = True
            for x, threshold in crossings:
                if x is threshold or not isinstance(x, torch.Tensor) or not (x.is_floating_point() or is_passed and not x.is_complex()) or not x.numel():
                    continue
                x = x if x.is_floating_point() else x.double()
                at = None if isinstance(threshold, torch.Tensor) and threshold.numel() != 1 else float(threshold)
                away = x - threshold
                sides = {side for side, hit in ((BELOW, away < 0), (ABOVE, away > 0), (EQUAL, away == 0)) if bool(hit.any())}
                wanted: tuple[str, ...] = (EQUAL,) if op in TIES else (ABOVE,) if op in STEPS else (BELOW, ABOVE)
                if at is not None and not is_bar and x is args[0] and wanted == (BELOW, ABOVE):
                    wanted = reachable(op, at, self.ranges.get(values[0], ALL), (BELOW, EQUAL, ABOVE))  # type: ignore[arg-type]
                elif op in EXTREMES and at is None and any(is_infinite(one) and v not in self.decided | self.bars for one, v in zip(args, values)):
                    continue  # as the first of running maxima: the other one is taken
                if is_bar:
                    sides, wanted = sides_of_cotangent(op, x, away, at), (EQUAL, UNEQUAL) if op in TIES else wanted
                if at is None or abs(at) < (0.999999 * torch.finfo(x.dtype).max if is_bar else float("inf")):
                    name = f"{self.label(op)} at {'another tensor' if at is None or is_bar and isinstance(threshold, torch.Tensor) else f'{at:.6g}'}"
                    found.append(Branch(name, at, float(x.min()), float(x.max()), sides, wanted, None, is_backward, place, is_bar))
        for one in found if found and not is_bar else []:
            one.spot, one.is_own, one.line, one.is_mild = self.spot(), is_rolled, self.in_function() or caller(), op in LENGTHS
        self.branches += found
        return found

    def note_ranges(self, op: str, args: Any, values: list[int | None], results: list[Any]) -> None:
        """Between which numbers the results of an operation lie."""
        of = dict(zip((id(one) for one in tree_leaves(args) if isinstance(one, torch.Tensor)), values))
        within = range_of(op, args, lambda one: self.ranges.get(of.get(id(one)), ALL))  # type: ignore[arg-type]
        if within != ALL:
            self.ranges.update((mark[1], within) for one in results if isinstance(one, torch.Tensor) and one.is_floating_point() and (mark := self.memory.newest(one)) is not None)

    def spot(self) -> str:
        """The instruction that runs in a Function's forward or backward pass; empty elsewhere."""
        raise NotImplementedError

    def in_function(self) -> str:
        """The program's line, inside of a Function's forward or backward pass; empty elsewhere."""
        raise NotImplementedError

    def is_watched(self) -> bool:
        """Whether what runs in a backward pass is the program's."""
        raise NotImplementedError

    def in_own(self, branch: Branch) -> bool:
        """Whether a torch.autograd.Function computed it: nothing else tells what its backward does there."""
        return branch.is_backward or branch.is_own or any(branch.result in one.results for one in self.own)

