"""OSSCAR: heads removed greedily within every layer, and exchanged while the layer's output gets better."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

from haarbor.array_types import BoolArray, FloatArray, frozen
from haarbor.pruning._backward_elimination import LayerElimination
from haarbor.pruning._budgets import removal_of_count
from haarbor.pruning._compensation import require_ridge
from haarbor.pruning._layer_moments import LayerMoments
from haarbor.pruning._layer_quotas import layer_quota_ranks
from haarbor.pruning._network_heads import NetworkHeads
from haarbor.pruning._removal_error import RemovalError

__all__ = ["osscar_ranks", "osscar_removal"]

N_EXCHANGED = 5
"""Heads that leave, and come back, in one exchange."""
RIDGE = 1e-2
"""Relative to the mean second moment of a channel."""

_Error = Callable[[Collection[int]], float]


def osscar_ranks(moments: Sequence[LayerMoments], heads: NetworkHeads, *, ridge: float = RIDGE) -> FloatArray:
    """Place of each head in the greedy order of OSSCAR, with the same quota for every layer.

    Parameters
    ----------
    moments : sequence of LayerMoments
    heads : NetworkHeads
    ridge : float, default 0.01

    Returns
    -------
    ndarray of float, shape (n_heads,)
        0 for the first to go.
    """
    require_ridge(ridge)
    places = []
    for moment, layer in zip(moments, heads.layers, strict=True):
        own = np.empty(layer.n_heads)
        elimination = LayerElimination(moment.second, moment.weight, layer, ridge)
        for place in range(layer.n_heads):
            _cost, head = elimination.cheapest()
            elimination.remove(head)
            own[head] = place
        places.append(own)
    return layer_quota_ranks(np.concatenate(places), heads)


def osscar_removal(
    moments: Sequence[LayerMoments], heads: NetworkHeads, n_removed: int, *, ridge: float = RIDGE
) -> BoolArray:
    """Heads that OSSCAR removes: greedily within every layer, then exchanged while the error falls.

    Parameters
    ----------
    moments : sequence of LayerMoments
    heads : NetworkHeads
    n_removed : int
        Of all heads; every layer loses the same share, to within one head.
    ridge : float, default 0.01
        Relative to the mean second moment of a channel.

    Returns
    -------
    ndarray of bool, shape (n_heads,)

    Raises
    ------
    SettingError
        If the structure of the network does not allow this number.

    Notes
    -----
    Meng et al., "OSSCAR: one-shot structured pruning by combinatorial optimization" (ICML 2024, arXiv
    2403.12983), written anew from its description. Its error is that of
    :class:`haarbor.pruning._removal_error.RemovalError` on second moments as they are: without centring,
    without weights for tokens, layer by layer. In one exchange up to five more heads leave a layer, always
    the one that costs least, and as many come back, always the one that helps most; exchanges go on
    while the error falls. Its own compensation is the least-squares fit of the other weights, without a bias:
    the replacement "weights" of this package.
    """
    removed = removal_of_count(osscar_ranks(moments, heads, ridge=ridge), heads, n_removed).copy()
    starts = np.concatenate([[0], np.cumsum([layer.n_heads for layer in heads.layers])])
    errors = _errors(moments, heads, ridge)
    for number, (error, gone) in enumerate(zip(errors, heads.by_layer(removed), strict=True)):
        own = exchanged(error, frozenset(gone.tolist()), heads.layers[number].n_heads)
        removed[starts[number] : starts[number + 1]] = False
        removed[[int(starts[number]) + head for head in own]] = True
    return frozen(removed)


def exchanged(
    error: _Error, removed: frozenset[int], n_heads: int, *, n_exchanged: int = N_EXCHANGED
) -> frozenset[int]:
    """As many heads of a layer as before, exchanged while the error falls.

    Parameters
    ----------
    error : function of heads
        Of the layer's output without them.
    removed : frozenset of int
        Where the exchange begins.
    n_heads : int
        Of the layer.
    n_exchanged : int, default 5
        Heads that leave before as many come back; fewer where fewer are left.

    Returns
    -------
    frozenset of int
    """
    if not removed or len(removed) == n_heads:
        return removed
    best = removed
    while True:
        n_more = min(n_exchanged, n_heads - len(best))
        trial = best | frozenset(_cheapest(error, best, n_heads, n_more))
        for _ in range(n_more):
            trial = min((trial - {head} for head in sorted(trial)), key=error)
        if error(trial) >= error(best) * (1 - 1e-12):
            return best
        best = trial


def _cheapest(error: _Error, removed: frozenset[int], n_heads: int, n_more: int) -> list[int]:
    """The next heads to leave a layer, always the one whose removal costs least."""
    gone, order = removed, []
    for _ in range(n_more):
        left = [head for head in range(n_heads) if head not in gone]
        head = min(left, key=lambda number: error(gone | {number}))
        gone = gone | {head}
        order.append(head)
    return order


def _errors(moments: Sequence[LayerMoments], heads: NetworkHeads, ridge: float) -> list[RemovalError]:
    require_ridge(ridge)
    return [
        RemovalError(moment.second, moment.weight, layer, ridge)
        for moment, layer in zip(moments, heads.layers, strict=True)
    ]
