"""The operations that a function runs, in order, with their results."""
from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Operations(TorchDispatchMode):
    """Names such as "index_copy", and first results where these are floats; else None."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names, self.found = list[str](), list[Any]()
        self.of_integers = set[str]()  # the names of those whose first operand is a tensor of integers

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = function(*args, **(kwargs or {}))
        one = found[0] if isinstance(found, (tuple, list)) and found else found
        name = function._schema.name.partition("::")[2].rstrip("_") + (" of a number" if function._schema.overload_name == "value" else "")
        self.names.append(name)
        if args and isinstance(args[0], torch.Tensor) and not args[0].is_floating_point() and not args[0].is_complex():
            self.of_integers.add(name)
        self.found.append(one.detach().clone() if isinstance(one, torch.Tensor) and one.is_floating_point() else None)
        return found


__all__ = ["Operations"]
