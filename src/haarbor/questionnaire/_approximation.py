"""Distances from some folders drawn at random, where that was asked for."""

from __future__ import annotations

from haarbor.engines import CpuEngine, L1Engine, SampledEngine
from haarbor.errors import SettingError

__all__ = ["sampled_engine"]


def sampled_engine(summing: L1Engine, n_folders: int, *, is_chosen: bool, is_held: bool) -> SampledEngine:
    """Engine that draws folders at random, on the cores of this machine.

    Parameters
    ----------
    summing : L1Engine
        What was asked for, or picked.
    n_folders : int
        How many are drawn for every matrix of distances.
    is_chosen : bool
        Whether the user chose the engine.
    is_held : bool
        Whether the tensor is held in the memory of this process, and not read in blocks or on a GPU.

    Returns
    -------
    SampledEngine

    Raises
    ------
    SettingError
        If the engine or the tensor is of another kind.
    """
    if not is_chosen and not isinstance(summing, CpuEngine):
        summing = CpuEngine()
    if not is_held or not isinstance(summing, CpuEngine):
        found = f"engine {summing.name!r}" if is_held else "one that is read in blocks, or on a GPU"
        raise SettingError(
            "approximate must go with engine='cpu', and with a tensor that is held in memory; found "
            f"{found}. Leave one out."
        )
    return SampledEngine(summing, n_folders)
