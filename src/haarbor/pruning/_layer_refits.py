"""A layer without any choice of its heads, the others refitted, and what one head more or less changes."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from haarbor.array_types import FloatArray, IntArray
from haarbor.pruning._compensation import RIDGE, ridge_strength
from haarbor.pruning._layer_moments import LayerMoments
from haarbor.pruning._network_heads import LayerHeads

__all__ = ["LayerRefits"]


class LayerRefits:
    r"""Refits of a layer's output projection for all choices of heads, from one inverse.

    Parameters
    ----------
    moments : LayerMoments
    layer : LayerHeads
    ridge : float, default 0.1
        As for :func:`haarbor.pruning.compensate`.

    Notes
    -----
    With :math:`P = (C + \lambda)^{-1}` and :math:`R` the channels of the removed heads, the refit of
    :func:`haarbor.pruning._compensation.fitted_projection` has the weights
    :math:`W_{(R)} = W - W_R P_{RR}^{-1} P_{R,:}`, by the inverse of a block matrix, and
    :math:`P_{(R)} = P - P_{:,R} P_{RR}^{-1} P_{R,:}` is the inverse of the channels that are left. These are
    the updates of OSSCAR (Meng et al. 2024, arXiv 2403.12983), for many heads at once.

    Examples
    --------
    Two heads of one channel each that give the same, with mean 1 and variance 1, of weights 1 and 3. Without
    the second the first takes over 3 / (1 + 0.5) = 2 of its weight, and the bias what is left of its mean.

    >>> layer = LayerHeads(projection="o", attention="a", call=0, n_heads=2, head_width=1, head_group=1,
    ...                 block=None)
    >>> second, mean = np.full((2, 2), 2.0), np.ones(2)
    >>> moments = LayerMoments(second=second, mean=mean, relative_second=second, relative_mean=mean,
    ...                 relative_weight=1.0, residual_energy=1.0, n_tokens=2, weight=np.array([[1.0, 3.0]]),
    ...                 bias=np.zeros(1))
    >>> refits = LayerRefits(moments, layer, ridge=0.5)
    >>> weight, bias = refits.projection([1])
    >>> weight.round(9).tolist(), bias.round(9).tolist()
    ([[3.0, 0.0]], [1.0])

    With the second back, it gives 3 times what the first does not tell of it, x_2 - 2/3 x_1.

    >>> left, right = refits.single_heads([1])
    >>> left[:, 1].round(9).tolist(), right[1].round(3).tolist()
    ([3.0], [-0.667, 1.0])
    """

    def __init__(self, moments: LayerMoments, layer: LayerHeads, *, ridge: float = RIDGE) -> None:
        strength = ridge_strength(moments.covariance, ridge)
        # A layer whose heads give nothing has nothing to refit.
        added = max(strength, np.finfo(np.float64).tiny) * np.eye(layer.width)
        self._inverse: FloatArray = np.linalg.inv(moments.covariance + added)
        self._moments, self._layer = moments, layer

    def projection(self, removed: Collection[int]) -> tuple[FloatArray, FloatArray]:
        """Weights (n_outputs, width) and bias (n_outputs,) without these heads of the layer."""
        weight = self._moments.weight
        _, fitted = self._without(removed)
        bias: FloatArray = self._moments.bias + (weight - fitted) @ self._moments.mean
        return fitted, bias

    def single_heads(self, removed: Collection[int]) -> tuple[FloatArray, FloatArray]:
        r"""What the layer gives more with each head that is removed, or less without each that is not.

        Returns
        -------
        left : ndarray, shape (n_outputs, width)
        right : ndarray, shape (width, width)
            For head :math:`h`, with the others as they are and refitted either way, the difference is
            :math:`A_h Q_h (x - \bar x)`: the columns :math:`A_h` of `left`, the rows :math:`Q_h` of `right`.
        """
        left, right = np.zeros_like(self._moments.weight), np.zeros_like(self._inverse)
        gone = set(removed)
        now = self._without(gone)
        for head in range(self._layer.n_heads):
            inverse, weight = self._without(gone - {head}) if head in gone else now
            part = self._layer.channels(head)
            left[:, part] = weight[:, part]
            right[part] = np.linalg.solve(inverse[part, part], inverse[part, :])
        return left, right

    def _without(self, removed: Collection[int]) -> tuple[FloatArray, FloatArray]:
        """Inverse and weights without these heads; zero in their rows and columns."""
        inverse, weight = self._inverse, self._moments.weight
        if not removed:
            return inverse, weight
        gone = self._channels(removed)
        spread = np.linalg.solve(inverse[np.ix_(gone, gone)], inverse[gone])
        inverse, weight = inverse - inverse[:, gone] @ spread, weight - weight[:, gone] @ spread
        # Zero but for rounding.
        inverse[gone], inverse[:, gone], weight[:, gone] = 0.0, 0.0, 0.0
        return inverse, weight

    def _channels(self, removed: Collection[int]) -> IntArray:
        every = np.arange(self._layer.width)
        return np.concatenate([every[self._layer.channels(head)] for head in sorted(removed)])
