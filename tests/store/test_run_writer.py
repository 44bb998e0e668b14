import pytest

from haarbor.errors import SettingError, StoreError
from haarbor.store import create_run, open_run
from tests.store.builders import (
    STREAM,
    assert_same_files,
    files_of,
    fill,
    layer_values,
    mask_of,
    tiny_plan,
    unfinished,
    write_batch,
    write_run,
)


def test_readers_see_a_batch_when_its_block_ends(writer, new_place):
    with writer.batch(1) as batch:
        fill(batch, 1)
        batch.write_mask("decoder", mask_of(STREAM))
        assert open_run(new_place).batches == ()
    assert open_run(new_place).batches == (1,)
    assert writer.complete_batches == (1,)
    assert writer.missing_batches == (0, 2)
    assert repr(writer) == f"RunWriter({new_place}, 1 of 3 batches complete)"


def test_layers_are_on_disk_as_soon_as_they_are_written(writer, new_place):
    with writer.batch(0) as batch:
        batch.write_layer("decoder", 1, layer_values(STREAM, 0, 1))
        assert (new_place / "decoder/logits/c.0.1.0.0.0").stat().st_size > 0
        fill(batch, layers=(0,))
        batch.write_mask("decoder", mask_of(STREAM))


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_block_left_by_an_exception_leaves_nothing(writer, new_place, error):
    before = files_of(new_place)

    def interrupted():
        with writer.batch(0) as batch:
            fill(batch)
            batch.write_mask("decoder", mask_of(STREAM))
            raise error

    with pytest.raises(error):
        interrupted()
    assert files_of(new_place) == before
    assert writer.missing_batches == (0, 1, 2)


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


def test_a_discarded_batch_can_be_written_again(complete_run, written_once):
    new_place = complete_run
    with create_run(new_place, tiny_plan()) as writer:
        writer.discard(1)
        writer.discard(1)
        assert writer.missing_batches == (1,)
        assert open_run(new_place).batches == (0, 2)
        write_batch(writer, 1)
    assert_same_files(new_place, written_once)


def test_batches_that_cannot_be_written(writer):
    write_batch(writer, 0)
    with (
        pytest.raises(StoreError, match=r"must be written only once; batch 0 .* is complete"),
        writer.batch(0),
    ):
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


@pytest.mark.parametrize("index", [True, 1.0, "1", None, 10**9, -1])
def test_batches_that_are_no_numbers_are_refused(writer, index):
    with pytest.raises(SettingError, match="batch must be a whole number from 0"), writer.batch(index):
        pass
    with pytest.raises(SettingError, match="batch must be a whole number from 0"):
        writer.discard(index)
