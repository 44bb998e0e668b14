"""Good arguments: tensors of every usual kind, trees that fit them, masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from faults.hostile_settings import random_tree
from faults.spoilt import one_of
from haarbor import PartitionTree

__all__ = ["AXES", "causal_mask", "good_affinity", "good_matrix", "good_tensor", "good_trees", "tolerance"]

Rng = np.random.Generator
Array = np.ndarray[Any, np.dtype[Any]]
AXES = ("query", "key", "head")


def good_tensor(rng: Rng, n_axes: int = 3, *, least: int = 2, most: int = 6) -> Array:
    """Scores, probabilities or plain positive numbers, in either precision."""
    shape = tuple(int(size) for size in rng.integers(least, most + 1, size=n_axes))
    tensor = rng.normal(size=shape)
    kind = rng.integers(3)
    if kind == 0:
        weights = np.exp(tensor)
        tensor = weights / weights.sum(axis=min(1, n_axes - 1), keepdims=True)
    elif kind == 1:
        tensor = rng.uniform(0.1, 1.0, size=shape)
    return tensor.astype(one_of(rng, (np.float64, np.float64, np.float32)))


def good_matrix(rng: Rng, *, least: int = 2, most: int = 7) -> Array:
    """A matrix as `good_tensor` makes it."""
    return good_tensor(rng, 2, least=least, most=most)


def good_trees(rng: Rng, shape: Sequence[int], axes: Sequence[str]) -> dict[str, PartitionTree]:
    """A tree on each of the axes."""
    return {axis: random_tree(rng, size) for axis, size in zip(axes, shape, strict=True)}


def causal_mask(shape: Sequence[int]) -> Array:
    """Keys up to the query itself, the last query seeing all of them."""
    n_queries, n_keys = shape[0], shape[1]
    mask: Array = np.tri(n_queries, n_keys, n_keys - n_queries, dtype=bool)
    mask[:, 0] = True
    return mask


def good_affinity(rng: Rng, n_items: int | None = None) -> Array:
    """Symmetric, between 0 and 1, ones on the diagonal."""
    n_items = int(rng.integers(1, 8)) if n_items is None else n_items
    entries = rng.uniform(0.05, 0.95, size=(n_items, n_items))
    affinity: Array = np.triu(entries, 1) + np.triu(entries, 1).T + np.eye(n_items)
    return affinity


def tolerance(array: Any) -> float:
    """Relative error allowed in answers from an array of this precision."""
    return 1e-4 if getattr(array, "dtype", None) == np.float32 else 1e-9
