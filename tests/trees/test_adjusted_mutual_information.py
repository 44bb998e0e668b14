"""Agreement of two partitions beyond chance."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from haarbor.errors import DataError, ShapeError
from haarbor.trees import adjusted_mutual_information

SMALL = st.integers(2, 6).flatmap(
    lambda n: st.tuples(*(st.lists(st.integers(0, 3), min_size=n, max_size=n) for _ in range(2)))
)
LARGE = st.integers(2, 40).flatmap(
    lambda n: st.tuples(*(st.lists(st.integers(0, 6), min_size=n, max_size=n) for _ in range(2)))
)


def mutual(one, two):
    """Mutual information, written out over pairs of folders."""
    n = len(one)
    found = 0.0
    for a in set(one):
        for b in set(two):
            share = sum(x == a and y == b for x, y in zip(one, two, strict=True)) / n
            if share:
                found += share * np.log(share / (list(one).count(a) / n * list(two).count(b) / n))
    return found


def by_all_orders(one, two):
    """Agreement, with the mean over every order of the second partition for the part due to chance."""
    chance = np.mean([mutual(one, order) for order in permutations(two)])
    ceiling = (mutual(one, one) + mutual(two, two)) / 2
    return (mutual(one, two) - chance) / (ceiling - chance)


def same(one, two):
    """Whether the two hold the same items together."""
    return all(
        (a == b) == (c == d) for a, c in zip(one, two, strict=True) for b, d in zip(one, two, strict=True)
    )


def test_by_hand():
    # {0 1} {2 3} against {0 1 2} {3}: I = log 2 / 2 + log(2/3) / 4 + log(2/3) / 2 ... the three cells are
    # 2, 1 and 1 items, so I = (2 log(4*2/6) + log(4*1/6) + log(4*1/2)) / 4. Every order gives the same table
    # up to names, so nothing is beyond chance.
    assert adjusted_mutual_information([0, 0, 1, 1], [0, 0, 0, 1]) == pytest.approx(0, abs=1e-12)
    # Crossed pairs: I = 0. One order in three of the pairs is the same (log 2), so chance gives log 2 / 3:
    # (0 - 1/3) / (1 - 1/3).
    assert adjusted_mutual_information([0, 0, 1, 1], [0, 1, 0, 1]) == pytest.approx(-0.5)


@given(SMALL)
def test_it_is_the_agreement_beyond_the_mean_of_all_orders(pair):
    one, two = pair
    found = adjusted_mutual_information(one, two)
    if same(one, two):
        assert found == 1.0
    else:
        assert found == pytest.approx(by_all_orders(one, two), abs=1e-9)


@given(LARGE, st.randoms(use_true_random=False))
def test_names_the_order_of_items_and_of_the_two_mean_nothing(pair, random):
    one, two = (np.array(labels) for labels in pair)
    found = adjusted_mutual_information(one, two)
    order = np.array(random.sample(range(len(one)), len(one)))
    names = np.array(["d", "a", "g", "b", "f", "c", "e"])
    assert found <= 1 + 1e-12
    assert adjusted_mutual_information(two, one) == pytest.approx(found, abs=1e-9)
    assert adjusted_mutual_information(one[order], names[two][order]) == pytest.approx(found, abs=1e-9)
    assert adjusted_mutual_information(one, one) == 1.0


def test_random_folders_do_not_agree_however_many_there_are():
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 5, 300)
    for n_folders in (2, 10, 100):
        found = [adjusted_mutual_information(rng.integers(0, n_folders, 300), classes) for _ in range(20)]
        assert abs(np.mean(found)) < 0.02
    # Without the correction the last would seem to agree well.
    assert mutual(rng.integers(0, 100, 300).tolist(), classes.tolist()) > 0.3


@pytest.mark.parametrize("trivial", [[0, 0, 0, 0], [0, 1, 2, 3]])
def test_one_folder_and_singletons_say_nothing(trivial):
    assert adjusted_mutual_information(trivial, [0, 0, 1, 1]) == pytest.approx(0, abs=1e-12)
    assert adjusted_mutual_information(trivial, trivial) == 1.0


def test_what_is_no_partition_is_refused():
    with pytest.raises(ShapeError, match="found 2 and 3 items"):
        adjusted_mutual_information([0, 1], [0, 1, 2])
    with pytest.raises(ShapeError, match="one folder per item"):
        adjusted_mutual_information([], [])
    with pytest.raises(ShapeError, match="one folder per item"):
        adjusted_mutual_information([[0, 1]], [0, 1])
    with pytest.raises(DataError, match="item 1 has NaN"):
        adjusted_mutual_information([0.0, np.nan], [0, 1])
