"""A tensor in a file, for tensors that do not fit into memory."""

from __future__ import annotations

import math
import shutil
import tempfile
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from haarbor.array_types import AnyArray, FloatArray
from haarbor.errors import StoreError
from haarbor.memory import bytes_text

__all__ = ["ScratchTensor"]


class ScratchTensor:
    """Array of three axes in a file of its own, which is gone when the object is, or the process.

    Plain numbers, not compressed: any run of them is read without reading the rest. Several threads may
    read and write.

    Parameters
    ----------
    shape : (int, int, int)
    dtype : dtype

    Raises
    ------
    StoreError
        If the folder for temporary files has no room for it.
    """

    def __init__(self, shape: Sequence[int], dtype: np.dtype[Any]) -> None:
        self.shape = tuple(shape)
        self.dtype = dtype
        needed = math.prod(self.shape) * dtype.itemsize
        folder = tempfile.gettempdir()
        free = shutil.disk_usage(folder).free
        if needed > free:
            raise StoreError(
                f"a tensor that does not fit into memory needs {bytes_text(needed)} in the folder for "
                f"temporary files; {folder} has {bytes_text(free)} left. Set TMPDIR to a folder with more."
            )
        self._file = tempfile.TemporaryFile(buffering=0, prefix="haarbor-")  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """Bytes of the whole tensor."""
        return math.prod(self.shape) * self.dtype.itemsize

    def write(self, place: Sequence[int], values: AnyArray) -> None:
        """Write a run of numbers that begins at the given index of each axis."""
        data = np.ascontiguousarray(values, self.dtype).data.cast("B")
        with self._lock:
            self._file.seek(self._offset(place))
            while len(data):
                try:
                    data = data[self._file.write(data) :]
                except OSError as error:
                    raise StoreError(
                        f"the folder for temporary files must take {bytes_text(self.nbytes)}; writing there "
                        f"failed: {error.strerror}. Set TMPDIR to a folder with more room."
                    ) from None

    def read(self, place: Sequence[int], out: FloatArray) -> None:
        """Fill `out`, which is contiguous, with the run of numbers that begins at the given indices."""
        data = out.data.cast("B")
        with self._lock:
            self._file.seek(self._offset(place))
            while len(data):
                count = self._file.readinto(data)
                if not count:
                    raise StoreError(
                        "a temporary file must stay as it was written; it ends too early. Organise again."
                    )
                data = data[count:]

    def _offset(self, place: Sequence[int]) -> int:
        # By hand, because there may be millions of short runs.
        return ((place[0] * self.shape[1] + place[1]) * self.shape[2] + place[2]) * self.dtype.itemsize
