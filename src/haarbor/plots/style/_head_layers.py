"""Layers of heads in figures: names such as 3.7, colours, shading and colour bars."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure

from haarbor.array_types import AnyArray, IntArray
from haarbor.errors import ShapeError
from haarbor.plots.style._house_style import PALE_INK, colour_bar, layer_colours

__all__ = ["HeadLayers", "add_layer_bar", "add_layer_shading", "add_layer_strip", "checked_head_layers"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HeadLayers:
    """Which layer each head is of, and how that is drawn."""

    layers: IntArray
    """Layer of each head, shape (n_heads,)."""
    numbers: IntArray
    """Numbers of the layers that have heads, increasing, shape (n_layers,)."""
    ranks: IntArray
    """Place of each head's layer in `numbers`, shape (n_heads,)."""
    places: IntArray
    """Position of each head within its layer, shape (n_heads,)."""
    names: tuple[str, ...]
    """"layer.head" of each head; the head's index alone where no layers are given."""

    @property
    def n_layers(self) -> int:
        """Number of layers."""
        return int(self.numbers.size)

    @property
    def colours(self) -> ListedColormap:
        """One colour per layer."""
        return layer_colours(self.n_layers)

    @property
    def norm(self) -> BoundaryNorm:
        """Maps `ranks` to `colours`."""
        return BoundaryNorm(np.arange(self.n_layers + 1) - 0.5, self.n_layers)

    @property
    def head_colours(self) -> AnyArray:
        """Colour of each head, shape (n_heads, 4)."""
        return np.asarray(self.colours(self.ranks))

    def runs(self) -> Iterator[tuple[int, int, int]]:
        """Layer, first head and the head after the last, for every stretch of heads of one layer."""
        borders = np.flatnonzero(np.diff(self.layers)) + 1
        begins = [0, *borders.tolist()]
        for begin, end in zip(begins, [*begins[1:], self.layers.size], strict=True):
            yield int(self.layers[begin]), begin, end


def checked_head_layers(head_layers: npt.ArrayLike | None, n_heads: int) -> HeadLayers:
    """Layers of `n_heads` heads, all in one layer if not given.

    Raises
    ------
    ShapeError
        If there is not one whole number from 0 per head.

    Examples
    --------
    >>> checked_head_layers([0, 0, 1, 1], 4).names
    ('0.0', '0.1', '1.0', '1.1')
    >>> checked_head_layers(None, 2).names
    ('0', '1')
    """
    layers: AnyArray = np.zeros(n_heads, dtype=np.int64) if head_layers is None else np.asarray(head_layers)
    if layers.shape != (n_heads,):
        raise ShapeError(
            f"head_layers must hold one layer per head, shape ({n_heads},); found {layers.shape}. "
            "For layers of equal size it is np.repeat(np.arange(n_layers), heads_per_layer)."
        )
    if layers.dtype.kind not in "iu" or (layers < 0).any():
        raise ShapeError(
            f"head_layers must hold whole numbers from 0; found dtype {layers.dtype}, least {layers.min()}."
            " Pass the number of the layer of each head."
        )
    numbers, ranks = np.unique(layers, return_inverse=True)
    places = np.zeros(n_heads, dtype=np.int64)
    for layer in numbers:
        places[layers == layer] = np.arange(np.count_nonzero(layers == layer))
    names = [str(h) if head_layers is None else f"{layers[h]}.{places[h]}" for h in range(n_heads)]
    return HeadLayers(layers=layers, numbers=numbers, ranks=ranks, places=places, names=tuple(names))


def add_layer_bar(figure: Figure, axes: Any, layers: HeadLayers, **options: Any) -> Colorbar | None:
    """Draw the colours of the layers beside `axes`; nothing for a single layer."""
    if layers.n_layers == 1:
        return None
    scale = ScalarMappable(norm=layers.norm, cmap=layers.colours)
    step = -(-layers.n_layers // 16)
    ticks = np.arange(0, layers.n_layers, step)
    bar = colour_bar(figure, scale, axes, ticks=ticks.tolist(), **options)
    if bar.orientation == "horizontal":
        bar.ax.set_ylabel("layer", rotation=0, ha="right", va="center")
    else:
        bar.set_label("layer")
    bar.set_ticklabels([str(layer) for layer in layers.numbers[ticks]])
    bar.ax.tick_params(length=0)
    bar.minorticks_off()
    return bar


def add_layer_strip(
    axes: Axes, layers: HeadLayers, order: IntArray, side: Literal["left", "bottom"], thickness: float
) -> Axes:
    """Draw the layers of the heads in `order` along a side of a matrix; `thickness` in axes widths."""
    gap = 0.4 * thickness
    if side == "left":
        strip = axes.inset_axes((-gap - thickness, 0.0, thickness, 1.0), sharey=axes)
        extent = (0.0, 1.0, order.size - 0.5, -0.5)
    else:
        strip = axes.inset_axes((0.0, -gap - thickness, 1.0, thickness), sharex=axes)
        extent = (-0.5, order.size - 0.5, 0.0, 1.0)
    row = layers.ranks[order][None, :]
    image = row.T if side == "left" else row
    strip.imshow(
        image, cmap=layers.colours, norm=layers.norm, extent=extent, aspect="auto", interpolation="nearest"
    )
    for spine in strip.spines.values():
        spine.set_visible(False)
    strip.tick_params(length=0, labelleft=False, labelbottom=False)
    return strip


def add_layer_shading(axes: Axes, layers: HeadLayers, *, numbered: bool = True) -> None:
    """Shade every other layer behind a plot over head indices, layer numbers along the top."""
    if layers.n_layers == 1:
        return
    runs = list(layers.runs())
    step = -(-len(runs) // 26)
    for number, (layer, begin, end) in enumerate(runs):
        if number % 2 == 0:
            axes.axvspan(begin - 0.5, end - 0.5, facecolor="#f1f1f4", edgecolor="none", zorder=0)
        if numbered and number % step == 0:
            middle = (begin + end - 1) / 2
            axes.annotate(
                str(layer), (middle, 1.0), xycoords=("data", "axes fraction"), xytext=(0, 1.5),
                textcoords="offset points", ha="center", va="bottom", fontsize=6, color=PALE_INK,
            )  # fmt: skip
    if numbered:
        axes.annotate(
            "layer", (0.0, 1.0), xycoords="axes fraction", xytext=(-4, 1.5), textcoords="offset points",
            ha="right", va="bottom", fontsize=6, color=PALE_INK,
        )  # fmt: skip
