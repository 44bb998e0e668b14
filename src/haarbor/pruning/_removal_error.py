"""What a layer's output misses without some of its heads, the others refitted, for any choice of heads."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from haarbor.array_types import FloatArray
from haarbor.pruning._network_heads import LayerHeads

__all__ = ["RemovalError"]


class RemovalError:
    r"""Error of a layer's output as a function of the heads that are removed, in closed form.

    Parameters
    ----------
    moments : ndarray, shape (width, width)
        Covariance or second moments of the heads' joined outputs.
    weight : ndarray, shape (n_outputs, width)
        Of the output projection.
    layer : LayerHeads
    ridge : float
        Relative to the mean of the diagonal of `moments`.

    Notes
    -----
    With :math:`P` the inverse of the moments and :math:`R` the channels of the removed heads, the best
    refit of the others leaves :math:`\operatorname{tr}(W_R P_{RR}^{-1} W_R^\top)`. One inverse serves
    all choices: no fit is made. This is the objective of the optimal brain surgeon (Hassibi & Stork 1993)
    for blocks of weights, and that of OSSCAR (Meng et al. 2024, arXiv 2403.12983).

    Examples
    --------
    Two heads of one channel each, uncorrelated: without a head its whole output is missing.

    >>> layer = LayerHeads(projection="o", attention="a", call=0, n_heads=2, head_width=1, head_group=1,
    ...                 block=None)
    >>> error = RemovalError(np.diag([4.0, 1.0]), np.array([[1.0, 3.0]]), layer, 0.0)
    >>> round(error([0]), 6), round(error([1]), 6), round(error([0, 1]), 6)
    (4.0, 9.0, 13.0)
    """

    def __init__(self, moments: FloatArray, weight: FloatArray, layer: LayerHeads, ridge: float) -> None:
        width = moments.shape[0]
        strength = max(ridge * float(np.trace(moments)) / width, np.finfo(np.float64).tiny)
        inverse = np.linalg.inv(moments + strength * np.eye(width))
        self._inverse = (inverse + inverse.T) / 2
        self._gram = weight.T @ weight
        self._channels = [np.arange(width)[layer.channels(head)] for head in range(layer.n_heads)]
        self._known: dict[frozenset[int], float] = {frozenset(): 0.0}

    def __call__(self, removed: Collection[int]) -> float:
        """Error without the heads of these numbers within the layer."""
        key = frozenset(removed)
        if key not in self._known:
            gone = np.concatenate([self._channels[head] for head in sorted(key)])
            block = np.ix_(gone, gone)
            factor = cho_factor(self._inverse[block], check_finite=False)
            self._known[key] = float(np.trace(cho_solve(factor, self._gram[block], check_finite=False)))
        return self._known[key]
