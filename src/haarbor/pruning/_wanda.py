"""Wanda-sp: heads with small weights on small inputs, compared within their layer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from haarbor.array_types import FloatArray
from haarbor.pruning._layer_moments import LayerMoments
from haarbor.pruning._network_heads import NetworkHeads

__all__ = ["wanda_scores"]


def wanda_scores(moments: Sequence[LayerMoments], heads: NetworkHeads) -> FloatArray:
    r"""Weights of each head times the size of what they are multiplied with.

    Parameters
    ----------
    moments : sequence of LayerMoments
    heads : NetworkHeads

    Returns
    -------
    ndarray, shape (n_heads,)
        The lowest goes first; comparable within a layer only, see
        :func:`haarbor.pruning._layer_quotas.layer_quota_ranks`.

    Notes
    -----
    Wanda (Sun et al. 2023) scores a weight by :math:`|W_{ij}| \|x_j\|_2`; its structured form, the
    baseline Wanda-sp of FLAP (An et al. 2023, arXiv 2312.11983), takes the mean over the outputs
    :math:`i` and the sum over the channels :math:`j` of a head, with the same quota for every layer.
    Written anew from that description; the norm is a root mean square here, which changes no order.
    It does nothing about removed heads, the replacement "zero" of this package.
    """
    found = []
    for moment, layer in zip(moments, heads.layers, strict=True):
        sizes = np.sqrt(np.maximum(np.diagonal(moment.second), 0.0))
        values = np.abs(moment.weight).mean(axis=0) * sizes
        found.append(values.reshape(layer.n_heads, layer.head_width).sum(axis=1))
    return np.concatenate(found)
