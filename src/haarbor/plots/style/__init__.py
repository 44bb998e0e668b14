"""The look of all figures: sizes, colours of layers and matrices, and text that is safe to draw."""

from haarbor.plots.style._colour_limits import extend_of, robust_norm
from haarbor.plots.style._figure_text import plain_text
from haarbor.plots.style._head_layers import HeadLayers, add_layer_bar, add_layer_shading, checked_head_layers
from haarbor.plots.style._house_style import (
    CLOSED_COLOUR,
    PAGE_WIDTH,
    PALE_INK,
    bordered,
    in_house_style,
    label_size,
    matrix_colours,
)

__all__ = [
    "CLOSED_COLOUR",
    "PAGE_WIDTH",
    "PALE_INK",
    "HeadLayers",
    "add_layer_bar",
    "add_layer_shading",
    "bordered",
    "checked_head_layers",
    "extend_of",
    "in_house_style",
    "label_size",
    "matrix_colours",
    "plain_text",
    "robust_norm",
]
