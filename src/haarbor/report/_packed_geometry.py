"""The geometry of the heads in the form that the page holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from haarbor.analysis import HeadGeometry
from haarbor.report._packing import quantised_matrix
from haarbor.trees import drawn_tree

__all__ = ["geometry_blobs", "geometry_data"]


def geometry_data(geometry: HeadGeometry) -> dict[str, Any]:
    """The small parts of a geometry, as values for JSON."""
    rows = np.arange(geometry.distances.shape[0])[:, None]
    return {
        "coordinates": geometry.coordinates,
        "eigenvalues": geometry.eigenvalues,
        "levels": drawn_tree(geometry.tree).tree.levels,
        "order": geometry.order,
        "nearest": geometry.nearest,
        "nearest_distances": geometry.distances[rows, geometry.nearest],
    }


def geometry_blobs(geometry: HeadGeometry) -> dict[str, bytes]:
    """Affinity and distances between heads as bytes. Each row of the affinity has its own scale."""
    return {
        "affinity": quantised_matrix(geometry.affinity, 1).to_bytes(),
        "distances": geometry.distances.astype("<f4").tobytes(),
    }
