"""Compiled steps of the flexible tree. Inputs are not checked."""

import numpy as np

from haarbor.compiled import compiled

__all__ = ["folder_distances", "greedy_joins"]


@compiled()
def folder_distances(coordinates, folder, n_folders):
    """Mean Euclidean distance between the items of every two folders, zeros on the diagonal."""
    n_items, n_coordinates = coordinates.shape
    size = np.zeros(n_folders, np.int64)
    means = np.zeros((n_folders, n_folders))
    for i in range(n_items):
        size[folder[i]] += 1
        mine = coordinates[i]
        for j in range(i):
            yours = coordinates[j]
            square = 0.0
            for c in range(n_coordinates):
                square += (mine[c] - yours[c]) ** 2
            # Always into the lower triangle: each pair of folders has one sum.
            low, high = min(folder[i], folder[j]), max(folder[i], folder[j])
            means[high, low] += np.sqrt(square)
    for f in range(n_folders):
        means[f, f] = 0.0
        for g in range(f):
            means[f, g] /= size[f] * size[g]
            means[g, f] = means[f, g]
    return means


@compiled(inner=True)
def _first_smallest(values):
    smallest = 0
    for place in range(1, values.size):
        if values[place] < values[smallest]:
            smallest = place
    return smallest


@compiled()
def greedy_joins(distances, threshold, penalty):
    """Cluster of each folder after one round of joins.

    `distances` has shape (m, m) and infinity on the diagonal; it is overwritten. Every folder proposes
    to join its nearest folder, and the nearest proposals are considered first. A folder that has joined
    makes no more proposals, but others can still propose to it. The larger a cluster is, the nearer
    than `penalty` a folder must be to join it.
    """
    m = distances.shape[0]
    cluster = np.zeros(m, np.int64)
    size = np.zeros(m, np.int64)
    retired = np.zeros(m, np.int64)
    nearest = np.zeros(m, np.int64)
    for row in range(m):
        cluster[row] = row
        size[row] = 1
        nearest[row] = _first_smallest(distances[row])
    joined = False
    while True:
        proposer = -1
        best = np.inf
        for row in range(m):
            if retired[row] == 0:
                d = distances[row, nearest[row]]
                # The first row wins a tie, an infinite one included.
                if proposer < 0 or d < best:
                    proposer, best = row, d
        if proposer < 0 or (joined and best >= threshold):
            return cluster
        target = nearest[proposer]
        mine, yours = cluster[proposer], cluster[target]
        both_single = size[mine] == 1 and size[yours] == 1
        if both_single or best < penalty * 2.0 ** (1.0 - size[mine] * size[yours]):
            # Only a folder that never joined proposes, so `mine` holds the proposer alone.
            cluster[proposer] = yours
            size[yours] += 1
            size[mine] = 0
            retired[proposer] = 1
            retired[target] = 1
            joined = True
        else:
            distances[proposer, target] = np.inf
            nearest[proposer] = _first_smallest(distances[proposer])
