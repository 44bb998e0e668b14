import numpy as np
import pytest

from tests.assertions import assert_close
from tests.reference.folders import all_folders
from tests.reference.tree_emd import pruned_weights
from tests.samples import CHAINED, HALVES, random_tree


def test_pruned_folders_of_a_chained_tree_by_hand():
    pruned = CHAINED.pruned
    folders = [sorted(pruned.members(folder).tolist()) for folder in range(pruned.n_folders)]
    assert folders == [[0, 1, 2, 3, 4], [0, 1, 2, 4], [3], [0, 2, 4], [1], [0, 4], [2], [0], [4]]
    assert pruned.first_level.tolist() == [0, 1, 1, 3, 3, 4, 4, 5, 5]
    assert pruned.last_level.tolist() == [0, 2, 5, 3, 5, 4, 5, 5, 5]
    assert pruned.parents.tolist() == [-1, 0, 0, 1, 1, 3, 3, 5, 5]
    assert pruned.first_item.tolist() == [0, 0, 3, 0, 1, 0, 2, 0, 4]
    assert pruned.leaves.tolist() == [7, 4, 6, 2, 8]
    assert pruned.n_items == 5


def test_children_stand_largest_first_then_by_smallest_item(rng):
    for n_items in (2, 6, 13):
        pruned = random_tree(rng, n_items).pruned
        for folder in range(pruned.n_folders):
            children = pruned.children_of(folder)
            keys = [(-pruned.sizes[child], pruned.first_item[child]) for child in children]
            assert keys == sorted(keys)
            assert (pruned.parents[children] == folder).all()
            assert children.size != 1
            if children.size:
                assert pruned.sizes[children].sum() == pruned.sizes[folder]


def test_pruned_folders_are_the_distinct_folders(rng):
    for n_items in (1, 2, 5, 12):
        tree = random_tree(rng, n_items)
        distinct = {}
        for level, items in all_folders(tree.levels.tolist()):
            first, _ = distinct.get(tuple(items), (level, level))
            distinct[tuple(items)] = (first, level)
        pruned = tree.pruned
        found = {
            tuple(sorted(pruned.members(f).tolist())): (pruned.first_level[f], pruned.last_level[f])
            for f in range(pruned.n_folders)
        }
        assert found == distinct
        assert pruned.n_folders == len(distinct)


def test_members_are_contiguous_runs_and_leaves_are_the_singletons(rng):
    pruned = random_tree(rng, 10).pruned
    assert sorted(pruned.member_order.tolist()) == list(range(10))
    for folder in range(pruned.n_folders):
        run = pruned.members(folder)
        assert run.size == pruned.sizes[folder]
        assert run.min() == pruned.first_item[folder]
    assert [pruned.members(leaf).tolist() for leaf in pruned.leaves] == [[item] for item in range(10)]


def test_singletons_keep_their_ground_weight_exactly(rng):
    # The weight of a singleton that appears at the last level only is one power and one power.
    tree = random_tree(rng, 7)
    pruned = tree.pruned
    late = pruned.leaves[pruned.first_level[pruned.leaves] == tree.n_levels - 1]
    assert late.size
    weights = pruned.weights(0.3, 1.0)[late]
    assert (weights == 2.0 ** (-0.3 * (tree.n_levels - 1)) * (1 / 7)).all()


def test_pruned_arrays_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        CHAINED.pruned.sizes[0] = 1
    with pytest.raises(AttributeError):
        CHAINED.pruned.n_items = np.int64(3)


@pytest.mark.parametrize(("alpha", "beta"), [(0.0, 1.0), (1.0, 0.0), (0.7, 0.3), (-1.0, 1.0)])
def test_pruned_weights_add_those_of_carried_copies(rng, alpha, beta):
    for tree in (CHAINED, HALVES, random_tree(rng, 9), random_tree(rng, 1), random_tree(rng, 2)):
        expected = pruned_weights(tree.levels.tolist(), alpha, beta)
        pruned = tree.pruned
        keys = [tuple(sorted(pruned.members(folder).tolist())) for folder in range(pruned.n_folders)]
        assert set(keys) == set(expected)
        assert len(keys) == len(expected)
        assert_close(pruned.weights(alpha, beta), [expected[key] for key in keys])
