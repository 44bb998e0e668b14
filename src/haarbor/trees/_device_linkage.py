"""Haar linkage of rows that lie on a GPU: sums and means there, the order of the joins on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from haarbor.array_types import FloatArray, IntArray
from haarbor.engines import Device, GpuEngine

__all__ = ["device_joins", "device_row_distances", "write_device_mean"]

# Terms that are computed together: one of them is needed at once, and the others may be next.
_TOGETHER = 32


def device_row_distances(rows: Any, engine: GpuEngine) -> FloatArray:
    """L1 distances between all pairs of rows on the device, shape (n, n), on the host.

    Parameters
    ----------
    rows : array of float32 or float64 on the device, shape (n, d)
    engine : GpuEngine

    See Also
    --------
    haarbor.trees.row_distances : The same on the cores.
    """
    device = engine.device
    xp = device.xp
    n_items, n_columns = rows.shape
    pitch = device.tiles(n_items, rows.dtype).pitch
    total = xp.zeros((n_items, n_items))
    step = max(1, engine.chunk_bytes // (pitch * rows.dtype.itemsize))
    for first in range(0, n_columns, step):
        some = rows[:, first : first + step]
        features = xp.zeros((some.shape[1], pitch), rows.dtype)
        features[:, :n_items] = some.T
        device.add_pair_sums(features, n_items, total)
    distances: FloatArray = device.on_host(total)
    return distances


def device_joins(means: Any, costs: FloatArray, slack: float, device: Device) -> tuple[IntArray, FloatArray]:
    """Joins of Haar linkage and their terms, as :func:`haar_joins` finds them on the host.

    Parameters
    ----------
    means : array of float32 or float64 on the device, shape (2 n - 1, d)
        The rows, and room for the means of all joins, which are written.
    costs : ndarray of float64, shape (n, n)
        Terms of all pairs of rows; overwritten.
    slack : float
        Bounds on terms are lowered by this share.
    device : Device
    """
    from haarbor.trees._haar_linkage_kernels import first_nearest, join_places, take_distances, wanted_pairs

    n_items = costs.shape[0]
    joins: IntArray = np.empty((n_items - 1, 2), np.int64)
    terms: FloatArray = np.empty(n_items - 1)
    folder = np.arange(n_items)
    size = np.ones(n_items)
    exact = np.ones((n_items, n_items), np.bool_)
    nearest = np.empty(n_items, np.int64)
    pairs = np.zeros((_TOGETHER, 2), np.int64)
    first_nearest(costs, size, nearest)
    for step in range(n_items - 1):
        while count := wanted_pairs(costs, exact, size, nearest, pairs):
            distances = device.pair_distances(means, folder[pairs[:count]])
            take_distances(costs, exact, size, nearest, pairs, distances)
        i, j = pairs[0].tolist()
        joins[step] = folder[i], folder[j]
        terms[step] = costs[i, j]
        write_device_mean(
            means, (int(folder[i]), int(folder[j])), size[i] / (size[i] + size[j]), n_items + step
        )
        folder[i] = n_items + step
        join_places(costs, exact, size, nearest, i, j, slack)
    return joins, terms


def write_device_mean(means: Any, children: tuple[int, int], share: float, folder: int) -> None:
    """Write the mean of two rows into a third, with so large a share of the first."""
    mine = means.dtype.type(share)
    means[folder] = mine * means[children[0]] + (1 - mine) * means[children[1]]
