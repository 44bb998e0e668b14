import numpy as np
import pytest

import haarbor as hb
from haarbor.analysis import organize_run
from haarbor.errors import DataError, SettingError
from haarbor.store import Run, open_run
from tests.analysis.network_runs import N_TOKENS, networks, stored


def test_results_are_those_of_the_library_on_each_batch(tmp_path):
    run = stored(tmp_path / "run")
    found = organize_run(run)
    for batch, network in enumerate(networks()):
        expected = hb.organize(network.tensor.astype(np.float32), mask=network.mask)
        kept = run.load_result("organization", batch=batch)
        assert dict(kept.trees) == dict(expected.trees)
        entropy = hb.head_entropy(network.tensor.astype(np.float32), expected.trees)
        np.testing.assert_array_equal(found.head_entropies[batch].raw, entropy.raw)
        np.testing.assert_array_equal(kept.embedding("head"), expected.embedding("head"))
    scores = np.stack([entropy.raw for entropy in found.head_entropies])
    np.testing.assert_array_equal(found.stability.top_counts, hb.ranking_stability(scores).top_counts)
    assert run.load_result("consensus").tree == found.consensus.tree


def test_padding_changes_nothing(tmp_path):
    plain = organize_run(stored(tmp_path / "plain"))
    padded = organize_run(stored(tmp_path / "padded", padding=5))
    for one, other in zip(plain.head_entropies, padded.head_entropies, strict=True):
        np.testing.assert_array_equal(one.raw, other.raw)
    assert plain.consensus.tree == padded.consensus.tree


def test_masked_logits_are_neutral_in_trees_and_entropies(tmp_path):
    run = stored(tmp_path / "run", content="logits")
    found = organize_run(run)
    network = networks("logits")[0]
    filled = network.tensor.astype(np.float32).copy()
    for query in range(N_TOKENS):
        filled[query, query + 1 :] = filled[query, : query + 1].mean(axis=0)
    expected = hb.organize(filled)
    assert dict(run.load_result("organization", batch=0).trees) == dict(expected.trees)
    np.testing.assert_allclose(
        found.head_entropies[0].raw, hb.head_entropy(filled, expected.trees).raw, rtol=1e-5
    )


def test_what_is_finished_is_not_done_again(tmp_path, monkeypatch):
    run = stored(tmp_path / "run")
    first = organize_run(run)
    assert first.n_reused == 0
    run.delete_result("asked", batch=1)
    again = organize_run(open_run(tmp_path / "run"))
    assert again.n_reused == 2
    np.testing.assert_array_equal(first.consensus.distances, again.consensus.distances)


def test_other_options_are_another_question(tmp_path):
    run = stored(tmp_path / "run")
    organize_run(run)
    assert organize_run(run, options={"n_iterations": 1}).n_reused == 0
    assert run.load_result("organization", batch=0).n_iterations == 1


def test_progress_is_told_batch_by_batch(tmp_path):
    told = []
    organize_run(stored(tmp_path / "run"), on_progress=lambda *step: told.append(step))
    assert told == [("organising", done, 3) for done in (1, 2, 3)]


def test_a_run_without_a_complete_batch_is_refused(tmp_path):
    with pytest.raises(DataError, match="at least one complete batch"):
        organize_run(stored(tmp_path / "run", n_batches=0))


def test_an_unknown_stream_is_refused(unorganised):
    with pytest.raises(SettingError, match="stream must be one of"):
        organize_run(unorganised, stream="cross")


def test_the_same_question_in_other_words_is_the_same(tmp_path):
    run = stored(tmp_path / "run", n_batches=2)
    organize_run(run, options={"n_iterations": np.int64(3), "refine": "latest", "alpha": 0})
    assert organize_run(run).n_reused == 2
    spelled = {"beta": {"query": 1, "key": 1.0, "head": np.float32(1)}, "engine": hb.CpuEngine(threads=1)}
    assert organize_run(run, options=spelled, k=np.int32(400)).n_reused == 2
    run.save_result({"options": {"n_iterations": 3}, "k": 400, "network_k": 100}, "asked", batch=0)
    assert organize_run(run).n_reused == 2
    newer = {"options": {"n_iterations": 3, "spell": 1}, "k": 400, "network_k": 100}
    run.save_result(newer, "asked", batch=0)
    assert organize_run(run).n_reused == 1


def test_results_are_not_read_back(tmp_path, monkeypatch):
    run = stored(tmp_path / "run", n_batches=2)
    monkeypatch.setattr(Run, "load_result", lambda *_, **__: pytest.fail("read back"))
    found = organize_run(run)
    assert found.consensus.n_batches == 2


@pytest.fixture(scope="module")
def unorganised(tmp_path_factory):
    """A run that the tests only read."""
    return stored(tmp_path_factory.mktemp("run") / "run", n_batches=1)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"options": {"iterations": 3}}, r"options must be among .*n_iterations.*; found 'iterations'"),
        ({"options": {"engine": "abacus"}}, "engine"),
        ({"k": 0}, "k must be a whole number from 1; found 0"),
        ({"content": 3}, "content must be one that the run holds, probabilities; found 3. Choose"),
        ({"content": "logits"}, "content must be one that the run holds, probabilities; found 'logits'"),
        ({"stream": 3}, "stream must be one of self; found 3. Choose"),
        ({"stream": ""}, "stream must be one of self; found ''"),
        ({"on_progress": 3}, "on_progress must be a function; found 3"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_any_work(asked, message, unorganised):
    run = unorganised
    with pytest.raises(SettingError, match=message) as caught:
        organize_run(run, **asked)
    assert "\n" not in str(caught.value)
    assert run.results() == ()


@pytest.mark.parametrize("run", [None, "run.zarr", 3, []])
def test_what_is_no_run_is_refused(run):
    with pytest.raises(SettingError, match=r"run must be a Run; found .*Open it with haarbor\.open_run"):
        organize_run(run)


def test_consensus_is_kept_while_the_batches_are_and_made_anew_when_one_changes(tmp_path):
    run = stored(tmp_path / "run", n_batches=2)
    first = organize_run(run).consensus
    kept = organize_run(open_run(tmp_path / "run")).consensus
    np.testing.assert_array_equal(kept.distances, first.distances)
    other = organize_run(run, options={"n_iterations": 1, "beta": 0.0}).consensus
    assert not np.array_equal(other.distances, first.distances)


def test_consensus_of_logits_does_not_see_what_is_masked(tmp_path):
    one, two = (
        organize_run(stored(tmp_path / name, "logits", n_batches=2, masked=masked)).consensus
        for name, masked in (("plain", None), ("spoilt", 1000.0))
    )
    np.testing.assert_array_equal(one.distances, two.distances)
