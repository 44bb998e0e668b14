import numpy as np
import pytest

import haarbor as hb
from haarbor.errors import SettingError
from tests.samples import CHAINED, HALVES


def test_coefficients_are_as_large_as_the_folders_say():
    f = hb.datasets.haar_series(CHAINED, HALVES, 0.3, amplitude=2.0, coefficients="signs", seed=1)
    found = hb.haar_transform(f, {"query": CHAINED, "key": HALVES})
    rows, columns = hb.haar_system(CHAINED), hb.haar_system(HALVES)
    for i in range(1, 5):
        for j in range(1, 4):
            size = 2.0
            for system, k in ((rows, i), (columns, j)):
                a, b = system.positive_sizes[k], system.negative_sizes[k]
                size *= np.sqrt(a * b / (a + b)) * (system.folder_sizes[k] / system.n_items) ** 0.3
            assert abs(found[i, j]) == pytest.approx(size, rel=1e-12)
    assert abs(f.mean()) == pytest.approx(2.0)


def test_marginals_are_scaled_apart():
    plain, half = (hb.datasets.haar_series(CHAINED, HALVES, 0.3, marginals=m) for m in (1.0, 0.5))
    one, two = (hb.haar_transform(f, {"query": CHAINED, "key": HALVES}) for f in (plain, half))
    np.testing.assert_allclose(two[1:, 1:], one[1:, 1:], atol=1e-12)
    np.testing.assert_allclose(two[0], one[0] / 2, atol=1e-12)
    np.testing.assert_allclose(two[1:, 0], one[1:, 0] / 2, atol=1e-12)


def test_another_seed_is_another_series():
    one, two, three = (hb.datasets.haar_series(HALVES, HALVES, 0.3, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, two)
    assert (one != three).any()


def test_an_unknown_law_is_refused():
    with pytest.raises(SettingError, match="coefficients must be one of 'normal', 'signs'; found 'cauchy'"):
        hb.datasets.haar_series(HALVES, HALVES, 0.3, coefficients="cauchy")
