"""OSSCAR: a greedy order within every layer, and exchanges."""

from itertools import combinations

import numpy as np
import pytest

from haarbor.errors import SettingError
from haarbor.pruning import NetworkHeads
from haarbor.pruning._osscar import exchanged, osscar_ranks, osscar_removal
from tests.pruning.builders import layer_heads, moments_of
from tests.pruning.test_removal_error import fitted_error


def kept_channels(n_heads, removed, width=2):
    return [width * h + k for h in range(n_heads) if h not in removed for k in range(width)]


def slow_greedy(x, weight, n_heads):
    gone = []
    while len(gone) < n_heads:
        left = [head for head in range(n_heads) if head not in gone]
        gone.append(min(left, key=lambda h: fitted_error(x, weight, kept_channels(n_heads, [*gone, h]))))
    return gone


def test_the_greedy_order_is_that_of_fitting_every_candidate_anew(rng):
    heads = NetworkHeads((layer_heads(4, 2), layer_heads(4, 2)))
    xs = [3 + rng.normal(size=(80, 8)) @ rng.normal(size=(8, 8)) for _ in range(2)]
    weights = [rng.normal(size=(3, 8)) for _ in range(2)]
    moments = [moments_of(x, weight) for x, weight in zip(xs, weights, strict=True)]
    ranks = osscar_ranks(moments, heads, ridge=0.0)
    for layer in range(2):
        assert np.argsort(ranks[4 * layer : 4 * layer + 4]).tolist() == slow_greedy(
            xs[layer], weights[layer], 4
        )
    assert {gone.size for gone in heads.by_layer(ranks < 4)} == {2}


def test_exchanges_undo_what_was_greedy():
    # By hand: head 0 is the cheapest alone, but 1 and 2 together are cheaper than any pair with it.
    costs = {(): 0, (0,): 1, (1,): 2, (2,): 2, (0, 1): 9, (0, 2): 9, (1, 2): 3, (0, 1, 2): 20}

    def error(removed):
        return costs[tuple(sorted(removed))]

    assert exchanged(error, frozenset({0, 1}), 3) == {1, 2}
    assert exchanged(error, frozenset({1, 2}), 3) == {1, 2}
    assert exchanged(error, frozenset(), 3) == frozenset()

    def mirrored(removed):
        return error([2 - head for head in removed])

    # Whichever head helps most comes back, be it the first or the last.
    assert exchanged(mirrored, frozenset({2, 1}), 3) == {0, 1}


def test_exchanges_never_raise_the_error_and_keep_the_number(rng):
    layer = layer_heads(5, 2)
    better = 0
    for _ in range(20):
        x, weight = rng.normal(size=(60, 10)) @ rng.normal(size=(10, 10)), rng.normal(size=(3, 10))
        heads = NetworkHeads((layer,))
        moments = [moments_of(x, weight)]
        removed = np.flatnonzero(osscar_removal(moments, heads, 3, ridge=0.0))
        greedy = np.flatnonzero(osscar_ranks(moments, heads, ridge=0.0) < 3)
        found, before = (
            fitted_error(x, weight, kept_channels(5, gone.tolist())) for gone in (removed, greedy)
        )
        best = min(fitted_error(x, weight, kept_channels(5, gone)) for gone in combinations(range(5), 3))
        assert removed.size == 3
        assert best * (1 - 1e-9) <= found <= before * (1 + 1e-9)
        better += found < before * (1 - 1e-9)
    assert better > 0


def test_numbers_that_cannot_be_are_refused(rng):
    moments = [moments_of(rng.normal(size=(30, 4)), np.ones((2, 4)))]
    with pytest.raises(
        SettingError, match="the number of heads to remove must be one that the network allows"
    ):
        osscar_removal(moments, NetworkHeads((layer_heads(2, 2),)), 2)
    with pytest.raises(SettingError, match="ridge must not be negative"):
        osscar_removal(moments, NetworkHeads((layer_heads(2, 2),)), 1, ridge=-1.0)
