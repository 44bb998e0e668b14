"""The small picture of a batch: what a vision network saw."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from haarbor.array_types import ByteArray, frozen
from haarbor.errors import ShapeError
from haarbor.store._array_description import ArrayDescription
from haarbor.store._batch_marker import BatchMarker
from haarbor.store._chunked_arrays import read_chunk, require_description, write_chunk, write_description
from haarbor.store._damaged_part import DamagedPartError
from haarbor.store._keys import Keys
from haarbor.store._layout import METADATA, PICTURES, only_chunk_key, picture_path
from haarbor.store._plain_array import plain_array
from haarbor.store._run_document import describe_group

__all__ = ["MOST_PIXELS", "checked_picture", "read_picture", "stored_picture"]

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
    array = plain_array(picture, "a picture")
    fits = array.ndim == 3 and array.shape[2] == 3 and 0 not in array.shape
    if array.dtype != np.uint8 or not fits or max(array.shape) > MOST_PIXELS:
        raise ShapeError(
            f"a picture must be uint8 of shape (height, width, 3), at most {MOST_PIXELS} pixels on a side; "
            f"found {array.dtype} of shape {array.shape}. Undo the normalisation and make it smaller."
        )
    return np.array(array, dtype=np.uint8, order="C")


def stored_picture(keys: Keys, batch: int, picture: ByteArray) -> str:
    """Write the picture of a batch so that it survives a loss of power; returns its checksum."""
    path = picture_path(batch)
    description = _described(picture.shape)
    # Only if there are pictures: runs without them have no such group.
    describe_group(keys, PICTURES)
    write_description(keys, path, description, is_durable=False)
    written = write_chunk(keys, only_chunk_key(path, 3), description, picture)
    keys.make_durable([f"{path}/{METADATA}", only_chunk_key(path, 3)])
    return written


def read_picture(keys: Keys, marker: BatchMarker) -> ByteArray | None:
    """Picture of a batch; None where it has none.

    Raises
    ------
    DamagedPartError
        If it does not hold what was written.
    """
    shape = marker.picture
    if shape is None:
        return None
    if shape[2] != 3 or not 1 <= min(shape) <= max(shape) <= MOST_PIXELS:
        raise DamagedPartError(f"it is of shape {shape}, which no picture is")
    path, description = picture_path(marker.batch), _described(shape)
    require_description(keys, path, description)
    [expected] = marker.checksums[path]
    values: ByteArray = read_chunk(keys, only_chunk_key(path, 3), description, expected)
    return frozen(values)


def _described(shape: tuple[int, ...]) -> ArrayDescription:
    return ArrayDescription(shape=shape, chunk_shape=shape, dtype="uint8", axes=_AXES)
