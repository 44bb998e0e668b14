"""Every layer refitted in turn, so that the residual stream of the pruned network follows the whole one's."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import torch

from haarbor.array_types import FloatArray, IntArray, frozen
from haarbor.pruning._compensation import (
    RIDGE,
    Compensation,
    LayerFit,
    joined,
    kept_channels,
    require_ridge,
    ridge_solution,
)
from haarbor.pruning._layer_moments import projection_bias, projection_weight, residual_hooks
from haarbor.pruning._model_batches import ModelBatch, forward, model_batches
from haarbor.pruning._network_heads import HeadChoice, NetworkHeads
from haarbor.pruning._projection_hooks import projection_hooks

__all__ = ["sequential_compensation"]


def sequential_compensation(
    model: torch.nn.Module,
    heads: NetworkHeads,
    removed: HeadChoice,
    calibration: Any,
    *,
    ridge: float = RIDGE,
) -> Compensation:
    r"""Output projections refitted one layer after another, each on what the layers below give it now.

    Parameters
    ----------
    model : torch.nn.Module
        In eval mode.
    heads : NetworkHeads
    removed : pairs (layer, head), numbers of heads, or bool array
    calibration : iterable
        Batches to fit on, of one shape.
    ridge : float, default 0.1
        Pull towards the weights as they are, relative to the mean variance of the layer's kept channels.

    Returns
    -------
    Compensation
        With a fit for every layer that has lost heads.

    Raises
    ------
    SettingError
        If the ridge is negative.
    DataError
        If the batches have different shapes.

    See Also
    --------
    haarbor.pruning.compensate : Refit what stays.

    Notes
    -----
    With :math:`r_t, o_t` the residual stream before a layer's attention and what the attention adds to it in
    the whole network, and :math:`r'_t, x'_t` the residual stream and the heads' joined outputs in the
    network that is pruned and refitted below, the kept weights and the bias minimise

    .. math:: \sum_t \|r_t + o_t - r'_t - W x'_t - b\|^2 / \|r_t + o_t\|^2 + \lambda \|W - W_0\|^2.

    So a layer also makes up, as far as it can, for what the layers below it got wrong. Where the residual
    stream was not found, or the output is normalised before it is added (Gemma 3), the layer's own output
    :math:`o_t` is the target.

    That a layer is fitted on the inputs it gets after pruning, and aims at the output of the whole network,
    is how OSSCAR and SlimGPT go through a network as well; aiming at the residual stream, relative to its
    size at each token, is not theirs.

    Whole and pruned network run side by side, in one batch that holds every sample twice.
    """
    mask = heads.mask(removed)
    require_ridge(ridge)
    batch = joined(model_batches(calibration))
    fits = _Fitting(model, heads, heads.by_layer(mask), batch, float(ridge)).fits()
    return Compensation(removed=frozen(mask), fits=fits, method="sequential residual", ridge=float(ridge))


class _AllLayersFitted(Exception):
    """Ends the forward pass after the last layer; the rest is not needed."""


class _Fitting:
    """One forward pass in which every projection is fitted as soon as its inputs are known."""

    def __init__(
        self,
        model: torch.nn.Module,
        heads: NetworkHeads,
        gone: Sequence[IntArray],
        batch: ModelBatch,
        ridge: float,
    ) -> None:
        self._model, self._heads, self._gone, self._batch, self._ridge = model, heads, gone, batch, ridge
        self._touched = [number for number, own in enumerate(gone) if own.size]
        self._residuals: dict[str, torch.Tensor] = {}
        self._fits: list[LayerFit | None] = [None] * len(heads)

    def fits(self) -> tuple[LayerFit | None, ...]:
        """Fits of all layers; None where no head is lost."""
        if not self._touched:
            return tuple(self._fits)
        twice = ModelBatch(
            inputs={name: torch.cat([value, value]) for name, value in self._batch.inputs.items()},
            labels=None,
        )
        with (
            residual_hooks(self._model, self._heads, self._residuals),
            projection_hooks(self._model, self._heads, change_output=self._fit),
            torch.no_grad(),
            suppress(_AllLayersFitted),
        ):
            forward(self._model, twice)
        return tuple(self._fits)

    def _fit(self, number: int, x: torch.Tensor, output: torch.Tensor) -> torch.Tensor | None:
        if number not in self._touched:
            return None
        layer, half = self._heads.layers[number], len(self._batch)
        target, sizes = self._target(number, output)
        chosen: Any = slice(None)
        valid = self._batch.valid
        if valid is not None and valid.shape == x[:half].shape[:-1]:
            chosen = valid.reshape(-1).to(x.device)
        inputs = x[half:].reshape(-1, layer.width)[chosen].double()
        wanted = target.reshape(-1, output.shape[-1])[chosen]
        shares = 1 / sizes.reshape(-1)[chosen]
        projection = self._model.get_submodule(layer.projection)
        found = _weighted_fit(
            projection_weight(projection),
            projection_bias(projection),
            kept_channels(layer, self._gone[number]),
            inputs,
            wanted,
            shares / shares.sum(),
            self._ridge,
        )
        self._fits[number] = found
        if number == self._touched[-1]:
            raise _AllLayersFitted
        fitted = [torch.tensor(array).to(x) for array in (found.weight, found.bias)]
        return torch.cat([output[:half], torch.nn.functional.linear(x[half:], *fitted)])

    def _target(self, number: int, output: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """What the layer should give in the pruned network, and the squared size that errors are taken by."""
        layer, half = self._heads.layers[number], len(self._batch)
        whole = output[:half].double()
        residual = self._residuals.get(layer.block or "")
        if residual is None or residual.shape != output.shape or layer.norm is not None:
            return whole, torch.ones_like(whole[..., 0])
        before, now = residual[:half].double(), residual[half:].double()
        return before + whole - now, (before + whole).square().sum(dim=-1)


def _weighted_fit(
    weight: FloatArray,
    bias: FloatArray,
    kept: IntArray,
    inputs: torch.Tensor,
    wanted: torch.Tensor,
    shares: torch.Tensor,
    ridge: float,
) -> LayerFit:
    """Weights of the kept channels and the bias, by weighted ridge least squares; shares sum to one."""
    stays = inputs[:, torch.as_tensor(kept, device=inputs.device)]
    matrix = torch.as_tensor(weight[:, kept].copy(), device=inputs.device)
    missing = wanted - torch.as_tensor(bias.copy(), device=inputs.device) - stays @ matrix.T
    column = shares[:, None]
    centre, offset = (column * stays).sum(dim=0), (column * missing).sum(dim=0)
    stays, missing = stays - centre, missing - offset
    own = ((column * stays).T @ stays).cpu().numpy()
    cross = ((column * stays).T @ missing).cpu().numpy()
    mean_error = float((column * missing.square()).sum())
    strength = ridge * float(np.trace(own)) / max(kept.size, 1)
    change = ridge_solution(own, cross, strength)
    fitted = np.zeros_like(weight)
    fitted[:, kept] = weight[:, kept] + change.T
    error = mean_error - 2 * float(np.sum(change * cross)) + float(np.sum(change * (own @ change)))
    return LayerFit(
        weight=frozen(fitted),
        bias=frozen(bias + offset.cpu().numpy() - change.T @ centre.cpu().numpy()),
        error=max(error, 0.0),
        mean_error=mean_error,
    )
