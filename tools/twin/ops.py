"""What the ops mean, over boxes and as linear forms (docs/ops).

A form is (terms, constant) with terms ((node, element), coefficient). `exact` gives the forms of nodes that are affine whatever the
boxes; `relax` gives one form below or above an element of any other node, and `image` the box of a node."""
import math
from fractions import Fraction
from functools import lru_cache

from functions import FUNCTIONS, HALF, ONE, ZERO, affine, exp, function_of, inverse, outward, product, rounded, sqrt
from graph import FLOATS, LAYOUT, broadcast, broadcast_map, broadcast_strides, flat, indices_of, layout_map, strides_of
from wire import Declined, Rejected, require

MAXIMA = {"max": 1, "max_pool": 1, "reduce_max": 1, "min": -1, "reduce_min": -1}
SIGNS = {"add": (ONE, ONE), "sub": (ONE, -ONE), "cast": (ONE,), "neg": (-ONE,)}
PRODUCTS = ("mul", "matmul", "gemm", "conv", "conv_transpose")


def taps(a, small, large):
    """(element of the small side, tap, element of the large side or None in the padding) of a window over spatial shapes."""
    strides = strides_of(large)
    sides = list(zip(a["strides"], a["dilations"], a["pads_begin"], a["pads_end"], large))
    for element, index in enumerate(indices_of(small)):
        for tap, offset in enumerate(indices_of(a["kernel"])):
            place = [i * s - b + k * d for i, k, (s, d, b, _, _) in zip(index, offset, sides)]
            if all(p < e + extent for p, (_, _, _, e, extent) in zip(place, sides)):
                yield element, tap, flat(place, strides) if all(0 <= p < extent for p, extent in zip(place, large)) else None


kept = lru_cache(None)


class Ops:
    def __init__(self, nodes):
        self.nodes, self.doubts = nodes, set()
        for v in range(len(nodes)):          # in order, so that the recursion stays shallow
            self.is_constant(v)

    @kept
    def is_constant(self, v):
        """Whether it depends on no input."""
        return self.nodes[v].op != "input" and all(map(self.is_constant, self.nodes[v].operands))

    @kept
    def is_arranged(self, v):
        """Whether layout ops and subtractions of constants alone make it of inputs."""
        op, operands = self.nodes[v].op, self.nodes[v].operands
        if op == "sub" and self.nodes[operands[1]].op == "constant":
            return self.is_arranged(operands[0])
        return op == "input" or op in LAYOUT and all(map(self.is_arranged, operands))

    def gives_integers(self, v):
        """Whether every value is an integer; a step is 1/2 at 0."""
        return self.nodes[v].dtype not in FLOATS or self.nodes[v].op in ("floor", "ceil", "round", "sign")

    @kept
    def constant_box(self, v):
        return self.image(v, self.constant_box)

    @kept
    def constants(self, v):
        """The values of a constant, or None if they are not rational."""
        return [lo for lo, _ in self.constant_box(v)] if self.is_constant(v) and all(lo == hi for lo, hi in self.constant_box(v)) else None

    def shapes(self, v):
        return [self.nodes[o].shape for o in self.nodes[v].operands]

    # Index maps, per element of the result.

    @kept
    def aligned(self, v):
        """Elementwise ops: the element of every operand."""
        return list(zip(*[broadcast_map(s, self.nodes[v].shape) for s in self.shapes(v)]))

    @kept
    def group(self, v):
        """Windows and reductions: (elements of the operand, how many count)"""
        node, (x,), a = self.nodes[v], self.shapes(v), self.nodes[v].attributes
        result = [[] for _ in range(node.size)]
        if "kernel" in a:
            small, large = math.prod(node.shape[2:]), math.prod(x[2:])
            for element, _, place in taps(a, node.shape[2:], x[2:]):
                for channel in range(x[0] * x[1]):
                    result[channel * small + element].append(None if place is None else channel * large + place)
        else:
            strides = [0 if k in a["axes"] else s for k, s in enumerate(strides_of([1 if k in a["axes"] else d for k, d in enumerate(x)]))]
            for element, index in enumerate(indices_of(x)):
                result[flat(index, strides)].append(element)
        inside = [[e for e in elements if e is not None] for elements in result]
        return list(zip(inside, map(len, result if a.get("count_include_pad") else inside)))

    @kept
    def candidates(self, v):
        """Maxima and minima: (operand, element) of those compared."""
        return [list(enumerate(c)) for c in self.aligned(v)] if self.nodes[v].op in ("max", "min") else [[(0, e) for e in g] for g, _ in self.group(v)]

    def matrix_pairs(self, a, x, y):
        x, y = (1,) * (2 - len(x)) + x, y + (1,) * (2 - len(y))
        batch, rank = broadcast(x[:-2], y[:-2]), max(len(x), len(y))
        turns = -1 if a.get("transpose_a") else 1, -1 if a.get("transpose_b") else 1
        (m, depth), n = x[-2:][::turns[0]], y[-2:][::turns[1]][1]
        (row, along), (down, column) = strides_of(x)[-2:][::turns[0]], strides_of(y)[-2:][::turns[1]]
        sx, sy = broadcast_strides(x, rank)[:-2] + [row, 0, along], broadcast_strides(y, rank)[:-2] + [0, column, down]
        pairs = [(flat(i, sx), flat(i, sy)) for i in indices_of(batch + (m, n, depth))]
        return [pairs[k:k + depth] for k in range(0, len(pairs), depth)]

    def window_pairs(self, node, x, w):
        a, turned, (images, outputs, *extents) = node.attributes, node.op == "conv_transpose", node.shape
        size, kernel, places = math.prod(x[2:]), math.prod(a["kernel"]), [[] for _ in range(math.prod(extents))]
        for small, tap, large in taps(a, *((x[2:], extents) if turned else (extents, x[2:]))):
            if large is not None:
                places[large if turned else small].append((small if turned else large, tap))
        ins, outs, result = x[1] // a["groups"], outputs // a["groups"], []
        for image, m in indices_of((images, outputs)):
            channels = [(m // outs * ins + c, c) for c in range(ins)]
            blocks = [((image * x[1] + c) * size, (c * outs + m % outs if turned else m * ins + local) * kernel) for c, local in channels]
            result += [[(p + e, q + t) for e, t in place for p, q in blocks] for place in places]
        return result

    # Sums of products.

    @kept
    def sums(self, v):
        """Per element [(coefficient, variables)] with at most two variables (operand, element); None for what is no such sum."""
        node, op, a = self.nodes[v], self.nodes[v].op, self.nodes[v].attributes
        if op in ("input", "constant"):
            return None
        if op in LAYOUT:
            return [[(Fraction(a["value"]), ())] if p is None else [(ONE, (p,))] for p in layout_map(op, a, self.shapes(v), node.shape)]
        require(all(t in FLOATS for t in [node.dtype] + [self.nodes[o].dtype for o in node.operands]), Declined, "twin.integer", op)
        if op in SIGNS:
            return [[(sign, (variable,)) for sign, variable in zip(SIGNS[op], enumerate(elements))] for elements in self.aligned(v)]
        if op == "div" and 0 not in (self.constants(node.operands[1]) or [0]):
            return [[(1 / self.constants(node.operands[1])[q], ((0, p),))] for p, q in self.aligned(v)]
        if op in ("reduce_sum", "reduce_mean", "avg_pool"):
            return [[(Fraction(1, 1 if op == "reduce_sum" else count), ((0, e),)) for e in elements] for elements, count in self.group(v)]
        if op not in PRODUCTS:
            return None
        x, y, *bias = self.shapes(v)
        pairs = self.matrix_pairs(a, x, y) if op in ("matmul", "gemm") else [[pair] for pair in self.aligned(v)] if op == "mul" else self.window_pairs(node, x, y)
        added = broadcast_map(bias[0] if op == "gemm" else (*bias[0], *[1] * (len(x) - 2)), node.shape) if bias else [None] * node.size
        alpha, beta = [Fraction(a.get(name, 1)) for name in ("alpha", "beta")]
        return [[(alpha, ((0, p), (1, q))) for p, q in some] + [(beta, ((2, b),))] * (b is not None) for some, b in zip(pairs, added)]

    @kept
    def folded(self, v):
        """The same with constants multiplied out and equal variables together: per element ({variables: coefficient}, constant)."""
        result = []
        for monomials in self.sums(v) or ():
            merged = {}
            for coefficient, variables in monomials:
                variables = [(self.nodes[v].operands[place], e) for place, e in variables]
                coefficient *= math.prod(self.constants(o)[e] for o, e in variables if self.constants(o))
                key = tuple(variable for variable in variables if not self.constants(variable[0]))
                merged[key] = merged.get(key, ZERO) + coefficient
            constant = merged.pop((), ZERO)
            result.append(({key: c for key, c in merged.items() if c}, constant))
        return result

    @kept
    def exact(self, v):
        """(forms of all elements, the nodes that they read), or None where the node is not affine in what is not constant. Copies of nodes are passed by; so is x in
        x + c where x is affine (FORMAT.md, section 3)."""
        if self.sums(v) is None or any(len(key) > 1 for merged, _ in self.folded(v) for key in merged):
            return None
        origin = {o: self.copied(o) for o in self.nodes[v].operands if not self.constants(o)}
        forms, reads = [([((origin[o], e), c) for ((o, e),), c in merged.items()], constant) for merged, constant in self.folded(v)], {*origin.values()}
        if self.is_shift(forms, reads) and self.exact(*reads):
            inner, reads = self.exact(*reads)
            forms = [(terms, below + constant) for (terms, below), (_, constant) in zip(inner, forms)]
        return forms, reads

    def is_shift(self, forms, reads):
        """Whether element e is element e of one node, plus a constant."""
        return len(reads) == 1 and len(forms) == self.nodes[min(reads)].size and all(t == [((*reads, e), 1)] for e, (t, _) in enumerate(forms))

    def copied(self, v):
        """The node of which v is a copy, else v."""
        forms, reads = self.exact(v) or ((), ())
        return min(reads) if self.is_shift(forms, reads) and not any(constant for _, constant in forms) else v

    # Boxes.

    def image(self, v, boxes):
        """The box of node v from `boxes(operand)`, lists of pairs."""
        if self.nodes[v].op == "constant":
            return [(Fraction(c),) * 2 for c in self.nodes[v].values]
        exact = self.exact(v)
        if exact:
            have = {o: boxes(o) for o in exact[1]}
            return [evaluate([((variable,), c) for variable, c in terms], constant, have) for terms, constant in exact[0]]
        node, have = self.nodes[v], {o: boxes(o) for o in self.nodes[v].operands}
        operands, function = [have[o] for o in node.operands], self.function(v)
        if function:
            return [function.image(*operands[0][e]) for e, *_ in self.aligned(v)]
        if self.sums(v) is not None:
            return [evaluate(merged.items(), constant, have) for merged, constant in self.folded(v)]
        if node.op in MAXIMA:
            pick = max if MAXIMA[node.op] > 0 else min
            return [tuple(pick(operands[p][e][end] for p, e in c) for end in (0, 1)) for c in self.candidates(v)]
        if node.op == "div":
            return [outward(*product(operands[0][p], inverse(operands[1][q]))) for p, q in self.aligned(v)]
        if node.op == "softmax":
            return [self.softmax(node, operands[0], e) for e in range(node.size)]
        require(node.op == "batch_norm", Declined, "twin.op", node.op)
        return [self.batch_norm(node, e, operands)[0] for e in range(node.size)]

    def softmax(self, node, x, e):
        extent, step = node.shape[node.attributes["axis"]], strides_of(node.shape)[node.attributes["axis"]]
        row = [e + (k - e // step % extent) * step for k in range(extent)]
        above, below = [1 + sum(exp(x[j][1 - end] - x[e][end])[1 - end] for j in row if j != e) for end in (0, 1)]
        return outward(1 / above, 1 / below)

    def batch_norm(self, node, e, operands):
        """(box, slope, constant, slack): the form slope x + constant is right up to the slack."""
        require(all(map(self.constants, node.operands[1:])), Declined, "twin.op", "batch_norm with computed parameters")
        scale, bias, mean, variance = [p[e // math.prod(node.shape[2:]) % node.shape[1]][0] for p in operands[1:]]
        variance += Fraction(node.attributes["epsilon"])
        require(variance > 0, Rejected, "domain", "batch_norm")
        factor, centred = affine(inverse(sqrt(variance)), scale), affine(operands[0][e], ONE, -mean)
        slope = rounded(factor[0], False)
        slack = max(abs(f - slope) for f in factor) * max(map(abs, centred))
        return outward(*affine(product(factor, centred), ONE, bias)), slope, bias - slope * mean, slack

    @kept
    def function(self, v):
        node = self.nodes[v]
        square = node.op == "mul" and node.operands[0] == node.operands[1] and not self.constants(node.operands[0])
        found = FUNCTIONS["square"] if square else function_of(node.op, node.attributes)
        require(not found or node.dtype in FLOATS, Declined, "twin.integer", node.op)
        return found

    # Relaxations.

    def is_linear(self, v, element, boxes):
        """The exact form of an element of a node that is not affine everywhere, if its operands' boxes make it so; else None."""
        node, function = self.nodes[v], self.function(v)
        if function:
            place = self.aligned(v)[element][0]
            require(function.inside(*boxes(node.operands[0])[place]), Rejected, "domain", node.op)
            box = boxes(node.operands[0])[place]
            line = (ONE, ZERO) if node.op == "relu" and not any(box) else function.linear(*box)
            return line and ([((node.operands[0], place), line[0])], line[1])
        candidates = self.candidates(v)[element] if node.op in MAXIMA else []
        ranges = [affine(boxes(node.operands[p])[e], MAXIMA[node.op]) for p, e in candidates]
        for k, (p, e) in enumerate(candidates):
            if all(ranges[k][0] >= other[1] for other in ranges[:k] + ranges[k + 1:]):
                return [((node.operands[p], e), ONE)], ZERO
        return None

    def relax(self, v, element, boxes, own, lower, slopes):
        """A form below (lower) or above the element; `slopes` are the hints, below and above, or None; `own` the element's box. Where the choice is the
        checker's own, `doubts` says so."""
        node, box, slope = self.nodes[v], ([], own[0 if lower else 1]), slopes[0 if lower else 1]
        if self.function(v):
            (place, *_), (operand, *_) = self.aligned(v)[element], node.operands
            x = boxes(operand)[place]
            a, b = self.line(v, x, lower, slope)
            middle = a * sum(x) / 2 + b
            if slope is None and not self.function(v).known:
                self.doubts.add(node.op)
            nearer = slope is not None or node.op == "relu" or (middle > box[1] if lower else middle < box[1])
            return ([((operand, place), a)], b) if nearer else box
        if node.op in MAXIMA:
            return self.relax_maximum(node, self.candidates(v)[element], boxes, lower == (MAXIMA[node.op] > 0), slope, box)
        if node.op in PRODUCTS:
            terms, constant = self.relax_products(*self.folded(v)[element], boxes, lower, [HALF if mix is None else mix for mix in slopes])
            middle = constant + sum(c * sum(boxes(o)[e]) / 2 for (o, e), c in terms)
            return (terms, constant) if slope is not None or node.op == "mul" or (middle > box[1] if lower else middle < box[1]) else box
        if node.op == "batch_norm":
            _, slope, constant, slack = self.batch_norm(node, element, [boxes(o) for o in node.operands])
            return [((node.operands[0], element), slope)], constant + (-slack if lower else slack)
        self.doubts.add(node.op)
        return box

    @kept
    def line(self, v, x, lower, slope):
        if self.nodes[v].op == "relu" and lower and slope is None:
            slope = ONE if sum(x) > 0 else ZERO
        return self.function(v).line(*x, lower, slope)

    def relax_maximum(self, node, candidates, boxes, stays, hint, box):
        """Stay above a candidate, or a plane above all: minima are maxima of the negatives."""
        terms, sign = [(node.operands[p], e) for p, e in candidates], MAXIMA[node.op]
        ranges = [affine(boxes(o)[e], sign) for o, e in terms]
        floor, end = max(r[0] for r in ranges), sign * box[1]
        left = sorted((k for k, r in enumerate(ranges) if r[1] >= floor), key=lambda k: -ranges[k][1])
        if stays:
            reach = [k for k in left if sum(ranges[k]) / 2 >= end]
            best = max(reach, key=lambda k: (sum(ranges[k]), left.index(k)), default=None)
            chosen = int(hint) if hint is not None and 0 <= hint < len(ranges) else best
            return box if chosen is None else ([(terms[chosen], ONE)], ZERO)
        (p, q), planes = left[:2], []
        (lp, up), (lq, uq) = ranges[p], ranges[q]
        share = (up - lq) / (up - lq + uq - lp)
        for slopes in ({p: share, q: 1 - share}, {p: (up - uq) / (up - lp)}):
            above = max(sum(affine(ranges[i], (i == k) - slopes.get(i, ZERO))[1] for i in {*slopes, k}) for k in left)
            planes.append((above + sum(s * sum(ranges[i]) / 2 for i, s in slopes.items()), above, slopes))
        centre, above, slopes = min(planes, key=lambda plane: plane[0])
        if planes[0][0] == planes[1][0]:
            self.doubts.add(node.op)
        return ([(terms[k], s) for k, s in slopes.items()], sign * above) if centre <= end else box

    def relax_products(self, merged, constant, boxes, lower, mixes):
        require(all(0 <= mix <= 1 for mix in mixes), Rejected, "line", "a mix outside of [0, 1]")
        terms = []
        for key, c in merged.items():
            below = lower == (c > 0)
            slopes, more = plane(*[boxes(o)[e] for o, e in key], below, mixes[0 if below else 1]) if len(key) > 1 else ((ONE,), ZERO)
            terms += [(variable, c * slope) for variable, slope in zip(key, slopes)]
            constant += c * more
        return terms, constant


def plane(x, y, lower, mix):
    """The slopes of a plane below or above x y, between those of the two McCormick planes, and its constant from the corners."""
    (xl, xu), (yl, yu) = x, y if lower else y[::-1]
    a, b = mix * yl + (1 - mix) * yu, mix * xl + (1 - mix) * xu
    corners = [p * q - a * p - b * q for p in x for q in y]
    return (a, b), min(corners) if lower else max(corners)


def evaluate(terms, constant, boxes):
    lo = hi = constant
    for variables, c in terms:
        (l, u), *more = [boxes[node][element] for node, element in variables]
        l, u = affine(product((l, u), more[0]) if more else (l, u), c)
        lo, hi = lo + l, hi + u
    return outward(lo, hi, 512)
