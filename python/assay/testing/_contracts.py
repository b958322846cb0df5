"""Is a result one that its contract admits?"""
from __future__ import annotations

import dataclasses
import functools
import os
from typing import Any, Callable, Mapping, Sequence

from assay import ops
from assay._core import arguments, execution_models, shapes
from assay._core.arrays import Bits, UnsupportedArray, bits_of
from assay._core.audits import Check, announce, judge, note_raised
from assay._core.gate_reports import Report
from assay._core.vocabulary import attributes_of, completed, leading, row_of
from assay.errors import UsageError, wrong
from ._plans import epsilon_of, row_named


class ContractViolation(AssertionError):
    """A result outside its contract; `report` holds what was found."""

    __module__ = "assay.testing"

    def __init__(self, message: str, report: Report) -> None:
        super().__init__(message)
        self.report = report
        note_raised(report, self)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], dataclasses.replace(self.report, exception=None))


class Declined(Exception):
    """Raised by a kernel that does not take what a probe asks for; the probe does not count."""

    __module__ = "assay.testing"


class NotDecided(AssertionError):
    """Nothing is known of the result: the sets are too wide to say anything, or there is no contract. It is no pass."""

    __module__ = "assay.testing"

    def __init__(self, message: str, report: Report) -> None:
        super().__init__(message)
        self.report = report
        note_raised(report, self)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], dataclasses.replace(self.report, exception=None))


def check(reference: Any, inputs: Any, output: Any, *, attributes: Mapping[str, Any] | None = None, model: str | None = None,
          name: str | None = None) -> Check:
    """The check of `assert_within_contract`, not yet judged."""
    operands = [bits_of(one, f"input {i}") for i, one in enumerate(_several(inputs))]
    results = [bits_of(one, f"output {i}") for i, one in enumerate(_several(output))]
    if attributes is not None and not isinstance(attributes, Mapping):
        raise wrong("attributes", "a mapping from names to values", attributes)
    reference = row_named(reference) if isinstance(reference, str) and not _is_onnx(reference) else reference
    if isinstance(reference, str) and reference in _COMPOSITIONS:
        words = epsilon_of(reference, attributes) if attributes else {}
        return _of_function(functools.partial(_COMPOSITIONS[reference], **words), operands, results, model, name or reference)
    if isinstance(reference, str) and reference.endswith(" backward"):
        raise UsageError("unknown operation", where=reference, why="the product of a gradient has no check of one result",
                         advice=f"audit the kernel: assay.testing.audit_kernel('{reference}', kernel)")
    if isinstance(reference, str) and not _is_onnx(reference):
        return _of_operation(reference, operands, results, dict(attributes or {}), model, name or reference)
    if attributes:
        raise UsageError("attributes= goes with the name of an operation; a reference function states its own attributes")
    if callable(reference) and not hasattr(reference, "SerializeToString"):
        return _of_function(reference, operands, results, model, name or str(getattr(reference, "__name__", "expression")))
    from . import _onnx_models

    return _onnx_models.check(reference, operands, results, spelled(model, operands), name)


def within_contract(reference: Any, inputs: Any, output: Any, *, attributes: Mapping[str, Any] | None = None, model: str | None = None,
                    name: str | None = None) -> Report:
    """As `assert_within_contract`, but gives the report, whatever it says."""
    one = check(reference, inputs, output, attributes=attributes, model=model, name=name)
    report = judge([one])
    announce([one], report)
    return report


def assert_within_contract(reference: Any, inputs: Any, output: Any, *, attributes: Mapping[str, Any] | None = None, model: str | None = None,
                           allow_vacuous: bool = False, name: str | None = None) -> None:
    """Asserts that every element of an output is one that the contract of the reference admits on these inputs. There is no tolerance.

    Args:
        reference: The name of an operation or a composition ("rms norm", "layer norm", "attention"), a function in the words of `assay.ops`, or an ONNX model
            (path, bytes, `onnx.ModelProto`).
        inputs: Arrays of NumPy, torch, JAX, CuPy or anything with DLPack: one or a list.
        output: The result of the code under test: one array or a list.
        attributes: The attributes of an operation.
        model: The promise of the code under test (docs/contracts/execution-models.md): "any-order", "pytorch-cpu", "cuda", "tf32",
            "onnxruntime", perhaps with fields behind it ("any-order moments=welford"), or a whole spelling.
        allow_vacuous: Whether elements whose sets are too wide to tell anything may pass.
        name: The name of the check in reports.

    Raises:
        ContractViolation: An element is outside; the text is the explanation of `assay audit`.
        NotDecided: More than 1 % of the elements are vacuous, or there is no contract.
    """
    __tracebackhide__ = True
    demand(within_contract(reference, inputs, output, attributes=attributes, model=model, name=name), allow_vacuous=allow_vacuous)


def demand(report: Report, *, allow_vacuous: bool = False) -> None:
    """Raises what the report's verdict asks for."""
    __tracebackhide__ = True
    verdict = report.verdict
    if report.passed or (verdict == "vacuous" and arguments.flag("allow_vacuous", allow_vacuous)):
        return
    if verdict == "failed":
        raise ContractViolation(explanation(report), report)
    raise NotDecided(explanation(report), report)


def explanation(report: Report, most: int = 8) -> str:
    """The findings that decide, as the program prints them, and the counts."""
    found = report.failures or [one for one in report.findings if one.kind != "fail" and not one.waiver]
    lines = [one.text for one in found[:most]]
    if len(found) > most:
        lines.append(f"... and {len(found) - most} findings more")
    return "\n".join([*lines, *report.troubles, report.summary()])


def spelled(model: str | None, operands: Sequence[Bits]) -> str:
    """The model's spelling, in the format of the operands."""
    return execution_models.spelling(model, wide=any(one.dtype == "float64" for one in operands))


def _several(arrays: Any) -> list[Any]:
    return list(arrays) if isinstance(arrays, (list, tuple)) else [arrays]


def _is_onnx(reference: str) -> bool:
    return reference.endswith((".onnx", ".onnx.gz")) or os.sep in reference


def _rms_norm(x: Any, weight: Any, *, epsilon: float = 1e-5) -> Any:
    return ops.normalise(x, axes=[-1], epsilon=epsilon, form="root_mean") * weight


def _layer_norm(x: Any, weight: Any, bias: Any, *, epsilon: float = 1e-5) -> Any:
    return ops.normalise(x, axes=[-1], epsilon=epsilon, form="centered") * weight + bias


def _attention(query: Any, key: Any, value: Any, mask: Any = None) -> Any:
    import numpy as np

    rank, size = len(key.shape), ops.apply("sqrt", query.expression.constant(bits_of(np.asarray(query.shape[-1], query.dtype)), ops.Value))
    scores = ops.matmul(query, ops.permute(key, axes=[*range(rank - 2), rank - 1, rank - 2])) / size
    return ops.matmul(ops.softmax(scores, axis=-1) if mask is None else ops.masked_softmax(scores, mask, axis=-1, empty_is_zero=True), value)


# Compositions that a result can be held to by name; the products of gradients need the graph that `audit_kernel` has.
_COMPOSITIONS: dict[str, Callable[..., Any]] = {"rms norm": _rms_norm, "layer norm": _layer_norm, "attention": _attention}


def _of_operation(op: str, operands: list[Bits], results: list[Bits], attributes: dict[str, Any], model: str | None, name: str) -> Check:
    row_of(op)
    if not operands:
        raise shapes.Misfit(f"{op} needs inputs")
    plain = completed(op, attributes_of(op, attributes, len(operands[leading(op, len(operands))].shape)))
    shapes.result_of(op, [one.widened().dtype for one in operands], [one.shape for one in operands], plain)  # or what does not fit
    node: dict[str, Any] = {"op": op, "operands": list(range(len(operands)))}
    if plain:
        node["attributes"] = plain
    if len(results) != 1:
        raise shapes.Misfit(f"{op} has one result, but {len(results)} were given")
    return Check(name, [node], operands, results, spelled(model, operands))


def _of_function(function: Callable[..., Any], operands: list[Bits], results: list[Bits], model: str | None, name: str) -> Check:
    expression, values = ops.traced(function, [(one.widened().dtype, one.shape) for one in operands])
    if len(values) != len(results):
        raise shapes.Misfit(f"{name} gives {len(values)} results, but {len(results)} were given")
    if not expression.nodes:
        raise UnsupportedArray(f"{name} computes nothing: it returns an operand as it is")
    nodes, outputs = expression.region(values)
    everything = [*operands, *expression.captured]
    return Check(name, nodes, everything, results, spelled(model, everything), outputs)

