"""What the rest of a layer cannot make up for: heads removed one after another with the least left over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from haarbor.array_types import FloatArray, IntArray
from haarbor.errors import DataError, SettingError
from haarbor.pruning.head_sites import HeadSite, HeadSites
from haarbor.pruning.layer_moments import LayerMoments
from haarbor.pruning.output_norms import require_stream

__all__ = ["Elimination", "leftover_elimination"]


@dataclass(frozen=True, slots=True, eq=False)
class Elimination:
    """Heads in the order in which they go."""

    order: IntArray
    """Shape (n_heads,): numbers of the heads."""
    increases: FloatArray
    """What is left over in addition when each of them goes, as layers are compared, shape (n_heads,)."""

    @property
    def ranks(self) -> FloatArray:
        """Place of each head in the order, shape (n_heads,)."""
        places = np.empty(self.order.size)
        places[self.order] = np.arange(self.order.size)
        return places


class _Layer:
    """Backward elimination within one layer, in closed form."""

    def __init__(self, covariance: FloatArray, weight: FloatArray, site: HeadSite, ridge: float) -> None:
        self.site = site
        width = covariance.shape[0]
        strength = max(ridge * float(np.trace(covariance)) / width, np.finfo(np.float64).tiny)
        self.inverse = np.linalg.inv(covariance + strength * np.eye(width))
        self.weight = weight.copy()
        self.kept = list(range(site.n_heads))

    def costs(self) -> FloatArray:
        """What the removal of each head would leave over after the others are refitted; infinite if gone."""
        found = np.full(self.site.n_heads, np.inf)
        for head in self.kept:
            part = self.site.channels(head)
            lost = self.weight[:, part]
            solved = np.linalg.solve(self.inverse[part, part], lost.T)
            found[head] = max(float(np.sum(lost.T * solved)), 0.0)
        return found

    def remove(self, head: int) -> None:
        part = self.site.channels(head)
        spread = np.linalg.solve(self.inverse[part, part], self.inverse[part, :])
        self.weight -= self.weight[:, part] @ spread
        self.inverse -= self.inverse[:, part] @ spread
        self.kept.remove(head)


def leftover_elimination(
    moments: Sequence[LayerMoments],
    sites: HeadSites,
    *,
    relative: bool = True,
    responses: FloatArray | None = None,
    interactions: FloatArray | None = None,
    ridge: float = 1e-3,
) -> Elimination:
    r"""Order in which heads can go when the rest of their layer is refitted after every removal.

    The head goes first whose output the remaining heads of its layer can best give in its place, by
    least squares on the calibration data: the block form of the optimal brain surgeon, with the
    covariance of the heads' outputs for a Hessian. No gradient is needed, and one forward pass.

    Parameters
    ----------
    moments : sequence of LayerMoments
    sites : HeadSites
    relative : bool, default True
        Whether errors count relative to the residual stream at their token, which makes layers
        comparable, or as they are, relative to the stream's mean energy.
    responses : ndarray, shape (n_heads,), optional
        Measured damage of each head's own removal, such as
        :func:`haarbor.pruning.head_responses`. What a head leaves over is then counted in units of
        this damage, so that its price is the damage as long as its layer is whole, and grows as the
        heads go that could stand in for it.
    interactions : ndarray, shape (n_heads, n_heads), optional
        What two heads cost together beyond what each costs alone, with `responses`. A head is then
        dearer when others are gone that moved the answers as it would, and cheaper when it undoes
        what they did.
    ridge : float, default 1e-3
        Relative to the mean variance of a channel.

    Returns
    -------
    Elimination

    Notes
    -----
    With :math:`P` the inverse of the (regularised) covariance of the kept channels and :math:`W` the
    refitted projection, removing the channels :math:`h` leaves over
    :math:`\operatorname{tr}(W_h P_{hh}^{-1} W_h^\top)`; then :math:`W \leftarrow W - W_h P_{hh}^{-1} P_{h,:}`
    and :math:`P \leftarrow P - P_{:,h} P_{hh}^{-1} P_{h,:}`. The last head of a layer is priced at what
    is lost without it.

    With :math:`g_h^2` what a head leaves over now relative to what it left over in the whole layer,
    :math:`r` the responses and :math:`V` the interactions, a head costs
    :math:`g_h^2 r_h + g_h \sum_s g_s V_{hs}`, summed over the heads gone, each
    with its :math:`g` as it went.
    """
    if not ridge >= 0:
        raise SettingError(f"ridge must not be negative; found {ridge}.")
    n_heads = sites.n_heads
    if responses is not None and (
        responses.shape != (n_heads,) or not (np.isfinite(responses) & (responses >= 0)).all()
    ):
        raise DataError(
            f"responses must be one finite number a head, not negative, shape ({n_heads},); found "
            f"shape {responses.shape}."
        )
    if interactions is not None and (responses is None or interactions.shape != (n_heads, n_heads)):
        raise DataError(
            f"interactions go with responses and must have shape ({n_heads}, {n_heads}); found shape "
            f"{interactions.shape}{' and no responses' if responses is None else ''}."
        )
    require_stream(moments)
    layers = [
        _Layer(layer.relative_covariance if relative else layer.covariance, layer.weight, site, ridge)
        for layer, site in zip(moments, sites.layers, strict=True)
    ]
    # What layers are compared by, unless responses say it: the error of their output.
    units = np.array([1.0 if relative else layer.stream_energy for layer in moments])[sites.layer_of_head]
    first = np.concatenate([layer.costs() for layer in layers])
    costs = first.copy()
    coupling: FloatArray = np.zeros(n_heads)
    order: list[int] = []
    increases: list[float] = []
    while len(order) < n_heads:
        left = np.array([len(layer.kept) for layer in layers])[sites.layer_of_head]
        # A layer loses its last head after every other layer has one left.
        offered = np.isfinite(costs) & (left > 1 if (left > 1).any() else True)
        # A head that leaves nothing over costs nothing, whatever was measured.
        growth = np.sqrt(np.divide(costs, first, out=np.zeros(n_heads), where=offered & (first > 0)))
        prices = costs / units if responses is None else growth**2 * responses + growth * coupling
        head = int(np.argmin(np.where(offered, prices, np.inf)))
        order.append(head)
        increases.append(float(prices[head]))
        if interactions is not None:
            coupling += growth[head] * interactions[:, head]
        number = int(sites.layer_of_head[head])
        layers[number].remove(int(sites.head_in_layer[head]))
        costs[sites.layer_of_head == number] = layers[number].costs()
    return Elimination(np.array(order), np.array(increases))
