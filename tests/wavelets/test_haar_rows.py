import numpy as np
import pytest

import haarbor as hb
from haarbor.wavelets import write_haar_rows
from tests.samples import random_tree


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(4, 5), (3, 4, 5), (2, 3, 4, 3), (1, 6, 2)])
def test_rows_are_the_expansion_along_the_other_axes(rng, shape, dtype):
    X = rng.normal(size=shape).astype(dtype)
    before = X.copy()
    axes = tuple("abcd"[: len(shape)])
    trees = {place: random_tree(rng, n) for place, n in enumerate(shape)}
    for place, n in enumerate(shape):
        others = {other: tree for other, tree in trees.items() if other != place}
        rows = np.empty((n, X.size // n), dtype)
        write_haar_rows(X, place, others, rows)
        named = {axes[other]: tree for other, tree in others.items()}
        expected = np.moveaxis(hb.haar_transform(X, named, axes), place, 0).reshape(n, -1)
        np.testing.assert_array_equal(rows, expected)
    np.testing.assert_array_equal(X, before)


def test_axes_without_a_tree_stay_as_they_are(rng):
    X = rng.normal(size=(3, 4, 2))
    rows = np.empty((4, 6))
    write_haar_rows(X, 1, {}, rows)
    np.testing.assert_array_equal(rows, X.transpose(1, 0, 2).reshape(4, 6))
