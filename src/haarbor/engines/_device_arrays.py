"""Arrays that lie on a CUDA device: recognised without importing what made them, and taken without a copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from haarbor.errors import EngineError, ShapeError

__all__ = ["device_array", "device_arrays", "is_on_device", "numbers_in_memory_order"]

# DLPack's numbers for CUDA memory, and for CUDA memory that the host can read too.
_CUDA = (2, 13)
# Bytes: no type of numbers asks for more.
_ALIGNED = 16


def is_on_device(given: object) -> bool:
    """Whether an array lies on a CUDA device: of torch, CuPy, JAX, or anything that speaks DLPack.

    Examples
    --------
    >>> is_on_device(np.zeros(3))
    False
    """
    if isinstance(given, np.ndarray | list | tuple):
        return False
    if hasattr(type(given), "__cuda_array_interface__") and getattr(given, "is_cuda", True):
        return True
    ask = getattr(given, "__dlpack_device__", None)
    if ask is None:
        return False
    try:
        return int(ask()[0]) in _CUDA
    except Exception:
        # A tensor without memory of its own, on torch's meta device or sparse, refuses to answer.
        return False


def numbers_in_memory_order(array: Any, device: Any) -> Any:
    """All numbers of an array in one row, not copied unless there are gaps between them."""
    axes = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    return device.xp.ascontiguousarray(array.transpose(axes)).reshape(-1)


def device_arrays(arrays: Sequence[npt.NDArray[Any]], device: Any) -> list[Any]:
    """Several small arrays of the host as ones of the device's module, brought over together.

    A transfer of a few numbers takes as long as one of some thousands.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> given = [np.arange(3, dtype=np.int32), np.ones(2)]
    >>> [array.tolist() for array in device_arrays(given, SimpleNamespace(xp=np))]
    [[0, 1, 2], [1.0, 1.0]]
    """
    begins = np.cumsum([0, *(-(-array.nbytes // _ALIGNED) * _ALIGNED for array in arrays)]).tolist()
    packed = np.zeros(begins[-1], dtype=np.uint8)
    for array, begin in zip(arrays, begins, strict=False):
        packed[begin : begin + array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    there = device.xp.asarray(packed)
    return [
        there[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
        for array, begin in zip(arrays, begins, strict=False)
    ]


def device_array(given: Any, device: Any) -> Any:
    """`given` as an array of the device's module.

    Memory that is on the device already is shared by DLPack. What is on the host is copied there, and
    numbers of a type that the module does not have, bfloat16, are copied to float32.

    Parameters
    ----------
    given : array
    device : Device

    Raises
    ------
    ShapeError
        If the array does not hold real numbers.
    EngineError
        If it is on another device than the current one.
    """
    xp = device.xp
    if str(getattr(given, "dtype", "")) == "torch.bfloat16":
        given = given.float()
    if hasattr(given, "detach"):
        given = given.detach()
    array = given if isinstance(given, xp.ndarray) else None
    if array is None:
        shared = is_on_device(given) and hasattr(given, "__dlpack__")
        array = xp.from_dlpack(given) if shared else xp.asarray(given)
    place = getattr(getattr(array, "device", None), "id", device.number)
    if place != device.number:
        raise EngineError(
            f"the tensor must be on the current device, GPU {device.number}; found it on GPU {place}. "
            f"Make that the current one with torch.cuda.set_device({place}), or move the tensor."
        )
    if array.dtype.kind not in "fiub":
        raise ShapeError(
            f"the tensor must hold real numbers; found dtype {array.dtype}. "
            "Pass its real part, or convert it to float32."
        )
    # As on the host: integers and booleans become float64.
    return array if array.dtype.kind == "f" else array.astype(np.float64)
