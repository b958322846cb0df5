"""Properties as Python objects: an input box, and what is to hold for every point of it. They become VNN-LIB text."""
from __future__ import annotations

import fractions
import math
from typing import Any, Iterable, Optional, Sequence, Union

from assay._core import arguments
from assay.errors import UsageError, wrong

Tensors = Sequence[tuple[str, str, tuple[int, ...]]]  # name, dtype, shape


class Box:
    """The points between `lo` and `hi`, or within `radius` of `center` in every coordinate.

    Numbers are exact. A float is the binary number that it is; a text such as "0.1" or "2/255" is the number that it spells. Fractions and
    decimals are numbers, too.

    Args:
        center: An array.
        radius: An array or a number.
        lo: An array or a number.
        hi: An array or a number.
        clip: Two numbers between which the box is cut off, for example (0, 1).
        input: The name of the model's input, where the model has several.
    """

    def __init__(self, center: Any = None, radius: Any = None, *, lo: Any = None, hi: Any = None, clip: Optional[tuple[Any, Any]] = None,
                 input: Optional[str] = None) -> None:
        if (center is None) != (radius is None) or (lo is None) != (hi is None) or (center is None) == (lo is None):
            raise UsageError("wrong argument", where="Box", why="expected center and radius, or lo and hi", code="python.argument")
        if center is not None:
            middle, shape = arguments.flat("Box(center)", center)
            half, half_shape = arguments.flat("Box(radius)", radius)
            if any(r < 0 for r in half):
                raise wrong("Box(radius)", "numbers of at least 0", radius)
            middle, half, self.shape = _broadcast("Box(center, radius)", middle, shape, half, half_shape)
            self.lo = [m - r for m, r in zip(middle, half)]
            self.hi = [m + r for m, r in zip(middle, half)]
        else:
            least, shape = arguments.flat("Box(lo)", lo)
            most, most_shape = arguments.flat("Box(hi)", hi)
            self.lo, self.hi, self.shape = _broadcast("Box(lo, hi)", least, shape, most, most_shape)
        if clip is not None:
            if not isinstance(clip, (tuple, list)) or len(clip) != 2:
                raise wrong("Box(clip)", "two numbers", clip)
            first, last = (arguments.exact("Box(clip)", end) for end in clip)
            self.lo, self.hi = [max(x, first) for x in self.lo], [min(x, last) for x in self.hi]
        for i, (a, b) in enumerate(zip(self.lo, self.hi)):
            if a > b:
                raise wrong(f"Box, element {i}", "lo <= hi", f"{float(a)!r}, {float(b)!r}")
        self.input = None if input is None else arguments.text("Box(input)", input)

    def __repr__(self) -> str:
        return f"Box(shape={list(self.shape)}, widest={float(max((b - a for a, b in zip(self.lo, self.hi)), default=0)):.6g})"


class Robust:
    """The claim that one output stays the largest: every other output is smaller.

    Args:
        label: The position of the output.
    """

    def __init__(self, label: int) -> None:
        self.label = arguments.whole("Robust(label)", label, 0, 2**62)

    def __repr__(self) -> str:
        return f"Robust({self.label})"

    def unsafe(self, outputs: int) -> list[str]:
        if self.label >= outputs:
            raise wrong("Robust(label)", f"a position below {outputs}, the number of outputs", self.label)
        return [f"(>= Y_{j} Y_{self.label})" for j in range(outputs) if j != self.label]


class Linear:
    """The claim that each row of `rows` times the outputs is at most `at_most`, and at least `at_least`.

    Args:
        rows: A matrix with a column for each output, or one row: an array, a list of arrays, or lists of numbers as those of `Box`.
        at_most: A number, or one for each row.
        at_least: A number, or one for each row.
    """

    def __init__(self, rows: Any, *, at_most: Any = None, at_least: Any = None) -> None:
        elements, shape = arguments.flat("Linear(rows)", rows)
        if len(shape) not in (1, 2) or 0 in shape:
            raise wrong("Linear(rows)", "a row, or a matrix with a column per output", f"shape {list(shape)}")
        width = shape[-1]
        self.rows = [elements[i:i + width] for i in range(0, len(elements), width)]
        if at_most is None and at_least is None:
            raise UsageError("wrong argument", where="Linear", why="expected at_most, at_least or both", code="python.argument")
        self.bounds: list[tuple[str, list[fractions.Fraction]]] = []
        for word, name, bound in ((">", "at_most", at_most), ("<", "at_least", at_least)):
            if bound is None:
                continue
            values, _ = arguments.flat(f"Linear({name})", bound)
            if len(values) not in (1, len(self.rows)):
                raise wrong(f"Linear({name})", f"1 or {len(self.rows)} numbers", f"{len(values)}")
            self.bounds.append((word, values * len(self.rows) if len(values) == 1 else values))

    def __repr__(self) -> str:
        return f"Linear({len(self.rows)} rows of {len(self.rows[0])})"

    def unsafe(self, outputs: int) -> list[str]:
        if len(self.rows[0]) != outputs:
            raise wrong("Linear(rows)", f"{outputs} columns, the number of outputs", f"{len(self.rows[0])}")
        return [self._compared(word, row, bound) for word, bounds in self.bounds for row, bound in zip(self.rows, bounds)]

    @staticmethod
    def _compared(word: str, row: list[fractions.Fraction], bound: fractions.Fraction) -> str:
        """VNN-LIB has decimals only: numbers that are none, such as 1/3, become some by a factor of the whole comparison."""
        factor = math.lcm(*map(arguments.undecimal, [*row, bound]))
        return f"({word} {Linear._sum([factor * c for c in row])} {arguments.decimal_of(factor * bound)})"

    @staticmethod
    def _sum(row: list[fractions.Fraction]) -> str:
        terms = [f"(* {arguments.decimal_of(c)} Y_{j})" for j, c in enumerate(row) if c != 0]
        return "0" if not terms else terms[0] if len(terms) == 1 else f"(+ {' '.join(terms)})"


Part = Union[Box, Robust, Linear]


def vnnlib(parts: Iterable[Part], inputs: Tensors, outputs: Tensors) -> str:
    """The property as VNN-LIB 1.0 text: its assertions describe the points at which something does not hold."""
    boxes = [part for part in parts if isinstance(part, Box)]
    meant = [part for part in parts if not isinstance(part, Box)]
    if not meant:
        raise UsageError("wrong argument", where="property", why="expected a Robust or a Linear beside the boxes, got boxes alone",
                         advice="say what holds for the outputs: Robust(label), or Linear(rows, at_most=...)", code="python.argument")
    lines = [f"(declare-const X_{i} Real)" for i in range(sum(math.prod(shape) for _, _, shape in inputs))]
    width = sum(math.prod(shape) for _, _, shape in outputs)
    lines += [f"(declare-const Y_{j} Real)" for j in range(width)]
    at = 0
    if not inputs:
        raise wrong("model", "a model with inputs, since a property is about a box of inputs", "a model without inputs")
    for name, _, shape in inputs:
        box = _box_of(boxes, name, len(inputs))
        arguments.fits(f"Box of input '{name}'", box.shape, shape)
        for lo, hi in zip(box.lo, box.hi):
            lines += [_bounded(">=", at, lo), _bounded("<=", at, hi)]
            at += 1
    unsafe = [f"(and {one})" for part in meant for one in part.unsafe(width)]
    if not unsafe:
        raise wrong("property", "a property that can fail", "a class of a model with one output, which is always the largest")
    return "\n".join([*lines, f"(assert (or {' '.join(unsafe)}))"]) + "\n"


def _bounded(word: str, at: int, bound: fractions.Fraction) -> str:
    factor = arguments.undecimal(bound)
    variable = f"X_{at}" if factor == 1 else f"(* {factor} X_{at})"
    return f"(assert ({word} {variable} {arguments.decimal_of(factor * bound)}))"


def _box_of(boxes: list[Box], name: str, inputs: int) -> Box:
    found = [box for box in boxes if box.input == name or (box.input is None and inputs == 1)]
    if not boxes:
        raise UsageError("wrong argument", where="property", code="python.argument", why=f"expected one Box for input '{name}', got none",
                         advice="add Box(center, radius) or Box(lo=..., hi=...)" + (f" with input='{name}'" if inputs > 1 else ""))
    if len(found) != 1 or len(boxes) != inputs:
        raise UsageError("wrong argument", where="property", code="python.argument",
                         why=f"expected one Box for input '{name}' and none beside the model's inputs, got {len(found)} for it and {len(boxes)} in all",
                         advice=f"say Box(..., input='{name}')" if inputs > 1 else "give one Box, without another input's name")
    return found[0]


def _broadcast(where: str, a: list[fractions.Fraction], a_shape: tuple[int, ...], b: list[fractions.Fraction],
               b_shape: tuple[int, ...]) -> tuple[list[fractions.Fraction], list[fractions.Fraction], tuple[int, ...]]:
    if b_shape == ():
        return a, b * len(a), a_shape
    if a_shape == ():
        return a * len(b), b, b_shape
    if a_shape != b_shape:
        raise wrong(where, "arrays of one shape, or a number", f"shapes {list(a_shape)} and {list(b_shape)}")
    return a, b, a_shape
