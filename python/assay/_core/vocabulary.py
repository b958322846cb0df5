"""The operations by name: how many operands, which attributes. Like `assay ops --json`, with which a test compares it."""
from __future__ import annotations

import dataclasses
import difflib
import numbers
from decimal import Decimal
from fractions import Fraction
from typing import Any, Mapping

from assay.errors import UsageError

_WINDOW = "kernel strides dilations pads_begin pads_end output_padding groups count_include_pad ceil_mode"
_REDUCE = "axes keep_dims"
# Name, least and greatest number of operands (None: any), attributes, element types.
_ROWS = [
    ("reshape", 1, 1, "shape", "any"), ("permute", 1, 1, "axes", "any"), ("slice", 1, 1, "starts steps extents", "any"),
    ("concat", 1, None, "axis", "any"), ("pad", 1, 1, "before after value", "any"), ("gather", 1, 1, "axis indices index_shape", "any"),
    ("expand", 1, 1, "shape", "any"), ("add", 2, 2, "", "numbers"), ("sub", 2, 2, "", "numbers"), ("neg", 1, 1, "", "numbers"),
    ("scale", 1, 1, "factor", "reals"), ("gemm", 2, 3, "alpha beta transpose_a transpose_b", "reals"), ("matmul", 2, 2, "", "numbers"),
    ("conv", 2, 3, _WINDOW, "reals"), ("conv_transpose", 2, 3, _WINDOW, "reals"), ("batch_norm", 5, 5, "epsilon", "reals"),
    ("reduce_sum", 1, 1, _REDUCE, "numbers"), ("reduce_mean", 1, 1, _REDUCE, "reals"), ("avg_pool", 1, 1, _WINDOW, "reals"),
    ("cumsum", 1, 1, "axis exclusive reverse", "numbers"), ("place", 1, 1, "indices shape", "numbers"),
    ("weighted_gather", 1, 1, "axis starts indices weights", "reals"), ("mul", 2, 2, "", "numbers"), ("div", 2, 2, "", "numbers"),
    ("leaky_relu", 1, 1, "slope", "reals"), ("clip", 1, 1, "lo hi", "reals"), ("pow", 1, 1, "exponent", "numbers"),
    ("min", 1, None, "", "numbers"), ("max", 1, None, "", "numbers"), ("mod", 2, 2, "truncated", "numbers"),
    ("power", 2, 2, "", "numbers"), ("equal", 2, 2, "", "any"), ("less", 2, 2, "", "numbers"), ("less_equal", 2, 2, "", "numbers"),
    ("is_inf", 1, 1, "positive negative", "reals"), ("where", 3, 3, "", "any"), ("cast", 1, 1, "to", "any"),
    ("max_pool", 1, 1, _WINDOW, "numbers"), ("reduce_max", 1, 1, _REDUCE, "any"), ("reduce_min", 1, 1, _REDUCE, "any"),
    ("arg_max", 1, 1, "axis keep_dims last", "numbers"), ("arg_min", 1, 1, "axis keep_dims last", "numbers"),
    ("take", 2, 2, "axis", "any"), ("sort", 1, 1, "axis count descending", "numbers"),
    ("arg_sort", 1, 1, "axis count descending", "numbers"), ("max_weight", 1, 1, _REDUCE, "reals"), ("softmax", 1, 1, "axis", "reals"),
    ("log_softmax", 1, 1, "axis", "reals"), ("log_sum_exp", 1, 1, _REDUCE, "reals"), ("gelu", 1, 1, "tanh_form", "reals"),
    ("prelu", 2, 2, "", "reals"), ("reduce_prod", 1, 1, _REDUCE, "numbers"), ("normalise", 1, 1, "axes epsilon form", "reals"),
    ("cumprod", 1, 1, "axis exclusive reverse", "numbers"), ("local_response", 1, 1, "size alpha beta bias", "reals"),
    ("masked_softmax", 2, 2, "axis empty_is_zero", "reals"),
    *((name, 1, 1, "alpha beta", "reals") for name in "elu selu celu silu hard_sigmoid thresholded_relu shrink".split()),
    *((name, 1, 1, "", "numbers") for name in "relu abs sign".split()),
    *((name, 1, 1, "", "reals") for name in ("sigmoid tanh sqrt exp log sin cos floor ceil round reciprocal erf tan asin acos atan sinh cosh "
                                             "asinh acosh atanh is_nan step softplus softsign mish hard_swish").split()),
    *((name, 2, 2, "", "integers") for name in "bitwise_and bitwise_or bitwise_xor".split()),
    *((name, 2, 2, "", "booleans") for name in "logical_and logical_or logical_xor".split()),
    ("logical_not", 1, 1, "", "booleans"),
]


class UnknownOperation(UsageError):
    """An operation that the vocabulary has not."""


class WrongAttributes(UsageError):
    """Attributes that an operation has not, or of a wrong form."""


@dataclasses.dataclass(frozen=True)
class Row:
    """What the table says of one operation."""

    name: str
    least: int
    most: int | None
    attributes: tuple[str, ...]
    elements: str  # "reals", "numbers", "integers", "booleans", "any"


ROWS = {row[0]: Row(row[0], row[1], row[2], tuple(row[3].split()), row[4]) for row in _ROWS}
# What an attribute is where nothing else is said: ONNX's default and PyTorch's, where these agree. `...`: it means nothing for the operation, or follows
# from the operands. Attributes that stand in neither have to be given.
_WINDOWS: dict[str, Any] = {"strides": 1, "dilations": 1, "pads_begin": 0, "pads_end": 0}
DEFAULTS: dict[str, dict[str, Any]] = {
    "elu": {"alpha": 1, "beta": ...}, "celu": {"alpha": 1, "beta": ...}, "silu": {"alpha": 1, "beta": ...}, "thresholded_relu": {"alpha": 1, "beta": ...},
    "selu": {"alpha": 1.67326319217681884765625, "beta": 1.05070102214813232421875}, "leaky_relu": {"slope": 0.01}, "gelu": {"tanh_form": False},
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
# Attributes without which an operation is none, in words.
_REQUIRED = {"axis": ("the axis along which it goes", "-1"), "axes": ("the axes over which it goes", "[-1]"), "factor": ("the number to multiply by", "2"),
             "exponent": ("the exponent", "2"), "to": ("an element type", "'float64'"), "epsilon": ("what is added under the root", "1e-5"),
             "count": ("how many elements of each line it gives", "1")}
_REALS = frozenset("value factor alpha beta slope lo hi epsilon bias".split())  # of type float64; the exponent of pow is any fraction
# One axis, or several.
_ALIASES = {"axis": "axes", "axes": "axis", "keepdims": "keep_dims", "eps": "epsilon", "dtype": "to"}


def row_of(name: str) -> Row:
    """The row of an operation; UnknownOperation names the nearest ones."""
    if name in ROWS:
        return ROWS[name]
    near = difflib.get_close_matches(name, ROWS, 3, 0.5)
    raise UnknownOperation(f"no operation is called '{name}'" + (f"; near it: {', '.join(near)}" if near else "") + " (assay ops lists all)")


def leading(name: str, operands: int) -> int:
    """The position of the operand whose type the result has and whose axes attributes count: the first; behind a condition or places the second."""
    return 1 if name in ("where", "take") and operands > 1 else 0


def attributes_of(name: str, given: Mapping[str, Any], rank: int) -> dict[str, Any]:
    """Attributes as a trace spells them: plain numbers, axes from 0, NumPy's words (axis, keepdims, eps, dtype) as the table's."""
    row, found = row_of(name), dict[str, Any]()
    for key, value in given.items():
        word = key if key in row.attributes else _ALIASES.get(key, key)
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
    return {**(DEFAULTS[name] if name in ("selu", "clip") else {}), **attributes}  # a trace has the other defaults of its own


def is_default(name: str, word: str, value: Any) -> bool:
    """Whether a call with this value does not spell it out; lists have one entry per axis."""
    default = DEFAULTS.get(name, {}).get(word)
    if default is None or default is ...:
        return default is ...
    return all(float(one) == float(default) for one in (value if isinstance(value, (list, tuple)) else [value]))


def _real(value: Any, what: str) -> Any:
    """A number that a float64 holds: a text or a fraction is one exactly, or none."""
    if isinstance(value, (bool, list)):
        raise WrongAttributes(f"{what} is {value!r}; a number is meant")
    if not isinstance(value, str) or value in ("inf", "-inf"):
        return value
    try:
        exact = Fraction(value)
    except (ValueError, ZeroDivisionError):
        raise WrongAttributes(f"{what} is '{value}'; a number is meant") from None
    if Fraction(float(exact)) != exact:
        raise WrongAttributes(f"{what} is a float64, and none is {value}: give the float64 that the kernel has, such as {float(exact)!r}")
    return float(exact)


def _axis(axis: Any, rank: int, name: str) -> int:
    if not isinstance(axis, int) or isinstance(axis, bool) or not -rank <= axis < rank:
        raise WrongAttributes(f"{name}: an axis of {axis!r}; the operand has {rank} axes")
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
    raise WrongAttributes(f"{what} is of {type(value).__name__}; numbers, words and lists of these are attributes")
