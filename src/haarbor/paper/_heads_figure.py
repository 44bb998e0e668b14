"""Figure 1 of the paper: heads in the original order, and organised."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from haarbor.paper._inch_page import InchPage
from haarbor.paper._network_heading import network_heading
from haarbor.paper._paper_results import PaperResults
from haarbor.plots.style import (
    CLOSED_COLOUR,
    bordered,
    extend_of,
    in_house_style,
    matrix_colours,
    robust_norm,
)

__all__ = ["paper_heads_figure"]

_MOST_COLUMNS = 4
_LEFT, _GAP, _RIGHT = 0.62, 0.36, 0.12


@in_house_style
def paper_heads_figure(results: Sequence[PaperResults]) -> Figure:
    """Matrices of a few heads of every network: original order above, tree order below.

    Parameters
    ----------
    results : sequence of PaperResults

    Returns
    -------
    matplotlib.figure.Figure
    """
    blocks = [(found, _sizes(found)) for found in results]
    page = InchPage(sum(sizes[3] * sizes[4] + 0.3 for _, sizes in blocks) + 0.1)
    top = 0.08
    for found, (n_columns, width, height, n_rows, row_height) in blocks:
        page.heading(network_heading(found), top)
        top += 0.3
        for row in range(n_rows):
            for column in range(n_columns):
                place = row * n_columns + column
                if place < len(found.shown_heads):
                    left = _LEFT + column * (width + _GAP)
                    _draw_head(page, found, place, left, top, width, height, first=column == 0)
            top += row_height
    return page.figure


def _sizes(found: PaperResults) -> tuple[int, float, float, int, float]:
    """Columns, width and height of a panel, rows of pairs, and their height in inches."""
    n_shown, n_queries, n_keys = found.matrices.shape
    n_columns = int(np.clip(n_shown, 2, _MOST_COLUMNS))
    room = InchPage.width - _LEFT - _RIGHT - (max(n_columns, 3) - 1) * _GAP
    width = room / max(n_columns, 3)
    height = width * float(np.clip(n_queries / n_keys, 0.35, 1.6))
    return n_columns, width, height, -(-n_shown // n_columns), 2 * height + 1.24


def _draw_head(
    page: InchPage, found: PaperResults, place: int, left: float, top: float, width: float, height: float,
    *, first: bool,
) -> None:  # fmt: skip
    """A pair of panels and their colour bar."""
    probabilities = found.content == "probabilities"
    matrix = np.where(found.mask, found.matrices[place].astype(np.float64), np.nan)
    # A head that puts all its weight on one key has a single value, for which a linear scale does.
    positive = matrix[np.isfinite(matrix) & (matrix > 0)]
    scale = "log" if probabilities and positive.size and np.ptp(positive) > 0 else "linear"
    norm = robust_norm(matrix, (0.01, 0.99), scale)  # type: ignore[arg-type]
    letter = chr(ord("a") + place) if place < 26 else str(place)
    rows, columns = found.orders["query"], found.orders["key"]
    upper = page.panel(left, top + 0.22, width, height)
    lower = page.panel(left, top + 0.22 + height + 0.27, width, height)
    for panel, shown in ((upper, matrix), (lower, matrix[np.ix_(rows, columns)])):
        drawn = np.ma.masked_invalid(shown)
        if scale == "log":
            drawn = np.ma.masked_equal(drawn, 0.0)
        image = panel.imshow(
            drawn, cmap=matrix_colours(), norm=norm, aspect="auto", interpolation="nearest", gid="head"
        )
        bordered(panel)
    upper.set_title(f"({letter}) head {found.head_names[found.shown_heads[place]]}")
    for axis in (upper.xaxis, upper.yaxis):
        axis.set_major_locator(MaxNLocator(4, integer=True, min_n_ticks=1))
    upper.tick_params(labelsize=6, pad=1.5)
    lower.set_xticks([])
    lower.set_yticks([])
    lower.set_xlabel("key", labelpad=3)
    if first:
        upper.set_ylabel("query, original order")
        lower.set_ylabel("query, tree order")
        for panel in (upper, lower):
            panel.yaxis.set_label_coords(-0.36 / width, 0.5)
    bar_top = top + 0.22 + 2 * height + 0.27 + 0.26
    bar = page.figure.colorbar(
        image, cax=page.panel(left, bar_top, width, 0.075), orientation="horizontal",
        extend=extend_of(matrix, norm),
    )  # fmt: skip
    bar.outline.set_linewidth(0.4)
    bar.ax.tick_params(labelsize=6, pad=1.5)
    bar.ax.xaxis.set_minor_formatter(NullFormatter())
    if scale == "linear":
        bar.locator = MaxNLocator(4)
        bar.update_ticks()
    elif (norm.vmax or 1.0) < 30 * (norm.vmin or 1.0):
        # With powers of ten alone there would be one tick or none.
        bar.ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        bar.ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _place: f"{value:g}"))
    if first:
        bar.ax.text(
            -0.16 / width, 0.5, "logit" if not probabilities else "weight", transform=bar.ax.transAxes,
            ha="right", va="center", fontsize=7,
        )  # fmt: skip
    closed = _closed_words(found, matrix, scale == "log")
    if closed:
        patch = Patch(facecolor=CLOSED_COLOUR, edgecolor="#b5b5b5", linewidth=0.4, label=closed)
        bar.ax.legend(
            handles=[patch], loc="upper right", bbox_to_anchor=(1.0, -2.6), handlelength=1.0, borderpad=0,
            borderaxespad=0, handletextpad=0.5, fontsize=6,
        )  # fmt: skip


def _closed_words(found: PaperResults, matrix: np.ndarray, logarithmic: bool) -> str:
    words = [] if found.mask.all() else ["masked"]
    if logarithmic and (matrix == 0).any():
        words.append("zero")
    return " or ".join(words)
