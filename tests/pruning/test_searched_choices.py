"""Searches on calibration data, as they stand beside scores in curves, studies and controls."""

import numpy as np
import pytest
import torch

from haarbor.errors import SettingError
from haarbor.pruning import (
    answer_distance,
    calibration_pass,
    compensate,
    compensated,
    damage_curves,
    exchange_search,
    pruning_scores,
    pruning_study,
    score_controls,
)
from haarbor.pruning._metrics import METRICS, measure
from haarbor.pruning._scores import needed_parts, score_removal, scores_named
from haarbor.pruning._searched_choices import SEARCHED, SearchedChoices, require_starts
from tests.pruning.builders import CALIBRATION, EVALUATION, LATE_VECTORS, LOSS, choice_at_random
from tests.pruning.small_networks import batches, network

STARTS = ("gradient", "leftover")


@pytest.fixture(scope="module")
def calibration():
    return calibrated("llama", CALIBRATION, LOSS)


def calibrated(name, data, metric):
    parts = needed_parts(scores_named(STARTS))
    return network(name), calibration_pass(network(name), data, parts=parts, metric=metric)


def starts_of(found, n_removed):
    values = pruning_scores(found, STARTS)
    return {name: score_removal(name, values[name], found, n_removed) for name in STARTS}


@pytest.mark.parametrize("name", SEARCHED)
def test_each_search_lowers_what_it_is_named_after(calibration, name):
    model, found = calibration
    distance = answer_distance(model, CALIBRATION, LOSS)
    loss = LOSS if name == "searched-loss" else distance
    starts = starts_of(found, 4)
    result = SearchedChoices(model, found).search(name, starts)
    parts = (model, found.heads, found.moments, CALIBRATION)
    expected = exchange_search(*parts, distance, starts, drawn=True)
    if name == "searched-loss":
        begins = {"searched": expected.removed, **starts}
        expected = exchange_search(*parts, loss, begins, prefer="searched", n_errors=3.0, drawn=True)
    np.testing.assert_array_equal(result.removed, expected.removed)
    np.testing.assert_allclose(result.values, expected.values, rtol=1e-6)
    # What it ends with is no worse than any of the starts, on what it was given.
    fits = {key: compensate(model, found.heads, mask, CALIBRATION) for key, mask in starts.items()}
    fits["end"] = compensate(model, found.heads, result.removed, CALIBRATION)
    measured = {}
    for key, fit in fits.items():
        with compensated(model, found.heads, fit):
            measured[key] = measure(model, CALIBRATION, loss).value
    assert measured["end"] == pytest.approx(result.values[-1], rel=1e-5)
    assert measured["end"] <= min(measured.values()) + 1e-6


def test_answers_that_are_vectors_are_searched_by_the_loss():
    data = batches("vectors", 4, seed=11, size=1)
    model, found = calibrated("vectors", data, LATE_VECTORS)
    searches, starts = SearchedChoices(model, found), starts_of(found, 4)
    results = [searches.search(name, starts) for name in SEARCHED]
    np.testing.assert_array_equal(results[0].removed, results[1].removed)
    np.testing.assert_array_equal(results[0].values, results[1].values)
    with torch.no_grad():
        masks = [starts[results[0].start], results[0].removed]
        for mask, value in zip(masks, results[0].values[[0, -1]], strict=True):
            with compensated(model, found.heads, compensate(model, found.heads, mask, data)):
                assert measure(model, data, LATE_VECTORS).value == pytest.approx(float(value), rel=1e-5)


def test_a_search_begins_from_scores_and_not_from_chance():
    require_starts(["searched", "norm"])
    require_starts(["norm", "random"])
    for names in (["searched"], ["searched-loss", "searched"], ["searched", "random"]):
        with pytest.raises(SettingError, match=f"{names[0]!r} begins from what other scores choose"):
            require_starts(names)


def test_curves_hold_what_the_searches_find(calibration):
    model, found = calibration
    told = []
    names = ["gradient", "leftover", "searched", "searched-loss", "random"]
    curves = damage_curves(
        model, found, EVALUATION, names, shares=[0.25, 0.5], replacement=("refit", "zero"), n_seeds=2,
        on_progress=lambda *step: told.append(step),
    )  # fmt: skip
    assert {curve.score for curve in curves.curves.values()} == set(names)
    searches = SearchedChoices(model, found)
    for name in SEARCHED:
        for place, n_removed in enumerate(curves.n_removed):
            result = searches.search(name, starts_of(found, int(n_removed)))
            for label in (name, f"{name}, zero"):
                curve = curves.curves[label]
                np.testing.assert_array_equal(curve.removed[0, place], result.removed)
            with compensated(model, found.heads, compensate(model, found.heads, result.removed, CALIBRATION)):
                without = measure(model, EVALUATION, LOSS)
            expected = without.each - measure(model, EVALUATION, LOSS).each
            np.testing.assert_allclose(curves.curves[name].damage[0, place], expected, atol=1e-5)
    assert [step for step, _, _ in told] == sorted((step for step, _, _ in told), reverse=True)
    assert told[-1][1] == told[-1][2]


@pytest.mark.parametrize("within", ["layer", "uniform"])
def test_searches_keep_to_the_budget_within_layers(calibration, within):
    model, found = calibration
    curves = damage_curves(model, found, EVALUATION, [*STARTS, *SEARCHED], shares=[0.5], within=within)
    counts = {
        name: [gone.size for gone in found.heads.by_layer(curve.removed[0, 0])]
        for name, curve in curves.curves.items()
    }
    assert all(each == counts["gradient"] for each in counts.values())


def test_searches_need_a_score_beside_them(calibration):
    model, found = calibration
    with pytest.raises(SettingError, match="begins from what other scores choose"):
        damage_curves(model, found, EVALUATION, ["searched", "random"], shares=[0.5])
    with pytest.raises(SettingError, match="begins from what other scores choose"):
        pruning_study(model, CALIBRATION, EVALUATION, ["searched"], budget=0.3, shares=[])


def test_a_study_can_be_made_of_searches():
    study = pruning_study(
        network("zoo-vit"), batches("zoo-vit", 4, seed=1), batches("zoo-vit", 8, seed=2),
        ["leftover", "searched", "searched-loss", "random"], budget=0.3, shares=[0.3],
        metric=METRICS["classification-loss"], controls=True,
    )  # fmt: skip
    assert {"searched", "searched-loss"} <= set(study.curves.curves)
    names = {"leftover", "searched", "searched-loss"}
    assert study.recommendation.score in names
    assert names <= set(study.summary("made up", "random pictures")["values"])
    # Controls are of what orders the heads.
    assert [entry.name for entry in study.controls] == ["leftover"]


def test_controls_are_of_scores_alone(calibration):
    model, found = calibration
    (entry,) = score_controls(
        model, found, CALIBRATION, EVALUATION, ["gradient", "searched", "random"], share=0.3,
        metric=LOSS,
    )  # fmt: skip
    assert entry.name == "gradient"


def test_a_few_labels_do_not_outweigh_the_answers():
    """Labels of chance on a few pictures: some start has the least loss, but not clearly."""
    model, data = network("zoo-vit"), batches("zoo-vit", 6, seed=5)
    metric = METRICS["classification-loss"]
    found = calibration_pass(model, data, parts=set(), metric=metric)
    rng, n_heads = np.random.default_rng(0), found.heads.n_heads
    starts = {str(seed): choice_at_random(rng, found.heads, n_heads // 2) for seed in range(12)}
    searches = SearchedChoices(model, found, n_passes=1)
    by_answers, by_loss = (searches.search(name, starts) for name in SEARCHED)
    losses = {}
    for name, mask in {**starts, "searched": by_answers.removed}.items():
        with compensated(model, found.heads, compensate(model, found.heads, mask, data)):
            losses[name] = measure(model, data, metric).value
    assert min(losses, key=losses.__getitem__) != "searched"
    assert by_loss.start == "searched"
    np.testing.assert_array_equal(by_loss.removed, by_answers.removed)
