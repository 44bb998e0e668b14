"""How the trees and the coherence changed from iteration to iteration."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from haarbor.errors import SettingError
from haarbor.plots.style._figure_text import add_title, plain_text
from haarbor.plots.style._house_style import LINE_COLOURS, PAGE_WIDTH, blank_figure, in_house_style
from haarbor.questionnaire import Convergence

__all__ = ["convergence_figure"]

_MARKERS = ("o", "s", "^", "D", "v", "P")


@in_house_style
def convergence_figure(convergence: Convergence, *, title: str | None = None) -> Figure:
    """How far the tree of every axis moved in each iteration, and the coherence after it.

    The change is the partition distance from the tree of the iteration before. An axis that starts
    without a tree has no point at its first iteration.

    Parameters
    ----------
    convergence : Convergence
        From ``organization.convergence(X)``.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    SettingError
        If it is not a Convergence.

    See Also
    --------
    haarbor.Convergence : How much each iteration changed.
    haarbor.organize : Trees of one tensor.
    """
    if not isinstance(convergence, Convergence):
        raise SettingError(
            f"convergence must come from organization.convergence(X); found {type(convergence).__name__}."
            " Call it with the tensor that was organised."
        )
    figure = blank_figure(PAGE_WIDTH * 0.86, 2.4)
    changes, coherence = figure.subplots(1, 2)
    for number, (axis, change) in enumerate(convergence.tree_change.items()):
        name = plain_text(axis) + ("" if np.isfinite(change).any() else " (no tree before)")
        changes.plot(
            convergence.iterations, change, color=LINE_COLOURS[number % 6], marker=_MARKERS[number % 6],
            markersize=4, label=name, clip_on=False, zorder=3,
        )  # fmt: skip
    known = [change[np.isfinite(change)] for change in convergence.tree_change.values()]
    largest = max((float(change.max()) for change in known if change.size), default=0.0)
    changes.set_ylim(0.0, 1.1 * largest if largest > 0 else 1.0)
    changes.set_ylabel("partition distance")
    changes.legend(title="axis", title_fontsize=7)
    coherence.plot(convergence.iterations, convergence.coherence, color="#333333", marker="o", markersize=4)
    coherence.set_ylabel(r"$\ell_1$ norm of the expansion")
    coherence.margins(y=0.15)
    for panel, name in ((changes, "change from the tree before"), (coherence, "coherence")):
        panel.set_title(name)
        panel.set_xlabel("iteration")
        panel.set_xlim(0.5, convergence.iterations.size + 0.5)
        panel.xaxis.set_major_locator(MaxNLocator(8, integer=True, min_n_ticks=1))
    add_title(figure, title)
    return figure
