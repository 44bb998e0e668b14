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
from haarbor.pruning._network_heads import LayerHeads, NetworkHeads, is_projection, residual_input
from haarbor.pruning._projection_hooks import projection_hooks

__all__ = [
    "LayerMoments",
    "MomentSums",
    "added_output",
    "layer_moments",
    "projection_bias",
    "projection_weight",
    "residual_hooks",
]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LayerMoments:
    r"""First and second moments of what enters an output projection, over calibration tokens.

    With :math:`x_t` the joined outputs of the heads at token :math:`t` and :math:`r_t` the residual
    stream after the layer's attention has been added, every sum exists twice: as it is, and with the
    weight :math:`1/\|r_t\|^2`, which measures change relative to the residual stream.

    Some networks (Gemma 3) normalise what the projection gives, :math:`o_t`, to :math:`n_t` before it is
    added. A small change of :math:`o_t` then arrives :math:`\|n_t\|/\|o_t\|` times as large, and
    :math:`r_t` is divided by this factor.
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
    cosine: float = float("nan")
    """Mean cosine between the residual stream before and after the layer's attention is added; NaN where it
    was not found."""

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
        self.cosine = 0.0

    def add(
        self, x: torch.Tensor, residual: torch.Tensor | None, cosines: torch.Tensor | None = None
    ) -> None:
        """Add tokens.

        Parameters
        ----------
        x : tensor, shape (n_tokens, width)
        residual : tensor, shape (n_tokens, n_outputs), or None
        cosines : tensor, shape (n_tokens,), optional
            Between the residual stream before and after the layer.
        """
        tokens = x.detach().double()
        self.second += (tokens.T @ tokens).cpu().numpy()
        self.first += tokens.sum(dim=0).cpu().numpy()
        self.n_tokens += tokens.shape[0]
        self.cosine += float("nan") if cosines is None else float(cosines.double().sum())
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
            cosine=self.cosine / n,
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
        hooks.enter_context(residual_hooks(self._model, self._heads, self._residuals))
        hooks.callback(self._residuals.clear)
        hooks.enter_context(projection_hooks(self._model, self._heads, change_output=self._add))
        return hooks

    def _add(self, number: int, x: torch.Tensor, output: torch.Tensor) -> None:
        residual = self._residuals.get(self._heads.layers[number].block or "")
        after = cosines = None
        if residual is not None and residual.shape == output.shape:
            added, factor = added_output(self._model, self._heads.layers[number], output)
            after = residual + added
            cosines = torch.nn.functional.cosine_similarity(residual, after, dim=-1).reshape(-1)
            after = (after / factor).reshape(-1, output.shape[-1])
        tokens = x.reshape(-1, x.shape[-1])
        if self.valid is not None and self.valid.shape == x.shape[:-1]:
            chosen = self.valid.reshape(-1).to(tokens.device)
            tokens = tokens[chosen]
            if after is not None and cosines is not None:
                after, cosines = after[chosen], cosines[chosen]
        self._sums[number].add(tokens, after, cosines)

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


def added_output(
    model: torch.nn.Module, layer: LayerHeads, output: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """What of a projection's output is added to the residual stream, and how many times as large it is.

    Parameters
    ----------
    model : torch.nn.Module
    layer : LayerHeads
    output : tensor, shape (..., n_outputs)

    Returns
    -------
    added : tensor, shape (..., n_outputs)
        The output, or where it is normalised first, the normalised one.
    factor : tensor, shape (..., 1)
        Size of `added` over that of the output; 1 where they are the same, or the output is zero.
    """
    if layer.norm is None:
        return output, torch.ones_like(output[..., :1])
    added: torch.Tensor = model.get_submodule(layer.norm)(output)
    before, after = (torch.linalg.vector_norm(x, dim=-1, keepdim=True) for x in (output, added))
    return added, torch.where((before > 0) & (after > 0), after / before, torch.ones_like(after))


def residual_hooks(model: torch.nn.Module, heads: NetworkHeads, found: dict[str, torch.Tensor]) -> ExitStack:
    """Hooks that keep the residual stream before each block in `found`, while the returned context is open.

    Parameters
    ----------
    model : torch.nn.Module
    heads : NetworkHeads
    found : dict
        Gets the latest residual stream by the name of its block.
    """
    hooks = ExitStack()
    modules = dict(model.named_modules())

    def remember(name: str) -> Any:
        def seen(_module: torch.nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
            given = residual_input(args, kwargs)
            if given is not None:
                found[name] = given

        return seen

    for name in {layer.block for layer in heads.layers if layer.block is not None}:
        handle = modules[name].register_forward_pre_hook(remember(name), with_kwargs=True)
        hooks.callback(handle.remove)
    return hooks


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

    See Also
    --------
    haarbor.pruning.compensate : Refit what stays.
    haarbor.pruning.relative_output_norms : How much heads write.

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
