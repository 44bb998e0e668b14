"""Matrix of a head in its original order and in the order of the trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from haarbor.array_types import AnyArray, FloatArray, IntArray
from haarbor.errors import DataError, SettingError, ShapeError
from haarbor.named_axes import checked_mask
from haarbor.options import found_text, is_whole_number, require_kind
from haarbor.plots.style._colour_limits import extend_of, robust_norm
from haarbor.plots.style._figure_text import add_title, checked_labels, plain_text
from haarbor.plots.style._house_style import (
    CLOSED_COLOUR,
    blank_figure,
    bordered,
    colour_bar,
    in_house_style,
    label_size,
    matrix_colours,
)
from haarbor.questionnaire import Organization
from haarbor.trees import PartitionTree

__all__ = ["organized_matrix_figure"]

_PANEL = 2.75
_LARGEST_PANEL = 5.6


@in_house_style
def organized_matrix_figure(
    X: npt.ArrayLike,
    organization: Organization,
    head: int = 0,
    *,
    mask: npt.ArrayLike | None = None,
    query_labels: Sequence[str] | None = None,
    key_labels: Sequence[str] | None = None,
    scale: Literal["linear", "log"] = "linear",
    quantiles: tuple[float, float] = (0.01, 0.99),
    border_level: int | Mapping[str, int] | None = None,
    title: str | None = None,
) -> Figure:
    """Matrix of one head in its original order and in tree order, side by side on one colour scale.

    Parameters
    ----------
    X : array_like of float, the organised shape
        Axes as in `organization`: (query, key, head), (query, key), or as named there.
    organization : Organization
    head : int, default 0
        Which head; 0 where there is no head axis.
    mask : array_like of bool, shape (n_queries, n_keys) or X.shape, optional
        True where (query, key) is valid; the others are drawn grey. Without a mask, exact zeros are
        drawn grey if the head has no negative entries: softmax gives valid entries more than zero.
    query_labels, key_labels : sequence of str, one per query or key, optional
        Shown where they fit; the figure grows a little for them.
    scale : {"linear", "log"}, default "linear"
        Scale of the colours; "log" suits probabilities.
    quantiles : tuple of two floats, default (0.01, 0.99)
        Quantiles of the valid entries between which the colours run.
    border_level : int or mapping of axis name to int, optional
        Level of the trees whose folder borders are drawn; negative levels count from the leaves.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ShapeError, SettingError, DataError
        If the tensor is not the organised one, an option is not offered, or nothing can be shown.
    TreeError
        If a tree has no level `border_level`.

    See Also
    --------
    haarbor.organize : Trees of one tensor.
    haarbor.plots.tree_figure : Draws a tree.
    """
    require_kind("organization", organization, Organization, "Pass what haarbor.organize gives.")
    rows, columns = _matrix_axes(organization)
    matrix = _shown_matrix(X, organization, head, mask)
    labels = {
        rows: checked_labels("query_labels", query_labels, matrix.shape[0]),
        columns: checked_labels("key_labels", key_labels, matrix.shape[1]),
    }
    norm = robust_norm(matrix, quantiles, scale)
    orders = {rows: organization.order(rows), columns: organization.order(columns)}
    arrangements: tuple[tuple[str, Mapping[str, IntArray]], ...] = (
        ("original", {rows: np.arange(matrix.shape[0]), columns: np.arange(matrix.shape[1])}),
        ("organised", orders),
    )
    width, height = _panel_size(matrix.shape, any(label is not None for label in labels.values()))
    beside, below = _label_room(labels[rows]), _label_room(labels[columns])
    figure = blank_figure(2 * (width + beside) + 1.65, height + below + 0.72, layout="compressed")
    panels = figure.subplots(1, 2)
    for panel, (name, order) in zip(panels, arrangements, strict=True):
        shown = np.ma.masked_invalid(matrix[np.ix_(order[rows], order[columns])])
        if scale == "log":
            shown = np.ma.masked_equal(shown, 0.0)
        image = panel.imshow(
            shown, cmap=matrix_colours(), norm=norm, aspect="equal" if width == height else "auto"
        )
        bordered(panel).set_title(name)
        _name_axis(panel, "x", columns, order[columns], labels[columns], width, name == "organised")
        _name_axis(panel, "y", rows, order[rows], labels[rows], height, name == "organised")
    _add_borders(panels[1], "y", organization.trees[rows], orders[rows], _level(border_level, rows))
    _add_borders(panels[1], "x", organization.trees[columns], orders[columns], _level(border_level, columns))
    bar = colour_bar(
        figure, image, panels, extend=extend_of(matrix, norm), pad=0.02, aspect=24, shrink=0.84, anchor=(0, 1)
    )
    if (rows, columns) == ("query", "key"):
        bar.set_label("attention")
    closed = _closed_text(matrix, mask is not None, scale == "log")
    if closed:
        patch = Patch(facecolor=CLOSED_COLOUR, edgecolor="#b5b5b5", linewidth=0.4, label=closed)
        bar.ax.legend(
            handles=[patch], loc="upper left", bbox_to_anchor=(0.0, -0.07), handlelength=1.0, borderpad=0,
            borderaxespad=0, handletextpad=0.5,
        )  # fmt: skip
    add_title(figure, title)
    return figure


def _matrix_axes(organization: Organization) -> tuple[str, str]:
    names = [axis for axis in organization.axes if axis != "head"]
    if len(names) != 2:
        raise ShapeError(
            f"a matrix needs two axes besides 'head'; the organisation has {organization.axes}."
            " Pass the organisation of queries, keys and heads, or of a matrix."
        )
    if set(names) == {"query", "key"}:
        return "query", "key"
    return names[0], names[1]


def _shown_matrix(
    X: npt.ArrayLike, organization: Organization, head: int, mask: npt.ArrayLike | None
) -> FloatArray:
    """The head's matrix, queries as rows, NaN where it is masked."""
    tensor: AnyArray = np.asarray(X)
    axes = organization.axes
    if tensor.shape != organization.shape:
        raise ShapeError(
            f"the tensor must have the organised shape {organization.shape}; found {tensor.shape}."
            " Pass the tensor that was organised."
        )
    if tensor.dtype.kind not in "fiub":
        raise ShapeError(f"the tensor must hold real numbers; found dtype {tensor.dtype}. Convert it first.")
    n_heads = tensor.shape[axes.index("head")] if "head" in axes else 1
    if isinstance(head, bool) or not isinstance(head, int | np.integer) or not 0 <= head < n_heads:
        raise SettingError(
            f"head must be a whole number in 0..{n_heads - 1}; found {head!r}."
            " Heads are counted through all layers, from 0."
        )
    kept = tuple(axis for axis in axes if axis != "head")

    def of_head(array: AnyArray) -> AnyArray:
        matrix = np.take(array, int(head), axis=axes.index("head")) if "head" in axes else array
        return matrix if kept == _matrix_axes(organization) else matrix.T

    matrix: FloatArray = of_head(tensor).astype(np.float64)
    if mask is not None:
        valid = of_head(np.broadcast_to(checked_mask(mask, axes, tensor.shape), tensor.shape))
    else:
        probabilities = not (matrix < 0).any() and (matrix > 0).any()
        valid = matrix != 0 if probabilities else np.ones(matrix.shape, dtype=bool)
    if not np.isfinite(matrix[valid]).all():
        query, key = np.argwhere(valid & ~np.isfinite(matrix))[0]
        raise DataError(
            f"valid entries must be finite; row {query}, column {key} of head {head} is "
            f"{matrix[query, key]}. Pass mask=(valid query, key entries)."
        )
    return np.where(valid, matrix, np.nan)


def _closed_text(matrix: FloatArray, masked: bool, logarithmic: bool) -> str:
    """Label for what is drawn grey; empty if nothing is."""
    words = []
    if np.isnan(matrix).any():
        words.append("masked" if masked else "zero")
    if logarithmic and (matrix == 0).any():
        words.append("zero")
    return " or ".join(words)


def _panel_size(shape: Sequence[int], labelled: bool) -> tuple[float, float]:
    """Width and height in inches of a panel; unequal where square entries would make a ribbon."""
    n_rows, n_columns = shape
    side = _PANEL
    if labelled:
        needed = 0.075 * max(shape)
        side = max(side, needed) if needed <= _LARGEST_PANEL else side
    ratio = float(np.clip(n_rows / n_columns, 0.35, 1.6))
    return side, side * ratio


def _label_room(labels: list[str] | None) -> float:
    """Inches that labels need beyond what numbers would need."""
    if labels is None:
        return 0.0
    size = label_size(_LARGEST_PANEL / len(labels)) or 0.0
    return max(0.0, 0.62 * size * max(len(label) for label in labels) / 72.0 - 0.15)


def _name_axis(
    panel: Axes, which: Literal["x", "y"], axis: str, order: IntArray, labels: list[str] | None,
    inches: float, in_tree_order: bool,
) -> None:  # fmt: skip
    drawn: Any = panel.xaxis if which == "x" else panel.yaxis
    drawn.set_label_text(plain_text(axis) + (" (tree order)" if in_tree_order else ""))
    size = label_size(inches / order.size)
    if labels is not None and size is not None:
        drawn.set_ticks(np.arange(order.size), [labels[item] for item in order])
        drawn.set_tick_params(labelsize=size, length=1.5, labelrotation=90 if which == "x" else 0)
    elif in_tree_order:
        drawn.set_ticks([])
    else:
        drawn.set_major_locator(MaxNLocator(5, integer=True, min_n_ticks=1))


def _level(border_level: int | Mapping[str, int] | None, axis: str) -> int | None:
    level = border_level.get(axis) if isinstance(border_level, Mapping) else border_level
    if level is not None and not is_whole_number(level):
        raise SettingError(
            f"border_level must be a whole number, or one for each axis; found {found_text(level)}. "
            "Pass the number of a level, or leave it out."
        )
    return level


def _add_borders(
    panel: Axes, which: Literal["x", "y"], tree: PartitionTree, order: IntArray, level: int | None
) -> None:
    if level is None:
        return
    tree.folders(level)
    folder = tree.levels[level][order]
    line = panel.axvline if which == "x" else panel.axhline
    for place in np.flatnonzero(np.diff(folder)) + 0.5:
        line(float(place), color="#4cc3f0", linewidth=0.6)
