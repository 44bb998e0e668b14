"""Theory 1.5, literally: a sum over all products of folders of all levels, copies included."""

import itertools

import numpy as np

from tests.reference.folders import all_folders


def tree_emd(X, trees, axis, alpha, beta):
    """Distances between the slices of `axis`.

    `trees`, `alpha` and `beta` map the position of every other axis to its levels and exponents.
    """
    X = np.asarray(X, dtype=float)
    others = [place for place in range(X.ndim) if place != axis]
    n = X.shape[axis]
    D = [[0.0] * n for _ in range(n)]
    for product in itertools.product(*(all_folders(trees[place]) for place in others)):
        weight = 1.0
        for place, (level, items) in zip(others, product, strict=True):
            weight *= (len(items) / X.shape[place]) ** beta[place] * 2.0 ** (-alpha[place] * level)
        means = []
        for i in range(n):
            total = count = 0
            for position in itertools.product(*(items for _, items in product)):
                index = list(position)
                index.insert(axis, i)
                total += X[tuple(index)]
                count += 1
            means.append(total / count)
        for i in range(n):
            for j in range(n):
                D[i][j] += weight * abs(means[i] - means[j])
    return np.array(D)


def pruned_weights(levels, alpha, beta):
    """Weight of every distinct folder, its copies added, keyed by its items."""
    n = len(levels[0])
    weights = {}
    for level, items in all_folders(levels):
        weight = (len(items) / n) ** beta * 2.0 ** (-alpha * level)
        weights[tuple(items)] = weights.get(tuple(items), 0.0) + weight
    return weights
