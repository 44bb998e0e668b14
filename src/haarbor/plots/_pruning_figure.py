"""A pruning study: damage by several scores, and the heads that go."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from haarbor.analysis import PruningResults
from haarbor.plots.style._drawn_curves import RANDOM, drawn_curves
from haarbor.plots.style._figure_text import add_title, plain_text
from haarbor.plots.style._head_layers import checked_head_layers
from haarbor.plots.style._house_style import LINE_COLOURS, PAGE_WIDTH, PALE_INK, blank_figure, in_house_style

__all__ = ["pruning_figure"]

_MARKERS = "osD^vP*X"


@in_house_style
def pruning_figure(found: PruningResults, *, title: str | None = None) -> Figure:
    """Metric against the share of heads removed, one line per score, beside a grid of the heads that go.

    Of more than ten scores, the recommended one and those that do least damage are drawn, and chance.

    Parameters
    ----------
    found : PruningResults
        As a run keeps it, or from ``PruningStudy.results``.
    title : str, optional
        The model if not given.

    Returns
    -------
    matplotlib.figure.Figure

    See Also
    --------
    haarbor.pruning.pruning_study : Scores, damage and a recommendation.
    haarbor.plots.damage_figure : Draws the curves.
    """
    figure = blank_figure(PAGE_WIDTH, 3.0)
    curves, grid = figure.subplots(1, 2, width_ratios=[1.6, 1.0])
    _draw_curves(curves, found)
    _draw_heads(grid, found)
    add_title(figure, title or f"Heads removed from {found.model}")
    return figure


def _draw_curves(panel: Axes, found: PruningResults) -> None:
    panel.grid(axis="y")
    panel.axhline(found.baseline, color=PALE_INK, linewidth=0.8, linestyle=(0, (4, 3)))
    at_place = {name: float(damage[found.place]) for name, damage in found.damages.items()}
    drawn = drawn_curves(at_place, found.score)
    for number, name in enumerate(drawn):
        chance = name == RANDOM
        errors = found.errors[name]
        panel.errorbar(
            found.shares,
            found.values(name),
            yerr=np.where(np.isfinite(errors), errors, 0.0),
            color=PALE_INK if chance else LINE_COLOURS[number % len(LINE_COLOURS)],
            marker=_MARKERS[number % len(_MARKERS)],
            markersize=3.2,
            elinewidth=0.7,
            linestyle=":" if chance else "-" if number < len(LINE_COLOURS) else "--",
            label=plain_text(f"{name} (recommended)" if name == found.score else name),
        )
    panel.axvline(found.shares[found.place], color=PALE_INK, linewidth=0.6, linestyle=":")
    if found.healing:
        sign = -1.0 if found.higher_is_better else 1.0
        panel.errorbar(
            [found.shares[found.place]],
            [found.baseline + sign * found.healing["damage"]],
            yerr=[found.healing["error"]],
            color="black",
            marker="s",
            markerfacecolor="white",
            markersize=4.5,
            linestyle="none",
            label=f"{found.score} healed, {found.healing['steps']:.0f} steps",
        )
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _place: f"{100 * value:.0f} %"))
    panel.set_xlabel("heads removed; dashed: whole network")
    panel.set_ylabel(
        f"{plain_text(found.metric)} ({'higher' if found.higher_is_better else 'lower'} is better)"
    )
    panel.legend(loc="best", handlelength=3.0)


def _draw_heads(panel: Axes, found: PruningResults) -> None:
    layers = checked_head_layers(found.layers, found.n_heads)
    cells = np.full((int(layers.places.max()) + 1, layers.n_layers), np.nan)
    cells[layers.places, layers.ranks] = found.removed[found.score]
    n_rows, n_columns = cells.shape
    panel.pcolormesh(
        np.arange(n_columns + 1) - 0.5,
        np.arange(n_rows + 1) - 0.5,
        np.ma.masked_invalid(cells),
        cmap="Oranges",
        vmin=-0.15,
        vmax=1.3,
        edgecolors="white",
        linewidth=0.8,
    )
    panel.set_ylim(n_rows - 0.5, -0.5)
    for spine in panel.spines.values():
        spine.set_visible(False)
    panel.tick_params(length=0)
    step = -(-n_columns // 12)
    panel.set_xticks(np.arange(0, n_columns, step), [str(layer) for layer in layers.numbers[::step]])
    panel.set_yticks(np.arange(0, n_rows, -(-n_rows // 12)))
    panel.set_xlabel("layer")
    panel.set_ylabel("head")
    panel.set_title(plain_text(f"{int(found.n_removed[found.place])} heads that go by {found.score}"))
