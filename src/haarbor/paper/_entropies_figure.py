"""Figure 5 of the paper: entropies of the heads over a few batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from haarbor.paper._inch_page import InchPage
from haarbor.paper._network_heading import network_heading
from haarbor.paper._paper_results import PAPER_BATCHES, PaperResults
from haarbor.plots.style import (
    HeadLayers,
    add_layer_shading,
    checked_head_layers,
    in_house_style,
)
from haarbor.wavelets import HeadEntropy, ranking_stability

__all__ = ["paper_entropies_figure"]

_LEFT, _PANEL, _STEP = 0.7, 0.86, 0.97
_TOP, _BOTTOM, _MIDDLE = "#D55E00", "#0072B2", "#9a9aa2"


@in_house_style
def paper_entropies_figure(results: Sequence[PaperResults]) -> Figure:
    """Entropy of every head on up to three batches, one panel per batch.

    On each batch the tenth of the heads with the highest entropy is orange and the tenth with the
    lowest is blue, so that one sees whether they are the same heads. Upright lines show the interval
    in which the entropy lies for any order of functions of equal support.

    Parameters
    ----------
    results : sequence of PaperResults

    Returns
    -------
    matplotlib.figure.Figure
    """
    counts = [min(PAPER_BATCHES["figure5"], len(found.batches)) for found in results]
    page = InchPage(sum(0.42 + _STEP * count + 0.42 for count in counts) + 0.12)
    top = 0.08
    for found, count in zip(results, counts, strict=True):
        layers = checked_head_layers(found.head_layers, found.n_heads)
        page.heading(network_heading(found, batch=False), top)
        entropies = found.head_entropies[:count]
        highest = max(float(entropy.tie_interval.max()) for entropy in entropies)
        for place, entropy in enumerate(entropies):
            panel = page.panel(_LEFT, top + 0.42 + place * _STEP + 0.02, page.width - _LEFT - 0.12, _PANEL)
            _draw_batch(panel, entropy, layers, highest, numbered=place == 0)
            panel.set_ylabel(
                f"({chr(ord('a') + place)}) batch {found.batches[place]}\n$H_{{{entropy.k}}}$", fontsize=7.5
            )
            if place < count - 1:
                panel.tick_params(labelbottom=False)
            else:
                panel.set_xlabel("head")
        page.figure.legend(
            handles=_legend_handles(), loc="upper right", ncols=3,
            bbox_to_anchor=(
                1.0 - 0.1 / page.width, 1.0 - (top + 0.42 + _STEP * count + 0.1) / page.height
            ), borderaxespad=0,
        )  # fmt: skip
        top += 0.42 + _STEP * count + 0.42
    return page.figure


def _draw_batch(
    panel: Axes, entropy: HeadEntropy, layers: HeadLayers, highest: float, *, numbered: bool
) -> None:
    heads = np.arange(len(entropy))
    add_layer_shading(panel, layers, numbered=numbered)
    tenth = ranking_stability(entropy.raw[None, :])
    colours = np.where(tenth.top_counts > 0, _TOP, np.where(tenth.bottom_counts > 0, _BOTTOM, _MIDDLE))
    if len(entropy) == 1:
        colours = np.array([_MIDDLE])
    size = float(np.clip(700 / len(entropy), 3.0, 14.0))
    least, most = entropy.tie_interval.T
    panel.vlines(heads, least, most, colors=colours.tolist(), linewidth=0.8, alpha=0.55, gid="ties")
    panel.scatter(heads, entropy.raw, s=size, c=colours.tolist(), linewidths=0, zorder=3, gid="heads")
    panel.set_xlim(-0.8, len(entropy) - 0.2)
    panel.set_ylim(0.0, 1.12 * highest if highest > 0 else 1.0)
    panel.xaxis.set_major_locator(MaxNLocator(13, integer=True, min_n_ticks=1))
    panel.yaxis.set_major_locator(MaxNLocator(4, min_n_ticks=2))
    panel.yaxis.set_label_coords(-0.055, 0.5)


def _legend_handles() -> list[Line2D]:
    def dot(colour: str, label: str) -> Line2D:
        return Line2D([], [], linestyle="none", marker="o", markersize=3.5, color=colour, label=label)

    return [
        dot(_TOP, "highest tenth"),
        dot(_BOTTOM, "lowest tenth"),
        Line2D(
            [], [], color=_MIDDLE, linewidth=0.9, marker="|", markersize=5, linestyle="none", label="ties"
        ),
    ]
