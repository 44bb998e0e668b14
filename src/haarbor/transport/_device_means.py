"""Weighted folder means of a tensor on a GPU, and the distances summed over them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from haarbor.engines import GpuEngine, L1Engine, device_arrays
from haarbor.transport._folder_features import (
    OuterFolders,
    OuterPart,
    ground_weight,
    outer_folders,
    raised_folders,
)
from haarbor.transport._folder_means import (
    Exponents,
    FolderMeans,
    require_few_products,
    require_moderate_weights,
)
from haarbor.trees import PartitionTree

__all__ = ["DeviceFolderMeans", "device_bytes"]

# Blocks of threads along one axis of a grid.
_MOST_FOLDERS = 32768


class DeviceFolderMeans(FolderMeans):
    """Like `FolderMeans`, for a tensor on a device; what is returned stays there.

    Parameters
    ----------
    tensor : array of float16, float32 or float64 on the device, at least two axes
        Finite and of ordinary size. Copied once, unless the last axis already comes first in memory.
    axes : sequence of str
    engine : GpuEngine
    """

    def __init__(self, tensor: Any, axes: Sequence[str], engine: GpuEngine) -> None:
        xp = engine.device.xp
        self._axes = (axes[-1], *axes[:-1])
        self._tensor = xp.ascontiguousarray(xp.moveaxis(tensor, -1, 0))
        self._shape = tuple(self._tensor.shape)
        self._dtype = np.dtype(np.float64 if tensor.dtype == np.float64 else np.float32)
        self._gpu = engine

    def l1_sums(
        self,
        axis: str,
        trees: Mapping[str, PartitionTree],
        exponents: Exponents,
        engine: L1Engine,
        *,
        ground_parts: Sequence[OuterPart] = ("ground", "raised"),
    ) -> Any:
        """See `FolderMeans.l1_sums`; `engine` is the one of this object."""
        device = self._gpu.device
        xp = device.xp
        layout = self._layout(axis)
        feature_axis, n_items = layout.feature_axis, self.n_items(axis)
        require_few_products(layout.outer_axes, trees)
        require_moderate_weights(trees, exponents)
        raised = raised_folders(trees[feature_axis], *exponents[feature_axis])
        outer_exponents = [exponents[a] for a in layout.outer_axes]
        outer_trees = [trees[a] for a in layout.outer_axes]
        total = xp.zeros((3, n_items, n_items))
        factor = math.prod(ground_weight(trees[a], *exponents[a]) for a in layout.outer_axes)
        outer = outer_folders(outer_trees, layout.outer_strides, outer_exponents)
        children, child_begins, *rest = device_arrays(
            [
                raised.children.astype(np.int32), raised.child_begins.astype(np.int32),
                raised.scale.astype(self._dtype), (raised.scale * factor).astype(self._dtype),
                *_of_folders(outer["raised"], self._dtype), *_of_folders(outer["ground"], self._dtype),
            ],
            device,
        )  # fmt: skip
        parts: tuple[tuple[OuterPart, int, Any, Sequence[Any]], ...] = (
            ("raised", 1, rest[0], rest[2:5]), ("ground", 0, rest[1], rest[5:]),
        )  # fmt: skip
        for part, target, scale, folders in parts:
            for features in self._features(axis, folders, raised.n_folders):
                if part in ground_parts:
                    device.add_pair_sums(_flat(features), n_items, total[target])
                if raised.n_folders:
                    above = device.raised_sums(features, children, child_begins, scale)
                    device.add_pair_sums(_flat(above), n_items, total[2])
                    del above
        return total

    def slices(self, axis: str) -> Iterator[Any]:
        """All entries of the slices of `axis` in float64, in blocks of shape (n_entries, pitch).

        Column `i` belongs to slice `i`; columns from the number of items up to the pitch are zeros.
        """
        layout = self._layout(axis)
        offsets = np.zeros(1, dtype=np.int64)
        for name, stride in zip(layout.outer_axes, layout.outer_strides, strict=True):
            offsets = np.add.outer(offsets, stride * np.arange(self.n_items(name))).ravel()
        outer = OuterFolders(offsets=offsets, begins=np.arange(offsets.size + 1), scale=np.ones(offsets.size))
        folders = device_arrays(_of_folders(outer, np.dtype(np.float64)), self._gpu.device)
        for features in self._features(axis, folders, 0):
            yield _flat(features)

    def _features(self, axis: str, folders: Sequence[Any], n_raised: int) -> Iterator[Any]:
        """Means over outer folders, some at a time, shape (n_folders, n_features, pitch).

        `folders` are the arrays of :func:`_of_folders` on the device; the means have the type of the scale.
        """
        device = self._gpu.device
        offsets, begins, scale = folders
        dtype, n_folders = scale.dtype, scale.size
        layout, n_items = self._layout(axis), self.n_items(axis)
        n_features = layout.n_rows if layout.items_are_columns else layout.n_columns
        pitch = device.tiles(n_items, dtype).pitch
        one = (n_features + n_raised) * pitch * dtype.itemsize
        step = min(_MOST_FOLDERS, max(1, self._gpu.chunk_bytes // one))
        for first in range(0, n_folders, step):
            yield device.outer_sums(
                self._tensor.reshape(-1), offsets, begins, scale, (first, min(first + step, n_folders)),
                layout.row_stride, n_features, n_items, pitch, layout.items_are_columns,
            )  # fmt: skip


def _of_folders(outer: OuterFolders, dtype: np.dtype[Any]) -> list[npt.NDArray[Any]]:
    return [outer.offsets, outer.begins, outer.scale.astype(dtype)]


def _flat(features: Any) -> Any:
    return features.reshape(-1, features.shape[-1])


def device_bytes(shape: Sequence[int], itemsize: int, *, copied: bool) -> int:
    """Bytes of a device that a questionnaire of such a tensor needs at the least.

    Parameters
    ----------
    shape : sequence of int
    itemsize : int
        Of an entry as it is stored.
    copied : bool
        Whether the tensor has to be copied, to the device or there.
    """
    tensor = int(np.prod(shape, dtype=object)) * itemsize
    # The matrices of one axis, sums in three parts and what is made of them, and the smallest block.
    matrices = 6 * 8 * max(shape) ** 2
    block = 3 * 4 * max(shape) * (sorted(shape)[-2] if len(shape) > 1 else 1)
    return tensor * copied + matrices + block
