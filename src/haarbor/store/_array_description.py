"""The description of a zarr array: the ``zarr.json`` that Haarbor writes beside it.

What a run holds follows from its plan, and what a result holds from the result's own description,
which has a digest. So Haarbor never learns anything from the ``zarr.json`` beside an array: it is there
for other programs, and Haarbor only compares it with the one that must be there.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from haarbor.store._layout import COMPRESSION_LEVEL

__all__ = ["ArrayDescription"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayDescription:
    """Shape, chunks and type of an array; the bytes of a chunk are little-endian, zstd, crc32c.

    Examples
    --------
    >>> mask = ArrayDescription(shape=(3, 4, 4), chunk_shape=(1, 4, 4), dtype="bool")
    >>> mask.document()["codecs"][-1], mask.n_chunk_bytes
    ({'name': 'crc32c'}, 16)
    """

    shape: tuple[int, ...]
    chunk_shape: tuple[int, ...]
    dtype: str
    """One of :data:`haarbor.store._layout.NUMBER_TYPES`."""
    axes: tuple[str, ...] | None = None

    @property
    def stored_dtype(self) -> np.dtype[Any]:
        """Type of the numbers in a chunk."""
        return np.dtype(self.dtype).newbyteorder("<")

    @property
    def n_chunk_bytes(self) -> int:
        """Bytes of a chunk before it is compressed."""
        return math.prod(self.chunk_shape) * self.stored_dtype.itemsize

    @property
    def is_empty(self) -> bool:
        """Whether the array has no entries, and so no chunk."""
        return 0 in self.shape

    def document(self) -> dict[str, Any]:
        """JSON object of the array's ``zarr.json``."""
        zeros = {"b": False, "f": 0.0}
        single_bytes = self.stored_dtype.itemsize == 1
        to_bytes: dict[str, Any] = {"name": "bytes"}
        if not single_bytes:
            to_bytes["configuration"] = {"endian": "little"}
        found: dict[str, Any] = {
            "zarr_format": 3,
            "node_type": "array",
            "shape": list(self.shape),
            "data_type": self.dtype,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(self.chunk_shape)}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}},
            "fill_value": zeros.get(self.stored_dtype.kind, 0),
            "codecs": [
                to_bytes,
                {"name": "zstd", "configuration": {"level": COMPRESSION_LEVEL, "checksum": False}},
                {"name": "crc32c"},
            ],
            "attributes": {},
            "storage_transformers": [],
        }
        if self.axes is not None:
            found["dimension_names"] = list(self.axes)
        return found

    def to_bytes(self) -> bytes:
        """The document as it is written."""
        return json.dumps(self.document(), indent=2, sort_keys=True).encode("ascii")
