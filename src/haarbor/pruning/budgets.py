"""Which heads go when a share of them must: over the whole network, in every layer, or in every group."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from haarbor.array_types import BoolArray, FloatArray, IntArray, frozen
from haarbor.errors import DataError, SettingError, ShapeError
from haarbor.pruning.head_sites import HeadSites

__all__ = ["Budget", "removal"]

Budget = Literal["network", "layer", "uniform"]
"""Whether the share holds for all heads together, for every layer, or for every key-value group."""


def removal(
    scores: npt.ArrayLike, sites: HeadSites, share: float, *, within: Budget = "network"
) -> BoolArray:
    """Heads that go: those of lowest score, as many as the share says.

    Parameters
    ----------
    scores : array_like, shape (n_heads,)
        Lower goes first; the first of equals goes first.
    sites : HeadSites
    share : float
        Of the heads, between 0 and 1; rounded to the nearest number.
    within : {"network", "layer", "uniform"}, default "network"
        "network" compares all heads; "layer" removes the same share of every layer, which takes the
        depth of a head out of the comparison; "uniform" removes the same share of every group of heads
        that share keys and values, so that all layers stay alike. Every layer keeps at least one head,
        and with "uniform" every group.

    Returns
    -------
    ndarray of bool, shape (n_heads,)

    Raises
    ------
    SettingError
        If the share is not between 0 and 1, or `within` is not offered.
    ShapeError, DataError
        If there is not one finite score a head.

    Examples
    --------
    >>> from haarbor.pruning.head_sites import HeadSite
    >>> site = HeadSite(projection="o", attention="a", call=0, n_heads=2, head_width=4, head_group=1,
    ...                 block=None)
    >>> removal([0.1, 0.2, 0.8, 0.9], HeadSites((site, site)), 0.5).tolist()  # one head a layer stays
    [True, False, True, False]
    """
    values: FloatArray = np.asarray(scores, dtype=np.float64)
    if values.shape != (sites.n_heads,):
        raise ShapeError(f"there must be one score a head, shape ({sites.n_heads},); found {values.shape}.")
    if np.isnan(values).any():
        raise DataError(
            f"scores must be numbers; that of head {sites.label(int(np.argmax(np.isnan(values))))} is not."
        )
    if not 0 <= share <= 1:
        raise SettingError(f"the share of heads to remove must be between 0 and 1; found {share}.")
    if within not in get_args(Budget):
        raise SettingError(f"within must be one of {', '.join(get_args(Budget))}; found {within!r}.")
    layers = sites.layer_of_head
    if within == "network":
        return frozen(_lowest(values, layers, round(share * sites.n_heads)))
    groups = layers
    if within == "uniform":
        group_size = np.array([site.head_group for site in sites.layers])[layers]
        # Layers have at most so many groups: the pairs (layer, group) get numbers of their own.
        groups = layers * (int(sites.head_in_layer.max()) + 1) + sites.head_in_layer // group_size
        if not (group_size > 1).any():
            groups = layers
    removed: BoolArray = np.zeros(values.size, dtype=np.bool_)
    for group in np.unique(groups):
        own = np.flatnonzero(groups == group)
        removed[own] = _lowest(values[own], layers[own], round(share * own.size))
    return frozen(removed)


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
