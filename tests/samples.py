"""Trees and tensors for examples that need no strategy."""

import numpy as np

from haarbor import PartitionTree, distance_affinity, flexible_tree, markov_spectrum


def random_tree(rng, n_items, n_inner=3):
    """Unequal folders, with chains and early singletons where chance makes them."""
    rows = [np.zeros(n_items, dtype=int)]
    for _ in range(n_inner):
        parts = rng.choice(3, size=n_items, p=[0.6, 0.3, 0.1])
        rows.append(np.unique(3 * rows[-1] + parts, return_inverse=True)[1])
    return PartitionTree(np.stack([*rows, np.arange(n_items)]))


def split_tree(n_items, share, rng=None):
    """Every folder cut in two, the first part `share` of it, or between two shares at random."""
    rows = [np.zeros(n_items, dtype=int)]
    while rows[-1].max() < n_items - 1:
        finer, n_folders = np.empty(n_items, dtype=int), 0
        for folder in range(rows[-1].max() + 1):
            items = np.flatnonzero(rows[-1] == folder)
            part = share if rng is None else rng.uniform(*share)
            cut = int(np.clip(round(items.size * part), 1, items.size - 1)) if items.size > 1 else 1
            finer[items[:cut]] = n_folders
            finer[items[cut:]] = n_folders + 1
            n_folders += 1 + (items.size > cut)
        rows.append(finer)
    return PartitionTree(np.stack(rows))


def flexible_tree_of(n_items, rng):
    """Flexible tree of points at random in the plane."""
    points = rng.normal(size=(n_items, 2))
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    return flexible_tree(markov_spectrum(distance_affinity(distances)))


def tree_of_kind(kind, n_items, rng):
    """A "dyadic", "unequal", "lopsided" or "flexible" tree."""
    if kind == "flexible":
        return flexible_tree_of(n_items, rng)
    shares = {"dyadic": 0.5, "lopsided": 0.8}
    return split_tree(n_items, (0.3, 0.7), rng) if kind == "unequal" else split_tree(n_items, shares[kind])


def causal_probabilities(rng, n_tokens, n_heads, dtype=np.float64):
    """Softmax of normal scores under a causal mask, heads with different sharpness."""
    scores = rng.normal(size=(n_tokens, n_tokens, n_heads)) * rng.uniform(0.5, 2, size=n_heads)
    weights = np.where(np.tri(n_tokens, dtype=bool)[:, :, None], np.exp(scores), 0.0)
    return (weights / weights.sum(axis=1, keepdims=True)).astype(dtype)


HALVES = PartitionTree([[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 2, 3]])
PAIR = PartitionTree([[0, 0], [0, 1]])
CHAINED = PartitionTree(
    [[0, 0, 0, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 1, 0], [0, 2, 0, 1, 0], [0, 2, 3, 1, 0], [0, 1, 2, 3, 4]]
)
