"""Compiled sums of squares over present entries, those that are not zero. Inputs are not checked."""

import numpy as np

from haarbor.array_types import FloatArray
from haarbor.compiled import compiled

__all__ = ["squares_by_presence"]


def squares_by_presence(block: FloatArray) -> tuple[FloatArray, FloatArray, bool]:
    """Sums of squares over the last axis, whether entries are present there, and whether all or none are.

    `block` is (n_slices, n_steps, n_inner). If the last result is False, presence differs along
    the last axis and the other two are not complete.
    """
    # Memory comes from Python: a kernel that takes its own is compiled much longer.
    squares, present = np.zeros(block.shape[:2]), np.zeros(block.shape[:2])
    return squares, present, presence_kernel(block, squares, present)


@compiled()
def presence_kernel(block, squares, present):
    """What `squares_by_presence` says, with memory for its answer."""
    n_slices, n_steps, n_inner = block.shape
    for i in range(n_slices):
        for step in range(n_steps):
            values = block[i, step]
            count = 0
            total = 0.0
            for h in range(n_inner):
                value = values[h]
                count += value != 0
                total += value * value
            if count != 0 and count != n_inner:
                return False
            squares[i, step] = total
            present[i, step] = 1.0 if count else 0.0
    return True
