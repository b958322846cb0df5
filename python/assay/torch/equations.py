"""Results that are judged by equations: of a solved system that it is solved, of a factorisation that its factors give the matrix again.

No graph of the vocabulary computes such a result, so it is a given value. What is judged is that the recorded numbers satisfy the equation, within what
rounding admits; of a product, that the cotangents are solutions of theirs (docs/reference/pytorch.md).
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

import torch
from torch.autograd import forward_ad
from torch.utils._pytree import tree_flatten

from .nodes import Nodes, Ref, Unknown, operand
from .masks import Masking
from .rules_distance import DISTANCES, DISTANCE_PRODUCTS
from .rules_factors import FACTORS, FACTOR_PRODUCTS
from .rules_solve import SOLVED, SOLVED_PRODUCTS
from .values import Equation

EQUATIONS: dict[str, Callable[..., list[Equation]]] = DISTANCES | SOLVED | FACTORS
PRODUCTS: dict[str, Callable[..., list[Equation]]] = DISTANCE_PRODUCTS | SOLVED_PRODUCTS | FACTOR_PRODUCTS
FAILURES = (Unknown, AttributeError, TypeError, IndexError, KeyError, ValueError, AssertionError, RuntimeError)


@dataclass
class Solved:
    """An operation whose product is judged by equations."""

    op: str
    args: Any
    kwargs: Any
    operands: list[tuple[Ref, int]]
    sources: list[Ref]  # its tensors, in the order in which autograd has them
    results: list[tuple[Ref | None, int | None]]


class Solving(Masking):
    """Writes equations down."""

    def __init__(self, model: Any = None) -> None:
        self.solved: dict[int, Solved] = {}  # by the number of the node
        self.deferred: set[int] = set()  # nodes of Functions inside of whose forward pass results are given: their products are opaque
        self.solving: set[int] = set()  # nodes whose products solve something, and are not judged by equations
        self.links: list[tuple[list[int], list[int]]] = []  # given results, and what they depend on
        self.set_aside: list[tuple[list[tuple[str, list[int]]], set[int]]] = []  # opaque operations inside of a product that is judged, and its regions
        self.solutions: dict[str, list[int]] = {}
        self.answers: list[int] = []  # given results of operations of the product that runs
        super().__init__(model)

    def note_equations(self, call: Any, args: Any, kwargs: Any, results: list[torch.Tensor | None]) -> bool:
        """Whether the operation is one whose results are given, with equations that they have to satisfy."""
        held = [one for one in results if one is not None]
        if call.op not in EQUATIONS or call.op in DISTANCES and call.number is None and (call.op != "logcumsumexp" or self.in_backward()):
            return False  # what is not differentiated has a meaning that can be computed
        if call.target is not None or forward_ad._current_level >= 0 or any(not is_plain(one) for one in held):
            raise Unknown("equations of a write, of tangents, or of what is no finite number")
        key = f"{call.op} {[v for _, v in call.operands]} {[one for one in tree_flatten((args, kwargs))[0] if not isinstance(one, Ref)]}"
        if self.is_again(call, key, held):
            return True
        outs = [None if one is None else operand(one) for one in results]
        n = Nodes(results, self.doubles)
        try:
            found = well_formed(EQUATIONS[call.op](n, outs, *args, **kwargs))
        except FAILURES as error:
            raise Unknown(f"{call.op}: {error}") from error
        values = [None if one is None else self.memory.add(one, call.number if one.is_floating_point() else None, self.label(call.op)) for one in results]
        given = [v for v in values if v is not None]
        self.inputs += given
        self.answers += given[:1] if self.in_backward() else []
        self.solutions.setdefault(key, given)
        known = call.operands + [(ref, v) for ref, v in zip(outs, values) if ref is not None and v is not None]
        self.state(call.op, known + [(one, self.loose(one.tensor, f"witness of {call.op}")) for one in n.given if one.tensor is not None], found)
        self.link(call, [v for _, v in call.operands], given)
        if call.number is not None:
            self.made[call.number] = None
            self.note_solved(call, args, kwargs, list(zip(outs, values)))
        return True

    def is_again(self, call: Any, key: str, results: list[torch.Tensor]) -> bool:
        """Whether a backward pass ran it again (checkpointing), with the same results."""
        known = self.solutions.get(key)
        if known is None or not self.in_backward() or self.differentiates_products() or len(known) != len(results):
            return False
        if any(not torch.equal(self.memory.values[v].tensor, one) for v, one in zip(known, results)):
            return False
        for value, tensor in zip(known, results):
            self.memory.bind(tensor, call.number if tensor.is_floating_point() else None, value)
        return True

    def state(self, op: str, operands: list[tuple[Ref, int]], equations: list[Equation]) -> None:
        """Each equation as a region of its own, whose result is what has to come out."""
        for one in equations:
            self.append(f"{op}: {one.what}", operands, [one.found], [self.memory.loose(one.wanted, f"{one.what} of {self.label(op)}")])

    def link(self, call: Any, operands: list[int], results: list[int]) -> None:
        self.links.append((operands, results))
        if self.bars.intersection(operands):
            self.bars.update(results)
        if self.depending.intersection(operands):
            self.depending.update(v for v in results if self.memory.values[v].tensor.is_floating_point())
        if call.number is None and not self.in_backward():
            self.cut.update(v for v in results if self.memory.values[v].tensor.is_floating_point())
        node = torch._C._current_autograd_node()
        if node is not None and node._sequence_nr() not in self.solved:
            self.solving.add(node._sequence_nr())
        elif not torch.is_grad_enabled() and not self.in_backward():
            self.deferred.add(int(torch._C._autograd._get_sequence_nr() - 1))

    def note_solved(self, call: Any, args: Any, kwargs: Any, results: list[tuple[Ref | None, int | None]]) -> None:
        factors = [v for _, v in call.operands[1:]]
        if call.op == "cholesky_solve" and not any(self.is_triangle(v) for v in factors):
            return  # its gradient has numbers outside of the triangle that the kernel reads: right only where they are cut off
        if call.op in PRODUCTS and call.number is not None:
            sources = [one for one in tree_flatten((args, kwargs))[0] if isinstance(one, Ref) and one.dtype.is_floating_point]
            self.solved[call.number] = Solved(call.op, args, kwargs, list(call.operands), sources, results)

    def is_triangle(self, value: int) -> bool:
        """Whether a value is what `cholesky`, `tril` or `triu` gave: their products take one triangle of a cotangent."""
        of = [one.results[0][1] for one in self.solved.values() if one.op == "linalg_cholesky_ex"]
        return value in of or any(value in one.results for one in self.regions if one.name.rpartition(".")[2] in ("tril", "triu"))

    def equations_of(self, one: Solved, sources: list[int | None], flows: list[tuple[int | None, int]], out: list[Any]) -> tuple[list[tuple[Ref, int]], list[Equation], list[Ref | None]] | None:
        """Return the conditions of a product of the operation: values that are read, equations, and Refs in place of its cotangents; None if nothing gives them."""
        bars: list[Ref | None] = [None] * len(one.results)
        read: list[tuple[Ref, int]] = []
        for y, bar in flows:
            at = next((i for i, (_, v) in enumerate(one.results) if v == y), None)
            if at is None or not bool(self.memory.values[bar].tensor.any()):  # zeros say nothing of a product
                return None
            bars[at] = operand(self.memory.values[bar].tensor)
            read.append((bars[at], bar))  # type: ignore[arg-type]
        given = [None if g is None or not g.numel() else operand(g) for g in out]
        of = {id(ref): v for ref, v in one.operands}
        if any(g is not None and of.get(id(x)) != v for g, x, v in zip(given, one.sources, sources)):
            return None
        if len(given) != len(one.sources) or any(g is not None and (g.shape != x.shape or not is_plain(g.tensor)) for g, x in zip(given, one.sources)):
            return None
        try:
            tensors = [ref.tensor for ref in given if ref is not None and ref.tensor is not None]
            n = Nodes(list(tensors), self.doubles)
            inner = [(operand(self.memory.values[v].tensor), v) for v in self.answers]
            found = well_formed(PRODUCTS[one.op](n, bars, [ref for ref, _ in one.results], [*given, *[ref for ref, _ in inner]], *one.args, **one.kwargs))
            if n.given or any(g is not None and all(e.of != i for e in found) for i, g in enumerate(given)):
                return None
        except FAILURES:
            return None
        known = [*one.operands, *inner, *[(ref, v) for ref, v in one.results if ref is not None and v is not None], *read]
        return known, found, given


def well_formed(equations: list[Equation]) -> list[Equation]:
    if any(one.found.shape != list(one.wanted.shape) for one in equations):
        raise Unknown("an equation of another shape")
    return equations


def opaque_of(run: Solving) -> list[tuple[str, list[int]]]:
    """List the opaque operations: also those inside of products that are judged by equations, if anything else reads them."""
    found = list(run.opaque)
    for entries, regions in run.set_aside:
        read = {v for one in run.regions if id(one) not in regions for v in one.operands}
        found += [one for one in entries if read.intersection(one[1])]
    return found


def is_plain(tensor: torch.Tensor | None) -> bool:
    """Whether it can stand in an equation: a real number in 32 or 64 bits that is finite, or integers."""
    if tensor is None or tensor.is_complex() or tensor.is_floating_point() and tensor.dtype not in (torch.float32, torch.float64):
        return False
    return not tensor.is_floating_point() or bool(torch.isfinite(tensor).all())
