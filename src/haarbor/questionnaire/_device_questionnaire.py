"""The loop of a questionnaire with the tensor on a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from haarbor.array_types import FloatArray
from haarbor.binary_scale import excess_exponent
from haarbor.engines import GpuEngine, numbers_in_memory_order
from haarbor.questionnaire._held_tensor import axis_roles
from haarbor.questionnaire._organization import Organization
from haarbor.questionnaire._questionnaire import Questionnaire
from haarbor.questionnaire._settings import QuestionnaireSettings
from haarbor.spectral import (
    SMALL_SQUARES,
    affinity_of_products,
    cosine_affinity,
    device_spectrum,
    kernel_of_distances,
)
from haarbor.transport import DeviceFolderMeans, device_bytes
from haarbor.trees import PartitionTree, flexible_tree

__all__ = ["DeviceQuestionnaire", "DeviceTensor"]

# From this number of items on, a device finds eigenpairs sooner than one core of the host.
_MANY_ITEMS = 96


class DeviceTensor:
    """A tensor on a device; see `haarbor.questionnaire._organize`.

    Parameters
    ----------
    tensor : array of float16, float32 or float64 on the device
    settings : QuestionnaireSettings
    engine : GpuEngine
    """

    def __init__(self, tensor: Any, settings: QuestionnaireSettings, engine: GpuEngine) -> None:
        self.shape = tensor.shape
        self.gpu = engine
        self.settings = settings
        self._tensor = tensor
        self.exponent = self._excess_exponent()
        first, last = axis_roles(settings.axes)
        order = [settings.axes.index(axis) for axis in (*first, last)]
        ordinary = engine.device.xp.ldexp(tensor, -self.exponent) if self.exponent else tensor
        self._means = DeviceFolderMeans(ordinary.transpose(order), (*first, last), engine)

    def means(self) -> DeviceFolderMeans:
        """Folder means of the tensor over two to the power of `exponent`, the last axis last."""
        return self._means

    def initial_affinity(self, axis: str) -> FloatArray:
        """First affinity between the slices of an axis."""
        if self.settings.initial == "cosine" and not self.exponent:
            inner, overlap = self._products(axis)
            # Squares of float32 are never too small for float64.
            if self.settings.precision == "float32" or (np.diagonal(overlap) >= SMALL_SQUARES).all():
                return affinity_of_products(inner, overlap)
        elif self.settings.initial == "gaussian":
            return kernel_of_distances(self._euclidean(axis), self.exponent)
        # Slices of very large or very small numbers are scaled one by one, on the host.
        host = self.gpu.device.on_host(self._tensor)
        return cosine_affinity(host, axis, axes=self.settings.axes)

    def _excess_exponent(self) -> int:
        tensor = self._tensor
        # The largest number of half precision is ordinary, and its smallest are too.
        if tensor.dtype == np.float16:
            return 0
        lowest, highest = self.gpu.device.extremes(numbers_in_memory_order(tensor, self.gpu.device))
        return excess_exponent(np.array(max(highest, -lowest), tensor.dtype))

    def _products(self, axis: str) -> tuple[FloatArray, FloatArray]:
        """Inner products of the slices of an axis, and sums of their squares over the entries of another."""
        xp = self.gpu.device.xp
        n_items = self._means.n_items(axis)
        inner, overlap = xp.zeros((n_items, n_items)), xp.zeros((n_items, n_items))
        for block in self._means.slices(axis):
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
        n_items = self._means.n_items(axis)
        total = device.xp.zeros((n_items, n_items))
        for block in self._means.slices(axis):
            device.add_pair_sums(block, n_items, total, square=True)
        distances: FloatArray = np.sqrt(device.on_host(total))
        return distances


class DeviceQuestionnaire(Questionnaire):
    """A questionnaire whose tensor, folder means, sums and affinities are on a device.

    Trees are built on the host, from eigenpairs that come from the device unless there are few items.

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
        engine.require_memory(
            device_bytes(tensor.shape, tensor.dtype.itemsize, copied=isinstance(tensor, np.ndarray)),
            f"the questionnaire of a tensor of shape {tensor.shape}",
        )
        with engine.device.one_line_errors():
            source = DeviceTensor(engine.device_array(tensor), settings, engine)
            super().__init__(source, settings, engine, start)

    def answer(self) -> Organization:
        """Trees after all iterations."""
        with self.gpu.device.one_line_errors():
            return super().answer()

    def _tree(self, affinity: Any) -> PartitionTree:
        if self.settings.tree != "flexible" or affinity.shape[0] < _MANY_ITEMS:
            return super()._tree(self._on_host(affinity))
        device = self.gpu.device
        spectrum = device_spectrum(device.xp.asarray(affinity), device)
        return flexible_tree(spectrum, self.settings.tree_constant)

    def _affinity(self, axis: str, trees: Mapping[str, PartitionTree]) -> Any:
        # It stays on the device: only the last one of every axis is needed on the host.
        xp = self.gpu.device.xp
        distances = self.emd.distances(axis, trees)
        scale = float(xp.median(distances))
        ratios = distances / scale if scale > 0 else xp.ldexp(distances, self.exponent)
        return xp.exp(-ratios)

    def _on_host(self, affinity: Any) -> FloatArray:
        on_host: FloatArray = self.gpu.device.on_host(affinity)
        return on_host
