"""Functions of one variable over rationals: enclosures by series with remainders, and where they are lines, convex or concave.

From that follow the extremes of f(x) - s x on an interval, and with them boxes, and lines of any slope."""
from fractions import Fraction
from math import ceil, floor, inf, isqrt

from errors import Declined, Rejected

BITS = 160
ZERO, ONE, HALF = Fraction(0), Fraction(1), Fraction(1, 2)


def rounded(x, up, bits=BITS):
    """x with at most `bits` significant bits, moved outward; short numbers stay."""
    n, d = x.numerator, x.denominator
    if n.bit_length() <= bits and d.bit_length() <= bits:
        return x
    shift = bits - n.bit_length() + d.bit_length()
    n, d = (n << shift, d) if shift > 0 else (n, d << -shift)
    q = -(-n // d) if up else n // d
    return Fraction(q, 1 << shift) if shift > 0 else Fraction(q << -shift)


def outward(lo, hi):
    return rounded(lo, False), rounded(hi, True)


def affine(i, a, b=0):
    return (a * i[0] + b, a * i[1] + b) if a >= 0 else (a * i[1] + b, a * i[0] + b)


def product(i, j):
    corners = [a * b for a in i for b in j]
    return min(corners), max(corners)


def inverse(i):
    if i[0] <= 0 <= i[1]:
        raise Rejected("domain", "division by an interval with 0")
    return 1 / i[1], 1 / i[0]


def exp(x):
    if x < -3000 or x == 0:
        return (ZERO, Fraction(1, 1 << 4000)) if x else (ONE, ONE)
    if x > 3000:
        raise Declined("twin.function", "exp of a large number")
    if x < 0:
        return outward(*inverse(exp(-x)))
    halvings, one, result = int(x).bit_length() + 8, 1 << BITS + 40, []
    below = x.numerator * one // (x.denominator << halvings)
    for y, up in ((below, 0), (below + 1, 1)):
        total = term = one
        for k in range(1, 30):
            term = term * y // one // k + up
            total += term
        total += 2 * up                      # the remainder is below the last term, 2^-232
        for _ in range(halvings):
            total = (total * total >> BITS + 40) + up
        result.append(Fraction(total, one))
    return outward(*result)


def atanh_series(z):
    """atanh of |z| <= 1/3: 80 terms, each rounded down at 2^-200."""
    one, square, total = 1 << BITS + 40, z * z, 0
    power, q = z.numerator * one // z.denominator, square.numerator * one // square.denominator
    for k in range(1, 161, 2):
        total, power = total + power // k, power * q // one
    return Fraction(total - 400, one), Fraction(total + 400, one)


LN2 = affine(atanh_series(Fraction(1, 3)), 2)


def log(x):
    if x <= 0:
        raise Rejected("domain", "log")
    k = x.numerator.bit_length() - x.denominator.bit_length()
    m = x / Fraction(2) ** k
    k, m = (k + 1, m / 2) if m > Fraction(4, 3) else (k - 1, m * 2) if m < Fraction(2, 3) else (k, m)
    series, whole = affine(atanh_series((m - 1) / (m + 1)), 2) if m != 1 else (ZERO, ZERO), affine(LN2, k)
    return outward(series[0] + whole[0], series[1] + whole[1])


def sqrt(x):
    if x < 0:
        raise Rejected("domain", "sqrt")
    root = Fraction(isqrt(x.numerator), isqrt(x.denominator))
    if root * root == x:
        return root, root
    shift = max(0, 2 * BITS - x.numerator.bit_length() + x.denominator.bit_length()) // 2
    below = isqrt((x.numerator << 2 * shift) // x.denominator)
    return Fraction(below, 1 << shift), Fraction(below + 1, 1 << shift)


def sigmoid(x):
    lo, hi = exp(-x)
    return outward(1 / (1 + hi), 1 / (1 + lo))


def bell(x):
    """The derivative of sigmoid."""
    i = sigmoid(x)
    return product(i, affine(i, -1, 1))


def softplus(x):
    if x > 0:
        return affine(softplus(-x), ONE, x)
    lo, hi = exp(x)
    return log(1 + lo)[0], log(1 + hi)[1]


def root_of(g, a, b):
    """A point near a zero of the increasing function g in [a, b], by false position (Illinois): a choice, nothing rests on it."""
    ga, gb, side, c = g(a), g(b), 0, (a + b) / 2
    for step in range(60):
        c = (a + b) / 2 if step % 8 == 7 or gb <= ga else b - gb * (b - a) / (gb - ga)
        c = min(max(rounded(c, False, 100), a), b)
        gc = g(c)
        if abs(gc) < Fraction(1, 1 << 80) or b - a < Fraction(1, 1 << 90):
            break
        if gc < 0:
            a, ga, gb, side = c, gc, gb / 2 if side < 0 else gb, -1
        else:
            b, gb, ga, side = c, gc, ga / 2 if side > 0 else ga, 1
    return c


class Function:
    """`value` and `derivative` enclose; between `breaks` f is of the `kinds`: a slope, "convex" or "concave". Defined above `least` (at it, if `closed`), but at `hole`."""

    def __init__(self, value, derivative, breaks, kinds, least=None, closed=True, hole=None):
        self.value, self.derivative, self.breaks, self.kinds, self.least, self.closed, self.hole = value, derivative, breaks, kinds, least, closed, hole

    def check(self, l, u):
        if self.least is not None and (l < self.least or l == self.least and not self.closed) or self.hole is not None and l <= self.hole <= u:
            raise Rejected("domain", f"[{float(l)}, {float(u)}]")

    def pieces(self, l, u):
        cuts = [l] + [b for b in self.breaks if l < b < u] + [u]
        return [(a, b, self.kinds[sum(1 for c in self.breaks if c < (a + b) / 2)]) for a, b in zip(cuts, cuts[1:])]

    def linear(self, l, u):
        """(slope, constant) if f is a line on [l, u]."""
        kinds, value = [kind for _, _, kind in self.pieces(l, u)], self.value(l)
        if l == u and value[0] == value[1]:
            return ZERO, value[0]
        return None if l == u or len(kinds) > 1 or isinstance(kinds[0], str) else (kinds[0], value[0] - kinds[0] * l)

    def extreme(self, l, u, s, least):
        """A lower bound of the minimum (least) or an upper bound of the maximum of f(x) - s x on [l, u]."""
        found = []
        for a, b, kind in self.pieces(l, u):
            found += [self.value(x)[0 if least else 1] - s * x for x in (a, b)]
            c = self.turning(a, b, s, 1 if least else -1) if a < b and kind == ("convex" if least else "concave") else None
            if c is not None:                # the tangent at c bounds the piece
                slack = max(abs(d - s) for d in self.derivative(c)) * (b - a)
                found.append(self.value(c)[0 if least else 1] - s * c - (slack if least else -slack))
        return min(found) if least else max(found)

    def turning(self, a, b, s, sign):
        def gradient(x):
            return sign * (sum(self.derivative(x)) / 2 - s)
        a += (b - a) / (1 << 60) if a == self.least else 0          # a root's derivative is infinite there
        return None if gradient(a) >= 0 or gradient(b) <= 0 else root_of(gradient, a, b)

    def image(self, l, u):
        self.check(l, u)
        return outward(self.extreme(l, u, ZERO, True), self.extreme(l, u, ZERO, False))


class Jumps(Function):
    """Constant between the numbers `cuts(l, u)`: `at` gives the value."""

    def __init__(self, cuts, at):
        super().__init__(lambda x: (at(x),) * 2, None, [], [])
        self.cuts, self.at = cuts, at

    def values(self, l, u):
        """(a, b, value): the ends, the jumps, and the parts between them with their limits."""
        points = [l] + [c for c in self.cuts(l, u) if l < c < u] + [u]
        return [(c, c, self.at(c)) for c in points] + [(a, b, self.at((a + b) / 2)) for a, b in zip(points, points[1:])]

    def linear(self, l, u):
        values = {v for _, _, v in self.values(l, u)}
        return (ZERO, values.pop()) if len(values) == 1 else None

    def extreme(self, l, u, s, least):
        found = [v - s * x for a, b, v in self.values(l, u) for x in (a, b)]
        return min(found) if least else max(found)


def integers_between(l, u):
    if u - l > 1000:
        raise Declined("twin.function", "too many jumps")
    return [Fraction(n) for n in range(floor(l), ceil(u) + 1)]


def piecewise(breaks, slopes, value):
    return Function(lambda x: (value(x),) * 2, None, breaks, slopes)


def s_shaped(value, derivative):
    return Function(value, derivative, [ZERO], ["convex", "concave"])


def power(r):
    if r.denominator > 1:
        value = sqrt if r == HALF else lambda x: (exp(r * log(x)[0 if r > 0 else 1])[0], exp(r * log(x)[1 if r > 0 else 0])[1]) if x else (ZERO, ZERO)
        return Function(value, lambda x: affine(value(x), r / x), [], ["concave" if 0 < r < 1 else "convex"], ZERO, r > 0)
    if abs(r) > 64:
        raise Declined("twin.function", f"power {r}")
    r, breaks = int(r), [ZERO] if r < 0 or r > 2 and r % 2 else []
    kinds = [Fraction(r)] if r in (0, 1) else ["convex"] if not breaks else ["convex" if r % 2 == 0 else "concave", "convex"]
    return Function(lambda x: (x ** r,) * 2, lambda x: (r * x ** (r - 1),) * 2, breaks, kinds, hole=ZERO if r < 0 else None)


def elu(alpha, scale, divisor):
    def below(x):
        return affine(exp(x / divisor), scale * alpha, -scale * alpha)
    return Function(lambda x: (scale * x,) * 2 if x >= 0 else below(x), lambda x: affine(exp(x / divisor), scale * alpha / divisor), [ZERO], ["convex", scale])


def clamp(breaks, slopes, value, lo, hi):
    return piecewise(breaks, slopes, lambda x: min(max(value(x), lo), hi))


SIMPLE = {
    "sigmoid": s_shaped(sigmoid, bell), "tanh": s_shaped(lambda x: affine(sigmoid(2 * x), 2, -1), lambda x: affine(bell(2 * x), 4)),
    "softsign": s_shaped(lambda x: (x / (1 + abs(x)),) * 2, lambda x: (1 / (1 + abs(x)) ** 2,) * 2),
    "exp": Function(exp, exp, [], ["convex"]), "log": Function(log, lambda x: (1 / x,) * 2, [], ["concave"], ZERO, False),
    "softplus": Function(softplus, sigmoid, [], ["convex"]), "sqrt": power(HALF), "reciprocal": power(-ONE), "square": power(Fraction(2)),
    "relu": piecewise([ZERO], [ZERO, ONE], lambda x: max(x, ZERO)), "abs": piecewise([ZERO], [-ONE, ONE], abs),
    "sign": Jumps(lambda l, u: [ZERO], lambda x: Fraction((x > 0) - (x < 0))),
    "floor": Jumps(integers_between, lambda x: Fraction(floor(x))), "ceil": Jumps(integers_between, lambda x: Fraction(ceil(x))),
}


def function_of(op, attributes):
    """The Function of an elementwise op, or None."""
    a = {k: Fraction(v) if abs(v) < inf else v for k, v in attributes.items() if isinstance(v, (float, Fraction))}
    if op == "leaky_relu":
        return piecewise([ZERO], [a["slope"], ONE], lambda x: x if x > 0 else a["slope"] * x)
    if op == "clip":
        cuts = [c for c in (a["lo"], a["hi"]) if abs(c) < inf]
        kinds = [ZERO] * (a["lo"] > -inf) + [ONE] * (a["lo"] < a["hi"]) + [ZERO] * (a["hi"] < inf)
        return clamp(sorted(set(cuts)), kinds, lambda x: x, a["lo"], a["hi"])
    if op == "hard_sigmoid" and a["alpha"] > 0:
        return clamp([-a["beta"] / a["alpha"], (1 - a["beta"]) / a["alpha"]], [ZERO, a["alpha"], ZERO], lambda x: a["alpha"] * x + a["beta"], ZERO, ONE)
    if op in ("elu", "selu", "celu") and a["alpha"] > 0 and (op != "selu" or a["beta"] > 0):
        return elu(a["alpha"], a["beta"] if op == "selu" else ONE, a["alpha"] if op == "celu" else ONE)
    return power(a["exponent"]) if op == "pow" else SIMPLE.get(op)
