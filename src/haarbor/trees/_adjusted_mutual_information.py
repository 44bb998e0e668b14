"""Agreement of two partitions of the same items, beyond chance."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from haarbor.array_types import FloatArray, IntArray, plain_array
from haarbor.errors import DataError, ShapeError
from haarbor.options import found_text

__all__ = ["adjusted_mutual_information"]


def adjusted_mutual_information(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    r"""How well two partitions of the same items agree, 1 if they are the same and 0 if by chance.

    A level of a tree is such a partition, and so are known classes of the items.

    Parameters
    ----------
    first, second : array_like of int or str, shape (n,)
        Folder or class of each item. Names and numbers mean nothing but which items are together.

    Returns
    -------
    float
        At most 1. Below 0 if they agree less than partitions with the same sizes do on average. Two
        partitions that are both one folder, or both singletons, agree: 1.

    Raises
    ------
    ShapeError
        If the two are not lists of the same length, with at least one item.
    DataError
        If a class is missing (NaN).

    See Also
    --------
    haarbor.shared_folders : Share of folders in common.
    haarbor.partition_distance : How far two trees are apart.

    Notes
    -----
    .. math:: \frac{I - \mathbb E I}{\frac12(H_1 + H_2) - \mathbb E I}

    with the mutual information :math:`I`, the entropies :math:`H_1, H_2`, and the mean
    :math:`\mathbb E I` over all ways to assign the items to folders of the same sizes (Vinh, Epps and
    Bailey, 2010). Cost :math:`O(s_1 s_2 n)` for :math:`s_1` and :math:`s_2` different sizes.

    Examples
    --------
    >>> adjusted_mutual_information([0, 0, 1, 1], ["b", "b", "a", "a"])
    1.0
    >>> round(adjusted_mutual_information([0, 0, 1, 1], [0, 1, 0, 1]), 4)
    -0.5
    """
    one, two = _folders(first, "first"), _folders(second, "second")
    if one.size != two.size:
        raise ShapeError(
            f"two partitions must be of the same items; found {one.size} and {two.size} items. "
            "Pass one folder per item for both."
        )
    n_items = one.size
    table = np.zeros((int(one.max()) + 1, int(two.max()) + 1))
    np.add.at(table, (one, two), 1)
    sizes = table.sum(axis=1), table.sum(axis=0)
    # Partitions that are the same up to names: the quotient may be 0 / 0.
    if np.count_nonzero(table) == sizes[0].size == sizes[1].size:
        return 1.0
    together = table[table > 0]
    expected_sizes = np.outer(*sizes)[table > 0]
    mutual = float((together * np.log(n_items * together / expected_sizes)).sum() / n_items)
    chance = _mutual_by_chance(*sizes)
    return (mutual - chance) / ((_entropy(sizes[0]) + _entropy(sizes[1])) / 2 - chance)


def _folders(given: npt.ArrayLike, name: str) -> IntArray:
    """Partition numbered from 0, checked."""
    labels = plain_array(given, name)
    if labels.ndim != 1 or labels.size == 0:
        raise ShapeError(
            f"{name} must hold one folder per item, shape (n,) with n > 0; found {found_text(given)}. "
            "Pass a level of a tree, or a list of classes."
        )
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        item = int(np.argmax(np.isnan(labels)))
        raise DataError(f"{name} must name a folder for every item; item {item} has NaN. Leave it out.")
    found: IntArray = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    return found


def _entropy(sizes: FloatArray) -> float:
    share = sizes / sizes.sum()
    return float(-(share * np.log(share)).sum())


def _mutual_by_chance(first: FloatArray, second: FloatArray) -> float:
    """Mean mutual information of random partitions into folders of these sizes."""
    from scipy.special import gammaln

    n_items = int(first.sum())
    log_factorial = gammaln(np.arange(n_items + 1) + 1.0)
    total = 0.0
    # Folders of equal size have equal terms.
    for a, n_first in zip(*np.unique(first.astype(np.int64), return_counts=True), strict=True):
        for b, n_second in zip(*np.unique(second.astype(np.int64), return_counts=True), strict=True):
            shared = np.arange(max(1, a + b - n_items), min(a, b) + 1)
            log_chance = (
                log_factorial[a]
                + log_factorial[b]
                + log_factorial[n_items - a]
                + log_factorial[n_items - b]
                - log_factorial[n_items]
                - log_factorial[shared]
                - log_factorial[a - shared]
                - log_factorial[b - shared]
                - log_factorial[n_items - a - b + shared]
            )
            terms = shared / n_items * np.log(n_items * shared / (a * b)) * np.exp(log_chance)
            total += float(n_first * n_second * terms.sum())
    return total
