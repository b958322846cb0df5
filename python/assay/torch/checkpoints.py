"""Checkpoints (`use_reentrant=False`): the backward pass computes their forward pass again, and the n-th of equal operations is the n-th again.

Two operations may be the same on the same operands, and have two nodes all the same, with a cotangent each. What a formula reads of them is told apart by
the order in which the forward pass of their checkpoint ran them.
"""
from __future__ import annotations

import collections
import contextlib
import hashlib
import weakref
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Mapping, Sequence

import torch
import torch.utils.checkpoint as pytorch
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._pytree import tree_flatten, tree_leaves

from .compiled import replaced
from .memory import PENDING, alike, bits, held, place

FORWARD, AGAIN = "_checkpoint_hook", "_recomputation_hook"  # PyTorch's contexts of a checkpoint's forward pass, and of one that is computed again


@dataclass
class Step:
    """The values that one operation of a checkpoint's forward pass gave, and the number of its node."""

    results: list[int | None]
    number: int | None


Steps = dict[str, list[Step]]  # by what was computed, in order


class Frames:
    """The forward passes of checkpoints, and those that are computed again now."""

    def __init__(self) -> None:
        self.steps: weakref.WeakKeyDictionary[Any, Steps] = weakref.WeakKeyDictionary()
        self.running: list[Steps] = []
        self.repeated: list[tuple[Steps, collections.Counter[str]]] = []
        self.others: dict[str, None] = {}  # operations that were computed again, and ran otherwise than in the forward pass
        self.is_packing = False  # whether a tensor is saved for a node of the forward pass
        self.is_rerun = False  # whether a node runs once more, which PyTorch does not expect
        self.unpacked: dict[Any, Any] = {}  # what the node was given that ran last

    def keep(self, key: str, results: Sequence[int | None], number: int | None = None) -> None:
        for steps in self.running:
            steps.setdefault(key, []).append(Step(list(results), number))

    def find(self, key: str) -> Step | None:
        """The step of the forward pass, if one is computed again: of equal ones the next."""
        steps, times = self.repeated[-1] if self.repeated else ({}, collections.Counter())
        if key not in steps:
            return None
        times[key] += 1
        return steps[key][min(times[key], len(steps[key])) - 1]

    @property
    def are_watched(self) -> bool:
        return bool(self.running or self.repeated)

    @contextlib.contextmanager
    def forward(self, frame: Any) -> Iterator[None]:
        self.running.append(self.steps.setdefault(frame, {}))
        try:
            yield
        finally:
            self.running.pop()

    @contextlib.contextmanager
    def again(self, frame: Any) -> Iterator[None]:
        """It begins as if no checkpoint's forward pass ran."""
        running, self.running = self.running, []
        self.repeated.append((self.steps.get(frame, {}), collections.Counter()))
        try:
            yield
        finally:
            self.repeated.pop()
            self.running = running

    @contextlib.contextmanager
    def rerun(self) -> Iterator[None]:
        """The node that ran last runs again, on what it saved."""
        self.is_rerun = True
        try:
            yield
        finally:
            self.is_rerun = False

    @contextlib.contextmanager
    def watched(self, run: Any) -> Iterator[None]:
        """PyTorch tells where checkpoints begin and end, and what is saved that is computed again: it may stop before anything reads it."""
        hooks = [one for one in (FORWARD, AGAIN) if isinstance(getattr(pytorch, one, None), type)]
        with contextlib.ExitStack() as stack:
            for one in hooks if len(hooks) == 2 else []:
                stack.enter_context(replaced(pytorch, one, telling(getattr(pytorch, one), self, run.note_saved if one == AGAIN else None)))
            stack.enter_context(replaced(saved_tensors_hooks, "__init__", of_program(run, saved_tensors_hooks.__init__, tuple(getattr(pytorch, one) for one in hooks))))
            yield


def telling(plain: Any, frames: Frames, saves: Callable[[torch.Tensor], None] | None) -> Any:
    """PyTorch's context, which tells where it begins and ends."""
    is_again = saves is not None

    class Telling(plain):  # type: ignore[misc]
        pack_hook: Any
        unpack_hook: Any

        def __init__(self, frame: Any, *args: Any) -> None:
            super().__init__(frame, *args)
            found = frame() if is_again else frame
            self.told = frames.again(found) if is_again else frames.forward(found)
            pack, unpack = self.pack_hook, self.unpack_hook

            def unpack_once(held: Any) -> Any:
                if frames.is_rerun and held in frames.unpacked:
                    return frames.unpacked[held]
                frames.unpacked[held] = tensor = unpack(held)
                return tensor

            def pack_and_tell(x: Any) -> Any:
                frames.is_packing = is_again
                try:
                    if saves is not None:
                        saves(x)
                    return pack(x)
                finally:
                    frames.is_packing = False
            self.pack_hook, self.unpack_hook = pack_and_tell, unpack if is_again else unpack_once

        def __enter__(self) -> Any:
            self.told.__enter__()
            return super().__enter__()

        def __exit__(self, *error: Any) -> Any:
            found = super().__exit__(*error)
            self.told.__exit__(None, None, None)
            return found
    return Telling


def of_program(run: Any, plain: Callable[..., None], known: tuple[type, ...]) -> Callable[..., None]:
    """Return the constructor of hooks for saved tensors: those of the program tell what they copy. `known` are PyTorch's own, for checkpoints."""
    def make(self: Any, pack: Callable[[Any], Any], unpack: Callable[[Any], Any]) -> None:
        plain(self, *((pack, unpack) if isinstance(self, known) else (copying(run, pack), copying(run, unpack))))
    return make


def copying(run: Any, hook: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The hook; copies that it makes of a tensor hold the same value."""
    def call(given: Any) -> Any:
        tensors = [one for one in tree_leaves(given) if isinstance(one, torch.Tensor) and one.numel()]
        if len(tensors) != 1:
            return hook(given)
        with run.aside(), torch.enable_grad():  # as the operation that reads it
            value = run.value(tensors[0])
        start, last = len(run.regions), run.last_plain
        found = hook(given)
        values, fresh = run.memory.values, run.regions[start:]
        if any(values[v].kind != values[value].kind for one in fresh for v in one.results):
            return found  # it saves another type, perhaps fewer digits: what the operation reads is taken as not known
        run.last_plain = last  # it is no part of a Function
        shape = list(values[value].tensor.shape)
        if fresh and all(node["op"] == "reshape" and node["attributes"]["shape"] == shape for one in fresh for node in one.nodes):
            with run.aside():
                for one in tree_leaves(found):
                    if isinstance(one, torch.Tensor) and one.dtype == tensors[0].dtype and one.shape == tensors[0].shape and alike(values[value].tensor, one):
                        run.memory.bind(one, None, value)
        return found
    return call


def key_of(function: Any, given: Any, values: Mapping[int, int | None], base: Any) -> str:
    """An operation, the values that it reads, as they lie in memory, and its constants."""
    flat, spec = tree_flatten(given)
    said = [f"{values.get(id(one))} {place(one)}" if isinstance(one, torch.Tensor) else repr(one) for one in flat]
    return f"{function} {said} {spec} {base[:2] if base else ''}"


def key_of_constant(tensor: torch.Tensor) -> str:
    return f"constant {tensor.dtype} {tuple(tensor.shape)} {hashlib.sha256(bits(tensor)).hexdigest()}"


def kept(run: Any, call: Any, key: str, results: Sequence[torch.Tensor | None]) -> None:
    """Keep what an operation of a checkpoint's forward pass gave."""
    if not run.frames.running or not key:
        return
    if call.base is not None:
        found = list(run.memory.block(call.target).places.get(call.base[0], {}).values())[-1:]
    else:
        marks = [None if one is None else run.memory.newest(one) for one in results]
        found = [None if one is None else one[1] for one in marks]
    run.frames.keep(key, found, call.number)


def repeated(run: Any, call: Any, key: str, results: Sequence[torch.Tensor | None]) -> bool:
    """Whether the forward pass of a checkpoint is computed again, and the operation gave what it gave there: then its results are the same values."""
    step = run.frames.find(key) if key else None
    if step is None:
        return False
    tensors = [held(run.memory.block(call.target), call.base[0])] if call.base is not None else results
    values = run.memory.values
    if len(step.results) != len(tensors) or any((v is None) != (one is None) for v, one in zip(step.results, tensors)):
        return False
    pairs = [(v, one) for v, one in zip(step.results, tensors) if v is not None and one is not None]
    if any(not alike(values[v].tensor, one) for v, one in pairs):
        return False
    if call.target is not None:
        run.memory.overwrite(call.target, keeps=call.base is not None or torch.is_grad_enabled())
    for v, one in pairs:
        is_noted = call.number is not None and (one.is_floating_point() or one.is_complex())
        run.memory.bind(one, None if not is_noted else call.number if call.base is None else PENDING, v)
    if call.number is not None and step.number in run.made:
        run.made.setdefault(call.number, run.made[step.number])
    return True


__all__ = ["Frames", "kept", "key_of", "key_of_constant", "repeated"]
