"""Reads the layers and the mask of a batch, each from the chunks of rows in which it is stored."""

from __future__ import annotations

from typing import Any

import numpy as np

from haarbor.array_types import BoolArray, FloatArray
from haarbor.errors import StoreError
from haarbor.store._batch_marker import read_marker
from haarbor.store._chunked_arrays import read_chunk
from haarbor.store._damage import Damage
from haarbor.store._damaged_part import DamagedPartError
from haarbor.store._half_precision import from_half
from haarbor.store._keys import Keys
from haarbor.store._layout import array_path, chunk_key
from haarbor.store._planned_arrays import planned_array, planned_chunks, require_planned
from haarbor.store._run_plan import RunPlan, StreamPlan

__all__ = ["ChunkReader", "damaged_run"]


class ChunkReader:
    """One content, or the mask, of one batch.

    Parameters
    ----------
    keys : Keys
    plan : RunPlan
    batch : int
    sizes : StreamPlan
    content : {"probabilities", "logits", "mask"}

    Raises
    ------
    StoreError
        If the batch is not complete, or the array is not described as it was written.
    """

    def __init__(self, keys: Keys, plan: RunPlan, batch: int, sizes: StreamPlan, content: str) -> None:
        self._keys, self._sizes, self._content = keys, sizes, content
        marker = read_marker(keys, plan, batch)
        self._batch, self._path = marker.batch, array_path(sizes.name, content)
        room = marker.batch + 1
        # Arrays that are in memory only, while their batch is looked at, have no description.
        if content == "mask" or content in plan.kept_contents:
            try:
                room = require_planned(keys, plan, sizes, content, least=room)
            except DamagedPartError as error:
                part = Damage(stream=sizes.name, content=content, reason=str(error))
                raise damaged_run(keys, part) from None
        self._description = planned_array(plan, sizes, content, room)
        self._checksums = dict(zip(planned_chunks(sizes, content), marker.checksums[self._path], strict=True))

    def layer(self, layer: int) -> FloatArray:
        """One layer in float32, shape (n_heads, n_queries, n_keys); StoreError if a chunk is damaged."""
        values: FloatArray = self._values(layer)
        return values

    def mask(self) -> BoolArray:
        """The mask, shape (n_queries, n_keys); StoreError if a chunk is damaged."""
        values: BoolArray = self._values(None)
        return values

    def _values(self, layer: int | None) -> Any:
        sizes = self._sizes
        if sizes.rows_per_chunk is None:
            return self._chunk(layer, 0)
        if layer is None:
            whole: Any = np.empty((sizes.n_queries, sizes.n_keys), dtype=np.bool_)
        else:
            whole = np.empty(sizes.layer_shape, dtype=np.float32)
        for number, rows in enumerate(sizes.row_chunks):
            # The last chunk is as large as the others: zeros follow its rows.
            whole[..., rows, :] = self._chunk(layer, number)[..., : rows.stop - rows.start, :]
        return whole

    def _chunk(self, layer: int | None, number: int) -> Any:
        key = chunk_key(self._path, self._batch, layer, number)
        try:
            found = read_chunk(self._keys, key, self._description, self._checksums[layer, number])
        except DamagedPartError as error:
            part = Damage(
                batch=self._batch,
                stream=self._sizes.name,
                content=self._content,
                layer=-1 if layer is None else layer,
                reason=str(error),
            )
            raise damaged_run(self._keys, part) from None
        values = found[0] if layer is None else found[0, 0]
        return from_half(values) if values.dtype == np.float16 else values


def damaged_run(keys: Keys, part: Damage) -> StoreError:
    """What is raised where a part of a run is not as it was written."""
    return StoreError(
        f"a run must hold what was written; at {keys.address} {part}. run.verify() lists all such "
        "parts; open it with haarbor.store.create_run(..., run.plan, repair=True), then capture again to "
        "write them anew."
    )
