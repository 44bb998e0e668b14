"""The files that numpy writes, .npy and .npz, read by what they hold and never unpickled.

numpy makes room for what a header claims before it looks whether that much follows, and evaluates
the header as Python. Here the claim is compared with the file first, and the header is matched.
"""

from __future__ import annotations

import errno
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

import numpy as np

from haarbor.array_types import AnyArray
from haarbor.store._damaged_part import DamagedPartError

__all__ = ["NumpyArchive", "PickledObjectsError", "mapped_array"]

_MAGIC = b"\x93NUMPY"
_MOST_HEADER_BYTES = 10_000
_MOST_AXES = 32
_NUMBERS = re.compile(r"[<>|=]?(b1|\?|[iu][1248]|f(2|4|8|12|16)|c(8|16|24|32))")
_ENTRY = re.compile(
    r"""\s*['"](descr|fortran_order|shape)['"]\s*:\s*"""
    r"""(?:['"]([^'"]*)['"]|(True|False)|\(([0-9L,\s]*)\))\s*(?:,|(?=\}))"""
)
# Deflate cannot make more out of a byte than this (RFC 1951: at best two bits for 258 bytes).
_MOST_INFLATION = 1032
_PART_BYTES = 2**20


class PickledObjectsError(DamagedPartError):
    """There are Python objects in a file, which would have to be unpickled."""


class _Header(NamedTuple):
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    order: Literal["C", "F"]
    n_bytes: int
    """Bytes that the array must have."""


def mapped_array(file: Path) -> AnyArray:
    """Array of a .npy file, mapped rather than read.

    Raises
    ------
    DamagedPartError
        If the file is not what it says; PickledObjectsError if it holds Python objects.
    """
    with file.open("rb") as stream:
        header = _header(stream)
        start = stream.tell()
    there = file.stat().st_size - start
    if there != header.n_bytes:
        raise DamagedPartError(f"{header.n_bytes} bytes of numbers must follow its header, and {there} do")
    if not header.n_bytes:
        return np.empty(header.shape, dtype=header.dtype)
    return np.memmap(file, dtype=header.dtype, mode="r", offset=start, shape=header.shape, order=header.order)


class NumpyArchive(Mapping[str, AnyArray]):
    """Arrays of a .npz file by name, each read when it is asked for.

    Parameters
    ----------
    file : Path

    Raises
    ------
    DamagedPartError
        If the file is not what it says, now or when an array is read; PickledObjectsError if it holds
        Python objects.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._size = file.stat().st_size
        with _readable(), zipfile.ZipFile(file) as archive:
            entries = [entry for entry in archive.infolist() if entry.filename.endswith(".npy")]
        self._entries = {entry.filename.removesuffix(".npy"): entry for entry in entries}
        if len(self._entries) != len(entries):
            raise DamagedPartError("two arrays in it have the same name")

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, name: str) -> AnyArray:
        entry = self._entries[name]
        with _readable(), zipfile.ZipFile(self._file) as archive:
            return self._read(archive, name, entry)

    def all_arrays(self) -> dict[str, AnyArray]:
        """Every array by name; the list of contents is read once for all of them."""
        with _readable(), zipfile.ZipFile(self._file) as archive:
            return {name: self._read(archive, name, entry) for name, entry in self._entries.items()}

    def _read(self, archive: zipfile.ZipFile, name: str, entry: zipfile.ZipInfo) -> AnyArray:
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DamagedPartError(f"{name!r} in it is compressed in a way that numpy does not use")
        most = min(entry.compress_size, self._size) * _MOST_INFLATION
        if entry.file_size > most + _MOST_HEADER_BYTES:
            raise DamagedPartError(f"{name!r} in it claims to be larger than it can be")
        with archive.open(entry) as stream:
            header = _header(stream)
            there = entry.file_size - stream.tell()
            if there != header.n_bytes:
                raise DamagedPartError(
                    f"{header.n_bytes} bytes of numbers must follow the header of {name!r}, and {there} do"
                )
            values = _filled(stream, header.n_bytes)
        return values.view(header.dtype).reshape(header.shape, order=header.order)


def _filled(stream: IO[bytes], n_bytes: int) -> AnyArray:
    values = np.empty(n_bytes, dtype=np.uint8)
    place = 0
    # One part beyond the end, where the archive's own checksum is compared.
    while part := stream.read(_PART_BYTES):
        if place + len(part) > n_bytes:
            raise DamagedPartError("it holds more than it says")
        values[place : place + len(part)] = np.frombuffer(part, dtype=np.uint8)
        place += len(part)
    if place != n_bytes:
        raise DamagedPartError("it is cut off")
    return values


def _header(stream: IO[bytes]) -> _Header:
    start = stream.read(8)
    if start[:1] == b"\x80":
        raise PickledObjectsError("it is a pickle")
    if len(start) < 8 or start[:6] != _MAGIC or start[6] not in (1, 2):
        raise DamagedPartError("it does not begin as numpy's files do")
    length = int.from_bytes(stream.read(2 if start[6] == 1 else 4), "little")
    if length > _MOST_HEADER_BYTES:
        raise DamagedPartError(f"its header claims {length} bytes")
    text = stream.read(length)
    if len(text) != length:
        raise DamagedPartError("its header is cut off")
    return _parsed(text.decode("latin1"))


def _parsed(text: str) -> _Header:
    found: dict[str, re.Match[str]] = {}
    place = 1
    while entry := _ENTRY.match(text, place):
        found[entry[1]] = entry
        place = entry.end()
    if not text.startswith("{") or text[place:].strip() != "}" or len(found) != 3:
        raise DamagedPartError("its header does not describe an array of numbers")
    name, is_fortran, sizes = found["descr"][2], found["fortran_order"][3], found["shape"][4]
    if name is None or is_fortran is None or sizes is None:
        raise DamagedPartError("its header does not describe an array of numbers")
    if name.lstrip("<>|=") == "O":
        raise PickledObjectsError("it holds Python objects")
    if _NUMBERS.fullmatch(name) is None:
        raise DamagedPartError(f"it holds no numbers but {name[:40]!r}")
    shape = tuple(_size(part) for part in sizes.split(",") if part.strip())
    try:
        dtype: np.dtype[Any] = np.dtype(name)
    except TypeError:
        raise DamagedPartError(f"this computer has no numbers of the type {name!r}") from None
    # An axis without entries makes the array empty, and the others are still to be possible.
    if len(shape) > _MOST_AXES or math.prod(max(1, size) for size in shape) * dtype.itemsize >= 2**62:
        raise DamagedPartError("it claims a shape that no array has")
    return _Header(dtype, shape, "F" if is_fortran == "True" else "C", math.prod(shape) * dtype.itemsize)


def _size(text: str) -> int:
    digits = text.strip().removesuffix("L")
    if not digits.isdecimal() or len(digits) > 20:
        raise DamagedPartError("it claims a shape that no array has")
    return int(digits)


@contextmanager
def _readable() -> Iterator[None]:
    """Turn every error of the standard library about a damaged archive into DamagedPartError."""
    strange = (
        zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error, ValueError, EOFError,
        IndexError, KeyError, RuntimeError, OverflowError, MemoryError,
    )  # fmt: skip
    try:
        yield
    except DamagedPartError:
        raise
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        raise DamagedPartError("its table of contents leads nowhere") from None
    except strange as error:
        reason = str(error).split("\n")[0].rstrip(".") or type(error).__name__
        raise DamagedPartError(reason) from None
