"""The loop of a questionnaire with the tensor on a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from haarbor.array_types import FloatArray
from haarbor.binary_scale import ORDINARY_EXPONENTS
from haarbor.engines import GpuEngine, numbers_in_memory_order
from haarbor.questionnaire._organization import Organization
from haarbor.questionnaire._organize import Questionnaire
from haarbor.questionnaire._reused_emd import ReusedEmd
from haarbor.questionnaire._settings import QuestionnaireSettings
from haarbor.spectral import SMALL_SQUARES, affinity_of_products, device_spectrum, kernel_of_distances
from haarbor.transport import DeviceFolderMeans, device_bytes
from haarbor.trees import PartitionTree, flexible_tree

__all__ = ["DeviceQuestionnaire"]

# From this number of items on, a device finds eigenpairs sooner than one core of the host.
_MANY_ITEMS = 96


class DeviceQuestionnaire(Questionnaire):
    """A questionnaire whose tensor, folder means, sums and affinities are on a device.

    Affinities come to the host, where the trees are built; the eigenpairs of large ones come from the device.

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
        self.gpu = engine
        self._last_affinity: tuple[FloatArray | None, Any] = (None, None)
        engine.require_memory(
            device_bytes(tensor.shape, tensor.dtype.itemsize, copied=isinstance(tensor, np.ndarray)),
            f"the questionnaire of a tensor of shape {tensor.shape}",
        )
        with engine.device.one_line_errors():
            super().__init__(engine.device_array(tensor), settings, engine, start)

    def answer(self) -> Organization:
        """Trees after all iterations."""
        with self.gpu.device.one_line_errors():
            return super().answer()

    def _excess_exponent(self, tensor: Any) -> int:
        # The largest number of half precision is ordinary, and its smallest are too.
        if tensor.dtype == np.float16:
            return 0
        lowest, highest = self.gpu.device.extremes(numbers_in_memory_order(tensor, self.gpu.device))
        largest = max(highest, -lowest)
        exponent = int(np.frexp(largest)[1])
        return exponent if largest > 0 and abs(exponent) > ORDINARY_EXPONENTS[tensor.dtype] else 0

    def _emd(self, tensor: Any) -> ReusedEmd:
        if self.exponent:
            tensor = self.gpu.device.xp.ldexp(tensor, -self.exponent)
        self.means = DeviceFolderMeans(tensor, (*self.first, self.last), self.gpu)
        exponents = {
            axis: (self.settings.alpha[axis], self.settings.beta[axis]) for axis in self.settings.axes
        }
        return ReusedEmd(self.means, exponents, self.gpu)

    def _initial_affinity(self, tensor: Any, axis: str) -> FloatArray:
        if self.settings.initial == "cosine" and not self.exponent:
            inner, overlap = self._products(axis)
            # Squares of float32 are never too small for float64.
            if self.settings.precision == "float32" or (np.diagonal(overlap) >= SMALL_SQUARES).all():
                return affinity_of_products(inner, overlap)
        elif self.settings.initial == "gaussian":
            return kernel_of_distances(self._euclidean(axis), self.exponent)
        # Slices of very large or very small numbers are scaled one by one, on the host.
        host = self.gpu.device.on_host(tensor)
        return super()._initial_affinity(host.astype(np.float32) if host.itemsize == 2 else host, axis)

    def _products(self, axis: str) -> tuple[FloatArray, FloatArray]:
        """Inner products of the slices of an axis, and sums of their squares over the entries of another."""
        xp = self.gpu.device.xp
        n_items = self.means.n_items(axis)
        inner, overlap = xp.zeros((n_items, n_items)), xp.zeros((n_items, n_items))
        for block in self.means.slices(axis):
            rows = block[:, :n_items]
            inner += rows.T @ rows
            squares = xp.square(rows)
            present = rows != 0
            if bool(present.all()):
                overlap += squares.sum(axis=0)[:, None]
            else:
                overlap += squares.T @ present.astype(rows.dtype)
        return self.gpu.device.on_host(inner), self.gpu.device.on_host(overlap)

    def _euclidean(self, axis: str) -> FloatArray:
        """Euclidean distances between the slices of an axis, of the scaled tensor."""
        device = self.gpu.device
        n_items = self.means.n_items(axis)
        total = device.xp.zeros((n_items, n_items))
        for block in self.means.slices(axis):
            device.add_pair_sums(block, n_items, total, square=True)
        distances: FloatArray = np.sqrt(device.on_host(total))
        return distances

    def _tree(self, affinity: FloatArray) -> PartitionTree:
        if self.settings.tree != "flexible" or affinity.shape[0] < _MANY_ITEMS:
            return super()._tree(affinity)
        device = self.gpu.device
        here, there = self._last_affinity
        spectrum = device_spectrum(there if here is affinity else device.xp.asarray(affinity), device)
        return flexible_tree(spectrum, self.settings.tree_constant)

    def _affinity(self, axis: str, trees: Mapping[str, PartitionTree]) -> FloatArray:
        xp = self.gpu.device.xp
        distances = self.emd.distances(axis, trees)
        scale = float(xp.median(distances))
        ratios = distances / scale if scale > 0 else xp.ldexp(distances, self.exponent)
        there = xp.exp(-ratios)
        affinity: FloatArray = self.gpu.device.on_host(there)
        # Its tree is built next, from what is on the device already.
        self._last_affinity = (affinity, there)
        return affinity
