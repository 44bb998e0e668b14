"""The small picture of a batch: what a vision network saw."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from haarbor.array_types import AnyArray, ByteArray, frozen
from haarbor.errors import ShapeError, StoreError
from haarbor.store.batch_marker import BatchMarker
from haarbor.store.chunked_arrays import (
    DamagedChunkError,
    checksum,
    existing_array,
    new_array,
    read_chunk,
    write_chunk,
)
from haarbor.store.failures import storage_failures
from haarbor.store.keys import Keys
from haarbor.store.layout import METADATA, PICTURES, group_document, picture_path

__all__ = ["MOST_PIXELS", "checked_picture", "read_picture", "stored_picture", "written_picture"]

MOST_PIXELS = 224
"""Longest side of a picture: it is there to be looked at, not to be computed with."""

_AXES = ("height", "width", "channel")


def checked_picture(picture: npt.ArrayLike) -> ByteArray:
    """Picture that can be stored, as a copy of its own.

    Parameters
    ----------
    picture : array_like of uint8, shape (height, width, 3)

    Returns
    -------
    ndarray of uint8, shape (height, width, 3)

    Raises
    ------
    ShapeError
        If it is of another dtype or shape, or larger than 224 pixels on a side.

    Examples
    --------
    >>> checked_picture(np.zeros((2, 4, 3), dtype=np.uint8)).shape
    (2, 4, 3)
    """
    array: AnyArray = np.asarray(picture)
    fits = array.ndim == 3 and array.shape[2] == 3 and 0 not in array.shape
    if array.dtype != np.uint8 or not fits or max(array.shape) > MOST_PIXELS:
        raise ShapeError(
            f"a picture must be uint8 of shape (height, width, 3), at most {MOST_PIXELS} pixels on a side; "
            f"found {array.dtype} of shape {array.shape}. Undo the normalisation and make it smaller."
        )
    return np.array(array, dtype=np.uint8, order="C")


def stored_picture(keys: Keys, batch: int, picture: ByteArray) -> str:
    """Write the picture of a batch, durably; its checksum."""
    path, group = picture_path(batch), f"{PICTURES}/{METADATA}"
    if keys.read(group) is None:
        # Only where there are pictures: other runs stay as they were.
        keys.write(group, group_document({}))
    with storage_failures(f"writing the picture of batch {batch} to {keys.address}"):
        array = new_array(keys, path, shape=picture.shape, chunks=picture.shape, dtype="uint8", axes=_AXES)
        write_chunk(array, (), picture)
        written = checksum(keys, _chunk(path))
    if written is None:
        raise StoreError(
            f"the picture of batch {batch} must be there once written; {_chunk(path)} of {keys.address} is "
            "gone. See that nothing else removes files there."
        )
    keys.make_durable([f"{path}/{METADATA}", _chunk(path)])
    return written


def written_picture(marker: BatchMarker) -> str | None:
    """Checksum of the picture of a batch; None where the batch has no picture."""
    found = marker.checksums.get(picture_path(marker.batch))
    return None if found is None else found[0]


def read_picture(keys: Keys, marker: BatchMarker) -> ByteArray | None:
    """Picture of a batch; None where it has none.

    Raises
    ------
    DamagedChunkError
        If it does not hold what was written.
    StoreError
        If its description cannot be read.
    """
    expected = written_picture(marker)
    if expected is None:
        return None
    path = picture_path(marker.batch)
    array = existing_array(keys, path, read_only=True)
    values: ByteArray = read_chunk(keys, array, (), _chunk(path), expected)
    if values.dtype != np.uint8 or values.ndim != 3 or values.shape[2] != 3:
        raise DamagedChunkError(f"it is {values.dtype} of shape {values.shape}, which no picture is")
    return frozen(values)


def _chunk(path: str) -> str:
    return f"{path}/c.0.0.0"
