"""Runs on many machines: a data set in parts, each decided by whichever worker takes it, and joined by the process that asked.

A worker needs this package and nothing else: model and data come with the task unless the same files are where it runs. What it sends back is
a run of its own, with certificates; nothing of it counts that `assay check` would not accept. A part whose worker dies is given to another one, a part
that comes twice counts once, and what a part leaves out the process that asked decides itself.
"""
from __future__ import annotations

import concurrent.futures
import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from typing import Any, Callable, Optional

from . import _programs, errors

RETRIES = 3  # of a part, before the run ends without it
PATIENCE = 3.0  # times the longest part so far without any news: then the open parts are given out once more
LEAST_PATIENCE = 30.0  # seconds
SENT = ("run.json", "results.jsonl", "certificates.pack")

Files = dict[str, tuple[str, bytes]]  # by name: SHA-256, content

_running: set[subprocess.Popen[str]] = set()
_lock = threading.Lock()


class PartFailed(RuntimeError):
    """What a worker says of a part that it could not do."""


def files_of(paths: list[str]) -> Files:
    files: Files = {}
    for path in paths:
        if os.path.isfile(path):
            with open(path, "rb") as file:
                content = file.read()
            files[path] = (hashlib.sha256(content).hexdigest(), content)
    return files


def _placed(path: str, files: Files, folder: str) -> str:
    """Where a worker finds a file: at the same place, if what is there is the same, else a copy of what was sent."""
    if path not in files:
        return path
    digest, content = files[path]
    try:
        with open(path, "rb") as file:
            if hashlib.sha256(file.read()).hexdigest() == digest:
                return path
    except OSError:
        pass
    copy = os.path.join(folder, f"{digest[:16]}-{os.path.basename(path)}")
    with open(copy, "wb") as out:
        out.write(content)
    return copy


def do_part(words: list[str], files: Files, part: str) -> dict[str, bytes]:
    """On a worker: the files of the part's own run, and how long it took."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="assay-part-") as folder:
        placed = [_placed(word, files, folder) for word in words]
        run = os.path.join(folder, "run")
        command = [_programs.program(), *placed, "--part", part, "--run", run, "--pack", "--quiet"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            with _lock:
                _running.add(process)
            try:
                _, trouble = process.communicate()
            finally:
                with _lock:
                    _running.discard(process)
        if process.returncode != 0:
            raise PartFailed(f"part {part} ended with {process.returncode}: {trouble[-500:]}")
        sent: dict[str, bytes] = {"seconds": repr(time.monotonic() - start).encode()}
        for name in SENT:
            with open(os.path.join(run, name), "rb") as content:
                sent[name] = content.read()
        return sent


class _Ray(concurrent.futures.Executor):
    def __init__(self) -> None:
        import ray
        if not ray.is_initialized():
            ray.init(include_dashboard=False, log_to_driver=False)
        self._ray = ray
        self._task = ray.remote(max_retries=0)(do_part)  # what is lost is given out again here

    def submit(self, fn: Callable[..., Any], /, *args: Any, **options: Any) -> concurrent.futures.Future[Any]:
        future: concurrent.futures.Future[Any] = self._task.remote(*args).future()
        return future


class Workers:
    """An executor, how files reach its workers, and into how many parts work is cut for it."""

    def __init__(self, executor: Any) -> None:
        self.put: Callable[[Files], Any] = lambda files: files
        self.parts, self.own = 32, False
        if isinstance(executor, int) and not isinstance(executor, bool) and 1 <= executor <= 1024:
            self.executor: concurrent.futures.Executor = concurrent.futures.ThreadPoolExecutor(executor)
            self.parts, self.own = 4 * executor, True
        elif executor == "ray":
            self.executor = _Ray()
            import ray
            self.put = ray.put
        elif hasattr(executor, "get_executor") and hasattr(executor, "scatter"):  # a client of Dask
            self.executor = executor.get_executor(pure=False)
            self.put = lambda files: executor.scatter(files, broadcast=True, hash=False)
        elif isinstance(executor, concurrent.futures.Executor):
            self.executor = executor
        else:
            raise errors.wrong("executor", "a number of processes, an executor of concurrent.futures, a client of Dask, or 'ray'", executor)

    def close(self, interrupted: bool) -> None:
        if self.own and interrupted:
            with _lock:
                for process in _running:
                    process.send_signal(signal.SIGINT)
        if self.own:
            self.executor.shutdown(wait=not interrupted, cancel_futures=True)


class Parts:
    """The parts of one run, in the folder of that run: which came, and which are open.

    Parts are joined several at a time, as soon as a quarter as many wait as were joined before: each time the results so far are read once.
    """

    def __init__(self, words: list[str], folder: str, parts: int, join: Callable[[list[str]], None]) -> None:
        self.words, self.folder, self.join = words, os.path.join(folder, "parts"), join
        self.claim: Optional[dict[str, Any]] = None  # of the first part that came
        os.makedirs(self.folder, exist_ok=True)
        memory = os.path.join(self.folder, "parts.json")
        if os.path.exists(memory):  # as they were cut when the run began
            with open(memory, encoding="utf-8") as file:
                parts = int(json.load(file)["parts"])
        else:
            with open(memory, "w", encoding="utf-8") as out:
                json.dump({"parts": parts}, out)
        self.names = [f"{k + 1}/{parts}" for k in range(parts)]
        self.waiting = [name for name in self.names if os.path.isdir(self._place(name))]
        self.joined = {name for name in self.names if os.path.exists(self._place(name) + ".joined")}
        self.open = set(self.names) - set(self.waiting) - self.joined

    def _place(self, name: str) -> str:
        return os.path.join(self.folder, name.split("/")[0])

    def _manifest(self, name: str, content: bytes) -> bytes:
        """As if the part had been made here: where files lie on a worker is nobody else's business."""
        manifest = json.loads(content)
        claim = manifest.get("claim", {})
        if claim.get("part") != name:
            raise PartFailed(f"part {name} came back as part {claim.get('part')}")
        labels = next((self.words[k + 1] for k, word in enumerate(self.words) if word == "--labels"), "")
        claim.update(model=self.words[1], data=self.words[2], labels=labels)
        whole = {**claim, "part": ""}
        if self.claim is not None and whole != self.claim:
            raise PartFailed(f"part {name} came back from another model, other data or another version")
        self.claim = whole
        return json.dumps(manifest).encode()

    def take(self, name: str, sent: dict[str, bytes]) -> None:
        """Keeps a part; one that came before counts once."""
        manifest = self._manifest(name, sent["run.json"])
        place = self._place(name)
        shutil.rmtree(place + ".new", ignore_errors=True)
        os.makedirs(place + ".new")
        for file in SENT:
            with open(os.path.join(place + ".new", file), "wb") as out:
                out.write(manifest if file == "run.json" else sent[file])
        os.rename(place + ".new", place)
        self.open.discard(name)
        self.waiting.append(name)
        if len(self.waiting) > len(self.joined) / 4:
            self.join_waiting()

    def join_waiting(self) -> None:
        if self.waiting:
            self.join([self._place(name) for name in self.waiting])
        for name in self.waiting:
            with open(self._place(name) + ".joined", "w", encoding="utf-8"):
                pass
            shutil.rmtree(self._place(name))
        self.joined.update(self.waiting)
        self.waiting = []


def run_parts(parts: Parts, workers: Workers, paths: list[str]) -> dict[str, str]:
    """Until every part is joined or has failed too often. -> why, by part, for those that did."""
    failures: dict[str, list[str]] = {name: [] for name in parts.open}
    of_future: dict[concurrent.futures.Future[Any], str] = {}
    longest, news, again = 0.0, time.monotonic(), False
    files = workers.put(files_of(paths))

    def submit(name: str) -> None:
        try:
            of_future[workers.executor.submit(do_part, parts.words, files, name)] = name
        except Exception as broken:  # an executor whose worker died may take nothing any more
            failures[name] += [f"{type(broken).__name__}: {broken}"] * (RETRIES + 1)

    def is_hopeless(name: str) -> bool:
        return len(failures[name]) > RETRIES

    for name in parts.names:
        if name in parts.open:
            submit(name)
    while any(not is_hopeless(name) for name in parts.open):
        done, _ = concurrent.futures.wait(of_future, timeout=1.0, return_when=concurrent.futures.FIRST_COMPLETED)
        for future in done:
            name = of_future.pop(future)
            if name not in parts.open:
                continue
            try:
                sent = future.result()
                parts.take(name, sent)
                longest, news, again = max(longest, float(sent["seconds"])), time.monotonic(), False
            except (Exception, concurrent.futures.CancelledError) as broken:
                failures[name].append(f"{type(broken).__name__}: {broken}"[:700])
                if not is_hopeless(name):
                    submit(name)
        if longest > 0 and not again and time.monotonic() - news > max(LEAST_PATIENCE, PATIENCE * longest):
            again = True  # once for each silence: the first to come back counts
            for name in sorted(parts.open):
                submit(name)
    for future in of_future:
        future.cancel()
    parts.join_waiting()
    return {name: failures[name][-1] for name in parts.open}
