"""Equal formulas of an expression: its pointwise sums and products in other orders, and quotients as products with a reciprocal.

A kernel is one program, so that one formula has to admit all its results. Each formula is judged as it is written: its roundings are its own,
and its infinities, zeros and NaN are those of its own steps. Sums of many terms are judged as `reduce_sum`, which admits every order.
"""
from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from typing import Any, Callable, Iterator, Sequence, Union

from assay._core import shapes
from assay._core.audits import Check, Refused, judge
from ._plans import Probe
from ._regions import Node, Region, region_of, step_of

_SUMS, _PRODUCTS = ("add", "sub", "neg"), ("mul", "div", "reciprocal", "pow")
_MOST_TERMS, _MOST_OF_FRACTION, _MOST_FORMULAS = 5, 4, 400
_FIRST, _MOST_ELEMENTS, _KEPT = 3, 1 << 13, 3  # checks that sort out most formulas, their elements, and formulas that are tried on all checks
_ALL = ("all",)  # the formula of a sum whose terms are added in any order
# A formula is the position of a term, or an operation of formulas; with its sign, or its place above or below the line of a fraction.
Formula = Union[int, tuple[Any, ...]]
_Signed = tuple[Formula, bool]


@dataclasses.dataclass(frozen=True)
class _Tree:
    """Steps that add up terms, or multiply factors. Nothing but the next step reads those in between."""

    root: int
    inner: frozenset[int]
    is_sum: bool
    leaves: tuple[tuple[int, bool], ...]  # values, each with whether it is subtracted or divided by

    @property
    def form(self) -> tuple[Any, ...]:
        return self.root, self.is_sum, self.leaves


def _parts(node: Node, is_sum: bool) -> list[tuple[int, bool]] | None:
    """The operands of a step of a tree, each with whether it is subtracted or divided by; nothing for other steps."""
    op, used = node["op"], node.get("operands", [])
    if op not in (_SUMS if is_sum else _PRODUCTS):
        return None
    if op == "pow":
        exponent = node["attributes"].get("exponent")
        return [(used[0], False)] * int(exponent) if exponent in (2, 3, "2", "3") else None
    return [(used[0], op in ("neg", "reciprocal")), *((one, op in ("sub", "div")) for one in used[1:])]


def _trees(region: Region) -> list[_Tree]:
    """The largest trees of a region, in floats, by their last steps."""
    readers = region.readers()
    for number in region.outputs:
        readers[number] += 1  # results are read elsewhere, too
    found, taken = list[_Tree](), set[int]()
    for at in reversed(range(len(region.nodes))):
        if at in taken or region.types[region.operands + at] not in shapes.REALS:
            continue
        for is_sum in (True, False):
            inner = set[int]()

            def leaves(value: int, is_inverse: bool, is_root: bool = False) -> Iterator[tuple[int, bool]]:
                step = value - region.operands
                parts = _parts(region.nodes[step], is_sum) if step >= 0 and (is_root or readers[value] == 1) else None
                if parts is None:
                    yield value, is_inverse
                    return
                inner.add(step)
                for one, is_turned in parts:
                    yield from leaves(one, is_inverse != is_turned)

            every = tuple(leaves(region.operands + at, False, True))
            if inner and (len(every) > 2 or not is_sum and len(every) == 2 and any(turned for _, turned in every)):
                found.append(_Tree(at, frozenset(inner), is_sum, every))
                taken |= inner
    return found


def _joined(left: _Signed, right: _Signed, is_sum: bool) -> Iterator[_Signed]:
    (a, a_turned), (b, b_turned) = left, right
    if a_turned == b_turned:
        yield ("add" if is_sum else "mul", a, b), a_turned
        if not is_sum and a_turned:
            yield ("mul", ("reciprocal", a), ("reciprocal", b)), False
        return
    above, below = (b, a) if a_turned else (a, b)
    yield ("sub" if is_sum else "div", above, below), False
    if not is_sum:
        yield ("mul", above, ("reciprocal", below)), False
        yield ("div", below, above), True


@functools.lru_cache(maxsize=256)
def _signed(leaves: tuple[tuple[int, bool], ...], is_sum: bool) -> tuple[_Signed, ...]:
    """Every order of the terms; equal values count as one term that occurs again."""
    if len(leaves) == 1:
        return leaves
    found = dict[_Signed, None]()
    for chosen in itertools.product((True, False), repeat=len(leaves) - 1):
        left = (leaves[0], *(one for one, is_left in zip(leaves[1:], chosen) if is_left))
        right = tuple(one for one, is_left in zip(leaves[1:], chosen) if not is_left)
        for a, b in itertools.product(_signed(left, is_sum), _signed(right, is_sum)) if right else ():
            first, second = sorted((a, b), key=repr)
            found.update(dict.fromkeys(_joined(first, second, is_sum)))
    return tuple(found)


def _formulas(tree: _Tree) -> list[Formula]:
    if len(tree.leaves) > (_MOST_TERMS if tree.is_sum or not any(turned for _, turned in tree.leaves) else _MOST_OF_FRACTION):
        return [_ALL] if tree.is_sum else []
    return [(("neg" if tree.is_sum else "reciprocal"), one) if turned else one for one, turned in _signed(tree.leaves, tree.is_sum)]


class _Writer:
    """Writes the nodes of a region anew, with formulas in the places of trees."""

    def __init__(self, region: Region) -> None:
        self.region, self.nodes = region, list[Node]()
        self.moved = list(range(region.operands))

    def step(self, op: str, *used: int, **attributes: Any) -> int:
        self.nodes.append(step_of(op, *used, **attributes))
        return self.region.operands + len(self.nodes) - 1

    def formula(self, one: Formula) -> int:
        return self.moved[one] if isinstance(one, int) else self.step(one[0], *(self.formula(part) for part in one[1:]))

    def sum_of(self, tree: _Tree) -> int:
        """The terms along a new axis, added up."""
        shape = list(self.region.shapes[self.region.operands + tree.root])
        terms = list[int]()
        for value, is_negative in tree.leaves:
            term = self.moved[value]
            if list(self.region.shapes[value]) != shape:
                term = self.step("expand", term, shape=shape)
            term = self.step("reshape", term, shape=[*shape, 1])
            terms.append(self.step("neg", term) if is_negative else term)
        return self.step("reduce_sum", self.step("concat", *terms, axis=len(shape)), axes=[len(shape)], keep_dims=False)

    def written(self, chosen: Sequence[tuple[_Tree, Formula]]) -> tuple[list[Node], list[int]]:
        roots = {tree.root: (tree, formula) for tree, formula in chosen}
        inner = frozenset[int]().union(*(tree.inner for tree, _ in chosen))
        for at, node in enumerate(self.region.nodes):
            if at in roots:
                tree, formula = roots[at]
                self.moved.append(self.sum_of(tree) if formula == _ALL else self.formula(formula))
            elif at in inner:
                self.moved.append(-1)  # nothing reads it any more
            else:
                self.nodes.append({**node, "operands": [self.moved[one] for one in node["operands"]]} if "operands" in node else node)
                self.moved.append(self.region.operands + len(self.nodes) - 1)
        return self.nodes, [self.moved[one] for one in self.region.outputs]


class Orders:
    """The equal formulas of an expression, by the trees of its steps."""

    def __init__(self, probe: Probe, check: Check) -> None:
        self.trees = _trees(region_of(probe, check))
        self.form = [tree.form for tree in self.trees]
        choices = [_formulas(tree) for tree in self.trees]
        self.count = math.prod(len(one) for one in choices if one)
        if self.count > _MOST_FORMULAS:  # sums in any order at once
            choices = [[_ALL] if tree.is_sum and len(tree.leaves) > 2 else some for tree, some in zip(self.trees, choices)]
        self.choices = [(tree, some) for tree, some in zip(self.trees, choices) if some]

    def formulas(self) -> list[tuple[Formula, ...]]:
        return list(itertools.islice(itertools.product(*(some for _, some in self.choices)), _MOST_FORMULAS)) if self.choices else []

    def check(self, probe: Probe, check: Check, formulas: Sequence[Formula]) -> Check | None:
        """The check by these formulas; nothing where the reference has other steps."""
        region = region_of(probe, check)
        if [tree.form for tree in _trees(region)] != self.form:
            return None
        nodes, outputs = _Writer(region).written([(tree, one) for (tree, _), one in zip(self.choices, formulas)])
        return dataclasses.replace(check, nodes=nodes, outputs=outputs)


def _pass(checks: Sequence[Check | None]) -> list[bool]:
    """Which checks are there, fail nowhere, and tell something."""
    cases = iter(judge([one for one in checks if one is not None]).cases if any(one is not None for one in checks) else [])
    found = [None if one is None else next(cases) for one in checks]
    return [one is not None and not one.failed and not one.unsupported for one in found]


def other_orders(failed: Sequence[tuple[Probe, Check]]) -> Iterator[Callable[[Probe, Check], Check | None]]:
    """Equal formulas under which the failing probes do not fail, each as a function that makes a check by it. Few are yielded."""
    small = [one for one in failed if sum(math.prod(bits.shape) for bits in one[0].operands) <= _MOST_ELEMENTS]
    tried = small[:_FIRST] or list(failed[:1])
    try:
        orders = Orders(*tried[0])
        left = orders.formulas()
        for part in (tried[:1], tried[1:]):
            for probe, check in part:
                passing = _pass([orders.check(probe, check, one) for one in left])
                left = [one for one, is_right in zip(left, passing) if is_right]
    except (Refused, shapes.Misfit, KeyError):
        return
    for one in left[:_KEPT]:
        yield functools.partial(orders.check, formulas=one)


__all__ = ["other_orders"]
