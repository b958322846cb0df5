"""Runs on many machines: a data set in parts, each decided by whichever worker takes it, and joined by the process that asked.

A worker needs this package and nothing else: files are named by the digest of their content, and travel to workers that do not have them. What a worker
sends back is a run of its own, with certificates; nothing of it counts that `assay check` would not accept. A part whose worker dies is given to
another one, a part that comes twice counts once, and what a part leaves out the process that asked decides itself. When that process stops waiting,
or is gone, workers stop what they do for it.
"""
from __future__ import annotations

import concurrent.futures
import contextlib
import hashlib
import itertools
import json
import logging
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable, Iterator, NamedTuple, Optional

from assay import errors
from assay._core import programs

RETRIES = 3  # of a part, before the run ends without it
FIRST_WAIT, LONGER = 1.0, 4.0  # seconds before the first of them, and how much longer the wait before the next one is
PATIENCE = 3.0  # times the longest part so far without any news: then the open parts are given out once more
LEAST_PATIENCE = 30.0  # seconds
WAIT_FOR_WORKERS = 300.0  # seconds, while a cluster has none
POLL = 0.2  # seconds between a worker's looks at whether anybody waits for it
SENT = ("run.json", "results.jsonl", "certificates.pack")

_log = logging.getLogger("assay")
_digests: dict[tuple[str, int, int, int], str] = {}  # by path, inode, size and time of change


class PartFailed(RuntimeError):
    """The message of a worker about a part that it could not do."""


def _digest_at(path: str) -> Optional[str]:
    """Of the content; None where there is no such file."""
    try:
        state = os.stat(path)
        key = (path, state.st_ino, state.st_size, state.st_mtime_ns)
        if key not in _digests:
            with open(path, "rb") as file:
                _digests[key] = hashlib.sha256(file.read()).hexdigest()
        return _digests[key]
    except OSError:
        return None


def file_of(word: str) -> str:
    """The file that a word of the command line names: FILE, FILE:NAME, or what is stored as FILE.gz."""
    for path in (word, word.rpartition(":")[0], word + ".gz"):
        if os.path.isfile(path):
            return path
    return ""


class Leash(NamedTuple):
    """Held by the process that waits for parts: where it lets go, or is gone, workers of its machine stop."""

    machine: str
    process: int
    born: str  # of that process
    folder: str

    def is_slack(self) -> bool:
        if self.machine != _machine() or (os.path.isdir(self.folder) and _born(self.process) == self.born):
            return False
        shutil.rmtree(self.folder, ignore_errors=True)
        return True


def _born(process: int) -> str:
    """When a process began, on the machine's clock; nothing where it has ended."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as file:
            words = file.read().rpartition(") ")[2].split()
        return "" if words[0] in "ZX" else words[19]
    except (OSError, IndexError):
        return ""


def _machine() -> str:
    """Tells machines, and containers of one, apart."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return " ".join([file.read().strip(), os.readlink("/proc/self/ns/pid"), os.readlink("/proc/self/ns/mnt")])
    except OSError:
        return f"process {os.getpid()}"


def _is_cancelled() -> Callable[[], bool]:
    """For a task of Dask: whether it was cancelled since, which its thread is not told."""
    try:
        worker = sys.modules["distributed"].get_worker()
        key = worker.get_current_task()
    except (KeyError, ValueError, AttributeError):
        return lambda: False

    def look() -> bool:
        task = worker.state.tasks.get(key)
        return task is None or task.state in ("cancelled", "released", "forgotten")
    return look


class _Outlived:
    """A folder that is gone when its owner is: should this process be killed, a shell that waits for its end ends the program, too, and removes the folder.

    The shell begins before the folder does, and ends after it, so that no moment is left in which a kill leaves the folder behind.
    """

    _SCRIPT = """while read -r word; do [ "$word" = end ] && exit; program=$word; done
[ -n "$program" ] && kill -KILL "$program"
tries=0
until rm -rf "$1" || [ $tries = 100 ]; do tries=$((tries + 1)); sleep 0.1; done"""

    def __enter__(self) -> "_Outlived":
        self.path = os.path.join(tempfile.gettempdir(), f"assay-part-{secrets.token_hex(8)}")
        self._guard: Optional[subprocess.Popen[bytes]] = None
        with contextlib.suppress(OSError):
            self._guard = subprocess.Popen(["/bin/sh", "-c", self._SCRIPT, "assay-part", self.path], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL, start_new_session=True)
        os.mkdir(self.path, 0o700)
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        if self._guard is not None:
            self._tell("end")
            self._guard.communicate()

    def _tell(self, word: str) -> None:
        if self._guard is not None and self._guard.stdin is not None:
            with contextlib.suppress(OSError):
                self._guard.stdin.write(f"{word}\n".encode())
                self._guard.stdin.flush()

    @contextlib.contextmanager
    def holds(self, process: int) -> Iterator[None]:
        """A program that ends with this process, until the block is left."""
        self._tell(str(process))
        try:
            yield
        finally:
            self._tell("")


def _ran(command: list[str], folder: _Outlived, is_dropped: Callable[[], bool]) -> tuple[int, str]:
    """Exit code, and what stands on stderr."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process, folder.holds(process.pid):
        try:
            while True:
                try:
                    _, trouble = process.communicate(timeout=POLL)
                    return process.returncode, trouble
                except subprocess.TimeoutExpired:
                    if is_dropped():
                        raise PartFailed("nobody waits for this part any more") from None
        except BaseException:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
            raise


def _placed(digests: dict[str, str], contents: tuple[bytes, ...], folder: str) -> Optional[dict[str, str]]:
    """Where a worker finds each file: at the same place, if what is there is the same, else a copy of what was sent. None where one was not sent."""
    places = {}
    for (path, digest), content in itertools.zip_longest(digests.items(), contents):
        places[path] = path
        if _digest_at(path) == digest:
            continue
        if content is None:
            return None
        places[path] = os.path.join(folder, f"{digest[:16]}-{os.path.basename(path)}")
        with open(places[path], "wb") as out:
            out.write(content)
    return places


def do_part(words: list[str], digests: dict[str, str], part: str, leash: Leash, *contents: bytes) -> dict[str, bytes]:
    """On a worker: the files of the part's own run, and how long it took; nothing where it needs the contents of files that are not sent along."""
    start, is_cancelled = time.monotonic(), _is_cancelled()
    if leash.is_slack():
        raise PartFailed("nobody waits for this part any more")
    with _Outlived() as folder:
        places = _placed(digests, contents, folder.path)
        if places is None:
            return {}
        run, report = os.path.join(folder.path, "run"), os.path.join(folder.path, "report.json")
        command = [programs.program(), *(_word(word, places) for word in words), "--part", part, "--run", run, "--pack", "--quiet", f"--json={report}"]
        code, trouble = _ran(command, folder, lambda: leash.is_slack() or is_cancelled())
        if code != 0:
            raise errors.of_program(words[0], code, report, trouble, places) or PartFailed(f"the program ended with {code}: {trouble.strip()[-500:]}")
        sent: dict[str, bytes] = {"seconds": repr(time.monotonic() - start).encode()}
        for name in SENT:
            with open(os.path.join(run, name), "rb") as content:
                sent[name] = content.read()
        return sent


def _word(word: str, places: dict[str, str]) -> str:
    """A word of the command line, with the place of a file in place of its path."""
    for path, place in places.items():
        if word in (path, path[:-len(".gz")] if path.endswith(".gz") else path):
            return place
        if word.startswith(path + ":"):
            return place + word[len(path):]
    return word


class _Ray(concurrent.futures.Executor):
    def __init__(self, ray: Any) -> None:
        if not ray.is_initialized():
            ray.init(include_dashboard=False, log_to_driver=False)
        self._ray, self._references = ray, []  # type: Any, list[Any]
        self._task = ray.remote(max_retries=0)(do_part)  # what is lost is given out again here

    def submit(self, fn: Callable[..., Any], /, *args: Any, **options: Any) -> concurrent.futures.Future[Any]:
        self._references.append(self._task.remote(*args))
        future: concurrent.futures.Future[Any] = self._references[-1].future()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        for reference in self._references:
            with contextlib.suppress(Exception):  # what has ended cannot be cancelled
                self._ray.cancel(reference)
        self._references.clear()


class Workers:
    """An executor, how contents of files reach its workers, and into how many parts work is cut for it."""

    def __init__(self, executor: Any) -> None:
        self.put: Callable[[dict[str, bytes]], dict[str, Any]] = lambda contents: contents  # by digest
        self.count: Callable[[], Optional[int]] = lambda: None  # workers, where that is known
        self.close: Callable[[], None] = lambda: None  # once nobody waits for anything
        self.parts = 32
        if isinstance(executor, int) and not isinstance(executor, bool) and 1 <= executor <= 1024:
            threads = concurrent.futures.ThreadPoolExecutor(executor)
            self.executor: concurrent.futures.Executor = threads
            self.parts, self.close = 4 * executor, threads.shutdown
        elif executor == "ray":
            try:
                import ray
            except ImportError as error:
                raise errors.wrong("executor", f"a Ray that can be imported ({error})", executor, advice="pip install ray") from None
            self.executor = tasks = _Ray(ray)
            self.put = lambda contents: {digest: ray.put(content) for digest, content in contents.items()}
            self.close = tasks.shutdown
        elif hasattr(executor, "get_executor") and hasattr(executor, "scatter"):  # a client of Dask
            self.executor = of_dask = executor.get_executor(pure=False)
            self.put = lambda contents: _scattered(executor, contents)
            self.count = lambda: _worker_count(executor)
            self.close = lambda: of_dask.shutdown(wait=False)
        elif isinstance(executor, concurrent.futures.Executor):
            self.executor = executor
        else:
            raise errors.wrong("executor", "a number of processes, an executor of concurrent.futures, a client of Dask, or 'ray'", executor)


def _scattered(client: Any, contents: dict[str, bytes]) -> dict[str, Any]:
    """By the digest, so that what a client left there is what it is called."""
    kept = client.scatter({f"assay-{digest}": content for digest, content in contents.items()}, broadcast=True)
    return {digest: kept[f"assay-{digest}"] for digest in contents}


def _worker_count(client: Any) -> Optional[int]:
    try:
        return len(client.scheduler_info()["workers"])
    except Exception:  # what is wrong with the client the parts will tell
        return None


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


def _reason(broken: BaseException) -> str:
    """One sentence about a part that did not come, whoever says so."""
    chain: list[BaseException] = []
    while broken is not None and broken not in chain:
        chain.append(broken)
        broken = broken.__cause__ or broken.__context__  # type: ignore[assignment]
    text = "; ".join(str(one) for one in chain)
    if "No module named 'assay" in text:
        return "a worker has no package 'assay': install the wheel of this version where the workers run"
    first = chain[0]
    if isinstance(first, concurrent.futures.CancelledError):
        return "the worker, or what had been sent to it, was lost, or somebody cancelled the part"
    if isinstance(first, (TimeoutError, concurrent.futures.TimeoutError)):
        return f"no worker answered in time{f' ({first})' if str(first) else ''}"
    if isinstance(first, concurrent.futures.BrokenExecutor):
        return f"a process of the pool died, and the pool takes nothing any more: {first}"
    told = str(first).strip()
    return (told if isinstance(first, PartFailed) and told else f"{type(first).__name__}{f': {told}' if told else ', without a word'}")[:700]


class _Round:
    """The parts of one run that are given out: until every part has come or has failed too often."""

    def __init__(self, parts: Parts, workers: Workers, words: list[str]) -> None:
        self.parts, self.workers = parts, workers
        self.digests = {path: digest for path in filter(None, map(file_of, words)) if (digest := _digest_at(path)) is not None}
        self.sent: Optional[dict[str, Any]] = None  # contents, or what stands for them, once a worker asked for them
        self.sends = False
        self.failures: dict[str, list[str]] = {name: [] for name in parts.open}
        self.due = {name: 0.0 for name in parts.names if name in parts.open}  # when to give it out
        self.of_future: dict[concurrent.futures.Future[Any], str] = {}
        self.longest, self.again, self.told = 0.0, False, ""
        self.news = self.alone_since = time.monotonic()
        self.leash = Leash(_machine(), os.getpid(), _born(os.getpid()), tempfile.mkdtemp(prefix="assay-call-"))

    def is_open(self, name: str) -> bool:
        return name in self.parts.open and len(self.failures[name]) <= RETRIES

    def run(self) -> dict[str, str]:
        try:
            while any(map(self.is_open, self.parts.open)):
                self.give_out()
                self.collect()
                self.look_for_workers()
        finally:
            shutil.rmtree(self.leash.folder, ignore_errors=True)
            for future in self.of_future:
                future.cancel()
        self.parts.join_waiting()
        return {name: self.failures[name][-1] for name in self.parts.open}

    def give_out(self) -> None:
        now = time.monotonic()
        if self.longest > 0 and not self.again and now - self.news > max(LEAST_PATIENCE, PATIENCE * self.longest):
            self.again = True  # once for each silence: the first to come back counts
            self.due.update({name: now for name in self.parts.open})
        for name in [name for name, when in self.due.items() if when <= now]:
            del self.due[name]
            if self.is_open(name):
                self.submit(name)

    def submit(self, name: str) -> None:
        try:
            if self.sends and self.sent is None:
                self.sent = self.workers.put(self.contents())
            contents = () if self.sent is None else tuple(self.sent[digest] for digest in self.digests.values())
            self.of_future[self.workers.executor.submit(do_part, self.parts.words, self.digests, name, self.leash, *contents)] = name
        except (Exception, concurrent.futures.CancelledError) as broken:  # an executor whose worker died may take nothing any more
            self.fail(name, broken)

    def contents(self) -> dict[str, bytes]:
        found = {}
        for path, digest in self.digests.items():
            with open(path, "rb") as file:
                found[digest] = file.read()
            if hashlib.sha256(found[digest]).hexdigest() != digest:
                raise errors.MalformedInput("a file changed while parts of the run were given out", where=path, code="python.executor",
                                            advice="leave it alone until the run has ended, and start again")
        return found

    def collect(self) -> None:
        wait = min([1.0, *(max(when - time.monotonic(), 0.0) for when in self.due.values())])
        if not self.of_future:
            time.sleep(wait)
            return
        done, _ = concurrent.futures.wait(self.of_future, timeout=wait, return_when=concurrent.futures.FIRST_COMPLETED)
        for future in done:
            name = self.of_future.pop(future)
            if name not in self.parts.open:
                continue
            try:
                sent = future.result()
                if not sent:  # the worker has other files, or none
                    self.sends, self.due[name] = True, 0.0
                    continue
                self.parts.take(name, sent)
                self.longest, self.news, self.again = max(self.longest, float(sent["seconds"])), time.monotonic(), False
            except (Exception, concurrent.futures.CancelledError) as broken:
                self.fail(name, broken)

    def fail(self, name: str, broken: BaseException) -> None:
        if isinstance(broken, errors.Error) and not isinstance(broken, (errors.Undecided, errors.InternalError)):
            raise broken  # of the model, the data or an argument: other workers would say the same
        reason = _reason(broken)
        self.failures[name].append(reason)
        self.sent = None  # it may be lost with a worker
        if isinstance(broken, concurrent.futures.BrokenExecutor) or "after shutdown" in reason:
            self.failures[name] += [reason] * RETRIES
        if not self.is_open(name):
            return
        wait = FIRST_WAIT * LONGER ** (len(self.failures[name]) - 1)
        self.due[name] = time.monotonic() + wait
        self.tell(f"part {name} is given out again in {wait:.3g} s: {reason}", reason)

    def tell(self, text: str, key: str) -> None:
        if key != self.told:
            _log.warning("%s", text)
        self.told = key

    def look_for_workers(self) -> None:
        now = time.monotonic()
        if now - self.news < 5 or self.workers.count() != 0:
            self.alone_since = now
            return
        self.tell("the cluster has no worker: waiting for one", "no worker")
        if now - self.alone_since > WAIT_FOR_WORKERS:
            raise errors.Undecided("no part could be done", where="executor", why=f"the cluster had no worker for {now - self.alone_since:.0f} s",
                                   advice="start workers, and go on with resume=True where the run has a folder", code="python.executor")


def run_parts(parts: Parts, workers: Workers, paths: list[str]) -> dict[str, str]:
    """Until every part is joined or has failed too often. -> why, by part, for those that did."""
    return _Round(parts, workers, paths).run()
