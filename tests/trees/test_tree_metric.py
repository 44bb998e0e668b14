import numpy as np
import pytest

import haarbor as hb
from tests.assertions import assert_close
from tests.reference import tree_metric as reference
from tests.samples import CHAINED, HALVES, PAIR, random_tree

MIXED = hb.PartitionTree([[0, 0, 0, 0], [0, 1, 0, 1], [0, 1, 2, 3]])


def test_tree_distances_by_hand():
    expected = [
        [0, 0.8, 0.6, 1, 0.4], [0.8, 0, 0.8, 1, 0.8], [0.6, 0.8, 0, 1, 0.6], [1, 1, 1, 0, 1],
        [0.4, 0.8, 0.6, 1, 0],
    ]  # fmt: skip
    assert_close(hb.tree_distances(CHAINED), expected)


@pytest.mark.parametrize("n_items", [1, 2, 7, 12])
def test_tree_distances_match_the_reference(rng, n_items):
    tree = random_tree(rng, n_items)
    levels = tree.levels.tolist()
    expected = [[reference.tree_distance(levels, x, y) for y in range(n_items)] for x in range(n_items)]
    assert_close(hb.tree_distances(tree), expected)


def test_tree_distances_are_an_ultrametric(rng):
    d = hb.tree_distances(random_tree(rng, 14))
    assert (d[:, None, :] <= np.maximum(d[:, :, None], d[None, :, :])).all()


def test_partition_distance_by_hand():
    # Pairs (0,1) and (2,3) are near in one tree, (0,2) and (1,3) in the other: 4 of 6 differ by 1/2.
    assert hb.partition_distance(HALVES, MIXED) == pytest.approx(1 / 3, abs=1e-15)


@pytest.mark.parametrize("n_items", [2, 5, 9])
def test_partition_distance_and_shared_folders_match_the_reference(rng, n_items):
    for _ in range(5):
        one, two = random_tree(rng, n_items), random_tree(rng, n_items)
        a, b = one.levels.tolist(), two.levels.tolist()
        assert_close(hb.partition_distance(one, two), reference.partition_distance(a, b))
        assert hb.shared_folders(one, two) == reference.shared_folders(a, b)


def test_shared_folders_by_hand():
    assert hb.shared_folders(HALVES, MIXED) == 0.0
    three = hb.PartitionTree([[0, 0, 0, 0], [0, 0, 1, 2], [0, 1, 2, 3]])
    assert hb.shared_folders(HALVES, three) == 0.5
    assert hb.shared_folders(PAIR, PAIR) == 1.0


def test_trees_of_one_item_are_not_apart():
    alone, chain = hb.PartitionTree([[0]]), hb.PartitionTree([[0], [0]])
    assert hb.partition_distance(alone, chain) == 0.0
    assert hb.shared_folders(alone, chain) == 1.0
    assert hb.tree_distances(chain).tolist() == [[0.0]]


@pytest.mark.parametrize("compare", [hb.partition_distance, hb.shared_folders])
def test_trees_on_other_items_are_not_compared(compare):
    with pytest.raises(hb.TreeError, match="found trees on 4 and 2 items"):
        compare(HALVES, PAIR)
