"""Trees of queries and keys for many heads, each head organised by itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haarbor.array_types import IntArray
from haarbor.errors import SettingError
from haarbor.options import found_text, require_whole_number
from haarbor.trees import PartitionTree

__all__ = ["HeadTrees"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HeadTrees:
    """A query tree and a key tree per head, kept as arrays; :meth:`trees` returns those of one head.

    All query trees are kept in one array although they have different numbers of levels: the last level
    of a tree is repeated until it has as many as the deepest tree. The same holds for the key trees.
    """

    heads: IntArray
    """Position in the network of each head that was organised, shape (n,)."""
    query_levels: IntArray
    """Levels of the query trees, shape (n, levels of the deepest tree, n_queries)."""
    key_levels: IntArray
    """Levels of the key trees, shape (n, levels of the deepest tree, n_keys)."""
    query_n_levels: IntArray
    """Number of levels of each query tree before its last level is repeated, shape (n,)."""
    key_n_levels: IntArray
    """Number of levels of each key tree before its last level is repeated, shape (n,)."""
    n_iterations: IntArray
    """Iterations made for each head, shape (n,)."""
    settings: str
    """Name of the settings that the heads were organised with: "ours" or "paper"."""

    def trees(self, head: int) -> tuple[PartitionTree, PartitionTree]:
        """Query tree and key tree of the head at position `head` of the network."""
        places = np.flatnonzero(self.heads == require_whole_number("head", head))
        if not places.size:
            raise SettingError(
                f"head must be one that was organised; found {head}. "
                f"Pass one of {found_text(self.heads.tolist())}."
            )
        place = int(places[0])
        return (
            PartitionTree(self.query_levels[place, : self.query_n_levels[place]]),
            PartitionTree(self.key_levels[place, : self.key_n_levels[place]]),
        )

    def __repr__(self) -> str:
        sizes = f"{self.query_levels.shape[2]} x {self.key_levels.shape[2]}"
        return f"HeadTrees({self.heads.size} heads, {sizes}, settings {self.settings!r})"
