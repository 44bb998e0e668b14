"""A chunk of numbers as bytes and back: little-endian, zstd, then crc32c over the compressed bytes.

The bytes are those that zarr's codecs of these names write. But they are decoded into memory of the
size that follows from the run's plan, never of a size that a file claims.
"""

from __future__ import annotations

import numpy as np

from haarbor.array_types import AnyArray
from haarbor.store._array_description import ArrayDescription
from haarbor.store._damaged_part import DamagedPartError
from haarbor.store._layout import COMPRESSION_LEVEL

__all__ = ["checksum_of", "decoded_chunk", "encoded_chunk", "most_chunk_bytes", "require_checksum"]

_CHECKSUM_BYTES = 4
_ZSTD = 0xFD2FB528


def encoded_chunk(description: ArrayDescription, values: AnyArray) -> bytes:
    """Bytes of a chunk."""
    import google_crc32c
    from numcodecs.zstd import Zstd  # type: ignore[import-untyped]

    plain = np.ascontiguousarray(values, dtype=description.stored_dtype)
    compressed = Zstd(level=COMPRESSION_LEVEL).encode(plain.reshape(-1).view(np.uint8))
    return b"".join((compressed, google_crc32c.value(compressed).to_bytes(_CHECKSUM_BYTES, "little")))


def checksum_of(data: bytes) -> str:
    """The crc32c that ends a chunk, as hexadecimal text."""
    return data[-_CHECKSUM_BYTES:].hex()


def most_chunk_bytes(description: ArrayDescription) -> int:
    """More bytes than a chunk can take, however badly it compresses."""
    return description.n_chunk_bytes + description.n_chunk_bytes // 128 + 1024


def require_checksum(data: bytes, expected: str) -> None:
    """Raise DamagedPartError unless these are the bytes that had this checksum when they were written."""
    import google_crc32c

    if len(data) <= _CHECKSUM_BYTES:
        raise DamagedPartError("the chunk is cut off")
    found = checksum_of(data)
    if found != expected:
        raise DamagedPartError(f"the checksum is {found}, and {expected} was written")
    computed = google_crc32c.value(np.frombuffer(data, dtype=np.uint8)[:-_CHECKSUM_BYTES])
    if computed != int.from_bytes(data[-_CHECKSUM_BYTES:], "little"):
        raise DamagedPartError("its bytes do not fit their checksum")


def decoded_chunk(description: ArrayDescription, data: bytes, expected: str) -> AnyArray:
    """Numbers of a chunk.

    Parameters
    ----------
    description : ArrayDescription
    data : bytes
    expected : str
        Checksum that the chunk had when it was written.

    Returns
    -------
    ndarray, of the shape and type that the description says

    Raises
    ------
    DamagedPartError
        If it is not the chunk that was written, has changed, or is of another size.
    """
    from numcodecs.zstd import Zstd

    require_checksum(data, expected)
    compressed = np.frombuffer(data, dtype=np.uint8)[:-_CHECKSUM_BYTES]
    size = _decompressed_size(data)
    if size != description.n_chunk_bytes:
        found = "an unknown number of" if size is None else size
        raise DamagedPartError(f"it holds {found} bytes of numbers, and not {description.n_chunk_bytes}")
    values = np.empty(description.n_chunk_bytes, dtype=np.uint8)
    try:
        Zstd().decode(compressed, out=values)
    except (RuntimeError, ValueError) as error:
        raise DamagedPartError(f"it cannot be decompressed ({error})") from None
    if description.dtype == "bool" and values.max(initial=0) > 1:
        raise DamagedPartError("it holds other values than true and false")
    return values.view(description.stored_dtype).reshape(description.chunk_shape)


def _decompressed_size(data: bytes) -> int | None:
    """Size that the header of a zstd frame gives (RFC 8878, section 3.1.1.1); None if it gives none."""
    if int.from_bytes(data[:4], "little") != _ZSTD or len(data) < 5:
        return None
    flags = data[4]
    is_single_segment = bool(flags & 0x20)
    start = 5 + (not is_single_segment) + (0, 1, 2, 4)[flags & 3]
    kind = flags >> 6
    width = (int(is_single_segment), 2, 4, 8)[kind]
    field = data[start : start + width]
    if not width or len(field) != width:
        return None
    return int.from_bytes(field, "little") + (256 if kind == 1 else 0)
