"""VNN-LIB properties of version 1 to cases (docs/vnnlib.md): the region as a disjunction of boxes with rows."""
import math
import re
from fractions import Fraction

from errors import Declined, Malformed
from graph import FLOATS, RANGES
from onnx_file import read_bytes

TOKEN = re.compile(r'\s+|;[^\n]*|(\(|\)|"[^"]*"|[^\s();"]+)')
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$")


def forms_of(source):
    stack, place = [[]], 0
    while place < len(source):
        match = TOKEN.match(source, place)
        if not match or len(stack) > 500 or match.group(1) == ")" and len(stack) == 1:
            raise Malformed("vnnlib.syntax", f"offset {place}")
        place, token = match.end(), match.group(1)
        if token == "(":
            stack.append([])
        elif token == ")":
            stack[-2].append(stack.pop())
        elif token:
            stack[-1].append(token)
    if len(stack) > 1:
        raise Malformed("vnnlib.syntax", "a parenthesis is missing")
    return stack[0]


class Property:
    """`inputs`, `outputs`: lists of (name, dtype, shape) of the model."""

    def __init__(self, path, inputs, outputs):
        self.sides = [[(side, t, e) for t, (_, _, shape) in enumerate(tensors) for e in range(math.prod(shape))]
                      for side, tensors in enumerate((inputs, outputs))]
        self.names, self.literals_left, asserted = {}, 2_000_000, []
        for form in forms_of(read_bytes(path).decode("utf-8")):
            word = form[0] if isinstance(form, list) and form else None
            if word == "assert" and len(form) == 2:
                asserted.append(self.formula(form[1]))
            elif word == "declare-const" and len(form) == 3 and form[2] == "Real":
                self.declare(str(form[1]))
            elif word == "vnnlib-version":
                raise Declined("twin.vnnlib", "version 2")
            else:
                raise Malformed("vnnlib.unknown_command", str(form)[:60])
        if not asserted or len(self.names) != sum(map(len, self.sides)):
            raise Malformed("vnnlib.size_mismatch", "nothing is asserted, or other elements are declared than the model has")
        self.cases = [self.case(c) for c in self.conjunction(asserted)]
        if not self.cases:
            lo, hi, _ = self.case([row for part in asserted if len(part) == 1 for row in part[0]])
            self.cases = [(lo, hi, [({}, Fraction(-1), False)])]

    def declare(self, name):
        match = re.fullmatch(r"([XY])_(0|[1-9]\d{0,9})", name)
        elements = self.sides["XY".index(match[1])] if match else []
        if not match or name in self.names or int(match[2]) >= len(elements):
            raise Malformed("vnnlib.variable_name", name[:60])
        self.names[name] = elements[int(match[2])]

    def term(self, form):
        """A linear expression: ({variable: coefficient}, constant)."""
        if isinstance(form, str) and NUMBER.match(form) and len(form) <= 1200:
            return {}, Fraction(form)
        if isinstance(form, str) and form in self.names:
            return {self.names[form]: Fraction(1)}, Fraction(0)
        if isinstance(form, str) or len(form) < 2 or form[0] not in ("+", "-", "*"):
            raise Malformed("vnnlib.unknown_variable", str(form)[:60])
        (terms, constant), *others = [self.term(f) for f in form[1:]]
        if form[0] == "-" and not others:
            return {k: -v for k, v in terms.items()}, -constant
        for more, c in others:
            if form[0] != "*":
                sign = 1 if form[0] == "+" else -1
                terms, constant = {k: terms.get(k, 0) + sign * more.get(k, 0) for k in terms | more}, constant + sign * c
            elif terms and more:
                raise Malformed("vnnlib.polynomial")
            else:
                terms, constant = {k: v * (c if terms else constant) for k, v in (terms or more).items()}, constant * c
        return terms, constant

    def formula(self, form):
        """Disjunction of conjunctions of rows (terms, bound, strict)."""
        word = form[0] if isinstance(form, list) and form and isinstance(form[0], str) else ""
        if word == "and" and len(form) > 1:
            return self.conjunction([self.formula(f) for f in form[1:]])
        if word == "or" and len(form) > 1:
            return [c for f in form[1:] for c in self.formula(f)]
        if word not in ("<=", ">=", "<", ">", "=", "==", "!=") or len(form) != 3:
            raise Malformed("vnnlib.unknown_operator", str(form)[:60])
        (left, a), (right, b) = self.term(form[1]), self.term(form[2])
        terms = {k: left.get(k, 0) - right.get(k, 0) for k in left | right}
        terms = {k: v for k, v in terms.items() if v}
        strict = word in ("<", ">", "!=")
        below, above = (terms, b - a, strict), ({k: -v for k, v in terms.items()}, a - b, strict)
        result = [[below], [above]] if word == "!=" else [[below]] if "<" in word else [[above]] if ">" in word else [[below, above]]
        return result if terms else [[] for c in result if all(0 < bound or 0 == bound and not strict for _, bound, _ in c)]

    def conjunction(self, parts):
        result = [[]]
        for part in parts:
            self.literals_left -= len(result) * len(part)
            if self.literals_left < 0:
                raise Declined("vnnlib.too_many_cases")
            result = [a + b for a in result for b in part]
        return result

    def case(self, literals):
        lo, hi, rows = {}, {}, []
        for terms, bound, strict in literals:
            (key, factor), *more = terms.items()
            if not more and key[0] == 0:
                side, pick = (hi, min) if factor > 0 else (lo, max)
                side[key] = pick(bound / factor, side.get(key, bound / factor))
            if more or key[0] == 1 or strict:
                rows.append((terms, bound, strict))
        if any(v not in lo or v not in hi for v in self.sides[0]):
            raise Malformed("vnnlib.unbounded_input")
        return [lo[v] for v in self.sides[0]], [hi[v] for v in self.sides[0]], rows


def integer_box(lo, hi, dtype):
    """The values of the element type between lo and hi."""
    if dtype in FLOATS:
        return lo, hi
    return Fraction(max(math.ceil(lo), RANGES[dtype][0])), Fraction(min(math.floor(hi), RANGES[dtype][1]))
