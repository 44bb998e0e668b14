"""Heads exchanged for others, within layers and between them, while what the layers miss falls."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from haarbor.array_types import BoolArray, FloatArray, frozen
from haarbor.errors import ShapeError
from haarbor.pruning._layer_moments import LayerMoments
from haarbor.pruning._network_heads import NetworkHeads
from haarbor.pruning._removal_error import RemovalError

__all__ = ["exchanged_heads", "removal_errors"]

LayerError = Callable[[Collection[int]], float]
"""Error of a layer's output without some of its heads, by their numbers within the layer."""

_LEAST_GAIN = 1e-9
"""Share of the whole error by which an exchange must lower it: rounding does not count."""


@dataclass(frozen=True, slots=True)
class _Offers:
    """What one layer can do next: each as (change of its error, head that comes back, head that goes)."""

    leave: tuple[float, int]
    come_back: tuple[float, int]
    exchange: tuple[float, int, int]


def exchanged_heads(
    errors: Sequence[LayerError], heads: NetworkHeads, removed: BoolArray, *, units: FloatArray | None = None
) -> BoolArray:
    """As many heads as before, exchanged one for one while the sum of all layers' errors falls.

    Parameters
    ----------
    errors : sequence of function of heads, one per layer
        Such as :func:`removal_errors`.
    heads : NetworkHeads
    removed : ndarray of bool, shape (n_heads,)
        Where the exchanges begin.
    units : ndarray, shape (n_layers,), optional
        What the error of each layer is divided by; 1 if not given.

    Returns
    -------
    ndarray of bool, shape (n_heads,)
        With an error that is not larger; every layer keeps a head.

    Notes
    -----
    At each step the exchange is made that lowers the sum most: a head comes back, and one of the same or of
    another layer goes. So heads are also allotted to layers by the sum. It ends where no exchange helps,
    which need not be the least sum of all.
    """
    sizes = [layer.n_heads for layer in heads.layers]
    scale = np.ones(len(heads)) if units is None else units
    if scale.shape != (len(heads),):
        raise ShapeError(f"there must be one unit per layer, {len(heads)}; found shape {scale.shape}.")
    gone = [frozenset(own.tolist()) for own in heads.by_layer(removed)]

    def of(number: int) -> _Offers:
        return _offers(errors[number], gone[number], sizes[number], float(scale[number]))

    offers = [of(number) for number in range(len(heads))]
    while True:
        total = sum(errors[n](gone[n]) / float(scale[n]) for n in range(len(heads)))
        change, back, out = _best_exchange(offers)
        if not change < -_LEAST_GAIN * total:
            break
        if back == out:
            _, came, left = offers[back].exchange
        else:
            came, left = offers[back].come_back[1], offers[out].leave[1]
        gone[back] = gone[back] - {came}
        gone[out] = gone[out] | {left}
        for number in {back, out}:
            offers[number] = of(number)
    found: BoolArray = np.concatenate(
        [np.isin(np.arange(size), list(own)) for size, own in zip(sizes, gone, strict=True)]
    )
    return frozen(found)


def _offers(error: LayerError, gone: frozenset[int], n_heads: int, unit: float) -> _Offers:
    kept = [head for head in range(n_heads) if head not in gone]
    now, never = error(gone) / unit, float("inf")
    leave = min(((error(gone | {head}) / unit - now, head) for head in kept), default=(never, -1))
    if len(kept) < 2:
        leave = (never, -1)
    back = min(((error(gone - {head}) / unit - now, head) for head in sorted(gone)), default=(never, -1))
    pairs = (
        (error((gone - {came}) | {left}) / unit - now, came, left) for came in sorted(gone) for left in kept
    )
    return _Offers(leave, back, min(pairs, default=(never, -1, -1)))


def _best_exchange(offers: Sequence[_Offers]) -> tuple[float, int, int]:
    """Change of the sum, the layer where a head comes back, and the layer where one goes."""
    found = min((own.exchange[0], number, number) for number, own in enumerate(offers))
    # Two layers do not see each other: the best pair is among the two best of each kind.
    backs = sorted(range(len(offers)), key=lambda n: (offers[n].come_back[0], n))[:2]
    leaves = sorted(range(len(offers)), key=lambda n: (offers[n].leave[0], n))[:2]
    for back in backs:
        for out in leaves:
            if back != out:
                change = offers[back].come_back[0] + offers[out].leave[0]
                found = min(found, (change, back, out))
    return found


def removal_errors(
    moments: Sequence[LayerMoments], heads: NetworkHeads, *, ridge: float = 1e-3
) -> list[RemovalError]:
    """What each layer's output misses without some heads, relative to the residual stream at each token.

    Parameters
    ----------
    moments : sequence of LayerMoments
    heads : NetworkHeads
    ridge : float, default 1e-3
        Relative to the mean variance of a channel.

    Returns
    -------
    list of RemovalError, one per layer
        The sum of them is what :func:`haarbor.pruning.backward_elimination` lets grow least at each step.
    """
    return [
        RemovalError(moment.relative_covariance, moment.weight, layer, ridge)
        for moment, layer in zip(moments, heads.layers, strict=True)
    ]
