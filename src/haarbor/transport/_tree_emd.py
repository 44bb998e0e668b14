"""Earth mover's distance between the slices of a tensor, along trees on its other axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy.typing as npt

from haarbor.array_types import FloatArray, real_array
from haarbor.binary_scale import excess_exponent, scaled, unscaled
from haarbor.engines import GpuEngine, L1Engine, engine_named
from haarbor.errors import TreeError
from haarbor.named_axes import axis_names, checked_tensor, n_axes_of
from haarbor.transport._device_means import DeviceFolderMeans
from haarbor.transport._exponents import exponent_by_axis
from haarbor.transport._folder_means import FolderMeans, require_distances_fit
from haarbor.trees import PartitionTree, require_trees_fit, trees_by_axis

__all__ = ["tree_emd"]


def tree_emd(
    X: npt.ArrayLike,
    trees: Mapping[str, PartitionTree],
    axes: Sequence[str] | None = None,
    *,
    alpha: float | Mapping[str, float] = 0.0,
    beta: float | Mapping[str, float] = 1.0,
    engine: str | L1Engine = "auto",
) -> FloatArray:
    r"""Tree distances between the slices along the one axis that has no tree.

    Slices are compared by their means over products of folders of the other axes, coarse ones
    and fine ones, so that moving weight within a folder costs less than moving it between folders.

    Parameters
    ----------
    X : array_like of float, two or more axes
        float64 is summed in float64. float16 and float32 are summed in float32 within a block, and the
        blocks are added in float64.
    trees : mapping of axis name to PartitionTree
        One for every axis but one.
    axes : sequence of str, optional
        Axis names; ("query", "key") or ("query", "key", "head") if not given.
    alpha, beta : float or mapping of axis name to float
        Exponents of the folder weights below.
    engine : {"auto", "cpu", "gpu"} or L1Engine, default "auto"
        What sums the absolute differences.

    Returns
    -------
    ndarray of float64, shape (n, n)
        Symmetric, zero on the diagonal.

    Raises
    ------
    ShapeError, DataError
        If `X` is not a finite tensor with these axes.
    TreeError
        If not exactly one axis is without a tree, or a tree has another number of items.
    SettingError
        If an exponent is not a finite number, or makes the weights overflow.

    See Also
    --------
    haarbor.distance_affinity : Affinity from distances.
    haarbor.tree_distances : Distance of items on a tree.
    haarbor.organize : Trees of one tensor.

    Notes
    -----
    With :math:`m_F(a)` the mean of slice :math:`a` over a product :math:`F = F_1 \times \dots \times F_d`,

    .. math:: d(a, b) = \sum_F |m_F(a) - m_F(b)| \prod_j (|F_j|/n_j)^{\beta_j} \, 2^{-\alpha_j \ell(F_j)}.

    Half of :math:`n^2 \prod_j |T_j|` absolute differences, :math:`|T_j|` the number of distinct
    folders; only the means of a few blocks are in memory at a time.

    Examples
    --------
    >>> halves = PartitionTree([[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 2, 3]])
    >>> spikes = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
    >>> tree_emd(spikes, {"key": halves})[0].tolist()  # a sibling is nearer than the other half
    [0.0, 0.5, 1.0]
    """
    names = axis_names(axes, n_axes_of(X))
    trees = trees_by_axis(trees, names)
    without = [axis for axis in names if axis not in trees]
    if len(without) != 1 or len(names) < 2:
        raise TreeError(
            f"exactly one of the axes {names} must be without a tree; found {len(without)} without. "
            "Pass a tree for every axis but the one whose slices are compared."
        )
    summing = engine_named(engine)
    alphas = exponent_by_axis("alpha", _without(alpha, without[0]), list(trees))
    betas = exponent_by_axis("beta", _without(beta, without[0]), list(trees))
    array = real_array(X)
    if array.ndim == len(names):
        require_distances_fit(without[0], array.shape[names.index(without[0])])
    require_trees_fit(trees, names, array.shape)
    tensor = checked_tensor(array, names)
    exponent = excess_exponent(tensor)
    exponents = {axis: (alphas[axis], betas[axis]) for axis in trees}
    ordinary = scaled(tensor, exponent)
    if isinstance(summing, GpuEngine):
        with summing.device.one_line_errors():
            on_gpu: FolderMeans = DeviceFolderMeans(summing.device_array(ordinary), names, summing)
            sums = summing.device.on_host(on_gpu.l1_sums(without[0], trees, exponents, summing))
            total = on_gpu.weighted_total(without[0], sums, trees, exponents)
    else:
        means = FolderMeans(ordinary, names)
        sums = means.l1_sums(without[0], trees, exponents, summing)
        total = means.weighted_total(without[0], sums, trees, exponents)
    return unscaled(total, exponent, "tree distances")


def _without(value: float | Mapping[str, float], axis: str) -> float | Mapping[str, float]:
    # The settings of a questionnaire have a number for every axis; the compared axis needs none here.
    if isinstance(value, Mapping):
        return {name: number for name, number in value.items() if name != axis}
    return value
