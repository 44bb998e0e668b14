"""Trees of many heads, each organised by itself."""

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
    """Trees of queries and keys, one pair a head."""

    heads: IntArray
    """Positions of the heads organised, shape (n,)."""
    query_levels: IntArray
    """Levels of the query trees, the last one repeated where others have more; (n, most, queries)."""
    key_levels: IntArray
    """The same of the key trees."""
    query_n_levels: IntArray
    """How many of the levels are the tree's, shape (n,)."""
    key_n_levels: IntArray
    n_iterations: IntArray
    """Iterations made, shape (n,)."""
    settings: str

    def trees(self, head: int) -> tuple[PartitionTree, PartitionTree]:
        """Query tree and key tree of a head."""
        places = np.flatnonzero(self.heads == require_whole_number("head", head))
        if not places.size:
            raise SettingError(
                f"head must be one that was organised; found {head}. "
                f"They are {found_text(self.heads.tolist())}."
            )
        place = int(places[0])
        return (
            PartitionTree(self.query_levels[place, : self.query_n_levels[place]]),
            PartitionTree(self.key_levels[place, : self.key_n_levels[place]]),
        )

    def __repr__(self) -> str:
        sizes = f"{self.query_levels.shape[2]} x {self.key_levels.shape[2]}"
        return f"HeadTrees({self.heads.size} heads, {sizes}, settings {self.settings!r})"
