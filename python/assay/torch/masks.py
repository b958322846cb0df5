"""Conditions of a Function's that hold at once: each may have been met where all of them were not.

A comparison gives a mask. What is made of several masks (`&`, products, a `where` inside of another one) is a branch of its own: some element has to
lie where it holds. What is asked for equality, or for NaN, is met by draws of its own, and is left out.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from .branches import FALSE, TRUE, Branch
from .cotangents import FINITE, is_of_finite
from .reads import MOVED, Reading

EQUALITIES = ("eq", "ne")
FLIPPED = {"gt": "lt", "lt": "gt", "ge": "le", "le": "ge"}
COMPARED = tuple(FLIPPED)
CUT = ("relu", "hardshrink", "softshrink", "threshold", "heaviside", "clamp_min", "floor", "trunc", "round")  # 0 on one side of a threshold
ALL_OF, ANY_OF = ("bitwise_and", "logical_and", "mul", "minimum"), ("bitwise_or", "logical_or", "maximum")  # of two operands
ALL_ALONG, ANY_ALONG = ("all", "prod", "amin"), ("any", "amax")  # of one
KEPT = {*MOVED, "_to_copy", "sqrt", "square", "pow", "sum", "mean", "cumsum", "roll", "index_select", "gather", "repeat", "div", "unbind", "split", "stack", "cat", "bitwise_not",
        "logical_not", "rsub"}  # of what is 0 where a condition does not hold, or is all but that
CHOSEN = ("where", "masked_fill", "masked_scatter", "index_put")
CUTTING = ("mul", "where", "masked_fill")
MOST_WAYS = 16
INF = float("inf")


Bounds = dict[Any, tuple[float, float]]  # by what is compared: between which numbers it lies


@dataclass
class Way:
    """Where one of several formulas is taken, and what holds there."""

    holds: torch.Tensor
    bounds: Bounds


def joined(a: Bounds, b: Bounds) -> Bounds:
    return a | {key: (max(low, a[key][0]), min(high, a[key][1])) if key in a else (low, high) for key, (low, high) in b.items()}


def is_empty(bounds: Bounds) -> bool:
    """Whether no number but one lies within: conditions that exclude each other need not be met at once."""
    return any(low >= high for low, high in bounds.values())


def elsewhere(bounds: Bounds) -> Bounds:
    """Where a single comparison does not hold; of several nothing is known."""
    found = {key: (high, INF) if low == -INF else (-INF, low) for key, (low, high) in bounds.items() if -INF in (low, high) or INF in (low, high)}
    return found if len(bounds) == 1 else {}


class Masking(Reading):
    """Notes where several conditions of a Function's hold at once."""

    def __init__(self, model: Any = None) -> None:
        self.masked: set[int] = set()  # values that are 0 where a condition by an input does not hold
        self.equal: set[int] = set()  # values that say where numbers are equal
        self.ways: dict[int, list[Way]] = {}  # of values that conditions chose: where each of the ways is taken
        self.bounds: dict[int, Bounds] = {}  # what holds where a mask does
        super().__init__(model)

    def with_decisions(self, branches: list[Branch], call: Any, args: Any, values: list[int | None], results: list[Any]) -> list[Branch]:
        found = super().with_decisions(branches, call, args, values, results)
        operands = {id(one): v for one, v in zip((one for one in tree_leaves(args) if isinstance(one, torch.Tensor)), values)}
        if (call.op in (*COMPARED, *CUT, *EQUALITIES, *FINITE) or is_of_finite(call.op, args)) or any(v in self.masked or v in self.ways or v in self.equal for v in operands.values()):
            given = [one for one in results if isinstance(one, torch.Tensor) and one.numel()]
            of = [v for one in given if (v := self.memory.marked(one, self.history(one))) is not None]
            if of and self.in_function():
                with self.aside():
                    self.note_masks(call.op, args, operands, given, of)
        return found

    def note_masks(self, op: str, args: Any, operands: dict[int, int | None], results: list[torch.Tensor], of: list[int]) -> None:
        """Note the masks that an operation on masks gave."""
        tensors = [one for one in tree_leaves(args) if isinstance(one, torch.Tensor)]
        if op in CUTTING and (within := self.range_of_cut(op, args, operands)) is not None:
            self.ranges[of[0]] = within
        if op in FINITE or is_of_finite(op, args):
            if of[0] in self.decided - self.bars:
                self.note_joint(op, results[0], not bool(results[0].all()), {}, is_mild=True)  # the answer that no finite number gives
            return
        if op in EQUALITIES:
            self.equal.update(v for v in of if v in self.decided - self.bars)
            return
        if op in ALL_ALONG and operands[id(tensors[0])] in self.equal and tensors[0].numel() > results[0].numel():
            self.note_joint(op, results[0] != 0, True, {})
        known = [v for one in tensors if (v := operands[id(one)]) is not None and v in self.masked]
        if op in (*COMPARED, *CUT):
            if any(operands[id(one)] in self.decided - self.bars for one in tensors):
                self.masked.update(of)
                self.bounds[of[0]] = self.bounds_of(op, args, operands)
            return
        if op in CHOSEN:
            return self.note_choices(op, args, operands, results, of)
        bounds = self.bounds.get(known[0], {}) if known else {}
        if op in (*ALL_OF, *ANY_OF) and len(known) == 2 and known[0] != known[1]:
            both = [bounds, self.bounds.get(known[1], {})]
            bounds = joined(*(both if op in ALL_OF else map(elsewhere, both)))
            self.note_joint(op, results[0] != 0, op in ALL_OF, bounds)
            bounds = bounds if op in ALL_OF else elsewhere(bounds)
        elif op in (*ALL_ALONG, *ANY_ALONG) and known and tensors[0].numel() > results[0].numel() > 0:
            self.note_joint(op, results[0] != 0, op in ALL_ALONG, {})
        if known and (op in (*ALL_OF, *ANY_OF, *ALL_ALONG, *ANY_ALONG) or op in KEPT):
            self.masked.update(of)
            self.bounds[of[0]] = elsewhere(bounds) if op in ("bitwise_not", "logical_not", "rsub") else bounds
        ways = [self.ways[v] for one in tensors if (v := operands[id(one)]) in self.ways]
        if len(ways) == 1 and results[0].shape == ways[0][0].holds.shape:
            self.ways.update((v, ways[0]) for v in of)

    def range_of_cut(self, op: str, args: Any, operands: dict[int, int | None]) -> tuple[float, float] | None:
        """Between which numbers a tensor lies that keeps its elements where they are on one side of a threshold: `x * (x > 0)`, `where(x > 0, x, 0)`."""
        def number_of(one: Any) -> float | None:
            is_constant = isinstance(one, torch.Tensor) and one.dim() == 0 and not one.is_complex() and operands.get(id(one)) not in self.decided | self.bars
            return float(one) if is_constant or isinstance(one, (int, float)) else None
        mask, kept, other = cut_by(op, args)
        by = operands.get(id(mask)) if isinstance(mask, torch.Tensor) and mask.dtype == torch.bool else None
        bounds = self.bounds.get(by, {}) if by is not None else {}
        if (number := number_of(other)) is None and (number := number_of(kept)) is not None:
            kept, bounds = other, elsewhere(bounds)
        within = bounds.get(operands.get(id(kept)))
        return None if within is None or number is None else (min(within[0], number), max(within[1], number))

    def bounds_of(self, op: str, args: Any, operands: dict[int, int | None]) -> Bounds:
        """Of a comparison with a number, or of two tensors by their difference."""
        if op not in COMPARED or len(args) < 2 or not isinstance(args[0], torch.Tensor):
            return {}
        x, at = operands[id(args[0])], args[1]
        key: Any = x
        if isinstance(at, torch.Tensor) and operands.get(id(at)) in self.decided | self.bars:
            y = operands[id(at)]
            key, at, op = (min(x or 0, y or 0), max(x or 0, y or 0)), 0.0, op if (x or 0) <= (y or 0) else FLIPPED[op]
        if isinstance(at, torch.Tensor) and at.numel() != 1:
            return {}
        return {key: (float(at), INF) if op in ("gt", "ge") else (-INF, float(at))}

    def note_choices(self, op: str, args: Any, operands: dict[int, int | None], results: list[torch.Tensor], of: list[int]) -> None:
        """A choice by a condition: of what other conditions chose, each way is one of its own."""
        found = chosen(op, args)
        by = operands.get(id(found[0])) if found is not None else None
        if found is None or by is None or by not in self.masked:
            return
        condition, first, second = found
        shape, ways, bounds = results[0].shape, list[Way](), self.bounds.get(by, {})
        for one, holds, known in ((first, condition, bounds), (second, ~condition, elsewhere(bounds))):
            holds, value = holds.reshape([*holds.shape, *[1] * (len(shape) - holds.dim())] if op == "index_put" else holds.shape).expand(shape), operands.get(id(one))
            if one is None or value is None and is_nothing(one):
                continue
            before = [way for way in self.ways.get(value, []) if way.holds.shape == shape] if value is not None else []
            if not before and value in self.masked and isinstance(one, torch.Tensor) and value is not None:
                before = [Way((one != 0).expand(shape), self.bounds.get(value, {}))]
            for way in before:
                both = Way(way.holds & holds, joined(way.bounds, known))
                if not (torch.equal(way.holds, holds) or torch.equal(way.holds, ~holds)):  # the same condition, asked twice
                    self.note_joint(f"{op} of what another condition chose", both.holds, True, both.bounds)
                ways.append(both)
            if not before and not is_nothing(one):
                ways.append(Way(holds, known))
        if op != "index_put" and (is_nothing(first) or is_nothing(second)):
            self.masked.update(of)
            self.bounds[of[0]] = bounds if is_nothing(second) else elsewhere(bounds)
        if ways:
            self.ways.update((v, ways[:MOST_WAYS]) for v in of)

    def note_joint(self, op: str, holds: torch.Tensor, is_all: bool, bounds: Bounds, is_mild: bool = False) -> None:
        """Whether several conditions hold somewhere at once, or somewhere none of them; not where they exclude each other."""
        if is_empty(bounds):
            return
        sides = ({TRUE} if bool(holds.any()) else set()) | (set() if bool(holds.all()) else {FALSE})
        self.branches.append(Branch(self.label(op), None, 0.0, 0.0, sides, (TRUE,) if is_all else (FALSE,), is_backward=self.in_backward(), place=self.in_function(),
                                    is_own=True, is_mild=is_mild, is_of_finite=is_mild, spot=self.spot()))


def cut_by(op: str, args: Any) -> tuple[Any, Any, Any]:
    """A mask, what stands where it holds, and what stands elsewhere."""
    if op == "mul":
        x, mask = args if isinstance(args[1], torch.Tensor) and args[1].dtype == torch.bool else (args[1], args[0])
        return mask, x, 0
    return (args[1], args[2], args[0]) if op == "masked_fill" else args[:3] if len(args) > 2 else (None, None, None)


def chosen(op: str, args: Any) -> tuple[torch.Tensor, Any, Any] | None:
    """The condition, what is taken where it holds, and what elsewhere."""
    if op == "where" and len(args) == 3:
        return args[0], args[1], args[2]
    if op in ("masked_fill", "masked_scatter"):
        return args[1], args[2], args[0]
    if op == "index_put" and len(args[1]) == 1 and args[1][0] is not None and args[1][0].dtype == torch.bool:
        return args[1][0], args[2], None  # what was there may be written everywhere
    return None


def is_nothing(one: Any) -> bool:
    """Whether a way is that of zeros."""
    return not bool(one.any()) if isinstance(one, torch.Tensor) else one == 0


__all__ = ["Masking"]
