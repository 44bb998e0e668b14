"""A batch of a run that does not fit into memory, in temporary files."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from haarbor.array_types import FloatArray, IntArray
from haarbor.errors import DataError
from haarbor.questionnaire import MemoryPlan, StreamedTensor, memory_plan
from haarbor.store import HeadTensor, RunPart

__all__ = ["batch_plan", "streamed_batch"]

_AXES = ("query", "key", "head")


class _ValidHeads:
    """Heads of a stored tensor without the queries and keys that are padding."""

    def __init__(self, tensor: HeadTensor, queries: IntArray, keys: IntArray) -> None:
        self._tensor, self._queries, self._keys = tensor, queries, keys
        self.shape = (queries.size, keys.size, tensor.shape[2])
        self.dtype = tensor.dtype

    def head_blocks(self) -> Iterator[FloatArray]:
        is_whole = self.shape == self._tensor.shape
        for block in self._tensor.head_blocks():
            yield block if is_whole else block[:, self._queries][:, :, self._keys]


def batch_plan(part: RunPart, batch: int, memory: int | str) -> MemoryPlan:
    """How a batch is organised within a limit of memory.

    Raises
    ------
    SettingError
        If the limit is too small for one block.
    """
    tensor = part.tensor(batch)
    return memory_plan(tensor.shape, memory, heads_per_block=tensor.heads_per_block)


def streamed_batch(part: RunPart, batch: int, memory: int | str | None) -> StreamedTensor | None:
    """The valid part of a batch in temporary files, or None if it fits into memory, or no limit is set."""
    plan = None if memory is None else batch_plan(part, batch, memory)
    if plan is None or not plan.is_streamed:
        return None
    tensor, mask = part.tensor(batch), part.mask(batch)
    queries, keys = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not queries.size:
        raise DataError("a batch needs at least one valid entry; every entry is masked. Look at its mask.")
    seen = mask[np.ix_(queries, keys)]
    return StreamedTensor(
        _ValidHeads(tensor, queries, keys), _AXES, None if seen.all() else seen, part.content, plan
    )
