import numpy as np
import pytest

from haarbor.wavelets._haar_kernels import add_powers
from tests.assertions import assert_close


@pytest.mark.parametrize("p", [1.0, 0.5, 3.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_and_squares_are_added_in_float64(rng, p, dtype):
    rows = rng.normal(size=(50, 3)).astype(dtype)
    rows[7] = 0
    sums = np.ones((2, 3))
    add_powers(rows, p, sums)
    wide = rows.astype(np.float64)
    assert_close(sums, 1 + np.stack([(np.abs(wide) ** p).sum(axis=0), (wide**2).sum(axis=0)]))
