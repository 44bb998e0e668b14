"""How the Haar coefficients of each head are distributed over the scales of its query and key trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from haarbor.array_types import AnyArray, FloatArray, IntArray, frozen
from haarbor.trees import PartitionTree
from haarbor.wavelets._haar_system import haar_system
from haarbor.wavelets._haar_transform import haar_transform

__all__ = ["HaarScales", "haar_scales"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HaarScales:
    """Sums of absolute Haar coefficients by scale, for every head."""

    by_level: FloatArray
    """Shape (n_heads, 1 + number of query levels, 1 + number of key levels); position 0 of an axis is its
    constant function, the others are `query_levels` and `key_levels`."""
    query_levels: IntArray
    """Levels of the query tree on which a folder splits, increasing."""
    key_levels: IntArray
    """Levels of the key tree on which a folder splits, increasing."""
    by_octave: FloatArray
    """Shape (n_heads, n_octaves); position ``o`` holds the product functions whose support is a share of
    all entries above 2^-(o+1) and at most 2^-o. The product of the two constants is left out."""
    counts: IntArray
    """Number of product functions of each octave, shape (n_octaves,)."""

    def to_data(self) -> dict[str, Any]:
        """Levels and numbers of functions, as JSON values."""
        return {
            "query_levels": self.query_levels.tolist(),
            "key_levels": self.key_levels.tolist(),
            "octaves": int(self.by_octave.shape[1]),
            "counts": self.counts.tolist(),
        }

    def to_bytes(self) -> bytes:
        """Both tables as little-endian float32, head by head."""
        return self.by_level.astype("<f4").tobytes() + self.by_octave.astype("<f4").tobytes()


def haar_scales(values: AnyArray, trees: Mapping[str, PartitionTree]) -> HaarScales:
    """Sums of absolute bi-Haar coefficients by scale.

    Parameters
    ----------
    values : ndarray of float, shape (n_queries, n_keys, n_heads)
    trees : mapping
        With the trees of "query" and "key".

    Returns
    -------
    HaarScales

    See Also
    --------
    haarbor.haar_transform : Coefficients of a tensor.
    haarbor.head_entropy : Entropy of every head.

    Examples
    --------
    Two items per axis: a constant matrix has a coefficient of the constant functions only.

    >>> tree = PartitionTree([[0, 0], [0, 1]])
    >>> found = haar_scales(np.full((2, 2, 1), 3.0), {"query": tree, "key": tree})
    >>> found.by_level[0].round(9).tolist()
    [[6.0, 0.0], [0.0, 0.0]]
    >>> found.by_octave.tolist(), found.counts.tolist()
    ([[0.0]], [3])
    """
    two = {axis: trees[axis] for axis in ("query", "key")}
    sizes: FloatArray = np.abs(haar_transform(values, two, ("query", "key", "head")).astype(np.float64))
    systems = {axis: haar_system(tree) for axis, tree in two.items()}
    starts = {axis: _level_starts(system.levels) for axis, system in systems.items()}
    summed = np.add.reduceat(sizes, starts["query"], axis=0)
    by_level = np.moveaxis(np.add.reduceat(summed, starts["key"], axis=1), -1, 0)
    n_queries, n_keys, n_heads = sizes.shape
    support = systems["query"].supports[:, None] * systems["key"].supports[None, :]
    octave = np.floor(np.log2(n_queries * n_keys / support) + 1e-9).astype(np.int64).ravel()[1:]
    n_octaves = int(octave.max(initial=0)) + 1
    flat = sizes.reshape(-1, n_heads)[1:]
    levels: dict[str, IntArray] = {axis: np.unique(system.levels[1:]) for axis, system in systems.items()}
    counts: IntArray = np.bincount(octave, minlength=n_octaves)
    by_octave: FloatArray = np.stack(
        [
            np.bincount(octave, weights=flat[:, head], minlength=n_octaves).astype(np.float64)
            for head in range(n_heads)
        ]
    )
    return HaarScales(
        by_level=frozen(np.ascontiguousarray(by_level)),
        by_octave=frozen(by_octave),
        query_levels=frozen(levels["query"]),
        key_levels=frozen(levels["key"]),
        counts=frozen(counts),
    )


def _level_starts(levels: IntArray) -> IntArray:
    """Position of the constant function, then of the first function of each level that has any."""
    return np.concatenate([[0], 1 + np.flatnonzero(np.diff(levels[1:], prepend=-1))]).astype(np.int64)
