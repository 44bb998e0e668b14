"""Orders of removal from the distances between heads."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from haarbor.pruning._redundancy import folder_ranks, redundancy_ranks
from tests.reference.pruning import redundancy_order


@given(st.integers(2, 7), st.integers(0, 2**32 - 1))
def test_redundancy_follows_its_definition(n_heads, seed):
    rng = np.random.default_rng(seed)
    points, sizes = rng.normal(size=(n_heads, 2)), rng.uniform(0.5, 2, n_heads)
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    ranks = redundancy_ranks(distances, sizes)
    assert np.argsort(ranks).tolist() == redundancy_order(distances.tolist(), sizes.tolist())


def test_every_folder_keeps_its_largest_head():
    points = np.array([0.0, 0.1, 10.0, 10.1, 10.2])
    distances = np.abs(points[:, None] - points[None])
    ranks = folder_ranks(distances, np.array([1.0, 2.0, 5.0, 4.0, 3.0]))
    assert sorted(ranks.tolist()) == [0, 1, 2, 3, 4]
    # 1 is the larger of the first pair, 2 the largest of all.
    assert ranks[2] == 4
    assert ranks[0] < ranks[1]
    assert max(ranks[3], ranks[4], ranks[0]) < ranks[1]
