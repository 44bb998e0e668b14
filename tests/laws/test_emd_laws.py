import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import haarbor as hb
from haarbor.testing import partition_trees
from tests.assertions import assert_close

seeds = st.integers(0, 2**32 - 1)
exponents = st.floats(0, 1.5)
AXES = ("query", "key", "head")
two_trees = st.tuples(*[partition_trees(max_items=7)] * 2)


def case(trees, seed, n_slices=6, zeros=0.0, dtype=np.float64):
    """Tensor whose heads are compared along the two trees."""
    rng = np.random.default_rng(seed)
    shape = (trees[0].n_items, trees[1].n_items, n_slices)
    X = rng.normal(size=shape) * (rng.random(shape) >= zeros)
    return X.astype(dtype), {"query": trees[0], "key": trees[1]}


@given(two_trees, seeds, exponents, exponents)
def test_distances_are_a_metric(trees, seed, alpha, beta):
    X, chosen = case(trees, seed)
    D = hb.tree_emd(X, chosen, alpha=alpha, beta=beta)
    assert (D == D.T).all()
    assert (np.diagonal(D) == 0).all()
    assert (D >= 0).all()
    assert (D[np.triu_indices(6, 1)] > 0).all()
    assert (D[:, None, :] <= D[:, :, None] + D[None, :, :] + 1e-12 * D.max()).all()


@given(two_trees, seeds, st.sampled_from([np.float32, np.float64]))
def test_distances_are_zero_exactly_for_equal_slices(trees, seed, dtype):
    X, chosen = case(trees, seed, zeros=0.4, dtype=dtype)
    X[:, :, 4] = X[:, :, 0]
    D = hb.tree_emd(X, chosen)
    for i in range(6):
        for j in range(6):
            assert (D[i, j] == 0) == (X[:, :, i] == X[:, :, j]).all()


@given(two_trees, seeds, st.integers(-30, 30), st.floats(0.01, 100))
def test_distances_scale_with_the_data(trees, seed, power, factor):
    X, chosen = case(trees, seed)
    D = hb.tree_emd(X, chosen)
    assert (hb.tree_emd(2.0**power * X, chosen) == 2.0**power * D).all()
    assert_close(hb.tree_emd(-factor * X, chosen), factor * D)


@given(two_trees, seeds)
def test_adding_the_same_to_all_slices_changes_no_distance(trees, seed):
    X, chosen = case(trees, seed)
    assert_close(hb.tree_emd(X + X[:, :, :1], chosen), hb.tree_emd(X, chosen))


@given(two_trees, seeds, exponents)
def test_folder_numbers_do_not_matter(trees, seed, alpha):
    X, chosen = case(trees, seed)
    rng = np.random.default_rng(seed)
    renamed = {
        axis: hb.PartitionTree(np.stack([rng.permutation(50)[row] for row in tree.levels]))
        for axis, tree in chosen.items()
    }
    assert (hb.tree_emd(X, renamed, alpha=alpha) == hb.tree_emd(X, chosen, alpha=alpha)).all()


@given(two_trees, seeds)
def test_permuting_items_with_their_tree_changes_no_distance(trees, seed):
    X, chosen = case(trees, seed)
    order = np.random.default_rng(seed).permutation(X.shape[0])
    moved = {**chosen, "query": hb.PartitionTree(chosen["query"].levels[:, order])}
    assert_close(hb.tree_emd(X[order], moved), hb.tree_emd(X, chosen))


@given(two_trees, seeds)
def test_permuting_the_slices_permutes_the_distances(trees, seed):
    X, chosen = case(trees, seed)
    order = np.random.default_rng(seed).permutation(6)
    assert_close(hb.tree_emd(X[:, :, order], chosen), hb.tree_emd(X, chosen)[np.ix_(order, order)])


@given(partition_trees(max_items=8), seeds, exponents)
def test_a_chain_weighs_as_much_as_its_links(tree, seed, beta):
    # With alpha = 0 a repeated level adds once more what the folders of that level add.
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(5, tree.n_items))
    place = seed % tree.n_levels
    longer = hb.PartitionTree(np.insert(tree.levels, place, tree.levels[place], axis=0))
    features = np.stack(
        [X[:, items].mean(axis=1) * (items.size / tree.n_items) ** beta for items in tree.folders(place)]
    )
    level = np.abs(features[:, :, None] - features[:, None, :]).sum(axis=0)
    D, E = (hb.tree_emd(X, {"key": t}, beta=beta) for t in (tree, longer))
    assert_close(E, D + level)


@given(two_trees, seeds)
def test_float32_distances_are_within_rounding_of_float64(trees, seed):
    X, chosen = case(trees, seed, zeros=0.3, dtype=np.float32)
    assert_close(hb.tree_emd(X, chosen), hb.tree_emd(X.astype(np.float64), chosen), np.float32)


@given(two_trees, seeds, exponents, exponents)
def test_a_flat_tree_on_top_only_adds(trees, seed, alpha, beta):
    # Distances along trees are at least those along root and singletons of the last level alone.
    X, chosen = case(trees, seed)
    D = hb.tree_emd(X, chosen, alpha=alpha, beta=beta)
    weight = np.prod([tree.weights(alpha, beta)[-1] for tree in trees])
    flat = X.reshape(-1, 6)
    single = weight * np.abs(flat[:, :, None] - flat[:, None, :]).sum(axis=0)
    root = np.abs(flat.mean(axis=0)[:, None] - flat.mean(axis=0)[None, :])
    lone = root if flat.shape[0] > 1 else 0 * root
    assert (single + lone - 1e-12 * D.max() <= D).all()
