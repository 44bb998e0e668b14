"""Heads in a grid of layers, in the colours of their types."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from haarbor.diagnostics import TYPES, HeadType
from haarbor.errors import ShapeError
from haarbor.plots.style._figure_text import add_title, plain_text
from haarbor.plots.style._head_layers import checked_head_layers
from haarbor.plots.style._house_style import PAGE_WIDTH, blank_figure, in_house_style

__all__ = ["TYPE_COLOURS", "head_types_figure"]

# One for each type, in their order; types that exclude one another share a colour.
TYPE_COLOURS = (
    "#7a3db8", "#b86fd6", "#0072b2", "#56b4e9", "#e69f00", "#d55e00", "#d55e00", "#d55e00",
    "#8c564b", "#8c564b", "#c44e52", "#cc79a7", "#009e73", "#9aa53a", "#1f8a8a", "#b9bfc5",
)  # fmt: skip


@in_house_style
def head_types_figure(
    types: Sequence[HeadType], *, head_layers: npt.ArrayLike | None = None, title: str | None = None
) -> Figure:
    """Type of every head, one column per layer; the legend counts the heads of each type.

    Parameters
    ----------
    types : sequence of HeadType
    head_layers : array_like of int, shape (n_heads,), optional
        Layer of each head.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ShapeError
        If there are no heads, or not one layer per head.

    See Also
    --------
    haarbor.diagnostics.run_types : Types of the heads of a run.
    """
    if not len(types):
        raise ShapeError("there must be a head to draw; found none. Pass what head_types gives.")
    names = list(TYPES)
    layers = checked_head_layers(head_layers, len(types))
    numbers = np.array([names.index(kind.name) for kind in types])
    grid = np.full((int(layers.places.max()) + 1, layers.n_layers), np.nan)
    grid[layers.places, layers.ranks] = numbers
    n_rows, n_columns = grid.shape
    cell = float(np.clip((PAGE_WIDTH - 2.6) / n_columns, 0.06, 0.3))
    figure = blank_figure(max(3.6, cell * n_columns + 2.6), float(np.clip(cell * n_rows, 1.6, 7.0)) + 0.7)
    panel = figure.subplots()
    edges = np.arange(len(names) + 1) - 0.5
    panel.pcolormesh(
        np.arange(n_columns + 1) - 0.5,
        np.arange(n_rows + 1) - 0.5,
        np.ma.masked_invalid(grid),
        cmap=ListedColormap(TYPE_COLOURS),
        norm=BoundaryNorm(edges, len(names)),
        edgecolors="white",
        linewidth=0.8,
    )
    panel.set_ylim(n_rows - 0.5, -0.5)
    for spine in panel.spines.values():
        spine.set_visible(False)
    panel.tick_params(length=0)
    step = -(-n_columns // 20)
    panel.set_xticks(np.arange(0, n_columns, step), [str(layer) for layer in layers.numbers[::step]])
    panel.set_yticks(np.arange(0, n_rows, -(-n_rows // 20)))
    panel.set_xlabel("layer")
    panel.set_ylabel("head")
    if head_layers is None:
        panel.set(xticks=[], xlabel="")
    there = [number for number in range(len(names)) if (numbers == number).any()]
    figure.legend(
        [Patch(color=TYPE_COLOURS[number]) for number in there],
        [plain_text(f"{names[number]}: {(numbers == number).sum()}") for number in there],
        loc="outside right upper",
        handlelength=0.9,
        handleheight=0.9,
    )
    add_title(figure, title)
    return figure
