"""A kernel in a process of its own: operands go there and results come back, so nothing else that the kernel does can change a verdict."""
from __future__ import annotations

import builtins
import fcntl
import inspect
import json
import math
import mmap
import os
import pathlib
import pickle
import signal
import socket
import stat
import subprocess
import sys
import time
from typing import Any, Callable, Sequence

import numpy as np

from assay._core import arguments
from assay._core.arrays import Bits, Elsewhere, UnsupportedArray
from assay._core.gate_reports import counted
from assay.errors import UsageError, wrong
from ._contracts import Declined
from ._memory import Buffer, carrier_of

_MOST_STARTS, _MOST_MESSAGE, _MOST_WORDS, _IMPORT_SECONDS, _TIMES_LARGER = 3, 1 << 17, 4000, 120.0, 16
_TYPES = frozenset(("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "bool"))
_START = "import sys; from assay.testing._isolated_worker import main; main(*sys.argv[1:])"


class KernelStopped(Exception):
    """The process of a kernel ended, was ended, or could not begin. This is never a refusal: the report is undecided."""


def shared(size: int) -> tuple[int, mmap.mmap]:
    """Memory for two processes, whose size neither can change: the file and a view of it."""
    file = os.memfd_create("assay-kernel", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(file, max(size, 1))
    fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    return file, mmap.mmap(file, max(size, 1))


class _Shared:
    """An operand or the memory for a result, as the kernel's process finds it."""

    def __init__(self, flat: Buffer, dtype: str, shape: Sequence[int], strides: Sequence[int], first: int) -> None:
        self.file, memory = shared(flat.nbytes)
        self.flat: Buffer = np.frombuffer(memory, flat.dtype)
        self.flat[...] = flat
        self.form = (flat.dtype.str, dtype, tuple(shape), tuple(strides), first)

    def __del__(self) -> None:
        os.close(self.file)


class SharedArrays:
    """Operands and results in memory that the kernel's process shares."""

    def __init__(self, kernel: IsolatedKernel) -> None:
        self._kernel = kernel

    def view(self, flat: Buffer, dtype: str, shape: Sequence[int], strides: Sequence[int], first: int) -> tuple[Any, Callable[[], Buffer]]:
        one = _Shared(flat, dtype, shape, strides, first)
        return one, lambda: one.flat

    def spoil(self, shape: Sequence[int], dtype: str, round_: int) -> None:
        self._kernel.spoiled.append((tuple(shape), dtype, round_))


class _Result(Elsewhere):
    """An array that the kernel returned, read where it lies: later calls of the kernel may change it."""

    def __init__(self, process: _Process, call: int, item: int, kind: str, most: int) -> None:
        self._process, self._place, self._kind, self._most, self._last = process, (call, item), kind, most, None
        process.held[call] = process.held.get(call, 0) + 1

    def bits(self) -> Bits:
        if self._kind:
            raise UnsupportedArray(self._kind)
        if self._last is None or self._process.is_alive():
            self._last = self._process.read(*self._place, self._most)
        return self._last

    _last: Bits | None

    def __del__(self) -> None:
        call = self._place[0]
        self._process.held[call] -= 1
        if not self._process.held[call]:
            del self._process.held[call]
            self._process.released.append(call)


class _Process:
    """The process, and what it says. Its messages are JSON, and no part of them is run here."""

    def __init__(self, kernel: IsolatedKernel) -> None:
        self._kernel = kernel
        self.held: dict[int, int] = {}
        self.released: list[int] = []
        self._calls = 0
        own, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        root = str(pathlib.Path(__file__).parents[2])
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])}
        words = [str(other.fileno()), str(kernel.file), kernel.function, str(kernel.memory or 0), kernel.arrays, kernel.device]
        with other:
            self._process = subprocess.Popen([sys.executable, "-c", _START, *words], pass_fds=[other.fileno()], cwd=kernel.file.parent, env=environment,
                                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self._socket = own
        self.begun = self._answer(time.monotonic() + _IMPORT_SECONDS, "to be imported")[0]

    def is_alive(self) -> bool:
        return self._process.poll() is None and self._socket.fileno() >= 0

    def ask(self, request: Any, files: Sequence[int] = ()) -> tuple[dict[str, Any], list[int]]:
        """One request and its answer, within the seconds that are left."""
        begun = time.monotonic()
        try:
            socket.send_fds(self._socket, [pickle.dumps((request, self.released))], files)
            self.released = []
            return self._answer(begun + self._kernel.left, f"for its calls, which may take {self._kernel.seconds:g} s in all")
        except OSError:
            raise KernelStopped(self._end()) from None
        finally:
            self._kernel.left -= time.monotonic() - begun

    def call(self, operands: Sequence[_Shared], outputs: Sequence[_Shared], is_out: bool, attributes: dict[str, Any]) -> Any:
        self._calls += 1
        forms = [one.form for one in operands], [one.form for one in outputs]
        results = self._kernel.taken()
        found, _ = self.ask(("call", self._calls, *forms, is_out, attributes, results), [one.file for one in (*operands, *outputs)])
        if "raised" in found:
            raise _exception(found)
        most = _TIMES_LARGER * sum(4096 + 8 * math.prod(shape) for shape, _, _ in results)
        items = [_Result(self, self._calls, i, str(kind), most) if kind is not None else None for i, kind in enumerate(found.get("items", []))]
        return tuple(items) if found.get("several") else items[0] if items else None

    def read(self, call: int, item: int, most: int) -> Bits:
        """A result as it is now; one of far more bytes than it should have is not read."""
        found, files = self.ask(("read", call, item))
        try:
            if "raised" in found:
                raise UnsupportedArray(str(found.get("words"))[:_MOST_WORDS])
            dtype, shape = found.get("dtype"), tuple(found.get("shape", ()))
            if dtype not in _TYPES or not all(isinstance(one, int) and one >= 0 for one in shape):
                raise KernelStopped(self._end("it gave a result of no type"))
            size = math.prod(shape) * np.dtype(carrier_of(dtype)).itemsize
            if size > most:
                raise UnsupportedArray(f"the result is {dtype} {list(shape)}, which is far larger than the result of this probe")
            if len(files) != 1 or not stat.S_ISREG(os.fstat(files[0]).st_mode) or os.fstat(files[0]).st_size < size:
                raise KernelStopped(self._end("it gave a result without its memory"))
            return Bits(dtype, shape, b"".join(os.pread(files[0], min(size - at, 1 << 28), at) for at in range(0, size, 1 << 28)))
        finally:
            for one in files:
                os.close(one)

    def _answer(self, until: float, what: str) -> tuple[dict[str, Any], list[int]]:
        files: list[int] = []
        try:
            self._socket.settimeout(max(until - time.monotonic(), 1e-3))
            text, files, _, _ = socket.recv_fds(self._socket, _MOST_MESSAGE, 4)
            found = json.loads(text) if text else None
            if isinstance(found, dict):
                return found, list(files)
        except socket.timeout:  # TimeoutError from Python 3.10 on
            raise KernelStopped(self._end(f"it took too long {what}")) from None
        except (OSError, ValueError, RecursionError):
            pass
        for one in files:
            os.close(one)
        raise KernelStopped(self._end("it said what is no answer" if text else "")) from None

    def _end(self, why: str = "") -> str:
        """Ends the process, and says how it ended."""
        if not why:
            try:
                status = self._process.wait(1)
            except subprocess.TimeoutExpired:
                why = "it closed its connection"
            else:
                why = f"it ended by {_signal(-status)}" if status < 0 else f"it ended with status {status}, before it gave a result"
        self.close()
        return f"the process of the kernel was stopped: {why}" if not why.startswith("it ended") else f"the process of the kernel ended early: {why}"

    def close(self) -> None:
        if self._process.poll() is None:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self._process.wait()
        self._socket.close()


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _exception(found: dict[str, Any]) -> Exception:
    """The kernel's exception, as a kind of Python's own exceptions under its name; Declined as itself."""
    names = [str(one) for one in found.get("raised", [])][:50]
    words = str(found.get("words", ""))[:_MOST_WORDS]
    if "assay.testing.Declined" in names:
        return Declined(words)
    known = (getattr(builtins, one.rpartition(".")[2], None) for one in names if one.rpartition(".")[0] == "builtins")
    base = next((one for one in known if isinstance(one, type) and issubclass(one, Exception)), Exception)
    name = names[0].rpartition(".")[2] if names else ""
    name = name[:80] if name.isidentifier() else "Exception"
    made: type[Exception] = type(name, (base,), {"__str__": lambda self: words})
    try:
        return made()
    except TypeError:  # exceptions that need more arguments, such as UnicodeDecodeError
        made = type(name, (Exception,), {"__str__": lambda self: words})
        return made()


class IsolatedKernel:
    """A kernel that runs in a process of its own, with limits of time and memory; `audit_kernel` takes it in place of a function.

    The process gets operands, and gives results. Whatever else happens there (changed modules, exits, crashes) cannot change the verdict here. The process has
    the rights of this user: to keep it from files, start the program that calls `audit_kernel` as another user or in a container.

    Args:
        file: The file that defines the kernel.
        function: The name of the kernel in it.
        seconds: The time that all calls together may take; after it the process is ended, and further probes count as raised.
        memory: The address space of the process, in bytes; None for no limit, which a process with a device needs.
        arrays: "numpy" or "torch": what the kernel is called with.
        device: The device of arrays of torch.
    """

    def __init__(self, file: str | os.PathLike[str], function: str, *, seconds: float = 60.0, memory: int | None = 8 << 30, arrays: str = "numpy",
                 device: str = "cpu") -> None:
        self.file, self.function = pathlib.Path(file).resolve(), arguments.text("function", function)
        if not self.file.is_file():
            raise UsageError("the file of the kernel was not found", where="file", why=str(file), code="python.argument")
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds < math.inf:
            raise wrong("seconds", "a finite number above 0", seconds)
        if arrays not in ("numpy", "torch") or (arrays == "numpy" and device != "cpu"):
            raise wrong("arrays", "'numpy', or 'torch' with its device", arrays)
        self.seconds, self.left = float(seconds), float(seconds)
        self.memory = None if memory is None else arguments.whole("memory", memory, 1 << 26, 1 << 60)
        self.arrays, self.device = arrays, device
        self.spoiled: list[tuple[tuple[int, ...], str, int]] = []
        self._process: _Process | None = None
        self._starts, self._stopped, self._described = 0, "", None

    _described: dict[str, Any] | None

    def __enter__(self) -> IsolatedKernel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_process", None):
            self.close()

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.close()
        self._process = None

    @property
    def __name__(self) -> str:
        return self.function

    @property
    def place(self) -> tuple[str, int]:
        """The file and line of the kernel."""
        line = self._begun().get("line")
        return str(self.file), line if isinstance(line, int) and line > 0 else 1

    @property
    def __signature__(self) -> inspect.Signature:
        """As the kernel's file has it; where nothing tells, ValueError."""
        found: Any = self._begun().get("parameters")
        try:
            return inspect.Signature([inspect.Parameter(name, getattr(inspect.Parameter, kind), default=None if has_default else inspect.Parameter.empty)
                                      for name, kind, has_default in found])
        except (TypeError, AttributeError, ValueError):
            raise ValueError("the kernel has no signature that can be read") from None

    def taken(self) -> list[tuple[tuple[int, ...], str, int]]:
        """The results that the next call is to have: memory of their sizes is filled with poison before."""
        taken, self.spoiled = self.spoiled, []
        return taken

    def __call__(self, *operands: Any, out: Any = None, **attributes: Any) -> Any:
        process = self._running()
        outputs = out if isinstance(out, list) else [] if out is None else [out]
        if not all(isinstance(one, _Shared) for one in (*operands, *outputs)):
            raise UsageError("an isolated kernel takes the operands of audit_kernel", where="kernel", why="it was called by something else", code="python.argument")
        return process.call(operands, outputs, isinstance(out, list), attributes)

    def _begun(self) -> dict[str, Any]:
        """Line and parameters of the kernel as its file says, read once."""
        if self._described is None:
            try:
                self._described = self._running().begun
            except KernelStopped:
                self._described = {}
        return self._described

    def _running(self) -> _Process:
        if self._stopped:
            raise KernelStopped(self._stopped)
        if self._process is not None and self._process.is_alive():
            return self._process
        if self.left <= 0:
            raise KernelStopped(f"the process of the kernel was stopped: its calls took longer than {self.seconds:g} s in all")
        if self._starts == _MOST_STARTS:
            raise KernelStopped(f"the process of the kernel ended {counted(self._starts, 'time')}, and is not started again")
        self._starts += 1
        try:
            process = _Process(self)
        except KernelStopped as why:
            self._stopped = str(why)
            raise
        if "raised" in process.begun:
            process.close()
            raised = _exception(process.begun)
            self._stopped = f"the file of the kernel cannot be imported: {type(raised).__name__}: {raised}"
            raise KernelStopped(self._stopped)
        self._process = process
        return process


__all__ = ["IsolatedKernel", "KernelStopped"]
