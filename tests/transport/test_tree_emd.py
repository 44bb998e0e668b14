import numpy as np
import pytest

import haarbor as hb
from tests.assertions import assert_close
from tests.reference import tree_emd as reference
from tests.samples import CHAINED, HALVES, PAIR, causal_probabilities, random_tree

EXPONENTS = [(0.0, 1.0), (1.0, 0.0), (0.4, 0.7), (-0.5, 1.5)]


def both(X, trees, axes, alpha, beta):
    """Distances by the package, and by the reference."""
    places = {axes.index(axis): tree.levels.tolist() for axis, tree in trees.items()}
    (axis,) = (place for place in range(len(axes)) if place not in places)
    alphas = alpha if isinstance(alpha, dict) else dict.fromkeys(trees, alpha)
    betas = beta if isinstance(beta, dict) else dict.fromkeys(trees, beta)
    expected = reference.tree_emd(
        X, places, axis,
        {axes.index(a): number for a, number in alphas.items()},
        {axes.index(a): number for a, number in betas.items()},
    )  # fmt: skip
    return hb.tree_emd(X, trees, axes, alpha=alpha, beta=beta), expected


def test_matrix_distances_by_hand():
    # Levels add 1 * |difference of means|, then halves (1/2 each), then single keys (1/4 each).
    spikes = [[1.0, 0, 0, 0], [0, 1.0, 0, 0], [0, 0, 1.0, 0]]
    expected = [[0, 0.5, 1.0], [0.5, 0, 1.0], [1.0, 1.0, 0]]
    assert_close(hb.tree_emd(spikes, {"key": HALVES}), expected)
    # 2^-l and no sizes: halves add 1/2 (|1/2| + |1/2|), keys 1/4 (1 + 1).
    alpha = hb.tree_emd(spikes, {"key": HALVES}, alpha=1.0, beta=0.0)
    assert_close(alpha, [[0, 0.5, 1.0], [0.5, 0, 1.0], [1.0, 1.0, 0]])
    tilted = hb.tree_emd([[4.0, 0, 0, 0], [0, 0, 0, 0]], {"key": HALVES}, alpha=1.0, beta=0.0)
    assert_close(tilted, [[0, 1 + 1 + 1], [1 + 1 + 1, 0]])


def test_tensor_distance_by_hand():
    # Two heads that differ by 4 in one entry of a 2 x 2 matrix: means over both, rows, columns, entries.
    X = np.zeros((2, 2, 2))
    X[0, 0, 0] = 4.0
    # beta = 1: 1 * 1 + (1/2) 2 + (1/2) 2 + (1/4) 4.
    assert_close(hb.tree_emd(X, {"query": PAIR, "key": PAIR}), [[0, 4], [4, 0]])
    # alpha = 1, beta = 0: 1 * 1 + (1/2) 2 + (1/2) 2 + (1/4) 4.
    assert_close(hb.tree_emd(X, {"query": PAIR, "key": PAIR}, alpha=1, beta=0), [[0, 4], [4, 0]])
    # alpha = 0, beta = 0: 1 + 2 + 2 + 4.
    assert_close(hb.tree_emd(X, {"query": PAIR, "key": PAIR}, alpha=0, beta=0), [[0, 9], [9, 0]])


@pytest.mark.parametrize(("alpha", "beta"), EXPONENTS)
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (4, 7), (9, 3)])
def test_matrix_distances_match_the_reference(rng, shape, alpha, beta):
    X = rng.normal(size=shape) * (rng.random(shape) > 0.3)
    axes = ("query", "key")
    for place, axis in enumerate(axes):
        trees = {axis: random_tree(rng, shape[place])}
        assert_close(*both(X, trees, axes, alpha, beta))


@pytest.mark.parametrize(("alpha", "beta"), EXPONENTS)
@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 5, 1), (5, 4, 6), (4, 6, 3)])
def test_tensor_distances_match_the_reference(rng, shape, alpha, beta):
    X = rng.normal(size=shape)
    axes = ("query", "key", "head")
    trees = {axis: random_tree(rng, n) for axis, n in zip(axes, shape, strict=True)}
    for axis in axes:
        others = {name: tree for name, tree in trees.items() if name != axis}
        assert_close(*both(X, others, axes, alpha, beta))


@pytest.mark.parametrize("n_tokens", [3, 6, 9])
def test_causal_zeros_change_nothing_but_the_work(rng, n_tokens):
    X = causal_probabilities(rng, n_tokens, 4)
    axes = ("query", "key", "head")
    trees = {axis: random_tree(rng, n) for axis, n in zip(axes, X.shape, strict=True)}
    for axis in axes:
        others = {name: tree for name, tree in trees.items() if name != axis}
        assert_close(*both(X, others, axes, 0.3, 1.0))


def test_more_than_one_block_of_outer_folders_matches_the_reference(rng):
    X = rng.normal(size=(3, 13, 19))
    X[:, :, 4] = 0
    axes = ("query", "key", "head")
    trees = {"key": random_tree(rng, 13), "head": random_tree(rng, 19)}
    assert trees["head"].pruned.n_folders > 16
    assert_close(*both(X, trees, axes, 0.5, 1.0))


@pytest.mark.parametrize("n_items", [63, 64, 65, 130])
def test_more_items_than_a_stripe_match_a_plain_sum(rng, n_items):
    # Items along the last stored axis are worked in stripes of 64.
    X = rng.normal(size=(3, n_items, 2))
    trees = {"query": random_tree(rng, 3), "head": PAIR}
    found = hb.tree_emd(X, trees, alpha=0.2, beta=0.8)
    features = []
    for q, q_weight in zip(range(trees["query"].n_folders), trees["query"].weights(0.2, 0.8), strict=True):
        for h, h_weight in zip(range(PAIR.n_folders), PAIR.weights(0.2, 0.8), strict=True):
            mean = X[np.ix_(trees["query"].items(q), range(n_items), PAIR.items(h))].mean(axis=(0, 2))
            features.append(q_weight * h_weight * mean)
    features = np.array(features)
    assert_close(found, np.abs(features[:, :, None] - features[:, None, :]).sum(axis=0))


@pytest.mark.parametrize("shape", [(2, 3, 2, 3), (3, 2, 2, 2, 2)])
def test_any_number_of_axes_matches_the_reference(rng, shape):
    axes = ("layer", "query", "key", "head", "batch")[: len(shape)]
    X = rng.normal(size=shape)
    trees = {axis: random_tree(rng, n, 2) for axis, n in zip(axes, shape, strict=True)}
    for axis in axes:
        others = {name: tree for name, tree in trees.items() if name != axis}
        assert_close(*both(X, others, axes, 0.3, 0.9))


def test_exponents_can_differ_from_axis_to_axis(rng):
    X = rng.normal(size=(4, 5, 3))
    axes = ("query", "key", "head")
    trees = {"query": random_tree(rng, 4), "head": random_tree(rng, 3)}
    alpha, beta = {"query": 1.0, "head": 0.25}, {"query": 0.0, "head": 2.0}
    found, expected = both(X, trees, axes, alpha, beta)
    assert_close(found, expected)
    # The settings of a whole questionnaire name the compared axis too.
    assert_close(hb.tree_emd(X, trees, alpha={**alpha, "key": 9.0}, beta=beta), expected)


def test_copies_carried_down_count_on_every_level(rng):
    X = rng.normal(size=(4, 5))
    assert_close(*both(X, {"key": CHAINED}, ("query", "key"), 0.0, 1.0))
    short = hb.PartitionTree(np.delete(CHAINED.levels, 2, axis=0))
    gap = hb.tree_emd(X, {"key": CHAINED}) - hb.tree_emd(X, {"key": short})
    means = np.stack([X[:, [0, 1, 2, 4]].mean(axis=1) * 0.8, X[:, 3] * 0.2])
    assert_close(gap, np.abs(means[:, :, None] - means[:, None, :]).sum(axis=0))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_float32_distances_are_within_rounding_of_float64(rng, dtype):
    X = causal_probabilities(rng, 40, 12, dtype)
    trees = {"query": random_tree(rng, 40), "key": random_tree(rng, 40)}
    found = hb.tree_emd(X, trees)
    assert found.dtype == np.float64
    assert_close(found, hb.tree_emd(X.astype(np.float64), trees), np.float32)


@pytest.mark.parametrize("layout", ["fortran", "reversed", "read-only", "list", "head first", "strided"])
def test_how_the_tensor_lies_in_memory_does_not_matter(rng, layout):
    X = rng.normal(size=(5, 6, 4))
    trees = {"query": random_tree(rng, 5), "key": random_tree(rng, 6)}
    expected = hb.tree_emd(X, trees)
    readonly = X.copy()
    readonly.setflags(write=False)
    wide = np.repeat(X, 2, axis=1)
    other = {
        "fortran": np.asfortranarray(X),
        "reversed": X[::-1, ::-1, ::-1].copy()[::-1, ::-1, ::-1],
        "read-only": readonly,
        "list": X.tolist(),
        "head first": np.moveaxis(np.ascontiguousarray(np.moveaxis(X, 2, 0)), 0, 2),
        "strided": wide[:, ::2],
    }[layout]
    assert (hb.tree_emd(other, trees) == expected).all()


def test_the_input_is_not_changed(rng):
    X = rng.normal(size=(5, 6, 4))
    stored = np.ascontiguousarray(np.moveaxis(X, 2, 0))
    before = stored.copy()
    hb.tree_emd(np.moveaxis(stored, 0, 2), {"query": random_tree(rng, 5), "key": random_tree(rng, 6)})
    assert (stored == before).all()


def test_strongly_negative_alpha_keeps_the_coarse_folders():
    # Weights 1 of the root and 2^31 of the leaves: the root adds 5e-10 of the whole.
    X = np.array([[[3.0, 1.0], [1.0, 2.0]], [[4.0, 5.0], [6.0, 7.0]]])
    assert_close(*both(X, {"query": PAIR, "key": PAIR}, ("query", "key", "head"), -31.0, 1.0))


@pytest.mark.parametrize(
    ("trees", "message"),
    [
        ({}, "exactly one of the axes .* must be without a tree; found 3 without"),
        ({"query": PAIR}, "found 2 without"),
        ({"query": PAIR, "key": PAIR, "head": PAIR}, "found 0 without"),
        ({"query": PAIR, "layer": PAIR}, "must be on the axes .*; found one on 'layer'"),
        ({"query": PAIR, "key": [[0, 0], [0, 1]]}, "axis 'key' must be a PartitionTree; found list"),
    ],
)
def test_trees_that_do_not_fit_are_refused(trees, message):
    with pytest.raises(hb.TreeError, match=message):
        hb.tree_emd(np.ones((2, 2, 2)), trees)


def test_a_tree_on_other_items_is_refused():
    with pytest.raises(hb.ShapeError, match="axis 'key' must have 2 items like the tensor; found 4"):
        hb.tree_emd(np.ones((2, 2, 2)), {"query": PAIR, "key": HALVES})


def test_bad_values_and_exponents_are_refused():
    with pytest.raises(hb.DataError, match=r"found nan at .query 1, key 0"):
        hb.tree_emd([[1.0, 2.0], [np.nan, 3.0]], {"key": PAIR})
    with pytest.raises(hb.SettingError, match="alpha must be one number or one for each of"):
        hb.tree_emd(np.ones((2, 2, 2)), {"query": PAIR, "key": PAIR}, alpha={"query": 1.0})
    with pytest.raises(hb.SettingError, match="beta of axis 'key' must lie between -1000 and 1000"):
        hb.tree_emd(np.ones((2, 2)), {"key": PAIR}, beta=float("inf"))
    with pytest.raises(hb.SettingError, match="engine must be"):
        hb.tree_emd(np.ones((2, 2)), {"key": PAIR}, engine="abacus")
