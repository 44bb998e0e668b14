import numpy as np
import pytest
from scipy.spatial.distance import cdist

import haarbor as hb
from haarbor.trees import row_distances


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 3), (2, 1), (5, 1023), (5, 1025), (9, 3000)])
def test_distances_are_those_of_scipy(rng, shape, dtype):
    rows = rng.normal(size=shape).astype(dtype)
    expected = cdist(rows.astype(float), rows.astype(float), "cityblock")
    np.testing.assert_allclose(row_distances(rows, hb.CpuEngine(2)), expected, rtol=1e-5, atol=1e-9)


def test_an_engine_of_ones_own_is_checked(rng):
    class Broken:
        name = "broken"

        def l1_sums(self, blocks, n_items, n_targets):
            return -np.ones((n_targets, n_items, n_items))

    with pytest.raises(hb.EngineError, match="finite and non-negative"):
        hb.haar_tree(rng.normal(size=(3, 2)), engine=Broken())
