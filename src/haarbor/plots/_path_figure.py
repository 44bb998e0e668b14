"""Paths through the heads of a stack of attention: how much of the output each length carries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from haarbor.plots.style._figure_text import add_title
from haarbor.plots.style._house_style import LINE_COLOURS, PAGE_WIDTH, blank_figure, in_house_style

if TYPE_CHECKING:
    from haarbor.collapse import PathDecomposition

__all__ = ["path_figure"]


@in_house_style
def path_figure(paths: PathDecomposition, *, title: str | None = None) -> Figure:
    """Share of the output carried by the paths of each length, and the mean residual of one path.

    Parameters
    ----------
    paths : PathDecomposition
        From :func:`haarbor.collapse.path_decomposition`.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure
        Error bars are standard errors, where paths were drawn at random.
    """
    figure = blank_figure(PAGE_WIDTH, 2.6)
    shares, residuals = figure.subplots(1, 2)
    lengths = np.arange(paths.share.size)
    shares.bar(lengths, paths.share, color=LINE_COLOURS[0], width=0.7)
    shares.set_ylabel("norm of their sum,\nrelative to the output")
    shares.set_title("Share of the output")
    residuals.errorbar(
        lengths,
        paths.residual,
        yerr=np.where(np.isfinite(paths.residual_error), paths.residual_error, 0.0),
        color=LINE_COLOURS[1],
        marker="o",
        markersize=3.2,
        elinewidth=0.7,
    )
    residuals.set_yscale("log")
    residuals.set_ylabel("residual against equal tokens")
    residuals.set_title("Mean residual of one path")
    for axes in (shares, residuals):
        axes.grid(axis="y")
        axes.set_axisbelow(True)
        axes.set_xlabel("heads on the path")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    add_title(figure, title)
    return figure
