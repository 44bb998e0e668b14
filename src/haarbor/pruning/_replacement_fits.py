"""What is done about removed heads, by name: the projections of the heads that stay, fitted in some way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from haarbor.array_types import BoolArray, frozen
from haarbor.errors import SettingError
from haarbor.options import found_text
from haarbor.pruning._calibration_pass import CalibrationPass
from haarbor.pruning._compensation import RIDGE, Compensation, LayerFit, compensate, fitted_projection
from haarbor.pruning._head_scales import scaled_projection
from haarbor.pruning._sequential_compensation import WholeStream, sequential_compensation

__all__ = ["FITTED", "checked_replacements", "replacement_fits", "require_replacement"]

FITTED = ("refit", "sequential", "weights", "scale")
"""Replacements that change the projection of the heads that stay; "zero" and "mean" do not."""

WEIGHTS_RIDGE = 1e-2
SCALE_RIDGE = 1e-3


def require_replacement(replacement: object) -> None:
    """Raise unless removed heads can be made up for in this way."""
    offered = ("zero", "mean", *FITTED)
    if not isinstance(replacement, str) or replacement not in offered:
        raise SettingError(
            f"replacement must be one of {', '.join(offered)}; found {found_text(replacement)}. Pass one."
        )


def checked_replacements(replacement: object) -> tuple[str, ...]:
    """One or several ways to make up for removed heads, each once.

    Raises
    ------
    SettingError
        If there is none, or one is not offered.

    Examples
    --------
    >>> checked_replacements("refit")
    ('refit',)
    """
    several = isinstance(replacement, Sequence) and not isinstance(replacement, str) and replacement
    ways = list(replacement) if several else [replacement]  # type: ignore[call-overload]
    for way in ways:
        require_replacement(way)
    return tuple(dict.fromkeys(ways))


def replacement_fits(
    model: torch.nn.Module,
    calibration: CalibrationPass,
    removed: BoolArray,
    replacement: str,
    *,
    ridge: float = RIDGE,
    whole: WholeStream | None = None,
) -> Compensation:
    """Projections of the heads that stay, fitted on the calibration data.

    Parameters
    ----------
    model : torch.nn.Module
    calibration : CalibrationPass
    removed : ndarray of bool, shape (n_heads,)
    replacement : {"refit", "sequential", "weights", "scale"}
        "refit" is :func:`haarbor.pruning.compensate`: weights and bias, from the moments of the pass.
        "sequential" is :func:`haarbor.pruning.sequential_compensation`, which runs the network again, once
        for every choice of heads. "weights" fits weights only, to
        second moments that are not centred, as OSSCAR and SlimGPT do. "scale" fits one factor per head, as
        Kwon et al. do.
    ridge : float, optional
        Of "refit" and "sequential"; the others have ridges of their own.
    whole : WholeStream, optional
        For "sequential", where the whole network was run on the calibration data already.

    Returns
    -------
    Compensation
    """
    if replacement == "refit":
        return compensate(model, calibration.heads, removed, None, moments=calibration.moments, ridge=ridge)
    if replacement == "sequential":
        return sequential_compensation(
            model, calibration.heads, removed, calibration.batches, ridge=ridge, whole=whole
        )
    fits: list[LayerFit | None] = []
    for moment, layer, gone in zip(
        calibration.moments, calibration.heads.layers, calibration.heads.by_layer(removed), strict=True
    ):
        if not gone.size:
            fits.append(None)
        elif replacement == "scale":
            fits.append(scaled_projection(moment, layer, gone, ridge=SCALE_RIDGE))
        else:
            # Without a mean to centre on, nothing goes into the bias.
            uncentred = replace(moment, mean=np.zeros_like(moment.mean))
            fits.append(fitted_projection(uncentred, layer, gone, ridge=WEIGHTS_RIDGE))
    own_ridge = SCALE_RIDGE if replacement == "scale" else WEIGHTS_RIDGE
    return Compensation(removed=frozen(removed.copy()), fits=tuple(fits), method=replacement, ridge=own_ridge)
