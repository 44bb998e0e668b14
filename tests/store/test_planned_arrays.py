import shutil

import numpy as np
import pytest

from haarbor.errors import StoreError
from haarbor.store import create_run, open_run
from tests.store.builders import assert_same_files, edit, fill, tiny_plan, write_batch, write_run


def test_arrays_of_a_growing_run_have_room_for_its_batches_and_no_more(tmp_path):
    described_run = write_run(tmp_path / "run.zarr", tiny_plan(n_batches=None), batches=(0, 1))
    file = described_run / "decoder/logits/zarr.json"
    run = open_run(described_run)
    assert run.verify() == ()
    kept = file.read_bytes()
    for room in (1, 3, 10**12, True, None, "2"):
        file.write_bytes(kept)
        edit(file, lambda d, room=room: d["shape"].__setitem__(0, room))
        [damage] = run.verify()
        assert "its description" in damage.reason
    edit(file, lambda d: d["shape"].__setitem__(0, 1))
    with pytest.raises(StoreError, match="room for 2 batches"):
        run.tensor(1, "logits")
    with create_run(described_run, tiny_plan(n_batches=None), repair=True) as writer:
        assert writer.complete_batches == (0, 1)
    assert file.read_bytes() == kept


def test_a_growing_run_cut_off_before_its_marker_is_whole(tmp_path):
    plan = tiny_plan(n_batches=None)
    described_run = write_run(tmp_path / "run.zarr", plan, batches=(0, 1))
    shutil.rmtree(described_run / "batches/00001")
    assert open_run(described_run).verify() == ()
    with create_run(described_run, plan) as writer:
        assert open_run(described_run).verify() == ()
        write_batch(writer, 1)
    write_run(tmp_path / "straight.zarr", plan, batches=(0, 1))
    assert_same_files(described_run, tmp_path / "straight.zarr")


def test_arrays_grow_where_the_number_of_batches_is_unknown(tmp_path):
    plan = tiny_plan(n_batches=None)
    with create_run(tmp_path / "grown.zarr", plan) as writer:
        for index in range(3):
            write_batch(writer, index)
        with pytest.raises(StoreError, match="batch 3 lacks the mask"), writer.batch(3) as batch:
            fill(batch)
        assert writer.missing_batches == ()
    run = open_run(tmp_path / "grown.zarr")
    assert run.batches == (0, 1, 2)
    assert np.asarray(run.tensor(2)).any()
    assert repr(run).count("3 batches") == 1
    with create_run(tmp_path / "paused.zarr", plan) as writer:
        write_batch(writer, 0)
    with create_run(tmp_path / "paused.zarr", plan) as writer:
        write_batch(writer, 2)
        assert writer.missing_batches == (1,)
        write_batch(writer, 1)
    assert_same_files(tmp_path / "grown.zarr", tmp_path / "paused.zarr")
