"""The description of a result: its value, the arrays it refers to, and the batches it was made from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from haarbor.store._array_description import ArrayDescription
from haarbor.store._damaged_part import DamagedPartError
from haarbor.store._documents import digested_attributes, digested_document, group_attributes
from haarbor.store._layout import NUMBER_TYPES, name_fits

__all__ = ["ResultDescription", "StoredArray"]

_FORMAT = "haarbor result"
_VERSION = 2
_MEMBERS = ("arrays", "format", "path", "sources", "value", "version")
_MOST_AXES = 32
_MOST_ENTRIES = 2**40


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredArray:
    """An array of a result: one chunk."""

    shape: tuple[int, ...]
    dtype: str
    checksum: str
    """The crc32c of its chunk; empty for an array without entries, which has none."""

    @property
    def description(self) -> ArrayDescription:
        """How zarr is told of it."""
        chunk_shape = tuple(max(1, size) for size in self.shape)
        return ArrayDescription(shape=self.shape, chunk_shape=chunk_shape, dtype=self.dtype)

    @classmethod
    def from_json(cls, stored: Any) -> StoredArray:
        """Array from its entry in a description; DamagedPartError if that is none."""
        try:
            shape, dtype, checksum = tuple(stored["shape"]), stored["dtype"], stored["checksum"]
        except (KeyError, TypeError):
            raise DamagedPartError("an array in it lacks its shape, type or checksum") from None
        sizes_fit = len(shape) <= _MOST_AXES and all(
            type(size) is int and 0 <= size < _MOST_ENTRIES for size in shape
        )
        form = "" if 0 in shape else "[0-9a-f]{8}"
        checksum_fits = isinstance(checksum, str) and re.fullmatch(form, checksum) is not None
        if not sizes_fit or not checksum_fits or dtype not in NUMBER_TYPES:
            raise DamagedPartError("the shape, type or checksum of an array in it is none")
        return cls(shape=shape, dtype=dtype, checksum=checksum)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultDescription:
    """What a result consists of; its digest goes with it."""

    path: str
    """Where the result was saved: a description that was copied to another place is noticed."""
    value: Any
    """JSON, see :func:`haarbor.store._result_values.stored_value`."""
    arrays: Mapping[str, StoredArray]
    sources: Mapping[str, str]
    """Digest of each batch it was made from, by the batch's number."""

    def to_bytes(self) -> bytes:
        """The description as a zarr group's."""
        arrays = {
            name: {"shape": list(array.shape), "dtype": array.dtype, "checksum": array.checksum}
            for name, array in self.arrays.items()
        }
        return digested_document(
            {
                "format": _FORMAT,
                "version": _VERSION,
                "path": self.path,
                "value": self.value,
                "arrays": arrays,
                "sources": dict(self.sources),
            }
        )

    @classmethod
    def from_bytes(cls, data: bytes, path: str) -> ResultDescription | None:
        """Description from what :meth:`to_bytes` gave; None if it is another program's group.

        Raises
        ------
        DamagedPartError
            If it is damaged, or of a result that lies elsewhere.
        """
        attributes = group_attributes(data)
        if attributes.get("format") != _FORMAT and "digest" not in attributes:
            return None
        found = digested_attributes(data)
        if sorted(found) != list(_MEMBERS) or found["format"] != _FORMAT or found["version"] != _VERSION:
            raise DamagedPartError(f"it is not that of a result of version {_VERSION}")
        if found["path"] != path:
            raise DamagedPartError("it is that of another result")
        arrays, sources = found["arrays"], found["sources"]
        if not isinstance(arrays, dict) or not all(map(name_fits, arrays)) or not isinstance(sources, dict):
            raise DamagedPartError("its parts are not those of a result")
        return cls(
            path=path,
            value=found["value"],
            arrays={name: StoredArray.from_json(array) for name, array in arrays.items()},
            sources=sources,
        )
