"""Runs organised by the workers of a Dask cluster: processes, two of them killed, and a lost scheduler."""

import contextlib
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest

import haarbor as hb
from haarbor.analysis import _cluster_batches, _divided_batch, _streamed_batch, organize_run
from haarbor.engines import ClusterEngine
from haarbor.questionnaire import MemoryPlan
from haarbor.store import open_run
from tests.analysis.network_runs import stored

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """A run that this process has organised alone."""
    folder = tmp_path_factory.mktemp("expected") / "run"
    organize_run(stored(folder))
    return folder


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def threads():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL, protocol="tcp",
    ) as cluster:  # fmt: skip
        yield {"engine": ClusterEngine(cluster.scheduler_address)}


def test_every_bit_is_that_of_one_process(tmp_path, threads, expected):
    run = stored(tmp_path / "run")
    told = []
    found = organize_run(run, options=threads, on_progress=lambda *step: told.append(step))
    assert told == [("organising", done, 3) for done in (1, 2, 3)]
    assert found.n_reused == 0
    assert files(tmp_path / "run") == files(expected)
    assert organize_run(run, options=threads).n_reused == 3


@pytest.mark.parametrize("content", ["probabilities", "logits"])
def test_a_batch_that_all_workers_divide_has_the_same_bits(tmp_path, threads, monkeypatch, content):
    monkeypatch.setattr(_cluster_batches, "_WORTH_DIVIDING", 0)
    divided = []
    sums = _divided_batch.DividedBatch.l1_sums
    monkeypatch.setattr(
        _divided_batch.DividedBatch, "l1_sums", lambda *args: divided.append(args[1]) or sums(*args)
    )
    organize_run(stored(tmp_path / "alone", content, padding=3, n_batches=1))
    organize_run(stored(tmp_path / "workers", content, padding=3, n_batches=1), options=threads)
    assert divided[:3] == ["head", "query", "key"]
    assert files(tmp_path / "alone") == files(tmp_path / "workers")
    assert not _divided_batch._OPENED


@pytest.mark.slow
def test_a_divided_batch_in_temporary_files_has_the_same_bits(tmp_path, threads, monkeypatch):
    monkeypatch.setattr(_cluster_batches, "_WORTH_DIVIDING", 0)
    plan = MemoryPlan(
        limit=1, is_streamed=True, tensor_bytes=1, peak_bytes=1, scratch_bytes=1, threads=1, piece_bytes=9000
    )
    monkeypatch.setattr(_streamed_batch, "memory_plan", lambda *given, **named: plan)
    organize_run(stored(tmp_path / "alone", n_batches=1), memory="1GB")
    organize_run(stored(tmp_path / "workers", n_batches=1), options=threads, memory="1GB")
    assert files(tmp_path / "alone") == files(tmp_path / "workers")


def test_batches_that_are_there_are_only_compared(tmp_path, threads, expected):
    run = stored(tmp_path / "run")
    shutil.copytree(expected, tmp_path / "run", dirs_exist_ok=True)
    run.delete_result("asked", batch=1)
    assert organize_run(run, options=threads).n_reused == 2
    assert files(tmp_path / "run") == files(expected)


@pytest.mark.slow
def test_haar_trees_and_a_limit_of_memory_too(tmp_path, threads):
    for name, options in (("alone", {"tree": "haar"}), ("workers", {"tree": "haar", **threads})):
        organize_run(stored(tmp_path / name, n_batches=2), options=options, memory="100GB")
    assert files(tmp_path / "alone") == files(tmp_path / "workers")


def test_a_run_in_memory_is_refused(threads):
    with pytest.raises(hb.EngineError, match="must have a run at a path or URL that its workers can open"):
        organize_run(stored("memory://cluster-batches"), options=threads)


def test_workers_that_do_not_reach_the_run(tmp_path, threads, monkeypatch):
    run = stored(tmp_path / "run")
    monkeypatch.setattr(type(run), "place", (str(tmp_path / "nowhere"), None))
    with pytest.raises(
        hb.StoreError, match=r"every worker must reach the run at .*nowhere; worker tcp://"
    ) as caught:
        organize_run(run, options=threads)
    assert "\n" not in str(caught.value)


def test_workers_that_find_another_run(tmp_path, threads, monkeypatch):
    run = stored(tmp_path / "run")
    stored(tmp_path / "other", padding=1)
    monkeypatch.setattr(type(run), "place", (str(tmp_path / "other"), None))
    with pytest.raises(hb.StoreError, match=r"every worker must find the same run.*finds another batch"):
        organize_run(run, options=threads)


def test_a_limit_of_memory_that_is_too_small(tmp_path, threads):
    with pytest.raises(hb.SettingError, match="memory must hold the distances and one block"):
        organize_run(stored(tmp_path / "run"), options=threads, memory="1kB")


class Processes:
    """A scheduler and three workers, each a process of its own, started as `dask scheduler` starts them."""

    def __init__(self, folder):
        place = folder / "scheduler.json"
        self.started = []
        # If a task is never done, the test must fail and not wait for ever.
        self.limit = threading.Timer(120, self.end)
        self.limit.daemon = True
        self.limit.start()
        self.start(
            "scheduler", "--scheduler-file", place, "--port", "0", "--dashboard-address", "127.0.0.1:0"
        )
        deadline = time.monotonic() + 60
        while not place.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        for _ in range(3):
            self.start("worker", "--scheduler-file", place, "--no-nanny", "--nthreads", "1", "--no-dashboard")
        with distributed.Client(scheduler_file=str(place), timeout=60, set_as_default=False) as client:
            client.wait_for_workers(3, timeout=60)
            self.address = client.scheduler.address

    def start(self, kind, *options):
        self.started.append(
            subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.dask_{kind}", *map(str, options)],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )
        )  # fmt: skip

    def alive(self):
        return [process.poll() is None for process in self.started]

    def end(self):
        self.limit.cancel()
        for process in self.started:
            process.kill()
            process.wait()


@pytest.fixture
def processes(tmp_path):
    with contextlib.closing(contextlib.ExitStack()) as stack:
        found = Processes(tmp_path)
        stack.callback(found.end)
        yield found


def fatal_once(place):
    """Kill the worker that does it first."""
    if not place.exists():
        place.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


@pytest.mark.slow
def test_a_killed_worker_is_survived_and_a_lost_scheduler_told(tmp_path, processes, expected):
    options = {"engine": ClusterEngine(processes.address)}

    def kill_a_busy_worker(step, done, total):
        if done > 1:
            return
        with distributed.Client(processes.address, set_as_default=False) as client:
            pids = client.run(os.getpid)
            busy = [address for address, keys in client.processing().items() if keys]
            os.kill(pids[busy[0] if busy else min(pids)], signal.SIGKILL)

    found = organize_run(stored(tmp_path / "run"), options=options, on_progress=kill_a_busy_worker)
    assert found.n_reused == 0
    assert files(tmp_path / "run") == files(expected)

    with options["engine"].session() as session:
        done = dict(session.completed(fatal_once, [tmp_path / "killed"] * 4))
    assert sorted(processes.alive()) == [False, False, True, True]
    assert len(done) == 4
    assert all(pid in [process.pid for process in processes.started[1:]] for pid in done.values())

    again = stored(tmp_path / "again")

    def lose_the_scheduler(step, done, total):
        processes.started[0].kill()
        processes.started[0].wait()

    with pytest.raises(
        hb.EngineError, match=r"the connection to it was lost\. What was finished is kept"
    ) as caught:
        organize_run(again, options=options, on_progress=lose_the_scheduler)
    assert "\n" not in str(caught.value)
    assert organize_run(open_run(tmp_path / "again")).n_reused == 1
    assert files(tmp_path / "again") == files(expected)
