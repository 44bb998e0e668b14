import errno
import os
from pathlib import Path

import numpy as np
import pytest

from haarbor.errors import StoreError
from haarbor.store import open_run
from haarbor.store._failures import storage_failures
from tests.store.builders import refused


def test_a_full_disk_is_one_line_for_results_too(complete_run, monkeypatch):
    run = open_run(complete_run)
    run.save_result(np.arange(3), "x", batch=0)

    def full(self, *arguments, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "replace", full)
    assert "No space left on device. The disk is full" in refused(
        lambda _: run.save_result(np.arange(9), "x", batch=0), complete_run
    )
    monkeypatch.undo()
    assert not list(complete_run.rglob("*.partial"))
    assert not run.has_result("x", batch=0)
    run.save_result(np.arange(3), "x", batch=0)
    assert run.verify() == ()


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.EACCES, "Change its permissions, or choose another place."),
        (errno.EROFS, "The file system is read-only: choose another place."),
        (errno.EIO, "What was complete before is unharmed."),
    ],
)
def test_a_failure_says_what_was_done_and_what_to_do(number, advice):
    with pytest.raises(StoreError) as failed, storage_failures("writing two\nlines"):
        raise OSError(number, "It broke.\nTwice.")
    assert str(failed.value) == f"writing two\\nlines failed: It broke. {advice}"
    assert failed.value.errno == number


def test_other_errors_pass_unless_all_are_asked_for():
    with pytest.raises(KeyError), storage_failures("reading"):
        raise KeyError("x")
    with (
        pytest.raises(StoreError, match="reading failed: KeyError"),
        storage_failures("reading", of_anything=True),
    ):
        raise KeyError
