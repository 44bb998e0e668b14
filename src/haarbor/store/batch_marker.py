"""The mark of a complete batch: what was written, and the labels of its queries and keys."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from haarbor.errors import StoreError
from haarbor.store.keys import Keys
from haarbor.store.layout import VERSION, batch_of_key, group_document, marker_key

__all__ = ["BatchMarker", "Labels", "complete_batches", "digest_of", "read_marker"]

_FORMAT = "haarbor batch"


class Labels(NamedTuple):
    """Texts of the queries and keys of a batch: its tokens or patches."""

    query: tuple[str, ...]
    key: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BatchMarker:
    """What a complete batch consists of."""

    batch: int
    checksums: Mapping[str, tuple[str, ...]]
    """For each array the crc32c of its chunks of this batch: one a layer, or one for a mask or picture."""
    labels: Mapping[str, Labels]
    """For each stream the texts of queries and keys; empty for a run without labels."""

    def _content(self) -> dict[str, Any]:
        labels = {
            stream: {
                "query": list(texts.query),
                "key": None if texts.key == texts.query else list(texts.key),
            }
            for stream, texts in self.labels.items()
        }
        checksums = {path: list(values) for path, values in self.checksums.items()}
        return {
            "format": _FORMAT,
            "version": VERSION,
            "batch": self.batch,
            "checksums": checksums,
            "labels": labels,
        }

    @property
    def digest(self) -> str:
        """SHA-256 of everything the marker says, so of every chunk's checksum."""
        return digest_of(self._content())

    def to_bytes(self) -> bytes:
        """The marker as a zarr group's description."""
        return group_document({**self._content(), "digest": self.digest})

    @classmethod
    def from_bytes(cls, data: bytes) -> BatchMarker:
        """Marker from what :meth:`to_bytes` gave; ValueError if that is not what it is."""
        attributes = json.loads(data)["attributes"]
        digest = attributes.pop("digest")
        if digest != digest_of(attributes):
            raise ValueError("its digest does not fit what it says")
        labels = {
            stream: Labels(
                tuple(texts["query"]), tuple(texts["query"] if texts["key"] is None else texts["key"])
            )
            for stream, texts in attributes["labels"].items()
        }
        checksums = {path: tuple(values) for path, values in attributes["checksums"].items()}
        return cls(batch=attributes["batch"], checksums=checksums, labels=labels)


def digest_of(values: Mapping[str, Any]) -> str:
    """SHA-256 of JSON values, whatever the order of their names.

    Examples
    --------
    >>> digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1})
    True
    """
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def complete_batches(keys: Keys) -> tuple[int, ...]:
    """Indices of the batches that have a marker, increasing."""
    found = (batch_of_key(key) for key in keys.below("batches"))
    return tuple(sorted(batch for batch in found if batch is not None))


def read_marker(keys: Keys, batch: int) -> BatchMarker:
    """Marker of a batch.

    Raises
    ------
    StoreError
        If the batch is not complete, or its marker is damaged.
    """
    data = keys.read(marker_key(batch))
    if data is None:
        there = complete_batches(keys)
        raise StoreError(
            f"batch must be one of the {len(there)} complete ones of {keys.address}; batch {batch} "
            "is not there. Run the capture again to complete it."
        )
    try:
        marker = BatchMarker.from_bytes(data)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(
            f"the marker of batch {batch} of {keys.address} must be readable; {error}. Open the run with "
            "create_run(..., repair=True) and write the batch again."
        ) from None
    if marker.batch != batch:
        raise StoreError(
            f"the marker of batch {batch} of {keys.address} must be its own; it is of batch {marker.batch}. "
            "Open the run with create_run(..., repair=True) and write the batch again."
        )
    return marker
