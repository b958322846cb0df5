"""Single float executions in exact arithmetic: every number is a Fraction, and rounding to a format is done here, by the definition.

An overflow gives the float infinity, which compares with fractions as it should."""
from fractions import Fraction
import math


class Format:
    """precision: bits of the significand; least: the exponent of the smallest number; most: the first power of two beyond the range."""

    def __init__(self, precision, least, most):
        self.precision, self.least, self.most = precision, least, most

    def spacing(self, x):
        """Of the numbers around x."""
        exponent = self.least
        if x != 0:
            top = abs(x).numerator.bit_length() - abs(x).denominator.bit_length()  # 2^(top-1) < |x| < 2^(top+1)
            top -= abs(x) < Fraction(2) ** top
            exponent = max(top - self.precision + 1, self.least)
        return Fraction(2) ** exponent

    def checked(self, x):
        return x if abs(x) < Fraction(2) ** self.most else math.copysign(math.inf, x)

    def nearest(self, x):
        """Ties to even, as round() of a Fraction does."""
        if isinstance(x, float):
            return x
        step = self.spacing(x)
        return self.checked(round(x / step) * step)

    def away(self, x):
        """Nearest, ties away from zero."""
        step = self.spacing(x)
        return self.checked(math.floor(abs(x) / step + Fraction(1, 2)) * step * (1 if x >= 0 else -1))

    def truncated(self, x):
        step = self.spacing(x)
        return math.trunc(x / step) * step

    def has(self, x):
        return self.nearest(x) == x


BINARY32, BINARY64 = Format(24, -149, 128), Format(53, -1074, 1024)
BFLOAT16, BINARY16, TF32 = Format(8, -133, 128), Format(11, -24, 16), Format(11, -136, 128)


def summed(terms, form=BINARY32):
    """From left to right."""
    total = Fraction(terms[0])
    for term in terms[1:]:
        if isinstance(total, float):
            return total
        total = form.nearest(total + term)
    return total


def orders(terms):
    """Some orders that give extreme sums: as written, backwards, small terms first, large terms first, and by sign."""
    ascending = sorted(terms, key=abs)
    return [list(terms), list(reversed(terms)), ascending, ascending[::-1], sorted(terms), sorted(terms, reverse=True)]


def sums(terms, form=BINARY32):
    return [summed(order, form) for order in orders(terms)]


def flushed(x, form=BINARY32):
    return Fraction(0) if abs(x) < Fraction(2) ** (form.least + form.precision - 1) else x
