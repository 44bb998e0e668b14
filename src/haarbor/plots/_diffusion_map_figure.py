"""Items of an axis as points of their diffusion map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator

from haarbor.array_types import FloatArray
from haarbor.errors import DataError, SettingError
from haarbor.options import found_text, is_whole_number, require_kind, require_whole_number
from haarbor.plots.style._figure_text import add_title, checked_labels, plain_text
from haarbor.plots.style._head_layers import HeadLayers, add_layer_bar, checked_head_layers
from haarbor.plots.style._house_style import blank_figure, colour_bar, in_house_style, layer_colours
from haarbor.questionnaire import Organization

__all__ = ["diffusion_map_figure", "draw_diffusion_map"]


@in_house_style
def diffusion_map_figure(
    organization: Organization,
    axis: str = "head",
    *,
    dimensions: Literal[2, 3] = 3,
    time: float = 1.0,
    head_layers: npt.ArrayLike | None = None,
    labels: Sequence[str] | None = None,
    n_outliers: int = 0,
    title: str | None = None,
) -> Figure:
    """Diffusion map of an axis, heads coloured by layer, tokens by position.

    Parameters
    ----------
    organization : Organization
    axis : str, default "head"
    dimensions : {2, 3}, default 3
        How many coordinates are drawn; fewer where there are not so many (two items have one, three
        have two).
    time : float, default 1
        Diffusion time.
    head_layers : array_like of int, shape (n_heads,), optional
        Layer of each head, for the axis "head" alone.
    labels : sequence of str, one per item, optional
        "layer.head" for heads by default, else the item's number.
    n_outliers : int, default 0
        How many items are labelled, those farthest from their nearest neighbour first.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    SettingError
        If an option has a value that is not offered.
    DataError
        If there is a single item: it has no coordinates.

    See Also
    --------
    haarbor.diffusion_map : Coordinates from an affinity.
    haarbor.plots.affinity_figure : Draws an affinity.
    """
    require_kind("organization", organization, Organization, "Pass what haarbor.organize gives.")
    require_kind("axis", axis, str, "Pass the name of an axis.")
    if not is_whole_number(dimensions) or dimensions not in (2, 3):
        raise SettingError(f"dimensions must be 2 or 3; found {found_text(dimensions)}. Pass one of these.")
    if not isinstance(time, int | float | np.number) or isinstance(time, bool):
        raise SettingError(f"time must be a number; found {found_text(time)}. Pass 1.0, or leave it out.")
    require_whole_number("n_outliers", n_outliers)
    if head_layers is not None and axis != "head":
        raise SettingError(f"head_layers belong to the axis 'head'; found axis {axis!r}. Leave them out.")
    points = organization.embedding(axis, dimensions, time)
    n_items, n_drawn = points.shape
    if n_drawn == 0:
        raise DataError(
            f"a diffusion map needs at least two items; the axis {axis!r} has one. Draw its matrix instead."
        )
    layers = checked_head_layers(head_layers, n_items)
    names = checked_labels("labels", labels, n_items) or list(layers.names)
    figure = blank_figure(4.6, 3.5 if n_drawn == 3 else 3.6 if n_drawn == 2 else 1.8)
    panel: Any
    if n_drawn == 3:
        # The layout engine does not know the labels of three-dimensional axes: their room is set by hand.
        figure.set_layout_engine("none")
        panel = figure.add_axes((0.0, 0.05, 0.82, 0.95), projection="3d")
    else:
        panel = figure.subplots()
    colours = layers.head_colours
    if axis != "head":
        colours = layer_colours(256)(np.linspace(0, 1, n_items))
    drawn = draw_diffusion_map(panel, points, colours)
    _add_outlier_names(panel, drawn, names, int(n_outliers))
    _add_bar(figure, panel, axis, n_items, layers, n_drawn)
    add_title(figure, title)
    return figure


def draw_diffusion_map(panel: Any, points: FloatArray, colours: Any) -> FloatArray:
    """Draw items as points with 1, 2 or 3 coordinates into `panel`; return the points drawn.

    Parameters
    ----------
    panel : matplotlib.axes.Axes
        With three dimensions for three coordinates.
    points : ndarray of float, shape (n_items, n_coordinates)
    colours : array_like, shape (n_items, 4)

    Returns
    -------
    ndarray of float, shape (n_items, 2 or 3)
        A single coordinate gets a second one, zero.

    See Also
    --------
    haarbor.plots.diffusion_map_figure : Draws the map.
    """
    n_items, n_drawn = points.shape
    drawn: FloatArray = points if n_drawn > 1 else np.column_stack([points, np.zeros(n_items)])
    size = float(np.clip(2200 / n_items, 9, 34))
    options: dict[str, Any] = {"c": colours, "s": size, "edgecolors": "white", "linewidths": 0.4}
    if n_drawn == 3:
        _add_three_dimensional(panel, drawn, options)
    else:
        panel.scatter(*drawn.T, gid="items", clip_on=False, **options)
        panel.margins(0.08)
        panel.axhline(0, color="#dddddf", linewidth=0.6, zorder=0)
        panel.axvline(0, color="#dddddf", linewidth=0.6, zorder=0)
    for place, name in enumerate(("x", "y", "z")[:n_drawn]):
        getattr(panel, f"set_{name}label")(f"diffusion coordinate {place + 1}")
    if n_drawn == 1:
        panel.set_yticks([])
        panel.spines["left"].set_visible(False)
    return drawn


def _add_three_dimensional(panel: Any, points: FloatArray, options: dict[str, Any]) -> None:
    floor = points[:, 2].min() - 0.12 * max(float(np.ptp(points[:, 2])), 1e-12)
    shadow = points.copy()
    shadow[:, 2] = floor
    # The shadows are drawn first, behind the points; they show where each point stands over the floor.
    panel.scatter(
        *shadow.T, c="#c9c9ce", s=0.35 * options["s"], linewidths=0, depthshade=False, gid="shadows"
    )
    panel.scatter(*points.T, depthshade=False, gid="items", **options)
    panel.set_zlim(bottom=floor)
    panel.view_init(elev=22, azim=-58)
    panel.set_box_aspect((1, 1, 0.85), zoom=1.0)
    for axis in (panel.xaxis, panel.yaxis, panel.zaxis):
        axis.pane.set(facecolor="white", edgecolor="#d5d5d8")
        axis.set_major_locator(MaxNLocator(4))
        axis.set_tick_params(pad=-1, labelsize=6)
        axis.labelpad = -2


def _add_outlier_names(panel: Any, points: FloatArray, names: list[str], n_outliers: int) -> None:
    """Name the items farthest from their nearest neighbour, on the side away from it."""
    from scipy.spatial import KDTree

    # The nearest to every point is the point itself, the second nearest its neighbour.
    distances, nearest = KDTree(points).query(points, k=2)
    for item in np.argsort(-distances[:, 1], kind="stable")[:n_outliers]:
        if points.shape[1] == 3:
            panel.text(
                # The empty second line lifts the name over its point: text in 3-D takes no offset.
                *points[item], names[item] + "\n", fontsize=6, linespacing=0.7, ha="center", va="bottom",
                gid="outlier", zorder=100,
                path_effects=[withStroke(linewidth=1.4, foreground="white")],
            )  # fmt: skip
            continue
        right, up = points[item] >= points[nearest[item, 1]]
        panel.annotate(
            names[item], points[item], xytext=(3.5 if right else -3.5, 2.5 if up else -2.5), gid="outlier",
            textcoords="offset points", fontsize=6, ha="left" if right else "right",
            va="bottom" if up else "top",
        )  # fmt: skip


def _add_bar(figure: Figure, panel: Any, axis: str, n_items: int, layers: HeadLayers, n_drawn: int) -> None:
    place: dict[str, Any] = {"pad": 0.02, "aspect": 24, "shrink": 0.8}
    if n_drawn == 1:
        place = {"location": "top", "aspect": 40}
    if n_drawn == 3 and (axis != "head" or layers.n_layers > 1):
        place = {"cax": figure.add_axes((0.875, 0.22, 0.024, 0.58))}
    if axis == "head":
        add_layer_bar(figure, panel, layers, **place)
        return
    scale = ScalarMappable(norm=Normalize(0, n_items - 1), cmap=layer_colours(256))
    colour_bar(figure, scale, panel, label=plain_text(axis), **place)
