"""Where functions stand: file and first line, for reports."""
from __future__ import annotations

import functools
import inspect
from typing import Any

Place = tuple[str, int]
NOWHERE: Place = ("", 1)


def place_of(function: Any) -> Place:
    """The file and line of a function, of what it wraps, or of the class whose method it is (`Square.apply`); NOWHERE for what is compiled."""
    while isinstance(function, functools.partial):
        function = function.func
    owner = getattr(function, "__self__", None)
    is_inherited = inspect.isclass(owner) and getattr(function, "__module__", "") != owner.__module__  # `Square.apply` is written in PyTorch
    for one in (owner if is_inherited else function, owner, type(function)):
        if one is None or getattr(one, "__module__", "") in ("builtins", "functools"):
            continue
        try:
            found = inspect.unwrap(one)
            path = inspect.getsourcefile(found)
            if path:
                lines, first = inspect.getsourcelines(found)
                above = next((i for i, line in enumerate(lines) if line.lstrip().startswith(("def ", "async def ", "class "))), 0)  # decorators
                return path, max(first, 1) + above
        except (OSError, TypeError, ValueError):
            continue
    return NOWHERE
