"""Entropy of every head as a map of layers and heads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from haarbor.array_types import FloatArray
from haarbor.plots._entropy_values import Measure, entropy_values
from haarbor.plots.style._colour_limits import robust_norm
from haarbor.plots.style._figure_text import add_title
from haarbor.plots.style._head_layers import checked_head_layers
from haarbor.plots.style._house_style import (
    PAGE_WIDTH,
    blank_figure,
    colour_bar,
    in_house_style,
    matrix_colours,
)
from haarbor.wavelets import HeadEntropy

__all__ = ["entropy_map_figure"]


@in_house_style
def entropy_map_figure(
    entropies: HeadEntropy | Sequence[HeadEntropy],
    *,
    measure: Measure = "raw",
    head_layers: npt.ArrayLike | None = None,
    title: str | None = None,
) -> Figure:
    """Entropy in a grid of layers and heads, the value written in each cell where it fits.

    Parameters
    ----------
    entropies : HeadEntropy or sequence of HeadEntropy
        One per batch, all of the same heads with the same k and p; the mean is drawn.
    measure : {"raw", "normalised", "mean_removed"}, default "raw"
    head_layers : array_like of int, shape (n_heads,), optional
        Layer of each head. Layers may have different numbers of heads.
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
    haarbor.plots.entropy_figure : Draws entropies as lines.
    """
    found = entropy_values(entropies, measure)
    mean = found.values.mean(axis=0)
    layers = checked_head_layers(head_layers, mean.size)
    grid = np.full((layers.n_layers, int(layers.places.max()) + 1), np.nan)
    grid[layers.ranks, layers.places] = mean
    n_rows, n_columns = grid.shape
    cell = min(0.46, (PAGE_WIDTH - 1.5) / n_columns)
    cell_height = float(np.clip(6.5 / n_rows, 0.1, 0.34 if n_rows > 1 else 0.5))
    figure = blank_figure(max(3.2, cell * n_columns + 1.5), cell_height * n_rows + 0.75)
    panel = figure.subplots()
    norm = robust_norm(grid, (0.0, 1.0))
    image = panel.imshow(
        np.ma.masked_invalid(grid), cmap=matrix_colours(), norm=norm, aspect="auto", interpolation="nearest"
    )
    _add_values(panel, grid, norm, cell, cell_height)
    for spine in panel.spines.values():
        spine.set_visible(False)
    panel.tick_params(length=0)
    step = -(-n_columns // 24)
    panel.set_xticks(np.arange(0, n_columns, step))
    panel.set_xlabel("head")
    step = -(-n_rows // 32)
    panel.set_yticks(np.arange(0, n_rows, step), [str(layer) for layer in layers.numbers[::step]])
    panel.set_ylabel("layer")
    if head_layers is None:
        panel.set(yticks=[], ylabel="")
    colour_bar(figure, image, panel, label=found.name, pad=0.02, aspect=28)
    add_title(figure, title)
    return figure


def _add_values(panel: Axes, grid: FloatArray, norm: Normalize, width: float, height: float) -> None:
    """Write the values into the cells, upright where they are too wide, or not at all."""
    texts = _short_numbers(grid[np.isfinite(grid)])
    letters = max(len(text) for text in texts)
    upright = width < 0.2 <= height
    room, line = (height, width) if upright else (width, height)
    size = min(7.0, 0.9 * 72 * room / (0.64 * letters), 0.8 * 72 * line)
    if size < 4.0:
        return
    for (row, column), text in zip(np.argwhere(np.isfinite(grid)), texts, strict=True):
        colour = matrix_colours()(float(norm(grid[row, column])))
        light = 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2] > 0.5
        panel.text(
            column, row, text, ha="center", va="center", fontsize=size, rotation=90 if upright else 0,
            color="#111111" if light else "white",
        )  # fmt: skip


def _short_numbers(values: FloatArray) -> list[str]:
    """Numbers with the same number of decimals, three figures for the largest.

    Examples
    --------
    >>> _short_numbers(np.array([12.345, 3.0]))
    ['12.3', '3.0']
    """
    largest = float(np.abs(values).max())
    if largest >= 1e5 or 0 < largest < 1e-3:
        return [f"{value:.1e}" for value in values]
    decimals = int(np.clip(2 - np.floor(np.log10(largest)), 0, 4)) if largest > 0 else 0
    return [f"{value:.{decimals}f}" for value in values]
