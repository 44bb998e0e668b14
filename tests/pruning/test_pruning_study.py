"""A whole study of one network."""

import pytest

from haarbor.errors import DataError, SettingError
from haarbor.pruning import _controls as controls_module
from haarbor.pruning import _damage_curves as curves_module
from haarbor.pruning import _pruning_study as study_module
from haarbor.pruning import calibration_pass, damage_curves, n_parameters, pruning_study
from haarbor.pruning._metrics import measure
from tests.pruning.builders import CALIBRATION, EVALUATION, LOSS
from tests.pruning.small_networks import batches, network


@pytest.mark.parametrize(("within", "n_removed"), [("network", 4), ("layer", 4), ("uniform", 6)])
def test_scores_and_controls_remove_the_same_number_of_heads(within, n_removed, monkeypatch):
    """A third of 3 x 4 heads in groups of two: with 'uniform' one of each group, which is half."""
    removals = []
    for place in (curves_module, controls_module):
        plain = place.measured_without

        def measured(model, removed, *rest, plain=plain):
            removals.append(int(removed.sum()))
            return plain(model, removed, *rest)

        monkeypatch.setattr(place, "measured_without", measured)
    study = pruning_study(
        network("llama"), CALIBRATION, EVALUATION, ["norm", "gradient", "random"], budget=0.34, shares=[0.34],
        within=within, replacement="zero", n_seeds=2,
    )  # fmt: skip
    assert set(removals) == {n_removed}
    assert len(removals) >= 8
    assert study.curves.n_removed.tolist() == [n_removed]
    assert study.curves.shares.tolist() == [n_removed / 12]
    assert {entry.n_removed for entry in study.controls} == {n_removed}
    assert study.recommendation.sentence.startswith(
        f"Remove {n_removed} of 12 heads ({100 * n_removed / 12:.3g} %) by"
    )
    summary = study.summary("llama", "noise")
    assert summary["n_removed"] == [n_removed]
    assert summary["shares"] == [n_removed / 12]
    assert summary["asked"] == [[0.34]]
    origin = summary["origin"]
    assert (origin["n_removed"], origin["n_heads"], origin["budget"]) == (n_removed, 12, 0.34)
    assert origin["share"] == n_removed / 12


def test_shares_that_remove_nothing_are_left_out_of_a_study_and_refused_as_its_budget():
    options = {"replacement": "zero", "within": "uniform"}
    study = pruning_study(
        network("llama"), CALIBRATION, EVALUATION, ["norm"], budget=0.5, shares=[0.05, 0.2, 0.5], **options
    )
    assert study.curves.asked == ((0.5,),)
    with pytest.raises(SettingError, match=r"20 % of 12 heads.* is none\. Possible here: 50 % \(6\)"):
        pruning_study(
            network("llama"), CALIBRATION, EVALUATION, ["norm"], budget=0.2, shares=[0.5], **options
        )
    gathered = calibration_pass(network("llama"), CALIBRATION)
    for shares in ([0.0], [], None, "0.5"):
        with pytest.raises(SettingError, match="share"):
            damage_curves(network("llama"), gathered, EVALUATION, ["norm"], shares=shares)


def test_what_is_wrong_with_a_study_is_told_before_the_work(monkeypatch):
    def work(*_arguments, **_options):
        raise AssertionError("the work has begun")

    monkeypatch.setattr(study_module, "calibration_pass", work)
    usual = {"budget": 0.5, "shares": [0.5]}
    model = network("llama")
    for wrong, error, message in (
        ({"budget": 0.01}, SettingError, "at least one head must go"),
        ({"budget": "half"}, SettingError, "between 0 and 1; found 'half'"),
        ({"replacement": "magic"}, SettingError, "replacement must be"),
        ({"metric": "bleu"}, SettingError, "metric must be one of"),
        ({"metric": 3}, SettingError, "metric must be one of"),
        ({"within": "block"}, SettingError, "within must be one of"),
        ({"shares": [2.0]}, SettingError, "between 0 and 1"),
        ({"more_calibration": CALIBRATION}, SettingError, "as a function without arguments"),
        ({"n_answers": 0}, SettingError, "n_answers must be"),
    ):
        with pytest.raises(error, match=message):
            pruning_study(model, CALIBRATION, EVALUATION, ["norm"], **{**usual, **wrong})
    for scores, message in (
        ("norm", r"a list of names; found 'norm'\. Write"),
        (None, "a list of names; found None"),
        ([3], "named by a text; found 3"),
        (["random"], "besides 'random'"),
        (["magic"], "a score must be one of"),
    ):
        with pytest.raises(SettingError, match=message):
            pruning_study(model, CALIBRATION, EVALUATION, scores, **usual)
    with pytest.raises(DataError, match="at least 2 batches to calibrate and 4 to measure; found 1 and 4"):
        pruning_study(model, CALIBRATION[:1], EVALUATION, ["norm"], **usual)
    with pytest.raises(DataError, match="found 4 and 3"):
        pruning_study(model, CALIBRATION, EVALUATION[:3], ["norm"], **usual)
    with pytest.raises(SettingError, match=r"must be a torch\.nn\.Module; found None"):
        pruning_study(None, CALIBRATION, EVALUATION, ["norm"], **usual)


@pytest.mark.parametrize("within", ["network", "layer", "uniform"])
def test_a_study_ends_in_a_smaller_network_that_is_as_good_as_measured(within):
    model = network("llama")
    told = []
    study = pruning_study(
        model, CALIBRATION, EVALUATION, ["leftover", "gradient", "random"], budget=0.5, shares=[0.25, 0.5],
        within=within, on_progress=lambda *step: told.append(step),
    )  # fmt: skip
    assert study.removed.sum() == 6
    assert measure(study.smaller, EVALUATION, LOSS).value == pytest.approx(
        study.curves.value(study.recommendation.score)[-1], rel=1e-5
    )
    assert study.value == pytest.approx(study.curves.value(study.recommendation.score)[-1], rel=1e-5)
    assert study.pruned is study.smaller
    assert study.footprint[0].n_parameters == n_parameters(model)
    assert study.footprint[1].n_parameters < study.footprint[0].n_parameters
    assert {what for what, _, _ in told} == {"scoring", "gradients", "measuring", "controls"}
    summary = study.summary("llama", "noise")
    assert summary["origin"]["model"] == "llama"
    assert len(summary["removed"]) == 6
    # A quarter is no head of a group of two.
    assert len(summary["values"]["random"]) == (1 if within == "uniform" else 2)
    assert summary["pruned"] == {"value": study.value, "smaller": True}
    assert {entry["name"] for entry in summary["controls"]} == {"leftover", "gradient"}


def test_a_study_of_a_network_that_cannot_be_smaller_still_has_a_mask():
    data = batches("opt", 4, seed=11, size=1), batches("opt", 4, seed=12, size=1)
    study = pruning_study(network("opt"), *data, ["norm"], budget=0.5, shares=[0.5], replacement="mean")
    assert study.smaller is None
    assert study.footprint is None
    assert "can still be removed by a mask" in study.refusal
    assert study.removed.sum() == 6
    # The network that stands for it has the metric that is told.
    assert study.value == pytest.approx(study.curves.value("norm")[0], rel=1e-5)
    assert measure(study.pruned, data[1], LOSS).value == study.value


def test_a_study_refuses_data_that_overlap():
    with pytest.raises(DataError, match="must not overlap"):
        pruning_study(network("llama"), EVALUATION[:2], EVALUATION, ["norm"], budget=0.5, shares=[0.5])


@pytest.mark.parametrize("order", [("refit", "zero"), ("zero", "refit")])
def test_the_network_is_made_with_the_replacement_that_was_chosen(order):
    study = pruning_study(
        network("llama"), CALIBRATION, EVALUATION, ["norm", "random"], budget=0.5, shares=[], n_seeds=1,
        replacement=order, controls=False,
    )  # fmt: skip
    best = study.recommendation.score
    curve = study.curves.curves[best]
    assert curve.replacement == min(order, key=lambda way: study.curves.damage(
        "norm" if way == order[0] else f"norm, {way}", slice(0, None, 2))[0])  # fmt: skip
    assert study.value == pytest.approx(study.curves.value(best)[0], abs=1e-5)
    origin = study.summary("llama", "noise")["origin"]
    assert (origin["score"], origin["replacement"]) == ("norm", curve.replacement)
    assert f"'{best}'" in study.recommendation.sentence


def test_a_refit_layer_after_layer_needs_samples_of_one_shape_and_says_so_before_the_work(monkeypatch):
    def work(*_arguments, **_options):
        raise AssertionError("the work has begun")

    monkeypatch.setattr(study_module, "calibration_pass", work)
    one, two = batches("llama", 2)
    shorter = [{"input_ids": two.inputs["input_ids"][:, :-2]}]
    with pytest.raises(DataError, match="one shape; found 2"):
        pruning_study(
            network("llama"), [one, *shorter], EVALUATION, ["norm"], budget=0.5, shares=[],
            replacement=("refit", "sequential"),
        )  # fmt: skip
