"""A partition tree, drawn by levels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from haarbor.array_types import AnyArray, IntArray
from haarbor.errors import SettingError
from haarbor.options import found_text
from haarbor.plots._leaf_places import checked_order, leaf_places
from haarbor.plots.style._figure_text import add_title, checked_labels
from haarbor.plots.style._head_layers import HeadLayers, add_layer_bar, checked_head_layers
from haarbor.plots.style._house_style import PAGE_WIDTH, PALE_INK, blank_figure, in_house_style, label_size
from haarbor.trees import CollapsedTree, PartitionTree, drawn_tree

__all__ = ["draw_tree", "tree_figure"]

_MARGIN = 0.75


@in_house_style
def tree_figure(
    tree: PartitionTree,
    *,
    order: npt.ArrayLike | None = None,
    head_layers: npt.ArrayLike | None = None,
    labels: Sequence[str] | None = None,
    width: float | None = None,
    title: str | None = None,
) -> Figure:
    """Tree with the root on top, one row per level, leaves below in leaf order.

    A folder that does not split is a straight line down. Folders whose leaves are all of one layer
    have its colour, mixed ones are grey. In a tree of more than 20 levels a chain, a row of folders from
    which small parts come off one after another, is drawn as one folder with the number of its steps.

    Parameters
    ----------
    tree : PartitionTree
    order : array_like of int, shape (n_items,), optional
        Leaf order, as ``organization.order(axis)``; by smallest item if not given.
    head_layers : array_like of int, shape (n_items,), optional
        Layer of each leaf, if the leaves are heads.
    labels : sequence of str, one per leaf, optional
        "layer.head" by default where layers are given, else the item's number. Shown where they
        fit, in two rows if need be.
    width : float, optional
        In inches; by default as the leaves need, up to a page.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ShapeError, TreeError
        If the order tears a folder apart, or there is not one layer or label per leaf.

    See Also
    --------
    haarbor.PartitionTree : The tree itself.
    haarbor.plots.organized_matrix_figure : Draws a head in tree order.
    """
    leaves = checked_order(order, tree)
    layers = checked_head_layers(head_layers, tree.n_items)
    names = checked_labels("labels", labels, tree.n_items) or list(layers.names)
    if width is not None and not (isinstance(width, int | float) and 0 < width < float("inf")):
        raise SettingError(f"width must be a number of inches; found {found_text(width)}. Pass such as 5.0.")
    inches = width if width is not None else float(np.clip(0.16 * tree.n_items + 1.2, 3.4, PAGE_WIDTH))
    spacing = (inches - _MARGIN) / tree.n_items
    height = float(np.clip(0.34 * drawn_tree(tree).tree.n_levels + 1.0, 1.4, 5.5))
    figure = blank_figure(inches, height + (0.35 if layers.n_layers > 1 else 0.0))
    panel = figure.subplots()
    draw_tree(panel, tree, leaves, layers, names, spacing)
    add_layer_bar(figure, panel, layers, location="bottom", pad=0.04, aspect=50, shrink=0.6)
    add_title(figure, title)
    return figure


def draw_tree(
    panel: Axes, tree: PartitionTree, leaves: IntArray, layers: HeadLayers, names: list[str], spacing: float
) -> None:
    """Draw a tree into `panel`, its leaves in the order `leaves` and `spacing` inches apart.

    See Also
    --------
    haarbor.plots.tree_figure : Draws a tree.
    """
    drawn = drawn_tree(tree)
    tree = drawn.tree
    segments, folders = _segments(tree, leaves)
    thin = float(np.clip(72 * spacing / 7, 0.45, 1.0))
    panel.add_collection(
        LineCollection(
            list(segments), colors=_folder_colours(tree, layers)[folders], linewidths=thin, gid="folders"
        )
    )
    bottom = tree.n_levels - 1
    size = float(np.clip(72 * spacing * 0.85, 1.2, 5.0))
    panel.scatter(
        np.arange(tree.n_items), np.full(tree.n_items, bottom), s=size**2, marker="s", linewidths=0,
        c=layers.head_colours[leaves], gid="leaves", clip_on=False, zorder=3,
    )  # fmt: skip
    panel.set_xlim(-0.8, tree.n_items - 0.2)
    panel.set_ylim(bottom + 0.12, -0.25)
    panel.set_ylabel("level" if drawn.steps.max() <= 1 else "level, chains as one")
    panel.yaxis.set_major_locator(MaxNLocator(12, integer=True, min_n_ticks=1))
    for side in ("bottom", "left"):
        panel.spines[side].set_visible(False)
    panel.grid(axis="y")
    panel.set_axisbelow(True)
    panel.tick_params(axis="y", length=0)
    panel.set_xticks([])
    _add_leaf_names(panel, [names[item] for item in leaves], spacing, bottom)
    _add_step_counts(panel, drawn, leaves)


def _add_step_counts(panel: Axes, drawn: CollapsedTree, leaves: IntArray) -> None:
    """Write the number of steps on the bars that stand for a chain."""
    middle = leaf_places(drawn.tree, leaves).middle
    for folder in np.flatnonzero(drawn.steps > 1):
        panel.annotate(
            f"{drawn.steps[folder]} steps", (middle[folder], drawn.tree.pruned.last_level[folder]),
            xytext=(0, 1.5), textcoords="offset points", ha="center", va="bottom", fontsize=5,
            bbox=dict(boxstyle="square,pad=0.1", facecolor="white", linewidth=0), zorder=4,
        )  # fmt: skip


def _segments(tree: PartitionTree, order: IntArray) -> tuple[AnyArray, IntArray]:
    """Lines of the drawing, shape (n, 2, 2), and the folder each belongs to, shape (n,)."""
    pruned = tree.pruned
    middle = leaf_places(tree, order).middle
    below = np.arange(1, pruned.n_folders)
    parent = pruned.parents[below]
    down = np.stack(
        [middle[below], pruned.last_level[parent], middle[below], pruned.last_level[below]], axis=1
    )
    leftmost, rightmost = middle.copy(), middle.copy()
    np.minimum.at(leftmost, parent, middle[below])
    np.maximum.at(rightmost, parent, middle[below])
    split = np.flatnonzero(pruned.sizes > 1)
    across = np.stack(
        [leftmost[split], pruned.last_level[split], rightmost[split], pruned.last_level[split]], axis=1
    )
    # Branches come last, so that those in the colour of a layer are drawn over the grey bars.
    return np.concatenate([across, down]).reshape(-1, 2, 2), np.concatenate([split, below])


def _folder_colours(tree: PartitionTree, layers: HeadLayers) -> AnyArray:
    pruned = tree.pruned
    least, most = np.zeros((2, pruned.n_folders), dtype=np.int64)
    for folder in range(pruned.n_folders):
        members = layers.ranks[pruned.members(folder)]
        least[folder], most[folder] = members.min(), members.max()
    colours = np.asarray(layers.colours(least))
    if layers.n_layers > 1:
        colours[least != most] = (0.62, 0.62, 0.64, 1.0)
    return colours


def _add_leaf_names(panel: Axes, names: list[str], spacing: float, bottom: int) -> None:
    """Write the names below the leaves, in as many rows as they need, up to two, or not at all."""
    n_rows = 1
    size = label_size(spacing)
    if size is None:
        n_rows, size = 2, label_size(2 * spacing, largest=5.5)
    if size is None:
        return
    longest = max(len(name) for name in names[::n_rows])
    deeper = 4.5 + 0.66 * size * longest
    for place, name in enumerate(names):
        second = n_rows == 2 and place % 2 == 1
        panel.annotate(
            name, (place, bottom), xytext=(0, -(deeper + 2.5 if second else 4.5)),
            textcoords="offset points", rotation=90, ha="center", va="top", fontsize=size,
            arrowprops=dict(arrowstyle="-", color=PALE_INK, linewidth=0.25, shrinkA=0, shrinkB=2)
            if second else None,
        )  # fmt: skip
