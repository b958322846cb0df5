"""Integers that no set holds: those beyond 2^53, such as the one that an infinity becomes, which nothing defines.

A program may compute with one, and drop it: buckets of relative positions take log(0), and choose another number there. An operation that gives such an
integer is judged as a part of the operations that read it, so that only the ones that keep it stay undecided.
"""
from __future__ import annotations

from typing import Any

import torch

from .backward import Recorder
from .surrogates import shift
from .values import Region

LARGEST = 2**53


def is_unheld(tensor: torch.Tensor) -> bool:
    """Whether an element is an integer beyond those that sets hold."""
    return tensor.dtype == torch.int64 and bool(((tensor > LARGEST) | (tensor < -LARGEST)).any())


def drop_unheld(run: Recorder) -> None:
    """Move operations whose result has such an element into all operations that read it, if their results are integers or truth values, too."""
    judged = {id(one.of) for one in run.products}
    for region in run.regions[:]:
        if len(region.results) != 1 or not is_unheld(run.memory.values[region.results[0]].tensor) or id(region) in judged:
            continue
        readers = [one for one in run.regions if region.results[0] in one.operands]
        if region.operands and readers and all(fits(run, region, one) for one in readers):
            for one in readers:
                put_before(region, one)
            run.regions.remove(region)


def fits(run: Recorder, region: Region, reader: Region) -> bool:
    """Whether both can be one region: no derivative, and one type of floats."""
    kinds = {run.memory.values[v].tensor.dtype for v in region.operands + reader.operands if run.memory.values[v].tensor.is_floating_point()}
    return len(kinds) < 2 and not any(run.memory.values[v].tensor.is_floating_point() for v in reader.results)


def put_before(region: Region, reader: Region) -> None:
    """Let a region compute an operand itself, of what the other one reads."""
    value = region.results[0]
    places = [i for i, v in enumerate(reader.operands) if v == value]
    for v in region.operands:
        if v not in reader.operands:
            reader.operands.append(v)
            shift(reader, len(reader.operands) - 1)
    count, size = len(reader.operands), len(region.nodes)
    at = [reader.operands.index(v) for v in region.operands] + list(range(count, count + size))
    found = at[region.outputs[0]]

    def moved(i: int) -> int:
        return found if i in places else i if i < count else i + size
    before = [node | ({"operands": [at[i] for i in node["operands"]]} if "operands" in node else {}) for node in region.nodes]
    after: list[dict[str, Any]] = [node | ({"operands": [moved(i) for i in node["operands"]]} if "operands" in node else {}) for node in reader.nodes]
    reader.nodes, reader.outputs = before + after, [moved(i) for i in reader.outputs]
    for i in reversed(places):
        del reader.operands[i]
        for node in reader.nodes:
            if "operands" in node:
                node["operands"] = [k - 1 if k > i else k for k in node["operands"]]
        reader.outputs = [k - 1 if k > i else k for k in reader.outputs]
    reader.is_double = reader.is_double or region.is_double
