"""Rank collapse: the residual of the tokens by depth, one line per variant of the network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from haarbor.errors import SettingError
from haarbor.plots.style._figure_text import add_title, plain_text
from haarbor.plots.style._house_style import (
    INK,
    LINE_COLOURS,
    PAGE_WIDTH,
    PALE_INK,
    blank_figure,
    in_house_style,
)

if TYPE_CHECKING:
    from haarbor.collapse import NetworkBound, RankCollapse

__all__ = ["collapse_figure"]

_MARKERS = "osD^vP"


@in_house_style
def collapse_figure(
    results: Mapping[str, RankCollapse],
    *,
    bounds: Mapping[str, NetworkBound] | None = None,
    title: str | None = None,
) -> Figure:
    """Relative residual in the composite norm against depth, one panel per result.

    Lines are medians over the samples, and the shaded bands reach from the lowest to the highest sample.
    Residuals below the dotted line are rounding. A dashed line is the doubly exponential bound of attention
    alone, from the depth on at which it is proved; where it is proved nowhere, words say so.

    Parameters
    ----------
    results : mapping of str to RankCollapse
        By the heading of their panel, such as "trained" and "at initialisation".
    bounds : mapping of str to NetworkBound, optional
        By the same headings.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    SettingError
        If there is no result.

    See Also
    --------
    haarbor.rank_collapse : The measures at every depth.
    haarbor.plots.path_figure : Draws paths.
    """
    if not results:
        raise SettingError("there must be a result to draw; found none. Pass what rank_collapse gives.")
    figure = blank_figure(PAGE_WIDTH, 3.4)
    panels = figure.subplots(1, len(results), sharey=True, squeeze=False)[0]
    for axes, (heading, result) in zip(panels, results.items(), strict=True):
        axes.grid(axis="y")
        depths = np.arange(result.n_layers + 1)
        for number, variant in enumerate(result.variants):
            values = result.figures["composite"][result.variants.index(variant)]
            # Zero has no place on a logarithmic axis; whatever is far below the floor says no more.
            least = result.floor / 50
            middle = np.maximum(result.middle("composite", variant), least)
            there = np.isfinite(values).any(axis=1)
            low, high = (np.full(depths.size, np.nan) for _ in range(2))
            low[there], high[there] = np.nanmin(values[there], axis=1), np.nanmax(values[there], axis=1)
            colour = LINE_COLOURS[number % len(LINE_COLOURS)]
            axes.fill_between(
                depths, np.maximum(low, least), np.maximum(high, least), color=colour, alpha=0.15, linewidth=0
            )
            axes.plot(
                depths,
                middle,
                color=colour,
                marker=_MARKERS[number % len(_MARKERS)],
                markersize=2.8,
                label=plain_text(variant),
            )
        if bounds is not None and heading in bounds:
            _draw_bound(axes, result, bounds[heading])
        axes.axhline(result.floor, color=PALE_INK, linewidth=0.8, linestyle=":")
        axes.annotate(
            "rounding below", (0.0, result.floor), xycoords=("axes fraction", "data"), ha="left", va="top",
            fontsize=6.5, color=PALE_INK, xytext=(3, -2), textcoords="offset points",
        )  # fmt: skip
        axes.set_yscale("log")
        axes.set_xlabel("layers passed")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_title(plain_text(heading))
    panels[0].set_ylabel("residual, relative to the tokens\n(0: all tokens the same)")
    named: dict[str, Artist] = {}
    for axes in panels:
        named |= dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
    handles, labels = list(named.values()), list(named)
    figure.legend(handles, labels, loc="outside lower center", ncols=3, handlelength=2.5)
    add_title(figure, title)
    return figure


def _draw_bound(axes: Axes, result: RankCollapse, bound: NetworkBound) -> None:
    from haarbor.collapse import BOUNDED

    logs = bound.relative(result)
    there = np.flatnonzero(np.isfinite(logs))
    if not there.size:
        why = "the theorem does not speak of it" if bound.reason else "proved at no depth"
        axes.set_title(f"no bound: {why}", loc="right", fontsize=6.5, color=PALE_INK)
        return
    least = np.log10(result.floor / 50)
    beneath = np.flatnonzero(logs[there] <= least)
    # It goes down without end; where it leaves the picture it has said everything.
    there = there[: beneath[0] + 1] if beneath.size else there
    axes.plot(
        there,
        10.0 ** np.clip(logs[there], least, 2.0),
        color=INK,
        linestyle="--",
        linewidth=1.1,
        zorder=3,
        label=f"bound for {BOUNDED}",
    )
