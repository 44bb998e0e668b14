"""True or false for each query and key, held in chunks of rows that take little memory."""

from __future__ import annotations

import zlib

import numpy as np

from haarbor.array_types import BoolArray

__all__ = ["PairRows"]

# Smaller ones are held as they are: packing them would take longer than anything else done with them.
_PACKED_FROM = 1 << 20


class PairRows:
    """A boolean matrix that grows by chunks of rows, each the union of what was added to it.

    Large chunks are kept as compressed bits: a mask takes next to nothing, and an arbitrary matrix one bit
    per entry. One chunk at a time is unpacked.

    Parameters
    ----------
    n_keys : int

    Examples
    --------
    >>> rows = PairRows(2)
    >>> rows.add(0, np.array([[True, False]]))
    >>> rows.add(0, np.array([[False, True]]))
    >>> rows.chunk(0).tolist()
    [[True, True]]
    """

    def __init__(self, n_keys: int) -> None:
        self._n_keys = n_keys
        self._chunks: dict[int, BoolArray | bytes] = {}

    def __contains__(self, begin: int) -> bool:
        return begin in self._chunks

    def add(self, begin: int, rows: BoolArray) -> None:
        """Add the entries of a chunk, named by its first row; every time with equally many rows."""
        both = rows | self.chunk(begin) if begin in self._chunks else rows.copy()
        if both.size < _PACKED_FROM:
            self._chunks[begin] = both
        else:
            self._chunks[begin] = zlib.compress(np.packbits(both).tobytes(), 1)

    def chunk(self, begin: int) -> BoolArray:
        """Entries of a chunk, shape (rows, n_keys)."""
        held = self._chunks[begin]
        if not isinstance(held, bytes):
            return held
        bits = np.unpackbits(np.frombuffer(zlib.decompress(held), dtype=np.uint8))
        n_rows = bits.size // self._n_keys
        entries: BoolArray = bits[: n_rows * self._n_keys].reshape(n_rows, self._n_keys).view(np.bool_)
        return entries
