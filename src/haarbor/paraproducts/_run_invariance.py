"""Softmax invariance of all heads of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from haarbor.array_types import FloatArray, IntArray

__all__ = ["RunInvariance"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RunInvariance:
    """Figures of :func:`haarbor.softmax_invariance` for all heads of one batch, each on its own trees.

    Arrays have shape (n_heads,). Figures of a head whose softmax is uniform are NaN: there is nothing
    to explain.
    """

    figures: Mapping[str, FloatArray]
    """One array per field of `InvarianceFigures`."""
    shuffled_trees: Mapping[str, FloatArray]
    """Figures of the control with shuffled trees."""
    shuffled_rows: Mapping[str, FloatArray]
    """Figures of the control with shuffled rows."""
    logit_deviation: FloatArray
    """Standard deviation of the valid logits about their row means."""
    entropy: FloatArray
    """Mean-removed Haar entropy of the logits over the 400 coarsest functions."""
    layers: IntArray
    """Layer of each head."""
    heads_per_layer: int
    batch: int
    stream: str
    settings: str
    """Name of the settings of the trees: "ours" or "paper"."""
    seed: int

    @property
    def labels(self) -> list[str]:
        """Names of the heads, as "layer.head"."""
        places = np.arange(self.layers.size)
        return [f"{place // self.heads_per_layer}.{place % self.heads_per_layer}" for place in places]

    def order(self) -> IntArray:
        """Heads from the most to the least invariant; those without a figure last."""
        return np.argsort(-self.figures["invariance"], kind="stable")

    def correlations(self) -> dict[str, float]:
        """Spearman correlation of `invariance` with other figures; NaN where one of them is constant."""
        return {
            "logit deviation": _spearman(self.figures["invariance"], self.logit_deviation),
            "layer": _spearman(self.figures["invariance"], self.layers.astype(np.float64)),
            "Haar entropy": _spearman(self.figures["invariance"], self.entropy),
            "spread of the constants": _spearman(
                self.figures["invariance"], self.figures["constant_deviation"]
            ),
        }

    def __repr__(self) -> str:
        middle = float(np.nanmedian(self.figures["invariance"]))
        return f"RunInvariance({self.layers.size} heads, batch {self.batch}, median invariance {middle:.3f})"


def _spearman(one: FloatArray, two: FloatArray) -> float:
    """Rank correlation over the heads that have both figures; NaN for fewer than three, or a constant."""
    from scipy.stats import spearmanr

    present = np.isfinite(one) & np.isfinite(two)
    if present.sum() < 3 or np.ptp(one[present]) == 0 or np.ptp(two[present]) == 0:
        return float("nan")
    return float(spearmanr(one[present], two[present]).statistic)
