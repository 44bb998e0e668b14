"""The heads that stay refitted to make up for the removed ones, by least squares and without training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
import torch
from scipy.linalg import solve

from haarbor.array_types import BoolArray, FloatArray, IntArray, frozen
from haarbor.errors import DataError, SettingError, ShapeError
from haarbor.pruning._head_gates import removed_heads
from haarbor.pruning._layer_moments import (
    LayerMoments,
    layer_moments,
    projection_bias,
    projection_weight,
)
from haarbor.pruning._model_batches import ModelBatch, forward, model_batches
from haarbor.pruning._network_heads import HeadChoice, LayerHeads, NetworkHeads
from haarbor.pruning._projection_hooks import projection_hooks

__all__ = [
    "Compensation",
    "LayerFit",
    "compensate",
    "compensated",
    "fitted_projection",
    "joined",
    "kept_channels",
    "require_ridge",
    "ridge_solution",
    "ridge_strength",
]

Method = Literal["parallel", "sequential"]

RIDGE = 0.1
"""Default pull towards the weights as they were, relative to the mean variance of a channel."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LayerFit:
    """Output projection of a layer after some of its heads are gone."""

    weight: FloatArray
    """Shape (n_outputs, width); zero in the channels of removed heads."""
    bias: FloatArray
    """Shape (n_outputs,)."""
    error: float
    """Mean square of what is missing in the layer's output over the calibration tokens."""
    mean_error: float
    """The same when removed heads are only replaced by their mean."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Compensation:
    """Projections that make up for removed heads, one per layer that has lost some."""

    removed: BoolArray
    """Shape (n_heads,)."""
    fits: tuple[LayerFit | None, ...]
    """One per layer; None where nothing was removed."""
    method: str
    ridge: float

    def __repr__(self) -> str:
        return (
            f"Compensation({int(self.removed.sum())} of {self.removed.size} heads removed, {self.method}, "
            f"ridge {self.ridge:g})"
        )


def kept_channels(layer: LayerHeads, removed: IntArray) -> IntArray:
    """Channels of the heads of a layer that stay, in order."""
    stays = np.ones(layer.n_heads, dtype=np.bool_)
    stays[removed] = False
    found: IntArray = np.flatnonzero(np.repeat(stays, layer.head_width))
    return found


def fitted_projection(
    moments: LayerMoments, layer: LayerHeads, removed: IntArray, *, ridge: float = RIDGE
) -> LayerFit:
    r"""Projection of the heads that stay, fitted to the layer's whole output.

    Parameters
    ----------
    moments : LayerMoments
    layer : LayerHeads
    removed : ndarray of int
        Heads of the layer that go.
    ridge : float, default 0.1
        Pull towards the weights as they are, relative to the mean variance of the layer's channels.

    Returns
    -------
    LayerFit

    Notes
    -----
    With :math:`C` the covariance of the heads' joined outputs :math:`x`, :math:`K` the channels kept
    and :math:`R` those removed, the change :math:`D` of the kept weights minimises

    .. math:: E \|W_R (x_R - \bar x_R) - D (x_K - \bar x_K)\|^2 + \lambda \|D\|^2,

    so :math:`D = W_R C_{RK} (C_{KK} + \lambda)^{-1}`; what is left of the means goes into the bias.
    :math:`D = 0` is mean replacement, so the fit is never worse than that on the calibration data.
    """
    require_ridge(ridge)
    weight, covariance = moments.weight, moments.covariance
    kept = kept_channels(layer, removed)
    gone: IntArray = np.setdiff1d(np.arange(layer.width), kept)
    lost = weight[:, gone]
    inner = covariance[np.ix_(gone, gone)]
    mean_error = float(np.sum((lost @ inner) * lost))
    cross = covariance[np.ix_(kept, gone)] @ lost.T
    own = covariance[np.ix_(kept, kept)]
    change = ridge_solution(own, cross, ridge_strength(covariance, ridge))
    fitted = np.zeros_like(weight)
    fitted[:, kept] = weight[:, kept] + change.T
    bias = moments.bias + lost @ moments.mean[gone] - change.T @ moments.mean[kept]
    error = mean_error - 2 * float(np.sum(change * cross)) + float(np.sum(change * (own @ change)))
    return LayerFit(weight=frozen(fitted), bias=frozen(bias), error=max(error, 0.0), mean_error=mean_error)


def compensate(
    model: torch.nn.Module,
    heads: NetworkHeads,
    removed: HeadChoice,
    calibration: Any,
    *,
    method: Method = "parallel",
    ridge: float = RIDGE,
    moments: Sequence[LayerMoments] | None = None,
) -> Compensation:
    r"""Output projections of the heads that stay, refitted so that each layer's output is kept.

    Parameters
    ----------
    model : torch.nn.Module
    heads : NetworkHeads
    removed : pairs (layer, head), numbers of heads, or bool array
    calibration : iterable
        Batches to fit on.
    method : {"parallel", "sequential"}, default "parallel"
        Whether a layer is fitted on the inputs that it gets in the whole network, or on those that it gets
        when the layers below are pruned already. Both aim at the output of the layer in the whole network.
    ridge : float, default 0.1
        See :func:`fitted_projection`.
    moments : sequence of LayerMoments, optional
        For the parallel method, if they are known already; `calibration` is not read then.

    Returns
    -------
    Compensation

    Raises
    ------
    SettingError
        If the method is not offered or the ridge is negative.
    DataError
        If the sequential method is asked for on batches of different shapes.

    See Also
    --------
    haarbor.pruning.sequential_compensation : Refit layer after layer.
    haarbor.pruning.compensated : Run with what makes up for heads.
    haarbor.pruning.layer_moments : Moments of what heads write.

    Notes
    -----
    With :math:`x` the joined outputs of the heads of a layer, :math:`K` the channels kept and :math:`R` those
    removed, the change :math:`D` of the kept weights minimises

    .. math:: E \|W_R (x_R - \bar x_R) - D (x_K - \bar x_K)\|^2 + \lambda \|D\|^2.

    Both are closed forms in float64 and need one forward pass. The sequential method runs the whole and
    the pruned network side by side, in one batch that holds every calibration sample twice. Each projection
    is fitted when the inputs of both networks reach it, and passes its new output on.
    """
    mask = heads.mask(removed)
    gone = heads.by_layer(mask)
    require_ridge(ridge)
    fits: tuple[LayerFit | None, ...]
    if method == "parallel":
        known = moments or layer_moments(model, heads, model_batches(calibration))
        fits = tuple(
            fitted_projection(moment, layer, heads_gone, ridge=ridge) if heads_gone.size else None
            for moment, layer, heads_gone in zip(known, heads.layers, gone, strict=True)
        )
    elif method == "sequential":
        fits = _sequential_fits(model, heads, gone, joined(model_batches(calibration)), ridge)
    else:
        raise SettingError(f"method must be 'parallel' or 'sequential'; found {method!r}. Pass one of them.")
    return Compensation(removed=frozen(mask), fits=fits, method=method, ridge=float(ridge))


@contextmanager
def compensated(model: torch.nn.Module, heads: NetworkHeads, compensation: Compensation) -> Iterator[None]:
    """The model without the heads that were removed, and with what makes up for them, while the block runs.

    Parameters
    ----------
    model : torch.nn.Module
    heads : NetworkHeads
    compensation : Compensation
        From :func:`compensate`, for the same model.

    See Also
    --------
    haarbor.pruning.compensate : Refit what stays.
    haarbor.pruning.removed_heads : Run without some heads.
    """
    if len(compensation.fits) != len(heads):
        raise ShapeError(
            f"the compensation must have one entry per layer, {len(heads)}; found {len(compensation.fits)}."
            " Pass the compensation of this network."
        )

    # Converted once and not at every forward: on a GPU the copies would cost more than the forwards.
    moved: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def refit(number: int, x: torch.Tensor, _output: torch.Tensor) -> torch.Tensor | None:
        fit = compensation.fits[number]
        if fit is None:
            return None
        if number not in moved or moved[number][0].device != x.device or moved[number][0].dtype != x.dtype:
            moved[number] = (torch.tensor(fit.weight).to(x), torch.tensor(fit.bias).to(x))
        return torch.nn.functional.linear(x, *moved[number])

    with (
        removed_heads(model, heads, compensation.removed),
        projection_hooks(model, heads, change_output=refit),
    ):
        yield


class _AllLayersFitted(Exception):
    """Ends the forward pass of a fit after the last layer that has lost heads; the rest is not needed."""


def _sequential_fits(
    model: torch.nn.Module, heads: NetworkHeads, gone: list[IntArray], batch: ModelBatch, ridge: float
) -> tuple[LayerFit | None, ...]:
    fits: list[LayerFit | None] = [None] * len(heads)
    touched = [number for number, own in enumerate(gone) if own.size]
    if not touched:
        return tuple(fits)
    modules = dict(model.named_modules())
    n_samples = len(batch)
    valid = batch.valid
    twice = ModelBatch(
        inputs={name: torch.cat([value, value]) for name, value in batch.inputs.items()}, labels=None
    )

    def fit(number: int, x: torch.Tensor, output: torch.Tensor) -> torch.Tensor | None:
        if number not in touched:
            return None
        layer = heads.layers[number]
        whole, pruned = x[:n_samples], x[n_samples:]
        chosen = None
        if valid is not None and valid.shape == whole.shape[:-1]:
            chosen = valid.reshape(-1).to(x.device)
        found = _layer_fit(modules[layer.projection], layer, gone[number], whole, pruned, chosen, ridge)
        fits[number] = found
        if number == touched[-1]:
            raise _AllLayersFitted
        weight, bias = torch.as_tensor(found.weight.copy()).to(x), torch.as_tensor(found.bias.copy()).to(x)
        return torch.cat([output[:n_samples], torch.nn.functional.linear(pruned, weight, bias)])

    with projection_hooks(model, heads, change_output=fit), torch.no_grad(), suppress(_AllLayersFitted):
        forward(model, twice)
    return tuple(fits)


def _layer_fit(
    projection: torch.nn.Module,
    layer: LayerHeads,
    removed: IntArray,
    whole: torch.Tensor,
    pruned: torch.Tensor,
    chosen: torch.Tensor | None,
    ridge: float,
) -> LayerFit:
    """Least squares from the inputs in the pruned network to the layer's output in the whole one."""
    weight, bias = projection_weight(projection), projection_bias(projection)
    kept = kept_channels(layer, removed)
    index = torch.as_tensor(kept, device=whole.device)
    matrix = torch.as_tensor(weight.copy(), device=whole.device)
    x = whole.reshape(-1, layer.width).double()
    y = pruned.reshape(-1, layer.width).double()
    if chosen is not None:
        x, y = x[chosen], y[chosen]
    n_tokens = x.shape[0]
    spread = float((y - y.mean(dim=0)).square().mean())
    stays = y[:, index]
    missing = x @ matrix.T - stays @ matrix[:, index].T
    stays_mean, missing_mean = stays.mean(dim=0), missing.mean(dim=0)
    stays, missing = stays - stays_mean, missing - missing_mean
    own = (stays.T @ stays / n_tokens).cpu().numpy()
    cross = (stays.T @ missing / n_tokens).cpu().numpy()
    mean_error = float(missing.square().sum() / n_tokens)
    change = ridge_solution(own, cross, ridge * spread)
    fitted = np.zeros_like(weight)
    fitted[:, kept] = weight[:, kept] + change.T
    offset = missing_mean.cpu().numpy() - change.T @ stays_mean.cpu().numpy()
    error = mean_error - 2 * float(np.sum(change * cross)) + float(np.sum(change * (own @ change)))
    return LayerFit(
        weight=frozen(fitted), bias=frozen(bias + offset), error=max(error, 0.0), mean_error=mean_error
    )


def require_ridge(ridge: Any) -> None:
    """Raise unless this is a number that a ridge can have."""
    if isinstance(ridge, bool) or not isinstance(ridge, Real) or not 0 <= float(ridge) < float("inf"):
        raise SettingError(
            f"ridge must not be negative, and a finite number; found {ridge!r}. Pass one such as 0.1."
        )


def ridge_strength(covariance: FloatArray, ridge: float) -> float:
    """What is added to the diagonal: `ridge` times the mean variance of the layer's channels."""
    mean_variance: float = np.trace(covariance).item() / covariance.shape[0]
    return ridge * mean_variance


def ridge_solution(own: FloatArray, cross: FloatArray, strength: float) -> FloatArray:
    """Solution D of (own + strength) D = cross; the shortest one where the matrix is singular."""
    n = own.shape[0]
    if n == 0:
        return np.zeros_like(cross)
    if strength > 0:
        found: FloatArray = solve(own + strength * np.eye(n), cross, assume_a="pos")
        return found
    return np.linalg.lstsq(own, cross, rcond=None)[0]


def joined(batches: Sequence[ModelBatch]) -> ModelBatch:
    """All samples in one batch."""
    shapes = {batch.sample_shapes for batch in batches}
    if len(shapes) != 1:
        raise DataError(
            "the sequential fit runs all calibration samples at once, so they must have one shape; found "
            f"{len(shapes)}. Pad them to one length, or use method='parallel'."
        )
    names = batches[0].inputs
    return ModelBatch(
        inputs={name: torch.cat([batch.inputs[name] for batch in batches]) for name in names}, labels=None
    )
