"""Results without the attention are those of a run with it."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import haarbor as hb  # noqa: E402
from haarbor.analysis import organize_run  # noqa: E402
from haarbor.errors import SettingError, StoreError  # noqa: E402
from haarbor.store import open_run  # noqa: E402
from tests.capturing.small_models import IDS, gpt2  # noqa: E402


@pytest.mark.parametrize("pool", [1, 3])
def test_results_are_those_of_capturing_and_then_organising(tmp_path, pool):
    run = hb.analyze(gpt2(), [IDS[:2]], tmp_path / "results", pool=pool)
    kept = hb.capture(gpt2(), [IDS[:2]], tmp_path / "kept", pool=pool)
    expected = organize_run(kept)
    for batch in range(2):
        for axis, tree in kept.load_result("organization", batch=batch).trees.items():
            assert run.load_result("organization", batch=batch).trees[axis] == tree
        entropy = run.load_result("head-entropy", batch=batch)
        np.testing.assert_array_equal(entropy.raw, expected.head_entropies[batch].raw)
    found = run.load_result("consensus")
    assert found.tree == expected.consensus.tree
    np.testing.assert_array_equal(found.distances, expected.consensus.distances)
    assert not list((tmp_path / "results").glob("self/probabilities"))
    assert run.verify() == ()
    # Asked again for the same, everything is there; for something else, nothing of it is lost.
    assert organize_run(open_run(tmp_path / "results")).n_reused == 2
    with pytest.raises(StoreError, match="keeps results only") as caught:
        organize_run(run, options={"n_iterations": 1})
    assert "\n" not in str(caught.value)
    assert run.has_result("consensus")


def test_an_interrupted_analysis_goes_on(tmp_path):
    seen = []

    def interrupt(run, batch):
        seen.append(batch)
        assert run.tensor(batch).shape == (8, 8, 12)
        if len(seen) == 2:
            run.delete_result("asked", batch=batch)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hb.analyze(gpt2(), [IDS], tmp_path / "run", on_batch=interrupt)
    # The second batch was captured, but not organised to its end.
    assert open_run(tmp_path / "run").batches == (0, 1)
    run = hb.analyze(gpt2(), [IDS], tmp_path / "run", on_batch=lambda _run, batch: seen.append(batch))
    assert seen == [0, 1, 1, 2]
    assert run.load_result("consensus").n_batches == 3
    with pytest.raises(SettingError, match="continued with the options it was begun with"):
        hb.analyze(gpt2(), [IDS], tmp_path / "run", options={"n_iterations": 1})
    with pytest.raises(StoreError, match="begun with its results kept, not its attention, and this is with"):
        hb.capture(gpt2(), [IDS], tmp_path / "run")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"options": {"tree": "haar"}}, "tree must be 'flexible' or 'binary' where no attention is kept"),
        ({"options": {"engine": "cluster"}}, "engine must be one that works in this process"),
        ({"keeps": "tensors"}, "keeps must be left to analyze"),
        ({"content": ("probabilities", "logits"), "pool": 2}, "pool must go without logits"),
        ({"k": 0}, "k must be"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_written(wrong, words, tmp_path):
    with pytest.raises(SettingError, match=words) as caught:
        hb.analyze(gpt2(), [IDS], tmp_path / "run", **wrong)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()
