"""More calibration data where two halves of it do not agree about the order of the heads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from haarbor.errors import SettingError
from haarbor.on_progress import OnProgress
from haarbor.printable import printable
from haarbor.pruning._calibration_pass import CalibrationPass, Part, calibration_pass, with_responses
from haarbor.pruning._controls import ScoreControls, score_controls
from haarbor.pruning._metrics import Metric
from haarbor.pruning._model_batches import ModelBatch, model_batches, require_disjoint
from haarbor.pruning._scores import SCORES

__all__ = [
    "LEAST_AGREEMENT",
    "AgreeingCalibration",
    "MoreBatches",
    "agreeing_calibration",
    "require_more",
    "unsure_scores",
]

LEAST_AGREEMENT = 0.5
"""Rank correlation of the two halves below which an order of the heads is called unsure."""

MoreBatches = Callable[[], Any]
"""Gives further batches to calibrate on; none of them if there are no more."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AgreeingCalibration:
    """A calibration pass, on more data than at first if that was needed."""

    found: CalibrationPass
    batches: tuple[ModelBatch, ...]
    """All that it was made of."""
    taken: str
    """Why more data were taken, and what that changed, in a line; empty if none were."""


def unsure_scores(controls: Sequence[ScoreControls]) -> dict[str, float]:
    """Scores by which the two halves order the heads differently, with their rank correlation.

    Parameters
    ----------
    controls : sequence of ScoreControls

    Returns
    -------
    dict of name to float
    """
    return {
        entry.name: float(entry.agreement)
        for entry in controls
        if np.isfinite(entry.agreement) and entry.agreement < LEAST_AGREEMENT
    }


def require_more(more: Any) -> None:
    """Raise unless this can be asked for further batches."""
    if not callable(more):
        raise SettingError(
            "more calibration data must be given as a function without arguments; found "
            f"{printable(repr(more))[:80]}. Pass one that returns a list of batches."
        )


def agreeing_calibration(
    model: torch.nn.Module,
    found: CalibrationPass,
    batches: Sequence[ModelBatch],
    evaluation: Sequence[ModelBatch],
    names: Sequence[str],
    more: MoreBatches,
    *,
    share: float,
    metric: Metric,
    parts: Collection[Part] = (),
    n_answers: int | None = None,
    on_progress: OnProgress | None = None,
) -> AgreeingCalibration:
    """The calibration pass again, on more data, if two halves of the data disagree about the order of heads.

    Parameters
    ----------
    model : torch.nn.Module
    found : CalibrationPass
        Of `batches`.
    batches, evaluation : sequence of ModelBatch
        The calibration data so far, and the data to measure on, which more data must not overlap.
    names : sequence of str
        Scores to look at. Those of organised attention are not: only some samples are organised for them,
        and no more are when the data grow.
    more : function
        Gives further batches, or none; asked once, and only if a score is unsure.
    share : float
    metric : Metric
    parts : collection of {"responses", "layer responses"}
        Parts that scores need and `found` may lack. Probing takes longest, so these are gathered when it is
        known on which data: scores that need them are looked at only if all others are sure.
    n_answers : int, optional
        As for :func:`haarbor.pruning.calibration_pass`.
    on_progress : function of (step, done, total), optional

    Returns
    -------
    AgreeingCalibration

    Raises
    ------
    SettingError
        If `more` is not a function.
    DataError
        If the further batches overlap the evaluation data.
    """
    require_more(more)
    looked_at = [name for name in names if name in SCORES and "attention" not in SCORES[name].needs]
    at_once = [name for name in looked_at if SCORES[name].needs <= found.parts.keys()]
    before = unsure_scores(_agreements(model, found, batches, evaluation, at_once, share, metric))
    if not before and len(at_once) < len(looked_at):
        found = with_responses(model, found, parts, n_answers=n_answers, on_progress=on_progress)
        later = [name for name in looked_at if name not in at_once]
        before = unsure_scores(_agreements(model, found, batches, evaluation, later, share, metric))
    further = list(more()) if before else []
    if not further:
        found = with_responses(model, found, parts, n_answers=n_answers, on_progress=on_progress)
        return AgreeingCalibration(found=found, batches=tuple(batches), taken="")
    extra = model_batches(further)
    require_disjoint(extra, evaluation)
    joint = (*batches, *extra)
    known = {name: part for name, part in found.parts.items() if name.startswith("attention")}
    wanted: Any = [name for name in {*found.parts, *parts} if name not in known]
    again = calibration_pass(
        model,
        joint,
        parts=wanted,
        metric=metric,
        heads=found.heads,
        n_answers=n_answers,
        on_progress=on_progress,
    )
    again = replace(again, parts={**again.parts, **known})
    after = {
        entry.name: entry.agreement
        for entry in _agreements(model, again, joint, evaluation, list(before), share, metric)
    }
    changes = ", ".join(f"'{name}' {value:.2f} to {after[name]:.2f}" for name, value in before.items())
    return AgreeingCalibration(
        found=again,
        batches=joint,
        taken="Two halves of the calibration data ordered the heads differently, so "
        f"{again.n_samples} samples were taken in place of {found.n_samples} (rank correlation of halves: "
        f"{changes}).",
    )


def _agreements(
    model: torch.nn.Module,
    found: CalibrationPass,
    batches: Sequence[ModelBatch],
    evaluation: Sequence[ModelBatch],
    names: Sequence[str],
    share: float,
    metric: Metric,
) -> tuple[ScoreControls, ...]:
    """How far two halves agree, without measuring any damage."""
    if not names:
        return ()
    kept = {name: part for name, part in found.parts.items() if not name.startswith("attention")}
    plain = replace(found, parts=kept)
    return score_controls(model, plain, batches, evaluation, names, share=share, metric=metric, damages=False)
