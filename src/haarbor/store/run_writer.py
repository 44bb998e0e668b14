"""Writing a run: which batches are there, and how one more is added."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from haarbor.errors import SettingError, StoreError
from haarbor.store.batch_marker import complete_batches
from haarbor.store.batch_writer import BatchWriter
from haarbor.store.chunked_arrays import existing_array, new_array
from haarbor.store.damage import damages
from haarbor.store.failures import storage_failures
from haarbor.store.keys import Keys, Lock
from haarbor.store.layout import (
    METADATA,
    PICTURES,
    RESULTS,
    array_path,
    batch_of_chunk,
    marker_key,
    picture_path,
)
from haarbor.store.run_document import write_groups
from haarbor.store.run_plan import RunPlan

if TYPE_CHECKING:
    from zarr import Array

    from haarbor.store.run import Run

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
        write_groups(keys, plan)
        self._complete = set(complete_batches(keys))
        self._open: set[int] = set()
        self._arrays = {
            path: self._array(path, shape, axes, repair=repair)
            for path, (shape, axes) in self._described().items()
        }
        self._forget_incomplete()
        if repair:
            for batch in sorted({damage.batch for damage in damages(keys, plan)}):
                self.discard(batch)

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
        """Batches still to be written, increasing.

        Where the plan does not say how many there are: those before the last complete one.
        """
        n_batches = self._plan.n_batches
        if n_batches is None:
            n_batches = max(self._complete, default=-1) + 1
        return tuple(batch for batch in range(n_batches) if batch not in self._complete)

    @property
    def run(self) -> Run:
        """The same run, for reading."""
        from haarbor.store.run import Run

        return Run(self._keys)

    def __repr__(self) -> str:
        total = "" if self._plan.n_batches is None else f" of {self._plan.n_batches}"
        return f"RunWriter({self._keys.address}, {len(self._complete)}{total} batches complete)"

    @contextlib.contextmanager
    def batch(self, index: int) -> Iterator[BatchWriter]:
        """Block in which a batch is written; at its end the batch is complete, or absent.

        Several batches may be open at once, as when a model takes several inputs together.

        Parameters
        ----------
        index : int

        Yields
        ------
        BatchWriter

        Raises
        ------
        StoreError
            If the batch is complete already, or a part is missing when the block ends.
        DataError
            If the mask does not fit the values when the block ends.
        """
        self._require_writable(index)
        self._open.add(index)
        batch = BatchWriter(self._keys, self._plan, self._arrays, index)
        try:
            self._fit()
            yield batch
            batch._complete()
            self._complete.add(index)
        except BaseException:
            self._open.discard(index)
            # The disk may be what failed; what is left over is removed when the run is opened again.
            with contextlib.suppress(StoreError):
                self._forget(index)
            raise
        finally:
            batch._close()
            self._open.discard(index)

    def discard(self, batch: int) -> None:
        """Make a batch absent, with the results that belong to it; nothing happens if it is.

        Parameters
        ----------
        batch : int
        """
        if batch in self._open:
            raise StoreError(f"a batch must be left before it is discarded; batch {batch} is being written.")
        self._keys.delete(marker_key(batch))
        self._complete.discard(batch)
        self._forget(batch)
        for stream in self._plan.streams:
            for content in self._plan.contents:
                self._keys.delete_below(f"{RESULTS}/{stream.name}/{content}/batch-{batch:05d}")

    def close(self) -> None:
        """Give back the lock; doing so twice is harmless."""
        self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _require_writable(self, index: int) -> None:
        if not self._release.alive:
            raise StoreError("a closed writer cannot write; open the run again with create_run.")
        n_batches = self._plan.n_batches
        if index < 0 or (n_batches is not None and index >= n_batches):
            upper = "" if n_batches is None else f" and below {n_batches}"
            raise SettingError(f"batch must be at least 0{upper}; found {index}.")
        if index in self._complete:
            raise StoreError(
                f"a batch is written once; batch {index} of {self._keys.address} is complete. "
                "Write those in missing_batches, or discard it first."
            )
        if index in self._open:
            raise StoreError(f"a batch is written by one block at a time; batch {index} is being written.")

    def _described(self) -> dict[str, tuple[tuple[int, ...], tuple[str, ...]]]:
        """Shape without the batches, and names of the axes, of each array."""
        described: dict[str, tuple[tuple[int, ...], tuple[str, ...]]] = {}
        for stream in self._plan.streams:
            for content in self._plan.contents:
                described[array_path(stream.name, content)] = (
                    (stream.n_layers, *stream.layer_shape),
                    ("batch", "layer", "head", "query", "key"),
                )
            described[array_path(stream.name, "mask")] = (
                (stream.n_queries, stream.n_keys),
                ("batch", "query", "key"),
            )
        return described

    def _array(self, path: str, shape: tuple[int, ...], axes: tuple[str, ...], *, repair: bool) -> Array[Any]:
        key = f"{path}/{METADATA}"
        if self._keys.read(key) is not None:
            try:
                return existing_array(self._keys, path, read_only=False)
            except StoreError:
                if not repair:
                    raise
                self._keys.delete(key)
        is_mask = axes == ("batch", "query", "key")
        n_batches = self._plan.n_batches
        if n_batches is None:
            n_batches = max(self._complete, default=-1) + 1
        chunk = shape if is_mask else (1, *shape[1:])
        return new_array(
            self._keys,
            path,
            shape=(n_batches, *shape),
            chunks=(1, *chunk),
            dtype="bool" if is_mask else self._plan.dtype,
            axes=axes,
        )

    def _fit(self) -> None:
        """Make the arrays as long as the batches need, where the plan does not say."""
        if self._plan.n_batches is not None:
            return
        n_batches = max(self._complete | self._open, default=-1) + 1
        with storage_failures(f"resizing the arrays of {self._keys.address}"):
            for array in self._arrays.values():
                if array.shape[0] != n_batches:
                    array.resize((n_batches, *array.shape[1:]))

    def _forget(self, batch: int) -> None:
        self._remove_chunks(lambda owner: owner == batch)
        self._keys.delete_below(picture_path(batch))
        self._fit()

    def _forget_incomplete(self) -> None:
        """Remove what interrupted batches left, so that the end does not depend on them."""
        self._remove_chunks(lambda owner: owner not in self._complete)
        for name in self._keys.children(PICTURES):
            if name.isdecimal() and int(name) not in self._complete:
                self._keys.delete_below(picture_path(int(name)))
        self._fit()

    def _remove_chunks(self, unwanted: Callable[[int], bool]) -> None:
        for path in self._arrays:
            found = {name: batch_of_chunk(name) for name in self._keys.children(path)}
            self._keys.delete(
                *(f"{path}/{name}" for name, owner in found.items() if owner is not None and unwanted(owner))
            )
