"""A .safetensors file: mapped into memory once, each tensor read when it is asked for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from haarbor.array_types import AnyArray
from haarbor.options import found_text
from haarbor.store._damaged_part import DamagedPartError
from haarbor.store._documents import parsed_json

__all__ = ["SafetensorsFile"]

_DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "i1",
    "U8": "u1",
    "BOOL": "?",
}
_WIDTHS = {name: np.dtype(dtype).itemsize for name, dtype in _DTYPES.items()}
_BFLOAT16 = "BF16"
_MOST_HEADER_BYTES = 10**8  # the limit of the format's own library
_MOST_AXES = 32


class _Place(NamedTuple):
    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


class SafetensorsFile(Mapping[str, AnyArray]):
    """Tensors of a file by name; bfloat16 becomes float32.

    Parameters
    ----------
    file : Path

    Raises
    ------
    DamagedPartError
        If the file is not what it says; when a tensor is asked for, if numpy has no such numbers.
    """

    def __init__(self, file: Path) -> None:
        size = file.stat().st_size
        with file.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if size < 8 or length > size - 8:
                raise DamagedPartError("its header is cut off")
            if length > _MOST_HEADER_BYTES:
                raise DamagedPartError(f"its header claims {length} bytes")
            header = parsed_json(stream.read(length))
        header.pop("__metadata__", None)
        start = 8 + length
        self._places = {name: _place(name, entry, start, size) for name, entry in header.items()}
        # One map for all tensors: one map per tensor would take a file handle each.
        self._bytes = np.memmap(file, dtype=np.uint8, mode="r")

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, name: str) -> AnyArray:
        place = self._places[name]
        data = np.asarray(self._bytes)[place.start : place.end]
        if place.dtype == _BFLOAT16:
            # bfloat16 is the upper half of a float32.
            halves = data.view("<u2").reshape(place.shape)
            return (halves.astype(np.uint32) << 16).view(np.float32)
        if place.dtype not in _DTYPES:
            raise DamagedPartError(
                f"{found_text(name)} in it is of type {found_text(place.dtype)}, which numpy does not have"
            )
        return data.view(_DTYPES[place.dtype]).reshape(place.shape)


def _place(name: str, entry: Any, start: int, size: int) -> _Place:
    try:
        dtype, shape, (begin, end) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
        sizes = (*shape, begin, end)
        if not isinstance(dtype, str) or not all(type(size) is int and 0 <= size < 2**62 for size in sizes):
            raise TypeError
    except (KeyError, TypeError, ValueError):
        raise DamagedPartError(f"the entry of {found_text(name)} lacks its type, shape or place") from None
    # Of types that numpy does not have only the place can be checked.
    width = 2 if dtype == _BFLOAT16 else _WIDTHS.get(dtype)
    fits = width is None or math.prod(shape) * width == end - begin
    if not fits or begin > end or start + end > size or len(shape) > _MOST_AXES:
        raise DamagedPartError(f"the bytes of {found_text(name)} do not fit its shape")
    if math.prod(max(1, n) for n in shape) >= 2**59:
        raise DamagedPartError(f"{found_text(name)} claims a shape that no array has")
    return _Place(dtype, shape, start + begin, start + end)
