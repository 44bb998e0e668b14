"""What the theorem of Dong, Cordonnier and Loukas says of the attention of a real network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haarbor.array_types import FloatArray
from haarbor.collapse._collapse_result import RankCollapse
from haarbor.stored_result import stored_result

__all__ = ["BOUNDED", "NetworkBound"]

BOUNDED = "attention alone"
"""The variant of a network that the theorem speaks of."""


@stored_result("NetworkBound")
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NetworkBound:
    r"""The doubly exponential bound for the attention of a network, layer by layer.

    A layer of attention alone takes a residual :math:`r` in the composite norm to
    :math:`4 \gamma \beta H r^3` at most, if :math:`r` is below a limit. It is stated for attention in which
    every token sees all tokens by a softmax of :math:`X A X^T`: not behind a mask, and not with positions
    in the scores.
    """

    reason: str
    """Why the theorem does not speak of this network; "" if it does."""
    steps: FloatArray
    r"""Logarithm to base 10 of :math:`4 \beta H` of each layer, shape (n_layers,); without :math:`\gamma`,
    which is the root of the number of tokens. Empty where there is a reason."""
    limits: FloatArray
    """Logarithm to base 10 of the largest residual that enters each layer for which it is proved."""

    def __repr__(self) -> str:
        return f"NetworkBound({self.reason or f'{self.steps.size} layers'})"

    def log10(self, residuals: FloatArray, n_tokens: int) -> FloatArray:
        """Logarithm to base 10 of the bound at every depth, from the first depth at which it is proved.

        Parameters
        ----------
        residuals : ndarray of float, shape (n_layers + 1,)
            Logarithms of the residuals that were measured.
        n_tokens : int

        Returns
        -------
        ndarray of float64, shape (n_layers + 1,)
            At the first depth what was measured there; NaN before it, and everywhere if there is none.

        Examples
        --------
        A step of 1 for one token, and a limit of 0.1: the residual of 0.5 is above it, that of 0.01 is not.

        >>> bound = NetworkBound(reason="", steps=np.zeros(3), limits=np.full(3, -1.0))
        >>> bound.log10(np.log10([0.5, 0.01, 1e-7, 1e-9]), 1).tolist()
        [nan, -2.0, -6.0, -18.0]
        """
        found = np.full(self.steps.size + 1 if self.steps.size else residuals.size, np.nan)
        for first in range(self.steps.size):
            chain = [float(residuals[first])]
            for step, limit in zip(self.steps[first:], self.limits[first:], strict=True):
                if not chain[-1] <= limit:
                    break
                chain.append(float(step) + np.log10(n_tokens) / 2 + 3 * chain[-1])
            else:
                found[first:] = chain
                break
        return found

    def relative(self, measured: RankCollapse) -> FloatArray:
        """The bound beside the residuals of attention alone, relative to the tokens as these are.

        Parameters
        ----------
        measured : RankCollapse
            Of this network.

        Returns
        -------
        ndarray of float64, shape (n_layers + 1,)
            Logarithms to base 10, medians over the samples; NaN where some sample has no bound, or the
            variant was not measured.
        """
        n_depths = measured.n_layers + 1
        sizes = measured.figures.get("log10_size")
        if self.reason or BOUNDED not in measured.variants or sizes is None:
            return np.full(n_depths, np.nan)
        number = measured.variants.index(BOUNDED)
        with np.errstate(divide="ignore"):
            logs = np.log10(measured.figures["composite"][number]) + sizes[number]
        each = np.stack(
            [
                self.log10(logs[:, sample], int(measured.n_tokens[sample])) - sizes[number][:, sample]
                for sample in range(measured.n_tokens.size)
            ],
            axis=1,
        )
        ordered = np.sort(each, axis=1)
        low, high = (ordered[:, place] for place in ((each.shape[1] - 1) // 2, each.shape[1] // 2))
        # The logarithm of the median, not the median of the logarithms, as the residuals have it.
        found: FloatArray = high + np.log10((1 + 10.0 ** (low - high)) / 2)
        return np.where(np.isfinite(each).all(axis=1), found, np.nan)

    def words(self, measured: RankCollapse) -> str:
        """What the bound says of these residuals, in a sentence or two."""
        whole = (
            "The bound of the theorem speaks of attention alone: no skips, MLPs or norms, and every token "
            "sees all."
        )
        if self.reason:
            return f"{whole} It does not speak of this network: {self.reason}."
        bound = self.relative(measured)
        there = np.flatnonzero(np.isfinite(bound))
        if not there.size:
            return (
                f"{whole} Here it is proved at no depth: the residual of the tokens that enter, "
                f"{self._entering(measured)} in the composite norm, would have to be below "
                f"{10 ** self.limits[0]:.2g}."
            )
        first = int(there[0])
        begins = "from the first layer on" if first == 0 else f"only behind layer {first}"
        return (
            f"{whole} Here it is proved {begins}, where the residual is small enough; below rounding it "
            "cannot be held against what was measured."
        )

    def _entering(self, measured: RankCollapse) -> str:
        number = measured.variants.index(BOUNDED)
        sizes = measured.figures["log10_size"][number, 0]
        return f"{float(np.median(measured.figures['composite'][number, 0] * 10**sizes)):.2g}"
