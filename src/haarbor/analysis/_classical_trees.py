"""Trees of classical hierarchical clustering, with which other trees are compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from haarbor.array_types import FloatArray
from haarbor.options import require_choice
from haarbor.trees import PartitionTree

__all__ = ["CLASSICAL", "classical_trees"]

CLASSICAL = ("average", "ward")


def classical_trees(
    tensor: FloatArray, axes: Sequence[str], method: Literal["average", "ward"]
) -> dict[str, PartitionTree]:
    """Linkage of scipy on the slices of every axis, by Euclidean distance; each axis by itself.

    Parameters
    ----------
    tensor : ndarray of float
    axes : sequence of str
    method : {"average", "ward"}

    Returns
    -------
    dict of axis name to PartitionTree

    See Also
    --------
    haarbor.analysis.held_out_coherence : Trees measured on data they were not built from.
    haarbor.analysis.compare_builders : All builders of a run in a table.

    Examples
    --------
    >>> trees = classical_trees(np.array([[0.0, 5.0, 0.1, 5.1]]), ("query", "key"), "ward")
    >>> trees["key"].levels.tolist()
    [[0, 0, 0, 0], [0, 1, 0, 1], [0, 1, 2, 3]]
    """
    require_choice("method", method, CLASSICAL)
    from scipy.cluster.hierarchy import linkage

    found = {}
    for place, axis in enumerate(axes):
        rows = np.moveaxis(tensor, place, 0).reshape(tensor.shape[place], -1)
        found[axis] = (
            PartitionTree.from_linkage(linkage(rows, method)) if len(rows) > 1 else PartitionTree([[0]])
        )
    return found
