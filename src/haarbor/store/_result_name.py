"""The name of a result: what it was made from, what it is called, and its place in the run."""

from __future__ import annotations

from typing import NamedTuple

from haarbor.errors import SettingError
from haarbor.options import found_text
from haarbor.store._batch_marker import checked_batch
from haarbor.store._layout import RESULTS, batch_number, name_fits
from haarbor.store._run_plan import RunPlan

__all__ = ["ResultName"]

_ALL_BATCHES = "all-batches"
_ONE_BATCH = "batch-"


class ResultName(NamedTuple):
    """What a result was made from, and what it is called."""

    stream: str
    content: str
    batch: int | None
    """None for a result of several batches together."""
    name: str

    @property
    def path(self) -> str:
        """Where it lies in the run."""
        part = _ALL_BATCHES if self.batch is None else f"{_ONE_BATCH}{self.batch:05d}"
        return f"{RESULTS}/{self.stream}/{self.content}/{part}/{self.name}"

    @property
    def groups(self) -> tuple[str, ...]:
        """Paths of the groups it lies in, from the outside in."""
        parts = self.path.split("/")
        return tuple("/".join(parts[:depth]) for depth in range(1, len(parts)))

    def require_part_of(self, plan: RunPlan) -> None:
        """SettingError unless a run of `plan` may hold a result of this name."""
        if not name_fits(self.name):
            raise SettingError(
                "a result's name must be letters, digits, '_', '-' or '.'; "
                f"found {found_text(self.name)}. Choose another name."
            )
        plan.stream(self.stream)
        plan.content(self.content)
        if self.batch is not None:
            checked_batch(self.batch)

    @classmethod
    def of_path(cls, path: str, plan: RunPlan) -> ResultName | None:
        """Name of the result at a path of a run of `plan`; None where no result can lie.

        Examples
        --------
        >>> from haarbor.store import StreamPlan
        >>> stream = StreamPlan(name="decoder", n_layers=2, n_heads=4, n_queries=8, n_keys=8)
        >>> plan = RunPlan(model="tiny", streams=(stream,), n_batches=3)
        >>> ResultName.of_path("results/decoder/probabilities/batch-00002/asked", plan).batch
        2
        >>> ResultName.of_path("results/decoder/probabilities/batch-abc/asked", plan) is None
        True
        """
        parts = path.split("/")
        if len(parts) != 5 or parts[0] != RESULTS:
            return None
        _, stream, content, part, name = parts
        batch = batch_number(part.removeprefix(_ONE_BATCH)) if part.startswith(_ONE_BATCH) else None
        if batch is None and part != _ALL_BATCHES:
            return None
        found = cls(stream=stream, content=content, batch=batch, name=name)
        try:
            found.require_part_of(plan)
        except SettingError:
            return None
        return found
