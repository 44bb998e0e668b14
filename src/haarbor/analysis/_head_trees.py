"""Every head of a network organised by itself, with trees of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from haarbor.array_types import AnyArray, IntArray, frozen
from haarbor.engines import CpuEngine, parallel_map
from haarbor.errors import SettingError, ShapeError
from haarbor.on_progress import OnProgress
from haarbor.options import found_text, is_whole_number, require_function, require_whole_number
from haarbor.questionnaire import Organization, organize
from haarbor.stored_result import stored_result
from haarbor.trees import PartitionTree

__all__ = ["HEAD_SETTINGS", "HeadSettings", "HeadTrees", "head_trees"]

HeadSettings = Literal["ours", "paper"]

HEAD_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "ours": {"initial": "cosine", "alpha": 0.0, "beta": 1.0, "n_iterations": 10},
    "paper": {"initial": "cosine", "alpha": 1.0, "beta": 0.0, "n_iterations": 10},
}
"""Options of :func:`haarbor.organize` for a single head: with the folder weights that tensors have by
default ("ours"), or with those of the paper ("paper")."""


@stored_result("HeadTrees")
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


def head_trees(
    X: npt.ArrayLike,
    *,
    mask: npt.ArrayLike | None = None,
    content: Literal["logits", "probabilities"] = "logits",
    settings: HeadSettings = "ours",
    heads: Sequence[int] | None = None,
    on_progress: OnProgress | None = None,
) -> HeadTrees:
    """Organise every head of a tensor as a matrix of its own, several heads at a time.

    Parameters
    ----------
    X : array_like of float, shape (n_queries, n_keys, n_heads)
    mask : array_like of bool, shape (n_queries, n_keys), optional
        True where (query, key) is valid.
    content : {"logits", "probabilities"}, default "logits"
        What masked entries are taken to be; see :func:`haarbor.organize`.
    settings : {"ours", "paper"}, default "ours"
        Folder weights ``alpha=0, beta=1`` as for tensors, or ``alpha=1, beta=0`` as in the paper's
        program for matrices; both with ten iterations at most from cosine affinities.
    heads : sequence of int, optional
        All if not given.
    on_progress : function of (step, done, total), optional

    Returns
    -------
    HeadTrees

    See Also
    --------
    haarbor.analysis.run_invariance : Softmax invariance of every head of a run.
    haarbor.analysis.run_regularity : Exponents of every head of a run.

    Examples
    --------
    >>> blocks = np.kron(np.eye(2), np.ones((2, 2)))[[0, 2, 1, 3]] + 0.1
    >>> found = head_trees(np.stack([blocks, blocks.T], axis=2))
    >>> found.trees(1)[1].levels.tolist()
    [[0, 0, 0, 0], [0, 1, 0, 1], [0, 1, 2, 3]]
    """
    if settings not in get_args(HeadSettings):
        raise SettingError(
            f"settings must be 'ours' or 'paper'; found {found_text(settings)}. Pass one of these."
        )
    tensor: AnyArray = np.asarray(X)
    if tensor.ndim != 3:
        raise ShapeError(
            f"the tensor must have axes (query, key, head); found shape {tensor.shape}. Stack the heads last."
        )
    require_function("on_progress", on_progress)
    chosen = range(tensor.shape[2]) if heads is None else _checked_heads(heads, tensor.shape[2])
    options = HEAD_SETTINGS[settings]

    def organized(head: int) -> Organization:
        matrix = np.ascontiguousarray(tensor[:, :, head])
        # One thread per head: the work is divided among threads by heads.
        return organize(matrix, mask=mask, content=content, engine=CpuEngine(threads=1), **options)

    found = parallel_map(organized, chosen, on_progress, step="organising heads")
    query, query_n = _packed([organization.trees["query"] for organization in found])
    key, key_n = _packed([organization.trees["key"] for organization in found])
    return HeadTrees(
        heads=frozen(np.array(chosen, dtype=np.int64)),
        query_levels=frozen(query),
        key_levels=frozen(key),
        query_n_levels=frozen(query_n),
        key_n_levels=frozen(key_n),
        n_iterations=frozen(np.array([organization.n_iterations for organization in found])),
        settings=settings,
    )


def _checked_heads(heads: Any, n_heads: int) -> list[int]:
    listed = list(heads) if isinstance(heads, Sequence | np.ndarray) and not isinstance(heads, str) else []
    if not listed or not all(is_whole_number(head) and 0 <= head < n_heads for head in listed):
        raise SettingError(
            f"heads must be a list of numbers from 0 to {n_heads - 1}; found {found_text(heads)}. "
            "Name at least one, or leave it out."
        )
    return [int(head) for head in listed]


def _packed(trees: Sequence[PartitionTree]) -> tuple[IntArray, IntArray]:
    """Levels of several trees in one array, and how many there are of each."""
    n_levels = np.array([tree.n_levels for tree in trees])
    levels = np.empty((len(trees), int(n_levels.max()), trees[0].n_items), dtype=np.int32)
    for place, tree in enumerate(trees):
        levels[place] = tree.levels[np.minimum(np.arange(levels.shape[1]), tree.n_levels - 1)]
    return levels, n_levels
