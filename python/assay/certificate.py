"""Writes certificates, for tools that find proofs of their own: the bytes of certificates/FORMAT.md.

    from assay import certificate as c

    proof = [c.begin_group(), c.boxes(), c.conclude(), c.end_group()]
    c.write("proof.assay", assay.statement("model.onnx", "property.vnnlib"), proof)

A function of this module makes the bytes of one record, and has the name that the record has in the format. `RECORDS` lists them.
Bytes of records are joined by `+` or stand in a list one after the other. Nothing here is trusted: a certificate says nothing until
`assay.check` or `assay-check` accepts it, and a mistake in a writer can only be refused.
"""
from __future__ import annotations

import fractions
import math
import struct
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence, Union

from assay._core import arguments
from assay.errors import wrong

Values = Union[Sequence[float], bytes, Any]  # numbers, arrays of NumPy, or what `array` returns

# The records by their names, each with its type byte.
RECORDS = {"begin_group": 1, "end_group": 2, "sweep": 3, "box": 4, "tighten": 5, "define_hints": 6, "conclude": 7, "conclude_with": 8,
           "empty": 9, "split_zero": 10, "split_f32": 11, "split_f64": 12, "next": 13, "done": 14, "witness": 15, "tighten_by_cases": 16,
           "cut": 17, "boxes": 18}
__all__ = ["Hints", "RECORDS", "array", "crc32c", "encode", "leaf", "outward", "varint", "write", *RECORDS]
_FRAME, _U32, _U64 = 65536, 2**32 - 1, 2**64 - 1


def _crc_of_byte(value: int) -> int:
    for _ in range(8):
        value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value


_CRC = [_crc_of_byte(byte) for byte in range(256)]


class Hints(NamedTuple):
    """Choices for a back-substitution. Whatever is left out is the checker's choice (slopes) or 0 (multipliers).

    Attributes:
        lower: Slopes of the lower lines: by node, one value for each element.
        upper: Slopes of the upper lines.
        beta: A multiplier of at least 0 for each open split, the outermost first.
        cuts: A multiplier of at least 0 for each cut in force, in the order of their records.
    """

    lower: Optional[Mapping[int, Values]] = None
    upper: Optional[Mapping[int, Values]] = None
    beta: Optional[Values] = None
    cuts: Optional[Values] = None


def crc32c(data: bytes) -> int:
    """Returns the checksum CRC-32C of bytes."""
    value = _U32
    for byte in data:
        value = value >> 8 ^ _CRC[(value ^ byte) & 255]
    return value ^ _U32


def varint(value: int, most: int = _U64) -> bytes:
    """Encodes a whole number in the shortest form, 7 bits per byte."""
    value, out = arguments.whole("varint", value, 0, most), bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def array(values: Values, base: Optional[tuple[int, Values]] = None) -> bytes:
    """Encodes one value for each element, row-major, in the shortest form that has these values.

    Args:
        values: Numbers, which are rounded to float32. Bytes are an array that is encoded already.
        base: Of a change to named hints: their id and the values of the same array there. Only the elements that differ are listed.
    """
    return _array("values", values, base)


def outward(lower: Values, upper: Values) -> tuple[list[float], list[float]]:
    """Rounds lower bounds down and upper bounds up to float32, as the claims of `tighten` have to be."""
    return ([_float_below("lower", one) for one in _flat("lower", lower)], [0.0 - _float_below("upper", -one) for one in _flat("upper", upper)])


def _array(where: str, values: Values, base: Optional[tuple[int, Values]] = None, least: float = -math.inf) -> bytes:
    if isinstance(values, bytes):
        return values
    numbers = _floats(where, values, least=least)
    if not numbers:
        return varint(0)
    forms = [b"\x03" + struct.pack(f"<{len(numbers)}f", *numbers)]
    in_bytes = [128 * value for value in numbers]
    is_plain = all(math.copysign(1, value) > 0 for value in numbers)  # the short kinds have no -0
    if len(set(numbers)) == 1 and (is_plain or numbers[0] != 0):
        forms.append(b"\x00" + struct.pack("<f", numbers[0]))
    if is_plain and set(numbers) <= {0.0, 1.0}:
        bits = sum(1 << i for i, value in enumerate(numbers) if value)
        forms.append(b"\x01" + bits.to_bytes((len(numbers) + 7) // 8, "little"))
    if is_plain and all(value <= 255 and value == int(value) for value in in_bytes):
        forms.append(b"\x02" + bytes(int(value) for value in in_bytes))
    start = [0.0] * len(numbers) if base is None else _floats("base", base[1])
    if len(start) != len(numbers):
        raise wrong("base", f"{len(numbers)} values, as many as the array has", len(start))
    listed = [i for i, value in enumerate(numbers) if struct.pack("<f", value) != struct.pack("<f", start[i])]
    head = (varint(0) if base is None else varint(1 + base[0])) + varint(len(listed))
    gaps = [varint(i - before - 1) for before, i in zip([-1, *listed], listed)]
    forms.append(b"\x05" + head + b"".join(gap + struct.pack("<f", numbers[i]) for gap, i in zip(gaps, listed)))
    if all(0 <= in_bytes[i] <= 255 and in_bytes[i] == int(in_bytes[i]) and math.copysign(1, numbers[i]) > 0 for i in listed):
        forms.append(b"\x04" + head + b"".join(gap + bytes([int(in_bytes[i])]) for gap, i in zip(gaps, listed)))
    return varint(len(numbers)) + min(forms, key=len)


def begin_group(group: int = 0) -> bytes:
    """Starts at the root of a group: the cases of the property that share an input box."""
    return b"\x01" + varint(group)


def end_group() -> bytes:
    """Ends the group. All of its cases have to be refuted."""
    return b"\x02"


def sweep(first: int = 0, *, rounded: bool = False) -> bytes:
    """Derives a box of every node from `first` on, and tightens those that a non-linear operation reads."""
    return b"\x03" + bytes([bool(rounded)]) + _node(first)


def boxes(first: int = 0) -> bytes:
    """Derives a box of every node from `first` on, by intervals alone."""
    return b"\x12" + _node(first)


def box(node: int) -> bytes:
    """Derives the box of one node from those of its operands."""
    return b"\x04" + _node(node)


def tighten(node: int, hints: Hints = Hints(), *, select: Union[str, Values] = "unstable", rounded: bool = False,
            claims: Optional[tuple[Values, Values]] = None) -> bytes:
    """Bounds elements of a node by back-substitution.

    Args:
        node: The node.
        hints: Slopes and multipliers.
        select: "unstable", "all", or a mask with one value for each element: those where it is not 0.
        rounded: Whether derived bounds are rounded outward to float32.
        claims: The lower and the upper bounds to take, float32 numbers, one for each selected element; `outward` makes them.
    """
    flags, mask = _selection(select, rounded)
    data = b""
    if claims is not None:
        lower, upper = (_floats(f"claims[{k}]", ends, exact=True) for k, ends in enumerate(claims))
        if len(lower) != len(upper):
            raise wrong("claims", "as many lower as upper bounds", f"{len(lower)} and {len(upper)}")
        data, flags = varint(len(lower)) + struct.pack(f"<{2 * len(lower)}f", *lower, *upper), flags | 32
    own, fields = _hints(hints)
    return b"\x05" + _node(node) + bytes([flags | own]) + mask + fields + data


def define_hints(number: int, hints: Hints) -> bytes:
    """Names hints for this branch and the branches inside it; the number is greater than those in force."""
    flags, fields = _hints(hints)
    return b"\x06" + varint(number, _U32) + bytes([flags]) + fields


def conclude(cases: Union[int, Mapping[int, Optional[Values]]] = 1, hints: Hints = Hints()) -> bytes:
    """Refutes cases of the group in this branch.

    Args:
        cases: How many, from the first one on. Or by position in the group the multipliers of the rows: one for each row of a case
            with several, None for a case with one row.
        hints: Slopes and multipliers.
    """
    flags, fields = _hints(hints)
    return b"\x07" + _cases(cases) + bytes([flags]) + fields


def conclude_with(number: int, beta: Values = (), cases: Union[int, Mapping[int, Optional[Values]]] = 1) -> bytes:
    """Refutes cases as `conclude` does, by the hints that `define_hints` named so, with another beta."""
    return b"\x08" + _cases(cases) + varint(number, _U32) + _array("beta", beta, least=0)


def empty() -> bytes:
    """Refutes all cases, in a branch in which a derived box is empty."""
    return b"\x09"


def split_zero(node: int, element: int) -> bytes:
    """Splits at 0, and begins the branch of the values up to it. A box of a later node is not derived again by itself."""
    return b"\x0a" + _node(node) + _node(element)


def split_f32(node: int, element: int, threshold: float) -> bytes:
    """Splits at a number that is a float32. For another one write `split_f64`, or round it first and split there."""
    return b"\x0b" + _node(node) + _node(element) + struct.pack("<f", *_floats("threshold", [threshold], exact=True, advice="write split_f64, or round it and split there"))


def split_f64(node: int, element: int, threshold: float) -> bytes:
    """Splits at a finite number."""
    return b"\x0c" + _node(node) + _node(element) + struct.pack("<d", float(arguments.exact("threshold", threshold)))


def next() -> bytes:
    """Ends the branch of the values up to the threshold of the innermost split, and begins the branch of those from it on."""
    return b"\x0d"


def done() -> bytes:
    """Ends that branch, and with it the split."""
    return b"\x0e"


def witness(case: int, point: Values) -> bytes:
    """States a point at which a case holds, and is a whole proof without groups.

    Args:
        case: Its number among all cases of the property.
        point: One number for each element of all inputs, exactly: floats are the numbers that they are, texts such as "0.1" or "3/8".
    """
    texts = [str(number).encode() for number in _flat("point", point)]
    return b"\x0f" + varint(case, _U32) + varint(len(texts)) + b"".join(varint(len(text)) + text for text in texts)


def leaf(hints: Hints = Hints()) -> bytes:
    """Returns a leaf of a tree for `tighten_by_cases` and `cut`: a tree is a leaf, or the bytes of a split and of its two trees."""
    flags, fields = _hints(hints)
    return bytes([0, flags]) + fields


def tighten_by_cases(node: int, tree: bytes, *, select: Union[str, Values] = "unstable", rounded: bool = False) -> bytes:
    """Tightens in each leaf of a tree of splits, and keeps what holds in all of them."""
    flags, mask = _selection(select, rounded)
    return b"\x10" + _node(node) + bytes([flags]) + mask + tree


def cut(terms: Iterable[tuple[int, int, float]], tree: bytes) -> bytes:
    """Derives a lower bound of a sum of terms (node, element, coefficient) by a tree of splits."""
    listed = [_node(node) + _node(element) + struct.pack("<f", *_floats("the coefficient of a term", [number])) for node, element, number in terms]
    return b"\x11" + varint(len(listed)) + b"".join(listed) + tree


def encode(statement: Any, records: Union[bytes, Iterable[bytes]], semantics: str = "") -> bytes:
    """Returns the bytes of a certificate.

    Args:
        statement: What `assay.statement` returns, or the statement digest in hexadecimal digits.
        records: Bytes of whole records, each piece one or several; a piece never crosses a frame.
        semantics: The name in the header; without it that of the statement, or "real arithmetic".
    """
    digest = statement if isinstance(statement, str) else getattr(statement, "digests", {}).get("statement", "")
    if len(digest) != 64 or set(digest) - set("0123456789abcdef"):
        raise wrong("statement", "what assay.statement returns, or its digest of 64 hexadecimal digits", statement)
    name = (semantics or getattr(statement, "semantics", "real arithmetic")).encode()[:255]
    return _checked(b"ASSAY\x01" + bytes.fromhex(digest) + bytes([len(name)]) + name) + b"".join(_frames(records))


def write(path: Any, statement: Any, records: Union[bytes, Iterable[bytes]], semantics: str = "") -> None:
    """Writes a certificate to a file; the arguments are those of `encode`."""
    data = encode(statement, records, semantics)
    with open(arguments.path("path", path), "wb") as file:
        file.write(data)


def _frames(records: Union[bytes, Iterable[bytes]]) -> Iterator[bytes]:
    payloads = [b""]
    for record in [records] if isinstance(records, bytes) else records:
        if not isinstance(record, bytes):
            raise wrong("records", "bytes of records", record)
        if payloads[-1] and len(payloads[-1]) + len(record) > _FRAME:
            payloads.append(b"")
        payloads[-1] += record
    yield from (_checked(b"\x01" + varint(len(payload)) + payload) for payload in payloads)
    count = varint(len(payloads))
    yield _checked(b"\x02" + varint(len(count)) + count)


def _checked(data: bytes) -> bytes:
    return data + struct.pack("<I", crc32c(data))


def _node(number: int) -> bytes:
    return varint(number, _U32)


def _flat(where: str, values: Any) -> list[fractions.Fraction]:
    return arguments.flat(where, values)[0]


_OUTWARD = "round lower bounds down and upper bounds up, for example by assay.certificate.outward(lower, upper)"
_ABSOLUTE = "write absolute values: the checker chooses the sign of each term by the half of the split"


def _floats(where: str, values: Any, exact: bool = False, least: float = -math.inf, advice: str = _OUTWARD) -> list[float]:
    """The nearest float32 of each number, none below `least`; with `exact` the numbers have to be these."""
    numbers = arguments.plain(where, values)
    if not isinstance(numbers, (list, tuple)) or not all(type(one) in (int, float) for one in numbers):
        numbers = [float(one) for one in _flat(where, values)]
    try:
        near = list(struct.unpack(f"<{len(numbers)}f", struct.pack(f"<{len(numbers)}f", *numbers)))
    except OverflowError:
        near = [_nearest(one) for one in numbers]
    for k, (number, one) in enumerate(zip(numbers, near)):
        if not math.isfinite(one):
            raise wrong(f"{where}, number {k}", "a finite number within float32", number)
        if one < least:
            raise wrong(f"{where}, number {k}", f"a number of at least {least:g}", number, _ABSOLUTE if where == "beta" else "")
        if exact and one != number:
            raise wrong(f"{where}, number {k}", "a number that is a float32", number, advice)
    return near


def _nearest(number: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)


def _float_below(where: str, number: fractions.Fraction) -> float:
    """The greatest float32 that is at most the number."""
    near = _nearest(float(number))
    if math.isinf(near):
        raise wrong(where, "numbers within float32", number)
    if fractions.Fraction(near) <= number:
        return near
    bits = struct.unpack("<i", struct.pack("<f", near))[0]
    below = -0x7FFFFFFF if near == 0 else bits - 1 if near > 0 else bits + 1
    return float(struct.unpack("<f", struct.pack("<i", below))[0])


def _selection(select: Any, rounded: bool) -> tuple[int, bytes]:
    kind = {"unstable": 0, "all": 1}.get(select, -1) if isinstance(select, str) else 2
    if kind < 0:
        raise wrong("select", "'unstable', 'all' or a mask", select)
    return kind << 3 | (64 if rounded else 0), array([float(bool(one)) for one in _flat("select", select)]) if kind == 2 else b""


def _hints(hints: Hints) -> tuple[int, bytes]:
    flags, data = 0, b""
    for bit, name, slopes in ((1, "lower", hints.lower), (2, "upper", hints.upper)):
        if slopes is not None:
            flags |= bit
            data += varint(len(slopes)) + b"".join(_node(node) + _array(f"{name}[{node}]", slopes[node]) for node in sorted(slopes))
    for bit, name, values in ((4, "beta", hints.beta), (128, "cuts", hints.cuts)):
        if values is not None:
            flags |= bit
            data += _array(name, values, least=0)
    return flags, data


def _cases(cases: Union[int, Mapping[int, Optional[Values]]]) -> bytes:
    if not isinstance(cases, Mapping):
        return varint(2 * arguments.whole("cases", cases, 0, 2**20) + 1)
    entries = [varint(2 * position) if rows is None else varint(2 * position + 1) + _array(f"cases[{position}]", rows, least=0) for position, rows in cases.items()]
    return varint(2 * len(entries)) + b"".join(entries)
