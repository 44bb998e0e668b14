"""Random affinity matrices."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from haarbor.array_types import FloatArray, frozen

__all__ = ["affinities"]


@st.composite
def affinities(
    draw: st.DrawFn, *, min_items: int = 1, max_items: int = 16, max_components: int = 1
) -> FloatArray:
    """Strategy for affinity matrices.

    Entries are drawn with a random seed, so no two are equal; the diagonal is 1.

    Parameters
    ----------
    min_items, max_items : int, default 1 and 16
        Number of items, both ends included.
    max_components : int, default 1
        Largest number of groups of items that have no affinity to each other.

    Returns
    -------
    strategy of ndarray of float64, shape (n, n)
        Symmetric, between 0 and 1.

    See Also
    --------
    haarbor.testing.partition_trees : Trees.
    haarbor.testing.attention_samples : Attention.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(affinities())
    ... def diagonal_is_one(affinity):
    ...     assert (affinity.diagonal() == 1).all()
    >>> diagonal_is_one()
    """
    n_items = draw(st.integers(min_items, max_items))
    n_components = draw(st.integers(1, max_components))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    entries = np.triu(rng.uniform(0.05, 0.95, size=(n_items, n_items)), 1)
    component = rng.permutation(np.arange(n_items) % n_components)
    affinity = np.where(component[:, None] == component[None, :], entries + entries.T, 0.0)
    np.fill_diagonal(affinity, 1.0)
    return frozen(affinity)
