import numpy as np
import pytest

from haarbor.engines._mirrored_square import mirror


@pytest.mark.parametrize("n_rows", [0, 1, 2, 127, 128, 129, 300])
def test_what_is_above_the_diagonal_is_copied_to_below(n_rows, rng):
    square = rng.normal(size=(n_rows, n_rows))
    places = range(n_rows)
    wanted = np.array([[square[min(i, j), max(i, j)] * (i != j) for j in places] for i in places])
    square[np.tril_indices(n_rows)] = np.nan
    mirror(square)
    assert np.array_equal(square, wanted.reshape(n_rows, n_rows))
