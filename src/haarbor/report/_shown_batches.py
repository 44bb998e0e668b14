"""The batches whose matrices are in a page: as many as were asked for, or as many as there is room for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from haarbor.report._packing import packed_text, plain_numbers
from haarbor.report._shown_batch import shown_batch
from haarbor.store import RunPart

__all__ = ["ShownBatches", "shown_batches"]

# Steps in which entries are kept, finest first. The first batch is kept as finely as there is room for;
# the others, which are looked at less, leave room for each other.
_FIRST_STEPS = (255, 85, 51)
_OTHER_STEPS = 85


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ShownBatches:
    """What the page holds of the batches that it shows."""

    data: Sequence[Mapping[str, Any]]
    """Values for JSON, one mapping per batch."""
    texts: Mapping[str, str]
    """Large arrays, packed, by name; those of the batch at place 2 begin with "batch-2-"."""


def shown_batches(part: RunPart, n_batches: int | None, room: int) -> ShownBatches:
    """Gather what the page needs of its batches.

    Parameters
    ----------
    part : RunPart
        Organised.
    n_batches : int or None
        How many batches, counted from the first; None for as many as there is room for, at least one.
    room : int
        How many letters they may take, where `n_batches` is None.

    Returns
    -------
    ShownBatches
    """
    data: list[Mapping[str, Any]] = []
    texts: dict[str, str] = {}
    if n_batches is not None:
        for place, batch in enumerate(part.batches[:n_batches]):
            found, packed = _packed_batch(part, batch, place, _FIRST_STEPS[0])
            data.append(found)
            texts |= packed
        return ShownBatches(data=data, texts=texts)
    for place, batch in enumerate(part.batches):
        for n_steps in (_OTHER_STEPS,) if place else _FIRST_STEPS:
            found, packed = _packed_batch(part, batch, place, n_steps)
            size = len(json.dumps(plain_numbers(found))) + sum(map(len, packed.values()))
            if size <= room:
                break
        if place and size > room:
            break
        data.append(found)
        texts |= packed
        room -= size
    return ShownBatches(data=data, texts=texts)


def _packed_batch(
    part: RunPart, batch: int, place: int, n_steps: int
) -> tuple[Mapping[str, Any], dict[str, str]]:
    found = shown_batch(part, batch, n_steps)
    return found.data, {f"batch-{place}-{name}": packed_text(blob) for name, blob in found.blobs.items()}
