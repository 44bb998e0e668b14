"""Writing a run: which batches it has already, and how another one is added."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Self

from haarbor.errors import SettingError, StoreError
from haarbor.store._batch_marker import checked_batch, complete_batches
from haarbor.store._batch_writer import BatchWriter
from haarbor.store._chunked_arrays import write_description
from haarbor.store._damage import damages
from haarbor.store._damaged_part import DamagedPartError
from haarbor.store._documents import MOST_BYTES
from haarbor.store._keys import Keys, Lock
from haarbor.store._layout import (
    METADATA,
    PICTURES,
    RESULTS,
    array_path,
    batch_number,
    batch_of_chunk,
    marker_key,
    picture_path,
)
from haarbor.store._passing_keys import PassingKeys
from haarbor.store._planned_arrays import planned_array, planned_arrays, require_planned
from haarbor.store._result_name import ResultName
from haarbor.store._result_store import ResultStore
from haarbor.store._run_document import write_groups
from haarbor.store._run_plan import RunPlan

if TYPE_CHECKING:
    from haarbor.store._run import Run

__all__ = ["RunWriter"]


class RunWriter:
    """A run open for writing; made by :func:`haarbor.store.create_run`, never by hand.

    It holds the run's lock until it is closed, so use it in a ``with`` block.
    """

    def __init__(self, keys: Keys, plan: RunPlan, lock: Lock, *, repair: bool) -> None:
        self._keys = keys
        self._plan = plan
        self._release = weakref.finalize(self, lock.release)
        keys.sweep(except_below=RESULTS)
        write_groups(keys, plan, repair=repair)
        self._complete = set(complete_batches(keys))
        self._open: set[int] = set()
        self._describe_arrays(repair=repair)
        self._forget_incomplete()
        if repair:
            self._repair()

    @property
    def plan(self) -> RunPlan:
        """What the run holds."""
        return self._plan

    @property
    def complete_batches(self) -> tuple[int, ...]:
        """Batches that are complete, increasing."""
        return tuple(sorted(self._complete))

    @property
    def missing_batches(self) -> tuple[int, ...]:
        """Batches that are still to be written, increasing.

        If the plan does not say how many batches there will be, these are the ones that are missing
        before the last complete batch.
        """
        n_batches = self._plan.n_batches
        if n_batches is None:
            n_batches = max(self._complete, default=-1) + 1
        return tuple(batch for batch in range(n_batches) if batch not in self._complete)

    @property
    def run(self) -> Run:
        """The run that is being written, opened for reading."""
        from haarbor.store._run import Run

        return Run(self._keys)

    def __repr__(self) -> str:
        total = "" if self._plan.n_batches is None else f" of {self._plan.n_batches}"
        return f"RunWriter({self._keys.address}, {len(self._complete)}{total} batches complete)"

    @contextlib.contextmanager
    def batch(self, index: int) -> Iterator[BatchWriter]:
        """Context manager in which one batch is written.

        When the block ends without an error the batch is complete; otherwise nothing of it is kept.
        Several batches may be open at once, because a model may take several inputs together.

        Parameters
        ----------
        index : int

        Yields
        ------
        BatchWriter

        Raises
        ------
        StoreError
            If the batch is complete already, or if a part of it is missing when the block ends.
        DataError
            If the mask does not fit the values when the block ends.
        """
        index = checked_batch(index)
        self._require_writable(index)
        self._open.add(index)
        batch = BatchWriter(self._keys, self._plan, index)
        try:
            yield batch
            batch._finish()
            # The arrays get room for the batch before it counts: other programs go by their shape.
            self._fit(index)
            batch._mark()
            self._complete.add(index)
        except BaseException:
            self._open.discard(index)
            # If it is the disk that failed, what is left over is removed when the run is opened again.
            with contextlib.suppress(StoreError):
                self._forget(index)
            raise
        finally:
            batch._close()
            self._open.discard(index)

    def discard(self, batch: int) -> None:
        """Remove a batch and the results of that batch alone; nothing happens if it is not there.

        Parameters
        ----------
        batch : int
        """
        batch = checked_batch(batch)
        if batch in self._open:
            raise StoreError(
                f"a batch must not be discarded while its block is open; batch {batch} is being written."
                " Leave its block first."
            )
        self._keys.delete(marker_key(batch))
        self._complete.discard(batch)
        self._forget(batch)
        for stream in self._plan.streams:
            for content in self._plan.contents:
                self._keys.delete_below(f"{RESULTS}/{stream.name}/{content}/batch-{batch:05d}")

    def let_go(self, batch: int) -> None:
        """Forget the attention of a batch where the run keeps results only; otherwise nothing happens.

        Parameters
        ----------
        batch : int
        """
        if isinstance(self._keys, PassingKeys):
            self._keys.let_go(checked_batch(batch))

    def close(self) -> None:
        """Release the lock; doing so twice is harmless."""
        self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _require_writable(self, index: int) -> None:
        if not self._release.alive:
            raise StoreError("a closed writer cannot write. Open the run again with create_run.")
        n_batches = self._plan.n_batches
        if n_batches is not None and index >= n_batches:
            raise SettingError(
                f"batch must be at least 0 and below {n_batches}; found {index}. "
                "Write those in missing_batches."
            )
        if index in self._complete:
            raise StoreError(
                f"a batch must be written only once; batch {index} of {self._keys.address} is complete. "
                "Write those in missing_batches, or discard it first."
            )
        if index in self._open:
            raise StoreError(
                f"a batch must be written by one block at a time; batch {index} is being written."
                " Leave its block first."
            )

    def _describe_arrays(self, *, repair: bool) -> None:
        """Describe the arrays that are not described yet, and damaged ones if `repair`."""
        room = max(self._complete, default=-1) + 1
        for stream in self._plan.streams:
            for content in (*self._plan.kept_contents, "mask"):
                path = array_path(stream.name, content)
                expected = planned_array(self._plan, stream, content, self._plan.n_batches or room)
                try:
                    require_planned(self._keys, self._plan, stream, content, least=room)
                except DamagedPartError as error:
                    # A writer that was killed at its very beginning may not have described it yet.
                    if not repair and METADATA in self._keys.children(path):
                        raise StoreError(
                            f"the array {path!r} of {self._keys.address} must be described as it was "
                            f"written; {error}. Open the run with create_run(..., repair=True) to write "
                            "the description again."
                        ) from None
                    write_description(self._keys, path, expected)

    def _repair(self) -> None:
        """Remove damaged parts, so that they are made again; StoreError if a part cannot be read at all."""
        found = damages(self._keys, self._plan)
        unread = next((damage for damage in found if not damage.is_lost), None)
        if unread is not None:
            raise StoreError(
                f"a run is repaired only where all of it can be read; at {self._keys.address} {unread} "
                "Nothing was removed."
            )
        for batch in sorted({damage.batch for damage in found if damage.batch >= 0 and not damage.result}):
            self.discard(batch)
        names = [
            ResultName(
                stream=damage.stream,
                content=damage.content,
                batch=None if damage.batch < 0 else damage.batch,
                name=damage.result,
            )
            for damage in found
            if damage.result
        ]
        groups = [damage.path for damage in found if damage.path]
        ResultStore(self._keys, self._plan).repair(names, groups)

    def _fit(self, *more: int) -> None:
        """Make the arrays as long as the batches need, if the plan does not say how many there will be."""
        if self._plan.n_batches is not None:
            return
        room = max((*self._complete, *more), default=-1) + 1
        for path, description in planned_arrays(self._plan, room, self._plan.kept_contents).items():
            data = description.to_bytes()
            if self._keys.read(f"{path}/{METADATA}", MOST_BYTES) != data:
                write_description(self._keys, path, description)

    def _forget(self, batch: int) -> None:
        # The arrays come first: until they fit, the chunks show that a batch was being written.
        self._fit()
        self._remove_chunks(lambda owner: owner == batch)
        self._keys.delete_below(picture_path(batch))

    def _forget_incomplete(self) -> None:
        """Remove what interrupted batches left, so that the finished run does not depend on them."""
        self._fit()
        self._remove_chunks(lambda owner: owner not in self._complete)
        for name in self._keys.children(PICTURES):
            batch = batch_number(name)
            if batch is not None and batch not in self._complete:
                self._keys.delete_below(picture_path(batch))

    def _remove_chunks(self, unwanted: Callable[[int], bool]) -> None:
        for path in planned_arrays(self._plan, 0):
            found = {name: batch_of_chunk(name) for name in self._keys.children(path)}
            self._keys.delete(
                *(f"{path}/{name}" for name, owner in found.items() if owner is not None and unwanted(owner))
            )
