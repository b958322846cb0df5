"""Compiled programs, which do not run as such while they are recorded: they are refused by name."""
from __future__ import annotations

import contextlib
import sys
from typing import Any, Iterator

import torch

from .memory import Refused

EAGER = "its gradients say nothing of the compiled program"


def refuse_compiled() -> None:
    raise Refused(f"a function that torch.compile made ran: while a run is recorded it is eager, so {EAGER}. Check the function that it was made of,"
                  " and compare the compiled one with it; or set torch.compiler.set_stance('force_eager')")


def refuse_scripted() -> None:
    raise Refused("a function that torch.jit.script or torch.jit.trace made ran: its interpreter runs other operations, with formulas of its own for their"
                  " gradients, once it knows the types and shapes. Check the function that it was made of; or set PYTORCH_JIT=0")


class Guards(contextlib.ExitStack):
    """While it is entered, compiled programs are refused as soon as one runs, wherever it is."""

    def __enter__(self) -> "Guards":
        super().__enter__()
        self.is_set = False
        self.watch_frames()
        if not self.is_set:  # torch.compile brings its half of PyTorch with it
            plain = torch.compile

            def compile_and_watch(*args: Any, **kwargs: Any) -> Any:
                found = plain(*args, **kwargs)
                self.watch_frames()
                return found
            self.enter_context(replaced(torch, "compile", compile_and_watch))
        for one in (torch._C.ScriptFunction, torch._C.ScriptMethod):
            self.enter_context(replaced(one, "__call__", lambda *_, **__: refuse_scripted()))
        return self

    def watch_frames(self) -> None:
        frames: Any = sys.modules.get("torch._dynamo.eval_frame")
        if self.is_set or frames is None or not hasattr(frames, "_callback_from_stance"):
            return
        plain = frames._callback_from_stance

        def of_stance(callback: Any) -> Any:
            found = plain(callback)
            if callback not in (None, False) and found is not None:
                refuse_compiled()
            return found
        self.enter_context(replaced(frames, "_callback_from_stance", of_stance))
        self.is_set = True


@contextlib.contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """An attribute is another one for a while."""
    known = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, known)
