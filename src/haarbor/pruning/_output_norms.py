"""How much each head writes into the residual stream."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from haarbor.array_types import FloatArray
from haarbor.errors import PruningError
from haarbor.pruning._layer_moments import LayerMoments
from haarbor.pruning._network_heads import LayerHeads, NetworkHeads

__all__ = ["contribution_gram", "output_norms", "relative_output_norms", "require_residual"]


def contribution_gram(second: FloatArray, weight: FloatArray, layer: LayerHeads) -> FloatArray:
    r"""Mean inner products of what the heads of a layer write, shape (n_heads, n_heads).

    Parameters
    ----------
    second : ndarray, shape (width, width)
        Second moments of the joined outputs of the heads.
    weight : ndarray, shape (n_outputs, width)
        Of the output projection.
    layer : LayerHeads

    Returns
    -------
    ndarray, shape (n_heads, n_heads)

    Notes
    -----
    :math:`G_{ij} = E \langle W_i x_i, W_j x_j \rangle = \operatorname{tr}(W_j^\top W_i C_{ij})`.

    Examples
    --------
    >>> layer = LayerHeads(projection="o", attention="a", call=0, n_heads=2, head_width=1, head_group=1,
    ...                 block=None)
    >>> contribution_gram(np.array([[4.0, 1.0], [1.0, 1.0]]), np.array([[1.0, 3.0]]), layer).tolist()
    [[4.0, 3.0], [3.0, 9.0]]
    """
    products = (weight.T @ weight) * second
    blocks = products.reshape(layer.n_heads, layer.head_width, layer.n_heads, layer.head_width)
    gram: FloatArray = blocks.sum(axis=(1, 3))
    return gram


def output_norms(moments: Sequence[LayerMoments], heads: NetworkHeads) -> FloatArray:
    """Root mean square of what each head writes, shape (n_heads,)."""
    squares = [
        np.diagonal(contribution_gram(moment.second, moment.weight, layer))
        for moment, layer in zip(moments, heads.layers, strict=True)
    ]
    found: FloatArray = np.sqrt(np.maximum(np.concatenate(squares), 0.0))
    return found


def relative_output_norms(
    moments: Sequence[LayerMoments], heads: NetworkHeads, *, per_token: bool = True
) -> FloatArray:
    r"""Root mean square of what each head writes, relative to the residual stream it writes into.

    Parameters
    ----------
    moments : sequence of LayerMoments
    heads : NetworkHeads
    per_token : bool, default True
        Whether the norm at each token is divided by that of the residual stream at the token before
        averaging, or the average norm by the average norm. The second depends almost only on the few
        tokens whose residual stream is huge.

    Returns
    -------
    ndarray, shape (n_heads,)

    Raises
    ------
    PruningError
        If the residual stream was not found.

    See Also
    --------
    haarbor.pruning.layer_moments : Moments of what heads write.

    Notes
    -----
    Of head :math:`h` with output :math:`y_h` and residual stream :math:`r`:
    :math:`\sqrt{E(\|y_h\|^2 / \|r\|^2)}`, or :math:`\sqrt{E\|y_h\|^2 / E\|r\|^2}`.
    """
    require_residual(moments)
    squares = [
        np.diagonal(contribution_gram(moment.relative_second, moment.weight, layer))
        if per_token
        else np.diagonal(contribution_gram(moment.second, moment.weight, layer)) / moment.residual_energy
        for moment, layer in zip(moments, heads.layers, strict=True)
    ]
    found: FloatArray = np.sqrt(np.maximum(np.concatenate(squares), 0.0))
    return found


def require_residual(moments: Sequence[LayerMoments]) -> None:
    """Raise unless the residual stream was seen in every layer."""
    for number, moment in enumerate(moments):
        if not np.isfinite(moment.residual_energy):
            raise PruningError(
                f"the residual stream of layer {number} was not found: no module in a list of layers around "
                "the attention is given a tensor as wide as its output. Take a score that is not relative."
            )
