"""Haar coefficients of a head by level of the trees of queries and keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from haarbor.analysis import asked_part, valid_tokens
from haarbor.head_labels import head_label
from haarbor.plots.interactive._graph_objects import graph_objects, in_page_style
from haarbor.plots.interactive._heads import batch_index, head_index
from haarbor.store import Run
from haarbor.wavelets import haar_scales

__all__ = ["haar_scales_figure"]


def haar_scales_figure(run: Run, head: int | str, *, batch: int | None = None) -> Any:
    """Sums of absolute Haar coefficients of a head, scale by scale.

    Parameters
    ----------
    run : Run
        Organised.
    head : int or str
        Its number, or "layer.head".
    batch : int, optional
        The first complete one if not given.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    go = graph_objects()
    index, part = head_index(run, head), asked_part(run)
    place = batch_index(run, batch)
    tokens = valid_tokens(part.tensor(place), part.mask(place))
    organization = part.load_result("organization", batch=place)
    values = tokens.filled(part.content)[:, :, index : index + 1]
    found = haar_scales(values, organization.trees)
    trace = go.Heatmap(
        z=np.sqrt(found.by_level[0]),
        customdata=found.by_level[0],
        x=["constant", *map(str, found.key_levels)],
        y=["constant", *map(str, found.query_levels)],
        colorscale="Viridis",
        showscale=False,
        text=[[f"{value:.2g}" for value in row] for row in found.by_level[0]],
        texttemplate="%{text}",
        hovertemplate="query level %{y}, key level %{x}: %{customdata:.4g}<extra></extra>",
    )
    title = f"Haar coefficients of head {head_label(*divmod(index, run.heads_per_layer))} by scale"
    figure = in_page_style(go.Figure(trace), title)
    figure.update_xaxes(title_text="level of the key tree", type="category")
    return figure.update_yaxes(title_text="level of the query tree", type="category", autorange="reversed")
