"""Functions of one variable over rationals: enclosures by series with remainders, and where they are lines, convex or concave.

From that follow the extremes of f(x) - s x on an interval, and with them boxes, and lines of any slope."""
from fractions import Fraction
from itertools import count
from math import ceil, floor, inf, isqrt

from wire import Declined, Rejected, require

BITS = 160
UNIT = 1 << 240
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


def outward(lo, hi, bits=BITS):
    return rounded(lo, False, bits), rounded(hi, True, bits)


def affine(i, a, b=0):
    return (a * i[0] + b, a * i[1] + b) if a >= 0 else (a * i[1] + b, a * i[0] + b)


def product(i, j):
    corners = [a * b for a in i for b in j]
    return min(corners), max(corners)


def inverse(i):
    require(not i[0] <= 0 <= i[1], Rejected, "domain", "division by an interval with 0")
    return 1 / i[1], 1 / i[0]


def series(first, ratio):
    """first (1 + r(0) (1 + r(1) (1 + ...))), where |r| falls below 1/2 and stays there. r(k) is a pair of integers; what is cut off is counted in units."""
    term = total = floor(first * UNIT)
    error = doubt = 1
    for k in count():
        n, d = ratio(k)
        term, error = term * n // d, error * (abs(n) // d + 1) + 1
        total, doubt = total + term, doubt + error
        if 2 * abs(n) <= d and abs(term) <= error:
            doubt += abs(term) + error
            return Fraction(total - doubt, UNIT), Fraction(total + doubt, UNIT)


def exp(x):
    if x <= 0:
        return (ONE, ONE) if x == 0 else outward(*inverse(exp(-x))) if x > -3000 else (ZERO, Fraction(1, 1 << 4000))
    require(x <= 3000, Declined, "twin.function", "exp of a large number")
    halvings = int(x).bit_length() + 4
    result = series(ONE, lambda k: (x.numerator, (x.denominator << halvings) * (k + 1)))
    for _ in range(halvings):
        result = outward(*product(result, result), 240)
    return outward(*result)


def odd_series(z, sign):
    """atanh (sign 1) or atan (sign -1) of |z| <= 1/2."""
    n, d = sign * z.numerator ** 2, z.denominator ** 2
    return series(z, lambda k: (n * (2 * k + 1), d * (2 * k + 3)))


LN2 = affine(odd_series(Fraction(1, 3), 1), 2)


def log(x):
    require(x > 0, Rejected, "domain", "log")
    k = x.numerator.bit_length() - x.denominator.bit_length()
    m = x / Fraction(2) ** k
    k, m = (k + 1, m / 2) if m > Fraction(4, 3) else (k - 1, m * 2) if m < Fraction(2, 3) else (k, m)
    part, whole = affine(odd_series((m - 1) / (m + 1), 1), 2) if m != 1 else (ZERO, ZERO), affine(LN2, k)
    return outward(part[0] + whole[0], part[1] + whole[1])


def sqrt(x):
    require(x >= 0, Rejected, "domain", "sqrt")
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


def atan(x):
    if abs(x) <= HALF:
        return outward(*odd_series(x, -1)) if x else (ZERO, ZERO)
    root = sqrt(1 + x * x)                   # atan x = 2 atan(x / (1 + sqrt(1 + x^2)))
    ends = [atan(x / (1 + r)) for r in root[::1 if x < 0 else -1]]
    return 2 * ends[0][0], 2 * ends[1][1]


PI = affine(atan(ONE), 4)


def sin(x, cosine=False):
    require(abs(x) <= 64, Declined, "twin.function", "sin or cos of a large number")
    n, d, odd = -x.numerator ** 2, x.denominator ** 2, 0 if cosine else 1
    lo, hi = series(ONE if cosine else x, lambda k: (n, d * (2 * k + 1 + odd) * (2 * k + 2 + odd)))
    return max(lo, -ONE), min(hi, ONE)


def root_of(g, a, b):
    """A point near a zero of g in [a, b], which is below 0 on its side of a: a choice, nothing rests on it."""
    for _ in range(48):
        c = (a + b) / 2
        a, b = (c, b) if g(c) < 0 else (a, c)
    return b


class Function:
    """`value` and `derivative` enclose. `parts` are pairs (start, kind): from there on f is "convex", "concave", a line of the slope `kind`, which may jump at the
    start, or "steep": its derivative lies between -1 and 1. The domain is where `inside(l, u)`. `bent` says if lines without hints follow the curves, `known` if
    FORMAT.md says which they are."""

    def __init__(self, value, parts, derivative=None, inside=lambda l, u: True, bent=True, known=True):
        self.value, self.derivative, self.inside, self.bent, self.known = value, derivative, inside, bent, known
        self.parts = parts if callable(parts) else lambda l, u: parts

    def pieces(self, l, u):
        parts = self.parts(l, u)
        ranges = [(max(l, start), min(u, end), kind) for (start, kind), (end, _) in zip(parts, parts[1:] + [(inf, 0)])]
        return [r for r in ranges if r[0] < r[1]] or [(l, u, ZERO)]

    def linear(self, l, u):
        """(slope, constant) if f is a line on [l, u]."""
        (a, b, kind), *more = self.pieces(l, u)
        if more or isinstance(kind, str):
            return None
        constants = {end - kind * x for x in (l, (l + u) / 2, u) for end in self.value(x)}
        return (kind, constants.pop()) if len(constants) == 1 else None

    def extreme(self, l, u, s, least):
        """A lower bound of the minimum (least) or an upper bound of the maximum of f(x) - s x on [l, u]."""
        found, end = [self.value(x)[0 if least else 1] - s * x for x in {l, u}], 0 if least else 1
        for a, b, kind in self.pieces(l, u):
            c, rest = (a + b) / 2, (a - (a + b) / 2, b - (a + b) / 2)
            if kind == ("concave" if least else "convex"):
                found += [self.value(x)[end] - s * x for x in (a, b)]
            elif isinstance(kind, str):      # a tangent, or all lines that f can be between
                c = c if kind == "steep" else self.turning(a, b, s, least)
                slopes = (-ONE, ONE) if kind == "steep" else self.derivative(c) if a < c < b else (s, s)
                found.append(self.value(c)[end] - s * c + product(affine(slopes, ONE, -s), (a - c, b - c))[end])
            else:
                found += [self.value(c)[end] - s * c + (kind - s) * step for step in rest]
        return min(found) if least else max(found)

    def turning(self, a, b, s, least):
        """Where f(x) - s x has its extreme in the bent piece: an end only if that is certain."""
        def gradient(x):
            return affine(self.derivative(x), 1 if least else -1, -s if least else s)
        if self.derivative(a) and gradient(a)[0] >= 0:
            return a
        return b if gradient(b)[1] <= 0 else root_of(lambda x: sum(gradient(x)), a, b)

    def image(self, l, u):
        require(self.inside(l, u), Rejected, "domain", f"[{float(l)}, {float(u)}]")
        return outward(self.extreme(l, u, ZERO, True), self.extreme(l, u, ZERO, False))

    def line(self, l, u, lower, slope):
        """(slope, constant) of a line below (lower) or above f on [l, u]."""
        slope = self.slope(l, u, lower) if slope is None else slope
        return slope, rounded(self.extreme(l, u, slope, lower), not lower, 400)

    def slope(self, l, u, lower):
        """The slope of a line without a hint (FORMAT.md, section 3)."""
        if l == u:
            return ZERO
        value, tangent = lambda x: sum(self.value(x)) / 2, lambda x: rounded(sum(self.derivative(x)) / 2, False, 60)
        kinds, touching = [kind for _, _, kind in self.pieces(l, u)], "convex" if lower else "concave"
        if self.bent and kinds == [touching]:
            return tangent((l + u) / 2)
        chord = rounded((value(u) - value(l)) / (u - l), False, 60)
        if not self.bent or len(kinds) != 2 or not isinstance(kinds[0], str):
            return chord
        border, sign = self.pieces(l, u)[1][0], 1 if lower else -1
        near, far = (u, l) if kinds[1] == touching else (l, u)

        def missed(x):                       # by how much the tangent at x passes the far end on the safe side
            return sign * (value(far) - value(x) - tangent(x) * (far - x))
        if missed(near) < 0:
            return chord
        if missed(border) >= 0:              # a kink, or the bottom of an even power
            return tangent(border) if isinstance(kinds[1], str) else (tangent(border) + kinds[1]) / 2
        return tangent(root_of(missed, border, near))


def exact(value):
    return lambda x: (value(x),) * 2


def pieces_of_lines(value, *parts, known=True):
    return Function(exact(value), list(zip((-inf,) + parts[1::2], parts[::2])), known=known)


def s_shaped(value, derivative):
    return Function(value, [(-inf, "convex"), (ZERO, "concave")], derivative)


def staircase(value):
    def parts(l, u):
        require(u - l <= 1000, Declined, "twin.function", "too many jumps")
        return [(Fraction(n), ZERO) for n in range(floor(l) - 1, ceil(u) + 1)]
    return Function(exact(lambda x: Fraction(value(x))), parts)


def wave(cosine):
    """Between multiples of pi, cosines half of that later, sin turns from concave to convex and back; the steep parts hold the multiples."""
    def parts(l, u):
        turns = range(floor(min(l / 3, l / 4)) - 1, ceil(max(u / 3, u / 4)) + 1)
        bends = [(affine(PI, k + cosine * HALF), "concave" if k % 2 == cosine else "convex") for k in turns]
        return [part for (lo, hi), kind in bends for part in ((lo, "steep"), (hi, kind))]
    return Function(lambda x: sin(x, cosine), parts, lambda x: affine(sin(x, not cosine), -1 if cosine else 1), bent=False)


def power(r):
    if r.denominator > 1:
        def value(x):
            return (exp(r * log(x)[0 if r > 0 else 1])[0], exp(r * log(x)[1 if r > 0 else 0])[1]) if x else (ZERO, ZERO)
        value = sqrt if r == HALF else value
        return Function(value, [(-inf, "concave" if 0 < r < 1 else "convex")], lambda x: affine(value(x), r / x) if x else None, lambda l, u: l >= 0 if r > 0 else l > 0)
    require(abs(r) <= 64, Declined, "twin.function", f"power {r}")
    r, right = int(r), "convex" if r * (r - 1) else Fraction(r)
    left = right if r % 2 == 0 or r == 1 else "concave"
    parts = [(-inf, right)] if r in (0, 1) else [(-inf, left), (ZERO, right)]
    return Function(exact(lambda x: x ** r), parts, exact(lambda x: r * x ** (r - 1)), lambda l, u: r >= 0 or l > 0 or u < 0)


def elu(alpha, scale, divisor):
    def below(x):
        return affine(exp(x / divisor), scale * alpha, -scale * alpha)
    return Function(lambda x: (scale * x,) * 2 if x >= 0 else below(x), [(-inf, "convex"), (ZERO, scale)], lambda x: affine(exp(x / divisor), scale * alpha / divisor))


FUNCTIONS = {
    "sigmoid": s_shaped(sigmoid, bell), "tanh": s_shaped(lambda x: affine(sigmoid(2 * x), 2, -1), lambda x: affine(bell(2 * x), 4)),
    "softsign": s_shaped(exact(lambda x: x / (1 + abs(x))), exact(lambda x: 1 / (1 + abs(x)) ** 2)), "atan": s_shaped(atan, exact(lambda x: 1 / (1 + x * x))),
    "exp": Function(exp, [(-inf, "convex")], exp), "log": Function(log, [(-inf, "concave")], exact(lambda x: 1 / x), lambda l, u: l > 0),
    "softplus": Function(softplus, [(-inf, "convex")], sigmoid), "sqrt": power(HALF), "reciprocal": power(-ONE),
    "square": Function(exact(lambda x: x * x), [(-inf, "convex")], exact(lambda x: 2 * x)),
    "relu": pieces_of_lines(lambda x: max(x, ZERO), ZERO, ZERO, ONE), "abs": pieces_of_lines(abs, -ONE, ZERO, ONE),
    "sign": pieces_of_lines(lambda x: Fraction((x > 0) - (x < 0)), ZERO, ZERO, ZERO), "floor": staircase(floor), "ceil": staircase(ceil),
    "sin": wave(False), "cos": wave(True),
}


# Of their attributes; None where nothing is known.
FAMILIES = {
    "leaky_relu": lambda slope: pieces_of_lines(lambda x: x if x > 0 else slope * x, slope, ZERO, ONE),
    "clip": lambda lo, hi: pieces_of_lines(lambda x: min(max(x, lo), hi), ZERO, lo, ONE, hi, ZERO),
    "hard_sigmoid": lambda alpha, beta: pieces_of_lines(lambda x: min(max(alpha * x + beta, ZERO), ONE), ZERO, -beta / alpha, alpha, (1 - beta) / alpha,
                                                        ZERO, known=False) if alpha > 0 else None,
    "elu": lambda alpha, beta: elu(alpha, ONE, ONE) if alpha > 0 else None,
    "selu": lambda alpha, beta: elu(alpha, beta, ONE) if alpha > 0 and beta > 0 else None,
    "celu": lambda alpha, beta: elu(alpha, ONE, alpha) if alpha > 0 else None,
    "pow": lambda exponent: power(exponent),
}


def function_of(op, attributes):
    """The Function of an elementwise op, or None."""
    if op in FAMILIES:
        return FAMILIES[op](**{k: Fraction(v) if abs(v) < inf else v for k, v in attributes.items()})
    return FUNCTIONS.get(op)
