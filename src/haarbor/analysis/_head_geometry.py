"""How the heads of a run lie to each other: diffusion map, tree, affinity and nearest neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haarbor.array_types import FloatArray, IntArray, frozen
from haarbor.errors import SettingError
from haarbor.questionnaire import Consensus
from haarbor.spectral import diffusion_map, markov_spectrum
from haarbor.trees import PartitionTree

__all__ = ["HeadGeometry", "head_geometry"]

_N_NEAREST = 8


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HeadGeometry:
    """Geometry of ``n`` heads over all batches together."""

    coordinates: FloatArray
    """Diffusion map, shape (n, 3) or fewer columns where there are few heads."""
    eigenvalues: FloatArray
    tree: PartitionTree
    order: IntArray
    """Leaf order of the tree, in which similar heads are neighbours, shape (n,)."""
    affinity: FloatArray
    """Shape (n, n)."""
    distances: FloatArray
    """Tree earth mover's distance of every two heads, mean over batches, shape (n, n)."""
    nearest: IntArray
    """The nearest other heads of each head, nearest first, shape (n, at most 8)."""


def head_geometry(consensus: Consensus) -> HeadGeometry:
    """Geometry of the heads from the consensus of all batches.

    Parameters
    ----------
    consensus : Consensus

    Returns
    -------
    HeadGeometry

    Raises
    ------
    SettingError
        If the consensus is not of heads.

    See Also
    --------
    haarbor.analysis.outlying_heads : Heads far from all others.
    haarbor.analysis.alike_groups : Heads that are nearly the same.
    haarbor.plots.diffusion_map_figure : Draws the map.
    """
    if consensus.axis != "head":
        raise SettingError(
            f"the consensus must be of heads; it is of the axis {consensus.axis!r}. Make it with axis='head'."
        )
    n_heads = consensus.tree.n_items
    distances: FloatArray = np.asarray(consensus.distances, dtype=np.float64) / consensus.n_batches
    if n_heads == 1:
        coordinates: FloatArray = np.zeros((1, 0))
        eigenvalues: FloatArray = np.zeros(0)
        order: IntArray = np.zeros(1, dtype=np.int64)
    else:
        found = diffusion_map(consensus.affinity)
        coordinates, eigenvalues = found.coordinates, found.eigenvalues
        second = np.round(markov_spectrum(consensus.affinity).eigenvectors[:, 1], 10)
        order = consensus.tree.leaf_order(second)
    apart = distances.copy()
    np.fill_diagonal(apart, np.inf)
    nearest = np.argsort(apart, axis=1, kind="stable")[:, : min(_N_NEAREST, n_heads - 1)]
    return HeadGeometry(
        coordinates=coordinates,
        eigenvalues=eigenvalues,
        tree=consensus.tree,
        order=order,
        affinity=consensus.affinity,
        distances=distances,
        nearest=frozen(nearest),
    )
