"""How much a network's answers change when a layer loses half of its heads and is refitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from haarbor.array_types import FloatArray, IntArray, frozen
from haarbor.on_progress import OnProgress
from haarbor.pruning._backward_elimination import LayerElimination
from haarbor.pruning._compensation import LayerFit, fitted_projection
from haarbor.pruning._layer_moments import LayerMoments
from haarbor.pruning._model_batches import ModelBatch
from haarbor.pruning._network_heads import LayerHeads, NetworkHeads
from haarbor.pruning._network_probe import Change
from haarbor.pruning._output_norms import require_residual
from haarbor.pruning._probed_changes import probed_changes

__all__ = ["N_ANSWERS", "LayerResponses", "half_fit", "layer_changes", "layer_responses"]

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

    @staticmethod
    def of_changes(
        changes: Sequence[tuple[int, Change]], by_sample: FloatArray, counts: IntArray, *, n_layers: int
    ) -> LayerResponses:
        """The responses by the changes of :func:`layer_changes`: a layer of one head has none."""
        every = np.zeros((counts.size, n_layers))
        every[:, [number for number, _ in changes]] = by_sample
        return LayerResponses(by_sample=frozen(every), counts=counts)

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
        Told after every sample, with the step "probing".

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
    layer and sample; beside the responses of heads half of one, which is what each of them costs.
    """
    changes = layer_changes(model, heads, moments)
    ((by_sample, counts),) = probed_changes(
        model, heads, batches, [(changes, n_answers)], on_progress=on_progress
    )
    return LayerResponses.of_changes(changes, by_sample, counts, n_layers=len(heads))


def layer_changes(
    model: torch.nn.Module, heads: NetworkHeads, moments: Sequence[LayerMoments]
) -> list[tuple[int, Change]]:
    """What each layer of several heads gives without half of them, the others refitted."""
    require_residual(moments)
    like = next(model.parameters(), torch.zeros(1))
    found: list[tuple[int, Change]] = []
    for number, (moment, layer) in enumerate(zip(moments, heads.layers, strict=True)):
        fit = half_fit(moment, layer)
        if fit is not None:
            weight, bias = (torch.tensor(array).to(like) for array in (fit.weight, fit.bias))
            found.append((number, _projected(weight, bias)))
    return found


def half_fit(moment: LayerMoments, layer: LayerHeads) -> LayerFit | None:
    """Projection of a layer without half of its heads, the others refitted; None where that is no head.

    Those go that the rest of the layer can best replace, one after another.
    """
    elimination = LayerElimination(moment.relative_covariance, moment.weight, layer, RIDGE)
    gone: IntArray = np.array([head for head, _ in elimination.first_half()], dtype=np.int64)
    return fitted_projection(moment, layer, gone) if gone.size else None


def _projected(weight: torch.Tensor, bias: torch.Tensor) -> Change:
    def change(x: torch.Tensor, _output: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.linear(x, weight.to(x), bias.to(x))

    return change
