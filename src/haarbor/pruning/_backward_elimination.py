"""Heads in the order in which they can be removed: at each step the one that the others best replace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from haarbor.array_types import FloatArray, IntArray
from haarbor.errors import DataError, SettingError
from haarbor.pruning._compensation import require_ridge
from haarbor.pruning._layer_moments import LayerMoments
from haarbor.pruning._network_heads import LayerHeads, NetworkHeads
from haarbor.pruning._output_norms import require_residual

__all__ = ["Elimination", "LayerElimination", "backward_elimination"]


@dataclass(frozen=True, slots=True, eq=False)
class Elimination:
    """All heads in the order in which they are removed."""

    order: IntArray
    """Shape (n_heads,): numbers of the heads."""
    increases: FloatArray
    """How much the error of the layer's output grows when each of them is removed, in units that can be
    compared between layers; in the same order, shape (n_heads,)."""

    @property
    def ranks(self) -> FloatArray:
        """Place of each head in the order, shape (n_heads,)."""
        places = np.empty(self.order.size)
        places[self.order] = np.arange(self.order.size)
        return places


class LayerElimination:
    """Backward elimination within one layer, in closed form.

    Parameters
    ----------
    covariance : ndarray, shape (width, width)
        Of the heads' joined outputs; or their second moments.
    weight : ndarray, shape (n_outputs, width)
        Of the output projection.
    layer : LayerHeads
    ridge : float
        Relative to the mean of the diagonal.
    """

    def __init__(self, covariance: FloatArray, weight: FloatArray, layer: LayerHeads, ridge: float) -> None:
        self.layer = layer
        width = covariance.shape[0]
        strength = max(ridge * float(np.trace(covariance)) / width, np.finfo(np.float64).tiny)
        self.inverse = np.linalg.inv(covariance + strength * np.eye(width))
        self.weight = weight.copy()
        self.kept = list(range(layer.n_heads))
        self.costs: dict[int, float] = {}
        self.units = np.ones(layer.n_heads)
        """Units in which the cost of each head is counted, to compare heads of different layers."""
        self.rises = np.zeros(layer.n_heads)
        """What each head costs beside that."""
        self._update_costs()

    def _update_costs(self) -> None:
        """Compute for each head the error that would remain without it after the others are refitted."""
        self.costs = {}
        for head in self.kept:
            part = self.layer.channels(head)
            lost = self.weight[:, part]
            solved = np.linalg.solve(self.inverse[part, part], lost.T)
            self.costs[head] = max(float(np.sum(lost.T * solved)), 0.0)

    def cheapest(self) -> tuple[float, int]:
        """Cost of the next head to go, in its units, and its number."""
        return min(
            (cost / float(self.units[head]) + float(self.rises[head]), head)
            for head, cost in self.costs.items()
        )

    def remove(self, head: int) -> None:
        """Remove a head and refit the others."""
        part = self.layer.channels(head)
        spread = np.linalg.solve(self.inverse[part, part], self.inverse[part, :])
        self.weight -= self.weight[:, part] @ spread
        self.inverse -= self.inverse[:, part] @ spread
        self.kept.remove(head)
        self._update_costs()

    def first_half(self) -> list[tuple[int, float]]:
        """Remove half of the heads, rounded down; the number of each and its cost, in units of the error."""
        gone = []
        for _ in range(self.layer.n_heads // 2):
            cost, head = min((cost, head) for head, cost in self.costs.items())
            self.remove(head)
            gone.append((head, cost))
        return gone


def backward_elimination(
    moments: Sequence[LayerMoments],
    heads: NetworkHeads,
    *,
    relative: bool = True,
    shares: bool = False,
    responses: FloatArray | None = None,
    layer_responses: FloatArray | None = None,
    rises: FloatArray | None = None,
    ridge: float = 1e-3,
) -> Elimination:
    r"""Order in which heads can go when the rest of their layer is refitted after every removal.

    The first head to go is the one whose output the remaining heads of its layer can best replace, by
    least squares on the calibration data. This is the optimal brain surgeon (Hassibi & Stork 1993) for blocks
    of weights, with the covariance of the heads' outputs in place of the Hessian. It needs one forward pass
    and no gradient.

    Parameters
    ----------
    moments : sequence of LayerMoments
    heads : NetworkHeads
    relative : bool, default True
        Whether the error at each token is divided by the squared norm of the residual stream at that
        token, or the mean error by the mean squared norm. Both make layers comparable.
    shares : bool, default False
        Whether errors are counted as shares of what the layer's own attention gives, beyond its mean. A layer
        that writes little into a large residual stream then loses as many heads as any other, not all of
        them first: between one order by errors as they are and the same quota for every layer.
    responses : ndarray, shape (n_heads,), optional
        Measured damage of each head's own removal, such as
        :func:`haarbor.pruning.head_responses`. The error of a head is then counted in units of
        this damage: its cost equals the damage while its layer is whole, and grows as the heads are
        removed that could replace it.
    layer_responses : ndarray, shape (n_layers,), optional
        Measured damage of each layer that loses half of its heads, such as ``LayerResponses.values``. The
        costs of a layer are then multiplied by a number, so that those of this half sum to that damage: what
        a layer loses by many heads is measured, not only by each.
    rises : ndarray, shape (n_heads,), optional
        What each head costs beside its error, whatever else of its layer is gone, in the units of the
        responses: what the loss rises by to first order, say.
    ridge : float, default 1e-3
        Relative to the mean variance of a channel.

    Returns
    -------
    Elimination

    See Also
    --------
    haarbor.pruning.compensate : Refit what stays.
    haarbor.pruning.pruning_scores : Scores of all heads.

    Notes
    -----
    With :math:`P` the inverse of the (regularised) covariance of the kept channels and :math:`W` the
    refitted projection, removing the channels :math:`h` leaves the error
    :math:`\operatorname{tr}(W_h P_{hh}^{-1} W_h^\top)`; then :math:`W \leftarrow W - W_h P_{hh}^{-1} P_{h,:}`
    and :math:`P \leftarrow P - P_{:,h} P_{hh}^{-1} P_{h,:}`. The last head of a layer costs what
    is lost without it.

    The error and both updates are those of OSSCAR (Meng et al. 2024, arXiv 2403.12983), which minimises it
    layer by layer; ZipLM (Kurtic et al. 2023, arXiv 2302.04089) and SlimGPT (Ling et al. 2024, arXiv
    2412.18110) are relatives. Ours are the centring (what is constant goes into the bias), the weight of each
    token, the one order across all layers, and shares and responses (of heads and of layers) as units.
    """
    require_ridge(ridge)
    _require_numbers("responses", responses, heads.n_heads, "head", "what head_responses gave")
    _require_numbers(
        "layer_responses", layer_responses, len(heads), "layer", "the values that layer_responses gave"
    )
    _require_numbers("rises", rises, heads.n_heads, "head", "what LeftoverGradients.head_rises gives")
    if shares and (responses is not None or layer_responses is not None):
        raise SettingError(
            "errors must be counted in one way: as shares or by responses; found both. Leave one out."
        )
    require_residual(moments)
    starts = np.concatenate([[0], np.cumsum([layer.n_heads for layer in heads.layers])])
    layers: list[LayerElimination] = []
    for moment, layer, start in zip(moments, heads.layers, starts[:-1], strict=True):
        covariance = moment.relative_covariance if relative else moment.covariance
        candidates = LayerElimination(covariance, moment.weight, layer, ridge)
        if shares:
            given = float(np.sum((moment.weight @ covariance) * moment.weight))
            # A layer that gives nothing but its mean has no errors to count.
            candidates.units[:] = given if given > 0 else 1.0
        elif responses is None:
            candidates.units[:] = 1.0 if relative else moment.residual_energy
        else:
            measured = responses[start : start + layer.n_heads]
            first = np.array([candidates.costs[head] for head in range(layer.n_heads)])
            with np.errstate(divide="ignore", invalid="ignore"):
                candidates.units[:] = first / measured
            # A head without an error of its own costs nothing in any unit.
            candidates.units[first == 0] = 1.0
        if layer_responses is not None:
            trial = LayerElimination(covariance, moment.weight, layer, ridge)
            half = sum(cost / float(candidates.units[head]) for head, cost in trial.first_half())
            measured_half = float(layer_responses[len(layers)])
            # Nothing is known of a layer that changes nothing, or misses nothing.
            if half > 0 and measured_half > 0:
                candidates.units *= half / measured_half
        if rises is not None:
            candidates.rises[:] = rises[start : start + layer.n_heads]
        layers.append(candidates)
    order, increases = [], []
    offers = {number: layer.cheapest() for number, layer in enumerate(layers)}
    # The last head of a layer goes only when every other layer has one head left, too.
    while offers:
        number = min(offers, key=lambda n: (len(layers[n].kept) == 1, offers[n][0], n))
        price, head = offers.pop(number)
        order.append(int(starts[number]) + head)
        increases.append(price)
        layers[number].remove(head)
        if layers[number].kept:
            offers[number] = layers[number].cheapest()
    return Elimination(np.array(order), np.array(increases))


def _require_numbers(name: str, given: FloatArray | None, number: int, of_what: str, source: str) -> None:
    if given is not None and (given.shape != (number,) or not (np.isfinite(given) & (given >= 0)).all()):
        raise DataError(
            f"{name} must be one finite number per {of_what}, not negative, shape ({number},); found "
            f"shape {given.shape}. Pass {source}."
        )
