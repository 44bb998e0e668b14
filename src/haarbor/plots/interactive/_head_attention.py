"""Attention of a head in the original and in the organised order, side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from haarbor.analysis import asked_part, valid_tokens
from haarbor.head_labels import head_label
from haarbor.plots.interactive._graph_objects import graph_objects, in_page_style, plain_label
from haarbor.plots.interactive._heads import batch_index, head_index
from haarbor.store import Run

__all__ = ["attention_figure"]


def attention_figure(run: Run, head: int | str, *, batch: int | None = None) -> Any:
    """Matrix of a head twice: in the order of the tokens, and in the order of the trees.

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
        Masked entries are left out; colours follow the square root of probabilities.
    """
    go = graph_objects()
    from plotly.subplots import make_subplots

    index, part = head_index(run, head), asked_part(run)
    place = batch_index(run, batch)
    tokens = valid_tokens(part.tensor(place), part.mask(place))
    labels = part.labels(place)
    names = {
        "query": [f"{i} {plain_label(labels.query[i])}" for i in tokens.queries],
        "key": [f"{i} {plain_label(labels.key[i])}" for i in tokens.keys],
    }
    organization = part.load_result("organization", batch=place)
    values = np.where(tokens.mask, tokens.tensor[:, :, index], np.nan)
    root = part.content == "probabilities"
    orders = [
        {axis: np.arange(len(texts)) for axis, texts in names.items()},
        {axis: organization.order(axis) for axis in names},
    ]
    figure = make_subplots(rows=1, cols=2, subplot_titles=("original order", "organised order"))
    for column, order in enumerate(orders, start=1):
        z = values[np.ix_(order["query"], order["key"])]
        figure.add_trace(
            go.Heatmap(
                z=np.sqrt(z) if root else z,
                customdata=z,
                x=[names["key"][i] for i in order["key"]],
                y=[names["query"][i] for i in order["query"]],
                coloraxis="coloraxis",
                hovertemplate="%{y} to %{x}: %{customdata:.4f}<extra></extra>",
            ),
            row=1,
            col=column,
        )
    name = head_label(*divmod(index, run.heads_per_layer))
    in_page_style(figure, f"Head {name}, batch {place}", height=560)
    figure.update_layout(coloraxis={"colorscale": "Viridis", "showscale": False})
    figure.update_xaxes(type="category", showticklabels=False)
    return figure.update_yaxes(type="category", autorange="reversed", showticklabels=False)
