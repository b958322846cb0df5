"""An ONNX model as a function that ONNX Runtime computes, and the values of its nodes, in order."""
from __future__ import annotations

import os
from typing import Any, Sequence

from assay._core.arrays import Bits, UnsupportedArray, bits_of
from assay.errors import UsageError
from . import _onnx_models
from ._first_operation import Step, Steps


class OnnxFunction:
    """Called with the inputs in the order of the model. ONNX Runtime may fuse nodes then, as in production."""

    def __init__(self, model: Any, threads: int = 0) -> None:
        self._proto, self._threads = _onnx_models.proto_of(model), threads
        self.path = os.fspath(model) if isinstance(model, (str, os.PathLike)) else ""
        self.__name__ = os.path.basename(self.path) or self._proto.graph.name or "model"
        self._names = [one.name for one in _onnx_models.real_inputs(self._proto)]
        self._outputs = [one.name for one in self._proto.graph.output]
        self._session = self._started(self._outputs)

    def _started(self, names: Sequence[str]) -> Any:
        try:
            import onnxruntime
        except ImportError:
            raise UsageError("running models needs the package onnxruntime", advice="pip install onnxruntime") from None
        options = onnxruntime.SessionOptions()
        options.log_severity_level, options.intra_op_num_threads = 3, self._threads
        return onnxruntime.InferenceSession(_onnx_models.with_outputs(self._proto, names), options, providers=["CPUExecutionProvider"])

    def _fed(self, inputs: Sequence[Any]) -> dict[str, Any]:
        if len(inputs) != len(self._names):
            raise UsageError("another number of inputs than the model has", where="inputs", why=f"the model has {', '.join(self._names)}", advice="give one array for each")
        return dict(zip(self._names, inputs))

    def __call__(self, *inputs: Any) -> Any:
        return self._session.run(None, self._fed(inputs))

    def with_threads(self, count: int) -> OnnxFunction:
        """The same model in a session with that many threads."""
        return OnnxFunction(self.path or self._proto, count)

    def steps(self, *inputs: Any) -> Steps:
        """The results of all nodes, each of which is an output then, so that ONNX Runtime fuses none of them."""
        names = [*_onnx_models.intermediates_of(self._proto), *self._outputs]
        found = dict(zip(names, self._started(names).run(None, self._fed(inputs))))
        steps = []
        for node in self._proto.graph.node:
            results = [_read(found[name]) for name in node.output if name in found]
            if results:
                shapes = [one.shape if one is not None else () for one in results]
                steps.append(Step(node.op_type, inside=f"'{node.name or node.output[0]}'", results=results, shapes=shapes))
        return Steps(steps)


def _read(value: Any) -> Bits | None:
    try:
        return bits_of(value, "a result")
    except UnsupportedArray:
        return None


__all__ = ["OnnxFunction"]
