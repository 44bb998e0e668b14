"""Shares of the attention that go to certain tokens, each a weighted sum of the entries of a matrix."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from haarbor.array_types import BoolArray, FloatArray
from haarbor.diagnostics._token_places import TokenPlaces

__all__ = ["NEAR", "SHARES", "share_weights"]

NEAR = 3
"""Tokens at most so many places away are near."""
SHARES = (
    "mean_distance",
    "diagonal",
    "previous_token",
    "next_token",
    "near",
    "first_token",
    "last_token",
    "same_token",
    "after_same_token",
)


def share_weights(
    mask: BoolArray,
    places: TokenPlaces | None,
    queries: Sequence[str] = (),
    keys: Sequence[str] = (),
) -> dict[str, FloatArray]:
    """Weights of the entries of an attention matrix, for each of `SHARES` that it has.

    A share is a mean over the queries that see a token of its kind: the sum of the matrix times its weights.

    Parameters
    ----------
    mask : ndarray of bool, shape (n_queries, n_keys)
        Valid entries, padding cut away.
    places : TokenPlaces or None
        Of the same queries and keys; None where they stand in different sequences.
    queries, keys : sequence of str, optional
        Their texts.

    Returns
    -------
    dict of str to ndarray of float32, shape (n_queries, n_keys)
    """
    first, last = (np.zeros(mask.shape, dtype=bool) for _ in range(2))
    first[:, 0] = True
    last[:, -1] = True
    chosen: dict[str, BoolArray] = {"first_token": first}
    found: dict[str, FloatArray] = {}
    if places is None or not places.is_causal:
        chosen["last_token"] = last
    if places is not None:
        distances = places.distances
        rows = np.maximum(1, mask.any(axis=1).sum())
        found["mean_distance"] = (np.abs(distances) * mask / rows).astype(np.float32)
        chosen |= {
            "diagonal": distances == 0,
            "previous_token": distances == 1,
            "near": np.abs(distances) <= NEAR,
        }
        if not places.is_causal:
            chosen["next_token"] = distances == -1
    if places is not None and len(queries) and len(keys):
        numbers: dict[str, int] = {}
        own, other = (
            np.array([numbers.setdefault(text, len(numbers)) for text in texts]) for texts in (queries, keys)
        )
        same = own[:, None] == other[None, :]
        distances = places.distances
        chosen["same_token"] = same & (distances != 0)
        # The key behind a token like the query's, both of them before the query.
        follows = np.zeros(mask.shape, dtype=bool)
        adjacent = np.diff(places.keys) == 1
        follows[:, 1:] = same[:, :-1] & adjacent & (distances[:, 1:] > 0)
        chosen["after_same_token"] = follows
    for name, pairs in chosen.items():
        seen = pairs & mask
        n_rows = int(seen.any(axis=1).sum())
        if n_rows:
            found[name] = (seen / n_rows).astype(np.float32)
    return found
