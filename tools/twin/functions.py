"""Elementary functions of one variable over rationals: enclosures by series with remainders, and what relaxations need to know.

A `Function` has pieces on which it is linear, convex or concave; the extremes of f(x) - s x on an interval follow from that."""
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


def monotone(f):
    """An enclosure of an increasing function at an interval, from point enclosures."""
    return lambda i: (f(i[0])[0], f(i[1])[1])


def exp(x):
    if x == 0:
        return ONE, ONE
    if x < -3000:
        return ZERO, Fraction(1, 1 << 4000)
    if x > 3000:
        raise Declined("twin.function", "exp of a large number")
    if x < 0:
        lo, hi = exp(-x)
        return outward(1 / hi, 1 / lo)
    halvings = max(0, int(x).bit_length() + 8)
    one = 1 << BITS + 40
    below, above = (x.numerator * one // (x.denominator << halvings)), -(-x.numerator * one // (x.denominator << halvings))
    result = []
    for y, up in ((below, False), (above, True)):
        total = term = one
        for k in range(1, 30):
            term = term * y // one // k + up
            total += term
        total += 2 * up                      # the remainder is below the last term, 2^-232
        for _ in range(halvings):
            total = (total * total >> BITS + 40) + up
        result.append(Fraction(total, one))
    return rounded(result[0], False), rounded(result[1], True)


def atanh_series(z):
    """atanh of |z| <= 1/3."""
    z = Fraction(z)
    one = 1 << BITS + 40
    power, total, square = z.numerator * one // z.denominator, 0, z * z
    q = square.numerator * one // square.denominator
    for k in range(1, 161, 2):
        total += power // k
        power = power * q // one
    return Fraction(total - 400, one), Fraction(total + 400, one)


LN2 = tuple(2 * v for v in atanh_series(Fraction(1, 3)))


def log(x):
    if x <= 0:
        raise Rejected("domain", "log")
    if x == 1:
        return ZERO, ZERO
    k = x.numerator.bit_length() - x.denominator.bit_length()
    m = x / Fraction(2) ** k
    if m > Fraction(4, 3):
        k, m = k + 1, m / 2
    elif m < Fraction(2, 3):
        k, m = k - 1, m * 2
    lo, hi = atanh_series((m - 1) / (m + 1))
    a, b = sorted((k * LN2[0], k * LN2[1]))
    return outward(2 * lo + a, 2 * hi + b)


def sqrt(x):
    if x < 0:
        raise Rejected("domain", "sqrt")
    n, d = isqrt(x.numerator), isqrt(x.denominator)
    if n * n == x.numerator and d * d == x.denominator:
        return Fraction(n, d), Fraction(n, d)
    shift = max(0, 2 * BITS - x.numerator.bit_length() + x.denominator.bit_length())
    shift += shift % 2
    root = isqrt((x.numerator << shift) // x.denominator)
    return Fraction(root, 1 << shift // 2), Fraction(root + 1, 1 << shift // 2)


def alternating(x, first, ratio):
    """Sum of an eventually alternating series: t_0 = first, t_k = -t_{k-1} ratio(k); the remainder is below the first term left out."""
    total, term, k = ZERO, first, 0
    while abs(term) > Fraction(1, 1 << BITS) or k < abs(x) ** 2 + 2:
        total += term
        k += 1
        term = rounded(-term * ratio(k), False, 2 * BITS + 64)
    slack = abs(term) + Fraction(1, 1 << BITS)
    return outward(total - slack, total + slack)


def atan(x):
    if x.denominator.bit_length() > BITS:
        return atan(rounded(x, False, BITS - 32))[0], atan(rounded(x, True, BITS - 32))[1]
    if x < 0:
        lo, hi = atan(-x)
        return -hi, -lo
    if x > Fraction(1, 4):
        root = sqrt(1 + x * x)
        (lo, _), (_, hi) = atan(rounded(x / (1 + root[1]), False)), atan(rounded(x / (1 + root[0]), True))
        return 2 * lo, 2 * hi
    return alternating(ONE, x, lambda k: x * x * Fraction(2 * k - 1, 2 * k + 1))


PI = tuple(16 * a - 4 * b for a, b in zip(atan(Fraction(1, 5)), atan(Fraction(1, 239))[::-1]))


def sin(x, first=None):
    if abs(x) > 50:
        raise Declined("twin.function", "sine of a large number")
    x = rounded(x, False, 300)               # what this moves is within the slack of 2^-160
    if first is None:
        return alternating(x, x, lambda k: x * x / (2 * k * (2 * k + 1)))
    return alternating(x, ONE, lambda k: x * x / (2 * k * (2 * k - 1)))


def cos(x):
    return sin(x, ONE)


def erf(x):
    if x.denominator.bit_length() > BITS:
        return erf(rounded(x, False, BITS - 32))[0], erf(rounded(x, True, BITS - 32))[1]
    if x < 0:
        lo, hi = erf(-x)
        return -hi, -lo
    if x > 7:
        return 1 - Fraction(1, 1 << 70), ONE
    lo, hi = alternating(x, x, lambda k: x * x * Fraction(2 * k - 1, k * (2 * k + 1)))
    root = sqrt(PI[0])[0], sqrt(PI[1])[1]
    return outward(2 * lo / root[1], min(ONE, 2 * hi / root[0]))


def sigmoid(x):
    lo, hi = exp(-x)
    return outward(1 / (1 + hi), 1 / (1 + lo))


def affine(i, a, b=0):
    return (a * i[0] + b, a * i[1] + b) if a >= 0 else (a * i[1] + b, a * i[0] + b)


def product(i, j):
    corners = [a * b for a in i for b in j]
    return min(corners), max(corners)


def inverse(i):
    if i[0] <= 0 <= i[1]:
        raise Rejected("domain", "division by an interval with 0")
    return 1 / i[1], 1 / i[0]


def root_of(g, a, b):
    """A point near a zero of the increasing function g in [a, b], by false position (Illinois): a choice, nothing rests on it."""
    ga, gb, side, c = g(a) if a else -ONE, g(b) if b else ONE, 0, (a + b) / 2
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
    """`pieces(l, u)`: (a, b, kind, slope) covering [l, u]; `slope` only where linear."""

    def __init__(self, value, derivative, breaks, kinds, domain=(None, None)):
        self.value, self.derivative, self.breaks, self.kinds, self.domain = value, derivative, breaks, kinds, domain

    def check(self, l, u):
        least, hole = self.domain
        if least is not None and (l < least[0] or l == least[0] and least[1]):
            raise Rejected("domain", f"an operand may be {float(l)}")
        if hole is not None and l <= hole <= u:
            raise Rejected("domain", f"an operand may be {hole}")

    def pieces(self, l, u):
        cuts = [l] + [b for b in self.breaks if l < b < u] + [u]
        for a, b in zip(cuts, cuts[1:] if l < u else [u]):
            middle = (a + b) / 2
            yield a, b, self.kinds[sum(1 for c in self.breaks if c < middle)]

    def linear(self, l, u):
        """(slope, constant) if f is a line on [l, u]."""
        if l == u:
            value = self.value(l)
            return (ZERO, value[0]) if value[0] == value[1] else None
        kinds = [kind for _, _, kind in self.pieces(l, u)]
        if len(kinds) > 1 or isinstance(kinds[0], str):
            return None
        return kinds[0], self.value(l)[0] - kinds[0] * l

    def extreme(self, l, u, s, least):
        """A lower bound of the minimum (least) or an upper bound of the maximum of f(x) - s x on [l, u]."""
        found = []
        for a, b, kind in self.pieces(l, u):
            ends = [self.value(x)[0 if least else 1] - s * x for x in (a, b)]
            found += ends
            if a < b and kind == ("convex" if least else "concave"):
                found.append(self.inner(a, b, s, least, ends))
        return min(found) if least else max(found)

    def inner(self, a, b, s, least, ends):
        """The turning point, if inside: the tangent at a point near it bounds the piece."""
        sign = 1 if least else -1
        c = self.turning(a, b, s, sign)
        if c is None:
            return ends[0]
        lo, hi = self.derivative(c)
        slack = max(abs(lo - s), abs(hi - s)) * (b - a)
        value = self.value(c)[0 if least else 1] - s * c
        return value - slack if least else value + slack

    def turning(self, a, b, s, sign):
        def gradient(x):
            lo, hi = self.derivative(x)
            return sign * ((lo + hi) / 2 - s)
        if a not in self.breaks and gradient(a) >= 0 or b not in self.breaks and gradient(b) <= 0:
            return None
        return root_of(gradient, a, b)

    def image(self, l, u):
        self.check(l, u)
        return outward(self.extreme(l, u, ZERO, True), self.extreme(l, u, ZERO, False))


class Jumps(Function):
    """Lines between jumps: `lines(l, u)` gives (a, b, slope, constant), each a limit at its ends, or the value at a jump."""

    def __init__(self, lines):
        super().__init__(None, None, [], [])
        self.lines = lines

    def linear(self, l, u):
        found = {(slope, constant) if a < b or l == u else None for a, b, slope, constant in self.lines(l, u)}
        return found.pop() if len(found) == 1 else None

    def extreme(self, l, u, s, least):
        found = [slope * x + constant - s * x for a, b, slope, constant in self.lines(l, u) for x in (a, b)]
        return min(found) if least else max(found)


def steps(cuts, at):
    """Lines between the numbers `cuts(l, u)`, from slope and constant `at` a point inside of each part."""
    def lines(l, u):
        points = [l] + [c for c in cuts(l, u) if l < c < u] + [u]
        result = [(c, c, ZERO, at(c)[0] * c + at(c)[1]) for c in points]
        return result + [(a, b, *at((a + b) / 2)) for a, b in zip(points, points[1:]) if a < b]
    return Jumps(lines)


def integers_between(l, u, shift=ZERO):
    if u - l > 1000:
        raise Declined("twin.function", "too many jumps")
    return [n + shift for n in range(floor(l) - 1, ceil(u) + 2)]


def piecewise(breaks, slopes, value):
    return Function(lambda x: (value(x),) * 2, None, breaks, slopes)


def s_shaped(value, derivative):
    return Function(value, derivative, [ZERO], ["convex", "concave"])


def integer_power(r):
    value = lambda x: (x ** r,) * 2
    derivative = lambda x: (r * x ** (r - 1),) * 2
    if r >= 0:
        kinds = [ZERO] if r == 0 else [ONE] if r == 1 else ["convex"] if r % 2 == 0 else ["concave", "convex"]
        return Function(value, derivative, [ZERO] if len(kinds) > 1 else [], kinds)
    return Function(value, derivative, [ZERO], ["convex" if r % 2 == 0 else "concave", "convex"], (None, ZERO))


def real_power(r):
    if r.denominator == 1 and abs(r) <= 64:
        return integer_power(int(r))
    if r == HALF:
        value = sqrt
    else:
        value = lambda x: (ZERO, ZERO) if x == 0 else (lambda i: (exp(i[0])[0], exp(i[1])[1]))(affine(log(x), r))
    derivative = lambda x: affine(product(value(x), (1 / x, 1 / x)), r)
    return Function(value, derivative, [], ["concave" if 0 < r < 1 else "convex"], ((ZERO, r < 0), None))


def elu(alpha, scale, divisor):
    below = lambda x: affine(exp(x / divisor), scale * alpha, -scale * alpha)
    slope = lambda x: affine(exp(x / divisor), scale * alpha / divisor)
    return Function(lambda x: (scale * x,) * 2 if x >= 0 else below(x), slope, [ZERO], ["convex" if scale * alpha > 0 else "concave", scale])


def softplus(x):
    if x > 0:
        lo, hi = softplus(-x)
        return lo + x, hi + x
    lo, hi = exp(x)
    return log(1 + lo)[0], log(1 + hi)[1]


def hard_swish(x):
    return ZERO if x < -3 else x if x > 3 else x * (x + 3) / 6


def clamp(x, lo, hi):
    return min(max(x, lo), hi)


def function_of(op, attributes):
    """The Function of an elementwise op, or None."""
    exact = {k: Fraction(v) for k, v in attributes.items() if isinstance(v, (float, Fraction)) and abs(v) < inf}
    alpha, beta = exact.get("alpha"), exact.get("beta")
    if op == "relu":
        return piecewise([ZERO], [ZERO, ONE], lambda x: max(x, ZERO))
    if op == "leaky_relu":
        return piecewise([ZERO], [exact["slope"], ONE], lambda x: x if x > 0 else exact["slope"] * x)
    if op == "abs":
        return piecewise([ZERO], [-ONE, ONE], abs)
    if op == "clip":
        lo, hi = [exact.get(k, attributes[k]) for k in ("lo", "hi")]
        cuts = sorted({exact[k] for k in ("lo", "hi") if k in exact})
        kinds = ([ZERO] if "lo" in exact else []) + ([ONE] if lo < hi else []) + ([ZERO] if "hi" in exact else [])
        return piecewise(cuts, kinds, lambda x: clamp(x, lo, hi))
    if op == "hard_sigmoid":
        cuts = sorted({-beta / alpha, (1 - beta) / alpha}) if alpha else []
        return piecewise(cuts, [ZERO, alpha, ZERO] if alpha else [ZERO], lambda x: clamp(alpha * x + beta, ZERO, ONE))
    if op in ("elu", "selu", "celu"):
        return elu(alpha, beta if op == "selu" else ONE, alpha if op == "celu" else ONE) if alpha > 0 else None
    if op == "pow":
        return real_power(exact["exponent"])
    if op == "thresholded_relu":
        return steps(lambda l, u: [alpha], lambda x: (ONE if x > alpha else ZERO, ZERO))
    if op == "shrink":
        return steps(lambda l, u: [-alpha, alpha], lambda x: (ONE, beta) if x < -alpha else (ONE, -beta) if x > alpha else (ZERO, ZERO))
    simple = {
        "sign": lambda: steps(lambda l, u: [ZERO], lambda x: (ZERO, Fraction((x > 0) - (x < 0)))),
        "floor": lambda: steps(integers_between, lambda x: (ZERO, Fraction(floor(x)))),
        "ceil": lambda: steps(integers_between, lambda x: (ZERO, Fraction(ceil(x)))),
        "round": lambda: steps(lambda l, u: integers_between(l, u, HALF), lambda x: (ZERO, Fraction(round(x)))),
        "sigmoid": lambda: s_shaped(sigmoid, lambda x: (lambda i: product(i, affine(i, -1, 1)))(sigmoid(x))),
        "tanh": lambda: s_shaped(lambda x: affine(sigmoid(2 * x), 2, -1), lambda x: affine((lambda i: product(i, affine(i, -1, 1)))(sigmoid(2 * x)), 4)),
        "erf": lambda: s_shaped(erf, lambda x: product(exp(-x * x), inverse(affine((sqrt(PI[0])[0], sqrt(PI[1])[1]), HALF)))),
        "atan": lambda: s_shaped(atan, lambda x: (1 / (1 + x * x),) * 2),
        "softsign": lambda: s_shaped(lambda x: (x / (1 + abs(x)),) * 2, lambda x: (1 / (1 + abs(x)) ** 2,) * 2),
        "exp": lambda: Function(exp, exp, [], ["convex"]),
        "log": lambda: Function(log, lambda x: (1 / x,) * 2, [], ["concave"], ((ZERO, True), None)),
        "sqrt": lambda: real_power(HALF), "reciprocal": lambda: integer_power(-1), "square": lambda: integer_power(2),
        "softplus": lambda: Function(softplus, sigmoid, [], ["convex"]),
        "hard_swish": lambda: Function(lambda x: (hard_swish(x),) * 2, lambda x: ((2 * x + 3) / 6,) * 2, [Fraction(-3), Fraction(3)], [ZERO, "convex", ONE]),
    }
    return simple[op]() if op in simple else None
