import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import haarbor as hb
from haarbor.testing import partition_trees
from tests.assertions import assert_close
from tests.reference.haar import haar_functions

seeds = st.integers(0, 2**32 - 1)
AXES = ("query", "key", "head")
three_trees = st.tuples(*[partition_trees(max_items=8)] * 3)


def tensor_on(trees, seed, dtype=np.float64):
    shape = [tree.n_items for tree in trees]
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


@given(partition_trees(max_items=16))
def test_the_basis_is_orthonormal(tree):
    basis = hb.haar_basis(tree)
    assert_close(basis @ basis.T, np.eye(tree.n_items))
    assert_close(basis.T @ basis, np.eye(tree.n_items))


@given(partition_trees(max_items=16))
def test_every_function_but_the_constant_has_mean_zero_and_its_support(tree):
    basis, system = hb.haar_basis(tree), hb.haar_system(tree)
    assert_close(basis[1:].sum(axis=1), np.zeros(tree.n_items - 1))
    assert ((np.abs(basis) > 1e-9).sum(axis=1) == system.supports).all()
    assert ((basis > 1e-9).sum(axis=1) == system.positive_sizes).all()
    assert ((basis < -1e-9).sum(axis=1) == system.negative_sizes).all()


@given(three_trees, seeds, st.lists(st.sampled_from(AXES), unique=True))
def test_reconstruction_is_perfect_and_energy_is_kept(trees, seed, expanded):
    X = tensor_on(trees, seed)
    chosen = {axis: tree for axis, tree in zip(AXES, trees, strict=True) if axis in expanded}
    coefficients = hb.haar_transform(X, chosen)
    assert_close(hb.inverse_haar_transform(coefficients, chosen), X)
    assert_close(hb.haar_transform(hb.inverse_haar_transform(X, chosen), chosen), X)
    assert_close((coefficients**2).sum(), (X**2).sum())


@given(three_trees, seeds)
def test_float32_coefficients_are_within_rounding_of_float64(trees, seed):
    X = tensor_on(trees, seed, np.float32)
    chosen = dict(zip(AXES, trees, strict=True))
    found = hb.haar_transform(X, chosen)
    assert found.dtype == np.float32
    assert_close(found, hb.haar_transform(X.astype(np.float64), chosen), np.float32)


@given(three_trees, seeds)
def test_the_transform_is_linear(trees, seed):
    X, Y = tensor_on(trees, seed), tensor_on(trees, seed + 1)
    chosen = dict(zip(AXES, trees, strict=True))
    expected = 2 * hb.haar_transform(X, chosen) - 3 * hb.haar_transform(Y, chosen)
    assert_close(hb.haar_transform(2 * X - 3 * Y, chosen), expected, scale=np.abs([X, Y]).max() * 5)


@given(three_trees, seeds, st.integers(1, 60), st.sampled_from([0.5, 1, 2]))
def test_entropy_lies_in_its_tie_interval_and_grows_with_k(trees, seed, k, p):
    X = tensor_on(trees, seed)
    chosen = dict(zip(AXES, trees, strict=True))
    found, more = hb.head_entropy(X, chosen, k=k, p=p), hb.head_entropy(X, chosen, k=k + 1, p=p)
    slack = 1e-12 * found.all_scales
    assert (found.tie_interval[:, 0] <= found.raw + slack).all()
    assert (found.raw <= found.tie_interval[:, 1] + slack).all()
    assert (found.raw <= more.raw + slack).all()
    assert (found.raw <= found.all_scales + slack).all()
    assert ((found.energy_share >= 0) & (found.energy_share <= 1 + 1e-12)).all()
    everything = hb.head_entropy(X, chosen, k=10**6, p=p)
    assert_close(everything.raw, found.all_scales)
    assert everything.k == everything.n_functions


@given(three_trees, seeds)
def test_the_order_of_heads_does_not_matter_to_entropies(trees, seed):
    X = tensor_on(trees, seed)
    chosen = dict(zip(AXES, trees, strict=True))
    order = np.random.default_rng(seed).permutation(X.shape[2])
    found, moved = hb.head_entropy(X, chosen, k=9), hb.head_entropy(X[:, :, order], chosen, k=9)
    assert (moved.raw == found.raw[order]).all()
    assert (moved.tie_interval == found.tie_interval[order]).all()


def energy_by_folder(X, trees, order):
    """Energy of the coefficients of each folder of heads, named by the heads it held before `order`."""
    coefficients = hb.haar_transform(X, trees)
    energies = {}
    for j, function in enumerate(haar_functions(trees["head"].levels.tolist())):
        key = (j == 0, frozenset(int(order[head]) for head in function.folder))
        energies[key] = energies.get(key, 0.0) + float((coefficients[:, :, j] ** 2).sum())
    return energies


@given(three_trees, seeds)
def test_the_order_of_heads_does_not_matter_to_the_energy_of_their_folders(trees, seed):
    # Which of several equal children comes first depends on their items, so single functions may differ.
    X = tensor_on(trees, seed)
    chosen = dict(zip(AXES, trees, strict=True))
    order = np.random.default_rng(seed).permutation(X.shape[2])
    renamed = {**chosen, "head": hb.PartitionTree(chosen["head"].levels[:, order])}
    found = energy_by_folder(X, chosen, np.arange(X.shape[2]))
    moved = energy_by_folder(X[:, :, order], renamed, order)
    assert set(moved) == set(found)
    assert_close([moved[key] for key in found], list(found.values()))


@given(three_trees, seeds)
def test_repeated_levels_change_no_function(trees, seed):
    tree = trees[0]
    place = seed % tree.n_levels
    longer = hb.PartitionTree(np.insert(tree.levels, place, tree.levels[place], axis=0))
    assert_close(hb.haar_basis(longer), hb.haar_basis(tree))
    assert (hb.haar_system(longer).supports == hb.haar_system(tree).supports).all()
