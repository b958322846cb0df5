"""Wrong results that depend on a size alone: a kernel that loses the elements behind its last full block fails where the axis is no multiple of the block."""
from __future__ import annotations

from typing import Callable, Sequence

from assay._core.gate_reports import Case

_BLOCKS = tuple(2**i for i in range(2, 11))
_LEAST, _MOST = 3, 1024  # sizes that have to fail: a smaller one may be right by accident, and in a longer one few terms may count less than roundings
_FAILING, _PASSING = 3, 2  # different sizes that have to show it
_AXES = {-1: "the last axis", -2: "the last axis but one"}


def by_size(cases: Sequence[Case]) -> str:
    """Words for the one axis whose size tells the wrong results from the right ones; empty where none does, or several do."""
    called = [case for case in cases if case.call]
    operands = min((len(case.call["operands"]) for case in called), default=0)
    found = []
    for operand in range(operands):
        for axis, words in _AXES.items():
            if all(len(case.call["operands"][operand]["shape"]) >= -axis for case in called) and (rule := _rule(called, operand, axis)):
                found.append((tuple(case.call["operands"][operand]["shape"][axis] for case in called), f"gives wrong results only where the size of {words} of operand {operand} is {rule}"))
    return found[0][1] if found and len({sizes for sizes, _ in found}) == 1 else ""


def _rule(cases: Sequence[Case], operand: int, axis: int) -> str:
    counts: dict[int, list[int]] = {}
    for case in cases:
        row = counts.setdefault(case.call["operands"][operand]["shape"][axis], [0, 0])
        row[0] += 1
        row[1] += any(one.kind == "fail" for one in case.findings)
    for block in reversed(_BLOCKS):  # the passing sizes are multiples of its parts, too
        if any(size & (size - 1) for size in counts if size and size % block == 0) and _tells(counts, lambda size: size % block == 0):
            return f"no multiple of {block}"
    return "no power of two" if _tells(counts, lambda size: size & (size - 1) == 0) else ""


def _tells(counts: dict[int, list[int]], is_right: Callable[[int], bool]) -> bool:
    """Whether all sizes of one kind pass, and all others of some length fail on most probes."""
    right = [size for size in counts if size >= _LEAST and is_right(size)]
    wrong = [size for size in counts if _LEAST <= size <= _MOST and not is_right(size)]
    return (len(right) >= _PASSING and len(wrong) >= _FAILING and not any(failed for size, (_, failed) in counts.items() if size and is_right(size))
            and all(2 * counts[size][1] >= counts[size][0] for size in wrong))


__all__ = ["by_size"]
