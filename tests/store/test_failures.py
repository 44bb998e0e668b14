import errno
import os
from pathlib import Path

import numpy as np

from haarbor.store import open_run
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
