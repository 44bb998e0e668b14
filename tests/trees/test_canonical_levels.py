import numpy as np
import pytest

from haarbor import PartitionTree, TreeError


def test_folders_are_numbered_by_their_smallest_item():
    tree = PartitionTree([[9, 9, 9, 9], [7, 1, 7, 1], [7, 2, 5, 2], [8, 4, 6, 2]])
    assert tree.levels.tolist() == [[0, 0, 0, 0], [0, 1, 0, 1], [0, 1, 2, 1], [0, 1, 2, 3]]


def test_folder_numbers_may_be_any_whole_numbers():
    tree = PartitionTree([[-7, -7], [-(2**63), 2**63 - 1]])
    assert tree == PartitionTree(np.array([[2**64 - 1] * 2, [2**64 - 1, 0]], dtype=np.uint64))
    assert tree.levels.tolist() == [[0, 0], [0, 1]]


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([0, 1, 2], r"shape \(n_levels, n_items\), neither zero; found shape \(3,\)"),
        (np.zeros((0, 3), int), r"neither zero; found shape \(0, 3\)"),
        (np.zeros((2, 0), int), r"neither zero; found shape \(2, 0\)"),
        ([[0.0, 0.0], [0.0, 1.0]], "integers; found dtype float64. Round them first"),
        ([["a", "a"], ["a", "b"]], "integers; found dtype <U1"),
        ([[0, 0], [0, None]], "integers; found dtype object"),
        ([[False, False], [False, True]], "integers; found dtype bool"),
        (
            np.ma.masked_equal([[0, 0], [0, 1]], 1),
            "must be a plain array; found a masked one that hides 1 of 4",
        ),
        ([[0, 0], [0]], "levels must be a rectangle of folder numbers"),
        ([[0, 0, 1], [0, 1, 2]], "level 0 must be one folder with all items; items 0 and 2 are apart"),
        (
            [[0, 0, 0], [0, 1, 0]],
            "the last level must be the singletons; item 2 shares its folder with item 0",
        ),
        (
            [[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 1, 2], [0, 1, 2, 3]],
            "items 1 and 2 share a folder at level 2 but not at level 1",
        ),
        ([[0, 1, 2], [0, 0, 0]], "level 0 must be one folder"),
    ],
)
def test_what_is_not_a_partition_tree_is_refused(levels, message):
    with pytest.raises(TreeError, match=message):
        PartitionTree(levels)
