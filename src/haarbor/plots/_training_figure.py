"""A training as a film: what changes from checkpoint to checkpoint."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from haarbor.array_types import FloatArray
from haarbor.compare import SINK_SHARE, TrainingFilm
from haarbor.diagnostics import TYPES
from haarbor.options import require_kind
from haarbor.plots._head_types_figure import TYPE_COLOURS
from haarbor.plots.style._figure_text import add_title
from haarbor.plots.style._house_style import (
    LINE_COLOURS,
    PAGE_WIDTH,
    PALE_INK,
    blank_figure,
    colour_bar,
    in_house_style,
    layer_colours,
)

__all__ = ["training_figure"]


@in_house_style
def training_figure(film: TrainingFilm, *, title: str | None = None) -> Figure:
    """Draw the trajectories of a training against its steps, on a logarithmic scale.

    One line per layer for the distance to the last checkpoint, the entropies and the attention to the first
    token (its thin lines are heads), and one for each thing that the whole network has. Where the types of
    the heads are known, a bar per checkpoint says how many there are of each.

    Parameters
    ----------
    film : TrainingFilm
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    SettingError
        If `film` is none.

    See Also
    --------
    haarbor.training_film : A network through its training.
    """
    require_kind("film", film, TrainingFilm, "Pass what training_film gives.")
    figure = blank_figure(PAGE_WIDTH, 6.9 if film.types else 4.9)
    # The bars of types have a legend beside them, which must not push the panels above together.
    upper: Any = figure
    lower: Any = None
    if film.types:
        parts: Any = figure.subfigures(2, 1, height_ratios=(4.9, 2.0))
        upper, lower = parts
    panels = upper.subplots(2, 3 if film.residuals is not None else 2, squeeze=False)
    _draw_layers(panels[0, 0], film, film.by_layer("distances_to_last"))
    panels[0, 0].set_title("distance to the last checkpoint")
    panels[0, 0].set_ylabel("over that of different heads")
    _draw_layers(panels[0, 1], film, film.by_layer("entropies"))
    panels[0, 1].set_title("Haar entropy of the heads")
    panels[0, 1].set_ylabel("normalised, mean of a layer")
    _draw_sinks(panels[1, 0], film)
    _draw_trees(panels[1, 1], film)
    if film.residuals is not None:
        _draw_residuals(panels[0, 2], film, film.residuals)
        _draw_network(panels[1, 2], film)
    for panel in panels.flat:
        _set_steps(panel, film.steps)
    if film.n_layers > 1:
        colours = ScalarMappable(
            BoundaryNorm(np.arange(film.n_layers + 1) - 0.5, film.n_layers), layer_colours(film.n_layers)
        )
        bar = colour_bar(upper, colours, panels, label="layer", pad=0.02, aspect=40)
        bar.ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        bar.ax.minorticks_off()
    if lower is not None:
        _draw_types(lower.subplots(), film)
    add_title(figure, title)
    return figure


def _draw_types(panel: Axes, film: TrainingFilm) -> None:
    counts = film.type_counts()
    places = np.arange(film.steps.size)
    below = np.zeros(film.steps.size)
    for name, found in counts.items():
        colour = TYPE_COLOURS[list(TYPES).index(name)]
        panel.bar(places, found, bottom=below, color=colour, width=0.8, label=name)
        below += found
    panel.set_xticks(places, [f"{step:g}" for step in film.steps])
    panel.set_xlim(-0.6, film.steps.size - 0.4)
    panel.set_ylim(0, len(film.types[0]))
    panel.yaxis.set_major_locator(MaxNLocator(integer=True))
    panel.set_title("types of the heads")
    panel.set_ylabel("heads")
    panel.set_xlabel("step")
    handles, labels = panel.get_legend_handles_labels()
    # In the order of the bars, the uppermost first.
    panel.legend(handles[::-1], labels[::-1], loc="center left", bbox_to_anchor=(1.01, 0.5), handlelength=1.2)


def _draw_layers(panel: Axes, film: TrainingFilm, values: FloatArray) -> None:
    colours = layer_colours(film.n_layers)
    for layer in range(film.n_layers):
        panel.plot(film.steps, values[:, layer], color=colours(layer), marker="o", markersize=2.2)
    panel.set_ylim(bottom=0.0)


def _draw_sinks(panel: Axes, film: TrainingFilm) -> None:
    colours = layer_colours(film.n_layers)
    for head in range(film.sink_shares.shape[1]):
        colour = colours(head // film.heads_per_layer)
        panel.plot(film.steps, film.sink_shares[:, head], color=colour, linewidth=0.4, alpha=0.6)
    panel.axhline(SINK_SHARE, color=PALE_INK, linewidth=0.8, linestyle=":")
    panel.annotate(
        "sinks above", (0.0, SINK_SHARE), xycoords=("axes fraction", "data"), ha="left", va="bottom",
        fontsize=6.5, color=PALE_INK, xytext=(3, 1), textcoords="offset points",
    )  # fmt: skip
    panel.set_ylim(bottom=0.0)
    panel.set_title("attention to the first token")
    panel.set_ylabel("mean share, every head")


def _draw_trees(panel: Axes, film: TrainingFilm) -> None:
    panel.plot(
        film.steps, film.tree_correlations, color=LINE_COLOURS[0], marker="o", markersize=2.8,
        label="head tree, as the last",
    )  # fmt: skip
    panel.plot(
        film.steps, film.structure, color=LINE_COLOURS[1], marker="s", markersize=2.8,
        label="token trees, gain",
    )  # fmt: skip
    panel.set_title("trees")
    panel.set_ylabel("correlation, share of the l1 norm")
    # Above the lines, wherever they run.
    panel.set_ylim(top=1.45)
    panel.legend(loc="upper left", handlelength=2.0)


def _draw_residuals(panel: Axes, film: TrainingFilm, residuals: FloatArray) -> None:
    colours = layer_colours(film.n_layers)
    for depth in range(1, residuals.shape[1]):
        colour = colours(min(depth - 1, film.n_layers - 1))
        panel.plot(film.steps, residuals[:, depth], color=colour, marker="o", markersize=2.2)
    panel.set_ylim(bottom=0.0)
    panel.set_title("residual of the tokens")
    panel.set_ylabel("after each layer (0: all the same)")


def _draw_network(panel: Axes, film: TrainingFilm) -> None:
    panel.plot(film.steps, film.network_entropies, color=LINE_COLOURS[2], marker="D", markersize=2.8)
    panel.set_ylim(bottom=0.0)
    panel.set_title("entropy of the network")
    panel.set_ylabel("normalised")


def _set_steps(panel: Axes, steps: FloatArray) -> None:
    panel.grid(axis="y")
    positive = steps[steps > 0]
    # Step 0 has no place on a logarithmic axis.
    threshold = float(positive.min()) if positive.size else 1.0
    panel.set_xscale("symlog", linthresh=threshold, linscale=0.5)
    panel.set_xlim(float(steps[0]) - 0.05 * threshold, float(steps[-1]) * 1.25)
    panel.set_xlabel("step")
