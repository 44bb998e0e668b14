"""Where the queries and keys of a batch stand in one and the same sequence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haarbor.array_types import BoolArray, IntArray

__all__ = ["TokenPlaces", "token_places"]


@dataclass(frozen=True, slots=True, eq=False)
class TokenPlaces:
    """Places of queries and keys, counted from the first key."""

    queries: IntArray
    keys: IntArray
    is_causal: bool
    """Whether no query sees a later key, and some query has a later key."""

    @property
    def distances(self) -> IntArray:
        """How many places each key lies before each query, shape (n_queries, n_keys)."""
        found: IntArray = self.queries[:, None] - self.keys[None, :]
        return found


def token_places(mask: BoolArray, *, same_sequence: bool = True) -> TokenPlaces | None:
    """Places of all queries and keys, or None if they do not stand in one sequence.

    Keys before the first query are those of a memory. There may be such keys only if the mask shows where
    they end: the last query sees the last key, and no query sees a later one.

    Parameters
    ----------
    mask : ndarray of bool, shape (n_queries, n_keys)
    same_sequence : bool, default True
        False for cross attention.

    Examples
    --------
    Two queries behind a memory of one key:

    >>> places = token_places(np.array([[True, True, False], [True, True, True]]))
    >>> places.queries, places.is_causal
    (array([1, 2]), True)
    """
    n_queries, n_keys = mask.shape
    memory = n_keys - n_queries
    if not same_sequence or memory < 0:
        return None
    places = TokenPlaces(np.arange(n_queries) + memory, np.arange(n_keys), False)
    later = places.distances < 0
    is_causal = bool(later.any()) and not mask[later].any()
    if memory and not (is_causal and mask[-1, -1]):
        return None
    return TokenPlaces(places.queries, places.keys, is_causal)
