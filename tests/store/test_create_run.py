import re
import shutil
import subprocess
import sys

import pytest

from haarbor.errors import StoreError
from haarbor.store import create_run, open_run
from tests.store.builders import assert_same_files, files_of, tiny_plan, write_batch, write_run


def test_a_paused_run_equals_one_that_was_not(tmp_path):
    write_run(tmp_path / "paused.zarr", batches=(0,))
    write_run(tmp_path / "paused.zarr", batches=(2,))
    write_run(tmp_path / "paused.zarr")
    write_run(tmp_path / "straight.zarr")
    assert_same_files(tmp_path / "paused.zarr", tmp_path / "straight.zarr")


def test_another_plan_is_refused_and_nothing_touched(tmp_path):
    place = write_run(tmp_path / "run.zarr", batches=(0,))
    before = files_of(place)
    with pytest.raises(StoreError, match=r"settings.seed is 7 there and 8 here. Use the same settings"):
        create_run(place, tiny_plan(settings={"seed": 8, "mode": "faithful"}))
    with pytest.raises(StoreError, match="must be empty for a new run; there is a run of 'tiny'"):
        create_run(place, tiny_plan(), resume=False)
    assert files_of(place) == before


def test_a_folder_with_other_files_is_refused_and_nothing_touched(tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.png").write_bytes(b"cat")
    with pytest.raises(StoreError, match=r"it holds 'cat.png' and no run"):
        create_run(tmp_path / "photos", tiny_plan())
    assert files_of(tmp_path / "photos") == {"cat.png": b"cat"}
    (tmp_path / "file").write_bytes(b"text")
    with pytest.raises(StoreError, match=r"a run must be a folder; .* is a file"):
        create_run(tmp_path / "file", tiny_plan())


def test_a_run_too_large_for_the_disk_is_refused_before_anything_is_made(tmp_path, monkeypatch):
    needed = tiny_plan().n_bytes

    def free(n_bytes):
        monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10**9, 0, n_bytes))

    place = tmp_path / "deep" / "run.zarr"
    free(needed - 1)
    with pytest.raises(StoreError, match=r"may need 2.352 kB and has 2.351 kB free. Free some space"):
        create_run(place, tiny_plan())
    assert not place.parent.exists()
    create_run(place, tiny_plan(), check_space=False).close()
    shutil.rmtree(place)
    free(needed)
    with create_run(place, tiny_plan()) as writer:
        write_batch(writer, 0)
    # Only what is still missing has to fit.
    free(2 * tiny_plan().n_bytes_per_batch)
    create_run(place, tiny_plan()).close()
    free(2 * tiny_plan().n_bytes_per_batch - 1)
    with pytest.raises(StoreError, match="the disk must hold the run"):
        create_run(place, tiny_plan())


def test_a_second_writer_is_refused_and_the_first_unharmed(tmp_path):
    place = tmp_path / "run.zarr"
    with create_run(place, tiny_plan()) as writer, writer.batch(0) as batch:
        from tests.store.builders import STREAM, labels_of, layer_values, mask_of

        batch.write_layer(None, 0, layer_values(STREAM, 0, 0))
        with pytest.raises(
            StoreError, match=r"one process at a time may write to .*run.zarr; process [0-9]+ does"
        ):
            create_run(place, tiny_plan())
        with pytest.raises(StoreError, match="one process at a time"):
            create_run(place, tiny_plan(), repair=True)
        batch.write_layer(None, 1, layer_values(STREAM, 0, 1))
        batch.write_mask(None, mask_of(STREAM))
        batch.write_labels(None, *labels_of(STREAM, 0))
    write_run(place)
    write_run(tmp_path / "straight.zarr")
    assert_same_files(place, tmp_path / "straight.zarr")


def test_a_second_process_is_refused_while_the_first_lives(tmp_path):
    place = tmp_path / "run.zarr"
    code = (
        "import sys; from haarbor.store import create_run; from tests.store.builders import tiny_plan\n"
        "try: create_run(sys.argv[1], tiny_plan()).close()\n"
        "except OSError as error: print(error)"
    )
    command = [sys.executable, "-c", code, str(place)]

    def other_process():
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    with create_run(place, tiny_plan()):
        assert re.match("one process at a time may write to", other_process())
    assert other_process() == ""


def test_a_writer_that_is_forgotten_gives_the_lock_back(tmp_path):
    writer = create_run(tmp_path / "run.zarr", tiny_plan())
    del writer
    create_run(tmp_path / "run.zarr", tiny_plan()).close()
    assert not list((tmp_path / "run.zarr").glob(".*"))


def test_an_error_while_opening_gives_the_lock_back(tmp_path):
    place = write_run(tmp_path / "run.zarr")
    description = place / "decoder/mask/zarr.json"
    kept = description.read_bytes()
    description.write_text("{")
    with pytest.raises(
        StoreError,
        match=r"the array 'decoder/mask' of .* must be described as it was written; its description",
    ):
        create_run(place, tiny_plan())
    with create_run(place, tiny_plan(), repair=True) as writer:
        assert writer.missing_batches == ()
    assert description.read_bytes() == kept
    assert open_run(place).verify() == ()


@pytest.mark.parametrize("n_batches", [3, None])
def test_what_an_interrupted_batch_left_is_gone_once_the_run_is_opened(tmp_path, n_batches):
    plan = tiny_plan(n_batches=n_batches)
    write_run(tmp_path / "cut.zarr", plan, batches=(0, 1))
    write_run(tmp_path / "clean.zarr", plan, batches=(0,))
    shutil.rmtree(tmp_path / "cut.zarr/batches/00001")  # as if killed before the marker
    (tmp_path / "cut.zarr/decoder/logits/c.1.0.0.0.0.0123.partial").write_bytes(b"half a chunk")
    create_run(tmp_path / "cut.zarr", plan).close()
    assert_same_files(tmp_path / "cut.zarr", tmp_path / "clean.zarr")
