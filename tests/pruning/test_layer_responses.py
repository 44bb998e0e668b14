"""How much the answers change when a layer loses half of its heads and is refitted."""

import numpy as np
import pytest
import torch

from haarbor.errors import DataError, PruningError, SettingError
from haarbor.pruning import NetworkHeads, backward_elimination, calibration_pass, pruning_scores
from haarbor.pruning._compensation import fitted_projection
from haarbor.pruning._layer_responses import LayerResponses, layer_responses
from haarbor.pruning._removal_error import RemovalError
from tests.pruning.builders import CALIBRATION, answer, layer_heads, moments_of
from tests.pruning.small_networks import batches, network

ONES = np.array([1.0, 1.0, 1.0])


@pytest.fixture(scope="module")
def made():
    model = network("llama")
    found = calibration_pass(model, CALIBRATION, parts={"layer responses"})
    return model, found


def half_of(moment, layer):
    """The cheaper heads by trying all, one after the other."""
    error = RemovalError(moment.relative_covariance, moment.weight, layer, 1e-3)
    gone = []
    for _ in range(layer.n_heads // 2):
        left = [head for head in range(layer.n_heads) if head not in gone]
        gone.append(min(left, key=lambda head: error([*gone, head])))
    return np.array(gone), error(gone)


def test_a_response_is_the_relative_entropy_to_the_network_with_another_projection(made):
    """Slow reference: the refitted weights written into a copy, head by head, and all answers compared."""
    model, found = made
    responses = found.layer_responses
    assert responses.counts.sum() == 4 * 14
    for number, (moment, layer) in enumerate(zip(found.moments, found.heads.layers, strict=True)):
        gone, _ = half_of(moment, layer)
        fit = fitted_projection(moment, layer, gone)
        changed = network("llama")
        projection = changed.get_submodule(layer.projection)
        other = torch.nn.Linear(projection.in_features, projection.out_features)
        with torch.no_grad():
            other.weight.copy_(torch.tensor(fit.weight))
            other.bias.copy_(torch.tensor(fit.bias))
        name, _, last = layer.projection.rpartition(".")
        setattr(changed.get_submodule(name), last, other)
        apart = []
        for batch in CALIBRATION:
            p, q = (torch.log_softmax(answer(net, batch).double(), -1) for net in (model, changed))
            apart.append(float((p.exp() * (p - q)).sum(-1).mean()))
        assert responses.values[number] == pytest.approx(np.mean(apart), rel=1e-3)


def test_responses_are_means_over_answers():
    responses = LayerResponses(by_sample=np.array([[1.0, 0.0], [4.0, 3.0]]), counts=np.array([2, 1]))
    assert responses.values.tolist() == [2.0, 1.0]
    assert responses.over(slice(1, None)).values.tolist() == [4.0, 3.0]
    assert responses.over(slice(2, None)) is responses


def test_more_answers_are_taken_from_more_samples(made):
    model, found = made
    few = layer_responses(model, found.heads, found.moments, CALIBRATION, n_answers=14)
    assert few.counts.tolist() == [14]
    with pytest.raises(SettingError, match="n_answers must be"):
        calibration_pass(model, CALIBRATION, n_answers=0)


@pytest.mark.parametrize("by_head", [False, True])
def test_costs_of_half_a_layer_sum_to_what_was_measured(made, by_head):
    """Slow reference: the increases of the errors, one after the other, in the units of the order."""
    _, found = made
    measured = np.array([3.0, 5.0, 7.0])
    own = np.arange(1.0, 13.0) if by_head else None
    elimination = backward_elimination(found.moments, found.heads, responses=own, layer_responses=measured)
    costs = dict(zip(elimination.order.tolist(), elimination.increases.tolist(), strict=True))
    for number, (moment, layer) in enumerate(zip(found.moments, found.heads.layers, strict=True)):
        error = RemovalError(moment.relative_covariance, moment.weight, layer, 1e-3)
        units = (
            np.ones(4)
            if own is None
            else np.array([error([head]) / own[4 * number + head] for head in range(4)])
        )
        first, second = half_of(moment, layer)[0]
        half = error([first]) / units[first] + (error([first, second]) - error([first])) / units[second]
        cheapest = min(range(4), key=lambda head: error([head]) / units[head])
        expected = error([cheapest]) / units[cheapest] * measured[number] / half
        assert costs[4 * number + cheapest] == pytest.approx(expected, rel=1e-6)


def test_scores_are_by_layers_and_by_heads_and_layers(made):
    model, _ = made
    found = calibration_pass(model, CALIBRATION, parts={"responses", "layer responses"})
    ranks = pruning_scores(found, ["leftover-layer", "leftover-answers"])
    layers, each = found.layer_responses.values, found.responses.values
    expected = backward_elimination(found.moments, found.heads, layer_responses=layers).ranks
    np.testing.assert_array_equal(ranks["leftover-layer"], expected)
    both = backward_elimination(found.moments, found.heads, responses=each, layer_responses=layers).ranks
    np.testing.assert_array_equal(ranks["leftover-answers"], both)
    # Where a layer hardly changes the answers, its heads go first, all but the last.
    free = backward_elimination(found.moments, found.heads, layer_responses=np.array([1.0, 1e-12, 1.0]))
    assert set(free.order[:3].tolist()) < {4, 5, 6, 7}
    halves = found.half_parts(1)["layer responses"]
    np.testing.assert_array_equal(halves.by_sample, found.layer_responses.by_sample[1::2])


def test_without_a_residual_stream_there_is_nothing_to_compare_with():
    x = np.random.default_rng(0).normal(size=(30, 4))
    heads = NetworkHeads((layer_heads(2, block="b"),))
    moments = (moments_of(x, np.eye(4)),)
    with pytest.raises(PruningError, match="residual stream of layer 0 was not found"):
        layer_responses(torch.nn.Identity(), heads, moments, batches("llama", 1))


@pytest.mark.parametrize("values", [np.ones(2), np.array([1.0, -1.0, 1.0]), np.array([1.0, np.nan, 1.0])])
def test_responses_that_are_none_are_refused(made, values):
    _, found = made
    with pytest.raises(DataError, match="layer_responses must be one finite number per layer, not negative"):
        backward_elimination(found.moments, found.heads, layer_responses=values)


def test_errors_are_counted_in_one_way(made):
    _, found = made
    with pytest.raises(SettingError, match="errors must be counted in one way"):
        backward_elimination(found.moments, found.heads, layer_responses=ONES, shares=True)
