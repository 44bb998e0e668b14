"""Haar coefficients of heads, largest support first, which is the order in which the entropy sums them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from haarbor.array_types import AnyArray, FloatArray, IntArray
from haarbor.errors import SettingError, TreeError
from haarbor.named_axes import axis_names
from haarbor.options import require_kind
from haarbor.plots.style._figure_text import add_title
from haarbor.plots.style._head_layers import checked_head_layers
from haarbor.plots.style._house_style import PAGE_WIDTH, PALE_INK, blank_figure, in_house_style
from haarbor.trees import PartitionTree
from haarbor.wavelets import haar_system, largest_products, sorted_coefficients

__all__ = ["coefficients_figure", "draw_stems", "draw_supports", "support_shares"]


@in_house_style
def coefficients_figure(
    X: npt.ArrayLike,
    trees: Mapping[str, PartitionTree],
    heads: Sequence[int] = (0,),
    *,
    k: int = 400,
    axes: Sequence[str] | None = None,
    head_layers: npt.ArrayLike | None = None,
    title: str | None = None,
) -> Figure:
    """Bi-Haar coefficients of some heads, product functions of largest support first.

    The coefficient of constant x constant is written beside its panel and not drawn: it would
    flatten the others. Dashed lines stand where the support falls below a half, a quarter, ... of
    the matrix; the lowest panel shows the support itself.

    Parameters
    ----------
    X : array_like of float, shape (n_queries, n_keys, n_heads) or (n_queries, n_keys)
    trees : mapping of axis name to PartitionTree
        With a tree for every axis but "head"; a tree for "head" is not used.
    heads : sequence of int, default (0,)
        One panel each.
    k : int, default 400
        How many coefficients; all if there are fewer.
    axes : sequence of str, optional
        Axis names of `X`.
    head_layers : array_like of int, shape (n_heads,), optional
        Layer of each head, to name the panels by.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    SettingError
        If no head is asked for or one that is not there, or `k` is not a whole number from 1.
    ShapeError, DataError, TreeError
        If the tensor or the trees cannot be used.

    See Also
    --------
    haarbor.sorted_coefficients : Coefficients by support.
    haarbor.plots.haar_basis_figure : Draws the functions.
    """
    require_kind("trees", trees, Mapping, "Pass organization.trees.")
    names = axis_names(axes, np.ndim(X))
    array: AnyArray = np.asarray(X)
    expanded = tuple(axis for axis in names if axis != "head")
    missing = [axis for axis in expanded if axis not in trees]
    if missing:
        raise TreeError(
            f"trees must hold one for each of {expanded}; missing {missing}. Add the missing ones."
        )
    n_heads = array.shape[names.index("head")] if "head" in names else 1
    layers = checked_head_layers(head_layers, n_heads)
    chosen = _checked_heads(heads, n_heads)
    if "head" in names:
        array = np.take(array, chosen, axis=names.index("head"))
    coefficients = sorted_coefficients(array, {axis: trees[axis] for axis in expanded}, k, axes=names)
    coefficients = coefficients.reshape(coefficients.shape[0], -1)
    shares = support_shares([trees[axis] for axis in expanded], k)
    figure = blank_figure(PAGE_WIDTH, 1.05 * chosen.size + 1.15)
    panels = figure.subplots(
        chosen.size + 1, 1, sharex=True, squeeze=False, height_ratios=[1.0] * chosen.size + [0.55]
    )[:, 0]
    for panel, head, values in zip(panels[:-1], chosen, coefficients.T, strict=True):
        draw_stems(panel, values)
        panel.set_ylabel("coefficient")
        panel.set_title(f"head {layers.names[head]}")
        panel.set_title(f"constant coefficient {values[0]:.4g}", loc="right", color=PALE_INK, fontsize=7)
    draw_supports(panels, shares)
    add_title(figure, title)
    return figure


def _checked_heads(heads: Sequence[int], n_heads: int) -> IntArray:
    chosen: AnyArray = np.atleast_1d(np.asarray(heads))
    if chosen.ndim != 1 or not chosen.size or chosen.dtype.kind not in "iu":
        raise SettingError(
            f"heads must be whole numbers, at least one; found {heads!r}. Pass a list of them."
        )
    if chosen.min() < 0 or chosen.max() >= n_heads:
        raise SettingError(
            f"heads must lie in 0..{n_heads - 1}; found {chosen.tolist()}."
            " Heads are counted through all layers, from 0."
        )
    return chosen


def support_shares(trees: Sequence[PartitionTree], k: int) -> FloatArray:
    """Share of the matrix that each of the k product functions covers, decreasing.

    See Also
    --------
    haarbor.plots.draw_supports : Draws the supports.
    """
    systems = [haar_system(tree) for tree in trees]
    products = largest_products(systems, k).chosen
    shares: FloatArray = np.prod(
        [system.supports[products[:, place]] / system.n_items for place, system in enumerate(systems)], axis=0
    )
    return shares


def draw_stems(panel: Axes, values: FloatArray) -> None:
    """Draw all coefficients as stems, except the first, which belongs to the constant function.

    See Also
    --------
    haarbor.plots.coefficients_figure : Draws the coefficients.
    """
    ranks = np.arange(2, values.size + 1)
    panel.vlines(ranks, 0.0, values[1:], colors="#0072B2", linewidth=0.7, gid="stems")
    panel.axhline(0.0, color=PALE_INK, linewidth=0.5)
    low, high = min(0.0, float(values[1:].min(initial=0.0))), float(values[1:].max(initial=0.0))
    room = 0.12 * (high - low) if high > low else 1.0
    panel.set_ylim(low - room, high + 2 * room)


def draw_supports(panels: AnyArray, shares: FloatArray, *, least_gap: float = 0.045) -> None:
    """Draw the supports into the last of `panels`, and a line into all panels wherever they halve.

    A line closer to the one before than `least_gap`, as a share of the width, is not labelled.

    See Also
    --------
    haarbor.plots.coefficients_figure : Draws the coefficients.
    haarbor.plots.support_shares : The supports.
    """
    ranks = np.arange(1, shares.size + 1)
    last: Axes = panels[-1]
    last.step(ranks, shares, where="mid", color="#D55E00", linewidth=1.0, gid="support")
    last.set_yscale("log", base=2)
    last.yaxis.set_major_locator(LogLocator(base=2, numticks=4))
    last.yaxis.set_major_formatter(FuncFormatter(_share_text))
    last.yaxis.set_minor_locator(NullLocator())
    last.set_ylabel("support")
    last.set_xlabel("product function, by decreasing support")
    last.set_xlim(0.0, shares.size + 1.0)
    exponent, written = 1, -np.inf
    while 2.0**-exponent >= shares[-1]:
        # A little below the power of two, because products of shares are exact only up to rounding.
        below = np.flatnonzero(shares < 2.0**-exponent * (1 - 1e-9))
        if below.size:
            for panel in panels:
                panel.axvline(ranks[below[0]] - 0.5, color=PALE_INK, linewidth=0.5, linestyle=(0, (4, 3)))
        if below.size and below[0] - written > least_gap * shares.size:
            written = float(below[0])
            panels[0].annotate(
                f"< 1/{2**exponent}", (ranks[below[0]] - 0.5, 1.0), xycoords=("data", "axes fraction"),
                xytext=(1.5, -1), textcoords="offset points", va="top", fontsize=5.5, color=PALE_INK,
            )  # fmt: skip
        exponent += 1


def _share_text(share: float, _place: int | None = None) -> str:
    """Share as a fraction: 1/2 for a half, and so on.

    Examples
    --------
    >>> _share_text(1.0), _share_text(0.25)
    ('1', '1/4')
    """
    return "1" if share >= 1 else f"1/{round(1 / share)}"
