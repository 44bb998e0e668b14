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

UNITS = np.array([1.0, 1.0, 1.0])


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
        gone, error = half_of(moment, layer)
        assert responses.errors[number] == pytest.approx(error, rel=1e-6)
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


def test_units_turn_errors_into_changes_of_answers():
    responses = LayerResponses(
        by_sample=np.array([[1.0, 0.0, 3.0], [4.0, 0.0, 0.0]]),
        counts=np.array([2, 1]),
        errors=np.array([6.0, 5.0, 0.0]),
    )
    assert responses.values.tolist() == [2.0, 0.0, 2.0]
    # Nothing is known of a layer that changes nothing, or misses nothing.
    assert responses.units.tolist() == [3.0, 1.0, 1.0]
    assert responses.over(slice(1, None)).values.tolist() == [4.0, 0.0, 0.0]
    assert responses.over(slice(2, None)) is responses


def test_the_score_removes_first_where_answers_change_least(made):
    _, found = made
    ranks = pruning_scores(found, ["leftover-layer"])["leftover-layer"]
    expected = backward_elimination(found.moments, found.heads, layer_units=found.layer_responses.units).ranks
    np.testing.assert_array_equal(ranks, expected)
    # In units that make one layer free, its heads go first, all but the last.
    free = backward_elimination(found.moments, found.heads, layer_units=np.array([1.0, 1e12, 1.0]))
    assert set(free.order[:3].tolist()) < {4, 5, 6, 7}


def test_without_a_residual_stream_there_is_nothing_to_compare_with():
    x = np.random.default_rng(0).normal(size=(30, 4))
    heads = NetworkHeads((layer_heads(2, block="b"),))
    moments = (moments_of(x, np.eye(4)),)
    with pytest.raises(PruningError, match="residual stream of layer 0 was not found"):
        layer_responses(torch.nn.Identity(), heads, moments, batches("llama", 1))


@pytest.mark.parametrize("units", [np.ones(2), np.array([1.0, 0.0, 1.0]), np.array([1.0, np.nan, 1.0])])
def test_units_that_are_none_are_refused(made, units):
    _, found = made
    with pytest.raises(DataError, match="layer_units must be one finite number per layer, above 0"):
        backward_elimination(found.moments, found.heads, layer_units=units)


def test_errors_are_counted_in_one_way(made):
    _, found = made
    with pytest.raises(SettingError, match="errors must be counted in one way"):
        backward_elimination(found.moments, found.heads, layer_units=UNITS, shares=True)
