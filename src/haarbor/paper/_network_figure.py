"""Figure 6 of the paper: tri-Haar coefficients of the network over a few batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from haarbor.paper._inch_page import InchPage
from haarbor.paper._network_heading import network_heading
from haarbor.paper._paper_results import PaperResults
from haarbor.plots.style import PALE_INK, in_house_style

__all__ = ["paper_network_figure"]

_LEFT, _PANEL, _STEP = 0.62, 0.6, 0.7


@in_house_style
def paper_network_figure(results: Sequence[PaperResults]) -> Figure:
    """Coefficients of the 100 product functions of largest support, on up to five batches.

    The coefficient of the constant is written and not drawn: it would flatten the others.

    Parameters
    ----------
    results : sequence of PaperResults

    Returns
    -------
    matplotlib.figure.Figure
    """
    counts = [len(found.network_coefficients) for found in results]
    page = InchPage(sum(0.34 + _STEP * count + 0.44 for count in counts) + 0.1)
    top = 0.08
    for found, count in zip(results, counts, strict=True):
        page.heading(network_heading(found, batch=False), top)
        rest = np.concatenate([values[1:] for values in found.network_coefficients])
        low, high = min(0.0, float(rest.min(initial=0.0))), max(0.0, float(rest.max(initial=0.0)))
        room = 0.08 * (high - low) if high > low else 1.0
        for place, values in enumerate(found.network_coefficients):
            panel = page.panel(_LEFT, top + 0.34 + place * _STEP, page.width - _LEFT - 0.12, _PANEL)
            ranks = np.arange(2, values.size + 1)
            panel.vlines(ranks, 0.0, values[1:], colors="#0072B2", linewidth=1.6, gid="stems")
            panel.axhline(0.0, color=PALE_INK, linewidth=0.5)
            panel.set_xlim(0.0, max(values.size for values in found.network_coefficients) + 1.0)
            panel.set_ylim(low - room, high + room)
            panel.yaxis.set_major_locator(MaxNLocator(3, min_n_ticks=2))
            panel.text(
                0.994, 0.95, f"batch {found.batches[place]}; constant {values[0]:.4g}, "
                f"H = {np.abs(values).sum():.4g}",
                transform=panel.transAxes, ha="right", va="top", fontsize=6.5, color=PALE_INK,
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 1.0},
            )  # fmt: skip
            if place < count - 1:
                panel.tick_params(labelbottom=False)
            else:
                panel.set_xlabel("product function of query, key and head, by decreasing support")
        middle = top + 0.34 + (count * _STEP - 0.1) / 2
        page.figure.text(
            0.1 / page.width, 1.0 - middle / page.height, "coefficient", rotation=90, va="center",
            ha="left", fontsize=8,
        )  # fmt: skip
        top += 0.34 + _STEP * count + 0.44
    return page.figure
