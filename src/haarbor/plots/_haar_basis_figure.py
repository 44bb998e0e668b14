"""The Haar functions of a tree as an image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.ticker import MaxNLocator

from haarbor.array_types import IntArray
from haarbor.errors import SettingError
from haarbor.options import found_text
from haarbor.plots._leaf_places import checked_order
from haarbor.plots.style._figure_text import add_title, checked_labels, plain_text
from haarbor.plots.style._head_layers import HeadLayers, add_layer_bar, add_layer_strip, checked_head_layers
from haarbor.plots.style._house_style import (
    PALE_INK,
    blank_figure,
    bordered,
    colour_bar,
    in_house_style,
    label_size,
    signed_colours,
)
from haarbor.trees import PartitionTree
from haarbor.wavelets import haar_basis, haar_system

__all__ = ["draw_haar_basis", "haar_basis_figure"]

_SIDE = 4.4


@in_house_style
def haar_basis_figure(
    tree: PartitionTree,
    *,
    order: npt.ArrayLike | None = None,
    head_layers: npt.ArrayLike | None = None,
    labels: Sequence[str] | None = None,
    scale: Literal["function", "basis"] = "function",
    item_name: str = "head",
    title: str | None = None,
) -> Figure:
    """Haar basis of a tree: one row per function, as in `haar_system`, one column per item in tree order.

    White is outside a function's support; orange is its positive part, blue its negative.

    Parameters
    ----------
    tree : PartitionTree
    order : array_like of int, shape (n_items,), optional
        Leaf order, as ``organization.order(axis)``; by smallest item if not given.
    head_layers : array_like of int, shape (n_items,), optional
        Layer of each item, if the items are heads.
    labels : sequence of str, one per item, optional
        Shown where they fit.
    scale : {"function", "basis"}, default "function"
        Whether every function is divided by its largest absolute value, so that wide functions,
        which are low, can be seen; or all are drawn as they are.
    item_name : str, default "head"
        What an item is called on the axis.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ShapeError, TreeError, SettingError
        If the order tears a folder apart, there is not one layer or label per item, or the scale is
        another one.

    See Also
    --------
    haarbor.haar_basis : Their values.
    haarbor.plots.tree_figure : Draws a tree.
    """
    if scale not in ("function", "basis"):
        raise SettingError(
            f"scale must be 'function' or 'basis'; found {found_text(scale)}. Pass one of these."
        )
    leaves = checked_order(order, tree)
    layers = checked_head_layers(head_layers, tree.n_items)
    names = checked_labels("labels", labels, tree.n_items)
    if names is None and head_layers is not None:
        names = list(layers.names)
    figure = blank_figure(_SIDE + 1.35, _SIDE + (1.05 if layers.n_layers > 1 else 0.6), layout="compressed")
    panel = figure.subplots()
    image = draw_haar_basis(panel, tree, leaves, layers, names, plain_text(item_name), _SIDE, scale)
    text = "value / largest of the function" if scale == "function" else "value"
    colour_bar(figure, image, panel, label=text, pad=0.02, aspect=28)
    add_layer_bar(figure, panel, layers, location="bottom", pad=0.03, aspect=40)
    add_title(figure, title)
    return figure


def draw_haar_basis(
    panel: Axes, tree: PartitionTree, leaves: IntArray, layers: HeadLayers, names: list[str] | None,
    item_name: str, side: float, scale: Literal["function", "basis"] = "function",
) -> AxesImage:  # fmt: skip
    """Draw the Haar functions of a tree into `panel`, which is `side` inches wide; return the image.

    See Also
    --------
    haarbor.plots.haar_basis_figure : Draws the functions.
    """
    functions = haar_basis(tree)[:, leaves]
    if scale == "function":
        functions = functions / np.abs(functions).max(axis=1, keepdims=True)
    limit = float(np.abs(functions).max())
    image = panel.imshow(
        np.ma.masked_equal(functions, 0.0), cmap=signed_colours(), vmin=-limit, vmax=limit,
        interpolation="nearest",
    )  # fmt: skip
    bordered(panel)
    panel.set_ylabel("Haar function")
    panel.yaxis.set_major_locator(MaxNLocator(8, integer=True, min_n_ticks=1))
    _add_levels(panel, haar_system(tree).levels, side)
    named = add_layer_strip(panel, layers, leaves, "bottom", 0.025) if layers.n_layers > 1 else panel
    named.set_xlabel(f"{item_name} (tree order)")
    size = label_size(side / tree.n_items)
    if names is not None and size is not None:
        panel.set_xticks(np.arange(tree.n_items), [names[item] for item in leaves])
        named.tick_params(axis="x", labelbottom=True, labelsize=size, length=0, labelrotation=90)
    else:
        panel.set_xticks([])
    if named is not panel:
        panel.tick_params(axis="x", length=0, labelbottom=False)
    return image


def _add_levels(panel: Axes, levels: IntArray, side: float) -> None:
    """Draw a line where the level of the folder changes, and its number right of it."""
    borders = np.flatnonzero(np.diff(levels)) + 1
    begins = np.concatenate([[0], borders])
    ends = np.concatenate([borders, [levels.size]])
    for border in borders:
        panel.axhline(border - 0.5, color=PALE_INK, linewidth=0.4, linestyle=(0, (4, 3)))
    for begin, end in zip(begins, ends, strict=True):
        if (end - begin) * side / levels.size > 0.085:
            panel.annotate(
                str(levels[begin]), (1.0, (begin + end - 1) / 2), xytext=(3, 0),
                xycoords=("axes fraction", "data"), textcoords="offset points", ha="left", va="center",
                fontsize=6, color=PALE_INK,
            )  # fmt: skip
    panel.annotate(
        "level", (1.0, 1.0), xytext=(0, 3), xycoords="axes fraction", textcoords="offset points",
        ha="left", va="bottom", fontsize=6, color=PALE_INK,
    )  # fmt: skip
