"""Results inside a run: each whole or absent, and tied to the batches it was made from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from haarbor.array_types import AnyArray
from haarbor.errors import SettingError, StoreError
from haarbor.store.batch_marker import digest_of
from haarbor.store.chunked_arrays import (
    DamagedChunkError,
    checksum,
    existing_array,
    new_array,
    read_chunk,
    write_chunk,
)
from haarbor.store.failures import storage_failures
from haarbor.store.kept_result import KeptResult
from haarbor.store.keys import Keys
from haarbor.store.layout import METADATA, RESULTS, group_document, name_fits
from haarbor.store.result_values import restored_value, stored_value
from haarbor.store.run_plan import RunPlan

__all__ = ["ResultName", "ResultStore"]

_FORMAT = "haarbor result"
_VERSION = 1
_ALL_BATCHES = "all-batches"
_PATIENCE_SECONDS = 60.0


class ResultName(NamedTuple):
    """What a result is of, and what it is called."""

    stream: str
    content: str
    batch: int | None
    """None for a result of several batches together."""
    name: str

    @property
    def path(self) -> str:
        """Where it lies in the run."""
        part = _ALL_BATCHES if self.batch is None else f"batch-{self.batch:05d}"
        return f"{RESULTS}/{self.stream}/{self.content}/{part}/{self.name}"


class ResultStore:
    """Results of a run.

    A result is a zarr group: arrays, and a description in its attributes that is written last.

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
        """Keep a value, made from batches with the digests in `sources`."""
        if not name_fits(name.name):
            raise SettingError(
                f"a result's name must be letters, digits, '_', '-' or '.'; found {name.name!r}."
            )
        description, arrays = stored_value(value)
        with self._lock(), storage_failures(f"saving {name.path} to {self._keys.address}"):
            self._remove(name)
            self._describe_groups(name)
            checksums = {}
            for array_name, array in arrays.items():
                checksums[array_name] = self._write(f"{name.path}/{array_name}", array)
            attributes = {
                "format": _FORMAT,
                "version": _VERSION,
                "value": description,
                "checksums": checksums,
                "sources": dict(sources),
            }
            attributes["digest"] = digest_of(attributes)
            self._keys.write(f"{name.path}/{METADATA}", group_document(attributes))

    def load(self, name: ResultName, sources: Mapping[str, str]) -> Any:
        """Value kept under a name; StoreError if there is none or it is not of these `sources`."""
        attributes = self._attributes(name)
        if attributes is None:
            raise StoreError(
                f"a result must have been saved; {self._keys.address} has no {name.path}. "
                "Make it first: haarbor organize writes the results of a run."
            )
        if attributes["sources"] != dict(sources):
            made, now = (_batches_text(found) for found in (attributes["sources"], sources))
            reason = (
                f"made from {made}, asked for {now}" if made != now else "the batches were written anew since"
            )
            raise StoreError(
                f"a result must be of the batches as they are; {name.path} of {self._keys.address} is not: "
                f"{reason}. Make it again."
            )

        def array_named(array_name: str) -> AnyArray:
            return self._read(name, array_name, attributes["checksums"])

        return restored_value(attributes["value"], array_named)

    def has(self, name: ResultName, sources: Mapping[str, str]) -> bool:
        """Whether there is a whole result of a name, made from these `sources`."""
        try:
            attributes = self._attributes(name)
        except StoreError:
            return False
        if attributes is None or attributes["sources"] != dict(sources):
            return False
        return all(self._is_there(name, *expected) for expected in attributes["checksums"].items())

    def kept(self, name: ResultName, sources: Mapping[str, str]) -> KeptResult:
        """What became of a result, and its value if it is whole and of these `sources`; read once."""
        try:
            attributes = self._attributes(name)
            if attributes is None:
                return KeptResult(state="absent")
            if attributes["sources"] != dict(sources):
                return KeptResult(state="outdated")
            checksums = attributes["checksums"]
            with storage_failures(f"reading {name.path} of {self._keys.address}"):
                value = restored_value(attributes["value"], lambda array: self._read(name, array, checksums))
        except StoreError as error:
            # The number of a failure of the disk or the network: the result may be whole all the same.
            if error.errno is not None:
                raise
            return KeptResult(state="damaged", reason=str(error))
        except MemoryError:
            raise
        except Exception as error:  # whatever values raise that are not what was written
            return KeptResult(
                state="damaged",
                reason=f"a result must hold what was written; {name.path} of {self._keys.address}: "
                f"{type(error).__name__}: {error}. Make it again.",
            )
        return KeptResult(state="whole", value=value)

    def _is_there(self, name: ResultName, array_name: str, expected: str) -> bool:
        if not expected:
            return True
        # The axes of an array decide the name of its only chunk.
        folder = f"{name.path}/{array_name}"
        chunks = [part for part in self._keys.children(folder) if part == "c" or part.startswith("c.")]
        return [checksum(self._keys, f"{folder}/{chunk}") for chunk in chunks] == [expected]

    def delete(self, name: ResultName) -> None:
        """Remove a result."""
        with self._lock():
            self._remove(name)

    def names(self) -> tuple[ResultName, ...]:
        """Names of all whole results."""
        found = []
        for key in self._keys.below(RESULTS):
            parts = key.split("/")
            if len(parts) == 6 and parts[-1] == METADATA:
                _, stream, content, part, name, _ = parts
                batch = None if part == _ALL_BATCHES else int(part.removeprefix("batch-"))
                candidate = ResultName(stream=stream, content=content, batch=batch, name=name)
                if self._attributes(candidate) is not None:
                    found.append(candidate)
        return tuple(found)

    @contextmanager
    def _lock(self) -> Iterator[None]:
        # Not the writer's lock: a run may be organised while it is still being captured.
        lock = self._keys.lock(RESULTS, patience_seconds=_PATIENCE_SECONDS)
        try:
            # Once: it looks at all results, and whoever saves many would look at them again and again.
            if not self._swept:
                self._keys.sweep(RESULTS)
                self._swept = True
            yield
        finally:
            lock.release()

    def _remove(self, name: ResultName) -> None:
        # The description first: without it the rest does not count.
        self._keys.delete(f"{name.path}/{METADATA}")
        self._keys.delete_below(name.path)

    def _describe_groups(self, name: ResultName) -> None:
        parts = name.path.split("/")
        for depth in range(1, len(parts)):
            key = f"{'/'.join(parts[:depth])}/{METADATA}"
            if self._keys.read(key) is None:
                self._keys.write(key, group_document({}))

    def _write(self, path: str, array: AnyArray) -> str:
        """Store an array as one chunk; its checksum, empty for an array without entries."""
        chunks = [max(1, size) for size in array.shape]
        stored = new_array(self._keys, path, shape=array.shape, chunks=chunks, dtype=array.dtype.name)
        keys = [f"{path}/{METADATA}"]
        written = ""
        if array.size:
            key = _chunk(path, array.ndim)
            write_chunk(stored, (), array)
            keys.append(key)
            written = checksum(self._keys, key) or ""
        self._keys.make_durable(keys)
        return written

    def _read(self, name: ResultName, array_name: str, checksums: Mapping[str, str]) -> AnyArray:
        path = f"{name.path}/{array_name}"
        array = existing_array(self._keys, path, read_only=True)
        if 0 in array.shape:
            return np.zeros(array.shape, dtype=array.dtype)
        try:
            return read_chunk(self._keys, array, (), _chunk(path, array.ndim), checksums[array_name])
        except DamagedChunkError as error:
            raise StoreError(
                f"a result must hold what was written; {path} of {self._keys.address}: {error}. "
                "Make it again."
            ) from error

    def _attributes(self, name: ResultName) -> dict[str, Any] | None:
        """Description of a result; None if there is none that is whole."""
        data = self._keys.read(f"{name.path}/{METADATA}")
        if data is None:
            return None
        try:
            attributes: dict[str, Any] = json.loads(data)["attributes"]
            if attributes.get("format") != _FORMAT:
                return None
            digest = attributes.pop("digest")
            fits = digest == digest_of(attributes)
        except (ValueError, KeyError, TypeError, AttributeError):
            fits = False
        if not fits:
            raise StoreError(
                f"the description of {name.path} of {self._keys.address} must be readable; it is damaged. "
                "Make the result again."
            )
        if attributes["version"] != _VERSION:
            raise StoreError(
                f"a result must be of version {_VERSION}; {name.path} of {self._keys.address} is of version "
                f"{attributes['version']}. Install the Haarbor it was written with, or make it again."
            )
        return attributes


def _chunk(path: str, n_axes: int) -> str:
    return f"{path}/{'.'.join(['c', *['0'] * n_axes])}"


def _batches_text(sources: Mapping[str, str]) -> str:
    return f"{len(sources)} batches ({', '.join(list(sources)[:5])}{', ...' if len(sources) > 5 else ''})"
