"""Orders of removal in which heads go first that attend like another one, by the distances between heads."""

from __future__ import annotations

import numpy as np

from haarbor.array_types import BoolArray, FloatArray
from haarbor.spectral import distance_affinity
from haarbor.trees import build_tree

__all__ = ["folder_ranks", "redundancy_ranks"]


def redundancy_ranks(distances: FloatArray, sizes: FloatArray) -> FloatArray:
    """Place of each head in an order of removal: next is always the head closest to one that stays.

    Parameters
    ----------
    distances : ndarray, shape (n_heads, n_heads)
        Such as earth mover's distances between the heads' attention.
    sizes : ndarray, shape (n_heads,)
        Factors on the distance to the nearest head, such as the norm of what each head writes.

    Returns
    -------
    ndarray of float, shape (n_heads,)
        0 for the first to go.

    Examples
    --------
    Heads 0 and 1 are alike; 1 is the smaller one:

    >>> distances = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 5.0], [5.0, 5.0, 0.0]])
    >>> redundancy_ranks(distances, np.array([2.0, 1.0, 1.0])).tolist()
    [2.0, 0.0, 1.0]
    """
    n_heads = distances.shape[0]
    apart = distances + np.diag(np.full(n_heads, np.inf))
    stays: BoolArray = np.ones(n_heads, dtype=np.bool_)
    places = np.empty(n_heads)
    for place in range(n_heads):
        left = np.flatnonzero(stays)
        nearest = apart[np.ix_(left, left)].min(axis=1)
        # The last head of all has no other to be close to.
        costs = (nearest if left.size > 1 else np.ones(1)) * sizes[left]
        gone = left[int(np.argmin(costs))]
        places[gone] = place
        stays[gone] = False
    return places


def folder_ranks(distances: FloatArray, sizes: FloatArray) -> FloatArray:
    """Place of each head when every folder of the head tree keeps a representative.

    The tree is built from the distances. From its finest level to its root, each folder keeps the
    largest of its heads; the others go, the smallest first.

    Parameters
    ----------
    distances : ndarray, shape (n_heads, n_heads)
    sizes : ndarray, shape (n_heads,)

    Returns
    -------
    ndarray of float, shape (n_heads,)
        0 for the first to go; the representative of the root goes last.
    """
    tree = build_tree(distance_affinity(distances))
    n_heads = distances.shape[0]
    places = np.full(n_heads, np.nan)
    place = 0
    for level in range(tree.levels.shape[0] - 1, -1, -1):
        leaving = []
        for folder in tree.folders(level):
            left = [head for head in folder if np.isnan(places[head])]
            # The first of equals stays, so that the order does not depend on how folders are listed.
            representative = max(left, key=lambda head: (sizes[head], -head))
            leaving += [head for head in left if head != representative]
        for head in sorted(leaving, key=lambda head: (sizes[head], head)):
            places[head] = place
            place += 1
    places[np.isnan(places)] = place
    return places
