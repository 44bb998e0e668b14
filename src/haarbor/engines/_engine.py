"""Interface of the engines that sum absolute differences, and what they return, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from haarbor.array_types import FloatArray, IntArray, real_array
from haarbor.errors import EngineError

__all__ = ["FeatureBlock", "L1Engine", "checked_sums"]


class FeatureBlock(Protocol):
    """A block of weighted folder means, which are computed on demand and not kept."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""

    @property
    def section_ends(self) -> IntArray:
        """Columns at which the sections of the block end, increasing, the last one its width.

        Engines may skip the zeros at the beginning and at the end of a row within a section.
        """

    @property
    def section_targets(self) -> IntArray:
        """Which of the distance matrices each section adds to."""

    def write_means(self, out: FloatArray) -> None:
        """Write the weighted folder means into `out`, shape (n_items, width), C order."""


@runtime_checkable
class L1Engine(Protocol):
    """Sums of absolute differences over blocks of features.

    See Also
    --------
    haarbor.CpuEngine : The cores of this machine.
    haarbor.GpuEngine : A CUDA device.
    haarbor.ClusterEngine : Workers of Dask.
    """

    @property
    def name(self) -> str:
        """Short name for settings and logs."""

    def l1_sums(self, blocks: Sequence[FeatureBlock], n_items: int, n_targets: int) -> FloatArray:
        """L1 distances between rows, summed over the sections of all blocks.

        Parameters
        ----------
        blocks : sequence of FeatureBlock
        n_items : int
            Number of rows of every block.
        n_targets : int
            Number of distance matrices the sections add to.

        Returns
        -------
        ndarray of float64, shape (n_targets, n_items, n_items)
            Symmetric, zero diagonal. Partial matrices are added in the order of the blocks, so
            that the result does not depend on how many workers formed them.
        """


def checked_sums(sums: object, engine: L1Engine, n_items: int, n_targets: int) -> FloatArray:
    """The result of `l1_sums` of an engine, after checking that it can be distances.

    Raises
    ------
    EngineError
        If it has another shape, or an entry is negative or not finite.
    """
    expected = (n_targets, n_items, n_items)
    name = f"what l1_sums of engine {engine.name!r} returns"
    array = real_array(sums, name)
    if array.shape != expected:
        raise EngineError(
            f"{name} must have shape {expected}, (targets, items, items); found {array.shape}. "
            "Correct the engine."
        )
    # A comparison with NaN is false, so that this is true of usable numbers only.
    if array.size and not (array.min() >= 0 and array.max() < np.inf):
        usable = np.isfinite(array) & (array >= 0)
        place = tuple(int(i) for i in np.argwhere(~usable)[0])
        raise EngineError(
            f"{name} must be finite and non-negative; found {array[place]} at {place}. Correct the engine."
        )
    return array.astype(np.float64, copy=False)
