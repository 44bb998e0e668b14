import numpy as np
import pytest

import haarbor as hb
from tests.assertions import assert_close
from tests.reference.stability import extreme_sets, jaccard, kendall_tau


def test_stability_by_hand():
    scores = [[4, 3, 2, 1], [4, 3, 1, 2], [1, 2, 3, 4]]
    found = hb.ranking_stability(scores, fraction=0.5)
    assert found.set_size == 2
    assert found.top_counts.tolist() == [2, 2, 1, 1]
    assert found.bottom_counts.tolist() == [1, 1, 2, 2]
    assert found.top_jaccard.tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    assert_close(found.kendall_tau, [[1, 2 / 3, -1], [2 / 3, 1, -2 / 3], [-1, -2 / 3, 1]])
    assert_close(found.mean_kendall_tau, -1 / 3)
    assert_close(found.mean_top_jaccard, 1 / 3)
    assert_close(found.mean_bottom_jaccard, 1 / 3)
    assert found.n_batches == 3
    assert repr(found) == "RankingStability(4 heads, 3 batches, mean tau -0.333)"


@pytest.mark.parametrize("fraction", [0.1, 0.25, 0.5, 1.0])
@pytest.mark.parametrize("ties", [False, True])
def test_stability_matches_the_reference(rng, fraction, ties):
    scores = rng.integers(0, 6, size=(4, 11)) if ties else rng.normal(size=(4, 11))
    found = hb.ranking_stability(scores, fraction)
    size = int(np.ceil(round(fraction * 11, 9)))
    assert found.set_size == size
    tops, bottoms = zip(*(extreme_sets(row, size) for row in scores.tolist()), strict=True)
    assert found.top_counts.tolist() == [sum(head in s for s in tops) for head in range(11)]
    assert found.bottom_counts.tolist() == [sum(head in s for s in bottoms) for head in range(11)]
    assert_close(found.top_jaccard, [[jaccard(a, b) for b in tops] for a in tops])
    assert_close(found.bottom_jaccard, [[jaccard(a, b) for b in bottoms] for a in bottoms])
    assert_close(found.kendall_tau, [[kendall_tau(a, b) for b in scores.tolist()] for a in scores.tolist()])


def test_ties_go_to_the_first_head():
    found = hb.ranking_stability([[5, 5, 5, 1], [0, 2, 2, 2]], fraction=0.25)
    assert found.top_counts.tolist() == [1, 1, 0, 0]
    assert found.bottom_counts.tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize(("n_heads", "size"), [(130, 13), (128, 13), (10, 1), (3, 1), (20, 2), (21, 3)])
def test_a_tenth_is_rounded_up(rng, n_heads, size):
    assert hb.ranking_stability(rng.normal(size=(2, n_heads))).set_size == size


def test_constant_scores_have_no_rank_correlation():
    found = hb.ranking_stability([[1, 1, 1], [1, 2, 3]])
    assert np.isnan(found.kendall_tau[0]).all()
    assert np.isnan(found.kendall_tau[1, 0])
    assert found.kendall_tau[1, 1] == 1


def test_one_batch_has_no_pairs():
    found = hb.ranking_stability([[3.0, 1.0, 2.0]])
    assert np.isnan([found.mean_kendall_tau, found.mean_top_jaccard, found.mean_bottom_jaccard]).all()
    assert found.top_counts.tolist() == [1, 0, 0]


def test_one_head_has_no_ranking():
    assert np.isnan(hb.ranking_stability([[1.0], [2.0]]).kendall_tau).all()


@pytest.mark.parametrize(
    ("scores", "fraction", "error", "message"),
    [
        ([1.0, 2.0], 0.1, hb.ShapeError, r"shape \(n_batches, n_heads\); found \(2,\)"),
        (np.ones((2, 0)), 0.1, hb.ShapeError, r"found \(2, 0\)"),
        ([[1.0, 2.0], [np.nan, 1.0]], 0.1, hb.DataError, "batch 1, head 0 is nan"),
        ([[1.0, 2.0]], 0, hb.SettingError, "fraction must lie between 0 and 1; found 0"),
        ([[1.0, 2.0]], 1.5, hb.SettingError, "found 1.5"),
        ([[1.0, 2.0]], float("nan"), hb.SettingError, "found nan"),
    ],
)
def test_bad_input_is_refused(scores, fraction, error, message):
    with pytest.raises(error, match=message):
        hb.ranking_stability(scores, fraction)


@pytest.mark.parametrize("ties", [False, True])
def test_rank_correlations_are_those_of_scipy(rng, ties):
    from scipy.stats import kendalltau

    scores = rng.normal(size=(5, 40))
    if ties:
        scores = scores.round()
    found = hb.ranking_stability(scores).kendall_tau
    for i in range(5):
        for j in range(5):
            assert found[i, j] == pytest.approx(kendalltau(scores[i], scores[j]).statistic, rel=1e-14)


def test_scores_too_large_to_be_subtracted_are_ranked(rng):
    scores = np.array([[-1.7e308, 0.0, 1.7e308], [1.7e308, 0.0, -1.7e308]])
    assert hb.ranking_stability(scores).kendall_tau.tolist() == [[1.0, -1.0], [-1.0, 1.0]]
