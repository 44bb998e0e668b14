from dataclasses import replace

import numpy as np
import pytest

import haarbor as hb
from haarbor.analysis import head_geometry
from haarbor.errors import SettingError
from haarbor.questionnaire import consensus


def made(n_heads, axis="head"):
    tensors = [hb.datasets.synthetic_attention(10, 1, n_heads, batch=batch) for batch in range(2)]
    return consensus(tensors, [hb.organize(X, n_iterations=1) for X in tensors], axis=axis)


def test_geometry_is_that_of_the_consensus_and_distances_are_means_over_batches():
    together = made(11)
    found = head_geometry(together)
    np.testing.assert_array_equal(found.distances, together.distances / 2)
    np.testing.assert_array_equal(found.coordinates, hb.diffusion_map(together.affinity).coordinates)
    assert found.tree == together.tree
    assert found.nearest.shape == (11, 8)
    for head in range(11):
        others = sorted((found.distances[head, other], other) for other in range(11) if other != head)
        assert found.nearest[head].tolist() == [other for _, other in others[:8]]
    # Heads of one folder are neighbours in the order.
    for folder in (folder for level in together.tree for folder in level):
        places = np.flatnonzero(np.isin(found.order, list(folder)))
        assert np.ptp(places) == len(folder) - 1


def test_a_single_head_has_no_coordinates_and_no_neighbours():
    found = head_geometry(made(1))
    assert (found.coordinates.shape, found.nearest.shape) == ((1, 0), (1, 0))
    assert found.order.tolist() == [0]


def test_a_consensus_of_another_axis_is_refused():
    with pytest.raises(SettingError, match="the consensus must be of heads; it is of the axis 'key'"):
        head_geometry(replace(made(2), axis="key"))
