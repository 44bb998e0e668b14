"""The marker of a complete batch: what was written, and the labels and kinds of its queries and keys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from haarbor.errors import SettingError, StoreError
from haarbor.options import found_text
from haarbor.store._damaged_part import DamagedPartError
from haarbor.store._documents import (
    MOST_BYTES,
    digest_of,
    digested_attributes,
    digested_document,
)
from haarbor.store._keys import Keys
from haarbor.store._layout import (
    BATCHES,
    MOST_BATCHES,
    VERSION,
    array_path,
    batch_of_key,
    marker_key,
    picture_path,
)
from haarbor.store._run_plan import RunPlan

__all__ = ["BatchMarker", "Labels", "checked_batch", "complete_batches", "read_marker"]

_FORMAT = "haarbor batch"
_MEMBERS = ("batch", "checksums", "format", "labels", "picture", "plan", "version")
_KINDS = "kinds"


class Labels(NamedTuple):
    """Texts of the queries and keys of a batch: of its tokens or patches, or the kinds of them."""

    query: tuple[str, ...]
    key: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BatchMarker:
    """What a complete batch consists of."""

    batch: int
    plan: str
    """Digest of the plan of the run that the batch belongs to."""
    checksums: Mapping[str, tuple[str, ...]]
    """For each array the crc32c of its chunks of this batch: layer by layer, in each the rows in order."""
    labels: Mapping[str, Labels]
    """For each stream the texts of queries and keys; empty for a run without labels."""
    picture: tuple[int, int, int] | None = None
    """Shape of the picture; None where the batch has none."""
    kinds: Mapping[str, Labels] = field(default_factory=dict)
    """For each stream the kinds of queries and keys, () where they are not known; empty without any."""

    def _content(self) -> dict[str, Any]:
        checksums = {path: list(values) for path, values in self.checksums.items()}
        return {
            "format": _FORMAT,
            "version": VERSION,
            "batch": self.batch,
            "plan": self.plan,
            "checksums": checksums,
            "labels": _plain_texts(self.labels),
            "picture": None if self.picture is None else list(self.picture),
            **({_KINDS: _plain_texts(self.kinds)} if self.kinds else {}),
        }

    @property
    def digest(self) -> str:
        """SHA-256 of everything the marker says, and so of the checksum of every chunk."""
        return digest_of(self._content())

    def to_bytes(self) -> bytes:
        """The marker as a zarr group's description."""
        return digested_document(self._content())

    @classmethod
    def from_bytes(cls, data: bytes, plan: RunPlan) -> BatchMarker:
        """Marker from what :meth:`to_bytes` gave.

        Raises
        ------
        DamagedPartError
            If it is no marker, or the marker of a batch of another plan.
        """
        found = digested_attributes(data)
        kinds = found.pop(_KINDS, None)
        if sorted(found) != list(_MEMBERS) or found["format"] != _FORMAT or found["version"] != VERSION:
            raise DamagedPartError("it is not the marker of a batch")
        if found["plan"] != plan.digest:
            raise DamagedPartError("it belongs to a run of another plan")
        try:
            labels = _texts_from(found["labels"])
            known_kinds = {} if kinds is None else _texts_from(kinds)
            checksums = {path: tuple(values) for path, values in found["checksums"].items()}
            picture = None if found["picture"] is None else tuple(found["picture"])
            sizes = (found["batch"], *(picture or ()))
            if len(sizes) not in (1, 4) or not all(type(size) is int for size in sizes):
                raise TypeError
        except (KeyError, TypeError, AttributeError):
            raise DamagedPartError("its parts are not those of a marker") from None
        marker = cls(
            batch=found["batch"],
            plan=found["plan"],
            checksums=checksums,
            labels=labels,
            picture=picture,
            kinds=known_kinds,
        )
        if kinds is not None and not known_kinds:
            raise DamagedPartError("its kinds are none")
        marker._require_parts_of(plan)
        return marker

    def _require_parts_of(self, plan: RunPlan) -> None:
        n_chunks = {
            array_path(stream.name, content): len(stream.row_chunks)
            * (1 if content == "mask" else stream.n_layers)
            for stream in plan.streams
            for content in (*plan.contents, "mask")
        }
        if self.picture is not None:
            n_chunks[picture_path(self.batch)] = 1
        if n_chunks != {path: len(values) for path, values in self.checksums.items()}:
            raise DamagedPartError("its checksums are not those of the arrays of the plan")
        if not all(_is_checksum(value) for values in self.checksums.values() for value in values):
            raise DamagedPartError("its checksums are none")
        for what, found in (("labels", self.labels), ("kinds", self.kinds)):
            for name, texts in found.items():
                sizes = next((stream for stream in plan.streams if stream.name == name), None)
                if sizes is None or not all(
                    len(side) == size or (what == "kinds" and not side)
                    for side, size in zip(texts, (sizes.n_queries, sizes.n_keys), strict=True)
                ):
                    raise DamagedPartError(f"its {what} are not those of the streams of the plan")
                if not all(isinstance(text, str) for text in (*texts.query, *texts.key)):
                    raise DamagedPartError(f"its {what} are no texts")


def _plain_texts(found: Mapping[str, Labels]) -> dict[str, Any]:
    return {
        stream: {"query": list(texts.query), "key": None if texts.key == texts.query else list(texts.key)}
        for stream, texts in found.items()
    }


def _texts_from(found: Any) -> dict[str, Labels]:
    return {
        stream: Labels(tuple(texts["query"]), tuple(texts["query"] if texts["key"] is None else texts["key"]))
        for stream, texts in found.items()
    }


def _is_checksum(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{8}", value) is not None


def checked_batch(batch: object) -> int:
    """Number of a batch as an int, after checking that a batch can have it.

    Raises
    ------
    SettingError
        If it is no whole number from 0.

    Examples
    --------
    >>> checked_batch(np.int64(3))
    3
    """
    is_number = isinstance(batch, (int, np.integer)) and not isinstance(batch, bool)
    if not is_number or not 0 <= batch < MOST_BATCHES:  # type: ignore[operator]
        raise SettingError(
            f"batch must be a whole number from 0 to {MOST_BATCHES - 1}; found {found_text(batch)}. "
            "Batches are counted from 0."
        )
    return int(batch)  # type: ignore[call-overload, no-any-return]


def complete_batches(keys: Keys) -> tuple[int, ...]:
    """Indices of the batches that have a marker, increasing."""
    found = (batch_of_key(key) for key in keys.below(BATCHES))
    return tuple(sorted(batch for batch in found if batch is not None))


def read_marker(keys: Keys, plan: RunPlan, batch: int) -> BatchMarker:
    """Marker of a batch.

    Raises
    ------
    DamagedPartError
        If it is damaged. The message is complete and can be shown to a user.
    StoreError
        If the batch is not complete.
    """
    batch = checked_batch(batch)
    name = f"the marker of batch {batch} of {keys.address}"
    advice = "Open the run with create_run(..., repair=True) and write the batch again."
    try:
        data = keys.read(marker_key(batch), MOST_BYTES)
        marker = None if data is None else BatchMarker.from_bytes(data, plan)
    except DamagedPartError as error:
        raise DamagedPartError(f"{name} must be readable; {error}. {advice}") from None
    if marker is None:
        there = complete_batches(keys)
        raise StoreError(
            f"batch must be one of the {len(there)} complete ones of {keys.address}; batch {batch} "
            "is not there. Run the capture again to complete it."
        )
    if marker.batch != batch:
        raise DamagedPartError(f"{name} must be its own; it is of batch {marker.batch}. {advice}")
    if plan.n_batches is not None and batch >= plan.n_batches:
        raise DamagedPartError(f"{name} must be of a batch of the plan, which has {plan.n_batches}. {advice}")
    return marker
