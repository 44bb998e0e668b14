"""Derivatives of the loss by a factor in front of what the rest of a layer cannot give for a head."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch.nn import functional

from haarbor.array_types import FloatArray, IntArray, frozen
from haarbor.errors import DataError
from haarbor.on_progress import OnProgress
from haarbor.pruning._gate_gradients import Gates, row_gradients
from haarbor.pruning._head_gates import factors_by_row
from haarbor.pruning._head_responses import stand_ins
from haarbor.pruning._layer_moments import LayerMoments
from haarbor.pruning._layer_responses import half_fit
from haarbor.pruning._metrics import Metric, logits_of
from haarbor.pruning._model_batches import ModelBatch, forward
from haarbor.pruning._network_heads import LayerHeads, NetworkHeads
from haarbor.pruning._output_change import counted_outputs, output_of
from haarbor.pruning._output_norms import require_residual
from haarbor.pruning._projection_hooks import projection_hooks

__all__ = ["LeftoverGradients", "drawn_labels", "leftover_gradients", "leftover_gradients_of"]

N_DRAWS = 4
"""Times that labels are drawn, a backward pass each."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LeftoverGradients:
    """Derivatives of the loss of samples by factors in front of what would be lost with heads.

    A loss is summed over the answers to a sample and divided by the square root of their number, so that
    mean squares are per answer. Samples are the rows of batches, or whole batches where rows cannot be told
    apart.
    """

    by_sample: FloatArray
    """Shape (n_draws, n_samples, n_heads + n_layers): of each head, then of half of each layer."""
    n_layers: int
    n_answers: FloatArray
    """Answers to each sample, shape (n_samples,): of a batch the same for each."""
    sign: float = 1.0
    """1 where the loss is to fall, -1 where it is a metric that is to rise."""

    @property
    def head_prices(self) -> FloatArray:
        """Mean square for each head, shape (n_heads,)."""
        return self._prices()[: -self.n_layers]

    @property
    def layer_prices(self) -> FloatArray:
        """Mean square for half of each layer, shape (n_layers,)."""
        return self._prices()[-self.n_layers :]

    @property
    def head_rises(self) -> FloatArray:
        """By how much the mean loss rises to first order without each head, beyond chance, shape (n_heads,).

        Less a standard error over the samples; 0 where nothing is left, and where the loss would fall. It is
        that of the labels the derivatives were taken with.

        LLM-Pruner (Ma et al. 2023, arXiv 2305.11627) takes the first and the second order of a removal
        without a refit together, whichever way the loss goes. Falls are left out here, because heads whose
        removal lowers the loss mostly do so for one reason, and together go too far.
        """
        totals = self.sign * self.by_sample[..., : -self.n_layers].mean(axis=0)
        totals = totals * np.sqrt(self.n_answers)[:, None]
        n_samples, n_answers = len(totals), self.n_answers.sum()
        means = totals.sum(axis=0) / n_answers
        if n_samples < 2:
            return np.zeros_like(means)
        apart = totals - means * self.n_answers[:, None]
        errors = np.sqrt(np.square(apart).sum(axis=0) * n_samples / (n_samples - 1)) / n_answers
        # A factor of 1 is the whole network: the removal goes the other way.
        found: FloatArray = np.maximum(-means - errors, 0.0)
        return found

    def _prices(self) -> FloatArray:
        found: FloatArray = np.square(self.by_sample).mean(axis=(0, 1))
        return found

    def over(self, samples: slice) -> LeftoverGradients:
        """The derivatives of some of the samples; of all of them if `samples` selects none."""
        if not self.by_sample[0, samples].size:
            return self
        return replace(self, by_sample=self.by_sample[:, samples], n_answers=self.n_answers[samples])

    def __repr__(self) -> str:
        n_draws, n_samples, n_factors = self.by_sample.shape
        return f"LeftoverGradients({n_factors - self.n_layers} heads, {n_samples} samples, {n_draws} draws)"


def leftover_gradients(
    model: torch.nn.Module,
    heads: NetworkHeads,
    moments: Sequence[LayerMoments],
    batches: Sequence[ModelBatch],
    metric: Metric,
    *,
    drawn: bool = False,
    n_draws: int = N_DRAWS,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> LeftoverGradients:
    r"""Derivatives by factors in front of what each head gives that the rest of its layer cannot.

    Parameters
    ----------
    model : torch.nn.Module
        In eval mode.
    heads : NetworkHeads
    moments : sequence of LayerMoments
        They give the refits, and say which half of a layer goes first.
    batches : sequence of ModelBatch
        As they are given to the metric.
    metric : Metric
        Its gradient is taken.
    drawn : bool, default False
        Whether labels are drawn from the network's own answers, in place of those of the data. A network
        that answers with vectors has no labels to draw; the metric's own gradient is taken there.
    n_draws : int, default 4
        How often labels are drawn.
    seed : int, default 0
        Of the labels, which follow from it and the batch alone on one kind of device.
    on_progress : function of (step, done, total), optional
        Told of the step "gradients"; it counts samples.

    Returns
    -------
    LeftoverGradients

    Raises
    ------
    PruningError
        If the metric has no gradient, or the residual stream was not found.
    DataError
        If labels are to be drawn from answers that are NaN.

    See Also
    --------
    haarbor.pruning.head_responses : The same change measured, by forward passes.
    haarbor.pruning.pruning_scores : Scores of all heads.

    Notes
    -----
    Without head :math:`h`, the others of its layer refitted, the layer gives :math:`W_h S_h (x - \bar x)`
    less (see :func:`haarbor.pruning.head_responses`). With a factor :math:`\gamma_h` in front of that, 1 for
    the whole network and 0 for the one without the head, :math:`a_h = \partial L / \partial \gamma_h` is what
    the refitted removal does to the loss, to first order; importance by gradients (Michel et al. 2019, arXiv
    1905.10650) takes the derivative of the removal without a refit. One pass forward and one back give it
    for all heads, and for the removal of half of each layer.

    With labels drawn from the answers, the mean of :math:`a_h^2` is the Fisher information of the answers in
    the direction of the removal: twice the relative entropy between the answers with and without, to second
    order. That stands for the Hessian in many methods of pruning, such as that of Kwon et al. (2022, arXiv
    2204.09656), mostly with the labels of the data. Ours is the direction, that of the refitted removal.
    """
    (found,) = leftover_gradients_of(
        model, heads, moments, batches, metric, [drawn], n_draws=n_draws, seed=seed, on_progress=on_progress
    )
    return found


def leftover_gradients_of(
    model: torch.nn.Module,
    heads: NetworkHeads,
    moments: Sequence[LayerMoments],
    batches: Sequence[ModelBatch],
    metric: Metric,
    drawn: Sequence[bool],
    *,
    n_draws: int = N_DRAWS,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> list[LeftoverGradients]:
    """The derivatives with the labels of the data, with drawn ones, or both from one pass forward.

    Parameters
    ----------
    model, heads, moments, batches, metric, n_draws, seed, on_progress
        As for :func:`leftover_gradients`.
    drawn : sequence of bool
        Whether labels are drawn, for each of the results.

    Returns
    -------
    list of LeftoverGradients
    """
    require_residual(moments)
    layers = [_Lost(moment, layer) for moment, layer in zip(moments, heads.layers, strict=True)]
    gates = Gates(
        sizes=[layer.n_heads + 1 for layer in heads.layers],
        gated=lambda factors: _gated(model, heads, layers, factors),
        share=lambda count, n_rows: float(np.sqrt(n_rows / count)),
    )
    can_draw = any(drawn) and not _answers_with_vectors(model, metric.shown(batches[0]))
    of_draws = [drawn_labels(metric, seed + draw) for draw in range(n_draws)]
    asked = [of_draws if own and can_draw else [metric] for own in drawn]
    # Drawn labels are functions of the scores whatever the metric is, and need not wait for it.
    together = metric.graded_of_answer is not None or not can_draw
    order = _heads_then_layers(heads)
    if together:
        # Each metric once: those that are asked for twice are the metric's own, where nothing can be drawn.
        every = list(dict.fromkeys(one for own in asked for one in own))
        taken = row_gradients(model, batches, every, gates, on_progress=on_progress)
        runs = [(taken, [every.index(one) for one in own]) for own in asked]
    else:
        runs = [
            (row_gradients(model, batches, own, gates, on_progress=on_progress), list(range(len(own))))
            for own in asked
        ]
    return [
        LeftoverGradients(
            by_sample=frozen(np.concatenate([batch.by_row for batch in taken], axis=1)[places][..., order]),
            n_layers=len(heads),
            n_answers=frozen(np.concatenate([batch.answers_by_row(places[0]) for batch in taken])),
            sign=metric.graded_sign,
        )
        for taken, places in runs
    ]


def _answers_with_vectors(model: torch.nn.Module, batch: ModelBatch) -> bool:
    with torch.no_grad():
        return output_of(forward(model, batch))[1]


class _Lost:
    """What the output of a layer loses without each of its heads, and without half of them, refitted."""

    def __init__(self, moment: LayerMoments, layer: LayerHeads) -> None:
        fit = half_fit(moment, layer)
        half = np.zeros_like(moment.weight) if fit is None else moment.weight - fit.weight
        self.head_width = layer.head_width
        self._arrays = (moment.mean, stand_ins(moment, layer), moment.weight, half)
        self._moved: tuple[torch.Tensor, ...] = ()

    def changed(self, x: torch.Tensor, output: torch.Tensor, factors: torch.Tensor) -> torch.Tensor:
        """Output of the layer with what would be lost times its factor; a value of 1 changes nothing."""
        if not self._moved:
            self._moved = tuple(torch.tensor(array).to(x) for array in self._arrays)
        mean, stand_in, weight, half = self._moved
        # At 1 nothing is added, so that the way through x back to the layers below adds nothing either.
        centred = x.detach() - mean
        by_channel = (factors[..., :-1] - 1).to(x).repeat_interleave(self.head_width, dim=-1)
        left = functional.linear(centred, stand_in)
        by_head = functional.linear(left * factors_by_row(by_channel, left), weight)
        lost_half = functional.linear(centred, half)
        return output + by_head + lost_half * factors_by_row((factors[..., -1:] - 1).to(x), lost_half)


@contextmanager
def _gated(
    model: torch.nn.Module, heads: NetworkHeads, layers: Sequence[_Lost], factors: Sequence[torch.Tensor]
) -> Iterator[None]:
    def change(number: int, x: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        return layers[number].changed(x, output, factors[number])

    with projection_hooks(model, heads, change_output=change):
        yield


def _heads_then_layers(heads: NetworkHeads) -> IntArray:
    """Places of the factors of heads, then those of layers, where each layer has its heads' and its own."""
    ends = np.cumsum([layer.n_heads + 1 for layer in heads.layers])
    of_layers = ends - 1
    found: IntArray = np.concatenate([np.setdiff1d(np.arange(int(ends[-1])), of_layers), of_layers])
    return found


def drawn_labels(metric: Metric, seed: int) -> Metric:
    """Loss on labels that are drawn from the answers; the same ones for the same batch and seed."""

    def of_answer(logits: torch.Tensor, batch: ModelBatch) -> tuple[torch.Tensor, float]:
        counted = counted_outputs(metric.shown(batch), logits)
        logs = torch.log_softmax(logits[counted].float(), dim=-1)
        if bool(logs.isnan().any()):
            raise DataError(
                "the network's answers must be numbers to draw labels from them; found NaN. Check its "
                "weights, or load it in float32."
            )
        generator = torch.Generator(logits.device).manual_seed(_number_of(batch, seed))
        labels = torch.multinomial(logs.detach().exp(), 1, generator=generator)
        return -logs.gather(1, labels).sum(), float(len(labels))

    def asked(model: torch.nn.Module, batch: ModelBatch) -> tuple[torch.Tensor, float]:
        return of_answer(logits_of(forward(model, metric.shown(batch))), batch)

    return Metric("drawn labels", asked, shown=metric.shown, graded_of_answer=of_answer)


def _number_of(batch: ModelBatch, seed: int) -> int:
    """A number that follows from a batch and the seed alone."""
    digest = hashlib.sha256(str(seed).encode())
    for _name, value in sorted(batch.inputs.items()):
        digest.update(value.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return int.from_bytes(digest.digest()[:7], "big")
