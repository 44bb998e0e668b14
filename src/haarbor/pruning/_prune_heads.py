"""Copies of networks without some heads, checked against the network with these heads masked."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from haarbor.array_types import BoolArray, FloatArray
from haarbor.capturing import first_line, model_forward
from haarbor.errors import PruningError
from haarbor.pruning._compensation import Compensation, compensated
from haarbor.pruning._head_gates import removed_heads
from haarbor.pruning._layer_moments import projection_bias, projection_weight
from haarbor.pruning._metrics import logits_of
from haarbor.pruning._model_batches import ModelBatch, forward, require_network
from haarbor.pruning._network_heads import HeadChoice, NetworkHeads
from haarbor.pruning._smaller_attention import shrink_layer

__all__ = [
    "changed_projections",
    "largest_difference",
    "prune_heads",
    "require_own_compensation",
    "require_same",
]

_TOLERANCE = 1e-5


def prune_heads(
    model: torch.nn.Module,
    heads: NetworkHeads,
    removed: HeadChoice,
    *,
    batch: ModelBatch,
    compensation: Compensation | None = None,
    means: Sequence[npt.ArrayLike] | None = None,
) -> torch.nn.Module:
    """Copy of a model without some of its heads: smaller projections, the same outputs as when masked.

    Parameters
    ----------
    model : torch.nn.Module
        Left as it is.
    heads : NetworkHeads
    removed : pairs (layer, head), numbers of heads, or bool array
        Every layer keeps at least one. A key-value head goes when all its query heads go.
    batch : ModelBatch
        On which the smaller model is compared with the masked one.
    compensation : Compensation, optional
        Refitted projections for the same heads.
    means : sequence of array_like, one (width,) a layer, optional
        Mean outputs of the heads, folded into the bias in place of the removed ones.

    Returns
    -------
    torch.nn.Module

    Raises
    ------
    PruningError
        If the layout of the network is not known, layers share their weights, a layer would lose all
        heads, or the smaller model does not compute what the masked one does.

    See Also
    --------
    haarbor.pruning.mask_heads : A copy with heads silenced.
    haarbor.pruning.compensate : Refit what stays.
    haarbor.pruning.save_pruned : Write a pruned network.
    haarbor.pruning.standard_model : A plain Hugging Face model.
    """
    require_network(model)
    mask = heads.mask(removed)
    attending = [layer.attention for layer in heads.layers if layer.attention]
    if heads.shares_weights or len(set(attending)) < len(attending):
        raise PruningError(
            f"the layers of {type(model).__name__} share their weights, so a head cannot go in one of them "
            "alone. Heads can still be removed by a mask."
        )
    require_own_compensation(compensation, mask)
    smaller = copy.deepcopy(model)
    shrink(smaller, heads, mask, compensation=compensation, means=means)
    require_same(model, heads, mask, smaller, batch, compensation=compensation, means=means)
    return smaller


def require_same(
    model: torch.nn.Module,
    heads: NetworkHeads,
    removed: BoolArray,
    pruned: torch.nn.Module,
    batch: ModelBatch,
    *,
    compensation: Compensation | None = None,
    means: Sequence[npt.ArrayLike] | None = None,
) -> None:
    """Raise unless a pruned network computes what the whole one does with its heads switched off."""
    masked: AbstractContextManager[None] = (
        removed_heads(model, heads, removed, means=means)
        if compensation is None
        else compensated(model, heads, compensation)
    )
    difference = largest_difference(model, masked, pruned, batch)
    if not difference <= _TOLERANCE:
        raise PruningError(
            f"the pruned {type(model).__name__} must compute what the masked one does; they differ by "
            f"{difference:.1e} of the largest output. Its heads can still be removed by a mask."
        )


def shrink(
    model: torch.nn.Module,
    heads: NetworkHeads,
    removed: BoolArray,
    *,
    compensation: Compensation | None = None,
    means: Sequence[npt.ArrayLike] | None = None,
) -> None:
    """Make every layer that loses heads smaller, in place."""
    changed = changed_projections(model, heads, removed, compensation=compensation, means=means)
    for layer, gone, projection in zip(heads.layers, heads.by_layer(removed), changed, strict=True):
        if projection is not None:
            shrink_layer(model, layer, gone, *projection)


def changed_projections(
    model: torch.nn.Module,
    heads: NetworkHeads,
    removed: BoolArray,
    *,
    compensation: Compensation | None = None,
    means: Sequence[npt.ArrayLike] | None = None,
) -> list[tuple[FloatArray, FloatArray | None] | None]:
    """Weight and bias of each layer's output projection when heads are gone; None where none is.

    The columns of removed heads are still there. The bias is None where there is none.
    """
    found: list[tuple[FloatArray, FloatArray | None] | None] = []
    for number, (layer, gone) in enumerate(zip(heads.layers, heads.by_layer(removed), strict=True)):
        if not gone.size:
            found.append(None)
            continue
        old: Any = model.get_submodule(layer.projection)
        weight, bias = projection_weight(old), projection_bias(old)
        has_bias = old.bias is not None
        fit = None if compensation is None else compensation.fits[number]
        if fit is not None:
            weight, bias, has_bias = fit.weight, fit.bias, True
        elif means is not None:
            mean: FloatArray = np.zeros(layer.width)
            for head in gone.tolist():
                mean[layer.channels(head)] = np.asarray(means[number])[layer.channels(head)]
            bias, has_bias = bias + weight @ mean, True
        found.append((weight, bias if has_bias else None))
    return found


def require_own_compensation(compensation: Compensation | None, removed: BoolArray) -> None:
    """Raise if a compensation is for other heads than those removed."""
    if compensation is not None and not np.array_equal(compensation.removed, removed):
        raise PruningError(
            "the compensation must be for the heads that are removed; it is for others."
            " Make it for these heads, or leave it out."
        )


def largest_difference(
    model: torch.nn.Module, masked: AbstractContextManager[None], smaller: torch.nn.Module, batch: ModelBatch
) -> float:
    """Largest difference of outputs, relative to the largest output (or to 1 if that is larger)."""
    with torch.no_grad():
        with masked:
            expected = first_tensor(forward(model, batch))
        try:
            found = first_tensor(model_forward(smaller, batch.inputs))
        except (LookupError, RuntimeError, ValueError, TypeError, AttributeError) as error:
            raise PruningError(
                f"{type(model).__name__} does not run with fewer heads: {first_line(error)}. Its heads can "
                "still be removed by a mask."
            ) from error
    if expected.shape != found.shape:
        return float("inf")
    scale = max(1.0, float(expected.abs().max()))
    return float((expected - found).abs().max()) / scale


def first_tensor(output: Any) -> torch.Tensor:
    """Logits of a model's answer, or its hidden states where it has no task."""
    hidden = getattr(output, "last_hidden_state", None)
    if isinstance(hidden, torch.Tensor):
        return hidden
    return logits_of(output)
