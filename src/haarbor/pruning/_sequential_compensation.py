"""Every layer refitted in turn, so that the residual stream of the pruned network follows the whole one's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
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
from haarbor.pruning._joined_batches import joined_batches
from haarbor.pruning._layer_moments import projection_bias, projection_weight, residual_hooks
from haarbor.pruning._model_batches import ModelBatch, forward, model_batches
from haarbor.pruning._network_heads import HeadChoice, LayerHeads, NetworkHeads
from haarbor.pruning._projection_hooks import projection_hooks

__all__ = ["WholeStream", "sequential_compensation", "whole_stream"]

_MOST_BYTES = 2**31
"""Of what all layers of the whole network give, to be kept for further choices of heads."""
_AT_ONCE = 2**20
"""Numbers of a layer that are summed at once: so many in float64 stay in a processor's cache."""


@dataclass(frozen=True, slots=True, eq=False)
class WholeStream:
    """What every layer of the whole network gives on the calibration data, for refits to aim at."""

    targets: tuple[torch.Tensor, ...]
    """One per layer, shape (n_samples, ..., n_outputs): the residual stream after its attention, or the
    layer's own output where that is the target."""

    def __repr__(self) -> str:
        return f"WholeStream({len(self.targets)} layers, {len(self.targets[0])} samples)"


def whole_stream(model: torch.nn.Module, heads: NetworkHeads, calibration: Any) -> WholeStream | None:
    """What :func:`sequential_compensation` needs of the whole network, to refit several choices of heads.

    Parameters
    ----------
    model : torch.nn.Module
        In eval mode.
    heads : NetworkHeads
    calibration : iterable
        Batches to fit on, of one shape.

    Returns
    -------
    WholeStream or None
        None where it would take more than 2 GB.
    """
    batch = joined(model_batches(calibration))
    # Samples of one shape stay in their order.
    groups = joined_batches(model, list(batch.rows()))
    residuals: dict[str, torch.Tensor] = {}
    seen: list[list[torch.Tensor]] = [[] for _ in heads.layers]

    def keep(number: int, _x: torch.Tensor, output: torch.Tensor) -> None:
        before = _residual_before(heads.layers[number], residuals, output)
        seen[number].append(_precise(output) if before is None else _precise(before) + output)

    with (
        residual_hooks(model, heads, residuals),
        projection_hooks(model, heads, change_output=keep),
        torch.no_grad(),
    ):
        for group in groups:
            forward(model, group.batch)
            n_bytes = sum(parts[0].numel() * parts[0].element_size() for parts in seen)
            if n_bytes * len(batch) > _MOST_BYTES * len(group.batch):
                return None
    return WholeStream(tuple(torch.cat(parts) for parts in seen))


def sequential_compensation(
    model: torch.nn.Module,
    heads: NetworkHeads,
    removed: HeadChoice,
    calibration: Any,
    *,
    ridge: float = RIDGE,
    whole: WholeStream | None = None,
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
    whole : WholeStream, optional
        From :func:`whole_stream` for the same network and calibration data, where several choices of heads
        are refitted: the whole network is then not run again.

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

    Where the whole network is not known already, it runs beside the pruned one, in one batch that holds every
    sample twice.
    """
    mask = heads.mask(removed)
    require_ridge(ridge)
    batch = joined(model_batches(calibration))
    fits = _Fitting(model, heads, heads.by_layer(mask), batch, float(ridge), whole).fits()
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
        whole: WholeStream | None,
    ) -> None:
        self._model, self._heads, self._gone, self._batch, self._ridge = model, heads, gone, batch, ridge
        self._whole = whole
        self._n_whole = len(batch) if whole is None else 0
        """Rows of the whole network, in front of those of the pruned one."""
        self._touched = [number for number, own in enumerate(gone) if own.size]
        self._residuals: dict[str, torch.Tensor] = {}
        self._fits: list[LayerFit | None] = [None] * len(heads)

    def fits(self) -> tuple[LayerFit | None, ...]:
        """Fits of all layers; None where no head is lost."""
        if not self._touched:
            return tuple(self._fits)
        n_copies = 2 if self._n_whole else 1
        copies = ModelBatch(
            inputs={name: torch.cat([value] * n_copies) for name, value in self._batch.inputs.items()},
            labels=None,
        )
        with (
            residual_hooks(self._model, self._heads, self._residuals),
            projection_hooks(self._model, self._heads, change_output=self._fit),
            torch.no_grad(),
            suppress(_AllLayersFitted),
        ):
            forward(self._model, copies)
        return tuple(self._fits)

    def _fit(self, number: int, x: torch.Tensor, output: torch.Tensor) -> torch.Tensor | None:
        if number not in self._touched:
            return None
        layer, inputs = self._heads.layers[number], x[self._n_whole :]
        target, now = self._target(number, output)
        chosen: Any = slice(None)
        valid = self._batch.valid
        if valid is not None and valid.shape == inputs.shape[:-1]:
            chosen = valid.reshape(-1).to(x.device)

        def tokens(tensor: torch.Tensor) -> torch.Tensor:
            return tensor.reshape(-1, tensor.shape[-1])[chosen]

        projection = self._model.get_submodule(layer.projection)
        found = _weighted_fit(
            projection_weight(projection),
            projection_bias(projection),
            kept_channels(layer, self._gone[number]),
            tokens(inputs),
            tokens(target),
            None if now is None else tokens(now),
            self._ridge,
        )
        self._fits[number] = found
        if number == self._touched[-1]:
            raise _AllLayersFitted
        fitted = [torch.tensor(array).to(x) for array in (found.weight, found.bias)]
        return torch.cat([output[: self._n_whole], torch.nn.functional.linear(inputs, *fitted)])

    def _target(self, number: int, output: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """What the whole network has after the layer, and what of it the pruned network has before it.

        The second is None where the layer's own output is the target.
        """
        n_whole = self._n_whole
        before = _residual_before(self._heads.layers[number], self._residuals, output)
        now = None if before is None else before[n_whole:]
        if self._whole is not None:
            return self._whole.targets[number], now
        whole = output[:n_whole]
        return (whole if before is None else before[:n_whole].double() + whole.double()), now


def _residual_before(
    layer: LayerHeads, residuals: Mapping[str, torch.Tensor], output: torch.Tensor
) -> torch.Tensor | None:
    """The residual stream that a layer's output is added to as it is; None where there is none."""
    found = residuals.get(layer.block or "")
    return None if found is None or found.shape != output.shape or layer.norm is not None else found


def _weighted_fit(
    weight: FloatArray,
    bias: FloatArray,
    kept: IntArray,
    inputs: torch.Tensor,
    target: torch.Tensor,
    now: torch.Tensor | None,
    ridge: float,
) -> LayerFit:
    """Weights of the kept channels and the bias, by weighted ridge least squares.

    Tokens come first in all tensors. With `now`, what is wanted is what `target` has beyond it, and errors
    are relative to `target`.
    """
    own_bias, index = (torch.as_tensor(array.copy(), device=inputs.device) for array in (bias, kept))
    sums: list[torch.Tensor] = []
    width = max(inputs.shape[-1], target.shape[-1])
    # Sums of wide layers are large: fewer tokens at once than channels would be spent on adding them up.
    step = max(width, _AT_ONCE // width)
    for begin in range(0, len(inputs), step):
        part = slice(begin, begin + step)
        stays, wanted = inputs[part].index_select(1, index).double(), target[part].double()
        shares = torch.ones_like(wanted[:, :1])
        if now is not None:
            shares = 1 / wanted.square().sum(dim=1, keepdim=True)
            wanted = wanted - now[part]
        wanted = wanted - own_bias
        weighted = shares * stays
        found = [
            shares.sum(), weighted.sum(dim=0), shares[:, 0] @ wanted, weighted.T @ stays, weighted.T @ wanted,
            (shares * wanted.square()).sum(),
        ]  # fmt: skip
        sums = [known.add_(new) for known, new in zip(sums, found, strict=True)] if sums else found
    total, *rest = (tensor.cpu().numpy() for tensor in sums)
    centre, offset, own, cross, energy = (array / total for array in rest)
    own = own - np.outer(centre, centre)
    # What is missing beyond the weights as they are, in place of all that is wanted.
    old = weight[:, kept]
    given = own @ old.T
    wanted_cross = cross - np.outer(centre, offset)
    cross = wanted_cross - given
    mean_error = max(float(energy - offset @ offset - np.sum(old.T * (wanted_cross + cross))), 0.0)
    strength = ridge * float(np.trace(own)) / max(kept.size, 1)
    change = ridge_solution(own, cross, strength)
    fitted = np.zeros_like(weight)
    fitted[:, kept] = old + change.T
    error = mean_error - 2 * float(np.sum(change * cross)) + float(np.sum(change * (own @ change)))
    return LayerFit(
        weight=frozen(fitted),
        bias=frozen(bias + offset - fitted[:, kept] @ centre),
        error=max(error, 0.0),
        mean_error=mean_error,
    )


def _precise(tensor: torch.Tensor) -> torch.Tensor:
    """In float32 at least: sums in half precision would be rounded to what a head gives."""
    return tensor if tensor.dtype == torch.float64 else tensor.float()
