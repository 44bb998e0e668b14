"""Sums of powers of the Haar coefficients of a tensor on a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np

from haarbor.array_types import FloatArray
from haarbor.engines import GpuEngine
from haarbor.trees import PartitionTree
from haarbor.wavelets._device_haar import device_coefficients
from haarbor.wavelets._power_sums import PowerSums, power_sums_of
from haarbor.wavelets._product_order import LargestProducts

__all__ = ["device_engine", "device_power_sums"]


@cache
def device_engine() -> GpuEngine:
    """Engine of the current device."""
    return GpuEngine()


def device_power_sums(
    tensor: Any,
    trees: Mapping[int, PartitionTree],
    products: LargestProducts,
    power: float,
    gpu: GpuEngine,
) -> PowerSums:
    """Sums over the expansion along all axes but the last, for each position on the last axis.

    Parameters
    ----------
    tensor : array on the device
        Finite, its numbers of ordinary size.
        Its last axis is that of the heads, some of which are expanded at a time.
    trees : mapping of position to PartitionTree
        For all axes but the last.
    products : LargestProducts
        Of these trees.
    power : float
    gpu : GpuEngine
    """
    with gpu.device.one_line_errors():
        n_heads = tensor.shape[-1]
        # The coefficients, and what is made of them on the way to their sums.
        each = 6 * 8 * (tensor.size // n_heads)
        step = max(1, gpu.chunk_bytes // each)
        # Heads first, as they mostly are in memory.
        heads_first = gpu.device.xp.moveaxis(tensor, -1, 0)
        behind = {place + 1: tree for place, tree in trees.items()}
        parts = [
            _sums_of_heads(heads_first[first : first + step], behind, products, power, gpu)
            for first in range(0, n_heads, step)
        ]
    joined: dict[str, Any] = {}
    for field in fields(PowerSums):
        values = [getattr(part, field.name) for part in parts]
        joined[field.name] = np.concatenate(values) if isinstance(values[0], np.ndarray) else values[0]
    return PowerSums(**joined)


def _sums_of_heads(
    heads: Any, trees: Mapping[int, PartitionTree], products: LargestProducts, power: float, gpu: GpuEngine
) -> PowerSums:
    xp, device = gpu.device.xp, gpu.device
    n_heads = heads.shape[0]
    coefficients = device_coefficients(heads, trees, gpu).reshape(n_heads, -1)
    sums, energies = xp.zeros(n_heads), xp.zeros(n_heads)
    # The constant, the first, is left out: it may be so large that adding it would lose digits of the rest.
    step = max(1, gpu.chunk_bytes // (3 * 8 * n_heads))
    for first in range(1, coefficients.shape[1], step):
        sizes = abs(coefficients[:, first : first + step]).astype(np.float64)
        sums += (sizes if power == 1 else sizes**power).sum(axis=1)
        energies += (sizes * sizes).sum(axis=1)
    shape = heads.shape[1:]

    listed = np.concatenate([products.above, products.tied])
    places = xp.asarray(np.ravel_multi_index(tuple(listed.T), shape))
    chosen: FloatArray = device.on_host(coefficients[:, places]).T.astype(np.float64)
    return power_sums_of(
        products,
        chosen,
        device.on_host(coefficients[:, 0]).astype(np.float64),
        (device.on_host(sums), device.on_host(energies)),
        exponents=np.zeros(n_heads, dtype=np.int64),
        p=power,
        n_functions=coefficients.shape[1],
    )
