"""Compiled steps of the flexible tree. Inputs are not checked."""

import numpy as np

from haarbor.array_types import FloatArray, IntArray
from haarbor.compiled import compiled

__all__ = ["folder_distances", "greedy_joins"]


def folder_distances(coordinates: FloatArray, folder: IntArray, n_folders: int) -> FloatArray:
    """Mean Euclidean distance between the items of every two folders, zeros on the diagonal."""
    # Memory comes from Python: a kernel that takes its own is compiled much longer.
    means = np.zeros((n_folders, n_folders))
    # One row per coordinate, so that an item is compared with many others at a time.
    by_coordinate = np.ascontiguousarray(coordinates.T)
    distances_kernel(by_coordinate, folder, np.zeros(n_folders, np.int64), np.zeros(folder.size), means)
    return means


@compiled()
def distances_kernel(by_coordinate, folder, size, squares, means):
    """What `folder_distances` says, with zeros to work in."""
    n_coordinates, n_items = by_coordinate.shape
    n_folders = size.size
    for i in range(n_items):
        size[folder[i]] += 1
        earlier = squares[:i]
        for j in range(i):
            earlier[j] = 0.0
        for c in range(n_coordinates):
            yours = by_coordinate[c, :i]
            mine = by_coordinate[c, i]
            for j in range(i):
                earlier[j] += (mine - yours[j]) ** 2
        for j in range(i):
            earlier[j] = np.sqrt(earlier[j])
        here = folder[i]
        mine_to = means[here]
        for j in range(i):
            # Always into the lower triangle: each pair of folders has one sum. Numbers without a sign:
            # an index that could be negative would be checked at every step.
            there = folder[j]
            if there <= here:
                mine_to[np.uint64(there)] += earlier[j]
            else:
                means[np.uint64(there), np.uint64(here)] += earlier[j]
    for f in range(n_folders):
        means[f, f] = 0.0
        for g in range(f):
            means[f, g] /= size[f] * size[g]
    # In squares, so that both sides stay in cache.
    for top in range(0, n_folders, 32):
        for left in range(0, top + 1, 32):
            for f in range(top, min(top + 32, n_folders)):
                for g in range(left, min(left + 32, f)):
                    means[g, f] = means[f, g]


@compiled(inner=True)
def _first_smallest(values):
    smallest = 0
    for place in range(1, values.size):
        if values[place] < values[smallest]:
            smallest = place
    return smallest


def greedy_joins(distances: FloatArray, threshold: float, penalty: float) -> IntArray:
    """Cluster of each folder after one round of joins.

    `distances` has shape (m, m) and infinity on the diagonal; it is overwritten. Every folder proposes
    to join its nearest folder, and the nearest proposals are considered first. A folder that has joined
    makes no more proposals, but others can still propose to it. The larger a cluster is, the nearer
    than `penalty` a folder must be to join it.
    """
    m = distances.shape[0]
    cluster = np.arange(m)
    joins_kernel(distances, float(threshold), float(penalty), cluster, np.zeros((3, m), np.int64))
    return cluster


@compiled()
def joins_kernel(distances, threshold, penalty, cluster, work):
    """What `greedy_joins` says, with zeros to work in."""
    m = distances.shape[0]
    size, retired, nearest = work[0], work[1], work[2]
    for row in range(m):
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
            return
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
