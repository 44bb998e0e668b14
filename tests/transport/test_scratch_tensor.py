import shutil
import tempfile
from collections import namedtuple

import numpy as np
import pytest

import haarbor as hb
from haarbor.transport import ScratchTensor

FLOAT32 = np.dtype(np.float32)


def test_runs_are_read_as_they_were_written(rng):
    values = rng.normal(size=(3, 4, 5)).astype(np.float32)
    tensor = ScratchTensor(values.shape, FLOAT32)
    assert tensor.nbytes == values.nbytes
    for first in (2, 0, 1):
        tensor.write((first, 0, 0), values[first])
    row, rest = np.empty(5, np.float32), np.empty((2, 4, 5), np.float32)
    tensor.read((1, 2, 0), row)
    tensor.read((1, 0, 0), rest)
    assert (row == values[1, 2]).all()
    assert (rest == values[1:]).all()


def test_numbers_of_another_kind_and_order_are_converted(rng):
    values = rng.normal(size=(4, 3))
    tensor = ScratchTensor((1, 3, 4), FLOAT32)
    tensor.write((0, 0, 0), values.T)
    found = np.empty((3, 4), np.float32)
    tensor.read((0, 0, 0), found)
    assert (found == values.T.astype(np.float32)).all()


def test_reading_beyond_what_was_written_is_refused():
    tensor = ScratchTensor((2, 2, 2), FLOAT32)
    with pytest.raises(hb.StoreError, match=r"must stay as it was written; it ends too early\. Organise"):
        tensor.read((1, 0, 0), np.empty(4, np.float32))


def test_a_folder_without_room_is_refused_before_anything_is_written(monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage(10, 0, 10))
    with pytest.raises(hb.StoreError, match=r"needs 4\.0 MB .*; .* has 10 bytes left\. Set TMPDIR"):
        ScratchTensor((100, 100, 100), FLOAT32)


def test_no_file_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    tensor = ScratchTensor((2, 2, 2), FLOAT32)
    tensor.write((0, 0, 0), np.ones((2, 2, 2)))
    del tensor
    assert not list(tmp_path.iterdir())
