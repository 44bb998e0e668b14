"""Networks compared: head against head, layer against layer, entropies by depth."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from haarbor.array_types import FloatArray
from haarbor.compare import Comparison, RunComparison
from haarbor.options import require_kind
from haarbor.plots.style._figure_text import add_title, plain_text
from haarbor.plots.style._house_style import (
    INK,
    LINE_COLOURS,
    PAGE_WIDTH,
    PALE_INK,
    blank_figure,
    bordered,
    colour_bar,
    in_house_style,
    label_size,
    layer_colours,
    matrix_colours,
)

__all__ = ["comparison_figure"]

_MARKERS = "os^DvP"
_MOST_LETTERS = 28
_NUMBERED = 10


@in_house_style
def comparison_figure(comparison: Comparison, *, title: str | None = None) -> Figure:
    """Draw a comparison of runs.

    Of two runs: the distance of every head of one to every head of the other with the matched ones marked,
    the alignment (CKA) of their layers, the distance of each matched pair, and the entropies of the heads
    by depth. Of more: the distance of every two runs, and the entropies by depth.

    Parameters
    ----------
    comparison : Comparison
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    SettingError
        If `comparison` is none.

    See Also
    --------
    haarbor.compare_runs : Runs compared.
    """
    require_kind("comparison", comparison, Comparison, "Pass what compare_runs gives.")
    figure = _pair_figure(comparison.pairs[0]) if len(comparison.pairs) == 1 else _several_figure(comparison)
    add_title(figure, title)
    return figure


def _pair_figure(pair: RunComparison) -> Figure:
    has_tokens = pair.distances is not None
    figure = blank_figure(PAGE_WIDTH, 5.6 if has_tokens else 3.0)
    panels = figure.subplots(2 if has_tokens else 1, 2, squeeze=False)
    _draw_heads(figure, panels[0, 0], pair)
    if has_tokens:
        _draw_alignment(figure, panels[0, 1], pair)
        _draw_pairs(panels[1, 0], pair)
    last = panels[-1, 1]
    profiles = [(pair.names[side], pair.entropies[side], pair.layers[side]) for side in (0, 1)]
    _draw_entropies(last, profiles)
    return figure


def _several_figure(comparison: Comparison) -> Figure:
    figure = blank_figure(PAGE_WIDTH, 2.9)
    matrix, lines = figure.subplots(1, 2)
    distances = comparison.distances()
    most = max(1.0, float(np.nanmax(distances)))
    image = matrix.imshow(distances, cmap=matrix_colours().reversed(), vmin=0.0, vmax=most)
    bordered(matrix)
    n_runs = len(comparison.names)
    size = label_size(2.4 / n_runs) or 4.6
    names = [_short(name) for name in comparison.names]
    names = [f"{number + 1}  {name}" for number, name in enumerate(names)]
    matrix.set_xticks(range(n_runs), [str(number + 1) for number in range(n_runs)], fontsize=size)
    matrix.set_yticks(range(n_runs), names, fontsize=size)
    if n_runs <= _NUMBERED:
        for one in range(n_runs):
            for two in range(n_runs):
                value = distances[one, two]
                dark = value > 0.55 * most
                matrix.text(
                    two, one, f"{value:.2f}", ha="center", va="center", fontsize=6.5,
                    color="white" if dark else INK,
                )  # fmt: skip
    matrix.set_title("distance, over chance")
    colour_bar(figure, image, matrix, pad=0.02, aspect=28)
    profiles, drawn = [], set()
    for pair in comparison.pairs:
        for side in (0, 1):
            if pair.names[side] not in drawn:
                drawn.add(pair.names[side])
                profiles.append((pair.names[side], pair.entropies[side], pair.layers[side]))
    _draw_entropies(lines, profiles, with_heads=False)
    return figure


def _draw_heads(figure: Figure, panel: Axes, pair: RunComparison) -> None:
    """Distance of every two heads, and the matched ones."""
    shape = [pair.layers[side] * pair.heads_per_layer[side] for side in (0, 1)]
    if pair.distances is not None:
        relative = pair.distances / (pair.chance or 1.0)
        image = panel.imshow(relative, cmap=matrix_colours().reversed(), vmin=0.0, aspect="auto")
        colour_bar(figure, image, panel, label="distance, over chance", pad=0.02, aspect=28)
    bordered(panel)
    panel.set_xlim(-0.5, shape[1] - 0.5)
    panel.set_ylim(shape[0] - 0.5, -0.5)
    panel.scatter(
        pair.pairs[:, 1], pair.pairs[:, 0], s=min(14.0, 700 / max(shape)), marker="o",
        facecolors="none", edgecolors=LINE_COLOURS[0], linewidths=0.8,
    )  # fmt: skip
    for side, axis in ((1, panel.xaxis), (0, panel.yaxis)):
        heads = pair.heads_per_layer[side]
        step = -(-pair.layers[side] // 12)
        chosen = np.arange(0, pair.layers[side], step)
        axis.set_ticks((chosen + 0.5) * heads - 0.5, [str(layer) for layer in chosen])
    panel.set_xlabel(f"head by layer, {_short(pair.names[1])}")
    panel.set_ylabel(f"head by layer, {_short(pair.names[0])}")
    panel.set_title(f"heads, matched by {pair.method}")


def _draw_alignment(figure: Figure, panel: Axes, pair: RunComparison) -> None:
    assert pair.cka is not None
    image = panel.imshow(pair.cka, cmap=matrix_colours(), vmin=min(0.0, _least(pair.cka)), vmax=1.0)
    bordered(panel)
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    panel.set_xlabel(f"layer, {_short(pair.names[1])}")
    panel.set_ylabel(f"layer, {_short(pair.names[0])}")
    panel.set_title("linear CKA of the layers' attention")
    colour_bar(figure, image, panel, pad=0.02, aspect=28)


def _draw_pairs(panel: Axes, pair: RunComparison) -> None:
    """Distance of each matched pair, nearest first."""
    assert pair.matched is not None
    values = np.sort(pair.matched) / (pair.chance or 1.0)
    panel.grid(axis="y")
    panel.plot(np.arange(1, values.size + 1), values, color=LINE_COLOURS[0], marker="o", markersize=2.5)
    panel.axhline(1.0, color=PALE_INK, linewidth=0.8, linestyle=":")
    panel.annotate(
        "pairs by chance", (1.0, 1.0), xycoords=("axes fraction", "data"), ha="right", va="bottom",
        fontsize=6.5, color=PALE_INK,
    )  # fmt: skip
    panel.set_ylim(0.0, max(1.15, 1.05 * float(values.max())))
    panel.set_xlabel("matched pairs, nearest first")
    panel.set_ylabel("distance, over chance")
    panel.set_title(_tested(pair))


def _tested(pair: RunComparison) -> str:
    if pair.test is None:
        return "distance of matched heads"
    if np.isnan(pair.test.alikeness):
        return "all heads are the same"
    return f"alikeness {pair.test.alikeness:.2f} on unseen tokens, p = {pair.test.p_value:.3g}"


def _draw_entropies(
    panel: Axes, profiles: list[tuple[str, FloatArray, int]], *, with_heads: bool = True
) -> None:
    """Mean entropy of the layers by depth; behind it every head."""
    panel.grid(axis="y")
    shades = layer_colours(len(profiles))
    for number, (name, values, n_layers) in enumerate(profiles):
        few = len(profiles) <= len(LINE_COLOURS)
        colour = LINE_COLOURS[number] if few else shades(number)
        depth = (np.arange(n_layers) + 0.5) / n_layers
        layers = values.reshape(n_layers, -1)
        if with_heads:
            across = np.repeat(depth, layers.shape[1])
            panel.scatter(across, layers.ravel(), s=5, color=colour, alpha=0.35, linewidths=0)
        panel.plot(
            depth, layers.mean(axis=1), color=colour, marker=_MARKERS[number % len(_MARKERS)], markersize=3,
            label=_short(name),
        )  # fmt: skip
    panel.set_xlim(0.0, 1.0)
    panel.set_ylim(bottom=0.0)
    panel.set_xlabel("depth (0: first layer, 1: last)")
    panel.set_ylabel("Haar entropy, normalised")
    panel.set_title("entropies of the heads by depth")
    if len(profiles) <= len(LINE_COLOURS):
        panel.legend(loc="best", handlelength=2.0)


def _least(values: FloatArray) -> float:
    known = values[np.isfinite(values)]
    return float(known.min()) if known.size else 0.0


def _short(name: str) -> str:
    shown = plain_text(name)
    return shown if len(shown) <= _MOST_LETTERS else shown[: _MOST_LETTERS - 1] + "…"
