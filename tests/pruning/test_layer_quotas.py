"""Orders in which every layer loses the same share."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from haarbor.errors import ShapeError
from haarbor.pruning import NetworkHeads
from haarbor.pruning._layer_quotas import layer_quota_ranks
from tests.pruning.builders import layer_heads


def test_by_hand():
    heads = NetworkHeads((layer_heads(2), layer_heads(4)))
    # The second layer, of four heads, has lost a quarter when the first has lost nothing yet.
    ranks = layer_quota_ranks([9.0, 1.0, 3.0, 4.0, 8.0, 0.0], heads)
    assert ranks.tolist() == [5.0, 1.0, 2.0, 3.0, 4.0, 0.0]


@given(st.lists(st.integers(1, 7), min_size=1, max_size=5), st.integers(0, 2**32 - 1))
def test_every_layer_has_lost_the_same_share_to_within_a_head_at_every_step(sizes, seed):
    heads = NetworkHeads(tuple(layer_heads(size) for size in sizes))
    scores = np.random.default_rng(seed).normal(size=heads.n_heads)
    ranks = layer_quota_ranks(scores, heads)
    assert sorted(ranks) == list(range(heads.n_heads))
    for n_removed in range(heads.n_heads + 1):
        lost = [gone.size for gone in heads.by_layer(ranks < n_removed)]
        # One head more or less in each of two layers is the most by which their shares differ.
        shares = [number / size for number, size in zip(lost, sizes, strict=True)]
        assert max(shares) - min(shares) <= 1 / min(sizes) + 1e-9
    for own in np.split(np.arange(heads.n_heads), np.cumsum(sizes)[:-1]):
        assert np.argsort(scores[own]).tolist() == np.argsort(ranks[own]).tolist()


def test_scores_of_another_network_are_refused():
    with pytest.raises(ShapeError, match=r"one score per head, shape \(4,\); found \(3,\)"):
        layer_quota_ranks([1.0, 2.0, 3.0], NetworkHeads((layer_heads(4),)))
