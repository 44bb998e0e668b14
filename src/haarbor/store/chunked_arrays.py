"""zarr arrays as a run uses them: compressed, checksummed, and never read where nothing was written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from haarbor.array_types import AnyArray
from haarbor.errors import StoreError
from haarbor.store.failures import storage_failures
from haarbor.store.keys import Keys

if TYPE_CHECKING:
    from zarr import Array

__all__ = ["DamagedChunkError", "checksum", "existing_array", "new_array", "read_chunk", "write_chunk"]

# Higher levels gain no size on attention: level 9 is ten times slower for the same bytes.
_COMPRESSION_LEVEL = 1
_CHECKSUM_BYTES = 4
# A chunk of zeros is written too: a chunk that is not there is damage, not zeros.
_WRITE_ALL: Any = {"write_empty_chunks": True}


class DamagedChunkError(Exception):
    """A chunk does not hold what was written; the caller knows which and says so."""


def new_array(
    keys: Keys,
    path: str,
    *,
    shape: Sequence[int],
    chunks: Sequence[int],
    dtype: str,
    axes: Sequence[str] | None = None,
) -> Array[Any]:
    """Empty array at `path`: little-endian bytes, zstd, then crc32c over the compressed chunk."""
    import zarr
    from zarr.codecs import BytesCodec, Crc32cCodec, ZstdCodec

    with storage_failures(f"creating {keys.address}/{path}"):
        return zarr.create_array(
            store=keys.zarr_store,
            name=path,
            shape=tuple(shape),
            chunks=tuple(chunks),
            dtype=dtype,
            serializer=BytesCodec(endian="little"),
            compressors=[ZstdCodec(level=_COMPRESSION_LEVEL), Crc32cCodec()],
            fill_value=0,
            zarr_format=3,
            chunk_key_encoding={"name": "default", "separator": "."},
            dimension_names=None if axes is None else list(axes),
            config=_WRITE_ALL,
        )


def existing_array(keys: Keys, path: str, *, read_only: bool) -> Array[Any]:
    """Array at `path`.

    Raises
    ------
    StoreError
        If there is none, or its description cannot be read.
    """
    import zarr

    try:
        return zarr.open_array(
            store=keys.zarr_store,
            path=path,
            mode="r" if read_only else "r+",
            zarr_format=3,
            config=_WRITE_ALL,
        )
    except (FileNotFoundError, ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"the array {path!r} of {keys.address} must be readable; {type(error).__name__}: {error}. "
            "Open the run with create_run(..., repair=True) to describe it anew."
        ) from error


def checksum(keys: Keys, key: str) -> str | None:
    """crc32c that ends a chunk, as hexadecimal text; None if there is no such chunk."""
    tail = keys.tail(key, _CHECKSUM_BYTES)
    return None if tail is None else tail.hex()


def write_chunk(array: Array[Any], index: tuple[int, ...], values: AnyArray) -> None:
    """Write one whole chunk."""
    array[index] = values


def read_chunk(keys: Keys, array: Array[Any], index: tuple[int, ...], key: str, expected: str) -> AnyArray:
    """Values of one whole chunk, checked.

    Parameters
    ----------
    keys : Keys
    array : zarr.Array
    index : tuple of int
        Place of the chunk along the first axes.
    key : str
        Key of the chunk.
    expected : str
        Checksum it had when it was written.

    Raises
    ------
    DamagedChunkError
        If it is gone, is another chunk than the one written, or has changed; the message says which.
    """
    found = checksum(keys, key)
    if found is None:
        raise DamagedChunkError("the chunk is missing")
    if found != expected:
        raise DamagedChunkError(f"the checksum is {found}, and {expected} was written")
    try:
        with storage_failures(f"reading {keys.address}/{key}"):
            return np.asarray(array[index])
    except StoreError:
        raise
    except Exception as error:  # whatever a codec raises on bytes it cannot decode
        raise DamagedChunkError(str(error)) from error
