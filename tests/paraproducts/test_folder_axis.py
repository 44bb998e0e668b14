import numpy as np

from haarbor.paraproducts._folder_axis import FolderAxis, folder_sums
from tests.assertions import assert_close
from tests.samples import CHAINED, HALVES, random_tree


def test_sums_are_over_all_products_of_folders(rng):
    rows, columns = FolderAxis(random_tree(rng, 6)), FolderAxis(random_tree(rng, 5))
    items = rng.normal(size=(6, 5))
    found = folder_sums(items, (rows, columns))
    for i in range(rows.n_folders):
        for j in range(columns.n_folders):
            part = items[np.ix_(rows.tree.pruned.members(i), columns.tree.pruned.members(j))]
            assert_close(found[i, j], part.sum(), scale=np.abs(items).sum())


def test_terms_are_added_along_the_path_to_each_item(rng):
    axis = FolderAxis(CHAINED)
    terms = rng.normal(size=(3, axis.n_folders))
    expected = np.zeros((3, 5))
    for item, leaf in enumerate(axis.leaves):
        folder = leaf
        while folder >= 0:
            expected[:, item] += terms[:, folder]
            folder = axis.parents[folder]
    assert_close(axis.summed_down(terms.copy(), 1), expected)


def test_levels_hold_the_folders_that_stand_on_them_and_their_parents():
    axis = FolderAxis(CHAINED)
    for level, folders in enumerate(axis.level_folders):
        items = [sorted(CHAINED.pruned.members(folder).tolist()) for folder in folders]
        assert sorted(items) == sorted(folder.tolist() for folder in CHAINED.folders(level))
    for above, here, places in zip(
        axis.level_folders[:-1], axis.level_folders[1:], axis.level_parents, strict=True
    ):
        for folder, place in zip(here, places, strict=True):
            assert set(CHAINED.pruned.members(folder)) <= set(CHAINED.pruned.members(above[place]))


def test_values_of_folders_are_added_by_the_level_of_their_step():
    # The root splits into halves at level 0, and the halves into four items at level 1.
    assert FolderAxis(HALVES).sums_by_level(np.array([1.0, 2, 10, 20, 30, 40]), 0).tolist() == [3, 100]
    # From level 1 to level 2 of the chained tree nothing splits.
    assert FolderAxis(CHAINED).sums_by_level(np.ones(8), 0).tolist() == [2, 0, 2, 2, 2]
