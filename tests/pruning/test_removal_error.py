"""The error of a layer's output without some heads, in closed form."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from haarbor.pruning._removal_error import RemovalError
from tests.pruning.builders import layer_heads


def fitted_error(x, weight, kept):
    """What numpy's least squares leaves of the layer's output."""
    target = x @ weight.T
    left = target - x[:, kept] @ np.linalg.lstsq(x[:, kept], target, rcond=None)[0] if kept else target
    return float(np.sum(left**2)) / len(x)


def test_it_is_what_least_squares_leaves_for_every_choice(rng):
    layer = layer_heads(4, 2)
    x, weight = rng.normal(size=(80, 8)) @ rng.normal(size=(8, 8)), rng.normal(size=(3, 8))
    error = RemovalError(x.T @ x / 80, weight, layer, 0.0)
    for size in range(5):
        for removed in combinations(range(4), size):
            kept = [
                channel for head in range(4) if head not in removed for channel in (2 * head, 2 * head + 1)
            ]
            assert error(removed) == pytest.approx(fitted_error(x, weight, kept), rel=1e-6, abs=1e-9)


@given(st.integers(0, 2**32 - 1))
def test_it_grows_with_every_head(seed):
    rng = np.random.default_rng(seed)
    x, weight = rng.normal(size=(40, 6)), rng.normal(size=(3, 6))
    error = RemovalError(x.T @ x / 40, weight, layer_heads(3, 2), 0.01)
    assert error([]) == 0
    order = rng.permutation(3).tolist()
    errors = [error(order[:size]) for size in range(4)]
    assert errors == sorted(errors)
    assert error([0, 1]) == error((1, 0))


def test_a_layer_that_gives_nothing_loses_nothing():
    assert RemovalError(np.zeros((4, 4)), np.ones((2, 4)), layer_heads(2, 2), 0.01)([0]) < 1e-300
