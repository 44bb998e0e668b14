"""Affinity of the heads in tree order."""

from __future__ import annotations

from typing import Any

import numpy as np

from haarbor.plots.interactive._graph_objects import graph_objects, in_page_style
from haarbor.plots.interactive._heads import heads_of
from haarbor.questionnaire import Organization
from haarbor.store import Run

__all__ = ["affinity_figure"]


def affinity_figure(source: Run | Organization, *, heads_per_layer: int | None = None) -> Any:
    """How alike every two heads are, in the order of their tree.

    Parameters
    ----------
    source : Run or Organization
        An organised run, whose batches are taken together, or one organisation.
    heads_per_layer : int, optional
        For the names of an organisation's heads.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    go = graph_objects()
    heads = heads_of(source, heads_per_layer)
    names = [heads.names[head] for head in heads.order]
    z = np.asarray(heads.affinity)[np.ix_(heads.order, heads.order)]
    trace = go.Heatmap(
        z=z, x=names, y=names, colorscale="Viridis", hovertemplate="%{y} and %{x}: %{z:.3f}<extra></extra>"
    )
    figure = in_page_style(go.Figure(trace), "Affinity of the heads in tree order", height=520)
    figure.update_xaxes(type="category", constrain="domain")
    return figure.update_yaxes(type="category", autorange="reversed", scaleanchor="x")
