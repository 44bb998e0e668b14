"""Affinity of the items of an axis, in tree order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from haarbor.array_types import FloatArray, IntArray
from haarbor.errors import SettingError
from haarbor.options import require_kind
from haarbor.plots.style._colour_limits import Extend, extend_of, robust_norm
from haarbor.plots.style._figure_text import add_title, checked_labels, plain_text
from haarbor.plots.style._head_layers import HeadLayers, add_layer_bar, add_layer_strip, checked_head_layers
from haarbor.plots.style._house_style import (
    blank_figure,
    bordered,
    colour_bar,
    in_house_style,
    label_size,
    matrix_colours,
)
from haarbor.questionnaire import Organization

__all__ = ["affinity_figure", "draw_affinity"]

_SIDE = 3.7


@in_house_style
def affinity_figure(
    organization: Organization,
    axis: str = "head",
    *,
    head_layers: npt.ArrayLike | None = None,
    labels: Sequence[str] | None = None,
    title: str | None = None,
) -> Figure:
    """Affinity matrix of an axis in tree order, with the layers of the heads along its side.

    It is the affinity of the last iteration of the questionnaire.

    Parameters
    ----------
    organization : Organization
    axis : str, default "head"
    head_layers : array_like of int, shape (n_heads,), optional
        Layer of each head, for the axis "head" alone.
    labels : sequence of str, one per item, optional
        "layer.head" for heads by default; shown where they fit.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    SettingError
        If there is no such axis, or layers are given for another axis than "head".
    ShapeError
        If there is not one layer or label per item.

    See Also
    --------
    haarbor.organize : Trees of one tensor.
    haarbor.plots.diffusion_map_figure : Draws the map.
    """
    require_kind("organization", organization, Organization, "Pass what haarbor.organize gives.")
    require_kind("axis", axis, str, "Pass the name of an axis.")
    order = organization.order(axis)
    if head_layers is not None and axis != "head":
        raise SettingError(f"head_layers belong to the axis 'head'; found axis {axis!r}. Leave them out.")
    layers = checked_head_layers(head_layers, order.size)
    names = checked_labels("labels", labels, order.size)
    if names is None and axis == "head":
        names = list(layers.names)
    affinity = organization.affinities[axis]
    figure = blank_figure(_SIDE + 1.3, _SIDE + (0.9 if layers.n_layers > 1 else 0.45), layout="compressed")
    panel = figure.subplots()
    image, extend = draw_affinity(panel, affinity, order, layers, names, plain_text(axis), _SIDE)
    colour_bar(figure, image, panel, label="affinity", extend=extend, pad=0.02, aspect=28)
    add_layer_bar(figure, panel, layers, location="bottom", pad=0.03, aspect=40)
    add_title(figure, title)
    return figure


def draw_affinity(
    panel: Axes,
    affinity: FloatArray,
    order: IntArray,
    layers: HeadLayers,
    names: list[str] | None,
    axis: str,
    side: float,
) -> tuple[AxesImage, Extend]:
    """Draw an affinity matrix in the given order into `panel`, which is `side` inches wide.

    Returns
    -------
    image : matplotlib.image.AxesImage
    extend : str
        On which sides the colours are cut off.

    See Also
    --------
    haarbor.plots.affinity_figure : Draws an affinity.
    """
    # Every item is most similar to itself: with the diagonal, the rest would have less of the colour range.
    others = affinity[~np.eye(order.size, dtype=bool)]
    norm = robust_norm(others, (0.0, 0.995)) if others.size else Normalize(0.0, 1.0)
    image = panel.imshow(affinity[np.ix_(order, order)], cmap=matrix_colours(), norm=norm)
    bordered(panel)
    panel.set_xlabel(f"{axis} (tree order)")
    panel.set_xticks([])
    named = add_layer_strip(panel, layers, order, "left", 0.03) if layers.n_layers > 1 else panel
    named.set_ylabel(f"{axis} (tree order)")
    size = label_size(side / order.size)
    if names is not None and size is not None:
        panel.set_yticks(np.arange(order.size), [names[item] for item in order])
        named.tick_params(axis="y", labelleft=True, labelsize=size, length=0)
    else:
        panel.set_yticks([])
    if named is not panel:
        panel.tick_params(axis="y", length=0, labelleft=False)
    return image, extend_of(affinity, norm)
