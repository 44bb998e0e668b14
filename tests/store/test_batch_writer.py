import numpy as np
import pytest

from haarbor.errors import DataError, SettingError, ShapeError, StoreError
from haarbor.store import create_run
from tests.store.builders import STREAM, files_of, fill, layer_values, mask_of, tiny_plan, unfinished


def test_missing_parts_are_named(writer, new_place):
    before = files_of(new_place)
    with (
        pytest.raises(
            StoreError,
            match="lacks decoder/probabilities layers 1; decoder/logits layers 1; the mask of 'decoder'",
        ),
        writer.batch(0) as batch,
    ):
        fill(batch, layers=(0,))
    assert files_of(new_place) == before


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
        with pytest.raises(ShapeError, match="query kinds of stream 'decoder' must be 4 texts; found 1"):
            batch.write_kinds("decoder", ["text"])
        with pytest.raises(ShapeError, match=r"key kinds .* must be 4 texts; found one str"):
            batch.write_kinds("decoder", None, "text")


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


def test_layers_that_are_none_are_refused(writer):
    values = layer_values(STREAM, 0, 0)
    with unfinished(writer, 0) as batch:
        for layer in (0.0, True, "0", None, -1, 10**5000):
            with pytest.raises(SettingError, match=r"layer of stream 'decoder' must lie in 0..1; found"):
                batch.write_layer("decoder", layer, values)
        for strange in (values["logits"], None, 5, ["probabilities", "logits"], {1: 2}):
            with pytest.raises(SettingError, match="a layer must hold probabilities, logits; found"):
                batch.write_layer("decoder", 0, strange)
        with pytest.raises(ShapeError, match="logits of batch 0, stream 'decoder', layer 0 must be"):
            batch.write_layer("decoder", 0, {**values, "logits": [[1.0], [1.0, 2.0]]})
        with pytest.raises(ShapeError, match="whose mask would be lost"):
            batch.write_layer("decoder", 0, {**values, "logits": np.ma.array(values["logits"], mask=True)})
