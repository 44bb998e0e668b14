"""Inner products of rows."""

import numpy as np

from haarbor.engines import add_row_products, add_sparse_products


def test_products_are_added_to_what_is_there(rng):
    left, right = rng.normal(size=(5, 9)), rng.normal(size=(7, 9))
    out = np.ones((5, 7))
    add_row_products(left, right, False, out)
    np.testing.assert_allclose(out, 1 + left @ right.T, rtol=1e-12)


def test_half_of_a_symmetric_matrix_is_promised(rng):
    rows = rng.normal(size=(6, 4))
    out = np.zeros((6, 6))
    add_row_products(rows, rows, True, out)
    upper = np.triu_indices(6)
    np.testing.assert_allclose(out[upper], (rows @ rows.T)[upper], rtol=1e-12)


def test_sparse_products_are_added_to_what_is_there(rng):
    rows = rng.normal(size=(6, 40)) * (rng.random((6, 40)) < 0.1)
    inner, overlap = np.ones((6, 6)), np.ones((6, 6))
    assert add_sparse_products(rows, inner, overlap)
    upper = np.triu_indices(6)
    np.testing.assert_allclose(inner[upper], 1 + (rows @ rows.T)[upper], rtol=1e-12)
    np.testing.assert_allclose(overlap, 1 + rows**2 @ (rows != 0).T, rtol=1e-12)


def test_rows_that_are_not_sparse_are_left_alone(rng):
    inner, overlap = np.zeros((3, 3)), np.zeros((3, 3))
    assert not add_sparse_products(rng.normal(size=(3, 5)), inner, overlap)
    assert not inner.any()
    assert not overlap.any()
