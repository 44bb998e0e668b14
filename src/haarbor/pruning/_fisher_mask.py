"""Kwon's mask: heads of least Fisher information, rearranged within layers where heads act together."""

from __future__ import annotations

import numpy as np

from haarbor.array_types import BoolArray, FloatArray, frozen
from haarbor.errors import DataError
from haarbor.pruning._budgets import removal_of_count
from haarbor.pruning._network_heads import NetworkHeads
from haarbor.pruning._osscar import exchanged

__all__ = ["fisher_mask"]


def fisher_mask(gradients: FloatArray, heads: NetworkHeads, n_removed: int) -> BoolArray:
    r"""Heads whose removal changes the loss least to second order, by the Fisher information of their gates.

    Parameters
    ----------
    gradients : ndarray, shape (n_batches, n_heads)
        Derivative of the loss of each batch by the gate of each head.
    heads : NetworkHeads
    n_removed : int

    Returns
    -------
    ndarray of bool, shape (n_heads,)

    Raises
    ------
    DataError
        If the gradients do not belong to these heads.
    SettingError
        If the structure of the network does not allow this number.

    Notes
    -----
    Kwon et al., "A fast post-training pruning framework for transformers" (2022, arXiv 2204.09656), written
    anew from its description. First the heads of lowest :math:`F_{hh} = E[g_h^2]` are chosen, over all
    layers. Then each layer keeps its number, and heads are exchanged, one for one, while
    :math:`1_R^\top F 1_R` falls, with :math:`F = E[g g^\top]` within the layer: two heads whose effects
    add up cost more together than one by one. Its own compensation is one factor per head that stays, by
    least squares: the replacement "scale" of this package.
    """
    if gradients.ndim != 2 or gradients.shape[1] != heads.n_heads or not np.isfinite(gradients).all():
        raise DataError(
            f"gradients must be finite, one per batch and head, shape (n_batches, {heads.n_heads}); found "
            f"shape {gradients.shape}. Pass those of the calibration pass of this network."
        )
    diagonal = np.square(gradients).mean(axis=0)
    removed = removal_of_count(diagonal, heads, n_removed).copy()
    for number, gone in enumerate(heads.by_layer(removed)):
        own = np.flatnonzero(heads.layer_of_head == number)
        information = gradients[:, own].T @ gradients[:, own] / len(gradients)

        def cost(chosen: object, information: FloatArray = information) -> float:
            index = sorted(chosen)  # type: ignore[call-overload]
            return float(information[np.ix_(index, index)].sum())

        better = exchanged(cost, frozenset(gone.tolist()), own.size, n_exchanged=1)
        removed[own] = False
        removed[own[sorted(better)]] = True
    return frozen(removed)
