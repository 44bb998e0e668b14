import numpy as np
import pytest

from haarbor import DataError
from haarbor.binary_scale import excess_exponent, excess_exponents, scaled, unscaled


@pytest.mark.parametrize(("dtype", "ordinary"), [(np.float64, 200), (np.float32, 32)])
def test_only_sizes_beyond_the_ordinary_have_an_exponent(dtype, ordinary):
    for power in (ordinary - 1, 1 - ordinary, 0):
        assert excess_exponent(np.array([2.0**power, 0.0], dtype)) == 0
    assert excess_exponent(np.array([0.0, -(2.0**ordinary)], dtype)) == ordinary + 1
    assert excess_exponent(np.array([2.0 ** (-ordinary - 2)], dtype)) == -ordinary - 1


def test_zeros_and_missing_entries_have_no_say():
    assert excess_exponent(np.zeros(3)) == 0
    assert excess_exponent(np.array([np.nan, 2.0**300, 0.0])) == 301
    assert excess_exponents(np.array([[1e300, 1.0], [np.nan, 0.0]]), (1,)).tolist() == [997, 0]


def test_scaling_back_changes_no_digit(rng):
    array = rng.normal(size=(3, 4))
    large = np.ldexp(array, 900)
    assert scaled(array, 0) is array
    np.testing.assert_array_equal(scaled(large, 900), array)
    np.testing.assert_array_equal(unscaled(array, 900, "sums"), large)
    exponents = np.array([[900], [0], [400]])
    np.testing.assert_array_equal(unscaled(scaled(large, exponents), exponents, "sums"), large)


def test_what_is_too_large_for_its_type_is_refused():
    with pytest.raises(DataError, match=r"sums must stay below 1\.8e\+308, the largest number of float64;"):
        unscaled(np.array([1.5]), 1024, "sums")
    with pytest.raises(DataError, match=r"below 3\.4e\+38, the largest number of float32; .* Divide"):
        unscaled(np.array([1.5], np.float32), 128, "sums")
