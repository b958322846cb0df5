"""Names of tensors that a function reads besides its inputs: those of the modules that it closes over, and of its variables."""
from __future__ import annotations

import functools
import inspect
import itertools
from typing import Any, Iterable, Iterator

import torch

MOST_HELD = 64  # elements of a list or dict that are named


def modules_of(function: Any) -> list[torch.nn.Module]:
    """The modules that a function is, is a method of, closes over, or reads as a global."""
    return list({id(one): one for one in _modules_of(function)}.values())


def tensors_of(function: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors that a function closes over or reads as globals, by the names of the variables, and those in lists and dicts there."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isfunction(plain := getattr(function, "__func__", function)):
        read = inspect.getclosurevars(plain)
        for name, one in [*read.nonlocals.items(), *read.globals.items()]:
            held = one.items() if isinstance(one, dict) else enumerate(one) if isinstance(one, (list, tuple)) else ()
            yield from ((where, t) for where, t in [(name, one), *((f"{name}[{key}]", t) for key, t in itertools.islice(held, MOST_HELD))] if isinstance(t, torch.Tensor))


def _modules_of(function: Any) -> Iterator[torch.nn.Module]:
    while isinstance(function, functools.partial):
        yield from (one for one in [*function.args, *function.keywords.values()] if isinstance(one, torch.nn.Module))
        function = function.func
    own = getattr(function, "__self__", None)
    yield from (one for one in (function, own) if isinstance(one, torch.nn.Module))
    if inspect.isfunction(plain := getattr(function, "__func__", function)):
        read = inspect.getclosurevars(plain)
        yield from (one for one in [*read.nonlocals.values(), *read.globals.values()] if isinstance(one, torch.nn.Module))


class Names:
    """The names that modules have for their parameters, buffers and parts, and a function for its variables."""

    def __init__(self, modules: Iterable[torch.nn.Module] = (), function: Any = None) -> None:
        self.labels: dict[int, str] = {}
        self.paths: dict[int, str] = {}
        for module in modules:
            for name, one in [*module.named_parameters(), *module.named_buffers()]:
                if one.layout == torch.strided:
                    self.labels.setdefault(one.untyped_storage()._cdata, name)
            for path, part in module.named_modules():
                self.paths.setdefault(id(part), path)
        for name, one in tensors_of(function):
            if one.layout == torch.strided:
                self.labels.setdefault(one.untyped_storage()._cdata, name)

    def of(self, tensor: torch.Tensor) -> str:
        """The name of a tensor; empty where no module has it."""
        return self.labels.get(tensor.untyped_storage()._cdata, "") if tensor.layout == torch.strided else ""

    def give(self, run: Any) -> None:
        """Let a recorder use them, which has names of its own."""
        run.labels, run.paths = self.labels | run.labels, self.paths | run.paths
