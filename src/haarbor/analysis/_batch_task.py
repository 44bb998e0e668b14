"""What a worker of a cluster is told of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from haarbor.analysis._question import Question
from haarbor.errors import StoreError
from haarbor.questionnaire import QuestionnaireSettings
from haarbor.store import RunPart, open_run
from haarbor.trees import PartitionTree

__all__ = ["BatchTask"]


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
    trees: Mapping[str, PartitionTree] | None
    """Where they are known already."""
    settings: QuestionnaireSettings | None
    """Those that made the trees."""

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


def _this_worker() -> str:
    from distributed import get_worker

    try:
        return f"worker {get_worker().address}"
    except ValueError:
        return "this process"
