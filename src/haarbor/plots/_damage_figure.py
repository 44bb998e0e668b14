"""Damage curves: how much worse a network becomes as more of its heads are removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator

from haarbor.errors import SettingError
from haarbor.options import found_text
from haarbor.plots.style._drawn_curves import RANDOM, drawn_curves
from haarbor.plots.style._figure_text import add_title, plain_text
from haarbor.plots.style._house_style import LINE_COLOURS, PAGE_WIDTH, PALE_INK, blank_figure, in_house_style

if TYPE_CHECKING:
    from haarbor.pruning import DamageCurves

__all__ = ["damage_figure"]

_MARKERS = "osD^vP*X"
_WORDS = {
    "refit": "the rest of each layer refitted",
    "mean": "removed heads replaced by their mean",
    "zero": "removed heads replaced by zero",
}


@in_house_style
def damage_figure(
    curves: DamageCurves,
    *,
    share: float | None = None,
    score: str | None = None,
    title: str | None = None,
) -> Figure:
    """Metric against the share of heads removed, one line per score, with standard errors.

    Of more than ten scores, the ten that do least damage are drawn, the recommended one among them, and
    chance.

    Parameters
    ----------
    curves : DamageCurves
        From :func:`haarbor.pruning.damage_curves`.
    share : float, optional
        A share of heads to mark by an upright line.
    score : str, optional
        The score that is recommended, named so in the legend.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    SettingError
        If there is no curve, or none of the recommended score.

    See Also
    --------
    haarbor.pruning.damage_curves : Damage by share of heads.
    haarbor.plots.pruning_figure : Draws a study.
    """
    if not curves.curves:
        raise SettingError("there must be a curve to draw; found none. Name at least one score.")
    if score is not None and score not in curves.curves:
        raise SettingError(
            f"the recommended score must have a curve; found {found_text(score)}. Name one of "
            f"{', '.join(curves.curves)}."
        )
    figure = blank_figure(PAGE_WIDTH, 3.4)
    axes = figure.subplots()
    axes.grid(axis="y")
    axes.axhline(curves.baseline.value, color=PALE_INK, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.annotate(
        "whole network", (1.0, curves.baseline.value), xycoords=("axes fraction", "data"), ha="right",
        va="bottom", fontsize=6.5, color=PALE_INK, xytext=(0, 2), textcoords="offset points",
    )  # fmt: skip
    if share is not None:
        axes.axvline(share, color=PALE_INK, linewidth=0.6, linestyle=":")
    place = -1 if share is None else int(np.abs(curves.shares - share).argmin())
    drawn = drawn_curves({name: float(curves.damage(name)[place]) for name in curves.curves}, score)
    for number, name in enumerate(drawn):
        values, errors = curves.value(name), curves.standard_error(name)
        chance = name == RANDOM
        colour = PALE_INK if chance else LINE_COLOURS[number % len(LINE_COLOURS)]
        # Moved sideways a little, so that error bars do not hide each other.
        shift = (number - (len(drawn) - 1) / 2) * 0.0012
        label = f"random ({curves.curves[name].damage.shape[0]} seeds)" if chance else plain_text(name)
        label += " (recommended)" if name == score else ""
        axes.errorbar(
            curves.shares + shift,
            values,
            yerr=np.where(np.isfinite(errors), errors, 0.0),
            color=colour,
            marker=_MARKERS[number % len(_MARKERS)],
            markersize=3.2,
            elinewidth=0.7,
            linestyle=":" if chance else "-" if number < len(LINE_COLOURS) else "--",
            label=label,
        )
    axes.set_xlim(curves.shares.min() - 0.03, curves.shares.max() + 0.03)
    axes.xaxis.set_major_locator(MultipleLocator(0.05))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _place: f"{100 * value:.0f} %"))
    where = {"network": "of all heads", "layer": "of the heads of every layer"}
    axes.set_xlabel(f"removed, {where.get(curves.within, 'of the heads of every group')}")
    axes.set_ylabel(
        f"{plain_text(curves.metric)} ({'higher' if curves.higher_is_better else 'lower'} is better)"
    )
    axes.legend(loc="best", handlelength=3.5)
    done = _WORDS.get(curves.replacement, plain_text(curves.replacement))
    fewer = f"; {len(drawn)} of {len(curves.curves)} curves" if len(drawn) < len(curves.curves) else ""
    axes.set_title(f"{done}{fewer}")
    add_title(figure, title)
    return figure
