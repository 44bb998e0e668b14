import numpy as np
import pytest

import haarbor as hb
from haarbor.analysis import _streamed_batch, organize_run
from haarbor.analysis._streamed_batch import batch_plan, streamed_batch
from haarbor.questionnaire import MemoryPlan
from tests.analysis.network_runs import stored

STREAMED = MemoryPlan(
    limit=1, is_streamed=True, tensor_bytes=1, peak_bytes=1, scratch_bytes=1, threads=1, piece_bytes=9000
)


@pytest.fixture
def too_large(monkeypatch):
    """No batch fits into memory."""
    monkeypatch.setattr(_streamed_batch, "memory_plan", lambda *given, **named: STREAMED)


def test_without_a_limit_or_within_it_nothing_is_streamed(tmp_path):
    part = stored(tmp_path / "run").part()
    assert streamed_batch(part, 0, None) is None
    assert streamed_batch(part, 0, "100GB") is None
    assert not batch_plan(part, 0, "100GB").is_streamed


@pytest.mark.parametrize(("content", "padding"), [("probabilities", 0), ("probabilities", 5), ("logits", 3)])
def test_a_run_from_disk_has_the_results_of_the_run_in_memory(tmp_path, too_large, content, padding):
    held = organize_run(stored(tmp_path / "held", content=content, padding=padding))
    run, told = stored(tmp_path / "read", content=content, padding=padding), []
    read = organize_run(run, memory="1GB", on_plan=told.append)
    # Once, before the first batch.
    assert told == [STREAMED]
    for one, other in zip(held.head_entropies, read.head_entropies, strict=True):
        np.testing.assert_allclose(one.raw, other.raw, rtol=1e-6)
    for one, other in zip(held.network_entropies, read.network_entropies, strict=True):
        np.testing.assert_allclose(one.raw, other.raw, rtol=1e-5)
        np.testing.assert_allclose(one.all_scales, other.all_scales, rtol=1e-5)
    assert held.consensus.tree == read.consensus.tree
    np.testing.assert_allclose(held.consensus.distances, read.consensus.distances, rtol=1e-12)
    first = hb.open_run(tmp_path / "held").load_result("organization", batch=0)
    assert run.load_result("organization", batch=0).history == first.history
    # The limit is not part of the question: nothing is done again without it.
    assert organize_run(run).n_reused == len(run.batches)


@pytest.mark.parametrize("options", [{}, {"refine": "published"}])
def test_a_limit_too_small_for_one_block_is_refused_in_one_line_and_nothing_is_lost(tmp_path, options):
    run = stored(tmp_path / "run")
    organize_run(run)
    kept = run.results()
    with pytest.raises(hb.SettingError, match=r"memory must hold the distances and one block, .* or more\.$"):
        organize_run(run, memory="1MB", options=options)
    assert run.results() == kept


def test_haar_trees_from_disk_are_refused_and_nothing_is_lost(tmp_path, too_large):
    run = stored(tmp_path / "run")
    organize_run(run)
    kept = run.results()
    with pytest.raises(hb.SettingError, match="whole tensor with tree='haar'"):
        organize_run(run, memory="1GB", options={"tree": "haar"})
    assert run.results() == kept
