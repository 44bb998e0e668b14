from contextlib import contextmanager

import numpy as np
import pytest

from haarbor.errors import DataError, SettingError, ShapeError, StoreError
from haarbor.store import create_run, open_run
from tests.store.runs import (
    STREAM,
    assert_same_files,
    files_of,
    layer_values,
    mask_of,
    tiny_plan,
    write_batch,
    write_run,
)


@pytest.fixture
def place(tmp_path):
    return tmp_path / "run.zarr"


@pytest.fixture
def writer(place):
    with create_run(place, tiny_plan(labels="none")) as writer:
        yield writer


@contextmanager
def unfinished(writer, index):
    """A batch that ends without all its parts, as a test of refusals does."""
    with pytest.raises(StoreError, match="lacks"), writer.batch(index) as batch:
        yield batch


def fill(batch, index=0, layers=(0, 1)):
    for layer in layers:
        batch.write_layer("decoder", layer, layer_values(STREAM, index, layer))


def test_readers_see_a_batch_when_its_block_ends(writer, place):
    with writer.batch(1) as batch:
        fill(batch, 1)
        batch.write_mask("decoder", mask_of(STREAM))
        assert open_run(place).batches == ()
    assert open_run(place).batches == (1,)
    assert writer.complete_batches == (1,)
    assert writer.missing_batches == (0, 2)
    assert repr(writer) == f"RunWriter({place}, 1 of 3 batches complete)"


def test_layers_are_on_disk_as_soon_as_they_are_written(writer, place):
    with writer.batch(0) as batch:
        batch.write_layer("decoder", 1, layer_values(STREAM, 0, 1))
        assert (place / "decoder/logits/c.0.1.0.0.0").stat().st_size > 0
        fill(batch, layers=(0,))
        batch.write_mask("decoder", mask_of(STREAM))


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_block_left_by_an_exception_leaves_nothing(writer, place, error):
    before = files_of(place)

    def interrupted():
        with writer.batch(0) as batch:
            fill(batch)
            batch.write_mask("decoder", mask_of(STREAM))
            raise error

    with pytest.raises(error):
        interrupted()
    assert files_of(place) == before
    assert writer.missing_batches == (0, 1, 2)


def test_missing_parts_are_named(writer, place):
    before = files_of(place)
    with (
        pytest.raises(
            StoreError,
            match="lacks decoder/probabilities layers 1; decoder/logits layers 1; the mask of 'decoder'",
        ),
        writer.batch(0) as batch,
    ):
        fill(batch, layers=(0,))
    assert files_of(place) == before


def test_several_batches_may_be_open_at_once(writer, tmp_path):
    with writer.batch(0) as first, writer.batch(1) as second, writer.batch(2) as third:
        for layer in range(2):
            for index, batch in enumerate((first, second, third)):
                batch.write_layer(None, layer, layer_values(STREAM, index, layer))
        for batch in (first, second, third):
            batch.write_mask(None, mask_of(STREAM))
    writer.close()
    write_run(tmp_path / "one-by-one.zarr", tiny_plan(labels="none"))
    assert_same_files(tmp_path / "run.zarr", tmp_path / "one-by-one.zarr")


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


def test_a_discarded_batch_can_be_written_again(complete_run, written_once):
    place = complete_run
    with create_run(place, tiny_plan()) as writer:
        writer.discard(1)
        writer.discard(1)
        assert writer.missing_batches == (1,)
        assert open_run(place).batches == (0, 2)
        write_batch(writer, 1)
    assert_same_files(place, written_once)


def test_batches_that_cannot_be_written(writer):
    write_batch(writer, 0)
    with pytest.raises(StoreError, match=r"written once; batch 0 .* is complete"), writer.batch(0):
        pass
    with pytest.raises(SettingError, match="at least 0 and below 3; found 3"), writer.batch(3):
        pass
    with pytest.raises(SettingError, match="batch must be a whole number from 0"), writer.batch(-1):
        pass
    with unfinished(writer, 1):
        with pytest.raises(StoreError, match="batch 1 is being written"), writer.batch(1):
            pass
        with pytest.raises(StoreError, match="batch 1 is being written"):
            writer.discard(1)
    writer.close()
    with pytest.raises(StoreError, match="a closed writer cannot write"), writer.batch(2):
        pass


def test_a_batch_writer_ends_with_its_block(writer):
    with pytest.raises(StoreError, match="lacks"), writer.batch(0) as batch:
        assert batch.index == 0
    with pytest.raises(StoreError, match="only inside its block; batch 0 was left"):
        fill(batch)


def test_layers_that_do_not_fit(writer):
    values = layer_values(STREAM, 0, 0)
    with unfinished(writer, 0) as batch:
        with pytest.raises(SettingError, match=r"layer of stream 'decoder' must lie in 0..1; found 2"):
            batch.write_layer("decoder", 2, values)
        with pytest.raises(SettingError, match="must hold probabilities, logits; found logits"):
            batch.write_layer("decoder", 0, {"logits": values["logits"]})
        with pytest.raises(
            ShapeError, match=r"batch 0, stream 'decoder', layer 0 must have shape \(3, 4, 4\)"
        ):
            batch.write_layer("decoder", 0, {**values, "logits": values["logits"][:2]})
        with pytest.raises(
            DataError, match="probabilities of batch 0, stream 'decoder', layer 0 must be finite"
        ):
            batch.write_layer("decoder", 0, {**values, "probabilities": np.full((3, 4, 4), np.nan)})
        # A refused layer can be given again, an accepted one cannot.
        batch.write_layer("decoder", 0, values)
        with pytest.raises(
            StoreError, match="layer 0 of decoder/probabilities of batch 0 must be written once"
        ):
            batch.write_layer("decoder", 0, values)


def test_masks_and_labels_that_do_not_fit(writer, tmp_path):
    with unfinished(writer, 0) as batch:
        with pytest.raises(ShapeError, match=r"must be boolean of shape \(4, 4\).*found float64"):
            batch.write_mask("decoder", np.zeros((4, 4)))
        with pytest.raises(ShapeError, match=r"found bool of shape \(4, 5\)"):
            batch.write_mask("decoder", np.ones((4, 5), dtype=bool))
        with pytest.raises(DataError, match="must leave a valid entry"):
            batch.write_mask("decoder", np.zeros((4, 4), dtype=bool))
        with pytest.raises(SettingError, match="labels need a plan with"):
            batch.write_labels("decoder", list("abcd"))
    with create_run(tmp_path / "labelled.zarr", tiny_plan()) as labelled, unfinished(labelled, 0) as batch:
        with pytest.raises(ShapeError, match="query labels of stream 'decoder' must be 4 texts; found 3"):
            batch.write_labels("decoder", list("abc"))
        with pytest.raises(ShapeError, match="must be 4 texts"):
            batch.write_labels("decoder", "abcd")
        with pytest.raises(ShapeError, match=r"key labels .* must be 4 texts; found 4 of int"):
            batch.write_labels("decoder", list("abcd"), [1, 2, 3, 4])


def test_probabilities_where_the_mask_is_closed_are_refused(writer):
    narrow = mask_of(STREAM).copy()
    narrow[3, 1] = False

    def stray():
        with writer.batch(0) as batch:
            fill(batch)
            batch.write_mask("decoder", narrow)

    with pytest.raises(
        DataError, match=r"masked probabilities must be 0; batch 0.* at query 3, key 1, 1 such"
    ):
        stray()
    assert writer.missing_batches == (0, 1, 2)


def test_logits_without_a_value_must_be_masked(writer):
    def written(mask):
        with writer.batch(0) as batch:
            for layer in range(2):
                values = layer_values(STREAM, 0, layer)
                values["logits"] = np.where(mask_of(STREAM), values["logits"], -np.inf)
                batch.write_layer(None, layer, values)
            batch.write_mask(None, mask)

    with pytest.raises(
        DataError, match=r"logits must be finite where the mask is open.* query 0, key 1, 6 such"
    ):
        written(np.ones((4, 4), dtype=bool))
    written(mask_of(STREAM))
    assert np.isneginf(np.asarray(writer.run.tensor(0, "logits"))).sum() == 6 * 6


def test_a_layer_in_memory_is_all_that_is_held(tmp_path):
    import tracemalloc

    from haarbor.store import StreamPlan

    stream = StreamPlan(name="big", n_layers=12, n_heads=4, n_queries=256, n_keys=256)
    layer_bytes = 4 * 256 * 256 * 4
    values = np.random.default_rng(0).random((4, 256, 256), dtype=np.float32)
    plan = tiny_plan(streams=(stream,), n_batches=1, contents=("probabilities",), labels="none")
    with create_run(tmp_path / "run.zarr", plan) as writer, writer.batch(0) as batch:
        batch.write_mask(None, np.ones((256, 256), dtype=bool))
        batch.write_layer(None, 0, {"probabilities": values})
        tracemalloc.start()
        for layer in range(1, 12):
            batch.write_layer(None, layer, {"probabilities": values})
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 4 * layer_bytes


@pytest.mark.parametrize(
    "mask",
    [
        np.full((4, 4), "False"), [["False"] * 4] * 4, np.ones((4, 4), dtype=int),
        np.ones((4, 4), dtype=object), [[True] * 4, [True]], None, 5, "causal",
        np.ma.array(np.ones((4, 4), dtype=bool), mask=True),
    ],
    ids=lambda mask: type(mask).__name__,
)  # fmt: skip
def test_a_mask_is_never_made_out_of_something_else(writer, mask):
    with unfinished(writer, 0) as batch, pytest.raises(ShapeError, match="mask of stream 'decoder' must"):
        batch.write_mask("decoder", mask)


@pytest.mark.parametrize("index", [True, 1.0, "1", None, 10**9, -1])
def test_batches_that_are_no_numbers_are_refused(writer, index):
    with pytest.raises(SettingError, match="batch must be a whole number from 0"), writer.batch(index):
        pass
    with pytest.raises(SettingError, match="batch must be a whole number from 0"):
        writer.discard(index)


def test_layers_that_are_none_are_refused(writer):
    values = layer_values(STREAM, 0, 0)
    with unfinished(writer, 0) as batch:
        for layer in (0.0, True, "0", None, -1):
            with pytest.raises(SettingError, match=r"layer of stream 'decoder' must lie in 0..1; found"):
                batch.write_layer("decoder", layer, values)
        for strange in (values["logits"], None, 5, ["probabilities", "logits"], {1: 2}):
            with pytest.raises(SettingError, match="a layer must hold probabilities, logits; found"):
                batch.write_layer("decoder", 0, strange)
        with pytest.raises(ShapeError, match="logits of batch 0, stream 'decoder', layer 0 must be"):
            batch.write_layer("decoder", 0, {**values, "logits": [[1.0], [1.0, 2.0]]})
        with pytest.raises(ShapeError, match="whose mask would be lost"):
            batch.write_layer("decoder", 0, {**values, "logits": np.ma.array(values["logits"], mask=True)})
