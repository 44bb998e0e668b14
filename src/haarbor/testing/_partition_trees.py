"""Random partition trees, awkward ones included."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from haarbor.trees import PartitionTree

__all__ = ["partition_trees"]


@st.composite
def partition_trees(
    draw: st.DrawFn, *, min_items: int = 1, max_items: int = 12, max_inner_levels: int = 4
) -> PartitionTree:
    """Strategy for partition trees.

    Folders are of unequal size and split into up to three parts at a time or not at all, so
    only-child chains, repeated levels, early singletons and trees of one item all occur.

    Parameters
    ----------
    min_items, max_items : int, default 1 and 12
        Number of items, both ends included.
    max_inner_levels : int, default 4
        Largest number of levels between the root and the singletons.

    Returns
    -------
    strategy of PartitionTree

    See Also
    --------
    haarbor.testing.affinities : Affinities.
    haarbor.testing.attention_samples : Attention.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(partition_trees(max_items=6))
    ... def sizes_of_a_level_add_up(tree):
    ...     assert sum(items.size for items in tree.folders(1 - tree.n_levels)) == tree.n_items
    >>> sizes_of_a_level_add_up()
    """
    n_items = draw(st.integers(min_items, max_items))
    parts = st.lists(st.integers(0, 2), min_size=n_items, max_size=n_items)
    rows = [np.zeros(n_items, dtype=np.int64)]
    for part in draw(st.lists(parts, max_size=max_inner_levels)):
        # Numbered anew, so that the products below stay small.
        finer = np.unique(3 * rows[-1] + np.array(part), return_inverse=True)[1]
        rows.append(finer)
    if rows[-1].max() < n_items - 1 or draw(st.booleans()):
        rows.append(np.arange(n_items))
    return PartitionTree(np.stack(rows))
