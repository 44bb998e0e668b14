"""Sums of absolute differences on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from haarbor.array_types import FloatArray
from haarbor.engines._cuda_device import CudaDevice
from haarbor.engines._device import Device
from haarbor.engines._device_arrays import device_array
from haarbor.engines._engine import FeatureBlock
from haarbor.errors import EngineError
from haarbor.memory import bytes_text

__all__ = ["GpuEngine"]

# Folder means that are on the device at a time. More would not make their sums any quicker.
_CHUNK_BYTES = 1 << 30


class GpuEngine:
    r"""Engine on a CUDA device, through CuPy.

    Given to :func:`haarbor.organize` it keeps the tensor on the device, and folder means, their sums and
    affinities are formed there; trees are built from them on the host. Any block of features can be
    summed too.

    Parameters
    ----------
    device : Device, optional
        By default the current CUDA device.

    Raises
    ------
    EngineError
        If CuPy is not installed, or there is no device.

    See Also
    --------
    haarbor.CpuEngine : The cores of this machine.
    haarbor.ClusterEngine : Workers of Dask.

    Notes
    -----
    float64 is summed in float64. float16 and float32 are summed in float32 over runs of at most 2048
    features, and the runs are added in float64, in a fixed order: the same input gives the same bits on the
    same device. The relative error of a sum is at most :math:`2049 \cdot 2^{-24}`, about
    :math:`1.2 \cdot 10^{-4}`, and in practice near :math:`10^{-7}`.
    """

    def __init__(self, device: Device | None = None) -> None:
        self.device: Device = CudaDevice() if device is None else device

    @property
    def name(self) -> str:
        """Short name for settings and logs."""
        return "gpu"

    def __reduce__(self) -> tuple[type[GpuEngine], tuple[()]]:
        # An engine in another process uses the device of that process.
        return (GpuEngine, ())

    def __repr__(self) -> str:
        return f"GpuEngine({self.device.name})"

    @property
    def chunk_bytes(self) -> int:
        """Bytes that the folder means of one step should take."""
        return min(_CHUNK_BYTES, max(1 << 20, self.device.free_bytes() // 6))

    def require_memory(self, n_bytes: int, holding: str) -> None:
        """Raise if the device has not got so many bytes left.

        Raises
        ------
        EngineError
        """
        free = self.device.free_bytes()
        if n_bytes > free:
            raise EngineError(
                f"what is held on the GPU must fit into its memory; {holding} would take "
                f"{bytes_text(n_bytes)}, and {bytes_text(free)} are free on {self.device.name}. Use "
                "engine='cpu', or free memory there."
            )

    def device_array(self, given: Any) -> Any:
        """`given` on the device; an array that is there already is not copied."""
        return device_array(given, self.device)

    def l1_sums(self, blocks: Sequence[FeatureBlock], n_items: int, n_targets: int) -> FloatArray:
        """L1 distances between rows, summed over all blocks; see `L1Engine.l1_sums`."""
        xp = self.device.xp
        with self.device.one_line_errors():
            total = xp.zeros((n_targets, n_items, n_items))
            for block in blocks:
                width = int(block.section_ends[-1])
                rows = np.empty((n_items, width), block.dtype)
                block.write_means(rows)
                features = xp.zeros((width, self.device.tiles(n_items, rows.dtype).pitch), rows.dtype)
                features[:, :n_items] = xp.asarray(rows).T
                begin = 0
                for end, target in zip(block.section_ends, block.section_targets, strict=True):
                    self.device.add_pair_sums(features[begin:end], n_items, total[target])
                    begin = end
            sums: FloatArray = self.device.on_host(total)
        return sums
