"""Faults of whole regions: steps in another order, blocks that forget what came before, and operands that are read along other axes."""
from __future__ import annotations

import dataclasses
import math
from typing import Iterator

import numpy as np

from assay._core import shapes
from ._regions import Change, Region, Steps, renumbered

_BLOCKS, _GROUPS, _MOST_BLOCKS = (4, 8, 16, 32, 64, 128), (2, 4), 128
_UNARY = ("relu", "tanh", "sigmoid", "abs", "exp", "log", "sqrt", "round", "clip", "gelu", "silu", "pow")
_SUMS, _PRODUCTS = ("add", "sub"), ("mul", "div")
_LEAST = -3.0e38  # below every number that a softmax is tried on, and no infinity


def faults(region: Region) -> Iterator[tuple[str, Change]]:
    """Each fault with words for the reference that has it."""
    readers = region.readers()
    for at, node in enumerate(region.nodes):
        op, used = node["op"], node.get("operands", [])
        yield from _exchanges(region, at, readers)
        for position, value in enumerate(used) if op in _SUMS + _PRODUCTS else ():
            if value < region.given and len(region.shapes[value]) == 1 and len(region.shapes[used[1 - position]]) > 1:
                yield f"with operand {value} along another axis", _along(at, position)
        if op == "normalise" and node["attributes"]["form"] == "centered":
            yield from (("with squares of the mean for padded lanes in its variance", _padded(at, by_reciprocal)) for by_reciprocal in (False, True))
        for size in _BLOCKS:
            if op == "cumsum" and not node["attributes"].get("reverse"):
                yield f"without the carry of earlier blocks of {size} in its cumsum", _without_carry(at, size)
            elif op == "matmul":
                yield f"without the terms of other blocks of {size} in its matmul", _own_block(at, size)
            elif op == "softmax" and size > 8:
                yield f"without rescaling its sum after each block of {size}", _not_rescaled(at, size)
    for operand in range(region.given):
        for count in _GROUPS if len(region.shapes[operand]) == 1 else ():
            yield f"with the first element of each of {count} groups of operand {operand} for the whole group", _first_of_groups(operand, count)


def _exchanges(region: Region, at: int, readers: list[int]) -> Iterator[tuple[str, Change]]:
    """Two steps in the other order, of which the second alone reads the first."""
    second = region.nodes[at]
    for position, value in enumerate(second.get("operands", [])):
        first = region.nodes[value - region.operands] if value >= region.operands else {"op": "none"}
        ops = first["op"], second["op"]
        known = all(one in _UNARY + _SUMS + _PRODUCTS for one in ops)
        if known and readers[value] == 1 and ops[0] != ops[1] and not any(set(ops) <= set(kind) for kind in (_SUMS, _PRODUCTS)):
            for place in range(len(first["operands"])):
                yield f"with its {ops[1]} before its {ops[0]}", _exchanged(at, position, place)


def _exchanged(at: int, position: int, place: int) -> Change:
    def change(region: Region) -> Region:
        steps, second = Steps(region, at), region.nodes[at]
        first = region.nodes[second["operands"][position] - region.operands]
        inner, outer = list(second["operands"]), list(first["operands"])
        inner[position] = outer[place]
        outer[place] = steps.step(second["op"], *inner, **second.get("attributes", {}))
        steps.step(first["op"], *outer, **first.get("attributes", {}))
        return steps.region_with()
    return change


def _along(at: int, position: int) -> Change:
    """A row of numbers along the axis before the last one, again from its beginning where the axis is longer."""
    def change(region: Region) -> Region | None:
        steps, node = Steps(region, at), region.nodes[at]
        used = list(node["operands"])
        n, rows = region.shapes[used[position]][0], region.shapes[used[1 - position]][-2]
        if not n or not rows:
            return region
        taken = steps.step("gather", used[position], axis=0, indices=[i % n for i in range(rows)], index_shape=[rows])
        used[position] = steps.step("reshape", taken, shape=[rows, 1])
        steps.step(node["op"], *used)
        return steps.region_with()
    return change


def _padded(at: int, by_reciprocal: bool) -> Change:
    """Deviations of lanes that hold 0 beside a row, up to a power of 2, count in the variance."""
    def change(region: Region) -> Region | None:
        steps, node = Steps(region, at), region.nodes[at]
        x, axes = node["operands"][0], list(node["attributes"]["axes"])
        count, dtype = math.prod(region.shapes[x][axis] for axis in axes), region.types[x]
        lanes = (1 << max(count - 1, 0).bit_length()) - count
        if not lanes:
            return region
        mean = steps.step("reduce_mean", x, axes=axes, keep_dims=True)
        d = steps.step("sub", x, mean)
        total = steps.step("reduce_sum", steps.step("mul", d, d), axes=axes, keep_dims=True)
        more = steps.step("mul", steps.step("mul", steps.constant(lanes, dtype), mean), mean)
        variance = steps.step("div", steps.step("add", total, more), steps.constant(count, dtype))
        root = steps.step("sqrt", steps.step("add", variance, steps.constant(node["attributes"]["epsilon"], dtype)))
        steps.step("mul", d, steps.step("reciprocal", root)) if by_reciprocal else steps.step("div", d, root)
        return steps.region_with()
    return change


def _without_carry(at: int, size: int) -> Change:
    def change(region: Region) -> Region | None:
        steps, node = Steps(region, at), region.nodes[at]
        x, axis = node["operands"][0], node["attributes"]["axis"]
        shape = list(region.shapes[x])
        count = shape[axis]
        if count <= size:
            return region
        blocks = -(-count // size)
        after = [blocks * size - count if i == axis else 0 for i in range(len(shape))]
        whole = steps.step("pad", x, before=[0] * len(shape), after=after, value=0.0)
        parts = steps.step("reshape", whole, shape=[*shape[:axis], blocks, size, *shape[axis + 1:]])
        added = steps.step("cumsum", parts, **{**node["attributes"], "axis": axis + 1})
        joined = steps.step("reshape", added, shape=[*shape[:axis], blocks * size, *shape[axis + 1:]])
        steps.step("slice", joined, starts=[0] * len(shape), steps=[1] * len(shape), extents=shape)
        return steps.region_with()
    return change


def _own_block(at: int, size: int) -> Change:
    """Of a square factor only the blocks on the diagonal."""
    def change(region: Region) -> Region | None:
        steps, node = Steps(region, at), region.nodes[at]
        a, b = node["operands"]
        shape = region.shapes[a]
        if len(shape) < 2 or shape[-1] != shape[-2] or region.types[a] not in shapes.REALS:
            return None
        if shape[-1] <= size:
            return region
        block = np.arange(shape[-1]) // size
        steps.step("matmul", steps.step("mul", a, steps.constant(block[:, None] == block, region.types[a])), b)
        return steps.region_with()
    return change


def _not_rescaled(at: int, size: int) -> Change:
    """The sum of a softmax by blocks, each with the largest number so far, as if that were the same for all blocks."""
    def change(region: Region) -> Region | None:
        steps, node = Steps(region, at), region.nodes[at]
        x = node["operands"][0]
        shape, dtype = list(region.shapes[x]), region.types[x]
        count, last = shape[-1] if shape else 0, len(shape) - 1
        if node["attributes"]["axis"] != last or count > size * _MOST_BLOCKS:
            return None
        if count <= size:
            return region
        blocks = -(-count // size)
        whole = steps.step("pad", x, before=[0] * len(shape), after=[0] * last + [blocks * size - count], value=_LEAST)
        parts = steps.step("reshape", whole, shape=[*shape[:-1], blocks, size])
        largest = steps.step("reshape", steps.step("reduce_max", parts, axes=[last + 1], keep_dims=False), shape=[*shape[:-1], 1, blocks])
        seen = steps.step("where", steps.constant(np.tri(blocks, dtype=bool), "bool"), largest, steps.constant(_LEAST, dtype))
        running = steps.step("max", steps.step("reduce_max", seen, axes=[last + 1], keep_dims=True), steps.constant(_LEAST, dtype))
        total = steps.step("reduce_sum", steps.step("exp", steps.step("sub", parts, running)), axes=[last, last + 1], keep_dims=True)
        total = steps.step("reshape", total, shape=[*shape[:-1], 1])
        steps.step("div", steps.step("exp", steps.step("sub", x, steps.step("reduce_max", x, axes=[last], keep_dims=True))), total)
        return steps.region_with()
    return change


def _first_of_groups(operand: int, count: int) -> Change:
    def change(region: Region) -> Region | None:
        n, length = region.operands, region.shapes[operand][0]
        if length % count:
            return None
        size = length // count
        if size < 2:
            return region
        first = {"op": "gather", "operands": [operand], "attributes": {"axis": 0, "indices": [i // size * size for i in range(length)], "index_shape": [length]}}
        nodes = renumbered(region.nodes, lambda number: number + 1 if number >= n else n if number == operand else number)
        return dataclasses.replace(region, nodes=[first, *nodes], outputs=[number + 1 if number >= n else number for number in region.outputs])
    return change


__all__ = ["faults"]
