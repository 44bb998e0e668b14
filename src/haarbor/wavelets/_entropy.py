"""l_p Haar entropy of every head and of the whole network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from haarbor.array_types import FloatArray, frozen, real_array
from haarbor.binary_scale import excess_exponents, scaled
from haarbor.engines import is_on_device, ordered_results, usable_cores
from haarbor.errors import ShapeError, TreeError
from haarbor.named_axes import axis_names, checked_tensor, n_axes_of
from haarbor.options import require_real_number, require_whole_number
from haarbor.stored_result import stored_result
from haarbor.trees import PartitionTree, require_trees_fit, trees_by_axis
from haarbor.wavelets._device_entropy import device_engine, device_power_sums
from haarbor.wavelets._device_haar import is_ordinary
from haarbor.wavelets._haar_system import haar_system
from haarbor.wavelets._haar_transform import haar_transform
from haarbor.wavelets._power_sums import PowerSums, power_sums_of
from haarbor.wavelets._product_order import largest_products

__all__ = [
    "HeadEntropy",
    "NetworkEntropy",
    "PowerSums",
    "entropy_of_network",
    "head_entropy",
    "network_entropy",
    "power_sums_of",
    "sorted_coefficients",
]


@stored_result("HeadEntropy")
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HeadEntropy:
    r"""Haar entropy of every head, :math:`H = \sum |\text{coefficient}|^p` over the coarsest functions.

    All arrays have shape (n_heads,) unless they say otherwise.

    See Also
    --------
    haarbor.head_entropy : Entropy of every head.
    haarbor.NetworkEntropy : Figures of the network.
    """

    raw: FloatArray
    r"""H over the `k` product functions of largest support."""
    normalised: FloatArray
    r""":math:`H / \|f\|^p`: does not change when the head is scaled; 0 for a zero head."""
    mean_removed: FloatArray
    r""":math:`(H - |\text{constant}|^p) / \|f - \bar f\|^p`; 0 for a constant head."""
    tie_interval: FloatArray
    """Least and largest H under another order of the functions tied at the cut, shape (n_heads, 2)."""
    constant: FloatArray
    """Coefficient of constant x constant, the mean times the root of the size."""
    energy_share: FloatArray
    r"""Share of :math:`\|f\|^2` in the `k` functions; 0 for a zero head."""
    all_scales: FloatArray
    """The sum of `raw` taken over all functions."""
    fine_share: FloatArray
    """Share of `all_scales` outside the `k` functions; 0 for a zero head."""
    norm: FloatArray
    r""":math:`\|f\|`."""
    k: int
    """Number of functions summed over: as asked for, or all if there are fewer."""
    n_functions: int
    """Number of all product functions."""
    p: float

    def __len__(self) -> int:
        """Number of heads."""
        return int(self.raw.size)

    def __repr__(self) -> str:
        return f"HeadEntropy({self.raw.size} heads, k={self.k} of {self.n_functions}, p={self.p:g})"


@stored_result("NetworkEntropy")
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NetworkEntropy:
    """Haar entropy of the whole tensor on all its trees; fields as in `HeadEntropy`.

    See Also
    --------
    haarbor.network_entropy : Entropy of the whole tensor.
    haarbor.HeadEntropy : Figures of the heads.
    """

    raw: float
    normalised: float
    mean_removed: float
    tie_interval: tuple[float, float]
    constant: float
    energy_share: float
    all_scales: float
    fine_share: float
    norm: float
    k: int
    n_functions: int
    p: float

    def __repr__(self) -> str:
        return (
            f"NetworkEntropy({self.raw:.6g}, normalised {self.normalised:.4g}, "
            f"k={self.k} of {self.n_functions}, p={self.p:g})"
        )


def head_entropy(
    X: npt.ArrayLike,
    trees: Mapping[str, PartitionTree],
    k: int = 400,
    p: float = 1,
    *,
    axes: Sequence[str] | None = None,
) -> HeadEntropy:
    r"""l_p Haar entropy of every head in the bi-Haar basis of queries and keys.

    Functions of large support are low frequencies: a high entropy says that a head has much coarse
    structure on the trees, not that it has sharp transitions. The entropy grows with the size of the
    entries, so those of logits and of probabilities cannot be compared; the normalised figures can.

    Parameters
    ----------
    X : array_like of float, shape (n_queries, n_keys, n_heads) or (n_queries, n_keys)
    trees : mapping of axis name to PartitionTree
        With a tree for every axis but "head"; a tree for "head" is not used.
    k : int, default 400
        Number of product functions of largest support to sum over.
    p : float, default 1
        Exponent, positive.
    axes : sequence of str, optional
        Axis names of `X`.

    Returns
    -------
    HeadEntropy

    Raises
    ------
    SettingError
        If `p` is not positive or `k` is not a whole number from 1.
    DataError
        If `X` is not finite, or a sum leaves the range of float64.

    See Also
    --------
    haarbor.network_entropy : Entropy of the whole tensor.
    haarbor.ranking_stability : Agreement of rankings over batches.
    haarbor.sorted_coefficients : Coefficients by support.
    haarbor.plots.entropy_figure : Draws entropies as lines.

    Notes
    -----
    :math:`H_k = \sum_{j \le k} |c_j|^p` over the bi-Haar coefficients of the :math:`k` product functions
    of largest support.

    Many functions have supports of the same size. Ties are broken by a fixed rule (see
    :func:`haarbor.wavelets.largest_products`), and the tie interval says how much depends on
    it. Cost :math:`O(|X|)`.

    Examples
    --------
    >>> halves = PartitionTree([[0, 0], [0, 1]])
    >>> found = head_entropy([[3.0, 1.0], [1.0, 3.0]], {"query": halves, "key": halves}, k=4)
    >>> found.raw.round(6).tolist(), found.constant.round(6).tolist()
    ([6.0], [4.0])
    """
    names = axis_names(axes, n_axes_of(X))
    matrix_axes = tuple(axis for axis in names if axis != "head")
    array = _array_of(X)
    if "head" in names:
        head = names.index("head")
        array = array.transpose([*(place for place in range(array.ndim) if place != head), head])
    else:
        array = array[..., None]
    sums = _power_sums(array, (*matrix_axes, "head"), matrix_axes, trees, k, p)
    fields = {name: frozen(value) for name, value in sums.fields().items()}
    return HeadEntropy(**fields, k=sums.k, n_functions=sums.n_functions, p=float(p))


def network_entropy(
    X: npt.ArrayLike,
    trees: Mapping[str, PartitionTree],
    k: int = 100,
    p: float = 1,
    *,
    axes: Sequence[str] | None = None,
) -> NetworkEntropy:
    r"""l_p Haar entropy of the network in the tri-Haar basis of queries, keys and heads.

    Parameters
    ----------
    X : array_like of float, shape (n_queries, n_keys, n_heads), or any axes named in `axes`
    trees : mapping of axis name to PartitionTree
        One for every axis.
    k : int, default 100
        Number of product functions of largest support to sum over.
    p : float, default 1
        Exponent, positive.
    axes : sequence of str, optional

    Returns
    -------
    NetworkEntropy
        See :func:`head_entropy` for what the figures mean.

    See Also
    --------
    haarbor.head_entropy : Entropy of every head.
    haarbor.haar_l1 : Sum of the sizes of all coefficients.

    Notes
    -----
    :math:`H_k = \sum_{j \le k} |c_j|^p` over the coefficients of the :math:`k` product functions of
    largest support.

    Examples
    --------
    >>> halves = PartitionTree([[0, 0], [0, 1]])
    >>> network_entropy([[3.0, 1.0], [1.0, 3.0]], {"query": halves, "key": halves}, k=4).raw
    6.0
    """
    names = axis_names(axes, n_axes_of(X))
    sums = _power_sums(_array_of(X)[..., None], (*names, "(whole)"), names, trees, k, p)
    return entropy_of_network(sums)


def entropy_of_network(sums: PowerSums) -> NetworkEntropy:
    """Entropy of the one column of the sums."""
    fields = {name: value[0] for name, value in sums.fields().items()}
    least, most = fields.pop("tie_interval")
    return NetworkEntropy(
        **{name: float(value) for name, value in fields.items()},
        tie_interval=(float(least), float(most)), k=sums.k, n_functions=sums.n_functions, p=sums.p,
    )  # fmt: skip


def sorted_coefficients(
    X: npt.ArrayLike,
    trees: Mapping[str, PartitionTree],
    k: int = 400,
    *,
    axes: Sequence[str] | None = None,
) -> FloatArray:
    """Haar coefficients of the `k` product functions of largest support, in that order.

    Parameters
    ----------
    X : array_like of float
        A head (query, key), a network (query, key, head), or any axes named in `axes`.
    trees : mapping of axis name to PartitionTree
        Trees of the axes to expand along; an axis without one is kept.
    k : int, default 400
    axes : sequence of str, optional

    Returns
    -------
    ndarray, shape (k,) followed by the axes without a tree

    See Also
    --------
    haarbor.haar_transform : Coefficients of a tensor.
    haarbor.head_entropy : Entropy of every head.
    haarbor.plots.coefficients_figure : Draws the coefficients.

    Examples
    --------
    >>> halves = PartitionTree([[0, 0], [0, 1]])
    >>> sorted_coefficients([[3.0, 1.0], [1.0, 3.0]], {"query": halves, "key": halves}).round(6).tolist()
    [4.0, 0.0, 0.0, 2.0]
    """
    names = axis_names(axes, n_axes_of(X))
    trees = trees_by_axis(trees)
    n_largest = require_whole_number("k", k, 1)
    expanded = tuple(axis for axis in names if axis in trees)
    if not expanded:
        raise TreeError(
            f"trees must hold one for at least one of {names}; found none. Pass one to expand along."
        )
    array = np.moveaxis(real_array(X), [names.index(a) for a in expanded], range(len(expanded)))
    order = (*expanded, *(axis for axis in names if axis not in trees))
    coefficients = haar_transform(array, trees, order)
    products = largest_products([haar_system(trees[axis]) for axis in expanded], n_largest)
    chosen: FloatArray = coefficients[tuple(products.chosen.T)]
    return chosen


def _power_sums(
    array: Any,
    names: tuple[str, ...],
    expanded: tuple[str, ...],
    trees: Mapping[str, PartitionTree],
    k: int,
    p: float,
) -> PowerSums:
    """Sums over the expansion along all axes but the last, for each position on the last axis."""
    power = require_real_number("p", p, positive=True)
    n_largest = require_whole_number("k", k, 1)
    trees = trees_by_axis(trees)
    missing = [axis for axis in expanded if axis not in trees]
    if missing:
        raise TreeError(f"trees must hold one for each of {expanded}; missing {missing}. Pass one for each.")
    if len(expanded) < 1:
        raise ShapeError(f"an entropy needs at least one axis with a tree; found {names}. Name the others.")
    require_trees_fit(trees, expanded, array.shape)
    places = {place: trees[axis] for place, axis in enumerate(expanded)}
    products = largest_products([haar_system(tree) for tree in places.values()], n_largest)
    if not isinstance(array, np.ndarray):
        gpu = device_engine()
        if is_ordinary(array, gpu):
            return device_power_sums(array, places, products, power, gpu)
        # Heads of very large or very small numbers are scaled one by one, on the host.
        array = gpu.device.on_host(array)
    tensor = checked_tensor(array, names)
    # Each head is scaled to ordinary size by itself, because sums never mix heads.
    exponents = excess_exponents(tensor, tuple(range(len(expanded))))
    coefficients = haar_transform(scaled(tensor, exponents), {axis: trees[axis] for axis in expanded}, names)
    rest, rest_energy = _column_sums(coefficients, power)
    listed = np.concatenate([products.above, products.tied])
    return power_sums_of(
        products,
        coefficients[tuple(listed.T)].astype(np.float64),
        coefficients[(0,) * len(expanded)].astype(np.float64),
        (rest, rest_energy),
        exponents=exponents,
        p=power,
        n_functions=coefficients[..., 0].size,
    )


def _array_of(X: object) -> Any:
    """`X` as an array of numpy, or as it is if it lies on a GPU."""
    return device_engine().device_array(X) if is_on_device(X) else real_array(X)


def _column_sums(coefficients: FloatArray, p: float) -> tuple[FloatArray, FloatArray]:
    """Sums of |.|^p and of squares over all axes but the last and all functions but the constant.

    The constant is left out because it may be so large that adding it would lose the digits of the rest.
    """
    from haarbor.wavelets._haar_kernels import add_powers

    n_columns = coefficients.shape[-1]
    rows = coefficients.reshape(-1, n_columns)[1:]
    step = max(1, (1 << 17) // n_columns)

    def piece(begin: int) -> FloatArray:
        sums = np.zeros((2, n_columns))
        add_powers(rows[begin : begin + step], p, sums)
        return sums

    total = np.zeros((2, n_columns))
    for sums in ordered_results(piece, range(0, rows.shape[0], step), usable_cores()):
        total += sums
    return total[0], total[1]
