"""Haar trees of a tensor on a GPU: expansions, distances, linkage and rotations there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from haarbor.array_types import FloatArray
from haarbor.binary_scale import excess_exponent
from haarbor.engines import GpuEngine, numbers_in_memory_order
from haarbor.questionnaire._descent import Descent
from haarbor.questionnaire._organization import Organization
from haarbor.questionnaire._settings import QuestionnaireSettings
from haarbor.trees import BinaryFolders, PartitionTree, device_row_distances, linked_folders
from haarbor.wavelets import device_coefficients, sum_of_sizes

__all__ = ["DeviceDescent", "haar_device_bytes"]


class DeviceDescent(Descent):
    """Haar trees of every axis in turn, with the tensor and the means of all folders on a device.

    The host keeps the distances between the items and finds which folders join next.

    Parameters
    ----------
    tensor : array of float16, float32 or float64, on the host or the device
        Finite, masked entries neutral.
    settings : QuestionnaireSettings
    engine : GpuEngine
    start : mapping of axis name to PartitionTree
    """

    def __init__(
        self,
        tensor: Any,
        settings: QuestionnaireSettings,
        engine: GpuEngine,
        start: Mapping[str, PartitionTree],
    ) -> None:
        engine.require_memory(
            haar_device_bytes(tensor.shape, tensor.dtype.itemsize, copied=isinstance(tensor, np.ndarray)),
            f"the Haar trees of a tensor of shape {tuple(tensor.shape)}",
        )
        with engine.device.one_line_errors():
            super().__init__(tensor, settings, engine, start)

    @property
    def _gpu(self) -> GpuEngine:
        return cast(GpuEngine, self.engine)

    def answer(self) -> Organization:
        """Trees after as many passes over all axes as lower the objective by enough."""
        with self._gpu.device.one_line_errors():
            return super().answer()

    def _take(self, tensor: Any) -> None:
        device = self._gpu.device
        held = self._gpu.device_array(tensor)
        self.exponent = 0
        # The largest number of half precision is ordinary, and its smallest are too.
        if held.dtype != np.float16:
            lowest, highest = device.extremes(numbers_in_memory_order(held, device))
            self.exponent = excess_exponent(np.array(max(highest, -lowest), held.dtype))
        self.tensor = device.xp.ldexp(held, -self.exponent) if self.exponent else held
        dtype = np.dtype(np.float64 if held.dtype == np.float64 else np.float32)
        self.memory = device.xp.empty(2 * held.size, dtype)

    def _expand(self, place: int, trees: Mapping[int, PartitionTree], rows: Any) -> None:
        coefficients = device_coefficients(self.tensor, trees, self._gpu)
        moved = self._gpu.device.xp.moveaxis(coefficients, place, 0)
        rows.reshape(moved.shape)[...] = moved

    def _norm(self, rows: Any, tree: PartitionTree) -> float:
        return sum_of_sizes(device_coefficients(rows, {0: tree}, self._gpu), self._gpu)

    def _distances(self, rows: Any) -> FloatArray:
        return device_row_distances(rows, self._gpu)

    def _linked(self, means: Any, distances: FloatArray) -> BinaryFolders:
        return linked_folders(means, distances, self._gpu.device)


def haar_device_bytes(shape: Sequence[int], itemsize: int, *, copied: bool) -> int:
    """Bytes of a device that the Haar trees of such a tensor need at the least.

    Parameters
    ----------
    shape : sequence of int
    itemsize : int
        Of an entry as it is stored.
    copied : bool
        Whether the tensor has to be copied to the device.

    Examples
    --------
    >>> haar_device_bytes((10, 10, 10), 4, copied=False)
    12800
    """
    n_entries = int(np.prod(shape, dtype=object))
    # The means of all folders, and the expanded tensor; distances between the items.
    return n_entries * (itemsize * copied + 3 * max(4, itemsize)) + 8 * max(shape) ** 2
