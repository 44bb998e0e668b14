"""Files and folders are waited for, all of them, and a disk that fails is heard of."""

import os
import threading

import pytest

from haarbor.store._wait_for_disk import wait_for_disk


@pytest.fixture
def waited_for(monkeypatch):
    """Paths that the system was asked to write out, by their place on the disk."""
    found, lock = [], threading.Lock()

    def sync(descriptor):
        with lock:
            found.append(os.fstat(descriptor).st_ino)

    monkeypatch.setattr(os, "fsync", sync)
    return found


@pytest.mark.parametrize("n_files", [0, 1, 2, 30])
def test_every_file_and_folder_is_waited_for_once(tmp_path, waited_for, n_files):
    paths = [tmp_path / f"{place}" for place in range(n_files)]
    for path in paths:
        path.write_text("something")
    paths = [*paths, tmp_path] if n_files else paths
    wait_for_disk(paths)
    assert sorted(waited_for) == sorted(path.stat().st_ino for path in paths)


@pytest.mark.parametrize("n_files", [1, 20])
def test_a_disk_that_fails_is_told(tmp_path, monkeypatch, n_files):
    def failing(descriptor):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(OSError, match="Input/output error"):
        wait_for_disk([tmp_path] * n_files)
