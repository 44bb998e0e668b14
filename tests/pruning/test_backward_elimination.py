"""Heads removed one after another, the rest of their layer refitted each time."""

import numpy as np
import pytest

from haarbor.errors import DataError, SettingError
from haarbor.pruning import NetworkHeads, backward_elimination
from tests.assertions import assert_close
from tests.pruning.builders import layer_heads, moments_of
from tests.reference.pruning import greedy_leftovers


@pytest.mark.parametrize("relative", [True, False])
def test_the_elimination_is_that_of_fitting_every_candidate_anew(rng, relative):
    heads = NetworkHeads((layer_heads(3, 2), layer_heads(4, 2)))
    xs = [
        rng.normal(size=(60, 6)) @ rng.normal(size=(6, 6)),
        rng.normal(size=(60, 8)) @ rng.normal(size=(8, 8)),
    ]
    weights = [rng.normal(size=(5, 6)), rng.normal(size=(5, 8))]
    energies = [rng.uniform(1, 9, 60), rng.uniform(20, 90, 60)]
    moments = [moments_of(x, w, e) for x, w, e in zip(xs, weights, energies, strict=True)]
    found = backward_elimination(moments, heads, relative=relative, ridge=0.01)
    centred, scaled = [], []
    for x, weight, energy in zip(xs, weights, energies, strict=True):
        shares = 1 / energy if relative else np.ones(60)
        y = (x - (x * shares[:, None]).sum(0) / shares.sum()) * np.sqrt(shares)[:, None]
        centred.append(y)
        whole = weight if relative else weight / np.sqrt(energy.mean())
        scaled.append(whole)
    order, increases = greedy_leftovers(centred, scaled, 2, 0.01)
    starts = [0, 3]
    assert found.order.tolist() == [starts[layer] + head for layer, head in order]
    assert_close(found.increases, increases, scale=1e3 * max(increases))
    assert found.ranks[found.order].tolist() == list(range(7))


def test_a_head_that_follows_from_another_goes_first(rng):
    x = rng.normal(size=(80, 6))
    x[:, 2:4] = x[:, 4:6] @ rng.normal(size=(2, 2))
    weight = np.ones((3, 6)) * [5, 5, 9, 9, 9, 9]
    found = backward_elimination(
        [moments_of(x, weight, np.ones(80))], NetworkHeads((layer_heads(3, 2),)), ridge=1e-9
    )
    assert found.order[0] in (1, 2)
    assert found.increases[0] < 1e-6 * found.increases[1]


def test_every_layer_keeps_a_head_until_no_other_is_left(rng):
    heads = NetworkHeads((layer_heads(2, 1), layer_heads(2, 1)))
    small = moments_of(1e-6 * rng.normal(size=(30, 2)), np.ones((1, 2)), np.ones(30))
    large = moments_of(rng.normal(size=(30, 2)), np.ones((1, 2)), np.ones(30))
    order = backward_elimination([small, large], heads).order
    assert set(order[:2].tolist()) & {0, 1}
    assert set(order[:2].tolist()) & {2, 3}


def test_the_first_price_of_a_head_is_its_response_and_grows_with_the_others_gone(rng):
    x = rng.normal(size=(400, 8)) @ rng.normal(size=(8, 8))
    heads = NetworkHeads((layer_heads(4, 2),))
    moments = [moments_of(x, rng.normal(size=(5, 8)), np.ones(400))]
    responses = np.array([4.0, 1.0, 2.0, 3.0])
    found = backward_elimination(moments, heads, responses=responses)
    assert found.order[0] == 1
    assert found.increases[0] == pytest.approx(1.0)
    assert found.increases[1] > 2.0  # the least response of those that are left
    doubled = backward_elimination(moments, heads, responses=2 * responses)
    assert doubled.order.tolist() == found.order.tolist()
    np.testing.assert_allclose(doubled.increases, 2 * found.increases, rtol=1e-12)


def test_heads_in_twins_cost_more_when_the_twin_is_gone(rng):
    """Two equal heads of small response: one goes, the other is then as dear as what only it can give."""
    z = rng.normal(size=(500, 2))
    x = np.concatenate([z, z + 0.01 * rng.normal(size=(500, 2)), rng.normal(size=(500, 2))], axis=1)
    heads = NetworkHeads((layer_heads(3, 2),))
    moments = [moments_of(x, np.tile(np.eye(2), (1, 3)), np.ones(500))]
    found = backward_elimination(moments, heads, responses=np.array([0.1, 0.11, 0.5]))
    assert found.order.tolist() == [0, 2, 1]  # by their responses alone the twin would be second
    assert np.argsort([0.1, 0.11, 0.5]).tolist() == [0, 1, 2]


def test_silent_heads_go_first_whatever_was_measured(rng):
    x = rng.normal(size=(60, 4))
    x[:, :2] = 0.0
    heads = NetworkHeads((layer_heads(2, 2),))
    moments = [moments_of(x, rng.normal(size=(3, 4)), np.ones(60))]
    for responses in ([0.0, 1.0], [0.5, 1.0], [0.0, 0.0]):
        found = backward_elimination(moments, heads, responses=np.array(responses))
        assert found.order.tolist() == [0, 1]
        assert np.isfinite(found.increases).all()


def test_rises_are_added_to_what_a_head_costs_by_hand():
    """Heads of one channel each that do not tell of each other cost the squares of their weights."""
    x = np.sqrt(3) * np.vstack([np.eye(3), -np.eye(3)])
    heads = NetworkHeads((layer_heads(3, 1),))
    moments = [moments_of(x, np.array([[1.0, 2.0, 3.0]]), np.ones(6))]
    costs = np.array([1.0, 4.0, 9.0]) * (1 + 1e-9)
    plain = backward_elimination(moments, heads, responses=costs, ridge=1e-9)
    assert plain.order.tolist() == [0, 1, 2]
    found = backward_elimination(moments, heads, responses=costs, rises=np.array([4.0, 0.0, 0.5]), ridge=1e-9)
    assert found.order.tolist() == [1, 0, 2]
    np.testing.assert_allclose(found.increases, [4.0, 5.0, 9.5], rtol=1e-6)
    none = backward_elimination(moments, heads, responses=costs, rises=np.zeros(3), ridge=1e-9)
    np.testing.assert_array_equal(none.increases, plain.increases)


@pytest.mark.parametrize("rises", [[1.0], [1.0, -1.0], [1.0, np.inf]])
def test_rises_that_do_not_fit_are_refused(rng, rises):
    heads = NetworkHeads((layer_heads(2, 2),))
    moments = [moments_of(rng.normal(size=(60, 4)), rng.normal(size=(3, 4)), np.ones(60))]
    with pytest.raises(DataError, match="rises must be one finite number per head, not negative"):
        backward_elimination(moments, heads, rises=np.array(rises))


@pytest.mark.parametrize("responses", [[1.0], [1.0, -1.0], [1.0, np.nan]])
def test_responses_that_do_not_fit_are_refused(rng, responses):
    heads = NetworkHeads((layer_heads(2, 2),))
    moments = [moments_of(rng.normal(size=(60, 4)), rng.normal(size=(3, 4)), np.ones(60))]
    with pytest.raises(DataError, match="responses must be one finite number per head"):
        backward_elimination(moments, heads, responses=np.array(responses))


def test_shares_are_of_what_the_layer_gives_itself(rng):
    heads = NetworkHeads((layer_heads(3, 2), layer_heads(3, 2)))
    xs = [rng.normal(size=(60, 6)) @ rng.normal(size=(6, 6)) for _ in range(2)]
    weights = [rng.normal(size=(4, 6)) for _ in range(2)]
    moments = [moments_of(x, weight, np.ones(60)) for x, weight in zip(xs, weights, strict=True)]
    found = backward_elimination(moments, heads, shares=True, ridge=0.01)
    # The same as scaling the output of every layer to one.
    centred = [x - x.mean(0) for x in xs]
    sizes = [np.sqrt(np.mean(np.sum((x @ w.T) ** 2, axis=1))) for x, w in zip(centred, weights, strict=True)]
    scaled = [weight / size for weight, size in zip(weights, sizes, strict=True)]
    order, increases = greedy_leftovers(centred, scaled, 2, 0.01)
    assert found.order.tolist() == [3 * layer + head for layer, head in order]
    assert_close(found.increases, increases, scale=1e4 * max(increases))
    # So neither the scale of a layer nor that of its residual stream counts.
    smaller = [moments[0], moments_of(xs[1], 1e-3 * weights[1], np.full(60, 100.0))]
    assert (
        backward_elimination(smaller, heads, shares=True, ridge=0.01).order.tolist() == found.order.tolist()
    )
    # The shares of a layer sum to one, but for the ridge.
    for layer in range(2):
        own = [gain for head, gain in zip(found.order, found.increases, strict=True) if head // 3 == layer]
        assert sum(own) == pytest.approx(1, abs=0.05)


def test_shares_go_with_no_other_count(rng):
    moments = [moments_of(rng.normal(size=(20, 4)), rng.normal(size=(4, 4)), np.ones(20))]
    with pytest.raises(SettingError, match="errors must be counted in one way"):
        backward_elimination(moments, NetworkHeads((layer_heads(2, 2),)), shares=True, responses=np.ones(2))


def test_a_layer_that_gives_nothing_goes_first():
    heads = NetworkHeads((layer_heads(2, 1), layer_heads(2, 1)))
    x = np.array([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    moments = [moments_of(x, np.ones((1, 2)), np.ones(4)), moments_of(0 * x, np.ones((1, 2)), np.ones(4))]
    assert backward_elimination(moments, heads, shares=True).order[0] in (2, 3)
