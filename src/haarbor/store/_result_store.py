"""Results inside a run: each is whole or absent, and is tied to the batches it was made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from haarbor.array_types import AnyArray
from haarbor.errors import HaarborError, StoreError
from haarbor.store._chunked_arrays import (
    read_chunk,
    require_chunk,
    require_description,
    write_chunk,
    write_description,
)
from haarbor.store._damaged_part import DamagedPartError
from haarbor.store._documents import MOST_BYTES
from haarbor.store._kept_result import KeptResult
from haarbor.store._keys import Keys
from haarbor.store._layout import METADATA, RESULTS, only_chunk_key
from haarbor.store._result_description import ResultDescription, StoredArray
from haarbor.store._result_name import ResultName
from haarbor.store._result_values import restored_value, stored_value
from haarbor.store._run_document import describe_group
from haarbor.store._run_plan import RunPlan

__all__ = ["ResultStore"]

_PATIENCE_SECONDS = 60.0


class ResultStore:
    """The results of one run: saving, loading, checking and removing them.

    A result is a zarr group. Its arrays are written first, and the description in its attributes last,
    so a result without a description is one whose writing was interrupted, and does not count.

    Parameters
    ----------
    keys : Keys
    plan : RunPlan
    """

    def __init__(self, keys: Keys, plan: RunPlan) -> None:
        self._keys = keys
        self._plan = plan
        self._swept = False

    def save(self, name: ResultName, value: object, sources: Mapping[str, str]) -> None:
        """Save a value under a name, in place of what was saved there before.

        Parameters
        ----------
        name : ResultName
        value : object
        sources : mapping of str to str
            From the number of each batch that the value was made from to the digest of its marker.
        """
        name.require_part_of(self._plan)
        described, arrays = stored_value(value)
        with self._lock():
            self._remove(name)
            for group in name.groups:
                describe_group(self._keys, group)
            keys: list[str] = []
            written = {
                array_name: self._write(f"{name.path}/{array_name}", array, keys)
                for array_name, array in arrays.items()
            }
            # All at once: arrays of one result share their folders, and each folder is waited for.
            self._keys.make_durable(keys)
            description = ResultDescription(path=name.path, value=described, arrays=written, sources=sources)
            self._keys.write(f"{name.path}/{METADATA}", description.to_bytes())

    def load(self, name: ResultName, sources: Mapping[str, str]) -> Any:
        """Value saved under a name.

        Raises
        ------
        StoreError
            If there is none, if it was made from other batches than `sources`, or if it is damaged.
        """
        name.require_part_of(self._plan)
        try:
            description = self._description(name)
            if description is None:
                raise StoreError(
                    f"a result must have been saved; {self._keys.address} has no {name.path}. "
                    "Make it first: haarbor organize writes the results of a run."
                )
            if description.sources != dict(sources):
                raise self._of_other_batches(name, description.sources, sources)
            return self._value(name, description)
        except DamagedPartError as error:
            raise StoreError(
                f"a result must hold what was written; {name.path} of {self._keys.address} is damaged: "
                f"{error}. Make it again, which replaces it."
            ) from None

    def _of_other_batches(
        self, name: ResultName, then: Mapping[str, str], sources: Mapping[str, str]
    ) -> StoreError:
        made, now = (_batches_text(batches) for batches in (then, sources))
        reason = (
            f"it was made from {made}, and {now} were asked for"
            if made != now
            else "the batches were written again since"
        )
        return StoreError(
            f"a result must be made from the batches as they are now; {name.path} of {self._keys.address} "
            f"is not: {reason}. Make it again."
        )

    def _value(self, name: ResultName, description: ResultDescription) -> Any:
        def array_named(array_name: str) -> AnyArray:
            return self._read(f"{name.path}/{array_name}", description.arrays[array_name])

        try:
            return restored_value(description.value, array_named)
        except StoreError:
            raise
        except (HaarborError, KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            reason = f"{type(error).__name__}: {error}".split("\n")[0].rstrip(".")
            raise DamagedPartError(f"its parts do not fit together ({reason})") from None

    def has(self, name: ResultName, sources: Mapping[str, str]) -> bool:
        """Whether there is an undamaged result of this name that was made from these `sources`."""
        name.require_part_of(self._plan)
        try:
            description = self._description(name)
            if description is None or description.sources != dict(sources):
                return False
            self._require_arrays(name, description)
        except StoreError:
            return False
        return True

    def kept(self, name: ResultName, sources: Mapping[str, str]) -> KeptResult:
        """State of a result, and its value if it is whole and was made from these `sources`; read once."""
        name.require_part_of(self._plan)
        try:
            description = self._description(name)
            if description is None:
                return KeptResult(state="absent")
            if description.sources != dict(sources):
                return KeptResult(state="outdated")
            value = self._value(name, description)
        except DamagedPartError as error:
            return KeptResult(
                state="damaged",
                reason=f"a result must hold what was written; {name.path} of {self._keys.address} is "
                f"damaged: {error}. Make it again, which replaces it.",
            )
        except StoreError as error:
            # An error number means that the disk or the network failed: the result itself may be whole.
            if error.errno is not None:
                raise
            return KeptResult(state="damaged", reason=str(error))
        return KeptResult(state="whole", value=value)

    def delete(self, name: ResultName) -> None:
        """Remove a result."""
        name.require_part_of(self._plan)
        with self._lock():
            self._remove(name)

    def names(self) -> tuple[ResultName, ...]:
        """Names of all results whose description is whole."""
        found = []
        for name in self._described():
            try:
                if self._description(name) is not None:
                    found.append(name)
            except DamagedPartError:
                continue
        return tuple(found)

    def require_whole(self, name: ResultName) -> None:
        """DamagedPartError if there is a result of that name that does not hold what was written."""
        description = self._description(name)
        if description is not None:
            self._require_arrays(name, description)

    def parts(self) -> tuple[list[ResultName], list[str]]:
        """Names of all results that have a description, damaged or not, and paths of their groups."""
        names = self._described()
        groups = {group for name in names for group in name.groups[1:]}
        some_result = [RESULTS, self._plan.streams[0].name, self._plan.contents[0], "all-batches", "x"]
        for path in self._described_paths():
            depth = path.count("/") + 1
            if 1 < depth < 5 and ResultName.of_path("/".join([path, *some_result[depth:]]), self._plan):
                groups.add(path)
        return names, sorted(groups)

    def repair(self, names: list[ResultName], groups: list[str]) -> None:
        """Remove damaged results, and write the descriptions of damaged groups again."""
        if not names and not groups:
            return
        with self._lock():
            for name in names:
                self._remove(name)
            for group in groups:
                describe_group(self._keys, group)

    def _described(self) -> list[ResultName]:
        found = (ResultName.of_path(path, self._plan) for path in self._described_paths())
        return [name for name in found if name is not None]

    def _described_paths(self) -> Iterator[str]:
        for key in self._keys.below(RESULTS):
            if key.endswith(f"/{METADATA}"):
                yield key.removesuffix(f"/{METADATA}")

    @contextmanager
    def _lock(self) -> Iterator[None]:
        # This is not the writer's lock: a run may be organised while it is still being captured.
        lock = self._keys.lock(RESULTS, patience_seconds=_PATIENCE_SECONDS)
        try:
            # Only once per object: it looks at all results, which takes long where many are saved in turn.
            if not self._swept:
                self._keys.sweep(RESULTS)
                self._swept = True
            yield
        finally:
            lock.release()

    def _remove(self, name: ResultName) -> None:
        # The description goes first: without it the rest does not count.
        self._keys.delete(f"{name.path}/{METADATA}")
        self._keys.delete_below(name.path)

    def _write(self, path: str, array: AnyArray, keys: list[str]) -> StoredArray:
        """Store an array as one chunk, and append its keys; an array without entries has none."""
        stored = StoredArray(shape=array.shape, dtype=array.dtype.name, checksum="")
        write_description(self._keys, path, stored.description, is_durable=False)
        keys.append(f"{path}/{METADATA}")
        if array.size:
            key = only_chunk_key(path, array.ndim)
            checksum = write_chunk(self._keys, key, stored.description, array)
            stored = StoredArray(shape=array.shape, dtype=array.dtype.name, checksum=checksum)
            keys.append(key)
        return stored

    def _read(self, path: str, stored: StoredArray) -> AnyArray:
        with _named_part(path):
            require_description(self._keys, path, stored.description)
            if stored.description.is_empty:
                return np.zeros(stored.shape, dtype=stored.dtype)
            key = only_chunk_key(path, len(stored.shape))
            return read_chunk(self._keys, key, stored.description, stored.checksum)

    def _require_arrays(self, name: ResultName, description: ResultDescription) -> None:
        for array_name, stored in description.arrays.items():
            path = f"{name.path}/{array_name}"
            with _named_part(path):
                require_description(self._keys, path, stored.description)
                if not stored.description.is_empty:
                    key = only_chunk_key(path, len(stored.shape))
                    require_chunk(self._keys, key, stored.description, stored.checksum)

    def _description(self, name: ResultName) -> ResultDescription | None:
        """Description of a result; None if there is none."""
        try:
            data = self._keys.read(f"{name.path}/{METADATA}", MOST_BYTES)
            return None if data is None else ResultDescription.from_bytes(data, name.path)
        except DamagedPartError as error:
            raise DamagedPartError(f"its description: {error}") from None


@contextmanager
def _named_part(path: str) -> Iterator[None]:
    try:
        yield
    except DamagedPartError as error:
        raise DamagedPartError(f"its array {path.rsplit('/', 1)[1]!r}: {error}") from None


def _batches_text(sources: Mapping[str, str]) -> str:
    return f"{len(sources)} batches ({', '.join(list(sources)[:5])}{', ...' if len(sources) > 5 else ''})"
