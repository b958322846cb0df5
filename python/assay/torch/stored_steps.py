"""Products and sums that kernels keep in 16 bits on the way: their steps are computed again, and recorded where they end in the bits that the kernel gave."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator

import torch

from .memory import alike
from .nodes import Nodes, Ref, Unknown, counted

MOST_STEPS = 512  # else the sets of a run grow beyond what they are worth
LANES = (16, 32)  # 16-bit numbers in a vector of AVX2 and of AVX-512; kernels keep four vectors


@dataclass
class Step:
    """A value that a kernel holds in 16 bits at one time, as float32, and the node that it is."""

    value: torch.Tensor
    ref: Ref


class Steps:
    """Products, each of which is stored in the type of the result."""

    def __init__(self, n: Nodes) -> None:
        self.n, self.kind = n, n.first.dtype
        self.partial: list[Step] = []

    def times(self, a: Step, b: Step) -> Step:
        found = Step((a.value * b.value).to(self.kind).float(), self.n("mul", a.ref, b.ref))
        self.partial.append(found)
        return found

    def slices(self, x: Step, axis: int, first: int = 0) -> Iterator[Step]:
        """The parts of x along an axis, without it."""
        for i in range(first, x.ref.shape[axis]):
            starts = [i if a == axis else 0 for a in range(x.ref.rank)]
            extents = [1 if a == axis else size for a, size in enumerate(x.ref.shape)]
            shape = [size for a, size in enumerate(x.ref.shape) if a != axis]
            part = self.n("slice", x.ref, starts=starts, steps=[1] * x.ref.rank, extents=extents)
            yield Step(x.value.select(axis, i), self.n.reshape(part, shape))

    def chain(self, parts: Iterator[Step]) -> Step:
        found = next(parts)
        for one in parts:
            found = self.times(found, one)
        return found

    def in_lanes(self, x: Step, lanes: int) -> Step:
        """Along the last axis, which lies densely: four vectors side by side, their product, that of its elements, and the rest one by one."""
        *outer, extent = x.ref.shape
        whole = extent // (4 * lanes) * 4 * lanes
        shape = [*outer, whole // (4 * lanes), 4, lanes]
        head = self.n("slice", x.ref, starts=[0] * x.ref.rank, steps=[1] * x.ref.rank, extents=[*outer, whole])
        columns = self.chain(self.slices(Step(x.value[..., :whole].reshape(shape), self.n.reshape(head, shape)), len(outer)))
        a, b, c, d = self.slices(columns, len(outer))
        one = self.times(self.times(a, b), self.times(c, d))
        found = self.chain(self.slices(one, len(outer)))
        for rest in self.slices(x, len(outer), whole):
            found = self.times(found, rest)
        return found


def stored_product(n: Nodes, x: Ref, axis: int | None) -> Ref:
    """The product along an axis, or of all elements, in one of the orders that kernels have; what is stored on the way are results, too."""
    if x.tensor is None or x.is_complex or x.tensor.dtype != torch.float32 or bool((x.tensor.to(n.first.dtype).float() != x.tensor).any()):
        raise Unknown("a product in 16 bits of what is not kept in 16 bits")
    whole = Step(x.tensor, x) if axis is not None and x.rank else Step(x.tensor.flatten(), n.reshape(x, [counted(x.shape)]))
    at = axis % x.rank if axis is not None and x.rank else 0
    extent = whole.ref.shape[at]
    if not 0 < extent <= MOST_STEPS:
        raise Unknown("a product of many factors, each of which is stored in 16 bits")
    orders = [0] + [one for one in LANES if at == whole.ref.rank - 1 and extent >= 4 * one]
    for lanes in orders:
        steps = Steps(n)
        found = steps.in_lanes(whole, lanes) if lanes else steps.chain(steps.slices(whole, at))
        if alike(found.value.reshape(n.shape), n.first):
            n.partial = [(one.value.to(n.first.dtype), one.ref) for one in steps.partial[:-1]]
            return n.reshape(found.ref, n.shape)
    raise Unknown("a product in 16 bits in an order that is not known here")


@dataclass
class Row:
    """A row of a layer normalisation's backward pass: what the sums of its parameters' gradients hold after it."""

    number: int
    is_first: bool  # of those that one thread adds
    sums: list[torch.Tensor]


def row_sums(g: torch.Tensor, x: torch.Tensor, mean: torch.Tensor, inverse: torch.Tensor, wanted: list[torch.Tensor | None],
             threads: int) -> list[Row] | None:
    """How the sums over rows grow if each thread adds its rows one after the other; nothing, if they do not end in what was wanted.

    g and x are [rows, columns], mean and inverse [rows], all as float32; wanted are the gradients of weight and bias, in 16 bits.
    """
    rows, columns = g.shape
    size = -(-rows // threads)
    found: list[Row] = []
    kind = next(one.dtype for one in wanted if one is not None)
    total = [torch.zeros(columns), torch.zeros(columns)]
    for begin in range(0, rows, size):
        sums = [torch.zeros(columns), torch.zeros(columns)]
        for i in range(begin, min(begin + size, rows)):
            terms = g[i] * (inverse[i] * x[i] + -inverse[i] * mean[i]), g[i]
            sums = [(one + term).to(kind).float() for one, term in zip(sums, terms)]
            found.append(Row(i, i == begin, sums))
        total = [one + part for one, part in zip(total, sums)]
    same = all(one is None or alike(got.to(kind), one.flatten()) for one, got in zip(wanted, total))
    return found if same else None


def row_sum(n: Nodes, read: list[Ref], before: list[Ref], number: int, rows: int, wanted: list[int]) -> list[Ref]:
    """The sums after one more row; `read` are g, x, the means and the inverses, `before` what the sums were, if the row is not the first."""
    columns = counted(read[0].shape) // rows
    def row(one: Ref, size: int) -> Ref:
        flat = n.reshape(one, [rows, size])
        return n.reshape(n("slice", flat, starts=[number, 0], steps=[1, 1], extents=[1, size]), [size])
    g, x, mean, inverse = (row(one, size) for one, size in zip(read, (columns, columns, 1, 1)))
    terms = [n("mul", g, n("add", n("mul", inverse, x), n("mul", n("neg", inverse), mean))), g]
    zero = n.constant(0.0, torch.float32)
    return [n("add", before[i] if before else zero, terms[k]) for i, k in enumerate(wanted)]
