"""Sums of absolute differences on the cores of this machine, in a compiled loop."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from haarbor.array_types import AnyArray, FloatArray, IntArray
from haarbor.engines._engine import FeatureBlock
from haarbor.engines._mirrored_square import mirror
from haarbor.engines._worker_threads import ordered_results, thread_count

if TYPE_CHECKING:
    from haarbor.engines._section_sums import SectionSums

__all__ = ["CpuEngine"]

# Matrices of up to this many items stay in the cache of a core, together with a block.
_LARGEST_CACHED = 512
# Parts into which the rows of larger ones are divided: a few for every thread, as the first have more to do.
_ROW_PARTS = 64
# From so many absolute differences on, sparse columns are looked for. One call may save less than it takes to
# compile the sums over them; but that is done once and kept, and a questionnaire calls several times.
_SPARSE_PAYS = 2**28


class CpuEngine:
    """Engine on the cores of this machine.

    Each thread takes a block, forms its folder means and sums their differences into a matrix of
    its own; the matrices are added in block order. Large matrices exist once, and each thread adds to
    some of their rows, block after block. So the result is the same bit for bit for any number of threads.

    Parameters
    ----------
    threads : int, optional
        Number of threads; by default every core this process may use.

    See Also
    --------
    haarbor.GpuEngine : A CUDA device.
    haarbor.ClusterEngine : Workers of Dask.
    """

    _asked_rows: Sequence[tuple[int, int]] | None = None
    """Ranges of rows of the sums that are made, each from a multiple of four; None for all of them."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = thread_count(threads)
        self._buffers = threading.local()

    @property
    def name(self) -> str:
        """Short name for settings and logs."""
        return "cpu"

    def __reduce__(self) -> tuple[type[CpuEngine], tuple[int]]:
        # Buffers are not sent along: an engine in another process makes its own.
        return (CpuEngine, (self.threads,))

    def __repr__(self) -> str:
        return f"CpuEngine(threads={self.threads})"

    def _buffer(self, size: int, dtype: np.dtype[Any]) -> FloatArray:
        # One buffer per thread for all its blocks: fresh memory would cost as much as the sums.
        n_bytes = size * dtype.itemsize
        whole: AnyArray | None = getattr(self._buffers, "bytes", None)
        if whole is None or whole.size < n_bytes:
            whole = self._buffers.bytes = np.empty(n_bytes, np.uint8)
        return whole[:n_bytes].view(dtype)

    def l1_sums(self, blocks: Sequence[FeatureBlock], n_items: int, n_targets: int) -> FloatArray:
        """L1 distances between rows, summed over all blocks; see `L1Engine.l1_sums`."""
        total = np.zeros((n_targets, n_items, n_items))
        # A block of a long axis takes a minute. After an interrupt the threads give up their blocks.
        stop = np.zeros(1, np.uint8)
        try:
            if n_items > _LARGEST_CACHED or len(blocks) == 1:
                self._add_by_rows(blocks, total, stop)
            else:
                self._add_by_blocks(blocks, total, stop)
        finally:
            stop[0] = 1
        if self._asked_rows is None:
            # The others are zeros, in memory that was never touched.
            for target in {int(target) for block in blocks for target in block.section_targets}:
                mirror(total[target])
        return total

    def _add_by_blocks(self, blocks: Sequence[FeatureBlock], total: FloatArray, stop: Any) -> None:
        """Each thread sums a block into matrices of its own, which are small enough to stay in cache."""
        n_items = total.shape[1]
        sparse = _sparse_pays(blocks, n_items)

        def partial(block: FeatureBlock) -> tuple[IntArray, FloatArray]:
            width = int(block.section_ends[-1])
            rows = self._buffer(n_items * width, block.dtype).reshape(n_items, width)
            distances = np.zeros((block.section_ends.size, n_items, n_items))
            for matrix, section in zip(distances, _sections(block, rows, sparse), strict=True):
                for part in self._asked_rows or [(0, n_items)]:
                    section.add(part, matrix, stop)
            return block.section_targets, distances

        for targets, distances in ordered_results(partial, blocks, self.threads):
            for target, matrix in zip(targets, distances, strict=True):
                total[target] += matrix

    def _add_by_rows(self, blocks: Sequence[FeatureBlock], total: FloatArray, stop: Any) -> None:
        """The threads share the rows of the sums, block after block; no other matrix of that size is made."""
        n_items = total.shape[1]
        sparse = _sparse_pays(blocks, n_items)
        step = 4 * max(1, -(-n_items // (4 * _ROW_PARTS)))
        parts = self._asked_rows or [(first, min(first + step, n_items)) for first in range(0, n_items, step)]

        def form(block: FeatureBlock) -> list[tuple[int, SectionSums]]:
            rows: FloatArray = np.empty((n_items, int(block.section_ends[-1])), block.dtype)
            return list(zip(block.section_targets.tolist(), _sections(block, rows, sparse), strict=True))

        for first in range(0, len(blocks), self.threads):
            formed = list(ordered_results(form, blocks[first : first + self.threads], self.threads))

            def add(part: tuple[int, int], formed: Any = formed) -> None:
                for sections in formed:
                    for target, section in sections:
                        section.add(part, total[target], stop)

            for _ in ordered_results(add, parts, self.threads):
                pass


def _sparse_pays(blocks: Sequence[FeatureBlock], n_items: int) -> bool:
    return n_items**2 // 2 * sum(int(block.section_ends[-1]) for block in blocks) >= _SPARSE_PAYS


def _sections(block: FeatureBlock, rows: FloatArray, sparse: bool) -> list[SectionSums]:
    from haarbor.engines._section_sums import SectionSums

    block.write_means(rows)
    ends = block.section_ends.tolist()
    return [
        SectionSums(rows, begin, end, sparse=sparse) for begin, end in zip([0, *ends], ends, strict=False)
    ]
