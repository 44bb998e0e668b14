"""Entropy of every head as a line over the heads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from haarbor.plots._entropy_values import Measure, entropy_values
from haarbor.plots.style._figure_text import add_title
from haarbor.plots.style._head_layers import add_layer_shading, checked_head_layers
from haarbor.plots.style._house_style import PAGE_WIDTH, blank_figure, in_house_style
from haarbor.wavelets import HeadEntropy

__all__ = ["entropy_figure"]


@in_house_style
def entropy_figure(
    entropies: HeadEntropy | Sequence[HeadEntropy],
    *,
    measure: Measure = "raw",
    head_layers: npt.ArrayLike | None = None,
    title: str | None = None,
) -> Figure:
    """Entropy of every head as a line over the heads, with every other layer shaded.

    The band is the interval in which the entropy lies for any order of functions of equal support.
    Several batches are drawn as thin lines, with the mean of the batches and of their bands over them.

    Parameters
    ----------
    entropies : HeadEntropy or sequence of HeadEntropy
        One per batch, all of the same heads with the same k and p.
    measure : {"raw", "normalised", "mean_removed"}, default "raw"
    head_layers : array_like of int, shape (n_heads,), optional
        Layer of each head.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    SettingError, ShapeError
        If the batches cannot be compared, or there is not one layer per head.

    See Also
    --------
    haarbor.head_entropy : Entropy of every head.
    haarbor.plots.entropy_map_figure : Draws entropies as a grid.
    haarbor.plots.stability_figure : Draws the agreement.
    """
    found = entropy_values(entropies, measure)
    n_batches, n_heads = found.values.shape
    layers = checked_head_layers(head_layers, n_heads)
    heads = np.arange(n_heads)
    figure = blank_figure(PAGE_WIDTH, 2.4)
    panel = figure.subplots()
    add_layer_shading(panel, layers)
    if n_batches > 1:
        lines = panel.plot(heads, found.values.T, color="#b9b9bf", linewidth=0.4, gid="batch")
        lines[0].set_label(f"{n_batches} batches")
    panel.fill_between(
        heads, found.least.mean(axis=0), found.most.mean(axis=0), color="#56B4E9", alpha=0.4, linewidth=0,
        label="tie interval",
    )  # fmt: skip
    mean = found.values.mean(axis=0)
    thin = float(np.clip(150 / n_heads, 0.45, 1.0))
    panel.plot(
        heads, mean, color="#0072B2", marker="o", markersize=2.4 * thin, linewidth=1.1 * thin, gid="mean",
        label="mean" if n_batches > 1 else "entropy",
    )  # fmt: skip
    panel.set_xlim(-0.5, n_heads - 0.5)
    panel.xaxis.set_major_locator(MaxNLocator(13, integer=True, min_n_ticks=1))
    panel.set_xlabel("head")
    panel.set_ylabel(found.name)
    figure.legend(loc="lower right", ncols=3, borderaxespad=0.2)
    add_title(figure, title)
    return figure
