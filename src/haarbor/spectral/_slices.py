"""Slices of a tensor along one axis, in blocks with one row per slice."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from haarbor.array_types import FloatArray

__all__ = ["slice_blocks"]

_BLOCK_BYTES = 1 << 20
_LARGEST_BLOCK = 32 << 20


def slice_blocks(tensor: FloatArray, axis: int) -> list[Callable[[], FloatArray]]:
    """Blocks of the unfolding along `axis`, in a fixed order, about 1 MB each.

    They are half as large as a matrix of all slices where that is more, but not above 32 MB.

    Parameters
    ----------
    tensor : ndarray of float, any number of axes
    axis : int
        The axis whose slices become rows.

    Returns
    -------
    list of functions without arguments
        Each returns a new array of shape (n_slices, n_steps, n_inner) in C order. Over all blocks the
        last two axes hold every entry of a slice once: ``n_steps`` runs along the first axis of the
        tensor other than `axis`, and ``n_inner`` over all further axes.
    """
    rest = np.moveaxis(tensor, axis, 0)
    if rest.ndim == 1:
        rest = rest[:, None]
    n_slices, n_steps = rest.shape[:2]
    n_inner = int(np.prod(rest.shape[2:]))
    # Not much smaller than the sums over it, which are added once per block.
    block_bytes = max(_BLOCK_BYTES, min(4 * n_slices**2, _LARGEST_BLOCK))
    step = max(1, block_bytes // (rest.itemsize * n_slices * n_inner))

    def block(begin: int) -> FloatArray:
        part = rest[:, begin : begin + step]
        return np.array(part, order="C").reshape(n_slices, part.shape[1], n_inner)

    return [lambda begin=begin: block(begin) for begin in range(0, n_steps, step)]  # type: ignore[misc]
