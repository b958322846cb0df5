"""Runs whose items other processes decide: the same table whatever happens to a worker."""
import concurrent.futures
import contextlib
import gzip
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

import assay
from assay._verify import executors
from conftest import DIGITS, children, interrupt

DATA = DIGITS / "digits_test.npz"
KEPT = ("item", "eps", "label", "predicted", "correct", "margin", "answer", "statement")


def run(digits, **options):
    return assay.robust(digits, DATA, **{"eps": ("0.02", "0.08"), "clip": (0, 1), "first": 40, "each": True, **options})


def table(one):
    """Byte by byte, up to the order of the lines and what is measured."""
    lines = sorted(json.dumps({key: line[key] for key in KEPT if key in line}) for line in one.results)
    return "\n".join(lines).encode()


@pytest.fixture(scope="module")
def whole(digits):
    return table(run(digits))


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(executors, "FIRST_WAIT", 0.01)


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(executors, "LEAST_PATIENCE", 0.5)
    monkeypatch.setattr(executors, "PATIENCE", 0.1)


class Faulty(concurrent.futures.Executor):
    """Threads that do parts, with a fault for some of them: `fault(attempt, part, do)` gives the result or raises."""

    def __init__(self, fault):
        self.pool, self.fault, self.attempts, self.lock = concurrent.futures.ThreadPoolExecutor(3), fault, {}, threading.Lock()

    def submit(self, fn, /, words, digests, part, *more):
        with self.lock:
            attempt = self.attempts[part] = self.attempts.get(part, 0) + 1
        return self.pool.submit(self.fault, attempt, part, lambda: fn(words, digests, part, *more))


class Elsewhere(concurrent.futures.Executor):
    """Threads that see no file of this machine: `sent` has the number of files that came with each task."""

    def __init__(self):
        self.pool, self.sent = concurrent.futures.ThreadPoolExecutor(2), []

    def submit(self, fn, /, words, digests, part, leash, *contents):
        self.sent.append(len(contents))
        there = [("/elsewhere" + word if any(word.startswith(path) for path in digests) else word) for word in words]
        return self.pool.submit(fn, there, {"/elsewhere" + path: digest for path, digest in digests.items()}, part, leash, *contents)


def test_processes(digits, whole):
    here = run(digits, executor=2, parts=5)
    assert table(here) == whole and here.complete and here.check()["verdict"] == "accepted"
    assert table(run(digits, executor=1, parts=50)) == whole  # more parts than items
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        assert table(run(digits, executor=pool, parts=3)) == whole


def test_a_killed_program_costs_its_part_only(digits):
    """SIGKILL in the midst of a part: another process takes it."""
    options = {"eps": ("0.1", "0.12"), "first": 200}
    killed = []

    def kill_one():
        for _ in range(2000):
            for process in children(os.getpid()):
                time.sleep(0.05)  # into its proofs
                if not killed and process in children(os.getpid()):
                    os.kill(process, signal.SIGKILL)
                    killed.append(process)
                    return
            time.sleep(0.002)

    expected = table(run(digits, **options))
    killer = threading.Thread(target=kill_one)
    killer.start()
    found = run(digits, executor=2, parts=4, **options)
    killer.join()
    assert killed and table(found) == expected and found.check()["verdict"] == "accepted"


def test_a_part_that_fails_is_given_out_again(digits, whole):
    def fault(attempt, part, do):
        if attempt <= executors.RETRIES and part != "2/4":
            raise OSError("the worker is gone")
        return do()
    executor = Faulty(fault)
    assert table(run(digits, executor=executor, parts=4)) == whole
    assert executor.attempts == {"1/4": 4, "2/4": 1, "3/4": 4, "4/4": 4}


def test_results_that_are_dropped_damaged_or_foreign_are_decided_here(digits, whole):
    def fault(attempt, part, do):
        sent = do()
        if part == "1/4":
            sent["results.jsonl"] = b"".join(sent["results.jsonl"].splitlines(keepends=True)[:-3])
        elif part == "2/4":
            sent["certificates.pack"] = sent["certificates.pack"][:-20]  # and with them what they prove
        elif part == "3/4" and attempt == 1:
            sent["run.json"] = b"{}"
        elif part == "3/4" and attempt == 2:
            sent["run.json"] = sent["run.json"].replace(b'"part": "3/4"', b'"part": "1/4"')
        elif part == "4/4":
            middle = len(sent["certificates.pack"]) // 3
            sent["certificates.pack"] = sent["certificates.pack"][:middle] + bytes(64) + sent["certificates.pack"][middle + 64:]
        return sent
    found = run(digits, executor=Faulty(fault), parts=4)
    assert table(found) == whole and found.check()["verdict"] == "accepted"


def test_stragglers_and_duplicates(digits, whole, impatient):
    """A part that hangs is given out once more; when both come back one counts."""
    slow = threading.Event()

    def fault(attempt, part, do):
        if part == "3/4" and attempt == 1:
            slow.wait(20)
        return do()
    executor = Faulty(fault)
    start = time.monotonic()
    found = run(digits, executor=executor, parts=4)
    assert time.monotonic() - start < 15 and executor.attempts["3/4"] >= 2
    slow.set()
    assert table(found) == whole and len(found.results) == 80


def test_a_run_that_lost_a_part_goes_on(digits, whole, tmp_path):
    def fault(attempt, part, do):
        if part == "2/4":
            raise MemoryError("not here")
        return do()
    with pytest.raises(assay.Undecided, match="part 2/4.*MemoryError|MemoryError"):
        run(digits, executor=Faulty(fault), parts=4, run=tmp_path / "run")
    with pytest.raises(assay.MalformedInput):
        run(digits, executor=2, run=tmp_path / "run")
    executor = Faulty(lambda attempt, part, do: do())
    assert table(run(digits, executor=executor, parts=7, run=tmp_path / "run", resume=True)) == whole
    assert executor.attempts == {"2/4": 1}  # cut as before, and nothing is done twice


def die(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_pool_that_breaks_says_so_and_loses_nothing(digits, whole, tmp_path, monkeypatch):
    with concurrent.futures.ProcessPoolExecutor(1) as pool, monkeypatch.context() as patch:
        patch.setattr(executors, "do_part", die)
        with pytest.raises(assay.Undecided, match="could not be done.*a process of the pool died"):
            run(digits, executor=pool, parts=3, run=tmp_path / "run")
    assert table(run(digits, executor=2, run=tmp_path / "run", resume=True)) == whole
    closed = concurrent.futures.ThreadPoolExecutor(1)
    closed.shutdown()
    with pytest.raises(assay.Undecided, match="after shutdown"):
        run(digits, executor=closed, parts=3)


def test_files_travel_where_they_are_not(digits, whole, tmp_path):
    """Named arrays and labels of files, too; contents go to a worker only once it asked for them."""
    model = tmp_path / "m.onnx.gz"
    model.write_bytes(gzip.compress(digits.read_bytes()))
    executor = Elsewhere()
    named = assay.robust(tmp_path / "m.onnx", f"{DATA}:x", f"{DATA}:y", eps=("0.02", "0.08"), clip=(0, 1), first=40, each=True, executor=executor, parts=3,
                         run=tmp_path / "run")
    assert sorted(executor.sent) == [0, 0, 0, 2, 2, 2] and named.check()["verdict"] == "accepted"
    answers = lambda found: [{key: value for key, value in json.loads(line).items() if key != "statement"} for line in found.decode().splitlines()]
    assert answers(table(named)) == answers(whole)
    near = Faulty(lambda attempt, part, do: do())
    assert table(run(digits, executor=near, parts=3)) == whole and near.attempts == {"1/3": 1, "2/3": 1, "3/3": 1}


def test_files_are_known_by_their_content(digits, tmp_path):
    """A model that was trained again under its name is another one, and is never taken for what a worker has there."""
    model = tmp_path / "m.onnx"
    model.write_bytes(digits.read_bytes())
    digest = executors._digest_at(str(model))
    assert executors._placed({str(model): digest}, (), str(tmp_path)) == {str(model): str(model)}
    for change in (lambda: model.write_bytes(b"other"), model.unlink):
        change()
        assert executors._placed({str(model): digest}, (), str(tmp_path)) is None
        copy = pathlib.Path(executors._placed({str(model): digest}, (digits.read_bytes(),), str(tmp_path))[str(model)])
        assert copy != model and copy.read_bytes() == digits.read_bytes()


@pytest.mark.parametrize("broken, reason", [
    (concurrent.futures.CancelledError(), "the worker, or what had been sent to it, was lost"), (TimeoutError(), "no worker answered in time"),
    (concurrent.futures.TimeoutError("No workers found"), r"no worker answered in time \(No workers found\)"),
    (ModuleNotFoundError("No module named 'assay._verify.executors'"), "a worker has no package 'assay': install the wheel"), (ValueError(), "ValueError, without a word")])
def test_every_failure_of_a_worker_is_one_error_with_a_reason(digits, caplog, broken, reason):
    def fault(attempt, part, do):
        if part == "2/3":
            raise broken
        return do()
    executor = Faulty(fault)
    with pytest.raises(assay.Undecided, match=f"1 of 3 parts could not be done at part 2/3: {reason}") as caught:
        run(digits, executor=executor, parts=3)
    assert caught.value.code == "python.executor" and executor.attempts["2/3"] == 1 + executors.RETRIES
    assert any("part 2/3 is given out again in 0.01 s" in record.message for record in caplog.records)


def test_retries_wait_longer_each_time(digits, monkeypatch):
    monkeypatch.setattr(executors, "FIRST_WAIT", 0.1)
    times = []

    def fault(attempt, part, do):
        times.append(time.monotonic())
        raise OSError("gone")
    with pytest.raises(assay.Undecided, match="OSError: gone"):
        run(digits, executor=Faulty(fault), parts=1)
    waits = [after - before for before, after in zip(times, times[1:])]
    assert len(waits) == executors.RETRIES and all(wait >= least for wait, least in zip(waits, (0.1, 0.4, 1.6)))


@pytest.mark.parametrize("change", [{"model": "/nowhere.onnx"}, {"model": DIGITS / "digits_holds.vnnlib"}, {"data": "/nowhere.npy"}, {"data": DIGITS / "digits.onnx"},
                                    {"eps": "x"}, {"labels": [77]}, {"semantics": "float17"}, {"data": f"{DATA}:none"}])
def test_what_is_wrong_is_the_same_error_with_an_executor(digits, change):
    caught = []
    for executor in (None, 2, Elsewhere()):
        options = {"model": digits, "data": DATA, "labels": None, "eps": "0.02", "executor": executor, "first": 3, **change}
        with pytest.raises(assay.Error) as error:
            assay.robust(options.pop("model"), options.pop("data"), options.pop("labels"), **options)
        where = re.sub("^.*assay-run-[^/]*", "", error.value.where.replace("/elsewhere", ""))
        caught.append((type(error.value), error.value.code, where, error.value.why.replace("/elsewhere", "")))
    assert caught[0] == caught[1] and caught[0][:2] == caught[2][:2] and issubclass(caught[0][0], (assay.MalformedInput, assay.UsageError))


@pytest.mark.parametrize("executor", [0, -1, True, "slurm", object(), 1.5])
def test_what_is_no_executor(digits, executor):
    with pytest.raises(assay.UsageError):
        run(digits, executor=executor)


def workers_under(process, name):
    psutil = pytest.importorskip("psutil")
    return [child for child in psutil.Process(process).children(recursive=True) if name in " ".join(child.cmdline())]


@pytest.fixture
def cluster():
    distributed = pytest.importorskip("distributed", reason="skipped: pip install dask[distributed]")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster, distributed.Client(cluster) as client:
        yield cluster, client


def test_dask(digits, whole, cluster, monkeypatch):
    _, client = cluster
    monkeypatch.setattr(executors, "FIRST_WAIT", 1.0)
    assert table(run(digits, executor=client, parts=6)) == whole
    options = {"eps": ("0.1", "0.12"), "first": 200}
    expected = table(run(digits, **options))
    pids = list(client.run(os.getpid).values())
    threading.Timer(0.4, lambda: os.kill(pids[0], signal.SIGKILL)).start()
    assert table(run(digits, executor=client, parts=6, **options)) == expected
    assert pids[0] not in client.run(os.getpid).values()
    threading.Timer(0.6, client.restart).start()
    assert table(run(digits, executor=client, parts=6, **options)) == expected


def test_dask_sends_contents_by_their_digest(digits, cluster, tmp_path, monkeypatch):
    """Workers that have another file under the model's name: what an earlier call left on the cluster is not taken for it."""
    _, client = cluster
    model, inverted = tmp_path / "m.onnx", tmp_path / "other.onnx"
    model.write_bytes(digits.read_bytes())
    inverted.write_bytes(digits.read_bytes().replace(b"scores", b"SCORES"))
    first, second = (table(run(path, eps="0.02", first=10)) for path in (model, inverted))

    def hidden(words, digests, part, leash, *contents):
        return executors.do_part([word.replace(str(tmp_path), "/elsewhere") for word in words],
                                  {path.replace(str(tmp_path), "/elsewhere"): digest for path, digest in digests.items()}, part, leash, *contents)
    monkeypatch.setattr(executors, "do_part", hidden)
    kept = [client.scatter({str(model): b"old bytes"}, broadcast=True)]
    assert table(run(model, eps="0.02", first=10, executor=client, parts=3)) == first
    model.write_bytes(inverted.read_bytes())
    assert table(run(model, eps="0.02", first=10, executor=client, parts=3)) == second and kept


def test_dask_with_workers_that_come_late(digits, whole, monkeypatch):
    distributed = pytest.importorskip("distributed", reason="skipped: pip install dask[distributed]")
    with distributed.LocalCluster(n_workers=0, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster, distributed.Client(cluster) as client:
        with monkeypatch.context() as patch:
            patch.setattr(executors, "WAIT_FOR_WORKERS", 0.5)
            with pytest.raises(assay.Undecided, match="the cluster had no worker"):
                run(digits, executor=client, parts=2)
        cluster.adapt(minimum=0, maximum=1)
        assert table(run(digits, executor=client, parts=2)) == whole


class FakeRay:
    """What of Ray is used, over threads: references whose values tasks get, `future`, `cancel`."""

    def __init__(self):
        self.pool, self.cancelled = concurrent.futures.ThreadPoolExecutor(2), []

    def is_initialized(self):
        return False

    def init(self, **options):
        assert options == {"include_dashboard": False, "log_to_driver": False}

    def put(self, content):
        return ("reference", content)

    def remote(self, **options):
        return lambda task: type("Task", (), {"remote": lambda _, *arguments: self.start(task, arguments)})()

    def start(self, task, arguments):
        future = self.pool.submit(task, *(one[1] if isinstance(one, tuple) and one[:1] == ("reference",) else one for one in arguments))
        return type("Reference", (), {"future": lambda _: future})()

    def cancel(self, reference):
        self.cancelled.append(reference)


def test_the_interface_of_ray(digits, whole, monkeypatch):
    """Without Ray: what is asked of it, and that nothing stays with it."""
    ray = FakeRay()
    monkeypatch.setitem(sys.modules, "ray", ray)
    assert table(run(digits, executor="ray", parts=6)) == whole and len(ray.cancelled) == 6
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(assay.UsageError, match="pip install ray"):
        run(digits, executor="ray")


def test_ray(digits, whole):
    ray = pytest.importorskip("ray", reason="skipped: pip install ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        assert table(run(digits, executor="ray", parts=6)) == whole
        options = {"eps": ("0.1", "0.12"), "first": 200}
        killed = []

        def kill_one():
            for _ in range(1000):
                for process in workers_under(os.getpid(), "ray::do_part"):
                    process.kill()
                    killed.append(process.pid)
                    return
                time.sleep(0.01)
        killer = threading.Thread(target=kill_one)
        killer.start()
        found = run(digits, executor="ray", parts=6, **options)
        killer.join()
    finally:
        ray.shutdown()
    assert killed and table(found) == table(run(digits, **options))


def interrupted(executor, folder, within=1):
    """Ctrl-C for the asking process alone; all temporary folders lie in `folder`. -> the programs that ran"""
    return interrupt(f"""
import concurrent.futures, sys, time, assay
print("ready", flush=True)
try:
    with {executor} as pool:
        assay.robust({str(DIGITS / "digits.onnx")!r}, {str(DATA)!r}, eps=[str(k / 1000) for k in range(100, 200)], clip=(0, 1), each=True, executor=pool, parts=20)
except KeyboardInterrupt:
    print("interrupted", time.time(), flush=True)
""", within, TMPDIR=str(folder))


@pytest.mark.parametrize("executor, within", [("__import__('contextlib').nullcontext(2)", 1), ("concurrent.futures.ProcessPoolExecutor(2)", 5),
                                              ("concurrent.futures.ThreadPoolExecutor(2)", 5)])
def test_ctrl_c_leaves_neither_programs_nor_folders(tmp_path, executor, within):
    started = interrupted(executor, tmp_path, within)
    assert started and not [process for process in started if pathlib.Path(f"/proc/{process}").exists()]
    assert list(tmp_path.glob("assay-*")) == []


def test_ctrl_c_leaves_nothing_on_a_cluster_that_goes_on(tmp_path):
    pytest.importorskip("distributed", reason="skipped: pip install dask[distributed]")
    code = f"""
import os, signal, sys, threading, time, assay
from distributed import Client, LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster, Client(cluster) as client:
        threading.Timer(3, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            assay.robust({str(DIGITS / "digits.onnx")!r}, {str(DATA)!r}, eps=[str(k / 1000) for k in range(100, 200)], clip=(0, 1), each=True, executor=client,
                         parts=20)
        except KeyboardInterrupt as kept:
            ended = kept
        for _ in range(100):
            left = len(cluster.scheduler.tasks) + sum(name.startswith("assay-") for name in os.listdir({str(tmp_path)!r}))
            if not left:
                break
            time.sleep(0.1)
        print("left", left)
"""
    script = tmp_path / "call.py"
    script.write_text(code)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, env={**os.environ, "TMPDIR": str(tmp_path)})
    assert done.stdout.strip() == "left 0", done.stdout + done.stderr


@pytest.mark.parametrize("who", ["worker", "asker"])
def test_killed_processes_leave_neither_programs_nor_folders(tmp_path, who):
    code = f"""
import concurrent.futures, assay
print("ready", flush=True)
with concurrent.futures.ProcessPoolExecutor(2) as pool:
    assay.robust({str(DIGITS / "digits.onnx")!r}, {str(DATA)!r}, eps=[str(k / 1000) for k in range(100, 200)], clip=(0, 1), each=True, executor=pool, parts=20,
                 run={str(tmp_path / "run")!r})
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**os.environ, "TMPDIR": str(tmp_path)},
                               start_new_session=True)
    assert process.stdout.readline() == "ready\n"
    pools = lambda: children(process.pid, "python")
    for _ in range(400):
        programs = {program: parent for parent in pools() for program in children(parent)}
        if len(programs) == 2:
            break
        time.sleep(0.02)
    assert len(programs) == 2
    if who == "worker":
        for worker in pools():
            with contextlib.suppress(ProcessLookupError):  # a pool ends all of its processes when one of them is gone
                os.kill(worker, signal.SIGKILL)
    else:
        os.kill(process.pid, signal.SIGKILL)
    gone = lambda: not any(pathlib.Path(f"/proc/{program}").exists() for program in programs) and not list(tmp_path.glob("assay-[pc]*"))
    for _ in range(150):
        if gone():
            break
        time.sleep(0.1)
    ended = gone()
    os.killpg(process.pid, signal.SIGKILL)  # processes of a pool whose owner was killed wait for ever, which is Python's way
    process.wait(60)
    process.stdout.close()
    assert ended, (programs, list(tmp_path.iterdir()))


@pytest.mark.parametrize("moment", ["before its program", "while it runs", "after its program"])
def test_a_killed_part_leaves_nothing_at_any_moment(tmp_path, moment):
    code = f"""
import os, signal, subprocess
from assay._verify import executors
with executors._Outlived() as folder:
    open(os.path.join(folder.path, "input"), "w").close()
    if {moment!r} != "before its program":
        with subprocess.Popen(["sleep", "600"]) as program, folder.holds(program.pid):
            print(program.pid, flush=True)
            if {moment!r} == "after its program":
                program.kill()
            else:
                os.kill(os.getpid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env={**os.environ, "TMPDIR": str(tmp_path)})
    assert done.returncode == -signal.SIGKILL, done.stderr
    gone = lambda: not list(tmp_path.glob("assay-*")) and not any(pathlib.Path(f"/proc/{program}").exists() for program in done.stdout.split())
    for _ in range(300):
        if gone():
            break
        time.sleep(0.1)
    assert gone()
