import numpy as np
import pytest

import haarbor as hb
from tests.assertions import assert_same_tree
from tests.reference import trees
from tests.reference.affinity import gaussian_affinity


@pytest.mark.parametrize("cut", ["zero", "balanced"])
@pytest.mark.parametrize("n_items", [1, 2, 3, 4, 7, 13, 24])
def test_binary_tree_matches_the_reference(rng, n_items, cut):
    for _ in range(3):
        affinity = gaussian_affinity(rng.normal(size=(n_items, 2)).tolist())
        assert_same_tree(hb.binary_tree(affinity, cut=cut), trees.binary_tree(affinity, cut))


def test_every_folder_splits_in_two(rng):
    tree = hb.binary_tree(gaussian_affinity(rng.normal(size=(17, 2)).tolist()))
    pruned = tree.pruned
    counts = np.diff(pruned.child_offsets)
    assert (counts[pruned.sizes > 1] == 2).all()


def test_balanced_halves_differ_by_at_most_one(rng):
    tree = hb.binary_tree(gaussian_affinity(rng.normal(size=(21, 2)).tolist()), cut="balanced")
    pruned = tree.pruned
    for folder in np.flatnonzero(pruned.sizes > 1):
        large, small = pruned.sizes[pruned.children_of(folder)]
        assert large - small in (0, 1)


@pytest.mark.parametrize("cut", ["zero", "balanced"])
def test_identical_items_still_split(cut):
    tree = hb.binary_tree(np.ones((5, 5)), cut=cut)
    assert tree.n_items == 5
    assert (np.diff(tree.pruned.child_offsets)[tree.pruned.sizes > 1] == 2).all()


def test_two_components_are_cut_apart_first():
    affinity = np.kron(np.eye(2), np.full((3, 3), 0.5)) + 0.5 * np.eye(6)
    tree = hb.binary_tree(affinity[np.ix_([0, 3, 1, 4, 2, 5], [0, 3, 1, 4, 2, 5])])
    assert [f.tolist() for f in tree.folders(1)] == [[0, 2, 4], [1, 3, 5]]


def test_unknown_cuts_are_refused():
    with pytest.raises(hb.SettingError, match="cut must be one of 'zero', 'balanced'; found 'middle'"):
        hb.binary_tree(np.eye(3), cut="middle")


def test_what_is_not_an_affinity_is_refused():
    with pytest.raises(hb.AffinityError, match="must be symmetric"):
        hb.binary_tree([[1.0, 0.2, 0.1], [0.3, 1.0, 0.1], [0.1, 0.1, 1.0]])
