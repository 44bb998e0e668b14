"""A run that keeps results only: its attention is in memory for a while, and never on disk."""

import numpy as np
import pytest

from haarbor.errors import SettingError, StoreError
from haarbor.store import create_run, open_run
from tests.store.builders import STREAM, layer_values, tiny_plan, unfinished, write_batch


def test_attention_is_read_while_it_is_held_and_then_refused(tmp_path):
    place = tmp_path / "run"
    with create_run(place, tiny_plan(keeps="results", n_batches=2)) as writer:
        for index in range(2):
            write_batch(writer, index)
            found = np.asarray(writer.run.tensor(index)).transpose(2, 0, 1)
            for layer in range(2):
                expected = layer_values(STREAM, index, layer)["probabilities"]
                np.testing.assert_allclose(found[3 * layer : 3 * layer + 3], expected, rtol=1e-6)
            writer.run.save_result(np.ones(2), "x", batch=index)
            writer.let_go(index)
            with pytest.raises(StoreError, match="keeps results only, as haarbor analyze made it"):
                writer.run.tensor(index)
    run = open_run(place)
    assert run.verify() == ()
    assert (run.batches, run.mask(1).sum(), run.load_result("x", batch=1).sum()) == ((0, 1), 10, 2)
    assert not list(place.glob("decoder/probabilities/*"))
    assert not list(place.glob("decoder/logits/*"))
    for use in (run.require_tensors, lambda: run.tensor(0)):
        with pytest.raises(StoreError, match="needs the attention itself") as caught:
            use()
        assert "\n" not in str(caught.value)


def test_a_batch_that_fails_leaves_nothing_in_memory(tmp_path):
    with create_run(tmp_path / "run", tiny_plan(keeps="results")) as writer:
        with unfinished(writer, 0) as batch:
            batch.write_layer(None, 0, layer_values(STREAM, 0, 0))
            assert writer._keys.holds(0)
        assert not writer._keys.holds(0)


def test_plans_keep_tensors_or_results():
    assert "keeps" not in tiny_plan().to_dict()
    assert tiny_plan(keeps="results").n_bytes_per_batch == 16
    with pytest.raises(SettingError, match="keeps must be 'tensors' or 'results'"):
        tiny_plan(keeps="nothing")
