"""The first operation of two runs whose result has other bits: what ran in each, in order, and where the runs part."""
from __future__ import annotations

import dataclasses
from typing import Any, Mapping, Sequence

import numpy as np

from assay._core.arrays import Bits
from assay._core.gate_reports import counted

_MOST_SHOWN = 6


@dataclasses.dataclass
class Step:
    """One operation: its name, the line of the program that called it, its results, and the operands that no operation before it has given."""

    op: str
    file: str = ""
    line: int = 0
    inside: str = ""  # "in the backward pass of MulBackward0"
    results: Sequence[Bits | None] = ()
    shapes: Sequence[tuple[int, ...]] = ()  # of the results
    leaves: Sequence[tuple[int, Bits]] = ()  # by the position of the operand
    numbers: str = ""  # its arguments that are no tensors

    @property
    def words(self) -> str:
        """The operation with its place."""
        return self.op + (f" at {self.file.rpartition('/')[2]}:{self.line}" if self.file else "") + (f" {self.inside}" if self.inside else "")


@dataclasses.dataclass
class Steps:
    """The operations of one run."""

    steps: list[Step] = dataclasses.field(default_factory=list)
    left_out: str = ""  # why later operations were not kept


@dataclasses.dataclass
class Rows:
    """Which rows of the first run the second one has."""

    count: int  # rows of the first run
    taken: np.ndarray[Any, np.dtype[Any]]


@dataclasses.dataclass
class Difference:
    """Where two runs part, in words and as JSON."""

    text: str
    json: dict[str, Any]


def first_difference(before: Steps, after: Steps, rows: Rows | None, doubled: Steps | None, noun: str = "operation") -> Difference:
    """Compares two runs operation by operation. `doubled` is a run on all rows twice, which tells the axis of rows where both runs have equally many."""
    skipped = 0
    for number, (one, other) in enumerate(zip(before.steps, after.steps)):
        if one.op != other.op or len(one.results) != len(other.results):
            return _parted(number, one, other, before, noun)
        twice = doubled.steps[number].shapes if doubled is not None and number < len(doubled.steps) and doubled.steps[number].op == one.op else None
        for i, (wanted, found) in enumerate(zip(one.results, other.results)):
            if wanted is None or found is None:
                skipped += 1
                continue
            if rows is None and (wanted.dtype, wanted.shape) != (found.dtype, found.shape):
                return _parted(number, one, other, before, noun)
            expected = _as_other(wanted, found, rows, twice[i] if twice is not None and i < len(twice) else None)
            if expected is None or wanted.dtype != found.dtype:
                skipped += 1
                continue
            differs = words_of(expected) != words_of(found.carrier())
            if differs.any():
                return _named(number, one, other, i, expected, found, differs, rows, before, skipped, noun)
    least = min(len(before.steps), len(after.steps))
    if len(before.steps) != len(after.steps) and not (before.left_out or after.left_out):
        further = (before if len(before.steps) > least else after).steps[least]
        text = f"the runs part after {counted(least, noun)} with the same bits: only the {'first' if len(before.steps) > least else 'second'} goes on, with {further.words}"
        return Difference(text, {"kind": "other operation", "number": least, "of": len(before.steps), "op": further.op, "file": further.file, "line": further.line})
    why = next((one for one in (before.left_out, after.left_out) if one), "")
    text = f"no {noun} was found that differs, of {least} that were compared" + (f"; {why}" if why else "") + (f"; {_skips(skipped)}" if skipped else "")
    return Difference(text, {"kind": "none", "of": least})


def words_of(array: np.ndarray[Any, np.dtype[Any]]) -> np.ndarray[Any, np.dtype[Any]]:
    """The bits of each element as one whole number."""
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").reshape(array.shape)


def _skips(skipped: int) -> str:
    return f"{counted(skipped, 'result')} before had shapes or types that cannot be compared"


def _parted(number: int, one: Step, other: Step, before: Steps, noun: str) -> Difference:
    shapes = [" and ".join(str(list(shape)) for shape in step.shapes[:2]) for step in (one, other)]
    text = f"the runs part at {noun} {number + 1} of {len(before.steps)}: {one.words}, with the result {shapes[0]}, and {other.words}, with {shapes[1]}; all before it have the same bits"
    return Difference(text, {"kind": "other operation", "number": number, "of": len(before.steps), "op": one.op, "file": one.file, "line": one.line,
                             "other": {"op": other.op, "file": other.file, "line": other.line}})


def _named(number: int, one: Step, other: Step, result: int, expected: Any, found: Bits, differs: Any, rows: Rows | None, before: Steps, skipped: int, noun: str) -> Difference:
    at = tuple(int(i) for i in np.argwhere(differs)[0])
    wanted = Bits(found.dtype, (), np.ascontiguousarray(expected[at]).tobytes()).numpy().item()
    received = found.numpy()[at].item()
    leaves, is_known = _other_leaves(dict(one.leaves), dict(other.leaves), rows)
    known = "its operands have the same bits" if is_known and not leaves and not skipped and one.numbers == other.numbers else ""
    if leaves:
        known = f"{'operand' if len(leaves) == 1 else 'operands'} {', '.join(map(str, leaves[:_MOST_SHOWN]))}, which no {noun} computed, {'has' if len(leaves) == 1 else 'have'} other bits"
    if one.numbers != other.numbers and rows is None:
        known = "; ".join(filter(None, [known, f"its other arguments are {one.numbers}, and {other.numbers} there"]))
    if skipped:
        known = "; ".join(filter(None, [known, _skips(skipped)]))
    moved = f" (there {other.words})" if (other.file, other.line) != (one.file, one.line) else ""
    where = f"at {list(at)}{' of the second run' if rows is not None else ''}: " if at else ""
    text = (f"the first {noun} that differs is number {number + 1} of {len(before.steps)}, {one.words}{moved}: {counted(int(differs.sum()), 'element')} of its result"
            f"{f' {result}' if len(one.results) > 1 else ''}, {'first ' if at else ''}{where}{wanted!r}, and {received!r} there" + (f"; {known}" if known else ""))
    return Difference(text, {"kind": "result", "number": number, "of": len(before.steps), "op": one.op, "file": one.file, "line": one.line, "inside": one.inside,
                             "result": result, "at": list(at), "expected": wanted, "received": received, "elements": int(differs.sum()), "other_operands": leaves,
                             "not_compared": skipped, "other": {"op": other.op, "file": other.file, "line": other.line}})


def _other_leaves(mine: Mapping[int, Bits], theirs: Mapping[int, Bits], rows: Rows | None) -> tuple[list[int], bool]:
    """The operands that no operation computed and that have other bits, and whether all of them could be compared."""
    compared = {position: _as_other(bits, theirs[position], rows, None) for position, bits in mine.items() if position in theirs}
    other = [position for position, array in compared.items() if array is not None and (words_of(array) != words_of(theirs[position].carrier())).any()]
    return other, mine.keys() == theirs.keys() and all(array is not None for array in compared.values())


def _as_other(wanted: Bits, found: Bits, rows: Rows | None, twice: tuple[int, ...] | None) -> Any:
    """The elements of the first run that the second one has, in its order; None where the axis of the rows cannot be told."""
    array = wanted.carrier()
    if rows is None:
        return array if wanted.shape == found.shape else None
    if len(wanted.shape) != len(found.shape):
        return None
    other = twice if rows.count == len(rows.taken) else found.shape
    if other is None or len(other) != len(wanted.shape):
        return array if wanted.shape == found.shape and rows.count != len(rows.taken) else None
    many = 2 * rows.count if rows.count == len(rows.taken) else len(rows.taken)
    axes = [axis for axis, (a, b) in enumerate(zip(wanted.shape, other)) if a != b]
    if not axes:
        return array if wanted.shape == found.shape else None
    axis = axes[0]
    each, rest = divmod(wanted.shape[axis], rows.count)
    if len(axes) > 1 or rest or each * many != other[axis] or found.shape[axis] != each * len(rows.taken):
        return None
    split = (*wanted.shape[:axis], rows.count, each, *wanted.shape[axis + 1:]), (*wanted.shape[:axis], each, rows.count, *wanted.shape[axis + 1:])
    tried = [np.take(array.reshape(shape), rows.taken, axis + place).reshape(found.shape) for place, shape in enumerate(split)]  # rows outside, rows inside
    bits = words_of(found.carrier())
    return min(tried, key=lambda one: int((words_of(one) != bits).sum()))


__all__ = ["Difference", "Rows", "Step", "Steps", "first_difference", "words_of"]
