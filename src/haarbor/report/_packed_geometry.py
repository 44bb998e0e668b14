"""The geometry of the heads in the form that the page holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from haarbor.analysis import HeadGeometry
from haarbor.report._packing import quantised_matrix
from haarbor.trees import CollapsedTree, drawn_tree

__all__ = ["geometry_blobs", "geometry_data"]


def geometry_data(geometry: HeadGeometry) -> dict[str, Any]:
    """The small parts of a geometry, as values for JSON."""
    rows = np.arange(geometry.distances.shape[0])[:, None]
    drawn = drawn_tree(geometry.tree)
    return {
        "coordinates": geometry.coordinates,
        "eigenvalues": geometry.eigenvalues,
        "levels": drawn.tree.levels,
        "chains": _chains(drawn),
        "order": geometry.order,
        "nearest": geometry.nearest,
        "nearest_distances": geometry.distances[rows, geometry.nearest],
    }


def _chains(drawn: CollapsedTree) -> list[list[int]]:
    """Folders that stand for a chain: the level on which each splits, its number there, and its steps."""
    pruned, levels = drawn.tree.pruned, drawn.tree.levels
    found = []
    for folder in np.flatnonzero(drawn.steps > 1):
        level = int(pruned.last_level[folder])
        number = int(levels[level, pruned.members(int(folder))[0]])
        found.append([level, number, int(drawn.steps[folder])])
    return found


def geometry_blobs(geometry: HeadGeometry) -> dict[str, bytes]:
    """Affinity and distances between heads as bytes. Each row of the affinity has its own scale."""
    return {
        "affinity": quantised_matrix(geometry.affinity, 1).to_bytes(),
        "distances": geometry.distances.astype("<f4").tobytes(),
    }
