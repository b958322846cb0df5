"""Probes of an expression: operands borrowed from an operation, or drawn in given shapes."""
from __future__ import annotations

import dataclasses
import inspect
import math
from typing import Any, Callable, Iterator, Mapping, Sequence

from assay import ops
from assay._core.arrays import Bits, UnsupportedArray
from assay.errors import UsageError, wrong
from ._plans import Probe, has_attributes, in_other_layouts, planned, row_named
from ._sizes import MISFITS, ONLY_GIVEN, Shapes, around, is_long, takes

_HALVES = {"float16": (-24, 15, 65504.0), "bfloat16": (-133, 127, 3.3895313892515355e38), "float32": (-149, 127, 3.4028234663852886e38),
           "float64": (-1074, 1023, 1.7976931348623157e308)}
_FAR_BELOW = -1e4
_EXPONENTIALS = ("exp", "softmax", "log_softmax", "log_sum_exp", "masked_softmax")
_LONG, _BROAD = {"dense": 1, "sparse": 2}, {"integers": 1, "dense": 1}  # of shapes that were made
_DRAWS = {"integers": 6, "dense": 8, "one hot": 6, "shifted": 2, "ties": 4, "range": 4, "special values": 4, "sparse": 4}


def probes_of(reference: Callable[..., Any], like: Any, attributes: Mapping[str, Any] | None, dtype: str, seed: int, blocks: bool,
              strided: bool, kernel: frozenset[str] | None = None) -> tuple[list[Probe], str]:
    """The plan of `like`, and for given shapes which sizes it has. Each probe has the expression that the reference writes on its operands. `kernel`: the
    attributes that the kernel takes, where that is known.

    Probes that the reference does not take are left out.
    """
    name = str(getattr(reference, "__name__", "expression"))
    tried = ""
    if isinstance(like, str):
        borrowed = planned(row_named(like), attributes, frozenset(), dtype, seed, blocks, strided)
    elif _are_shapes(like):
        given, words, random = [tuple(one) for one in like], dict(attributes or {}), generator(seed)
        if kernel is not None and (lost := sorted(set(map(str, words)) - _taken(reference) - kernel)):
            raise UsageError("unknown attribute", where="attributes", why=f"neither the reference nor the kernel has a parameter '{lost[0]}'", advice="correct the name, or leave it out")
        own = {key: value for key, value in words.items() if key in _taken(reference)}
        absent = _absent(reference, given, dtype, own)
        borrowed = _drawn(name, given, words, dtype, random, _DRAWS, absent)
        borrowed += list(in_other_layouts(borrowed)) if strided else []
        tried = ONLY_GIVEN
        if blocks:
            made = around(given, takes(reference, Bits(dtype, (0,), b"").widened().dtype, own))
            borrowed += [dataclasses.replace(one, made=True) for shapes in made.shapes
                         for one in _drawn(name, shapes, words, dtype, random, _LONG if is_long(shapes) else _BROAD, absent)]
            tried = made.text
    else:
        raise wrong("like", "the operation or region whose probes the expression takes, such as 'softmax', or a shape for each operand", like)
    return _with_expressions(borrowed, reference, name), tried


def on_plan(reference: Callable[..., Any], plan: Sequence[Probe], attributes: Mapping[str, Any] | None) -> tuple[list[Probe], str]:
    """The operands of a plan, each with the expression that the reference writes on them."""
    if attributes and (other := next((one for one in plan if not has_attributes(one, attributes)), None)) is not None:
        raise UsageError("attributes= differs from plan=", where="attributes", why=f"the attributes of a probe are {other.arguments()}",
                         advice="give attributes= to assay.testing.probes, which makes the plan", code="python.argument")
    return _with_expressions(plan, reference, str(getattr(reference, "__name__", "expression"))), ""


def _with_expressions(borrowed: Sequence[Probe], reference: Callable[..., Any], name: str) -> list[Probe]:
    """Of the probes those that the reference takes."""
    found, why = list[Probe](), ""
    for probe in borrowed:
        try:
            found.append(with_expression(probe, reference, name))
        except MISFITS as reason:
            why = why or f"{probe.name}: {reason}"
    advice = "give like= another operation, or a list of shapes, one for each operand"
    if not found:
        raise UsageError("no probe fits the reference function", where=name, why=why, advice=advice)
    if not any(math.prod(shape) for probe in found for _, shape in probe.results):
        raise UsageError("no probe has a result with elements", where=name, why="so nothing would be judged", advice=advice)
    return found


def _absent(reference: Callable[..., Any], given: Shapes, dtype: str, words: Mapping[str, Any]) -> tuple[float, ...]:
    """Numbers that the first operand may have in place of a term of a sum: 0, and one whose exp is 0. Factors of a product whose exp is taken are 0 alone: other
    scores would be sums of large terms that cancel, of which the contract says nothing."""
    try:
        nodes = ops.traced(lambda *operands: reference(*operands, **words), [(Bits(dtype, (0,), b"").widened().dtype, shape) for shape in given])[0].nodes
    except MISFITS:
        return 0.0, _FAR_BELOW
    reached, scores = {("operand", 0)}, set[tuple[str, int]]()
    for key, node in ((("node", i), one) for i, one in enumerate(nodes)):
        used = {*node.get("operands", ())}
        if used & scores and node["op"] in _EXPONENTIALS:
            return 0.0, 0.0
        if used & (reached | scores) and node["op"] not in _EXPONENTIALS:
            (scores if used & scores or node["op"] in ("matmul", "gemm", "conv") else reached).add(key)
    return 0.0, _FAR_BELOW


def _are_shapes(like: Any) -> bool:
    return isinstance(like, Sequence) and bool(like) and all(
        isinstance(one, Sequence) and all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in one) for one in like)


def _taken(reference: Callable[..., Any]) -> set[str]:
    """The names of its parameters."""
    parameters = inspect.signature(reference).parameters.values()
    return {one.name for one in parameters if one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD)}


def with_expression(probe: Probe, reference: Callable[..., Any], name: str) -> Probe:
    """The probe with the expression that a reference writes on its operands."""
    taken = _taken(reference)
    words = {key: value for key, value in probe.arguments().items() if key in taken}
    expression, values = ops.traced(lambda *operands: reference(*operands, **words), [(one.widened().dtype, one.shape) for one in probe.operands])
    if not expression.nodes:
        raise UnsupportedArray(f"{name} computes nothing: it returns an operand as it is")
    nodes, outputs = expression.region(values)
    half = next((one.dtype for one in probe.operands if one.dtype in ("float16", "bfloat16")), "float32")
    results = [(half if one.dtype == "float32" else one.dtype, one.shape) for one in values]
    return dataclasses.replace(probe, op=name, name=f"{name}, like {probe.name}", nodes=nodes, outputs=outputs, results=results,
                               captured=tuple(expression.captured), pinned=probe.pinned | (frozenset(probe.attributes) - taken))


def generator(seed: int) -> Any:
    """Random numbers from the seed."""
    import numpy as np

    return np.random.default_rng(seed)


def _drawn(name: str, shapes: Shapes, attributes: Mapping[str, Any], dtype: str, random: Any, kinds: Mapping[str, int], absent: tuple[float, ...]) -> list[Probe]:
    named = ", ".join(dict.fromkeys("x".join(map(str, shape)) or "scalars" for shape in shapes))
    return [Probe(f"{named}: {kind} {dtype}", name, attributes, [bits_in(dtype, one) for one in _values(kind, shapes, dtype, random, absent)], [], [], [],
                  pinned=frozenset(attributes)) for kind, draws in kinds.items() for _ in range(draws)]


def _values(kind: str, shapes: Sequence[tuple[int, ...]], dtype: str, random: Any, absent: tuple[float, ...]) -> Iterator[Any]:
    """As the program draws (docs/reference/probes.md): one array of float64 for each operand."""
    import numpy as np

    low, high, largest = _HALVES[dtype]
    special = np.array([0.0, -0.0, 1, -2.5, np.inf, -np.inf, np.nan, 2.0**low, largest, -largest, 0.5, 1.5, 11, 88.5, -17.5, -104.5, 1e-4, -9.5])
    for position, shape in enumerate(shapes):
        values = random.integers(-3, 4, shape) + 0.37 * random.normal(size=shape)
        if kind == "integers":
            values = random.integers(-3, 4, shape).astype(float)
        elif kind == "sparse" and position == 0:  # about 16 terms of a sum that say something, beside 0, or beside numbers whose exp is 0
            values = np.where(random.random(shape) * max(shape[-1:], default=1) < 16, values, random.choice(absent))
        elif kind == "one hot" and position == 0 and values.size:
            values = np.zeros(shape)
            values.reshape(-1)[random.integers(values.size)] = random.choice([-1, 1]) * (1 + abs(random.normal()))
        elif kind == "shifted" and position == 0:
            values = values + random.choice([300, -300])
        elif kind == "ties":
            values = random.choice([-1.0, -0.0, 0.0, 1.0, 1.0, 0.5, -0.5, 2.5], shape)
        elif kind == "range":
            values = random.choice([-1, 1], shape) * np.ldexp(1 + random.random(shape), random.integers(low, high, shape))
        elif kind == "special values":
            values = np.where(random.random(shape) < 0.4, random.choice(special, shape), values)
        yield values


def bits_in(dtype: str, values: Any) -> Bits:
    """The numbers of a format that are nearest to these."""
    import numpy as np

    with np.errstate(all="ignore"):
        narrow = np.asarray(values, np.float64).astype("<f4" if dtype == "bfloat16" else np.dtype(dtype).newbyteorder("<"))
    if dtype == "bfloat16":
        word = narrow.view("<u4")
        rounded = (word + 0x7FFF + ((word >> 16) & 1)) >> 16
        narrow = np.where(np.isnan(narrow), np.uint32(0x7FC0), rounded).astype("<u2")
    return Bits(dtype, tuple(np.shape(values)), np.ascontiguousarray(narrow).tobytes())
