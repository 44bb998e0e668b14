"""FLAP: heads whose channels fluctuate least around their mean, which a bias can stand in for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from haarbor.array_types import FloatArray
from haarbor.pruning._layer_moments import LayerMoments
from haarbor.pruning._network_heads import NetworkHeads

__all__ = ["flap_scores"]


def flap_scores(moments: Sequence[LayerMoments], heads: NetworkHeads) -> FloatArray:
    r"""Fluctuation of each head's output, comparable between layers.

    Parameters
    ----------
    moments : sequence of LayerMoments
    heads : NetworkHeads

    Returns
    -------
    ndarray, shape (n_heads,)
        The lowest goes first.

    Notes
    -----
    An et al., "Fluctuation-based adaptive structured pruning" (2023, arXiv 2312.11983), written anew from
    its description. A channel :math:`j` of the input of the projection :math:`W` fluctuates by
    :math:`\operatorname{Var}(x_j) \|W_{:j}\|^2`; for attention this is squared. The values of a layer are
    standardised (less their mean, over their standard deviation), a head has the mean of its channels, and
    one threshold holds for all layers. What FLAP does about removed heads is to put their mean into the
    bias, the replacement "mean" of this package.
    """
    found = []
    for moment, layer in zip(moments, heads.layers, strict=True):
        variances = np.maximum(np.diagonal(moment.covariance), 0.0)
        values = np.square(variances * np.square(moment.weight).sum(axis=0))
        spread = float(values.std())
        # A layer whose channels are all alike tells its heads no more apart than zeros do.
        standard = (values - values.mean()) / spread if spread > 0 else np.zeros_like(values)
        found.append(standard.reshape(layer.n_heads, layer.head_width).mean(axis=1))
    return np.concatenate(found)
