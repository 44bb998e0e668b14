"""Derivatives of a metric by a factor in front of each head."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass

import numpy as np
import torch

from haarbor.array_types import FloatArray
from haarbor.errors import HaarborError, PruningError
from haarbor.on_progress import OnProgress
from haarbor.pruning._head_gates import gated_heads
from haarbor.pruning._joined_batches import JoinedBatch, joined_batches
from haarbor.pruning._metrics import Metric, logits_of
from haarbor.pruning._model_batches import ModelBatch, forward
from haarbor.pruning._network_heads import NetworkHeads

__all__ = ["Gates", "RowGradients", "gate_gradients", "row_gradients"]

_MOST_TOKENS = 2048
"""Of a text that are run at once: what every layer gave is kept until the gradient has come back to it."""
_TOLERANCE = 1e-3
"""Largest difference between the gradients of a batch by itself and among others, of the largest one."""


def gate_gradients(
    model: torch.nn.Module,
    heads: NetworkHeads,
    batches: Sequence[ModelBatch],
    metric: Metric,
    *,
    on_progress: OnProgress | None = None,
) -> FloatArray:
    """Derivative of the metric of each batch by a factor in front of each head, at 1.

    Parameters
    ----------
    model : torch.nn.Module
    heads : NetworkHeads
    batches : sequence of ModelBatch
        As they are given to the metric.
    metric : Metric
    on_progress : function of (step, done, total), optional
        As for :func:`row_gradients`.

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
    found = row_gradients(model, batches, [metric], gates, on_progress=on_progress)
    return np.stack([batch.by_row[0].sum(axis=0) for batch in found])


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RowGradients:
    """Derivatives of metrics on a batch."""

    by_row: FloatArray
    """Shape (n_metrics, n_rows, n_factors); one row for all of a batch whose rows cannot be told apart."""
    counts: FloatArray
    """What the sum of each metric over the batch is to be divided by, shape (n_metrics,)."""

    def answers_by_row(self, metric: int) -> FloatArray:
        """The count of a metric in equal parts, one per row."""
        n_rows = self.by_row.shape[1]
        return np.full(n_rows, self.counts[metric] / n_rows)


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
    model: torch.nn.Module,
    batches: Sequence[ModelBatch],
    metrics: Sequence[Metric],
    gates: Gates,
    *,
    on_progress: OnProgress | None = None,
) -> list[RowGradients]:
    """Derivatives of metrics by factors within the network, at 1, row by row where that can be had.

    Parameters
    ----------
    model : torch.nn.Module
    batches : sequence of ModelBatch
        As they are given to the metrics.
    metrics : sequence of Metric
        The model is shown the same for all of them. Where they are functions of the scores, one pass forward
        serves all, and each takes one back.
    gates : Gates
    on_progress : function of (step, done, total), optional
        Told of the step "gradients" after every backward pass; it counts samples.

    Returns
    -------
    list of RowGradients, one per batch

    Raises
    ------
    PruningError
        If a metric has no gradient.

    Notes
    -----
    Batches are run together where the metrics are functions of the scores: every row has factors of its
    own, so that one backward pass gives the gradients of all of them. Where they are not, and a metric asks
    the model itself, the rows of a batch have factors of their own all the same, though its loss may hang on
    several of them together: what each contributes is told apart. The first batch is run with the same
    factors for all its rows as well, and where that gives another gradient than the sum over the rows, so is
    every batch.
    """
    groups: Sequence[JoinedBatch] = ()
    if _of_answers(metrics):
        shown = [metrics[0].shown(batch) for batch in batches]
        groups = joined_batches(model, shown, most_tokens=_MOST_TOKENS)
    found: dict[int, RowGradients] = {}
    done, n_samples = 0, sum(map(len, batches))

    def tell(n_more: int) -> None:
        nonlocal done
        done += n_more
        if on_progress is not None:
            on_progress("gradients", done, n_samples)

    with _frozen(model):
        joint = next((group for group in groups if len(group.places) > 1), None)
        if joint is not None and _same_sum(model, gates, joint, batches, metrics[0]):
            for group in groups:
                by_row, counts_of = _by_row(model, gates, group, batches, metrics)
                for place, rows_of_it in group.parts():
                    found[place] = RowGradients(
                        by_row=by_row[:, rows_of_it], counts=np.array(counts_of[place])
                    )
                tell(len(group.batch))
        else:
            several = next((place for place, batch in enumerate(batches) if len(batch) > 1), None)
            rows = several is not None and _same_sum(model, gates, several, batches, metrics[0])
            for place, batch in enumerate(batches):
                own = None
                if rows:
                    # A metric may show the model a batch in parts, and not the first one.
                    with suppress(HaarborError, RuntimeError):
                        own = _of_batch(model, batch, metrics, gates, rows=True)
                found[place] = own or _of_batch(model, batch, metrics, gates, rows=False)
                tell(len(batch))
    return [found[place] for place in range(len(batches))]


def _of_answers(metrics: Sequence[Metric]) -> bool:
    """Whether all of them are functions of the scores, so that one pass forward serves them all."""
    return all(metric.graded_of_answer is not None for metric in metrics)


def _same_sum(
    model: torch.nn.Module,
    gates: Gates,
    together: JoinedBatch | int,
    batches: Sequence[ModelBatch],
    metric: Metric,
) -> bool:
    """Whether factors of its own for every row give the same as one for all, in the first of these batches.

    `together` is a joined batch, or the number of one that is run by itself.
    """
    first = together if isinstance(together, int) else together.places[0]
    alone = _of_batch(model, batches[first], [metric], gates, rows=False)
    try:
        if isinstance(together, int):
            by_row = _of_batch(model, batches[first], [metric], gates, rows=True).by_row[0]
        else:
            by_row = _by_row(model, gates, together, batches, [metric])[0][0, next(together.parts())[1]]
    # Not enough memory for several, or rows that cannot be told apart: what else is wrong was just told.
    except (HaarborError, RuntimeError):
        return False
    n_rows, count = len(batches[first]), float(alone.counts[0])
    whole = alone.by_row[0, 0] * gates.share(count, n_rows) / gates.share(count, 1)
    error = np.abs(by_row.sum(axis=0) - whole).max()
    return bool(error <= _TOLERANCE * np.abs(whole).max() + 1e-9)


def _by_row(
    model: torch.nn.Module,
    gates: Gates,
    group: JoinedBatch,
    batches: Sequence[ModelBatch],
    metrics: Sequence[Metric],
) -> tuple[FloatArray, dict[int, list[float]]]:
    """Gradients by the factors of each row of a joined batch, (n_metrics, n_rows, n_factors), and counts."""
    factors = gates.ones(next(model.parameters()).device, len(group.batch))
    found: list[FloatArray] = []
    counts: dict[int, list[float]] = {place: [] for place in group.places}
    with torch.enable_grad(), gates.gated(factors):
        logits = logits_of(forward(model, group.batch))
        for number, metric in enumerate(metrics, start=1):
            total = logits.new_zeros(())
            for place, rows in group.parts():
                # Only called for metrics that have it.
                own, count = metric.graded_of_answer(logits[rows], batches[place])  # type: ignore[misc]
                total = total + own * gates.share(count, len(batches[place]))
                counts[place].append(count)
            found.append(_taken(total, factors, metric, again=number < len(metrics)))
    return np.stack(found), counts


def _of_batch(
    model: torch.nn.Module, batch: ModelBatch, metrics: Sequence[Metric], gates: Gates, *, rows: bool
) -> RowGradients:
    """Gradients of a batch that is run by itself, with factors for each of its rows or the same for all."""
    n_rows = len(batch) if rows else 1
    factors = gates.ones(next(model.parameters()).device, *([n_rows] if rows else []))
    found, counts = [], []
    with torch.enable_grad(), gates.gated(factors):
        logits = logits_of(forward(model, metrics[0].shown(batch))) if _of_answers(metrics) else None
        for number, metric in enumerate(metrics, start=1):
            if logits is None or metric.graded_of_answer is None:
                total, count = metric.graded_total(model, batch)
            else:
                total, count = metric.graded_of_answer(logits, batch)
            again = logits is not None and number < len(metrics)
            taken = _taken(total * gates.share(count, n_rows), factors, metric, again=again)
            found.append(taken if rows else taken[None])
            counts.append(count)
    return RowGradients(by_row=np.stack(found), counts=np.array(counts))


def _taken(
    value: torch.Tensor, gates: list[torch.Tensor], metric: Metric, *, again: bool = False
) -> FloatArray:
    """Derivatives by the gates; with `again`, what the network gave is kept for those of another value."""
    if not value.requires_grad:
        raise PruningError(
            f"the metric {metric.name!r} has no gradient. Take scores that need none, or give a loss."
        )
    found = torch.autograd.grad(value, gates, retain_graph=again)
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
