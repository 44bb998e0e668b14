"""More calibration data where two halves of it disagree about the order of the heads."""

from functools import partial

import numpy as np
import pytest
from scipy.stats import spearmanr

from haarbor.errors import DataError, SettingError
from haarbor.pruning import _agreeing_calibration as module
from haarbor.pruning import _calibration_pass as pass_module
from haarbor.pruning import calibration_pass, pruning_scores, pruning_study
from haarbor.pruning._agreeing_calibration import agreeing_calibration, unsure_scores
from haarbor.pruning._controls import ScoreControls
from tests.pruning.builders import CALIBRATION, EVALUATION, LOSS
from tests.pruning.small_networks import batches, network

MORE = batches("llama", 6, seed=13, size=1)


def control(name, agreement):
    nan = float("nan")
    return ScoreControls(
        name=name, n_removed=1, within_layer=nan, half_calibrations=(nan, nan), agreement=agreement
    )


def agreed(least, more, monkeypatch, names=("gradient", "norm", "random")):
    monkeypatch.setattr(module, "LEAST_AGREEMENT", least)
    model = network("llama")
    found = calibration_pass(model, CALIBRATION, parts={"gradients"})
    return model, agreeing_calibration(
        model, found, CALIBRATION, EVALUATION, names, more, share=0.5, metric=LOSS
    )


def test_only_a_low_correlation_is_unsure():
    entries = [control("a", 0.49), control("b", 0.5), control("c", float("nan")), control("d", -1.0)]
    assert unsure_scores(entries) == {"a": 0.49, "d": -1.0}


def test_halves_that_agree_need_no_more_and_it_is_not_asked_for(monkeypatch):
    def more():
        raise AssertionError("more data were asked for")

    _, found = agreed(-1.1, more, monkeypatch)
    assert found.taken == ""
    assert found.batches == CALIBRATION


def test_halves_that_disagree_get_all_that_there_is(monkeypatch):
    model, found = agreed(1.1, lambda: MORE, monkeypatch)
    assert found.batches == (*CALIBRATION, *MORE)
    joint = calibration_pass(model, found.batches, parts={"gradients"})
    np.testing.assert_allclose(found.found.gradients, joint.gradients, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(found.found.moments[1].second, joint.moments[1].second, rtol=1e-6)
    assert found.taken.startswith(
        "Two halves of the calibration data ordered the heads differently, so 10 samples were taken in place "
        "of 4 (rank correlation of halves: 'gradient' "
    )
    values = []
    for data in (CALIBRATION, found.batches):
        halves = [calibration_pass(model, data[begin::2], parts={"gradients"}) for begin in (0, 1)]
        values.append(spearmanr(*(pruning_scores(half, ["gradient"])["gradient"] for half in halves))[0])
    assert f"'gradient' {values[0]:.2f} to {values[1]:.2f}, 'norm'" in found.taken


@pytest.mark.parametrize(("least", "n_samples"), [(1.1, [10]), (-1.1, [4])])
def test_answers_are_probed_when_it_is_known_on_which_data(least, n_samples, monkeypatch):
    monkeypatch.setattr(module, "LEAST_AGREEMENT", least)
    probed = []
    plain = pass_module.probed_changes

    def counted(model, heads, data, *rest, **given):
        probed.append(sum(map(len, data)))
        return plain(model, heads, data, *rest, **given)

    monkeypatch.setattr(pass_module, "probed_changes", counted)
    names = ["norm", "leftover-response", "leftover-layer"]
    study = pruning_study(
        network("llama"), CALIBRATION, EVALUATION, names, budget=0.5, shares=[], controls=False,
        replacement="zero", more_calibration=lambda: MORE,
    )  # fmt: skip
    assert probed == n_samples
    assert study.n_calibration == n_samples[0]
    assert set(study.curves.curves) == set(names)


def test_scores_of_probed_answers_are_looked_at_where_the_others_are_sure(monkeypatch):
    def unsure(name, entries):
        return {entry.name: 0.1 for entry in entries if entry.name == name}

    monkeypatch.setattr(module, "unsure_scores", partial(unsure, "leftover-response"))
    model = network("llama")
    found = calibration_pass(model, CALIBRATION)
    names = ["norm", "leftover-response"]
    given = {"share": 0.5, "metric": LOSS, "parts": {"responses"}}
    agreeing = agreeing_calibration(model, found, CALIBRATION, EVALUATION, names, lambda: MORE, **given)
    assert "'leftover-response' 0.10 to" in agreeing.taken
    joint = calibration_pass(model, agreeing.batches, parts={"responses"})
    np.testing.assert_array_equal(agreeing.found.responses.by_sample, joint.responses.by_sample)
    # Where there is no more, the answers are there all the same; and so they are where another is unsure.
    for looked_at in ("leftover-response", "norm"):
        monkeypatch.setattr(module, "unsure_scores", partial(unsure, looked_at))
        agreeing = agreeing_calibration(model, found, CALIBRATION, EVALUATION, names, lambda: (), **given)
        assert agreeing.found.responses.n_answers == 56


def test_where_there_is_no_more_the_pass_stays(monkeypatch):
    _, found = agreed(1.1, lambda: (), monkeypatch)
    assert found.taken == ""
    assert found.batches == CALIBRATION


def test_more_data_must_be_a_function_and_must_not_be_measured_on(monkeypatch):
    with pytest.raises(DataError, match="must not overlap"):
        agreed(1.1, lambda: EVALUATION[:1], monkeypatch)
    with pytest.raises(SettingError, match=r"as a function without arguments; found 3\. Pass"):
        agreed(1.1, 3, monkeypatch)


def test_a_study_says_that_it_took_more(monkeypatch):
    monkeypatch.setattr(module, "LEAST_AGREEMENT", 1.1)
    options = {"budget": 0.5, "shares": [], "controls": False, "replacement": "zero"}
    study = pruning_study(
        network("llama"), CALIBRATION, EVALUATION, ["norm"], more_calibration=lambda: MORE, **options
    )
    assert study.n_calibration == 10
    summary = study.summary("llama", "noise")
    assert summary["more_calibration"] == study.taken
    assert "10 samples were taken in place of 4" in study.taken
    assert study.taken in study.results("llama", "noise").sentences
    plain = pruning_study(network("llama"), CALIBRATION, EVALUATION, ["norm"], **options)
    assert (plain.n_calibration, plain.taken) == (4, "")
    assert "Take more calibration data." in plain.disagreement
