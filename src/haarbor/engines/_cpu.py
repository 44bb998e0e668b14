"""Sums of absolute differences on the cores of this machine, in a compiled loop."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from haarbor.array_types import AnyArray, FloatArray, IntArray
from haarbor.engines._engine import FeatureBlock
from haarbor.engines._worker_threads import ordered_results, thread_count

__all__ = ["CpuEngine"]


class CpuEngine:
    """Engine on the cores of this machine.

    Each thread takes a block, forms its folder means and sums their differences into a matrix of
    its own; the matrices are added in block order, so the result is the same bit for bit for any
    number of threads.

    Parameters
    ----------
    threads : int, optional
        Number of threads; by default every core this process may use.
    """

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
        from haarbor.engines._pairwise_kernels import add_l1

        def partial(block: FeatureBlock) -> tuple[IntArray, FloatArray]:
            ends = block.section_ends
            rows = self._buffer(n_items * int(ends[-1]), block.dtype).reshape(n_items, int(ends[-1]))
            block.write_means(rows)
            distances = np.zeros((ends.size, n_items, n_items))
            add_l1(rows, ends, distances, stop)
            return block.section_targets, distances

        # A block of a long axis takes a minute. After an interrupt the threads give up their blocks.
        stop = np.zeros(1, np.uint8)
        total = np.zeros((n_targets, n_items, n_items))
        try:
            for targets, distances in ordered_results(partial, blocks, self.threads):
                for target, matrix in zip(targets, distances, strict=True):
                    total[target] += matrix
        finally:
            stop[0] = 1
        upper = np.triu(total, 1)
        return upper + upper.transpose(0, 2, 1)
