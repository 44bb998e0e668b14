"""Reading and writing the arrays of a run, with every description and every chunk checked."""

from __future__ import annotations

from typing import Any

from haarbor.array_types import AnyArray
from haarbor.store._array_description import ArrayDescription
from haarbor.store._chunk_bytes import (
    checksum_of,
    decoded_chunk,
    encoded_chunk,
    most_chunk_bytes,
    require_checksum,
)
from haarbor.store._damaged_part import DamagedPartError
from haarbor.store._documents import MOST_BYTES, first_difference, parsed_document
from haarbor.store._keys import Keys
from haarbor.store._layout import METADATA

__all__ = [
    "read_chunk",
    "require_chunk",
    "require_description",
    "require_same_description",
    "stored_description",
    "write_chunk",
    "write_description",
]


def write_description(
    keys: Keys, path: str, description: ArrayDescription, *, is_durable: bool = True
) -> None:
    """Describe the array at `path`, in place of what described it before."""
    keys.write(f"{path}/{METADATA}", description.to_bytes(), is_durable=is_durable)


def stored_description(keys: Keys, path: str) -> dict[str, Any]:
    """Description of the array at `path`, whatever it says.

    Raises
    ------
    DamagedPartError
        If there is none, or it cannot be read.
    """
    try:
        data = keys.read(f"{path}/{METADATA}", MOST_BYTES)
        found = None if data is None else parsed_document(data)
    except DamagedPartError as error:
        raise DamagedPartError(f"its description is damaged: {error}") from None
    if found is None:
        raise DamagedPartError("its description is missing")
    return found


def require_description(keys: Keys, path: str, expected: ArrayDescription) -> None:
    """Raise DamagedPartError unless the description of the array at `path` says what it must."""
    require_same_description(stored_description(keys, path), expected)


def require_same_description(stored: dict[str, Any], expected: ArrayDescription) -> None:
    """Raise DamagedPartError unless a stored description says what it must."""
    found = first_difference(stored, expected.document())
    if found is None:
        return
    if "missing" in (found.there, found.here):
        says = "lacks" if found.there == "missing" else "has a strange"
        raise DamagedPartError(f"its description {says} {found.place}")
    raise DamagedPartError(
        f"its description says that {found.place} is {found.there}, and {found.here} was written"
    )


def write_chunk(keys: Keys, key: str, description: ArrayDescription, values: AnyArray) -> str:
    """Write one chunk, which may not yet survive a loss of power; returns its checksum."""
    data = encoded_chunk(description, values)
    keys.write(key, data, is_durable=False)
    return checksum_of(data)


def read_chunk(keys: Keys, key: str, description: ArrayDescription, expected: str) -> AnyArray:
    """Values of one chunk, after checking that it is the one that was written.

    Parameters
    ----------
    keys : Keys
    key : str
        Key of the chunk.
    description : ArrayDescription
    expected : str
        Checksum it had when it was written.

    Raises
    ------
    DamagedPartError
        If it is gone, is another chunk than the one written, or has changed; the message says which.
    """
    return decoded_chunk(description, _chunk_data(keys, key, description), expected)


def require_chunk(keys: Keys, key: str, description: ArrayDescription, expected: str) -> None:
    """Raise DamagedPartError unless the bytes of a chunk are those written; nothing is decompressed."""
    require_checksum(_chunk_data(keys, key, description), expected)


def _chunk_data(keys: Keys, key: str, description: ArrayDescription) -> bytes:
    data = keys.read(key, most_chunk_bytes(description))
    if data is None:
        raise DamagedPartError("the chunk is missing")
    return data
