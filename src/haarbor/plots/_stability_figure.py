"""How consistently heads rank high or low over batches."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from haarbor.array_types import FloatArray
from haarbor.errors import SettingError
from haarbor.plots.style._figure_text import add_title
from haarbor.plots.style._head_layers import add_layer_shading, checked_head_layers
from haarbor.plots.style._house_style import (
    PAGE_WIDTH,
    blank_figure,
    bordered,
    colour_bar,
    in_house_style,
    matrix_colours,
)
from haarbor.wavelets import RankingStability

__all__ = ["stability_figure"]

_MOST_WRITTEN = 8


@in_house_style
def stability_figure(
    stability: RankingStability, *, head_layers: npt.ArrayLike | None = None, title: str | None = None
) -> Figure:
    """In how many batches each head is in the top or bottom set, and Kendall's tau between batches.

    Parameters
    ----------
    stability : RankingStability
        From :func:`haarbor.ranking_stability`.
    head_layers : array_like of int, shape (n_heads,), optional
        Layer of each head.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    SettingError
        If it is not a RankingStability.
    ShapeError
        If there is not one layer per head.

    See Also
    --------
    haarbor.ranking_stability : Agreement of rankings over batches.
    haarbor.plots.entropy_figure : Draws entropies as lines.
    """
    if not isinstance(stability, RankingStability):
        raise SettingError(
            f"stability must come from haarbor.ranking_stability; found {type(stability).__name__}."
            " Call it with the entropies of several batches."
        )
    n_heads = stability.top_counts.size
    layers = checked_head_layers(head_layers, n_heads)
    figure = blank_figure(PAGE_WIDTH, 2.3)
    counts, tau = figure.subplots(1, 2, width_ratios=[2.2, 1.0])
    add_layer_shading(counts, layers)
    heads = np.arange(n_heads)
    percent = f"{100 * stability.fraction:g} %"
    counts.bar(heads, stability.top_counts, width=0.8, color="#D55E00", label=f"top {percent}")
    counts.bar(heads, -stability.bottom_counts, width=0.8, color="#0072B2", label=f"bottom {percent}")
    counts.axhline(0.0, color="#333333", linewidth=0.6)
    counts.set_xlim(-0.5 - 0.3 * (n_heads == 1), n_heads - 0.5 + 0.3 * (n_heads == 1))
    counts.set_ylim(-1.05 * stability.n_batches, 1.05 * stability.n_batches)
    counts.yaxis.set_major_locator(MaxNLocator(8, integer=True, min_n_ticks=1))
    counts.yaxis.set_major_formatter(FuncFormatter(lambda count, _place: f"{abs(count):g}"))
    counts.xaxis.set_major_locator(MaxNLocator(9, integer=True, min_n_ticks=1))
    counts.set_xlabel("head")
    counts.set_ylabel(f"batches, of {stability.n_batches}")
    figure.legend(loc="lower left", ncols=2, borderaxespad=0.2)
    _add_tau(figure, tau, stability.kendall_tau)
    mean = stability.mean_kendall_tau
    tau.set_title("Kendall's tau" + (f", mean {mean:.2f}" if np.isfinite(mean) else ""))
    add_title(figure, title)
    return figure


def _add_tau(figure: Figure, panel: Axes, tau: FloatArray) -> None:
    n_batches = tau.shape[0]
    present = tau[np.isfinite(tau)]
    low = min(0.0, float(present.min())) if present.size else 0.0
    image = panel.imshow(
        np.ma.masked_invalid(tau), cmap=matrix_colours(), vmin=low, vmax=1.0, interpolation="nearest"
    )
    bordered(panel)
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
    panel.set_xlabel("batch")
    panel.set_ylabel("batch")
    colour_bar(figure, image, panel, aspect=24, pad=0.03, shrink=0.8)
    if n_batches > _MOST_WRITTEN:
        return
    size = float(np.clip(36 / n_batches, 4.6, 7.0))
    for row, column in np.argwhere(np.isfinite(tau)):
        light = (tau[row, column] - low) / (1.0 - low) > 0.62
        panel.text(
            column, row, f"{tau[row, column]:.2f}", ha="center", va="center", fontsize=size,
            color="#111111" if light else "white",
        )  # fmt: skip
