"""Inner products of rows."""

import numpy as np

from haarbor.engines import add_row_products


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
