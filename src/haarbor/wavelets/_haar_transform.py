"""Haar transform of a tensor along the trees of any of its axes, in linear time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from haarbor.array_types import FloatArray, real_array
from haarbor.binary_scale import excess_exponent, scaled, unscaled
from haarbor.engines import GpuEngine, is_on_device, ordered_results, usable_cores
from haarbor.named_axes import axis_names, checked_tensor, n_axes_of
from haarbor.trees import PartitionTree, require_trees_fit, trees_by_axis
from haarbor.wavelets._device_haar import device_coefficients, is_ordinary, sum_of_sizes
from haarbor.wavelets._haar_system import haar_system

__all__ = ["haar_l1", "haar_transform", "inverse_haar_transform", "scaled_transform", "transform_along"]

_STRIPE_BYTES = 1 << 19


def haar_transform(
    X: npt.ArrayLike,
    trees: Mapping[str, PartitionTree],
    axes: Sequence[str] | None = None,
) -> FloatArray:
    r"""Coefficients of a tensor in the product of the Haar bases of some of its axes.

    Along each axis with a tree, position ``j`` of the result is the coefficient of function ``j``
    of :func:`haarbor.haar_system`; axes without a tree are left alone. Two trees give the bi-Haar
    expansion of every head, three the tri-Haar expansion of the network.

    Parameters
    ----------
    X : array_like of float, any number of axes
    trees : mapping of axis name to PartitionTree
        For any subset of the axes.
    axes : sequence of str, optional
        Axis names; ("query", "key") or ("query", "key", "head") if not given.

    Returns
    -------
    ndarray, same shape as `X`
        float32 for float16 and float32 input, else float64; sums run in float64. Of an array on a CUDA
        device it is an array of CuPy there.

    Raises
    ------
    ShapeError, DataError
        If `X` is not a finite tensor with these axes, a tree has another number of items, or a
        coefficient is too large for its floating-point numbers.
    TreeError
        If a tree is on an unknown axis.

    See Also
    --------
    haarbor.inverse_haar_transform : The tensor of some coefficients.
    haarbor.haar_l1 : Sum of the sizes of all coefficients.
    haarbor.sorted_coefficients : Coefficients by support.

    Notes
    -----
    The coefficient of the function on :math:`A` against :math:`B` is
    :math:`\sqrt{ab/(a+b)}\,(\operatorname{mean}_A - \operatorname{mean}_B)`, :math:`a = |A|, b = |B|`.
    Orthonormal: energy is kept, and :func:`haarbor.inverse_haar_transform` undoes it. :math:`O(|X|)`
    for each axis, up and down the tree; no basis is written out.

    Examples
    --------
    >>> halves = PartitionTree([[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 2, 3]])
    >>> haar_transform([[4.0, 2.0, 5.0, 5.0]], {"key": halves}).round(4).tolist()
    [[8.0, -2.0, 1.4142, 0.0]]
    """
    if is_on_device(X):
        on_device: FloatArray = _on_device(X, trees, axes)
        return on_device
    return unscaled(*scaled_transform(X, trees, axes), "Haar coefficients")


def inverse_haar_transform(
    coefficients: npt.ArrayLike,
    trees: Mapping[str, PartitionTree],
    axes: Sequence[str] | None = None,
) -> FloatArray:
    r"""Tensor with the given Haar coefficients; undoes :func:`haarbor.haar_transform`.

    Parameters
    ----------
    coefficients : array_like of float, any number of axes
    trees : mapping of axis name to PartitionTree
        Those of the transform.
    axes : sequence of str, optional

    Returns
    -------
    ndarray, same shape as `coefficients`

    See Also
    --------
    haarbor.haar_transform : Coefficients of a tensor.

    Notes
    -----
    With :math:`h_j` the rows of :func:`haarbor.haar_basis`, along each axis with a tree
    :math:`x = \sum_j c_j h_j`.

    Examples
    --------
    >>> halves = PartitionTree([[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 2, 3]])
    >>> inverse_haar_transform([[8.0, -2.0, 0.0, 0.0]], {"key": halves}).tolist()
    [[3.0, 3.0, 5.0, 5.0]]
    """
    from haarbor.wavelets._haar_kernels import synthesise

    tensor, exponent = _along_axes(coefficients, trees, axes, synthesise)
    return unscaled(tensor, exponent, "the entries of the tensor")


def haar_l1(X: npt.ArrayLike, trees: Mapping[str, PartitionTree], axes: Sequence[str] | None = None) -> float:
    r"""Coherence of a tensor on its trees: l1 norm of its Haar expansion; lower is better organised.

    Parameters
    ----------
    X : array_like of float, any number of axes
    trees : mapping of axis name to PartitionTree
    axes : sequence of str, optional

    Returns
    -------
    float

    See Also
    --------
    haarbor.haar_transform : Coefficients of a tensor.
    haarbor.haar_tree : Tree with a small l1 norm.
    haarbor.analysis.coherence_controls : Coherence beside controls.
    haarbor.analysis.held_out_coherence : Trees measured on data they were not built from.

    Notes
    -----
    With :math:`c` the coefficients of :func:`haarbor.haar_transform`, :math:`\|X\|_T = \sum |c|`.

    Examples
    --------
    >>> halves = PartitionTree([[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 2, 3]])
    >>> mixed = PartitionTree([[0, 0, 0, 0], [0, 1, 0, 1], [0, 1, 2, 3]])
    >>> haar_l1([[3.0, 3.0, 5.0, 5.0]], {"key": halves})
    10.0
    >>> round(haar_l1([[3.0, 3.0, 5.0, 5.0]], {"key": mixed}), 4)
    10.8284
    """
    from haarbor.wavelets._haar_kernels import add_powers

    if is_on_device(X):
        return sum_of_sizes(_on_device(X, trees, axes), GpuEngine())
    coefficients, exponent = scaled_transform(X, trees, axes)
    sums = np.zeros((2, coefficients.shape[-1]))
    add_powers(coefficients.reshape(-1, coefficients.shape[-1]), 1.0, sums)
    return float(unscaled(sums[0].sum(), exponent, "the l1 norm"))


def _on_device(X: Any, trees: Mapping[str, PartitionTree], axes: Sequence[str] | None) -> Any:
    """Haar coefficients of an array on a GPU, which stay there."""
    engine = GpuEngine()
    with engine.device.one_line_errors():
        tensor = engine.device_array(X)
        names = axis_names(axes, tensor.ndim)
        trees = trees_by_axis(trees, names)
        require_trees_fit(trees, names, tensor.shape)
        if not is_ordinary(tensor, engine):
            # Numbers near the ends of their range are scaled on the host.
            return engine.device_array(haar_transform(engine.device.on_host(tensor), trees, names))
        return device_coefficients(tensor, {names.index(axis): tree for axis, tree in trees.items()}, engine)


def scaled_transform(
    X: npt.ArrayLike, trees: Mapping[str, PartitionTree], axes: Sequence[str] | None = None
) -> tuple[FloatArray, int]:
    """Haar coefficients of ordinary size, and the exponent of the power of two that multiplies them.

    The exponent is 0 unless the entries of `X` are near the ends of their floating-point range.
    """
    from haarbor.wavelets._haar_kernels import analyse

    return _along_axes(X, trees, axes, analyse)


def transform_along(tensor: FloatArray, place: int, tree: PartitionTree) -> None:
    """Replace a tensor, C order, by its Haar coefficients along the axis at `place`; nothing is checked.

    Examples
    --------
    >>> values = np.array([[3.0, 1.0]])
    >>> transform_along(values, 1, PartitionTree([[0, 0], [0, 1]]))
    >>> values.round(4).tolist()
    [[2.8284, 1.4142]]
    """
    from haarbor.wavelets._haar_kernels import analyse

    _along_axis(tensor, tensor, place, tree, analyse)


def _along_axes(
    X: npt.ArrayLike,
    trees: Mapping[str, PartitionTree],
    axes: Sequence[str] | None,
    kernel: Callable[..., Any],
) -> tuple[FloatArray, int]:
    names = axis_names(axes, n_axes_of(X))
    trees = trees_by_axis(trees, names)
    array = real_array(X)
    require_trees_fit(trees, names, array.shape)
    tensor = checked_tensor(array, names)
    exponent = excess_exponent(tensor)
    source = np.ascontiguousarray(scaled(tensor, exponent))
    result: FloatArray = source.copy() if not trees else np.empty_like(source)
    for axis, tree in trees.items():
        _along_axis(source, result, names.index(axis), tree, kernel)
        source = result
    return result, exponent


def _along_axis(
    source: FloatArray, target: FloatArray, place: int, tree: PartitionTree, kernel: Callable[..., Any]
) -> None:
    system = haar_system(tree)
    shape = source.shape
    before, n_items = int(np.prod(shape[:place])), shape[place]
    after = int(np.prod(shape[place + 1 :]))
    view, out = source.reshape(before, n_items, after), target.reshape(before, n_items, after)
    threads = usable_cores()
    stripe = max(1, min(after, _STRIPE_BYTES // (16 * n_items)))
    sizes = system.node_sizes.astype(np.float64)
    # The work is divided along the axis before, if it has enough rows for all threads, else along the
    # axis after.
    if before >= 4 * threads:
        cuts = np.linspace(0, before, threads + 1).astype(int)
        pieces = [(view[a:b], 0, after, out[a:b]) for a, b in pairwise(cuts)]
    else:
        cuts = np.linspace(0, after, threads + 1).astype(int)
        pieces = [(view, a, b, out) for a, b in pairwise(cuts)]

    def transform(piece: tuple[FloatArray, int, int, FloatArray]) -> None:
        rows, first, last, result = piece
        kernel(rows, system.left, system.right, sizes, first, last, stripe, result)

    for _ in ordered_results(transform, pieces, threads):
        pass
