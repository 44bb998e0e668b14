import threading
import time

import pytest

from haarbor.engines import parallel_map


def test_results_come_in_the_order_of_the_heads():
    def work(head):
        # Early heads finish late.
        time.sleep(0.002 * (5 - head % 5))
        return head * head

    assert parallel_map(work, [7, 0, 3, 4]) == [49, 0, 9, 16]
    assert parallel_map(work, []) == []


def test_progress_is_told_head_by_head_on_the_callers_thread():
    told = []
    parallel_map(abs, range(3), lambda *step: told.append((*step, threading.current_thread())))
    assert told == [("heads", done, 3, threading.current_thread()) for done in (1, 2, 3)]


def test_after_an_error_no_further_head_is_begun(monkeypatch):
    monkeypatch.setenv("HAARBOR_NUM_THREADS", "1")
    begun, told = [], threading.Event()

    def work(head):
        begun.append(head)
        if head == 1:
            raise ValueError("head 1 broke")
        # Held until the error has been told, if it comes to that.
        return head if head == 0 else told.wait(10)

    with pytest.raises(ValueError, match="head 1 broke"):
        parallel_map(work, range(50))
    told.set()
    time.sleep(0.1)
    assert len(begun) <= 3


def test_an_error_in_one_head_is_raised():
    def work(head):
        if head == 2:
            raise ValueError("head 2")
        return head

    with pytest.raises(ValueError, match="head 2"):
        parallel_map(work, range(5))
