"""How the pairs of items, and the features they are summed over, are shared out on a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

__all__ = ["LONGEST_RUN", "SIDE", "Launch", "PairTiles", "pair_tiles"]

# Items per side of the square of pairs that one block of threads sums; the kernels have it too.
SIDE = 64
# Terms that are added in float32 before the sum goes on in float64.
LONGEST_RUN = 2048
# Memory for partial sums.
_PARTIAL_BYTES = 256 << 20
# Splits begin at multiples of this many features, two stages of the kernel.
_GRAIN = 16
# Shorter splits would cost more for writing their sums than for forming them.
_SHORTEST_RUN = 128
# Waves of blocks beyond the fewest that are considered.
_MORE_WAVES = 8

Launch = tuple[int, int, int, int]
"""First and last feature, number of splits, and their length."""


@dataclass(frozen=True, slots=True)
class PairTiles:
    r"""Squares of pairs on and above the diagonal, each summed by one block of threads per split.

    Notes
    -----
    A sum over all features is a sum of runs of at most 2048 features. Within a run the terms, which are
    not negative, are added one by one in float32, and the runs are added in float64. So the relative error
    of a sum is at most :math:`2049 \cdot 2^{-24} \approx 1.2 \cdot 10^{-4}`; roundings go both ways, and on
    random data it is some :math:`10^{-7}`.
    """

    n_items: int
    itemsize: int
    n_processors: int

    @property
    def blocks_per_processor(self) -> int:
        """Blocks of threads that a multiprocessor has registers for."""
        return 32 // self.itemsize

    @property
    def n_sides(self) -> int:
        """Squares per side of the matrix."""
        return -(-self.n_items // SIDE)

    @property
    def pitch(self) -> int:
        """Columns of the features: items, rounded up to whole squares."""
        return self.n_sides * SIDE

    @property
    def n_tiles(self) -> int:
        """Squares on and above the diagonal."""
        return self.n_sides * (self.n_sides + 1) // 2

    def launches(self, n_features: int) -> tuple[Launch, ...]:
        """Parts of the features, one launch of the kernel each."""
        return _launches(self, n_features)

    def splits(self, n_features: int, most_splits: int) -> tuple[int, int]:
        """Number and length of the splits with which some features are summed soonest."""
        slots = self.blocks_per_processor * self.n_processors
        fewest = -(-n_features // LONGEST_RUN)
        most = max(fewest, min(most_splits, -(-n_features // _SHORTEST_RUN)))
        fewest_waves = -(-fewest * self.n_tiles // slots)
        # As many blocks as there is room for in so many waves, or as few as there can be.
        asked = {waves * slots // self.n_tiles for waves in range(fewest_waves, fewest_waves + _MORE_WAVES)}
        best = None
        for n_asked in sorted({min(max(n, fewest), most) for n in (*asked, fewest)}):
            length = min(LONGEST_RUN, _rounded_up(-(-n_features // n_asked)))
            n_splits = -(-n_features // length)
            waves = -(-n_splits * self.n_tiles // slots)
            # A little for the beginning and the end of each block.
            cost = (waves * (length + 2 * _GRAIN), n_splits, length)
            best = cost if best is None else min(best, cost)
        assert best is not None
        return best[1], best[2]


# The same sizes come again in every iteration.
@lru_cache(maxsize=256)
def _launches(tiles: PairTiles, n_features: int) -> tuple[Launch, ...]:
    most_splits = max(1, _PARTIAL_BYTES // (tiles.n_tiles * SIDE**2 * tiles.itemsize))
    # Not quite as many features as would fit, so that the number of splits can be chosen.
    n_parts = -(-n_features // max(_GRAIN, most_splits * LONGEST_RUN * 3 // 4))
    part = _rounded_up(-(-n_features // max(1, n_parts)))
    launches = []
    for first in range(0, n_features, max(1, part)):
        last = min(first + part, n_features)
        launches.append((first, last, *tiles.splits(last - first, most_splits)))
    return tuple(launches)


def _rounded_up(n_features: int) -> int:
    return -(-n_features // _GRAIN) * _GRAIN


def pair_tiles(n_items: int, dtype: np.dtype[Any], n_processors: int) -> PairTiles:
    """How the pairs of `n_items` items are shared out among so many multiprocessors.

    Examples
    --------
    >>> tiles = pair_tiles(1000, np.dtype(np.float32), 132)
    >>> tiles.n_sides, tiles.n_tiles, tiles.pitch
    (16, 136, 1024)
    """
    return PairTiles(n_items, np.dtype(dtype).itemsize, n_processors)
