"""Controls of a score: other rankings and other calibration data."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from haarbor.pruning import calibration_pass, pruning_scores, removal, removed_heads, score_controls
from haarbor.pruning._metrics import METRICS, measure
from tests.pruning.builders import CALIBRATION, EVALUATION, LOSS
from tests.pruning.small_networks import batches, network


def test_controls_take_the_halves_of_the_samples_that_were_probed():
    model, data = network("llama"), batches("llama", 6)
    found = calibration_pass(model, data[:4], parts={"responses"})
    names = ["response", "leftover-response"]
    for entry in score_controls(model, found, data[:4], data[4:], names, share=0.3, metric=METRICS["loss"]):
        assert np.isfinite([entry.within_layer, *entry.half_calibrations, entry.agreement]).all()
    one, two = (found.responses.over(slice(begin, None, 2)).values for begin in (0, 1))
    agreement = score_controls(
        model, found, data[:4], data[4:], ["response"], share=0.3, metric=METRICS["loss"]
    )[0].agreement
    assert agreement == pytest.approx(spearmanr(one, two)[0])


def test_controls_vary_ranking_and_calibration(found):
    model = network("llama")
    (entry,) = score_controls(
        model, found, CALIBRATION, EVALUATION, ["norm", "random"], share=0.5, metric=LOSS, replacement="zero"
    )
    assert entry.name == "norm"
    within = removal(pruning_scores(found, ["norm"])["norm"], found.heads, 0.5, within="layer")
    with removed_heads(model, found.heads, within):
        expected = measure(model, EVALUATION, LOSS).value
    assert entry.within_layer == pytest.approx(expected - measure(model, EVALUATION, LOSS).value, abs=1e-6)
    halves = [
        pruning_scores(calibration_pass(model, CALIBRATION[begin::2]), ["norm"])["norm"] for begin in (0, 1)
    ]
    from scipy.stats import spearmanr

    assert entry.agreement == pytest.approx(spearmanr(*halves).statistic)


@pytest.mark.parametrize("within", ["layer", "uniform"])
def test_half_calibrations_choose_heads_where_the_score_does(found, within):
    model = network("llama")
    (entry,) = score_controls(
        model, found, CALIBRATION, EVALUATION, ["gradient"], share=0.5, metric=LOSS, within=within,
        replacement="zero",
    )  # fmt: skip
    whole = measure(model, EVALUATION, LOSS).value
    for begin in (0, 1):
        half = calibration_pass(model, CALIBRATION[begin::2], parts={"gradients"}, heads=found.heads)
        scores = pruning_scores(half, ["gradient"])["gradient"]
        with removed_heads(model, found.heads, removal(scores, found.heads, 0.5, within=within)):
            expected = measure(model, EVALUATION, LOSS).value - whole
        assert entry.half_calibrations[begin] == pytest.approx(expected, abs=1e-6)
    # The heads over the whole network are others, or this test would show nothing.
    assert not np.array_equal(
        removal(scores, found.heads, 0.5), removal(scores, found.heads, 0.5, within=within)
    )
