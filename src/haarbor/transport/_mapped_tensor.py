"""A tensor in a file that is there already, read where it lies."""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from haarbor.array_types import FloatArray
from haarbor.errors import StoreError

__all__ = ["MappedTensor", "mapped_tensor"]


class MappedTensor:
    """The numbers of a mapped (query, key, head) array, in the order (head, query, key) of its file.

    They are read, not mapped: pages of a mapped file count as memory of the process.

    Parameters
    ----------
    path : str
    offset : int
        Where in the file the first number is.
    shape : (int, int, int)
        Heads, queries, keys.
    stored : dtype
        float16, float32 or float64, as in the file.
    """

    def __init__(self, path: str, offset: int, shape: Sequence[int], stored: np.dtype[Any]) -> None:
        self.shape = tuple(shape)
        self.dtype = np.dtype(np.float64 if stored.itemsize > 4 else np.float32)
        self._stored = stored
        self._offset = offset
        self._file = Path(path).open("rb", buffering=0)  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """Bytes of the whole tensor in memory."""
        return math.prod(self.shape) * self.dtype.itemsize

    def read(self, place: Sequence[int], out: FloatArray) -> None:
        """Fill `out`, which is contiguous, with the run of numbers that begins at the given indices."""
        numbers = out if out.dtype == self._stored else np.empty(out.shape, self._stored)
        data = numbers.data.cast("B")
        # By hand, because there may be millions of short runs.
        first = (place[0] * self.shape[1] + place[1]) * self.shape[2] + place[2]
        with self._lock:
            self._file.seek(self._offset + first * self._stored.itemsize)
            while len(data):
                count = self._file.readinto(data)
                if not count:
                    raise StoreError(
                        f"{self._file.name} must stay as it is while it is organised; it ends too early. "
                        "Organise again."
                    )
                data = data[count:]
        if numbers is not out:
            out[...] = numbers


def mapped_tensor(X: Any) -> MappedTensor | None:
    """The file of a mapped (query, key, head) array, if its heads come first there; None for all else.

    Examples
    --------
    >>> mapped_tensor(np.zeros((2, 2, 3))) is None
    True
    """
    if not isinstance(X, np.memmap) or X.ndim != 3 or X.filename is None:
        return None
    by_head = X.transpose(2, 0, 1)
    known = X.dtype.kind == "f" and X.dtype.itemsize in (2, 4, 8) and X.dtype.isnative
    if not known or not by_head.flags.c_contiguous:
        return None
    root = X
    while isinstance(root.base, np.memmap):
        root = root.base
    # A part of a mapped array keeps the offset of the whole.
    offset = root.offset + X.ctypes.data - root.ctypes.data
    try:
        return MappedTensor(str(X.filename), offset, by_head.shape, X.dtype)
    except OSError:
        # Renamed or removed since it was mapped. What was mapped can still be copied.
        return None
