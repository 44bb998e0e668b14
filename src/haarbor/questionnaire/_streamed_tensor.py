"""A tensor that is read once into a temporary file, checked, and from there block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from haarbor.array_types import AnyArray, BoolArray, FloatArray, real_array
from haarbor.binary_scale import excess_exponent, scaled, unscaled
from haarbor.engines import CpuEngine, L1Engine
from haarbor.errors import DataError
from haarbor.named_axes import checked_mask
from haarbor.questionnaire._masked_entries import Content, neutral_tensor
from haarbor.questionnaire._memory_plan import STARTING_HEADS, MemoryPlan
from haarbor.spectral import cosine_affinity_of_blocks
from haarbor.transport import MappedTensor, ScratchTensor, StreamedFolderMeans, mapped_tensor
from haarbor.trees import PartitionTree

__all__ = ["StreamedTensor"]

Kind = Literal["logits", "probabilities", "unmasked"]


class StreamedTensor:
    """A (query, key, head) tensor in a temporary file, with its masked entries made neutral.

    Parameters
    ----------
    X : array_like with three axes
        Its heads are read one block after the other, each once: `X.head_blocks()` where there is such a
        method, else ``X[:, :, head]``.
    axes : sequence of str
        Names of its axes; the last is that of the heads.
    mask : array_like of bool or None
    content : {"auto", "logits", "probabilities"}
    plan : MemoryPlan
    """

    def __init__(self, X: Any, axes: Sequence[str], mask: Any, content: Content, plan: MemoryPlan) -> None:
        self.axes = tuple(axes)
        self.plan = plan
        self.shape: tuple[int, ...] = tuple(X.shape)
        n_queries, n_keys, n_heads = self.shape
        self.dtype = np.dtype(np.float64 if np.dtype(X.dtype).itemsize > 4 else np.float32)
        valid = None if mask is None else np.broadcast_to(checked_mask(mask, axes, self.shape), self.shape)
        self.present = {
            self.axes[2]: np.zeros((n_heads, n_keys), bool),
            self.axes[0]: np.zeros((n_queries, n_keys), bool),
        }
        # Masked entries are made neutral, which needs a file of our own.
        in_place = mapped_tensor(X) if valid is None else None
        self.scratch = in_place or ScratchTensor((n_heads, n_queries, n_keys), self.dtype)
        kinds, self.exponent = self._take(X, valid, content)
        if len(kinds) > 1:
            # Rows of some heads look like probabilities, but not those of all.
            kinds, self.exponent = self._take(X, valid, "logits")
        self.kind: Kind = kinds.pop()
        if self.exponent:
            self._rescale()

    def _take(self, X: Any, valid: BoolArray | None, content: Content) -> tuple[set[Kind], int]:
        """Check all heads, and write them to the file unless they are read in place.

        Returns what they were taken to hold, and the exponent of their size.
        """
        kinds: set[Kind] = set()
        largest = np.zeros(1, self.dtype)
        pair = self.axes[:2]
        in_place = isinstance(self.scratch, MappedTensor)
        for head, values in enumerate(self._held_heads() if in_place else _heads(X)):
            mask = None if valid is None else valid[:, :, head]
            try:
                matrix, kind = neutral_tensor(values, pair, mask, content)
            except DataError as error:
                raise DataError(f"in {self.axes[2]} {head}: {error}") from None
            kinds.add(kind)
            largest = np.maximum(largest, np.maximum(matrix.max(), -matrix.min()))
            seen = matrix != 0
            self.present[self.axes[0]] |= seen
            self.present[self.axes[2]][head] = seen.any(axis=0)
            if isinstance(self.scratch, ScratchTensor):
                self.scratch.write((head, 0, 0), matrix)
        return kinds, excess_exponent(largest.astype(self.dtype))

    def _held_heads(self) -> Iterator[FloatArray]:
        """Matrices of the heads as they are read later."""
        for head in range(self.shape[2]):
            matrix: FloatArray = np.empty(self.shape[:2], self.dtype)
            self.scratch.read((head, 0, 0), matrix)
            yield matrix

    def _rescale(self) -> None:
        scratch = ScratchTensor(self.scratch.shape, self.dtype)
        for head, matrix in enumerate(self._held_heads()):
            scratch.write((head, 0, 0), scaled(matrix, self.exponent))
        self.scratch = scratch

    @property
    def ndim(self) -> int:
        """Three."""
        return 3

    def tree_emd(
        self,
        axis: str,
        trees: Mapping[str, PartitionTree],
        exponents: Mapping[str, tuple[float, float]],
        engine: L1Engine,
    ) -> FloatArray:
        """What :func:`haarbor.tree_emd` says, of the slices of `axis`; `exponents` are (alpha, beta)."""
        means = self.means()
        sums = means.l1_sums(axis, trees, exponents, self.engine(engine))
        return unscaled(means.weighted_total(axis, sums, trees, exponents), self.exponent, "tree distances")

    def engine(self, engine: L1Engine) -> L1Engine:
        """The engine with no more threads than the plan has room for."""
        return CpuEngine(min(engine.threads, self.plan.threads)) if isinstance(engine, CpuEngine) else engine

    def initial_affinity(self, axis: str) -> FloatArray:
        """Mutual cosine between the slices of one of the first two axes."""
        n_heads = self.shape[2]
        is_first = axis == self.axes[0]

        def former(first: int) -> Callable[[], FloatArray]:
            def form() -> FloatArray:
                count = min(STARTING_HEADS, n_heads - first)
                heads: FloatArray = np.empty((count, *self.shape[:2]), self.dtype)
                self.scratch.read((first, 0, 0), heads)
                return np.ascontiguousarray(heads.transpose((1, 2, 0) if is_first else (2, 1, 0)))

            return form

        blocks = [former(first) for first in range(0, n_heads, STARTING_HEADS)]
        n_slices = self.shape[0 if is_first else 1]
        return cosine_affinity_of_blocks(blocks, n_slices, self.plan.threads)

    def means(self) -> StreamedFolderMeans:
        """Folder means of the tensor."""
        return StreamedFolderMeans(self.scratch, self.axes, self.present, self.plan.piece_bytes)


def _heads(X: Any) -> Iterator[AnyArray]:
    """Matrices of the heads, one after the other."""
    if hasattr(X, "head_blocks"):
        for block in X.head_blocks():
            yield from block
        return
    for head in range(X.shape[2]):
        yield real_array(X[:, :, head])
