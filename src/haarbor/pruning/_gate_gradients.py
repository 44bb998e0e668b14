"""Derivatives of a metric by a factor in front of each head."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch

from haarbor.array_types import FloatArray
from haarbor.errors import PruningError
from haarbor.pruning._head_gates import gated_heads
from haarbor.pruning._joined_batches import JoinedBatch, joined_batches
from haarbor.pruning._metrics import Metric, logits_of
from haarbor.pruning._model_batches import ModelBatch, forward
from haarbor.pruning._network_heads import NetworkHeads

__all__ = ["gate_gradients"]

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

    Notes
    -----
    Batches are run together where the metric is a function of the scores: every row has factors of its
    own, so that one backward pass gives the gradients of all of them. The first batch is run by itself as
    well, and where that gives another gradient every batch is.
    """
    found = np.empty((len(batches), heads.n_heads))
    groups: Sequence[JoinedBatch] = ()
    if metric.graded_of_answer is not None:
        shown = [metric.shown(batch) for batch in batches]
        groups = joined_batches(model, shown, most_tokens=_MOST_TOKENS)
    joint = next((group for group in groups if len(group.places) > 1), None)
    with _frozen(model):
        if joint is not None:
            first = joint.places[0]
            alone = _gradient(model, heads, batches[first], metric)
            try:
                rows = _by_row(model, heads, joint, batches, metric)[next(joint.parts())[1]].sum(axis=0)
            # Not enough memory for several, or rows that cannot be told apart.
            except (PruningError, RuntimeError):
                joint = None
            else:
                scale = np.abs(alone).max()
                if not np.abs(rows - alone).max() <= _TOLERANCE * scale + 1e-9:
                    joint = None
        if joint is None:
            for number, batch in enumerate(batches):
                found[number] = _gradient(model, heads, batch, metric)
            return found
        for group in groups:
            by_row = _by_row(model, heads, group, batches, metric)
            for place, rows_of_it in group.parts():
                found[place] = by_row[rows_of_it].sum(axis=0)
    return found


def _by_row(
    model: torch.nn.Module,
    heads: NetworkHeads,
    group: JoinedBatch,
    batches: Sequence[ModelBatch],
    metric: Metric,
) -> FloatArray:
    """Gradients by the factors of each row of a joined batch, shape (n_rows, n_heads)."""
    gates = _gates(model, heads, len(group.batch))
    with torch.enable_grad(), gated_heads(model, heads, gates):
        logits = logits_of(forward(model, group.batch))
        total = logits.new_zeros(())
        for place, rows in group.parts():
            # Only called for metrics that have it.
            own, count = metric.graded_of_answer(logits[rows], batches[place])  # type: ignore[misc]
            total = total + own / count
        return _taken(total, gates, metric)


def _gradient(model: torch.nn.Module, heads: NetworkHeads, batch: ModelBatch, metric: Metric) -> FloatArray:
    gates = _gates(model, heads)
    with torch.enable_grad(), gated_heads(model, heads, gates):
        total, count = metric.graded_total(model, batch)
        return _taken(total / count, gates, metric)


def _taken(value: torch.Tensor, gates: list[torch.Tensor], metric: Metric) -> FloatArray:
    if not value.requires_grad:
        raise PruningError(
            f"the metric {metric.name!r} has no gradient. Take scores that need none, or give a loss."
        )
    found = torch.autograd.grad(value, gates)
    return np.concatenate([gradient.double().cpu().numpy() for gradient in found], axis=-1)


def _gates(model: torch.nn.Module, heads: NetworkHeads, *rows: int) -> list[torch.Tensor]:
    device = next(model.parameters()).device
    return [torch.ones(*rows, layer.n_heads, device=device, requires_grad=True) for layer in heads.layers]


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
