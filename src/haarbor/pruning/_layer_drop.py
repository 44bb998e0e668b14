"""LLM-Drop: whole layers of attention that hardly turn the residual stream."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from haarbor.array_types import FloatArray
from haarbor.errors import PruningError
from haarbor.pruning._layer_moments import LayerMoments
from haarbor.pruning._network_heads import NetworkHeads
from haarbor.pruning._output_norms import output_norms

__all__ = ["layer_drop_ranks"]


def layer_drop_ranks(moments: Sequence[LayerMoments], heads: NetworkHeads) -> FloatArray:
    r"""Place of each head when attention goes layer by layer.

    Parameters
    ----------
    moments : sequence of LayerMoments
    heads : NetworkHeads

    Returns
    -------
    ndarray of float, shape (n_heads,)
        0 for the first to go.

    Raises
    ------
    PruningError
        If the residual stream was not found.

    Notes
    -----
    He et al., "What matters in transformers? Not all attention is needed" (2024, arXiv 2406.15786),
    written anew from a description: the layer for which :math:`1 - \cos(x, x + \operatorname{attn}(x))` is
    least on average goes first, with all its heads. Within a layer the head that writes least goes first,
    which matters where a layer goes in part: the last layer of a budget, and the head that every layer
    keeps in this package. It does nothing about what is removed, the replacement "zero".
    """
    cosines = np.array([moment.cosine for moment in moments])
    if not np.isfinite(cosines).all():
        raise PruningError(
            f"the residual stream of layer {int(np.argmax(~np.isfinite(cosines)))} was not found, so that it "
            "is not known how far its attention turns it. Take another score."
        )
    turns = (1 - cosines)[heads.layer_of_head]
    order = np.lexsort((output_norms(moments, heads), heads.layer_of_head, turns))
    ranks = np.empty(order.size)
    ranks[order] = np.arange(order.size)
    return ranks
