"""Sums of absolute differences estimated from some folders, drawn at random, with their error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from haarbor.array_types import FloatArray
from haarbor.engines._engine import FeatureBlock, L1Engine
from haarbor.engines._sampled_block import SampledBlock

__all__ = ["SampledEngine"]

_N_PAIRS = 256


class SampledEngine:
    """Engine that sums a random part of the columns with another engine.

    The sums are unbiased. Means over folders are formed as always, which takes as long as reading the tensor;
    what is saved are the differences between all pairs of items, whose number no longer grows with the
    number of folders.

    Parameters
    ----------
    engine : L1Engine
        What sums the columns that are drawn.
    n_folders : int
        Columns that are drawn for a matrix of distances, shared by the sections of all blocks in proportion
        to their widths; at least two of each section.
    seed : int, default 0
        The same seed gives the same sums.

    See Also
    --------
    haarbor.L1Engine : What an engine must do.
    """

    def __init__(self, engine: L1Engine, n_folders: int, seed: int = 0) -> None:
        self._engine, self._n_folders, self._seed = engine, n_folders, seed
        self._n_calls = 0
        self.relative_error = 0.0
        """Largest of the errors of all sums so far: see :meth:`l1_sums`."""

    @property
    def name(self) -> str:
        """Short name for settings and logs."""
        return self._engine.name

    def l1_sums(self, blocks: Sequence[FeatureBlock], n_items: int, n_targets: int) -> FloatArray:
        """Estimates of the L1 distances between rows; see `L1Engine.l1_sums`.

        Their relative standard error is estimated for 256 pairs of rows, from the spread of what the drawn
        columns add; of a pair the matrix with the largest one counts, so that a weighted sum of the matrices
        has no larger one. The median over the pairs is kept in `relative_error` if it is the largest yet.
        """
        self._n_calls += 1
        rng = np.random.default_rng([self._seed, self._n_calls, n_items])
        pairs = rng.integers(0, n_items, (2, _N_PAIRS))
        pairs = pairs[:, pairs[0] != pairs[1]]
        total = sum(int(block.section_ends[-1]) for block in blocks)
        share = self._n_folders / max(1, total)
        sampled = []
        for number, block in enumerate(blocks):
            widths = np.diff(block.section_ends, prepend=0)
            n_drawn = np.maximum(2, np.ceil(share * widths)).astype(np.int64)
            sampled.append(SampledBlock(block, n_drawn, (self._seed, self._n_calls, number), pairs))
        sums = self._engine.l1_sums(sampled, n_items, n_targets)
        self.relative_error = max(self.relative_error, _relative_error(sampled, n_targets, pairs.shape[1]))
        return sums


def _relative_error(blocks: Sequence[SampledBlock], n_targets: int, n_pairs: int) -> float:
    sums, variances = np.zeros((2, n_targets, n_pairs))
    for block in blocks:
        np.add.at(sums, block.section_targets, block.sums)
        np.add.at(variances, block.section_targets, block.variances)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(sums > 0, np.sqrt(variances) / sums, 0.0)
    return float(np.median(relative.max(axis=0))) if n_pairs else 0.0
