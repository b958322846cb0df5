"""Values of a recorded run, each by all that computes it from what the run was given, as a fused kernel may compute it."""
from __future__ import annotations

import math
from typing import Any

import torch

from assay._core.trace_writer import Trace
from .backward import Recorder
from .equations import opaque_of
from .gates import stored
from .nodes import HALVES


def whole_graph(run: Recorder, end: int) -> tuple[list[int], list[dict[str, Any]], int]:
    """All regions by which a value is computed, joined: the values that none of them gives, the nodes, and the number of the result."""
    wanted, ran = {end}, []
    for one in reversed(run.regions):
        if wanted.intersection(one.results):
            wanted.update(one.operands)
            ran.append(one)
    ran.reverse()
    given = {v for one in ran for v in one.results}
    operands = list(dict.fromkeys(v for one in ran for v in one.operands if v not in given)) if ran else [end]
    number, nodes = {v: i for i, v in enumerate(operands)}, list[dict[str, Any]]()
    for one in ran:
        at = [number[v] for v in one.operands]
        for node in one.nodes:
            kept = {key: what for key, what in node.items() if key not in ("reads", "ends", "name")}
            nodes.append(kept | ({"operands": [at[i] for i in node["operands"]]} if "operands" in node else {}))
            at.append(len(operands) + len(nodes) - 1)
        number |= {v: at[i] for v, i in zip(one.results, one.outputs)}
    if number[end] < len(operands):  # a number that is handed on
        nodes.append({"op": "reshape", "operands": [number[end]], "attributes": {"shape": list(run.memory.values[end].tensor.shape)}})
        number[end] = len(operands) + len(nodes) - 1
    return operands, nodes, number[end]


def loosened(operands: list[int], nodes: list[dict[str, Any]], output: int, shape: list[int]) -> int:
    """A few roundings more: a third of a value, and two thirds (Nodes.loose)."""
    count = len(operands) + len(nodes)
    nodes += [{"op": "reshape", "operands": [output], "attributes": {"shape": [math.prod(shape), 1]}},
              {"op": "weighted_gather", "operands": [count], "attributes": {"axis": 1, "starts": [0, 2], "indices": [0, 0], "weights": ["1/3", "2/3"]}},
              {"op": "reshape", "operands": [count + 1], "attributes": {"shape": shape}}]
    return count + 2


def name_of(kind: torch.dtype) -> str:
    return str(kind).removeprefix("torch.")


class Joined:
    """A trace of several runs. Each of its regions says, by the graph of a recorded value, what another program has to give in its place."""

    def __init__(self) -> None:
        self.trace = Trace(f"assay.torch, PyTorch {torch.__version__}")
        self.names: dict[int, str] = {}  # of values of the run that is read
        self.claimed: dict[int, list[torch.Tensor]] = {}
        self.unknown: list[str] = []  # operations whose numbers were taken as given

    def read(self, run: Recorder) -> None:
        """From now on values are those of this run."""
        self.run, self.names, self.claimed = run, {}, {}
        found = [name for name, _ in opaque_of(run)] + (["an operation that is judged by equations"] if run.links else [])
        self.unknown += [one for one in found if one not in self.unknown]

    def operand(self, v: int) -> str:
        """The name in the trace of a value that the run was given."""
        if v not in self.names:
            value = self.run.memory.values[v]
            self.names[v] = self.trace.fresh(value.name)
            self.trace.given(self.names[v], name_of(value.kind), list(value.tensor.shape), bytes(stored(value)))
        return self.names[v]

    def claim(self, name: str, subject: str, model: str, wanted: int, found: torch.Tensor, is_loose: bool) -> None:
        """Say that a tensor has to be a value of the run; the same numbers once. `is_loose`: with a few roundings more."""
        if any(torch.equal(one, found) for one in self.claimed.setdefault(wanted, [])):
            return
        self.claimed[wanted].append(found)
        operands, nodes, output = whole_graph(self.run, wanted)
        if is_loose and found.is_floating_point():
            output = loosened(operands, nodes, output, list(found.shape))
        result, plain = self.trace.fresh(subject), found.resolve_neg().contiguous()
        self.trace.add(result, name_of(found.dtype), list(found.shape), bytes((plain.view(torch.int16) if plain.dtype in HALVES else plain).numpy().tobytes()))
        self.trace.models.setdefault(model, model)
        self.trace.region(name, model, [self.operand(v) for v in operands], [result], nodes, [output])
        self.trace.outputs.append(result)


__all__ = ["Joined", "whole_graph"]
