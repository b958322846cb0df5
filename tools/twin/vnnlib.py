"""VNN-LIB properties to cases (docs/reference/vnnlib.md): the region as a disjunction of boxes with rows."""
import json
import re
from fractions import Fraction

from graph import FLOATS, Node, indices_of
from wire import Declined, Malformed, read_bytes, require

# SMT-LIB's white space and comments. What other readers take apart differently is no token: |symbols|, \ and "" in quotes, other bytes.
WORD, BLANK = r"[!#-'*+\-.-:<-Z\\^-{}~]+", " \t\r\n"
TOKEN = re.compile(rf'[{BLANK}]+|;[^\r\n]*|([()]|"[^"\\\r\n]*"(?!")|(?:{WORD})?\[[ \t\r\n0-9,]*\]|{WORD})|.', re.DOTALL)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$")
VERSION_2 = re.compile(r"<?2\.\d+>?")
COMPARISONS = ("<=", ">=", "<", ">", "=", "==", "!=")


def forms_of(source):
    """The lists that parentheses make, of words: JSON with other brackets."""
    tokens = [token[1] or token[0] for token in TOKEN.finditer(source) if token[0][0] not in ";" + BLANK]
    require(all(TOKEN.fullmatch(token)[1] for token in tokens), Malformed, "vnnlib.syntax", "characters that are no token")
    joined = (token if token[0] == '"' else re.sub(rf"[{BLANK}]*([\[\],])[{BLANK}]*", r"\1", token) for token in tokens)
    text = "".join({"(": "[", ")": "],"}.get(token) or json.dumps(token) + "," for token in joined)
    return json.loads(f"[{text}]".replace(",]", "]"))


class Property:
    """`inputs`, `outputs`: lists of (name, dtype, shape) of the model."""

    def __init__(self, path, inputs, outputs):
        self.sides, self.names, self.literals_left, self.places, self.products, asserted = (inputs, outputs), {}, 2_000_000, {}, {}, []
        self.elements = [[(side, t, e) for t, (_, _, shape) in enumerate(tensors) for e, _ in enumerate(indices_of(shape))]
                         for side, tensors in enumerate(self.sides)]
        old = {f"{letter}_{i}": variable for letter, elements in zip("XY", self.elements) for i, variable in enumerate(elements)}
        forms = forms_of(read_bytes(path).decode("latin-1"))
        new = forms and forms[0][:1] == ["vnnlib-version"]
        if new:
            require(VERSION_2.fullmatch(forms[0][1]) and len(forms) > 1, Malformed, "vnnlib.version", str(forms[0]))
            self.declare_network(*forms[1])
        for word, *form in forms[2 if new else 0:]:
            if word == "declare-const" and not new:
                require(form[0] in old and form[1:] == ["Real"], Malformed, "vnnlib.variable_name", str(form)[:60])
                self.name(form[0], old[form[0]])
            else:
                require(word == "assert" and len(form) == 1, Malformed, "vnnlib.unknown_command", str(word)[:60])
                asserted += [self.formula(f) for f in self.conjuncts(form[0])]
        whole = asserted and len(self.names) == sum(map(len, self.elements))
        require(whole, Malformed, "vnnlib.size_mismatch", "nothing is asserted, or other elements are declared than the model has")
        self.cases = [self.case(c) for c in self.conjunction(asserted)]
        if not self.cases:
            lo, hi, _ = self.case([row for part in asserted if len(part) == 1 for row in part[0]])
            self.cases = [(lo, hi, [({}, Fraction(-1), False)])]

    def name(self, name, variable):
        require(name not in self.names, Malformed, "vnnlib.duplicate_declaration", name)
        self.names[name] = variable

    def declare_network(self, word, _, *tensors):
        require(word == "declare-network", Malformed, "vnnlib.network_missing")
        places = ([], [])
        for form in tensors:
            require(form[0] in ("declare-input", "declare-output"), Declined, "vnnlib.unknown_command", str(form)[:60])
            side, (name, kind, extents), onnx = form[0] == "declare-output", form[1:4], form[4:]
            require(not onnx or onnx[:-1] in ([], [":onnx"]) and onnx[-1][0] == '"', Declined, "vnnlib.syntax", str(form))
            names = [tensor[0].decode("latin-1") for tensor in self.sides[side]]
            places[side].append((names.index(onnx[-1][1:-1]) if onnx else len(places[side]), bool(onnx)))
            tensor = places[side][-1][0]
            _, dtype, shape = self.sides[side][tensor]
            require(extents == str(list(shape)).replace(" ", ""), Malformed, "vnnlib.shape_mismatch", extents)
            exact = kind in ("real", "Real") and (side or dtype in FLOATS)
            require(exact or kind == dtype, Malformed, "vnnlib.type_mismatch", kind)
            require(exact or dtype not in FLOATS, Declined, "vnnlib.semantics", f"float executions of {kind}")
            for element, index in enumerate(indices_of(shape)):
                self.name(name + (f"[{','.join(map(str, index))}]" if shape else ""), (int(side), tensor, element))
        require(all(len({named for _, named in p}) < 2 and sorted(t for t, _ in p) == list(range(len(self.sides[side]))) for side, p in enumerate(places)),
                Malformed, "vnnlib.onnx_name")

    def term(self, form):
        """A polynomial: ({factors, ascending: coefficient}, constant)."""
        if isinstance(form, str) and NUMBER.match(form) and len(form) <= 1200:
            return {}, Fraction(form)
        if isinstance(form, str) and form in self.names:
            return {(self.names[form],): Fraction(1)}, Fraction(0)
        require(isinstance(form, list) and len(form) > 1 and form[0] in ("+", "-", "*"), Malformed, "vnnlib.unknown_variable", str(form)[:60])
        (terms, constant), *others = [self.term(f) for f in form[1:]]
        if form[0] == "-" and not others:
            return {k: -v for k, v in terms.items()}, -constant
        for more, c in others:
            if form[0] == "*":
                left, right, terms = [*terms.items(), ((), constant)], [*more.items(), ((), c)], {}
                for key, value in ((tuple(sorted(a + b)), v * w) for a, v in left for b, w in right):
                    terms[key] = terms.get(key, 0) + value
                constant = terms.pop(())
                terms = {k: v for k, v in terms.items() if v}
                require(all(len(k) <= 32 for k in terms), Declined, "vnnlib.polynomial_degree")
            else:
                sign = 1 if form[0] == "+" else -1
                terms, constant = {k: terms.get(k, 0) + sign * more.get(k, 0) for k in terms | more}, constant + sign * c
        return terms, constant

    def conjuncts(self, form):
        if isinstance(form, list) and form[:1] == ["and"] and len(form) > 1:
            return [one for f in form[1:] for one in self.conjuncts(f)]
        return [form]

    def formula(self, form):
        """Disjunction of conjunctions of rows (terms, bound, strict)."""
        word = form[0] if isinstance(form, list) and form and isinstance(form[0], str) else ""
        if word in ("and", "or") and len(form) > 1:
            parts = [self.formula(f) for f in (self.conjuncts(form) if word == "and" else form[1:])]
            return self.conjunction(parts) if word == "and" else [c for part in parts for c in part]
        require(word in COMPARISONS and len(form) == 3, Malformed, "vnnlib.unknown_operator", str(form)[:60])
        (left, a), (right, b) = self.term(form[1]), self.term(form[2])
        terms = {k: left.get(k, 0) - right.get(k, 0) for k in left | right}
        terms = {self.place(k): terms[k] for k in sorted(terms, key=lambda k: (len(k), k)) if terms[k]}
        strict = word in ("<", ">", "!=")
        below, above = (terms, b - a, strict), ({k: -v for k, v in terms.items()}, a - b, strict)
        result = [[below], [above]] if word == "!=" else [[below]] if "<" in word else [[above]] if ">" in word else [[below, above]]
        return result if terms else [[] for c in result if all(0 < bound or 0 == bound and not strict for _, bound, _ in c)]

    def place(self, factors):
        """Of a product: the element of a further output that it is."""
        if len(factors) == 1:
            return factors[0]
        if factors not in self.places:
            types = {self.sides[side][tensor][1] for side, tensor, _ in factors}
            require(len(types) == 1 and types < set(FLOATS), Declined, "vnnlib.polynomial", f"factors of types {types}")
            square = factors[::2] == factors[1::2]
            operands = self.place(factors[::2] if square else factors[:-1]), None if square else factors[-1]
            group = self.products.setdefault((len(factors), square), [])
            group.append(operands)
            self.places[factors] = 1, len(self.sides[1]) + list(self.products).index((len(factors), square)), len(group) - 1
        return self.places[factors]

    def extend(self, model):
        """The products become nodes and outputs of the model."""
        def append(op, operands, attributes, shape):
            node = Node(op, operands, attributes, model.nodes[operands[0]].dtype, shape, number=len(model.nodes))
            model.nodes.append(node)
            for operand in operands:
                model.nodes[operand].users.append(node.number)
            return node.number

        def gathered(places):
            starts, flat, end = {(model.inputs, outputs)[side][tensor]: 0 for side, tensor, _ in places}, [], 0
            for number in sorted(starts):
                size = model.nodes[number].size
                starts[number], end = end, end + size
                flat.append(append("reshape", [number], {"shape": [size]}, (size,)))
            joined = flat[0] if len(flat) == 1 else append("concat", flat, {"axis": 0}, (end,))
            indices = [starts[(model.inputs, outputs)[side][tensor]] + element for side, tensor, element in places]
            return append("gather", [joined], {"axis": 0, "indices": indices, "index_shape": [len(places)]}, (len(places),))

        groups, own = list(self.products), len(model.outputs)
        outputs = [*model.outputs] + [None] * len(groups)
        for key in sorted(groups, key=lambda key: key[0]):
            left, right = ([one[k] for one in self.products[key]] for k in (0, 1))
            left = gathered(left)
            outputs[own + groups.index(key)] = append("mul", [left, left if key[1] else gathered(right)], {}, (len(self.products[key]),))
        model.outputs = outputs

    def conjunction(self, parts):
        """What holds whatever is chosen comes first."""
        result = [[]]
        for part in sorted(parts, key=lambda part: len(part) != 1):
            self.literals_left -= len(result) * len(part)
            require(self.literals_left >= 0, Declined, "vnnlib.too_many_cases")
            result = [a + b for a in result for b in part]
        return result

    def case(self, literals):
        lo, hi, rows = {}, {}, []
        for terms, bound, strict in literals:
            (key, factor), *more = terms.items()
            bounds_input = not more and key[0] == 0
            if bounds_input:
                side, pick = (hi, min) if factor > 0 else (lo, max)
                side[key] = pick(bound / factor, side.get(key, bound / factor))
            if strict or not bounds_input:
                rows.append((terms, bound, strict))
        require(all(v in lo and v in hi for v in self.elements[0]), Malformed, "vnnlib.unbounded_input")
        return [lo[v] for v in self.elements[0]], [hi[v] for v in self.elements[0]], rows
