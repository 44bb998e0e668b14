"""A block of folder means of which only some columns, drawn at random, are summed."""

from __future__ import annotations

from typing import Any

import numpy as np

from haarbor.array_types import FloatArray, IntArray
from haarbor.engines._engine import FeatureBlock

__all__ = ["SampledBlock"]

# Columns are drawn in proportion to their spread, and this share of them without regard to it: so none that
# differs between items is left out for ever, and none has a weight of more than ten times the usual.
_EVEN = 0.1
_ROWS = 256


class SampledBlock:
    r"""Columns of a block, drawn without replacement and weighted so that their sums are right on average.

    Each column :math:`x_F` of a section is drawn with a probability :math:`\pi_F`, larger where it differs
    more between items, and divided by it. The sum of absolute differences between two rows then has the
    expectation :math:`\sum_F |x_F(a) - x_F(b)|`, whatever the probabilities are. Its variance is estimated
    as if columns were drawn independently of each other, :math:`\sum (1 - \pi_F) (x_F(a) - x_F(b))^2 /
    \pi_F^2` over those drawn; a fixed number of them is drawn, which makes it smaller rather than larger.

    Parameters
    ----------
    block : FeatureBlock
    n_drawn : sequence of int
        Columns to draw in each section; all of them are taken where these are not fewer.
    seed : sequence of int
    pairs : ndarray of int, shape (2, n_pairs)
        Pairs of rows for which the variance of the sums is estimated.
    """

    def __init__(
        self, block: FeatureBlock, n_drawn: IntArray, seed: tuple[int, ...], pairs: IntArray
    ) -> None:
        self._block, self._seed, self._pairs = block, seed, pairs
        self._widths = np.diff(block.section_ends, prepend=0)
        self._n_drawn = np.minimum(n_drawn, self._widths)
        self.sums: FloatArray = np.zeros((self._widths.size, pairs.shape[1]))
        """Sum of each section for each pair, known once the means are written."""
        self.variances: FloatArray = np.zeros_like(self.sums)
        """Variance of each of these, estimated from the columns that were drawn."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return self._block.dtype

    @property
    def section_ends(self) -> IntArray:
        """Columns at which the sections end."""
        return np.cumsum(self._n_drawn)

    @property
    def section_targets(self) -> IntArray:
        """Which of the distance matrices each section adds to."""
        return self._block.section_targets

    def write_means(self, out: FloatArray) -> None:
        """Write the drawn columns, each over its expected number of draws."""
        ends, drawn_ends = self._block.section_ends, self.section_ends
        means: FloatArray = np.empty((out.shape[0], int(ends[-1])), out.dtype)
        self._block.write_means(means)
        rng = np.random.default_rng(self._seed)
        for section, (width, n_drawn) in enumerate(zip(self._widths, self._n_drawn, strict=True)):
            whole = means[:, ends[section] - width : ends[section]]
            part = out[:, drawn_ends[section] - n_drawn : drawn_ends[section]]
            if n_drawn == width:
                part[:] = whole
            else:
                chances = _chances(whole, int(n_drawn))
                # In their order, so that runs of zeros stay runs of zeros.
                columns = np.sort(_drawn(chances, int(n_drawn), rng))
                part[:] = whole[:, columns] / chances[columns].astype(out.dtype)
            one, other = self._pairs
            each = np.abs(part[one].astype(np.float64) - part[other])
            self.sums[section] = each.sum(axis=1)
            if n_drawn < width:
                self.variances[section] = each**2 @ (1 - chances[columns])


def _chances(columns: FloatArray, n_drawn: int) -> FloatArray:
    """Probability that each column is drawn: mostly in proportion to its mean distance from its mean."""
    centre = columns.mean(axis=0, dtype=np.float64)
    spread = np.zeros(columns.shape[1])
    for first in range(0, columns.shape[0], _ROWS):
        spread += np.abs(columns[first : first + _ROWS] - centre).sum(axis=0)
    total = float(spread.sum())
    even = np.full(spread.size, 1 / spread.size)
    wanted = (1 - _EVEN) * (spread / total) + _EVEN * even if 0 < total < np.inf else even
    chances: FloatArray = np.zeros(spread.size)
    sure = np.zeros(spread.size, dtype=bool)
    while True:
        left = n_drawn - int(sure.sum())
        chances = np.where(sure, 1.0, left * wanted / wanted[~sure].sum())
        # What would be drawn more than once is drawn for sure, and the others share the rest.
        more = ~sure & (chances >= 1)
        if not more.any():
            return chances
        sure |= more


def _drawn(chances: FloatArray, n_drawn: int, rng: np.random.Generator) -> IntArray:
    """So many columns, each with its probability: those in which evenly spaced marks fall."""
    order = rng.permutation(chances.size)
    ends = np.cumsum(chances[order])
    # The probabilities sum to the number of draws up to rounding.
    marks = (rng.random() + np.arange(n_drawn)) * (ends[-1] / n_drawn)
    columns: IntArray = order[np.minimum(np.searchsorted(ends, marks, side="right"), chances.size - 1)]
    return columns
