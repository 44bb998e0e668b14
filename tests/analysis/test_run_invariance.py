import dataclasses
import sys

import numpy as np
import pytest
from scipy.stats import spearmanr

import haarbor as hb
from haarbor.analysis import RunInvariance, run_invariance
from haarbor.store import open_run
from tests.analysis.logit_runs import logit_run, network


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A run with its results for seed 2, which the tests only read, and the progress that was told."""
    run = logit_run(tmp_path_factory.mktemp("measured") / "run")
    told = []
    return run, *run_invariance(run, seed=2, on_progress=lambda *step: told.append(step)), told


def test_figures_are_those_of_each_head_on_its_own_trees(measured):
    _, found, trees, _ = measured
    made = network()
    tensor = made.tensor.astype(np.float32)
    for head in range(tensor.shape[2]):
        alone = hb.softmax_invariance(tensor[:, :, head], *trees.trees(head), made.mask, seed=2)
        for kept, expected in (
            (found.figures, alone.figures),
            (found.shuffled_trees, alone.shuffled_trees),
            (found.shuffled_rows, alone.shuffled_rows),
        ):
            for name, value in dataclasses.asdict(expected).items():
                assert kept[name][head] == value
        assert found.logit_deviation[head] == alone.logit_deviation
    assert found.labels == ["0.0", "0.1", "0.2", "1.0", "1.1", "1.2"]
    assert (np.diff(found.figures["invariance"][found.order()]) <= 0).all()


def test_correlations_are_spearmans(measured):
    _, found, _, _ = measured
    expected = {
        "logit deviation": found.logit_deviation,
        "layer": found.layers,
        "Haar entropy": found.entropy,
        "spread of the constants": found.figures["constant_deviation"],
    }
    for name, value in found.correlations().items():
        assert value == pytest.approx(spearmanr(found.figures["invariance"], expected[name]).statistic)


def test_padding_changes_nothing(measured, tmp_path):
    _, plain, _, _ = measured
    padded, _ = run_invariance(logit_run(tmp_path / "padded", padding=5), seed=2)
    for name, values in plain.figures.items():
        np.testing.assert_array_equal(values, padded.figures[name])


def test_results_are_kept_and_not_made_again(measured, monkeypatch):
    run, found, trees, _ = measured
    opened = open_run(run.location)
    kept = opened.load_result("softmax-invariance", batch=0, content="logits")
    np.testing.assert_array_equal(kept.figures["exact"], found.figures["exact"])
    assert opened.load_result("head-trees", batch=0, content="logits").trees(3) == trees.trees(3)

    def never(*_, **__):
        raise AssertionError("made again")

    # By the modules themselves: the package has functions of the same names.
    monkeypatch.setattr(sys.modules["haarbor.analysis._run_invariance"], "softmax_invariance", never)
    monkeypatch.setattr(sys.modules["haarbor.analysis._organized_heads"], "head_trees", never)
    again, _ = run_invariance(opened, seed=2)
    np.testing.assert_array_equal(again.figures["exact"], found.figures["exact"])
    with pytest.raises(AssertionError, match="made again"):
        run_invariance(opened, seed=1)
    with pytest.raises(AssertionError, match="made again"):
        run_invariance(opened, settings="paper", seed=2)


def test_a_head_with_a_uniform_softmax_has_no_figures_and_stands_last(tmp_path):
    found, _ = run_invariance(logit_run(tmp_path / "run", flat_head=1))
    assert np.isnan(found.figures["invariance"][1])
    assert np.isfinite(np.delete(found.figures["invariance"], 1)).all()
    assert found.order()[-1] == 1
    assert found.logit_deviation[1] == 0
    assert np.isfinite(list(found.correlations().values())).all()


def test_progress_covers_both_halves(measured):
    _, _, _, told = measured
    assert told == [("softmax", done, 12) for done in range(1, 13)]


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
