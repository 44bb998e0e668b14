"""Rotations of a binary tree: three neighbouring folders are joined in the way that costs least."""

from __future__ import annotations

from itertools import pairwise
from typing import cast

import numpy as np

from haarbor.array_types import BoolArray, FloatArray, IntArray
from haarbor.engines import Device, ordered_results
from haarbor.trees._binary_folders import BinaryFolders, join_weight
from haarbor.trees._device_linkage import write_device_mean

__all__ = ["rotate"]

# A rotation that gains less than this share may gain by rounding alone.
_ROUNDING = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-12}


def rotate(folders: BinaryFolders, price: float, threads: int) -> int:
    """Rotate a tree, in place, until no rotation lowers its l1 norm plus the price of its depth.

    A folder with the children A and (B, C) may as well have the children B and (A, C), or C and (A, B).
    Only two terms of the norm differ, because the mean of all three is the same; and of the sizes of
    folders, whose sum is the depth of all leaves together, only that of the lower folder.

    Parameters
    ----------
    folders : BinaryFolders
    price : float
        What one step of one leaf away from the root costs.
    threads : int
        The result does not depend on it. Where the means lie on a device, the sums are made there.

    Returns
    -------
    int
        Number of rotations.

    See Also
    --------
    haarbor.trees.linked_folders : The greedy linkage.
    haarbor.trees.depth_price : What depth costs.
    haarbor.haar_tree : Tree with a small l1 norm.
    """
    n_items = folders.n_items
    due: BoolArray = np.zeros(2 * n_items - 1, dtype=bool)
    # One rotation for every folder that is neither an item nor the root: with its parent and sibling.
    due[n_items:-1] = True
    done = 0
    # Where the terms are zero, the price is rounded too.
    tiny = 1e-9 * price
    while due.any():
        lower = np.flatnonzero(due)
        upper = folders.parents[lower]
        a = np.where(folders.left[upper] == lower, folders.right[upper], folders.left[upper])
        threes = np.stack([a, folders.left[lower], folders.right[lower]], axis=1)
        terms = _other_terms(folders, threes, threads)
        now = folders.terms[lower] + folders.terms[upper]
        sizes = folders.sizes[threes]
        deeper = sizes[:, :1] - sizes[:, [2, 1]]
        gains = now[:, None] - terms.sum(axis=2) - price * deeper
        way = np.argmax(gains, axis=1)
        gain = gains[np.arange(lower.size), way]
        wanted = np.flatnonzero(gain > _ROUNDING[folders.means.dtype] * now + tiny)
        due[:] = False
        changed: BoolArray = np.zeros(due.size, dtype=bool)
        # The best first. One whose folders have changed since it was judged waits for the next round.
        for place in wanted[np.argsort(-gain[wanted], kind="stable")]:
            low, up = lower[place], upper[place]
            if changed[low] or changed[up]:
                due[low] = True
                continue
            first, second, third = threes[place]
            if way[place] == 1:
                second, third = third, second
            _join_first_two(folders, low, up, (first, second, third))
            folders.terms[low], folders.terms[up] = terms[place, way[place]]
            changed[[low, up]] = True
            due[[low, up, first, second, third]] = True
            done += 1
        due[:n_items] = False
        due[-1] = False
    return done


def _other_terms(folders: BinaryFolders, threes: IntArray, threads: int) -> FloatArray:
    """Terms of the lower and the upper folder after either rotation, shape (n, 2 ways, 2)."""
    sums = _host_sums(folders, threes, threads) if folders.device is None else _device_sums(folders, threes)
    a, b, c = folders.sizes[threes].T
    weights = [join_weight(a, b), join_weight(a + b, c), join_weight(a, c), join_weight(a + c, b)]
    terms: FloatArray = (sums * np.stack(weights, axis=1)).reshape(-1, 2, 2)
    return terms


def _device_sums(folders: BinaryFolders, threes: IntArray) -> FloatArray:
    a, b, c = folders.sizes[threes].T
    shares = np.stack([a / (a + b), a / (a + c)], axis=1)
    sums: FloatArray = cast(Device, folders.device).rotation_sums(folders.means, threes, shares)
    return sums


def _host_sums(folders: BinaryFolders, threes: IntArray, threads: int) -> FloatArray:
    from haarbor.trees._haar_linkage_kernels import rotation_sums

    sums: FloatArray = np.empty((threes.shape[0], 4))
    stop = np.zeros(1, np.uint8)
    cuts = np.linspace(0, threes.shape[0], 4 * threads + 1).astype(int).tolist()

    def judge(piece: tuple[int, int]) -> None:
        rotation_sums(folders.means, threes, folders.sizes, *piece, sums, stop)

    try:
        for _ in ordered_results(judge, list(pairwise(cuts)), threads):
            pass
    finally:
        stop[0] = 1
    return sums


def _join_first_two(folders: BinaryFolders, low: int, up: int, three: tuple[int, int, int]) -> None:
    """Give the folder `low` the first two of three children, and `up` it and the third."""
    first, second, third = three
    folders.left[low], folders.right[low] = first, second
    folders.left[up], folders.right[up] = low, third
    folders.parents[[first, second]] = low
    folders.parents[third] = up
    folders.sizes[low] = folders.sizes[first] + folders.sizes[second]
    if folders.device is not None:
        children = (int(first), int(second))
        write_device_mean(folders.means, children, folders.sizes[first] / folders.sizes[low], int(low))
        return
    share = folders.means.dtype.type(folders.sizes[first] / folders.sizes[low])
    np.multiply(folders.means[first], share, out=folders.means[low])
    folders.means[low] += (1 - share) * folders.means[second]
