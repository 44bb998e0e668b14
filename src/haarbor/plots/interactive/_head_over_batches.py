"""Score of one head on every batch, compared with all heads."""

from __future__ import annotations

from typing import Any

import numpy as np

from haarbor.analysis import asked_part, head_scores
from haarbor.errors import DataError, SettingError
from haarbor.head_labels import head_label
from haarbor.options import found_text
from haarbor.plots.interactive._graph_objects import graph_objects, in_page_style
from haarbor.plots.interactive._heads import head_index
from haarbor.store import Run

__all__ = ["over_batches_figure"]


def over_batches_figure(run: Run, head: int | str, score: str = "entropy") -> Any:
    """Score of a head over the batches, with the median and the middle 80 % of all heads.

    Parameters
    ----------
    run : Run
        Organised.
    head : int or str
        Its number, or "layer.head".
    score : str, default "entropy"
        A name of :func:`haarbor.analysis.head_scores` that every batch has.

    Returns
    -------
    plotly.graph_objects.Figure

    Raises
    ------
    SettingError
        If a batch has no such score.
    """
    go = graph_objects()
    index, part = head_index(run, head), asked_part(run)
    each = [{s.name: s for s in head_scores(part, batch=batch)} for batch in run.batches]
    if not each:
        raise DataError("the run must have at least one complete batch; it has none. Capture again.")
    if not isinstance(score, str) or not all(score in found for found in each):
        raise SettingError(
            f"score must be one that every batch holds, {', '.join(each[0])}; found {found_text(score)}. "
            "Choose one."
        )
    table = np.stack([found[score].values for found in each])
    x = [str(batch) for batch in run.batches]
    low, middle, high = np.nanquantile(table, [0.1, 0.5, 0.9], axis=1)
    name = head_label(*divmod(index, run.heads_per_layer))
    figure = go.Figure(
        [
            go.Scatter(x=x, y=high, mode="lines", line={"width": 0}, showlegend=False, hoverinfo="skip"),
            go.Scatter(
                x=x, y=low, mode="lines", line={"width": 0}, fill="tonexty", name="middle 80 %",
                fillcolor="rgba(127,140,150,0.22)", hoverinfo="skip",
            ),
            go.Scatter(x=x, y=middle, mode="lines", line={"dash": "dot", "color": "#5d6b79"}, name="median"),
            go.Scatter(x=x, y=table[:, index], mode="lines+markers", line={"color": "#d55e00"}, name=name),
        ]
    )  # fmt: skip
    in_page_style(figure, f"{each[0][score].label} of head {name} over batches", height=360)
    figure.update_xaxes(title_text="batch", type="category")
    return figure
