"""How the pairs of items, and the features they are summed over, are shared out on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["LONGEST_RUN", "PairTiles", "pair_tiles"]

# Terms that are added in float32 before the sum goes on in float64.
LONGEST_RUN = 2048
# Memory for partial sums.
_PARTIAL_BYTES = 256 << 20
# Splits begin at multiples of this many features, the depth of a stage in shared memory.
_GRAIN = 16
# Shorter splits would cost more for writing their sums than for forming them.
_SHORTEST_RUN = 128


@dataclass(frozen=True, slots=True)
class PairTiles:
    """Squares of pairs on and above the diagonal, each summed by one block of threads per split.

    Notes
    -----
    A sum over all features is a sum of runs of at most 2048 features. Within a run the terms, which are
    not negative, are added one by one in float32, and the runs are added in float64. So the relative error
    of a sum is at most :math:`2049 \\cdot 2^{-24} \\approx 1.2 \\cdot 10^{-4}`, and about
    :math:`\\sqrt{2048} \\cdot 2^{-24} \\approx 3 \\cdot 10^{-6}` when roundings go both ways.
    """

    n_items: int
    side: int
    """Items per side of a square, 64 or 128."""
    itemsize: int
    slots: int
    """Blocks of threads that run at the same time on the whole device."""

    @property
    def n_sides(self) -> int:
        """Squares per side of the matrix."""
        return -(-self.n_items // self.side)

    @property
    def pitch(self) -> int:
        """Columns of the features: items, rounded up to whole squares."""
        return self.n_sides * self.side

    @property
    def n_tiles(self) -> int:
        """Squares on and above the diagonal."""
        return self.n_sides * (self.n_sides + 1) // 2

    @property
    def threads(self) -> int:
        """Threads of a block; each has 64 sums."""
        return self.side**2 // 64

    def launches(self, n_features: int) -> Iterator[tuple[int, int, int, int]]:
        """Parts of the features, one kernel launch each: (first, last, number of splits, their length)."""
        most_splits = max(1, _PARTIAL_BYTES // (self.n_tiles * self.side**2 * self.itemsize))
        # Not quite as many features as would fit, so that the number of splits can be chosen.
        n_parts = -(-n_features // max(_GRAIN, most_splits * LONGEST_RUN * 3 // 4))
        part = _rounded_up(-(-n_features // max(1, n_parts)))
        for first in range(0, n_features, max(1, part)):
            last = min(first + part, n_features)
            n_splits, per_split = self._splits(last - first, most_splits)
            yield first, last, n_splits, per_split

    def _splits(self, n_features: int, most_splits: int) -> tuple[int, int]:
        fewest = -(-n_features // LONGEST_RUN)
        most = max(fewest, min(most_splits, -(-n_features // _SHORTEST_RUN)))
        best = (float("inf"), fewest, LONGEST_RUN)
        for asked in range(fewest, min(most, fewest + 2 * self.slots) + 1):
            per_split = min(LONGEST_RUN, _rounded_up(-(-n_features // asked)))
            n_splits = -(-n_features // per_split)
            # Waves of blocks, each as long as a split; a little for the beginning and end of each block.
            waves = -(-n_splits * self.n_tiles // self.slots)
            cost = waves * (per_split + 2 * _GRAIN)
            best = min(best, (cost, n_splits, per_split))
        return best[1], best[2]


def _rounded_up(n_features: int) -> int:
    return -(-n_features // _GRAIN) * _GRAIN


def pair_tiles(n_items: int, dtype: np.dtype[Any], n_processors: int) -> PairTiles:
    """How the pairs of `n_items` items are shared out among so many multiprocessors.

    Examples
    --------
    >>> tiles = pair_tiles(1000, np.dtype(np.float32), 132)
    >>> tiles.side, tiles.n_tiles, tiles.pitch
    (128, 36, 1024)
    """
    double = dtype == np.float64
    side = 64 if double or n_items <= 512 else 128
    per_processor = 2 if side == 128 else (4 if double else 8)
    return PairTiles(n_items, side, 8 if double else 4, per_processor * n_processors)
