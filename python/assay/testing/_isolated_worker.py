"""The process of an isolated kernel: gets operands, calls the kernel, and gives back what it returned. Nothing that this side says is trusted."""
from __future__ import annotations

import ctypes
import importlib.util
import inspect
import json
import math
import mmap
import os
import pathlib
import pickle
import resource
import signal
import socket
import sys
from typing import Any, Sequence

import numpy as np

from assay._core.arrays import bits_of
from ._isolated import shared
from ._memory import Library, NumPy, Torch

_MOST_WORDS = 2000
_PR_SET_PDEATHSIG = 1  # of Linux: this process ends with its parent


def main(file: str, path: str, function: str, memory: str, arrays: str, device: str) -> None:
    """Answers requests until the other side closes the connection."""
    connection = socket.socket(fileno=int(file))
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if int(memory):
        resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
    try:
        worker = _Worker(_loaded(path, function), Torch(device) if arrays == "torch" else NumPy())
        begun = worker.described()
    except BaseException as why:
        _say(connection, _raised(why))
        return
    _say(connection, begun)
    while True:
        text, files, _, _ = socket.recv_fds(connection, 1 << 20, 250)
        if not text:
            return
        request, released = pickle.loads(text)
        try:
            found, results = worker.answer(request, files, released)
        except BaseException as why:
            found, results = _raised(why), []
        _say(connection, found, results)
        for one in (*files, *results):
            os.close(one)


def _say(connection: socket.socket, found: dict[str, Any], files: Sequence[int] = ()) -> None:
    socket.send_fds(connection, [json.dumps(found).encode()], list(files))


def _raised(why: BaseException) -> dict[str, Any]:
    return {"raised": [f"{one.__module__}.{one.__qualname__}"[:200] for one in type(why).__mro__[:20]], "words": str(why)[:_MOST_WORDS]}


def _loaded(path: str, function: str) -> Any:
    sys.path.insert(0, str(pathlib.Path(path).parent))
    name = pathlib.Path(path).stem
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no file of Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return getattr(module, function)


class _Worker:
    def __init__(self, kernel: Any, library: Library) -> None:
        self._kernel, self._library, self._kept = kernel, library, dict[int, list[Any]]()

    def described(self) -> dict[str, Any]:
        """The line and the parameters of the kernel, where they can be told."""
        found: dict[str, Any] = {}
        try:
            found["parameters"] = [(one.name, one.kind.name, one.default is not one.empty) for one in inspect.signature(self._kernel).parameters.values()]
            found["line"] = inspect.getsourcelines(inspect.unwrap(self._kernel))[1]
        except (TypeError, ValueError, OSError):
            pass
        return found

    def answer(self, request: Any, files: list[int], released: list[int]) -> tuple[dict[str, Any], list[int]]:
        for call in released:
            self._kept.pop(call, None)
        return (self._call(files, *request[1:]), []) if request[0] == "call" else self._read(*request[1:])

    def _call(self, files: list[int], call: int, operands: list[Any], outputs: list[Any], is_list: bool, attributes: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        placed = []
        for file, (kind, dtype, shape, strides, first) in zip(files, [*operands, *outputs]):
            flat: Any = np.frombuffer(mmap.mmap(file, 0), kind)
            placed.append((flat, *self._library.view(flat, dtype, shape, strides, first)))
        for shape, dtype, round_ in results:
            self._library.spoil(shape, dtype, round_)
        given, handed = [one[1] for one in placed[:len(operands)]], [one[1] for one in placed[len(operands):]]
        with np.errstate(all="ignore"):  # probes overflow on purpose
            returned = self._kernel(*given, **attributes, **({"out": handed if is_list else handed[0]} if outputs else {}))
        for flat, _, read in placed:
            if (now := read()) is not flat and not np.shares_memory(now, flat):  # it lies on a device
                flat[...] = now
        several = isinstance(returned, (tuple, list)) and len(results) > 1
        items = [] if outputs else list(returned) if several else [returned]
        self._kept[call] = items
        return {"several": several, "items": [None if one is None else _unreadable(one) for one in items]}

    def _read(self, call: int, item: int) -> tuple[dict[str, Any], list[int]]:
        found = bits_of(self._kept[call][item], "the result")
        file, memory = shared(len(found.data))
        memory[:len(found.data)] = found.data
        return {"dtype": found.dtype, "shape": found.shape, "size": math.prod(found.shape)}, [file]


def _unreadable(one: Any) -> str:
    """Why a result is no array; empty where it is one."""
    try:
        bits_of(one, "the result")
    except ValueError as why:
        return str(why)[:_MOST_WORDS]
    return ""
