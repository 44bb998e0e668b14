import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import pdist

import haarbor as hb
from haarbor.compare import cophenetic_correlation, head_tree_agreement
from haarbor.errors import ShapeError, TreeError
from haarbor.testing import partition_trees

HALVES = hb.PartitionTree([[0] * 4, [0, 0, 1, 1], [0, 1, 2, 3]])
ACROSS = hb.PartitionTree([[0] * 4, [0, 1, 0, 1], [0, 1, 2, 3]])


def random_tree(n, seed):
    points = np.random.default_rng(seed).normal(size=(n, 2))
    return hb.PartitionTree.from_linkage(linkage(points, "average"))


def test_values_by_hand():
    found = head_tree_agreement(HALVES, ACROSS)
    # Distances (1/2, 1, 1, 1, 1, 1/2) and (1, 1/2, 1, 1, 1/2, 1): the mean is 5/6 for both.
    assert found.cophenetic == pytest.approx(-0.5)
    assert found.distance == pytest.approx(1 / 3)
    assert found.levels == pytest.approx([-0.5])


def test_a_tree_agrees_with_itself_and_with_a_copy_whose_heads_are_renamed():
    tree = random_tree(10, 0)
    same = head_tree_agreement(tree, tree)
    assert (same.distance, same.cophenetic, same.p_value) == (0.0, 1.0, pytest.approx(1 / 1000))
    assert same.levels == pytest.approx(np.ones(tree.n_levels - 2))
    order = np.random.default_rng(1).permutation(10)
    moved = tree.permuted(order)
    # Item i of the copy stands where item order[i] stood.
    pairs = np.stack([order, np.arange(10)], axis=1)
    assert head_tree_agreement(tree, moved, pairs).cophenetic == pytest.approx(1.0)
    assert head_tree_agreement(tree, moved).cophenetic < 0.9


def test_against_the_correlation_of_scipys_distances():
    points = np.random.default_rng(5).normal(size=(9, 3))
    joined = linkage(points, "average")
    tree = hb.PartitionTree.from_linkage(joined)
    # Distances on a tree are sizes of folders here: their order within a branch is scipy's.
    own = hb.tree_distances(tree)[np.triu_indices(9, 1)]
    other = random_tree(9, 6)
    there = hb.tree_distances(other)[np.triu_indices(9, 1)]
    assert cophenetic_correlation(tree, other) == pytest.approx(np.corrcoef(own, there)[0, 1])
    assert np.corrcoef(own, cophenet(joined, pdist(points))[1])[0, 1] > 0.5


def test_unrelated_trees_are_seldom_said_to_agree():
    p = [
        head_tree_agreement(random_tree(9, n), random_tree(9, 500 + n), n_permutations=49).p_value
        for n in range(60)
    ]
    assert np.mean(np.array(p) <= 0.1) == pytest.approx(0.1, abs=0.12)
    assert np.mean(p) == pytest.approx(0.5, abs=0.13)


def test_heads_in_no_pair_are_left_out():
    tree = random_tree(8, 2)
    few = hb.PartitionTree(tree.levels[:, [1, 4, 6]])
    pairs = np.array([[1, 0], [4, 1], [6, 2]])
    found = head_tree_agreement(tree, few, pairs)
    assert (found.distance, found.cophenetic) == (0.0, pytest.approx(1.0))


@settings(max_examples=20, deadline=None)
@given(partition_trees(max_items=7), st.integers(0, 99))
def test_agreement_is_symmetric_and_bounded(tree, seed):
    other = tree.permuted(np.random.default_rng(seed).permutation(tree.n_items))
    one = head_tree_agreement(tree, other, n_permutations=5)
    two = head_tree_agreement(other, tree, n_permutations=5)
    assert one.distance == pytest.approx(two.distance)
    assert one.cophenetic == pytest.approx(two.cophenetic, nan_ok=True)
    assert np.isnan(one.cophenetic) or -1 <= one.cophenetic <= 1


def test_rejections():
    with pytest.raises(TreeError, match="same items"):
        head_tree_agreement(HALVES, random_tree(5, 0))
    for pairs in ([[0, 9]], [[0, 0], [0, 1]], [0, 1], [[0.0, 1.0]], [[-1, 0]]):
        with pytest.raises(ShapeError, match="pairs must be heads"):
            head_tree_agreement(HALVES, ACROSS, pairs)
