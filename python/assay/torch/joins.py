"""Ends and results of backward passes that belong together: parts of one value, so that every product has one cotangent."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Sequence

import torch

from .forward import Moving
from .memory import Refused
from .nodes import Nodes, operand
from .values import Region


@dataclass
class Pass:
    """One call of the engine: from where, with what, to what. `position` is the number of regions when it began."""

    position: int
    outputs: list[tuple[int, int]]  # value, its cotangent
    of: dict[int, int] = field(default_factory=dict)  # value -> its gradient
    broken: list[tuple[int, int]] = field(default_factory=list)  # operands of opaque products, their cotangents
    renamed: list[tuple[Region, int]] = field(default_factory=list)  # results through which no recorded product leads
    creates: bool = False  # whether its products can be differentiated, too


@dataclass
class Product:
    of: Region
    result: int
    cotangent: int | str
    cotangents: dict[int, int | str]
    is_own: bool = True  # what PyTorch gives by itself: no torch.autograd.Function's
    convention: dict[int, int] | None = None  # of a Function's: what PyTorch would give
    surrogate: tuple[list[int], list[dict[str, Any]], int] | None = None  # of a Function's: the function whose gradient is meant
    ran: Sequence[Any] = ()  # the operations of a Function's backward


@dataclass
class Claim:
    output: int
    seed: int
    of: dict[int, int]


class Joins(Moving):
    """Products, claims, and what joins them."""

    def __init__(self, model: Any = None) -> None:
        self.products: list[Product] = []
        self.claims: list[Claim] = []
        self.passes: list[Pass] = []
        super().__init__(model)

    def differentiates_products(self) -> bool:
        return bool(self.passes) and self.passes[-1].creates

    # Several results with cotangents at once: they are parts of one result, and their cotangents of its.

    def join(self, node: Any, given: Any, joined: dict[int, int]) -> Any:
        number = node._sequence_nr()
        region = self.made[number]
        assert region is not None
        flows = [(i, self.edges.get((number, i)), g) for i, g in enumerate(given) if g is not None]
        ys = [y for _, y, _ in flows]
        if any(y is None or y not in (region.real or region.results) for y in ys) or len({self.memory.values[y].kind for y in ys if y is not None}) > 1:
            return None
        if region.whole is None and any(one.of is region for one in self.products):
            return None  # one after the other
        if region.whole is not None and set(ys) != set(region.real):
            raise Refused(f"{node.name()} was given cotangents of other results than in a pass before, which is not recorded")
        with self.aside():
            whole = self.whole_of(region, [y for y in ys if y is not None])
        parts = self.parts_of(region)
        if self.passes[-1].creates:
            return self.join_with_history(whole, parts, given, flows, joined)
        with self.aside():
            return self.join_apart(whole, parts, given, flows, joined)

    def join_apart(self, whole: int, parts: dict[int, tuple[int, int]], given: Any, flows: list[tuple[int, int | None, Any]], joined: dict[int, int]) -> Any:
        bars = [(y, self.value(g)) for _, y, g in flows]
        z_bar, names = self.sum_of_parts(whole, parts, bars)
        for (y, bar), name in zip(bars, names):
            self.products.append(Product(self.part_of(whole, y), 0, bar, {0: name}))
        fresh = list(given)
        for i, y, g in flows:
            assert y is not None
            start, extent = parts[y]
            fresh[i] = g.clone()
            self.slice_of(z_bar, start, fresh[i], "cotangent")
        joined[-1], joined[-2] = whole, z_bar
        return tuple(fresh)

    def join_with_history(self, whole: int, parts: dict[int, tuple[int, int]], given: Any, flows: list[tuple[int, int | None, Any]], joined: dict[int, int]) -> Any:
        """The same by operations that are recorded as all others are: a second derivative goes through them."""
        size = self.memory.values[whole].tensor.numel()
        padded = []
        with torch.enable_grad(), self.in_hook():
            for _, y, g in flows:
                start, extent = parts[y or 0]
                padded.append(torch.nn.functional.pad(g.reshape(-1), (start, size - start - extent), value=-0.0))
            total = padded[0]
            for one in padded[1:]:
                total = total + one
            fresh = list(given)
            for i, y, g in flows:
                start, extent = parts[y or 0]
                fresh[i] = total[start:start + extent].reshape(g.shape)
        with self.aside():
            for (_, y, g), one in zip(flows, padded):
                self.products.append(Product(self.part_of(whole, y), 0, self.value(g), {0: self.value(one)}))
            joined[-1], joined[-2] = whole, self.value(total)
        return tuple(fresh)

    def part_of(self, whole: int, y: int | None) -> Region:
        return next(one for one in self.regions if one.results == [y] and one.operands == [whole])

    def whole_of(self, region: Region, real: list[int]) -> int:
        """The value that holds these results of a region, one after the other; they become slices of it."""
        if region.whole is not None:
            return region.whole
        real, kind = [v for v in region.results if v in real], self.memory.values[real[0]].kind
        flat = torch.cat([self.memory.values[v].tensor.flatten() for v in real])
        whole = self.memory.loose(flat.to(kind), region.name + ".results")
        numbers = [region.outputs[region.results.index(v)] for v in real]
        at = len(region.operands) + len(region.nodes)
        for i, v in zip(numbers, real):
            region.nodes.append({"op": "reshape", "operands": [i], "attributes": {"shape": [self.memory.values[v].tensor.numel()]}})
        region.nodes.append({"op": "concat", "operands": list(range(at, at + len(real))), "attributes": {"axis": 0}})
        kept = [(v, o) for v, o in zip(region.results, region.outputs) if v not in real]
        region.results, region.outputs = [whole, *[v for v, _ in kept]], [at + len(real), *[o for _, o in kept]]
        region.whole, region.real = whole, real
        position, start = self.regions.index(region) + 1, 0
        for v in real:
            tensor = self.memory.values[v].tensor
            nodes = [{"op": "slice", "operands": [0], "attributes": {"starts": [start], "steps": [1], "extents": [tensor.numel()]}},
                     {"op": "reshape", "operands": [1], "attributes": {"shape": list(tensor.shape)}}]
            self.regions.insert(position, Region(region.name + ".part", region.is_double, [whole], [v], nodes, [2]))
            position, start = position + 1, start + tensor.numel()
        for one in self.passes:
            one.position += len(real)
        return whole

    def parts_of(self, region: Region) -> dict[int, tuple[int, int]]:
        parts, start = {}, 0
        for v in region.real:
            parts[v] = start, self.memory.values[v].tensor.numel()
            start += parts[v][1]
        return parts

    def sum_of_parts(self, whole: int, parts: dict[int, tuple[int, int]], bars: list[tuple[Any, int]]) -> tuple[int, list[str]]:
        """The cotangent of all results together: those of some, each between negative zeros, to which every number adds exactly."""
        like = self.memory.values[whole].tensor
        total = torch.full_like(like, -0.0)
        refs = [(operand(self.memory.values[bar].tensor), bar) for _, bar in bars]
        n, sum_ref, names = Nodes([like]), None, []
        for (y, _), (ref, bar) in zip(bars, refs):
            start, extent = parts[y]
            total[start:start + extent] = self.memory.values[bar].tensor.flatten()
            part = n("pad", n.reshape(ref, [extent]), before=[start], after=[like.numel() - start - extent], value=-0.0)
            assert part.node is not None
            names.append(self.memory.fresh(f"part of the cotangent of {self.memory.values[whole].name}"))
            part.node["name"] = names[-1]
            sum_ref = part if sum_ref is None else n("add", sum_ref, part)
        assert sum_ref is not None
        if len(bars) == 1:
            sum_ref = n("reshape", sum_ref, shape=list(like.shape))
        value = self.memory.loose(total, f"cotangent of {self.memory.values[whole].name}")
        self.append("joined cotangents", refs, [sum_ref], [value])
        return value, names

    def slice_of(self, whole: int, start: int, tensor: torch.Tensor, name: str) -> int:
        """A tensor that is a part of a value."""
        source = self.memory.values[whole].tensor
        n, ref = Nodes([tensor]), operand(source)
        count = tensor.numel() * (2 if tensor.is_complex() else 1)
        part = n("slice", ref, starts=[start], steps=[1], extents=[count])
        value = self.memory.add(tensor, None, name)
        self.append(name, [(ref, whole)], [n.reshape(part, list(self.memory.values[value].tensor.shape))], [value])
        return value

    def zero(self, tensor: torch.Tensor) -> int:
        n, like = Nodes([tensor]), torch.zeros_like(tensor)
        value = self.memory.add(like, None, "no gradient")
        self.zeros.add(value)
        self.append("no gradient", [], [n.expand(n.constant(0.0, n.dtype), list(self.memory.values[value].tensor.shape))], [value])
        return value

    def detour(self, region: Region, y: int, one: Pass) -> None:
        """No gradient is expected to flow through y: what comes after reads a copy of it."""
        copy = self.memory.loose(self.memory.values[y].tensor, self.memory.values[y].name + ".cut")
        at = self.regions.index(region) + 1
        shape = list(self.memory.values[y].tensor.shape)
        nodes = [{"op": "reshape", "operands": [0], "attributes": {"shape": shape}}]
        for later in self.regions[at:]:
            later.operands = [copy if v == y else v for v in later.operands]
        self.regions.insert(at, Region(region.name + ".cut", region.is_double, [y], [copy], nodes, [1]))
        self.memory.rename(y, copy)
        self.edges = {edge: copy if v == y else v for edge, v in self.edges.items()}
        self.cut_for_good.add(y)
        one.of = {copy if v == y else v: bar for v, bar in one.of.items()}
        one.outputs = [(copy if v == y else v, bar) for v, bar in one.outputs]
        one.broken = [(copy if v == y else v, bar) for v, bar in one.broken]
        for other in [one, *self.passes]:
            other.position += 1

    def keep_apart(self, values: list[int]) -> dict[int, int]:
        node = torch._C._current_autograd_node()
        region = self.made.get(node._sequence_nr()) if node is not None else None
        copies: dict[int, int] = {}
        for value in values if region is not None else []:
            assert region is not None
            known, at = self.memory.values[value], self.regions.index(region)
            copies[value] = copy = self.memory.loose(known.tensor.to(known.kind), known.name + ".copy")
            nodes = [{"op": "reshape", "operands": [0], "attributes": {"shape": list(known.tensor.shape)}}]
            self.regions.insert(at, Region(region.name + ".copy", region.is_double, [value], [copy], nodes, [1]))
            region.operands = [copy if v == value else v for v in region.operands]
            region.apart.add(value)
            self.cut_for_good.add(copy)
            for one in self.passes:
                one.position += 1 if at < one.position else 0
        return copies

    def end_in_double(self, v: int, bar: int) -> tuple[int, int, list[Region]]:
        """An end and its cotangent as doubles, which have the same numbers, and the regions that say so."""
        if self.memory.values[v].tensor.dtype == torch.float64:
            return v, bar, []
        wide, wide_bar = (self.memory.loose(self.memory.values[k].tensor.double(), f"{self.memory.values[k].name} in float64") for k in (v, bar))
        cast = [{"op": "cast", "operands": [0], "attributes": {"to": to}} for to in ("float64", "float32")]
        regions = [Region("an end in float64", False, [v], [wide], cast[:1], [1]), Region("the cotangent of an end", False, [wide_bar], [bar], cast[1:], [1])]
        self.products.append(Product(regions[0], 0, wide_bar, {0: bar}))
        return wide, wide_bar, regions

    def joined_ends(self, one: Pass) -> tuple[int, int]:
        """The output and its cotangent; of several ends at once, all of them one after the other."""
        ends = one.outputs + one.broken
        if len(ends) == 1:
            return ends[0]
        given, widened = {bar for _, bar in ends}, list[Region]()
        if len(kinds := {self.memory.values[v].tensor.dtype for v, _ in ends}) > 1:
            if kinds != {torch.float32, torch.float64}:
                raise Refused("a backward pass from tensors of several types, or with unknown formulas of several types, is not recorded")
            wide = [self.end_in_double(*end) for end in ends]
            ends, widened = [(v, bar) for v, bar, _ in wide], [region for _, _, regions in wide for region in regions]
        flat = [torch.cat([self.memory.values[e[k]].tensor.flatten() for e in ends]) for k in (0, 1)]
        z, z_bar = self.memory.loose(flat[0], "all ends"), self.loose(flat[1], "their cotangents")
        is_double = flat[0].dtype == torch.float64
        nodes, regions, start, count = [], [], 0, len(ends)
        for i, (v, bar) in enumerate(ends):
            size = self.memory.values[v].tensor.numel()
            nodes.append({"op": "reshape", "operands": [i], "attributes": {"shape": [size]}})
            cut = [{"op": "slice", "operands": [0], "attributes": {"starts": [start], "steps": [1], "extents": [size]}},
                   {"op": "reshape", "operands": [1], "attributes": {"shape": list(self.memory.values[bar].tensor.shape)}}]
            regions.append(Region("one of the ends", is_double, [z_bar], [bar], cut, [2]))
            start += size
        self.inputs = [x for x in self.inputs if x not in given]
        nodes.append({"op": "concat", "operands": list(range(count, 2 * count)), "attributes": {"axis": 0}})
        joined = Region("all ends", is_double, [v for v, _ in ends], [z], nodes, [2 * count])
        made = [*widened[::2], joined, *regions, *widened[1::2]]
        self.regions[one.position:one.position] = made
        for other in self.passes:
            other.position += len(made)
        self.products.append(Product(joined, 0, z_bar, dict(enumerate(bar for _, bar in ends))))
        return z, z_bar
