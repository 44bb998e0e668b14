"""How much a network loses as more of its heads go, for several scores side by side."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from haarbor.array_types import BoolArray, FloatArray, frozen
from haarbor.errors import SettingError
from haarbor.pruning.ablation import spearman_brown
from haarbor.pruning.budgets import Budget, removal
from haarbor.pruning.calibration_pass import CalibrationPass
from haarbor.pruning.compensation import compensate, compensated
from haarbor.pruning.head_gates import Replacement, checked_replacement, removed_heads
from haarbor.pruning.metrics import Measure, Measurement, Metric, measure, metric_named
from haarbor.pruning.model_batches import ModelBatch, model_batches
from haarbor.pruning.scores import pruning_scores

__all__ = ["DamageCurves", "ScoreCurve", "damage_curves", "measured_without"]

RANDOM = "random"
"""Name of the score that removes heads by chance; it has several runs."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ScoreCurve:
    """Damage by one score."""

    name: str
    damage: FloatArray
    """Shape (n_runs, n_shares, n_batches): one run, or one a seed for chance."""
    removed: BoolArray
    """Heads that went, shape (n_runs, n_shares, n_heads)."""

    def __repr__(self) -> str:
        return f"ScoreCurve({self.name}, {self.damage.shape[0]} runs, {self.damage.shape[1]} shares)"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DamageCurves:
    """Damage by several scores over several shares of heads."""

    shares: FloatArray
    """Shape (n_shares,)."""
    curves: Mapping[str, ScoreCurve]
    baseline: Measurement
    metric: str
    higher_is_better: bool
    within: str
    replacement: str
    """"zero", "mean" or "refit": what was done for the removed heads."""

    def damage(self, name: str, batches: slice = slice(None)) -> FloatArray:
        """Mean damage over runs and batches, shape (n_shares,)."""
        counts = self.baseline.counts[batches]
        weighted = self.curves[name].damage[:, :, batches] * counts
        found: FloatArray = weighted.sum(axis=2).mean(axis=0) / counts.sum()
        return found

    def standard_error(self, name: str) -> FloatArray:
        """Of the mean damage, from its spread over evaluation batches and runs, shape (n_shares,)."""
        damage = self.curves[name].damage
        n_runs, _, n_batches = damage.shape
        over_batches = damage.mean(axis=0)
        variance = (
            over_batches.var(axis=1, ddof=1) / n_batches
            if n_batches > 1
            else np.full(len(self.shares), np.nan)
        )
        if n_runs > 1:
            variance = variance + damage.mean(axis=2).var(axis=0, ddof=1) / n_runs
        found: FloatArray = np.sqrt(variance)
        return found

    def value(self, name: str) -> FloatArray:
        """The metric itself, shape (n_shares,)."""
        sign = -1.0 if self.higher_is_better else 1.0
        found: FloatArray = self.baseline.value + sign * self.damage(name)
        return found

    def place(self, share: float) -> int:
        """Position of a share among those measured.

        Raises
        ------
        SettingError
            If it was not measured.
        """
        found = np.flatnonzero(np.isclose(self.shares, share))
        if not found.size:
            raise SettingError(f"the share must be one of {self.shares.tolist()}; found {share}.")
        return int(found[0])

    @property
    def reliability(self) -> float:
        """Of the damages, by their agreement on even and odd batches (Spearman-Brown); NaN for one batch."""
        if self.baseline.counts.size < 2:
            return float("nan")
        halves = [
            np.concatenate([self.damage(name, part) for name in self.curves])
            for part in (slice(0, None, 2), slice(1, None, 2))
        ]
        return spearman_brown(halves[0], halves[1])

    def __repr__(self) -> str:
        return f"DamageCurves({', '.join(self.curves)}; {len(self.shares)} shares, {self.metric})"


def measured_without(
    model: torch.nn.Module,
    removed: BoolArray,
    found: CalibrationPass,
    batches: Sequence[ModelBatch],
    metric: Metric,
    replacement: Replacement | str,
) -> Measurement:
    """A metric without some heads.

    Parameters
    ----------
    model : torch.nn.Module
    removed : ndarray of bool, shape (n_heads,)
    found : CalibrationPass
        For the means, or for the refit.
    batches : sequence of ModelBatch
    metric : Metric
    replacement : {"zero", "mean", "refit"}

    Returns
    -------
    Measurement
    """
    if replacement == "refit":
        fits = compensate(model, found.sites, removed, None, moments=found.moments)
        with compensated(model, found.sites, fits):
            return measure(model, batches, metric)
    means = found.means if checked_replacement(replacement) == "mean" else None
    with removed_heads(model, found.sites, removed, means=means):
        return measure(model, batches, metric)


def damage_curves(
    model: torch.nn.Module,
    found: CalibrationPass,
    evaluation: Any,
    scores: Collection[str],
    *,
    shares: Sequence[float],
    metric: str | Metric | Measure = "loss",
    within: Budget = "network",
    replacement: str = "refit",
    n_seeds: int = 5,
    on_progress: Callable[[int, int | None], None] | None = None,
) -> DamageCurves:
    """Damage of removing more and more heads by each of several scores.

    Parameters
    ----------
    model : torch.nn.Module
    found : CalibrationPass
        From data that `evaluation` does not hold.
    evaluation : iterable
        Batches; their spread gives the error bars.
    scores : collection of str
        Names of scores; "random" stands for chance.
    shares : sequence of float
    metric : str, Metric or function, default "loss"
    within : {"network", "layer", "uniform"}, default "network"
        See :func:`haarbor.pruning.removal`.
    replacement : {"refit", "zero", "mean"}, default "refit"
        What stands in for removed heads: the rest of their layer refitted, nothing, or their mean. The
        same for every score, so that comparisons are fair.
    n_seeds : int, default 5
        Runs of chance.
    on_progress : function of (removals done, removals in all), optional

    Returns
    -------
    DamageCurves
    """
    if replacement != "refit":
        checked_replacement(replacement)
    batches = model_batches(evaluation)
    chosen = metric_named(metric)
    sign = -1.0 if chosen.higher_is_better else 1.0
    baseline = measure(model, batches, chosen)
    named = pruning_scores(found, [name for name in scores if name != RANDOM])
    runs: dict[str, list[FloatArray]] = {name: [values] for name, values in named.items()}
    if RANDOM in scores:
        runs[RANDOM] = [
            np.random.default_rng(seed).permutation(found.sites.n_heads).astype(np.float64)
            for seed in range(n_seeds)
        ]
    n_trials = len(shares) * sum(map(len, runs.values()))
    known: dict[bytes, FloatArray] = {}
    curves: dict[str, ScoreCurve] = {}
    done = 0
    for name, orders in runs.items():
        damage = np.empty((len(orders), len(shares), len(batches)))
        gone: BoolArray = np.empty((len(orders), len(shares), found.sites.n_heads), dtype=np.bool_)
        for run, values in enumerate(orders):
            for place, share in enumerate(shares):
                removed = removal(values, found.sites, share, within=within)
                key = removed.tobytes()
                if key not in known:
                    result = measured_without(model, removed, found, batches, chosen, replacement)
                    known[key] = sign * (result.each - baseline.each)
                damage[run, place], gone[run, place] = known[key], removed
                done += 1
                if on_progress is not None:
                    on_progress(done, n_trials)
        curves[name] = ScoreCurve(name=name, damage=frozen(damage), removed=frozen(gone))
    return DamageCurves(
        shares=frozen(np.array(shares, dtype=np.float64)),
        curves=curves,
        baseline=baseline,
        metric=chosen.name,
        higher_is_better=chosen.higher_is_better,
        within=within,
        replacement=replacement,
    )
