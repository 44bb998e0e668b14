"""Whether a network is surer of its answers than it is right: the factor on its scores of least loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from haarbor.array_types import FloatArray, IntArray
from haarbor.errors import DataError
from haarbor.pruning._joined_batches import joined_batches
from haarbor.pruning._metrics import Measure, Metric, logits_of, metric_named
from haarbor.pruning._model_batches import ModelBatch, forward, model_batches, require_network

__all__ = ["AnswerScale", "answer_scale"]

_FACTORS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3)
_CLEAR = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerScale:
    """The factor on a network's scores at which a metric is best, and by how much."""

    factor: float
    """Below 1 the network is surer of its answers than it is right; found on the even batches."""
    gain: float
    """By how much the metric is better with it, on the odd batches."""
    standard_error: float
    metric: str

    @property
    def sentence(self) -> str:
        """What that means for damages below zero; empty where the network is not clearly too sure."""
        if self.factor >= 1 or not self.gain > _CLEAR * self.standard_error:
            return ""
        return (
            f"The network is surer of its answers than it is right on these data: with its scores times "
            f"{self.factor:.2f} its {self.metric} is better by {self.gain:.4g} +- {self.standard_error:.2g} "
            "with all heads. A removal that seems to improve it may only make it less sure."
        )

    def __repr__(self) -> str:
        return f"AnswerScale({self.factor:.2f}: {self.metric} better by {self.gain:.4g})"


def answer_scale(
    model: torch.nn.Module, batches: Any, metric: str | Metric | Measure = "loss"
) -> AnswerScale | None:
    """Factor on a network's scores at which a metric is best.

    Parameters
    ----------
    model : torch.nn.Module
        In eval mode.
    batches : iterable
        Batches, as for :func:`haarbor.ablate`; two at least: the factor is found on the even ones, and what
        it changes is told on the odd ones.
    metric : str, Metric or function, default "loss"

    Returns
    -------
    AnswerScale or None
        None for a metric that is no function of the scores, such as one of vectors.

    Raises
    ------
    DataError
        If there are fewer than two batches.

    See Also
    --------
    haarbor.pruning.pruning_study : Says so where a removal seems to improve a network.

    Notes
    -----
    Scores divided by one number, a temperature, are how Guo et al. (2017, arXiv 1706.04599) make a network as
    sure as it is right. One pass over the batches gives the metric at ten factors from 0.4 to 1.3; the lowest
    point of the parabola through the best and its neighbours is taken.
    """
    require_network(model)
    given = model_batches(batches)
    if len(given) < 2:
        raise DataError(
            "there must be at least 2 batches, one to find the factor on and one to tell what it changes; "
            f"found {len(given)}. Pass more of them."
        )
    chosen = metric_named(metric)
    if chosen.of_answer is None:
        return None
    values, counts = _measured(model, given, chosen, _FACTORS, np.arange(0, len(given), 2))
    factor = _lowest(values.sum(axis=0) / counts.sum())
    odd, own = _measured(model, given, chosen, (1.0, factor), np.arange(1, len(given), 2))
    each = (odd[:, 0] - odd[:, 1]) / own
    error = float(each.std(ddof=1) / np.sqrt(each.size)) if each.size > 1 else float("inf")
    gain = float((odd[:, 0] - odd[:, 1]).sum() / own.sum())
    return AnswerScale(factor=factor, gain=gain, standard_error=error, metric=chosen.name)


def _measured(
    model: torch.nn.Module,
    batches: Sequence[ModelBatch],
    metric: Metric,
    factors: Sequence[float],
    places: IntArray,
) -> tuple[FloatArray, FloatArray]:
    """Sums of a metric that is to fall, shape (n_batches, n_factors), and what they are divided by."""
    sign = -1.0 if metric.higher_is_better else 1.0
    chosen = [batches[int(place)] for place in places]
    sums, counts = np.empty((len(chosen), len(factors))), np.empty(len(chosen))
    with torch.no_grad():
        for group in joined_batches(model, [metric.shown(batch) for batch in chosen]):
            logits = logits_of(forward(model, group.batch))
            for place, rows in group.parts():
                for column, factor in enumerate(factors):
                    # A metric that is no function of the scores was left out.
                    total, count = metric.of_answer(logits[rows] * factor, chosen[place])  # type: ignore[misc]
                    sums[place, column], counts[place] = sign * float(total), count
    return sums, counts


def _lowest(means: FloatArray) -> float:
    """Lowest point of the parabola through the lowest value and its neighbours.

    Examples
    --------
    >>> _lowest(np.array([(factor - 0.85) ** 2 for factor in _FACTORS]))
    0.85
    """
    if not np.isfinite(means).all() or np.ptp(means) == 0:
        return 1.0
    place = int(np.clip(means.argmin(), 1, means.size - 2))
    left, middle, right = means[place - 1 : place + 2]
    bend = left - 2 * middle + right
    step = (left - right) / (2 * bend) if bend > 0 else float(np.sign(left - right))
    found = _FACTORS[place] + 0.1 * float(np.clip(step, -1, 1))
    return round(found, 3)
