"""Compiled sums of squares over present entries, those that are not zero. Inputs are not checked."""

import numpy as np

from haarbor.compiled import compiled

__all__ = ["squares_by_presence"]


@compiled()
def squares_by_presence(block):
    """Sums of squares over the last axis, whether entries are present there, and whether all or none are.

    `block` is (n_slices, n_steps, n_inner). If the last result is False, presence differs along
    the last axis and the other two are not complete.
    """
    n_slices, n_steps, n_inner = block.shape
    squares = np.zeros((n_slices, n_steps))
    present = np.zeros((n_slices, n_steps))
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
                return squares, present, False
            squares[i, step] = total
            present[i, step] = 1.0 if count else 0.0
    return squares, present, True
