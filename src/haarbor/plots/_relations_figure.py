"""Rank correlations of Haar scores with head diagnostics, for several networks side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from haarbor.array_types import FloatArray
from haarbor.diagnostics import ScoreRelations
from haarbor.errors import SettingError
from haarbor.options import require_choice
from haarbor.plots.style._figure_text import add_title, plain_text
from haarbor.plots.style._house_style import (
    INK,
    PAGE_WIDTH,
    blank_figure,
    colour_bar,
    in_house_style,
    signed_colours,
)

__all__ = ["relations_figure"]


@in_house_style
def relations_figure(
    relations: Sequence[ScoreRelations], *, score: str = "entropy", title: str | None = None
) -> Figure:
    """Two grids of diagnostics and networks: the rank correlations of a Haar score, and what is left of them.

    On the left the correlations as they are, on the right those at equal attention entropy. An empty cell has
    no number: the network has no such diagnostic, or it is the same for all heads.

    Parameters
    ----------
    relations : sequence of ScoreRelations
        One per network.
    score : str, default "entropy"
        A Haar score that all of them have.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    SettingError
        If there is no network, or one has no such score.

    See Also
    --------
    haarbor.diagnostics.score_relations : Haar scores against diagnostics.
    """
    if not relations:
        raise SettingError("there must be a network to draw; found none. Pass what score_relations gives.")
    for found in relations:
        require_choice("score", score, found.haar)
    names = list(dict.fromkeys(name for found in relations for name in found.diagnostics))
    figure = blank_figure(PAGE_WIDTH, 0.17 * len(names) + 1.5)
    panels = figure.subplots(1, 2, sharey=True)
    image = None
    for axes, field, heading in zip(
        panels,
        ("correlations", "beyond"),
        ("rank correlation", "at equal attention entropy"),
        strict=True,
    ):
        grid = np.full((len(names), len(relations)), np.nan)
        for column, found in enumerate(relations):
            values: FloatArray = getattr(found, field)[found.haar.index(score)]
            for name, value in zip(found.diagnostics, values, strict=True):
                grid[names.index(name), column] = value
        image = axes.imshow(
            np.ma.masked_invalid(grid), cmap=signed_colours(), vmin=-1, vmax=1, aspect="auto",
            interpolation="nearest",
        )  # fmt: skip
        for (row, column), value in np.ndenumerate(grid):
            if np.isfinite(value):
                # Without the zero, -0.04 would be "-0.0".
                text = f"{round(value, 1) + 0.0:.1f}".replace("-", "\u2212")
                colour = "white" if abs(value) > 0.7 else INK
                axes.text(column, row, text, ha="center", va="center", fontsize=5.2, color=colour)
        axes.set_title(heading)
        axes.set_xticks(
            range(len(relations)), [plain_text(found.network) for found in relations], rotation=45, ha="right"
        )
        axes.set_yticks(range(len(names)), [plain_text(name) for name in names])
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
    if image is not None:
        colour_bar(figure, image, panels[1], label=plain_text(f"with {score}"), pad=0.02, aspect=30)
    add_title(figure, title)
    return figure
