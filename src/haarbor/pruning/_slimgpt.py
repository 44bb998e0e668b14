"""SlimGPT: the optimal brain surgeon for heads, with the diagonal of the inverse in place of blocks of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from haarbor.array_types import FloatArray
from haarbor.pruning._compensation import require_ridge
from haarbor.pruning._layer_moments import LayerMoments
from haarbor.pruning._layer_quotas import layer_quota_ranks
from haarbor.pruning._network_heads import LayerHeads, NetworkHeads

__all__ = ["slimgpt_ranks"]


def slimgpt_ranks(moments: Sequence[LayerMoments], heads: NetworkHeads, *, ridge: float = 1e-2) -> FloatArray:
    r"""Place of each head in the order of SlimGPT, with the same quota for every layer.

    Parameters
    ----------
    moments : sequence of LayerMoments
    heads : NetworkHeads
    ridge : float, default 0.01
        Relative to the mean second moment of a channel.

    Returns
    -------
    ndarray of float, shape (n_heads,)
        0 for the first to go.

    Notes
    -----
    Ling et al., "SlimGPT" (2024, arXiv 2412.18110), its diagonal shortcut, written anew from a description.
    With :math:`P` the inverse of the second moments, a head costs
    :math:`\sum_j \|W_{:j}\|^2 / P_{jj}` over its channels, as if they went one at a time, where the
    block :math:`\operatorname{tr}(W_h P_{hh}^{-1} W_h^\top)` would let them stand in for each other
    no longer. The cheapest head goes, and weights and inverse are updated as for blocks. SlimGPT gives
    later layers larger shares; here all layers have the same one, so that only the score is compared. Its own
    compensation is the least-squares fit of the other weights: the replacement "weights" of this package.
    """
    require_ridge(ridge)
    places = [_places(moment, layer, ridge) for moment, layer in zip(moments, heads.layers, strict=True)]
    return layer_quota_ranks(np.concatenate(places), heads)


def _places(moment: LayerMoments, layer: LayerHeads, ridge: float) -> FloatArray:
    width = layer.width
    strength = max(ridge * float(np.trace(moment.second)) / width, np.finfo(np.float64).tiny)
    inverse = np.linalg.inv(moment.second + strength * np.eye(width))
    weight = moment.weight.copy()
    left = list(range(layer.n_heads))
    places = np.empty(layer.n_heads)
    for place in range(layer.n_heads):
        squares = np.square(weight).sum(axis=0)
        diagonal = np.diagonal(inverse)
        parts = {head: layer.channels(head) for head in left}
        head = min(left, key=lambda number: float((squares[parts[number]] / diagonal[parts[number]]).sum()))
        part = parts[head]
        spread = np.linalg.solve(inverse[part, part], inverse[part, :])
        weight -= weight[:, part] @ spread
        inverse -= inverse[:, part] @ spread
        left.remove(head)
        places[head] = place
    return places
