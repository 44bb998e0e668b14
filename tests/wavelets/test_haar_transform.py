import sys

import numpy as np
import pytest

import haarbor as hb
from tests.assertions import assert_close
from tests.reference.haar import haar_coefficients, haar_functions
from tests.samples import HALVES, PAIR, random_tree

AXES = ("query", "key", "head")


def test_coefficients_by_hand():
    # Constant 16/2, halves sqrt(1) (3 - 5), then pairs sqrt(1/2) (4 - 2) and 0.
    found = hb.haar_transform([[4.0, 2.0, 5.0, 5.0]], {"key": HALVES})
    assert_close(found, [[8, -2, 2 * np.sqrt(0.5), 0]])


def test_bi_haar_by_hand():
    found = hb.haar_transform([[3.0, 1.0], [1.0, 3.0]], {"query": PAIR, "key": PAIR})
    assert_close(found, [[4, 0], [0, 2]])


@pytest.mark.parametrize("expanded", [("query",), ("head", "query"), ("query", "key"), AXES])
def test_coefficients_match_the_reference(rng, expanded):
    X = rng.normal(size=(4, 5, 3))
    trees = {axis: random_tree(rng, X.shape[AXES.index(axis)]) for axis in expanded}
    functions = {AXES.index(axis): haar_functions(tree.levels.tolist()) for axis, tree in trees.items()}
    assert_close(hb.haar_transform(X, trees), haar_coefficients(X, functions))


def test_the_order_of_the_trees_does_not_matter(rng):
    X = rng.normal(size=(4, 5, 3))
    trees = {axis: random_tree(rng, n) for axis, n in zip(AXES, X.shape, strict=True)}
    turned = dict(reversed(trees.items()))
    assert_close(hb.haar_transform(X, trees), hb.haar_transform(X, turned))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 1, 7), (33, 5, 3), (5, 70, 9), (64, 3, 40)])
def test_synthesis_undoes_analysis(rng, shape, dtype):
    X = rng.normal(size=shape).astype(dtype)
    trees = {axis: random_tree(rng, n) for axis, n in zip(AXES, shape, strict=True)}
    coefficients = hb.haar_transform(X, trees)
    assert coefficients.dtype == dtype
    back = hb.inverse_haar_transform(coefficients, trees)
    assert back.dtype == dtype
    assert_close(back, X, dtype)
    assert_close(np.square(coefficients, dtype=float).sum(), np.square(X, dtype=float).sum(), dtype)


@pytest.mark.parametrize("threads", ["1", "2", "5"])
@pytest.mark.parametrize("stripe", [1, 1 << 10, 1 << 19])
def test_stripes_and_threads_change_no_bit(rng, monkeypatch, threads, stripe):
    X = rng.normal(size=(21, 13, 6))
    trees = {axis: random_tree(rng, n) for axis, n in zip(AXES, X.shape, strict=True)}
    monkeypatch.setenv("HAARBOR_NUM_THREADS", "1")
    expected = hb.haar_transform(X, trees)
    monkeypatch.setenv("HAARBOR_NUM_THREADS", threads)
    monkeypatch.setattr(sys.modules["haarbor.wavelets._haar_transform"], "_STRIPE_BYTES", stripe)
    found = hb.haar_transform(X, trees)
    assert found.tobytes() == expected.tobytes()
    assert_close(hb.inverse_haar_transform(found, trees), X)


def test_without_trees_a_copy_comes_back(rng):
    X = rng.normal(size=(3, 2))
    found = hb.haar_transform(X, {})
    assert (found == X).all()
    assert not np.shares_memory(found, X)


def test_the_input_is_not_changed(rng):
    X = rng.normal(size=(4, 4))
    before = X.copy()
    coefficients = hb.haar_transform(X, {"query": HALVES, "key": HALVES})
    assert (before == X).all()
    kept = coefficients.copy()
    hb.inverse_haar_transform(coefficients, {"query": HALVES, "key": HALVES})
    assert (kept == coefficients).all()


def test_other_axes_by_name(rng):
    X = rng.normal(size=(2, 3, 4, 2))
    axes = ("layer", "query", "key", "head")
    found = hb.haar_transform(X, {"key": HALVES}, axes)
    for layer in range(2):
        for head in range(2):
            assert_close(found[layer, :, :, head], X[layer, :, :, head] @ hb.haar_basis(HALVES).T)


def test_l1_norm_is_that_of_the_coefficients(rng):
    X = rng.normal(size=(4, 2, 3))
    trees = {"query": HALVES, "key": PAIR}
    assert_close(hb.haar_l1(X, trees), np.abs(hb.haar_transform(X, trees)).sum())
    assert hb.haar_l1([[3.0, 3.0, 5.0, 5.0]], {"key": HALVES}) == 10.0


@pytest.mark.parametrize("transform", [hb.haar_transform, hb.inverse_haar_transform, hb.haar_l1])
@pytest.mark.parametrize(
    ("X", "trees", "error", "message"),
    [
        (np.ones((2, 2)), {"head": PAIR}, hb.TreeError, "found one on 'head'"),
        (
            np.ones((2, 2)),
            {"key": HALVES},
            hb.ShapeError,
            "axis 'key' must have 2 items like the tensor; found 4",
        ),
        (np.ones((2, 2)), {"key": "tree"}, hb.TreeError, "must be a PartitionTree; found str"),
        ([[1.0, np.nan]], {"key": PAIR}, hb.DataError, "found nan at .query 0, key 1"),
        (np.ones((2, 2, 2, 2)), {"key": PAIR}, hb.ShapeError, "must have 2 or 3 axes; found 4"),
        (np.ones((2, 2), complex), {"key": PAIR}, hb.ShapeError, "real numbers"),
    ],
)
def test_what_does_not_fit_is_refused(transform, X, trees, error, message):
    with pytest.raises(error, match=message):
        transform(X, trees)
