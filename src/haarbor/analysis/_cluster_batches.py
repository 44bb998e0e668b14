"""Batches of a run, organised by the workers of a cluster, each of which reads the run itself."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from haarbor.analysis._batch_results import (
    BatchResults,
    batch_results,
    batch_tensor,
    entropies_on,
)
from haarbor.analysis._batch_task import BatchTask
from haarbor.analysis._divided_batch import DividedBatch
from haarbor.analysis._question import Question
from haarbor.array_types import FloatArray
from haarbor.engines import ClusterSession, CpuEngine, engine_named
from haarbor.errors import EngineError
from haarbor.questionnaire import DividedTensor, Organization, distances_on_own_trees, organize
from haarbor.store import RunPart

__all__ = ["ClusterBatches"]

# With fewer absolute differences an iteration, what every worker does for itself takes as long.
_WORTH_DIVIDING = 2e11


class ClusterBatches:
    """The batches of one part of a run, on the workers of a cluster.

    Parameters
    ----------
    part : RunPart
    question : Question
    memory : int or str or None
        What each worker may take.
    session : ClusterSession

    Raises
    ------
    EngineError
        If the run is in the memory of this process.
    StoreError
        If a worker does not find the run.
    """

    def __init__(
        self, part: RunPart, question: Question, memory: int | str | None, session: ClusterSession
    ) -> None:
        self._part, self._question, self._memory, self._session = part, question, memory, session
        place = part.run.place
        if place is None:
            raise EngineError(
                f"a cluster must have a run at a path or URL that its workers can open; {part.run.location} "
                "is open in this process only. Write the run to such a place, or use engine='cpu'."
            )
        self._place = place

    def results(self, batches: Sequence[int]) -> Iterator[tuple[int, BatchResults, FloatArray | None]]:
        """Batch, results and distances between heads of each batch, in the order they are done."""
        if 0 < len(batches) < len(self._session.workers()) and self._is_divisible():
            for batch in batches:
                yield batch, *self._divided(batch)
            return
        tasks = [self._task(batch, None) for batch in batches]
        for place, (found, distances) in self._session.completed(organized_batch, tasks):
            yield batches[place], found, distances

    def _is_divisible(self) -> bool:
        """Whether all workers together should organise one batch after the other."""
        sizes = self._part.sizes
        lengths = (sizes.n_queries, sizes.n_keys, sizes.n_layers * sizes.n_heads)
        differences = math.prod(lengths) * sum(lengths) / 2
        options = self._question.options
        if options["tree"] == "haar" or options["approximate"] or differences < _WORTH_DIVIDING:
            return False
        # Only sums on processors can be divided into parts that make the same bits.
        workers = [None] * len(self._session.workers())
        return all(name == "cpu" for _, name in self._session.completed(engine_name, workers))

    def _divided(self, batch: int) -> tuple[BatchResults, FloatArray | None]:
        """Organise one batch with the help of all workers."""
        task = self._task(batch, None)
        with DividedBatch(task, self._session) as elsewhere:
            tensor = DividedTensor(elsewhere)
            # It makes no sums itself; its name is that of the engine of the workers.
            org = organize(tensor, engine=CpuEngine(), **self._question.options)  # type: ignore[arg-type]
            # Affinities are not sent along: they are large, and not needed there.
            known = self._task(batch, org)
            done = dict(
                self._session.completed(part_of_results, [(known, "entropies"), (known, "distances")])
            )
        return BatchResults(org, *done[0]), done[1]

    def distances(self, organizations: Mapping[int, Organization]) -> Iterator[tuple[int, FloatArray]]:
        """Batch and distances between heads of each batch that is organised already."""
        batches = list(organizations)
        tasks = [(self._task(batch, organizations[batch]), "distances") for batch in batches]
        for place, distances in self._session.completed(part_of_results, tasks):
            yield batches[place], distances

    def _task(self, batch: int, organization: Organization | None) -> BatchTask:
        location, storage_options = self._place
        return BatchTask(
            location=location, storage_options=storage_options, content=self._part.content,
            stream=self._part.stream, batch=batch, digest=self._part.run.digest(batch),
            question=self._question, memory=self._memory,
            trees=None if organization is None else dict(organization.trees),
            settings=None if organization is None else organization.settings,
        )  # fmt: skip


def organized_batch(task: BatchTask) -> tuple[BatchResults, FloatArray | None]:
    """Results of a batch on this worker, with the distances between its heads unless its trees are Haar's."""
    found, X = batch_results(task.opened(), task.batch, task.question, "auto", task.memory)
    org = found.organization
    if task.question.options["tree"] == "haar":
        return found, None
    return found, distances_on_own_trees(X, org.trees, org.settings, "head", engine_named("auto"))


def part_of_results(asked: tuple[BatchTask, str]) -> Any:
    """Entropies of a batch whose trees are known, or the distances between its heads, on this worker."""
    task, what = asked
    X = batch_tensor(task.opened(), task.batch, task.memory)
    trees, settings = task.trees, task.settings
    assert trees is not None
    assert settings is not None
    if what == "entropies":
        return entropies_on(X, trees, task.question)
    return distances_on_own_trees(X, trees, settings, "head", engine_named("auto"))


def engine_name(_: None) -> str:
    """Name of the engine that this worker picks."""
    return engine_named("auto").name
