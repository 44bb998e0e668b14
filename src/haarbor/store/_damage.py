"""Which parts of a run no longer hold what was written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from haarbor.errors import StoreError
from haarbor.store._batch_marker import BatchMarker, complete_batches, read_marker
from haarbor.store._chunked_arrays import read_chunk
from haarbor.store._damaged_part import DamagedPartError
from haarbor.store._keys import Keys
from haarbor.store._layout import METADATA, PICTURES, array_path, batch_of_chunk, chunk_key
from haarbor.store._pictures import read_picture
from haarbor.store._planned_arrays import planned_array, planned_chunks, require_planned
from haarbor.store._result_store import ResultStore
from haarbor.store._run_document import planned_groups, require_group, stored_plan
from haarbor.store._run_plan import RunPlan, StreamPlan

__all__ = ["Damage", "damages"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A part of a run that cannot be read as it was written."""

    batch: int = -1
    """-1 if it does not belong to one batch."""
    stream: str = ""
    """Empty if it does not belong to a stream, such as the marker or the picture of a batch."""
    content: str
    """"probabilities", "logits", "mask", "picture", "marker", "plan" or "group"."""
    layer: int = -1
    """-1 if it does not belong to a layer."""
    result: str = ""
    """Name of the result that is damaged; `content` then says which content it was made from."""
    path: str = ""
    """Where the description of a damaged group lies."""
    reason: str
    is_lost: bool = True
    """False if it could not be read at all, without permission or connection: it may still be whole."""

    def __str__(self) -> str:
        parts = [f"batch {self.batch}"] if self.batch >= 0 else []
        parts += [f"stream {self.stream!r}"] if self.stream else []
        parts += [f"layer {self.layer}"] if self.layer >= 0 else []
        what = f"result {self.result!r} of {self.content}" if self.result else self.content
        return f"{', '.join([*parts, f'{what} {self.path!r}' if self.path else what])}: {self.reason}"


def damages(keys: Keys, plan: RunPlan) -> list[Damage]:
    """Every damaged part of a run. Reads the whole run, one chunk at a time."""
    batches = complete_batches(keys)
    damage = _Damages()
    with damage.noted(content="plan"):
        _require_plan(keys, plan)
    for group in planned_groups(plan):
        with damage.noted(content="group", path=group):
            # A writer that was killed at its very beginning may not have described them yet.
            _require_group(keys, group, is_needed=bool(batches))
    for stream in plan.streams:
        for content in (*plan.kept_contents, "mask"):
            with damage.noted(stream=stream.name, content=content):
                _require_array(keys, plan, stream, content, batches)
    has_pictures = False
    for batch in batches:
        with damage.noted(batch=batch, content="marker"):
            marker = read_marker(keys, plan, batch)
            has_pictures |= marker.picture is not None
            _note_batch(damage, keys, plan, marker)
    with damage.noted(content="group", path=PICTURES):
        _require_group(keys, PICTURES, is_needed=has_pictures)
    _note_results(damage, keys, plan)
    return damage


class _Damages(list[Damage]):
    @contextmanager
    def noted(self, **part: Any) -> Iterator[None]:
        """Block that reads a part; if the part is damaged, that is noted and not raised."""
        try:
            yield
        except StoreError as error:
            is_lost = isinstance(error, DamagedPartError)
            self.append(Damage(**part, reason=str(error), is_lost=is_lost))


def _require_plan(keys: Keys, plan: RunPlan) -> None:
    if stored_plan(keys) != plan:
        raise DamagedPartError("it is not the one that the run was opened with")


def _require_group(keys: Keys, path: str, *, is_needed: bool) -> None:
    if not require_group(keys, path) and is_needed:
        raise DamagedPartError("its description is missing")


def _require_array(
    keys: Keys, plan: RunPlan, stream: StreamPlan, content: str, batches: tuple[int, ...]
) -> None:
    path = array_path(stream.name, content)
    if not batches and METADATA not in keys.children(path):
        return
    least = max(batches, default=-1) + 1
    room = require_planned(keys, plan, stream, content, least=least)
    if plan.n_batches is not None or room == least:
        return
    # A writer that was killed may leave the chunks of a batch, and room for it, but not its marker.
    if room - 1 not in map(batch_of_chunk, keys.children(path)):
        raise DamagedPartError(f"its description says that there are {room} batches, and there are {least}")


def _note_batch(damage: _Damages, keys: Keys, plan: RunPlan, marker: BatchMarker) -> None:
    batch = marker.batch
    with damage.noted(batch=batch, content="picture"):
        read_picture(keys, marker)
    for stream in plan.streams:
        for content in (*plan.kept_contents, "mask"):
            path = array_path(stream.name, content)
            description = planned_array(plan, stream, content, batch + 1)
            chunks = zip(planned_chunks(stream, content), marker.checksums[path], strict=True)
            for (layer, row_chunk), expected in chunks:
                number = -1 if layer is None else layer
                with damage.noted(batch=batch, stream=stream.name, content=content, layer=number):
                    read_chunk(keys, chunk_key(path, batch, layer, row_chunk), description, expected)


def _note_results(damage: _Damages, keys: Keys, plan: RunPlan) -> None:
    results = ResultStore(keys, plan)
    names, groups = results.parts()
    for group in groups:
        with damage.noted(content="group", path=group):
            _require_group(keys, group, is_needed=True)
    for name in names:
        batch = -1 if name.batch is None else name.batch
        with damage.noted(batch=batch, stream=name.stream, content=name.content, result=name.name):
            results.require_whole(name)
