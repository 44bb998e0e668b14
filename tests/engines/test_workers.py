import gc
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import numpy as np
import pytest

from haarbor.engines._workers import Workers


def alive(name):
    return [thread for thread in threading.enumerate() if thread.name.startswith(name)]


def wait_until(happened):
    end = time.monotonic() + 20
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_work_is_done_and_its_errors_are_told():
    workers = Workers(2, "test-done")
    assert workers.submit(abs, -3).result() == 3
    with pytest.raises(TypeError, match="bad operand"):
        workers.submit(abs, "x").result()
    assert workers.submit(abs, -4).result() == 4


def test_cancelled_work_is_not_done():
    workers, gate, done = Workers(1, "test-cancelled"), threading.Event(), []
    first = workers.submit(lambda _: gate.wait(20), 0)
    second = workers.submit(done.append, 1)
    assert second.cancel()
    gate.set()
    assert first.result()
    workers.submit(done.append, 2).result()
    assert done == [2]


def test_threads_end_when_the_workers_are_closed_or_forgotten():
    closed, forgotten = Workers(2, "test-closed"), Workers(2, "test-forgotten")
    assert len(alive("test-closed")) == len(alive("test-forgotten")) == 2
    closed.close()
    closed.close()
    del forgotten
    gc.collect()
    wait_until(lambda: not alive("test-closed") and not alive("test-forgotten"))


def test_threads_that_wait_keep_nothing_alive():
    workers = Workers(1, "test-kept")
    array = np.ones(3)
    gone = weakref.ref(array)
    workers.submit(np.copy, array).result()
    del array
    wait_until(lambda: gone() is None)


def ending(code):
    """What a program prints that must end by itself."""
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


INTERRUPTED_START = """
import threading
from haarbor.engines._parallel_map import parallel_map
from haarbor.engines._worker_threads import ordered_results

start = threading.Thread.start

def interrupted(thread):
    start(thread)
    raise KeyboardInterrupt

threading.Thread.start = interrupted
for work in (lambda: list(ordered_results(abs, range(5), 2)), lambda: parallel_map(abs, range(5))):
    try:
        work()
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_an_interrupt_while_threads_are_started_does_not_keep_the_process():
    assert ending(INTERRUPTED_START).split() == ["interrupted"] * 2


INTERRUPTED_WORK = """
import os, signal, threading, time
from haarbor.engines._parallel_map import parallel_map
from haarbor.engines._worker_threads import ordered_results

begun = threading.Event()

def long(_task):
    if not begun.is_set():
        begun.set()
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    time.sleep(600)

for work in (lambda: list(ordered_results(long, range(5), 2)), lambda: parallel_map(long, range(5))):
    begun.clear()
    try:
        work()
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_an_interrupt_waits_for_no_long_work():
    assert ending(INTERRUPTED_WORK).split() == ["interrupted"] * 2
