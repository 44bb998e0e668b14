"""Paths through the heads of a stack of attention: how much of the output each length carries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from haarbor.plots.style._figure_text import add_title
from haarbor.plots.style._house_style import LINE_COLOURS, PAGE_WIDTH, blank_figure, in_house_style

if TYPE_CHECKING:
    from haarbor.array_types import FloatArray
    from haarbor.collapse import NetworkPaths, PathDecomposition, PathShares

__all__ = ["path_figure"]


@in_house_style
def path_figure(paths: PathDecomposition | NetworkPaths | PathShares, *, title: str | None = None) -> Figure:
    """Share of the output carried by the paths of each length, and the mean residual of one path.

    Parameters
    ----------
    paths : PathDecomposition, NetworkPaths or PathShares
        From :func:`haarbor.collapse.path_decomposition`, or of a real network from
        :func:`haarbor.collapse.network_paths`, or what a run keeps of it; there, paths that begin at MLPs
        and biases have bars of their own.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure
        Error bars are standard errors, where paths were drawn at random.

    See Also
    --------
    haarbor.collapse.path_decomposition : Paths of a stack.
    haarbor.collapse.network_paths : Paths of a network.
    """
    from haarbor.collapse import NetworkPaths, PathDecomposition

    figure = blank_figure(PAGE_WIDTH, 2.6)
    shares, residuals = figure.subplots(1, 2)
    found = paths.summary() if isinstance(paths, NetworkPaths) else paths
    by_beginning: Mapping[str, FloatArray] = {}
    lengths = np.arange(found.n_paths.size)
    if not isinstance(found, PathDecomposition):
        by_beginning = found.beginnings
    if by_beginning:
        width = 0.8 / len(by_beginning)
        for number, (name, values) in enumerate(by_beginning.items()):
            places = lengths + (number - (len(by_beginning) - 1) / 2) * width
            colour = LINE_COLOURS[(0, 4, 2)[number]]
            shares.bar(places, values, color=colour, width=width, label=f"from {name}")
        shares.legend(loc="best", title="paths", title_fontsize=7)
    elif isinstance(found, PathDecomposition):
        shares.bar(lengths, found.share, color=LINE_COLOURS[0], width=0.7)
    shares.set_ylabel("norm of their sum,\nrelative to the output")
    shares.set_title("Share of the output")
    residuals.errorbar(
        lengths,
        found.residual,
        yerr=np.where(np.isfinite(found.residual_error), found.residual_error, 0.0),
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
