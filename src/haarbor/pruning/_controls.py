"""Controls of a score: its damage with another ranking and with other calibration data."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import torch

from haarbor.analysis import rank_correlation
from haarbor.array_types import FloatArray
from haarbor.on_progress import OnProgress
from haarbor.pruning._budgets import Budget, removal_count
from haarbor.pruning._calibration_pass import CalibrationPass, Part, calibration_pass
from haarbor.pruning._damage_curves import RANDOM, measured_without
from haarbor.pruning._metrics import Metric, measure
from haarbor.pruning._model_batches import ModelBatch
from haarbor.pruning._scores import checked_names, pruning_scores, score_removal
from haarbor.pruning._searched_choices import SEARCHED

__all__ = ["ScoreControls", "score_controls"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreControls:
    """Damage by one score under changed conditions; the number of removed heads is always the same."""

    name: str
    n_removed: int
    """Heads that were removed in every control."""
    within_layer: float
    """Damage when every layer loses the same share of its heads, to within one head. A score that only tells
    layers apart does no better than chance here. NaN if it was not measured."""
    half_calibrations: tuple[float, float]
    """Damage when the score and the refit are computed from one half of the calibration data only; NaN if it
    was not measured."""
    agreement: float
    """Spearman correlation between the scores from the two halves; NaN where one half does not vary."""


def score_controls(
    model: torch.nn.Module,
    calibration: CalibrationPass,
    batches: Sequence[ModelBatch],
    evaluation: Sequence[ModelBatch],
    scores: Collection[str],
    *,
    share: float,
    metric: Metric,
    within: Budget = "network",
    replacement: str = "refit",
    damages: bool = True,
    on_progress: OnProgress | None = None,
) -> tuple[ScoreControls, ...]:
    """Controls of some scores at one share of heads.

    Parameters
    ----------
    model : torch.nn.Module
    calibration : CalibrationPass
        Of all the calibration data.
    batches : sequence of ModelBatch
        The calibration data themselves, at least two batches.
    evaluation : sequence of ModelBatch
        The data to measure on.
    scores : collection of str
        "random" is left out, which is a control itself, and so are searches, which order no heads.
    share : float
        Of the heads. All controls remove the number of heads that :func:`haarbor.pruning.removal_count`
        gives for `share` and `within`, so that they can be compared with the damage as asked.
    metric : Metric
    within : {"network", "layer", "uniform"}, default "network"
        Where the heads are chosen when only half of the calibration data is used.
    replacement : {"refit", "zero", "mean"}, default "refit"
    damages : bool, default True
        Whether damages are measured, or only the agreement of the two halves is computed.
    on_progress : function of (step, done, total), optional
        Told after every score, with the step "controls".

    Returns
    -------
    tuple of ScoreControls

    See Also
    --------
    haarbor.pruning.damage_curves : Damage by share of heads.

    Notes
    -----
    The controls for the trees of a tree score are scores themselves: "h400-random-tree" and
    "h400-no-tree".
    """
    names = [name for name in checked_names(scores) if name not in (RANDOM, *SEARCHED)]
    halves = [_half(model, calibration, batches[begin::2], begin, metric) for begin in (0, 1)]
    baseline = measure(model, evaluation, metric).value if damages else float("nan")
    sign = -1.0 if metric.higher_is_better else 1.0

    n_removed = removal_count(calibration.heads, share, within=within)

    def damage(name: str, values: FloatArray, calibrated: CalibrationPass, where: Budget) -> float:
        if not damages:
            return float("nan")
        removed = score_removal(name, values, calibrated, n_removed, within=where)
        result = measured_without(model, removed, calibrated, evaluation, metric, replacement)
        return sign * (result.value - baseline)

    whole = pruning_scores(calibration, names)
    by_half = [pruning_scores(half, names) for half in halves]
    controls = []
    for done, name in enumerate(names):
        controls.append(
            ScoreControls(
                name=name,
                n_removed=n_removed,
                within_layer=damage(name, whole[name], calibration, "layer"),
                half_calibrations=(
                    damage(name, by_half[0][name], halves[0], within),
                    damage(name, by_half[1][name], halves[1], within),
                ),
                agreement=rank_correlation(by_half[0][name], by_half[1][name], least=2),
            )
        )
        if on_progress is not None:
            on_progress("controls", done + 1, len(names))
    return tuple(controls)


def _half(
    model: torch.nn.Module,
    calibration: CalibrationPass,
    batches: Sequence[ModelBatch],
    begin: int,
    metric: Metric,
) -> CalibrationPass:
    """Calibration pass over one half of the batches; what is known of each batch is not made again."""
    known = calibration.half_parts(begin)
    missing: Any = [part for part in calibration.parts if part in get_args(Part) and part not in known]
    half = calibration_pass(model, batches, parts=missing, metric=metric, heads=calibration.heads)
    return replace(half, parts={**half.parts, **known})
