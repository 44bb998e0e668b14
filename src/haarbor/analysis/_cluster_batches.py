"""Batches of a run, organised by the workers of a cluster, each of which reads the run itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from haarbor.analysis._batch_results import BatchResults, batch_results, batch_tensor, head_distances
from haarbor.analysis._question import Question
from haarbor.array_types import FloatArray
from haarbor.engines import ClusterSession, engine_named
from haarbor.errors import EngineError, StoreError
from haarbor.questionnaire import Organization
from haarbor.store import RunPart, open_run

__all__ = ["ClusterBatches"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BatchTask:
    """What a worker needs to know of a batch; it reads the numbers itself."""

    location: str
    storage_options: Mapping[str, Any] | None
    content: str
    stream: str
    batch: int
    digest: str
    question: Question
    memory: int | str | None
    organization: Organization | None
    """Where it is known already, only the distances between the heads are asked for."""

    def opened(self) -> RunPart:
        """The part of the run, as this worker finds it."""
        advice = "Put the run on a file system or at a URL that all workers share."
        try:
            run = open_run(self.location, storage_options=self.storage_options)
            part = run.part(self.content, self.stream)
            digest = run.digest(self.batch)
        except StoreError as error:
            raise StoreError(
                f"every worker must reach the run at {self.location}; {_this_worker()} does not: "
                f"{str(error).rstrip('.')}. {advice}"
            ) from None
        if digest != self.digest:
            raise StoreError(
                f"every worker must find the same run at {self.location}; {_this_worker()} finds another "
                f"batch {self.batch} there. {advice}"
            )
        return part


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
        tasks = [self._task(batch, None) for batch in batches]
        for place, (found, distances) in self._session.completed(organized_batch, tasks):
            yield batches[place], found, distances

    def distances(self, organizations: Mapping[int, Organization]) -> Iterator[tuple[int, FloatArray]]:
        """Batch and distances between heads of each batch that is organised already."""
        batches = list(organizations)
        tasks = [self._task(batch, organizations[batch]) for batch in batches]
        for place, distances in self._session.completed(distances_of_batch, tasks):
            yield batches[place], distances

    def _task(self, batch: int, organization: Organization | None) -> BatchTask:
        location, storage_options = self._place
        return BatchTask(
            location=location, storage_options=storage_options, content=self._part.content,
            stream=self._part.stream, batch=batch, digest=self._part.run.digest(batch),
            question=self._question, memory=self._memory, organization=organization,
        )  # fmt: skip


def organized_batch(task: BatchTask) -> tuple[BatchResults, FloatArray | None]:
    """Results of a batch on this worker, with the distances between its heads unless its trees are Haar's."""
    part = task.opened()
    engine = engine_named("auto")
    found, X = batch_results(part, task.batch, task.question, engine, task.memory)
    is_haar = task.question.options["tree"] == "haar"
    return found, None if is_haar else head_distances(X, found.organization, engine)


def distances_of_batch(task: BatchTask) -> FloatArray:
    """Distances between the heads of an organised batch, on this worker."""
    assert task.organization is not None
    X = batch_tensor(task.opened(), task.batch, task.memory)
    return head_distances(X, task.organization, engine_named("auto"))


def _this_worker() -> str:
    from distributed import get_worker

    try:
        return f"worker {get_worker().address}"
    except ValueError:
        return "this process"
