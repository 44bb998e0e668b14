"""Softmax of a head, and two paraproducts that approximate it on the trees of the head."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator

from haarbor.array_types import AnyArray, FloatArray, IntArray
from haarbor.errors import ShapeError
from haarbor.paraproducts import paraproduct_forms
from haarbor.plots.style._colour_limits import extend_of, robust_norm
from haarbor.plots.style._figure_text import add_title
from haarbor.plots.style._house_style import (
    CLOSED_COLOUR,
    PAGE_WIDTH,
    blank_figure,
    bordered,
    colour_bar,
    in_house_style,
    matrix_colours,
    signed_colours,
)
from haarbor.trees import PartitionTree

__all__ = ["paraproduct_figure"]

_PANEL = 1.21
_LEAST_DENSITY = 1e-3


@in_house_style
def paraproduct_figure(
    logits: npt.ArrayLike,
    row_tree: PartitionTree,
    column_tree: PartitionTree,
    *,
    mask: npt.ArrayLike | None = None,
    row_order: npt.ArrayLike | None = None,
    column_order: npt.ArrayLike | None = None,
    title: str | None = None,
) -> Figure:
    """Organised logits of a head, their softmax, two paraproducts that approximate it, and a residual.

    From left to right: the logits in tree order; the density of the softmax, 1 where it is uniform;
    the paper's form (the sum over scale pairs, eq. 12 of arXiv 2506.15541, with the derivatives of
    the softmax); the corrected form with marginals; its residual. The three densities share one
    logarithmic colour scale, on which negative values have the darkest colour. Above each form stand
    its correlation with the softmax and the share of the softmax that it explains.

    Parameters
    ----------
    logits : array_like of float, shape (n_queries, n_keys)
    row_tree, column_tree : PartitionTree
    mask : array_like of bool, shape (n_queries, n_keys), optional
        True where (query, key) is valid; the others are drawn grey.
    row_order, column_order : array_like of int, optional
        Orders in which to draw; if not given, the children of each folder are ordered by mean logit.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    See Also
    --------
    haarbor.softmax_invariance : How nearly linear the softmax of a head is.
    haarbor.paraproduct : A nonlinearity, split.
    """
    forms = paraproduct_forms(logits, row_tree, column_tree, "softmax", mask)
    corrected, paper = forms["corrected+marginals"], forms["paper"]
    valid = corrected.mask
    counts = valid.sum(axis=1, keepdims=True)
    f = corrected.function
    by_row = f.sum(axis=1) / np.maximum(counts[:, 0], 1)
    by_column = (f - by_row[:, None] * valid).sum(axis=0) / np.maximum(valid.sum(axis=0), 1)
    rows = _order(row_tree, row_order, by_row)
    columns = _order(column_tree, column_order, by_column)

    def shown(values: FloatArray) -> FloatArray:
        picture: FloatArray = np.where(valid, values, np.nan)[np.ix_(rows, columns)]
        return picture

    density = counts * corrected.value
    pictures = {
        "logits": shown(f),
        "softmax": shown(density),
        "paper's form": shown(counts * paper.approximation),
        "corrected form": shown(counts * corrected.approximation),
        "residual": shown(counts * corrected.residual),
    }
    ratio = float(np.clip(f.shape[0] / f.shape[1], 0.35, 1.6))
    figure = blank_figure(PAGE_WIDTH, _PANEL * ratio + 0.92)
    panels = figure.subplots(1, 5)
    # The three densities share the scale of the softmax, because the two forms approximate it.
    scale = _density_norm(pictures["softmax"])
    largest = float(np.nanquantile(np.abs(pictures["residual"]), 0.99)) or 1.0
    norms = {
        "logits": robust_norm(pictures["logits"], (0.01, 0.99)),
        "residual": Normalize(-largest, largest),
    }
    for letter, panel, (name, picture) in zip("abcde", panels, pictures.items(), strict=True):
        colours = (
            signed_colours().with_extremes(bad=CLOSED_COLOUR) if name == "residual" else matrix_colours()
        )
        _draw(figure, panel, picture, colours, norms.get(name, scale))
        approximation = {"paper's form": paper, "corrected form": corrected}.get(name)
        words = f"({letter}) {name}"
        if approximation is not None:
            words += "\n" + _agreement(density, counts * approximation.approximation, valid)
        elif name == "softmax":
            words += "\ndensity (uniform: 1)"
        elif name == "residual":
            words += "\nof (d)"
        else:
            words += "\norganised"
        panel.set_title(words, fontsize=6.8, linespacing=1.35)
    panels[0].set_ylabel("query (tree order)")
    panels[0].set_xlabel("key (tree order)")
    add_title(figure, title)
    return figure


def _order(tree: PartitionTree, order: npt.ArrayLike | None, scores: FloatArray) -> IntArray:
    if order is None:
        return tree.leaf_order(scores)
    items: AnyArray = np.asarray(order)
    whole = items.dtype.kind in "iu" and items.shape == (tree.n_items,)
    if not whole or not np.array_equal(np.sort(items), np.arange(tree.n_items)):
        raise ShapeError(
            f"an order must hold every item from 0 to {tree.n_items - 1} once; found shape {items.shape}. "
            "Take it from organization.order(axis), or leave it out."
        )
    return items


def _draw(figure: Figure, panel: Axes, picture: FloatArray, colours: Colormap, norm: Normalize) -> None:
    lowest = float(norm.vmin or 0.0) if isinstance(norm, LogNorm) else -np.inf
    # A logarithm would leave out what is not positive, and what is left out is drawn as masked.
    drawn = np.ma.masked_invalid(np.maximum(picture, lowest))
    image = panel.imshow(drawn, cmap=colours, norm=norm, aspect="auto", interpolation="nearest")
    bordered(panel)
    panel.set_xticks([])
    panel.set_yticks([])
    bar = colour_bar(
        figure,
        image,
        panel,
        location="bottom",
        extend=extend_of(picture, norm),
        pad=0.04,
        aspect=22,
        shrink=0.9,
    )
    bar.ax.tick_params(labelsize=5.5, pad=1.5, which="both")
    if isinstance(norm, LogNorm):
        ticks = _round_numbers(float(norm.vmin or 0.0), float(norm.vmax or 0.0))
        bar.set_ticks(ticks, labels=[f"{tick:g}" for tick in ticks])
        bar.ax.xaxis.set_minor_locator(NullLocator())
    else:
        bar.locator = MaxNLocator(3)
        bar.update_ticks()


def _round_numbers(low: float, high: float) -> list[float]:
    """At most five round numbers of a logarithmic scale: powers of ten, or 1, 2, 5 times them."""
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    for steps in ((1, 2, 5), (1, 3), (1,)):
        found = [step * 10.0**decade for decade in decades for step in steps]
        found = [number for number in found if low <= number <= high]
        if len(found) <= 5:
            return found
    return found[:: -(-len(found) // 5)]


def _density_norm(density: FloatArray) -> Normalize:
    """Logarithmic scale about 1, from the lower to the upper tail of the softmax."""
    low, high = np.nanquantile(density, (0.02, 0.995))
    return LogNorm(max(min(float(low), 0.5), _LEAST_DENSITY), max(float(high), 2.0))


def _agreement(density: FloatArray, form: FloatArray, valid: npt.NDArray[np.bool_]) -> str:
    target, given = density[valid], form[valid]
    spread = float(((target - 1) ** 2).sum())
    if spread == 0:
        return "the softmax is uniform"
    explained = 1 - float(((target - given) ** 2).sum()) / spread
    related = float(np.corrcoef(target, given)[0, 1]) if np.ptp(given) > 0 else 0.0
    return f"r {related:.2f}, explains {100 * explained:.0f} %"
