"""Names for the arrays that cross module borders, and the rule that results are read-only."""

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ["AnyArray", "BoolArray", "ByteArray", "FloatArray", "IntArray", "frozen"]

FloatArray = npt.NDArray[np.floating[Any]]
IntArray = npt.NDArray[np.integer[Any]]
BoolArray = npt.NDArray[np.bool_]
ByteArray = npt.NDArray[np.uint8]
AnyArray = npt.NDArray[Any]

_Array = TypeVar("_Array", bound=AnyArray)


def frozen(array: _Array) -> _Array:
    """Return `array` with writing switched off; the caller gives up the right to change it."""
    array.setflags(write=False)
    return array
