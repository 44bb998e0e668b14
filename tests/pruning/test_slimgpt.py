"""SlimGPT's diagonal shortcut."""

import numpy as np
import pytest

from haarbor.errors import SettingError
from haarbor.pruning import NetworkHeads
from haarbor.pruning._slimgpt import slimgpt_ranks
from tests.pruning.builders import layer_heads, moments_of


def slow_order(x, weight, n_heads, ridge):
    """Weights and the inverse computed anew for the heads that are left, at every step."""
    second = x.T @ x / len(x)
    second = second + ridge * np.trace(second) / len(second) * np.eye(len(second))
    left, order = list(range(n_heads)), []
    while left:
        kept = [channel for head in left for channel in (2 * head, 2 * head + 1)]
        own = second[np.ix_(kept, kept)]
        fitted = weight @ second[:, kept] @ np.linalg.inv(own)
        inverse = np.linalg.inv(own)
        costs = []
        for place, head in enumerate(left):
            channels = (2 * place, 2 * place + 1)
            costs.append((sum(np.sum(fitted[:, j] ** 2) / inverse[j, j] for j in channels), head))
        order.append(min(costs)[1])
        left.remove(order[-1])
    return order


def test_the_order_is_the_slow_one(rng):
    heads = NetworkHeads((layer_heads(4, 2),))
    for _ in range(5):
        x, weight = 1 + rng.normal(size=(60, 8)) @ rng.normal(size=(8, 8)), rng.normal(size=(3, 8))
        ranks = slimgpt_ranks([moments_of(x, weight)], heads, ridge=0.05)
        assert np.argsort(ranks).tolist() == slow_order(x, weight, 4, 0.05)


def test_by_hand_channels_that_stand_in_for_each_other_seem_cheap():
    # Both channels of head 0 are nearly the same signal: each costs next to nothing while the other is
    # there, and together they carry the layer. By blocks head 1 would go first, here head 0 does.
    signal = np.array([4.0, -4.0, 4.0, -4.0, 4.0, -4.0, 4.0, -4.0])
    noise = np.array([0.1, 0.1, -0.1, -0.1, 0.1, 0.1, -0.1, -0.1])
    x = np.column_stack(
        [signal + noise, signal - noise, np.tile([1.0, 1, -1, -1], 2), np.repeat([1.0, -1], 4)]
    )
    ranks = slimgpt_ranks([moments_of(x, np.ones((1, 4)))], NetworkHeads((layer_heads(2, 2),)), ridge=0.0)
    assert ranks.tolist() == [0, 1]


def test_a_negative_ridge_is_refused(rng):
    moments = [moments_of(rng.normal(size=(30, 4)), np.ones((2, 4)))]
    with pytest.raises(SettingError, match="ridge must not be negative"):
        slimgpt_ranks(moments, NetworkHeads((layer_heads(2, 2),)), ridge=-1.0)
