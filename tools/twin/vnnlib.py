"""VNN-LIB properties to cases (docs/vnnlib.md): the region as a disjunction of boxes with rows."""
import gzip
import re
from fractions import Fraction
from math import ceil, floor

from errors import Malformed
from graph import FLOATS, RANGES, indices_of, strides_of, flat

TOKEN = re.compile(r'\s+|;[^\n]*|(\(|\)|"[^"]*"|[^\s();"]+)')
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")
COMPARISONS = ("<=", ">=", "<", ">", "=", "==", "!=")


def read_text(path):
    try:
        try:
            data = open(path, "rb").read()
        except FileNotFoundError:
            data = open(path + ".gz", "rb").read()
        return (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError, ValueError) as error:
        raise Malformed("files.open", str(error)) from None


def forms_of(source):
    stack, place = [[]], 0
    while place < len(source):
        match = TOKEN.match(source, place)
        if not match:
            raise Malformed("vnnlib.syntax", f"offset {place}")
        place, token = match.end(), match.group(1)
        if token == "(":
            if len(stack) > 500:
                raise Malformed("vnnlib.nesting")
            stack.append([])
        elif token == ")":
            if len(stack) == 1:
                raise Malformed("vnnlib.syntax", "a parenthesis too many")
            done = stack.pop()
            stack[-1].append(done)
        elif token:
            stack[-1].append(token)
    if len(stack) > 1:
        raise Malformed("vnnlib.syntax", "a parenthesis is missing")
    return stack[0]


class Property:
    """`inputs`, `outputs`: lists of (name, dtype, shape) of the model."""

    def __init__(self, source, inputs, outputs):
        self.sides = (inputs, outputs)
        self.names = {}
        self.cases_left = 20_000_000
        forms = forms_of(source)
        self.version = 1
        if forms and forms[0] and forms[0][0] == "vnnlib-version":
            self.version = 2
            if len(forms[0]) != 2 or not re.fullmatch(r"<?2\.\d+>?", str(forms[0][1])):
                raise Malformed("vnnlib.version")
            forms = forms[1:]
        asserted = []
        for form in forms:
            if not isinstance(form, list) or not form or not isinstance(form[0], str):
                raise Malformed("vnnlib.syntax", str(form)[:60])
            if form[0] == "assert" and len(form) == 2:
                asserted.append(form[1])
            elif form[0] == "declare-const" and self.version == 1:
                self.declare_1(form)
            elif form[0] == "declare-network" and self.version == 2 and not self.names:
                self.declare_2(form)
            else:
                raise Malformed("vnnlib.unknown_command", str(form[0])[:60])
        if not asserted:
            raise Malformed("vnnlib.no_assertion")
        if self.version == 1 and len(self.names) != sum(self.count(side) for side in (0, 1)):
            raise Malformed("vnnlib.size_mismatch", "the file declares other elements than the model has")
        self.cases = self.normal_form(asserted)

    def count(self, side):
        return sum(len(list(indices_of(t[2]))) for t in self.sides[side])

    def declare_1(self, form):
        match = re.fullmatch(r"([XY])_(0|[1-9]\d*)", str(form[1])) if len(form) == 3 and form[2] == "Real" else None
        if not match or form[1] in self.names:
            raise Malformed("vnnlib.variable_name", str(form[1:2]))
        side, element = "XY".index(match[1]), int(match[2])
        for tensor, (_, _, shape) in enumerate(self.sides[side]):
            size = len(list(indices_of(shape)))
            if element < size:
                self.names[form[1]] = (side, tensor, element)
                return
            element -= size
        raise Malformed("vnnlib.size_mismatch", form[1])

    def declare_2(self, form):
        declared = ([], [])
        for item in form[2:]:
            kind = {"declare-input": 0, "declare-output": 1}.get(item[0] if isinstance(item, list) and item else None)
            if kind is None or len(item) < 4:
                raise Malformed("vnnlib.unknown_command", str(item)[:60])
            words = [w for w in item[1:] if w != ":onnx"]
            onnx = words.pop().strip('"') if words[-1].startswith('"') else None
            shape = "".join(words[2:])
            if not re.fullmatch(r"\[[\d,]*\]", shape):
                raise Malformed("vnnlib.syntax", shape)
            declared[kind].append((words[0], words[1], tuple(int(d) for d in shape[1:-1].split(",") if d), onnx))
        for side in (0, 1):
            model, listed = self.sides[side], declared[side]
            if len(model) != len(listed):
                raise Malformed("vnnlib.size_mismatch")
            by_name = bool(listed) and all(d[3] for d in listed)
            for place, (name, element_type, shape, onnx) in enumerate(listed):
                tensor = [m[0] for m in model].index(onnx) if by_name and onnx in [m[0] for m in model] else place
                if by_name and model[tensor][0] != onnx or model[tensor][2] != shape:
                    raise Malformed("vnnlib.shape_mismatch", name)
                dtype = model[tensor][1]
                if element_type not in (("real", "Real") if dtype in FLOATS else (dtype, "real", "Real") if side else (dtype,)):
                    raise Malformed("vnnlib.type_mismatch", f"{name}: {element_type} for {dtype}")
                strides = strides_of(shape)
                for index in indices_of(shape):
                    self.names[name + (f"[{','.join(map(str, index))}]" if index else "")] = (side, tensor, flat(index, strides))

    def term(self, form):
        """A linear expression: ({variable: coefficient}, constant)."""
        if isinstance(form, str):
            if NUMBER.match(form):
                if len(form) > 1200 or abs(int(re.split("[eE]", form)[1])) > 400 if "e" in form.lower() else len(form) > 1200:
                    raise Malformed("vnnlib.number_too_long")
                return {}, Fraction(form)
            if form not in self.names:
                raise Malformed("vnnlib.unknown_variable", form[:60])
            return {self.names[form]: Fraction(1)}, Fraction(0)
        if len(form) < 2 or form[0] not in ("+", "-", "*"):
            raise Malformed("vnnlib.unknown_operator", str(form[:1])[:60])
        parts = [self.term(f) for f in form[1:]]
        terms, constant = parts[0]
        if form[0] == "-" and len(parts) == 1:
            return {k: -v for k, v in terms.items()}, -constant
        for more, c in parts[1:]:
            if form[0] == "*":
                if terms and more:
                    raise Malformed("vnnlib.polynomial")
                terms = {k: v * c for k, v in terms.items()} | {k: v * constant for k, v in more.items()}
                constant *= c
                continue
            sign = 1 if form[0] == "+" else -1
            terms = {k: terms.get(k, 0) + sign * more.get(k, 0) for k in terms | more}
            constant += sign * c
        return terms, constant

    def literals(self, form):
        """Disjunction of conjunctions of rows (terms, bound, strict)."""
        if not isinstance(form, list) or not form or not isinstance(form[0], str):
            raise Malformed("vnnlib.syntax", str(form)[:60])
        if form[0] == "and" and len(form) > 1:
            return self.conjunction([self.literals(f) for f in form[1:]])
        if form[0] == "or" and len(form) > 1:
            return [c for f in form[1:] for c in self.literals(f)]
        if form[0] not in COMPARISONS:
            raise Malformed("vnnlib.unknown_operator", form[0][:60])
        if len(form) != 3:
            raise Malformed("vnnlib.arity", form[0])
        (left, a), (right, b) = self.term(form[1]), self.term(form[2])
        terms = {k: left.get(k, 0) - right.get(k, 0) for k in left | right}
        terms = {k: v for k, v in terms.items() if v}
        below, above = (terms, b - a), ({k: -v for k, v in terms.items()}, a - b)
        rows = {"<=": [[below + (False,)]], ">=": [[above + (False,)]], "<": [[below + (True,)]], ">": [[above + (True,)]],
                "!=": [[below + (True,)], [above + (True,)]]}.get(form[0], [[below + (False,), above + (False,)]])
        if terms:
            return rows
        return [[] for c in rows if all(0 < bound or 0 == bound and not strict for _, bound, strict in c)]

    def conjunction(self, parts):
        result = [[]]
        for part in parts:
            self.cases_left -= len(result) * len(part)
            if self.cases_left < 0:
                raise Malformed("vnnlib.too_many_cases")
            result = [a + b for a in result for b in part]
        return result

    def normal_form(self, asserted):
        parts = [self.literals(f) for f in asserted]
        cases = [self.case(c) for c in self.conjunction(parts)]
        if not cases:
            common = [part[0] for part in parts if len(part) == 1]
            lo, hi, _ = self.case([row for rows in common for row in rows])
            cases = [(lo, hi, [({}, Fraction(-1), False)])]
        return cases

    def case(self, literals):
        variables = [(0, t, e) for t, (_, _, shape) in enumerate(self.sides[0]) for e in range(len(list(indices_of(shape))))]
        lo, hi, rows = {}, {}, []
        for terms, bound, strict in literals:
            (key, factor), *more = terms.items()
            if not more and key[0] == 0:
                limit = bound / factor
                if factor > 0:
                    hi[key] = min(limit, hi.get(key, limit))
                else:
                    lo[key] = max(limit, lo.get(key, limit))
            if more or key[0] == 1 or strict:
                rows.append((terms, bound, strict))
        if any(v not in lo or v not in hi for v in variables):
            raise Malformed("vnnlib.unbounded_input")
        return [lo[v] for v in variables], [hi[v] for v in variables], rows


def integer_box(lo, hi, dtype):
    """The values of the element type between lo and hi."""
    if dtype in FLOATS:
        return lo, hi
    least, greatest = RANGES[dtype]
    return Fraction(max(ceil(lo), least)), Fraction(min(floor(hi), greatest))
