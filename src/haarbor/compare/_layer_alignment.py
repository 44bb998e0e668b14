"""Linear CKA between the attention of every layer of one network and every layer of another."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from haarbor.array_types import AnyArray, FloatArray
from haarbor.compare._linear_cka import centred_kernel

__all__ = ["layer_alignment", "layer_kernels"]

_LEAST_SAMPLES = 4


def layer_kernels(tensor: AnyArray, n_layers: int) -> FloatArray | None:
    """Centred linear kernels of the queries, one per layer; the heads of a layer side by side.

    Parameters
    ----------
    tensor : ndarray, shape (n_queries, n_keys, n_layers * heads)
    n_layers : int

    Returns
    -------
    ndarray, shape (n_layers, n_queries * n_queries), or None
        None for fewer than four queries, of which no alignment can be told.
    """
    n_queries = tensor.shape[0]
    if n_queries < _LEAST_SAMPLES:
        return None
    heads = tensor.shape[2] // n_layers
    found = np.empty((n_layers, n_queries * n_queries))
    for layer in range(n_layers):
        part = np.asarray(tensor[:, :, layer * heads : (layer + 1) * heads], dtype=np.float64)
        rows = part.reshape(n_queries, -1)
        found[layer] = centred_kernel(rows @ rows.T).ravel()
    return found


def layer_alignment(batches: Iterable[tuple[FloatArray, FloatArray]], shape: tuple[int, int]) -> FloatArray:
    """Linear CKA of all pairs of layers, the terms summed over batches and divided once.

    Parameters
    ----------
    batches : iterable of (ndarray, ndarray)
        What :func:`layer_kernels` gives of both networks, for every batch.
    shape : (int, int)
        Numbers of layers.

    Returns
    -------
    ndarray, shape (n_layers, m_layers)
        As :func:`haarbor.compare.linear_cka` gives it; NaN where a layer's attention is constant, or where
        there is no batch.
    """
    both, own_first, own_second = np.zeros(shape), np.zeros(shape[0]), np.zeros(shape[1])
    for one, two in batches:
        n = round(float(np.sqrt(one.shape[1])))
        scale = n * (n - 3)
        both += one @ two.T / scale
        own_first += (one * one).sum(axis=1) / scale
        own_second += (two * two).sum(axis=1) / scale
    norms = np.sqrt(np.outer(own_first, own_second))
    found = np.full(shape, np.nan)
    np.divide(both, norms, out=found, where=norms > 0)
    return found
