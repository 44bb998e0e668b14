"""The pruning of one network: scores, curves, controls, a recommendation, the smaller network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from haarbor.array_types import BoolArray, frozen
from haarbor.errors import PruningError, SettingError
from haarbor.pruning.budgets import Budget
from haarbor.pruning.calibration_pass import calibration_pass
from haarbor.pruning.compensation import compensate
from haarbor.pruning.controls import ScoreControls, score_controls
from haarbor.pruning.damage_curves import RANDOM, DamageCurves, damage_curves
from haarbor.pruning.footprint import Footprint, footprints
from haarbor.pruning.head_sites import HeadSites
from haarbor.pruning.metrics import Measure, Metric, metric_named
from haarbor.pruning.model_batches import ModelBatch, model_batches, require_disjoint
from haarbor.pruning.prune_heads import prune_heads
from haarbor.pruning.recommendation import Recommendation, recommendation
from haarbor.pruning.scores import SCORES, needed_parts, scores_named

__all__ = ["PruningStudy", "pruning_study", "score_names"]

Steps = Callable[[str, int, int], None]
"""Told what is done, how many steps are over, and how many there are."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PruningStudy:
    """What was found about pruning a network."""

    sites: HeadSites
    budget: float
    curves: DamageCurves
    controls: tuple[ScoreControls, ...]
    recommendation: Recommendation
    removed: BoolArray
    """Heads to remove, by the recommended score; shape (n_heads,)."""
    smaller: torch.nn.Module | None
    """The network without them; None if its layout cannot be made smaller, see `refusal`."""
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
                "share": self.budget,
                "within": curves.within,
                "replacement": curves.replacement,
            },
            "metric": curves.metric,
            "baseline": curves.baseline.value,
            "shares": curves.shares.tolist(),
            "values": {name: curves.value(name).tolist() for name in curves.curves},
            "standard_errors": {
                name: [float(error) if np.isfinite(error) else None for error in curves.standard_error(name)]
                for name in curves.curves
            },
            "reliability": _number(curves.reliability),
            "controls": [{**asdict(entry), "agreement": _number(entry.agreement)} for entry in self.controls],
            "recommendation": {**asdict(self.recommendation), "sentence": self.recommendation.sentence},
            "removed": [self.sites.label(int(head)) for head in np.flatnonzero(self.removed)],
            "smaller": None if self.footprint is None else [asdict(found) for found in self.footprint],
            "refusal": self.refusal,
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
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if names == ["all"]:
        return [*SCORES, RANDOM]
    scores_named(name for name in names if name != RANDOM)
    if not set(names) - {RANDOM}:
        raise SettingError("there must be a score besides 'random' to prune by; found none.")
    return names


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
    on_progress: Steps | None = None,
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
        Share of heads to remove; one of `shares`.
    shares : sequence of float
        Places of the curves.
    metric : str, Metric or function, default "loss"
    within : {"network", "layer", "uniform"}, default "network"
    replacement : {"refit", "zero", "mean"}, default "refit"
    n_seeds : int, default 5
    on_progress : function of (what, done, in all), optional

    Returns
    -------
    PruningStudy

    Raises
    ------
    DataError
        If calibration and evaluation overlap.
    PruningError
        If the heads cannot be found.
    """
    fitted, measured = model_batches(calibration), model_batches(evaluation)
    require_disjoint(fitted, measured)
    chosen = metric_named(metric)

    def tell(what: str) -> Callable[[int, int | None], None] | None:
        if on_progress is None:
            return None
        return lambda done, in_all: on_progress(what, done, in_all or 0)

    parts = needed_parts(scores_named(name for name in scores if name != RANDOM))
    found = calibration_pass(
        model, fitted, parts=parts, metric=chosen, on_progress=tell("scoring"), on_probing=tell("probing")
    )
    curves = damage_curves(
        model,
        found,
        measured,
        scores,
        shares=shares,
        metric=chosen,
        within=within,
        replacement=replacement,
        n_seeds=n_seeds,
        on_progress=tell("measuring"),
    )
    controls = score_controls(
        model,
        found,
        fitted,
        measured,
        scores,
        share=budget,
        metric=chosen,
        replacement=replacement,
        on_progress=tell("controls"),
    )
    best = recommendation(curves, budget)
    removed = curves.curves[best.score].removed[0, curves.place(budget)]
    fits = (
        compensate(model, found.sites, removed, None, moments=found.moments)
        if replacement == "refit"
        else None
    )
    means = found.means if replacement == "mean" else None
    smaller, refusal, footprint = None, "", None
    try:
        smaller = prune_heads(model, found.sites, removed, batch=measured[0], compensation=fits, means=means)
        whole_size, smaller_size = footprints((model, smaller), measured[0])
        footprint = (whole_size, smaller_size)
    except PruningError as error:
        refusal = str(error)
    return PruningStudy(
        sites=found.sites,
        budget=budget,
        curves=curves,
        controls=controls,
        recommendation=best,
        removed=frozen(removed.copy()),
        smaller=smaller,
        refusal=refusal,
        footprint=footprint,
        batch=measured[0],
    )


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None
