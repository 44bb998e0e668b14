"""Copies of networks with heads switched off for good: as large as before, and with the masked output."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from haarbor.array_types import FloatArray
from haarbor.pruning._compensation import Compensation, kept_channels
from haarbor.pruning._model_batches import ModelBatch, require_network
from haarbor.pruning._network_heads import HeadChoice, NetworkHeads
from haarbor.pruning._prune_heads import changed_projections, require_own_compensation, require_same
from haarbor.pruning._smaller_attention import projection_like, replace_module

__all__ = ["ProjectionByCall", "mask_heads", "replace_projections"]


class ProjectionByCall(nn.Module):
    """Output projection for layers that share their weights: every call has a projection of its own.

    Parameters
    ----------
    projections : sequence of nn.Module
        In the order of the calls within one forward of the network.
    """

    def __init__(self, projections: Sequence[nn.Module]) -> None:
        super().__init__()
        self.calls = nn.ModuleList(projections)
        self._next = 0

    def begin(self, _network: nn.Module, _args: Any) -> None:
        """Start counting calls from 0: a hook that the network runs before each forward pass."""
        self._next = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """What the projection of this call gives."""
        projection = self.calls[self._next % len(self.calls)]
        self._next += 1
        found: torch.Tensor = projection(x)
        return found


def mask_heads(
    model: torch.nn.Module,
    heads: NetworkHeads,
    removed: HeadChoice,
    *,
    batch: ModelBatch,
    compensation: Compensation | None = None,
    means: Sequence[npt.ArrayLike] | None = None,
) -> torch.nn.Module:
    """Copy of a model whose output projections do without some heads.

    For networks that :func:`haarbor.pruning.prune_heads` cannot make smaller. The weights that a removed
    head is multiplied by are zero, and what makes up for it is in the other weights and the bias. The copy
    computes what the whole network does with its heads masked and its layers refitted.

    Parameters
    ----------
    model : torch.nn.Module
        Left as it is.
    heads : NetworkHeads
    removed : pairs (layer, head), numbers of heads, or bool array
    batch : ModelBatch
        On which the copy is compared with the masked model.
    compensation : Compensation, optional
        Refitted projections for the same heads.
    means : sequence of array_like, one (width,) per layer, optional
        Mean outputs of the heads, folded into the bias in place of the removed ones.

    Returns
    -------
    torch.nn.Module
        Of the same class; as large as the whole one.

    Raises
    ------
    PruningError
        If the copy does not compute what the masked model does, as where several layers share one
        ``nn.MultiheadAttention``.

    See Also
    --------
    haarbor.pruning.prune_heads : A smaller copy of a model.
    haarbor.pruning.compensate : Refit what stays.
    """
    require_network(model)
    mask = heads.mask(removed)
    require_own_compensation(compensation, mask)
    changed = changed_projections(model, heads, mask, compensation=compensation, means=means)
    for number, (layer, gone) in enumerate(zip(heads.layers, heads.by_layer(mask), strict=True)):
        projection = changed[number]
        if projection is not None:
            weight = np.zeros_like(projection[0])
            kept = kept_channels(layer, gone)
            weight[:, kept] = projection[0][:, kept]
            changed[number] = (weight, projection[1])
    masked = copy.deepcopy(model)
    replace_projections(masked, heads, changed)
    require_same(model, heads, mask, masked, batch, compensation=compensation, means=means)
    return masked


def replace_projections(
    model: torch.nn.Module,
    heads: NetworkHeads,
    changed: Sequence[tuple[FloatArray, FloatArray | None] | None],
) -> None:
    """Give layers other output projections, in place.

    Parameters
    ----------
    model : torch.nn.Module
    heads : NetworkHeads
    changed : sequence of (weight, bias) or None, one per layer
        Weights of shape (n_outputs, width); None where a layer keeps what it has.
    """
    by_projection: dict[str, list[int]] = {}
    for number, layer in enumerate(heads.layers):
        by_projection.setdefault(layer.projection, []).append(number)
    for name, numbers in by_projection.items():
        own = [changed[number] for number in numbers]
        if all(projection is None for projection in own):
            continue
        old = model.get_submodule(name)
        new = [
            old if projection is None else projection_like(old, projection[0], projection[1])
            for projection in own
        ]
        if len(new) == 1:
            replace_module(model, name, new[0])
            continue
        by_call = ProjectionByCall(new)
        replace_module(model, name, by_call)
        model.register_forward_pre_hook(by_call.begin)
