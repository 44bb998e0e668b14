"""An order of removal in which every layer loses the same share of its heads."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from haarbor.array_types import FloatArray
from haarbor.errors import ShapeError
from haarbor.pruning._network_heads import NetworkHeads

__all__ = ["layer_quota_ranks"]


def layer_quota_ranks(scores: npt.ArrayLike, heads: NetworkHeads) -> FloatArray:
    """Place of each head when heads are compared within their layer only.

    Parameters
    ----------
    scores : array_like, shape (n_heads,)
        Lower goes first within a layer.
    heads : NetworkHeads

    Returns
    -------
    ndarray of float, shape (n_heads,)
        0 for the first to go. However many of the first heads are removed, every layer has lost the same
        share, to within one head.

    Raises
    ------
    ShapeError
        If there is not one score per head.

    Notes
    -----
    The j-th of the n heads of a layer goes when the network has lost about the share j / n. Layers
    that are equally far lose their next head in the order of its score.

    Examples
    --------
    >>> from haarbor.pruning import LayerHeads
    >>> layer = LayerHeads(projection="o", attention="a", call=0, n_heads=2, head_width=4, head_group=1,
    ...                 block=None)
    >>> layer_quota_ranks([5.0, 6.0, 2.0, 1.0], NetworkHeads((layer, layer))).tolist()
    [1.0, 3.0, 2.0, 0.0]
    """
    values: FloatArray = np.asarray(scores, dtype=np.float64)
    if values.shape != (heads.n_heads,):
        raise ShapeError(
            f"there must be one score per head, shape ({heads.n_heads},); found {values.shape}."
            " Pass one number for each head, counted through all layers."
        )
    shares = np.empty(heads.n_heads)
    for number, layer in enumerate(heads.layers):
        own = np.flatnonzero(heads.layer_of_head == number)
        shares[own[np.argsort(values[own], kind="stable")]] = np.arange(1, layer.n_heads + 1) / layer.n_heads
    order = np.lexsort((np.arange(values.size), values, shares))
    ranks = np.empty(values.size)
    ranks[order] = np.arange(values.size)
    return ranks
