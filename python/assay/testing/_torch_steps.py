"""The operations of PyTorch that a function runs, in order, with copies of their results."""
from __future__ import annotations

import pathlib
import sys
from typing import Any, Callable

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from assay._core.arrays import Bits, bits_of
from ._first_operation import Step, Steps

_OUTSIDE = (str(pathlib.Path(__file__).parents[1]), str(pathlib.Path(torch.__file__).parent))
_MOST_BYTES, _MOST_WORDS = 2 << 30, 80
_COPIES = ("clone", "contiguous", "lift_fresh_copy", "_unsafe_view", "_reshape_copy", "_reshape_alias")  # which run or not, as the strides of their operand are
_UNWRITTEN = ("empty", "new_empty", "resize")  # what lies in the memory that they give is accident


class _Recorder(TorchDispatchMode):
    def __init__(self, is_full: bool) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found, self._is_full, self._room = Steps(), is_full, _MOST_BYTES
        self._given: set[int] = set()  # where the memory of results lies
        self._held: list[Any] = []  # that memory, so that nothing else comes to lie there

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        flat = tree_leaves((args, kwargs))
        operands, numbers = ([one for one in flat if isinstance(one, torch.Tensor) == is_tensor] for is_tensor in (True, False))
        leaves = [] if self.found.left_out or not self._is_full else self._leaves(operands)
        result = function(*args, **(kwargs or {}))
        op = function._schema.name.partition("::")[2]
        results = [one for one in tree_leaves(result) if isinstance(one, torch.Tensor)] or [args[i] for i, one in enumerate(function._schema.arguments[:len(args)])
                                                                                           if one.alias_info is not None and one.alias_info.is_write]
        results = [one for one in tree_leaves(results) if isinstance(one, torch.Tensor)]
        is_view = any(one.alias_info is not None and not one.alias_info.is_write for one in function._schema.returns)
        if not is_view and self._is_full and not self.found.left_out:
            self._note(results)
        if results and not is_view and op not in _COPIES and not op.startswith(_UNWRITTEN) and not self.found.left_out:
            file, line = _place()
            node = torch._C._current_autograd_node()
            inside = f"in the backward pass of {node.name()}" if node is not None else ""
            bits = [self._bits(one) if self._is_full else None for one in results]
            self.found.steps.append(Step(op, file, line, inside, bits, [tuple(one.shape) for one in results], leaves, repr(numbers)[:_MOST_WORDS]))
        return result

    def _note(self, tensors: list[torch.Tensor]) -> None:
        for one in tensors:
            try:
                storage = one.untyped_storage()
                self._given.add(storage.data_ptr())
                self._held.append(storage)
            except (RuntimeError, NotImplementedError):
                continue  # it has no memory of its own

    def _leaves(self, operands: list[torch.Tensor]) -> list[tuple[int, Bits]]:
        found = []
        for i, one in enumerate(operands):
            try:
                is_leaf = one.untyped_storage().data_ptr() not in self._given
            except (RuntimeError, NotImplementedError):
                continue
            if is_leaf and (bits := self._bits(one)) is not None:
                found.append((i, bits))
        return found

    def _bits(self, tensor: torch.Tensor) -> Bits | None:
        """A copy; None of what has no bits that can be read, or where there is no room."""
        self._room -= tensor.numel() * tensor.element_size()
        if self._room < 0:
            self.found.left_out = f"later ones were not kept, since all results together have more than {_MOST_BYTES >> 30} GiB"
            return None
        try:
            return bits_of(torch.view_as_real(tensor.detach()) if tensor.is_complex() else tensor.detach(), "a result")
        except (ValueError, RuntimeError, NotImplementedError):
            return None


def _place() -> tuple[str, int]:
    """The line of the program, beneath PyTorch and this package."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if not frame.f_code.co_filename.startswith((*_OUTSIDE, "<frozen")):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return "", 0


def steps_of(call: Callable[[], Any], is_full: bool = True) -> Steps:
    """Record what a call runs. Without `is_full`, only the shapes of results are kept."""
    with _Recorder(is_full) as recorder:
        call()
    found: Steps = recorder.found
    return found


__all__ = ["steps_of"]
