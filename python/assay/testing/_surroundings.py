"""Questions that a Function's passes ask of their surroundings: callers, clocks, threads, files, the environment, autocast, random numbers of Python's.

A gradient is to depend on operands alone. The answers are those of the run that was judged, and others elsewhere. So are numbers that a Function keeps
and that grow from call to call: a count may reach any threshold later.
"""
from __future__ import annotations

import builtins
import collections
import contextvars
import datetime
import dis
import functools
import genericpath
import glob
import importlib
import inspect
import io
import itertools
import locale
import logging
import multiprocessing.process
import operator
import os
import pathlib
import platform
import random
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import traceback
import types
import uuid
from typing import Any, Iterator

import numpy
import torch
from torch.autograd.function import BackwardCFunction

from ..torch.outside import APPLY, HERE, TORCH

PASSES = {APPLY, BackwardCFunction.apply.__code__}  # which run the passes of a Function
ASKING = {  # by module: which of its compiled functions ask; None: all
    "time": None, "_random": None, "_thread": {"get_ident", "get_native_id"}, "gc": None, "_socket": None, "_uuid": None, "resource": None, "_signal": None, "signal": None, "_tracemalloc": None, "_weakref": {"getweakrefcount", "getweakrefs"}, "_io": {"open", "open_code"}, "io": {"open", "open_code"},
    "builtins": {"id", "eval", "exec", "compile", "globals", "input", "__import__"},
    "sys": {"_getframe", "_current_frames", "gettrace", "getprofile", "getrefcount", "getsizeof", "call_tracing", "getswitchinterval", "getrecursionlimit", "getallocatedblocks"},
    "posix": {"getpid", "getppid", "uname", "getcwd", "urandom", "getrandom", "getloadavg", "times", "cpu_count", "stat", "lstat", "access", "listdir", "scandir", "open", "getuid",
              "sched_getaffinity", "sysconf", "get_terminal_size", "isatty", "readlink"}}
OF_TORCH = {"_len_torch_dispatch_stack", "_len_torch_function_stack", "_get_dispatch_mode", "_get_function_stack_at", "initial_seed", "get_num_threads", "get_num_interop_threads",
            "is_anomaly_enabled", "is_inference_mode_enabled", "_get_deterministic_algorithms", "is_autocast_enabled", "is_autocast_cpu_enabled", "is_autocast_cache_enabled",
            "get_autocast_dtype", "get_autocast_cpu_dtype", "get_autocast_gpu_dtype", "get_default_dtype", "_is_any_autocast_enabled", "_get_mkldnn_enabled", "_get_cudnn_enabled",
            "_get_float32_matmul_precision", "get_default_device", "_cuda_getDeviceCount", "_current_graph_task_id", "_get_sequence_nr", "_sequence_nr", "_profiler_enabled",
            "_is_tracing", "_get_tracing_state", "_dispatch_keys", "_top_saved_tensors_default_hooks", "is_batchedtensor", "is_gradtrackingtensor", "is_functionaltensor",
            "is_functorch_wrapped_tensor", "maybe_get_level", "maybe_get_bdim", "maybe_current_level", "peek_interpreter_stack", "_dispatch_tls_is_dispatch_key_included"}
QUESTIONS = ("is_", "are_", "get_", "has_", "show", "parallel_info")  # how names of functions begin that ask
FILES = {genericpath.exists.__code__.co_filename} | {one.__file__ for one in (glob, importlib, inspect, locale, pathlib, platform, random, multiprocessing.process, secrets, shutil, subprocess, tempfile, threading, traceback, uuid)}  # whose functions ask
PURE = {"cast", "Path", "PurePath", "__new__", "__init__"}  # of these modules
CODES = {one.__code__ for one in (torch.initial_seed, torch.are_deterministic_algorithms_enabled, torch.cuda.is_available, torch.get_float32_matmul_precision,
                                  torch.cuda.device_count, torch.get_default_device, torch.compiler.is_compiling, logging.Logger.isEnabledFor, logging.Logger.getEffectiveLevel)} | {torch.jit._trace.is_tracing.__code__}
ENVIRONMENT = {os.getenv.__code__, type(os.environ).__getitem__.__code__, type(os.environ).__contains__.__code__, type(os.environ).get.__code__}
OF_SYS = ("modules", "argv", "orig_argv", "path", "flags", "meta_path", "path_hooks", "path_importer_cache", "stdin", "ps1")
LIVE = {id(getattr(sys, name)): f"sys.{name}" for name in OF_SYS if hasattr(sys, name)}
WRITES = {"append", "add", "extend", "update", "appendleft", "setdefault", "write"}  # methods that ask nothing where their result is not used
DRAWING = (numpy.random.RandomState, numpy.random.Generator)
Seen = dict[types.CodeType, tuple[dict[str, Any], dict[str, Any]]]  # code -> its globals, and the names of the functions around it
MOST_KEPT, DEEP = 64, 3  # elements that are looked at, and how deep


class Asked:
    """While it is entered, `found` collects what the passes of Functions ask, and on which lines; `kept` what numbers they keep."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.codes: Seen = {}  # the program's code that runs in passes
        self.kept: dict[str, Any] = {}  # the numbers that they keep, by name and code, as they are when it runs first
        self.before: Any = None

    def __enter__(self) -> "Asked":
        self.before = sys.getprofile()
        sys.setprofile(self.look)
        return self

    def __exit__(self, *_: Any) -> None:
        sys.setprofile(self.before)

    def look(self, frame: Any, event: str, what: Any) -> None:
        if event == "c_call" and asks(what):
            self.note(frame, f"{'ContextVar.' if isinstance(what.__self__, contextvars.ContextVar) else ''}{what.__name__}")
        elif event == "call" and (frame.f_code.co_filename in FILES and frame.f_code.co_name not in PURE or frame.f_code in CODES | ENVIRONMENT or is_question(frame)):
            self.note(frame.f_back, "the environment" if frame.f_code in ENVIRONMENT else frame.f_code.co_name)
        elif event == "call" and is_programs(frame) and is_in_pass(frame):
            self.note_code(frame)
            for name, line in live_of(frame):
                self.note(frame, name, line)
            for name, one in kept_by(frame):
                self.kept.setdefault(f"{name} at {os.path.basename(frame.f_code.co_filename)}:{frame.f_code.co_firstlineno}", one)

    def note_code(self, frame: Any) -> None:
        """Code of the program's, once; generators of NumPy's that it has by a name of its own draw unseen."""
        code = frame.f_code
        if code in self.codes:
            return
        self.codes[code] = frame.f_globals, {name: frame.f_locals.get(name) for name in code.co_freevars}
        for path, _, line in loads_of(code):
            held: Any = frame.f_locals.get(path[0], frame.f_globals.get(path[0])) if path[0] != "ctx" else None
            for name in path[1:]:
                is_drawing = isinstance(held, DRAWING)
                owner = held
                held = held if is_drawing else getattr(held, name, None) if isinstance(held, (types.ModuleType, type)) else vars(held).get(name) if hasattr(held, "__dict__") else None
                if isinstance(owner, types.ModuleType) and owner.__name__.startswith("torch.") and not owner.__name__.startswith("torch.backends") and hasattr(owner, name):
                    if held is None or type(held) in (bool, int):  # a setting that PyTorch keeps
                        self.note(frame, ".".join(path), line)
            if isinstance(held, DRAWING) or len(path) == 1 and isinstance(getattr(held, "__self__", None), DRAWING):
                self.note(frame, ".".join(path), line)

    def note(self, frame: Any, name: str, line: int | None = None) -> None:
        """Only what the program's own line calls, in a pass of a Function."""
        if frame is None or not is_programs(frame) or not is_in_pass(frame):
            return
        where = f"{name} at {os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno if line is None else line}"
        if where not in self.found:
            self.found.append(where)


def is_programs(frame: Any) -> bool:
    return not frame.f_code.co_filename.startswith((HERE, TORCH, "<frozen")) and frame.f_code.co_filename not in FILES


def is_in_pass(frame: Any) -> bool:
    while frame is not None and frame.f_code not in PASSES:
        frame = frame.f_back
    return frame is not None


def is_question(frame: Any) -> bool:
    """Whether a function of PyTorch's is asked for something without being given anything."""
    code = frame.f_code
    return code.co_filename.startswith(TORCH) and code.co_name.startswith(QUESTIONS) and all(frame.f_locals.get(name) is None for name in code.co_varnames[:code.co_argcount])


def asks(what: Any) -> bool:
    """Whether a compiled function tells of its surroundings."""
    name, owner = getattr(what, "__name__", ""), getattr(what, "__self__", None)
    if isinstance(owner, random.Random) or owner in (datetime.datetime, datetime.date):
        return name not in ("seed", "setstate", "getstate", "fromisoformat", "fromtimestamp")
    if isinstance(owner, (numpy.random.RandomState, numpy.random.Generator)):
        return name not in ("seed", "set_state", "get_state")
    if isinstance(owner, contextvars.ContextVar):
        return name == "get"
    if isinstance(owner, torch.Generator):
        return name in ("get_state", "initial_seed", "get_offset")
    if isinstance(owner, io.IOBase):
        return name in ("isatty", "fileno", "read", "readline", "readlines", "tell")
    module = getattr(what, "__module__", None)
    return name in OF_TORCH or module in ASKING and (ASKING[module] is None or name in (ASKING[module] or ()))


def live_of(frame: Any) -> Iterator[tuple[str, int]]:
    """Yield the names of `sys` that the code of a frame reads and does not call, each with its line; the module itself, if it is handed on."""
    steps = list(dis.get_instructions(frame.f_code))
    line, imported = frame.f_code.co_firstlineno, {one.argval for one in steps if one.opname == "IMPORT_NAME"} & {"sys"}
    for one, after in zip(steps, [*steps[1:], None]):
        line = one.starts_line or line
        name = str(one.argval)
        if one.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_FAST"):
            value = frame.f_globals.get(name, getattr(builtins, name, None)) if one.opname in ("LOAD_GLOBAL", "LOAD_NAME") else frame.f_locals.get(name)
            is_sys = value is sys or name in imported and value is None
            if is_sys and (after is None or after.opname not in ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR")):
                yield "sys", line
            elif is_sys and after is not None and after.argval in OF_SYS:
                yield f"sys.{after.argval}", line
            elif id(value) in LIVE:
                yield LIVE[id(value)], line


def kept_by(frame: Any) -> Iterator[tuple[str, Any]]:
    """Yield the numbers that the code of a frame finds from call to call: globals, names of the functions around it, and arguments, which may be defaults."""
    code = frame.f_code
    found = [(name, frame.f_globals.get(name)) for name in code.co_names] + [(name, one) for name, one in frame.f_locals.items()]
    for name, one in found:
        is_operand = isinstance(one, (torch.Tensor, torch.autograd.function.FunctionCtx)) and name in code.co_varnames
        if one is not None and not is_operand and not isinstance(one, (types.ModuleType, types.BuiltinFunctionType)) and reads(code, name):
            yield name, numbers_in(one, is_kept=name not in code.co_varnames)


def numbers_in(one: Any, deep: int = DEEP, is_kept: bool = True) -> Any:
    """Numbers and lengths that may grow."""
    if isinstance(one, (bool, int, float, itertools.count)):
        return repr(one)
    if isinstance(one, torch.Tensor):
        return None if one.requires_grad or one.numel() > MOST_KEPT else repr(one.tolist())
    if isinstance(one, types.GeneratorType):
        return one.gi_frame and (one.gi_frame.f_lasti, repr([v for v in one.gi_frame.f_locals.values() if isinstance(v, (int, float))]))
    if hasattr(one, "__next__"):  # of an iterator that was there before and does not tell where it is, each look is another one
        return object() if is_kept and not hasattr(one, "__length_hint__") else operator.length_hint(one, 0)
    if isinstance(one, dict):
        return len(one), [numbers_in(v, deep - 1) for v in itertools.islice(one.values(), MOST_KEPT)] if deep else None
    if isinstance(one, (list, tuple, set, frozenset, collections.deque)):
        return len(one), [numbers_in(v, deep - 1) for v in itertools.islice(one, MOST_KEPT)] if deep else None
    held = getattr(one, "__dict__", None)
    return numbers_in(dict(held), deep - 1) if held and deep and not isinstance(one, types.ModuleType) else None


@functools.lru_cache(maxsize=1024)
def loads_of(code: types.CodeType) -> list[tuple[tuple[str, ...], bool, int]]:
    """The names that code looks up, with the attributes behind them; whether it compares them at once, or decides by them; the line."""
    steps = [one for one in dis.get_instructions(code) if one.opname not in ("CACHE", "EXTENDED_ARG", "PRECALL")]
    found, line = [], code.co_firstlineno
    for i, one in enumerate(steps):
        line = one.starts_line or line
        if one.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_FAST"):
            rest = list(itertools.takewhile(lambda after: after.opname in ("LOAD_ATTR", "LOAD_METHOD"), steps[i + 1:]))
            after = [one.opname for one in steps[i + 1 + len(rest):i + 3 + len(rest)]]
            decides = any("COMPARE" in name for name in after) or "JUMP" in "".join(after[:1])
            found.append(((str(one.argval), *(str(step.argval) for step in rest)), decides, line))
    return found


@functools.lru_cache(maxsize=1024)
def reads(code: types.CodeType, name: str) -> bool:
    """Whether code reads a name for more than to write to it: `calls += 1` and `calls.append(1)` decide nothing."""
    steps = list(dis.get_instructions(code))
    for i, one in enumerate(steps):
        if one.opname.startswith("LOAD_") and one.argval == name and "ATTR" not in one.opname and "METHOD" not in one.opname:
            rest = [after for after in itertools.takewhile(lambda after: after.starts_line is None, steps[i + 1:])]
            adds = next((k for k, after in enumerate(rest) if after.opname == "BINARY_OP" and after.argrepr.endswith("=")), None)
            is_added = adds is not None and any(after.opname.startswith("STORE_") for after in rest[adds:adds + 4]) and not any(
                "COMPARE" in after.opname or "JUMP" in after.opname or "RETURN" in after.opname for after in rest[:adds])
            is_appended = rest and rest[0].argval in WRITES and rest[-1].opname == "POP_TOP"
            if not is_added and not is_appended:
                return True
    return False


__all__ = ["Asked", "Seen", "loads_of"]
