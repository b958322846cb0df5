"""Between which numbers the elements of a value lie whatever the inputs are, as those of a relu or an exp: no input takes them beyond.

A Function may compare its own result with the end of this range, as in `g * (y > 0)` for y = relu(x). Then no element can lie on the other side.
"""
from __future__ import annotations

import math
from typing import Any, Callable, Sequence

import torch

INF = math.inf
Range = tuple[float, float]
ALL: Range = (-INF, INF)
# Of which the elements are those of the first operand, at other places.
MOVING = {"view", "_unsafe_view", "reshape", "expand", "squeeze", "unsqueeze", "alias", "clone", "detach", "contiguous", "gather", "index", "index_select", "slice", "select", "transpose",
          "permute", "t", "flip", "flatten", "amax", "amin", "max", "min", "sort", "topk", "mean"}
FIXED: dict[str, Range] = {
    **dict.fromkeys(("relu", "exp", "exp2", "square", "sqrt", "linalg_vector_norm", "norm"), (0.0, INF)), "relu6": (0.0, 6.0),
    **dict.fromkeys(("sigmoid", "_softmax", "hardsigmoid"), (0.0, 1.0)), **dict.fromkeys(("tanh", "sin", "cos", "sign", "erf"), (-1.0, 1.0))}


def clipped(x: Range, lowest: Any = None, highest: Any = None) -> Range:
    if any(isinstance(one, torch.Tensor) for one in (lowest, highest)):
        return ALL
    low, high = -INF if lowest is None else float(lowest), INF if highest is None else float(highest)
    return min(max(x[0], low), high), max(min(x[1], high), low)


def product(x: Range, y: Range) -> Range:
    return (0.0, INF) if x[0] >= 0 and y[0] >= 0 else ALL


RULES: dict[str, Callable[..., Range]] = {
    "abs": lambda x: (0.0, max(abs(x[0]), abs(x[1]))), "clamp": lambda x, min=None, max=None: clipped(x, min, max), "hardtanh": lambda x, low=-1.0, high=1.0: clipped(x, low, high),
    "clamp_min": lambda x, low: clipped(x, low), "clamp_max": lambda x, high: clipped(x, None, high), "mul": product, "div": product,
    "sum": lambda x, *_, **__: (0.0, INF) if x[0] >= 0 else ALL,
    "pow": lambda x, by: (0.0, INF) if isinstance(by, (int, float)) and by % 2 == 0 else ALL}


def range_of(op: str, args: Sequence[Any], known: Callable[[Any], Range]) -> Range:
    """The range of an operation's results, by those of its operands."""
    if op in FIXED:
        return FIXED[op]
    if op in MOVING:
        return known(args[0])
    if op not in RULES:
        return ALL
    is_of_two = op in ("mul", "div")
    try:
        given = [known(one) if k == 0 or is_of_two and isinstance(one, torch.Tensor) else (float(one), float(one)) if is_of_two else one for k, one in enumerate(args)]
        return RULES[op](*given)
    except (TypeError, ValueError):  # called in another way
        return ALL


def reachable(op: str, threshold: float, within: Range, sides: tuple[str, str, str]) -> tuple[str, ...]:
    """The sides of a threshold that elements within a range can reach; the threshold itself in place of what lies behind it."""
    below, equal, above = sides
    for beyond, side, constant in ((within[0] - threshold, above, ("ge", "lt")), (threshold - within[1], below, ("le", "gt"))):
        if beyond > 0 or beyond == 0 and op in constant:
            return (side,)
        if beyond == 0:
            return (equal, side)
    return (below, above)


RANGED = {*FIXED, *RULES} - {"mul", "div", "sum"}  # which have a range of their own

__all__ = ["ALL", "RANGED", "Range", "range_of", "reachable"]
