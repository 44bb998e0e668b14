import numpy as np
import pytest

import haarbor as hb
from tests.assertions import assert_same_tree
from tests.reference import markov, trees
from tests.reference.affinity import cosine_affinity, gaussian_affinity


def spectrum_of(values, psi):
    return hb.MarkovSpectrum(eigenvalues=np.array(values, float), eigenvectors=np.array(psi, float))


def random_affinity(rng, n_items):
    return gaussian_affinity(rng.normal(size=(n_items, 3)).tolist())


@pytest.mark.parametrize("n_items", [1, 2, 3, 4, 5, 8, 12, 13, 20, 31])
@pytest.mark.parametrize("constant", [0.3, 1.0, 4.0])
def test_flexible_tree_matches_the_reference(rng, n_items, constant):
    for _ in range(3):
        affinity = random_affinity(rng, n_items)
        expected = trees.flexible_tree(*markov.markov_spectrum(affinity), constant)
        assert_same_tree(hb.flexible_tree(hb.markov_spectrum(affinity), constant), expected)


@pytest.mark.parametrize("constant", [0.05, 0.2, 1.0])
def test_large_clusters_grow_as_in_the_reference(rng, constant):
    # Items at almost the same distance from each other: the penalty decides who joins.
    for _ in range(5):
        points = np.eye(14) + 0.02 * rng.normal(size=(14, 14))
        affinity = cosine_affinity((points + 0.4).tolist())
        expected = trees.flexible_tree(*markov.markov_spectrum(affinity), constant)
        assert_same_tree(hb.flexible_tree(hb.markov_spectrum(affinity), constant), expected)


def test_a_near_item_joins_a_pair_and_a_distant_one_does_not():
    # On a line; m = 199.5. 0 and 1 join at 1, and 2 joins them as 1.9 < m/2; 3 and 4 join at 96; the
    # nearest to 5 is 4 at 200, beyond m.
    places = np.array([0.0, 1.0, 2.9, 104.0, 200.0, 400.0])
    spectrum = spectrum_of([1.0, 1.0], np.column_stack([np.ones(6), places]))
    tree = hb.flexible_tree(spectrum)
    assert [f.tolist() for f in tree.folders(-2)] == [[0, 1, 2], [3, 4], [5]]


def test_a_large_constant_keeps_folders_from_gathering_others():
    # The same line with c = 100: 2 would have to be nearer than m/200 to join {0, 1}.
    places = np.array([0.0, 1.0, 2.9, 104.0, 200.0, 400.0])
    spectrum = spectrum_of([1.0, 1.0], np.column_stack([np.ones(6), places]))
    tree = hb.flexible_tree(spectrum, 100.0)
    assert [f.tolist() for f in tree.folders(-2)] == [[0, 1], [2], [3, 4], [5]]


def test_ties_go_to_the_first_index():
    # Four corners of a square: every item has two neighbours at the same distance.
    corners = [[1, 0, 0], [1, 0, 1], [1, 1, 1], [1, 1, 0]]
    tree = hb.flexible_tree(spectrum_of([1.0, 1.0, 1.0], corners))
    assert [f.tolist() for f in tree.folders(-2)] == [[0, 1], [2, 3]]


@pytest.mark.parametrize("n_alike", [2, 3, 7])
def test_identical_items_become_one_folder_above_the_singletons(rng, n_alike):
    slices = rng.uniform(0.1, 1, size=(10, 6))
    slices[1 : 1 + n_alike] = slices[1]
    affinity = cosine_affinity(slices.tolist())
    tree = hb.flexible_tree(hb.markov_spectrum(affinity))
    alike = list(range(1, 1 + n_alike))
    expected = [[item] for item in range(10) if item not in alike] + [alike]
    assert sorted(f.tolist() for f in tree.folders(-2)) == sorted(expected)
    assert_same_tree(tree, trees.flexible_tree(*markov.markov_spectrum(affinity)))


def test_many_identical_items_among_others_become_one_folder(rng):
    # The tolerance for rounding has to hold in larger matrices with uneven degrees too.
    slices = rng.uniform(0.0, 1, size=(160, 12)) * (rng.random((160, 12)) < 0.3)
    slices += rng.uniform(1e-3, 2e-3, size=(160, 12))
    alike = rng.choice(160, size=70, replace=False)
    slices[alike] = slices[alike[0]]
    tree = hb.flexible_tree(hb.markov_spectrum(hb.cosine_affinity(slices)))
    larger = [folder.tolist() for folder in tree.folders(-2) if folder.size > 1]
    assert larger == [sorted(alike.tolist())]


def test_all_items_identical_make_one_folder():
    tree = hb.flexible_tree(hb.markov_spectrum(np.ones((6, 6))))
    assert tree.levels.tolist() == [[0] * 6, [0, 1, 2, 3, 4, 5]]


@pytest.mark.parametrize("n_components", [2, 3])
def test_components_meet_only_at_the_top(rng, n_components):
    size = 5
    affinity = np.zeros((n_components * size, n_components * size))
    for c in range(n_components):
        block = slice(c * size, (c + 1) * size)
        affinity[block, block] = random_affinity(rng, size)
    tree = hb.flexible_tree(hb.markov_spectrum(affinity))
    found = {tuple(items.tolist()) for partition in tree for items in partition}
    for c in range(n_components):
        assert tuple(range(c * size, (c + 1) * size)) in found


@pytest.mark.parametrize("constant", [0, -1.0, float("nan"), float("inf")])
def test_constants_that_are_not_positive_are_refused(constant):
    with pytest.raises(hb.SettingError, match="tree constant must be positive and finite; found"):
        hb.flexible_tree(hb.markov_spectrum(np.eye(3) + 0.5), constant)
