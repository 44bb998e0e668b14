import numpy as np
import pytest

import haarbor as hb
from tests.assertions import assert_close
from tests.reference.haar import haar_functions
from tests.samples import CHAINED, HALVES, random_tree


def test_basis_of_unequal_folders_by_hand():
    # Root splits into {0, 1, 2} and {3}; then {0, 1} and {2}; then 0 and 1.
    tree = hb.PartitionTree([[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 2], [0, 1, 2, 3]])
    root = np.sqrt(3 * 1 / 4)
    inner = np.sqrt(2 * 1 / 3)
    half = np.sqrt(1 / 2)
    expected = [
        [0.5] * 4,
        [root / 3, root / 3, root / 3, -root],
        [inner / 2, inner / 2, -inner, 0],
        [half, -half, 0, 0],
    ]
    assert_close(hb.haar_basis(tree), expected)


def test_children_stand_largest_first_equal_ones_by_smallest_item():
    # Children {0}, {1, 3}, {2, 4}: first {1, 3} against the rest, then {2, 4} against {0}.
    tree = hb.PartitionTree([[0, 0, 0, 0, 0], [0, 1, 2, 1, 2], [0, 1, 2, 3, 4]])
    basis = hb.haar_basis(tree)
    assert np.sign(basis[1].round(12)).tolist() == [-1, 1, -1, 1, -1]
    assert np.sign(basis[2].round(12)).tolist() == [-1, 0, 1, 0, 1]
    system = hb.haar_system(tree)
    assert system.positive_sizes.tolist() == [5, 2, 2, 1, 1]
    assert system.negative_sizes.tolist() == [0, 3, 1, 1, 1]
    assert system.folder_sizes.tolist() == [5, 5, 5, 2, 2]
    assert system.parents.tolist() == [-1, 0, 1, 1, 2]


def test_functions_of_a_chained_tree_belong_to_the_level_where_it_splits():
    system = hb.haar_system(CHAINED)
    assert system.levels.tolist() == [0, 0, 2, 3, 4]
    assert system.supports.tolist() == [5, 5, 4, 3, 2]


@pytest.mark.parametrize("n_items", [1, 2, 3, 8, 17])
def test_basis_and_system_match_the_reference(rng, n_items):
    for _ in range(3):
        tree = random_tree(rng, n_items)
        functions = haar_functions(tree.levels.tolist())
        system = hb.haar_system(tree)
        assert_close(hb.haar_basis(tree), [f.values for f in functions])
        assert system.supports.tolist() == [f.support for f in functions]
        assert system.levels.tolist() == [f.level for f in functions]
        assert system.folder_sizes.tolist() == [len(f.folder) for f in functions]


def test_a_parent_function_does_not_change_sign_on_its_child(rng):
    tree = random_tree(rng, 15)
    basis, parents = hb.haar_basis(tree), hb.haar_system(tree).parents
    assert parents[:2].tolist() == [-1, 0]
    for child in range(2, 15):
        support = np.abs(basis[child]) > 1e-12
        signs = np.sign(basis[parents[child]][support])
        assert (signs == signs[0]).all()
        assert signs[0] != 0
        part = np.sign(basis[parents[child]]) == signs[0]
        assert (part == support).all()


def test_the_system_is_read_only_and_says_its_size():
    system = hb.haar_system(HALVES)
    assert repr(system) == "HaarSystem(4 functions)"
    assert system.node_sizes.tolist() == [1, 1, 1, 1, 4, 4, 2, 2]
    with pytest.raises(ValueError, match="read-only"):
        system.supports[0] = 1


def test_one_item_has_the_constant_alone():
    alone = hb.PartitionTree([[0], [0]])
    assert hb.haar_basis(alone).tolist() == [[1.0]]
    assert hb.haar_system(alone).parents.tolist() == [-1]
