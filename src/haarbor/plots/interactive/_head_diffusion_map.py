"""Heads as points: their diffusion map."""

from __future__ import annotations

from typing import Any, Literal

from haarbor.errors import DataError, SettingError
from haarbor.options import found_text, is_whole_number
from haarbor.plots.interactive._graph_objects import graph_objects, in_page_style
from haarbor.plots.interactive._heads import heads_of
from haarbor.questionnaire import Organization
from haarbor.store import Run

__all__ = ["diffusion_map_figure"]


def diffusion_map_figure(
    source: Run | Organization, dimensions: Literal[2, 3] = 2, *, heads_per_layer: int | None = None
) -> Any:
    """Diffusion map of the heads, coloured by layer.

    Parameters
    ----------
    source : Run or Organization
    dimensions : {2, 3}, default 2
    heads_per_layer : int, optional
        For the layers of an organisation's heads.

    Returns
    -------
    plotly.graph_objects.Figure

    Raises
    ------
    SettingError
        If `dimensions` is neither 2 nor 3.
    DataError
        If there are too few heads.
    """
    if not is_whole_number(dimensions) or dimensions not in (2, 3):
        raise SettingError(f"dimensions must be 2 or 3; found {found_text(dimensions)}. Pass one of these.")
    go = graph_objects()
    heads = heads_of(source, heads_per_layer)
    points = heads.coordinates
    if points.shape[1] < dimensions:
        raise DataError(
            f"a map in {dimensions} dimensions needs {dimensions + 1} heads; found {points.shape[0]}."
            " Ask for fewer dimensions."
        )
    marker = {"color": heads.layers, "colorscale": "Cividis", "size": 8 if dimensions == 2 else 5}
    marker["colorbar"] = {"title": {"text": "layer"}, "thickness": 12}
    common = {
        "mode": "markers",
        "text": heads.names,
        "marker": marker,
        "hovertemplate": "%{text}<extra></extra>",
    }
    if dimensions == 3:
        trace = go.Scatter3d(x=points[:, 0], y=points[:, 1], z=points[:, 2], **common)
    else:
        trace = go.Scatter(x=points[:, 0], y=points[:, 1], **common)
    figure = in_page_style(go.Figure(trace), "Diffusion map of the heads", height=480)
    if dimensions == 2:
        figure.update_xaxes(title_text="diffusion coordinate 1")
        figure.update_yaxes(title_text="diffusion coordinate 2")
    return figure
