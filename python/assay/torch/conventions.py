"""Derivatives of PyTorch's own differentiation in place of a torch.autograd.Function's backward: its conventions at kinks."""
from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any, Mapping, Sequence

import torch
from torch.autograd.function import BackwardCFunction
from torch.utils._pytree import tree_flatten, tree_unflatten

from .joins import Joins, Product
from .lowering import listed
from .memory import LEAF, bits
from .nodes import HALVES


@dataclass
class Ran:
    """An operation of a forward pass: how it is run again, on the values under `operands` by the place of their tensors, and what it gave."""

    function: Any
    op: str
    flat: list[Any]
    spec: Any
    operands: dict[int, int]
    results: list[tuple[int, int]]  # a place among its results, a value
    writes: bool


def dense(found: Any) -> list[tuple[int, torch.Tensor]]:
    return [(i, one) for i, one in enumerate(listed(found)) if isinstance(one, torch.Tensor) and one.numel()]


def run_again(every: Sequence[Ran], known: Mapping[int, torch.Tensor], widens: bool) -> dict[int, torch.Tensor]:
    """Return the values that operations give for other operands; in float64, if `widens`."""
    found = dict(known)
    for one in every:
        flat = [torch.float64 if widens and given is torch.float32 else given for given in one.flat]
        for at, v in one.operands.items():
            flat[at] = found[v]
        args, kwargs = tree_unflatten(flat, one.spec)
        results = dict(dense(one.function(*args, **kwargs)))
        found |= {v: results[at] for at, v in one.results}
    return found


class Conventions(Joins):
    """Runs the forward operations of a Function again, and differentiates them, beside each product of its backward.

    Where that cannot be done (operations in place, complex numbers, 16 bits, a tensor that is given twice), the product declares no convention.
    """

    def __init__(self, model: Any = None, *, asks_convention: bool = False) -> None:
        self.asks_convention, self.repeats = asks_convention, False
        self.ran = list[Ran]()  # the operations of the backward of a Function that runs
        super().__init__(model)

    def run(self, function: Any, op: str, args: Any, kwargs: Any, tensors: list[torch.Tensor], writes: list[str]) -> Any:
        before = len(self.regions)
        returned = super().run(function, op, args, kwargs, tensors, writes)
        if torch.is_grad_enabled() or self.in_backward() and not isinstance(torch._C._current_autograd_node(), BackwardCFunction):
            return returned
        flat, spec = tree_flatten((args, kwargs))
        operands = {i: mark[1] for i, one in enumerate(flat) if isinstance(one, torch.Tensor) and (mark := self.memory.newest(one)) is not None}
        results = [(i, mark[1]) for i, one in dense(returned) if (mark := self.memory.newest(one)) is not None]
        ran = Ran(function, op, [None if i in operands else one for i, one in enumerate(flat)], spec, operands, results, bool(writes))
        for one in [self.ran] if self.in_backward() else [region.ran for region in self.regions[before:]]:
            one.append(ran)
        return returned

    def note_branches(self, *args: Any, **kwargs: Any) -> Any:
        return [] if self.repeats else super().note_branches(*args, **kwargs)

    def note_convention(self, product: Product) -> None:
        """Of a Function's product: what the engine gives for its forward operations, from the same cotangent."""
        product.is_own = False
        operands = [product.of.operands[k] for k in product.cotangents]
        is_plain = isinstance(product.cotangent, int) and len(set(operands)) == len(operands)
        if not self.asks_convention or self.passes[-1].creates or not is_plain or any(one.writes for one in product.of.ran):
            return
        self.repeats = True
        try:
            with contextlib.suppress(Exception), torch.random.fork_rng(devices=[]), self.in_hook(), torch.enable_grad():
                product.convention = self.repeated(product, operands)
        finally:
            self.repeats = False

    def repeated(self, product: Product, operands: list[int]) -> dict[int, int] | None:
        y, known = product.of.results[product.result], {v: self.held(v, LEAF) for v in operands}
        leaves = [known[v] for v in operands]
        for one in product.of.ran:
            if not any(v in known for v in one.operands.values()):
                continue
            is_double = any(known[v].dtype == torch.float64 for v in one.operands.values() if v in known)
            if is_double and (one.op == "hardsigmoid" or one.op == "elu" and len(one.flat) > 3 and one.flat[3] != 1):
                return None  # backward kernels that hold float32 numbers: hardsigmoid's 1/6, and 1 over celu's factor
            flat = list(one.flat)
            for at, v in one.operands.items():
                flat[at] = known[v] if v in known else self.held(v, None)
            args, kwargs = tree_unflatten(flat, one.spec)
            found = dict(dense(one.function(*args, **kwargs)))
            for at, v in one.results:
                if bits(self.memory.values[v].tensor) != bits(found[at]):
                    return None  # of random numbers
                known[v] = found[at]
        assert isinstance(product.cotangent, int)
        end = known[y] if y != product.of.whole else torch.cat([known[v].flatten() for v in product.of.real])
        slopes = torch.autograd.grad(end, leaves, self.held(product.cotangent, None), allow_unused=True)
        slopes = tuple(torch.zeros_like(leaf) if one is None else one for leaf, one in zip(leaves, slopes))
        with self.aside():
            return {k: self.value(one) for k, one in zip(product.cotangents, slopes)}

    def held(self, value: int, history: Any) -> torch.Tensor:
        """A tensor that holds a value."""
        known = self.memory.values[value]
        if known.kind in HALVES:
            raise TypeError("PyTorch's own gradient is not asked for numbers in 16 bits")
        with self.aside():
            tensor = known.tensor.clone().requires_grad_(history == LEAF)
            self.memory.bind(tensor, history, value)
        return tensor
