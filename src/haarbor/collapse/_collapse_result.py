"""Measures of the tokens of a network at every depth, as they are kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from haarbor.array_types import FloatArray, IntArray
from haarbor.collapse._collapse_rate import CollapseRate, collapse_rate
from haarbor.errors import DataError
from haarbor.options import require_choice
from haarbor.stored_result import stored_result

__all__ = ["FIGURES", "RankCollapse"]

FIGURES = (
    "composite",
    "composite_least",
    "frobenius",
    "stable_rank",
    "effective_rank",
    "cosine",
    "log10_size",
)
"""What is measured of the tokens at every depth."""


@stored_result("RankCollapse")
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RankCollapse:
    """Measures of the tokens at every depth of a network, for every variant and sample.

    See Also
    --------
    haarbor.rank_collapse : The measures at every depth.
    haarbor.plots.collapse_figure : Draws the collapse.
    """

    variants: tuple[str, ...]
    figures: Mapping[str, FloatArray]
    """By name: arrays of shape (n_variants, n_layers + 1, n_samples). "composite" and "frobenius" are the
    relative residuals, "composite_least" a bound below which the former cannot be for any vector in
    common, and "log10_size" the logarithm of the composite norm of the tokens themselves. NaN where
    the tokens were no longer finite, or had all become zero."""
    n_tokens: IntArray
    """Tokens of each sample, padding left out, shape (n_samples,)."""
    floor: float
    """Residuals below this are rounding: 8 times the precision of the network's numbers."""

    @property
    def n_layers(self) -> int:
        """Layers of the network; there is one depth more."""
        return int(self.figures["composite"].shape[1]) - 1

    def middle(self, figure: str, variant: str) -> FloatArray:
        """Median over the samples at every depth, shape (n_layers + 1,); NaN where no sample has a number.

        Raises
        ------
        SettingError
            If there is no such figure or variant.
        """
        require_choice("figure", figure, FIGURES)
        require_choice("variant", variant, self.variants)
        values = self.figures[figure][self.variants.index(variant)]
        there = np.isfinite(values).any(axis=1)
        found = np.full(values.shape[0], np.nan)
        found[there] = np.nanmedian(values[there], axis=1)
        return found

    def lost(self, variant: str) -> int | None:
        """First depth at which the tokens of some sample overflow or vanish; None if they never do."""
        require_choice("variant", variant, self.variants)
        values = self.figures["composite"][self.variants.index(variant)]
        places = np.flatnonzero(~np.isfinite(values).all(axis=1))
        return int(places[0]) if places.size else None

    def rate(self, variant: str) -> CollapseRate | None:
        """How the residual of a variant falls down to the floor; None if it has fewer than three depths."""
        try:
            return collapse_rate(self.middle("composite", variant), floor=self.floor)
        except DataError:
            return None

    def __repr__(self) -> str:
        last = ", ".join(f"{name} {self.middle('composite', name)[-1]:.2g}" for name in self.variants)
        return f"RankCollapse({self.n_layers} layers, {self.n_tokens.size} samples: {last})"
