import copy

import numpy as np
import pytest

from haarbor import DataError, PartitionTree, TreeError
from tests.assertions import assert_close
from tests.reference.folders import all_folders, folders_of_level
from tests.samples import CHAINED, HALVES, random_tree


def test_trees_with_the_same_partitions_are_equal_and_hash_alike():
    one = PartitionTree([[0, 0, 0], [0, 0, 1], [0, 1, 2]])
    two = PartitionTree([[4, 4, 4], [8, 8, -1], [30, 2, 11]])
    assert one == two
    assert hash(one) == hash(two)
    assert len({one, two}) == 1


def test_a_repeated_level_makes_another_tree():
    one = PartitionTree([[0, 0, 0], [0, 0, 1], [0, 1, 2]])
    assert one != PartitionTree([[0, 0, 0], [0, 0, 1], [0, 0, 1], [0, 1, 2]])


def test_a_tree_equals_nothing_that_is_not_a_tree():
    assert HALVES.levels.tolist() != HALVES
    assert HALVES != "tree"


def test_flat_arrays_of_a_chained_tree():
    # Levels hold 1, 2, 2, 3, 4, 5 folders; the second and third are the same partition.
    assert CHAINED.level_offsets.tolist() == [0, 1, 3, 5, 8, 12, 17]
    assert CHAINED.sizes.tolist() == [5, 4, 1, 4, 1, 3, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1]
    assert CHAINED.parents.tolist() == [-1, 0, 0, 1, 2, 3, 3, 4, 5, 6, 5, 7, 8, 9, 10, 11, 8]
    assert CHAINED.n_items == 5
    assert CHAINED.n_levels == len(CHAINED) == 6
    assert CHAINED.n_folders == 17


def test_children_and_items_of_folders():
    assert CHAINED.children(0).tolist() == [1, 2]
    assert CHAINED.children(1).tolist() == [3]
    assert CHAINED.children(3).tolist() == [5, 6]
    assert CHAINED.children(16).tolist() == []
    assert CHAINED.items(1).tolist() == [0, 1, 2, 4]
    assert CHAINED.items(8).tolist() == [0, 4]
    assert [CHAINED.level_of(folder) for folder in (0, 1, 2, 3, 7, 8, 16)] == [0, 1, 1, 2, 3, 4, 5]


def test_folders_of_every_level_match_the_reference(rng):
    for n_items in (1, 2, 5, 11):
        tree = random_tree(rng, n_items)
        levels = tree.levels.tolist()
        assert [[f.tolist() for f in partition] for partition in tree] == [
            folders_of_level(row) for row in levels
        ]
        running = all_folders(levels)
        for folder, (level, items) in enumerate(running):
            assert tree.items(folder).tolist() == items
            assert tree.sizes[folder] == len(items)
            assert tree.level_of(folder) == level
            below = [
                f for f, (lower, inner) in enumerate(running) if lower == level + 1 and inner[0] in items
            ]
            assert tree.children(folder).tolist() == below
            assert (tree.parents[below] == folder).all()


def test_negative_levels_count_from_the_leaves():
    assert [f.tolist() for f in HALVES.folders(-1)] == [[0], [1], [2], [3]]
    assert [f.tolist() for f in HALVES.folders(-3)] == [[0, 1, 2, 3]]


@pytest.mark.parametrize(("alpha", "beta"), [(0.0, 1.0), (1.0, 0.0), (0.5, 2.0), (-0.5, -1.0)])
def test_weights_of_folders_follow_the_formula(alpha, beta):
    expected = [
        (len(items) / 5) ** beta * 2.0 ** (-alpha * level)
        for level, items in all_folders(CHAINED.levels.tolist())
    ]
    assert_close(CHAINED.weights(alpha, beta), expected)


def test_weights_by_hand():
    assert HALVES.weights(1.0, 1.0).tolist() == [1, 0.25, 0.25, 0.0625, 0.0625, 0.0625, 0.0625]


def test_a_single_item_is_a_tree_of_any_depth():
    alone = PartitionTree([[3]])
    assert (alone.n_levels, alone.n_folders, alone.n_items) == (1, 1, 1)
    assert alone.children(0).tolist() == []
    chain = PartitionTree([[3], [3], [0]])
    assert (chain.n_levels, chain.pruned.n_folders) == (3, 1)
    assert chain.parents.tolist() == [-1, 0, 1]


def test_arrays_are_read_only_and_apart_from_what_was_passed():
    levels = np.array([[0, 0], [0, 1]])
    tree = PartitionTree(levels)
    levels[1] = 0
    assert tree.levels.tolist() == [[0, 0], [0, 1]]
    for array in (tree.levels, tree.sizes, tree.parents, tree.level_offsets, tree.children(0)):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7


def test_a_tree_cannot_be_changed():
    with pytest.raises(AttributeError, match="cannot be changed; 'levels'"):
        HALVES.levels = HALVES.levels
    with pytest.raises(AttributeError, match="cannot be changed; 'name'"):
        HALVES.name = "x"


def test_copies_are_equal_trees():
    for other in (copy.copy(CHAINED), copy.deepcopy(CHAINED)):
        assert other == CHAINED
        assert other.pruned.n_folders == CHAINED.pruned.n_folders


def test_repr_fits_one_line():
    assert repr(HALVES) == "PartitionTree(4 items, 3 levels, 7 folders)"


def test_leaf_order_keeps_folders_together_by_smallest_item():
    tree = PartitionTree([[0, 0, 0, 0, 0], [0, 1, 0, 1, 0], [0, 1, 2, 1, 0], [0, 1, 2, 3, 4]])
    assert tree.leaf_order().tolist() == [0, 4, 2, 1, 3]


def test_leaf_order_sorts_children_by_mean_score():
    tree = PartitionTree([[0, 0, 0, 0, 0], [0, 1, 0, 1, 0], [0, 1, 2, 1, 0], [0, 1, 2, 3, 4]])
    # Folder {1, 3} has mean 2, {0, 2, 4} mean 3; in it {2} has 1 and {0, 4} has 4.
    assert tree.leaf_order([6, 3, 1, 1, 2]).tolist() == [3, 1, 2, 4, 0]


def test_leaf_order_with_equal_means_keeps_folders_together():
    order = HALVES.leaf_order([1.0, 3.0, 3.0, 1.0]).tolist()
    assert order == [0, 1, 3, 2]


def test_from_levels_is_the_constructor():
    assert PartitionTree.from_levels(CHAINED.levels) == CHAINED


@pytest.mark.parametrize("folder", [-1, 7, 100])
def test_unknown_folders_are_refused(folder):
    for ask in (HALVES.items, HALVES.children, HALVES.level_of):
        with pytest.raises(TreeError, match=rf"folder must lie in 0..6; found {folder}"):
            ask(folder)


@pytest.mark.parametrize("level", [3, -4])
def test_unknown_levels_are_refused(level):
    with pytest.raises(TreeError, match=rf"level must lie in 0..2; found {level}"):
        HALVES.folders(level)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_scores_that_are_not_finite_are_refused(value):
    with pytest.raises(DataError, match=f"scores must be finite; item 2 has {value}"):
        HALVES.leaf_order([1.0, 2.0, value, 3.0])


def test_scores_of_the_wrong_length_are_refused():
    with pytest.raises(TreeError, match=r"one value per item, shape \(4,\); found \(3,\)"):
        HALVES.leaf_order([1.0, 2.0, 3.0])
