"""How much worse a network gets as more of its heads are removed."""

import numpy as np
import pytest

from haarbor.errors import SettingError
from haarbor.pruning import (
    compensate,
    compensated,
    damage_curves,
    pruning_scores,
    removal,
    removed_heads,
    sequential_compensation,
)
from haarbor.pruning._metrics import measure
from tests.pruning.builders import CALIBRATION, EVALUATION, LOSS, made_curves
from tests.pruning.small_networks import network


@pytest.mark.parametrize("replacement", ["zero", "mean", "refit"])
def test_curves_are_ablations_of_the_lowest_scores(found, replacement):
    model = network("llama")
    curves = damage_curves(
        model, found, EVALUATION, ["gradient", "norm"], shares=[0.25, 0.5], replacement=replacement
    )
    removed = removal(pruning_scores(found, ["norm"])["norm"], found.heads, 0.5)
    if replacement == "refit":
        around = compensated(model, found.heads, compensate(model, found.heads, removed, CALIBRATION))
    else:
        means = found.means if replacement == "mean" else None
        around = removed_heads(model, found.heads, removed, means=means)
    with around:
        expected = measure(model, EVALUATION, LOSS)
    whole = measure(model, EVALUATION, LOSS)
    assert curves.value("norm")[1] == pytest.approx(expected.value, rel=1e-6)
    np.testing.assert_allclose(curves.curves["norm"].damage[0, 1], expected.each - whole.each, atol=1e-6)
    np.testing.assert_array_equal(curves.curves["norm"].removed[0, 1], removed)


def test_the_whole_network_is_run_once_for_all_that_is_refitted_layer_after_layer(found):
    model = network("llama")
    names = ["norm", "gradient", "leftover"]
    # Whether rows depend on each other is tried out once, and not for every curve.
    measure(model, EVALUATION, LOSS)
    rows = []
    handle = model.register_forward_pre_hook(
        lambda _m, _args, kwargs: rows.append(len(kwargs["input_ids"])), with_kwargs=True
    )
    curves = damage_curves(model, found, EVALUATION, names, shares=[0.5], replacement="sequential")
    handle.remove()
    n_choices = len({curves.curves[name].removed.tobytes() for name in names})
    assert n_choices > 1
    n_samples = sum(map(len, CALIBRATION))
    assert sum(rows) == (1 + n_choices) * (sum(map(len, EVALUATION)) + n_samples)
    for name in names:
        removed = curves.curves[name].removed[0, 0]
        with compensated(
            model, found.heads, sequential_compensation(model, found.heads, removed, CALIBRATION)
        ):
            expected = measure(model, EVALUATION, LOSS).value
        assert curves.value(name)[0] == pytest.approx(expected, rel=1e-5)


def test_chance_has_a_run_for_every_seed(found):
    curves = damage_curves(network("llama"), found, EVALUATION, ["random"], shares=[0.3], n_seeds=6)
    assert curves.curves["random"].damage.shape == (6, 1, 4)
    assert np.unique(curves.curves["random"].removed[:, 0], axis=0).shape[0] > 3


def test_errors_come_from_batches_and_from_seeds():
    damage = np.array([[[1.0, 3.0]], [[3.0, 5.0]]])
    curves = made_curves({"random": damage})
    assert curves.damage("random").tolist() == [3.0]
    # Over batches: means 2 and 4, variance 2 / 2; over seeds: means 2 and 4, variance 2 / 2.
    assert curves.standard_error("random").tolist() == [2**0.5]
    assert made_curves({"norm": damage[:1]}).standard_error("norm").tolist() == [1.0]


def test_batches_weigh_by_their_counts():
    curves = made_curves({"norm": np.array([[[1.0, 3.0]]])}, counts=[3.0, 1.0])
    assert curves.damage("norm").tolist() == [1.5]
    assert curves.damage("norm", slice(1, None)).tolist() == [3.0]


def test_a_metric_that_should_be_high_falls_with_damage():
    assert made_curves({"norm": np.full((1, 1, 2), 0.5)}, higher=True).value("norm").tolist() == [1.5]
    assert made_curves({"norm": np.full((1, 1, 2), 0.5)}).value("norm").tolist() == [2.5]


def test_reliability_is_that_of_the_halves(rng):
    level = np.linspace(0, 1, 6)[None, :, None]
    steady = made_curves({"norm": level + np.zeros((1, 6, 4))})
    assert steady.reliability == pytest.approx(1.0)
    noisy = made_curves({"norm": rng.normal(size=(1, 6, 4))})
    assert noisy.reliability < 0.9


def test_reliability_of_many_damages_that_contradict_each_other_is_not_defined():
    levels = np.arange(5.0)
    damage = np.stack([levels, -levels], axis=1)[None]
    assert np.isnan(made_curves({"norm": damage}).reliability)


def test_shares_of_the_same_number_are_measured_once_and_found_by_either(found):
    curves = damage_curves(
        network("llama"), found, EVALUATION, ["norm"], shares=[0.4, 0.25, 0.34, 0.3], replacement="zero"
    )
    assert curves.n_removed.tolist() == [3, 4, 5]
    assert curves.asked == ((0.25,), (0.34, 0.3), (0.4,))
    assert [curves.place(share) for share in (0.25, 0.3, 0.34, 4 / 12, 5 / 12)] == [0, 1, 1, 1, 2]
    with pytest.raises(SettingError, match="the share must be one of"):
        curves.place(0.31)


def test_several_replacements_give_a_curve_for_each_pair(found):
    model = network("llama")
    options = {"shares": [0.25, 0.5], "n_seeds": 2}
    both = damage_curves(
        model, found, EVALUATION, ["norm", "random"], replacement=["zero", "refit"], **options
    )
    assert list(both.curves) == ["norm", "norm, refit", "random"]
    assert both.replacement == "zero"
    for name, replacement in (("norm", "zero"), ("norm, refit", "refit"), ("random", "zero")):
        curve = both.curves[name]
        alone = damage_curves(
            model, found, EVALUATION, [curve.score], replacement=replacement, **options
        ).curves[curve.score]
        assert (curve.score, curve.replacement) == (name.split(",")[0], replacement)
        np.testing.assert_array_equal(curve.removed, alone.removed)
        np.testing.assert_array_equal(curve.damage, alone.damage)
    assert np.abs(both.curves["norm"].damage - both.curves["norm, refit"].damage).max() > 1e-4


@pytest.mark.parametrize("wrong", [[], ["refit", "healed"], [None], 3])
def test_a_replacement_that_is_not_offered_is_refused(found, wrong):
    with pytest.raises(SettingError, match="replacement must be one of zero, mean, refit"):
        damage_curves(network("llama"), found, EVALUATION, ["norm"], shares=[0.5], replacement=wrong)
