"""Choice of heads to show: those whose matrices gain most by being organised."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from haarbor.array_types import AnyArray, FloatArray
from haarbor.errors import SettingError
from haarbor.trees import PartitionTree, halved_tree
from haarbor.wavelets import head_entropy

__all__ = ["example_heads", "organization_gain"]


def organization_gain(X: npt.ArrayLike, trees: Mapping[str, PartitionTree]) -> FloatArray:
    r"""How much the l1 norm of the Haar coefficients of each head falls when the head is organised.

    The l1 norm on `trees` is subtracted from that in the original order, and the difference is divided
    by the l2 norm of the head. The mean over the queries is removed first: a head in which every query
    attends to the same keys has nothing to organise.

    Parameters
    ----------
    X : array_like of float, shape (n_queries, n_keys, n_heads)
    trees : mapping of axis name to PartitionTree
        With one for "query" and one for "key".

    Returns
    -------
    ndarray of float64, shape (n_heads,)
        0 for a head whose queries are all alike, negative where the original order is better. The
        original order is represented by the tree that halves it again and again.

    See Also
    --------
    haarbor.analysis.example_heads : Heads worth a look.
    haarbor.haar_l1 : Sum of the sizes of all coefficients.

    Notes
    -----
    :math:`(\|f\|_{order} - \|f\|_T) / \|f\|_2`, with :math:`f` the head without its mean over queries.

    Examples
    --------
    >>> mixed = PartitionTree([[0, 0, 0, 0], [0, 1, 0, 1], [0, 1, 2, 3]])
    >>> X = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]])[:, :, None]
    >>> organization_gain(X, {"query": halved_tree(2), "key": mixed}).round(4).tolist()
    [0.2929]
    """
    tensor: AnyArray = np.asarray(X)
    array = tensor - tensor.mean(axis=0, keepdims=True)
    plain = {"query": halved_tree(array.shape[0]), "key": halved_tree(array.shape[1])}
    before, after = (head_entropy(array, used, k=1).all_scales for used in (plain, trees))
    norm: FloatArray = np.sqrt(np.square(tensor, dtype=np.float64).sum(axis=(0, 1)))
    return np.divide(before - after, norm, out=np.zeros_like(before), where=norm > 0)


def example_heads(gain: npt.ArrayLike, n_shown: int = 3) -> tuple[int, ...]:
    """Heads that gain most by being organised, one from each of `n_shown` stretches of depth.

    Parameters
    ----------
    gain : array_like of float, shape (n_heads,)
        As from :func:`organization_gain`, heads layer by layer.
    n_shown : int, default 3
        All heads if there are fewer.

    Returns
    -------
    tuple of int
        Increasing.

    See Also
    --------
    haarbor.analysis.organization_gain : What each head gains by being organised.

    Examples
    --------
    >>> example_heads([1.0, 3.0, 2.0, 2.0, 5.0, 1.0])
    (1, 2, 4)
    """
    values: FloatArray = np.asarray(gain, dtype=np.float64)
    if n_shown < 1 or values.ndim != 1 or not values.size:
        raise SettingError(
            f"at least one head must be shown, of at least one; found {n_shown} of shape {values.shape}."
            " Pass one gain per head, and n_shown from 1."
        )
    stretches = np.array_split(np.arange(values.size), min(n_shown, values.size))
    return tuple(int(heads[np.argmax(values[heads])]) for heads in stretches)
