"""Metrics of a model: its loss on text, at hidden tokens or on images, its accuracy, or a user's function."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from haarbor.array_types import FloatArray, frozen
from haarbor.errors import DataError, SettingError
from haarbor.options import found_text
from haarbor.pruning._joined_batches import joined_batches
from haarbor.pruning._model_batches import ModelBatch, forward

__all__ = ["METRICS", "Measurement", "Metric", "masked_token_loss", "measure", "metric_named"]

Measure = Callable[[torch.nn.Module, ModelBatch], Any]
"""Gives a number, or a pair of the sum of some numbers and how many there are."""

OfAnswer = Callable[[torch.Tensor, ModelBatch], tuple[torch.Tensor, float]]
"""The same of the scores that a model answered with."""


def _as_it_is(batch: ModelBatch) -> ModelBatch:
    return batch


@dataclass(frozen=True, slots=True)
class Metric:
    """A quality of a model on data; smaller is better unless it says otherwise.

    A function of (model, batch) plugs in: ``Metric("my metric", function)``. It gives a number, or a
    pair (sum, count) where batches weigh differently.
    """

    name: str
    function: Measure
    higher_is_better: bool = False
    shown: Callable[[ModelBatch], ModelBatch] = _as_it_is
    """Function of a batch that gives the batch as the model is shown it, and which of its answers count. The
    calibration uses the same."""
    differentiable: Measure | None = None
    """What gradients are taken of, where the metric has none: the loss of a classifier for its accuracy."""
    of_answer: OfAnswer | None = None
    """The metric as a function of the model's scores and the batch: with it, batches are run together. None
    for a metric that asks the model itself."""
    graded_of_answer: OfAnswer | None = None
    """The same for what gradients are taken of."""

    @property
    def graded_sign(self) -> float:
        """1 where what gradients are taken of is to fall, -1 where it is to rise."""
        return -1.0 if self.differentiable is None and self.higher_is_better else 1.0

    def total(self, model: torch.nn.Module, batch: ModelBatch) -> tuple[torch.Tensor, float]:
        """Sum over the batch, and what it is to be divided by."""
        return self._summed(self.function(model, batch))

    def graded_total(self, model: torch.nn.Module, batch: ModelBatch) -> tuple[torch.Tensor, float]:
        """The same with a gradient; of the metric in `differentiable` if this one has no gradient."""
        return self._summed((self.differentiable or self.function)(model, batch))

    def _summed(self, result: Any) -> tuple[torch.Tensor, float]:
        value, count = result if isinstance(result, tuple) else (result, 1.0)
        tensor = torch.as_tensor(value)
        if tensor.numel() != 1:
            raise DataError(
                f"the metric {self.name!r} must give one number; found shape {tuple(tensor.shape)}."
                " Return a mean over the batch."
            )
        return tensor.reshape(()), float(count)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Measurement:
    """A metric on some batches."""

    totals: FloatArray
    """Sum over each batch, shape (n_batches,)."""
    counts: FloatArray
    """What each sum is divided by, shape (n_batches,)."""

    @property
    def value(self) -> float:
        """Mean over all batches."""
        return float(self.totals.sum() / self.counts.sum())

    @property
    def each(self) -> FloatArray:
        """Mean of each batch, shape (n_batches,)."""
        means: FloatArray = self.totals / self.counts
        return means

    def over(self, batches: Sequence[int] | slice) -> float:
        """Mean over some of the batches."""
        index: Any = batches if isinstance(batches, slice) else list(batches)
        return float(self.totals[index].sum() / self.counts[index].sum())


def measure(model: torch.nn.Module, batches: Sequence[ModelBatch], metric: Metric) -> Measurement:
    """A metric of a model on some batches, without gradients.

    Parameters
    ----------
    model : torch.nn.Module
    batches : sequence of ModelBatch
    metric : Metric

    Returns
    -------
    Measurement

    Raises
    ------
    DataError
        If there is nothing to measure in a batch.

    See Also
    --------
    haarbor.ablate : Switch heads off and measure.
    """
    totals, counts = np.empty(len(batches)), np.empty(len(batches))
    with torch.no_grad():
        for number, (total, count) in _totals(model, batches, metric):
            if not count > 0:
                raise DataError(
                    f"batch {number} must hold something to measure {metric.name!r} on; it has none."
                    " Pass batches with tokens or labels that count."
                )
            totals[number], counts[number] = float(total), count
    return Measurement(totals=frozen(totals), counts=frozen(counts))


def _totals(
    model: torch.nn.Module, batches: Sequence[ModelBatch], metric: Metric
) -> Iterator[tuple[int, tuple[torch.Tensor, float]]]:
    """Number of each batch, its sum and what that is divided by."""
    if metric.of_answer is None:
        for number, batch in enumerate(batches):
            yield number, metric.total(model, batch)
        return
    for group in joined_batches(model, [metric.shown(batch) for batch in batches]):
        logits = logits_of(forward(model, group.batch))
        for number, rows in group.parts():
            own = logits if len(group.places) == 1 else logits[rows]
            yield number, metric.of_answer(own, batches[number])


def logits_of(output: Any) -> torch.Tensor:
    """Scores in what a model answers: a tensor, an output with logits, or the first of several."""
    for found in (output, getattr(output, "logits", None)):
        if isinstance(found, torch.Tensor):
            return found
    if isinstance(output, tuple | list) and output and isinstance(output[0], torch.Tensor):
        return output[0]
    raise DataError(
        f"the model must answer with logits to measure its loss; {type(output).__name__} has none. Load it "
        "with its task, or pass a metric of your own."
    )


def _precise(logits: torch.Tensor) -> torch.Tensor:
    """Scores in float32 at least: a loss in half precision would be rounded away."""
    return logits if logits.dtype == torch.float64 else logits.float()


def _asked(of_answer: OfAnswer, shown: Callable[[ModelBatch], ModelBatch] = _as_it_is) -> Measure:
    """A metric of the model's scores, as one that asks the model."""

    def asked(model: torch.nn.Module, batch: ModelBatch) -> tuple[torch.Tensor, float]:
        return of_answer(logits_of(forward(model, shown(batch))), batch)

    return asked


def _language_model_loss(logits: torch.Tensor, batch: ModelBatch) -> tuple[torch.Tensor, float]:
    tokens = batch.tokens
    if tokens is None:
        raise DataError(
            "the language-model loss needs token ids; the batch has none."
            " Pass batches with input_ids, or another metric."
        )
    targets = tokens[:, 1:].to(logits.device)
    scored = torch.ones_like(targets, dtype=torch.bool)
    if batch.valid is not None and batch.valid.shape == tokens.shape:
        scored = (batch.valid[:, 1:] & batch.valid[:, :-1]).to(logits.device)
    losses = functional.cross_entropy(_precise(logits[:, :-1][scored]), targets[scored], reduction="sum")
    return losses, float(scored.sum())


def masked_token_loss(
    mask_id: int, *, share: float = 0.15, seed: int = 0, kept: Sequence[int] = ()
) -> Metric:
    """Loss of a masked language model at hidden tokens, the same ones every time.

    Parameters
    ----------
    mask_id : int
        The token that hides others.
    share : float, default 0.15
        Of the tokens that are hidden; at least one per sample.
    seed : int, default 0
        Which tokens of a sample are hidden follows from the seed and the sample alone.
    kept : sequence of int
        Tokens that are never hidden, such as the special ones.

    Returns
    -------
    Metric

    Raises
    ------
    SettingError
        If the share is not between 0 and 1.

    See Also
    --------
    haarbor.pruning.measure : A metric on batches.
    """
    if not 0 < share <= 1:
        raise SettingError(f"share must be above 0 and at most 1; found {share}. Pass such a share.")

    def hidden_tokens(batch: ModelBatch) -> tuple[torch.Tensor, torch.Tensor]:
        tokens = batch.tokens
        if tokens is None:
            raise DataError(
                "the loss at hidden tokens needs token ids; the batch has none."
                " Pass batches with input_ids, or another metric."
            )
        valid = batch.valid if batch.valid is not None else torch.ones_like(tokens, dtype=torch.bool)
        hidden = torch.zeros_like(tokens, dtype=torch.bool)
        for row in range(tokens.shape[0]):
            ids = tokens[row].cpu().numpy()
            allowed = np.flatnonzero(valid[row].cpu().numpy() & ~np.isin(ids, [*kept, mask_id]))
            digest = hashlib.sha256(ids.tobytes() + str(seed).encode()).digest()
            rng = np.random.default_rng(list(digest))
            n_hidden = min(allowed.size, max(1, round(share * allowed.size)))
            chosen = torch.as_tensor(rng.choice(allowed, n_hidden, replace=False), dtype=torch.long)
            hidden[row, chosen] = True
        return tokens, hidden

    def with_hidden(batch: ModelBatch) -> ModelBatch:
        tokens, hidden = hidden_tokens(batch)
        name = next(name for name, value in batch.inputs.items() if value is tokens)
        inputs = {**batch.inputs, name: tokens.masked_fill(hidden, mask_id)}
        return ModelBatch(inputs=inputs, labels=batch.labels, counted=hidden)

    def loss(logits: torch.Tensor, batch: ModelBatch) -> tuple[torch.Tensor, float]:
        tokens, hidden = hidden_tokens(batch)
        hidden = hidden.to(logits.device)
        answers = tokens.to(logits.device)[hidden]
        losses = functional.cross_entropy(_precise(logits[hidden]), answers, reduction="sum")
        return losses, float(answers.numel())

    return Metric(
        "masked-loss", _asked(loss, with_hidden), shown=with_hidden, of_answer=loss, graded_of_answer=loss
    )


def _labelled(logits: torch.Tensor, batch: ModelBatch) -> tuple[torch.Tensor, torch.Tensor]:
    if batch.labels is None:
        raise DataError("a classification needs labels; the batches have none. Add a 'labels' entry to each.")
    if logits.shape[:-1] != batch.labels.shape:
        raise DataError(
            f"a classification needs one label per answer, shape {tuple(logits.shape[:-1])}; found labels of "
            f"shape {tuple(batch.labels.shape)}. For text, take the loss of a language model."
        )
    labels, n_classes = batch.labels, logits.shape[-1]
    if labels.is_floating_point() or labels.is_complex() or labels.dtype == torch.bool:
        raise DataError(
            f"labels must be whole numbers, the class of each answer; found {labels.dtype}. Convert them "
            "first."
        )
    if labels.numel() and (int(labels.min()) < 0 or int(labels.max()) >= n_classes):
        wrong = int(labels.min()) if int(labels.min()) < 0 else int(labels.max())
        raise DataError(
            f"labels must be from 0 to {n_classes - 1}, the classes of the model; found "
            f"{wrong}. Take the model and the data of one task."
        )
    # Answers to the tokens of a text are classified one by one.
    return _precise(logits).flatten(end_dim=-2), batch.labels.to(logits.device).flatten()


def _classification_loss(logits: torch.Tensor, batch: ModelBatch) -> tuple[torch.Tensor, float]:
    scores, labels = _labelled(logits, batch)
    return functional.cross_entropy(scores, labels, reduction="sum"), float(labels.numel())


def _accuracy(logits: torch.Tensor, batch: ModelBatch) -> tuple[torch.Tensor, float]:
    scores, labels = _labelled(logits, batch)
    return (scores.argmax(dim=-1) == labels).sum().float(), float(labels.numel())


METRICS = {
    "loss": Metric(
        "loss",
        _asked(_language_model_loss),
        of_answer=_language_model_loss,
        graded_of_answer=_language_model_loss,
    ),
    "classification-loss": Metric(
        "classification-loss",
        _asked(_classification_loss),
        of_answer=_classification_loss,
        graded_of_answer=_classification_loss,
    ),
    "accuracy": Metric(
        "accuracy",
        _asked(_accuracy),
        higher_is_better=True,
        differentiable=_asked(_classification_loss),
        of_answer=_accuracy,
        graded_of_answer=_classification_loss,
    ),
}
"""Metrics by name; :func:`masked_token_loss` needs to know the token that hides others."""


def metric_named(metric: str | Metric | Measure) -> Metric:
    """Metric of a name, or made of a function of (model, batch).

    Raises
    ------
    SettingError
        If there is none of this name.
    """
    if isinstance(metric, Metric):
        return metric
    if callable(metric):
        return Metric(getattr(metric, "__name__", "metric"), metric)
    if not isinstance(metric, str) or metric not in METRICS:
        raise SettingError(
            f"metric must be one of {', '.join(METRICS)}, a Metric or a function; found "
            f"{found_text(metric)}. Pass one of these."
        )
    return METRICS[metric]
