"""Theory 1.1 and the affinity of 1.5."""

import math

import numpy as np

from tests.reference.folders import median


def unfolded(X, axis):
    """One flat list of numbers a slice."""
    array = np.asarray(X, dtype=float)
    return [np.take(array, i, axis=axis).ravel().tolist() for i in range(array.shape[axis])]


def cosine_affinity(slices):
    n = len(slices)
    G = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            inner = mine = yours = 0.0
            for x, y in zip(slices[i], slices[j], strict=True):
                x_present = x != 0 and not math.isnan(x)
                y_present = y != 0 and not math.isnan(y)
                if x_present and y_present:
                    inner += x * y
                    mine += x * x
                    yours += y * y
            if mine > 0 and yours > 0:
                G[i][j] = max(0.0, inner / math.sqrt(mine * yours))
    return np.array(G)


def gaussian_affinity(slices):
    n = len(slices)
    D = [[math.dist(slices[i], slices[j]) for j in range(n)] for i in range(n)]
    b = []
    for j in range(n):
        width = median(sorted(D[i][j] for i in range(n))[:5])
        b.append(width if width != 0 else 1.0)
    G = [[math.exp(-(D[i][j] ** 2) / b[j] ** 2) for j in range(n)] for i in range(n)]
    return np.array([[(G[i][j] + G[j][i]) / 2 for j in range(n)] for i in range(n)])


def distance_affinity(D):
    n = len(D)
    scale = median([D[i][j] for i in range(n) for j in range(n)])
    scale = scale if scale != 0 else 1.0
    return np.array([[math.exp(-D[i][j] / scale) for j in range(n)] for i in range(n)])
