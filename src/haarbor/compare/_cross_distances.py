"""Tree EMD from every head of one network to every head of another, on the same tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from haarbor.array_types import AnyArray, FloatArray
from haarbor.engines import L1Engine
from haarbor.errors import ShapeError
from haarbor.questionnaire import Organization
from haarbor.transport import tree_emd
from haarbor.trees import PartitionTree

__all__ = ["cross_distances"]


def cross_distances(
    first: AnyArray,
    second: AnyArray,
    organizations: Sequence[Organization],
    *,
    queries: slice | None = None,
    engine: str | L1Engine = "auto",
) -> FloatArray:
    r"""Distances between the heads of two tensors on the same queries and keys.

    Parameters
    ----------
    first, second : ndarray, shapes (n_queries, n_keys, n) and (n_queries, n_keys, m)
    organizations : sequence of Organization
        Whose trees of queries and keys the distances are taken along: the mean over all of them, so that
        neither network is measured by the other's trees alone.
    queries : slice, optional
        The queries looked at; all if not given.
    engine : str or L1Engine, default "auto"

    Returns
    -------
    ndarray of float64, shape (n, m)

    Raises
    ------
    ShapeError
        If the tensors have different queries or keys.

    See Also
    --------
    haarbor.tree_emd : Distances along trees.
    haarbor.compare.head_matching : Pairs of least distance.

    Notes
    -----
    :math:`d(g, h) = \frac{1}{|O|} \sum_{T \in O} \mathrm{EMD}_T(g, h)`, see :func:`haarbor.tree_emd`.
    """
    if first.shape[:2] != second.shape[:2]:
        raise ShapeError(
            f"two networks must have the same queries and keys to be compared; found {first.shape[:2]} and "
            f"{second.shape[:2]}. Compare runs of the same tokens."
        )
    chosen = queries or slice(None)
    # The distances are differences, so numbers of both must have the same type.
    both = np.concatenate([first[chosen], second[chosen]], axis=2)
    total = np.zeros((first.shape[2], second.shape[2]))
    for organization in organizations:
        trees = organization.trees
        rows = PartitionTree(trees["query"].levels[:, chosen])
        settings = organization.settings
        distances = tree_emd(
            both,
            {"query": rows, "key": trees["key"]},
            alpha=settings.alpha,
            beta=settings.beta,
            engine=engine,
        )
        total += distances[: first.shape[2], first.shape[2] :]
    return total / len(organizations)
