"""Who sums the absolute differences: one small interface, so that a GPU or a cluster can do it too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from haarbor.array_types import FloatArray, IntArray
from haarbor.errors import EngineError, SettingError

__all__ = ["FeatureBlock", "L1Engine", "engine_named"]


class FeatureBlock(Protocol):
    """A block of weighted folder means, formed when it is asked for and not kept."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""

    @property
    def section_ends(self) -> IntArray:
        """Columns at which the sections of the block end, increasing, the last one its width.

        Engines may skip the zeros with which a row begins or ends within a section.
        """

    @property
    def section_targets(self) -> IntArray:
        """Which of the distance matrices each section adds to."""

    def write_means(self, out: FloatArray) -> None:
        """Write the weighted folder means into `out`, shape (n_items, width), C order."""


@runtime_checkable
class L1Engine(Protocol):
    """Sums of absolute differences over blocks of features."""

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


def engine_named(engine: str | L1Engine) -> L1Engine:
    """Engine for a name, or the engine itself.

    Parameters
    ----------
    engine : {"auto", "cpu", "gpu"} or an object with `l1_sums`

    Raises
    ------
    EngineError
        If the engine cannot run here.
    SettingError
        If there is no such engine.
    """
    from haarbor.engines.cpu import CpuEngine

    if not isinstance(engine, str):
        if isinstance(engine, L1Engine):
            return engine
        raise SettingError(
            f"an engine object must have a name and an l1_sums method; found {type(engine).__name__}. "
            "Pass engine='auto' or an object like haarbor.CpuEngine()."
        )
    if engine in ("auto", "cpu"):
        return CpuEngine()
    if engine == "gpu":
        raise EngineError(
            "engine='gpu' is not part of this version of Haarbor; use engine='cpu', or pass an "
            "object with an l1_sums method of your own."
        )
    raise SettingError(f"engine must be 'auto', 'cpu', 'gpu' or an engine object; found {engine!r}.")
