import os
import threading
import time

import numpy as np
import pytest

from haarbor import SettingError
from haarbor.engines._worker_threads import ordered_results, usable_cores


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_results_come_in_the_order_of_the_tasks(threads):
    def work(task):
        # Early tasks finish late.
        time.sleep(0.002 * (5 - task % 5))
        return task * task

    assert list(ordered_results(work, range(30), threads)) == [task * task for task in range(30)]


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_in_the_work_reaches_the_caller(threads):
    def work(task):
        if task == 3:
            raise ValueError("task 3 broke")
        return task

    results = ordered_results(work, range(1000), threads)
    with pytest.raises(ValueError, match="task 3 broke"):
        list(results)


def test_no_more_results_are_held_than_promised():
    started = []

    def work(task):
        started.append(task)
        return task

    results = ordered_results(work, range(100), 2)
    for _ in range(10):
        next(results)
        assert len(started) <= 10 + 2 * 2
    results.close()
    assert len(started) < 100


def test_work_is_spread_over_threads():
    seen = set()
    meet = threading.Barrier(2, timeout=20)

    def work(task):
        # Passes only if two threads are at work at once.
        meet.wait()
        seen.add(threading.get_ident())

    list(ordered_results(work, range(2), 2))
    assert len(seen) == 2


def test_one_thread_works_in_the_callers_own():
    assert set(ordered_results(lambda _: threading.get_ident(), range(3), 1)) == {threading.get_ident()}


def test_the_environment_sets_the_number_of_threads(monkeypatch):
    monkeypatch.setenv("HAARBOR_NUM_THREADS", "7")
    assert usable_cores() == 7
    monkeypatch.delenv("HAARBOR_NUM_THREADS")
    assert usable_cores() == len(os.sched_getaffinity(0))


@pytest.mark.parametrize("text", ["0", "-2", "two", "", "1.5", "1000000000", "9" * 5000])
def test_a_bad_number_of_threads_is_refused(monkeypatch, text):
    monkeypatch.setenv("HAARBOR_NUM_THREADS", text)
    with pytest.raises(SettingError, match=r"HAARBOR_NUM_THREADS must be a whole number in 1\.\.1024; found"):
        usable_cores()


@pytest.mark.parametrize("threads", [1, 2])
def test_work_keeps_to_what_the_caller_switched_off(threads):
    # numpy's warnings, for one, are a matter of the caller's context, which new threads do not have.
    with np.errstate(over="ignore"):
        found = list(ordered_results(lambda size: np.array([size]) * 1e300, [1e300, 1.0], threads))
    assert [array[0] for array in found] == [np.inf, 1e300]
