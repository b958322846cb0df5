"""Decisions of the program's own part of a backward pass by a cotangent.

A product is linear in its cotangent. Where a torch.autograd.Function or a hook compares, clips or reads its cotangent, it is so on both
sides of the threshold, or it is no product. PyTorch's own nodes decide nothing by cotangents, so they are not looked at.
"""
from __future__ import annotations

import sys
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction
from torch.utils._pytree import tree_leaves

from assay._core.vocabulary import ROWS

from .branches import FALSE, TRUE, Branch, Branching
from .nodes import REDUCTIONS
from .outside import HERE, TORCH, caller
from .ranges import RANGED
from .values import Region

MOVES = {"reshape", "permute", "slice", "concat", "pad", "gather", "expand", "place", "neg", "abs", "take"}  # finite where their operand is
SMOOTH = {row.name for row in ROWS.values() if row.smoothness in ("smooth", "singular")} | {"constant", "where", "take", *REDUCTIONS}
# What has pieces, but no threshold: which element is the largest, and what holds of finite numbers.
FREE = {"max", "amax", "min", "amin", "linalg_vector_norm", "norm", "nan_to_num"}
FINITE = {"isnan", "isinf", "isposinf", "isneginf"}  # what they say of a finite cotangent is no decision
READ = ("_local_scalar_dense", "equal", "is_nonzero", "item")  # which tell Python numbers
COUNTED = {"nonzero", "masked_select", "index"}  # whose results are as many as a mask has elements
LIKE = {"zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like", "new_zeros", "new_ones", "new_full", "new_empty"}  # which read a shape alone
SHOWN = "_tensor_str.py"  # what is printed decides nothing


def by_program() -> str:
    """Which line of the program's runs inside of a backward pass; empty, if it is a node of PyTorch's own."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if frame.f_code.co_name == "run_backward" and name.startswith(HERE) or name.endswith(SHOWN):
            return ""
        if not name.startswith((HERE, TORCH)):
            return caller()
        frame = frame.f_back
    return ""


class Deciding(Branching):
    """Notes which values a cotangent decides, and what the program decides by them."""

    def __init__(self, model: Any = None) -> None:
        self.arrived: set[int] = set()  # of what a cotangent decides (bars), what PyTorch computed, or moved since
        self.bent: list[str] = []  # decisions that have no threshold that is known
        self.bent_now: set[str] = set()
        super().__init__(model)

    def is_watched(self) -> bool:
        """Whether the program's own code runs in a backward pass. A checkpoint that is computed again was looked at in its forward pass."""
        return not self.frames.repeated and (isinstance(torch._C._current_autograd_node(), BackwardCFunction) or by_program() != "")

    def append(self, op: str, operands: Any, outputs: Any, results: list[int]) -> Region:
        region = super().append(op, operands, outputs, results)
        if self.in_backward() and self.bars.intersection(region.operands):
            self.spread(region)
        return region

    def spread(self, region: Region) -> None:
        """Which results a cotangent decides; what has pieces on the way is kept until the operation is noted."""
        is_bar, is_moved = [v in self.bars for v in region.operands], [v in self.arrived or v not in self.bars for v in region.operands]
        for node in region.nodes:
            at = node.get("operands", [])
            reads = any(is_bar[i] for i in at)
            kind = str(node.get("attributes", {}).get("to", "float"))
            is_smooth = node["op"] in SMOOTH or node["op"] == "cast" and kind.startswith(("float", "bfloat", "double"))
            if reads and not is_smooth:
                self.bent_now.add(node["op"])
            is_bar.append(reads)
            is_moved.append(not reads or node["op"] in MOVES and all(is_moved[i] for i in at))
        is_own = not by_program()
        for v, i in zip(region.results, region.outputs):
            if is_bar[i]:
                self.bars.add(v)
                if is_own or is_moved[i]:
                    self.arrived.add(v)

    def with_decisions(self, branches: list[Branch], call: Any, args: Any, values: list[int | None], results: list[Any]) -> list[Branch]:
        """The branches of an operation that ran; beside them, what else it decided by a cotangent is noted."""
        if self.bars:
            self.note_decisions(call.op, args, values, results)
        if call.op in RANGED or not self.ranges.keys().isdisjoint(v for v in values if v is not None):
            self.note_ranges(call.op, args, values, results)
        return branches

    def told(self, op: str, tensors: list[torch.Tensor], found: Any) -> Any:
        """Note the numbers that an operation told Python."""
        if op in READ and tensors and not isinstance(found, torch.Tensor):
            self.note_read("item" if op == "_local_scalar_dense" else op, tensors[0], found)
        return found

    def note_decisions(self, op: str, args: Any, values: list[int | None], results: list[Any]) -> None:
        """An operation ran: what it decided by a cotangent, if the program asked for it."""
        bent, self.bent_now = self.bent_now, set()
        read = [v for v in values if v in self.bars]
        if not read and not bent or op in LIKE or not self.in_backward() or not (place := by_program()):
            return
        tensors = [one for one in results if isinstance(one, torch.Tensor)]
        name = self.label(op)
        if op in FINITE or is_of_finite(op, args):
            if all(v in self.arrived for v in read):
                with self.aside():
                    self.bars.difference_update(self.value(one) for one in tensors if one.numel())
                return
        with self.aside():
            self.bars.update(self.value(one) for one in tensors if one.numel())  # of what has no region, too
        if not tensors:  # Python has it
            for one in results:
                self.note_outcome(name, place, [one] if isinstance(one, bool) else None)
        elif op in COUNTED and (masks := [one for one in tree_leaves(args) if isinstance(one, torch.Tensor) and one.dtype == torch.bool]):
            with self.aside():  # how many there are is seen by Python
                if self.value(masks[-1]) not in self.bars:
                    return
                self.note_outcome(name, place, [bool(masks[-1].any())] if bool(masks[-1].all()) or not bool(masks[-1].any()) else [])
        elif self.is_crossed:
            return
        elif tensors[0].dtype == torch.bool:
            with self.aside():
                self.note_outcome(name, place, [bool(tensors[0].any()), bool(tensors[0].all())])
        elif op in FREE and len(tensors) == 1 or not bent and all(one.is_floating_point() or one.is_complex() for one in tensors):
            return
        elif op == "sum" and not bent or op == "count_nonzero":
            return  # a count: what it is compared with is noted
        else:
            self.note_outcome(name, place, None)

    def note_outcome(self, name: str, place: str, outcomes: list[bool] | None) -> None:
        """Whether something holds of a cotangent; None: it is read in a way of which nothing tells what depends on it."""
        if outcomes is None:
            if f"{name} at {place}" not in self.bent:
                self.bent.append(f"{name} at {place}")
            return
        sides = {TRUE if one else FALSE for one in outcomes}
        self.branches.append(Branch(name, None, 0.0, 0.0, sides, (TRUE, FALSE), is_backward=True, place=place, is_of_cotangent=True))

    def note_read(self, op: str, tensor: Any, found: Any) -> None:
        """Python has a number of a tensor's, or a truth value."""
        if not self.bars or not self.in_backward() or not isinstance(tensor, torch.Tensor) or not (place := by_program()):
            return
        with self.aside():
            value = self.value(tensor)
        if value in self.bars:
            self.note_outcome(self.label(op.strip("_")), place, [found] if isinstance(found, bool) else [bool(found)] if op == "__bool__" else None)

    def note_taken(self, how: str, args: Any) -> None:
        """The program asks for a tensor's numbers in a way that runs no operation."""
        if how not in ("item", "float", "complex") and args:
            self.note_read(how, args[0], None)


def is_of_finite(op: str, args: Any) -> bool:
    """A comparison that every finite number answers alike: with infinities, or with itself."""
    if op not in ("eq", "ne", "lt", "le", "gt", "ge"):
        return False
    return args[0] is args[1] or isinstance(args[1], float) and abs(args[1]) == float("inf")
