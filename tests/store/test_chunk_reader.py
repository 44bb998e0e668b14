"""Layers that are stored in chunks of rows are read as they were given."""

import dataclasses

import numpy as np
import pytest

from haarbor.errors import DataError, SettingError, ShapeError, StoreError
from haarbor.store import StreamPlan, create_run, open_run
from tests.store.builders import STREAM, flip, layer_values, mask_of, tiny_plan, unfinished, write_run

ROWS = dataclasses.replace(STREAM, rows_per_chunk=3)


def plan(**changes):
    return tiny_plan(streams=(ROWS,), n_batches=1, labels="none", **changes)


@pytest.fixture
def chunked(tmp_path):
    return write_run(tmp_path / "chunked", plan())


def test_whole_layers_are_read_as_from_one_chunk(chunked, tmp_path):
    whole = open_run(write_run(tmp_path / "whole", tiny_plan(n_batches=1, labels="none")))
    found = open_run(chunked)
    for content in ("probabilities", "logits"):
        np.testing.assert_array_equal(
            np.asarray(found.tensor(0, content)), np.asarray(whole.tensor(0, content))
        )
    np.testing.assert_array_equal(found.mask(0), whole.mask(0))
    assert found.verify() == ()


def test_other_zarr_programs_read_the_same(chunked):
    import zarr

    group = zarr.open_group(chunked, mode="r")
    array = group["decoder/probabilities"]
    assert (array.shape, array.chunks) == ((1, 2, 3, 4, 4), (1, 1, 3, 3, 4))
    found = open_run(chunked)
    np.testing.assert_array_equal(array[0].reshape(6, 4, 4), np.asarray(found.tensor(0)).transpose(2, 0, 1))
    np.testing.assert_array_equal(group["decoder/mask"][0], found.mask(0))


def write(place, *, rows_left_out=(), masks_left_out=(), mask=None):
    """A batch of which some chunks are not written: (layer, chunk) of rows, chunks of masks."""
    mask = mask_of(ROWS) if mask is None else mask
    with create_run(place, plan()) as writer, writer.batch(0) as batch:
        for chunk, rows in enumerate(ROWS.row_chunks):
            for layer in range(2):
                values = {name: v[:, rows] for name, v in layer_values(ROWS, 0, layer).items()}
                if (layer, chunk) not in rows_left_out:
                    batch.write_rows(None, layer, chunk, values)
            if chunk not in masks_left_out:
                batch.write_mask_rows(None, chunk, mask[rows])


def test_rows_may_come_one_chunk_after_the_other(chunked, tmp_path):
    write(tmp_path / "rows")
    assert open_run(tmp_path / "rows").digest(0) == open_run(chunked).digest(0)


def test_a_batch_that_lacks_rows_is_not_complete(tmp_path):
    with pytest.raises(StoreError, match=r"lacks decoder/probabilities layers 1; decoder/logits layers 1\."):
        write(tmp_path / "run", rows_left_out=[(1, 1)])
    with pytest.raises(StoreError, match="lacks the mask of 'decoder'"):
        write(tmp_path / "run", masks_left_out=[0])
    assert open_run(tmp_path / "run").batches == ()


def test_a_mask_that_does_not_fit_is_refused(tmp_path):
    closed = mask_of(ROWS)
    closed[3, 1] = False
    with pytest.raises(DataError, match=r"masked probabilities must be 0; .* at query 3, key 1, 1 such"):
        write(tmp_path / "run", mask=closed)
    with pytest.raises(DataError, match="must leave a valid entry; batch 0 has none"):
        write(tmp_path / "run", mask=np.zeros((4, 4), dtype=bool))


def test_rows_of_another_size_or_number_are_refused(tmp_path):
    values = layer_values(ROWS, 0, 0)
    with create_run(tmp_path / "run", plan()) as writer, unfinished(writer, 0) as batch:
        with pytest.raises(SettingError, match=r"chunk of stream 'decoder' must lie in 0\.\.1; found 2"):
            batch.write_rows(None, 0, 2, values)
        with pytest.raises(ShapeError, match=r"must have shape \(3, 1, 4\)"):
            batch.write_rows(None, 0, 1, values)
        with pytest.raises(ShapeError, match=r"boolean of shape \(3, 4\)"):
            batch.write_mask_rows(None, 0, mask_of(ROWS))


def test_a_damaged_chunk_of_rows_is_found_and_refused(chunked):
    flip(chunked / "decoder/probabilities/c.0.1.0.1.0", 20)
    run = open_run(chunked)
    [damage] = run.verify()
    assert (damage.layer, damage.content) == (1, "probabilities")
    run.tensor(0)[:, :, 0]
    with pytest.raises(StoreError, match="layer 1, probabilities"):
        np.asarray(run.tensor(0))


def test_plans_say_which_blocks_and_rows_they_mean():
    sizes = {"name": "self", "n_layers": 1, "n_heads": 2, "n_queries": 3, "n_keys": 3}
    pooled = StreamPlan(**sizes, pool=4, pooled_from=(9, 10))
    assert StreamPlan.from_dict(pooled.to_dict()) == pooled
    assert (pooled.n_tokens, pooled.positions[1]) == ((9, 10), ("0-3", "4-7", "8-9"))
    # A plan without blocks is written as it was before there were any: digests of older runs hold.
    assert sorted(StreamPlan(**sizes, rows_per_chunk=3).to_dict()) == sorted([*sizes, "head_groups"])
    for wrong in ({"pool": 4}, {"pool": 4, "pooled_from": (13, 10)}, {"pooled_from": (3, 3)}, {"pool": 0},
                  {"rows_per_chunk": 0}, {"rows_per_chunk": 4}):  # fmt: skip
        with pytest.raises(ShapeError, match="of stream 'self' must be"):
            StreamPlan(**sizes, **wrong)
