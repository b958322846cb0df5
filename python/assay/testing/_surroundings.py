"""What a Function's forward and backward passes ask of their surroundings: callers, clocks, threads, the environment, random numbers of Python's.

A gradient is to depend on operands alone. The answers are those of the run that was judged, and others elsewhere.
"""
from __future__ import annotations

import datetime
import inspect
import os
import platform
import random
import secrets
import sys
import threading
import traceback
import uuid
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction

from ..torch.outside import APPLY, HERE, TORCH

PASSES = {APPLY, BackwardCFunction.apply.__code__}  # which run the passes of a Function
ASKING = {  # by module: which of its compiled functions ask; None: all
    "time": None, "_random": None, "_thread": {"get_ident", "get_native_id"}, "gc": None, "_socket": None, "_uuid": None,
    "sys": {"_getframe", "_current_frames", "gettrace", "getprofile", "getrefcount", "call_tracing"},
    "posix": {"getpid", "getppid", "uname", "getcwd", "urandom", "getrandom", "getloadavg", "times", "cpu_count"}}
OF_TORCH = {"_len_torch_dispatch_stack", "_len_torch_function_stack", "_get_dispatch_mode", "_get_function_stack_at", "initial_seed", "get_num_threads", "is_anomaly_enabled",
            "is_inference_mode_enabled", "_get_deterministic_algorithms"}
FILES = {one.__file__ for one in (inspect, platform, random, secrets, threading, traceback, uuid)}  # modules whose functions ask
CODES = {torch.initial_seed.__code__, torch.are_deterministic_algorithms_enabled.__code__}
ENVIRONMENT = {os.getenv.__code__, type(os.environ).__getitem__.__code__, type(os.environ).__contains__.__code__, type(os.environ).get.__code__}


class Asked:
    """While it is entered, `found` collects what the passes of Functions ask, and on which lines."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.before: Any = None

    def __enter__(self) -> "Asked":
        self.before = sys.getprofile()
        sys.setprofile(self.look)
        return self

    def __exit__(self, *_: Any) -> None:
        sys.setprofile(self.before)

    def look(self, frame: Any, event: str, what: Any) -> None:
        if event == "c_call" and asks(what):
            self.note(frame, what.__name__)
        elif event == "call" and (frame.f_code.co_filename in FILES or frame.f_code in CODES | ENVIRONMENT):
            self.note(frame.f_back, "the environment" if frame.f_code in ENVIRONMENT else frame.f_code.co_name)

    def note(self, frame: Any, name: str) -> None:
        """Only what the program's own line calls, in a pass of a Function."""
        if frame is None or frame.f_code.co_filename.startswith((HERE, TORCH)) or frame.f_code.co_filename in FILES:
            return
        above = frame
        while above is not None and above.f_code not in PASSES:
            above = above.f_back
        where = f"{name} at {os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
        if above is not None and where not in self.found:
            self.found.append(where)


def asks(what: Any) -> bool:
    """Whether a compiled function tells of its surroundings."""
    name, owner = getattr(what, "__name__", ""), getattr(what, "__self__", None)
    if isinstance(owner, random.Random) or owner in (datetime.datetime, datetime.date):
        return name not in ("seed", "setstate", "getstate", "fromisoformat", "fromtimestamp")
    module = getattr(what, "__module__", None)
    return name in OF_TORCH or module in ASKING and (ASKING[module] is None or name in (ASKING[module] or ()))


__all__ = ["Asked"]
