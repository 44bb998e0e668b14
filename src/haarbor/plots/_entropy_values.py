"""Entropies of heads over batches, as the figures draw them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from haarbor.array_types import FloatArray
from haarbor.errors import SettingError, ShapeError
from haarbor.options import found_text
from haarbor.wavelets import HeadEntropy

__all__ = ["EntropyValues", "Measure", "entropy_values"]

Measure = Literal["raw", "normalised", "mean_removed"]
_NAMES = {
    "raw": "Haar entropy",
    "normalised": "normalised Haar entropy",
    "mean_removed": "mean-removed Haar entropy",
}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EntropyValues:
    """One measure of every head on every batch, and how far ties could move it."""

    values: FloatArray
    """Shape (n_batches, n_heads)."""
    least: FloatArray
    """Smallest value over all orders of functions of equal support, shape (n_batches, n_heads)."""
    most: FloatArray
    """Largest value over all orders of functions of equal support, shape (n_batches, n_heads)."""
    name: str
    """Label for an axis of a figure, with k and p."""


def entropy_values(entropies: HeadEntropy | Sequence[HeadEntropy], measure: Measure) -> EntropyValues:
    """Values of one measure, one row per batch.

    Raises
    ------
    SettingError
        If there is no such measure, no batch, or the batches were summed differently.
    ShapeError
        If the batches have different numbers of heads.
    """
    if not isinstance(measure, str) or measure not in _NAMES:
        raise SettingError(
            f"measure must be one of {', '.join(map(repr, _NAMES))}; found {found_text(measure)}. Pass one."
        )
    listed = [entropies] if isinstance(entropies, HeadEntropy) else entropies
    if not isinstance(listed, list | tuple) or not all(isinstance(one, HeadEntropy) for one in listed):
        raise SettingError(
            f"entropies must be a HeadEntropy or a list of such; found {found_text(entropies)}. "
            "Pass what haarbor.head_entropy gives."
        )
    batches = list(listed)
    if not batches:
        raise SettingError("entropies must hold at least one batch; found none. Pass what head_entropy gave.")
    counts = {len(batch) for batch in batches}
    if len(counts) > 1:
        raise ShapeError(
            f"all batches must have the same heads; found {sorted(counts)} heads."
            " Pass batches of one network."
        )
    ways = {(batch.k, batch.p) for batch in batches}
    if len(ways) > 1:
        raise SettingError(
            f"all batches must have the same k and p; found {sorted(ways)}. Compare like with like."
        )
    ((k, p),) = ways
    bounds = np.stack([_scaled(batch, measure) for batch in batches])
    values = np.stack([getattr(batch, measure) for batch in batches])
    return EntropyValues(
        values=values,
        least=bounds[..., 0],
        most=bounds[..., 1],
        name=f"{_NAMES[measure]}\n(k = {k}, p = {p:g})",
    )


def _scaled(batch: HeadEntropy, measure: Measure) -> FloatArray:
    """Tie interval in the units of the measure, shape (n_heads, 2)."""
    if measure == "raw":
        return batch.tie_interval
    constant = np.abs(batch.constant) ** batch.p if measure == "mean_removed" else np.zeros(len(batch))
    raised = batch.raw - constant
    # What the sum was divided by, from the quotient; both are zero for a head with nothing to divide.
    share = np.divide(getattr(batch, measure), raised, out=np.zeros_like(raised), where=raised > 0)
    bounds: FloatArray = (batch.tie_interval - constant[:, None]) * share[:, None]
    return bounds
