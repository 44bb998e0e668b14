import numpy as np
import pytest
from hypothesis import given

import haarbor as hb
from haarbor.spectral import device_spectrum
from haarbor.testing import affinities
from tests.assertions import assert_close
from tests.engines.numpy_device import NumpyDevice, numpy_gpu

each_engine = pytest.mark.parametrize(
    "engine",
    [pytest.param(numpy_gpu, id="numpy"), pytest.param(hb.GpuEngine, marks=pytest.mark.gpu, id="cuda")],
)


def assert_same(found, expected):
    assert_close(found.eigenvalues, expected.eigenvalues)
    # Vectors of different eigenvalues only: the others are free to turn.
    apart = np.abs(np.subtract.outer(expected.eigenvalues, expected.eigenvalues))
    np.fill_diagonal(apart, 1.0)
    alone = np.flatnonzero(apart.min(axis=1) > 1e-3)[:-1]
    np.testing.assert_allclose(found.eigenvectors[:, alone], expected.eigenvectors[:, alone], atol=1e-9)


@each_engine
@pytest.mark.parametrize("n_items", [1, 2, 40, 150])
def test_eigenpairs_are_those_of_the_host(rng, engine, n_items):
    x = rng.random((n_items, 3))
    affinity = np.exp(-4 * np.abs(x[:, None] - x[None]).sum(axis=2))
    affinity[affinity < 0.02] = 1e-9
    np.fill_diagonal(affinity, 1.0)
    device = engine().device
    assert_same(device_spectrum(device.xp.asarray(affinity), device), hb.markov_spectrum(affinity))


@each_engine
def test_negative_eigenvalues_count_by_size(engine):
    # Two sides, every item as near to all of the other side as to itself: one eigenvalue near -1.
    affinity = np.kron([[0.0, 1.0], [1.0, 0.0]], np.ones((20, 20))) + np.eye(40)
    device = engine().device
    found = device_spectrum(device.xp.asarray(affinity), device)
    assert_close(found.eigenvalues[:3], [1.0, 19 / 21, 1 / 21])
    assert_close(found.eigenvectors[:, 1], np.repeat([1.0, -1.0], 20))


def test_components_share_the_eigenvalue_one():
    affinity = np.kron(np.eye(3), np.full((2, 2), 0.5)) + 0.5 * np.eye(6)
    found = device_spectrum(affinity, NumpyDevice())
    assert_close(found.eigenvalues[:3], np.ones(3))
    assert (found.eigenvectors[:, 0] == 1).all()


@given(affinity=affinities(max_components=3))
def test_trees_are_those_of_the_host(affinity):
    found, expected = device_spectrum(affinity, NumpyDevice()), hb.markov_spectrum(affinity)
    assert_close(found.eigenvalues, expected.eigenvalues)
    assert hb.flexible_tree(found) == hb.flexible_tree(expected)
