"""Haar transform of a tensor that lies on a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from haarbor.binary_scale import excess_exponent
from haarbor.engines import GpuEngine, numbers_in_memory_order
from haarbor.errors import DataError
from haarbor.trees import PartitionTree
from haarbor.wavelets._haar_system import haar_system

__all__ = ["device_coefficients", "is_ordinary", "sum_of_sizes"]


def device_coefficients(tensor: Any, trees: Mapping[int, PartitionTree], engine: GpuEngine) -> Any:
    """Coefficients of a tensor in the product of the Haar bases of some of its axes, on the device.

    Parameters
    ----------
    tensor : array of float16, float32 or float64 on the device
        Finite and of ordinary size.
    trees : mapping of position to PartitionTree
        Trees of some axes.
    engine : GpuEngine

    Returns
    -------
    array on the device, same shape
        float64 for float64, else float32; sums run in float64.

    See Also
    --------
    haarbor.haar_transform : Coefficients of a tensor.
    """
    xp = engine.device.xp
    dtype = np.dtype(np.float64 if tensor.dtype == np.float64 else np.float32)
    engine.require_memory(tensor.size * dtype.itemsize, f"the Haar coefficients of shape {tensor.shape}")
    out = xp.empty(tensor.shape, dtype)
    if not trees:
        out[...] = tensor
    source = tensor
    for place, tree in trees.items():
        _along_axis(source, out, place, tree, engine)
        source = out
    return out


def _along_axis(source: Any, out: Any, place: int, tree: PartitionTree, engine: GpuEngine) -> None:
    """Write the coefficients along one axis; `out` may be `source`, which is read piece by piece before."""
    xp, device = engine.device.xp, engine.device
    system = haar_system(tree)
    sizes = system.node_sizes
    a, b = sizes[system.left].astype(float), sizes[system.right].astype(float)
    norm = np.sqrt(a * b / (a + b))
    positive, negative = norm / a, norm / b
    positive[0] = 1 / np.sqrt(tree.n_items)
    left, right = xp.asarray(system.left.astype(np.int32)), xp.asarray(system.right.astype(np.int32))
    factors = xp.asarray(positive), xp.asarray(negative)
    if source.ndim == 1:
        source, out = source[:, None], out[:, None]
    # In pieces along the longest of the other axes, which comes second.
    others = [axis for axis in range(source.ndim) if axis != place]
    longest = max(others, key=lambda axis: source.shape[axis])
    order = [place, longest, *(axis for axis in others if axis != longest)]
    columns, target = source.transpose(order), out.transpose(order)
    # One copy of a piece as it is stored, its sums in float64 and its coefficients.
    each = columns.size // columns.shape[1] * 24
    step = max(1, engine.chunk_bytes // each)
    for first in range(0, columns.shape[1], step):
        piece = xp.ascontiguousarray(columns[:, first : first + step])
        found = device.haar_coefficients(piece.reshape(tree.n_items, -1), left, right, *factors, out.dtype)
        target[:, first : first + step] = found.reshape(piece.shape)


def sum_of_sizes(coefficients: Any, engine: GpuEngine) -> float:
    """Sum of the absolute values of an array on the device, in float64.

    See Also
    --------
    haarbor.haar_l1 : Sum of the sizes of all coefficients.
    haarbor.wavelets.device_coefficients : The coefficients on a device.
    """
    flat = coefficients.reshape(-1)
    step = max(1, engine.chunk_bytes // 16)
    return sum(
        float(abs(flat[first : first + step]).sum(dtype=np.float64)) for first in range(0, flat.size, step)
    )


def is_ordinary(tensor: Any, engine: GpuEngine) -> bool:
    """Whether the numbers of a tensor on the device are of ordinary size; see `haarbor.binary_scale`.

    Raises
    ------
    DataError
        If a number is not finite.
    """
    lowest, highest = engine.device.extremes(numbers_in_memory_order(tensor, engine.device))
    if not np.isfinite(lowest) or not np.isfinite(highest):
        raise DataError(
            "every entry must be finite; found NaN or an infinity in the tensor on the device. Drop or "
            "replace such entries."
        )
    largest = np.array(max(highest, -lowest))
    return tensor.dtype == np.float16 or not excess_exponent(largest.astype(tensor.dtype))
