"""Bits as a verdict: has the same row in other company the same bits, and do runs, thread counts and other ways of computing agree?"""
from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import sys
from typing import Any, Callable, Iterator, Mapping, Sequence

import numpy as np

from assay._core import arguments, places
from assay._core.arrays import Bits, bits_of
from assay._core.audits import announce
from assay._core.gate_reports import Case, Finding, Report, counted
from assay.errors import UsageError, wrong
from ._contracts import ContractViolation
from ._first_operation import Difference, Rows, Steps, first_difference, words_of
from ._onnx_steps import OnnxFunction

_SIZES = (1, 2, 3, 5, 8, 17, 64, 129)  # of batches, at which libraries choose other kernels
_MOST_ALONE, _SHOWN, _CALLS = 8, 4, 5
_WORDS = {"bits.run": "another call", "bits.rows": "other company", "bits.threads": "another number of threads", "bits.way": "another way"}


def assert_same_bits(function: Any, inputs: Sequence[Any], *, batch: Sequence[int] = (0,), runs: int = 3, threads: Sequence[int] = (),
                     ways: Mapping[str, Callable[..., Any]] | None = None, raises: bool = True) -> Report:
    """Asserts that the bits of each result depend on its operands alone. Rows that differ are named, with the first element that does.

    If PyTorch computed the results, both ways are run once more and recorded: the report names the first operation whose result differs, with its line. Of an
    ONNX model, the report names the first node.

    Args:
        function: Called with the inputs; returns one array or several. An ONNX model (a path, bytes or a ModelProto) is run by ONNX Runtime on the CPU.
        inputs: Arrays of NumPy, torch or JAX.
        batch: Positions of inputs whose first axis is the batch; the first axis of every result is the batch then. Each row is computed again alone, in smaller
            and larger batches, in another order and beside copies of itself. () leaves that out.
        runs: How often the function is called on the same inputs.
        threads: Numbers of threads to compare, such as (1, 2, 4): those of PyTorch on the CPU, and of ONNX Runtime for an ONNX model.
        ways: Other functions that have to give the same bits, such as {"split of K in 4": f}.
        raises: Whether a verdict other than passed raises; otherwise only the report says so.

    Returns:
        The report, with a case for each question.

    Raises:
        ContractViolation: Bits differ.
    """
    __tracebackhide__ = True
    function = OnnxFunction(function) if _is_model(function) else arguments.function("function", function)
    arguments.whole("runs", runs, 1, 1000), arguments.flag("raises", raises)
    given, rows = list(inputs), _rows(inputs, batch)
    base = _results(function, given)
    if rows is not None and any(not one.shape or one.shape[0] != rows for one in base):
        raise UsageError("no batch in a result", where="batch", why=f"the inputs have {counted(rows, 'row')}, and the results the shapes {[list(one.shape) for one in base]}",
                         advice="return results whose first axis is that of the batch, or give batch=()")
    asked: dict[str, Iterator[_Way]] = {"bits.run": _repeated(function, given, runs), "bits.rows": _in_company(function, given, batch, rows),
                                        "bits.threads": _with_threads(function, given, threads), "bits.way": _otherwise(given, ways or {})}
    file, line = (function.path, 1) if isinstance(function, OnnxFunction) else places.place_of(function)
    name = str(getattr(function, "__name__", "function"))
    cases = []
    for rule, every in asked.items():
        case, way = _case(rule, name, base, every)
        if case is not None:
            cases.append(dataclasses.replace(case, file=file, line=line))
        if case is not None and way is not None:
            _tell(case.findings[0], _parting(function, given, batch, rows, way, rule == "bits.run"))
    report = Report(cases, title=f"same bits of {name}")
    report.text = "\n".join([*(one.text for one in report.findings), report.summary()])
    announce([], report)
    if raises and not report.passed:
        raise ContractViolation(report.text, report)
    return report


@dataclasses.dataclass
class _Way:
    """Results that have to have the bits of the first ones: of which of their rows, or of all."""

    words: str
    results: Sequence[Bits]
    again: functools.partial[Any]  # computes them once more
    rows: np.ndarray | None = None


def _rows(inputs: Sequence[Any], batch: Sequence[int]) -> int | None:
    if not isinstance(batch, (list, tuple)) or any(not isinstance(i, int) or isinstance(i, bool) or not 0 <= i < len(inputs) for i in batch):
        raise wrong("batch", f"positions of the {counted(len(inputs), 'input')}, such as (0,)", batch)
    sizes = {bits_of(inputs[i]).shape[:1] for i in batch}
    if len(sizes) > 1 or () in sizes:
        raise wrong("batch", "positions of inputs whose first axes are equally long", batch)
    return sizes.pop()[0] if sizes else None


def _results(function: Callable[..., Any], given: Sequence[Any]) -> list[Bits]:
    found = function(*given)
    return [bits_of(one, f"result {i}") for i, one in enumerate(found if isinstance(found, (list, tuple)) else [found])]


def _repeated(function: Callable[..., Any], given: Sequence[Any], runs: int) -> Iterator[_Way]:
    for i in range(1, runs):
        yield _Way(f"call {i + 1} on the same inputs", _results(function, given), functools.partial(function, *given))


def _in_company(function: Callable[..., Any], given: Sequence[Any], batch: Sequence[int], rows: int | None) -> Iterator[_Way]:
    if not rows:
        return
    every = np.arange(rows)
    chosen = np.unique(np.linspace(0, rows - 1, min(rows, _MOST_ALONE)).astype(int))
    company = {f"row {row} alone": every[row:row + 1] for row in chosen}
    company |= {f"the first {counted(size, 'row')}": every[:size] for size in _SIZES if size < rows}
    company |= {"the rows in reversed order": every[::-1], "the rows twice": np.tile(every, 2)}
    company |= {f"a batch of {size}": np.arange(size) % rows for size in _SIZES if size > rows}
    company |= {f"row {row} beside copies of itself": np.full(rows, row) for row in chosen[:2]}
    for words, taken in company.items():
        some = _taken(given, batch, taken)
        yield _Way(words, _results(function, some), functools.partial(function, *some), taken)


def _taken(given: Sequence[Any], batch: Sequence[int], rows: np.ndarray) -> list[Any]:
    return [one[rows.copy()] if i in batch else one for i, one in enumerate(given)]


@contextlib.contextmanager
def _threads(count: int) -> Iterator[None]:
    torch = sys.modules["torch"]
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _with_threads(function: Callable[..., Any], given: Sequence[Any], threads: Sequence[int]) -> Iterator[_Way]:
    if isinstance(function, OnnxFunction):
        for count in threads:
            other = function.with_threads(arguments.whole("threads", count, 1, 4096))
            yield _Way(counted(count, "thread"), _results(other, given), functools.partial(other, *given))
        return
    if threads and "torch" not in sys.modules:
        raise UsageError("threads= has no effect", where="threads", why="PyTorch is not imported", advice="for other libraries compare functions by ways=")
    for count in threads:
        with _threads(arguments.whole("threads", count, 1, 4096)):
            found = _results(function, given)
        yield _Way(f"{counted(count, 'thread')}", found, functools.partial(_with_count, count, function, *given))


def _with_count(count: int, function: Callable[..., Any], *given: Any) -> Any:
    with _threads(count):
        return function(*given)


def _otherwise(given: Sequence[Any], ways: Mapping[str, Callable[..., Any]]) -> Iterator[_Way]:
    for words, function in ways.items():
        yield _Way(str(words), _results(arguments.function("ways", function), given), functools.partial(function, *given))


def _case(rule: str, name: str, base: Sequence[Bits], every: Iterator[_Way]) -> tuple[Case | None, _Way | None]:
    """One question, nothing where it was not asked; and the way of its first finding."""
    case, is_asked, first = Case(_WORDS[rule], name), False, None
    for way in every:
        is_asked, known = True, len(case.findings)
        for i, wanted in enumerate(base):
            found = way.results[i] if i < len(way.results) else None
            rows = way.rows
            if found is None or found.dtype != wanted.dtype or found.shape != ((len(rows), *wanted.shape[1:]) if rows is not None else wanted.shape):
                case.failed += 1
                what = "is missing" if found is None else f"is {found.dtype} {list(found.shape)}"
                case.findings.append(Finding("fail", rule, f"result {i}", f"{way.words}: result {i} {what}, and the first one {wanted.dtype} {list(wanted.shape)}"))
                continue
            expected = wanted.carrier() if rows is None else wanted.carrier()[rows]
            differs = words_of(expected) != words_of(found.carrier())
            case.failed, case.passed = case.failed + int(differs.sum()), case.passed + int(differs.size - differs.sum())
            if differs.any():
                case.findings.append(_finding(rule, way, i, expected, found, differs))
        first = way if first is None and not known and case.findings else first
    return case if is_asked else None, first


def _parting(function: Callable[..., Any], given: Sequence[Any], batch: Sequence[int], rows: int | None, way: _Way, is_call: bool) -> Difference | None:
    """Where the runs part, if PyTorch or ONNX Runtime computes them: both are recorded, and compared step by step."""
    if not isinstance(function, OnnxFunction) and "torch" not in sys.modules:
        return None
    is_model, found, taken = isinstance(function, OnnxFunction), None, None if way.rows is None or rows is None else Rows(rows, way.rows)
    try:
        for _ in range(_CALLS if is_call else 1):  # calls that differ do so now and then
            before = _steps(function, given)
            if before is None or not before.steps:
                return None
            is_as_long = taken is not None and len(taken.taken) == taken.count
            doubled = _steps(function, _taken(given, batch, np.tile(np.arange(taken.count), 2)), is_full=False) if taken is not None and is_as_long else None
            after = _steps(way.again.func, way.again.args)
            if after is None:
                return None
            found = first_difference(before, after, taken, doubled, "node" if is_model else "operation")
            if found.json["kind"] != "none":
                break
    except Exception as why:  # whatever a program raises when it is watched
        return Difference(f"the runs could not be recorded: {type(why).__name__}: {why}", {"kind": "none", "of": 0})
    if found is not None and is_model:
        found.text += ". All values were outputs of the model for this, so that ONNX Runtime fused no nodes"
    return found


def _steps(function: Callable[..., Any], given: Sequence[Any], is_full: bool = True) -> Steps | None:
    """Record what a function runs on inputs. A function that is no ONNX model is recorded only if PyTorch is imported."""
    if isinstance(function, OnnxFunction):
        return function.steps(*given)
    if "torch" not in sys.modules:
        return None
    from ._torch_steps import steps_of

    return steps_of(functools.partial(function, *given), is_full)


def _is_model(function: Any) -> bool:
    return isinstance(function, (str, bytes, os.PathLike)) or hasattr(function, "SerializeToString")


def _tell(finding: Finding, difference: Difference | None) -> None:
    if difference is not None:
        finding.details.append(difference.text)
        finding.first = {**(finding.first or {}), "operation": difference.json}


def _finding(rule: str, way: _Way, result: int, expected: np.ndarray, found: Bits, differs: np.ndarray) -> Finding:
    at = tuple(int(one) for one in np.argwhere(differs)[0])
    lines = np.unique(np.nonzero(differs)[0]) if differs.ndim else np.zeros(0, int)
    own = np.unique(way.rows[lines] if way.rows is not None else lines)
    shown = ", ".join(map(str, own[:_SHOWN])) + (f" and {len(own) - _SHOWN} more" if len(own) > _SHOWN else "")
    place = (int(way.rows[at[0]]), *at[1:]) if way.rows is not None else at
    before = Bits(found.dtype, (), np.ascontiguousarray(expected[at]).tobytes()).numpy().item()
    after = found.numpy()[at].item()
    rows = f" in {'row' if len(own) == 1 else 'rows'} {shown}" if differs.ndim else ""
    message = f"{way.words}: {counted(int(differs.sum()), 'element')} of result {result} {'has' if differs.sum() == 1 else 'have'} other bits{rows}"
    detail = f"first at {list(place)}: {before!r}, and {after!r} there"
    return Finding("fail", rule, f"result {result}", message, [detail], int(differs.sum()), first={"at": list(place), "expected": before, "received": after, "rows": own.tolist()})


__all__ = ["assert_same_bits"]
