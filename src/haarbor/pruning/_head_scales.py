"""Heads that stay multiplied by one factor each, to make up for the removed ones by least squares."""

from __future__ import annotations

import numpy as np

from haarbor.array_types import FloatArray, IntArray, frozen
from haarbor.pruning._compensation import LayerFit, require_ridge
from haarbor.pruning._layer_moments import LayerMoments
from haarbor.pruning._network_heads import LayerHeads
from haarbor.pruning._output_norms import contribution_gram

__all__ = ["scaled_projection"]


def scaled_projection(
    moments: LayerMoments, layer: LayerHeads, removed: IntArray, *, ridge: float = 1e-3
) -> LayerFit:
    r"""Projection in which every head that stays has a factor, fitted to the layer's whole output.

    Parameters
    ----------
    moments : LayerMoments
    layer : LayerHeads
    removed : ndarray of int
        Heads of the layer that go.
    ridge : float, default 1e-3
        Pull of the factors towards 1, relative to the mean square of what a head writes.

    Returns
    -------
    LayerFit

    Notes
    -----
    The mask tuning of Kwon et al. (2022, arXiv 2204.09656), in closed form: with
    :math:`G_{ij} = E\langle W_i x_i, W_j x_j\rangle`, the factors :math:`1 + d` of the kept heads
    :math:`K` minimise :math:`E\|\sum_R W_r x_r - \sum_K d_k W_k x_k\|^2 + \lambda \|d\|^2`, so
    :math:`(G_{KK} + \lambda) d = G_{KR} 1`. There is no bias. Where heads are alike this has nearly the
    freedom of a refit, elsewhere far less: one number per head and not one per weight.
    """
    require_ridge(ridge)
    gram = contribution_gram(moments.second, moments.weight, layer)
    stays = np.setdiff1d(np.arange(layer.n_heads), removed)
    lost = float(gram[np.ix_(removed, removed)].sum())
    strength = max(ridge * float(np.trace(gram)) / layer.n_heads, np.finfo(np.float64).tiny)
    own, cross = gram[np.ix_(stays, stays)], gram[np.ix_(stays, removed)].sum(axis=1)
    change: FloatArray = np.linalg.solve(own + strength * np.eye(stays.size), cross)
    factors = np.zeros(layer.n_heads)
    factors[stays] = 1 + change
    error = lost - 2 * float(change @ cross) + float(change @ own @ change)
    return LayerFit(
        weight=frozen(moments.weight * np.repeat(factors, layer.head_width)),
        bias=moments.bias,
        error=max(error, 0.0),
        mean_error=lost,
    )
