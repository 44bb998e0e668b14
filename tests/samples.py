"""Trees and tensors for examples that need no strategy."""

import numpy as np

from haarbor import PartitionTree


def random_tree(rng, n_items, n_inner=3):
    """Unequal folders, with chains and early singletons where chance makes them."""
    rows = [np.zeros(n_items, dtype=int)]
    for _ in range(n_inner):
        parts = rng.choice(3, size=n_items, p=[0.6, 0.3, 0.1])
        rows.append(np.unique(3 * rows[-1] + parts, return_inverse=True)[1])
    return PartitionTree(np.stack([*rows, np.arange(n_items)]))


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
