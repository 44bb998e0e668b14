from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import haarbor as hb
from haarbor.testing import partition_trees
from haarbor.trees._control_trees import halved_tree, ordered_tree_like, random_tree_like
from tests.assertions import assert_same_tree
from tests.samples import random_tree


@pytest.mark.parametrize("n_items", [1, 2, 3, 5, 8, 13])
def test_halved_tree_cuts_the_line_of_items_into_equal_stretches(n_items):
    levels, level = [], 0
    while level == 0 or len(set(levels[-1])) < n_items:
        levels.append([int(Fraction(item, n_items) * 2**level) for item in range(n_items)])
        level += 1
    assert_same_tree(halved_tree(n_items), levels)


@given(st.integers(1, 70))
def test_sizes_of_a_level_of_a_halved_tree_differ_by_one_at_most(n_items):
    tree = halved_tree(n_items)
    for level in range(tree.n_levels):
        sizes = [items.size for items in tree.folders(level)]
        assert max(sizes) - min(sizes) <= 1
        assert all(np.ptp(items) == items.size - 1 for items in tree.folders(level))


def test_a_halved_tree_needs_an_item():
    with pytest.raises(hb.SettingError, match="n_items must be at least 1; found 0"):
        halved_tree(0)


@given(partition_trees(), st.integers(0, 3))
def test_random_tree_has_as_many_folders_on_every_level(tree, seed):
    random = random_tree_like(tree, np.random.default_rng(seed))
    assert random.n_levels == tree.n_levels
    for level in range(tree.n_levels):
        assert len(random.folders(level)) == len(tree.folders(level))


def test_random_tree_is_the_same_for_the_same_seed_and_another_for_another():
    tree = halved_tree(20)
    one, again, other = (random_tree_like(tree, np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert one == again
    assert one != other


def test_folder_sizes_of_a_random_tree_are_left_to_chance():
    tree = halved_tree(16)
    sizes = {
        tuple(sorted(items.size for items in random_tree_like(tree, np.random.default_rng(seed)).folders(1)))
        for seed in range(20)
    }
    assert len(sizes) > 3


def test_an_ordered_tree_has_the_shape_of_the_tree_and_the_order_of_the_items(rng):
    for n_items in (1, 2, 7, 20):
        tree = random_tree(rng, n_items)
        ordered = ordered_tree_like(tree)
        assert sorted(ordered.pruned.sizes.tolist()) == sorted(tree.pruned.sizes.tolist())
        assert ordered.n_levels == tree.n_levels
        for partition in ordered:
            for items in partition:
                assert items.tolist() == list(range(items[0], items[-1] + 1))
        assert ordered_tree_like(ordered) == ordered
        assert ordered_tree_like(halved_tree(n_items)) == halved_tree(n_items)
