"""Compiled steps of the flexible tree. Inputs are not checked."""

import numpy as np

from haarbor.array_types import FloatArray, IntArray
from haarbor.compiled import compiled
from haarbor.engines import ordered_results, usable_cores

__all__ = ["folder_distances", "greedy_joins"]

# From this number of items on, several threads share the work, which is divided into so many parts.
_MANY_ITEMS = 500
_PARTS = 16
# Coordinates that are added at a time.
_AT_ONCE = 4
# Rows of a square that is mirrored.
_SIDE = 16


def folder_distances(coordinates: FloatArray, folder: IntArray, n_folders: int) -> FloatArray:
    """Mean Euclidean distance between the items of every two folders, zeros on the diagonal."""
    n_items, n_coordinates = coordinates.shape
    # Folder after folder, so that each of them has its sums to itself, whatever thread makes them.
    order = np.argsort(folder, kind="stable")
    begins = np.concatenate([[0], np.cumsum(np.bincount(folder, minlength=n_folders))])
    # One row per coordinate, so that an item is compared with many others at a time; zeros after the last.
    by_coordinate = np.zeros((-(-n_coordinates // _AT_ONCE) * _AT_ONCE, n_items))
    by_coordinate[:n_coordinates] = coordinates[order].T
    means = np.zeros((n_folders, n_folders))
    many = n_items >= _MANY_ITEMS
    # The last folders have the most before them: of n items, half of the pairs are among the first 0.7 n.
    places = n_items * np.sqrt(np.arange(_PARTS if many else 1) / _PARTS)
    cuts = [*np.unique(np.searchsorted(begins[:-1], places)).tolist(), n_folders]

    def add(part: int) -> None:
        # Memory comes from Python: a kernel that takes its own is compiled much longer.
        distances_kernel(by_coordinate, begins, cuts[part], cuts[part + 1], np.zeros(n_items), means)

    threads = usable_cores() if many else 1
    for _ in ordered_results(add, range(len(cuts) - 2, -1, -1), threads):
        pass
    return means


@compiled()
def distances_kernel(by_coordinate, begins, first, past, distances, means):
    """Rows `first` to `past` of what `folder_distances` says, up to the diagonal, and the same columns.

    `distances` is memory to work in.
    """
    for f in range(first, past):
        begin, end = begins[f], begins[f + 1]
        earlier = distances[:begin]
        mean = means[f, :f]
        for i in range(begin, end):
            for j in range(begin):
                earlier[j] = 0.0
            for c in range(0, by_coordinate.shape[0], _AT_ONCE):
                y0, y1 = by_coordinate[c, :begin], by_coordinate[c + 1, :begin]
                y2, y3 = by_coordinate[c + 2, :begin], by_coordinate[c + 3, :begin]
                x0, x1 = by_coordinate[c, i], by_coordinate[c + 1, i]
                x2, x3 = by_coordinate[c + 2, i], by_coordinate[c + 3, i]
                for j in range(begin):
                    earlier[j] = (
                        earlier[j]
                        + (x0 - y0[j]) ** 2
                        + (x1 - y1[j]) ** 2
                        + (x2 - y2[j]) ** 2
                        + (x3 - y3[j]) ** 2
                    )
            for j in range(begin):
                earlier[j] = np.sqrt(earlier[j])
            if begin == f:
                # Every earlier folder is a single item.
                for g in range(f):
                    mean[g] += earlier[g]
            else:
                for g in range(f):
                    total = 0.0
                    for j in range(np.uint64(begins[g]), np.uint64(begins[g + 1])):
                        total += earlier[j]
                    mean[g] += total
        if end > f + 1:
            for g in range(f):
                mean[g] /= (end - begin) * (begins[g + 1] - begins[g])
    # Square by square, so that rows and columns stay in cache.
    for top in range(first, past, _SIDE):
        for left in range(0, past, _SIDE):
            for f in range(top, min(top + _SIDE, past)):
                for g in range(left, min(left + _SIDE, f)):
                    means[g, f] = means[f, g]


@compiled(fastmath={"nnan", "nsz"}, inner=True)
def _first_smallest(values):
    # In two passes, because the first one is done on several numbers at a time.
    smallest = np.inf
    for place in range(values.size):
        if values[place] < smallest:
            smallest = values[place]
    place = 0
    while values[place] != smallest:
        place += 1
    return place


def greedy_joins(distances: FloatArray, threshold: float, penalty: float) -> IntArray:
    """Cluster of each folder after one round of joins.

    `distances` has shape (m, m) and infinity on the diagonal; it is overwritten. Every folder proposes
    to join its nearest folder, and the nearest proposals are considered first. A folder that has joined
    makes no more proposals, but others can still propose to it. The larger a cluster is, the nearer
    than `penalty` a folder must be to join it.
    """
    m = distances.shape[0]
    cluster = np.arange(m)
    nearest = distances.argmin(axis=1)
    least = distances[cluster, nearest]
    joins_kernel(distances, float(threshold), float(penalty), cluster, nearest, least, np.ones(m, np.int64))
    return cluster


@compiled()
def joins_kernel(distances, threshold, penalty, cluster, nearest, least, size):
    """What `greedy_joins` says; ``least[f]`` is the distance to the nearest of f, infinity once f joined."""
    joined = False
    while True:
        # The first row wins a tie.
        proposer = _first_smallest(least)
        best = least[proposer]
        if joined and best >= threshold:
            return
        target = nearest[proposer]
        mine, yours = cluster[proposer], cluster[target]
        both_single = size[mine] == 1 and size[yours] == 1
        if both_single or best < penalty * 2.0 ** (1.0 - size[mine] * size[yours]):
            # Only a folder that never joined proposes, so `mine` holds the proposer alone.
            cluster[proposer] = yours
            size[yours] += 1
            size[mine] = 0
            least[proposer] = least[target] = np.inf
            joined = True
        else:
            distances[proposer, target] = np.inf
            nearest[proposer] = _first_smallest(distances[proposer])
            least[proposer] = distances[proposer, nearest[proposer]]
