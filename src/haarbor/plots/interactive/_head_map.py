"""Grid of all heads, one row per layer, coloured by a score."""

from __future__ import annotations

from typing import Any

from haarbor.analysis import asked_part, head_scores
from haarbor.errors import SettingError
from haarbor.options import found_text
from haarbor.plots.interactive._graph_objects import graph_objects, in_page_style
from haarbor.store import Run

__all__ = ["head_map_figure"]


def head_map_figure(run: Run, score: str = "entropy", *, batch: int | None = None) -> Any:
    """Heads of a run, coloured by a score.

    Parameters
    ----------
    run : Run
        Organised.
    score : str, default "entropy"
        A name of :func:`haarbor.analysis.head_scores`.
    batch : int, optional
        Batch whose scores are shown; the scores over all batches if not given.

    Returns
    -------
    plotly.graph_objects.Figure

    Raises
    ------
    SettingError
        If the run has no such score.
    """
    go = graph_objects()
    part = asked_part(run)
    scores = {found.name: found for found in head_scores(part, batch=batch)}
    if not isinstance(score, str) or score not in scores:
        raise SettingError(
            f"score must be one that the run holds, {', '.join(scores)}; found {found_text(score)}. "
            "Choose one."
        )
    sizes = part.sizes
    values = scores[score].values.reshape(sizes.n_layers, sizes.n_heads)
    trace = go.Heatmap(
        z=values,
        colorscale="Viridis",
        xgap=1,
        ygap=1,
        hovertemplate="layer %{y}, head %{x}: %{z:.4g}<extra></extra>",
    )
    figure = in_page_style(go.Figure(trace), scores[score].label, height=160 + 22 * sizes.n_layers)
    figure.update_xaxes(title_text="head", dtick=1, showgrid=False)
    return figure.update_yaxes(title_text="layer", dtick=1, autorange="reversed", showgrid=False)
