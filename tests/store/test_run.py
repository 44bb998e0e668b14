import json

import numpy as np
import pytest

import haarbor as hb
from haarbor.errors import SettingError, StoreError
from haarbor.store import create_run, open_run
from tests.store.builders import (
    CROSS,
    ENCODER,
    STREAM,
    assert_same_files,
    labels_of,
    layer_values,
    mask_of,
    tiny_plan,
    write_run,
)


def tensor_of(stream, batch, content, dtype=np.float32):
    layers = [layer_values(stream, batch, layer)[content] for layer in range(stream.n_layers)]
    return np.concatenate(layers).transpose(1, 2, 0).astype(dtype)


def test_tensor_is_query_key_head_layer_by_layer(run):
    for batch in range(3):
        for content in ("probabilities", "logits"):
            found = run.tensor(batch, content)
            assert found.shape == (4, 4, 6)
            assert np.asarray(found).dtype == np.float32
            assert np.array_equal(np.asarray(found), tensor_of(STREAM, batch, content))


def test_half_precision_is_within_its_bound(tmp_path):
    run = open_run(write_run(tmp_path / "half.zarr", tiny_plan(dtype="float16")))
    exact = tensor_of(STREAM, 1, "logits", np.float64)
    error = np.abs(np.asarray(run.tensor(1, "logits"), dtype=np.float64) - exact)
    assert error.max() > 0
    assert (error <= np.maximum(2.0**-11 * np.abs(exact), 2.0**-25)).all()


def test_what_a_run_says_of_itself(run):
    assert run.plan == tiny_plan()
    assert (run.model, run.contents, run.streams) == ("tiny", ("probabilities", "logits"), ("decoder",))
    assert (run.batches, run.n_batches) == ((0, 1, 2), 3)
    assert (run.layers, run.heads_per_layer, run.n_heads) == ((0, 1), 3, 6)
    assert run.head_layers.tolist() == [0, 0, 0, 1, 1, 1]
    assert (
        repr(run) == "Run(tiny: 2 layers x 3 heads, 4 x 4, 3 of 3 batches, probabilities, logits as float32)"
    )


def test_mask_and_labels_come_back(run):
    assert run.mask(2).dtype == np.bool_
    assert np.array_equal(run.mask(2), mask_of(STREAM))
    queries, keys = labels_of(STREAM, 2)
    assert run.labels(2) == (tuple(queries), tuple(keys))


def test_labels_of_a_run_without_any_are_positions(tmp_path):
    run = open_run(write_run(tmp_path / "run.zarr", tiny_plan(labels="none", n_batches=1)))
    assert run.labels(0).query == ("0", "1", "2", "3")


def test_key_labels_are_the_queries_where_there_are_as_many(tmp_path):
    with create_run(tmp_path / "run.zarr", tiny_plan(n_batches=1, streams=(STREAM, CROSS))) as writer:
        with writer.batch(0) as batch:
            for stream in (STREAM, CROSS):
                batch.write_mask(stream.name, mask_of(stream))
                for layer in range(2):
                    batch.write_layer(stream.name, layer, layer_values(stream, 0, layer))
                batch.write_labels(stream.name, list("abcd"))
        assert writer.run.labels(0) == (tuple("abcd"), tuple("abcd"))
        assert writer.run.labels(0, "cross") == (tuple("abcd"), tuple("01234"))


def test_streams_of_different_shapes_live_side_by_side(tmp_path):
    plan = tiny_plan(streams=(ENCODER, STREAM, CROSS), n_batches=2)
    run = open_run(write_run(tmp_path / "run.zarr", plan))
    assert run.tensor(1).shape == (5, 5, 2)  # the first stream
    for stream in plan.streams:
        tensor = np.asarray(run.tensor(1, "logits", stream.name))
        assert np.array_equal(tensor, tensor_of(stream, 1, "logits"))
        assert np.array_equal(run.mask(1, stream.name), mask_of(stream))


def test_organize_takes_a_stored_tensor(run):
    found = hb.organize(run.tensor(0), mask=run.mask(0))
    expected = hb.organize(tensor_of(STREAM, 0, "probabilities"), mask=mask_of(STREAM))
    assert found.trees == expected.trees


def test_two_runs_of_one_plan_are_the_same_bytes(tmp_path):
    write_run(tmp_path / "one.zarr")
    write_run(tmp_path / "elsewhere" / "two.zarr", batches=(2, 0, 1))
    assert_same_files(tmp_path / "one.zarr", tmp_path / "elsewhere" / "two.zarr")


def test_size_on_disk_counts_every_file(run, tmp_path):
    files = [path for path in (tmp_path / "run.zarr").rglob("*") if path.is_file()]
    assert run.size_on_disk() == sum(path.stat().st_size for path in files) > 0


def test_asking_for_what_is_not_there(run, tmp_path):
    with pytest.raises(StoreError, match=r"one of the 3 complete ones of .*run.zarr; batch 7 is not there"):
        run.tensor(7)
    with pytest.raises(SettingError, match="stream must be one of decoder; found 'cross'"):
        run.tensor(0, stream="cross")
    only = open_run(write_run(tmp_path / "only.zarr", tiny_plan(contents=("logits",))))
    with pytest.raises(SettingError, match="one that the run holds, logits; found 'probabilities'"):
        only.tensor(0, "probabilities")
    # One rule says what is meant where nothing is asked for.
    np.testing.assert_array_equal(only.tensor(0), only.tensor(0, "logits"))


def test_open_run_names_what_is_wrong_with_a_place(tmp_path):
    with pytest.raises(StoreError, match=r"nowhere must be a Haarbor run; there is nothing there"):
        open_run(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoreError, match="it is a file, or an empty folder"):
        open_run(tmp_path / "empty")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.png").write_bytes(b"cat")
    with pytest.raises(StoreError, match=r"it holds 'cat.png' and no run"):
        open_run(tmp_path / "photos")
    (tmp_path / "file").write_bytes(b"text")
    with pytest.raises(StoreError, match="must be a Haarbor run"):
        open_run(tmp_path / "file")


def test_open_run_refuses_other_zarr_stores_and_other_versions(tmp_path):
    import zarr

    zarr.create_group(tmp_path / "other.zarr", attributes={"format": "weather"})
    with pytest.raises(StoreError, match=r"a zarr store of something else \(format 'weather'\)"):
        open_run(tmp_path / "other.zarr")
    write_run(tmp_path / "run.zarr")
    root = tmp_path / "run.zarr" / "zarr.json"
    document = json.loads(root.read_text())
    document["attributes"]["version"] = 1
    root.write_text(json.dumps(document))
    with pytest.raises(StoreError, match="must be a run of version 2; it is of version 1"):
        open_run(tmp_path / "run.zarr")
    root.write_text("{ cut off")
    with pytest.raises(StoreError, match="must be the JSON of a zarr 3 group; it cannot be read"):
        open_run(tmp_path / "run.zarr")


def test_a_file_is_no_run(tmp_path):
    (tmp_path / "note.txt").write_text("not a run")
    with pytest.raises(StoreError, match=r"must be a Haarbor run; it is a file"):
        open_run(tmp_path / "note.txt")
    assert (tmp_path / "note.txt").read_text() == "not a run"


def test_kinds_of_tokens_come_back_for_each_stream(tmp_path):
    plan = tiny_plan(streams=(STREAM, CROSS), n_batches=2)
    place = write_run(tmp_path / "run.zarr", plan, batches=(1,))
    with create_run(place, plan) as writer, writer.batch(0) as batch:
        for stream in (STREAM, CROSS):
            batch.write_mask(stream.name, mask_of(stream))
            for layer in range(2):
                batch.write_layer(stream.name, layer, layer_values(stream, 0, layer))
        batch.write_kinds("decoder", ["special", "prompt", "prompt", "answer"])
        batch.write_kinds("cross", None, ["text"] * 4 + ["image"])
    run = open_run(place)
    kinds = ("special", "prompt", "prompt", "answer")
    assert run.token_kinds(0) == (kinds, kinds)
    assert run.token_kinds(0, "cross") == ((), ("text", "text", "text", "text", "image"))
    assert run.token_kinds(1) == ((), ())
    assert run.verify() == ()
