"""One look for all figures: fonts, sizes, and colours that suit print and colour-blind readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Literal, ParamSpec, TypeVar

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Colormap, LinearSegmentedColormap, ListedColormap
from matplotlib.figure import Figure

from haarbor.plots.style._shown_figure import ShownFigure

__all__ = [
    "CLOSED_COLOUR",
    "INK",
    "LINE_COLOURS",
    "PAGE_WIDTH",
    "PALE_INK",
    "blank_figure",
    "bordered",
    "colour_bar",
    "house_style",
    "in_house_style",
    "label_size",
    "layer_colours",
    "matrix_colours",
    "signed_colours",
]

PAGE_WIDTH = 7.2
"""Width in inches of the text on a printed page."""
INK = "#222222"
PALE_INK = "#8a8a8a"
CLOSED_COLOUR = "#e9e9ec"
"""Colour of entries that have no value: masked, or not a number."""
LINE_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Palette of Okabe and Ito, whose colours can be told apart by the colour-blind, and in grey."""

_SMALLEST_TEXT = 4.6
_SETTINGS: Any = {
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlepad": 5,
    "axes.titlesize": 8.5,
    "figure.titlesize": 9.5,
    # This font comes with matplotlib, so every machine draws the same letters.
    "font.family": ["DejaVu Sans"],
    "font.size": 8,
    "grid.color": "#e6e6e9",
    "grid.linewidth": 0.5,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 1.6,
    "lines.linewidth": 1.1,
    "pdf.fonttype": 42,
    "savefig.dpi": 200,
    "svg.fonttype": "path",
    # Without a salt the names of clip paths are random, and the bytes differ from file to file.
    "svg.hashsalt": "haarbor",
    "text.color": INK,
    "xtick.color": INK,
    "xtick.labelsize": 7,
    "xtick.major.size": 2.5,
    "xtick.major.width": 0.6,
    "ytick.color": INK,
    "ytick.labelsize": 7,
    "ytick.major.size": 2.5,
    "ytick.major.width": 0.6,
}

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


@contextmanager
def house_style() -> Iterator[None]:
    """Use the settings of all figures while the block runs, then restore those of the caller."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        yield


def in_house_style(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Decorator: run `function` within :func:`house_style`."""

    @wraps(function)
    def styled(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        with house_style():
            return function(*args, **kwargs)

    return styled


def blank_figure(
    width: float, height: float, *, layout: Literal["constrained", "compressed"] = "constrained"
) -> Figure:
    """Empty figure of a size in inches that lays out its parts without overlap; needs no display."""
    figure = ShownFigure(figsize=(width, height), layout=layout)
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.set(w_pad=0.04, h_pad=0.04)  # type: ignore[call-arg]
    return figure


def bordered(axes: Axes) -> Axes:
    """Draw a thin line on all four sides of `axes`, as for an image, and return them."""
    for spine in axes.spines.values():
        spine.set_visible(True)
        spine.set_linewidth(0.5)
    return axes


def colour_bar(figure: Figure, colours: ScalarMappable, axes: Any, **options: Any) -> Colorbar:
    """Colour bar beside `axes` with a thin outline; `options` as for ``figure.colorbar``."""
    bar = figure.colorbar(colours, ax=axes, **options)
    bar.outline.set_linewidth(0.4)
    return bar


def label_size(spacing: float, largest: float = 7.0) -> float | None:
    """Text size in points for labels `spacing` inches apart; None where they cannot be read.

    Examples
    --------
    >>> label_size(0.2), label_size(0.01)
    (7.0, None)
    """
    size = min(largest, 0.88 * 72.0 * spacing)
    return size if size >= _SMALLEST_TEXT else None


def layer_colours(n_layers: int) -> ListedColormap:
    """Colours of layers, first to last: viridis without its yellow end, which is hard to see on white."""
    places = np.linspace(0.0, 0.9, n_layers) if n_layers > 1 else np.array([0.3])
    return ListedColormap(matplotlib.colormaps["viridis"](places))


def matrix_colours() -> Colormap:
    """Colours of matrices, low to high, with `CLOSED_COLOUR` where there is no value."""
    # Without the black end, on which folder borders and dark text could not be seen.
    shades = matplotlib.colormaps["magma"](np.linspace(0.07, 0.99, 256))
    return ListedColormap(shades).with_extremes(bad=CLOSED_COLOUR)


def signed_colours() -> Colormap:
    """Blue below zero and orange above, with a step at zero, so that small values show their sign."""
    below = matplotlib.colormaps["Blues_r"](np.linspace(0.1, 0.72, 128))
    above = matplotlib.colormaps["Oranges"](np.linspace(0.28, 0.9, 128))
    both = LinearSegmentedColormap.from_list("signed", np.vstack([below, above]), N=256)
    return both.with_extremes(bad="white")
