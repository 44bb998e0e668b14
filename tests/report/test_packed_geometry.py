"""The geometry of the heads in the form that the page holds."""

import numpy as np

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
