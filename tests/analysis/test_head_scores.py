import numpy as np
import pytest

import haarbor as hb
from haarbor.analysis import head_scores, organize_run
from haarbor.analysis._head_score import ScoreWords
from haarbor.analysis._run_invariance import FIGURES, RunInvariance
from haarbor.errors import DataError
from haarbor.store import import_arrays


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    place = tmp_path_factory.mktemp("scores") / "run.zarr"
    tensors = [hb.datasets.synthetic_network(16, 2, 3, batch=batch).tensor for batch in range(3)]
    logits = [
        hb.datasets.synthetic_network(16, 2, 3, batch=batch, content="logits").tensor for batch in range(3)
    ]
    run = import_arrays(
        {"probabilities": np.stack(tensors), "logits": np.stack(logits)},
        place,
        axes=("batch", "query", "key", "head"),
        heads_per_layer=3,
        mask="causal",
    )
    organize_run(run, options={"n_iterations": 1})
    return run


def by_name(scores):
    return {score.name: score for score in scores}


def test_scores_are_means_over_batches_of_what_is_stored(run):
    scores = by_name(head_scores(run))
    entropies = [run.load_result("head-entropy", batch=batch) for batch in range(3)]
    for name, field in {
        "entropy": "raw",
        "entropy-normalised": "normalised",
        "entropy-mean-removed": "mean_removed",
        "energy-share": "energy_share",
        "entropy-all-scales": "all_scales",
        "fine-share": "fine_share",
    }.items():
        expected = sum(getattr(entropy, field) for entropy in entropies) / 3
        np.testing.assert_allclose(scores[name].values, expected, rtol=1e-12)
    stability = run.load_result("ranking-stability")
    np.testing.assert_array_equal(scores["batches-in-top"].values, stability.top_counts)
    np.testing.assert_array_equal(scores["batches-in-bottom"].values, stability.bottom_counts)


def test_the_distance_to_the_nearest_head_is_a_mean_over_batches(run):
    distances = run.load_result("consensus").distances
    expected = [min(distances[i, j] for j in range(6) if j != i) / 3 for i in range(6)]
    np.testing.assert_allclose(by_name(head_scores(run))["distance-to-nearest"].values, expected)


def test_scores_of_a_batch_are_its_own_and_leave_out_what_needs_several(run):
    scores = by_name(head_scores(run, batch=1))
    np.testing.assert_array_equal(scores["entropy"].values, run.load_result("head-entropy", batch=1).raw)
    assert "batches-in-top" not in scores
    assert "distance-to-nearest" not in scores


def test_every_score_can_be_explained_and_not_changed(run):
    scores = head_scores(run)
    assert len({score.name for score in scores}) == len(scores)
    for score in scores:
        assert score.values.shape == (6,)
        assert score.meaning.endswith(".")
        assert score.label
        assert score.high_means
        assert score.low_means
        assert repr(score) == f"HeadScore({score.name}, 6 heads)"
        with pytest.raises(ValueError, match="read-only"):
            score.values[0] = 1


def test_softmax_invariance_is_a_score_once_it_is_stored(run):
    assert "softmax-invariance" not in by_name(head_scores(run))

    def stored(batch, invariance):
        columns = {name: np.arange(6.0) for name in FIGURES} | {"invariance": np.array(invariance)}
        value = RunInvariance(
            figures=columns, shuffled_trees=columns, shuffled_rows=columns,
            logit_deviation=np.full(6, batch + 1.0), entropy=np.zeros(6), layers=np.repeat([0, 1], 3),
            heads_per_layer=3, batch=batch, stream="self", settings="ours", seed=0,
        )  # fmt: skip
        run.save_result(value, "softmax-invariance", batch=batch, content="logits", stream="self")

    try:
        stored(0, [0.2, np.nan, np.nan, 0, 0, 0])
        stored(2, [0.4, 0.6, np.nan, 0, 0, 0])
        scores = by_name(head_scores(run))
        np.testing.assert_allclose(
            scores["softmax-invariance"].values, [0.3, 0.6, np.nan, 0, 0, 0], rtol=1e-12
        )
        np.testing.assert_allclose(scores["logit-deviation"].values, np.full(6, 2.0))
        np.testing.assert_allclose(scores["softmax-explained"].values, np.arange(6.0))
        assert "softmax-invariance" in by_name(head_scores(run, batch=2))
        assert "softmax-invariance" not in by_name(head_scores(run, batch=1))
    finally:
        for batch in (0, 2):
            run.delete_result("softmax-invariance", batch=batch, content="logits", stream="self")


def test_a_run_without_results_is_refused(tmp_path):
    run = import_arrays(hb.datasets.synthetic_attention(8, 1, 2), tmp_path / "new.zarr")
    with pytest.raises(DataError, match=r"the run must hold scores.*haarbor organize"):
        head_scores(run)
    with pytest.raises(DataError, match="batch 0 must hold scores"):
        head_scores(run, batch=0)


def every_words():
    """The words of all scores, with those that need logits."""
    from haarbor.analysis import _head_scores, _softmax_scores

    both = (vars(_head_scores), vars(_softmax_scores))
    single = [value for names in both for value in names.values() if isinstance(value, ScoreWords)]
    return [*single, *_head_scores._ENTROPIES.values(), *_softmax_scores._FIGURES.values()]


def test_sixteen_scores_are_explained_in_plain_words_and_stand_in_groups():
    words = every_words()
    assert len({score.name for score in words}) == len(words) == 16
    for score in words:
        assert score.plain.startswith(("How ", "On how ")), score.name
        assert score.plain.endswith("."), score.name
        assert score.plain != score.meaning
        assert not {"paraproduct", "coefficient", "affine", "Hölder"} & set(score.plain.split()), score.name
        assert score.group != "Other scores", score.name


def test_scores_that_depend_on_sizes_are_not_compared_between_networks():
    assert {score.name for score in every_words() if not score.compares} == {
        "entropy", "entropy-all-scales", "batches-in-top", "batches-in-bottom", "distance-to-nearest",
    }  # fmt: skip
