"""Trees of three kinds on which rates of decay are measured."""

import numpy as np

import haarbor as hb


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
    return hb.PartitionTree(np.stack(rows))


def flexible_tree_of(n_items, rng):
    """Flexible tree of points at random in the plane."""
    points = rng.normal(size=(n_items, 2))
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    return hb.flexible_tree(hb.markov_spectrum(hb.distance_affinity(distances)))


def tree_of_kind(kind, n_items, rng):
    """A "dyadic", "unequal", "lopsided" or "flexible" tree."""
    if kind == "flexible":
        return flexible_tree_of(n_items, rng)
    shares = {"dyadic": 0.5, "lopsided": 0.8}
    return split_tree(n_items, (0.3, 0.7), rng) if kind == "unequal" else split_tree(n_items, shares[kind])
