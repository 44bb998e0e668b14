from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from haarbor.compare import head_matching
from haarbor.errors import DataError, ShapeError


def distances(n, m, seed):
    return np.random.default_rng(seed).uniform(0.1, 1.0, size=(n, m))


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 999))
def test_no_other_pairing_has_a_lower_sum(n, m, seed):
    costs = distances(n, m, seed)
    pairs = head_matching(costs)
    assert len(pairs) == min(n, m)
    assert all(np.unique(column).size == column.size for column in pairs.T)
    found = costs[pairs[:, 0], pairs[:, 1]].sum()
    tall = costs if n <= m else costs.T
    best = min(
        sum(tall[i, order[i]] for i in range(tall.shape[0])) for order in permutations(range(tall.shape[1]))
    )
    assert found == pytest.approx(best)


def test_of_heads_that_are_the_same_each_keeps_its_place():
    assert head_matching(np.zeros((5, 5))).tolist() == [[n, n] for n in range(5)]


def test_what_is_nearer_is_preferred_to_its_place_however_little():
    costs = np.array([[1.0, 1.0 - 1e-6], [1.0 - 1e-6, 1.0]])
    assert head_matching(costs).tolist() == [[0, 1], [1, 0]]


def test_rejections():
    with pytest.raises(ShapeError, match="heads x heads"):
        head_matching([1.0, 2.0])
    with pytest.raises(DataError, match="finite"):
        head_matching([[np.nan]])
