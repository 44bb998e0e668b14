"""Whether the trees that one network makes of the tokens suit another network as well."""

from __future__ import annotations

import numpy as np

from haarbor.array_types import AnyArray
from haarbor.questionnaire import Organization
from haarbor.trees import random_tree_like
from haarbor.wavelets import haar_l1

__all__ = ["coherence_sums"]

_AXES = ("query", "key", "head")


def coherence_sums(
    tensor: AnyArray, own: Organization, other: Organization, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Coherence (l1 norm of the Haar expansion) of a network on three trees of queries and keys.

    Parameters
    ----------
    tensor : ndarray, shape (n_queries, n_keys, n_heads)
    own, other : Organization
        Of this network, whose head tree is used throughout, and of another on the same tokens.
    rng : numpy.random.Generator

    Returns
    -------
    own, other, random : float
        On its own trees, on the other network's, and on random ones with as many folders on every level.
    """
    random = {axis: random_tree_like(own.trees[axis], rng) for axis in ("query", "key")}
    trees = (
        own.trees,
        {**own.trees, "query": other.trees["query"], "key": other.trees["key"]},
        {**own.trees, **random},
    )
    one, two, three = (float(haar_l1(tensor, each, _AXES)) for each in trees)
    return one, two, three
