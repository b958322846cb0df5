"""Runs whose items other processes decide: the same table whatever happens to a worker."""
import concurrent.futures
import json
import os
import pathlib
import signal
import threading
import time

import pytest

import assay
from assay import _executors
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


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(_executors, "LEAST_PATIENCE", 0.5)
    monkeypatch.setattr(_executors, "PATIENCE", 0.1)


class Faulty(concurrent.futures.Executor):
    """Threads that do parts, with a fault for some of them: `fault(attempt, part, do)` gives the result or raises."""

    def __init__(self, fault):
        self.pool, self.fault, self.attempts, self.lock = concurrent.futures.ThreadPoolExecutor(3), fault, {}, threading.Lock()

    def submit(self, fn, /, words, files, part):
        with self.lock:
            attempt = self.attempts[part] = self.attempts.get(part, 0) + 1
        return self.pool.submit(self.fault, attempt, part, lambda: fn(words, files, part))


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
        if attempt <= _executors.RETRIES and part != "2/4":
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


def die(words, files, part):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_pool_that_breaks_says_so_and_loses_nothing(digits, whole, tmp_path, monkeypatch):
    with concurrent.futures.ProcessPoolExecutor(1) as pool, monkeypatch.context() as patch:
        patch.setattr(_executors, "do_part", die)
        with pytest.raises(assay.Undecided, match="could not be done"):
            run(digits, executor=pool, parts=3, run=tmp_path / "run")
    assert table(run(digits, executor=2, run=tmp_path / "run", resume=True)) == whole


def test_files_travel_where_they_are_not(digits, tmp_path):
    """A worker that does not see the files, or sees others under their names."""
    model = tmp_path / "m.onnx"
    model.write_bytes(digits.read_bytes())
    files = _executors.files_of([str(model)])
    assert _executors._placed(str(model), files, str(tmp_path)) == str(model)
    for change in (lambda: model.write_bytes(b"other"), model.unlink):
        change()
        copy = pathlib.Path(_executors._placed(str(model), files, str(tmp_path)))
        assert copy != model and copy.read_bytes() == digits.read_bytes()


@pytest.mark.parametrize("executor", [0, -1, True, "slurm", object(), 1.5])
def test_what_is_no_executor(digits, executor):
    with pytest.raises(assay.UsageError):
        run(digits, executor=executor)


def workers_under(process, name):
    psutil = pytest.importorskip("psutil")
    return [child for child in psutil.Process(process).children(recursive=True) if name in " ".join(child.cmdline())]


def test_dask(digits, whole):
    distributed = pytest.importorskip("distributed", reason="skipped: pip install dask[distributed]")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, distributed.Client(cluster) as client:
        assert table(run(digits, executor=client, parts=6)) == whole
        options = {"eps": ("0.1", "0.12"), "first": 200}
        pids = list(client.run(os.getpid).values())
        threading.Timer(0.4, lambda: os.kill(pids[0], signal.SIGKILL)).start()
        found = run(digits, executor=client, parts=6, **options)
        assert pids[0] not in client.run(os.getpid).values()
    assert table(found) == table(run(digits, **options))


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


def test_ctrl_c_ends_the_programs_too():
    started = interrupt(f"""
import sys, time, assay
print("ready", flush=True)
try:
    assay.robust({str(DIGITS / "digits.onnx")!r}, {str(DATA)!r}, eps=[str(k / 1000) for k in range(100, 200)], clip=(0, 1), each=True, executor=2)
except KeyboardInterrupt:
    print("interrupted", time.time(), flush=True)
""")
    assert started and not [process for process in started if pathlib.Path(f"/proc/{process}").exists()]
