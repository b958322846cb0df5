"""Modules of PyTorch of which an export says something else: it keeps numbers of Python, and branches, as they were for the example, and rounds some divisions otherwise."""
from __future__ import annotations

import math
import os
import struct
import sys
import weakref
from typing import Any, Iterator, Optional

from assay import _native, errors

# Methods and functions of tensors whose results are numbers, lists or arrays outside of PyTorch.
_LEAVING = {"__array__", "__bool__", "__complex__", "__contains__", "__dlpack__", "__float__", "__index__", "__int__", "allclose", "equal", "is_nonzero", "item",
            "numpy", "tolist"}
# What torch.onnx exports as a division that rounds to zero; torch.div with a rounding mode is exported as it is.
_ROUNDING = {"__floordiv__", "__ifloordiv__", "__rfloordiv__", "__irshift__", "__rrshift__", "__rshift__", "bitwise_right_shift", "bitwise_right_shift_", "floor_divide", "floor_divide_"}
_PRODUCTS = {"__matmul__", "addmm", "bmm", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "linear", "matmul"}
_MOST_WORK = 2e8  # multiply-adds and elements of a run that is compared with the export: a second or two
_SHARE = 1e-3  # of the largest output: what float32 and float64 may differ by; it decides about a refusal alone
_SOFTPLUS = 20  # the usual threshold, above which softplus(x) is x: it differs there by less than a rounding
_ADVICE = "compute it with operations on tensors, such as torch.where; or export the module yourself, if the export means what you mean, and pass the file"


def refuse(torch: Any, model: Any, inputs: tuple[Any, ...]) -> float:
    """Raises Unsupported if the module, run on the example, takes a number of Python from its inputs' values, or gives two results for one input.

    Returns the multiply-adds and elements of the run; infinity if there is no run.
    """
    args, named = _arguments(inputs)
    watch = _watch(torch)
    try:
        with torch.no_grad():
            for tensor in _tensors(torch, (args, named)):
                watch.add(tensor)
            with watch:
                once = list(_tensors(torch, model(*args, **named)))
            again = list(_tensors(torch, model(*args, **named)))
    except errors.Error:
        raise
    except Exception:  # of a module that this pass cannot run; the export says what is wrong, if anything is
        return math.inf
    if len(once) != len(again) or not all(_are_near(torch, one, other) for one, other in zip(once, again)):
        raise errors.Unsupported("a module that gives two results for one input", where="model",
                                 why="expected a function of the inputs, found other results when the example was run once more",
                                 advice="take random numbers out of the module, and values that it keeps from one call to the next", code="python.values")
    return float(watch.work)


def compare(torch: Any, model: Any, inputs: tuple[Any, ...], path: str, work: float) -> None:
    """Raises Unsupported if the module and its export differ at random numbers in place of the example's: at all points where both have numbers.

    This finds operations that are exported otherwise, and no small difference: whatever it does not find is no worse than without it.
    """
    if work > _MOST_WORK:
        return
    try:
        differences = [found for draw in (torch.randn, torch.rand) if (found := _difference(torch, model, _drawn(torch, inputs, draw), path)) is not None]
    except Exception:  # of a module that takes no such numbers, or a model that the kernel refuses; the question says what is wrong
        return
    if differences and min(differences) > _SHARE:
        raise errors.Unsupported("a module that torch.onnx exports otherwise", where="model", code="python.export",
                                 why=f"expected the module's outputs from the exported model, found outputs that differ by {100 * min(differences):.3g} % of the largest one",
                                 advice="export the module yourself, compare both on your data, and pass the file")


def _drawn(torch: Any, value: Any, draw: Any) -> Any:
    """The inputs with other numbers in tensors of floats."""
    if isinstance(value, torch.Tensor):
        generator = torch.Generator().manual_seed(1)
        return draw(value.shape, generator=generator).to(value.device, value.dtype) if value.is_floating_point() else value
    if isinstance(value, dict):
        return {name: _drawn(torch, one, draw) for name, one in value.items()}
    return type(value)(_drawn(torch, one, draw) for one in value) if isinstance(value, (list, tuple)) else value


def _difference(torch: Any, model: Any, inputs: tuple[Any, ...], path: str) -> Optional[float]:
    """By what share of the largest output the module leaves the enclosures of the exported model; None where one of them has no number, or other tensors."""
    args, named = _arguments(inputs)
    given, names = list(_tensors(torch, (args, named))), [name for name, _, _ in _native.describe(path)["inputs"]]
    with torch.no_grad():
        expected = [one.double().flatten() for one in _tensors(torch, model(*args, **named))]
    values = {name: struct.pack(f"<{one.numel()}d", *one.double().flatten().tolist()) for name, one in zip(names, given)}
    found = _native.evaluate(path, {name: (data, data) for name, data in values.items()}, {})["outputs"]
    if len(names) != len(given) or [one.numel() for one in expected] != [len(lo) // 8 for _, _, lo, _ in found]:
        return None
    largest = share = 0.0
    for one, (_, _, lo, hi) in zip(expected, found):
        low, high = (torch.tensor(struct.unpack(f"<{len(end) // 8}d", end), dtype=torch.float64) for end in (lo, hi))
        outside = torch.maximum(low - one.cpu(), one.cpu() - high).clamp(min=0)
        if not bool(torch.isfinite(outside).all()) or not bool(torch.isfinite(one).all()):
            return None
        largest, share = max([largest, *one.abs().tolist()]), max([share, *outside.tolist()])
    return share / largest if largest else None


def _arguments(inputs: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call, the last of which are named if torch.onnx takes them so."""
    return (inputs[:-1], inputs[-1]) if inputs and isinstance(inputs[-1], dict) else (inputs, {})


def _watch(torch: Any) -> Any:
    """A mode that follows the inputs' values through the functions of PyTorch."""

    class Watch(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.work = 0.0
            self.known: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()

        def add(self, tensor: Any) -> None:
            self.known[id(tensor)] = tensor
            if tensor._base is not None:
                self.known[id(tensor._base)] = tensor._base

        def has(self, tensor: Any) -> bool:
            return any(one is not None and self.known.get(id(one)) is one for one in (tensor, tensor._base))

        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            given = list(_tensors(torch, (args, kwargs)))
            if not any(map(self.has, given)):
                return function(*args, **kwargs)
            name = getattr(function, "__name__", "")
            if name in _LEAVING:
                raise errors.Unsupported("a module that computes with values of its inputs in Python", where=_place(torch), advice=_ADVICE, code="python.values",
                                         why=f"expected operations on tensors, found {name}, whose result the export would keep for every input")
            if otherwise := _exported_otherwise(name, args, kwargs):
                raise errors.Unsupported("an operation that torch.onnx exports otherwise", where=_place(torch), code="python.export", why=otherwise[0], advice=otherwise[1])
            result = function(*args, **kwargs)
            changed = given[:1] if name == "__setitem__" or name.endswith("_") and not name.endswith("__") else []
            self.work += sum(one.numel() for one in _tensors(torch, result)) * (given[1].numel() / max(1, given[1].shape[0]) if name in _PRODUCTS and len(given) > 1 else 1)
            for tensor in (*_tensors(torch, result), *changed, *_tensors(torch, kwargs.get("out"))):
                self.add(tensor)
            return result

    return Watch()


def _exported_otherwise(name: str, args: tuple[Any, ...], named: dict[str, Any]) -> Optional[tuple[str, str]]:
    """Return what the exported model would compute in place of a function, and what to write instead."""
    if name in _ROUNDING:
        return f"expected a division as torch.div, found {name}: PyTorch rounds it down, and the exported model to zero", 'write torch.div(x, y, rounding_mode="floor")'
    if name in ("avg_pool2d", "avg_pool3d") and (args[6] if len(args) > 6 else named.get("divisor_override")) is not None:
        return f"expected no divisor_override, found one in {name}, which the exported model leaves out", "multiply the sums of a pool without it by a factor"
    threshold = (args[2] if len(args) > 2 else named.get("threshold", _SOFTPLUS)) if name == "softplus" else _SOFTPLUS
    if threshold < _SOFTPLUS:
        return f"expected a threshold of at least {_SOFTPLUS}, found {threshold} in softplus: the exported model has none", "write torch.where around softplus"
    return None


def _place(torch: Any) -> str:
    """The line of the module that runs."""
    inside, frame = (os.path.dirname(torch.__file__), os.path.dirname(__file__)), sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(inside):
        frame = frame.f_back
    return f"model, {os.path.basename(frame.f_code.co_filename)}, line {frame.f_lineno}"


def _tensors(torch: Any, value: Any) -> Iterator[Any]:
    """The tensors in a value of nested lists, tuples and dicts."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _tensors(torch, one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _tensors(torch, one)


def _are_near(torch: Any, one: Any, other: Any) -> bool:
    """Whether two runs differ by no more than the roundings of kernels on several threads; it decides about a refusal alone."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if not one.is_floating_point():
        return True
    largest = float(torch.nan_to_num(one.double()).abs().max()) if one.numel() else 0.0
    return bool(torch.allclose(one.double(), other.double(), rtol=1e-2, atol=1e-2 * largest, equal_nan=True))
