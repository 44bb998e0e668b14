"""Whether two figures of heads put them in the same order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from haarbor.analysis import rank_correlation


def by_ranks(one, two):
    """Correlation of the ranks, equal values sharing the mean of theirs, written out."""
    ranks = [
        [np.mean([x < v for x in row]) + np.mean([x <= v for x in row]) for v in row] for row in (one, two)
    ]
    return float(np.corrcoef(ranks)[0, 1])


def test_by_hand():
    # Ranks 1, 2, 3 against 1, 3, 2: 1 - 6 (0 + 1 + 1) / (3 * 8).
    assert rank_correlation(np.array([1.0, 2.0, 4.0]), np.array([0.1, 0.3, 0.2])) == pytest.approx(0.5)


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=3, max_size=12))
def test_it_is_the_correlation_of_the_ranks(pairs):
    one, two = np.array(pairs, dtype=float).T
    if np.ptp(one) == 0 or np.ptp(two) == 0:
        assert np.isnan(rank_correlation(one, two))
    else:
        assert rank_correlation(one, two) == pytest.approx(by_ranks(one, two), abs=1e-12)


def test_heads_without_a_figure_are_left_out_and_few_heads_say_nothing():
    one, two = np.array([1.0, 2.0, 4.0, np.nan, 9.0]), np.array([3.0, 2.0, 1.0, 7.0, np.inf])
    assert rank_correlation(one, two) == pytest.approx(-1.0)
    assert np.isnan(rank_correlation(one[:2], two[:2]))
    assert rank_correlation(one[:2], two[:2], least=2) == pytest.approx(-1.0)
