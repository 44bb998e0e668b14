import numpy as np
import pytest

from haarbor.paraproducts import RunInvariance


def run_invariance_of(invariance, deviation, entropy, constants):
    n_heads = len(invariance)
    figures = {"invariance": np.array(invariance), "constant_deviation": np.array(constants)}
    return RunInvariance(
        figures=figures,
        shuffled_trees=figures,
        shuffled_rows=figures,
        logit_deviation=np.array(deviation),
        entropy=np.array(entropy),
        layers=np.arange(n_heads) // 2,
        heads_per_layer=2,
        batch=3,
        stream="attention",
        settings="ours",
        seed=0,
    )


FOUND = run_invariance_of(
    [0.9, 0.2, np.nan, 0.5, 0.7], [1.0, 4.0, 2.0, 3.0, 2.0], [1.0] * 5, [0.1, 0.3, 9.0, 0.3, 0.2]
)


def test_heads_are_ordered_from_invariant_to_not_and_labelled_by_layer():
    assert FOUND.order().tolist() == [0, 4, 3, 1, 2]
    assert FOUND.labels == ["0.0", "0.1", "1.0", "1.1", "2.0"]
    assert repr(FOUND) == "RunInvariance(5 heads, batch 3, median invariance 0.600)"


def test_rank_correlations_by_hand():
    found = FOUND.correlations()
    # Heads without a figure are left out; the other four are in opposite order.
    assert found["logit deviation"] == pytest.approx(-1)
    # Ranks 4, 1, 2, 3 against layers 0, 0, 1, 2, whose ranks are 1.5, 1.5, 3, 4.
    assert found["layer"] == pytest.approx(np.corrcoef([4, 1, 2, 3], [1.5, 1.5, 3, 4])[0, 1])
    # Equal numbers share the mean of their ranks.
    assert found["spread of the constants"] == pytest.approx(
        np.corrcoef([4, 1, 2, 3], [1, 3.5, 3.5, 2])[0, 1]
    )
    # A constant has no order, and there is no warning about it.
    assert np.isnan(found["Haar entropy"])


def test_two_heads_have_no_correlation():
    found = run_invariance_of([0.9, 0.2, np.nan], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    assert all(np.isnan(value) for value in found.correlations().values())
