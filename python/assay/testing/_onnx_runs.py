"""Runs of ONNX models, recorded value by value and judged by contracts."""
from __future__ import annotations

import dataclasses
import math
import os
import tempfile
from fractions import Fraction
from typing import Any, Callable, Iterator, Mapping, Protocol, Sequence, Union

from assay._core import arguments, audits, execution_models, programs
from assay._core.arrays import Bits, bits_of
from assay._core.audits import Node
from assay._core.gate_reports import Case, Report, case_of
from assay._core.trace_writer import Trace
from assay.errors import UsageError
from . import _onnx_models
from ._onnx_models import Imported

Arrays = Mapping[str, Any]
_LONGEST_WEIGHT = 2**17  # a multiple of its reciprocal: programs compute such weights exactly (docs/reference/onnx.md, Coordinates)
LEVELS = {"disabled": "ORT_DISABLE_ALL", "basic": "ORT_ENABLE_BASIC", "extended": "ORT_ENABLE_EXTENDED", "all": "ORT_ENABLE_ALL"}


class Runner(Protocol):
    """A way to run a model: it takes the model's bytes, the names of wanted values and the inputs, and returns the values."""

    contract: str  # an execution model

    @property
    def name(self) -> str:
        """In reports."""

    def run(self, model: bytes, wanted: Sequence[str], inputs: Arrays) -> Arrays:
        """Values by their names in the model; at least the model's outputs."""


@dataclasses.dataclass
class OnnxRuntime:
    """ONNX Runtime. With `intermediates=False` only the model's outputs are asked for, so that it may fuse as it does in production."""

    optimization_level: str = "all"
    providers: Sequence[Any] | None = None
    intermediates: bool = True
    contract: str = "onnxruntime"
    threads: int = 0

    @property
    def name(self) -> str:
        """In reports."""
        return f"ONNX Runtime, {self.optimization_level}" + ("" if self.intermediates else ", outputs alone")

    def run(self, model: bytes, wanted: Sequence[str], inputs: Arrays) -> Arrays:
        """A session with every wanted value among its outputs."""
        try:
            import onnxruntime
        except ImportError:
            raise UsageError("running models needs the package onnxruntime", advice="pip install onnxruntime") from None
        if self.optimization_level not in LEVELS:
            raise UsageError(f"unknown optimisation level '{self.optimization_level}'; take one of {', '.join(LEVELS)}")
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, LEVELS[self.optimization_level])
        options.log_severity_level = 3
        options.intra_op_num_threads = self.threads
        data = _onnx_models.with_outputs(_onnx_models.proto_of(model), wanted) if self.intermediates else model
        session = onnxruntime.InferenceSession(data, options, providers=list(self.providers or ["CPUExecutionProvider"]))
        names = [one.name for one in session.get_outputs()]
        return dict(zip(names, session.run(names, dict(inputs))))


@dataclasses.dataclass
class Reference:
    """The reference evaluator of the package onnx, in NumPy."""

    name: str = "onnx reference"
    contract: str = "any-order moments=one_or_two_pass"

    def run(self, model: bytes, wanted: Sequence[str], inputs: Arrays) -> Arrays:
        """All values at once."""
        from onnx.reference import ReferenceEvaluator

        proto = _onnx_models.proto_of(_onnx_models.with_outputs(_onnx_models.proto_of(model), wanted))
        return dict(zip(wanted, ReferenceEvaluator(proto).run(None, dict(inputs))))


@dataclasses.dataclass
class Function:
    """A callable: from the inputs by name to the outputs, in the model's order or by name; intermediate values may be among them."""

    function: Callable[[Arrays], Any]
    contract: str = "any-order"
    name: str = ""

    def __post_init__(self) -> None:
        self.name = self.name or getattr(self.function, "__name__", "function")

    def run(self, model: bytes, wanted: Sequence[str], inputs: Arrays) -> Arrays:
        """Return the results of the callable by their names."""
        found = self.function(inputs)
        if isinstance(found, Mapping):
            return found
        outputs = [value.name for value in _onnx_models.proto_of(model).graph.output]
        return dict(zip(outputs, found if isinstance(found, (tuple, list)) else [found]))


AnyRunner = Union[Runner, Callable[[Arrays], Any]]


@dataclasses.dataclass
class Recording:
    """A run as a trace (docs/reference/trace-format.md): a region for each recorded value, from those that were recorded before it."""

    runner: str
    model: bytes  # the model, its shapes fixed
    trace: bytes
    outputs: Mapping[str, Any]
    recorded: Sequence[str]  # the model's values that became results of regions
    hidden: Sequence[str]  # those that the importer does not show: they lie inside of regions

    def save(self, path: str | os.PathLike[str]) -> None:
        """For `assay audit PATH`."""
        with open(path, "wb") as file:
            file.write(self.trace)

    def audit(self, *options: str) -> Report:
        """Each value by its contract; and, as one case more, whether the trace is a run of the model."""
        with tempfile.TemporaryDirectory(prefix="assay-") as folder:
            path = os.path.join(folder, "model.onnx")
            with open(path, "wb") as file:
                file.write(self.model)
            status, found, text = programs.gate("audit", self.trace, "--model", path, *options)
        if "cases" not in found:
            raise UsageError(text.strip() or f"assay audit ended with status {status}")
        cases: list[Case] = [case_of(one) for one in found["cases"]]
        report = Report(cases, text.replace(path, "the model"), f"assay, {self.runner}", list(found.get("troubles", [])))
        audits.announce([], report)
        return report


def record(model: Any, inputs: Arrays, providers: Sequence[Any] | None = None, optimization_level: str = "all", *, intermediates: bool = True,
           contract: str = "onnxruntime", threads: int = 0) -> Recording:
    """Runs a model (path, bytes or ModelProto) in ONNX Runtime with every intermediate value an output, and records what came of it.

    `contract` is the execution model that the run is held to. With `intermediates=False` the runtime may fuse freely, and the whole model is one region,
    whose sets are wider.
    """
    return recorded(OnnxRuntime(optimization_level, providers, intermediates, contract, threads), model, inputs)


def recorded(runner: AnyRunner, model: Any, inputs: Arrays) -> Recording:
    """The same with any runner; a callable is one too."""
    one = runner_of(runner)
    given = {name: bits_of(value, f"input '{name}'") for name, value in arguments.arrays("inputs", inputs).items()}
    data = _onnx_models.model_bytes(model, {name: bits.shape for name, bits in given.items()})
    found = _onnx_models.imported(data, given, intermediates=True)
    return _recording(one, data, found, given)


def runner_of(runner: AnyRunner) -> Runner:
    """A runner, or a callable as one."""
    if hasattr(runner, "run") and hasattr(runner, "contract"):
        return runner  # type: ignore[return-value]
    if not callable(runner):
        raise UsageError(f"a runner is OnnxRuntime, Reference, or a callable from inputs to outputs, not {type(runner).__name__}")
    return Function(runner)


def _recording(runner: Runner, model: bytes, found: Imported, inputs: Mapping[str, Bits]) -> Recording:
    outputs = runner.run(model, list(found.values), {name: bits.numpy() for name, bits in inputs.items()})
    missing = [name for name in found.outputs if name not in outputs]
    if missing:
        raise UsageError(f"{runner.name} does not give {', '.join(missing)}; the model's outputs are {', '.join(found.outputs)}")
    values = {name: bits_of(outputs[name], f"{runner.name}: value '{name}'") for name in found.values if name in outputs}
    made = {step.result: i for i, step in enumerate(found.steps)}
    taken: dict[str, str] = {}  # name of a step's result -> the model's name
    for name in values:
        step = found.values[name]
        if step in made and (step not in taken or name in found.outputs):
            taken[step] = name
    spelling = execution_models.spelling(runner.contract, wide=any(one.dtype == "float64" for one in inputs.values()))
    trace = Trace(runner.name, {"run": spelling})
    unknown = _without_contract(_onnx_models.proto_of(model), is_whole=len(values) < len(found.values))
    names: dict[str, str] = {}
    for name, bits in {**found.given, **inputs}.items():
        names[name] = trace.given(name, bits.dtype, bits.shape, bits.data, parameter=name not in inputs)
    for step in sorted(taken, key=made.__getitem__):
        places, nodes, results = found.region([step], names)
        bits = values[taken[step]]
        is_rounded = "math=onnxruntime" not in spelling and any(_has_rounded_weights(node) for node in nodes)  # that table says how far they are off
        if why := "interpolation, whose weights programs round" if is_rounded else unknown.get(taken[step]) or unknown.get(""):
            names[step] = trace.given(trace.fresh(taken[step]), bits.dtype, bits.shape, bits.data)
            trace.opaque.append({"name": why, "results": [names[step]]})
            continue
        names[step] = trace.add(trace.fresh(taken[step]), bits.dtype, bits.shape, bits.data)
        trace.region(taken[step], "run", [names[place] for place in places], [names[step]], nodes, results)
    for name, bits in values.items():  # copies of what is there: the same value under another name, or a constant
        if name not in taken.values() and "" not in unknown:
            copy = trace.add(trace.fresh(name), bits.dtype, bits.shape, bits.data)
            shape = list(found.types[found.values[name]][1])
            trace.region(name, "run", [names[found.values[name]]], [copy], [{"op": "reshape", "operands": [0], "attributes": {"shape": shape}}])
    trace.outputs = [names[found.values[name]] for name in found.outputs]
    return Recording(runner.name, model, trace.to_bytes(), {name: outputs[name] for name in found.outputs},
                     sorted(values, key=lambda name: made.get(found.values[name], -1)), found.hidden)


def _without_contract(model: Any, is_whole: bool) -> dict[str, str]:
    """Why nothing is known of how some values are rounded, by their names; "" stands for all values of the model."""
    nodes = [(node, graph is model.graph) for graph in _graphs(model.graph) for node in graph.node]
    if _computes_in_halves(model, [node for node, _ in nodes]):
        return {"": "arithmetic in float16 or bfloat16"}
    names = [(node, is_outside, f"{node.op_type}, a fused operator of ONNX Runtime") for node, is_outside in nodes if node.domain == "com.microsoft"]
    if hidden := [name for _, is_outside, name in names if is_whole or not is_outside]:
        return {"": hidden[0]}
    fused = {output: name for node, _, name in names for output in node.output}
    return fused | {output: "Det, which programs compute by elimination" for node, _ in nodes if node.op_type == "Det" for output in node.output}


def _graphs(graph: Any) -> Iterator[Any]:
    """A graph, and those of the branches inside of it."""
    yield graph
    for one in (one for node in graph.node for one in node.attribute):
        for inner in [*([one.g] if one.HasField("g") else []), *one.graphs]:
            yield from _graphs(inner)


def _computes_in_halves(model: Any, nodes: Sequence[Any]) -> bool:
    """Whether a model casts to float16 or bfloat16, or reads numbers of these types by something else than a cast: weights alone are exact."""
    halves = (10, 16)
    if any(one.i in halves for node in nodes if node.op_type == "Cast" for one in node.attribute if one.name == "to"):
        return True
    names = {one.name for graph in _graphs(model.graph) for one in graph.initializer if one.data_type in halves}
    names |= {output for node in nodes for one in node.attribute if one.t.data_type in halves for output in node.output}
    return any(one.type.tensor_type.elem_type in halves for one in model.graph.input) or any(
        node.op_type != "Cast" and not names.isdisjoint(node.input) for node in nodes)


def _has_rounded_weights(node: Node) -> bool:
    """Interpolation whose exact weights have more bits than programs compute from float32 coordinates: no contract is known."""
    weights = (node.get("attributes") or {}).get("weights", []) if node["op"] == "weighted_gather" else []
    return any(_LONGEST_WEIGHT % Fraction(weight).denominator for weight in weights)


def random_inputs(model: Any, seed: int = 1) -> dict[str, Any]:
    """Normal numbers for inputs of floats, zeros and ones for others; open extents are 1."""
    import numpy as np
    import onnx

    random = np.random.default_rng(seed)
    inputs = {}
    for value in _onnx_models.real_inputs(_onnx_models.proto_of(model)):
        shape = [1 if extent < 0 else extent for extent in _onnx_models.proto_shape(value)]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        numbers = random.normal(size=math.prod(shape)).reshape(shape) if dtype.kind == "f" else random.integers(0, 2, shape)
        inputs[value.name] = numbers.astype(dtype)
    return inputs
