"""Names for faults of expressions and compositions: the reference with one step changed, under which every tried result of a wrong kernel is right."""
from __future__ import annotations

import dataclasses
import math
from typing import Any, Iterator, Sequence

import numpy as np

from assay._core import shapes
from assay._core.audits import Check, Refused, judge
from ._faults_of_regions import faults
from ._plans import Probe
from ._regions import Change, Node, Region, region_of, renumbered

_FIRST, _TRIED, _RIGHT, _MOST_ELEMENTS, _MOST_NODES = 2, 64, 16, 1 << 13, 40
_BLOCKS = (4, 8, 16, 32, 64, 128)
_EPSILONS = (0.0, 1e-12, 1e-8, 1e-6, 1e-5, 1e-3)
_ALIKE = ("relu", "tanh", "sigmoid", "abs", "neg", "exp", "log", "sqrt", "softmax", "log_softmax", "normalise", "round", "clip", "sign", "scale", "gelu", "silu", "square")
_PAIRS = ("add", "sub", "mul", "div", "max", "min", "power")


def _without(at: int, kept: int) -> Change:
    return lambda region: region.renamed({region.operands + at: region.nodes[at]["operands"][kept]}) if region.shapes[region.nodes[at]["operands"][kept]] == region.shapes[region.operands + at] else None


def _with(at: int, **attributes: Any) -> Change:
    def change(region: Region) -> Region:
        node = region.nodes[at]
        return region.replaced(at, [{**node, "attributes": {**node["attributes"], **attributes}}])
    return change


def _as(at: int, op: str) -> Change:
    return lambda region: region.replaced(at, [{**region.nodes[at], "op": op}])


def _exchanged(first: int, second: int) -> Change:
    def change(region: Region) -> Region | None:
        nodes = region.renamed({first: second, second: first}).nodes
        return dataclasses.replace(region, nodes=nodes) if region.shapes[first] == region.shapes[second] else None
    return change


def _of_first(operand: int) -> Change:
    """The first row of an operand for all its rows."""
    def change(region: Region) -> Region | None:
        shape, n = region.shapes[operand], region.operands
        if not shape or shape[0] < 2 or 0 in shape:
            return None
        one = {"op": "slice", "operands": [operand], "attributes": {"starts": [0] * len(shape), "steps": [1] * len(shape), "extents": [1, *shape[1:]]}}
        all_ = {"op": "expand", "operands": [n], "attributes": {"shape": list(shape)}}
        nodes = renumbered(region.nodes, lambda number: number + 2 if number >= n else n + 1 if number == operand else number)
        return dataclasses.replace(region, nodes=[one, all_, *nodes], outputs=[number + 2 if number >= n else number for number in region.outputs])
    return change


def _twice(region: Region) -> Region | None:
    """The first operand replaced by the result."""
    if len(region.outputs) != 1 or region.shapes[region.outputs[0]] != region.shapes[0]:
        return None
    n, count = region.operands, len(region.nodes)
    def moved(number: int) -> int:
        return region.outputs[0] if number == 0 else number + count if number >= n else number
    return dataclasses.replace(region, nodes=[*region.nodes, *renumbered(region.nodes, moved)], outputs=[moved(region.outputs[0])])


def _whole_blocks(at: int, size: int) -> Change:
    """A sum over the terms in whole blocks alone, where it has more than one block."""
    def change(region: Region) -> Region | None:
        node, first = region.nodes[at], region.operands + at
        used, op = node["operands"], node["op"]
        axes = [len(region.shapes[used[0]]) - 1] if op == "matmul" else [axis % len(region.shapes[used[0]]) for axis in node["attributes"]["axes"]]
        count = math.prod(region.shapes[used[0]][axis] for axis in axes)
        if len(axes) != 1 or count <= size or count % size == 0 or op == "matmul" and len(region.shapes[used[1]]) < 2:
            return region if len(axes) == 1 else None
        new: list[Node] = []
        sliced = [(used[0], axes[0])] + ([(used[1], len(region.shapes[used[1]]) - 2)] if op == "matmul" else [])
        for number, axis in sliced:
            extents = list(region.shapes[number])
            extents[axis] = count // size * size
            new.append({"op": "slice", "operands": [number], "attributes": {"starts": [0] * len(extents), "steps": [1] * len(extents), "extents": extents}})
        return region.replaced(at, [*new, {**node, "operands": [first + i for i in range(len(new))]}])
    return change


def _normalised(at: int, epsilon_outside: bool, less: int, by_reciprocal: bool) -> Change:
    """A normalisation step by step: with epsilon added to the root, or with another number of elements; as a quotient, or as a product with the reciprocal."""
    def change(region: Region) -> Region | None:
        node, v = region.nodes[at], region.operands + at
        x, wanted = node["operands"][0], node["attributes"]
        shape, axes = region.shapes[x], list(wanted["axes"])
        count = math.prod(shape[axis] for axis in axes)
        if wanted["form"] not in ("centered", "root_mean", "l2") or count < 2 or less and wanted["form"] == "l2":
            return None
        over = {"axes": axes, "keep_dims": True}
        new: list[Node] = []
        def step(op: str, *used: int, **attributes: Any) -> int:
            new.append({"op": op, "operands": list(used), **({"attributes": attributes} if attributes else {})})
            return v + len(new) - 1
        def constant(value: float) -> int:
            dtype = region.types[x]
            new.append({"op": "constant", "dtype": dtype, "shape": [], "data": [float(np.asarray(value, dtype))]})
            return v + len(new) - 1
        d = step("sub", x, step("reduce_mean", x, **over)) if wanted["form"] == "centered" else x
        total = step("reduce_sum", step("mul", d, d), **over)
        moment = total if wanted["form"] == "l2" else step("div", total, constant(float(count - less)))
        epsilon = constant(wanted["epsilon"])
        root = step("add", step("sqrt", moment), epsilon) if epsilon_outside else step("sqrt", step("add", moment, epsilon))
        if by_reciprocal:
            step("mul", d, step("reciprocal", root))
        else:
            step("div", d, root)
        return region.replaced(at, new)
    return change


def _changes(region: Region) -> Iterator[tuple[str, Change]]:
    """Faults that kernels have, each with words for the reference that computes it."""
    for at, node in enumerate(region.nodes):
        op, used = node["op"], node.get("operands", [])
        if op in _ALIKE:
            yield f"without its {op}", _without(at, 0)
        if op in _PAIRS and len(used) == 2:
            for kept in (0, 1) if op in ("add", "mul") else (0,):
                by = f" of operand {used[1 - kept]}" if used[1 - kept] < region.given else ""
                yield f"without its {op}{by}", _without(at, kept)
        if op in ("reduce_sum", "reduce_mean"):
            yield f"with a {'mean' if op == 'reduce_sum' else 'sum'} in place of its {op}", _as(at, "reduce_mean" if op == "reduce_sum" else "reduce_sum")
        if op in ("reduce_sum", "reduce_mean", "matmul"):
            for size in _BLOCKS if op != "reduce_mean" else ():
                yield f"without the terms behind the last whole block of {size} in its {op}", _whole_blocks(at, size)
        if op == "normalise":
            for by_reciprocal in (False, True):
                yield "with epsilon added to the root", _normalised(at, True, 0, by_reciprocal)
                yield "with one less than the number of elements", _normalised(at, False, 1, by_reciprocal)
            for epsilon in _EPSILONS:
                if epsilon != node["attributes"]["epsilon"]:
                    yield f"with an epsilon of {epsilon:g}", _with(at, epsilon=epsilon)
    for first in range(region.given):
        for second in range(first + 1, region.given):
            yield f"with operands {first} and {second} exchanged", _exchanged(first, second)
        yield f"with the first row of operand {first} for all", _of_first(first)
    yield "applied twice", _twice
    yield from faults(region)


def _changed(check: Check, region: Region, change: Change) -> Check | None:
    try:
        other = change(region)
    except (shapes.Misfit, IndexError, KeyError):
        return None
    return None if other is None else dataclasses.replace(check, nodes=other.nodes, outputs=other.outputs)


def changed_reference(failed: Sequence[tuple[Probe, Check]], passed: Sequence[tuple[Probe, Check]]) -> tuple[str, list[int]]:
    """Words for the one change of the reference under which every tried failing probe lies in its contract, and which of the failing probes those are.

    Probes that passed have to pass under the change as well. The words are empty where no change or several do so.
    """
    def fits(one: tuple[Probe, Check]) -> bool:
        ops = [node["op"] for node in one[1].nodes]
        return ops == form and sum(math.prod(bits.shape) for bits in one[1].operands) <= _MOST_ELEMENTS

    form = [node["op"] for node in failed[0][1].nodes]
    tried = [i for i, one in enumerate(failed) if fits(one)][:_TRIED]
    if len(tried) < min(_FIRST, len(failed)) or len(form) > _MOST_NODES:
        return "", []
    try:
        pairs = [(failed[i][1], region_of(*failed[i])) for i in tried] + [(check, region_of(probe, check)) for probe, check in passed if fits((probe, check))][:_RIGHT]
        left = list(_changes(pairs[0][1]))
        for some in (pairs[:_FIRST], pairs[_FIRST:]):
            left = _admitting(left, some)
    except (Refused, shapes.Misfit, KeyError):
        return "", []
    return (left[0][0], tried) if len({words for words, _ in left}) == 1 else ("", [])


def _admitting(changes: list[tuple[str, Change]], pairs: Sequence[tuple[Check, Region]]) -> list[tuple[str, Change]]:
    """Of the changes those under which no element of these checks fails, and three quarters are not vacuous."""
    rows = [(words, change, [_changed(check, region, change) for check, region in pairs]) for words, change in changes]
    whole = [(words, change, [one for one in checks if one is not None]) for words, change, checks in rows if None not in checks]
    every = [one for _, _, checks in whole for one in checks]
    cases = iter(judge(every).cases if every else [])
    found = []
    for words, change, checks in whole:
        own = [next(cases) for _ in checks]
        if not any(case.failed or case.unsupported for case in own) and 4 * sum(case.vacuous for case in own) <= sum(case.judged for case in own):
            found.append((words, change))
    return found


__all__ = ["changed_reference"]
