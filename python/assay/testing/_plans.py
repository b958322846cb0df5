"""Probe plans: what to run a kernel of an operation on so that a wrong one shows (docs/reference/probes.md)."""
from __future__ import annotations

import dataclasses
import itertools
import math
import os
import re
import subprocess
import tempfile
from fractions import Fraction
from typing import Any, Iterator, Mapping, Sequence

from assay._core import arguments, programs, shapes
from assay._core.arrays import Bits
from assay._core.audits import Node, Refused
from assay._core.trace_reader import read_trace
from assay._core.vocabulary import DEFAULTS, ROWS, WrongAttributes, attributes_of, is_default, leading, named, unknown
from assay.errors import UsageError, wrong

DTYPES = ("float32", "float64", "float16", "bfloat16")
KINDS = (*DTYPES, *shapes.INTEGERS, "bool")
# The composite regions, and what their operands are; a mask comes where a probe has four operands.
REGIONS = {"attention": "query key value mask", "attention backward": "query key value cotangent", "layer norm": "x weight bias",
           "layer norm backward": "x weight bias cotangent", "rms norm": "x weight", "rms norm backward": "x weight cotangent",
           "softmax backward": "x cotangent", "log softmax backward": "x cotangent"}
NORMS = ("layer norm", "rms norm")  # compositions that have an epsilon
MADE = "in shapes made from the given ones"
LAYOUTS = ("dense", "transposed", "reversed", "stepped", "padded", "broadcast_first", "broadcast_last")
# Layouts of several operands, of which some have another one than the others: operand i has the i-th, and the last one is that of all further operands.
MIXED = {"first_transposed": ("transposed", "dense"), "others_transposed": ("dense", "transposed"), "first_broadcast": ("broadcast_first", "dense"),
         "in_turn": ("padded", "broadcast_last", "stepped", "dense")}
_MOST_LAID = 2  # probes of one kind of an application that are laid out otherwise
# Attributes that may be set to any value on the operands of a probe; others only select among the probes.
_FREE = frozenset(("axis axes keep_dims epsilon alpha beta slope lo hi factor form exponent tanh_form truncated descending last exclusive reverse "
                   "positive negative bias transpose_a transpose_b empty_is_zero").split())


@dataclasses.dataclass(frozen=True)
class Probe:
    """One call of a kernel, and what it is to compute."""

    name: str  # "conv, groups: integers float32", with ", transposed in memory" where operands are not dense
    op: str
    attributes: Mapping[str, Any]
    operands: Sequence[Bits]
    nodes: Sequence[Node]
    outputs: Sequence[int]
    results: Sequence[tuple[str, tuple[int, ...]]]  # element types and shapes
    layout: str = "dense"
    pinned: frozenset[str] = frozenset()  # attributes that the plan was made for: a kernel need not take them
    captured: Sequence[Bits] = ()  # operands of an expression that no kernel is handed
    made: bool = False  # its shapes were made from given ones

    @property
    def kind(self) -> str:
        """"integers", "dense", "one hot", "special values", ..."""
        return re.split(r" (?=b?float|u?int|bool)", self.name.rpartition(": ")[2])[0]

    @property
    def group(self) -> str:
        """The kind with the element type, and the layout where operands are not dense: probes of one group are one test case of JUnit."""
        values = self.name.rpartition(": ")[2].partition(",")[0]
        return f"{values}, {MADE}" if self.made else values if self.layout == "dense" else f"{values}, {_layout_in_words(self.layout)}"

    def layout_of(self, operand: int) -> str:
        """The layout of one operand."""
        each = MIXED.get(self.layout, (self.layout,))
        return each[min(operand, len(each) - 1)]

    def operands_in_words(self) -> str:
        """The operands in order, with their shapes; those of composite regions by name."""
        names = REGIONS.get(self.op, "").split()
        return ", ".join(f"{f'{name} ' if name else ''}{one.dtype} {list(one.shape)}" for name, one in itertools.zip_longest(names[:len(self.operands)], self.operands))

    def arguments_in_words(self) -> str:
        """The operands, and the attributes if there are any."""
        given = ", ".join(f"{key}={value!r}" for key, value in self.arguments().items())
        return f"the operands were {self.operands_in_words()}" + (f", the attributes {given}" if given else "")

    def arguments(self) -> dict[str, Any]:
        """The attributes as Python values: infinities and exponents as numbers, lists as tuples."""
        return {key: _python(value) for key, value in self.attributes.items()
                if key != "output_padding" or value}


def type_named(dtype: Any) -> str:
    """The element type of a plan by its name; types of NumPy, torch and JAX have one."""
    text = dtype if isinstance(dtype, str) else str(getattr(dtype, "__name__", dtype)).rpartition(".")[2]
    if text not in DTYPES:
        raise wrong("dtype", f"one of {', '.join(DTYPES)}, or NumPy's type of that name", dtype)
    return text


def row_named(op: str) -> str:
    """The name in the tables of an operation or composition that is spelled otherwise ("Softmax", "ReduceSum", "rms_norm"); any other as it is."""
    return named(op, (*ROWS, *REGIONS))


def probes(op: str, *, attributes: Mapping[str, Any] | None = None, dtype: Any = "float32", seed: int = 1, blocks: bool = True, strided: bool = True,
           dtypes: Sequence[str] | None = None) -> list[Probe]:
    """Makes the probe plan of an operation, or of a composite region such as "attention" or "layer norm backward".

    Args:
        op: The name of the operation or region.
        attributes: Attributes that are pinned: numbers and axes are set (an axis may be negative), others select.
        dtype: The element type of operations on several types: "float32", "float64", "float16" or "bfloat16".
        seed: The seed of the draws.
        blocks: Whether the plan has lines of 8,193 elements and more, where kernels that go block by block break, and shapes that are larger than a tile
            along several axes.
        strided: Whether the plan has operands that are not dense in memory.
        dtypes: Further element types: "int64", "uint8", "bool" and others.

    Returns:
        The probes.
    """
    op, dtype = row_named(arguments.text("op", op)), type_named(dtype)
    arguments.whole("seed", seed, 0, 2**64 - 1)
    if attributes is not None and not isinstance(attributes, Mapping):
        raise wrong("attributes", "a mapping from names to values", attributes)
    if unknown_ := [one for one in dtypes or () if one not in KINDS]:
        raise wrong("dtypes", f"some of {', '.join(KINDS)}", unknown_[0])
    found = planned(op, attributes, frozenset(), dtype, seed, arguments.flag("blocks", blocks), arguments.flag("strided", strided), dtypes)
    require_type(found, op, dtype)
    return found


def require_type(plan: Sequence[Probe], op: str, dtype: str) -> None:
    """Refuses an element type that an operation has not."""
    if dtype != "float32" and not any(one.dtype == dtype for probe in plan for one in probe.operands):
        raise UsageError(f"dtype='{dtype}' has no effect", where="dtype", why=f"no probe of {op} has operands of this type", advice="leave dtype= out")


def planned(op: str, attributes: Mapping[str, Any] | None, silent: frozenset[str], dtype: str, seed: int, blocks: bool, strided: bool,
            dtypes: Sequence[str] | None = None) -> list[Probe]:
    """The same; the attributes of `silent` have their defaults."""
    found = [_probe(*one) for one in _regions(op, dtype, seed, blocks)]
    kept = _of_types(found, tuple(dtypes) if dtypes else (dtype,))
    if op in REGIONS and attributes:
        kept = [_with_epsilon(one, attributes) for one in kept]
    elif attributes or silent:
        kept = [pinned for one in kept if (pinned := _pinned(one, dict(attributes or {}), silent)) is not None]
        if not kept:
            raise WrongAttributes(f"no probe of {op} fits the attributes {dict(attributes or {})}" + (f" and the defaults of {', '.join(sorted(silent))}" if silent else "")
                                  + _choices(found, attributes or {}))
    return [*kept, *in_other_layouts(kept)] if strided else kept


def epsilon_of(composition: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The epsilon that is given for a normalisation, which is the one attribute of a composition."""
    if composition not in NORMS or not set(given) <= {"epsilon", "eps"}:
        has = "only the attribute epsilon" if composition in NORMS else "no attributes"
        raise WrongAttributes(f"{composition} has {has}, but was given {', '.join(map(str, given))}",
                              advice=f"write its formula as a function in the words of assay.ops; audit_kernel takes the function with like='{composition}'")
    return attributes_of("normalise", given, 1)


def _with_epsilon(probe: Probe, given: Mapping[str, Any]) -> Probe:
    """The probe of a normalisation with another epsilon."""
    attributes = epsilon_of(probe.op, given)
    nodes = [{**node, "attributes": {**node["attributes"], **attributes}} if node["op"] == "normalise" else node for node in probe.nodes]
    return dataclasses.replace(probe, attributes=attributes, nodes=nodes, pinned=frozenset(given))


def has_attributes(probe: Probe, given: Mapping[str, Any]) -> bool:
    """Whether the probe has these values of attributes."""
    if probe.op in ROWS:
        given = attributes_of(probe.op, given, len(probe.operands[leading(probe.op, len(probe.operands))].shape))
    return all(key in probe.attributes and _python(probe.attributes[key]) == _python(value) for key, value in given.items())


def _choices(plan: Sequence[Probe], given: Mapping[str, Any], most: int = 8) -> str:
    """The values that given attributes have in a plan: of those that select among its probes."""
    values: dict[str, dict[str, None]] = {}
    for probe in plan:
        for key, value in probe.arguments().items():
            if key in given and key not in _FREE:
                values.setdefault(key, {})[repr(value)] = None
    words = [f"{key} {', '.join(list(every)[:most])}{' and others' if len(every) > most else ''}" for key, every in values.items()]
    return f"; its probes have {'; '.join(words)}" if words else ""


def _regions(op: str, dtype: str, seed: int, blocks: bool) -> Iterator[tuple[str, dict[str, Any], dict[str, Bits]]]:
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        path = os.path.join(folder, "plan.safetensors")
        command = [programs.program(), "probe", "--op", op, "--forward-only", "--dtype", dtype, "--seed", str(seed), "--trace", path,
                   *([] if blocks else ["--small"])]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not os.path.exists(path):
            if op not in ROWS and op not in REGIONS:
                raise unknown(op, [*ROWS, *REGIONS])
            raise Refused(done.stderr.strip() or f"assay probe ended with status {done.returncode}")
        with open(path, "rb") as file:
            data = file.read()
    trace, tensors = read_trace(data)
    for region in trace["regions"]:
        yield op, region, tensors


def _probe(op: str, region: dict[str, Any], tensors: dict[str, Bits]) -> Probe:
    nodes = region["nodes"]
    attributes = nodes[0].get("attributes", {}) if op in ROWS else {}
    return Probe(region["name"], op, attributes, [tensors[name] for name in region["operands"]], nodes, region["outputs"],
                 [(tensors[name].dtype, tensors[name].shape) for name in region["results"]])


def _of_types(found: list[Probe], dtypes: tuple[str, ...]) -> list[Probe]:
    """Probes on these types; all, where the operation has none of them (an operation on integers)."""
    def fits(probe: Probe) -> bool:
        first = probe.operands[leading(probe.op, len(probe.operands))] if probe.operands else None
        return first is not None and first.dtype in dtypes

    return [one for one in found if fits(one)] or found


def _pinned(probe: Probe, given: Mapping[str, Any], silent: frozenset[str] = frozenset()) -> Probe | None:
    """The probe with these attributes, and with the defaults of the silent ones; none where they do not fit its operands."""
    defaults = DEFAULTS.get(probe.op, {})
    if not all(key in _FREE or is_default(probe.op, key, probe.attributes[key]) for key in silent & set(probe.attributes)):
        return None
    given = {**{key: defaults[key] for key in silent if key in _FREE and defaults[key] is not ...}, **given}
    rank = len(probe.operands[leading(probe.op, len(probe.operands))].shape)
    try:
        wanted = attributes_of(probe.op, given, rank)
    except WrongAttributes:
        if set(attributes_of(probe.op, {key: 0 for key in given}, max(rank, 1))):  # a name that the operation has, an axis that this operand has not
            return None
        raise
    attributes = {**probe.attributes, **{key: value for key, value in wanted.items() if key in _FREE}}
    if any(_python(probe.attributes.get(key)) != _python(value) for key, value in wanted.items() if key not in _FREE):
        return None
    try:
        dtype, shape = shapes.result_of(probe.op, [one.widened().dtype for one in probe.operands], [one.shape for one in probe.operands], attributes)
        dtype = probe.results[0][0] if dtype == "float32" else dtype
    except shapes.Misfit:
        return None
    if math.prod(shape) and not all(math.prod(one.shape) for one in probe.operands) and probe.op not in ("reduce_sum", "reduce_prod", "matmul", "gemm"):
        return None  # a line without elements
    nodes = [{**probe.nodes[0], "attributes": attributes}]
    return dataclasses.replace(probe, attributes=attributes, nodes=nodes, results=[(dtype, shape)], pinned=frozenset(given) | silent)


def in_other_layouts(plan: Sequence[Probe]) -> Iterator[Probe]:
    """The same calls on operands that lie otherwise in memory; a few probes of two kinds are enough to see wrong strides."""
    seen: dict[str, int] = {}
    for probe in plan:
        ranks = [len(one.shape) for one in probe.operands]
        if probe.kind not in ("integers", "dense") or max((math.prod(one.shape) for one in probe.operands), default=0) > 4096:
            continue
        seen[probe.name] = seen.get(probe.name, 0) + 1
        if seen[probe.name] > _MOST_LAID:
            continue
        for layout in (*LAYOUTS[1:], *(MIXED if len(ranks) > 1 else ())):
            if max(ranks, default=0) >= _RANKS.get(layout, 1):
                laid = dataclasses.replace(probe, name=f"{probe.name}, {_layout_in_words(layout)}", layout=layout)
                yield dataclasses.replace(laid, operands=[_equal_along(one, laid.layout_of(i)) for i, one in enumerate(probe.operands)])


# The rank from which on a layout is another one than the dense one.
_RANKS = {"transposed": 2, "reversed": 3, "padded": 2, "first_transposed": 2, "others_transposed": 2}
_WORDS = {"first_transposed": "the first operand alone transposed", "others_transposed": "all operands but the first transposed",
          "first_broadcast": "the first operand alone broadcast", "in_turn": "each operand otherwise", "reversed": "the first axis innermost", "padded": "rows apart"}


def _layout_in_words(layout: str) -> str:
    words = _WORDS.get(layout) or f"{layout.replace('_', ' along the ')}{' axis' if '_' in layout else ''}"
    return f"{words} in memory"


def _equal_along(bits: Bits, layout: str) -> Bits:
    """With one value along the axis that is read with stride 0."""
    axis = broadcast_axis(bits.shape, layout)
    if axis is None:
        return bits
    import numpy as np

    array = bits.carrier()
    return Bits(bits.dtype, bits.shape, np.repeat(array.take([0], axis), bits.shape[axis], axis).tobytes())


def broadcast_axis(shape: Sequence[int], layout: str) -> int | None:
    """The axis that has stride 0 in this layout, if one has."""
    long = [axis for axis, extent in enumerate(shape) if extent > 1]
    if not long or 0 in shape or not layout.startswith("broadcast"):
        return None
    return long[0] if layout == "broadcast_first" else long[-1]


def _python(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_python(one) for one in value)
    if value in ("inf", "-inf"):
        return float(value)
    if isinstance(value, str):
        try:
            fraction = Fraction(value)
        except ValueError:
            return value
        return int(fraction) if fraction.denominator == 1 else float(fraction) if Fraction(float(fraction)) == fraction else fraction
    return value
