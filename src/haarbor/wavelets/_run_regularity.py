"""Hölder exponents of all heads of a batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haarbor.array_types import FloatArray, IntArray

__all__ = ["RunRegularity"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RunRegularity:
    """Mixed Hölder exponents of the logits of all heads of one batch.

    Arrays have shape (n_heads,). A head that is the sum of a function of the query and a function of
    the key has no mixed differences: its entries are NaN.
    """

    organised: FloatArray
    """Exponent on the head's own trees."""
    organised_error: FloatArray
    organised_row: FloatArray
    organised_column: FloatArray
    natural: FloatArray
    """Exponent on the tree that halves the text in its own order again and again."""
    natural_error: FloatArray
    natural_row: FloatArray
    natural_column: FloatArray
    shuffled: FloatArray
    """Exponent on the head's own trees with rows and columns shuffled."""
    layers: IntArray
    batch: int
    stream: str
    settings: str
    seed: int

    @property
    def gain(self) -> FloatArray:
        """How much higher the exponent is organised than in the order of the text."""
        return self.organised - self.natural

    def __repr__(self) -> str:
        return (
            f"RunRegularity({self.layers.size} heads, batch {self.batch}, median exponent "
            f"{np.nanmedian(self.organised):.3f} organised, {np.nanmedian(self.natural):.3f} in the order of "
            f"the text, {np.nanmedian(self.shuffled):.3f} shuffled)"
        )
