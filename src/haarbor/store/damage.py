"""Which parts of a run no longer hold what was written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from haarbor.errors import StoreError
from haarbor.store.batch_marker import complete_batches, read_marker
from haarbor.store.chunked_arrays import DamagedChunkError, existing_array, read_chunk
from haarbor.store.keys import Keys
from haarbor.store.layout import array_path, chunk_key
from haarbor.store.pictures import read_picture
from haarbor.store.run_plan import RunPlan

__all__ = ["Damage", "damages"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A part of a complete batch that cannot be read as it was written."""

    batch: int
    stream: str
    """Empty where the marker or the picture of the batch is damaged."""
    content: str
    """"probabilities", "logits", "mask", "picture" or "marker"."""
    layer: int
    """-1 where it does not belong to a layer."""
    reason: str

    def __str__(self) -> str:
        layer = f", layer {self.layer}" if self.layer >= 0 else ""
        stream = f", stream {self.stream!r}" if self.stream else ""
        return f"batch {self.batch}{stream}{layer}, {self.content}: {self.reason}"


def damages(keys: Keys, plan: RunPlan) -> Iterator[Damage]:
    """Every damaged part of every complete batch; reads the whole run, a chunk at a time."""
    for batch in complete_batches(keys):
        try:
            marker = read_marker(keys, batch)
        except StoreError as error:
            yield Damage(batch=batch, stream="", content="marker", layer=-1, reason=str(error))
            continue
        try:
            read_picture(keys, marker)
        except (DamagedChunkError, StoreError) as error:
            yield Damage(batch=batch, stream="", content="picture", layer=-1, reason=str(error))
        for stream in plan.streams:
            for content in (*plan.contents, "mask"):
                path = array_path(stream.name, content)
                layers: list[int | None] = [None] if content == "mask" else list(range(stream.n_layers))
                try:
                    array = existing_array(keys, path, read_only=True)
                except StoreError as error:
                    yield Damage(
                        batch=batch, stream=stream.name, content=content, layer=-1, reason=str(error)
                    )
                    continue
                for layer, expected in zip(layers, marker.checksums[path], strict=True):
                    place = (batch,) if layer is None else (batch, layer)
                    try:
                        read_chunk(keys, array, place, chunk_key(path, batch, layer), expected)
                    except DamagedChunkError as error:
                        number = -1 if layer is None else layer
                        yield Damage(
                            batch=batch, stream=stream.name, content=content, layer=number, reason=str(error)
                        )
