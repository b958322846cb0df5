"""Balls (FORMAT.md, section 3): rows that all cases of a group have and that bound a sum of squares or of magnitudes, and how they raise a lower bound."""
from fractions import Fraction

from functions import ZERO, rounded
from graph import FLOATS

MOST, EXPONENT, STEPS = 16, 100.0, 60


def copied(model, ops, node, element):
    """(node, element) of which this element is a copy."""
    passes = lambda v: v.op == "reshape" or v.op in ("gather", "concat") and len(model.nodes[v.operands[0]].shape) == 1
    while node not in model.outputs and passes(model.nodes[node]):
        (_, ((operand, element),)), = ops.sums(node)[element]
        node = model.nodes[node].operands[operand]
    return node, element


def function_of(model, ops, side, tensor, element):
    """(op, input, element, c) of a variable that is x ("input"), its square ("mul") or |x - c| ("abs") for an element x of an input; None for another."""
    if not side:
        return "input", model.inputs[tensor], element, ZERO
    v, by = model.nodes[model.outputs[tensor]], ZERO
    if v.op != "abs" and (v.op != "mul" or v.operands[0] != v.operands[1]):
        return None
    node, element = copied(model, ops, v.operands[0], element)
    inner = model.nodes[node]
    if v.op == "abs" and inner.op == "sub" and model.nodes[inner.operands[1]].op == "constant" and all(model.nodes[o].size == inner.size for o in inner.operands):
        by = ops.constants(inner.operands[1])[element]
        node, element = copied(model, ops, inner.operands[0], element)
    return (v.op, node, element, by) if model.nodes[node].op == "input" and model.nodes[node].dtype in FLOATS else None


def ball_of(model, ops, row):
    """(input, {element: (q, p)}, b, kind) of a row `sum of q x^2 + p x <= b` ("mul") or `sum of |q x + p| <= b` ("abs"); None if it is no ball."""
    terms, bound, _ = row
    parts, inputs, kinds = {}, set(), set()
    for variable, c in terms.items():
        op, node, element, by = function_of(model, ops, *variable) or (None,) * 4
        if not op or op != "input" and c < 0 or op == "abs" and element in parts:
            return None
        inputs.add(node)
        kinds.add(op)
        q, p = parts.get(element, (ZERO, ZERO))
        parts[element] = (c, -c * by) if op == "abs" else (q + c, p) if op == "mul" else (q, p + c)
    return (*inputs, parts, bound, max(kinds - {"input"})) if len(inputs) == 1 and kinds in ({"abs"}, {"mul"}, {"mul", "input"}) else None


def balls_of(model, ops, cases):
    """{input: [({element: (q, p)}, b, kind)]}"""
    found, result = [(row[:2], ball) for row in cases[0][2] for ball in [ball_of(model, ops, row)] if ball][:MOST], {}
    for row, (node, *ball) in found:
        if all(any(row == other[:2] for other in rows) for _, _, rows in cases):
            result.setdefault(node, []).append(ball)
    return result


def multiplier_for(parts, bound, kind, terms, box):
    """That with which terms and ball have the greatest least value on the box: of squares by bisection in floating point. Any would be sound."""
    if kind == "abs":
        gains, left = [], bound
        for e, (q, p) in parts.items():
            (lo, hi), g = box[e], terms[e]
            x = min(max(-p / q, lo), hi)
            left -= abs(q * x + p)
            gains.append((abs(g) / q, q * abs((lo if g > 0 else hi) - x)))
        for gain, cost in sorted(gains, reverse=True):
            left -= cost
            if left < 0:
                return gain
        return ZERO
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
    for parts, bound, kind in balls:
        tangents, added = dict.fromkeys(parts, ZERO) | terms, constant
        m = multiplier_for(parts, bound, kind, tangents, box)
        added -= m * bound
        for e, (q, p) in parts.items() if m else ():
            if kind == "abs":
                (lo, hi), kept = box[e], min(max(rounded(-tangents[e] / (m * q), False), -1), 1)
                t = 1 if q * lo + p > 0 else -1 if q * hi + p < 0 else kept
                tangents[e], added = tangents[e] + m * t * q, added + m * t * p
                continue
            g = tangents[e] + m * p
            t = min(max(rounded(-g / (2 * m * q), False), box[e][0]), box[e][1]) if q else ZERO
            tangents[e], added = g + 2 * m * q * t, added - m * q * t * t
        if added + least_on(box, tangents) > least:
            terms, constant, least = tangents, added, added + least_on(box, tangents)
    return least
