"""The operations by name: how many operands, which attributes. Like `assay ops --json`, with which a test compares it."""
from __future__ import annotations

import dataclasses
import difflib
import numbers
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any, Iterable, Mapping, Sequence

from assay.errors import UsageError

from .operations import NUMBERS, OPERATIONS

# The words of each form of attributes.
_FORMS = {
    "No": "", "Shape": "shape", "Permute": "axes", "Slice": "starts steps extents", "Concat": "axis", "Pad": "before after value",
    "Gather": "axis indices index_shape", "Place": "indices shape", "Scale": "factor", "Gemm": "alpha beta transpose_a transpose_b",
    "Window": "kernel strides dilations pads_begin pads_end output_padding groups count_include_pad ceil_mode", "BatchNorm": "epsilon",
    "Reduce": "axes keep_dims", "LeakyRelu": "slope", "Clip": "lo hi", "Pow": "exponent", "Softmax": "axis", "Activation": "alpha beta", "Gelu": "tanh_form",
    "IsInf": "positive negative", "Cast": "to", "Cumulative": "axis exclusive reverse", "WeightedGather": "axis starts indices weights",
    "Sort": "axis count descending", "Arg": "axis keep_dims last", "Normalise": "axes epsilon form", "LocalResponse": "size alpha beta bias",
    "MaskedSoftmax": "axis empty_is_zero", "Mod": "truncated",
}


class UnknownOperation(UsageError):
    """An operation that the vocabulary has not."""


class WrongAttributes(UsageError):
    """Attributes that an operation has not, or of a wrong form."""


@dataclasses.dataclass(frozen=True)
class Row:
    """The entry of the table for one operation."""

    name: str
    least: int
    most: int | None
    attributes: tuple[str, ...]
    elements: str  # "reals", "numbers", "integers", "booleans", "any"
    smoothness: str  # on its domain: "smooth", "kink", "jump", "singular"


ROWS = {name: Row(name, least, most, tuple(_FORMS[form].split()), elements, smoothness)
        for name, least, most, form, elements, smoothness in OPERATIONS}
# What an attribute is where nothing else is said: ONNX's default and PyTorch's, where these agree. `...`: it means nothing for the operation, or follows
# from the operands. Attributes that stand in neither have to be given.
_WINDOWS: dict[str, Any] = {"strides": 1, "dilations": 1, "pads_begin": 0, "pads_end": 0}
_DISAGREE = ("hard_sigmoid", "shrink")  # of which PyTorch has other functions
_NUMBERS: dict[str, dict[str, Any]] = {name: {word: ... if value is None else value for word, value in zip(ROWS[name].attributes, values)}
                                       for name, values in NUMBERS.items() if name not in _DISAGREE}
DEFAULTS: dict[str, dict[str, Any]] = {
    **_NUMBERS, "gelu": {"tanh_form": False},
    "gemm": {"alpha": 1, "beta": 1, "transpose_a": False, "transpose_b": False}, "batch_norm": {"epsilon": 1e-5},
    "is_inf": {"positive": True, "negative": True}, "mod": {"truncated": False}, "masked_softmax": {"empty_is_zero": False},
    "arg_max": {"last": False}, "arg_min": {"last": False},
    "cumsum": {"exclusive": False, "reverse": False}, "cumprod": {"exclusive": False, "reverse": False},
    "local_response": {"alpha": 1e-4, "beta": 0.75, "bias": 1}, "normalise": {"form": "centered"}, "pad": {"value": 0}, "clip": {"lo": "-inf", "hi": "inf"},
    "conv": {**_WINDOWS, "groups": 1, **dict.fromkeys(("kernel", "output_padding", "count_include_pad", "ceil_mode"), ...)},
    "conv_transpose": {**_WINDOWS, "groups": 1, "output_padding": 0, **dict.fromkeys(("kernel", "count_include_pad", "ceil_mode"), ...)},
    "max_pool": {**_WINDOWS, "ceil_mode": False, **dict.fromkeys(("output_padding", "groups", "count_include_pad"), ...)},
    "avg_pool": {**_WINDOWS, "ceil_mode": False, **dict.fromkeys(("output_padding", "groups"), ...)},
}
# Operations whose defaults a trace spells out: it has others of its own.
_TRACE = {"alpha": (1, ...), "beta": (0, ...), "slope": (0.01,)}
_SPELLED = {"clip", *(name for name, words in _NUMBERS.items() if any(value not in _TRACE[word] for word, value in words.items()))}
# Attributes without which an operation is none, in words.
_REQUIRED = {"axis": ("the axis along which it goes", "-1"), "axes": ("the axes over which it goes", "[-1]"), "factor": ("the number to multiply by", "2"),
             "exponent": ("the exponent", "2"), "to": ("an element type", "'float64'"), "epsilon": ("what is added under the root", "1e-5"),
             "count": ("how many elements of each line it gives", "1")}
_REALS = frozenset("value factor alpha beta slope lo hi epsilon bias".split())  # of type float64; the exponent of pow is any fraction
# One axis, or several.
ALIASES = {"axis": "axes", "axes": "axis", "keepdims": "keep_dims", "eps": "epsilon", "dtype": "to"}


def joined(name: str) -> str:
    """A name without what stands between its words, in lower case: "rms norm", "rms_norm" and "RMS-Norm" are one name."""
    return re.sub(r"[ _-]", "", name).lower()


def named(name: str, known: Iterable[str]) -> str:
    """The known name that differs from a given one only in case and in what stands between its words; without one, the name as it is."""
    known = list(known)
    return name if name in known else next((one for one in known if joined(one) == joined(name)), name)


def row_of(name: str) -> Row:
    """The row of an operation; UnknownOperation names the nearest ones."""
    if (known := named(name, ROWS)) in ROWS:
        return ROWS[known]
    raise unknown(name, list(ROWS))


def unknown(name: str, known: Sequence[str]) -> UnknownOperation:
    """The exception for a name that is none of the known ones; it names the nearest of these, whatever stands between their words."""
    spelled = {joined(one): one for one in known}
    near = [f"'{spelled[one]}'" for one in difflib.get_close_matches(joined(name), spelled, 3, 0.6)]
    others = [f"'{one}'" for one in known if one not in ROWS]
    listed = "; `assay ops` lists the operations" + (f", and the compositions are {', '.join(others)}" if others else "")
    return UnknownOperation(f"unknown operation '{name}'" + (f"; did you mean {' or '.join(near)}?" if near else listed))


def leading(name: str, operands: int) -> int:
    """The position of the operand whose type the result has and whose axes attributes count: the first; behind a condition or places the second."""
    return 1 if name in ("where", "take") and operands > 1 else 0


def attributes_of(name: str, given: Mapping[str, Any], rank: int) -> dict[str, Any]:
    """Attributes as a trace spells them: plain numbers, axes from 0, NumPy's words (axis, keepdims, eps, dtype) as the table's."""
    row, found = row_of(name), dict[str, Any]()
    for key, value in given.items():
        word = key if key in row.attributes else ALIASES.get(key, key)
        if word not in row.attributes or word in found:
            raise WrongAttributes(f"{name} has no attribute '{key}'" + (" beside it" if word in found else "")
                                  + f"; it has {', '.join(row.attributes) or 'none'}")
        found[word] = _plain(value, f"{name}: attribute '{key}'")
        if word in _REALS:
            found[word] = _real(found[word], f"{name}: attribute '{key}'")
    if "axes" in found and name != "permute":
        axes = found["axes"] if isinstance(found["axes"], list) else [found["axes"]]
        found["axes"] = [_axis(axis, rank, name) for axis in axes]
    if "axis" in found:
        found["axis"] = _axis(found["axis"], rank, name)
    return found


def completed(name: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a call, with the defaults; WrongAttributes asks for one that the operation does not go without."""
    for word in row_of(name).attributes:
        if word in _REQUIRED and word not in attributes and word not in DEFAULTS.get(name, {}):
            meaning, example = _REQUIRED[word]
            raise WrongAttributes(f"{name} needs the attribute '{word}', {meaning}: for example {word}={example}")
    return {**{word: value for word, value in DEFAULTS.get(name, {}).items() if name in _SPELLED}, **attributes}


def is_default(name: str, word: str, value: Any) -> bool:
    """Whether a call with this value does not spell it out; lists have one entry per axis."""
    default = DEFAULTS.get(name, {}).get(word)
    if default is None or default is ...:
        return default is ...
    return all(float(one) == float(default) for one in (value if isinstance(value, (list, tuple)) else [value]))


def _real(value: Any, what: str) -> Any:
    """A number that a float64 holds: a text or a fraction is one exactly, or none."""
    if isinstance(value, (bool, list)):
        raise WrongAttributes(f"{what} has to be a number, but is {value!r}")
    if not isinstance(value, str) or value in ("inf", "-inf"):
        return value
    try:
        exact = Fraction(value)
    except (ValueError, ZeroDivisionError):
        raise WrongAttributes(f"{what} has to be a number, but is '{value}'") from None
    if Fraction(float(exact)) != exact:
        raise WrongAttributes(f"{what} is given exactly, as {value}, and no float64 equals that; give the float64 that the kernel has, without quotes: {float(exact)!r}")
    return float(exact)


def _axis(axis: Any, rank: int, name: str) -> int:
    if not isinstance(axis, int) or isinstance(axis, bool) or not -rank <= axis < rank:
        raise WrongAttributes(f"{name}: axis {axis!r} is out of range; the operand has {rank} axes")
    return axis % rank


def _plain(value: Any, what: str) -> Any:
    """A JSON value: NumPy's numbers become Python's, infinities and fractions text."""
    if isinstance(value, (str, bool)):
        return value
    if hasattr(value, "tolist"):  # arrays, and numbers of NumPy
        return _plain(value.tolist(), what)
    if isinstance(value, (list, tuple)):
        return [_plain(one, what) for one in value]
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, Decimal):
        value = Fraction(value) if value.is_finite() else float(value)
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, numbers.Real):
        number = float(value)
        if number != number:
            raise WrongAttributes(f"{what} is NaN")
        return number if abs(number) != float("inf") else ("inf" if number > 0 else "-inf")
    if isinstance(value, type) or hasattr(value, "name") or str(value).startswith("torch."):  # element types
        name = getattr(value, "name", None) or getattr(value, "__name__", str(value))
        return str(name).removeprefix("torch.").rstrip("_")
    raise WrongAttributes(f"{what} is a {type(value).__name__}; attributes are numbers, words and lists of these")
