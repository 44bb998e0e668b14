import fcntl
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from haarbor.errors import StoreError
from haarbor.store._file_lock import FileLock

HOLD = (
    "import sys, time; from pathlib import Path; from haarbor.store._file_lock import FileLock\n"
    "lock = FileLock(Path(sys.argv[1]), 'x'); print('held', flush=True); time.sleep(60)"
)


def test_the_file_names_its_holder_and_goes_with_the_lock(tmp_path):
    path = tmp_path / "x.lock"
    lock = FileLock(path, "x")
    assert path.read_text() == f"{os.getpid()}\n"
    with pytest.raises(StoreError) as refused:
        FileLock(path, "x")
    assert str(refused.value) == (
        f"one process at a time may write to x; process {os.getpid()} does now. "
        "Wait for it to end, or choose another place."
    )
    assert path.read_text() == f"{os.getpid()}\n"
    lock.release()
    assert not path.exists()
    lock.release()


def test_a_lock_given_back_twice_leaves_the_next_holder_alone(tmp_path):
    first = FileLock(tmp_path / "x.lock", "x")
    first.release()
    second = FileLock(tmp_path / "x.lock", "x")
    first.release()
    with pytest.raises(StoreError, match="one process at a time"):
        FileLock(tmp_path / "x.lock", "x")
    second.release()


def test_a_killed_holder_locks_nothing(tmp_path):
    path = tmp_path / "x.lock"
    other = subprocess.Popen([sys.executable, "-c", HOLD, path], stdout=subprocess.PIPE, text=True)
    with other:
        try:
            assert other.stdout.readline() == "held\n"
            with pytest.raises(StoreError, match=f"may write to x; process {other.pid} does now"):
                FileLock(path, "x")
        finally:
            other.send_signal(signal.SIGKILL)
    assert path.exists()
    FileLock(path, "x").release()
    assert not path.exists()


def test_a_lock_file_removed_by_its_holder_meanwhile_does_not_count(tmp_path, monkeypatch):
    path = tmp_path / "x.lock"
    attempts = []
    flock = fcntl.flock

    def removed_first(descriptor, operation):
        if not attempts:
            path.unlink()
        attempts.append(descriptor)
        return flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", removed_first)
    lock = FileLock(path, "x")
    assert len(attempts) == 2
    with pytest.raises(StoreError, match="one process at a time may write to x"):
        FileLock(path, "x")
    lock.release()
    assert not path.exists()


def test_one_thread_at_a_time_holds_the_lock(tmp_path):
    inside, most = [], []

    def work():
        for _ in range(20):
            lock = FileLock(tmp_path / "x.lock", "x", patience_seconds=60)
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.0005)
            inside.pop()
            lock.release()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(most), max(most)) == (60, 1)


def test_a_patient_process_gets_the_lock_when_it_is_free(tmp_path):
    first = FileLock(tmp_path / "x.lock", "x")
    threading.Timer(0.3, first.release).start()
    FileLock(tmp_path / "x.lock", "x", patience_seconds=20).release()


def test_a_forked_child_does_not_give_back_the_lock_of_its_parent(tmp_path):
    lock = FileLock(tmp_path / "x.lock", "x")
    child = os.fork()
    if child == 0:
        lock.release()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert (tmp_path / "x.lock").exists()
    with pytest.raises(StoreError, match="one process at a time"):
        FileLock(tmp_path / "x.lock", "x")
    lock.release()


def test_only_a_plain_file_is_locked_and_nothing_is_written_through_a_link(tmp_path):
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "link.lock").symlink_to(tmp_path / "precious")
    with pytest.raises(OSError, match="symbolic links"):
        FileLock(tmp_path / "link.lock", "x")
    os.mkfifo(tmp_path / "pipe.lock")
    with pytest.raises(
        StoreError, match=r"the lock of x must be a plain file; .*pipe.lock is none. Remove it"
    ):
        FileLock(tmp_path / "pipe.lock", "x")
    assert (tmp_path / "precious").read_text() == "precious"
