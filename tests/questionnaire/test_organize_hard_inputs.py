"""Inputs that real networks and careless callers produce."""

import numpy as np
import pytest

import haarbor as hb
from tests.assertions import assert_close, assert_same_trees
from tests.samples import causal_probabilities

AXES = ("query", "key", "head")


def folders_one_above_the_leaves(tree):
    return [folder.tolist() for folder in tree.folders(-2)]


def assert_usable(org, X):
    """Everything a caller asks of a result works and has the right shape."""
    shape = np.shape(X)
    assert org.shape == shape
    for axis, n in zip(org.axes, shape, strict=True):
        assert org.trees[axis].n_items == n
        assert sorted(org.order(axis).tolist()) == list(range(n))
        assert org.embedding(axis).shape == (n, min(3, n - 1))
        assert np.isfinite(org.embedding(axis)).all()
        assert np.isfinite(org.affinities[axis]).all()
    assert org.rearranged(X).shape == shape
    hb.network_entropy(X, org.trees, axes=org.axes)
    back = hb.inverse_haar_transform(hb.haar_transform(X, org.trees, org.axes), org.trees, org.axes)
    assert_close(back, np.asarray(X, dtype=float), scale=1.0)


@pytest.mark.parametrize("tree", ["flexible", "binary", "haar"])
@pytest.mark.parametrize(
    "shape",
    [
        (1, 1),
        (1, 5),
        (5, 1),
        (2, 2),
        (1, 1, 1),
        (1, 1, 6),
        (1, 7, 3),
        (6, 1, 3),
        (7, 5, 1),
        (2, 2, 2),
        (3, 12, 2),
    ],
)
def test_small_tensors_are_organised(rng, shape, tree):
    X = rng.uniform(0.1, 1, size=shape)
    assert_usable(hb.organize(X, tree=tree), X)


@pytest.mark.parametrize("n_items", [2, 3, 11, 12, 13, 14])
def test_numbers_of_items_around_the_twelve_eigenpairs(rng, n_items):
    X = rng.uniform(0.1, 1, size=(n_items, n_items + 1, n_items))
    assert_usable(hb.organize(X, n_iterations=2), X)


@pytest.mark.parametrize("tree", ["flexible", "binary", "haar"])
@pytest.mark.parametrize("initial", ["cosine", "gaussian"])
def test_all_heads_identical(rng, tree, initial):
    X = np.repeat(causal_probabilities(rng, 7, 1), 5, axis=2)
    org = hb.organize(X, tree=tree, initial=initial)
    assert_usable(org, X)
    if tree == "flexible":
        assert org.trees["head"].levels.tolist() == [[0] * 5, [0, 1, 2, 3, 4]]
    assert_close(org.affinities["head"], np.ones((5, 5)))


def test_some_heads_identical(rng):
    X = causal_probabilities(rng, 8, 9)
    X[:, :, [4, 7]] = X[:, :, [1]]
    X[:, :, 8] = X[:, :, 2]
    org = hb.organize(X)
    assert_usable(org, X)
    assert sorted(folders_one_above_the_leaves(org.trees["head"])) == [[0], [1, 4, 7], [2, 8], [3], [5], [6]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_most_heads_identical_have_a_zero_median(rng, dtype):
    X = causal_probabilities(rng, 8, 8, dtype)
    X[:, :, 1:] = X[:, :, [1]]
    org = hb.organize(X)
    assert folders_one_above_the_leaves(org.trees["head"]) == [[0], [1, 2, 3, 4, 5, 6, 7]]


def test_constant_heads_differ_only_in_their_value(rng):
    X = np.broadcast_to([0.1, 0.1, 0.5, 0.9], (5, 5, 4))
    org = hb.organize(X)
    assert_usable(org, X)
    assert folders_one_above_the_leaves(org.trees["head"]) == [[0, 1], [2], [3]]
    assert org.trees["query"].levels.tolist() == [[0] * 5, [0, 1, 2, 3, 4]]


def test_zero_heads_are_alike(rng):
    X = causal_probabilities(rng, 6, 6)
    X[:, :, [2, 5]] = 0
    org = hb.organize(X)
    assert_usable(org, X)
    assert [2, 5] in folders_one_above_the_leaves(org.trees["head"])
    entropy = hb.head_entropy(X, org.trees)
    assert entropy.raw[[2, 5]].tolist() == [0, 0]


def test_zero_queries_warn_and_stay_together(rng):
    X = causal_probabilities(rng, 8, 4)
    X[[2, 6]] = 0
    with pytest.warns(hb.AffinityWarning, match=r"2 of 8 slices hold only zeros \(first: 2\)"):
        org = hb.organize(X)
    assert_usable(org, X)
    assert [2, 6] in folders_one_above_the_leaves(org.history["query"][0])
    assert [2, 6] in folders_one_above_the_leaves(org.trees["query"])


def test_a_tensor_of_zeros_has_flat_trees():
    X = np.zeros((3, 4, 2))
    with pytest.warns(hb.AffinityWarning):
        org = hb.organize(X)
    assert_usable(org, X)
    assert all(tree.n_levels == 2 for tree in org.trees.values())


@pytest.mark.parametrize("n_components", [2, 3])
@pytest.mark.parametrize("tree", ["flexible", "binary"])
def test_disconnected_queries_are_organised_within_their_components(rng, n_components, tree):
    size = 4
    X = np.zeros((n_components * size, n_components * size))
    for c in range(n_components):
        block = slice(c * size, (c + 1) * size)
        X[block, block] = rng.uniform(0.1, 1, size=(size, size))
    org = hb.organize(X, tree=tree)
    assert_usable(org, X)
    folders = {tuple(items.tolist()) for level in org.history["query"][0] for items in level}
    if tree == "flexible":
        assert all(tuple(range(c * size, (c + 1) * size)) in folders for c in range(n_components))
    else:
        tops = [set(f.tolist()) for f in org.history["query"][0].folders(1)]
        for c in range(n_components):
            assert any(set(range(c * size, (c + 1) * size)) <= top for top in tops)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_values_that_are_not_finite_are_refused_with_their_place(rng, value, dtype):
    X = causal_probabilities(rng, 5, 3, dtype)
    X[3, 1, 2] = value
    with pytest.raises(hb.DataError, match=r"\(query 3, key 1, head 2\), 1 such entries in all"):
        hb.organize(X)
    with pytest.raises(hb.DataError, match=r"\(a 3, b 1, c 2\)"):
        hb.organize(X, axes=("a", "b", "c"))


@pytest.mark.parametrize(
    "X",
    [np.ones((3, 3), complex), [["a", "b"], ["c", "d"]], np.array([[None, 1.0]]), np.array([[b"x", b"y"]])],
)
def test_complex_numbers_and_text_are_refused(X):
    with pytest.raises(hb.ShapeError, match="must hold real numbers; found dtype"):
        hb.organize(X)


@pytest.mark.parametrize("X", [[[1.0, 2.0], [3.0]], [[[1.0], [2.0]], [[3.0]]]])
def test_ragged_lists_are_refused(X):
    with pytest.raises(hb.ShapeError):
        hb.organize(X)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 2, 0)])
def test_empty_axes_are_refused(shape):
    with pytest.raises(hb.ShapeError, match=r"at least one item.*is empty"):
        hb.organize(np.zeros(shape))


@pytest.mark.parametrize("n_axes", [1, 4])
def test_unusual_numbers_of_axes_need_names(n_axes):
    with pytest.raises(hb.ShapeError, match=f"must have 2 or 3 axes; found {n_axes}"):
        hb.organize(np.ones((2,) * n_axes))


@pytest.mark.parametrize("axes", [("query", "key"), ("query", "query", "head"), "qkh"])
def test_wrong_axis_names_are_refused(axes):
    with pytest.raises(hb.ShapeError, match=r"axes must|axis names must"):
        hb.organize(np.ones((2, 3, 4)), axes=axes)


def test_half_precision_is_organised_in_float32(rng):
    X = causal_probabilities(rng, 9, 5, np.float16)
    org = hb.organize(X)
    assert org.settings.precision == "float32"
    same = hb.organize(X.astype(np.float32))
    assert_same_trees(org.trees, same.trees)
    assert all((org.affinities[axis] == same.affinities[axis]).all() for axis in AXES)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, np.bool_])
def test_integers_and_booleans_are_organised_in_float64(rng, dtype):
    X = rng.integers(0, 2, size=(6, 7, 4)).astype(dtype)
    X[:, 0] = 1
    X[0, :, :] = 1
    org = hb.organize(X, n_iterations=2)
    assert org.settings.precision == "float64"
    assert_same_trees(org.trees, hb.organize(X.astype(float), n_iterations=2).trees)


def test_float32_trees_and_affinities_are_those_of_float64(rng):
    X = causal_probabilities(rng, 16, 10, np.float32)
    single, double = hb.organize(X, n_iterations=2), hb.organize(X.astype(np.float64), n_iterations=2)
    assert_same_trees(single.trees, double.trees)
    for axis in AXES:
        assert_close(single.affinities[axis], double.affinities[axis], np.float32)


@pytest.mark.parametrize(
    "layout", ["fortran", "negative strides", "read-only", "list", "every second", "swapped"]
)
def test_how_the_tensor_lies_in_memory_does_not_matter(rng, layout):
    X = causal_probabilities(rng, 9, 6)
    readonly = X.copy()
    readonly.setflags(write=False)
    other = {
        "fortran": np.asfortranarray(X),
        "negative strides": X[::-1, ::-1, ::-1].copy()[::-1, ::-1, ::-1],
        "read-only": readonly,
        "list": X.tolist(),
        "every second": np.repeat(X, 2, axis=2)[:, :, ::2],
        "swapped": X.astype(">f8"),
    }[layout]
    found, expected = hb.organize(other, n_iterations=2), hb.organize(X, n_iterations=2)
    assert_same_trees(found.trees, expected.trees)
    for axis in AXES:
        assert found.affinities[axis].tobytes() == expected.affinities[axis].tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_input_is_never_changed(rng, dtype, order):
    X = np.array(causal_probabilities(rng, 8, 5, dtype), order=order)
    mask = np.tri(8, dtype=bool)
    before, mask_before = X.copy(), mask.copy()
    org = hb.organize(X, mask=mask, n_iterations=2)
    hb.organize(X, mask=mask, content="logits", initial="gaussian", n_iterations=1)
    hb.cosine_affinity(X, 1)
    hb.gaussian_affinity(X, 2)
    hb.tree_emd(X, {"query": org.trees["query"], "key": org.trees["key"]})
    hb.haar_transform(X, org.trees)
    hb.head_entropy(X, org.trees)
    org.convergence(X)
    org.rearranged(X)
    assert (before == X).all()
    assert (mask_before == mask).all()
    assert X.flags.writeable


def test_axes_may_have_any_names(rng):
    X = rng.uniform(0.1, 1, size=(4, 5, 3, 2))
    org = hb.organize(X, axes=["batch", "query", "key", "layer"], n_iterations=2)
    assert_usable(org, X)
    assert "layer" not in org.initial_affinities
    assert set(org.initial_affinities) == {"batch", "query", "key"}


def test_an_engine_that_cannot_run_is_refused_before_any_work(rng):
    with pytest.raises(hb.EngineError, match="gpu"):
        hb.organize(rng.random((4, 4)), engine="gpu")
