import sys
from unittest import mock

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from haarbor.compare import gromov_wasserstein
from haarbor.errors import DataError, SettingError, ShapeError


def geometry(n, seed):
    points = np.random.default_rng(seed).normal(size=(n, 3))
    return cdist(points, points)


def test_without_the_package_one_line_says_what_to_install():
    with (
        mock.patch.dict(sys.modules, {"ot": None}),
        pytest.raises(SettingError, match=r"POT package.*haarbor\[compare\]"),
    ):
        gromov_wasserstein(geometry(3, 0), geometry(3, 1))


def test_rejections():
    with pytest.raises(ShapeError, match="square"):
        gromov_wasserstein(np.ones((3, 2)), geometry(3, 0))
    with pytest.raises(DataError, match="finite"):
        gromov_wasserstein(geometry(3, 0) * np.nan, geometry(3, 0))


class TestWithTransport:
    @pytest.fixture(autouse=True)
    def _ot(self):
        pytest.importorskip("ot")

    def test_a_copy_in_another_order_is_found(self):
        own = geometry(9, 0)
        order = np.random.default_rng(1).permutation(9)
        found = gromov_wasserstein(own, 5 * own[np.ix_(order, order)])
        assert found.distance == pytest.approx(0.0, abs=1e-6)
        assert found.pairs[:, 1].tolist() == np.argsort(order).tolist()

    def test_the_distance_is_that_of_the_definition(self):
        one, two = geometry(4, 2), geometry(5, 3)
        found = gromov_wasserstein(one, two)
        a, b, weight = one / one.mean(), two / two.mean(), found.coupling
        squares = sum(
            (a[i, k] - b[j, m]) ** 2 * weight[i, j] * weight[k, m]
            for i in range(4)
            for j in range(5)
            for k in range(4)
            for m in range(5)
        )
        assert found.distance == pytest.approx(np.sqrt(squares))
        np.testing.assert_allclose(weight.sum(axis=1), 1 / 4)
        np.testing.assert_allclose(weight.sum(axis=0), 1 / 5)
        assert found.pairs.shape == (4, 2)

    def test_two_points_by_hand(self):
        # Distances over their mean are 2 for both: the geometries are the same whatever the scale.
        assert gromov_wasserstein([[0, 1], [1, 0]], [[0, 7], [7, 0]]).distance == pytest.approx(0, abs=1e-7)

    def test_groups_are_nearer_to_groups_than_distances_in_random_order(self):
        groups = np.random.default_rng(0).normal(size=(3, 2)) * 5
        clouds = [np.repeat(groups, 3, axis=0) + np.random.default_rng(n).normal(size=(9, 2)) for n in (1, 2)]
        found = gromov_wasserstein(*(cdist(c, c) for c in clouds), n_permutations=39)
        assert found.distance < found.chance
        assert found.p_value <= 0.05
