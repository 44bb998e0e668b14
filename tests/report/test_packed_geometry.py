"""The geometry of the heads in the form that the page holds."""

from dataclasses import replace

import numpy as np

from haarbor import PartitionTree
from haarbor.analysis import head_geometry
from haarbor.report._packed_geometry import geometry_blobs, geometry_data
from tests.report.reading import matrix


def test_distances_and_affinity_come_back_from_their_bytes(text):
    geometry = head_geometry(text.load_result("consensus"))
    blobs = geometry_blobs(geometry)
    distances = np.frombuffer(blobs["distances"], dtype="<f4").reshape(12, 12)
    np.testing.assert_allclose(distances, geometry.distances, rtol=1e-6)
    span = np.ptp(geometry.affinity, axis=1, keepdims=True)
    error = np.abs(matrix(blobs["affinity"], 12, 12, 1) - geometry.affinity)
    assert (error <= span / 510 + 1e-6).all()


def test_the_nearest_heads_come_with_their_distances(text):
    geometry = head_geometry(text.load_result("consensus"))
    data = geometry_data(geometry)
    for head, (nearest, distances) in enumerate(zip(data["nearest"], data["nearest_distances"], strict=True)):
        np.testing.assert_array_equal(distances, geometry.distances[head, nearest])


def test_a_chain_is_one_folder_with_the_number_of_its_steps(text):
    """Of thirty heads 28 come off one after another; the first two levels of what is drawn are by hand."""
    geometry = head_geometry(text.load_result("consensus"))
    assert geometry_data(geometry)["chains"] == []
    levels = [np.minimum(np.arange(30), level) for level in range(30)]
    data = geometry_data(replace(geometry, tree=PartitionTree(levels)))
    assert np.asarray(data["levels"]).tolist() == [[0] * 30, [*range(28), 28, 28], [*range(30)]]
    assert data["chains"] == [[0, 0, 28]]


def test_a_chain_below_the_root_is_named_by_its_level_and_number(text):
    geometry = head_geometry(text.load_result("consensus"))
    # Eight heads that come apart at once, and a chain of 24.
    levels = [
        [0] * 32,
        *([*(24 + min(step, 1) * np.arange(8)), *np.minimum(np.arange(24), step)] for step in range(24)),
    ]
    data = geometry_data(replace(geometry, tree=PartitionTree(levels)))
    [[level, number, steps]] = data["chains"]
    assert (level, steps) == (1, 22)
    drawn = np.asarray(data["levels"])
    assert np.flatnonzero(drawn[level] == number).tolist() == [*range(8, 32)]
    assert len(set(drawn[level + 1, 8:].tolist())) == 23
