"""A whole study of one network: scores, damage curves, controls, a recommendation, the smaller network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from haarbor.array_types import BoolArray, frozen
from haarbor.errors import DataError, PruningError, SettingError
from haarbor.on_progress import OnProgress
from haarbor.pruning._budgets import Budget, reachable_shares, removal_count
from haarbor.pruning._calibration_pass import calibration_pass
from haarbor.pruning._controls import ScoreControls, score_controls
from haarbor.pruning._damage_curves import RANDOM, DamageCurves, damage_curves
from haarbor.pruning._footprint import Footprint, footprints
from haarbor.pruning._masked_network import mask_heads
from haarbor.pruning._metrics import Measure, Metric, measure, metric_named
from haarbor.pruning._model_batches import (
    ModelBatch,
    model_batches,
    require_disjoint,
    require_network,
)
from haarbor.pruning._network_heads import NetworkHeads, network_heads
from haarbor.pruning._prune_heads import prune_heads
from haarbor.pruning._recommendation import Recommendation, recommendation
from haarbor.pruning._replacement_fits import FITTED, replacement_fits, require_replacement
from haarbor.pruning._scores import SCORES, checked_names, needed_parts, scores_named

__all__ = ["PruningStudy", "pruning_study", "score_names"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PruningStudy:
    """What was found about pruning a network."""

    heads: NetworkHeads
    budget: float
    """Share of the heads that was asked for; `recommendation` knows how many these are."""
    curves: DamageCurves
    controls: tuple[ScoreControls, ...]
    recommendation: Recommendation
    removed: BoolArray
    """Heads to remove, by the recommended score; shape (n_heads,)."""
    pruned: torch.nn.Module | None
    """The network without them, with what makes up for them, as :func:`haarbor.pruning.save_pruned` takes
    it: `smaller` where there is one, else as large as the whole one; None if there is neither."""
    value: float
    """The metric of `pruned` itself on all evaluation batches."""
    smaller: torch.nn.Module | None
    """The network without them and smaller; None if its layout cannot be made smaller, see `refusal`."""
    refusal: str
    """Why there is no smaller network; empty if there is one."""
    footprint: tuple[Footprint, Footprint] | None
    """Of the whole and of the smaller network."""
    batch: ModelBatch
    """One of the evaluation."""

    def summary(self, model: str, data: str) -> dict[str, Any]:
        """All figures as JSON values.

        Parameters
        ----------
        model, data : str
            Names to keep with the figures.

        Returns
        -------
        dict
        """
        curves = self.curves
        return {
            "origin": {
                "model": model,
                "data": data,
                "score": self.recommendation.score,
                "budget": self.budget,
                "share": self.recommendation.share,
                "n_removed": self.recommendation.n_removed,
                "n_heads": self.recommendation.n_heads,
                "within": curves.within,
                "replacement": curves.replacement,
            },
            "metric": curves.metric,
            "baseline": curves.baseline.value,
            "shares": curves.shares.tolist(),
            "n_removed": curves.n_removed.tolist(),
            "asked": [list(shares) for shares in curves.asked],
            "values": {name: curves.value(name).tolist() for name in curves.curves},
            "standard_errors": {
                name: [float(error) if np.isfinite(error) else None for error in curves.standard_error(name)]
                for name in curves.curves
            },
            "reliability": _number(curves.reliability),
            "controls": [{**asdict(entry), "agreement": _number(entry.agreement)} for entry in self.controls],
            "recommendation": {**asdict(self.recommendation), "sentence": self.recommendation.sentence},
            "removed": [self.heads.label(int(head)) for head in np.flatnonzero(self.removed)],
            "smaller": None if self.footprint is None else [asdict(found) for found in self.footprint],
            "refusal": self.refusal,
            "pruned": {"value": _number(self.value), "smaller": self.smaller is not None},
        }

    def __repr__(self) -> str:
        n_removed = int(self.removed.sum())
        return f"PruningStudy({n_removed} of {self.removed.size} heads by {self.recommendation.score})"


def score_names(text: str) -> list[str]:
    """Names of scores in a text with commas; "all" stands for every one.

    Raises
    ------
    SettingError
        If there is no such score.

    Examples
    --------
    >>> score_names("leftover, random")
    ['leftover', 'random']
    """
    if not isinstance(text, str):
        raise SettingError(f"scores must be names with commas between them; found {text!r}. Pass a text.")
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if names == ["all"]:
        return [*SCORES, RANDOM]
    _require_score(names)
    return names


def _require_score(names: Sequence[str]) -> None:
    scores_named([name for name in names if name != RANDOM])
    if not set(names) - {RANDOM}:
        raise SettingError(
            "there must be a score besides 'random' to prune by; found none. Name another score as well."
        )


def pruning_study(
    model: torch.nn.Module,
    calibration: Any,
    evaluation: Any,
    scores: Sequence[str],
    *,
    budget: float,
    shares: Sequence[float],
    metric: str | Metric | Measure = "loss",
    within: Budget = "network",
    replacement: str = "refit",
    n_seeds: int = 5,
    on_progress: OnProgress | None = None,
) -> PruningStudy:
    """Scores, damage curves, controls and a recommendation, and the network without the heads.

    Parameters
    ----------
    model : torch.nn.Module
        In eval mode.
    calibration, evaluation : iterable
        Batches that do not overlap; at least two and four of them.
    scores : sequence of str
        Names in ``SCORES``; "random" for chance.
    budget : float
        Share of heads to remove; :func:`haarbor.pruning.removal_count` says how many these are.
    shares : sequence of float
        Places of the curves, beside the budget; those at which no head would go are left out.
    metric : str, Metric or function, default "loss"
    within : {"network", "layer", "uniform"}, default "network"
    replacement : {"refit", "sequential", "zero", "mean", "weights", "scale"}, default "refit"
    n_seeds : int, default 5
    on_progress : function of (step, done, total), optional
        Told of the steps "scoring", "probing", "measuring" and "controls", one after another.

    Returns
    -------
    PruningStudy

    Raises
    ------
    DataError
        If calibration and evaluation overlap, or are too few.
    PruningError
        If the heads cannot be found.
    SettingError
        If no head would go at this budget, or a score, a metric or a replacement is not offered.
    """
    # Everything that can be wrong is checked before the work, which may take hours.
    require_network(model)
    names = checked_names(scores)
    _require_score(names)
    require_replacement(replacement)
    fitted, measured = model_batches(calibration), model_batches(evaluation)
    if len(fitted) < 2 or len(measured) < 4:
        raise DataError(
            "a study needs at least 2 batches to calibrate and 4 to measure; found "
            f"{len(fitted)} and {len(measured)}. Cut the data into more of them."
        )
    require_disjoint(fitted, measured)
    chosen = metric_named(metric)
    heads = network_heads(model, chosen.shown(fitted[0]))
    removal_count(heads, budget, within=within)
    places = sorted({*reachable_shares(heads, shares, within=within), float(budget)})
    parts = needed_parts(scores_named([name for name in names if name != RANDOM]))
    found = calibration_pass(
        model,
        fitted,
        parts=parts,
        metric=chosen,
        heads=heads,
        on_progress=on_progress,
    )
    curves = damage_curves(
        model,
        found,
        measured,
        names,
        shares=places,
        metric=chosen,
        within=within,
        replacement=replacement,
        n_seeds=n_seeds,
        on_progress=on_progress,
    )
    controls = score_controls(
        model,
        found,
        fitted,
        measured,
        names,
        share=budget,
        metric=chosen,
        within=within,
        replacement=replacement,
        on_progress=on_progress,
    )
    best = recommendation(curves, budget)
    removed = curves.curves[best.score].removed[0, curves.place(budget)]
    fits = replacement_fits(model, found, removed, replacement) if replacement in FITTED else None
    means = found.means if replacement == "mean" else None
    smaller, pruned, refusal, footprint = None, None, "", None
    # As the metric shows it to the model: a text with its hidden tokens hidden.
    batch = chosen.shown(measured[0])
    try:
        smaller = prune_heads(model, heads, removed, batch=batch, compensation=fits, means=means)
        whole_size, smaller_size = footprints((model, smaller), batch)
        pruned, footprint = smaller, (whole_size, smaller_size)
    except PruningError as error:
        refusal = str(error)
    if pruned is None:
        try:
            pruned = mask_heads(model, heads, removed, batch=batch, compensation=fits, means=means)
        except PruningError as error:
            refusal = str(error)
    return PruningStudy(
        heads=heads,
        budget=budget,
        curves=curves,
        controls=controls,
        recommendation=best,
        removed=frozen(removed.copy()),
        pruned=pruned,
        value=float("nan") if pruned is None else measure(pruned, measured, chosen).value,
        smaller=smaller,
        refusal=refusal,
        footprint=footprint,
        batch=batch,
    )


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None
