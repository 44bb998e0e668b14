"""A whole study of one network: scores, damage curves, controls, a recommendation, the smaller network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from haarbor.analysis import PruningResults
from haarbor.array_types import BoolArray, frozen
from haarbor.errors import DataError, PruningError
from haarbor.on_progress import OnProgress
from haarbor.options import require_whole_number
from haarbor.pruning._agreeing_calibration import (
    MoreBatches,
    agreeing_calibration,
    require_more,
    unsure_scores,
)
from haarbor.pruning._answer_scale import answer_scale
from haarbor.pruning._budgets import Budget, reachable_shares, removal_count
from haarbor.pruning._calibration_pass import PROBED, calibration_pass
from haarbor.pruning._compensation import joined
from haarbor.pruning._controls import ScoreControls, score_controls
from haarbor.pruning._damage_curves import RANDOM, DamageCurves, damage_curves
from haarbor.pruning._footprint import Footprint, footprints
from haarbor.pruning._heal import Healing, heal, require_trainable
from haarbor.pruning._masked_network import mask_heads
from haarbor.pruning._metrics import Measure, Measurement, Metric, measure, metric_named
from haarbor.pruning._model_batches import (
    ModelBatch,
    model_batches,
    require_disjoint,
    require_network,
)
from haarbor.pruning._network_heads import NetworkHeads, network_heads
from haarbor.pruning._prune_heads import prune_heads
from haarbor.pruning._recommendation import Recommendation, recommendation
from haarbor.pruning._replacement_fits import FITTED, checked_replacements, replacement_fits
from haarbor.pruning._score_names import require_score
from haarbor.pruning._scores import checked_names, needed_parts, scores_named
from haarbor.pruning._searched_choices import SEARCHED

__all__ = ["PruningStudy", "pruning_study"]


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
    healing: Healing | None
    """How `pruned` was trained after the removal; None if that was not asked for."""
    healed: tuple[Measurement, Measurement] | None
    """The pruned network on the evaluation batches before that and after."""
    smaller: torch.nn.Module | None
    """The network without them and smaller; None if its layout cannot be made smaller, see `refusal`."""
    refusal: str
    """Why there is no smaller network; empty if there is one."""
    footprint: tuple[Footprint, Footprint] | None
    """Of the whole and of the smaller network."""
    batch: ModelBatch
    """One of the evaluation."""
    n_calibration: int
    """Samples that scores and refit are from."""
    taken: str
    """Why more calibration data were taken than at first, in a line; empty if none were."""
    too_sure: str
    """That the network is surer of its answers than it is right (:class:`AnswerScale`), in a line; empty
    where no removal seems to improve it."""

    @property
    def disagreement(self) -> str:
        """A line that names the scores on which the two halves of the calibration disagree; empty if none."""
        unsure = [f"'{name}' ({value:.2f})" for name, value in unsure_scores(self.controls).items()]
        if not unsure:
            return ""
        return (
            "The two halves of the calibration data order the heads differently (rank correlation) by "
            f"{', '.join(unsure)}: these orders are not to be relied on. Take more calibration data."
        )

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
                "score": curves.curves[self.recommendation.score].score,
                "budget": self.budget,
                "share": self.recommendation.share,
                "n_removed": self.recommendation.n_removed,
                "n_heads": self.recommendation.n_heads,
                "within": curves.within,
                "replacement": curves.curves[self.recommendation.score].replacement,
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
            "controls": [
                {
                    **asdict(entry),
                    "agreement": _number(entry.agreement),
                    "within_layer": _number(entry.within_layer),
                    "half_calibrations": [_number(value) for value in entry.half_calibrations],
                }
                for entry in self.controls
            ],
            "recommendation": {**asdict(self.recommendation), "sentence": self.recommendation.sentence},
            "removed": [self.heads.label(int(head)) for head in np.flatnonzero(self.removed)],
            "smaller": None if self.footprint is None else [asdict(found) for found in self.footprint],
            "refusal": self.refusal,
            "disagreement": self.disagreement,
            "n_calibration": self.n_calibration,
            "more_calibration": self.taken,
            "too_sure": self.too_sure,
            "pruned": {"value": _number(self.value), "smaller": self.smaller is not None},
            "healing": self._healing_figures() or None,
        }

    def results(self, model: str, data: str) -> PruningResults:
        """Everything but the network, in a form that a run can keep (:func:`haarbor.analysis.keep_pruning`).

        Parameters
        ----------
        model, data : str
            Names to keep with the figures.

        Returns
        -------
        PruningResults
        """
        curves, best = self.curves, self.recommendation
        place = curves.place(self.budget)
        return PruningResults(
            model=model,
            data=data,
            metric=curves.metric,
            baseline=curves.baseline.value,
            higher_is_better=curves.higher_is_better,
            within=curves.within,
            replacement=curves.replacement,
            layers=self.heads.layer_of_head,
            shares=curves.shares,
            n_removed=curves.n_removed,
            damages={name: curves.damage(name) for name in curves.curves},
            errors={name: curves.standard_error(name) for name in curves.curves},
            removed={name: curve.removed[0, place] for name, curve in curves.curves.items()},
            place=place,
            score=best.score,
            equals=best.equals,
            agreement={entry.name: float(entry.agreement) for entry in self.controls},
            sentences=tuple(
                filter(
                    None,
                    (best.sentence, self.too_sure, self.taken, self.disagreement, self.healing_sentence),
                )
            ),
            healing=self._healing_figures(),
        )

    @property
    def healing_sentence(self) -> str:
        """What the training after the removal has changed; empty if there was none."""
        found = self._healing_figures()
        if not found:
            return ""
        steps = f"{found['steps']:.0f} step{'s' if found['steps'] > 1 else ''}"
        return (
            f"Healed by {steps} on the calibration data: damage {found['damage']:.4g} +- "
            f"{found['error']:.2g} on the evaluation data, {found['damage_before']:.4g} +- "
            f"{found['error_before']:.2g} without."
        )

    def _healing_figures(self) -> dict[str, float]:
        if self.healing is None or self.healed is None:
            return {}
        sign = -1.0 if self.curves.higher_is_better else 1.0
        baseline = self.curves.baseline
        found = {"steps": float(self.healing.n_steps), "trained": float(self.healing.n_trained)}
        for measured, ending in zip(self.healed, ("_before", ""), strict=True):
            change = sign * (measured.each - baseline.each)
            found[f"damage{ending}"] = sign * (measured.value - baseline.value)
            found[f"error{ending}"] = float(change.std(ddof=1) / np.sqrt(change.size))
        return found

    def __repr__(self) -> str:
        n_removed = int(self.removed.sum())
        return f"PruningStudy({n_removed} of {self.removed.size} heads by {self.recommendation.score})"


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
    replacement: str | Sequence[str] = "refit",
    n_seeds: int = 5,
    n_organized: int | None = None,
    n_answers: int | None = None,
    controls: bool = True,
    heal_steps: int = 0,
    seed: int = 0,
    more_calibration: MoreBatches | None = None,
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
        Names in ``SCORES``; "random" for chance; "searched" and "searched-loss" for exchanges of heads from
        what the others choose on (:func:`haarbor.pruning.exchange_search`).
    budget : float
        Share of heads to remove; :func:`haarbor.pruning.removal_count` says how many these are.
    shares : sequence of float
        Places of the curves, beside the budget; those at which no head would go are left out.
    metric : str, Metric or function, default "loss"
    within : {"network", "layer", "uniform"}, default "network"
    replacement : {"refit", "sequential", "zero", "mean", "weights", "scale"}, default "refit"
        Or several of them: then the recommendation chooses among all pairs of a score and a replacement.
        Controls are measured with the first.
    n_seeds : int, default 5
    n_organized : int, optional
        Calibration batches whose attention is organised, for scores that need it; all if not given.
    n_answers : int, optional
        Answers that responses are measured on, see :func:`haarbor.pruning.calibration_pass`.
    controls : bool, default True
        Whether the damages of the controls are measured; how far two halves of the calibration agree is
        always computed.
    heal_steps : int, default 0
        Steps by which what is left of the attention is trained on the calibration data, towards the answers
        of the whole network, see :func:`haarbor.heal`. Curves and recommendation are without; what it changes
        is told beside them.
    seed : int, default 0
        Of the healing.
    more_calibration : function, optional
        Gives further batches to calibrate on, or none. It is asked only if two halves of the calibration data
        order the heads differently by a score (rank correlation below 0.5).
    on_progress : function of (step, done, total), optional
        Told of the steps "scoring", "gradients", "probing", "searching", "measuring", "controls" and
        "healing", one after another.

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

    See Also
    --------
    haarbor.pruning.pruning_scores : Scores of all heads.
    haarbor.pruning.damage_curves : Damage by share of heads.
    haarbor.pruning.recommendation : The score to prune by.
    haarbor.plots.pruning_figure : Draws a study.
    """
    # Everything that can be wrong is checked before the work, which may take hours.
    require_network(model)
    names = checked_names(scores)
    require_score(names)
    ways = checked_replacements(replacement)
    require_whole_number("heal_steps", heal_steps)
    if more_calibration is not None:
        require_more(more_calibration)
    if n_answers is not None:
        require_whole_number("n_answers", n_answers, least=1)
    fitted, measured = model_batches(calibration), model_batches(evaluation)
    if len(fitted) < 2 or len(measured) < 4:
        raise DataError(
            "a study needs at least 2 batches to calibrate and 4 to measure; found "
            f"{len(fitted)} and {len(measured)}. Cut the data into more of them."
        )
    require_disjoint(fitted, measured)
    if "sequential" in ways:
        joined(fitted)
    chosen = metric_named(metric)
    if heal_steps:
        require_trainable(model)
    heads = network_heads(model, chosen.shown(fitted[0]))
    removal_count(heads, budget, within=within)
    places = sorted({*reachable_shares(heads, shares, within=within), float(budget)})
    parts = needed_parts(scores_named([name for name in names if name not in (RANDOM, *SEARCHED)]))
    found = calibration_pass(
        model,
        fitted,
        parts=parts if more_calibration is None else parts - PROBED,
        metric=chosen,
        heads=heads,
        n_organized=n_organized,
        n_answers=n_answers,
        on_progress=on_progress,
    )
    taken = ""
    if more_calibration is not None:
        agreeing = agreeing_calibration(
            model, found, fitted, measured, names, more_calibration,
            share=budget, metric=chosen, parts=parts & PROBED, n_answers=n_answers, on_progress=on_progress,
        )  # fmt: skip
        found, fitted, taken = agreeing.found, agreeing.batches, agreeing.taken
    curves = damage_curves(
        model,
        found,
        measured,
        names,
        shares=places,
        metric=chosen,
        within=within,
        replacement=ways,
        n_seeds=n_seeds,
        on_progress=on_progress,
    )
    checks = score_controls(
        model,
        found,
        fitted,
        measured,
        names,
        share=budget,
        metric=chosen,
        within=within,
        replacement=ways[0],
        damages=controls,
        on_progress=on_progress,
    )
    best = recommendation(curves, budget)
    scale = answer_scale(model, measured, chosen) if curves.seems_better(budget) else None
    curve = curves.curves[best.score]
    removed, way = curve.removed[0, curves.place(budget)], curve.replacement
    fits = replacement_fits(model, found, removed, way) if way in FITTED else None
    means = found.means if way == "mean" else None
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
    healing, healed = None, None
    value = None if pruned is None else measure(pruned, measured, chosen)
    if heal_steps and pruned is not None and value is not None:
        healing = heal(
            pruned,
            fitted,
            steps=heal_steps,
            teacher=model,
            metric=chosen,
            seed=seed,
            on_progress=on_progress,
        )
        pruned = healing.network
        smaller = None if smaller is None else pruned
        before, value = value, measure(pruned, measured, chosen)
        healed = (before, value)
    return PruningStudy(
        heads=heads,
        budget=budget,
        curves=curves,
        controls=checks,
        recommendation=best,
        removed=frozen(removed.copy()),
        pruned=pruned,
        value=float("nan") if value is None else value.value,
        healing=healing,
        healed=healed,
        smaller=smaller,
        refusal=refusal,
        footprint=footprint,
        batch=batch,
        n_calibration=found.n_samples,
        taken=taken,
        too_sure="" if scale is None else scale.sentence,
    )


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None
