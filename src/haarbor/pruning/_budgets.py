"""Which heads are removed for a given share: over the whole network, per layer, or per key-value group."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from haarbor.array_types import BoolArray, FloatArray, IntArray, frozen
from haarbor.errors import DataError, SettingError, ShapeError
from haarbor.pruning._network_heads import NetworkHeads

__all__ = [
    "Budget",
    "head_groups",
    "possible_counts",
    "reachable_shares",
    "removal",
    "removal_count",
    "removal_of_count",
]

Budget = Literal["network", "layer", "uniform"]
"""Whether the share holds for all heads together, for every layer, or for every key-value group."""

_SHOWN = 8
"""Budgets that a message lists at most."""


def removal(
    scores: npt.ArrayLike, heads: NetworkHeads, share: float, *, within: Budget = "network"
) -> BoolArray:
    """Heads to remove: those of lowest score, as many as the share says.

    Parameters
    ----------
    scores : array_like, shape (n_heads,)
        Lower goes first; the first of equals goes first.
    heads : NetworkHeads
    share : float
        Of the heads, between 0 and 1; :func:`removal_count` says how many these are.
    within : {"network", "layer", "uniform"}, default "network"
        "network" compares all heads; "layer" removes the same share of every layer, to within one head,
        which takes the depth of a head out of the comparison; "uniform" removes the same share of every
        group of heads that share keys and values, so that all layers stay alike. Every layer keeps at
        least one head, and with "uniform" every group.

    Returns
    -------
    ndarray of bool, shape (n_heads,)

    Raises
    ------
    SettingError
        If the share is not between 0 and 1, `within` is not offered, or no head would go.
    ShapeError, DataError
        If there is not one finite score per head.

    See Also
    --------
    haarbor.pruning.removal_count : How many heads go.
    haarbor.pruning.pruning_scores : Scores of all heads.

    Examples
    --------
    >>> from haarbor.pruning import LayerHeads
    >>> layer = LayerHeads(projection="o", attention="a", call=0, n_heads=2, head_width=4, head_group=1,
    ...                 block=None)
    >>> removal([0.1, 0.2, 0.8, 0.9], NetworkHeads((layer, layer)), 0.5).tolist()  # one head per layer stays
    [True, False, True, False]
    """
    n_removed = removal_count(heads, share, within=within)
    return removal_of_count(scores, heads, n_removed, within=within)


def removal_count(heads: NetworkHeads, share: float, *, within: Budget = "network") -> int:
    """Number of heads to remove for a share: the nearest one that the network's structure allows.

    Parameters
    ----------
    heads : NetworkHeads
    share : float
        Of the heads, between 0 and 1.
    within : {"network", "layer", "uniform"}, default "network"
        As for :func:`removal`.

    Returns
    -------
    int
        The smaller of two that are equally near; 0 only if the share is 0.

    Raises
    ------
    SettingError
        If the share is not between 0 and 1, `within` is not offered, or a share above 0 is nearest to no
        head at all.

    See Also
    --------
    haarbor.pruning.removal : Which heads to remove.

    Examples
    --------
    Groups of two heads that share keys and values lose one each, or none:

    >>> from haarbor.pruning import LayerHeads
    >>> layer = LayerHeads(projection="o", attention="a", call=0, n_heads=8, head_width=4, head_group=2,
    ...                 block=None)
    >>> heads = NetworkHeads((layer,) * 5)
    >>> removal_count(heads, 0.3), removal_count(heads, 0.3, within="uniform")
    (12, 20)
    """
    wanted = _checked_share(share)
    _require_budget(within)
    if wanted == 0:
        return 0
    count = _nearest_count(heads, wanted, within)
    if count == 0:
        raise SettingError(
            f"at least one head must go; {100 * wanted:g} % of {heads.n_heads} heads"
            f"{_WITHIN[within]} is none. {_advice(heads, within)}"
        )
    return count


def possible_counts(heads: NetworkHeads, *, within: Budget = "network") -> IntArray:
    """All numbers of heads that can be removed.

    Parameters
    ----------
    heads : NetworkHeads
    within : {"network", "layer", "uniform"}, default "network"
        As for :func:`removal`.

    Returns
    -------
    ndarray of int
        From few to many; empty where every layer, or every group, has a single head.

    See Also
    --------
    haarbor.pruning.removal_count : How many heads go.
    """
    _require_budget(within)
    if within != "uniform":
        return np.arange(1, heads.n_heads - len(heads) + 1)
    return np.array(sorted(_uniform_steps(heads)), dtype=np.int64)


def reachable_shares(
    heads: NetworkHeads, shares: Iterable[float], *, within: Budget = "network"
) -> list[float]:
    """Those shares for which at least one head is removed.

    Raises
    ------
    SettingError
        If a share is not between 0 and 1, or `within` is not offered.
    """
    _require_budget(within)
    return [share for share in map(_checked_share, shares) if _nearest_count(heads, share, within)]


def removal_of_count(
    scores: npt.ArrayLike, heads: NetworkHeads, n_removed: int, *, within: Budget = "network"
) -> BoolArray:
    """Heads to remove: a given number of them, those of lowest score.

    Parameters
    ----------
    scores : array_like, shape (n_heads,)
    heads : NetworkHeads
    n_removed : int
    within : {"network", "layer", "uniform"}, default "network"
        As for :func:`removal`. Where "layer" cannot take the same number of every layer, those layers
        lose one more whose next head has the lowest score.

    Returns
    -------
    ndarray of bool, shape (n_heads,)

    Raises
    ------
    SettingError
        If the structure does not allow this number; see :func:`possible_counts`.
    ShapeError, DataError
        If there is not one finite score per head.
    """
    values = _checked_scores(scores, heads)
    _require_budget(within)
    layers = heads.layer_of_head
    if n_removed == 0:
        return frozen(np.zeros(values.size, dtype=np.bool_))
    if n_removed not in possible_counts(heads, within=within):
        raise SettingError(
            f"the number of heads to remove must be one that the network allows; found {n_removed} of "
            f"{heads.n_heads}{_WITHIN[within]}. {_advice(heads, within)}"
        )
    if within == "network":
        return frozen(_lowest(values, layers, n_removed))
    groups = layers if within == "layer" else _groups(heads)
    quotas = (
        _layer_quotas(values, heads, n_removed) if within == "layer" else _uniform_steps(heads)[n_removed]
    )
    removed: BoolArray = np.zeros(values.size, dtype=np.bool_)
    for group, quota in zip(np.unique(groups), quotas.tolist(), strict=True):
        own = np.flatnonzero(groups == group)
        removed[own[np.argsort(values[own], kind="stable")[:quota]]] = True
    return frozen(removed)


def head_groups(heads: NetworkHeads, within: Budget) -> IntArray:
    """Number of each head's group, within which the number of heads that go stays; shape (n_heads,).

    Parameters
    ----------
    heads : NetworkHeads
    within : {"network", "layer", "uniform"}
    """
    _require_budget(within)
    layers = heads.layer_of_head
    return np.zeros_like(layers) if within == "network" else layers if within == "layer" else _groups(heads)


_WITHIN: dict[str, str] = {
    "network": "",
    "layer": ", of every layer the same share,",
    "uniform": ", of every group that shares keys and values the same number,",
}


def _advice(heads: NetworkHeads, within: Budget) -> str:
    """Which budgets there are, in a sentence."""
    counts = possible_counts(heads, within=within)
    if not counts.size:
        kept = "group that shares keys and values" if within == "uniform" else "layer"
        other = " Leave out 'uniform'." if within == "uniform" and heads.n_heads > len(heads) else ""
        return f"Every {kept} has a single head, which must stay.{other}"
    shown = counts if counts.size <= _SHOWN else counts[:: -(-counts.size // (_SHOWN - 1))]
    shares = [f"{100 * count / heads.n_heads:.3g} % ({count})" for count in shown.tolist()]
    if int(counts[-1]) not in shown:
        shares.append(f"... {100 * counts[-1] / heads.n_heads:.3g} % ({counts[-1]})")
    other = ", or do without 'uniform'" if within == "uniform" else ""
    return f"Possible here: {', '.join(shares)}. Ask for one of these{other}."


def _checked_share(share: Any) -> float:
    if isinstance(share, bool) or not isinstance(share, Real) or not 0 <= float(share) <= 1:
        raise SettingError(
            f"the share of heads to remove must be between 0 and 1; found {share!r}. Pass one such as 0.3."
        )
    return float(share)


def _require_budget(within: Any) -> None:
    if within not in get_args(Budget):
        raise SettingError(
            f"within must be one of {', '.join(get_args(Budget))}; found {within!r}. Choose one."
        )


def _checked_scores(scores: npt.ArrayLike, heads: NetworkHeads) -> FloatArray:
    try:
        values: FloatArray = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"scores must be numbers, one per head; found {type(scores).__name__}. Pass an array."
        ) from error
    if values.shape != (heads.n_heads,):
        raise ShapeError(
            f"there must be one score per head, shape ({heads.n_heads},); found {values.shape}."
            " Pass one number for each head, counted through all layers."
        )
    if np.isnan(values).any():
        raise DataError(
            f"scores must be numbers; that of head {heads.label(int(np.argmax(np.isnan(values))))} is not."
            " Leave out scores that have no value for it."
        )
    return values


def _nearest(number: float) -> int:
    """The nearest whole number; of two equally near ones the smaller, so as not to remove more than asked."""
    return math.ceil(number - 0.5)


def _nearest_count(heads: NetworkHeads, share: float, within: Budget) -> int:
    if within == "uniform":
        return int(_uniform_quotas(heads, share).sum())
    return min(_nearest(share * heads.n_heads), heads.n_heads - len(heads))


def _groups(heads: NetworkHeads) -> IntArray:
    """Number of each head's group: the heads that share keys and values, or else the layer."""
    layers = heads.layer_of_head
    group_size = np.array([layer.head_group for layer in heads.layers])[layers]
    if not (group_size > 1).any():
        return layers
    # A different number for each pair (layer, group).
    found: IntArray = layers * (int(heads.head_in_layer.max()) + 1) + heads.head_in_layer // group_size
    return found


def _uniform_quotas(heads: NetworkHeads, share: float) -> IntArray:
    """Heads that each group loses for a share; every group keeps one."""
    _, sizes = np.unique(_groups(heads), return_counts=True)
    return np.array([min(_nearest(share * size), size - 1) for size in sizes.tolist()], dtype=np.int64)


def _uniform_steps(heads: NetworkHeads) -> dict[int, IntArray]:
    """For each total that is possible, the number of heads that every group loses."""
    _, sizes = np.unique(_groups(heads), return_counts=True)
    # The number of heads a group loses changes where its share reaches another half head; one share from
    # between any two such borders stands for all of them.
    borders = sorted({(number + 0.5) / size for size in set(sizes.tolist()) for number in range(size)})
    middles = [(low + high) / 2 for low, high in zip(borders, [*borders[1:], 1.0], strict=True)]
    steps = [_uniform_quotas(heads, share) for share in middles]
    return {int(quotas.sum()): quotas for quotas in steps if quotas.any()}


def _layer_quotas(values: FloatArray, heads: NetworkHeads, n_removed: int) -> IntArray:
    """Heads that each layer loses: its share, rounded so that the numbers add up."""
    sizes = np.array([layer.n_heads for layer in heads.layers])
    shares = n_removed * sizes / sizes.sum()
    quotas: IntArray = np.minimum(np.floor(shares + 1e-9).astype(np.int64), sizes - 1)
    ordered = [np.sort(values[heads.layer_of_head == layer]) for layer in range(len(heads))]
    while int(quotas.sum()) < n_removed:
        # The layer furthest below its share comes first; among equals, the one with the lowest next score.
        layer = min(
            np.flatnonzero(quotas < sizes - 1).tolist(),
            key=lambda number: (
                round(float(quotas[number] - shares[number]), 9),
                float(ordered[number][quotas[number]]),
                number,
            ),
        )
        quotas[layer] += 1
    return quotas


def _lowest(values: FloatArray, layers: IntArray, n_removed: int) -> BoolArray:
    """The `n_removed` lowest values, save the last one left in a layer."""
    removed: BoolArray = np.zeros(values.size, dtype=np.bool_)
    left = {
        int(layer): int(count) for layer, count in zip(*np.unique(layers, return_counts=True), strict=True)
    }
    for head in np.argsort(values, kind="stable").tolist():
        if int(removed.sum()) == n_removed:
            break
        if left[int(layers[head])] > 1:
            removed[head] = True
            left[int(layers[head])] -= 1
    return removed
