"""The nodes of a check as a region whose values have shapes, to be written anew with other steps."""
from __future__ import annotations

import dataclasses
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from assay._core import shapes
from assay._core.audits import Check
from ._plans import Probe

Node = dict[str, Any]


def renumbered(nodes: Sequence[Node], moved: Callable[[int], int]) -> list[Node]:
    """Nodes that read other values."""
    return [{**one, "operands": [moved(number) for number in one["operands"]]} if "operands" in one else one for one in nodes]


def step_of(op: str, *used: int, **attributes: Any) -> Node:
    """The node of an operation."""
    return {"op": op, "operands": list(used), **({"attributes": attributes} if attributes else {})}


@dataclasses.dataclass(frozen=True)
class Region:
    """Nodes whose values are numbered, operands first; the shape and type of each value."""

    nodes: Sequence[Node]
    outputs: Sequence[int]
    shapes: Sequence[tuple[int, ...]]
    types: Sequence[str]
    given: int  # operands that a kernel is handed
    operands: int

    def readers(self) -> list[int]:
        """How many steps and results read each value."""
        counts = [0] * len(self.shapes)
        for number in (*(one for node in self.nodes for one in node.get("operands", [])), *self.outputs):
            counts[number] += 1
        return counts

    def replaced(self, at: int, new: Sequence[Node]) -> Region:
        """One node as several ones, which number their own values from that of the node on; later numbers move."""
        value, shift = self.operands + at, len(new) - 1
        def moved(number: int) -> int:
            return number + shift if number >= value else number
        return dataclasses.replace(self, nodes=[*self.nodes[:at], *new, *renumbered(self.nodes[at + 1:], moved)], outputs=[moved(number) for number in self.outputs])

    def renamed(self, names: Mapping[int, int]) -> Region:
        """Other values in the places of some, also among the results."""
        return dataclasses.replace(self, nodes=renumbered(self.nodes, lambda number: names.get(number, number)), outputs=[names.get(number, number) for number in self.outputs])


def region_of(probe: Probe, check: Check) -> Region:
    """The region of a check, with the shapes of its values."""
    found, types = [one.shape for one in check.operands], [one.widened().dtype for one in check.operands]
    for node in check.nodes:
        if node["op"] == "constant":
            dtype, shape = node["dtype"], tuple(node["shape"])
        else:
            used = node["operands"]
            dtype, shape = shapes.result_of(node["op"], [types[i] for i in used], [found[i] for i in used], node.get("attributes", {}))
        found.append(shape)
        types.append(dtype)
    last = len(check.operands) + len(check.nodes)
    outputs = list(check.outputs) if check.outputs is not None else list(range(last - len(check.results), last))
    return Region(check.nodes, outputs, found, types, len(probe.operands), len(check.operands))


class Steps:
    """New nodes in the place of one, whose values are numbered from that of the node on."""

    def __init__(self, region: Region, at: int) -> None:
        self.region, self.at, self.first, self.nodes = region, at, region.operands + at, list[Node]()

    def step(self, op: str, *used: int, **attributes: Any) -> int:
        self.nodes.append(step_of(op, *used, **attributes))
        return self.first + len(self.nodes) - 1

    def constant(self, values: Any, dtype: str) -> int:
        array = np.asarray(values, dtype)
        self.nodes.append({"op": "constant", "dtype": dtype, "shape": list(array.shape), "data": (array.astype(int) if dtype == "bool" else array).ravel().tolist()})
        return self.first + len(self.nodes) - 1

    def region_with(self) -> Region:
        return self.region.replaced(self.at, self.nodes)


Change = Callable[[Region], "Region | None"]
__all__ = ["Change", "Node", "Region", "Steps", "region_of", "renumbered", "step_of"]
