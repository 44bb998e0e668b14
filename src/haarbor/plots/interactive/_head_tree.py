"""The tree of the heads as an icicle: the root on top, folders over their heads."""

from __future__ import annotations

from typing import Any

import numpy as np

from haarbor.plots.interactive._graph_objects import graph_objects, in_page_style
from haarbor.plots.interactive._heads import heads_of
from haarbor.questionnaire import Organization
from haarbor.store import Run

__all__ = ["head_tree_figure"]


def head_tree_figure(source: Run | Organization, *, heads_per_layer: int | None = None) -> Any:
    """Tree of the heads, coloured by their mean layer; press a folder to zoom in.

    Parameters
    ----------
    source : Run or Organization
    heads_per_layer : int, optional
        For the names of an organisation's heads.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    go = graph_objects()
    heads = heads_of(source, heads_per_layer)
    pruned = heads.tree.pruned
    place = np.argsort(heads.order)
    labels, parents, values, colours, places = [], [], [], [], []
    for folder in range(pruned.n_folders):
        items = _items(pruned, folder)
        single = len(items) == 1
        labels.append(heads.names[items[0]] if single else f"{len(items)} heads")
        parents.append("" if folder == 0 else str(int(pruned.parents[folder])))
        values.append(len(items))
        colours.append(float(np.mean(heads.layers[items])))
        places.append(float(np.mean(place[items])))
    # Plotly draws siblings in the order they are given in, which is to be the leaf order.
    order = sorted(range(pruned.n_folders), key=lambda folder: (places[folder], folder))
    trace = go.Icicle(
        ids=[str(folder) for folder in order],
        labels=[labels[folder] for folder in order],
        parents=[parents[folder] for folder in order],
        values=[values[folder] for folder in order],
        branchvalues="total",
        sort=False,
        tiling={"orientation": "v"},
        marker={
            "colors": [colours[folder] for folder in order],
            "colorscale": "Cividis",
            "colorbar": {"title": {"text": "mean layer"}, "thickness": 12},
            "showscale": True,
        },
        hovertemplate="%{label}, mean layer %{color:.1f}<extra></extra>",
    )
    return in_page_style(go.Figure(trace), "Tree of the heads")


def _items(pruned: Any, folder: int) -> list[int]:
    children = list(pruned.children_of(folder))
    if not children:
        return [int(pruned.first_item[folder])]
    return [item for child in children for item in _items(pruned, int(child))]
