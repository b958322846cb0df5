"""ONNX models as steps of the vocabulary: the program imports them, and its recorder writes down what they consist of."""
from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import subprocess
import tempfile
from typing import Any, Iterable, Mapping, Sequence

from assay._core import programs
from assay._core.arrays import Bits
from assay._core.audits import Check, Node, Refused
from assay._core.shapes import Misfit
from assay._core.trace_reader import read_trace
from assay.errors import MalformedInput, UsageError


@dataclasses.dataclass(frozen=True)
class Step:
    """One operation: its node, with places among `operands`, and the name of its result."""

    node: Node
    operands: Sequence[str]
    result: str


@dataclasses.dataclass(frozen=True)
class Imported:
    """A model as the program understands it, on inputs of fixed shapes. Names are those of its steps; `values` says which of them are the model's."""

    inputs: Sequence[str]
    outputs: Sequence[str]  # the model's names
    values: Mapping[str, str]  # name in the model -> name here: of the outputs, and of intermediate values
    hidden: Sequence[str]  # intermediate values that the importer does not show, e.g. -infinity before a softmax
    given: Mapping[str, Bits]  # inputs (as zeros), weights and other constants
    steps: Sequence[Step]
    types: Mapping[str, tuple[str, tuple[int, ...]]]  # element type and shape of every step's result, and of what is given

    def region(self, results: Sequence[str], known: Iterable[str]) -> tuple[list[str], list[Node], list[int]]:
        """Operands, nodes and outputs of the region that computes the results from values that are known; names are those of steps."""
        producers = {step.result: step for step in self.steps}
        stop = (set(known) | set(self.given)) - set(results)
        needed, open_ = set[str](), list(results)
        while open_:
            name = open_.pop()
            if name not in needed and name not in stop:
                needed.add(name)
                open_ += producers[name].operands
        steps = [step for step in self.steps if step.result in needed]
        operands = list(dict.fromkeys(name for step in steps for name in step.operands if name not in needed))
        number = {name: i for i, name in enumerate([*operands, *(step.result for step in steps)])}
        nodes = [{**step.node, "operands": [number[name] for name in step.operands]} for step in steps]
        return operands, nodes, [number[name] for name in results]


def model_bytes(model: Any, shapes: Mapping[str, Sequence[int]] | None = None) -> bytes:
    """The model as a file's bytes, its inputs fixed to these shapes where it leaves extents open."""
    if isinstance(model, (str, os.PathLike)) and not shapes:
        try:
            with open(model, "rb") as file:
                return file.read()
        except (OSError, ValueError) as error:
            raise MalformedInput("the model cannot be read", where=os.fspath(model), why=str(error)) from None
    proto = proto_of(model)
    for value in proto.graph.input:
        shape = proto_shape(value)
        wanted = list((shapes or {}).get(value.name, shape))
        if len(wanted) != len(shape) or any(have not in (-1, want) for have, want in zip(shape, wanted)):
            raise Misfit(f"input '{value.name}' of the model has shape {shape} (-1: open), but {wanted} was given")
        if -1 in shape:
            for dim, extent in zip(value.type.tensor_type.shape.dim, wanted):
                dim.dim_value = int(extent)
            del proto.graph.value_info[:]
    return bytes(proto.SerializeToString())


def proto_of(model: Any) -> Any:
    """A copy as `onnx.ModelProto`; of a path, bytes or such a proto."""
    try:
        import onnx
    except ImportError:
        raise UsageError("reading ONNX models needs the package onnx", advice="pip install onnx") from None
    try:
        if isinstance(model, (str, os.PathLike)):
            return onnx.load(os.fspath(model))
        if isinstance(model, (bytes, bytearray)):
            return onnx.load_from_string(bytes(model))
    except Exception as error:  # of files, or of protobuf
        where = "the model" if isinstance(model, (bytes, bytearray)) else os.fspath(model)
        raise MalformedInput("the ONNX model cannot be read", where=where, why=f"{type(error).__name__}: {error}") from None
    if not hasattr(model, "SerializeToString"):
        raise UsageError(f"an ONNX model is a path, bytes or an onnx.ModelProto, not {type(model).__name__}")
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy


def proto_shape(value: Any) -> list[int]:
    """The extents that a value of a proto declares; -1 where it leaves one open."""
    return [int(dim.dim_value) if dim.HasField("dim_value") else -1 for dim in value.type.tensor_type.shape.dim]


def real_inputs(proto: Any) -> list[Any]:
    """Inputs that are no initialisers."""
    constants = {one.name for one in proto.graph.initializer}
    return [value for value in proto.graph.input if value.name not in constants]


def imported(model: Any, inputs: Mapping[str, Bits], *, intermediates: bool = False) -> Imported:
    """Import the model for inputs of these shapes; Refused says which part the program has no meaning for."""
    proto = proto_of(model_bytes(model, {name: bits.shape for name, bits in inputs.items()}))
    outputs = [value.name for value in proto.graph.output]
    wanted = [*outputs, *(intermediates_of(proto) if intermediates else ())]
    hidden: list[str] = []
    while True:
        try:
            trace, tensors = _recorded(with_outputs(proto, [name for name in wanted if name not in hidden]), inputs)
            break
        except Refused as why:
            shy = re.search(r'place +output "(.*)"', str(why))
            if shy is None or shy[1] in outputs or shy[1] in hidden or shy[1] not in wanted:
                raise
            hidden.append(shy[1])
    steps = [Step(region["nodes"][0], region["operands"], region["results"][0]) for region in trace["regions"]]
    made = {step.result for step in steps}
    return Imported(list(inputs), outputs, dict(zip((name for name in wanted if name not in hidden), trace["outputs"])), hidden,
                    {name: bits for name, bits in tensors.items() if name not in made}, steps,
                    {name: (bits.dtype, bits.shape) for name, bits in tensors.items()})


def _recorded(model: bytes, inputs: Mapping[str, Bits]) -> tuple[dict[str, Any], dict[str, Bits]]:
    """The trace of a run on zeros: what counts is of which steps it consists."""
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        model_path, values, trace_path = (os.path.join(folder, name) for name in ("model.onnx", "values.json", "trace.safetensors"))
        with open(model_path, "wb") as file:
            file.write(model)
        with open(values, "w", encoding="utf-8") as text:
            json.dump({"inputs": {name: [0] * math.prod(bits.shape) for name, bits in inputs.items()}}, text)
        done = subprocess.run([programs.program(), "record", model_path, trace_path, "--forward-only", "--values", values],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Refused((done.stderr or done.stdout).replace(model_path, "the model").strip())
        with open(trace_path, "rb") as file:
            return read_trace(file.read())


def intermediates_of(proto: Any) -> list[str]:
    """List the results of nodes on which the outputs depend, outputs apart, in the model's order."""
    producers = {name: node for node in proto.graph.node for name in node.output if name}
    outputs = [value.name for value in proto.graph.output]
    needed, open_ = set[str](), list(outputs)
    while open_:
        name = open_.pop()
        if name in producers and name not in needed:
            needed.add(name)
            open_ += producers[name].input
    return [name for node in proto.graph.node for name in node.output if name in needed and name not in outputs]


def with_outputs(proto: Any, names: Sequence[str]) -> bytes:
    """The model with these values as its outputs; types and shapes of new ones are left to the reader."""
    import onnx

    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    declared = {value.name: value for value in proto.graph.output}
    del copy.graph.output[:]
    copy.graph.output.extend([declared[name] if name in declared else onnx.ValueInfoProto(name=name) for name in names])
    return bytes(copy.SerializeToString())


def check(model: Any, operands: Sequence[Bits], results: Sequence[Bits], spelling: str, name: str | None) -> Check:
    """The whole model as one check."""
    proto = proto_of(model)
    names = [value.name for value in real_inputs(proto)]
    if len(names) != len(operands):
        raise Misfit(f"the model has {len(names)} inputs ({', '.join(names)}), but {len(operands)} were given")
    given = dict(zip(names, operands))
    found = imported(proto, given)
    if len(found.outputs) != len(results):
        raise Misfit(f"the model has {len(found.outputs)} outputs, but {len(results)} were given")
    places, nodes, outputs = found.region([found.values[one] for one in found.outputs], [])
    tensors = [given[one] if one in given else found.given[one] for one in places]
    return Check(name or proto.graph.name or "model", nodes, tensors, results, spelling, outputs)
