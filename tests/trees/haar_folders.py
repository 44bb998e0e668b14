"""Folders of Haar trees for tests, and their sets of items."""

import numpy as np

import haarbor as hb
from haarbor.trees import depth_price, linked_folders, rotate, row_distances


def folders_of(rows, restraint=None):
    """Linked folders of rows, rotated if a restraint is given."""
    n = rows.shape[0]
    means = np.empty((2 * n - 1, rows.shape[1]), rows.dtype)
    means[:n] = rows
    found = linked_folders(means, row_distances(means[:n], hb.CpuEngine(1)))
    if restraint is not None:
        rotate(found, depth_price(restraint, found.norm, n), 1)
    return found


def sets_of(tree):
    return {frozenset(items.tolist()) for partition in tree for items in partition}
