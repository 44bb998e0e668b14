"""How much worse a network is without some of its heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from haarbor.array_types import BoolArray, FloatArray, frozen
from haarbor.errors import SettingError
from haarbor.on_progress import OnProgress
from haarbor.pruning._head_gates import Replacement, checked_replacement, removed_heads
from haarbor.pruning._layer_moments import layer_moments
from haarbor.pruning._metrics import Measure, Measurement, Metric, measure, metric_named
from haarbor.pruning._model_batches import ModelBatch, model_batches, require_disjoint, require_network
from haarbor.pruning._network_heads import HeadChoice, NetworkHeads, network_heads

__all__ = ["Ablation", "HeadDamage", "ablate", "head_damage", "spearman_brown"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Ablation:
    """A metric of a network without some heads, beside the whole network's."""

    removed: BoolArray
    """Shape (n_heads,)."""
    baseline: Measurement
    measurement: Measurement
    metric: str
    higher_is_better: bool
    replacement: str

    @property
    def value(self) -> float:
        """The metric without the heads."""
        return self.measurement.value

    @property
    def damage(self) -> float:
        """How much worse the network has become; negative if it is better."""
        change = self.value - self.baseline.value
        return -change if self.higher_is_better else change

    @property
    def standard_error(self) -> float:
        """Of the damage, from its spread over the batches; NaN for a single batch."""
        change = self.measurement.each - self.baseline.each
        if change.size < 2:
            return float("nan")
        return float(change.std(ddof=1) / np.sqrt(change.size))

    @property
    def perplexity(self) -> float:
        """Exponential of the metric, for a loss in nats per token."""
        return float(np.exp(self.value))

    def __repr__(self) -> str:
        return (
            f"Ablation({int(self.removed.sum())} of {self.removed.size} heads: {self.metric} "
            f"{self.baseline.value:.4g} -> {self.value:.4g})"
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HeadDamage:
    """Damage of removing each head by itself, and how reliable these numbers are."""

    damage: FloatArray
    """Shape (n_heads,): how much worse the network is without the head."""
    halves: FloatArray
    """The same on the even and on the odd batches, shape (2, n_heads)."""
    baseline: float
    metric: str
    replacement: str

    @property
    def reliability(self) -> float:
        """Correlation to be expected with another measurement of the same size (Spearman-Brown)."""
        return spearman_brown(self.halves[0], self.halves[1])

    def __repr__(self) -> str:
        return (
            f"HeadDamage({self.damage.size} heads, {self.metric} {self.baseline:.4g}, "
            f"reliability {self.reliability:.2f})"
        )


def ablate(
    model: torch.nn.Module,
    removed: HeadChoice,
    *,
    batches: Any,
    metric: str | Metric | Measure = "loss",
    replacement: Replacement = "zero",
    calibration: Any = None,
    heads: NetworkHeads | None = None,
) -> Ablation:
    """A metric of a model with some heads switched off, and with all of them.

    Hooks replace what the removed heads give to their output projection. The hooks are gone afterwards,
    and no weight is changed.

    Parameters
    ----------
    model : torch.nn.Module
        In eval mode: a Hugging Face model, a network of the zoo, or any model built on
        ``nn.MultiheadAttention`` or ``scaled_dot_product_attention``.
    removed : pairs (layer, head), numbers of heads, or bool array
        The heads to switch off. Layers and heads are counted from 0, layers in the order in which they run.
    batches : iterable
        The data to measure on: samples, dictionaries of inputs (with "labels" for a classification) or
        tensors.
    metric : {"loss", "classification-loss", "accuracy"}, Metric or function, default "loss"
        A function of (model, batch) gives a number, smaller being better.
    replacement : {"zero", "mean"}, default "zero"
        What replaces the output of a removed head: zeros, or its mean over the calibration tokens.
    calibration : iterable, optional
        Batches for the means; must not overlap with `batches`.
    heads : NetworkHeads, optional
        Where the heads of the model are, if that is known already.

    Returns
    -------
    Ablation

    Raises
    ------
    PruningError
        If the heads of the model cannot be found.
    SettingError
        If there is no such head, metric or replacement, or the mean is asked for without calibration.
    DataError
        If calibration and evaluation overlap, or a batch has nothing to measure.

    See Also
    --------
    haarbor.pruning.head_damage : Damage of each head alone.
    haarbor.pruning.removed_heads : Run without some heads.
    haarbor.pruning.pruning_study : Scores, damage and a recommendation.
    """
    harness = _Harness(model, batches, metric, replacement, calibration, heads)
    mask = harness.heads.mask(removed)
    return Ablation(
        removed=frozen(mask),
        baseline=harness.measured(None),
        measurement=harness.measured(mask),
        metric=harness.metric.name,
        higher_is_better=harness.metric.higher_is_better,
        replacement=replacement,
    )


def head_damage(
    model: torch.nn.Module,
    *,
    batches: Any,
    metric: str | Metric | Measure = "loss",
    replacement: Replacement = "zero",
    calibration: Any = None,
    heads: NetworkHeads | None = None,
    on_progress: OnProgress | None = None,
) -> HeadDamage:
    """Damage of the removal of every head alone, with its split-half reliability.

    Parameters
    ----------
    model, batches, metric, replacement, calibration, heads
        As for :func:`haarbor.ablate`; at least two batches, for the two halves.
    on_progress : function of (step, done, total), optional
        Told after every head, with the step "removing heads".

    Returns
    -------
    HeadDamage

    See Also
    --------
    haarbor.ablate : Switch heads off and measure.
    haarbor.pruning.head_responses : Change of the answers without each head.

    Notes
    -----
    Every head costs one forward pass over all batches. The reliability is :math:`2r/(1+r)` of the
    correlation :math:`r` between the damages on the even and on the odd batches.
    """
    harness = _Harness(model, batches, metric, replacement, calibration, heads)
    if len(harness.batches) < 2:
        raise SettingError(
            "the reliability of the damage needs at least two batches; found one. Cut it into several."
        )
    sign = -1.0 if harness.metric.higher_is_better else 1.0
    baseline = harness.measured(None)
    n_heads = harness.heads.n_heads
    damage = np.empty(n_heads)
    halves = np.empty((2, n_heads))
    parts = (slice(0, None, 2), slice(1, None, 2))
    for head in range(n_heads):
        found = harness.measured(harness.heads.mask([head]))
        damage[head] = sign * (found.value - baseline.value)
        halves[:, head] = [sign * (found.over(part) - baseline.over(part)) for part in parts]
        if on_progress is not None:
            on_progress("removing heads", head + 1, n_heads)
    return HeadDamage(
        damage=frozen(damage),
        halves=frozen(halves),
        baseline=baseline.value,
        metric=harness.metric.name,
        replacement=replacement,
    )


def spearman_brown(first: FloatArray, second: FloatArray) -> float:
    r"""Reliability of a whole measurement from its two halves, :math:`2r/(1+r)`.

    Parameters
    ----------
    first, second : ndarray, shape (n,)

    Returns
    -------
    float
        NaN where it is not defined: a half does not vary, the halves are exactly opposed (:math:`r = -1`),
        or there are fewer than three values, which always lie on a line. Below 0 the halves contradict
        each other, and nothing can be relied upon.

    Examples
    --------
    >>> first, second = np.array([1.0, -1.0, 0.0, 0.0]), np.array([1.0, -1.0, 1.0, -1.0])
    >>> round(spearman_brown(first, second), 4)  # r = 1/sqrt(2)
    0.8284
    >>> spearman_brown(first, -first)
    nan
    """
    # Not by the deviations: those of equal numbers are not zero when their mean is rounded.
    if first.size < 3 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    r = float(np.corrcoef(first, second)[0, 1])
    if not r > -1 + 1e-12:
        return float("nan")
    return 2 * r / (1 + r)


class _Harness:
    """Model, data and metric of an ablation, checked once."""

    def __init__(
        self,
        model: torch.nn.Module,
        batches: Any,
        metric: str | Metric | Measure,
        replacement: str,
        calibration: Any,
        heads: NetworkHeads | None,
    ) -> None:
        checked_replacement(replacement)
        require_network(model)
        self.model = model
        self.batches: tuple[ModelBatch, ...] = model_batches(batches)
        self.metric = metric_named(metric)
        self.heads = network_heads(model, self.batches[0]) if heads is None else heads
        self.means: Sequence[FloatArray] | None = None
        if calibration is not None:
            fitted = model_batches(calibration)
            require_disjoint(fitted, self.batches)
            if replacement == "mean":
                self.means = [layer.mean for layer in layer_moments(model, self.heads, fitted)]
        elif replacement == "mean":
            raise SettingError(
                "replacement='mean' needs calibration batches for the means; found none."
                " Pass some, or use replacement='zero'."
            )

    def measured(self, removed: BoolArray | None) -> Measurement:
        if removed is None:
            return measure(self.model, self.batches, self.metric)
        with removed_heads(self.model, self.heads, removed, means=self.means):
            return measure(self.model, self.batches, self.metric)
