"""What the ops mean, over boxes and as linear forms (docs/ops).

A form is (terms, constant) with terms (operand node, element, coefficient). `exact` gives the forms of nodes that are affine whatever the
boxes; `relax` gives one form below or above an element of any other node, and `image` the box of a node."""
import math
from fractions import Fraction

from errors import Declined, Rejected
from functions import HALF, ONE, ZERO, SIMPLE, affine, exp, function_of, inverse, outward, product, root_of, rounded, sqrt
from graph import FLOATS, LAYOUT, broadcast, broadcast_map, flat, indices_of, layout_map, strides_of

MAXIMA = {"max": 1, "max_pool": 1, "reduce_max": 1, "min": -1, "reduce_min": -1}
PRODUCTS = ("mul", "matmul", "gemm", "conv")


class Ops:
    def __init__(self, nodes):
        self.nodes, self.kept = nodes, {}

    def keep(self, key, make):
        if key not in self.kept:
            self.kept[key] = make()
        return self.kept[key]

    def constants(self, node):
        return self.keep(("constants", node), lambda: [Fraction(v) for v in self.nodes[node].values])

    def is_constant(self, node):
        return self.nodes[node].op == "constant"

    def shapes(self, v):
        return [self.nodes[o].shape for o in self.nodes[v].operands]

    def shifts(self, v, by_nothing=False):
        """Element e is element e of one operand of the same size, plus a constant (`by_nothing`: 0)."""
        def look():
            forms, size = self.exact(v) or [([], 1)], self.nodes[v].size
            whole = all(len(t) == 1 and t[0][1:] == (e, 1) and not (by_nothing and c) for e, (t, c) in enumerate(forms))
            return whole and len({t[0][0] for t, _ in forms}) == 1 and self.nodes[forms[0][0][0][0]].size == size
        return self.keep(("shifts", v, by_nothing), look)

    def moves(self, v):
        return self.shifts(v, True)

    # Index maps, per element of the result.

    def aligned(self, v):
        """Elementwise ops: the element of every operand."""
        return self.keep(("aligned", v), lambda: list(zip(*[broadcast_map(s, self.nodes[v].shape) for s in self.shapes(v)])))

    def group(self, v):
        """Windows and reductions: (elements of the operand, how many count)"""
        return self.keep(("group", v), lambda: self.windows(v) if "kernel" in self.nodes[v].attributes else self.reduced(v))

    def windows(self, v):
        a, (x,), result = self.nodes[v].attributes, self.shapes(v), []
        strides = strides_of(x)
        for index in indices_of(self.nodes[v].shape):
            elements, count = [flat(index[:2], strides)], 1
            for o, d, s, k, b, e, dil, stride in zip(index[2:], x[2:], a["strides"], a["kernel"], a["pads_begin"], a["pads_end"], a["dilations"], strides[2:]):
                taps = [o * s - b + j * dil for j in range(k)]
                elements = [p + t * stride for p in elements for t in taps if 0 <= t < d]
                count *= sum(1 for t in taps if t < d + e)
            result.append((elements, count if a["count_include_pad"] else len(elements)))
        return result

    def reduced(self, v):
        (x,), axes, result = self.shapes(v), self.nodes[v].attributes["axes"], [[] for _ in range(self.nodes[v].size)]
        strides = [0 if a in axes else s for a, s in enumerate(strides_of(tuple(1 if a in axes else d for a, d in enumerate(x))))]
        for element, index in enumerate(indices_of(x)):
            result[flat(index, strides)].append(element)
        return [(elements, len(elements)) for elements in result]

    def candidates(self, v):
        """Maxima and minima: (operand, element) of those compared."""
        return [list(enumerate(c)) for c in self.aligned(v)] if self.nodes[v].op in ("max", "min") else [[(0, e) for e in g] for g, _ in self.group(v)]

    def pairs(self, v):
        """Products: ([(element of the first, of the second)], element of the bias or None)"""
        return self.keep(("pairs", v), lambda: getattr(self, "pairs_" + self.nodes[v].op)(self.nodes[v], *self.shapes(v)))

    def pairs_mul(self, node, x, y):
        return [([(p, q)], None) for p, q in zip(broadcast_map(x, node.shape), broadcast_map(y, node.shape))]

    def pairs_gemm(self, node, x, y, z=None):
        a = node.attributes
        (ra, ca), (rb, cb) = strides_of(x)[::-1 if a["transpose_a"] else 1], strides_of(y)[::-1 if a["transpose_b"] else 1]
        bias = broadcast_map(z, node.shape) if z is not None else [None] * node.size
        depth = x[0 if a["transpose_a"] else 1]
        return [([(m * ra + k * ca, k * rb + n * cb) for k in range(depth)], b) for (m, n), b in zip(indices_of(node.shape), bias)]

    def pairs_matmul(self, node, x, y):
        x, y = (1,) * (2 - len(x)) + x, y + (1,) * (2 - len(y))
        batch, (m, depth), n = broadcast(x[:-2], y[:-2]), x[-2:], y[-1]
        starts = zip(broadcast_map(x[:-2], batch), broadcast_map(y[:-2], batch))
        places = [(p * m * depth + i * depth, q * depth * n + j) for p, q in starts for i in range(m) for j in range(n)]
        return [([(p + k, q + k * n) for k in range(depth)], None) for p, q in places]

    def pairs_conv(self, node, x, w, z=None):
        a, sx, sw, result = node.attributes, strides_of(x), strides_of(w), []
        for n, m, *index in indices_of(node.shape):
            pairs, first = [], n * sx[0] + m // (w[0] // a["groups"]) * w[1] * sx[1]
            for tap in indices_of(w[2:]):
                place = [o * s - b + k * d for o, s, b, k, d in zip(index, a["strides"], a["pads_begin"], tap, a["dilations"])]
                if all(0 <= i < e for i, e in zip(place, x[2:])):
                    p, q = first + flat(place, sx[2:]), m * sw[0] + flat(tap, sw[2:])
                    pairs += [(p + c * sx[1], q + c * sw[1]) for c in range(w[1])]
            result.append((pairs, m if z is not None else None))
        return result

    # Affine nodes.

    def exact(self, v):
        """The forms of all elements, or None where the node is not affine in what is not constant."""
        return self.keep(("exact", v), lambda: self.make_exact(self.nodes[v], v))

    def make_exact(self, node, v):
        op, operands, a = node.op, node.operands, node.attributes
        if op in LAYOUT:
            places = layout_map(op, a, self.shapes(v), node.shape)
            return [([], Fraction(a["value"])) if p is None else self.form([(operands[p[0]], p[1], ONE)]) for p in places]
        if node.dtype not in FLOATS or any(self.nodes[o].dtype not in FLOATS for o in operands):
            return None
        if op in ("add", "sub"):
            return [self.form([(operands[0], p, ONE), (operands[1], q, ONE if op == "add" else -ONE)]) for p, q in self.aligned(v)]
        if op in ("cast", "neg"):
            return [self.form([(operands[0], e, ONE if op == "cast" else -ONE)]) for e in range(node.size)]
        if op == "div" and self.is_constant(operands[1]) and 0 not in self.constants(operands[1]):
            return [self.form([(operands[0], p, 1 / self.constants(operands[1])[q])]) for p, q in self.aligned(v)]
        if op in ("reduce_sum", "reduce_mean", "avg_pool"):
            return [self.form([(operands[0], e, Fraction(1, 1 if op == "reduce_sum" else count)) for e in elements]) for elements, count in self.group(v)]
        if op in PRODUCTS and (self.is_constant(operands[0]) or self.is_constant(operands[1])):
            return self.linear_products(node, v)
        return None

    def linear_products(self, node, v):
        place, alpha = 1 if self.is_constant(node.operands[1]) else 0, Fraction(node.attributes.get("alpha", 1))
        weights, x = self.constants(node.operands[place]), node.operands[1 - place]
        return [self.form([(x, pair[1 - place], alpha * weights[pair[place]]) for pair in pairs if weights[pair[place]]] + self.bias(node, b))
                for pairs, b in self.pairs(v)]

    def bias(self, node, element):
        return [] if element is None else [(node.operands[2], element, Fraction(node.attributes.get("beta", 1)))]

    def form(self, terms, constant=ZERO):
        """Constants move to the constant, equal variables together."""
        merged = {}
        for node, element, coefficient in terms:
            if self.is_constant(node):
                constant += coefficient * self.constants(node)[element]
            else:
                merged[node, element] = merged.get((node, element), 0) + coefficient
        return [(n, e, c) for (n, e), c in merged.items()], constant

    # Boxes.

    def image(self, v, boxes):
        """The box of node v from `boxes(operand)`, lists of pairs."""
        node, forms = self.nodes[v], self.exact(v)
        if node.op == "constant":
            return [(c, c) for c in self.constants(v)]
        if forms is not None:
            have = {o: boxes(o) for o in node.operands if not self.is_constant(o)}
            return [evaluate(terms, constant, have) for terms, constant in forms]
        operands, function = [boxes(o) for o in node.operands], self.function(v)
        if function:
            return [function.image(*operands[0][e]) for e, *_ in self.aligned(v)]
        if node.op in MAXIMA:
            pick = max if MAXIMA[node.op] > 0 else min
            return [tuple(pick(operands[p][e][end] for p, e in c) for end in (0, 1)) for c in self.candidates(v)]
        if node.op in PRODUCTS:
            parts = [[product(operands[0][p], operands[1][q]) for p, q in pairs] for pairs, _ in self.pairs(v)]
            sums = [affine((sum(p[0] for p in part), sum(p[1] for p in part)), Fraction(node.attributes.get("alpha", 1))) for part in parts]
            extra = [[(operands[2][e], c) for _, e, c in self.bias(node, b)] for _, b in self.pairs(v)]
            return [outward(lo + sum(affine(i, c)[0] for i, c in x), hi + sum(affine(i, c)[1] for i, c in x)) for (lo, hi), x in zip(sums, extra)]
        if node.op == "div":
            return [outward(*product(operands[0][p], inverse(operands[1][q]))) for p, q in self.aligned(v)]
        if node.op == "softmax":
            return [self.softmax(operands[0], row, e) for e, row in enumerate(self.rows(v))]
        if node.op == "batch_norm":
            return [self.batch_norm(node, e, operands)[0] for e in range(node.size)]
        raise Declined("twin.op", node.op)

    def rows(self, v):
        shape, axis = self.nodes[v].shape, self.nodes[v].attributes["axis"]
        step = strides_of(shape)[axis]
        return [[e + (k - e // step % shape[axis]) * step for k in range(shape[axis])] for e in range(self.nodes[v].size)]

    def softmax(self, x, row, e):
        above, below = [1 + sum(exp(x[j][1 - end] - x[e][end])[1 - end] for j in row if j != e) for end in (0, 1)]
        return outward(1 / above, 1 / below)

    def batch_norm(self, node, e, operands):
        """(box, slope, constant, slack): the form slope x + constant is right up to the slack."""
        if not all(map(self.is_constant, node.operands[1:])):
            raise Declined("twin.op", "batch_norm with computed parameters")
        channel = e // math.prod(node.shape[2:]) % node.shape[1]
        scale, bias, mean, variance = [p[channel][0] for p in operands[1:]]
        variance += Fraction(node.attributes["epsilon"])
        if variance <= 0:
            raise Rejected("domain", "batch_norm")
        factor, centred = affine(inverse(sqrt(variance)), scale), affine(operands[0][e], ONE, -mean)
        slope = rounded(factor[0], False)
        slack = max(abs(f - slope) for f in factor) * max(map(abs, centred))
        return outward(*affine(product(factor, centred), ONE, bias)), slope, bias - slope * mean, slack

    def function(self, v):
        node = self.nodes[v]
        if node.dtype not in FLOATS:
            raise Declined("twin.integer", node.op)
        is_square = node.op == "mul" and node.operands[0] == node.operands[1]
        return SIMPLE["square"] if is_square else self.keep(("function", v), lambda: function_of(node.op, node.attributes))

    # Relaxations.

    def is_linear(self, v, element, boxes):
        """The exact form of an element of a node that is not affine everywhere, if its operands' boxes make it so; else None."""
        node, function = self.nodes[v], self.function(v)
        if function:
            place = self.aligned(v)[element][0]
            function.check(*boxes(node.operands[0])[place])
            line = function.linear(*boxes(node.operands[0])[place])
            return line and self.form([(node.operands[0], place, line[0])] if line[0] else [], line[1])
        candidates = self.candidates(v)[element] if node.op in MAXIMA else []
        least = [self.oriented(node, boxes(node.operands[p])[e]) for p, e in candidates]
        for place, (p, e) in enumerate(candidates):
            if all(least[place][0] >= other[1] for k, other in enumerate(least) if k != place):
                return self.form([(node.operands[p], e, ONE)])
        return None

    def oriented(self, node, i):
        """Minima are maxima of the negatives."""
        return affine(i, MAXIMA[node.op])

    def relax(self, v, element, boxes, own, lower, slope):
        """A form below (lower) or above the element; `slope` is the hint or None, `own` the node's box."""
        node, operands, function = self.nodes[v], [boxes(o) for o in self.nodes[v].operands], self.function(v)
        if function:
            place = self.aligned(v)[element][0]
            key = v, lower, operands[0][place], slope
            slope, constant = self.keep(key, lambda: bounding_line(node.op, function, *operands[0][place], lower, slope))
            return self.form([(node.operands[0], place, slope)], constant)
        if node.op in MAXIMA:
            return self.relax_maximum(node, self.candidates(v)[element], operands, lower == (MAXIMA[node.op] > 0), slope)
        if node.op in PRODUCTS:
            return self.relax_products(node, *self.pairs(v)[element], operands, lower, HALF if slope is None else slope)
        if node.op == "batch_norm":
            _, slope, constant, slack = self.batch_norm(node, element, operands)
            return self.form([(node.operands[0], element, slope)], constant + (-slack if lower else slack))
        return [], own[element][0 if lower else 1]

    def relax_maximum(self, node, candidates, operands, stays, slope):
        """Stay above a candidate; or the chord of the greatest one over what the others reach."""
        boxes = [self.oriented(node, operands[p][e]) for p, e in candidates]
        if stays:
            chosen = max(range(len(boxes)), key=lambda k: (sum(boxes[k]), k)) if slope is None else slope
            if chosen not in range(len(boxes)):
                raise Rejected("line", f"no candidate {chosen}")
            p, e = candidates[int(chosen)]
            return self.form([(node.operands[p], e, ONE)])
        first = max(range(len(boxes)), key=lambda k: boxes[k][1])
        (l, u), (p, e) = boxes[first], candidates[first]
        rest = max([l] + [b[1] for k, b in enumerate(boxes) if k != first])
        slope = (u - rest) / (u - l) if l < u else ZERO
        return self.form([(node.operands[p], e, slope)], MAXIMA[node.op] * (rest - slope * l))

    def relax_products(self, node, pairs, bias, operands, lower, mix):
        if not 0 <= mix <= 1:
            raise Rejected("line", "a mix outside of [0, 1]")
        alpha, terms, constant = Fraction(node.attributes.get("alpha", 1)), [], ZERO
        for p, q in pairs:
            a, b, c = plane(operands[0][p], operands[1][q], lower == (alpha > 0), mix)
            terms += [(node.operands[0], p, alpha * a), (node.operands[1], q, alpha * b)]
            constant += alpha * c
        return self.form(terms + self.bias(node, bias), constant)


def plane(x, y, lower, mix):
    """A plane below or above x y with slopes between those of the two McCormick planes, its constant from the corners."""
    (xl, xu), (yl, yu) = x, y if lower else y[::-1]
    a, b = mix * yl + (1 - mix) * yu, mix * xl + (1 - mix) * xu
    corners = [p * q - a * p - b * q for p in x for q in y]
    return a, b, min(corners) if lower else max(corners)


def bounding_line(op, function, l, u, lower, slope):
    if op == "mul":
        slope = l + u if slope is None or not lower else 2 * (slope * l + (1 - slope) * u)
    elif slope is None:
        slope = default_slope(op, function, l, u, lower)
    return slope, rounded(function.extreme(l, u, slope, lower), not lower, 400)


def default_slope(op, function, l, u, lower):
    """The slope where the certificate has no hint (FORMAT.md, section 3)."""
    if l == u:
        return ZERO
    sign, middle, bent = 1 if lower else -1, (l + u) / 2, "convex" if lower else "concave"
    value, slope_at = lambda x: sum(function.value(x)) / 2, lambda x: rounded(sum(function.derivative(x)) / 2, False, 60)
    slope = rounded((value(u) - value(l)) / (u - l), False, 60)
    kinds = [kind for _, _, kind in function.pieces(l, u)] if function.kinds else []
    if op == "relu" and lower:
        return ONE if u > -l else ZERO
    if kinds == [bent]:
        return ZERO if op == "pow" and l < 0 < u else slope_at(middle)
    if kinds == ["concave" if lower else "convex"]:
        return slope
    if len(kinds) == 2 and bent in kinds and (isinstance(kinds[0], str) and isinstance(kinds[1], str) or lower):
        slope = touching(value, slope_at, l, u, slope, kinds[0] == bent, sign)
        slope = slope if isinstance(kinds[1], str) or slope != slope_at(ZERO) else (slope + kinds[1]) / 2
    return max((slope, ZERO), key=lambda s: sign * (s * middle + function.extreme(l, u, s, lower)))


def touching(value, slope_at, l, u, chord, left, sign):
    """The slope of the line through the end on the other side that touches the bent piece (`left`: the left one), or of the chord if that bounds."""
    near, far, way = (l, u, sign) if left else (u, l, -sign)
    if way * (slope_at(near) - chord) >= 0:
        return chord
    return slope_at(root_of(lambda x: way * (value(x) + slope_at(x) * (far - x) - value(far)), min(near, ZERO), max(near, ZERO)))


def evaluate(terms, constant, boxes):
    lo = hi = constant
    for node, element, c in terms:
        l, u = affine(boxes[node][element], c)
        lo, hi = lo + l, hi + u
    return rounded(lo, False, 512), rounded(hi, True, 512)
