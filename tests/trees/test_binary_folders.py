import numpy as np
import pytest

import haarbor as hb
from haarbor.trees._binary_folders import BinaryFolders, join_weight
from tests.trees.haar_folders import folders_of


def test_the_norm_is_that_of_the_haar_expansion(rng):
    rows = rng.normal(size=(23, 11))
    for restraint in (None, 0.0, 0.05):
        found = folders_of(rows, restraint)
        slow = hb.haar_l1(rows, {"item": found.tree()}, ("item", "feature"))
        assert found.norm == pytest.approx(slow, rel=1e-12)
        assert found.depth == pytest.approx(found.tree().relative_depth * np.log2(23))


def test_a_chain_of_three_by_hand():
    means = np.array([[0.0], [2.0], [7.0], [1.0], [3.0]])
    found = BinaryFolders.of_joins(means, np.array([[0, 1], [3, 2]]), np.array([2**0.5, 6 * (2 / 3) ** 0.5]))
    assert found.parents.tolist() == [3, 3, 4, 4, -1]
    assert found.sizes.tolist() == [1, 1, 1, 2, 3]
    # Sizes 2 and 3 are the steps of all leaves: 2 + 2 + 1.
    assert found.depth == pytest.approx(5 / 3)
    assert found.norm == pytest.approx(3**0.5 * 3 + 2**0.5 + 6 * (2 / 3) ** 0.5)
    assert found.tree().levels.tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 2]]


def test_a_single_item_is_a_tree():
    found = BinaryFolders.of_joins(np.array([[4.0, -1.0]]), np.empty((0, 2), dtype=int), np.empty(0))
    assert found.norm == 5.0
    assert found.tree().n_items == 1


def test_the_weight_of_a_join():
    assert join_weight(np.array([2.0]), np.array([6.0])).tolist() == pytest.approx([1.5**0.5])
