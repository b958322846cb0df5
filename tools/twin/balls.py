"""Balls (FORMAT.md, section 3): rows that all cases of a group have and that bound a sum of squares of input elements, and how they raise a lower bound."""
from fractions import Fraction

from functions import ZERO, rounded
from graph import FLOATS

MOST, EXPONENT, STEPS = 16, 100.0, 60


def origin(model, ops, node, element):
    """The input element of which this element is a copy, or None."""
    passes = lambda v: v.op == "reshape" or v.op in ("gather", "concat") and len(model.nodes[v.operands[0]].shape) == 1
    while node not in model.outputs and passes(model.nodes[node]):
        (_, ((operand, element),)), = ops.sums(node)[element]
        node = model.nodes[node].operands[operand]
    return (node, element) if model.nodes[node].op == "input" and model.nodes[node].dtype in FLOATS else None


def ball_of(model, ops, row):
    """(input, {element: (q, p)}, b) of a row `sum of q x^2 + p x <= b`; None if it is no ball."""
    terms, bound, _ = row
    parts, inputs = {}, set()
    for (side, tensor, element), c in terms.items():
        node = (model.inputs, model.outputs)[side][tensor]
        operands = model.nodes[node].operands
        square = side and model.nodes[node].op == "mul" and operands[0] == operands[1]
        place = origin(model, ops, operands[0], element) if square else None if side else origin(model, ops, node, element)
        if not place or square and c < 0:
            return None
        inputs.add(place[0])
        q, p = parts.get(place[1], (ZERO, ZERO))
        parts[place[1]] = (q + c, p) if square else (q, p + c)
    return (*inputs, parts, bound) if len(inputs) == 1 and any(q for q, _ in parts.values()) else None


def balls_of(model, ops, cases):
    """{input: [({element: (q, p)}, b)]}"""
    found, result = [(row[:2], ball) for row in cases[0][2] for ball in [ball_of(model, ops, row)] if ball][:MOST], {}
    for row, (node, *ball) in found:
        if all(any(row == other[:2] for other in rows) for _, _, rows in cases):
            result.setdefault(node, []).append(ball)
    return result


def multiplier_for(parts, bound, terms, box):
    """That with which terms and ball have the greatest least value on the box, by bisection in floating point. Any would be sound."""
    elements = [tuple(map(float, (g, *parts.get(e, (0, 0)), *box[e]))) for e, g in terms.items()]

    def is_outside(m):
        """Whether the place of the least value is outside of the ball."""
        total = -float(bound)
        for g, q, p, lo, hi in elements:
            slope, curve = g + m * p, 2 * m * q
            t = min(max(-slope / curve, lo), hi) if curve else lo if slope > 0 else hi
            total += (q * t + p) * t
        return total > 0

    low, high = -EXPONENT, EXPONENT
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_outside(2 ** middle) else (low, middle)
    return Fraction(2 ** low) if low > -EXPONENT else ZERO


def least_on(box, terms):
    return sum((c * box[e][0 if c > 0 else 1] for e, c in terms.items()), ZERO)


def least_in(balls, box, terms):
    """A lower bound of the terms of an input on its box and in its balls, which are added one after the other where they raise it."""
    constant, least = ZERO, least_on(box, terms)
    for parts, bound in balls:
        tangents, added = dict.fromkeys(parts, ZERO) | terms, constant
        m = multiplier_for(parts, bound, tangents, box)
        added -= m * bound
        for e, (q, p) in parts.items() if m else ():
            g = tangents[e] + m * p
            t = min(max(rounded(-g / (2 * m * q), False), box[e][0]), box[e][1]) if q else ZERO
            tangents[e], added = g + 2 * m * q * t, added - m * q * t * t
        if added + least_on(box, tangents) > least:
            terms, constant, least = tangents, added, added + least_on(box, tangents)
    return least
