"""Figure 3 of the paper: diffusion map, affinity and tree of the heads in one picture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from haarbor.paper._inch_page import InchPage
from haarbor.paper._network_heading import network_heading
from haarbor.paper._paper_results import PaperResults
from haarbor.plots import draw_affinity, draw_diffusion_map, draw_tree
from haarbor.plots.style import (
    PALE_INK,
    HeadLayers,
    add_layer_bar,
    checked_head_layers,
    in_house_style,
    label_size,
)

__all__ = ["paper_structure_figure"]

_UPPER = 2.95
_SIDE = 2.42
_BAR = 0.5
_LEFT, _RIGHT = 0.5, 0.1


@in_house_style
def paper_structure_figure(results: Sequence[PaperResults]) -> Figure:
    """Diffusion map of the heads, their affinity in tree order, and their tree, for every network.

    Parameters
    ----------
    results : sequence of PaperResults

    Returns
    -------
    matplotlib.figure.Figure
    """
    blocks = [(found, checked_head_layers(found.head_layers, found.n_heads)) for found in results]
    page = InchPage(sum(_height(found, layers) for found, layers in blocks) + 0.1)
    top = 0.08
    for found, layers in blocks:
        page.heading(network_heading(found), top)
        _draw_map(page, found, layers, top + 0.3)
        _draw_affinity(page, found, layers, top + 0.3)
        _draw_tree(page, found, layers, top + 0.3 + _UPPER + 0.32)
        if layers.n_layers > 1:
            bar_top = top + 0.3 + _UPPER + 0.32 + _tree_height(found) + _name_room(found) + 0.1
            cax = page.panel(1.6, bar_top, 4.0, 0.085)
            add_layer_bar(page.figure, None, layers, cax=cax, orientation="horizontal")
        top += _height(found, layers)
    return page.figure


def _height(found: PaperResults, layers: HeadLayers) -> float:
    bar = _BAR if layers.n_layers > 1 else 0.1
    return 0.3 + _UPPER + 0.32 + _tree_height(found) + _name_room(found) + bar


def _tree_height(found: PaperResults) -> float:
    return float(np.clip(0.21 * found.trees["head"].n_levels, 0.9, 2.4))


def _spacing(found: PaperResults) -> float:
    """Inches from leaf to leaf."""
    return (InchPage.width - _LEFT - _RIGHT) / found.n_heads


def _name_room(found: PaperResults) -> float:
    """Inches for the names of the leaves, in one row or two; only a margin where they do not fit."""
    spacing = _spacing(found)
    if label_size(spacing) is not None:
        return 0.4
    return 0.52 if label_size(2 * spacing, largest=5.5) is not None else 0.1


def _draw_map(page: InchPage, found: PaperResults, layers: HeadLayers, top: float) -> None:
    page.text("(a) diffusion map of the heads", 0.12, top + 0.07, fontsize=8.5)
    points = found.head_map.coordinates
    if points.shape[1] == 0:
        page.text("a single head has no map", 1.1, top + 1.4, fontsize=8, color=PALE_INK)
        return
    if points.shape[1] == 3:
        panel = page.panel(-0.12, top + 0.12, 3.65, 2.85, projection="3d")
    else:
        panel = page.panel(0.62, top + 0.32, 2.6, 2.15)
    draw_diffusion_map(panel, points, layers.head_colours)
    for axis in "xyz"[: points.shape[1]]:
        getattr(panel, f"{axis}axis").label.set_size(7)


def _draw_affinity(page: InchPage, found: PaperResults, layers: HeadLayers, top: float) -> None:
    panel = page.panel(4.12, top + 0.26, _SIDE, _SIDE)
    names = list(found.head_names)
    image, extend = draw_affinity(
        panel, found.head_affinity, found.orders["head"], layers, names, "head", _SIDE
    )
    panel.set_title("(b) affinity of the heads")
    bar = page.figure.colorbar(image, cax=page.panel(6.62, top + 0.26, 0.085, _SIDE), extend=extend)
    bar.outline.set_linewidth(0.4)
    bar.ax.tick_params(labelsize=6, pad=1.5)


def _draw_tree(page: InchPage, found: PaperResults, layers: HeadLayers, top: float) -> None:
    panel = page.panel(_LEFT, top, page.width - _LEFT - _RIGHT, _tree_height(found))
    names = list(found.head_names)
    draw_tree(panel, found.trees["head"], found.orders["head"], layers, names, _spacing(found))
    panel.set_title("(c) tree of the heads")
