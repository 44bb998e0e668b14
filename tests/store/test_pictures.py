import json
import shutil

import numpy as np
import pytest

from haarbor.errors import ShapeError, StoreError
from haarbor.store import create_run, import_arrays, open_run
from tests.store.builders import (
    assert_same_files,
    files_of,
    flip,
    picture_of,
    tiny_plan,
    write_batch,
    write_run,
)


@pytest.fixture(scope="module")
def with_pictures(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("with-pictures") / "run.zarr", pictures=True)


@pytest.fixture
def complete_run(with_pictures, tmp_path):
    return shutil.copytree(with_pictures, tmp_path / "run.zarr")


def test_pictures_come_back_as_they_were_and_cannot_be_changed(complete_run):
    run = open_run(complete_run)
    for batch in (0, 1):
        assert np.array_equal(run.picture(batch), picture_of(batch))
        assert run.picture(batch).dtype == np.uint8
        assert not run.picture(batch).flags.writeable
    assert run.picture(2) is None


def test_a_run_without_pictures_has_the_files_it_always_had(tmp_path):
    with create_run(tmp_path / "run.zarr", tiny_plan()) as writer:
        write_batch(writer, 2, pictures=True)
    assert not [name for name in files_of(tmp_path / "run.zarr") if "picture" in name]
    marker = json.loads((tmp_path / "run.zarr/batches/00002/zarr.json").read_bytes())
    assert sorted(marker["attributes"]["checksums"]) == [
        "decoder/logits",
        "decoder/mask",
        "decoder/probabilities",
    ]
    assert open_run(tmp_path / "run.zarr").picture(2) is None


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((4, 4, 3)),
        np.zeros((4, 4), dtype=np.uint8),
        np.zeros((3, 4, 4), dtype=np.uint8),
        np.zeros((0, 4, 3), dtype=np.uint8),
        np.zeros((225, 4, 3), dtype=np.uint8),
    ],
)
def test_other_pictures_are_refused_and_the_batch_can_have_a_right_one(tmp_path, wrong):
    with create_run(tmp_path / "run.zarr", tiny_plan(n_batches=1)) as writer:
        with (
            pytest.raises(ShapeError, match=r"uint8 of shape \(height, width, 3\), at most 224 pixels"),
            writer.batch(0) as batch,
        ):
            batch.write_picture(wrong)
        write_batch(writer, 0, pictures=True)
    assert np.array_equal(open_run(tmp_path / "run.zarr").picture(0), picture_of(0))


def test_a_picture_is_written_once_and_inside_the_block(tmp_path):
    with create_run(tmp_path / "run.zarr", tiny_plan(n_batches=1)) as writer:
        with writer.batch(0) as batch:
            batch.write_picture(picture_of(0))
            with pytest.raises(StoreError, match="picture of batch 0 must be written once"):
                batch.write_picture(picture_of(0))
            _rest_of_batch(batch, writer.plan)
        with pytest.raises(StoreError, match="only inside its block"):
            batch.write_picture(picture_of(0))


def test_an_abandoned_batch_leaves_no_picture(tmp_path):
    place = tmp_path / "run.zarr"
    with create_run(place, tiny_plan(n_batches=1)) as writer:
        with pytest.raises(StoreError, match="batch 0 lacks"), writer.batch(0) as batch:
            batch.write_picture(np.full((9, 9, 3), 7, dtype=np.uint8))
        assert not list(place.glob("pictures/0*/*"))


def test_what_a_killed_writer_left_of_a_picture_is_removed(tmp_path, with_pictures):
    place = write_run(tmp_path / "run.zarr", batches=[0], pictures=True)
    # Half a picture of a batch that will have one, a whole one of a batch that will not.
    half = place / "pictures/00001"
    half.mkdir(parents=True)
    (half / "zarr.json").write_text("{")
    (half / "c.0.0.0").write_bytes(b"half a picture")
    shutil.copytree(place / "pictures/00000", place / "pictures/00002")
    write_run(place, pictures=True)
    assert_same_files(place, with_pictures)


SPOILED = {
    "a bit": lambda folder: flip(folder / "c.0.0.0", 4),
    "missing": lambda folder: (folder / "c.0.0.0").unlink(),
    "of another batch": lambda folder: (folder / "c.0.0.0").write_bytes(
        (folder.parent / "00000/c.0.0.0").read_bytes()
    ),
    "no description": lambda folder: (folder / "zarr.json").unlink(),
}


@pytest.mark.parametrize("how", SPOILED)
def test_a_damaged_picture_is_named_never_shown_and_repaired(complete_run, with_pictures, how):
    SPOILED[how](complete_run / "pictures/00001")
    run = open_run(complete_run)
    with pytest.raises(StoreError, match=r"picture"):
        run.picture(1)
    [damage] = run.verify()
    assert (damage.batch, damage.content) == (1, "picture")
    assert np.array_equal(run.picture(0), picture_of(0))
    with create_run(complete_run, tiny_plan(), repair=True) as writer:
        assert writer.missing_batches == (1,)
        write_batch(writer, 1, pictures=True)
    assert_same_files(complete_run, with_pictures)


def test_results_know_the_picture_their_batch_had(complete_run):
    run = open_run(complete_run)
    run.save_result({"a": 1}, "note", batch=1)
    with create_run(complete_run, tiny_plan()) as writer:
        writer.discard(1)
        with writer.batch(1) as batch:
            _rest_of_batch(batch, writer.plan)
    assert not run.has_result("note", batch=1)


def _rest_of_batch(batch, plan):
    from tests.store.builders import layer_values, mask_of

    for stream in plan.streams:
        for layer in range(stream.n_layers):
            batch.write_layer(stream.name, layer, layer_values(stream, batch.index, layer))
        batch.write_mask(stream.name, mask_of(stream))


def test_imported_arrays_may_have_pictures(tmp_path, rng):
    X = rng.random((2, 5, 5, 3))
    pictures = rng.integers(0, 256, (2, 4, 4, 3), dtype=np.uint8)
    labels = ["CLS", "0,0", "0,1", "1,0", "1,1"]
    axes = ("batch", "query", "key", "head")
    run = import_arrays(X, tmp_path / "run.zarr", axes=axes, labels=labels, pictures=pictures)
    assert run.plan.labels == "patches"
    assert np.array_equal(run.picture(1), pictures[1])
    with pytest.raises(StoreError, match="config_digest"):
        import_arrays(X, tmp_path / "run.zarr", axes=axes, labels=labels, pictures=255 - pictures)
    with pytest.raises(ShapeError, match="pictures must be one per batch; found 1 for 2"):
        import_arrays(X, tmp_path / "two.zarr", axes=axes, pictures=pictures[:1])
