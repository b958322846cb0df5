"""Modules of PyTorch of which an export says something else: it keeps numbers of Python, and branches, as they were for the example, and rounds some divisions otherwise."""
from __future__ import annotations

import contextlib
import inspect
import itertools
import json
import math
import os
import struct
import subprocess
import sys
import weakref
from typing import Any, Iterator, NamedTuple, Optional

from assay import _native, errors
from assay._core import programs

# Methods and functions of tensors whose results are numbers, lists or arrays outside of PyTorch.
_LEAVING = {"__array__", "__bool__", "__complex__", "__contains__", "__deepcopy__", "__dlpack__", "__float__", "__format__", "__index__", "__int__", "__reduce_ex__",
            "__repr__", "allclose", "apply_", "equal", "is_nonzero", "item", "map2_", "map_", "numpy", "tolist"}
# What reads an index from a tensor, and is exported with the tensor.
_INDEXING = {"__getitem__", "__setitem__", "narrow", "select"}
# Where functions of PyTorch have eps, which an exporter writes as a float32 number.
_EPS_PLACES = {"batch_norm": 7, "group_norm": 4, "instance_norm": 7, "layer_norm": 4}
# What torch.onnx exports as a division that rounds to zero; torch.div with a rounding mode is exported as it is.
_ROUNDING = {"__floordiv__", "__ifloordiv__", "__rfloordiv__", "__irshift__", "__rrshift__", "__rshift__", "bitwise_right_shift", "bitwise_right_shift_", "floor_divide", "floor_divide_"}
_PRODUCTS = {"__matmul__", "addmm", "bmm", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "linear", "matmul"}
# Multiply-adds and elements of a run: up to the first number the export is enclosed at all draws; up to the second it is run in floats, which takes a
# hundredth of the time; and up to the third at two draws. Beyond that nothing is compared.
_LITTLE_WORK, _MUCH_WORK, _MOST_WORK = 1e7, 1e9, 2e10
_DRAWS = (("randn", 1.0), ("randn", 2.0), ("rand", 1.0), ("rand", -1.0), ("rand", 4.0), ("rand", -4.0))  # distributions and factors
_MOST_SECONDS = 60  # of a run in floats
_MOST_CHOICES = 20  # of the tensors that the inputs of an export may be
# Of the largest output: by what a run in float32 may differ from real arithmetic, and one in float64, where exporters round numbers to float32. They
# decide about a refusal alone.
_SHARE, _SHARE_OF_DOUBLES = 1e-3, 1e-9
_SOFTPLUS = 20  # the usual threshold, above which softplus(x) is x: it differs there by less than a rounding
ADVICE = "compute it with operations on tensors, such as torch.where; or export the module yourself, if the export means what you mean, and pass the file"


class Run(NamedTuple):
    """Multiply-adds and elements of a run on the example, and the share of an output by which the export may differ from it."""

    work: float = math.inf
    share: float = math.inf


def refuse(torch: Any, model: Any, inputs: tuple[Any, ...]) -> Run:
    """Raises Unsupported if the module, run on the example, takes a number or text from its inputs' values, or gives two results for one input."""
    args, named = _arguments(inputs)
    watch = _watch(torch)
    try:
        with torch.no_grad():
            for tensor in _tensors(torch, (args, named)):
                watch.add(tensor)
            with watch, _reads(torch, watch):
                once = list(_tensors(torch, model(*args, **named)))
            again = list(_tensors(torch, model(*args, **named)))
    except errors.Error:
        raise
    except Exception:  # of a module that this pass cannot run; the export says what is wrong, if anything is
        return Run()
    if len(once) != len(again) or not all(_are_near(torch, one, other) for one, other in zip(once, again)):
        raise errors.Unsupported("a module that gives two results for one input", where="model",
                                 why="expected a function of the inputs, found other results when the example was run once more",
                                 advice="take random numbers out of the module, and values that it keeps from one call to the next", code="python.values")
    return Run(float(watch.work), _SHARE if watch.is_short else _SHARE_OF_DOUBLES)


def other_numbers(torch: Any, value: Any) -> Any:
    """The example with drawn numbers in tensors of floats, and with integers and truth values in another order."""
    return _drawn(torch, value, _drawing(torch, "randn", 1.0, 0), lambda one: one.flatten().roll(1).reshape(one.shape))


def compare(torch: Any, model: Any, inputs: tuple[Any, ...], path: str, run: Run) -> None:
    """Raises Unsupported if the export has outputs of other shapes, or other values at random numbers in place of the example's: at points where both have numbers.

    Two of several draws have to differ, since one of them may lie at a jump. This finds operations that are exported otherwise, and no small difference.
    """
    draws = _DRAWS if run.work <= _MUCH_WORK else _DRAWS[:2] if run.work <= _MOST_WORK else ()
    found: list[float] = []
    try:
        described = _native.describe(path)
        _compare_shapes(torch, model, inputs, described)
    except Exception as error:  # of a model that the kernel refuses; the question says what is wrong
        if isinstance(error, errors.Error) and error.code == "python.export":
            raise
        return
    for seed, (draw, factor) in enumerate(draws):
        with contextlib.suppress(Exception):  # of a module that takes no such numbers
            difference = _difference(torch, model, _drawn(torch, inputs, _drawing(torch, draw, factor, seed)), path, described, run.work <= _LITTLE_WORK)
            found += [difference] if difference is not None and difference > run.share else []
    if len(found) > 1:
        raise _otherwise(f"the module's outputs from the exported model, found outputs that differ by {100 * min(found):.3g} % of the largest one")


@contextlib.contextmanager
def as_in_a_run(torch: Any) -> Iterator[None]:
    """An export of what a run computes: a module that asks whether it is traced or exported hears no, and a Function is exported as its forward pass, not as its `symbolic`."""
    inside, is_exported, asked = (os.path.dirname(torch.__file__), os.path.dirname(__file__)), torch.onnx.is_in_onnx_export, torch.jit.is_tracing.__code__

    def answering(answer: Any, otherwise: Any) -> Any:
        def answered() -> Any:
            frame = sys._getframe(1)
            caller = frame.f_back if frame.f_code is asked else frame
            return answer() if caller is not None and caller.f_code.co_filename.startswith(inside) else otherwise
        return answered

    symbolics = [(one, vars(one)["symbolic"]) for one in _heirs(torch.autograd.Function) if "symbolic" in vars(one) and not one.__module__.startswith("torch.")]
    kept = {name: getattr(torch._C, name) for name in ("_is_tracing", "_get_tracing_state")}
    code = is_exported.__code__
    try:
        is_exported.__code__ = (lambda: False).__code__
        for name, otherwise in (("_is_tracing", False), ("_get_tracing_state", None)):
            setattr(torch._C, name, answering(kept[name], otherwise))
        for one, _ in symbolics:
            del one.symbolic
        yield
    finally:
        is_exported.__code__ = code
        for name, answer in kept.items():
            setattr(torch._C, name, answer)
        for one, symbolic in symbolics:
            one.symbolic = symbolic


def _heirs(one: Any) -> Iterator[Any]:
    for heir in one.__subclasses__():
        yield heir
        yield from _heirs(heir)


def _otherwise(why: str) -> errors.Error:
    return errors.Unsupported("a module that torch.onnx exports otherwise", where="model", code="python.export", why=f"expected {why}",
                              advice="export the module yourself, compare both on your data, and pass the file")


def _compare_shapes(torch: Any, model: Any, inputs: tuple[Any, ...], described: dict[str, Any]) -> None:
    args, named = _arguments(inputs)
    with torch.no_grad():
        meant = [list(one.shape) for one in _tensors(torch, model(*args, **named))]
    written = [list(shape) for _, _, shape in described["outputs"]]
    if meant and meant != written:
        raise _otherwise(f"outputs of the module's shapes {meant}, found {written} in the exported model")


def _drawing(torch: Any, draw: str, factor: float, seed: int) -> Any:
    generator = torch.Generator().manual_seed(seed + 1)
    return lambda shape: factor * getattr(torch, draw)(shape, generator=generator)


def _drawn(torch: Any, value: Any, draw: Any, order: Any = lambda one: one) -> Any:
    """The inputs with other numbers in tensors of floats."""
    if isinstance(value, torch.Tensor):
        return draw(value.shape).to(value.device, value.dtype) if value.is_floating_point() else order(value)
    if isinstance(value, dict):
        return {name: _drawn(torch, one, draw, order) for name, one in value.items()}
    return type(value)(_drawn(torch, one, draw, order) for one in value) if isinstance(value, (list, tuple)) else value


def _difference(torch: Any, model: Any, inputs: tuple[Any, ...], path: str, described: dict[str, Any], is_exact: bool) -> Optional[float]:
    """By what share of its largest element an output leaves the enclosures of the exported model; None where there are no numbers, or other tensors."""
    args, named = _arguments(inputs)
    parameters, read = list(inspect.signature(model.forward).parameters), described["inputs"]
    with torch.no_grad():
        expected = [one.double().flatten().cpu() for one in _tensors(torch, model(*args, **named))]
    given = list(_tensors(torch, (args, [one for _, one in sorted(named.items(), key=lambda one: parameters.index(one[0]))])))
    # The export leaves out inputs that nothing reads, and its names do not tell which: they are those of variables anywhere in the module.
    chosen = [some for some in itertools.islice(itertools.combinations(given, len(read)), _MOST_CHOICES)
              if all(list(one.shape) == list(shape) for one, (_, _, shape) in zip(some, read))]
    found = []
    for some in chosen:
        values = {name: one.double().flatten().tolist() for one, (name, _, _) in zip(some, read)}
        ends = _enclosed(path, values) if is_exact else _computed(path, values, [name for name, _, _ in described["outputs"]])
        found.append(_outside(torch, expected, ends))
    return None if not found or math.comb(len(given), len(read)) > _MOST_CHOICES else min((one for one in found if one is not None), default=None)


def _enclosed(path: str, inputs: dict[str, list[float]]) -> list[tuple[tuple[float, ...], tuple[float, ...]]]:
    """The ends of each output's elements by the reference semantics."""
    data = {name: struct.pack(f"<{len(values)}d", *values) for name, values in inputs.items()}
    found = _native.evaluate(path, {name: (one, one) for name, one in data.items()}, {})["outputs"]
    return [(struct.unpack(f"<{len(lo) // 8}d", lo), struct.unpack(f"<{len(hi) // 8}d", hi)) for _, _, lo, hi in found]


def _computed(path: str, inputs: dict[str, list[float]], outputs: list[str]) -> list[tuple[tuple[float, ...], tuple[float, ...]]]:
    """Each output's elements in floats, twice."""
    values = path + ".json"
    with open(values, "w", encoding="utf-8") as file:
        json.dump({"inputs": inputs}, file)
    done = subprocess.run([programs.program(), "run", path, "--values", values, "--json=-"], capture_output=True, check=True, timeout=_MOST_SECONDS)
    found = json.loads(done.stdout)["outputs"]
    return [(one, one) for name in outputs for one in [tuple(map(float, found[name]["values"]))]]


def _outside(torch: Any, expected: list[Any], ends: list[tuple[tuple[float, ...], tuple[float, ...]]]) -> Optional[float]:
    shares, largest = [], max([0.0, *(float(one.abs().max()) for one in expected if one.numel())])
    for one, (lo, hi) in zip(expected, ends):
        outside = torch.maximum(torch.tensor(lo, dtype=torch.float64) - one, one - torch.tensor(hi, dtype=torch.float64)).clamp(min=0)
        decided = torch.isfinite(outside)
        if bool(decided.any()):
            shares.append(float(outside[decided].max()) / max(float(one[decided].abs().max()), _SHARE * largest, 1e-300))
    return max(shares) if shares and math.isfinite(largest) else None


def _arguments(inputs: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call, the last of which are named if torch.onnx takes them so."""
    return (inputs[:-1], inputs[-1]) if inputs and isinstance(inputs[-1], dict) else (inputs, {})


def _watch(torch: Any) -> Any:
    """A mode that follows the inputs' values through the functions of PyTorch."""

    class Watch(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.work, self.is_short, self.name = 0.0, False, ""
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
                raise errors.Unsupported("a module that computes with values of its inputs in Python", where=_place(torch), advice=ADVICE, code="python.values",
                                         why=f"expected operations on tensors, found {name}, whose result the export would keep for every input")
            if otherwise := _exported_otherwise(torch, name, args, kwargs):
                raise errors.Unsupported("an operation that torch.onnx exports otherwise", where=_place(torch), code="python.export", why=otherwise[0], advice=otherwise[1])
            self.name = name
            result = function(*args, **kwargs)
            changed = given[:1] if name == "__setitem__" or name.endswith("_") and not name.endswith("__") else []
            self.work += sum(one.numel() for one in _tensors(torch, result)) * (given[1].numel() / max(1, given[1].shape[0]) if name in _PRODUCTS and len(given) > 1 else 1)
            for tensor in (*_tensors(torch, result), *changed, *_tensors(torch, kwargs.get("out"))):
                self.add(tensor)
                self.is_short = self.is_short or tensor.is_floating_point() and tensor.dtype != torch.float64
            return result

    return Watch()


def _reads(torch: Any, watch: Any) -> Any:
    """A mode that refuses functions that take a number, such as dim or eps, from a tensor of the watch: most are exported with the number of the example."""

    class Reads(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if function is torch.ops.aten._local_scalar_dense.default and watch.has(args[0]) and watch.name not in _INDEXING:
                raise errors.Unsupported("a module that takes a number from values of its inputs", where=_place(torch), advice=ADVICE, code="python.values",
                                         why=f"expected tensors only where PyTorch takes tensors, found one that {watch.name} reads as a number")
            return function(*args, **(kwargs or {}))

    return Reads()


def _exported_otherwise(torch: Any, name: str, args: tuple[Any, ...], named: dict[str, Any]) -> Optional[tuple[str, str]]:
    """Return what the exported model would compute in place of a function, and what to write instead."""
    if name in _ROUNDING:
        return f"expected a division as torch.div, found {name}: PyTorch rounds it down, and the exported model to zero", 'write torch.div(x, y, rounding_mode="floor")'
    if name in ("avg_pool2d", "avg_pool3d") and (args[6] if len(args) > 6 else named.get("divisor_override")) is not None:
        return f"expected no divisor_override, found one in {name}, which the exported model leaves out", "multiply the sums of a pool without it by a factor"
    if name.rstrip("_") in ("log2", "log10"):
        return f"expected torch.log, found {name}: the exported model divides by a logarithm that is rounded to float32", "write torch.log(x) / math.log(10)"
    if name == "binary_cross_entropy_with_logits":
        return f"expected softplus, found {name}: the exported model takes logarithms of sigmoids, which rounds otherwise", "write F.softplus(x) - x * target"
    if name.rstrip("_") in ("arctan2", "atan2"):
        return f"expected torch.atan, found {name}: the exported model adds a number for pi that is rounded to float32", "write torch.atan(y / x), and add what you mean to it"
    if name.rstrip("_") == "round" and (args[1] if len(args) > 1 else named.get("decimals", 0)) != 0:
        return "expected a rounding to integers, found decimals in round: the exported model multiplies by a power of 10 that is rounded to float32", "write torch.round(100 * x) / 100"
    if name in ("cosine_similarity", "pairwise_distance"):
        return (f"expected a formula with sums and roots, found {name}: for small differences or vectors the exported model has other numbers, since eps stands elsewhere in it",
                "write it out, for example with torch.nn.functional.normalize, or as the root of a sum of squares")
    if name in _EPS_PLACES and args and args[0].dtype == torch.float64:
        eps = args[_EPS_PLACES[name]] if len(args) > _EPS_PLACES[name] else named.get("eps", 1e-5)
        if struct.unpack("f", struct.pack("f", eps))[0] != eps:
            return f"expected an eps that float32 holds, found {eps} in {name} of float64 tensors: the exported model rounds it", "write for example eps=2**-17"
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
