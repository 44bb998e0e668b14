"""Checks of a tensor that lies on a GPU, without bringing it to the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from haarbor.engines import Device, numbers_in_memory_order
from haarbor.errors import DataError, ShapeError
from haarbor.named_axes import position_text
from haarbor.questionnaire._masked_entries import FLOORS

__all__ = ["checked_device_tensor"]


def checked_device_tensor(tensor: Any, axes: Sequence[str], device: Device) -> Any:
    """The tensor, after checking that it has the axes, and a value that can be used everywhere.

    Parameters
    ----------
    tensor : array of float16, float32 or float64 on the device
    axes : sequence of str
    device : Device

    Raises
    ------
    ShapeError
        If it has other axes, or an empty one.
    DataError
        If an entry is not finite, or the lowest number of a floating-point type.
    """
    if tensor.ndim != len(axes):
        raise ShapeError(
            f"the tensor must have the axes {tuple(axes)}; found shape {tuple(tensor.shape)}. "
            "Name its axes with axes=(...)."
        )
    if 0 in tensor.shape:
        raise ShapeError(
            f"every axis must hold at least one item; found shape {tuple(tensor.shape)}. "
            f"Axis {axes[tensor.shape.index(0)]!r} is empty."
        )
    xp = device.xp
    lowest, highest = device.extremes(numbers_in_memory_order(tensor, device))
    if not np.isfinite(lowest) or not np.isfinite(highest):
        bad = ~xp.isfinite(tensor)
        place = np.unravel_index(int(xp.argmax(bad)), tensor.shape)
        raise DataError(
            f"every entry must be finite; found {float(tensor[place])} at ({position_text(place, axes)}), "
            f"{int(bad.sum())} such entries in all. Entries that are masked in the network have no value: "
            "pass mask=(valid query, key entries). Drop or replace others."
        )
    if lowest in FLOORS:
        place = np.unravel_index(int(xp.argmin(tensor)), tensor.shape)
        raise DataError(
            f"every entry must be a value of its own; found {lowest:.6g} at ({position_text(place, axes)}), "
            "the lowest number of its type, which networks write where a key is masked. "
            "Pass mask=(valid query, key entries)."
        )
    return tensor
