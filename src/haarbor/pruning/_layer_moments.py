"""Means and second moments of the heads' outputs over the calibration tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from haarbor.array_types import FloatArray, frozen
from haarbor.pruning._joined_batches import joined_batches
from haarbor.pruning._model_batches import ModelBatch, forward
from haarbor.pruning._network_heads import NetworkHeads, is_projection, residual_input
from haarbor.pruning._projection_hooks import projection_hooks

__all__ = ["LayerMoments", "MomentSums", "layer_moments", "projection_bias", "projection_weight"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LayerMoments:
    r"""First and second moments of what enters an output projection, over calibration tokens.

    With :math:`x_t` the joined outputs of the heads at token :math:`t` and :math:`r_t` the residual
    stream after the layer's attention has been added, every sum exists twice: as it is, and with the
    weight :math:`1/\|r_t\|^2`, which measures change relative to the residual stream.
    """

    second: FloatArray
    r"""Mean of :math:`x_t x_t^\top`, shape (width, width)."""
    mean: FloatArray
    """Mean of :math:`x_t`, shape (width,)."""
    relative_second: FloatArray
    r"""Mean of :math:`x_t x_t^\top / \|r_t\|^2`, shape (width, width)."""
    relative_mean: FloatArray
    r"""Mean of :math:`x_t` weighted by :math:`1/\|r_t\|^2`, shape (width,)."""
    relative_weight: float
    r"""Mean of :math:`1/\|r_t\|^2`; NaN where the residual stream was not found."""
    residual_energy: float
    r"""Mean of :math:`\|r_t\|^2`; NaN where the residual stream was not found."""
    n_tokens: int
    weight: FloatArray
    """Of the projection, shape (n_outputs, width): output = weight x + bias."""
    bias: FloatArray
    """Of the projection, shape (n_outputs,); zeros where it has none."""

    @property
    def covariance(self) -> FloatArray:
        """Second moments about the mean, shape (width, width)."""
        found: FloatArray = self.second - np.outer(self.mean, self.mean)
        return found

    @property
    def relative_covariance(self) -> FloatArray:
        """Second moments about the weighted mean, relative to the residual stream, shape (width, width)."""
        spread = self.relative_weight * np.outer(self.relative_mean, self.relative_mean)
        found: FloatArray = self.relative_second - spread
        return found

    def __repr__(self) -> str:
        return f"LayerMoments({self.mean.size} channels, {self.n_tokens} tokens)"


class MomentSums:
    """Running sums of one layer, in float64."""

    def __init__(self, width: int) -> None:
        self.second = np.zeros((width, width))
        self.first = np.zeros(width)
        self.relative_second = np.zeros((width, width))
        self.relative_first = np.zeros(width)
        self.relative_weight = 0.0
        self.residual_energy = 0.0
        self.n_tokens = 0

    def add(self, x: torch.Tensor, residual: torch.Tensor | None) -> None:
        """Add tokens.

        Parameters
        ----------
        x : tensor, shape (n_tokens, width)
        residual : tensor, shape (n_tokens, n_outputs), or None
        """
        tokens = x.detach().double()
        self.second += (tokens.T @ tokens).cpu().numpy()
        self.first += tokens.sum(dim=0).cpu().numpy()
        self.n_tokens += tokens.shape[0]
        if residual is None:
            self.relative_weight = self.residual_energy = float("nan")
            return
        energy = residual.detach().double().square().sum(dim=-1)
        weighted = tokens / energy[:, None]
        self.relative_second += (weighted.T @ tokens).cpu().numpy()
        self.relative_first += weighted.sum(dim=0).cpu().numpy()
        self.relative_weight += float((1.0 / energy).sum())
        self.residual_energy += float(energy.sum())

    def moments(self, weight: FloatArray, bias: FloatArray) -> LayerMoments:
        """Moments from the sums so far, with the projection that they belong to."""
        n = self.n_tokens
        return LayerMoments(
            second=frozen(self.second / n),
            mean=frozen(self.first / n),
            relative_second=frozen(self.relative_second / n),
            relative_mean=frozen(self.relative_first / self.relative_weight),
            relative_weight=self.relative_weight / n,
            residual_energy=self.residual_energy / n,
            n_tokens=n,
            weight=frozen(weight),
            bias=frozen(bias),
        )


class MomentHooks:
    """Adds up the moments of all layers of a model while it runs."""

    def __init__(self, model: torch.nn.Module, heads: NetworkHeads) -> None:
        self._model, self._heads = model, heads
        self._sums = [MomentSums(layer.width) for layer in heads.layers]
        self._residuals: dict[str, torch.Tensor] = {}
        self.valid: torch.Tensor | None = None
        """Which tokens of the coming batch count, shape (batch, token); None for all."""

    def watching(self) -> ExitStack:
        """Hooks that add while the returned context is open."""
        hooks = ExitStack()
        modules = dict(self._model.named_modules())

        def remember(name: str) -> Any:
            def seen(_module: torch.nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
                found = residual_input(args, kwargs)
                if found is not None:
                    self._residuals[name] = found

            return seen

        for name in {layer.block for layer in self._heads.layers if layer.block is not None}:
            handle = modules[name].register_forward_pre_hook(remember(name), with_kwargs=True)
            hooks.callback(handle.remove)
        hooks.callback(self._residuals.clear)
        hooks.enter_context(projection_hooks(self._model, self._heads, change_output=self._add))
        return hooks

    def _add(self, number: int, x: torch.Tensor, output: torch.Tensor) -> None:
        residual = self._residuals.get(self._heads.layers[number].block or "")
        after = None
        if residual is not None and residual.shape == output.shape:
            after = (residual + output).reshape(-1, output.shape[-1])
        tokens = x.reshape(-1, x.shape[-1])
        if self.valid is not None and self.valid.shape == x.shape[:-1]:
            chosen = self.valid.reshape(-1).to(tokens.device)
            tokens, after = tokens[chosen], None if after is None else after[chosen]
        self._sums[number].add(tokens, after)

    def weights(self) -> list[FloatArray]:
        """Weights of the output projections, one per layer."""
        return [weight for weight, _bias in self._projections()]

    def moments(self) -> tuple[LayerMoments, ...]:
        """Moments of what has been seen, one per layer."""
        return tuple(
            sums.moments(weight, bias)
            for sums, (weight, bias) in zip(self._sums, self._projections(), strict=True)
        )

    def _projections(self) -> list[tuple[FloatArray, FloatArray]]:
        modules = [self._model.get_submodule(layer.projection) for layer in self._heads.layers]
        return [(projection_weight(module), projection_bias(module)) for module in modules]


def layer_moments(
    model: torch.nn.Module, heads: NetworkHeads, batches: Sequence[ModelBatch]
) -> tuple[LayerMoments, ...]:
    """Moments of the heads' outputs in every layer, in one forward pass.

    Parameters
    ----------
    model : torch.nn.Module
    heads : NetworkHeads
    batches : sequence of ModelBatch

    Returns
    -------
    tuple of LayerMoments, one per layer

    Notes
    -----
    Sums are kept in float64 and never more than a few batches' activations at a time; padding is left
    out where the batch has an ``attention_mask``.
    """
    hooks = MomentHooks(model, heads)
    groups = joined_batches(model, batches)
    with hooks.watching(), torch.no_grad():
        for group in groups:
            hooks.valid = group.batch.valid
            forward(model, group.batch)
    return hooks.moments()


def projection_weight(module: torch.nn.Module) -> FloatArray:
    """Weight matrix of a linear map as (outputs, inputs), float64."""
    weight: Any = module.weight
    array: FloatArray = weight.detach().double().cpu().numpy()
    return array if isinstance(module, torch.nn.Linear) or not is_projection(module) else array.T.copy()


def projection_bias(module: torch.nn.Module) -> FloatArray:
    """Bias of a linear map, float64; zeros where it has none."""
    bias: Any = getattr(module, "bias", None)
    if bias is None:
        return np.zeros(projection_weight(module).shape[0])
    array: FloatArray = bias.detach().double().cpu().numpy()
    return array
