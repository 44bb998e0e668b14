"""Figure 4 of the paper: coefficients of two heads, and the Haar functions of the heads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from haarbor.paper._inch_page import InchPage
from haarbor.paper._network_heading import network_heading
from haarbor.paper._paper_results import PaperResults
from haarbor.plots import draw_haar_basis, draw_stems, draw_supports, support_shares
from haarbor.plots.style import (
    PALE_INK,
    HeadLayers,
    add_layer_bar,
    checked_head_layers,
    in_house_style,
)

__all__ = ["paper_expansion_figure"]

_STEMS, _WIDTH, _LEFT = 0.92, 2.95, 0.62
_SIDE = 2.5
_BLOCK = 4.06


@in_house_style
def paper_expansion_figure(results: Sequence[PaperResults]) -> Figure:
    """Coefficients of the heads of highest and lowest entropy, and the Haar functions of the tree of heads.

    Parameters
    ----------
    results : sequence of PaperResults

    Returns
    -------
    matplotlib.figure.Figure
    """
    page = InchPage(_BLOCK * len(results) + 0.05)
    for number, found in enumerate(results):
        top = 0.08 + number * _BLOCK
        layers = checked_head_layers(found.head_layers, found.n_heads)
        page.heading(network_heading(found), top)
        _draw_coefficients(page, found, top + 0.3)
        _draw_basis(page, found, layers, top + 0.3)
    return page.figure


def _draw_coefficients(page: InchPage, found: PaperResults, top: float) -> None:
    n_panels = len(found.expanded_heads)
    shares = support_shares(
        [found.trees["query"], found.trees["key"]], max(1, found.head_coefficients.shape[1])
    )
    panels = [page.panel(_LEFT, top + 0.22 + place * 1.28, _WIDTH, _STEMS) for place in range(n_panels)]
    words = ("highest entropy", "lowest entropy") if n_panels > 1 else ("the only one",)
    for place, (panel, head) in enumerate(zip(panels, found.expanded_heads, strict=True)):
        values = found.head_coefficients[place]
        draw_stems(panel, values)
        panel.set_ylabel("coefficient")
        panel.set_title(f"({'ab'[place]}) head {found.head_names[head]}, {words[place]}")
        panel.set_title(f"constant {values[0]:.3g}", loc="right", color=PALE_INK, fontsize=6.5)
        panel.tick_params(labelbottom=False)
    last = page.panel(_LEFT, top + 0.22 + n_panels * 1.28 - 0.12, _WIDTH, 0.5)
    draw_supports(np.array([*panels, last], dtype=object), shares, least_gap=0.12)
    last.set_xlabel("product function, by decreasing support")
    for panel in panels:
        panel.set_xlim(last.get_xlim())
    for panel in (*panels, last):
        panel.yaxis.set_label_coords(-0.155, 0.5)


def _draw_basis(page: InchPage, found: PaperResults, layers: HeadLayers, top: float) -> None:
    panel = page.panel(4.08, top + 0.22, _SIDE, _SIDE)
    letter = "abc"[len(found.expanded_heads)]
    image = draw_haar_basis(
        panel, found.trees["head"], found.orders["head"], layers, list(found.head_names), "head", _SIDE
    )
    panel.set_title(f"({letter}) Haar functions of the heads")
    cax = page.panel(4.08 + _SIDE + 0.2, top + 0.22, 0.085, _SIDE)
    bar = page.figure.colorbar(image, cax=cax, ticks=[-1, 0, 1])
    bar.outline.set_linewidth(0.4)
    bar.ax.tick_params(labelsize=6, pad=1.5)
    if layers.n_layers > 1:
        cax = page.panel(4.08, top + 0.22 + _SIDE + 0.56, _SIDE, 0.085)
        add_layer_bar(page.figure, None, layers, cax=cax, orientation="horizontal")
