"""One batch of a run on all workers of a cluster: each reads it and sums some rows of the distances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from haarbor.analysis._batch_task import BatchTask
from haarbor.analysis._streamed_batch import streamed_batch
from haarbor.analysis._valid_tokens import valid_tokens
from haarbor.array_types import FloatArray
from haarbor.engines import ClusterSession, RowsEngine, joined_rows, row_parts, usable_cores
from haarbor.questionnaire import HeldTensor, StreamedTensor, TensorFacts, neutral_tensor
from haarbor.transport import FolderMeans, OuterPart
from haarbor.trees import PartitionTree

__all__ = ["DividedBatch"]

_AXES = ("query", "key", "head")
_KINDS: tuple[OuterPart, ...] = ("ground", "raised")


class _Opened(NamedTuple):
    """A batch as a worker holds it between two steps."""

    key: tuple[Any, ...]
    source: HeldTensor | StreamedTensor
    means: FolderMeans
    facts: TensorFacts


# The batch that this worker has read last; tasks of one worker come one at a time.
_OPENED: list[_Opened] = []


class SumsTask(NamedTuple):
    """Some rows of the sums of one step."""

    batch: BatchTask
    axis: str
    trees: Mapping[str, PartitionTree]
    exponents: Mapping[str, tuple[float, float]]
    ground_parts: tuple[OuterPart, ...]
    strips: list[tuple[int, int]]


class DividedBatch:
    """The tensor of a batch, on the workers of a cluster, until the end of a ``with`` block.

    Parameters
    ----------
    task : BatchTask
    session : ClusterSession
    """

    def __init__(self, task: BatchTask, session: ClusterSession) -> None:
        self._task, self._session = task, session
        asked = [(task, axis) for axis in _AXES[:2]]
        answers = dict(session.completed(first_affinity, asked))
        self.facts: TensorFacts = answers[0][0]
        self._affinities = {axis: answers[place][1] for place, axis in enumerate(_AXES[:2])}

    def __enter__(self) -> DividedBatch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            for _ in self._session.completed(forget, [None] * len(self._session.workers())):
                pass

    def initial_affinity(self, axis: str) -> FloatArray:
        """First affinity between the slices of an axis."""
        affinity: FloatArray = self._affinities.pop(axis)
        return affinity

    def l1_sums(
        self,
        axis: str,
        trees: Mapping[str, PartitionTree],
        exponents: Mapping[str, tuple[float, float]],
        ground_parts: Sequence[OuterPart],
    ) -> FloatArray:
        """Sums of one step, from the rows that each worker has summed."""
        n_items = self.facts.shape[_AXES.index(axis)]
        parts = row_parts(n_items, len(self._session.workers()))
        tasks = [
            SumsTask(self._task, axis, dict(trees), dict(exponents), tuple(ground_parts), strips)
            for strips in parts
        ]
        found = dict(self._session.completed(sums_of_rows, tasks))
        sent = _sent(ground_parts)
        sums: FloatArray = np.zeros((3, n_items, n_items))
        rows = [found[place] for place in range(len(parts))]
        sums[sent] = joined_rows(parts, rows, len(sent), n_items)
        return sums


def first_affinity(asked: tuple[BatchTask, str]) -> tuple[TensorFacts, FloatArray]:
    """What is known of a batch, and the first affinity along an axis, on this worker."""
    opened = _opened(asked[0])
    return opened.facts, opened.source.initial_affinity(asked[1])


def sums_of_rows(task: SumsTask) -> FloatArray:
    """Rows of the sums of one step that are not zero throughout, on this worker."""
    opened = _opened(task.batch)
    threads = usable_cores()
    if isinstance(opened.source, StreamedTensor):
        threads = min(threads, opened.source.plan.threads)
    engine = RowsEngine(task.strips, threads)
    sums = opened.means.l1_sums(task.axis, task.trees, task.exponents, engine, ground_parts=task.ground_parts)
    return engine.rows_of(sums[_sent(task.ground_parts)])


def forget(_: None) -> None:
    """Free the memory of the batch that this worker has read."""
    _OPENED.clear()


def _sent(ground_parts: Sequence[OuterPart]) -> list[int]:
    """Which of the three matrices of a step are sums, and not zero because they are known already."""
    return [place for place, part in enumerate(_KINDS) if part in ground_parts] + [2]


def _opened(task: BatchTask) -> _Opened:
    key = (task.location, task.content, task.stream, task.batch, task.digest, task.memory)
    if _OPENED and _OPENED[0].key == key:
        return _OPENED[0]
    # First, because two batches may not fit.
    _OPENED.clear()
    part = task.opened()
    source: HeldTensor | StreamedTensor | None = streamed_batch(part, task.batch, task.memory)
    if isinstance(source, StreamedTensor):
        facts = TensorFacts(source.shape, source.dtype, source.kind, source.exponent)
    else:
        tokens = valid_tokens(part.tensor(task.batch), part.mask(task.batch))
        mask = None if tokens.mask.all() else tokens.mask
        tensor, kind = neutral_tensor(tokens.tensor, _AXES, mask, part.content)
        source = HeldTensor(tensor, _AXES, task.question.options["initial"], usable_cores())
        facts = TensorFacts(source.shape, tensor.dtype, kind, source.exponent)
    _OPENED.append(_Opened(key, source, source.means(), facts))
    return _OPENED[0]
