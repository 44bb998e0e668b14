"""How much a network's answers change when a layer loses half of its heads and is refitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from haarbor.array_types import BoolArray, FloatArray, IntArray, frozen
from haarbor.on_progress import OnProgress
from haarbor.pruning._backward_elimination import LayerElimination
from haarbor.pruning._compensation import Compensation, LayerFit, compensated, fitted_projection
from haarbor.pruning._head_responses import spread_samples
from haarbor.pruning._layer_moments import LayerMoments
from haarbor.pruning._model_batches import ModelBatch, forward
from haarbor.pruning._network_heads import NetworkHeads
from haarbor.pruning._output_change import counted_outputs, mean_output_changes, output_of
from haarbor.pruning._output_norms import require_residual

__all__ = ["LayerResponses", "layer_responses"]

N_ANSWERS = 1024
"""Number of answers that are enough."""
RIDGE = 1e-3
"""Of the order in which the heads of a layer go, relative to the mean variance of a channel."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LayerResponses:
    """Change of a network's answers for each layer that loses half of its heads, and is refitted."""

    by_sample: FloatArray
    """Mean over the answers to each sample, shape (n_samples, n_layers)."""
    counts: IntArray
    """Number of answers per sample, shape (n_samples,)."""

    @property
    def values(self) -> FloatArray:
        """Mean over the answers, shape (n_layers,)."""
        found: FloatArray = np.average(self.by_sample, axis=0, weights=self.counts)
        return found

    def over(self, samples: slice) -> LayerResponses:
        """The responses over some of the samples; over all of them if `samples` selects none."""
        if not self.counts[samples].size:
            return self
        return LayerResponses(by_sample=self.by_sample[samples], counts=self.counts[samples])

    def __repr__(self) -> str:
        return f"LayerResponses({self.by_sample.shape[1]} layers, {int(self.counts.sum())} answers)"


def layer_responses(
    model: torch.nn.Module,
    heads: NetworkHeads,
    moments: Sequence[LayerMoments],
    batches: Sequence[ModelBatch],
    *,
    n_answers: int = N_ANSWERS,
    on_progress: OnProgress | None = None,
) -> LayerResponses:
    """How much the answers of a network change when one layer loses half of its heads and is refitted.

    Parameters
    ----------
    model : torch.nn.Module
        In eval mode.
    heads : NetworkHeads
    moments : sequence of LayerMoments
        They say which heads go, those that the rest of the layer can best replace, and give the refit.
    batches : sequence of ModelBatch
        As the model is shown them; samples are taken evenly from all of them.
    n_answers : int, default 1024
        Answers that are enough; so are 64 samples, or a sixteenth of this number if that is more.
    on_progress : function of (step, done, total), optional
        Told after every layer, with the step "probing".

    Returns
    -------
    LayerResponses

    Raises
    ------
    DataError
        If no answer to any sample counts.
    PruningError
        If the residual stream was not found.

    Notes
    -----
    The change of an answer is that of :func:`haarbor.pruning.head_responses`. It costs a forward pass per
    layer and sample, where the response of every head costs half of one per head and sample.
    """
    require_residual(moments)
    rows = spread_samples([row for batch in batches for row in batch.rows()], model, n_answers)
    starts = np.concatenate([[0], np.cumsum([layer.n_heads for layer in heads.layers])])
    values = np.zeros((len(rows), len(heads)))
    for number, (moment, layer) in enumerate(zip(moments, heads.layers, strict=True)):
        elimination = LayerElimination(moment.relative_covariance, moment.weight, layer, RIDGE)
        gone: IntArray = np.array([head for head, _ in elimination.first_half()], dtype=np.int64)
        if gone.size:
            mask: BoolArray = np.zeros(heads.n_heads, dtype=np.bool_)
            mask[starts[number] + gone] = True
            fits: list[LayerFit | None] = [None] * len(heads)
            fits[number] = fitted_projection(moment, layer, gone)
            changed = Compensation(removed=mask, fits=tuple(fits), method="parallel", ridge=RIDGE)
            with compensated(model, heads, changed), torch.no_grad():
                for place, (row, answer) in enumerate(rows):
                    other, vectors = output_of(forward(model, row))
                    counted = counted_outputs(row, answer)
                    values[place, number] = mean_output_changes(
                        answer[0], other, counted[0], vectors=vectors
                    )[0]
        if on_progress is not None:
            on_progress("probing", number + 1, len(heads))
    counts = [int(counted_outputs(row, answer).sum()) for row, answer in rows]
    return LayerResponses(by_sample=frozen(values), counts=frozen(np.array(counts)))
