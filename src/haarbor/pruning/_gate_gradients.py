"""Derivatives of a metric by a factor in front of each head."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import numpy as np
import torch

from haarbor.array_types import FloatArray
from haarbor.errors import PruningError
from haarbor.pruning._head_gates import gated_heads
from haarbor.pruning._joined_batches import JoinedBatch, joined_batches
from haarbor.pruning._metrics import Metric, logits_of
from haarbor.pruning._model_batches import ModelBatch, forward
from haarbor.pruning._network_heads import NetworkHeads

__all__ = ["Gates", "gate_gradients", "row_gradients"]

_MOST_TOKENS = 2048
"""Of a text that are run at once: what every layer gave is kept until the gradient has come back to it."""
_TOLERANCE = 1e-3
"""Largest difference between the gradients of a batch by itself and among others, of the largest one."""


def gate_gradients(
    model: torch.nn.Module, heads: NetworkHeads, batches: Sequence[ModelBatch], metric: Metric
) -> FloatArray:
    """Derivative of the metric of each batch by a factor in front of each head, at 1.

    Parameters
    ----------
    model : torch.nn.Module
    heads : NetworkHeads
    batches : sequence of ModelBatch
        As they are given to the metric.
    metric : Metric

    Returns
    -------
    ndarray, shape (n_batches, n_heads)

    Raises
    ------
    PruningError
        If the metric has no gradient.
    """
    gates = Gates(
        sizes=[layer.n_heads for layer in heads.layers],
        gated=lambda factors: gated_heads(model, heads, factors),
        share=lambda count, _n_rows: 1 / count,
    )
    return np.stack([rows.sum(axis=0) for rows in row_gradients(model, batches, metric, gates)])


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Gates:
    """Factors within a network that derivatives are taken by."""

    sizes: Sequence[int]
    """How many there are in each layer."""
    gated: Callable[[Sequence[torch.Tensor]], AbstractContextManager[None]]
    """Puts factors, one tensor (n,) or (n_rows, n) per layer, into the network while a block runs."""
    share: Callable[[float, int], float]
    """What the sum of a metric is multiplied by, given what it is to be divided by and its number of rows."""

    def ones(self, device: torch.device, *rows: int) -> list[torch.Tensor]:
        """All factors at 1."""
        return [torch.ones(*rows, size, device=device, requires_grad=True) for size in self.sizes]


def row_gradients(
    model: torch.nn.Module, batches: Sequence[ModelBatch], metric: Metric, gates: Gates
) -> list[FloatArray]:
    """Derivatives of a metric by factors within the network, at 1, row by row where that can be had.

    Parameters
    ----------
    model : torch.nn.Module
    batches : sequence of ModelBatch
        As they are given to the metric.
    metric : Metric
    gates : Gates

    Returns
    -------
    list of ndarray, one (n_rows, n_factors) per batch
        With a single row for the whole batch where rows cannot be told apart.

    Raises
    ------
    PruningError
        If the metric has no gradient.

    Notes
    -----
    Batches are run together where the metric is a function of the scores: every row has factors of its
    own, so that one backward pass gives the gradients of all of them. The first batch is run by itself as
    well, and where that gives another gradient every batch is.
    """
    groups: Sequence[JoinedBatch] = ()
    if metric.graded_of_answer is not None:
        shown = [metric.shown(batch) for batch in batches]
        groups = joined_batches(model, shown, most_tokens=_MOST_TOKENS)
    joint = next((group for group in groups if len(group.places) > 1), None)
    with _frozen(model):
        if joint is not None:
            first = joint.places[0]
            alone = _gradient(model, batches[first], metric, gates, len(batches[first]))
            try:
                rows = _by_row(model, gates, joint, batches, metric)[next(joint.parts())[1]].sum(axis=0)
            # Not enough memory for several, or rows that cannot be told apart.
            except (PruningError, RuntimeError):
                joint = None
            else:
                scale = np.abs(alone).max()
                if not np.abs(rows - alone).max() <= _TOLERANCE * scale + 1e-9:
                    joint = None
        if joint is None:
            return [_gradient(model, batch, metric, gates, 1)[None] for batch in batches]
        found: dict[int, FloatArray] = {}
        for group in groups:
            by_row = _by_row(model, gates, group, batches, metric)
            found |= {place: by_row[rows_of_it] for place, rows_of_it in group.parts()}
    return [found[place] for place in range(len(batches))]


def _by_row(
    model: torch.nn.Module,
    gates: Gates,
    group: JoinedBatch,
    batches: Sequence[ModelBatch],
    metric: Metric,
) -> FloatArray:
    """Gradients by the factors of each row of a joined batch, shape (n_rows, n_factors)."""
    factors = gates.ones(next(model.parameters()).device, len(group.batch))
    with torch.enable_grad(), gates.gated(factors):
        logits = logits_of(forward(model, group.batch))
        total = logits.new_zeros(())
        for place, rows in group.parts():
            # Only called for metrics that have it.
            own, count = metric.graded_of_answer(logits[rows], batches[place])  # type: ignore[misc]
            total = total + own * gates.share(count, len(batches[place]))
        return _taken(total, factors, metric)


def _gradient(
    model: torch.nn.Module, batch: ModelBatch, metric: Metric, gates: Gates, n_rows: int
) -> FloatArray:
    factors = gates.ones(next(model.parameters()).device)
    with torch.enable_grad(), gates.gated(factors):
        total, count = metric.graded_total(model, batch)
        return _taken(total * gates.share(count, n_rows), factors, metric)


def _taken(value: torch.Tensor, gates: list[torch.Tensor], metric: Metric) -> FloatArray:
    if not value.requires_grad:
        raise PruningError(
            f"the metric {metric.name!r} has no gradient. Take scores that need none, or give a loss."
        )
    found = torch.autograd.grad(value, gates)
    return np.concatenate([gradient.double().cpu().numpy() for gradient in found], axis=-1)


@contextmanager
def _frozen(model: torch.nn.Module) -> Iterator[None]:
    """No gradients by the weights, which would be computed for nothing."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    for parameter in trained:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in trained:
            parameter.requires_grad_(True)
