"""Modules of PyTorch of which an export says something else: it keeps numbers of Python, and branches, as they were for the example, and rounds some divisions otherwise."""
from __future__ import annotations

import os
import sys
import weakref
from typing import Any, Iterator, Optional

from assay import errors

# Methods and functions of tensors whose results are numbers, lists or arrays outside of PyTorch.
_LEAVING = {"__array__", "__bool__", "__complex__", "__contains__", "__dlpack__", "__float__", "__index__", "__int__", "allclose", "equal", "is_nonzero", "item",
            "numpy", "tolist"}
# What torch.onnx exports as a division that rounds to zero; torch.div with a rounding mode is exported as it is.
_ROUNDING = {"__floordiv__", "__ifloordiv__", "__rfloordiv__", "__irshift__", "__rrshift__", "__rshift__", "bitwise_right_shift", "bitwise_right_shift_", "floor_divide", "floor_divide_"}
_SOFTPLUS = 20  # the usual threshold, above which softplus(x) is x: it differs there by less than a rounding
_ADVICE = "compute it with operations on tensors, such as torch.where; or export the module yourself, if the export means what you mean, and pass the file"


def refuse(torch: Any, model: Any, inputs: tuple[Any, ...]) -> None:
    """Raises Unsupported if the module, run on the example, takes a number of Python from its inputs' values, or gives two results for one input."""
    args, named = (inputs[:-1], inputs[-1]) if inputs and isinstance(inputs[-1], dict) else (inputs, {})
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
        return
    if len(once) != len(again) or not all(_are_near(torch, one, other) for one, other in zip(once, again)):
        raise errors.Unsupported("a module that gives two results for one input", where="model",
                                 why="expected a function of the inputs, found other results when the example was run once more",
                                 advice="take random numbers out of the module, and values that it keeps from one call to the next", code="python.values")


def _watch(torch: Any) -> Any:
    """A mode that follows the inputs' values through the functions of PyTorch."""

    class Watch(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
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
            for tensor in (*_tensors(torch, result), *changed, *_tensors(torch, kwargs.get("out"))):
                self.add(tensor)
            return result

    return Watch()


def _exported_otherwise(name: str, args: tuple[Any, ...], named: dict[str, Any]) -> Optional[tuple[str, str]]:
    """What the exported model would compute in place of a function, and what to write instead."""
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
