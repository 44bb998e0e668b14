import numpy as np
import pytest

import haarbor as hb
from tests.assertions import assert_close
from tests.reference.affinity import gaussian_affinity


def test_diffusion_map_by_hand():
    found = hb.diffusion_map([[1.0, 0.5], [0.5, 1.0]], time=2)
    assert_close(found.coordinates, [[1 / 9], [-1 / 9]])
    assert_close(found.eigenvalues, [1 / 3])
    assert found.time == 2.0


@pytest.mark.parametrize("n_items", [1, 2, 3, 4, 9])
def test_there_are_at_most_one_fewer_dimensions_than_items(rng, n_items):
    W = gaussian_affinity(rng.normal(size=(n_items, 2)).tolist())
    found = hb.diffusion_map(W, dimensions=3)
    assert found.coordinates.shape == (n_items, min(3, n_items - 1))
    assert found.eigenvalues.shape == (min(3, n_items - 1),)


def test_more_than_twelve_dimensions_can_be_had(rng):
    W = gaussian_affinity(rng.normal(size=(20, 3)).tolist())
    assert hb.diffusion_map(W, dimensions=15).coordinates.shape == (20, 15)


def test_largest_eigenvalues_come_first_and_the_constant_is_dropped(rng):
    W = gaussian_affinity(rng.normal(size=(10, 2)).tolist())
    spectrum = hb.markov_spectrum(W)
    found = hb.diffusion_map(W, dimensions=4, time=1.5)
    assert_close(found.eigenvalues, spectrum.eigenvalues[1:5])
    assert_close(found.coordinates, spectrum.eigenvectors[:, 1:5] * spectrum.eigenvalues[1:5] ** 1.5)
    assert (np.diff(found.eigenvalues) <= 0).all()


def test_the_result_is_read_only_and_says_what_it_is():
    found = hb.diffusion_map(np.eye(4) + 0.2)
    assert repr(found) == "DiffusionMap(4 items, 3 dimensions, time=1)"
    with pytest.raises(ValueError, match="read-only"):
        found.coordinates[0] = 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dimensions": 0}, "dimensions must be a whole number from 1; found 0"),
        ({"dimensions": -2}, "dimensions must be a whole number from 1; found -2"),
        ({"dimensions": 2.5}, "dimensions must be a whole number from 1; found 2.5"),
        ({"time": -1.0}, "time must be finite and at least 0; found -1"),
        ({"time": float("nan")}, "time must be finite and at least 0; found nan"),
        ({"time": float("inf")}, "time must be finite and at least 0; found inf"),
        ({"time": "1"}, "time must be finite and at least 0; found '1'"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(hb.SettingError, match=message):
        hb.diffusion_map(np.eye(5) + 0.1, **settings)
