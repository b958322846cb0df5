"""What the ops mean, over boxes and as linear forms (docs/ops).

A form is (terms, constant) with terms (operand node, element, coefficient). `exact` gives the forms of nodes that are affine whatever the
boxes; `relax` gives one form below or above an element of any other node, and `image` the box of a node."""
import math
from fractions import Fraction

from errors import Declined, Rejected
from functions import ONE, ZERO, affine, exp, function_of, inverse, log, outward, product, root_of, rounded, sqrt
from graph import FLOATS, LAYOUT, RANGES, broadcast, broadcast_map, flat, indices_of, layout_map, strides_of

COMPOSED = ("softmax", "log_softmax", "log_sum_exp")
MAXIMA = {"max": 1, "max_pool": 1, "reduce_max": 1, "min": -1, "reduce_min": -1}
PRODUCTS = ("mul", "matmul", "gemm", "conv")
REDUCED = ("reduce_sum", "reduce_mean")


class Ops:
    def __init__(self, nodes):
        self.nodes, self.numbers, self.forms, self.kept = nodes, {}, {}, {}

    def constants(self, node):
        if node not in self.numbers:
            self.numbers[node] = [Fraction(v) for v in self.nodes[node].values]
        return self.numbers[node]

    def is_constant(self, node):
        return self.nodes[node].op == "constant"

    def keep(self, name, v, make):
        if (name, v) not in self.kept:
            self.kept[name, v] = make()
        return self.kept[name, v]

    # Index maps.

    def operand_maps(self, v):
        node = self.nodes[v]
        shapes = [self.nodes[o].shape for o in node.operands]
        return self.keep("broadcast", v, lambda: [broadcast_map(s, node.shape) for s in shapes])

    def windows(self, v):
        """max_pool, avg_pool: per result element the operand's elements and how many count."""
        node = self.nodes[v]
        a, x = node.attributes, self.nodes[node.operands[0]].shape
        strides, result = strides_of(x), []
        for index in indices_of(node.shape):
            base, ranges, count = flat(index[:2], strides), [], 1
            for o, d, s, k, b, e, dil in zip(index[2:], x[2:], a["strides"], a["kernel"], a["pads_begin"], a["pads_end"], a["dilations"]):
                taps = [o * s - b + j * dil for j in range(k)]
                ranges.append([t for t in taps if 0 <= t < d])
                count *= sum(1 for t in taps if t < d + e)
            elements = [base]
            for taps, stride in zip(ranges, strides[2:]):
                elements = [p + t * stride for p in elements for t in taps]
            result.append((elements, count if a["count_include_pad"] else len(elements)))
        return result

    def groups(self, v):
        """reduce_*, log_sum_exp: per result element the operand's elements."""
        node = self.nodes[v]
        x, axes = self.nodes[node.operands[0]].shape, node.attributes["axes"]
        kept = [0 if a in axes else 1 for a in range(len(x))]
        strides = strides_of(tuple(1 if a in axes else d for a, d in enumerate(x)))
        result = [[] for _ in range(node.size)]
        for element, index in enumerate(indices_of(x)):
            result[sum(i * k * s for i, k, s in zip(index, kept, strides))].append(element)
        return result

    def axis_groups(self, v):
        """softmax: per element the elements of its row."""
        shape, axis = self.nodes[v].shape, self.nodes[v].attributes["axis"]
        step = strides_of(shape)[axis]
        return [[e + (k - e // step % shape[axis]) * step for k in range(shape[axis])] for e in range(self.nodes[v].size)]

    def pairs(self, v):
        """Products: per result element ([(first element, second element)], factor, bias element or None)."""
        node = self.nodes[v]
        shapes, a = [self.nodes[o].shape for o in node.operands], node.attributes
        if node.op == "mul":
            return [([pair], ONE, None) for pair in zip(*self.operand_maps(v))]
        result = []
        if node.op == "gemm":
            (ra, ca), (rb, cb) = strides_of(shapes[0])[::-1 if a["transpose_a"] else 1], strides_of(shapes[1])[::-1 if a["transpose_b"] else 1]
            depth = shapes[0][0 if a["transpose_a"] else 1]
            bias = broadcast_map(shapes[2], node.shape) if len(shapes) > 2 else [None] * node.size
            for (m, n), b in zip(indices_of(node.shape), bias):
                result.append(([(m * ra + k * ca, k * rb + n * cb) for k in range(depth)], Fraction(a["alpha"]), b))
            return result
        if node.op == "matmul":
            rows, columns = (1,) * (2 - len(shapes[0])) + shapes[0], shapes[1] + (1,) * (2 - len(shapes[1]))
            batch = broadcast(rows[:-2], columns[:-2])
            firsts, seconds = broadcast_map(rows[:-2], batch), broadcast_map(columns[:-2], batch)
            (m, depth), n = rows[-2:], columns[-1]
            for p, q in zip(firsts, seconds):
                p, q = p * m * depth, q * depth * n
                result += [([(p + i * depth + k, q + k * n + j) for k in range(depth)], ONE, None) for i in range(m) for j in range(n)]
            return result
        return self.conv_pairs(node, shapes, a)

    def conv_pairs(self, node, shapes, a):
        x, w = shapes[:2]
        sx, sw, each, result = strides_of(x), strides_of(w), w[0] // a["groups"], []
        for index in indices_of(node.shape):
            n, m, pairs = index[0], index[1], []
            for tap in indices_of(w[2:]):
                place = [o * s - b + k * d for o, s, b, k, d in zip(index[2:], a["strides"], a["pads_begin"], tap, a["dilations"])]
                if all(0 <= i < e for i, e in zip(place, x[2:])):
                    inner, outer = flat(place, sx[2:]), flat(tap, sw[2:])
                    pairs += [(n * sx[0] + (m // each * w[1] + c) * sx[1] + inner, m * sw[0] + c * sw[1] + outer) for c in range(w[1])]
            result.append((pairs, ONE, m if len(shapes) > 2 else None))
        return result

    # Affine nodes.

    def moves(self, v):
        """The elements of one operand in another order."""
        return self.nodes[v].op in ("reshape", "permute")

    def shifts(self, v):
        """x + constant, x - constant"""
        node = self.nodes[v]
        if node.op not in ("add", "sub"):
            return False
        x = [o for o in node.operands if not self.is_constant(o)]
        return len(x) == 1 and self.nodes[x[0]].shape == node.shape and (node.op == "add" or x[0] == node.operands[0])

    def exact(self, v):
        """The forms of all elements, or None where the node is not affine in what is not constant."""
        if v not in self.forms:
            self.forms[v] = self.make_exact(v)
        return self.forms[v]

    def make_exact(self, v):
        node = self.nodes[v]
        op, operands = node.op, node.operands
        if node.dtype not in FLOATS and op not in LAYOUT:
            return None
        if op in LAYOUT:
            places = layout_map(op, node.attributes, [self.nodes[o].shape for o in operands], node.shape)
            return [([], Fraction(node.attributes["value"])) if p is None else self.form([(operands[p[0]], p[1], ONE)]) for p in places]
        if op in ("add", "sub"):
            sign = ONE if op == "add" else -ONE
            return [self.form([(operands[0], a, ONE), (operands[1], b, sign)]) for a, b in zip(*self.operand_maps(v))]
        if op == "cast":
            return [self.form([(operands[0], e, ONE)]) for e in range(node.size)] if self.nodes[operands[0]].dtype in FLOATS else None
        if op in ("neg", "scale"):
            factor = Fraction(node.attributes.get("factor", -1))
            return [self.form([(operands[0], e, factor)]) for e in range(node.size)]
        if op == "div" and self.is_constant(operands[1]):
            y = self.constants(operands[1])
            if 0 in y:
                raise Rejected("domain", "division by 0")
            return [self.form([(operands[0], a, 1 / y[b])]) for a, b in zip(*self.operand_maps(v))]
        if op in REDUCED:
            groups = self.keep("groups", v, lambda: self.groups(v))
            return [self.form([(operands[0], e, Fraction(1, len(g) if op == "reduce_mean" else 1)) for e in g]) for g in groups]
        if op == "avg_pool":
            return [self.form([(operands[0], e, Fraction(1, count)) for e in elements]) for elements, count in self.windows(v)]
        if op in PRODUCTS and (self.is_constant(operands[0]) or self.is_constant(operands[1])):
            return self.linear_products(v)
        return None

    def linear_products(self, v):
        node, result = self.nodes[v], []
        place = 1 if self.is_constant(node.operands[1]) else 0
        weights, variable = self.constants(node.operands[place]), node.operands[1 - place]
        beta = Fraction(node.attributes.get("beta", 1))
        for pairs, factor, bias in self.pairs(v):
            terms = [(variable, pair[1 - place], factor * weights[pair[place]]) for pair in pairs if weights[pair[place]]]
            result.append(self.form(terms + ([(node.operands[2], bias, beta)] if bias is not None else [])))
        return result

    def form(self, terms):
        """Constants move to the constant, equal variables together."""
        constant, merged = ZERO, {}
        for node, element, coefficient in terms:
            if self.is_constant(node):
                constant += coefficient * self.constants(node)[element]
            else:
                merged[node, element] = merged.get((node, element), 0) + coefficient
        return [(n, e, c) for (n, e), c in merged.items()], constant

    # Boxes.

    def image(self, v, boxes):
        """The box of node v from `boxes(operand)`, lists of pairs."""
        node = self.nodes[v]
        if node.op == "constant":
            return [(c, c) for c in self.constants(v)]
        forms = self.exact(v)
        if forms is not None:
            have = {o: boxes(o) for o in node.operands if not self.is_constant(o)}
            return [outward_long(evaluate(terms, constant, have)) for terms, constant in forms]
        operands = [boxes(o) for o in node.operands]
        function = self.function(v)
        if function:
            return [function.image(*i) for i in operands[0]]
        handler = getattr(self, "image_" + node.op, None)
        if node.op in MAXIMA:
            pick = max if MAXIMA[node.op] > 0 else min
            candidates = ([operands[p][e] for p, e in c] for c in self.candidates(v))
            return [(pick(i[0] for i in c), pick(i[1] for i in c)) for c in candidates]
        if node.op in PRODUCTS:
            return self.image_products(v, operands)
        if handler is None:
            raise Declined("twin.op", node.op)
        return handler(v, operands)

    def function(self, v):
        node = self.nodes[v]
        if node.dtype not in FLOATS:
            raise Declined("twin.integer", node.op)
        if node.op == "mul" and node.operands[0] == node.operands[1]:
            return self.keep("function", v, lambda: function_of("square", {}))
        return self.keep("function", v, lambda: function_of(node.op, node.attributes))

    def candidates(self, v):
        node = self.nodes[v]
        if node.op in ("max", "min"):
            return self.keep("candidates", v, lambda: [list(enumerate(c)) for c in zip(*self.operand_maps(v))])
        make = (lambda: [w[0] for w in self.windows(v)]) if node.op == "max_pool" else lambda: self.groups(v)
        return self.keep("candidates", v, lambda: [[(0, e) for e in c] for c in make()])

    def image_products(self, v, operands):
        node, result = self.nodes[v], []
        beta = Fraction(node.attributes.get("beta", 1))
        for pairs, factor, bias in self.keep("pairs", v, lambda: self.pairs(v)):
            parts = [product(operands[0][a], operands[1][b]) for a, b in pairs]
            lo, hi = affine((sum(p[0] for p in parts), sum(p[1] for p in parts)), factor)
            extra = affine(operands[2][bias], beta) if bias is not None else (ZERO, ZERO)
            result.append(outward(lo + extra[0], hi + extra[1]))
        return result

    def image_div(self, v, operands):
        return [outward(*product(operands[0][a], inverse(operands[1][b]))) for a, b in zip(*self.operand_maps(v))]

    def image_prelu(self, v, operands):
        result = []
        for a, b in zip(*self.operand_maps(v)):
            (l, u), slope = operands[0][a], operands[1][b]
            low = product((min(l, ZERO), min(u, ZERO)), slope)
            parts = ([low] if l < 0 else []) + ([(max(l, ZERO), u)] if u >= 0 else [])
            result.append((min(p[0] for p in parts), max(p[1] for p in parts)))
        return result

    def image_softmax(self, v, operands):
        result = []
        for e, row in enumerate(self.keep("rows", v, lambda: self.axis_groups(v))):
            (l, u), others = operands[0][e], [operands[0][j] for j in row if j != e]
            above = 1 + sum(exp(i[1] - l)[1] for i in others)
            below = 1 + sum(exp(i[0] - u)[0] for i in others)
            result.append(outward(1 / above, 1 / below))
        return result

    def image_log_softmax(self, v, operands):
        return [outward(log(lo)[0], log(hi)[1]) for lo, hi in self.image_softmax(v, operands)]

    def image_log_sum_exp(self, v, operands):
        groups = self.keep("groups", v, lambda: self.groups(v))
        return [outward(log(sum(exp(operands[0][e][0])[0] for e in g))[0], log(sum(exp(operands[0][e][1])[1] for e in g))[1]) for g in groups]

    def image_batch_norm(self, v, operands):
        x, shape = operands[0], self.nodes[v].shape
        step, result = math.prod(shape[2:]), []
        for e, i in enumerate(x):
            scale, bias, mean, _ = [p[e // step % shape[1]] for p in operands[1:]]
            centred = (i[0] - mean[1], i[1] - mean[0])
            y = product(centred, self.norm_factor(v, e // step % shape[1], operands))
            result.append(outward(y[0] + bias[0], y[1] + bias[1]))
        return result

    def norm_factor(self, v, channel, operands):
        """scale / sqrt(var + epsilon)"""
        scale, var = operands[1][channel], operands[4][channel]
        epsilon = Fraction(self.nodes[v].attributes["epsilon"])
        if var[0] + epsilon <= 0:
            raise Rejected("domain", "batch_norm")
        root = sqrt(var[0] + epsilon)[0], sqrt(var[1] + epsilon)[1]
        return product(scale, inverse(root))

    # Relaxations.

    def is_linear(self, v, element, boxes):
        """The exact form of an element of a node that is not affine everywhere, if its operands' boxes make it so."""
        node = self.nodes[v]
        operands = [boxes(o) for o in node.operands]
        function = self.function(v)
        if function:
            l, u = operands[0][element if node.op != "mul" else self.operand_maps(v)[0][element]]
            function.check(l, u)
            line = function.linear(l, u)
            return line and self.form([(node.operands[0], element, line[0])] if line[0] else []) [:1] + (line[1],)
        if node.op in MAXIMA:
            sign, candidates = MAXIMA[node.op], self.candidates(v)[element]
            for place, (p, e) in enumerate(candidates):
                worst = operands[p][e][0 if sign > 0 else 1] * sign
                others = [operands[q][f][1 if sign > 0 else 0] * sign for k, (q, f) in enumerate(candidates) if k != place]
                if all(worst >= o for o in others):
                    return self.form([(node.operands[p], e, ONE)])
        return None

    def relax(self, v, element, boxes, own, lower, slope):
        """A form below (lower) or above the element; `slope` is the hint or None."""
        node = self.nodes[v]
        operands = [boxes(o) for o in node.operands]
        function = self.function(v)
        if function:
            place = self.operand_maps(v)[0][element] if node.op == "mul" else element
            l, u = operands[0][place]
            function.check(l, u)
            key = v, lower, l, u, slope
            if key not in self.kept:
                self.kept[key] = self.tangent_line(node.op, function, l, u, lower, slope)
            slope, constant = self.kept[key]
            terms, extra = self.form([(node.operands[0], place, slope)])
            return terms, constant + extra
        if node.op in MAXIMA:
            return self.relax_maximum(v, element, operands, lower, slope)
        if node.op in PRODUCTS:
            return self.relax_products(v, element, operands, lower, slope)
        if node.op == "prelu" and self.is_constant(node.operands[1]):
            return self.relax_prelu(v, element, operands, lower, slope)
        if node.op == "batch_norm":
            return self.relax_batch_norm(v, element, operands, lower)
        return [], own(v)[element][0 if lower else 1]

    def tangent_line(self, op, function, l, u, lower, slope):
        if slope is None:
            slope = l + u if op == "mul" else default_slope(op, function, l, u, lower)
        elif op == "mul":
            slope = 2 * (slope * l + (1 - slope) * u) if lower else l + u
        return slope, rounded(function.extreme(l, u, slope, lower), not lower, 400)

    def relax_prelu(self, v, element, operands, lower, slope):
        place, at = [m[element] for m in self.operand_maps(v)]
        function = function_of("leaky_relu", {"slope": operands[1][at][0]})
        l, u = operands[0][place]
        line = function.linear(l, u)
        if line is None:
            slope = default_slope("leaky_relu", function, l, u, lower)
            line = slope, function.extreme(l, u, slope, lower)
        terms, extra = self.form([(self.nodes[v].operands[0], place, line[0])])
        return terms, line[1] + extra

    def relax_maximum(self, v, element, operands, lower, slope):
        node, sign = self.nodes[v], MAXIMA[self.nodes[v].op]
        candidates = self.candidates(v)[element]
        boxes = [operands[p][e] if sign > 0 else (-operands[p][e][1], -operands[p][e][0]) for p, e in candidates]
        best = max(range(len(boxes)), key=lambda k: (boxes[k][0] + boxes[k][1], k))
        if lower == (sign > 0):
            chosen = best if slope is None else int(slope)
            if slope is not None and (slope != chosen or not 0 <= chosen < len(candidates)):
                raise Rejected("certificate.hint", "no such candidate")
            p, e = candidates[chosen]
            return self.form([(node.operands[p], e, ONE)])
        first, second, *_ = *sorted(range(len(boxes)), key=lambda k: -boxes[k][1]), None
        (l, u), rest = boxes[first], max([b[1] for k, b in enumerate(boxes) if k != first], default=boxes[first][0])
        p, e = candidates[first]
        rest = max(l, rest)
        slope = (u - rest) / (u - l)
        terms, extra = self.form([(node.operands[p], e, slope)])
        return terms, extra + sign * (rest - slope * l)

    def relax_products(self, v, element, operands, lower, slope):
        node = self.nodes[v]
        pairs, factor, bias = self.keep("pairs", v, lambda: self.pairs(v))[element]
        mix = Fraction(1, 2) if slope is None else slope
        terms, constant = [], ZERO
        if not 0 <= mix <= 1:
            raise Rejected("certificate.hint", "a mix outside of [0, 1]")
        for a, b in pairs:
            (p, q, c) = plane(operands[0][a], operands[1][b], lower == (factor > 0), mix)
            terms += [(node.operands[0], a, factor * p), (node.operands[1], b, factor * q)]
            constant += factor * c
        if bias is not None:
            terms.append((node.operands[2], bias, Fraction(node.attributes.get("beta", 1))))
        terms, extra = self.form(terms)
        return terms, constant + extra

    def relax_batch_norm(self, v, element, operands, lower):
        node = self.nodes[v]
        if any(not self.is_constant(o) for o in node.operands[1:]):
            raise Declined("twin.relaxation", "batch_norm with parameters that depend on an input")
        channel = element // math.prod(node.shape[2:]) % node.shape[1]
        lo, hi = self.norm_factor(v, channel, operands)
        mean, bias = operands[3][channel][0], operands[2][channel][0]
        middle = rounded((lo + hi) / 2, False)
        l, u = operands[0][element]
        slack = max(middle - lo, hi - middle) * max(abs(l - mean), abs(u - mean))
        terms, extra = self.form([(node.operands[0], element, middle)])
        return terms, extra - middle * mean + bias + (-slack if lower else slack)


def plane(x, y, lower, mix):
    """A plane below or above x y with slopes between those of the two McCormick planes, its constant from the corners."""
    (xl, xu), (yl, yu) = x, y
    p = mix * yl + (1 - mix) * yu if lower else mix * yu + (1 - mix) * yl
    q = mix * xl + (1 - mix) * xu
    corners = [a * b - p * a - q * b for a in x for b in y]
    return p, q, min(corners) if lower else max(corners)


def default_slope(op, function, l, u, lower):
    """The slope where the certificate has no hint (FORMAT.md, section 2)."""
    if l == u:
        return ZERO
    sign, middle = 1 if lower else -1, (l + u) / 2
    value = lambda x: sum(function.image(x, x)) / 2
    chord = rounded((value(u) - value(l)) / (u - l), False, 60)
    kinds = [kind for _, _, kind in function.pieces(l, u)] if function.kinds else []
    bent = "convex" if lower else "concave"
    if op == "relu" and kinds == [ZERO, ONE]:
        return chord if not lower else ONE if u > -l else ZERO
    if set(kinds) == {bent} and len(kinds) == 1:
        return ZERO if op == "pow" and l < 0 < u else slope_at(function, middle)
    if kinds == ["concave" if lower else "convex"]:
        return chord
    if kinds in (["convex", "concave"], ["concave", "convex"]):
        chord = tangent(function, l, u, chord, kinds[0] == bent, sign, value)
    if len(kinds) == 2 and kinds[0] == "convex" and lower:
        smooth = tangent(function, l, u, chord, True, sign, value)
        chord = (smooth + kinds[1]) / 2 if smooth == slope_at(function, ZERO) else smooth
        return max((chord, ZERO), key=lambda s: s * middle + function.extreme(l, u, s, lower))
    candidates = {chord, ZERO} | {k for k in function.kinds if not isinstance(k, str) and op not in ("leaky_relu", "abs", "clip")}
    return max(sorted(candidates), key=lambda s: sign * (s * middle + function.extreme(l, u, s, lower)))


def slope_at(function, x):
    return rounded(sum(function.derivative(x)) / 2, False, 60)


def tangent(function, l, u, chord, left, sign, value):
    """The line through the end on the other side that touches the bent piece (`left`: it is the left one), or the chord if that bounds."""
    near, far = (l, u) if left else (u, l)
    if sign * (slope_at(function, near) - chord) * (1 if left else -1) >= 0:
        return chord
    end, way = value(far), sign if left else -sign
    touch = root_of(lambda x: way * (value(x) + slope_at(function, x) * (far - x) - end), min(near, ZERO), max(near, ZERO))
    return slope_at(function, touch)


def evaluate(terms, constant, boxes):
    lo = hi = constant
    for node, element, c in terms:
        l, u = boxes[node][element]
        lo, hi = (lo + c * l, hi + c * u) if c > 0 else (lo + c * u, hi + c * l)
    return lo, hi


def outward_long(interval):
    return tuple(rounded(x, up, 512) for x, up in zip(interval, (False, True)))
