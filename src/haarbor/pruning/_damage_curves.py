"""How much worse a network gets as more heads are removed, for several scores side by side."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from haarbor.array_types import BoolArray, FloatArray, IntArray, frozen
from haarbor.errors import SettingError
from haarbor.on_progress import OnProgress
from haarbor.pruning._ablation import spearman_brown
from haarbor.pruning._budgets import Budget, removal_count
from haarbor.pruning._calibration_pass import CalibrationPass
from haarbor.pruning._compensation import compensated
from haarbor.pruning._head_gates import Replacement, checked_replacement, removed_heads
from haarbor.pruning._metrics import Measure, Measurement, Metric, measure, metric_named
from haarbor.pruning._model_batches import ModelBatch, model_batches
from haarbor.pruning._network_heads import NetworkHeads
from haarbor.pruning._replacement_fits import FITTED, checked_replacements, replacement_fits
from haarbor.pruning._scores import checked_names, pruning_scores, score_removal
from haarbor.pruning._searched_choices import SEARCHED, SearchedChoices, require_starts
from haarbor.pruning._sequential_compensation import WholeStream, whole_stream

__all__ = ["DamageCurves", "ScoreCurve", "damage_curves", "measured_without"]

RANDOM = "random"
"""Name of the score that removes heads at random; it is measured once per seed."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ScoreCurve:
    """Damage by one score, with one way to make up for the removed heads."""

    name: str
    """Of the score, and after a comma the replacement where that is not the first one asked for."""
    score: str
    replacement: str
    damage: FloatArray
    """Shape (n_runs, n_shares, n_batches): one run, or one per seed for "random"."""
    removed: BoolArray
    """Heads that went, shape (n_runs, n_shares, n_heads)."""

    def __repr__(self) -> str:
        return f"ScoreCurve({self.name}, {self.damage.shape[0]} runs, {self.damage.shape[1]} shares)"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DamageCurves:
    """Damage by several scores over several shares of heads; all scores remove the same number at a share."""

    shares: FloatArray
    """Of the heads that went, shape (n_shares,): how many there are is a whole number, and a share is that
    number over all heads, not what was asked for."""
    curves: Mapping[str, ScoreCurve]
    baseline: Measurement
    metric: str
    higher_is_better: bool
    within: str
    replacement: str
    """What was done about the removed heads: "refit", "sequential", "zero", "mean", "weights" or "scale".
    Curves whose name does not say otherwise were measured with it."""
    asked: tuple[tuple[float, ...], ...] = ()
    """For each share, those that were asked for and stand for this number of heads."""

    @property
    def n_heads(self) -> int:
        """Heads of the whole network."""
        return int(next(iter(self.curves.values())).removed.shape[2])

    @property
    def n_removed(self) -> IntArray:
        """Heads that went at each share, shape (n_shares,)."""
        found: IntArray = next(iter(self.curves.values())).removed[0].sum(axis=1)
        return found

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

    def seems_better(self, share: float) -> bool:
        """Whether the network seems better without the heads of some score, beyond two standard errors."""
        place = self.place(share)
        return any(self.damage(name)[place] < -2 * self.standard_error(name)[place] for name in self.curves)

    def place(self, share: float) -> int:
        """Position of a share among those measured.

        Parameters
        ----------
        share : float
            As it was asked for, or the true one.

        Raises
        ------
        SettingError
            If it was not measured.
        """
        for place, own in enumerate(self.shares.tolist()):
            asked = self.asked[place] if self.asked else ()
            if any(np.isclose(known, share) for known in (own, *asked)):
                return place
        raise SettingError(
            f"the share must be one of {self.shares.tolist()}; found {share}. Ask for one that was measured."
        )

    @property
    def reliability(self) -> float:
        """Of the damages, by their agreement on even and odd batches (Spearman-Brown).

        NaN where it is not defined: for one batch, fewer than three damages, or damages that are all the
        same or exactly opposed on the two halves.
        """
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
    calibration: CalibrationPass,
    batches: Sequence[ModelBatch],
    metric: Metric,
    replacement: Replacement | str,
    whole: WholeStream | None = None,
) -> Measurement:
    """A metric without some heads.

    Parameters
    ----------
    model : torch.nn.Module
    removed : ndarray of bool, shape (n_heads,)
    calibration : CalibrationPass
        For the means, or for the refit.
    batches : sequence of ModelBatch
    metric : Metric
    replacement : {"zero", "mean", "refit", "sequential", "weights", "scale"}
    whole : WholeStream, optional
        For "sequential", see :func:`haarbor.pruning.sequential_compensation`.

    Returns
    -------
    Measurement
    """
    if replacement in FITTED:
        fits = replacement_fits(model, calibration, removed, replacement, whole=whole)
        with compensated(model, calibration.heads, fits):
            return measure(model, batches, metric)
    means = calibration.means if checked_replacement(replacement) == "mean" else None
    with removed_heads(model, calibration.heads, removed, means=means):
        return measure(model, batches, metric)


def damage_curves(
    model: torch.nn.Module,
    calibration: CalibrationPass,
    evaluation: Any,
    scores: Collection[str],
    *,
    shares: Sequence[float],
    metric: str | Metric | Measure = "loss",
    within: Budget = "network",
    replacement: str | Sequence[str] = "refit",
    n_seeds: int = 5,
    on_progress: OnProgress | None = None,
) -> DamageCurves:
    """Damage of removing more and more heads by each of several scores.

    Parameters
    ----------
    model : torch.nn.Module
    calibration : CalibrationPass
        From data that `evaluation` does not hold.
    evaluation : iterable
        Batches; their spread gives the error bars.
    scores : collection of str
        Names of scores; "random" removes heads at random, and "searched" and "searched-loss" exchange heads,
        from what the other scores choose on (:func:`haarbor.pruning.exchange_search`).
    shares : sequence of float
        Of the heads, above 0. Each stands for the nearest number of heads that the network allows
        (:func:`haarbor.pruning.removal_count`), the same for every score; a number is measured once.
    metric : str, Metric or function, default "loss"
    within : {"network", "layer", "uniform"}, default "network"
        See :func:`haarbor.pruning.removal`.
    replacement : {"refit", "sequential", "zero", "mean", "weights", "scale"}, default "refit"
        Or several of them. What is done about removed heads: the rest of their layer is refitted, or they
        are replaced by zeros or by their mean; "sequential" refits one layer after another; "weights" and
        "scale" are how others refit, see :func:`haarbor.pruning._replacement_fits.replacement_fits`. It is
        the same for every score, so that comparisons are fair. With several every score is measured with
        each of them, but "random", which is measured with the first. The curves are then named "leftover",
        with the first, and "leftover, sequential".
    n_seeds : int, default 5
        Number of runs of "random".
    on_progress : function of (step, done, total), optional
        Told after every removal, with the step "measuring", and during a search with the step "searching".

    Returns
    -------
    DamageCurves

    Raises
    ------
    SettingError
        If no head would go at a share, a score, a metric or a replacement is not offered, or a search has no
        score to begin from.

    See Also
    --------
    haarbor.pruning.pruning_study : Scores, damage and a recommendation.
    haarbor.plots.damage_figure : Draws the curves.
    """
    ways = checked_replacements(replacement)
    if isinstance(n_seeds, bool) or not isinstance(n_seeds, int) or n_seeds < 1:
        raise SettingError(f"n_seeds must be a whole number above 0; found {n_seeds!r}. Pass 5.")
    wanted = checked_names(scores)
    asked = _asked_by_count(calibration.heads, shares, within)
    batches = model_batches(evaluation)
    chosen = metric_named(metric)
    sign = -1.0 if chosen.higher_is_better else 1.0
    baseline = measure(model, batches, chosen)
    require_starts(wanted)
    named = pruning_scores(calibration, [name for name in wanted if name not in (RANDOM, *SEARCHED)])
    runs: dict[str, list[FloatArray]] = {name: [values] for name, values in named.items()}
    if RANDOM in wanted:
        runs[RANDOM] = [
            np.random.default_rng(seed).permutation(calibration.heads.n_heads).astype(np.float64)
            for seed in range(n_seeds)
        ]
    choices = {
        name: [
            [score_removal(name, values, calibration, n, within=within) for n in asked] for values in orders
        ]
        for name, orders in runs.items()
    }
    searched = [name for name in SEARCHED if name in wanted]
    if searched:
        searches = SearchedChoices(model, calibration, within=within, on_progress=on_progress)
        starts = [{name: choices[name][0][place] for name in named} for place in range(len(asked))]
        choices |= {name: [[searches.search(name, own).removed for own in starts]] for name in searched}
    measured = [(name, way) for name in choices for way in (ways[:1] if name == RANDOM else ways)]
    n_trials = len(asked) * sum(len(choices[name]) for name, _ in measured)
    known: dict[tuple[bytes, str], FloatArray] = {}
    # Every choice of heads is fitted to the same network.
    whole = whole_stream(model, calibration.heads, calibration.batches) if "sequential" in ways else None
    curves: dict[str, ScoreCurve] = {}
    done = 0
    for name, way in measured:
        gone: BoolArray = np.array(choices[name], dtype=np.bool_)
        damage = np.empty((*gone.shape[:2], len(batches)))
        for run, own in enumerate(choices[name]):
            for place, removed in enumerate(own):
                key = (removed.tobytes(), way)
                if key not in known:
                    result = measured_without(model, removed, calibration, batches, chosen, way, whole)
                    known[key] = sign * (result.each - baseline.each)
                damage[run, place] = known[key]
                done += 1
                if on_progress is not None:
                    on_progress("measuring", done, n_trials)
        label = name if way == ways[0] else f"{name}, {way}"
        curves[label] = ScoreCurve(
            name=label, score=name, replacement=way, damage=frozen(damage), removed=frozen(gone)
        )
    return DamageCurves(
        shares=frozen(np.array(list(asked), dtype=np.float64) / calibration.heads.n_heads),
        curves=curves,
        baseline=baseline,
        metric=chosen.name,
        higher_is_better=chosen.higher_is_better,
        within=within,
        replacement=ways[0],
        asked=tuple(asked.values()),
    )


def _asked_by_count(heads: NetworkHeads, shares: Any, within: Budget) -> dict[int, tuple[float, ...]]:
    """Shares by the number of heads they come to, from few to many."""
    wanted = list(shares) if isinstance(shares, Iterable) and not isinstance(shares, str) else []
    if not wanted:
        raise SettingError(
            f"shares must be numbers between 0 and 1, at least one; found {shares!r}. Pass [0.3]."
        )
    found: dict[int, tuple[float, ...]] = {}
    for share in wanted:
        count = removal_count(heads, share, within=within)
        if count == 0:
            raise SettingError(
                f"at least one head must go at every share; found a share of {share!r}. Leave it out."
            )
        found[count] = (*found.get(count, ()), float(share))
    return dict(sorted(found.items()))
