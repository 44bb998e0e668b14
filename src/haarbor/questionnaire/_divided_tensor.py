"""A tensor that is read by other machines, which sum parts of its distances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from haarbor.array_types import FloatArray
from haarbor.engines import L1Engine
from haarbor.questionnaire._streamed_tensor import Kind
from haarbor.transport import FolderMeans, OuterPart
from haarbor.trees import PartitionTree

__all__ = ["DividedTensor", "Elsewhere", "TensorFacts"]

_AXES = ("query", "key", "head")


class TensorFacts(NamedTuple):
    """What is known of a tensor without its numbers."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    kind: Kind
    exponent: int


class Elsewhere(Protocol):
    """Where a tensor is."""

    facts: TensorFacts

    def initial_affinity(self, axis: str) -> FloatArray:
        """First affinity between the slices of an axis."""

    def l1_sums(
        self,
        axis: str,
        trees: Mapping[str, PartitionTree],
        exponents: Mapping[str, tuple[float, float]],
        ground_parts: Sequence[OuterPart],
    ) -> FloatArray:
        """What :meth:`haarbor.transport.FolderMeans.l1_sums` returns."""


class DividedTensor(FolderMeans):
    """A (query, key, head) tensor elsewhere: this process knows its trees and distances, not its numbers.

    Parameters
    ----------
    elsewhere : Elsewhere
    """

    def __init__(self, elsewhere: Elsewhere) -> None:
        self._elsewhere = elsewhere
        self.shape, self.dtype, self.kind, self.exponent = elsewhere.facts
        n_queries, n_keys, n_heads = self.shape
        self._axes = (_AXES[2], *_AXES[:2])
        self._shape = (n_heads, n_queries, n_keys)

    @property
    def ndim(self) -> int:
        """Three."""
        return 3

    def engine(self, engine: L1Engine) -> L1Engine:
        """The engine as it is; the sums are made elsewhere."""
        return engine

    def initial_affinity(self, axis: str) -> FloatArray:
        """First affinity between the slices of an axis."""
        return self._elsewhere.initial_affinity(axis)

    def means(self) -> FolderMeans:
        """Folder means of the tensor, formed elsewhere."""
        return self

    def l1_sums(
        self,
        axis: str,
        trees: Mapping[str, PartitionTree],
        exponents: Mapping[str, tuple[float, float]],
        engine: L1Engine,
        *,
        ground_parts: Sequence[OuterPart] = ("ground", "raised"),
    ) -> FloatArray:
        """L1 distances between the slices of `axis`, in three parts; see :class:`FolderMeans`."""
        return self._elsewhere.l1_sums(axis, trees, exponents, ground_parts)
